//! From a TOML value to the text form that a key's owner reads, rejecting values that the key's
//! kind does not take.

use xoff_units::grouped;
use xoff_units::params::Kind;
use xoff_units::{Bytes, Length, Rate, Span, UnitError};

use super::tree::{Entry, Item};
use crate::suggest::{self, is_unseen};

/// Reason why a value does not fit its key: problem, remedy.
pub(super) type Refusal = (String, String);

/// Parses `text` as the quantity of `kind`; `None` if the kind is not a quantity.
fn quantity(kind: Kind, text: &str) -> Option<Result<(), UnitError>> {
    Some(match kind {
        Kind::Rate => text.parse::<Rate>().map(drop),
        Kind::Bytes => text.parse::<Bytes>().map(drop),
        Kind::Span => text.parse::<Span>().map(drop),
        Kind::Length => text.parse::<Length>().map(drop),
        _ => return None,
    })
}

/// Whether a text is a quantity, number or flag that a key of this kind takes.
pub(super) fn can_be_given(kind: Kind, text: &str) -> bool {
    match kind {
        Kind::Count => text.parse::<u64>().is_ok(),
        Kind::Float => text.parse::<f64>().is_ok_and(f64::is_finite),
        Kind::Flag => matches!(text, "true" | "false"),
        _ => quantity(kind, text).is_some_and(|parsed| parsed.is_ok()),
    }
}

/// Values that a key of this kind takes, one clause.
pub(super) fn expected(kind: Kind) -> String {
    // Every quantity rejects the empty text, and names the expected form.
    if let Some(Err(e)) = quantity(kind, "") {
        return e.expected.to_owned();
    }
    match kind {
        Kind::Count => "a whole number without quotes: 0, 1, 2, ...".into(),
        Kind::Integer => "a whole number without quotes: ..., -1, 0, 1, ...".into(),
        Kind::Float => "a number without quotes, such as 0.5".into(),
        Kind::Flag => "true or false, without quotes".into(),
        Kind::Choice(words) => {
            format!(
                "one of {}",
                words.iter().map(|w| format!("\"{w}\"")).collect::<Vec<_>>().join(", ")
            )
        }
        Kind::Texts => "a list of texts, such as [\"a\", \"b\"]".into(),
        _ => "a text in quotes".into(),
    }
}

/// The text form of `entry` for a key of `kind`.
pub(super) fn text_of(kind: Kind, entry: &Entry) -> Result<String, Refusal> {
    let wrong_type =
        || Err((format!("found {}", entry.describe()), format!("expected {}", expected(kind))));
    // A setting may represent a text without its quotes.
    let text = match (&entry.item, &entry.setting) {
        (Item::Text(s), _) => Some(s.as_str()),
        (Item::Table(_) | Item::List(_), _) => None,
        (_, setting) => setting.as_deref(),
    };
    match kind {
        Kind::Rate | Kind::Bytes | Kind::Span | Kind::Length => match (&entry.item, text) {
            (_, Some(text)) => match quantity(kind, text) {
                Some(Err(e)) => Err((e.what, format!("expected {}", e.expected))),
                _ => Ok(text.trim().to_owned()),
            },
            (Item::Integer(n) | Item::Float(n), None) => Err((
                format!("{} has no unit", suggest::clip(n)),
                format!("expected {}", expected(kind)),
            )),
            _ => wrong_type(),
        },
        Kind::Count | Kind::Integer => match &entry.item {
            Item::Integer(n) => whole(kind, n),
            _ => wrong_type(),
        },
        Kind::Float => match &entry.item {
            Item::Integer(n) | Item::Float(n) if n.parse::<f64>().is_ok_and(f64::is_finite) => {
                Ok(n.clone())
            }
            Item::Integer(n) | Item::Float(n) => Err((
                format!("{} is not a finite number", suggest::clip(n)),
                format!("expected {}", expected(kind)),
            )),
            _ => wrong_type(),
        },
        Kind::Flag => match entry.item {
            Item::Flag(b) => Ok(b.to_string()),
            _ => wrong_type(),
        },
        Kind::Choice(words) => match text {
            Some(t) if words.contains(&t) => Ok(t.to_owned()),
            Some(t) => Err((
                format!("unknown choice '{}'", suggest::clip(t)),
                suggest::hint(t, "choices", words),
            )),
            None => wrong_type(),
        },
        Kind::Text => text.map_or_else(wrong_type, plain),
        Kind::Texts => match &entry.item {
            Item::List(items) => {
                match items.iter().position(|i| matches!(&i.item, Item::Text(s) if s.is_empty())) {
                    // In the form that `list` has it would not be there.
                    Some(nth) => Err((
                        format!("text number {} of the list is empty", nth + 1),
                        "remove the text, or fill it in".into(),
                    )),
                    None => list(items).map_or_else(wrong_type, Ok),
                }
            }
            // `--set names=a` is a list of one.
            Item::Text(s) if entry.setting.is_some() => {
                s.split('\n').map(plain).collect::<Result<Vec<_>, _>>().map(|all| all.join("\n"))
            }
            _ => wrong_type(),
        },
    }
}

