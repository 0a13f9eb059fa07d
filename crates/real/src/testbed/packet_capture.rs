//! The independent packet capture: frames on a link, seen by programs that know nothing of xoff.
//!
//! ```text
//!   n0p1 ==== n1p1       a ring link's two interfaces; tcpdump sees received frames at each of them
//!     |         |
//!  tcpdump   tcpdump --> captures --tshark--> how many data frames, PFC frames, other control frames in a time
//! ```
//!
//! tcpdump as distributions package it gives up root for another user, or for root again, and ends
//! where a user namespace forbids that: then dumpcap, which comes with tshark, captures.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::switchd::{Carrier, format_of};
use schemars::JsonSchema;
use serde::Serialize;
use xoff_mech::flow_control::FlowControl;
use xoff_run::NetworkScenario;

/// So much of a frame is kept: every header that is asked for [bytes].
const SNAP: u32 = 64;
/// libpcap delivers its frames after a second at the latest.
const SETTLE: Duration = Duration::from_millis(1200);
/// End of a run in which a link may have stopped.
const LAST: Duration = Duration::from_secs(1);

/// Program that captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "PacketCapture")]
pub enum By {
    /// tcpdump captures, tshark counts.
    Tcpdump,
    /// dumpcap captures, tshark counts: tcpdump as packaged changes its user, which a user
    /// namespace of one user forbids.
    Dumpcap,
}

impl By {
    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            By::Tcpdump => "tcpdump, counted by tshark",
            By::Dumpcap => "dumpcap, counted by tshark",
        }
    }
}

/// Frames on a link, both directions, in a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(rename = "CapturedFrames")]
pub struct Seen {
    /// Test frames: EtherType 0x88B5, subtype 5.
    pub data: u64,
    /// Priority-based flow control: MAC control, opcode 0x0101.
    pub pfc: u64,
    /// Control messages of xoff: EtherType 0x88B5, subtypes 1 to 4.
    pub local: u64,
    /// Any other frames.
    pub other: u64,
}

impl Seen {
    /// Whether the link was blocked: no data frame, although flow control sent.
    pub fn stopped(&self, kind: &FlowControl) -> bool {
        let sends = match format_of(kind).map(|f| f.carrier) {
            None => true,
            Some(Carrier::MacControl) => self.pfc > 0 && self.local == 0,
            Some(Carrier::Local) => self.local > 0 && self.pfc == 0,
        };
        self.data == 0 && self.other == 0 && sends
    }
}

/// Frames of a link during a run, counted by programs that know nothing of xoff.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Observation {
    /// Port in front of the link.
    pub port: String,
    /// Program that captured.
    pub by: By,
    /// Frames of the whole run.
    pub whole_run: Seen,
    /// Frames of the last second of the run.
    pub last_second: Seen,
    /// Frames that the program missed, by its own count.
    pub missed: u64,
    /// True if no data frame passed in the last second, although flow control sent, and the program
    /// missed no frame.
    pub stopped: bool,
}

impl Observation {
    /// Counts of a capture between the start and the end of a run.
    pub fn of(
        port: &str,
        capture: PacketCapture,
        s: &NetworkScenario,
        start: SystemTime,
        end: SystemTime,
    ) -> io::Result<Observation> {
        let by = capture.by;
        let captures = capture.stop()?;
        let last_second = captures.count(end - LAST, end)?;
        let stopped = s.links().first().is_some_and(|(_, kind)| last_second.stopped(kind))
            && captures.missed == 0;
        let (port, whole_run, missed) =
            (port.to_owned(), captures.count(start, end)?, captures.missed);
        Ok(Observation { port, by, whole_run, last_second, missed, stopped })
    }
}

/// Programs are also looked for where ordinary users do not.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    std::env::split_paths(&path).map(|p| p.join(name)).find(|p| p.is_file())
}

/// A program at work, and its output.
struct Dump {
    child: Child,
    /// Kept open: a program that cannot print its last line would not write its last frames either.
    stderr: Option<BufReader<ChildStderr>>,
}

