//! Result of a replay, as table, JSON and manifest.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use xoff_net::topology::Topology;
use xoff_record::verdict::{Allow, Parts, Promises, Work};
use xoff_record::{FastForward, Manifest, Parameter, Verdict};
use xoff_scenario::hpcc::{CcMode, HpccCase};
use xoff_sim::{Ended, Outcome, PortTotals};
use xoff_units::{Rate, grouped};

use super::Run;
use crate::answer::Allowed;
use crate::terminal::{self, counted};

/// Reason for one thread, one global order and no fast-forward (decision 0014).
const ONE_ORDER: &str =
    "simultaneous events follow the order of the HPCC simulator, which spans the network";

/// Outcome of a replay of the HPCC simulator.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Hpcc")]
pub struct Json<'a> {
    /// Hash of the results, 32 hexadecimal digits.
    result_hash: &'a str,
    /// Frames that crossed a link, counted per link.
    frame_hops: u64,
    /// Data frames among them.
    data_frame_hops: u64,
    /// Events that the engine processed. It depends on the engine, and is no part of the result
    /// hash.
    events: u64,
    /// Time it took on the processors [s].
    cpu_seconds: f64,
    /// Time it took on the clock [s].
    wall_seconds: f64,
    /// Simulated time reached [s].
    simulated_seconds: f64,
    /// Frames dropped by nodes; among `lost_frames`.
    dropped_frames: u64,
    /// All frames that did not arrive.
    lost_frames: u64,
    /// Flows that are complete.
    flows_completed: u64,
    /// Flows of the case.
    flows_total: u64,
    /// Ports of the first deadlock's cycle, each waiting for the next; null: no deadlock.
    deadlock: &'a Option<Vec<String>>,
    /// Lines of the file with PFC frames.
    pfc_frames: u64,
    /// Reason for the end of the run.
    ended_because: &'a str,
    /// The user stopped it.
    interrupted: bool,
    /// The verdict.
    verdict: &'a Option<Verdict>,
    /// Names of `--allow`.
    allowed: Vec<Allow>,
    /// File with completion times, in the simulator's form.
    fct_file: String,
    /// File with PFC frames, in the simulator's form.
    pfc_file: String,
    /// The manifest.
    manifest: String,
}

pub(super) fn json<'a>(run: &Run, m: &'a Manifest, path: &Path, allowed: &Allowed) -> Json<'a> {
    Json {
        result_hash: &m.result_hash,
        frame_hops: m.frame_hops,
        data_frame_hops: m.data_frame_hops,
        events: m.events,
        cpu_seconds: m.cpu_seconds,
        wall_seconds: m.wall_seconds,
        simulated_seconds: m.simulated_seconds,
        dropped_frames: m.dropped_frames,
        lost_frames: m.lost_frames,
        flows_completed: m.flows_completed,
        flows_total: m.flows_total,
        deadlock: &m.deadlock,
        pfc_frames: run.pfc_lines,
        ended_because: &m.ended_because,
        interrupted: m.interrupted,
        verdict: &m.verdict,
        allowed: allowed.list(),
        fct_file: run.fct.display().to_string(),
        pfc_file: run.pfc.display().to_string(),
        manifest: path.display().to_string(),
    }
}

/// Verdict of the replay. It promises to equal another simulator, not to lose nothing.
pub(super) fn judge(case: &HpccCase, topology: &Topology, o: &Outcome) -> Verdict {
    let (total, complete) = (case.flows.len() as u64, o.completions.len() as u64);
    let parts = Parts {
        interrupted: o.ended == Ended::Interrupted,
        deadlock: xoff_run::verdict::deadlock(topology, o, None),
        losses: xoff_run::verdict::losses(o),
        promises: Promises::NotMade,
        work: Work { unit: "flows".into(), total, complete, incomplete: total - complete },
        not_kept: None,
        nothing_ran: (o.flows.is_empty())
            .then(|| format!("none of {total} flows started before the stop time")),
        failures: Vec::new(),
        unfinished: Vec::new(),
    };
    parts.into()
}

