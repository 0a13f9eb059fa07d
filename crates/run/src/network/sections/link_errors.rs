//! `[[link_errors]]`: links that corrupt frames.

use xoff_mech::LinkFacts;
use xoff_mech::flow_control::FlowControl;
use xoff_net::topology::Topology;
use xoff_net::topology::names::{What, find_port};
use xoff_scenario::document::{KindSpec, Section, SectionSpec};
use xoff_sim::{Code, ErrorKind, HitFrames, LinkErrors, Model};
use xoff_units::params::{Kind, ParamError, ParamSpec, Values as _};
use xoff_units::{Bytes, NodeId};

use super::{Context, Part, Read, Sections};

/// Keys of every kind of errors.
const KEYS: &[ParamSpec] = &[
    ParamSpec::new(
        "ports",
        Kind::Texts,
        "all",
        "link directions, by the port that transmits, `H1->S1` or `H1:S1`, or [\"all\"]",
        "",
    ),
    ParamSpec::new(
        "frames",
        Kind::Choice(&["all", "flows", "control"]),
        "all",
        "frames that can be hit: all, those of flows with their acknowledgements, or control frames",
        "",
    ),
    ParamSpec::new(
        "seen",
        Kind::Flag,
        "true",
        "a corrupted frame arrives with a wrong check sequence; false: it does not arrive, because its start was hit",
        "",
    ),
];

const BITS: &[ParamSpec] = &[
    ParamSpec::required(
        "ber",
        Kind::Float,
        "bit error ratio, 0 to 0.5; before correction, if there is any",
    ),
    ParamSpec::new(
        "overhead",
        Kind::Bytes,
        "8B",
        "bytes that can be hit in addition to the frame",
        "IEEE 802.3: preamble and start of frame",
    ),
    ParamSpec::new(
        "fec",
        Kind::Choice(&["none", "rs-528-514", "rs-544-514"]),
        "none",
        "error-correcting code, for independent bit errors: a frame is hit if one of its codewords is not corrected",
        "IEEE 802.3 clause 91: 7 and 15 symbols of 10 bits",
    ),
];

const FRAMES: &[ParamSpec] = &[ParamSpec::required(
    "loss",
    Kind::Float,
    "probability that a frame is hit after error correction, 0 to 1",
)];

const BURSTS: &[ParamSpec] = &[
    ParamSpec::required(
        "to_bad",
        Kind::Float,
        "probability of a change from the good state to the bad one, before each frame",
    ),
    ParamSpec::required(
        "to_good",
        Kind::Float,
        "probability of a change back; bursts are 1 / this long on average",
    ),
    ParamSpec::new(
        "loss_bad",
        Kind::Float,
        "1",
        "probability that a frame is hit in the bad state",
        "Gilbert 1960; netem: 1 - h",
    ),
    ParamSpec::new(
        "loss_good",
        Kind::Float,
        "0",
        "probability that a frame is hit in the good state",
        "Elliott 1963; netem: 1 - k",
    ),
];

const NTH: &[ParamSpec] = &[ParamSpec::required(
    "numbers",
    Kind::Texts,
    "numbers of the frames that are hit, counted from 1 in each direction, such as [\"3\", \"17\"]",
)];

pub type Value = LinkErrors;

impl Part for LinkErrors {
    fn specs() -> Vec<SectionSpec> {
        vec![SectionSpec::many("link_errors", "Links that corrupt frames.", vec![KEYS]).kinds(
            "kind",
            Some("bit"),
            kinds(),
        )]
    }

    fn read<'d>(cx: &Context<'d>, _: &Sections<'d>) -> Read<'d, LinkErrors> {
        Read::each(cx, |s| read(s, cx.topology))
    }

    fn agree(_: &Context<'_>, all: &mut Sections<'_>) {
        let Some((_, links)) = all.flow_control.links() else { return };
        let retry = matches!(all.link_retry.value(), Some(Some(_)));
        all.link_errors.check(|s, errors| {
            name_what_is_unread(s, errors, retry, links);
            Ok(())
        });
    }

    fn set(self, model: &mut Model<'static>) {
        model.faults.errors.push(self);
    }
}

/// Kinds of errors.
fn kinds() -> Vec<KindSpec> {
    let kind = |name, doc, specs| KindSpec { name, doc, specs: vec![specs] };
    vec![
        kind("bit", "every bit has the same error probability", BITS),
        kind(
            "frame",
            "every frame has the same probability of being hit, whatever its length",
            FRAMES,
        ),
        kind(
            "burst",
            "two states, good and bad, each with a probability (Gilbert, Elliott)",
            BURSTS,
        ),
        kind("nth", "given frames are hit, without randomness", NTH),
    ]
}