/// Starts a program that captures to a file, and waits until it prints `ready`; `None`: it does
/// not.
fn dump(name: &str, args: &[String], file: &Path, ready: &str) -> io::Result<Option<Dump>> {
    let Some(program) = program(name) else { return Ok(None) };
    // To stdout, so that the program needs no right to make files.
    let started = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(File::create(file)?)
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = started else { return Ok(None) };
    let mut stderr = child.stderr.take().map(BufReader::new);
    let mut line = String::new();
    while let Some(reader) = &mut stderr {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            child.wait()?;
            return Ok(None);
        }
        if line.contains(ready) {
            break;
        }
    }
    Ok(Some(Dump { child, stderr }))
}

/// A packet capture that runs.
pub struct PacketCapture {
    by: By,
    files: Vec<PathBuf>,
    dumps: Vec<Dump>,
}

impl PacketCapture {
    /// Looks at these two interfaces from here on, with captures in the folder, which is made if it
    /// does not exist; `None`: neither program works here, or tshark is missing.
    pub fn start(interfaces: &[String], folder: &Path) -> io::Result<Option<PacketCapture>> {
        std::fs::create_dir_all(folder)?;
        if program("tshark").is_none() {
            return Ok(None);
        }
        let snap = SNAP.to_string();
        let words = |all: &[&str]| all.iter().map(|a| (*a).to_owned()).collect::<Vec<_>>();
        let mut w = PacketCapture { by: By::Tcpdump, files: Vec::new(), dumps: Vec::new() };
        for (nth, interface) in interfaces.iter().enumerate() {
            let file = folder.join(format!("{nth}.pcap"));
            // No change of user, which has no other one to change to.
            let args = words(&["-Z", "root", "-n", "-U", "-w", "-", "-s", &snap, "-i", interface]);
            match dump("tcpdump", &args, &file, "listening on")? {
                Some(d) => {
                    w.dumps.push(d);
                    w.files.push(file);
                }
                None => {
                    let _ = std::fs::remove_file(&file);
                    break;
                }
            }
        }
        if w.dumps.len() == interfaces.len() {
            return Ok(Some(w));
        }
        if !w.dumps.is_empty() {
            return Err(io::Error::other("tcpdump runs at one interface and not at the other"));
        }
        let file = folder.join("link.pcapng");
        // What waits within dumpcap is not thrown away, as it is by default from a thousand frames
        // on.
        let each = interfaces.iter().flat_map(|i| words(&["-i", i, "-s", &snap]));
        let args: Vec<String> = words(&["-q", "-B", "16", "-N", "10000000", "-C", "1000000000"])
            .into_iter()
            .chain(each)
            .chain(words(&["-w", "-"]))
            .collect();
        let dump = dump("dumpcap", &args, &file, "File:")?;
        Ok(dump.map(|d| PacketCapture { by: By::Dumpcap, files: vec![file], dumps: vec![d] }))
    }

    /// Looks no longer.
    fn stop(mut self) -> io::Result<Captures> {
        if !self.dumps.is_empty() {
            std::thread::sleep(SETTLE);
        }
        let mut missed = 0;
        for Dump { child, stderr } in &mut self.dumps {
            // Asked to end, it writes its frames.
            let pid = rustix::process::Pid::from_child(child);
            rustix::process::kill_process(pid, rustix::process::Signal::INT)?;
            let mut last = String::new();
            if let Some(stderr) = stderr {
                stderr.read_to_string(&mut last)?;
            }
            child.wait()?;
            missed += last.lines().filter_map(dropped).sum::<u64>();
        }
        self.dumps.clear();
        Ok(Captures { missed, files: std::mem::take(&mut self.files) })
    }
}

