//! Beyond the paper: an incast and eight hotspots with their victims under every scheme there is, "an elaborate study where we
//! will compare these proactive schemes with reactive congestion management techniques" (section 5, future work).
//!
//! ```text
//!   scenario --flows--> network simulator: PFC, CBFC, GFC, PFFC, BFC, rate controls -----+
//!                '----> fabric simulator, folded Clos of the same links: request-grant --+--> Outcome of each scheme
//! ```

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use xoff_report::{Align, Axis, Bar, BarGroup, Cell, Figure, Mark, Panel, Table, Unit};
use xoff_run::NetworkScenario;
use xoff_sim::scheduled::{Arrival, Config, Core, Pattern, Shape, Sizes, Traffic, World};
use xoff_sim::{Ended, Probes};
use xoff_units::{Bytes, Rate, Span, Time};

use super::setups;
use crate::stats::{Mean, quantile};
use crate::study::{self, Pieces};
use crate::{Check, Context, Findings, Mode, ReproduceError, lab};

/// Payload of a message of a victim [bytes].
const MESSAGE: u64 = 1_500;
/// When the hot flows begin, and from when on is measured [ps].
const BEGIN: Time = Time::from_us(50);
/// Feedback of networks on the wire [bytes].
const FEEDBACK: u64 = 64;

/// Congestion management of a run.
enum Means {
    /// Settings over the scenario of a network.
    Network(&'static [&'static str]),
    /// Request-grant: links at so many tenths of the line.
    Fabric { tenths: u64, implicit: bool },
}

const PFC: &str = "flow_control.kind=pfc";
const SCHEMES: [(&str, Means); 12] = [
    ("PFC", Means::Network(&[PFC])),
    ("CBFC", Means::Network(&["flow_control.kind=cbfc"])),
    ("Buffer-based GFC", Means::Network(&["flow_control.kind=gfc-buffer"])),
    ("PFFC", Means::Network(&["flow_control.kind=pffc"])),
    ("BFC", Means::Network(&["flow_control.kind=bfc"])),
    ("PFC, DCQCN", Means::Network(&[PFC, "detection.kind=red", "rate_control.kind=dcqcn"])),
    ("PFC, TCD + DCQCN", Means::Network(&[PFC, "detection.kind=tcd", "rate_control.kind=dcqcn", "rate_control.dcqcn.tcd=true"])),
    ("PFC, QCN at outputs", Means::Network(&[PFC, "detection.kind=qcn", "rate_control.kind=qcn", QCN[0], QCN[1], QCN[2], QCN[3]])),
    (
        "PFC, QCN-OS at inputs",
        Means::Network(&[
            PFC,
            "detection.kind=qcn",
            "rate_control.kind=qcn",
            QCN[0],
            QCN[1],
            QCN[2],
            QCN[3],
            "detection.placement=input",
            "detection.sampling=random",
            "detection.keep_alive=true",
        ]),
    ),
    ("RG, implicit", Means::Fabric { tenths: 10, implicit: true }),
    ("RG, reserved", Means::Fabric { tenths: 10, implicit: false }),
    ("RG, reserved, 1.1 L", Means::Fabric { tenths: 11, implicit: false }),
];
/// QCN as in RZ 3880 at 100 Gb/s.
const QCN: [&str; 4] =
    ["detection.setpoint=60KB", "rate_control.timer=2ms", "rate_control.rate_ai=15Mbps", "rate_control.rate_hai=250Mbps"];
/// The first scheme of request-grant with reserved buffers; that of PFC alone is 0.
const RESERVED: usize = SCHEMES.len() - 2;

