//! Wrong inputs of every kind: each gives exit code 2, says where, what is expected, and how to
//! mend it.

mod support;

use support::{command, folder};

const RING: &str = "[topology]\nkind = \"ring\"\n";
const FLOW: &str = "[[flow]]\nsrc = \"H1\"\ndst = \"H2\"\nsize = \"1KB\"\n";

/// Runs in `dir`; stderr, in one line.
fn refusal(name: &str, args: &[&str], dir: &std::path::Path) -> String {
    let o = command(args)
        .current_dir(dir)
        .env("LC_ALL", "C.UTF-8")
        .env("COLUMNS", "110")
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&o.stderr);
    assert_eq!(
        o.status.code(),
        Some(2),
        "{name}: {args:?}\n{err}{}",
        String::from_utf8_lossy(&o.stdout)
    );
    assert!(o.stdout.is_empty(), "{name}: an answer next to an error");
    assert!(!err.contains("panicked"), "{name}:\n{err}");
    err.split(|c: char| c.is_whitespace() || c == '│')
        .filter(|w| !w.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// (name, text of the scenario, place, what stands in the refusal).
type Row<'a> = (&'a str, Vec<u8>, &'a str, &'a [&'a str]);

/// Long, as it is a list: one wrong scenario an item.
#[test]
#[expect(clippy::too_many_lines, reason = "a table of refusals")]
fn wrong_scenarios() {
    let with = |more: &str| format!("{RING}{FLOW}{more}").into_bytes();
    let flow = |from: &str, to: &str| format!("{RING}{}", FLOW.replace(from, to)).into_bytes();
    let poisson = |keys: &str| {
        format!("{RING}[[workload]]\nkind = \"poisson\"\nload = 0.5\nduration = \"1ms\"\n{keys}\n")
            .into_bytes()
    };
    let custom = |name: &str| {
        let node = format!("[[topology.node]]\nname = \"{name}\"\nkind = \"host\"\n");
        format!("[topology]\nkind = \"custom\"\n{node}{node}").into_bytes()
    };
    let incast = |inputs: &str| {
        format!("[scheduled_fabric]\nkind = \"clos\"\n[traffic]\nkind = \"incast\"\nload = 0.5\ninputs = [{inputs}]\noutput = 1\n")
            .into_bytes()
    };
    let utf16: Vec<u8> =
        [0xff, 0xfe].into_iter().chain(RING.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let rows: Vec<Row> = vec![
        (
            "wrong unit",
            flow("1KB", "1Gbps"),
            "s.toml:6:8",
            &["unknown unit 'Gbps'", "expected a size"],
        ),
        (
            "no unit",
            flow("\"1KB\"", "1000"),
            "s.toml:6:8",
            &["1000 has no unit", "expected a size"],
        ),
        ("negative", flow("1KB", "-1KB"), "s.toml:6:8", &["is negative", "expected a size"]),
        ("nothing", flow("1KB", ""), "s.toml:6:8", &["has no number", "expected a size"]),
        ("zero", flow("1KB", "0B"), "s.toml:6:8", &["a flow of 0 bytes", "at least 1 B"]),
        (
            "huge",
            flow("1KB", "99999999999999999999B"),
            "s.toml:6:8",
            &["is too large", "expected a size"],
        ),
        (
            "missing key",
            flow("dst = \"H2\"\n", ""),
            "s.toml:3:1",
            &["missing key 'dst' in flow[0]", "Receiving host; expected"],
        ),
        (
            "unknown host",
            flow("H2", "H9"),
            "s.toml:5:7",
            &["there is no host 'H9'", "did you mean 'H1'?"],
        ),
        (
            "other case",
            flow("H2", "h2"),
            "s.toml:5:7",
            &["there is no host 'h2'", "did you mean 'H2'?"],
        ),
        ("a switch", flow("H2", "S2"), "s.toml:5:7", &["'S2' is a switch", "between hosts"]),
        ("self flow", flow("H2", "H1"), "s.toml:5:7", &["from 'H1' to 'H1'", "another host"]),
        (
            "one bracket",
            flow("[[flow]]", "[flow]"),
            "s.toml:3:2",
            &["'flow' is a section", "[[flow]] in double brackets"],
        ),
        (
            "typo in a key",
            with("[switch]\nbufer = \"1MB\"\n"),
            "s.toml:8:1",
            &["unknown key 'bufer'", "did you mean 'buffer'?"],
        ),
        (
            "typo in a section",
            with("[swich]\nbuffer = \"1MB\"\n"),
            "s.toml:7:2",
            &["unknown section 'swich'", "did you mean 'switch'?"],
        ),
        (
            "typo in a choice",
            with("[switch]\ndiscipline = \"fifoo\"\n"),
            "s.toml:8:14",
            &["unknown choice 'fifoo'", "did you mean 'fifo'?"],
        ),
        (
            "typo in a kind",
            with("[flow_control]\nkind = \"pcf\"\n"),
            "s.toml:8:8",
            &["unknown kind 'pcf'", "did you mean 'pfc'?"],
        ),
        (
            "wrong type",
            with("[switch]\nbuffer = true\n"),
            "s.toml:8:10",
            &["found true", "expected a size"],
        ),
        (
            "a list",
            with("[switch]\nbuffer = [\"1MB\"]\n"),
            "s.toml:8:10",
            &["found a list", "expected a size"],
        ),
        (
            "a date",
            with("[run]\nduration = 2020-01-01\n"),
            "s.toml:8:12",
            &["found a date", "expected a time"],
        ),
        (
            "numbers for names",
            with("path = [1, 2]\n"),
            "s.toml:7:8",
            &["found a list", "a list of texts"],
        ),
        (
            "no quotes",
            with("[switch]\nbuffer = 1MB\n"),
            "s.toml:8:10",
            &["the text has no quotes", "in quotes, such as"],
        ),
        (
            "quote left open",
            with("[switch]\nbuffer = \"1MB\n"),
            "s.toml:8:14",
            &["invalid basic string", "TOML syntax"],
        ),
        ("stray bracket", with("]\n"), "s.toml:7:1", &["expected `[`", "TOML syntax"]),
        (
            "key twice",
            with("size = \"2KB\"\n"),
            "s.toml:7:1",
            &["key 'size' is defined twice", "first defined on line 6"],
        ),
        (
            "section twice",
            with("[topology]\nkind = \"star\"\n"),
            "s.toml:7:2",
            &["section 'topology' is defined twice", "on line 1"],
        ),
        (
            "half a switch",
            format!("[topology]\nkind = \"ring\"\nswitches = 3.5\n{FLOW}").into(),
            "s.toml:3:12",
            &["found number 3.5", "a whole number"],
        ),
        (
            "negative count",
            format!("[topology]\nkind = \"ring\"\nswitches = -3\n{FLOW}").into(),
            "s.toml:3:12",
            &["-3 is out of range", "a whole number"],
        ),
        (
            "quoted count",
            format!("[topology]\nkind = \"ring\"\nswitches = \"3\"\n{FLOW}").into(),
            "s.toml:3:12",
            &["found text \"3\"", "without quotes"],
        ),
        (
            "odd k",
            b"[topology]\nkind = \"fat-tree\"\nk = 5\n".to_vec(),
            "s.toml:3:5",
            &["5 is odd", "even k"],
        ),
        ("no flows", RING.into(), "s.toml:1:1", &["no flows", "add a [[flow]]"]),
        ("no topology", FLOW.into(), "s.toml:1:1", &["missing section [topology]", "help:"]),
        (
            "not a number",
            poisson("size = \"1KB\"\n[run]\nduration = \"nan\""),
            "s.toml:9:12",
            &["'nan' has no number", "expected a time"],
        ),
        (
            "probability",
            with("[failures]\nprobability = 1.5\n"),
            "s.toml:8:15",
            &["not a probability", "expected 0 to 1"],
        ),
        (
            "link that failed",
            with("[failures]\nlinks = [\"S1-S9\"]\n"),
            "s.toml:8:9",
            &["no node 'S9'", "A1:C1"],
        ),
        (
            "half a link",
            with("[[failure]]\nlink = \"S1-\"\nat = \"1us\"\n"),
            "s.toml:8:8",
            &["only one end", "S1:"],
        ),
        (
            "half a failure",
            with("[[failure]]\nlink = \"S1-S2\"\n"),
            "s.toml:7:1",
            &["missing key 'at' in failure[0]", "expected a time"],
        ),
        (
            "probe of a node",
            with("[probes]\ninterval = \"1us\"\nqueues = [\"S1\"]\n"),
            "s.toml:9:10",
            &["'S1' is not a port", "S1:S2"],
        ),
        (
            "probe without interval",
            with("[probes]\nqueues = [\"S1:S2\"]\n"),
            "s.toml:7:2",
            &["sampling needs an interval", "10us"],
        ),
        (
            "path with a gap",
            with("path = [\"H1\", \"S1\", \"S3\", \"H2\"]\n"),
            "s.toml:7:8",
            &["not linked", "help:"],
        ),
        (
            "path to a switch",
            with("path = [\"H1\", \"S1\"]\n"),
            "s.toml:7:8",
            &["'S1' is a switch", "to a host"],
        ),
        (
            "priority",
            with("priority = 8\n"),
            "s.toml:7:12",
            &["8 is not a priority", "expected 0 to 7"],
        ),
        (
            "reversed thresholds",
            with("[flow_control]\nxoff = \"100KB\"\nxon = \"200KB\"\n"),
            "s.toml:9:7",
            &["above XOFF", "XON <= XOFF"],
        ),
        (
            "buffer below a frame",
            with("[switch]\nbuffer = \"1KB\"\n"),
            "s.toml:8:10",
            &["no room for a frame", "use a larger buffer"],
        ),
        ("reversed range", incast("\"8-3\""), "s.toml:6:10", &["'8-3' is reversed", "\"3-8\""]),
        ("port beyond all", incast("\"3-99999\""), "s.toml:6:10", &["no port 99999", "0 to 4095"]),
        ("no range", incast("\"x\""), "s.toml:6:10", &["neither a port nor a range", "\"8-15\""]),
        (
            "cdf with commas",
            poisson("cdf = \"commas\""),
            "s.toml:7:7",
            &["commas:1:4", "separate the words by blanks, not commas"],
        ),
        (
            "cdf misspelt",
            poisson("cdf = \"websaerch\""),
            "s.toml:7:7",
            &["neither a built-in", "did you mean 'websearch'?"],
        ),
        ("empty", Vec::new(), "s.toml:1:1", &["the file is empty", "[topology]"]),
        ("comments", b"# nothing\n".to_vec(), "s.toml:1:1", &["only comments", "[topology]"]),
        (
            "binary",
            (0..=255).collect(),
            "s.toml:3:115",
            &["0x80 is not UTF-8", "expected a text file"],
        ),
        ("UTF-16", utf16, "s.toml:1:1", &["the file is UTF-16; save it as UTF-8"]),
        (
            "gzip",
            b"\x1f\x8b\x08".to_vec(),
            "s.toml:1:2",
            &["0x8b is not UTF-8", "the file is compressed with gzip; unpack it first"],
        ),
        (
            "Latin-1",
            b"[run]\ntitle = \"\xe4\"\n".to_vec(),
            "s.toml:2:10",
            &["0xe4 is not UTF-8", "expected a text file"],
        ),
        (
            "CR LF",
            format!("{RING}{FLOW}[switch]\nbufer = 1\n").replace('\n', "\r\n").into(),
            "s.toml:8:1",
            &["unknown key 'bufer'"],
        ),
        (
            "byte order mark",
            [b"\xef\xbb\xbf".to_vec(), with("[switch]\nbufer = 1\n")].concat(),
            "s.toml:8:1",
            &["unknown key 'bufer'"],
        ),
        (
            "names twice",
            custom("A"),
            "s.toml:7:8",
            &["'A' is already the name", "give each node its own name"],
        ),
        (
            "names beyond ASCII twice",
            custom("\u{c4}"),
            "s.toml:7:8",
            &["is already the name", "give each node its own name"],
        ),
        (
            "a blank in a name",
            custom("A B"),
            "s.toml:4:8",
            &["'A B' is not a name", "without spaces"],
        ),
    ];
    let dir = folder("wrong/scenarios");
    std::fs::write(dir.join("commas"), "0,0\n1000,100\n").unwrap();
    for (name, text, place, prints) in &rows {
        std::fs::write(dir.join("s.toml"), text).unwrap();
        let ran = refusal(name, &["run", "s.toml", "--out", "out"], &dir);
        assert!(ran.contains(place), "{name}: {place} is not in:\n{ran}");
        // A drawn problem has a line of help; one on a line too long to be drawn has it in
        // brackets.
        assert!(ran.contains("help: ") || ran.contains(" ("), "{name}: no hint:\n{ran}");
        prints
            .iter()
            .for_each(|text| assert!(ran.contains(text), "{name}: '{text}' is not in:\n{ran}"));
        assert!(!dir.join("out").exists(), "{name}: a folder was made");
    }
    assert!(rows.len() >= 40);
}

/// Errors on the command line, over all subcommands.
#[test]
#[expect(clippy::too_many_lines, reason = "a table: one wrong command line a row")]
fn wrong_command_lines() {
    let dir = folder("wrong/lines");
    std::fs::write(dir.join("s.toml"), format!("{RING}{FLOW}")).unwrap();
    std::fs::write(dir.join("text"), "0,0\n1000,100\n").unwrap();
    std::fs::write(dir.join("sweep.toml"), "scenario = \"s.toml\"\nseeds = 2\n").unwrap();
    std::fs::create_dir_all(dir.join("labs")).unwrap();
    std::fs::write(
        dir.join("labs/lab.clab.yml"),
        "name: lab\ntopology:\n  nodes:\n    a:\n      kind: linux\n",
    )
    .unwrap();
    std::fs::create_dir_all(dir.join("configs")).unwrap();
    std::fs::write(dir.join("configs/leaf1.json"), "{\"DEVICE_METADATA\": {}}").unwrap();
    let rows: &[(&str, &[&str])] = &[
        ("run", &["<SCENARIO> is missing", "for example: xoff run ", "xoff new ring"]),
        (
            "explain s.toml",
            &["<PORT>, <TIME> are missing", "for example: xoff explain out/ring H1:S1 15ms"],
        ),
        ("view", &["<RUN> is missing", "for example: xoff view out/ring"]),
        ("hpcc", &["<CONFIG> is missing", "for example: xoff hpcc crates/"]),
        ("sweep", &["<SWEEP> is missing", "for example: xoff sweep scenarios/sweeps/ring.toml"]),
        ("view nope", &["there is no folder 'nope'", "expected the folder of a run"]),
        (
            "sweep s.toml",
            &[
                "'s.toml' is a scenario, not a sweep file",
                "xoff run s.toml",
                "scenario = \"s.toml\"",
            ],
        ),
        (
            "run sweep.toml",
            &["'sweep.toml' is a sweep file, not a scenario", "use xoff sweep sweep.toml"],
        ),
        (
            "run labs/lab.clab.yml",
            &[
                "is a file of containerlab, not a scenario",
                "xoff import containerlab labs/lab.clab.yml --out lab.toml",
            ],
        ),
        (
            "check labs/lab.clab.yml",
            &[
                "is a file of containerlab, not a scenario",
                "use xoff check containerlab:labs/lab.clab.yml",
            ],
        ),
        (
            "check configs",
            &["'configs' is a folder with files of sonic", "use xoff check sonic:configs"],
        ),
        ("check moon:configs", &["there is no format 'moon'", "use xoff check sonic:configs"]),
        ("check rng:switches=3", &["neither a file nor a fabric", "did you mean 'ring'?"]),
        (
            "check sonik:x",
            &["there is no format 'sonik'", "did you mean 'sonic'?", "ibnetdiscover"],
        ),
        (
            "testbed labs/lab.clab.yml",
            &["is a file of containerlab, not a scenario", "xoff import containerlab"],
        ),
        ("tree labs/lab.clab.yml 1us", &["is a file of containerlab, not a scenario"]),
        (
            "host labs/lab.clab.yml --node H1 --port lo",
            &["is a file of containerlab, not a scenario"],
        ),
        ("run x.toml", &["cannot read 'x.toml'", "no such file"]),
        ("run x.toml --out o", &["cannot read 'x.toml'", "no such file"]),
        ("run . --out o", &["cannot read '.'", "folder"]),
        ("run s.toml --out o --seed -1", &["--seed: '-1' is negative", "expected 0 or more"]),
        ("run s.toml --out o --seed x", &["'x'", "--seed"]),
        ("run s.toml --out o --threads 0", &["--threads", "1..=1024"]),
        ("run s.toml --out o --threads 9999999", &["--threads", "1..=1024"]),
        ("run s.toml --out o --set x", &["no '='", "expected path=value"]),
        (
            "run s.toml --out o --set switch.bufer=1MB",
            &["unknown key 'bufer'", "did you mean 'buffer'?"],
        ),
        ("run s.toml --out o --set switch..buffer=1MB", &["empty part", "dotted keys"]),
        ("run s.toml --out o --set switch.buffer=1", &["'1' has no unit", "expected a size"]),
        ("run s.toml --out o --set flow[7].size=1KB", &["'7' is not an entry", "flow[0]"]),
        ("check rng", &["neither a file nor a fabric", "did you mean 'ring'?"]),
        ("check ring:switches", &["has no value", "expected key=value"]),
        ("check ring:switches=x", &["not a whole number", "expected 0, 1, 2"]),
        ("check ring:switches=3,switches=4", &["given twice", "keep one"]),
        ("check ring:switchez=3", &["unknown key", "did you mean 'switches'?"]),
        ("check ring --fail S1-", &["only one end", "quote the name"]),
        ("check ring --fail S1:S9", &["no node 'S9'", "A1:C1"]),
        ("check ring --fail H1:S2", &["not linked", "'H1' is linked to S1"]),
        ("check ring --fail-any x", &["--fail-any"]),
        ("check ring --routing foo", &["foo", "all-paths"]),
        ("check ring --flows text", &["text:1:1", "blanks, not commas"]),
        ("plan --rate -1Gbps", &["--rate: '-1Gbps' is negative"]),
        ("plan --rate 1Gb", &["unknown unit 'Gb'", "expected a rate"]),
        ("plan --ports 1000000000000", &["out of range", "expected 1 to"]),
        ("plan --priorities 1000000000000", &["out of range", "expected 1 to"]),
        ("plan --length 1e9km", &["unknown unit", "expected a length"]),
        (
            "plan --rate 18446744073Gbps --length 1000000km",
            &["out of range", "expected 1 Mb/s to 100 Tb/s"],
        ),
        ("hpcc nope --out o", &["cannot read 'nope'", "no such file"]),
        ("hpcc text --out o", &["text:1:1", "CC_MODE"]),
        ("replay text", &["text: the capture cannot be read", "--capture"]),
        ("explain s.toml H1- 1us", &["only one end", "quote the name", "H1:"]),
        ("explain s.toml H1:S2 1us", &["not linked", "'H1' is linked to S1"]),
        ("explain s.toml h1:S1 1us", &["no node 'h1'", "did you mean 'H1'?"]),
        ("explain s.toml 1us H1:S1", &["arguments are swapped", "explain 's.toml' 'H1:S1' '1us'"]),
        ("explain H1:S1 s.toml 1us", &["arguments are swapped", "explain 's.toml' 'H1:S1' '1us'"]),
        ("explain s.toml H1:S1 15", &["no unit", "expected a time"]),
        ("explain s.toml H1:S1 -15ms", &["'-15ms' is negative"]),
        ("explain s.toml H1:S1 1s", &["after the end of the run at 20 ms", "earlier time"]),
        ("explain nope H1:S1 1us", &["no folder or file 'nope'", "folder of a run"]),
        ("explain . H1:S1 1us", &["manifest.json", "a folder that a run wrote"]),
        ("tree 1us s.toml", &["arguments are swapped", "tree 's.toml' '1us'"]),
        ("tree s.toml 1", &["'1' has no unit", "expected a time"]),
        ("testbed s.toml --out o --ip H9 --run H9=ls", &["no host H9", "hosts are H1"]),
        ("switch s.toml --node S9 --port H1=lo", &["no switch S9", "one of S1"]),
        ("switch s.toml --node S1 --port H1", &["not PEER=INTERFACE", "neighbours of S1"]),
        ("switch s.toml --node S1 --port H1=lo --for 10", &["'10' has no unit", "expected a time"]),
        ("host s.toml --node S1 --port lo", &["no host S1", "one of H1"]),
        ("host s.toml --node H1 --port lo --watchdog x", &["--watchdog", "200ms"]),
    ];
    for (line, prints) in rows {
        let args: Vec<&str> = line.split(' ').collect();
        let ran = refusal(line, &args, &dir);
        prints
            .iter()
            .for_each(|text| assert!(ran.contains(text), "{line}: '{text}' is not in:\n{ran}"));
        let foreign = [", not a scenario", ", not a sweep file", "files of", "no format"]
            .iter()
            .any(|w| prints[0].contains(w));
        assert!(
            !foreign || ran.matches("help: ").count() == 1,
            "{line}: one error, not one for each line of the file:\n{ran}"
        );
    }
}

/// A locale without more than ASCII gets ASCII answers and errors.
#[test]
fn a_plain_locale_gets_plain_signs() {
    let dir = folder("wrong/locale");
    std::fs::write(dir.join("s.toml"), format!("{RING}{FLOW}[switch]\nbufer = 1\n")).unwrap();
    let lines: [&[&str]; 3] = [
        &["run", "s.toml", "--out", "o"],
        &["plan", "--flow-control", "pfc"],
        &["check", "ring", "--fail-any", "1"],
    ];
    for args in lines {
        let ran = |locale: &str| {
            let o = command(args)
                .current_dir(&dir)
                .env_remove("LC_ALL")
                .env_remove("LC_CTYPE")
                .env("LANG", locale)
                .output()
                .unwrap();
            [o.stdout, o.stderr].concat()
        };
        assert!(ran("C").is_ascii(), "{args:?}:\n{}", String::from_utf8_lossy(&ran("C")));
        assert!(ran("").is_ascii(), "{args:?}");
    }
    let o =
        command(["plan", "--flow-control", "pfc"]).env("LC_ALL", "de_DE.utf8").output().unwrap();
    assert!(
        String::from_utf8_lossy(&o.stdout).contains('─'),
        "a canary: with UTF-8 there are lines"
    );
}

/// No word of a table is broken, however narrow the terminal: it could not be copied.
#[test]
fn narrow_terminals_break_no_words() {
    let plan = |columns: &str| {
        let o = command(["plan", "--flow-control", "gfc-buffer", "--explain"])
            .env("COLUMNS", columns)
            .env("LC_ALL", "C")
            .output()
            .unwrap();
        String::from_utf8(o.stdout).unwrap()
    };
    let (wide, narrow) = (plan("160"), plan("60"));
    let words = |text: &str| {
        let plain = text
            .split_whitespace()
            .filter(|w| w.chars().any(char::is_alphanumeric))
            .map(str::to_owned);
        plain.collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(words(&wide), words(&narrow), "{narrow}");
    assert_ne!(wide, narrow, "a canary: the width has an effect");
}

/// Before: 68 columns in a terminal of 60, as no source of a rule can be broken next to three other
/// columns.
#[test]
fn the_rules_of_a_plan_fit_a_narrow_terminal() {
    for args in [
        &["plan", "--explain"][..],
        &["plan", "--explain", "--rate", "400Gbps", "--length", "40m", "--mtu", "9216"],
    ] {
        let o = command(args).env("COLUMNS", "60").env("LC_ALL", "C").output().unwrap();
        let out = String::from_utf8(o.stdout).unwrap();
        let rules =
            out.split(" Rule for H").nth(1).and_then(|r| r.split(" Quantity").next()).unwrap();
        let wide: Vec<&str> = rules.lines().filter(|l| l.len() > 60).collect();
        assert!(wide.is_empty() && rules.contains("buffer_headroom_mellanox.lua"), "{wide:?}");
    }
}
