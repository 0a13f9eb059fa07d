//! Scenario documents: each message with its line and column, settings, provenance, and the schema.

use xoff_scenario::document::{Document, KindSpec, Override, SectionSpec, schema};
use xoff_scenario::{Problems, Source};
use xoff_units::params::{Kind, ParamError, ParamSpec, Values};

const TOP: &[ParamSpec] = &[
    ParamSpec::new("seed", Kind::Count, "1", "seed of all random draws", ""),
    ParamSpec::optional("stop", Kind::Span, "end of the run", ""),
];
const LINKS: &[ParamSpec] = &[
    ParamSpec::new("rate", Kind::Rate, "10Gbps", "rate of every link", "section 6.1"),
    ParamSpec::optional("delay", Kind::Span, "propagation delay", "length of the cable"),
];
const RING: &[ParamSpec] = &[ParamSpec::required("switches", Kind::Count, "number of switches")];
const TREE: &[ParamSpec] = &[ParamSpec::new("k", Kind::Count, "4", "ports of a switch", "")];
const NODE: &[ParamSpec] = &[
    ParamSpec::required("name", Kind::Text, "unique name"),
    ParamSpec::new("role", Kind::Choice(&["host", "switch"]), "host", "what it is", ""),
];
const PFC: &[ParamSpec] = &[
    ParamSpec::new("xoff", Kind::Bytes, "300KB", "pause above this", "section 6.1"),
    ParamSpec::new("xon", Kind::Bytes, "290KB", "resume below this", "section 6.1"),
    ParamSpec::new("gain", Kind::Float, "0.5", "gain", ""),
    ParamSpec::new("sticky", Kind::Flag, "false", "no quanta", ""),
    ParamSpec::new("length", Kind::Length, "100m", "cable", ""),
    ParamSpec::new("offset", Kind::Integer, "-1", "offset", ""),
    ParamSpec::new("names", Kind::Texts, "", "names", ""),
];

fn sections() -> Vec<SectionSpec> {
    let kind = |name, specs| KindSpec { name, doc: "A network.", specs: vec![specs] };
    vec![
        SectionSpec::once("", "Run.", vec![TOP]),
        SectionSpec::once("topology", "The network.", vec![LINKS])
            .kinds(
                "kind",
                None,
                vec![kind("ring", RING), kind("fat-tree", TREE), kind("custom", &[])],
            )
            .required(),
        SectionSpec::many("topology.node", "A node.", vec![NODE]),
        SectionSpec::once("flow_control", "Flow control.", vec![PFC]),
    ]
}

/// Opens everything as a run would and reads PFC's two thresholds.
fn read(text: &str, settings: &[&str]) -> (Document, Result<(), Problems>) {
    let settings: Vec<_> = settings.iter().map(|s| Override::set(s).unwrap()).collect();
    let doc = Document::from_text("s.toml", text, &settings).unwrap_or_else(|e| panic!("{e}"));
    let specs = sections();
    doc.declare(&specs);
    doc.open(&specs[0]).take(|s| Ok((s.count("seed")?, s.span_opt("stop")?)));
    let mut topology = doc.open(&specs[1]);
    topology.take(|s| s.rate("rate"));
    match topology.kind() {
        Some("ring") => drop(topology.take(|s| s.count("switches"))),
        Some("custom") => {
            for mut node in topology.children(&specs[2]) {
                node.take(|s| Ok((s.text("name")?, s.text("role")?)));
            }
        }
        _ => {}
    }
    doc.open(&specs[3]).take(|s| {
        let (xoff, xon) = (s.bytes("xoff")?, s.bytes("xon")?);
        if xon > xoff {
            Err(ParamError::new(
                "xon",
                format!("{xon} is above xoff, {xoff}"),
                "expected xon <= xoff",
            ))
        } else {
            Ok(())
        }
    });
    let end = doc.finish();
    (doc, end)
}

fn errors(text: &str, settings: &[&str]) -> Vec<String> {
    read(text, settings)
        .1
        .expect_err("must be refused")
        .to_string()
        .lines()
        .map(str::to_owned)
        .collect()
}

