//! What users and programs depend on stays: commands and options, exit codes, keys of scenarios,
//! columns of tables, fields of JSON answers. `interface.txt` holds their names, types and
//! defaults, as the command prints them.

mod support;

use std::fmt::Write;
use std::path::Path;

use serde_json::Value;
use support::xoff;

/// Columns of a line.
const WIDTH: usize = 120;

/// A heading, and what belongs to it on as many lines as it needs.
fn entry(to: &mut String, name: &str, items: &[String]) {
    // The list of sections or types at the beginning of a page.
    if name.is_empty() {
        return;
    }
    let mut line = format!("{name}:");
    for item in items {
        if line.len() + 1 + item.len() >= WIDTH {
            let _ = writeln!(to, "{line}");
            line = "   ".into();
        }
        line = format!("{line} {item};");
    }
    let _ = writeln!(to, "{}", line.trim_end_matches(';'));
}

/// Commands and their options, from the completions.
fn commands(to: &mut String) {
    let script = xoff(&["completions", "bash"]).out;
    let mut name = String::new();
    for line in script.lines().map(str::trim) {
        if let Some(case) = line
            .strip_prefix("xoff")
            .and_then(|l| l.strip_suffix(')'))
            .filter(|l| !l.contains(',') && !l.contains("__help"))
        {
            name = format!("xoff {}", case.replace("__subcmd", "").replace("__", " ").trim());
        } else if let Some(words) = line.strip_prefix("opts=\"").and_then(|l| l.strip_suffix('"')) {
            let options: Vec<String> = words
                .split_whitespace()
                .filter(|w| w.starts_with("--"))
                .map(str::to_owned)
                .collect();
            entry(to, std::mem::take(&mut name).trim(), &options);
        }
    }
}

/// Without the marks of code and of links.
fn plain(cell: &str) -> String {
    let mut text = cell.trim().to_owned();
    while let Some(from) = text.find("](#") {
        let Some(length) = text[from..].find(')') else { break };
        text.replace_range(from..=from + length, "");
    }
    text.replace(['`', '*', '[', ']', '\\'], "")
}

/// Headings of a page, and of its tables the name, the type and, where a table has one, the default
/// of each row.
fn names(to: &mut String, of: &str) {
    let page = xoff(&["schema", of, "--markdown"]).out;
    let (mut heading, mut columns, mut items) = (String::new(), Vec::new(), Vec::new());
    for line in page.lines() {
        if let Some(title) = line.strip_prefix("##") {
            entry(to, &heading, &std::mem::take(&mut items));
            heading = plain(title.trim_start_matches('#'));
        } else if line.starts_with("|---") || !line.starts_with('|') {
            continue;
        } else {
            // A bar in a cell is escaped.
            let cells: Vec<String> =
                line.replace("\\|", "/").split('|').map(str::to_owned).collect();
            if !cells[1].contains('`') {
                columns = cells.iter().map(|c| c.trim().to_owned()).collect();
                continue;
            }
            let cell = |name: &str| {
                columns
                    .iter()
                    .position(|c| c == name)
                    .map(|i| plain(&cells[i]))
                    .filter(|c| !c.is_empty())
            };
            let mut about = cell("takes").or_else(|| cell("type")).unwrap_or_default();
            let words: Vec<&str> =
                line.split("<br>`").skip(1).filter_map(|w| w.split('`').next()).collect();
            if !words.is_empty() && !about.is_empty() {
                about = format!("{about}: {}", words.join(", "));
            }
            if let Some(default) = cell("default") {
                about = format!("{about} = {default}");
            }
            items.push(if about.is_empty() {
                plain(&cells[1])
            } else {
                format!("{} ({about})", plain(&cells[1]))
            });
        }
    }
    entry(to, &heading, &items);
}

/// Without the texts for readers.
fn without_texts(of: &mut Value) {
    match of {
        Value::Object(fields) => {
            fields.retain(|name, value| name != "description" || !value.is_string());
            fields.values_mut().for_each(without_texts);
        }
        Value::Array(items) => items.iter_mut().for_each(without_texts),
        _ => {}
    }
}

#[test]
fn nothing_that_users_depend_on_changes_unnoticed() {
    let mut t = String::from("# Commands and options\n\n");
    commands(&mut t);
    t.push_str("\n# Exit codes\n\n");
    let codes = xoff(&["--help"]).out.split("Exit codes:\n").nth(1).unwrap_or_default().to_owned();
    let codes: Vec<String> = codes
        .lines()
        .filter_map(|l| l.split_whitespace().next()?.parse::<u8>().ok())
        .map(|c| c.to_string())
        .collect();
    entry(&mut t, "xoff", &codes);
    for (of, title) in [
        ("network", "Keys of a network"),
        ("fabric", "Keys of a scheduled fabric"),
        ("tables", "Columns of tables"),
        ("answers", "Fields of JSON answers"),
    ] {
        let mut schema = xoff(&["schema", of]).json();
        without_texts(&mut schema);
        let _ = write!(
            t,
            "\n# {title}\n\nHash of the schema without its texts: {:016x}\n\n",
            xoff_testing::hash(&schema.to_string())
        );
        names(&mut t, of);
    }
    xoff_testing::golden(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interface.txt"), &t);
}
