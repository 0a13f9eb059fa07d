//! Folders named `parameter=value`, as Hive, Spark, Polars, DuckDB and pyarrow read them.

use xxhash_rust::xxh3::xxh3_64;

use crate::sweep::cell::Cell;
use crate::sweep::{Plan, Value};

/// Hive's text for null.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";
/// Longest part of a name; file systems take 255 bytes.
const NAME_MAX: usize = 240;

/// The folders of a run's combination, from the outermost: one for each parameter.
pub(crate) fn folders(plan: &Plan, cell: &Cell) -> Vec<String> {
    plan.parameters.iter().map(|p| folder(&p.name, cell.value(&p.name))).collect()
}

fn folder(name: &str, value: &Value) -> String {
    let value = match value {
        Value::Null => NULL.to_owned(),
        value => escaped(&value.to_string()),
    };
    let text = format!("{}={value}", escaped(name));
    match text.len() {
        0..=NAME_MAX => text,
        // All of it is in runs.parquet.
        _ => format!("{}~{:016x}", &text[..NAME_MAX - 17], xxh3_64(text.as_bytes())),
    }
}

/// Replaces every character except letters, digits and `._-+` by `%XX`.
fn escaped(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._-+".contains(&b);
    text.bytes()
        .map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_names() {
        assert_eq!(folder("switch.discipline", &"fifo".into()), "switch.discipline=fifo");
        assert_eq!(folder("flow[0].size", &"1/2 µs".into()), "flow%5B0%5D.size=1%2F2%20%C2%B5s");
        assert_eq!(folder("k", &Value::Null), "k=__HIVE_DEFAULT_PARTITION__");
        let (a, b) =
            (folder("x", &"a".repeat(300).into()), folder("x", &("a".repeat(299) + "b").into()));
        assert!(a.len() == NAME_MAX && a != b);
    }
}
