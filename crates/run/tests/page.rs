//! Every section, kind and key of a scenario has its text.

use xoff_units::params::ParamSpec;

/// Finds sections, kinds and keys without a text: they compile.
#[test]
fn every_section_kind_and_key_has_its_text() {
    let words = |text: &str| text.split_whitespace().count();
    let mut keys = 0;
    for section in xoff_run::sections().into_iter().chain(xoff_run::fabric_sections()) {
        let at = section.header();
        assert!(
            words(section.doc) >= 2 && section.doc.ends_with('.'),
            "{at}: a sentence says what it is"
        );
        let check = |at: &str, spec: &ParamSpec| {
            let at = format!("{at} {}", spec.key);
            assert!(
                words(spec.doc) >= 1 && !spec.doc.trim().eq_ignore_ascii_case(spec.key),
                "{at}: its meaning is missing"
            );
            assert!(spec.default.is_none() || !spec.optional, "{at}: optional, and with a default");
        };
        for spec in section.specs.iter().flat_map(|t| t.iter()) {
            check(&at, spec);
            keys += 1;
        }
        for kind in section.kinds.iter().flat_map(|k| &k.list) {
            let at = format!("{at} kind = {}", kind.name);
            assert!(words(kind.doc) >= 2, "{at}: what it is is missing");
            for spec in kind.specs.iter().flat_map(|t| t.iter()) {
                check(&at, spec);
                keys += 1;
            }
        }
    }
    assert!(keys > 250, "{keys} keys");
}
