//! The nodes of a soak: processes of `xoff switch` and `xoff host`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use xoff_real::netio::sandbox;
use xoff_real::testbed::protocol::{NodeAnswer, NodeReport, Ready};

use super::cables::interface;

/// A node of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Name.
    pub name: &'static str,
    /// Neighbours with the cable, and the side of it, that lead there.
    pub ports: &'static [(&'static str, usize, usize)],
}

/// The source of held frames.
pub const H0: Place = Place { name: "H0", ports: &[("S1", 0, 0)] };
/// The switch that lives as long as the soak.
pub const S1: Place = Place { name: "S1", ports: &[("H0", 0, 1), ("S2", 1, 0)] };
/// The switch that is killed.
pub const S2: Place = Place { name: "S2", ports: &[("S1", 1, 1), ("H1", 2, 0)] };
/// The slow receiver.
pub const H1: Place = Place { name: "H1", ports: &[("S2", 2, 1)] };
/// Cables of the chain.
pub const CABLES: usize = 3;

/// Start of nodes.
pub struct Spawn {
    /// The program `xoff`.
    pub program: PathBuf,
    /// The scenario file.
    pub scenario: PathBuf,
    /// Folder of the processes' files.
    pub folder: PathBuf,
}

/// A process.
pub struct Node {
    name: &'static str,
    child: Child,
    out: PathBuf,
    err: PathBuf,
    ready: PathBuf,
}

/// Counters of a switch.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// Frames that it dropped, by itself and reason.
    pub dropped: BTreeMap<String, u64>,
    /// Time for which its clock stopped, because its process got no processor [s].
    pub stood: f64,
}

impl Spawn {
    /// Starts a node. It waits for [`Node::begin`].
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start(&self, place: Place, settings: &[String]) -> io::Result<Node> {
        let at = |ending: &str| self.folder.join(format!("{}.{ending}", place.name));
        let (out, err, ready) = (at("out"), at("err"), at("ready"));
        match fs::remove_file(&ready) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        let mut c = Command::new(&self.program);
        let is_host = place.ports.len() == 1;
        c.arg(if is_host { "host" } else { "switch" })
            .arg(&self.scenario)
            .args(["--node", place.name, "--json", "--wait"]);
        c.args(["--for", "3600000s"]).arg("--ready").arg(&ready);
        for s in settings {
            c.args(["--set", s]);
        }
        if !is_host {
            c.args(["--metrics", "127.0.0.1:0"]);
        }
        for (peer, cable, side) in place.ports {
            let interface = interface(*cable, *side);
            c.args([
                "--port".to_owned(),
                if is_host { interface } else { format!("{peer}={interface}") },
            ]);
        }
        c.stdin(Stdio::piped()).stdout(File::create(&out)?).stderr(File::create(&err)?);
        sandbox::killed_with_parent(&mut c);
        Ok(Node { name: place.name, child: c.spawn()?, out, err, ready })
    }
}

impl Node {
    /// Whether its ports are open.
    pub fn is_ready(&self) -> bool {
        self.ready.exists()
    }

    /// Lets it begin.
    pub fn begin(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Whether it has ended.
    pub fn ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Asks it to end.
    pub fn interrupt(&self) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // One that has just ended is gone already.
            let _ = kill_process(pid, Signal::INT);
        }
    }

    /// Ends it at once, without a word to its neighbours.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Memory that it has now [KiB]; `None`: it is gone.
    pub fn memory(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
        line.trim().strip_suffix("kB")?.trim().parse().ok()
    }

    /// Counters of a running switch since its start. It renews its counters every second.
    ///
    /// # Errors
    /// It does not answer.
    pub fn counted(&self) -> io::Result<Counted> {
        const PATIENCE: Duration = Duration::from_secs(10);
        let ready = Ready::read(&self.ready).map_err(io::Error::other)?;
        let mut stream = TcpStream::connect(ready.and_then(|r| r.metrics).unwrap_or_default())?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        let mut counted = Counted::default();
        let wrong = |line: &str| io::Error::other(format!("{}: '{line}' is no counter", self.name));
        for line in text.lines() {
            let value = line.rsplit(' ').next();
            if line.starts_with("xoff_dropped_frames_total{") {
                let reason = line
                    .split_once("reason=\"")
                    .and_then(|(_, r)| r.split_once('"'))
                    .map(|(reason, _)| reason);
                let count = value.and_then(|n| n.parse::<u64>().ok());
                let (Some(reason), Some(count)) = (reason, count) else { return Err(wrong(line)) };
                *counted.dropped.entry(format!("{} {reason}", self.name)).or_default() += count;
            } else if line.starts_with("xoff_clock_left_out_seconds_total{") {
                counted.stood = value.and_then(|n| n.parse().ok()).ok_or_else(|| wrong(line))?;
            }
        }
        match counted.dropped.is_empty() {
            true => Err(io::Error::other(format!("{} has no counters yet", self.name))),
            false => Ok(counted),
        }
    }

    /// Answer of the node.
    ///
    /// # Errors
    /// No readable answer; with the end of its text for people.
    pub fn report(&self) -> Result<NodeReport, String> {
        let answer = fs::read_to_string(&self.out)
            .map_err(|e| e.to_string())
            .and_then(|t| NodeAnswer::parse(&t).map_err(|e| e.to_string()));
        answer
            .map(|a| a.run)
            .map_err(|e| format!("{} gave no answer: {e}; {}", self.name, tail(&self.err)))
    }

    /// Text that it wrote if it panicked.
    pub fn panicked(&self) -> Option<String> {
        let text = fs::read_to_string(&self.err).unwrap_or_default();
        text.lines().find(|l| l.contains("panicked")).map(|l| format!("{}: {l}", self.name))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The last lines of a file.
fn tail(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    let lines: Vec<&str> = text.trim().lines().rev().take(3).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join(" / ")
}