/// Reads a `[[link_errors]]`.
fn read(s: &mut Section<'_>, topology: &Topology) -> Result<LinkErrors, ParamError> {
    let names = s.texts("ports")?;
    if names.is_empty() {
        return Err(ParamError::new(
            "ports",
            "the list of links is empty",
            "expected ports such as [\"H1->S1\"], or [\"all\"]",
        ));
    }
    let ports = if names.iter().any(|n| n == "all") {
        topology
            .node_ids()
            .flat_map(|n| (0..topology.nodes[n.index()].ports.len() as u16).map(move |p| (n, p)))
            .collect()
    } else {
        let found = names
            .iter()
            .map(|n| find_port(topology, "ports", n, What::Port))
            .collect::<Result<Vec<_>, _>>()?;
        if let Some(n) = (1..found.len()).find(|&n| found[..n].contains(&found[n])) {
            let what = format!("'{}' names a link direction that is already in the list", names[n]);
            return Err(ParamError::new(
                "ports",
                what,
                "remove it; for errors of a second kind, add another [[link_errors]]",
            ));
        }
        found
    };
    if names.len() > 1 && names.iter().any(|n| n == "all") {
        s.warn(&ParamError::new(
            "ports",
            "\"all\" names every link direction: the others in the list have no effect",
            "one of the two",
        ));
    }
    let down = |&(n, p): &(NodeId, u16)| !topology.link_at(n, p).up;
    if ports.iter().all(down) {
        s.has_no_effect("ports", "every link of the list is down", "name links that carry frames");
    }
    let frames = match s.text("frames")?.as_str() {
        "flows" => HitFrames::Flows,
        "control" => HitFrames::Control,
        _ => HitFrames::All,
    };
    let seen = s.flag("seen")?;
    let kind = s.kind().unwrap_or("bit");
    let mut probability = |key: &'static str, most: f64| -> Result<f64, ParamError> {
        let p = s.float(key)?;
        if (0.0..=most).contains(&p) {
            Ok(p)
        } else {
            Err(ParamError::new(
                key,
                format!("a probability of {p}"),
                format!("expected 0 to {most}"),
            ))
        }
    };
    let kind = match kind {
        "frame" => ErrorKind::Frames { loss: probability("loss", 1.0)? },
        "burst" => ErrorKind::Bursts {
            to_bad: probability("to_bad", 1.0)?,
            to_good: probability("to_good", 1.0)?,
            loss_bad: probability("loss_bad", 1.0)?,
            loss_good: probability("loss_good", 1.0)?,
        },
        "nth" => ErrorKind::Nth(read_numbers(s)?),
        _ => {
            let ber = s.float("ber")?;
            if !(0.0..=0.5).contains(&ber) {
                let hint = "expected 0 to 0.5; above 0.5, the inverted bits have fewer errors";
                return Err(ParamError::new("ber", format!("a bit error ratio of {ber}"), hint));
            }
            let overhead = s.bytes("overhead")?;
            if overhead > Bytes(1000) {
                return Err(ParamError::new(
                    "overhead",
                    format!("an overhead of {overhead} for each frame"),
                    "expected at most 1000 B",
                ));
            }
            let code = match s.text("fec")?.as_str() {
                "rs-528-514" => Some(Code::KR4),
                "rs-544-514" => Some(Code::KP4),
                _ => None,
            };
            ErrorKind::Bits { ber, overhead: overhead.0 as u32, code }
        }
    };
    if let ErrorKind::Bursts { loss_bad, loss_good, .. } = kind
        && loss_bad < loss_good
    {
        let what = format!(
            "loss_bad {loss_bad} < loss_good {loss_good}: the bad state loses fewer frames"
        );
        s.warn(&ParamError::new(
            "loss_bad",
            what,
            "swap loss_bad and loss_good, and to_bad and to_good",
        ));
    }
    Ok(LinkErrors { ports, kind, frames, seen })
}

/// Warns of errors that meet no frame, and of settings that make no difference without retry.
fn name_what_is_unread(
    s: &Section<'_>,
    e: &LinkErrors,
    retry: bool,
    links: &[(LinkFacts, FlowControl)],
) {
    let has_messages = |(_, fc): &(LinkFacts, FlowControl)| {
        !matches!(fc, FlowControl::None) && fc.message_len() > Bytes::ZERO
    };
    if e.frames == HitFrames::Control && !retry && !links.iter().any(has_messages) {
        let what = "this flow control sends no frames: no frame is hit";
        s.warn(&ParamError::new(
            "frames",
            what,
            "set frames = \"all\", or choose another flow control",
        ));
    }
    if !retry {
        let why = "without [link_retry], a frame is lost in both cases";
        s.has_no_effect("seen", why, "remove the key, or add [link_retry]");
    }
}

fn read_numbers(s: &mut Section<'_>) -> Result<Vec<u64>, ParamError> {
    let refuse = |text: &str| {
        ParamError::new(
            "numbers",
            format!("'{text}' is not the number of a frame"),
            "expected numbers from 1, such as [\"3\"]",
        )
    };
    let texts = s.texts("numbers")?;
    if texts.is_empty() {
        return Err(ParamError::new(
            "numbers",
            "no frame is hit",
            "expected numbers from 1, such as [\"3\"]",
        ));
    }
    let mut numbers = texts
        .iter()
        .map(|t| t.parse().ok().filter(|&n: &u64| n > 0).ok_or_else(|| refuse(t)))
        .collect::<Result<Vec<_>, _>>()?;
    numbers.sort_unstable();
    if let Some(w) = numbers.windows(2).find(|w| w[0] == w[1]) {
        s.warn(&ParamError::new(
            "numbers",
            format!("{} is in the list twice: a frame can be hit only once", w[0]),
            "list each number once",
        ));
    }
    Ok(numbers)
}
