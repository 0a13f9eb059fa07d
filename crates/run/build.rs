//! A fingerprint of what decides results: the sources of this crate and of every crate of the
//! workspace that it is built on, with the data that they include, such as distributions of flow
//! sizes. Results that are kept carry it, so that a changed mechanism never reuses previous
//! results.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// FNV-1a of 64 bits.
struct Hash(u64);

impl Hash {
    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let mut crates = BTreeSet::new();
    collect(Path::new("."), &mut crates);
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    let mut names: Vec<String> = crates.iter().map(|f| f.display().to_string()).collect();
    for folder in crates {
        println!("cargo:rerun-if-changed={}", folder.display());
        let mut files = Vec::new();
        sources(&folder, &mut files);
        files.sort();
        for file in files {
            let source = read(&file);
            hash.add(file.to_string_lossy().as_bytes());
            hash.add(source.as_bytes());
            for data in
                source.split("include_str!(\"").skip(1).filter_map(|rest| rest.split('"').next())
            {
                let data = file.with_file_name(data);
                println!("cargo:rerun-if-changed={}", data.display());
                hash.add(read(&data).as_bytes());
                names.push(data.display().to_string());
            }
        }
    }
    println!("cargo:rustc-env=XOFF_ENGINE_OF={}", names.join(" "));
    println!("cargo:rustc-env=XOFF_ENGINE={:016x}", hash.0);
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

/// The folders of the sources of a crate and of all of the workspace that it is built on.
fn collect(folder: &Path, found: &mut BTreeSet<PathBuf>) {
    let manifest = folder.join("Cargo.toml");
    println!("cargo:rerun-if-changed={}", manifest.display());
    if !found.insert(folder.join("src")) {
        return;
    }
    let text = read(&manifest);
    let mut section = "";
    for line in text.lines() {
        if line.starts_with('[') {
            section = line;
        } else if section == "[dependencies]"
            && let Some(name) =
                line.strip_prefix("xoff-").and_then(|l| l.split(['.', ' ', '=']).next())
        {
            collect(&Path::new("..").join(name), found);
        }
    }
}

/// Rust files below a folder, without tests, which decide no result.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for entry in entries.map(|e| e.expect("an entry of a folder")) {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() && name != "tests" {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") && name != "tests.rs" {
            found.push(path);
        }
    }
}
