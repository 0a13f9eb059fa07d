//! Every reader of files and frames, with samples to be broken.

use std::path::{Path, PathBuf};

use xoff_lab::sweep::Plan;
use xoff_record::Manifest;
use xoff_run::Scenario;
use xoff_scenario::Source;
use xoff_scenario::import::formats::read_sources;
use xoff_scenario::import::{FORMATS, Options};

use crate::draw::Dice;
use crate::parsers;

mod named;
mod saved;

/// A reader.
#[derive(Clone)]
pub struct Reader {
    /// Name on the command line and in the names of failures.
    pub name: String,
    /// Samples to mutate.
    pub samples: Vec<Vec<u8>>,
    /// Folder in which files that an input names are looked up.
    pub folder: PathBuf,
    /// Reads bytes; returns whether it accepts them. The farm searches for panics.
    pub read: fn(&Reader, &[u8]) -> bool,
}

/// Every file below a folder whose name ends so.
fn below(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(below(&path, endings));
        } else if endings.iter().any(|e| path.to_string_lossy().ends_with(e)) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn contents(files: &[PathBuf]) -> Vec<Vec<u8>> {
    files.iter().filter_map(|f| std::fs::read(f).ok()).collect()
}

/// Reader of frames.
pub fn of_frames() -> Reader {
    Reader { name: "wire".into(), samples: parsers::valid(), folder: PathBuf::new(), read: wire }
}

/// Every reader, with the samples of the project in `root`.
pub fn all(root: &Path) -> Vec<Reader> {
    let scenarios = below(&root.join("scenarios"), &[".toml"]);
    let (plans, scenarios): (Vec<_>, Vec<_>) =
        scenarios.into_iter().partition(|p| p.components().any(|c| c.as_os_str() == "sweeps"));
    let at = |folder: &str| root.join(folder);
    let reader = |name: &str, samples: Vec<Vec<u8>>, folder: &str, read| Reader {
        name: name.into(),
        samples,
        folder: at(folder),
        read,
    };
    let mut readers = vec![
        of_frames(),
        reader("scenario", contents(&scenarios), "scenarios/bench", scenario),
        reader("sweep", contents(&plans), "scenarios/sweeps", plan),
        reader("manifest", vec![manifest_sample()], "", manifest),
    ];
    for f in FORMATS {
        let kind = match f.name {
            "graphml" | "networkx" => "graph",
            "ibnetdiscover" => "ib",
            "frr" => "routing",
            name => name,
        };
        let folder = format!("crates/scenario/tests/import/{kind}");
        let mut samples = contents(&below(&at(&folder), f.endings));
        samples.retain(|s| !s.is_empty());
        readers.push(reader(&format!("import-{}", f.name), samples, &folder, import));
    }
    let (own, cases) =
        (below(&at("tools/farm/samples"), &[""]), below(&at("crates/run/tests/hpcc"), &[".txt"]));
    let begins = |file: &Path, with: &str| {
        file.file_name().is_some_and(|n| n.to_string_lossy().starts_with(with))
    };
    readers.extend(named::all(&at("tools/farm/samples"), |name| {
        match name.strip_prefix("hpcc-") {
            // `flow.txt`
            Some(kind) => contents(
                &cases
                    .iter()
                    .filter(|f| begins(f, kind.trim_end_matches('s')))
                    .cloned()
                    .collect::<Vec<_>>(),
            ),
            None => contents(&own.iter().filter(|f| begins(f, name)).cloned().collect::<Vec<_>>()),
        }
    }));
    readers.extend(saved::all());
    readers
}

/// Inputs of a reader in the repository: those of a fuzzer that reach the most code.
pub fn kept(root: &Path, reader: &str) -> Vec<Vec<u8>> {
    contents(&below(&root.join("tools/fuzz/corpus").join(reader), &[""]))
}

fn wire(_: &Reader, bytes: &[u8]) -> bool {
    parsers::all_parsers(bytes);
    true
}

/// Not the files that a scenario names: they have readers of their own.
fn scenario(r: &Reader, bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    match Scenario::from_text("farm.toml", &text, &[], &r.folder) {
        Ok(_) => true,
        Err(problems) => refused(&problems),
    }
}

fn plan(r: &Reader, bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    match Plan::from_text("farm.toml", &text, &r.folder) {
        Ok(_) => true,
        Err(problems) => refused(&problems),
    }
}