fn whole(kind: Kind, digits: &str) -> Result<String, Refusal> {
    let fits = match kind {
        Kind::Count => digits.parse::<u64>().is_ok(),
        _ => digits.parse::<i64>().is_ok(),
    };
    let range = if kind == Kind::Count { "0 to 2^64 - 1" } else { "-2^63 to 2^63 - 1" };
    let out = || {
        (
            format!("{} is out of range", suggest::clip(digits)),
            format!("expected a whole number, {range}"),
        )
    };
    if fits { Ok(digits.to_owned()) } else { Err(out()) }
}

/// The items joined by line ends, the form of a list in `Values::raw`; an item with a line end
/// would fall apart.
fn list(items: &[Entry]) -> Option<String> {
    let texts: Option<Vec<&str>> = items
        .iter()
        .map(|i| match &i.item {
            Item::Text(s) if plain(s).is_ok() => Some(s.as_str()),
            _ => None,
        })
        .collect();
    texts.map(|t| t.join("\n"))
}

/// Whether two texts stand for the same value.
pub(super) fn same(kind: Kind, a: &str, b: &str) -> bool {
    fn parsed<T: std::str::FromStr + PartialEq>(a: &str, b: &str) -> bool {
        matches!((a.parse::<T>(), b.parse::<T>()), (Ok(a), Ok(b)) if a == b)
    }
    match kind {
        Kind::Rate => parsed::<Rate>(a, b),
        Kind::Bytes => parsed::<Bytes>(a, b),
        Kind::Span => parsed::<Span>(a, b),
        Kind::Length => parsed::<Length>(a, b),
        Kind::Float => parsed::<f64>(a, b),
        _ => a == b,
    }
}

/// The one form of a number of a kind; other texts stay as they are.
pub fn number(kind: Kind, text: String) -> String {
    let is_number = match kind {
        Kind::Count | Kind::Integer => text.replace('_', "").parse::<i128>().is_ok(),
        Kind::Float => text.parse::<f64>().is_ok(),
        _ => false,
    };
    if is_number { to_toml(kind, &text) } else { text }
}

/// The text form as a TOML value.
pub(super) fn to_toml(kind: Kind, text: &str) -> String {
    match kind {
        Kind::Count | Kind::Integer | Kind::Flag => text.replace('_', ""),
        // `5.` and `.5` are numbers to Rust, not to TOML.
        Kind::Float => text.parse::<f64>().map_or_else(|_| quote(text), |v| format!("{v:?}")),
        Kind::Texts => {
            let items: Vec<String> =
                text.split('\n').filter(|s| !s.is_empty()).map(quote).collect();
            format!("[{}]", items.join(", "))
        }
        _ => quote(text),
    }
}

/// A TOML basic string.
fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Longest text of a scenario: as long as the path of a file may be [bytes].
const TEXT_MAX: usize = 4_096;

/// A text as it may be shown anywhere: of a length that can be read, and without characters that
/// are not seen or do more than stand there.
fn plain(text: &str) -> Result<String, (String, String)> {
    if text.len() > TEXT_MAX {
        return Err((
            format!("a text of {} bytes", grouped(text.len() as u64)),
            format!("expected at most {} bytes", grouped(TEXT_MAX as u64)),
        ));
    }
    match text.chars().find(|c| is_unseen(*c)) {
        None => Ok(text.to_owned()),
        Some(c) => Err((
            format!("a text with the character U+{:04X}", c as u32),
            "expected one line of printable characters".into(),
        )),
    }
}
