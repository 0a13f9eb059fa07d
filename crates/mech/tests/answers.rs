//! Answers of every mechanism of every registry to the questions of other parts, and its errors for
//! invalid values: with its defaults, and with each parameter set to values on both sides of the
//! valid range. `answers.txt` has a hash for each mechanism and link; the text itself has a line
//! for each setting, with the answers that differ from those of the defaults.

use std::fmt::Write;
use std::path::Path;

use xoff_mech::detection::{self, NetworkFacts, Place, Side};
use xoff_mech::flow_control::{self, FlowControl};
use xoff_mech::rate_control::{self, FlowFacts, RateControl, RateControlKind};
use xoff_mech::sharing::{self, Sharing, Supply};
use xoff_mech::{LinkFacts, link_retry, transport, watchdog};
use xoff_units::params::{Defaults, Kind, ParamError, ParamSpec};
use xoff_units::{Bytes, Rate, Span};

/// A short link, one with jumbo frames of other classes and nodes that take their time, one with a
/// buffer of two frames, one whose buffer is the blocks of a frame; one whose buffer is all blocks
/// that 12 bits count, and a faster one with a block more.
const LINKS: [LinkFacts; 6] = [
    LinkFacts::plain(Rate::from_gbps(10), Span::from_us(1), Bytes(1_500), Bytes(300_000)),
    LinkFacts {
        rate: Rate::from_gbps(40),
        delay: Span::from_ns(500),
        mtu: Bytes(4_096),
        mtu_other: Bytes(9_000),
        buffer: Bytes(1_000_000),
        processing: Span::from_us(2),
        jitter: Span::from_ns(100),
        control_ahead: 2,
        peer_tier: std::cmp::Ordering::Less,
    },
    LinkFacts::plain(Rate::from_gbps(100), Span::from_us(5), Bytes(9_000), Bytes(20_000)),
    LinkFacts::plain(Rate::from_gbps(10), Span::from_us(1), Bytes(1_500), Bytes(1_536)),
    LinkFacts::plain(Rate::from_gbps(10), Span::from_us(1), Bytes(1_500), Bytes(131_072)),
    LinkFacts::plain(Rate::from_gbps(100), Span::from_us(5), Bytes(1_500), Bytes(131_136)),
];

