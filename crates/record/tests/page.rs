//! Every table and column has its text and its unit.

use xoff_record::rows::{Kind, tables};

/// Finds columns without a text, and columns with a unit that contradicts their names: both
/// compile.
#[test]
fn every_column_has_a_text_and_the_unit_of_its_name() {
    for t in tables() {
        assert!(t.about.trim().ends_with('.'), "table {}: a sentence says what a row is", t.name);
        for c in t.columns {
            let at = format!("{}.{}", t.name, c.name);
            assert!(c.about.trim().ends_with('.'), "{at}: a sentence says what it means");
            let unit = match c.name {
                n if n.ends_with("_ps") || n.contains("_ps_") => "ps",
                n if n == "bytes" || n.starts_with("bytes_") || n.contains("_bytes") => "bytes",
                n if n.contains("_bps") => "bit/s",
                _ => continue,
            };
            assert_eq!(c.unit, unit, "{at}");
            assert!(!matches!(c.kind, Kind::Word(_) | Kind::Message), "{at}");
        }
        let mut names: Vec<_> = t.columns.iter().map(|c| c.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), t.columns.len(), "{}: two columns of one name", t.name);
    }
    let mut names: Vec<_> = tables().map(|t| t.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), tables().count());
}
