//! `xoff testbed --processes`: every node a process of its own.

use serde::Serialize;
use xoff_record::verdict::{Allow, Fate, Loss};
use xoff_record::{Folder, Verdict};
use xoff_run::NetworkScenario;
use xoff_scenario::{Problem, Problems};
use xoff_testbed::processes::{self, NodeRun, Spawn};
use xoff_testbed::{veth_network, wiring};
use xoff_units::{Bytes, Rate};

use super::{Args, missing};
use crate::answer::{Answer, open_ends};
use crate::{interrupt, terminal};

#[derive(Serialize)]
struct Json<'a> {
    out: String,
    dropped_frames: u64,
    lost_frames: u64,
    violations: u64,
    kernel_drops: u64,
    send_errors: u64,
    lost_on_wires: u64,
    verdict: &'a Verdict,
    allowed: Vec<Allow>,
    port_down: u64,
    nodes: &'a [NodeRun],
}

/// Runs it; the namespaces have been entered.
pub fn run(s: &NetworkScenario, args: &Args, folder: &Folder) -> Result<Answer, Problems> {
    let here = vec![true; s.topology.nodes.len()];
    let links = wiring::links(s, &here, |_, _| false);
    veth_network::cables(s, &links).map_err(missing)?;
    let program = std::env::current_exe().map_err(|e| Problem::new(format!("this program cannot be found: {e}"), ""))?;
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
    if let Some(n) = nodes.iter().find(|n| n.answer.is_null()) {
        return Err(Problem::new(format!("{} did not run", n.node), n.said.trim()).into());
    }
    folder.settle().map_err(|e| Problem::new(e.what, e.hint))?;
    let verdict = processes::judge(s, &nodes, interrupt::asked()).map_err(|e| Problem::new(e, ""))?;
    let json = Json {
        out: args.out.display().to_string(),
        dropped_frames: verdict.losses().of_fate(Fate::Dropped),
        lost_frames: verdict.losses().total(),
        violations: nodes.iter().map(|n| n.number("/violations") as u64).sum(),
        kernel_drops: verdict.losses().count(Loss::KernelRing),
        send_errors: verdict.losses().count(Loss::KernelRefused),
        lost_on_wires: verdict.losses().count(Loss::OnWire),
        port_down: verdict.losses().count(Loss::FailedPort),
        verdict: &verdict,
        allowed: args.allowed.list(),
        nodes: &nodes,
    };
    let headline = args.allowed.headline(&format!("{}, {} processes", s.title, nodes.len()), &verdict);
    let mut open = terminal::pairs();
    open_ends(&verdict).into_iter().for_each(|(name, value)| _ = open.add_row([name, &value]));
    let text = format!("{headline}\n\n{}\n{}\n{}", terminal::draw(&open), table(&nodes), flows(&nodes));
    Ok(Answer::new(text, &json, args.allowed.exit(&verdict)))
}

fn table(nodes: &[NodeRun]) -> String {
    let mut t = terminal::table(["Process", "In", "Out", "Control out", "Lost", "Its clock", "Left out"]);
    for n in nodes {
        let lost = n.number("/lost_frames") as u64;
        t.add_row([
            n.node.clone(),
            terminal::grouped(n.over_ports("received")),
            terminal::grouped(n.over_ports("sent")),
            terminal::grouped(n.over_ports("control_sent")),
            terminal::grouped(lost),
            format!("{:.3} s", n.number("/clock_seconds")),
            format!("{:.3} s", n.number("/real/left_out_seconds")),
        ]);
    }
    terminal::draw(&t)
}

/// The flows as their destinations saw them.
fn flows(nodes: &[NodeRun]) -> String {
    let mut t = terminal::table(["Flow", "From", "To", "Delivered", "Mean rate", "Complete"]);
    let of = |n: &NodeRun| n.answer["flows"].as_array().cloned().unwrap_or_default();
    let seen = nodes.iter().flat_map(|n| of(n).into_iter().filter(|f| f["dst"] == n.node.as_str()));
    let mut seen: Vec<serde_json::Value> = seen.collect();
    seen.sort_by_key(|f| f["flow"].as_u64());
    for f in &seen {
        let text = |key: &str| f[key].as_str().unwrap_or_default().to_owned();
        let number = |key: &str| f[key].as_u64().unwrap_or_default();
        let complete = if f["complete"].as_bool() == Some(true) { "yes" } else { "-" };
        t.add_row([
            number("flow").to_string(),
            text("src"),
            text("dst"),
            Bytes(number("delivered")).to_string(),
            Rate(number("rate")).to_string(),
            complete.to_owned(),
        ]);
    }
    terminal::draw(&t)
}
