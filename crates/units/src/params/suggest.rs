//! "Did you mean": the nearest known word.

/// Words longer than this are not compared; misspellings are shorter, and the comparison is
/// quadratic.
const WORD_MAX: usize = 64;

/// The known word nearest to `word`, if one is near enough to be a slip of the finger.
pub fn nearest<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    if word.len() > WORD_MAX {
        return None;
    }
    let plain = |s: &str| s.to_ascii_lowercase().replace(['-', ' ', '.'], "_");
    let word = plain(word);
    let near = |k: &str| {
        let k = plain(k);
        let slips = strsim::damerau_levenshtein(&word, &k);
        // A third of the letters may be wrong; or the word starts right and the rest is left out. A
        // whole word of several comes first.
        let close = slips <= (word.chars().count().max(k.chars().count()) / 3).max(1);
        let rest = k.strip_prefix(&word).filter(|_| word.len() >= 3);
        match rest {
            Some(rest) if rest.starts_with('_') => Some(0),
            _ if close => Some(slips),
            rest => rest.map(|_| WORD_MAX),
        }
    };
    known.into_iter().filter_map(|k| near(k).map(|d| (d, k))).min().map(|(_, k)| k)
}

/// The hint for an unknown word: the nearest known one, and all of them when they are few.
pub fn hint(word: &str, what: &str, known: &[&str]) -> String {
    let near = nearest(word, known.iter().copied()).map(|k| format!("did you mean '{k}'?"));
    let all = (!known.is_empty() && (known.len() <= 12 || near.is_none()))
        .then(|| format!("{what}: {}", known.join(", ")));
    match (near, all) {
        (Some(n), Some(a)) => format!("{n} {a}"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => format!("there are no {what}"),
    }
}

/// True for a character that nobody sees, or that moves the cursor of a terminal, breaks a line or
/// turns the direction of writing: control characters, and those that Unicode ignores by default.
pub fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
                | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
        )
}

/// True for a name of a node or port: of 1 to 255 bytes, each character seen, no space.
pub fn is_name(text: &str) -> bool {
    (1..=255).contains(&text.len()) && !text.contains(|c: char| c.is_whitespace() || is_unseen(c))
}

/// `word` cut to a length that fits a message, without unseen characters.
pub fn clip(word: &str) -> String {
    cut(word, 40)
}

/// A text of at most `most` characters and what was left out, in which every character is seen.
pub fn cut(text: &str, most: usize) -> String {
    let shown = |c: char| if is_unseen(c) && c != '\n' { '?' } else { c };
    let kept: String = text.chars().take(most).map(shown).collect();
    if text.chars().nth(most).is_some() { kept + "..." } else { kept }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_sees_is_shown() {
        assert_eq!(clip("a\u{200b}b\u{feff}\u{ad}\u{2028}\u{1b}[2J"), "a?b???".to_owned() + "?[2J");
        assert_eq!(cut(&"x".repeat(30_000_000), 5), "xxxxx...");
        assert!(!"S1->Süd 北 👍".chars().any(is_unseen));
    }

    #[test]
    fn slips_are_found_and_unrelated_words_are_not() {
        let known = ["rate", "delay", "switches", "flow_control"];
        assert_eq!(nearest("rat", known), Some("rate"));
        assert_eq!(nearest("switchs", known), Some("switches"));
        assert_eq!(nearest("flow-control", known), Some("flow_control"));
        assert_eq!(nearest("swi", known), Some("switches"));
        assert_eq!(
            nearest("gfc", ["pfc", "bfc", "gfc-buffer"]),
            Some("gfc-buffer"),
            "not a word with a wrong letter"
        );
        assert_eq!(nearest("banana", known), None);
        assert_eq!(nearest(&"x".repeat(1_000_000), known), None);
    }

    #[test]
    fn hints_name_all_words_when_they_are_few() {
        assert_eq!(
            hint("rat", "known keys", &["rate", "delay"]),
            "did you mean 'rate'? known keys: rate, delay"
        );
        assert_eq!(hint("q", "known keys", &["rate"]), "known keys: rate");
    }
}
