//! Every command that README, `--help` and the pages show runs as it is printed, in a folder of its
//! own: what a reader copies works.
//!
//! The examples of one place (a help text, the table of README, a page) run in their order in one
//! fresh folder, so that `explain` finds the run before it and no example overwrites what another
//! one made.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::{folder, xoff};

/// Examples that do not run here: the beginning of the command, and why. Each is printed.
const NOT_RUN: &[(&str, &str)] = &[
    ("make ", "the tests are run by it"),
    ("xoff reproduce ", "needs the Python package; python/tests/test_reproduce.py runs claims"),
    ("xoff verify ", "needs the Python package; python/tests/test_verify.py runs it"),
    ("xoff figure ", "needs the Python package; python/tests/test_figure.py draws the figures"),
    ("xoff switch ", "needs real interfaces; crates/cli/tests/real has it on veth pairs"),
    ("xoff host ", "needs real interfaces; crates/cli/tests/real has it on veth pairs"),
    (
        "xoff testbed scenarios/testbed/incast.toml --out out/testbed-iperf",
        "needs iperf3, /dev/net/tun and `tc`; crates/cli/tests/real has it",
    ),
    (
        "xoff testbed ",
        "needs user namespaces, and seconds by the clock; crates/cli/tests/real has them",
    ),
    ("xoff run --resume ", "needs a run that was killed; crates/cli/tests/checkpoint.rs has it"),
    ("xoff view ", "serves a page until Ctrl-C; python/tests/test_page.py has it"),
    ("xoff replay ", "needs the capture of a testbed; crates/cli/tests/real has it"),
];

/// Words after `xoff NAME` that make a mention, not an example.
const MENTIONS: &[&str] = &[
    "--tap",
    "DIR",
    "FILE",
    "--full",
    "--testbed",
    "KIND",
    "FORMAT:FILES",
    "TOPOLOGY",
    "PAPER",
    "SHELL",
    "<name>",
];

/// Names of a user's files in an example, with their stand-ins.
const STAND_INS: &[(&str, &str)] = &[
    ("configs", "sonic/fabric"),
    ("lab.clab.yml", "containerlab/leafspine.clab.yml"),
    ("graph.json", "graph/leafspine.links.json"),
    ("zoo.graphml", "graph/leafspine.graphml"),
    ("fabric.topo", "ib/leafspine-updn/ibnetdiscover.topo"),
    ("opensm-lfts.dump", "ib/leafspine-updn/opensm-lfts.dump"),
    ("routes", "routing/ring3"),
    ("flows.cm", "htsim/addon.cm"),
    ("Spectrum-X_128g_8gps_400Gbps_H100", "simai/dual-plane_H100"),
    ("cluster.yaml", "infragraph/rails.yaml"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// One place with examples, in their order.
struct Page {
    name: String,
    commands: Vec<String>,
}

/// Lines that begin a command, with those that a backslash continues.
fn commands_of_lines(text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let line = line.trim();
        // A console block shows the prompt.
        let line = line.strip_prefix("$ ").unwrap_or(line);
        // `xoff = "800KB"` is a threshold.
        let is_command = ["xoff ", "make "].iter().any(|start| {
            line.strip_prefix(start).is_some_and(|rest| rest.starts_with(char::is_alphabetic))
        });
        if !is_command {
            continue;
        }
        let mut command = line.to_owned();
        while let Some(begun) = command.strip_suffix('\\') {
            command = format!("{}{}", begun, lines.next().expect("a continued line").trim());
        }
        commands.push(command);
    }
    commands
}

/// `xoff NAME ARGUMENT...` in backticks.
fn commands_of_spans(text: &str) -> Vec<String> {
    let spans = text.split('`').skip(1).step_by(2);
    let is_example =
        |s: &&str| s.starts_with("xoff ") && s.split_whitespace().count() > 2 && !s.contains('\n');
    let is_mention = |s: &&str| s.split_whitespace().any(|word| MENTIONS.contains(&word));
    spans.filter(is_example).filter(|s| !is_mention(s)).map(str::to_owned).collect()
}

/// A page in Markdown: code blocks, fenced or indented, then spans outside of them.
fn page(path: &Path) -> Page {
    let text = std::fs::read_to_string(path).unwrap();
    let (mut code, mut prose, mut fenced) = (String::new(), String::new(), false);
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if fenced || line.starts_with("    ") {
            code += &format!("{line}\n");
        } else {
            prose += &format!("{line}\n");
        }
    }
    let mut commands = commands_of_lines(&code);
    commands.extend(commands_of_spans(&prose));
    Page { name: path.strip_prefix(root()).unwrap().display().to_string(), commands }
}

fn pages_below(dir: &Path, pages: &mut Vec<Page>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        // The steps of tutorials build on files that they write: python/tests/test_tutorials.py
        // runs each page as a whole.
        if path.ends_with("docs/tutorials") {
            continue;
        }
        if path.is_dir() {
            pages_below(&path, pages);
        } else if path.extension().is_some_and(|e| e == "md") {
            pages.push(page(&path));
        }
    }
}

