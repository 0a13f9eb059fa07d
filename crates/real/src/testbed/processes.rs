//! One process per node: `xoff switch` and `xoff host` on the veth pairs of a testbed, each with a
//! clock of its own.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::netio::sandbox;
use crate::switchd::Link;
use rustix::process::{Pid, Signal, kill_process};
use schemars::JsonSchema;
use serde::Serialize;
use xoff_net::topology::NodeKind;
use xoff_record::Verdict;
use xoff_record::verdict::{Deadlock, Loss, Losses, Parts, Promises, Work};
use xoff_run::NetworkScenario;
use xoff_units::{NodeId, Span};

use crate::testbed::PortReport;
use crate::testbed::protocol::{NodeAnswer, NodeReport, Ready};
use crate::testbed::veth_network::{NetworkError, interface};

/// Start of the processes.
pub struct Spawn<'a> {
    /// The program `xoff`, and the words before its arguments.
    pub program: Vec<OsString>,
    /// The scenario file.
    pub scenario: &'a Path,
    /// Settings that all of them get, as arguments (`--set` and `--seed`).
    pub settings: Vec<String>,
    /// Each writes its tables into a folder of its name in this one.
    pub out: &'a Path,
}

/// A node that ran as a process.
#[derive(Debug, JsonSchema, Serialize)]
pub struct NodeRun {
    /// Name.
    pub node: String,
    /// Exit code; null: ended by a signal.
    pub exit_code: Option<i32>,
    /// Answer; null: no readable answer, and `stderr` ends with the reason.
    pub answer: Option<NodeAnswer>,
    /// Text on standard error.
    pub stderr: String,
}

impl NodeRun {
    /// Report of the node; `None`: it gave no answer.
    pub fn report(&self) -> Option<&NodeReport> {
        self.answer.as_ref().map(|a| &a.run)
    }

    /// A number of its report, 0 where there is none.
    pub fn number(&self, of: impl Fn(&NodeReport) -> u64) -> u64 {
        self.report().map_or(0, of)
    }

    /// The sum of a number over its ports.
    pub fn over_ports(&self, of: impl Fn(&PortReport) -> u64) -> u64 {
        self.number(|r| r.real.ports.iter().map(&of).sum())
    }
}

