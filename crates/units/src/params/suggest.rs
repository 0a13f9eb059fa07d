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

/// `word` cut to a length that fits a message, without control characters.
pub fn clip(word: &str) -> String {
    let shown: String =
        word.chars().take(40).map(|c| if c.is_control() { '?' } else { c }).collect();
    if word.chars().nth(40).is_some() { shown + "..." } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

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
