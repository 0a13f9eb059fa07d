//! No bytes make a reader panic, and every refusal can be drawn.

use proptest::prelude::*;
use xoff_scenario::document::{Document, KindSpec, Override, SectionSpec};
use xoff_scenario::hpcc::{HpccConfig, HpccFlows, HpccTopology, read_trace};
use xoff_scenario::{Problems, Source, cdf, topology};
use xoff_units::params::{Kind, ParamSpec, Values};

const KEYS: &[ParamSpec] = &[
    ParamSpec::new("rate", Kind::Rate, "1Gbps", "", ""),
    ParamSpec::new("n", Kind::Count, "1", "", ""),
    ParamSpec::new("names", Kind::Texts, "", "", ""),
    ParamSpec::new("x", Kind::Float, "0.5", "", ""),
];

fn drawn<T>(result: Result<T, Problems>) {
    if let Err(e) = result {
        assert!(!e.is_empty() && !e.to_string().is_empty() && !e.render(true).is_empty());
    }
}

fn all_readers(bytes: &[u8]) {
    let source = match Source::from_bytes("fuzz", bytes.to_vec()) {
        Ok(source) => source,
        Err(e) => return drawn::<()>(Err(e)),
    };
    drawn(HpccConfig::read(&source));
    drawn(HpccTopology::read(&source).map(|t| t.graph().map(drop)));
    drawn(HpccFlows::read(&source, &[false, true, false]));
    drawn(read_trace(&source, 3));
    drawn(cdf::read(&source));
    drawn(topology::read(source.clone(), &[]));
    let setting = Override::set(source.text());
    if let Err(p) = &setting {
        p.render(false);
    }
    let settings: Vec<_> = setting.into_iter().collect();
    for doc in [
        Document::parse(source.clone(), &[]),
        Document::from_text("fuzz", "[t]\nkind = \"a\"\n", &settings),
    ] {
        drawn(doc.and_then(|doc| run(&doc)));
    }
}

/// Opens and reads everything; what was read must come out of the resolved document again.
fn run(doc: &Document) -> Result<(), Problems> {
    read(doc)?;
    let resolved = doc.resolved().to_toml();
    let again = Document::from_text("resolved", &resolved, &[])
        .unwrap_or_else(|e| panic!("{e}\n{resolved}"));
    read(&again).unwrap_or_else(|e| panic!("{e}\n{resolved}"));
    // Numbers may be written differently (0.50 and 0.5); TOML text again is the fixed point.
    let plain = |d: &Document| {
        d.resolved()
            .to_toml()
            .lines()
            .map(|l| l.split("  #").next().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(plain(doc), plain(&again));
    Ok(())
}

fn read(doc: &Document) -> Result<(), Problems> {
    let kind = |name| KindSpec { name, doc: "", specs: vec![KEYS] };
    let specs = [
        SectionSpec::once("", "", vec![KEYS]),
        SectionSpec::once("t", "", vec![]).kinds("kind", Some("a"), vec![kind("a"), kind("b")]),
        SectionSpec::many("t.u", "", vec![KEYS]),
        SectionSpec::many("u", "", vec![KEYS]),
    ];
    doc.declare(&specs);
    let mut sections = vec![doc.open(&specs[0]), doc.open(&specs[1])];
    sections.extend(doc.open_all(&specs[2]));
    sections.extend(doc.open_all(&specs[3]));
    for s in &mut sections {
        s.take(|s| {
            s.rate("rate")?;
            s.count("n")?;
            s.float("x")?;
            s.texts("names")
        });
    }
    doc.finish()
}

/// Pieces that get a text past the first checks.
const PIECES: &[&str] = &[
    "[t]\n",
    "[[u]]\n",
    "[[t.u]]\n",
    "[t.u]\n",
    "kind = \"a\"\n",
    "kind = 1\n",
    "rate = \"1Gbps\"\n",
    "rate = 1\n",
    "n = 1\n",
    "n = -0x1\n",
    "names = [\"a\", \"\\n\"]\n",
    "names = []\n",
    "x = 1e3\n",
    "x = nan\n",
    "u = []\n",
    "u = [{n = 2}, 3]\n",
    "t.u = {n = 1}\n",
    "t.u[0].n=1",
    "a.b.c = 1979-05-27\n",
    "\u{fffd}µ\u{202e}",
    "\r",
    "\r\n",
    "\n",
    " ",
    "\t",
    "\"",
    "#",
    "=",
    ".",
    "[",
    "]",
    "{",
    "}",
    "3 1 2\n2\n",
    "0 2 100Gbps 1us 0\n",
    "0 1 3 100 1000 2.0\n",
    "0 0\n",
    "10 100\n",
    "1 2 ",
    "99999999999999999999 ",
    "1e400 ",
    "-1 ",
    "KMAX_MAP 3 ",
    "CC_MODE ",
    "TOPOLOGY_FILE t FLOW_FILE f\n",
    "LINK_DOWN ",
    "[topology]\nkind = \"custom\"\n",
    "[[topology.node]]\nname = \"a\"\nkind = \"host\"\n",
    "[[topology.link]]\na = \"a\"\nb = \"a\"\n",
    "[[node]]\nname = \"a\"\nkind = \"switch\"\n",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        all_readers(&bytes);
    }

    #[test]
    fn characters(text in "\\PC{0,100}") {
        all_readers(text.as_bytes());
    }

    #[test]
    fn pieces(pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..16)) {
        all_readers(pieces.concat().as_bytes());
    }
}