/// A name and its answer.
type Answers = Vec<(&'static str, String)>;

fn or_why<T: std::fmt::Debug>(answer: Result<T, ParamError>) -> String {
    match answer {
        Ok(t) => format!("{t:?}"),
        Err(e) => format!("refused: {e}"),
    }
}

/// The beginning of a long text, and how long it is.
fn short(text: String) -> String {
    if text.len() > 400 { format!("{}... {} in all", &text[..400], text.len()) } else { text }
}

/// Values of a key on both sides of what may be given.
fn values(kind: Kind) -> Vec<String> {
    let texts: &[&str] = match kind {
        Kind::Rate => &["0bps", "1Mbps", "41Gbps"],
        Kind::Bytes => &["0B", "1500B", "300KB", "301KB"],
        Kind::Span => &["0us", "1us", "201ms"],
        Kind::Count => &["0", "1", "2", "255", "256", "65536"],
        Kind::Integer => &["-9", "-1", "0", "8"],
        Kind::Float => &["-0.1", "0", "0.5", "1", "1.5"],
        Kind::Flag => &["false", "true"],
        Kind::Choice(words) => return words.iter().map(|w| (*w).to_owned()).collect(),
        Kind::Text | Kind::Texts | Kind::Length => &[],
    };
    texts.iter().map(|t| (*t).to_owned()).collect()
}

/// Keys that only mean something, or only fail, together.
type Setting = &'static [(&'static str, &'static str)];

const TOGETHER: &[(&str, &[Setting])] = &[
    (
        "qcn",
        &[
            &[("setpoint", "1TB")],
            &[("setpoint", "1000000000001B")],
            &[("setpoint", "1099511627776B")],
            &[("setpoint", "1099511627777B")],
            &[("fast_recovery", "1000")],
            &[("fast_recovery", "1001")],
            &[("gd", "5")],
            &[("gd", "6")],
            &[("gd", "32")],
            &[("gd", "33")],
            &[("min_dec_fac", "100")],
            &[("min_dec_fac", "101")],
        ],
    ),
    (
        "red",
        &[
            &[("kmin", "9KB"), ("kmax", "9KB")],
            &[("kmin", "9001B"), ("kmax", "9KB")],
            &[("kmin", "0B"), ("kmax", "292936B")],
            &[("kmin", "292936B"), ("kmax", "293KB")],
        ],
    ),
    (
        "tcd",
        &[
            &[("low_threshold", "300KB"), ("threshold", "300KB")],
            &[("low_threshold", "9KB"), ("threshold", "8999B")],
        ],
    ),
    (
        "hpcc",
        &[
            &[("int_multi", "1024")],
            &[("int_multi", "1025")],
            &[("int_multi", "1024"), ("sample_feedback", "true")],
        ],
    ),
    (
        "timely",
        &[&[("t_low", "90us"), ("t_high", "90us")], &[("t_low", "91us"), ("t_high", "90us")]],
    ),
    (
        "ib-cc",
        &[
            &[("limit", "128")],
            &[("limit", "127"), ("min", "127")],
            &[("limit", "127"), ("min", "128")],
        ],
    ),
    (
        "dynamic",
        &[
            &[("alpha", "0.00390625")],
            &[("alpha", "128")],
            &[("alpha", "128.1")],
            &[("alpha", "0.0039")],
        ],
    ),
    ("reverie", &[&[("gain", "0.0009765625")], &[("gain", "0.0009")], &[("gain", "1.01")]]),
    (
        "duration",
        &[
            &[("detect", "9ms"), ("poll", "9ms")],
            &[("detect", "9ms"), ("poll", "10ms")],
            &[("detect", "27ms"), ("poll", "9ms")],
            &[("detect", "28ms"), ("poll", "9ms")],
        ],
    ),
    (
        "status",
        &[
            &[("detect", "9ms"), ("poll", "9ms")],
            &[("detect", "27ms"), ("poll", "9ms")],
            &[("detect", "28ms"), ("poll", "9ms")],
        ],
    ),
    (
        "fecn",
        &[
            &[("packet_size", "23")],
            &[("packet_size", "24")],
            &[("packet_size", "64")],
            &[("packet_size", "65")],
        ],
    ),
    (
        "tcp",
        &[
            &[("delayed_ack", "500ms"), ("rto_min", "501ms")],
            &[("delayed_ack", "501ms"), ("rto_min", "502ms")],
            &[("delayed_ack", "200ms"), ("rto_min", "200ms")],
            &[("initial_window", "10000")],
            &[("initial_window", "10001")],
            &[("rto_initial", "60s")],
            &[("rto_initial", "60001ms")],
        ],
    ),
    (
        "pfc",
        &[
            &[("xoff", "9KB"), ("xon", "9KB")],
            &[("xoff", "9KB"), ("xon", "9001B")],
            &[("quanta", "65535"), ("repeat", "1us")],
        ],
    ),
    (
        "cbfc",
        &[
            &[("period", "232us")],
            &[("period", "51ps")],
            &[("period", "409ps")],
            &[("period", "410ps")],
            &[("period", "51ns")],
            &[("period", "52ns")],
            &[("period", "410ns")],
            &[("period", "409ns")],
            &[("period", "900us")],
        ],
    ),
    (
        "gfc-buffer",
        &[
            &[("entry_ports", "2"), ("entry_b1", "9KB"), ("b1", "60KB")],
            &[("entry_ports", "2"), ("entry_b1", "1KB"), ("b1", "20KB")],
            &[("entry_ports", "3"), ("entry_b1", "60KB"), ("b1", "60KB")],
            &[("entry_ports", "1024"), ("entry_b1", "9KB")],
            &[("entry_ports", "1025"), ("entry_b1", "9KB")],
            &[("bm", "50KB"), ("b1", "50KB")],
            &[("bm", "50KB"), ("b1", "49999B")],
        ],
    ),
    (
        "uec-cbfc",
        &[
            &[("sharing", "dynamic"), ("shared_th", "2")],
            &[("sharing", "dynamic"), ("shared_th", "-2"), ("limit", "900")],
            &[("sharing", "static"), ("shared_limit", "20"), ("reserved", "9")],
            &[("sharing", "static"), ("shared_limit", "100"), ("reserved", "99"), ("limit", "792")],
            &[("sharing", "static"), ("shared_limit", "100"), ("reserved", "99"), ("limit", "791")],
            &[("cc_period", "1us"), ("cf_min_spacing", "800B")],
            &[("cc_period", "2us"), ("cf_min_spacing", "600B"), ("cf_max_spacing", "600B")],
            &[("credit_size", "32B")],
            &[("credit_size", "2048B")],
            &[("credit_size", "4096B")],
            &[("credit_size", "16B")],
            &[("overhead", "-16")],
            &[("overhead", "-17")],
            &[("overhead", "127")],
            &[("overhead", "128")],
            &[("cf_min_spacing", "64B")],
            &[("cf_min_spacing", "63B")],
            &[("cc_period", "250ms")],
            &[("cc_period", "251ms")],
            &[("limit", "524287"), ("credit_size", "64B")],
            &[("limit", "524288"), ("credit_size", "64B")],
        ],
    ),
    (
        "pffc",
        &[
            &[("xoff_s", "9KB"), ("xon_s", "9KB")],
            &[("xoff_s", "9KB"), ("xon_s", "9001B")],
            &[("xoff_s", "9KB"), ("repeat", "20us")],
            &[("queues", "64")],
            &[("queues", "65")],
            &[("slots", "65536")],
            &[("slots", "65537")],
        ],
    ),
    (
        "bfc",
        &[
            &[("queues", "4096")],
            &[("queues", "4097")],
            &[("vfids", "16777216")],
            &[("vfids", "16777217")],
            &[("period", "900us")],
        ],
    ),
];

fn together(name: &str) -> &'static [Setting] {
    TOGETHER.iter().find(|(n, _)| *n == name).map_or(&[], |(_, together)| together)
}