/// Common verdict of all nodes.
///
/// # Errors
/// A node gave no answer.
pub fn judge(s: &NetworkScenario, nodes: &[NodeRun], interrupted: bool) -> Result<Verdict, String> {
    let mut losses = Losses::default();
    let (mut violations, mut of_loss, mut first) = (0, 0, String::new());
    let (mut total, mut complete, mut incomplete) = (0, 0, 0);
    let mut failures = Vec::new();
    for n in nodes {
        let report =
            n.report().ok_or_else(|| format!("{} did not answer: {}", n.node, n.stderr.trim()))?;
        let parts = report.verdict.parts();
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
    let moved = nodes.iter().any(|n| n.over_ports(|p| p.sent + p.received) > 0);
    let promises = match violations {
        0 if !s.is_checked() => Promises::NotChecked { why: "run.checks is false".into() },
        0 => Promises::Kept,
        _ => Promises::Violated { violations, of_loss, first },
    };
    let parts = Parts {
        interrupted,
        deadlock: Deadlock::NotChecked { why: "each process knows only its own node".into() },
        losses,
        promises,
        work: Work { unit: "flows".into(), total, complete, incomplete },
        not_kept: None,
        nothing_ran: (!moved).then(|| "no frame was sent".into()),
        failures,
        unfinished: Vec::new(),
    };
    Ok(parts.into())
}

/// Frames of data that one process sent and the next one never received. Only frames to switches
/// count: switches outlast the hosts, so a frame that they have not received is lost. A frame to a
/// host that has ended is not. Control messages are left out: the switches do not end at the same
/// time, and whatever still runs keeps repeating its own.
fn lost_on_wires(s: &NetworkScenario, nodes: &[NodeRun]) -> u64 {
    let at = |(node, port): (NodeId, u16)| {
        let name = s.topology.port_name(node, port);
        let report = nodes.iter().find(|n| n.node == s.topology.name(node))?.report()?;
        report.real.ports.iter().find(|p| p.port == name)
    };
    let switches =
        s.topology.node_ids().filter(|&n| s.topology.nodes[n.index()].kind == NodeKind::Switch);
    let ends = switches.flat_map(|n| {
        s.topology.nodes[n.index()]
            .ports
            .iter()
            .zip(0..)
            .map(move |(p, i)| ((n, i), (p.peer, p.peer_port)))
    });
    ends.map(|(to, from)| {
        let sent = at(from).map_or(0, |p| p.sent.saturating_sub(p.control_sent));
        let received = at(to).map_or(0, |p| {
            (p.received + p.kernel_drops + p.too_long).saturating_sub(p.control_received)
        });
        sent.saturating_sub(received)
    })
    .sum()
}

/// Switches outlast hosts, so that frames of hosts are still forwarded.
const LONGER: Span = Span::from_ms(500);
/// Longest time until a node has its ports open.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time between two looks for the files of nodes.
const LOOK: Duration = Duration::from_millis(5);

struct Process {
    name: String,
    child: Child,
    /// File that marks its ports as open.
    ready: PathBuf,
    out: JoinHandle<String>,
    err: JoinHandle<String>,
}

/// Runs every node of a scenario as a process of its own for the scenario's duration. The
/// interfaces are there ([`crate::testbed::veth_network::cables`]). They begin when every process
/// has its ports open. `go_on` is called now and then; when it returns false, all are told to end.
///
/// # Errors
/// A process cannot be started, or is of another version than this one.
pub fn run(
    s: &NetworkScenario,
    links: &[Link],
    spawn: &Spawn,
    mut go_on: impl FnMut() -> bool,
) -> Result<Vec<NodeRun>, NetworkError> {
    let folder = tempfile::tempdir()
        .map_err(|e| NetworkError::Host("the folder of --ready files".into(), e))?;
    let mut all = Vec::new();
    for (n, node) in s.topology.nodes.iter().enumerate() {
        let failed = |e: io::Error| NetworkError::Host(node.name.clone(), e);
        let own: Vec<&Link> = links.iter().filter(|l| l.node.index() == n).collect();
        let ready = folder.path().join(n.to_string());
        let mut command = command(s, node.kind, &node.name, &own, spawn);
        command.arg("--ready").arg(&ready);
        // However this process ends, its nodes do not outlive it.
        sandbox::killed_with_parent(&mut command);
        let mut child = command.spawn().map_err(failed)?;
        let (stdout, stderr) =
            (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
        all.push(Process {
            name: node.name.clone(),
            child,
            ready,
            out: collect(stdout),
            err: collect(stderr),
        });
    }
    let begun = all_ready(&mut all, &mut go_on);
    // Their inputs end, which is the sign to begin; if one could not, the others have nothing to
    // do.
    all.iter_mut().for_each(|p| drop(p.child.stdin.take()));
    let mut asked = false;
    while all.iter_mut().any(|p| matches!(p.child.try_wait(), Ok(None))) {
        if !asked && (!matches!(begun, Ok(true)) || !go_on()) {
            asked = true;
            all.iter().for_each(|p| interrupt(&p.child));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    begun?;
    all.into_iter().map(finish).collect()
}

/// All that a process writes, which would wait if it were not read.
fn collect(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What came before an error counts.
        let _ = from.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits until the ports of all are open. `false`: one has ended before, takes too long, or the
/// user wants no more.
fn all_ready(all: &mut [Process], go_on: &mut impl FnMut() -> bool) -> Result<bool, NetworkError> {
    let began = Instant::now();
    let mut waiting: Vec<&mut Process> = all.iter_mut().collect();
    while !waiting.is_empty() {
        let mut still = Vec::new();
        for p in waiting {
            let ended = !matches!(p.child.try_wait(), Ok(None));
            let ready = Ready::read(&p.ready)
                .map_err(|e| NetworkError::Host(p.name.clone(), io::Error::other(e)))?;
            match ready {
                Some(_) => {}
                None if ended => return Ok(false),
                None => still.push(p),
            }
        }
        waiting = still;
        if began.elapsed() > PATIENCE || !go_on() {
            return Ok(false);
        }
        std::thread::sleep(LOOK);
    }
    Ok(true)
}

fn command(
    s: &NetworkScenario,
    kind: NodeKind,
    name: &str,
    own: &[&Link],
    spawn: &Spawn,
) -> Command {
    let lasts = match kind {
        NodeKind::Host => Span(s.until.0),
        NodeKind::Switch => Span(s.until.0) + LONGER,
    };
    let mut c = Command::new(&spawn.program[0]);
    c.args(&spawn.program[1..]);
    c.arg(if kind == NodeKind::Host { "host" } else { "switch" })
        .arg(spawn.scenario)
        .args(["--node", name, "--json", "--wait"]);
    c.args(["--for", &format!("{}us", lasts.0 / 1_000_000)])
        .args(&spawn.settings)
        .arg("--out")
        .arg(spawn.out.join(name));
    for l in own {
        let interface = interface(l);
        c.args(["--port".to_owned(), format!("{}={interface}", l.peer())]);
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

fn finish(mut p: Process) -> Result<NodeRun, NetworkError> {
    let status = p.child.wait().map_err(|e| NetworkError::Host(p.name.clone(), e))?;
    let text = |t: JoinHandle<String>| t.join().unwrap_or_default();
    let (out, mut stderr) = (text(p.out), text(p.err));
    let answer = NodeAnswer::parse(&out);
    if let Err(e) = &answer {
        stderr += &format!("xoff cannot read its answer: {e}\n");
    }
    Ok(NodeRun { node: p.name, exit_code: status.code(), answer: answer.ok(), stderr })
}