/// The answer for people.
pub(super) fn text(run: &Run, m: &Manifest, path: &Path, allowed: &Allowed) -> String {
    let title =
        format!("{} of {} completed", grouped(m.flows_completed), counted(m.flows_total, "flow"));
    let headline = allowed.headline(&title, &run.verdict);
    let mut t = terminal::pairs();
    let mut row = |name: &str, value: String| {
        t.add_row([name, &value]);
    };
    row("Simulated", format!("{:.9} s ({})", m.simulated_seconds, m.ended_because));
    row("Frame-hops", format!("{} ({} data)", grouped(m.frame_hops), grouped(m.data_frame_hops)));
    run.verdict.not_known().into_iter().for_each(|(name, value)| row(name, value));
    row("PFC frames", grouped(run.pfc_lines));
    row(
        "Events",
        format!(
            "{} ({:.1} million per CPU second)",
            grouped(m.events),
            m.events as f64 / m.cpu_seconds.max(1e-9) / 1e6
        ),
    );
    row("Engine", format!("{}, on one thread: {ONE_ORDER}", m.engine));
    row("Time taken", format!("{:.3} s, CPU {:.3} s", m.wall_seconds, m.cpu_seconds));
    row("Result hash", m.result_hash.clone());
    row("Flows", run.fct.display().to_string());
    row("Pauses", run.pfc.display().to_string());
    row("Manifest", path.display().to_string());
    m.inactive.iter().for_each(|s| row("Note", s.clone()));
    format!("{headline}\n{}\n{}", crate::run::cycle(&run.verdict), terminal::draw(&t))
}

/// The manifest.
pub(super) fn manifest(run: &Run, config: &Path) -> Manifest {
    let (o, c) = (&run.outcome, &run.case.config);
    let sum = |of: fn(&PortTotals) -> u64| o.ports.iter().flatten().map(of).sum::<u64>();
    let marked = sum(|p| p.marked.congestion());
    let mut m = Manifest {
        xoff_version: env!("CARGO_PKG_VERSION").into(),
        xoff_commit: xoff_record::commit(),
        fingerprint: xoff_run::FINGERPRINT.into(),
        schema_version: xoff_record::SCHEMA_VERSION,
        scenario: c.topology_place.as_ref().map(|p| p.source.text().to_owned()).unwrap_or_default(),
        scenario_folder: config.parent().map(|p| p.display().to_string()).unwrap_or_default(),
        parameters: parameters(&run.case),
        seed: 1,
        threads: 1,
        processes: 1,
        engine: "events".into(),
        engine_because: Some(ONE_ORDER.into()),
        fast_forward: FastForward { because: Some(ONE_ORDER.into()), ..FastForward::default() },
        result_hash: run.hash.to_string(),
        started: humantime::format_rfc3339_seconds(run.started).to_string(),
        wall_seconds: run.wall_seconds,
        cpu_seconds: run.cpu_seconds,
        simulated_seconds: o.now.as_secs_f64(),
        events: o.events,
        frame_hops: o.frame_hops,
        data_frame_hops: o.data_frame_hops,
        flows_completed: o.completions.len() as u64,
        flows_total: run.case.flows.len() as u64,
        ended_because: reason(o.ended).into(),
        warnings: run.case.warnings.iter().map(|p| p.line()).chain(ignored(&run.case)).collect(),
        ..Manifest::default()
    }
    .judged(run.verdict.clone());
    let late = run.case.flows.len() - o.flows.len();
    if late > 0 && !m.interrupted {
        m.inactive
            .push(format!("{} would start after the stop time", counted(late as u64, "flow")));
    }
    let mut item = |happened: bool, yes: String, no: &str| match happened {
        true => m.active.push(yes),
        false => m.inactive.push(no.into()),
    };
    item(
        run.pfc_lines > 0,
        format!("PFC: {} received", counted(run.pfc_lines, "frame")),
        "PFC: no frame was paused",
    );
    if c.link_down.is_some() || o.lost_frames > 0 {
        item(
            o.lost_frames > 0,
            format!("Links: {} lost", counted(o.lost_frames, "frame")),
            "LINK_DOWN: no frame was lost on the link",
        );
    }
    if c.ecn {
        item(
            marked > 0,
            format!("ECN: {} marked", counted(marked, "frame")),
            "ECN: no frame was marked",
        );
    }
    m
}

/// Reason for the end of a run, in words.
fn reason(ended: Ended) -> &'static str {
    match ended {
        Ended::TimeUp => "the stop time was reached",
        Ended::Quiet => "nothing was left to happen",
        Ended::FlowsDone => "all flows were complete",
        Ended::Deadlock => "a deadlock was found",
        Ended::Interrupted => "the user stopped it",
        Ended::RecorderFailed => "its records could not be written",
    }
}