/// The lines of a mechanism: its defaults, and what each other setting changes.
fn describe(
    to: &mut String,
    name: &str,
    params: &[ParamSpec],
    together: &[Setting],
    answers: impl Fn(&[(&str, &str)]) -> Result<Answers, ParamError>,
) {
    let defaults = answers(&[]);
    let _ = writeln!(to, "\n## {name}");
    match &defaults {
        Ok(all) => all.iter().for_each(|(what, answer)| *to += &format!("{what}: {answer}\n")),
        Err(e) => *to += &format!("refused: {e}\n"),
    }
    let mut ask = |setting: &[(&str, &str)]| {
        let changed = match answers(setting) {
            Err(e) => format!(" refused: {e}"),
            Ok(all) => {
                let known = defaults.as_deref().unwrap_or_default();
                all.iter()
                    .filter(|a| !known.contains(a))
                    .map(|(what, answer)| format!(" {what}: {answer};"))
                    .collect()
            }
        };
        if !changed.is_empty() {
            let keys: Vec<String> =
                setting.iter().map(|(key, value)| format!("{key} = {value}")).collect();
            let _ = writeln!(to, "- {}:{changed}", keys.join(", "));
        }
    };
    for p in params {
        for value in values(p.kind).iter().filter(|v| p.default != Some(v)) {
            ask(&[(p.key, value)]);
        }
    }
    together.iter().for_each(|setting| ask(setting));
}

fn given(params: &'static [ParamSpec], settings: &[(&str, &str)]) -> Defaults {
    settings.iter().fold(Defaults::of(params), |v, (key, value)| v.with(key, value))
}

