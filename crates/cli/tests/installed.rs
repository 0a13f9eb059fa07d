//! Files for shells and `man`: completions and manual pages name every subcommand and option.

mod support;

use std::process::Command;

use support::{files, folder, path, subcommands, xoff};

#[test]
fn every_subcommand_has_a_manual_page() {
    let dir = folder("installed-man");
    let out = path(&dir, "man1");
    assert_eq!(xoff(&["man", "--out", &out]).code, 0);
    let mut expected: Vec<String> =
        subcommands().iter().map(|n| format!("xoff-{n}.1")).chain(["xoff.1".into()]).collect();
    expected.sort();
    assert_eq!(files(&dir.join("man1")), expected);
    let page = std::fs::read_to_string(dir.join("man1/xoff-run.1")).unwrap();
    for part in [".TH xoff-run 1", "\\-\\-seed", "\\-\\-set", ".SH EXAMPLES\n.nf\n\\&  xoff run "] {
        assert!(page.contains(part), "{part}:\n{page}");
    }
    let compare = std::fs::read_to_string(dir.join("man1/xoff-compare.1")).unwrap();
    assert!(
        compare.contains(".SH SYNOPSIS\n.nf\n\\&xoff compare [OPTIONS] <RUN> <RUN>...\n.fi\n"),
        "{compare}"
    );
    assert_eq!(
        xoff(&["man"]).out.trim(),
        std::fs::read_to_string(dir.join("man1/xoff.1")).unwrap().trim()
    );
    // Written again over its own pages, never over another program's.
    assert_eq!(xoff(&["man", "--out", &out]).code, 0);
    std::fs::write(dir.join("man1/xoff-run.1"), ".TH other 1").unwrap();
    xoff(&["man", "--out", &out]).complains(&["xoff-run.1 is not a manual page of xoff"]);
}

#[test]
fn completions_know_every_subcommand() {
    let dir = folder("installed-completions");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = xoff(&["completions", shell]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        for name in subcommands() {
            assert!(ran.out.contains(&name), "{shell}: {name}");
        }
    }
    std::fs::write(dir.join("xoff.bash"), xoff(&["completions", "bash"]).out).unwrap();
    // As bash asks: the words of the line, and which of them is to be completed.
    let script = "source xoff.bash; COMP_WORDS=(xoff comp); COMP_CWORD=1; _xoff xoff comp xoff; echo ${COMPREPLY[@]}";
    let Ok(o) = Command::new("bash").args(["-c", script]).current_dir(&dir).output() else {
        return xoff_testing::skip("bash", "there is no bash");
    };
    assert_eq!(
        String::from_utf8(o.stdout).unwrap().trim(),
        "compare completions",
        "{}",
        String::from_utf8_lossy(&o.stderr)
    );
    assert_eq!(xoff(&["completions", "csh"]).code, 2);
}