/// The help of the command and of every subcommand.
fn helps() -> Vec<Page> {
    let general = xoff(&["--help"]).out;
    let examples = |help: &str| commands_of_lines(help.split("Example").nth(1).unwrap_or_default());
    let mut all = vec![Page { name: "xoff --help".into(), commands: examples(&general) }];
    for name in support::subcommands() {
        all.push(Page {
            name: format!("xoff {name} --help"),
            commands: examples(&xoff(&[&name, "--help"]).out),
        });
    }
    all
}

/// A folder as a checkout looks to an example, with nothing in it that an earlier one made.
fn checkout(name: &str) -> PathBuf {
    let dir =
        folder(&format!("examples/{}", name.replace(|c: char| !c.is_ascii_alphanumeric(), "-")));
    for part in ["scenarios", "crates", "docs", "papers"] {
        std::os::unix::fs::symlink(root().join(part), dir.join(part)).unwrap();
    }
    for (name, sample) in STAND_INS {
        let sample = root().join("crates/scenario/tests/import").join(sample);
        assert!(sample.exists(), "{}", sample.display());
        std::os::unix::fs::symlink(sample, dir.join(name)).unwrap();
    }
    dir
}

#[test]
fn every_example_runs_as_printed() {
    let mut pages = helps();
    pages.push(page(&root().join("README.md")));
    pages_below(&root().join("docs"), &mut pages);
    let bin = Path::new(env!("CARGO_BIN_EXE_xoff")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let (mut ran, mut failures) = (0, Vec::new());
    for page in &pages {
        let dir = checkout(&page.name);
        for command in &page.commands {
            if let Some((_, why)) = NOT_RUN.iter().find(|(start, _)| command.starts_with(start)) {
                println!("not run: {}: {command}: {why}", page.name);
                continue;
            }
            let o = Command::new("sh")
                .args(["-c", command])
                .current_dir(&dir)
                .env("PATH", &path)
                .output()
                .unwrap();
            ran += 1;
            // An example may show the answer "no": a ring that deadlocks.
            if !matches!(o.status.code(), Some(0 | 1)) {
                failures.push(format!(
                    "{}: {command}: {:?}\n{}",
                    page.name,
                    o.status.code(),
                    String::from_utf8_lossy(&o.stderr)
                ));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    // A page that is read wrongly has no commands, and nothing would fail.
    for (name, least) in [
        ("xoff --help", 7),
        ("xoff plan --help", 6),
        ("xoff check --help", 4),
        ("README.md", 10),
        ("docs/testbed.md", 5),
    ] {
        let found = pages.iter().find(|p| p.name == name).map_or(0, |p| p.commands.len());
        assert!(found >= least, "{name}: {found} examples found");
    }
    assert!(ran >= 20, "{ran} examples ran");
    for (start, _) in NOT_RUN {
        assert!(
            pages.iter().any(|p| p.commands.iter().any(|c| c.starts_with(start))),
            "no example begins with '{start}' any more"
        );
    }
}

/// The congestion tree of the page about concepts is the one that the command draws.
#[test]
fn the_tree_of_the_concepts_is_that_of_the_command() {
    let dir = folder("examples-tree");
    let drawn = support::path(&dir, "tree.svg");
    let scenario = root().join("scenarios/mechanisms/tcd.toml").display().to_string();
    assert_eq!(xoff(&["tree", &scenario, "500us", "--svg", &drawn]).code, 0);
    let published = root().join("docs/concepts/tree.svg");
    if xoff_testing::bless() {
        std::fs::copy(&drawn, &published).unwrap();
    }
    assert!(
        std::fs::read(&drawn).unwrap() == std::fs::read(&published).unwrap(),
        "stale: run this test with XOFF_TEST_BLESS=1"
    );
}

/// On a terminal of 80 columns the lines of examples are not broken: a copy would be half a
/// command.
#[test]
fn examples_fit_into_80_columns() {
    for page in helps() {
        let args: Vec<&str> = page.name.split(' ').skip(1).collect();
        let o = support::command(args).env("COLUMNS", "80").output().unwrap();
        let help = String::from_utf8(o.stdout).unwrap();
        let narrow = commands_of_lines(help.split("Example").nth(1).unwrap_or_default());
        assert_eq!(narrow, page.commands, "{}", page.name);
    }
}

/// Two commands that make different things never go into one folder.
#[test]
fn no_two_kinds_of_examples_share_a_folder() {
    let mut pages = helps();
    pages.push(page(&root().join("README.md")));
    pages.push(page(&root().join("docs/testbed.md")));
    let mut owners = std::collections::BTreeMap::<String, String>::new();
    for command in pages.iter().flat_map(|p| &p.commands) {
        let mut words = command.split_whitespace();
        let kind = words.nth(1).unwrap_or_default().to_owned();
        if let Some(out) = words.skip_while(|w| *w != "--out").nth(1) {
            let owner = owners.entry(out.to_owned()).or_insert(kind.clone());
            assert_eq!(*owner, kind, "{command}");
        }
    }
    assert!(owners.len() > 8, "{owners:?}");
}
