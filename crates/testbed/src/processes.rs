//! One process per node: `xoff switch` and `xoff host` on the veth pairs of a testbed, each with a clock of its own.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;
use xoff_netio::sandbox;
use xoff_record::Verdict;
use xoff_record::verdict::{Deadlock, Loss, Losses, Parts, Promises, Work};
use xoff_run::NetworkScenario;
use xoff_switchd::Link;
use xoff_topology::NodeKind;
use xoff_units::Span;

use crate::veth_network::{BedError, interface};

/// How the processes are started.
pub struct Spawn<'a> {
    /// The program `xoff`.
    pub program: PathBuf,
    /// The scenario file.
    pub scenario: &'a Path,
    /// Settings that all of them get, as arguments (`--set` and `--seed`).
    pub settings: Vec<String>,
    /// Each writes its tables into a folder of its name in this one.
    pub out: &'a Path,
}

/// A node that ran as a process.
#[derive(Debug, Serialize)]
pub struct NodeRun {
    /// Its name.
    pub node: String,
    /// Exit code; `None`: ended by a signal.
    pub exit_code: Option<i32>,
    /// What it answered; null: nothing that could be read.
    pub answer: serde_json::Value,
    /// What it said besides.
    pub said: String,
}

impl NodeRun {
    /// A number of its answer, 0 where there is none.
    pub fn number(&self, pointer: &str) -> f64 {
        self.answer.pointer(pointer).and_then(serde_json::Value::as_f64).unwrap_or(0.0)
    }

    /// The sum of a number over its ports.
    pub fn over_ports(&self, key: &str) -> u64 {
        let ports = self.answer.pointer("/real/ports").and_then(|p| p.as_array());
        ports.into_iter().flatten().filter_map(|p| p[key].as_u64()).sum()
    }
}

/// What all of them came to together.
///
/// # Errors
/// The answer of a node has no verdict that can be read.
pub fn judge(s: &NetworkScenario, nodes: &[NodeRun], interrupted: bool) -> Result<Verdict, String> {
    let mut losses = Losses::default();
    let (mut violations, mut of_loss, mut first) = (0, 0, String::new());
    let (mut total, mut complete, mut incomplete) = (0, 0, 0);
    let mut failures = Vec::new();
    for n in nodes {
        let verdict = n.answer.get("verdict").cloned().unwrap_or_default();
        let verdict: Verdict = serde_json::from_value(verdict).map_err(|e| format!("the answer of {}: {e}", n.node))?;
        let parts = verdict.parts();
        losses.merge(&parts.losses);
        if let Promises::Violated { violations: v, of_loss: l, first: f } = &parts.promises {
            (violations, of_loss) = (violations + v, of_loss + l);
            first = if first.is_empty() { f.clone() } else { first };
        }
        (total, complete) = (total + parts.work.total, complete + parts.work.complete);
        incomplete += parts.work.incomplete;
        if n.exit_code.is_none() {
            failures.push(format!("{} was ended by a signal", n.node));
        }
    }
    if !interrupted {
        losses.add(Loss::OnWire, lost_on_wires(s, nodes));
    }
    let moved = nodes.iter().any(|n| n.over_ports("sent") + n.over_ports("received") > 0);
    let promises = match violations {
        0 if !s.is_checked() => Promises::NotChecked { why: "run.checks is false".into() },
        0 => Promises::Kept,
        _ => Promises::Violated { violations, of_loss, first },
    };
    let parts = Parts {
        interrupted,
        deadlock: Deadlock::NotWatched { why: "each process sees its own node only".into() },
        losses,
        promises,
        work: Work { unit: "flows".into(), total, complete, incomplete },
        nothing_ran: (!moved).then(|| "no frame was sent".into()),
        failures,
    };
    Ok(parts.into())
}

/// Frames of data that one process sent and the next one never received. Only on the way to switches: they outlast the hosts, so that what
/// they have not received is lost; what a switch sends to a host that has ended is not. Control messages are left out: the switches do
/// not end at the same moment, and whatever still runs goes on repeating its own.
fn lost_on_wires(s: &NetworkScenario, nodes: &[NodeRun]) -> u64 {
    let count = |node: u32, port: u16, key: &str| {
        let name = s.topology.port_name(node, port);
        let ports = nodes.iter().find(|n| n.node == s.topology.name(node))?.answer.pointer("/real/ports")?.as_array()?;
        ports.iter().find(|p| p["port"] == name.as_str())?[key].as_u64()
    };
    let switches = (0..s.topology.nodes.len() as u32).filter(|&n| s.topology.nodes[n as usize].kind == NodeKind::Switch);
    let ends = switches.flat_map(|n| s.topology.nodes[n as usize].ports.iter().zip(0..).map(move |(p, i)| ((n, i), (p.peer, p.peer_port))));
    ends.map(|(to, from)| {
        let of = |(node, port): (u32, u16), key: &str| count(node, port, key).unwrap_or(0);
        let sent = of(from, "sent").saturating_sub(of(from, "control_sent"));
        let received: u64 = ["received", "kernel_drops", "too_long"].iter().map(|key| of(to, key)).sum();
        sent.saturating_sub(received.saturating_sub(of(to, "control_received")))
    })
    .sum()
}