const RING3: &str = "[topology]\nkind = \"ring\"\nswitches = 3\n";

#[track_caller]
fn one(text: &str, expected: &str) {
    assert_eq!(errors(text, &[]), [expected]);
}

#[test]
fn a_number_without_unit() {
    one(
        "[topology]\nkind = \"ring\"\nswitches = 3\nrate = 10\n",
        "s.toml:4:8: rate: 10 has no unit (expected a rate with a unit, such as \"10Gbps\" or \"10G\" (bps, kbps, Mbps, Gbps, Tbps))",
    );
    one(
        &format!("{RING3}delay = \"5 sec\""),
        "s.toml:4:9: delay: unknown unit 'sec' (expected a time with a unit, such as \"1.5us\" (ps, ns, us, ms, s))",
    );
    one(
        &format!("{RING3}delay = true"),
        "s.toml:4:9: delay: found true (expected a time with a unit, such as \"1.5us\" (ps, ns, us, ms, s))",
    );
}

#[test]
fn unknown_keys_and_sections() {
    one(
        &format!("{RING3}rat = \"10Gbps\""),
        "s.toml:4:1: unknown key 'rat' in [topology] of kind 'ring' (did you mean 'rate'? known keys: kind, rate, delay, switches)",
    );
    one(
        "[topology]\nkind = \"ring\"\nk = 4\nswitches = 3\n",
        "s.toml:3:1: unknown key 'k' in [topology] of kind 'ring' (known keys: kind, rate, delay, switches)",
    );
    one(
        &format!("{RING3}[flow_contol]\nxoff = \"1KB\""),
        "s.toml:4:2: unknown section 'flow_contol' (did you mean 'flow_control'? known sections: flow_control, topology, topology.node)",
    );
    one(
        &format!("sed = 2\n{RING3}"),
        "s.toml:1:1: unknown key 'sed' in the top of the document (did you mean 'seed'? known keys: seed, stop)",
    );
    one(
        &format!("{RING3}[[topology.node]]\nname = \"a\""),
        "s.toml:4:12: section 'topology.node' has no effect in this document (remove the section, or choose its kind)",
    );
    one(
        &format!("{RING3}[topology.nodes]\nx = 1"),
        "s.toml:4:11: unknown section 'topology.nodes' (did you mean 'topology.node'? known sections: flow_control, topology, topology.node)",
    );
}

#[test]
fn kinds() {
    one(
        "[topology]\nkind = \"rinq\"\nanything = 1\n",
        "s.toml:2:8: unknown kind 'rinq' (did you mean 'ring'? known: ring, fat-tree, custom)",
    );
    one(
        "\n[topology]\n",
        "s.toml:2:2: missing key 'kind' in [topology] (kinds: ring, fat-tree, custom)",
    );
    one("[topology]\nkind = 3\n", "s.toml:2:8: kind: found number 3 (expected a text in quotes)");
    one("seed = 1\n", "s.toml:1:1: missing section [topology] (The network.)");
    one(
        "topology = 1\n",
        "s.toml:1:1: 'topology' is number 1 (expected one section, written [topology])",
    );
    one(
        &format!("{RING3}node = 4\n"),
        "s.toml:4:1: 'topology.node' is number 4 (expected a section)",
    );
    one(
        "[[topology]]\nkind = \"ring\"\n",
        "s.toml:1:3: 'topology' is a list (expected one section, written [topology])",
    );
}