/// The keys that have no effect, one sentence for each reason; the most important one comes first.
pub fn ignored(case: &HpccCase) -> Vec<String> {
    let mut reasons: Vec<(bool, &str, Vec<&str>)> = Vec::new();
    for i in &case.config.ignored {
        match reasons.iter_mut().find(|r| (r.0, r.1) == (i.missed, i.why)) {
            Some(r) => r.2.push(i.key),
            None => reasons.push((i.missed, i.why, vec![i.key])),
        }
    }
    reasons.sort_by_key(|r| !r.0);
    let effect = |missed| if missed { "not delivered" } else { "no effect" };
    reasons
        .iter()
        .map(|(missed, why, keys)| format!("{}: {}: {why}", effect(*missed), keys.join(", ")))
        .collect()
}

/// The values that a replay uses, with their origin: a key is in the file or the original's default
/// holds.
fn parameters(case: &HpccCase) -> Vec<Parameter> {
    let c = &case.config;
    let text = c.topology_place.as_ref().map_or("", |p| p.source.text());
    let given: std::collections::HashSet<&str> = text.split_whitespace().collect();
    let flag = |on: bool| (on as u8).to_string();
    let map = |entries: Vec<(Rate, String)>| {
        entries.iter().map(|(r, v)| format!("{} at {r}", v)).collect::<Vec<_>>().join(", ")
    };
    let thousands =
        |m: &[(Rate, u32)]| map(m.iter().map(|&(r, k)| (r, format!("{k} KB"))).collect());
    let mode = match c.cc_mode {
        CcMode::None => "0 (none)",
        CcMode::Dcqcn => "1 (DCQCN)",
        CcMode::Hpcc => "3 (HPCC)",
        CcMode::Timely => "7 (TIMELY)",
    };
    let values = [
        ("TOPOLOGY_FILE", c.topology_file.clone()),
        ("FLOW_FILE", c.flow_file.clone()),
        ("SIMULATOR_STOP_TIME", format!("{} ns", c.stop_ns)),
        ("CC_MODE", mode.into()),
        ("ENABLE_QCN", flag(c.ecn)),
        ("PACKET_PAYLOAD_SIZE", format!("{} bytes", c.payload)),
        ("L2_CHUNK_SIZE", format!("{} bytes", c.l2_chunk)),
        ("L2_ACK_INTERVAL", format!("{} bytes", c.l2_ack_interval)),
        ("L2_BACK_TO_ZERO", flag(c.l2_back_to_zero)),
        ("ALPHA_RESUME_INTERVAL", format!("{} us", c.alpha_resume_interval_us)),
        ("RATE_DECREASE_INTERVAL", format!("{} us", c.rate_decrease_interval_us)),
        ("RP_TIMER", format!("{} us", c.rp_timer_us)),
        ("EWMA_GAIN", c.ewma_gain.to_string()),
        ("FAST_RECOVERY_TIMES", c.fast_recovery_times.to_string()),
        ("CLAMP_TARGET_RATE", flag(c.clamp_target_rate)),
        ("RATE_AI", c.rate_ai.to_string()),
        ("RATE_HAI", c.rate_hai.to_string()),
        ("MIN_RATE", c.min_rate.to_string()),
        ("U_TARGET", c.u_target.to_string()),
        ("MI_THRESH", c.mi_thresh.to_string()),
        ("FAST_REACT", flag(c.fast_react)),
        ("MULTI_RATE", flag(c.multi_rate)),
        ("SAMPLE_FEEDBACK", flag(c.sample_feedback)),
        ("INT_MULTI", c.int_multi.to_string()),
        ("HAS_WIN", flag(c.has_win)),
        ("GLOBAL_T", flag(c.global_t)),
        ("VAR_WIN", flag(c.var_win)),
        ("RATE_BOUND", flag(c.rate_bound)),
        ("ACK_HIGH_PRIO", flag(c.ack_high_prio)),
        ("KMAX_MAP", thousands(&c.kmax)),
        ("KMIN_MAP", thousands(&c.kmin)),
        ("PMAX_MAP", map(c.pmax.iter().map(|&(r, p)| (r, p.to_string())).collect())),
        ("ERROR_RATE_PER_LINK", c.error_rate.to_string()),
        (
            "LINK_DOWN",
            c.link_down.map_or("0 0 0".into(), |l| {
                format!("{} us after second 2, nodes {} and {}", l.time_us, l.a, l.b)
            }),
        ),
        ("BUFFER_SIZE", format!("{} MiB", c.buffer_mib)),
    ];
    let parameter = |(key, value): (&str, String)| {
        let (origin, source) = if given.contains(key) {
            ("configuration file", "")
        } else {
            ("default", "HPCC simulator, scratch/third.cc:45-95")
        };
        Parameter { path: key.into(), value, origin: origin.into(), source: source.into() }
    };
    values.into_iter().map(parameter).collect()
}