/// Result of a workload under a scheme.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Fate {
    /// Throughput of the hot outputs, as a share of their links.
    hot: f64,
    /// Jain's index of what the senders of hot flows got through.
    fairness: f64,
    /// Messages of victims, and how many of them were complete at the end.
    victims: u64,
    complete: u64,
    /// Completion times of those [ps]; what is not complete counts with its age.
    mean: f64,
    p99: f64,
    /// Share of control in all bytes on links.
    control: f64,
    /// Largest buffer of one port: an ingress of a switch, or a queue of an element [bytes].
    buffer: u64,
    /// Number of pauses of all ports.
    stops: u64,
    /// Frames lost, deadlocks.
    lost: u64,
    deadlocks: u64,
}

/// A run: scenario, scheme, seed, simulated time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Job {
    scenario: &'static str,
    scheme: usize,
    /// What the scheme is made of: a run of another one is another run.
    settings: String,
    seed: u64,
    until_us: u64,
}

/// A workload: file, text, hot outputs by number of their host.
type Workload = (&'static str, &'static str, std::ops::Range<u32>);

macro_rules! workload {
    ($name:literal, $hot:expr) => {
        ($name, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/papers/request-grant/", $name)), $hot)
    };
}
const INCAST: Workload = workload!("compare-incast.toml", 63..64);
const HOTSPOTS: Workload = workload!("compare-hotspots.toml", 56..64);

/// The entry `compare-incast`.
pub fn run_incast(cx: &Context) -> Result<Findings, ReproduceError> {
    entry(cx, &INCAST, "An incast of 32 to 1")
}
/// The entry `compare-hotspots`.
pub fn run_hotspots(cx: &Context) -> Result<Findings, ReproduceError> {
    entry(cx, &HOTSPOTS, "Eight hotspots of 2.5")
}

fn load(w: &Workload, job: &Job) -> Result<NetworkScenario, ReproduceError> {
    let mut settings = vec![format!("run.seed={}", job.seed)];
    if let Means::Network(of_scheme) = &SCHEMES[job.scheme].1 {
        settings.extend(of_scheme.iter().map(|s| (*s).to_owned()));
    }
    // The file's own times stand for a short look.
    let text = w.1.replace("duration = \"300us\"", &format!("duration = \"{}us\"", job.until_us - 50));
    lab::load(w.0, &text.replace("duration = \"350us\"", &format!("duration = \"{}us\"", job.until_us)), &settings)
}

fn run(w: &Workload, job: &Job, stop: &(dyn Fn() -> bool + Sync)) -> Result<Option<Fate>, ReproduceError> {
    let s = load(w, job)?;
    match SCHEMES[job.scheme].1 {
        Means::Network(_) => in_network(w, &s, stop),
        Means::Fabric { tenths, implicit } => Ok(in_fabric(w, &s, tenths, implicit, stop)),
    }
}

/// Jain's index.
fn jain(shares: &[f64]) -> f64 {
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    if squares > 0.0 { sum * sum / (shares.len() as f64 * squares) } else { 0.0 }
}

/// Part of the hot outputs' links that `bytes` fill.
fn share(w: &Workload, s: &NetworkScenario, bytes: u64) -> f64 {
    let line = Rate::from_gbps(100);
    let could = line.bytes_in(s.until.since(BEGIN)).0 * u64::from(w.2.end - w.2.start);
    bytes as f64 / could as f64
}

fn in_network(w: &Workload, s: &NetworkScenario, stop: &(dyn Fn() -> bool + Sync)) -> Result<Option<Fate>, ReproduceError> {
    let mut model = s.model();
    model.probes = Probes::default();
    let mut world = xoff_sim::World::build(&s.topology, s.flows.clone(), &model)?;
    drop(model);
    let ended = world.drive(s.until, |_| !stop());
    if ended == Ended::Interrupted {
        return Ok(None);
    }
    let (o, _) = world.finish(ended);
    let mut by_sender = vec![0u64; s.topology.nodes.len()];
    let mut times: Vec<f64> = Vec::new();
    let mut complete = 0;
    for f in &o.flows {
        if w.2.contains(&f.flow.dst) {
            by_sender[f.flow.src as usize] += f.delivered;
        } else if f.flow.start >= BEGIN {
            complete += u64::from(f.received.is_some());
            times.push(f.received.unwrap_or(o.now).since(f.flow.start).0 as f64);
        }
    }
    times.sort_unstable_by(f64::total_cmp);
    let senders: Vec<f64> = by_sender.iter().filter(|&&b| b > 0).map(|&b| b as f64).collect();
    let ports = || o.ports.iter().flatten();
    let wire: u64 = ports().map(|p| p.tx_bytes).sum();
    let message = s.links().first().map_or(0, |(_, fc)| fc.message_len().0);
    let messages: u64 = ports().map(|p| p.messages_sent).sum::<u64>() * message;
    let feedback = (o.frame_hops - o.data_frame_hops) * FEEDBACK;
    Ok(Some(Fate {
        hot: share(w, s, by_sender.iter().sum()),
        fairness: jain(&senders),
        victims: times.len() as u64,
        complete,
        mean: times.iter().sum::<f64>() / times.len() as f64,
        p99: quantile(&times, 0.99),
        control: (messages + feedback) as f64 / (wire + messages) as f64,
        buffer: ports().map(|p| p.ingress_bytes_max).max().unwrap_or(0),
        stops: ports().map(|p| p.pauses).sum(),
        lost: xoff_run::verdict::losses(&o).total(),
        deadlocks: o.deadlocks.len() as u64,
    }))
}

/// The same arrivals at the adapters of a folded Clos network with the same links.
fn in_fabric(w: &Workload, s: &NetworkScenario, tenths: u64, implicit: bool, stop: &(dyn Fn() -> bool + Sync)) -> Option<Fate> {
    let mut packets = Vec::new();
    let mut victims = 0;
    for f in &s.flows.flows {
        match f.rate {
            // A hot flow: full frames at its rate.
            Some(rate) => {
                let gap = rate.time_for(Bytes(MESSAGE));
                let frames = (s.until.since(f.start).0 / gap.0.max(1)).min(f.size.div_ceil(MESSAGE));
                let at = |n: u64| Time(f.start.0 + n * gap.0);
                packets.extend((0..frames).map(|n| Arrival { at: at(n), input: f.src, output: f.dst, size: Bytes(MESSAGE) }));
            }
            None => {
                victims += u64::from(f.start >= BEGIN);
                packets.push(Arrival { at: f.start, input: f.src, output: f.dst, size: Bytes(MESSAGE) });
            }
        }
    }
    let traffic = Traffic {
        pattern: Pattern::Listed { packets, hot: w.2.clone().collect() },
        load: 0.0,
        sizes: Sizes::Fixed(Bytes(MESSAGE)),
        burst_packets: 1.0,
    };
    let mut c: Config = setups::section_4(traffic, tenths as f64 / 10.0);
    if implicit {
        c = setups::implicit(c);
    }
    c.core = Core::Network(Shape { folded: true, ..Shape::benes(8, 3) });
    // The delays of the network's links; adapters add nothing.
    (c.link_delay, c.credit_delay, c.adapter_delay) = (Span::from_ns(100), Span::from_ns(100), Span::ZERO);
    (c.warm_up, c.until, c.window, c.seed) = (BEGIN, s.until, Span::from_us(10), s.seed);
    let world = World::new(c).unwrap_or_else(|p| panic!("settings of an entry: {p:?}"));
    let mut stopped = false;
    let r = world.run(&mut |_, _| {
        stopped = stop();
        if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if stopped {
        return None;
    }
    let hot: u64 = w.2.clone().map(|o| r.delivered[o as usize]).sum();
    let senders: Vec<f64> = r.hot_by_input.iter().filter(|&&b| b > 0).map(|&b| b as f64).collect();
    Some(Fate {
        hot: share(w, s, hot),
        fairness: jain(&senders),
        victims,
        complete: r.cold.count(),
        mean: r.cold.mean(),
        p99: r.cold.quantile(0.99) as f64,
        control: r.control_bytes as f64 / (r.control_bytes + r.segment_bytes).max(1) as f64,
        buffer: r.queue_max.iter().copied().max().unwrap_or(0).into(),
        stops: 0,
        lost: 0,
        deadlocks: u64::from(r.stuck.is_some()),
    })
}

#[expect(clippy::too_many_lines, reason = "a list: one check of the claim an item, then figures and tables")]
fn entry(cx: &Context, w: &Workload, title: &str) -> Result<Findings, ReproduceError> {
    let (seeds, until_us) = (cx.mode.pick(1, 5), cx.mode.pick(500, 5_000));
    let jobs: Vec<Job> = (0..SCHEMES.len())
        .flat_map(|scheme| {
            let settings = match &SCHEMES[scheme].1 {
                Means::Network(s) => s.join(" "),
                Means::Fabric { tenths, implicit } => format!("{tenths} {implicit}"),
            };
            (0..seeds).map(move |i| Job { scenario: w.0, scheme, settings: settings.clone(), seed: cx.seed + i, until_us })
        })
        .collect();
    let file = cx.below("request-grant")?.join("done.jsonl");
    let mut pieces = Pieces::new(cx, &file, &study::basis([w.1, include_str!("comparison.rs")]), None, 1)?;
    let fates = pieces.phase("schemes", &jobs, |job, stop| run(w, job, stop))?;
    let fates: Vec<Fate> = fates.into_iter().collect::<Option<_>>().ok_or(ReproduceError::Interrupted)?;
    let of = |scheme: usize| &fates[scheme * seeds as usize..(scheme + 1) * seeds as usize];
    let over_seeds = |scheme: usize, value: fn(&Fate) -> f64| Mean::of(of(scheme).iter().map(value));
    let mean = |scheme: usize, value: fn(&Fate) -> f64| over_seeds(scheme, value).mean;
    // Seed by seed: all schemes have the same traffic.
    let beside_reserved = |scheme: usize| {
        let p99 = |scheme: usize| of(scheme).iter().map(|f| f.p99).collect::<Vec<f64>>();
        Mean::ratio(&p99(scheme), &p99(RESERVED + 1))
    };
    let mut f = Findings::default();
    for (scheme, (name, _)) in SCHEMES.iter().enumerate().skip(RESERVED) {
        let (hot, fairness) = (over_seeds(scheme, |f| f.hot), over_seeds(scheme, |f| f.fairness));
        f.checks.push(Check::mean(format!("{name}: throughput of the hot outputs"), Unit::Fraction, hot, 0.95, 1.01));
        f.checks.push(Check::mean(format!("{name}: Jain's index of the hot senders"), Unit::None, fairness, 0.99, 1.0));
    }
    f.checks.push(Check::mean(
        "99th percentile of victims, PFC alone, relative to request-grant with reserved buffers at 1.1 L",
        Unit::None,
        beside_reserved(0),
        5.0,
        f64::INFINITY,
    ));
    for (scheme, (name, _)) in SCHEMES.iter().enumerate().take(RESERVED - 1) {
        f.checks.push(Check::mean(
            format!("99th percentile of victims, {name}, relative to request-grant with reserved buffers at 1.1 L"),
            Unit::None,
            beside_reserved(scheme),
            1.0,
            f64::INFINITY,
        ));
    }
    f.checks.push(Check::none("frames lost, all schemes", "frames", fates.iter().map(|f| f.lost).sum()));
    f.checks.push(Check::none("deadlocks, all schemes", "deadlocks", fates.iter().map(|f| f.deadlocks).sum()));
    for (scheme, (name, _)) in SCHEMES.iter().enumerate() {
        let lost: u64 = of(scheme).iter().map(|f| f.lost).sum();
        if lost > 0 {
            f.why.push(format!(
                "{name} loses {lost} frames in {seeds} runs: its largest buffer holds {}, and its thresholds are derived from a link, \
                 not from the number of flows. Nothing is sent again here, and a flow counts as delivered only up to its first gap, so \
                 that its throughput and fairness are underestimated.",
                Unit::Bytes.format(mean(scheme, |f| f.buffer as f64))
            ));
        }
    }
    let time = |v: f64| Unit::Picoseconds.format(v);
    let words: Vec<String> = SCHEMES
        .iter()
        .enumerate()
        .map(|(i, (name, _))| format!("{name} {} and {:.2}", time(mean(i, |f| f.p99)), mean(i, |f| f.hot)))
        .collect();
    f.measured = format!("99th percentile of victims, and throughput of the hot outputs: {}.", words.join("; "));
    f.notes.push(format!(
        "{until_us} us, {seeds} seeds. Reactive schemes need time to find their rates, and these numbers include the first \
         milliseconds. A victim that was not complete at the end counts with its age, which flatters a scheme that starves victims."
    ));
    f.notes.push(
        "The two simulators differ. The network stores and forwards frames of 1500 B on one path per destination (d-mod-k). The fabric \
         sprays segments of at most 256 B and forwards them at once. The fabric's buffers are queues of elements (8 KiB and 60 KiB), \
         and the network's are 300 KB per ingress. Control of request-grant counts only stand-alone messages; control that rides on \
         segments, and credits between elements, are free here."
            .into(),
    );
    f.tables.push(table(&mean));
    if cx.mode == Mode::Quick {
        f.notes.push("Quick: a tenth of the time and one seed.".into());
    }
    let points = |which: fn(&Fate) -> f64| -> Vec<(String, f64)> {
        SCHEMES.iter().enumerate().map(|(i, (name, _))| ((*name).to_owned(), mean(i, which))).collect()
    };
    f.figures.push(figure(title, &points(|f| f.p99), &points(|f| f.hot)));
    Ok(f)
}

/// A row a scheme; `mean` over the seeds of a scheme.
fn table(mean: &dyn Fn(usize, fn(&Fate) -> f64) -> f64) -> Table {
    let time = |v: f64| Unit::Picoseconds.format(v);
    let done = |f: &Fate| f.complete as f64 / f.victims as f64;
    let columns =
        ["Scheme", "Hot throughput", "Jain", "Victims done", "Victims' mean", "99th percentile", "Control", "Largest buffer", "Stops"];
    let mut t = Table::new(columns).align([Align::Left].into_iter().chain([Align::Right; 8])).caption("Means over seeds.");
    for (i, (name, _)) in SCHEMES.iter().enumerate() {
        let row: [Cell; 9] = [
            (*name).into(),
            format!("{:.3}", mean(i, |f| f.hot)).into(),
            format!("{:.3}", mean(i, |f| f.fairness)).into(),
            Unit::Fraction.format(mean(i, done)).into(),
            time(mean(i, |f| f.mean)).into(),
            time(mean(i, |f| f.p99)).into(),
            Unit::Fraction.format(mean(i, |f| f.control)).into(),
            Unit::Bytes.format(mean(i, |f| f.buffer as f64)).into(),
            format!("{:.0}", mean(i, |f| f.stops as f64)).into(),
        ];
        t.push(row);
    }
    t
}

fn figure(title: &str, p99: &[(String, f64)], hot: &[(String, f64)]) -> Figure {
    // One bar per scheme, on a logarithmic axis where they lie decades apart.
    let panel = |name: &str, axis: Axis, values: &[(String, f64)]| {
        let groups = [BarGroup::new(name, values.iter().map(|v| Bar::new(v.1)))];
        Panel::new(name, Axis::new("", Unit::None), axis).mark(Mark::bars(values.iter().map(|v| v.0.clone()), groups))
    };
    Figure::new(title)
        .caption("Victims share no output with the hot flows: any loss is due to other flows' congestion.")
        .panel(panel("99th percentile of victims", Axis::new("Completion time", Unit::Picoseconds).log(), p99))
        .panel(panel("Throughput of the hot outputs", Axis::new("Share of their links", Unit::Fraction), hot))
}