fn import(r: &Reader, bytes: &[u8]) -> bool {
    let format = FORMATS.iter().find(|f| r.name.ends_with(f.name)).expect("a reader of this list");
    let source = Source::file("R1.farm", String::from_utf8_lossy(bytes).into_owned());
    // Values that many files lack, as a user gives them.
    let mut options = Options::default();
    for (key, value) in
        [("rate", "100Gbps"), ("delay", "1us"), ("unit", "1Gbps"), ("hosts_per_node", "1")]
    {
        options.set(key, value).expect("an option");
    }
    match read_sources(format, std::slice::from_ref(&source), &options) {
        Ok(network) => {
            let _ = network.graph().map_err(|p| refused(&p.into()));
            true
        }
        Err(problems) => refused(&problems),
    }
}

fn manifest(_: &Reader, bytes: &[u8]) -> bool {
    serde_json::from_slice::<Manifest>(bytes).is_ok()
}

fn manifest_sample() -> Vec<u8> {
    serde_json::to_vec_pretty(&Manifest::default()).unwrap_or_default()
}

/// A refusal names something and can be shown.
fn refused(problems: &xoff_scenario::Problems) -> bool {
    assert!(!problems.is_empty(), "refused without a reason");
    assert!(!problems.render(false).trim().is_empty(), "a reason without words");
    false
}

/// Tokens that tend to break readers.
pub const TOKENS: &[&str] = &[
    "0",
    "-1",
    "1e308",
    "18446744073709551615",
    "18446744073709551616",
    "NaN",
    "0.0000000001",
    "true",
    "null",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "'",
    "\n",
    "\\u0000",
    "\u{0}",
    "\u{feff}",
    "\u{202e}",
    "&a",
    "*a",
    "<!--",
    "<![CDATA[",
    "/**/",
    "#",
    "=",
    ":",
    ",",
    "..",
    "inf",
    "99999Tbps",
    "1ps",
    "[[flow]]\n",
    "[switch]\n",
];

/// The input of a case: one of the samples, broken by one to four edits.
pub fn broken(reader: &Reader, case: u64) -> Vec<u8> {
    let mut d = Dice(case.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ reader.name.len() as u64);
    let samples = &reader.samples;
    let mut bytes = samples[d.roll(samples.len() as u64) as usize].clone();
    for _ in 0..1 + d.roll(4) {
        let len = bytes.len();
        let at = d.roll(len as u64 + 1) as usize;
        let some = d.roll(20) as usize + 1;
        let end =
            (at + if d.roll(8) == 0 { d.roll(len as u64 + 1) as usize } else { some }).min(len);
        match d.roll(8) {
            0 => drop(bytes.drain(at..end)),
            1 => bytes.truncate(at),
            2 if at < len => bytes[at] ^= 1 << d.roll(8),
            3 => {
                let piece = bytes[at..end].to_vec();
                let to = d.roll(len as u64 + 1) as usize;
                drop(bytes.splice(to..to, piece));
            }
            4 => number(&mut bytes, at, &mut d),
            5 => {
                let other = &samples[d.roll(samples.len() as u64) as usize];
                let from = d.roll(other.len() as u64 + 1) as usize;
                let to = (from + some * 10).min(other.len());
                drop(bytes.splice(at..end, other[from..to].iter().copied()));
            }
            _ => {
                let token = TOKENS[d.roll(TOKENS.len() as u64) as usize];
                drop(bytes.splice(at..if d.roll(2) == 0 { at } else { end }, token.bytes()));
            }
        }
    }
    bytes
}

/// The next number from a place on becomes another.
fn number(bytes: &mut Vec<u8>, at: usize, d: &mut Dice) {
    let Some(begin) = bytes[at..].iter().position(u8::is_ascii_digit).map(|i| at + i) else {
        return;
    };
    let end =
        bytes[begin..].iter().position(|b| !b.is_ascii_digit()).map_or(bytes.len(), |i| begin + i);
    let other = d.pick(&[
        "0",
        "1",
        "2",
        "7",
        "8",
        "63",
        "255",
        "256",
        "4095",
        "65535",
        "65536",
        "4294967295",
        "9223372036854775808",
        "00",
        "0x1",
    ]);
    drop(bytes.splice(begin..end, other.bytes()));
}
