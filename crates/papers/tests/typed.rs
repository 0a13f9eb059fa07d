//! No result is typed: a number in a text that the entries print is computed, or the paper's, a setting's or plain arithmetic. Every text with
//! a number of its own (a decimal, a percentage, so many of so many) is in `typed.txt` with what that number is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What a typed number may be. A result is none of these: it is computed.
const KINDS: [&str; 4] = ["paper", "setting", "interval", "arithmetic"];

fn sources(folder: &Path, all: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            sources(&path, all);
        } else if path.extension().is_some_and(|e| e == "rs") && path.file_name().is_some_and(|n| n != "tests.rs") {
            all.push(path);
        }
    }
}

/// The string literals of a source, without comments, up to its tests.
fn literals(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]\nmod").next().unwrap_or_default();
    let mut all = Vec::new();
    let mut rest = source.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '/' if rest.peek() == Some(&'/') => while rest.next_if(|c| *c != '\n').is_some() {},
            // A character literal: '"' or '\''.
            '\'' if rest.peek() == Some(&'"') => _ = rest.next(),
            '"' => {
                let mut text = String::new();
                while let Some(c) = rest.next() {
                    match c {
                        '"' => break,
                        '\\' => match rest.next() {
                            Some('\n') => while rest.next_if(|c| c.is_whitespace()).is_some() {},
                            Some(c) => text.push(c),
                            None => break,
                        },
                        c => text.push(c),
                    }
                }
                all.push(text);
            }
            _ => {}
        }
    }
    all
}

/// Whether prose has a number of its own, outside of what is filled in.
fn has_number(text: &str) -> bool {
    let mut depth = 0;
    let own: Vec<char> = text
        .chars()
        .filter(|c| {
            depth += i32::from(*c == '{') - i32::from(*c == '}');
            depth == 0 && *c != '}'
        })
        .collect();
    let digit = |i: usize| own.get(i).is_some_and(char::is_ascii_digit);
    let follows = |i: usize, what: &str| what.chars().enumerate().all(|(n, c)| own.get(i + n) == Some(&c));
    let number = |i: usize| {
        digit(i)
            && ((follows(i + 1, ".") && digit(i + 2))
                || follows(i + 1, " %")
                || follows(i + 1, "%")
                || (follows(i + 1, " of ") && digit(i + 5)))
    };
    text.matches(' ').count() >= 3 && (0..own.len()).any(number)
}

#[test]
fn numbers_are_found_outside_of_what_is_filled_in() {
    assert!(has_number("reach it in 86 % of the seeds") && has_number("a rate of 2.5 Gb/s for each") && has_number("so in 3 of 7 runs"));
    assert!(!has_number("a mean of {:.2} over {} seeds") && !has_number("Fig. 7 at 100 Gb/s and no more") && !has_number("99 % below"));
    assert_eq!(literals("let a = \"x \\\n   y\"; // \"no\"\nlet b = '\"'; f(\"z\\\"\");"), ["x y", "z\""]);
}

#[test]
fn no_result_is_typed() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let listed = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/typed.txt")).unwrap();
    let listed: BTreeMap<&str, &str> =
        listed.lines().filter(|l| !l.starts_with('#')).filter_map(|l| l.split_once('\t').map(|(k, t)| (t, k))).collect();
    let mut found = Vec::new();
    for file in files {
        let texts = literals(&std::fs::read_to_string(&file).unwrap());
        found.extend(texts.into_iter().filter(|t| has_number(t)).map(|t| (file.clone(), t.replace(['\n', '\t'], " "))));
    }
    assert!(found.len() > 50, "{}", found.len());
    let unknown: Vec<String> =
        found.iter().filter(|(_, t)| !listed.contains_key(t.as_str())).map(|(f, t)| format!("{}:\n?\t{t}", f.display())).collect();
    assert!(unknown.is_empty(), "a number is typed; compute it, or say in tests/typed.txt what it is ({KINDS:?}):\n{}", unknown.join("\n"));
    for (text, kind) in &listed {
        assert!(KINDS.contains(kind), "{kind}: {text}");
        assert!(found.iter().any(|(_, t)| t == text), "no longer in a source, take it from the list: {text}");
    }
}