#[test]
fn missing_and_mistyped_keys() {
    one(
        "[topology]\nkind = \"ring\"\n",
        "s.toml:1:2: missing key 'switches' in [topology] (number of switches; expected a whole number without quotes: 0, 1, 2, ...)",
    );
    let pfc = |line: &str| format!("{RING3}[flow_control]\n{line}\n");
    one(
        &pfc("gain = \"1\""),
        "s.toml:5:8: gain: found text \"1\" (expected a number without quotes, such as 0.5)",
    );
    one(
        &pfc("gain = nan"),
        "s.toml:5:8: gain: nan is not a finite number (expected a number without quotes, such as 0.5)",
    );
    one(
        &pfc("sticky = 1"),
        "s.toml:5:10: sticky: found number 1 (expected true or false, without quotes)",
    );
    one(
        &pfc("length = 1979-05-27"),
        "s.toml:5:10: length: found a date (expected a length with a unit, such as \"100m\" (mm, cm, m, km))",
    );
    one(
        &pfc("offset = 99999999999999999999"),
        "s.toml:5:10: offset: 99999999999999999999 is out of range (expected a whole number, -2^63 to 2^63 - 1)",
    );
    one(
        &pfc("names = \"a\""),
        "s.toml:5:9: names: found text \"a\" (expected a list of texts, such as [\"a\", \"b\"])",
    );
    one(
        &pfc("names = [1]"),
        "s.toml:5:9: names: found a list (expected a list of texts, such as [\"a\", \"b\"])",
    );
    one(
        &pfc("xoff = {a = 1}"),
        "s.toml:5:8: xoff: found a section (expected a size with a unit, such as \"300KB\" (B, KB = 1000, KiB = 1024, MB, MiB, ...))",
    );
    one(
        &format!("seed = -1\n{RING3}"),
        "s.toml:1:8: seed: -1 is out of range (expected a whole number, 0 to 2^64 - 1)",
    );
    one(
        &format!("seed = 1.5\n{RING3}"),
        "s.toml:1:8: seed: found number 1.5 (expected a whole number without quotes: 0, 1, 2, ...)",
    );
    one(
        &format!("{RING3}[[flow_control]]\n"),
        "s.toml:4:3: 'flow_control' is a list (expected one section, written [flow_control])",
    );
}

#[test]
fn lists_of_sections() {
    let custom = "[topology]\nkind = \"custom\"\n";
    one(
        &format!("{custom}[[topology.node]]\nrole = \"host\"\n"),
        "s.toml:3:1: missing key 'name' in topology.node[0] (unique name; expected a text in quotes)",
    );
    one(
        &format!("{custom}[[topology.node]]\nname = \"a\"\nrole = \"swich\"\n"),
        "s.toml:5:8: role: unknown choice 'swich' (did you mean 'switch'? choices: host, switch)",
    );
    one(
        &format!("{custom}[topology.node]\nname = \"a\"\n"),
        "s.toml:3:11: 'topology.node' is a section (expected [[topology.node]] in double brackets, any number of times)",
    );
    // Inline and empty lists mean the same as headers.
    assert!(read(&format!("{custom}node = [{{name = \"a\"}}, {{name = \"b\"}}]"), &[]).1.is_ok());
    assert!(read(&format!("{custom}node = []"), &[]).1.is_ok());
}

#[test]
fn an_owners_refusal_is_located_at_the_value() {
    let text = format!("{RING3}[flow_control]\nxoff = \"100KB\"\nxon = \"200KB\"\n");
    one(&text, "s.toml:6:7: xon: 200 KB is above xoff, 100 KB (expected xon <= xoff)");
    // Here the key itself is a default: the section is the place, and the default is named.
    let text = format!("{RING3}[flow_control]\nxoff = \"100KB\"\n");
    one(
        &text,
        "s.toml:4:2: flow_control.xon (default \"290KB\"): 290 KB is above xoff, 100 KB (expected xon <= xoff)",
    );
}

