//! `xoff testbed --processes`: every node a process of its own.

use schemars::JsonSchema;
use serde::Serialize;
use xoff_real::testbed::processes::{self, NodeRun, Spawn};
use xoff_real::testbed::protocol::NodeReport;
use xoff_real::testbed::{veth_network, wiring};
use xoff_record::verdict::{Allow, Fate, Loss};
use xoff_record::{Folder, Verdict};
use xoff_run::NetworkScenario;
use xoff_scenario::{Problem, Problems};
use xoff_units::{Bytes, Rate};

use super::{Args, missing};
use crate::answer::Answer;
use crate::{interrupt, terminal};

/// Outcome of a run with real frames and a process for each node.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "TestbedProcesses")]
pub struct Json<'a> {
    /// Folder of the results.
    out: String,
    /// Frames dropped by nodes; among `lost_frames`.
    dropped_frames: u64,
    /// All frames that did not arrive.
    lost_frames: u64,
    /// Checks that were violated: loss, order, conservation, accounting.
    violations: u64,
    /// Frames lost in the kernel's receive rings.
    kernel_drops: u64,
    /// Frames that the kernel refused to send.
    send_errors: u64,
    /// Frames that one end of a wire sent and the other never received.
    lost_on_wires: u64,
    /// The verdict.
    verdict: &'a Verdict,
    /// Names of `--allow`.
    allowed: Vec<Allow>,
    /// Frames dropped at ports whose link was down.
    port_down: u64,
    /// The processes.
    nodes: &'a [NodeRun],
}

/// Runs it; the namespaces have been entered.
pub fn run(s: &NetworkScenario, args: &Args, folder: &Folder) -> Result<Answer, Problems> {
    let here = vec![true; s.topology.nodes.len()];
    let links = wiring::links(s, &here, |_, _| false);
    veth_network::cables(s, &links).map_err(missing)?;
    let program = match crate::STARTED_BY.get() {
        Some(words) => words.clone(),
        None => vec![
            std::env::current_exe()
                .map_err(|e| Problem::new(format!("xoff cannot find its own program: {e}"), ""))?
                .into(),
        ],
    };
    let seed = args.seed.map(|seed| ["--seed".to_owned(), seed.to_string()]);
    let set = args.set.iter().flat_map(|set| ["--set".to_owned(), set.clone()]);
    let settings = set.chain(seed.into_iter().flatten()).collect();
    let out = folder.path();
    for node in &s.topology.nodes {
        // Its process claims its folder for itself.
        folder.own(&format!("{}/", node.name)).map_err(|e| Problem::new(e.what, e.hint))?;
    }
    let spawn = Spawn { program, scenario: &args.scenario, settings, out: &out };
    let nodes = processes::run(s, &links, &spawn, || !interrupt::asked()).map_err(missing)?;
    if let Some(n) = nodes.iter().find(|n| n.answer.is_none()) {
        return Err(Problem::new(format!("{} did not run", n.node), n.stderr.trim()).into());
    }
    folder.settle().map_err(|e| Problem::new(e.what, e.hint))?;
    let verdict =
        processes::judge(s, &nodes, interrupt::asked()).map_err(|e| Problem::new(e, ""))?;
    let json = Json {
        out: args.folder().display().to_string(),
        dropped_frames: verdict.losses().of_fate(Fate::Dropped),
        lost_frames: verdict.losses().total(),
        violations: nodes.iter().map(|n| n.number(|r| r.violations)).sum(),
        kernel_drops: verdict.losses().count(Loss::KernelRing),
        send_errors: verdict.losses().count(Loss::KernelRefused),
        lost_on_wires: verdict.losses().count(Loss::OnWire),
        port_down: verdict.losses().count(Loss::FailedPort),
        verdict: &verdict,
        allowed: args.allowed.list(),
        nodes: &nodes,
    };
    let title = if s.title.is_empty() { "Run" } else { s.title.as_str() };
    let headline = args.allowed.headline(&format!("{title}, {} processes", nodes.len()), &verdict);
    let mut open = terminal::pairs();
    verdict.not_known().into_iter().for_each(|(name, value)| _ = open.add_row([name, &value]));
    let text =
        format!("{headline}\n\n{}\n{}\n{}", terminal::draw(&open), table(&nodes), flows(&nodes));
    Ok(Answer::new(text, &json, args.allowed.exit(&verdict)))
}

fn table(nodes: &[NodeRun]) -> String {
    let mut t =
        terminal::table(["Process", "In", "Out", "Control out", "Lost", "Its clock", "Left out"]);
    for n in nodes {
        let seconds = |of: fn(&NodeReport) -> f64| format!("{:.3} s", n.report().map_or(0.0, of));
        t.add_row([
            n.node.clone(),
            xoff_units::grouped(n.over_ports(|p| p.received)),
            xoff_units::grouped(n.over_ports(|p| p.sent)),
            xoff_units::grouped(n.over_ports(|p| p.control_sent)),
            xoff_units::grouped(n.number(|r| r.lost_frames)),
            seconds(|r| r.clock_seconds),
            seconds(|r| r.real.left_out_seconds),
        ]);
    }
    terminal::draw(&t)
}

/// The flows as their destinations saw them.
fn flows(nodes: &[NodeRun]) -> String {
    let mut t = terminal::table(["Flow", "From", "To", "Delivered", "Mean rate", "Complete"]);
    let reports = nodes.iter().filter_map(NodeRun::report);
    let mut seen: Vec<_> =
        reports.flat_map(|r| r.flows.iter().filter(|f| f.dst == r.node)).collect();
    seen.sort_by_key(|f| f.flow);
    for f in seen {
        let complete = if f.complete { "yes" } else { "-" };
        let (delivered, rate) = (Bytes(f.delivered).to_string(), Rate(f.rate).to_string());
        t.add_row([
            f.flow.to_string(),
            f.src.clone(),
            f.dst.clone(),
            delivered,
            rate,
            complete.to_owned(),
        ]);
    }
    terminal::draw(&t)
}