impl Drop for PacketCapture {
    fn drop(&mut self) {
        for Dump { child, .. } in &mut self.dumps {
            // It may have ended by itself; then there is nothing to do.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Records of a packet capture.
struct Captures {
    /// Frames that passed and were not captured, by the program's own count.
    missed: u64,
    files: Vec<PathBuf>,
}

impl Captures {
    /// Frames from one time to another.
    fn count(&self, from: SystemTime, to: SystemTime) -> io::Result<Seen> {
        let mut all = Seen::default();
        self.files.iter().try_for_each(|file| ask_tshark(file, from, to, &mut all))?;
        Ok(all)
    }
}

/// Frames that a program reports as dropped: `23 packets dropped by kernel`,
/// `... on interface 'a0': 7/2 (pcap:0/...`.
fn dropped(line: &str) -> Option<u64> {
    let tcpdump = line
        .strip_suffix(" packets dropped by kernel")
        .or(line.strip_suffix(" packet dropped by kernel"));
    let dumpcap = || {
        line.strip_prefix("Packets received/dropped")?
            .split_once("': ")?
            .1
            .split_once('/')?
            .1
            .split_once(' ')
            .map(|v| v.0)
    };
    tcpdump.or_else(dumpcap)?.trim().parse().ok()
}

fn seconds(t: SystemTime) -> f64 {
    t.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

fn ask_tshark(file: &Path, from: SystemTime, to: SystemTime, seen: &mut Seen) -> io::Result<()> {
    let program = program("tshark").ok_or_else(|| io::Error::other("tshark has exited"))?;
    let window = format!(
        "frame.time_epoch >= {:.6} && frame.time_epoch <= {:.6}",
        seconds(from),
        seconds(to)
    );
    let output = Command::new(program)
        .args([
            "-n",
            "-Y",
            &window,
            "-T",
            "fields",
            "-e",
            "eth.type",
            "-e",
            "macc.opcode",
            "-e",
            "data.data",
            "-r",
        ])
        .arg(file)
        .stdin(Stdio::null())
        .output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!(
            "tshark: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )));
    }
    String::from_utf8_lossy(&output.stdout).lines().for_each(|line| sort(line, seen));
    Ok(())
}

/// A frame as tshark prints it: EtherType, opcode of MAC control, payload that it has no dissector
/// for.
fn sort(line: &str, seen: &mut Seen) {
    let mut fields = line.split('\t');
    let mut number =
        || fields.next().and_then(|f| u64::from_str_radix(f.trim_start_matches("0x"), 16).ok());
    let (ether_type, opcode) = (number(), number());
    // Magic "xo", version 1, subtype.
    let subtype = fields.next().and_then(|d| {
        d.replace(':', "").strip_prefix("786f01").map(|rest| rest.get(..2).unwrap_or("").to_owned())
    });
    let count = match (ether_type, opcode, subtype.as_deref()) {
        (Some(0x8808), Some(0x0101), _) => &mut seen.pfc,
        (Some(0x88b5), None, Some("05")) => &mut seen.data,
        (Some(0x88b5), None, Some("01" | "02" | "03" | "04")) => &mut seen.local,
        _ => &mut seen.other,
    };
    *count += 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_count_what_they_missed() {
        let dumpcap = "Packets received/dropped on interface 'a0': 7/2 (pcap:0/dumpcap:2/flushed:0/ps_ifdrop:0) (77.8%)";
        assert_eq!(
            [dumpcap, "23 packets dropped by kernel", "File: -"].map(dropped),
            [Some(2), Some(23), None]
        );
    }

    #[test]
    fn tshark_s_lines_are_sorted() {
        let mut seen = Seen::default();
        for line in [
            "0x000088b5\t\t786f01050000",
            "0x88b5\t\t78:6f:01:05:00",
            "0x88b5\t\t786f0103aa",
            "0x00008808\t0x0101\t",
            "0x00008808\t0x0001\t",
            "0x86dd\t\t",
            "",
        ] {
            sort(line, &mut seen);
        }
        assert_eq!(seen, Seen { data: 2, pfc: 1, local: 1, other: 3 });
    }
}