fn of_flow_control(f: &FlowControl, link: &LinkFacts) -> Answers {
    let standstill = |s: flow_control::standstill::Standstill| {
        (s.longest(link.buffer), s.room(Span::from_ms(1)), s)
    };
    vec![
        ("is", format!("{f:?}")),
        ("resolved", format!("{:?}", f.resolved())),
        ("opening", format!("{:?}", f.opening())),
        ("per flow", format!("{}", f.per_flow())),
        ("message", format!("{}", f.message_len())),
        ("loop", format!("{}, {}", f.control_loop(link).tau, f.control_loop(link).arrivals(3))),
        ("stop", format!("{:?}, at most {:?}", f.stop(), f.max_ton(link, 0.05))),
        ("pauses", format!("{:?}", f.pauses())),
        ("on a wire", or_why(f.on_a_wire())),
        ("holds a frame", or_why(f.holds_a_frame(link))),
        (
            "of a larger one",
            or_why(f.holds_a_frame(&LinkFacts { mtu: link.buffer + Bytes(1), ..*link })),
        ),
        ("unmet", format!("{:?}", f.unmet(link))),
        ("shares the port", format!("{}", f.shares_port())),
        (
            "priorities",
            format!(
                "{} / {}",
                or_why(f.fits_priorities(link, 1)),
                or_why(f.fits_priorities(link, 8))
            ),
        ),
        (
            "messages",
            format!("{} / {}", or_why(f.messages_fit(link, 1)), or_why(f.messages_fit(link, 8))),
        ),
        ("entry ports", format!("{}", f.entry_ports())),
        ("of a flow", format!("{:?}", f.flow_bytes(link))),
        ("holds priorities", format!("{}", f.holds_priorities())),
        ("standstill", format!("{:?}", f.standstill(link).map(standstill))),
    ]
}

fn flow_controls(t: &mut String) {
    for (n, link) in LINKS.iter().enumerate() {
        for e in flow_control::REGISTRY {
            let whole = matches!(n, 0 | 4);
            let (params, together) =
                if whole { (e.params, together(e.name)) } else { (&[][..], &[][..]) };
            describe(t, &format!("{} on link {n}", e.name), params, together, |settings| {
                (e.read)(&mut given(e.params, settings), link).map(|f| of_flow_control(&f, link))
            });
        }
    }
}

fn detections(t: &mut String) {
    let pfc = (flow_control::REGISTRY.iter().find(|e| e.name == "pfc").unwrap().read)(
        &mut given(flow_control::pfc::PARAMS, &[]),
        &LINKS[0],
    )
    .unwrap();
    let cbfc = (flow_control::REGISTRY.iter().find(|e| e.name == "cbfc").unwrap().read)(
        &mut given(flow_control::cbfc::PARAMS, &[]),
        &LINKS[1],
    )
    .unwrap();
    let links = [(LINKS[0], pfc.clone()), (LINKS[1], cbfc.clone())];
    for e in detection::REGISTRY {
        describe(t, e.name, e.params, together(e.name), |settings| {
            let d = (e.read)(&mut given(e.params, settings))?;
            let places = [
                Place { link: &LINKS[0], flow_control: &pfc, to_host: false },
                Place { link: &LINKS[1], flow_control: &cbfc, to_host: true },
            ];
            let mut answers = vec![
                ("is", format!("{d:?}")),
                ("states", format!("{}", d.has_states())),
                ("sends CNMs", format!("{}", d.sends_cnms())),
                (
                    "unmet",
                    format!(
                        "{:?}",
                        d.unmet(&NetworkFacts { links: &links, memory: Bytes(300_000) })
                    ),
                ),
                (
                    "unmet in little memory",
                    format!(
                        "{:?}",
                        d.unmet(&NetworkFacts { links: &links[..1], memory: Bytes(5_000) })
                    ),
                ),
            ];
            for p in &places {
                let fits = [5_000, 200_000, 300_000, 2_000_000_000]
                    .map(|memory| or_why(d.validate(p, Bytes(memory))));
                answers.push(("at", format!("{:?}, fits {fits:?}", d.resolved(p))));
                if d.validate(p, Bytes(2_000_000_000)).is_ok() {
                    answers.push(("detector", short(format!("{:?}", d.detector(p)))));
                    let points =
                        [Side::Ingress, Side::Egress].map(|side| d.congestion_point(p, side));
                    answers.push(("congestion points", short(format!("{points:?}"))));
                }
            }
            Ok(answers)
        });
    }
}