#[test]
fn all_errors_are_reported_in_order_and_at_most_ten_shown() {
    let text = "seed = \"x\"\n[topology]\nkind = \"ring\"\nswitches = 3\nrate = 1\nfoo = 2\n";
    let lines: Vec<String> =
        errors(text, &[]).iter().map(|l| l.split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(lines, ["s.toml:1:8:", "s.toml:5:8:", "s.toml:6:1:"]);
    let many: String = (0..15).map(|i| format!("unknown{i} = 1\n")).collect();
    let lines = errors(&format!("{many}{RING3}"), &[]);
    assert_eq!((lines.len(), lines[10].as_str()), (11, "... and 5 more"));
}

#[test]
fn toml_syntax() {
    let parse = |text: &str| Document::from_text("s.toml", text, &[]).unwrap_err().to_string();
    assert_eq!(
        parse("a = 1\na = 2\n"),
        "s.toml:2:1: key 'a' is defined twice (first defined on line 1; keep one)"
    );
    // Minutes, if each error reads the lines before it.
    let began = std::time::Instant::now();
    let many = parse(&"[[flow]]\na = 1\na = b\n".repeat(100_000));
    assert!(
        many.contains("s.toml:6:1: key 'a' is defined twice (first defined on line 5; keep one)")
    );
    assert!(many.ends_with("\n... and 199990 more"), "{many}");
    assert!(began.elapsed() < std::time::Duration::from_secs(60), "{:?}", began.elapsed());
    assert_eq!(parse("a = \n"), "s.toml:1:5: there is no value after '=' (expected key = value)");
    assert_eq!(
        parse("a = 10Gbps\n"),
        "s.toml:1:5: the text has no quotes (put texts and numbers with units in quotes, such as rate = \"10Gbps\")"
    );
    assert_eq!(
        parse("µ = 1\n"),
        "s.toml:1:1: invalid unquoted key, expected letters, numbers, `-`, `_` (TOML syntax; see toml.io)"
    );
    let e =
        Source::from_bytes("s.toml", b"a = 1\nb = \"\xff\"\n".to_vec()).unwrap_err().to_string();
    assert_eq!(e, "s.toml:2:6: byte 0xff is not UTF-8 (expected a text file in UTF-8)");
    let e = Document::load("no/such.toml".as_ref(), &[]).unwrap_err().to_string();
    assert_eq!(e, "cannot read 'no/such.toml' (no such file; check the path)");
}

#[test]
fn settings_pass_the_same_checks() {
    assert!(read(RING3, &["topology.rate=40Gbps", "seed=7", "flow_control.names=a"]).1.is_ok());
    assert!(read("", &["topology.kind=ring", "topology.switches=0x10"]).1.is_ok());
    assert!(read("", &["topology={kind = \"ring\", switches = 3}"]).1.is_ok());
    let one = |setting: &str, expected: &str| assert_eq!(errors(RING3, &[setting]), [expected]);
    one(
        "topology.rat=40Gbps",
        "--set topology.rat=40Gbps: unknown key 'rat' in [topology] of kind 'ring' (did you mean 'rate'? known keys: kind, rate, delay, switches)",
    );
    one(
        "topology.rate=40",
        "--set topology.rate=40: rate: '40' has no unit (expected a rate with a unit, such as \"10Gbps\" or \"10G\" (bps, kbps, Mbps, Gbps, Tbps))",
    );
    one(
        "topolog.rate=4",
        "--set topolog.rate=4: unknown section 'topolog' (did you mean 'topology'? known sections: flow_control, topology, topology.node)",
    );
    one(
        "seed=many",
        "--set seed=many: seed: found text \"many\" (expected a whole number without quotes: 0, 1, 2, ...)",
    );
    let refused = |setting: &str| {
        let text = "[topology]\nkind = \"custom\"\n[[topology.node]]\nname = \"a\"\n";
        Document::from_text("s.toml", text, &[Override::set(setting).unwrap()])
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refused("topology.node[2].name=b"),
        "--set topology.node[2].name=b: '2' is not an entry of 'node' ('node' has 1 entries, numbered from 0, as in node[0])"
    );
    assert_eq!(
        refused("topology.kind.x=b"),
        "--set topology.kind.x=b: 'kind' is text \"custom\", not a section (expected a path through sections to one key)"
    );
    assert_eq!(
        refused("topology..x=b"),
        "--set topology..x=b: the path has an empty part (expected dotted keys, such as topology.rate=40Gbps)"
    );
    assert_eq!(
        Override::set("seed").unwrap_err().line(),
        "--set seed: no '=' (expected path=value, such as topology.rate=40Gbps)"
    );
    assert_eq!(
        Override::set("=1").unwrap_err().line(),
        "--set =1: no path before '=' (expected path=value, such as topology.rate=40Gbps)"
    );
}

#[test]
fn settings_reach_into_lists() {
    let text = "[topology]\nkind = \"custom\"\n[[topology.node]]\nname = \"a\"\n[[topology.node]]\nname = \"b\"\n";
    let (doc, end) = read(text, &["topology.node[1].name=5", "topology.node.0.role=switch"]);
    end.unwrap();
    let rows = doc.resolved();
    let value = |path: &str| rows.rows().iter().find(|r| r.path() == path).unwrap().value.clone();
    // A shell eats quotes: the name is the text 5.
    assert_eq!(
        (value("topology.node[1].name"), value("topology.node[0].role")),
        ("5".into(), "switch".into())
    );
}

#[test]
fn every_value_is_traced_and_the_resolved_document_reads_the_same() {
    let text = "[topology]\nkind = \"custom\"\n[[topology.node]]\nname = \"a \\\"b\\\"\"\n[[topology.node]]\nname = \"c\"\nrole = \"switch\"\n";
    let (doc, end) = read(text, &["seed=9"]);
    end.unwrap();
    let resolved = doc.resolved();
    let rows: Vec<String> = resolved
        .rows()
        .iter()
        .map(|r| format!("{} = {} [{}] {}", r.path(), r.value, r.origin, r.source))
        .collect();
    let expected = [
        "seed = 9 [--set seed=9] ",
        "topology.kind = custom [s.toml:2:8] ",
        "topology.rate = 10Gbps [default] section 6.1",
        "topology.node[0].name = a \"b\" [s.toml:4:8] ",
        "topology.node[0].role = host [default] ",
        "topology.node[1].name = c [s.toml:6:8] ",
        "topology.node[1].role = switch [s.toml:7:8] ",
        "flow_control.xoff = 300KB [default] section 6.1",
        "flow_control.xon = 290KB [default] section 6.1",
    ];
    assert_eq!(rows, expected);
    let toml = resolved.to_toml();
    let (again, end) = read(&toml, &[]);
    end.unwrap();
    let values = |d: &Document| {
        d.resolved().rows().iter().map(|r| (r.path(), r.value.clone())).collect::<Vec<_>>()
    };
    assert_eq!(values(&again), values(&doc));
}

#[test]
fn a_problem_is_drawn_with_its_line_and_a_caret() {
    let text = read(&format!("{RING3}rate = 10\n"), &[]).1.unwrap_err().render(false);
    assert!(text.contains("s.toml:4:8"), "{text}");
    assert!(text.contains("rate = 10") && text.contains("help: expected a rate"), "{text}");
    // The message is above the line: the caret has no text of its own.
    assert_eq!(text.matches("has no unit").count(), 1, "{text}");
    assert!(text.lines().any(|l| l.trim().trim_start_matches('·').trim() == "──"), "{text}");
    assert!(!text.contains('\u{1b}'));
    assert!(
        read(&format!("{RING3}rate = 10\n"), &[]).1.unwrap_err().render(true).contains('\u{1b}')
    );
}

#[test]
fn warnings_do_not_stop() {
    let doc = Document::from_text("s.toml", RING3, &[]).unwrap();
    let section = doc.open(&sections()[1]);
    section.warn(&ParamError::new("switches", "an odd ring", "3 is fine all the same"));
    doc.finish().unwrap();
    assert_eq!(
        doc.warnings().to_string(),
        "s.toml:3:12: warning: switches: an odd ring (3 is fine all the same)"
    );
}

#[test]
fn the_schema_states_what_the_reader_accepts() {
    let s = schema(&sections());
    assert_eq!(s["required"], serde_json::json!(["topology"]));
    let ring = &s["properties"]["topology"]["oneOf"][0];
    assert_eq!(ring["properties"]["kind"]["const"], "ring");
    assert_eq!(ring["required"], serde_json::json!(["switches", "kind"]));
    assert_eq!(ring["additionalProperties"], false);
    assert_eq!(ring["properties"]["rate"]["default"], "10Gbps");
    assert_eq!(ring["properties"]["node"]["type"], "array");
    assert_eq!(
        ring["properties"]["node"]["items"]["properties"]["role"]["enum"],
        serde_json::json!(["host", "switch"])
    );
    assert_eq!(s["properties"]["flow_control"]["properties"]["gain"]["default"], 0.5);
    assert_eq!(
        s["properties"]["flow_control"]["properties"]["xoff"]["description"],
        "pause above this. Source: section 6.1."
    );
}

#[test]
fn a_hundred_thousand_sections_take_no_noticeable_time() {
    let mut text = String::from("[topology]\nkind = \"custom\"\n");
    (0..100_000).for_each(|i| text.push_str(&format!("[[topology.node]]\nname = \"n{i}\"\n")));
    let start = std::time::Instant::now();
    let (doc, end) = read(&text, &[]);
    end.unwrap();
    assert_eq!(
        doc.resolved().to_toml().lines().last(),
        Some("xon = \"290KB\"  # default: section 6.1")
    );
    // A quadratic step would take minutes; this bound is met forty times over.
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
}

const RENAMED: &[ParamSpec] =
    &[ParamSpec::new("period", Kind::Span, "1us", "time between two samples", "")
        .renamed_from(&["every", "step"])];

/// The period that a document gives, its warnings and its problems.
fn period(text: &str, settings: &[&str]) -> (Option<String>, String, String) {
    let settings: Vec<Override> = settings.iter().map(|s| Override::set(s).unwrap()).collect();
    let doc = Document::from_text("s.toml", text, &settings).unwrap();
    let spec = SectionSpec::once("run", "The run.", vec![RENAMED]);
    let value = doc.open(&spec).take(|s| s.text("period"));
    let end = doc.finish().err().map(|p| p.to_string()).unwrap_or_default();
    (value, doc.warnings().to_string(), end)
}

#[test]
fn an_old_name_of_a_key_works_with_a_warning_that_names_the_new_one() {
    let given = |text: &str, settings: &[&str]| period(text, settings).0.unwrap();
    assert_eq!(
        period("[run]\nperiod = \"2us\"\n", &[]),
        (Some("2us".into()), String::new(), String::new())
    );
    let warning = "s.toml:2:1: warning: write 'period' instead of 'step', its old name (the old name still works)";
    assert_eq!(
        period("[run]\nstep = \"3us\"\n", &[]),
        (Some("3us".into()), warning.into(), String::new())
    );
    // A setting goes before the file under either name.
    assert_eq!(given("[run]\nperiod = \"2us\"\n", &["run.every=5us"]), "5us");
    assert_eq!(given("[run]\nevery = \"2us\"\n", &["run.period=5us"]), "5us");
    let (_, warnings, _) = period("", &["run.every=5us"]);
    assert!(
        warnings.contains("--set run.every=5us")
            && warnings.contains("write 'period' instead of 'every'"),
        "{warnings}"
    );
    // Both in the file contradict each other.
    let (_, _, end) = period("[run]\nperiod = \"2us\"\nevery = \"3us\"\n", &[]);
    assert!(end.contains("'every' is the old name of 'period', which the file also has"), "{end}");
    // A wrong value is located where it stands; a name that neither is nor was one is unknown.
    assert!(period("[run]\nstep = \"3\"\n", &[]).2.contains("s.toml:2:8"));
    assert!(period("[run]\nsteps = \"3us\"\n", &[]).2.contains("unknown key 'steps'"));
}

/// Ports of a scheduled fabric, its warnings and its problems.
fn ports(text: &str, settings: &[&str]) -> (Option<u64>, String, String) {
    const PORTS: &[ParamSpec] =
        &[ParamSpec::new("ports", Kind::Count, "16", "ports of the switch", "")];
    let settings: Vec<Override> = settings.iter().map(|s| Override::set(s).unwrap()).collect();
    let doc = match Document::from_text("s.toml", text, &settings) {
        Ok(doc) => doc,
        Err(p) => return (None, String::new(), p.to_string()),
    };
    let spec = SectionSpec::once("scheduled_fabric", "The fabric.", vec![PORTS]);
    let value = doc.open(&spec).take(|s| s.count("ports"));
    let end = doc.finish().err().map(|p| p.to_string()).unwrap_or_default();
    (value, doc.warnings().to_string(), end)
}

#[test]
fn an_old_name_of_a_section_works_with_a_warning_that_names_the_new_one() {
    assert_eq!(
        ports("[scheduled_fabric]\nports = 4\n", &[]),
        (Some(4), String::new(), String::new())
    );
    let warning = "s.toml:1:2: warning: write [scheduled_fabric] instead of [fabric], its old name (the old name still works)";
    assert_eq!(ports("[fabric]\nports = 4\n", &[]), (Some(4), warning.into(), String::new()));
    // A setting reaches the section under either name, whichever name the file has.
    for text in ["[fabric]\nports = 4\n", "[scheduled_fabric]\nports = 4\n", ""] {
        let (value, warnings, end) = ports(text, &["fabric.ports=8"]);
        assert_eq!((value, end.as_str()), (Some(8), ""), "{text}");
        assert!(
            warnings.contains("--set fabric.ports=8: warning: write [scheduled_fabric]"),
            "{warnings}"
        );
        assert_eq!(ports(text, &["scheduled_fabric.ports=8"]).0, Some(8), "{text}");
    }
    let (_, _, end) = ports("[fabric]\nports = 4\n[scheduled_fabric]\nports = 4\n", &[]);
    assert!(
        end.contains("s.toml:1:2")
            && end.contains(
                "[fabric] is the old name of [scheduled_fabric], which the file also has"
            ),
        "{end}"
    );
}

#[test]
fn an_alias_of_a_kind_is_that_kind() {
    const KMIN: &[ParamSpec] = &[ParamSpec::new("kmin", Kind::Bytes, "5KB", "marking starts", "")];
    let kinds = vec![
        KindSpec { name: "none", doc: "nothing", specs: vec![] },
        KindSpec { name: "red", doc: "marks", specs: vec![KMIN] },
    ];
    let spec = SectionSpec::once("detection", "Detection.", vec![])
        .kinds("kind", Some("none"), kinds)
        .aliases(&[("ecn", "red")]);
    let read = |text: &str, settings: &[&str]| {
        let settings: Vec<Override> = settings.iter().map(|s| Override::set(s).unwrap()).collect();
        let mut doc = Document::from_text("s.toml", text, &settings).unwrap();
        doc.spread_kinds(std::slice::from_ref(&spec));
        let mut section = doc.open(&spec);
        let value = (section.kind(), section.take(|s| s.bytes_opt("kmin")).flatten().map(|b| b.0));
        doc.finish().unwrap();
        assert_eq!(doc.warnings().to_string(), "", "{text}");
        value
    };
    let wanted = (Some("red"), Some(7_000));
    assert_eq!(read("[detection]\nkind = \"ecn\"\nkmin = \"7KB\"\n", &[]), wanted);
    assert_eq!(read("[detection]\nkind = \"ecn\"\n[detection.ecn]\nkmin = \"7KB\"\n", &[]), wanted);
    assert_eq!(read("[detection]\nkind = \"red\"\n[detection.ecn]\nkmin = \"7KB\"\n", &[]), wanted);
    assert_eq!(read("[detection]\nkind = \"red\"\nkmin = \"7KB\"\n", &["detection=ecn"]), wanted);
    assert_eq!(
        read(
            "[detection]\nkind = \"none\"\n[detection.red]\nkmin = \"7KB\"\n",
            &["detection.kind=ecn"]
        ),
        wanted
    );
}

#[test]
fn the_schema_marks_old_names_as_deprecated() {
    let s = schema(&[SectionSpec::once("run", "The run.", vec![RENAMED])]);
    let properties = &s["properties"]["run"]["properties"];
    assert_eq!(properties["every"]["deprecated"], true);
    assert_eq!(properties["every"]["pattern"], properties["period"]["pattern"]);
    assert!(properties["period"]["deprecated"].is_null());
}
