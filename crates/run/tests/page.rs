//! `docs/scenario-keys.md` and `docs/fabric-keys.md` say what the declared parameters say, and every one of these has its text.

use std::path::Path;

use xoff_params::ParamSpec;

#[test]
fn the_pages_about_keys_are_what_the_declarations_contain() {
    for (file, page) in [("scenario-keys.md", xoff_run::keys::network()), ("fabric-keys.md", xoff_run::keys::fabric())] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(file);
        if xoff_testing::bless() {
            std::fs::write(&path, &page).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        let differs = found.lines().zip(page.lines()).position(|(a, b)| a != b).unwrap_or(found.lines().count().min(page.lines().count()));
        assert!(
            found == page,
            "docs/{file} is stale from line {} on: run XOFF_TEST_BLESS=1 cargo test --release --workspace --test page",
            differs + 1
        );
    }
}

/// What compiles without a text is found here.
#[test]
fn every_section_kind_and_key_has_its_text() {
    let words = |text: &str| text.split_whitespace().count();
    let mut keys = 0;
    for section in xoff_run::sections().into_iter().chain(xoff_run::fabric_sections()) {
        let at = section.header();
        assert!(words(section.doc) >= 2 && section.doc.ends_with('.'), "{at}: a sentence says what it is");
        let check = |at: &str, spec: &ParamSpec| {
            let at = format!("{at} {}", spec.key);
            assert!(words(spec.doc) >= 1 && !spec.doc.trim().eq_ignore_ascii_case(spec.key), "{at}: its meaning is missing");
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