/// What a node says once its ports are open (`live.rs` of the command).
const READY: &str = " runs on ";
/// Switches outlast hosts, so that what hosts have sent goes on.
const LONGER: Span = Span::from_ms(500);
/// Longest time until a node has its ports open.
const PATIENCE: Duration = Duration::from_secs(60);

struct Process {
    name: String,
    child: Child,
    out: JoinHandle<String>,
    err: JoinHandle<String>,
}

/// Runs every node of a scenario as a process of its own for the scenario's duration. The interfaces are there
/// ([`crate::veth_network::cables`]). All begin when all have their ports open. `go_on` is asked now and then; when it returns false, all are
/// asked to end.
pub fn run(s: &NetworkScenario, links: &[Link], spawn: &Spawn, mut go_on: impl FnMut() -> bool) -> Result<Vec<NodeRun>, BedError> {
    let (ready, opened) = mpsc::channel();
    let mut all = Vec::new();
    for (n, node) in s.topology.nodes.iter().enumerate() {
        let failed = |e: io::Error| BedError::Host(node.name.clone(), e);
        let own: Vec<&Link> = links.iter().filter(|l| l.node as usize == n).collect();
        let mut command = command(s, node.kind, &node.name, &own, spawn);
        // However this process ends, its nodes do not outlive it.
        sandbox::killed_with_parent(&mut command);
        let mut child = command.spawn().map_err(failed)?;
        let (mut stdout, stderr) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
        let out = std::thread::spawn(move || {
            let mut text = String::new();
            // What is no text is no answer either.
            let _ = stdout.read_to_string(&mut text);
            text
        });
        let ready = ready.clone();
        let err = std::thread::spawn(move || {
            let mut text = String::new();
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if line.contains(READY) {
                    let _ = ready.send(true);
                }
                text += &line;
                text.push('\n');
            }
            // One that ends without having begun holds up nobody.
            let _ = ready.send(false);
            text
        });
        all.push(Process { name: node.name.clone(), child, out, err });
    }
    let begun = (0..all.len()).all(|_| opened.recv_timeout(PATIENCE) == Ok(true));
    // Their inputs end, which is the sign to begin; if one could not, the others have nothing to do.
    all.iter_mut().for_each(|p| drop(p.child.stdin.take()));
    let mut asked = false;
    while all.iter_mut().any(|p| matches!(p.child.try_wait(), Ok(None))) {
        if !asked && (!begun || !go_on()) {
            asked = true;
            all.iter().for_each(|p| interrupt(&p.child));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    all.into_iter().map(finish).collect()
}

fn command(s: &NetworkScenario, kind: NodeKind, name: &str, own: &[&Link], spawn: &Spawn) -> Command {
    let lasts = match kind {
        NodeKind::Host => Span(s.until.0),
        NodeKind::Switch => Span(s.until.0) + LONGER,
    };
    let mut c = Command::new(&spawn.program);
    c.arg(if kind == NodeKind::Host { "host" } else { "switch" }).arg(spawn.scenario).args(["--node", name, "--json", "--wait"]);
    c.args(["--for", &format!("{}us", lasts.0 / 1_000_000)]).args(&spawn.settings).arg("--out").arg(spawn.out.join(name));
    for l in own {
        let interface = interface(l);
        let peer = s.topology.name(s.topology.nodes[l.node as usize].ports[l.port as usize].peer);
        c.args(["--port".to_owned(), if kind == NodeKind::Host { interface } else { format!("{peer}={interface}") }]);
    }
    c.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    c
}

fn interrupt(child: &Child) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // One that has just ended is gone already.
        let _ = kill_process(pid, Signal::INT);
    }
}

fn finish(mut p: Process) -> Result<NodeRun, BedError> {
    let status = p.child.wait().map_err(|e| BedError::Host(p.name.clone(), e))?;
    let text = |t: JoinHandle<String>| t.join().unwrap_or_default();
    let (out, said) = (text(p.out), text(p.err));
    Ok(NodeRun { node: p.name, exit_code: status.code(), answer: serde_json::from_str(&out).unwrap_or_default(), said })
}
