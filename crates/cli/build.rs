//! The commit that the command is built from, for `xoff --version`: of the checkout, or of the file
//! that a source distribution carries.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let carried = Path::new("commit.txt");
    if carried.exists() {
        println!("cargo:rerun-if-changed=commit.txt");
    }
    let commit = of_checkout().or_else(|| std::fs::read_to_string(carried).ok());
    let words = commit
        .map(|c| c.trim().to_owned())
        .filter(|c| !c.is_empty())
        .map_or(String::new(), |c| format!(" ({c})"));
    println!("cargo:rustc-env=XOFF_BUILD={words}");
    let hash = words.trim_start_matches([' ', '(']).split([' ', ')']).next().unwrap_or_default();
    println!("cargo:rustc-env=XOFF_COMMIT={hash}");
}

/// `292ebc0f1a2b 2026-11-23`; `None`: this is no checkout of xoff, but perhaps a folder within one
/// of something else.
fn of_checkout() -> Option<String> {
    git(&["ls-files", "--error-unmatch", "Cargo.toml"])?;
    // Changes with every commit and checkout. A file that does not exist would make every build run
    // this again.
    if let Some(log) =
        git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|log| Path::new(log).exists())
    {
        println!("cargo:rerun-if-changed={log}");
    }
    git(&["log", "-1", "--format=%h %cs", "--abbrev=12"])
}

fn git(args: &[&str]) -> Option<String> {
    let done = Command::new("git").args(args).output().ok()?;
    done.status.success().then(|| String::from_utf8_lossy(&done.stdout).trim().to_owned())
}
