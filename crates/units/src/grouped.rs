//! Numbers for people.

use std::fmt::Display;

/// A number with its digits in groups of three: `12,345,678`, `-1,234.5`. What is no number stays
/// as it is.
pub fn grouped(number: impl Display) -> String {
    let text = number.to_string();
    let (sign, rest) = text.strip_prefix('-').map_or(("", &text[..]), |rest| ("-", rest));
    let (whole, fraction) = rest.find('.').map_or((rest, ""), |dot| rest.split_at(dot));
    if !whole.bytes().all(|b| b.is_ascii_digit()) {
        return text;
    }
    let mut out = String::from(sign);
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + fraction
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn groups_have_three_digits() {
        for (number, text) in [
            ("0", "0"),
            ("999", "999"),
            ("1000", "1,000"),
            ("-12345678.25", "-12,345,678.25"),
            ("1e9", "1e9"),
            ("", ""),
        ] {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
    }
}