fn rate_controls(t: &mut String) {
    let flow = FlowFacts {
        line: Rate::from_gbps(10),
        window: Some(30_000),
        base_rtt: Some(Span::from_us(12)),
        seed: 7,
    };
    for e in rate_control::REGISTRY {
        describe(t, e.name, e.params, together(e.name), |settings| {
            let r: RateControlKind = (e.read)(&mut given(e.params, settings))?;
            let begins = |f: &FlowFacts| r.reaction_point(f).map(|p| (p.rate(), p.window()));
            Ok(vec![
                ("is", format!("{r:?}")),
                ("marks come back", format!("{:?}", r.cnp_mode())),
                (
                    "undetermined",
                    format!("{}, {}", r.reports_undetermined(), r.knows_undetermined()),
                ),
                ("acknowledgements", format!("{}", r.wants_acks())),
                ("values", format!("{}", r.wants_quantized())),
                ("draws", format!("{}", r.draws())),
                ("telemetry", format!("{:?}", r.telemetry())),
                ("resolved", format!("{:?}", r.resolved())),
                (
                    "unmet",
                    format!("{:?} / {:?}", r.unmet(Rate(5_000_000)), r.unmet(Rate::from_gbps(100))),
                ),
                (
                    "begins",
                    format!(
                        "{:?}, without a window {:?}",
                        begins(&flow),
                        begins(&FlowFacts { window: None, base_rtt: None, ..flow })
                    ),
                ),
            ])
        });
    }
}

fn others(t: &mut String) {
    for e in sharing::REGISTRY {
        let params: &'static [ParamSpec] = e.params.concat().leak();
        describe(t, e.name, params, together(e.name), |settings| {
            let s = (e.read)(&mut given(params, settings))?.at(Rate::from_gbps(10));
            let limits = [(1_000_000, 0), (999_999, 20_480), (3, 61_440), (1_000_000, 200_001)];
            let limits = limits
                .map(|(free, crowd)| s.limit(&Supply { free: Bytes(free), crowd: Bytes(crowd) }).0);
            Ok(vec![
                ("is", format!("{s:?}")),
                ("limits", format!("{limits:?}, measures {}", s.measured(Bytes(70_001)))),
            ])
        });
    }
    for e in watchdog::REGISTRY {
        let params: &'static [ParamSpec] = e.params.concat().leak();
        describe(t, e.name, params, together(e.name), |settings| {
            let w = (e.read)(&mut given(params, settings))?;
            Ok(vec![("is", format!("{w:?}, latest {:?}", w.map(|w| w.latest())))])
        });
    }
    for e in transport::REGISTRY {
        let params: &'static [ParamSpec] = e.params.concat().leak();
        describe(t, e.name, params, together(e.name), |settings| {
            let c = (e.read)(&mut given(params, settings))?;
            Ok(vec![
                ("is", format!("{c:?}")),
                (
                    "on a link",
                    format!("{:?}", c.map(|c| [400, 1_460, 9_000].map(|mss| c.first_window(mss)))),
                ),
            ])
        });
    }
    for e in link_retry::REGISTRY {
        let params: &'static [ParamSpec] = e.params.concat().leak();
        describe(t, e.name, params, together(e.name), |settings| {
            let Some(c) = (e.read)(&mut given(params, settings))? else { return Ok(Vec::new()) };
            let on = |l: &LinkFacts| {
                (or_why(c.on(l.rate, l.delay, l.mtu)), c.unmet(l.rate, l.delay, l.mtu))
            };
            Ok(vec![
                ("on link 0", format!("{:?}", on(&LINKS[0]))),
                ("on link 2", format!("{:?}", on(&LINKS[2]))),
            ])
        });
    }
}

#[test]
fn every_answer_of_every_mechanism() {
    let mut t = String::new();
    flow_controls(&mut t);
    detections(&mut t);
    rate_controls(&mut t);
    others(&mut t);
    xoff_testing::golden_sections(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/answers.txt"),
        &t,
    );
}
