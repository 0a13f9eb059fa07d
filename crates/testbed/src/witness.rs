//! The outside witness: what was on a link, by programs that know nothing of ours.
//!
//! ```text
//!   n0p1 ==== n1p1       a ring link's two interfaces; tcpdump sees at each of them what arrives there
//!     |         |
//!  tcpdump   tcpdump --> 0.pcap, 1.pcap --tshark--> how many data frames, PFC frames, other control frames in a time
//! ```
//!
//! Where one of the programs is missing our own capture (pcapng) of the same two interfaces is counted, by our own parsers. It says so.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use xoff_netio::{Capture, CaptureOptions, CaptureReader, Direction};
use xoff_wire::control::{self, Control};
use xoff_wire::local::{self, Message};
use xoff_wire::{ethernet, mac_control};

/// So much of a frame is kept: every header that is asked for [bytes].
const SNAP: u32 = 64;
/// libpcap hands over what it has after a second at the latest.
const SETTLE: Duration = Duration::from_millis(1200);

/// Who looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum By {
    /// tcpdump and tshark.
    Outside,
    /// Our own capture and parsers.
    Own,
}

/// Frames on a link, both directions, in a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Test frames: EtherType 0x88B5, subtype 5.
    pub data: u64,
    /// Priority-based flow control: MAC control, opcode 0x0101.
    pub pfc: u64,
    /// Control messages of ours: EtherType 0x88B5, subtypes 1 to 4.
    pub ours: u64,
    /// Anything else.
    pub other: u64,
}

/// Programs are also looked for where ordinary users do not.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    std::env::split_paths(&path).map(|p| p.join(name)).find(|p| p.is_file())
}

/// Who can look on this machine.
pub fn who() -> By {
    if program("tcpdump").is_some() && program("tshark").is_some() { By::Outside } else { By::Own }
}

/// A witness at work.
pub struct Witness {
    by: By,
    files: Vec<PathBuf>,
    dumps: Vec<Child>,
}

impl Witness {
    /// Looks at these interfaces from here on; captures go into the folder, which is made if it does not exist.
    pub fn start(interfaces: &[String], folder: &Path) -> io::Result<Witness> {
        std::fs::create_dir_all(folder)?;
        let by = who();
        let mut w = Witness { by, files: Vec::new(), dumps: Vec::new() };
        if by == By::Own {
            w.files.push(folder.join("own.pcapng"));
            return Ok(w);
        }
        for (nth, interface) in interfaces.iter().enumerate() {
            let file = folder.join(format!("{nth}.pcap"));
            let program = program("tcpdump").ok_or_else(|| io::Error::other("tcpdump has gone"))?;
            let mut child = Command::new(program)
                // To stdout, so that nobody needs the right to make files; no other user, which the namespace does not have.
                .args(["-Z", "root", "-n", "-U", "-w", "-", "-s", &SNAP.to_string(), "-i", interface])
                .stdin(Stdio::null())
                .stdout(File::create(&file)?)
                .stderr(Stdio::piped())
                .spawn()?;
            let said = child.stderr.take();
            w.dumps.push(child);
            w.files.push(file);
            let mut all = String::new();
            let listens = said.map(BufReader::new).is_some_and(|r| {
                r.lines().map_while(Result::ok).any(|line| {
                    all.push_str(&line);
                    line.contains("listening on")
                })
            });
            if !listens {
                return Err(io::Error::other(format!("tcpdump at {interface}: {all}")));
            }
        }
        Ok(w)
    }

    /// What has to be told about every frame where there is no outside witness; `ends`: the two links, by number.
    pub fn own(&self, ends: [usize; 2]) -> Option<io::Result<Own>> {
        let file = self.files.first().filter(|_| self.by == By::Own)?;
        let options = CaptureOptions { snap_length: SNAP, ..CaptureOptions::default() };
        Some(Capture::create(file, &["0", "1"], &options).map(|capture| Own { capture, ends }))
    }

    /// Looks no longer.
    pub fn stop(mut self) -> io::Result<Captures> {
        if !self.dumps.is_empty() {
            std::thread::sleep(SETTLE);
        }
        for child in &mut self.dumps {
            // Asked to end, tcpdump writes what it has.
            let pid = rustix::process::Pid::from_child(child);
            rustix::process::kill_process(pid, rustix::process::Signal::INT)?;
            child.wait()?;
        }
        self.dumps.clear();
        Ok(Captures { by: self.by, files: std::mem::take(&mut self.files) })
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        for child in &mut self.dumps {
            // It may have ended by itself; then there is nothing to do.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Our own capture of two links.
pub struct Own {
    capture: Capture<File>,
    ends: [usize; 2],
}

impl Own {
    /// A frame passed.
    pub fn write(&mut self, link: usize, inbound: bool, bytes: &[u8]) -> io::Result<()> {
        match self.ends.iter().position(|&e| e == link) {
            Some(port) if inbound => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                self.capture.write(now.as_nanos() as u64, port, Direction::Inbound, bytes)
            }
            _ => Ok(()),
        }
    }

    /// No more frames.
    pub fn finish(self) -> io::Result<()> {
        self.capture.finish().map(drop)
    }
}

/// What a witness has written down.
pub struct Captures {
    by: By,
    /// The files.
    pub files: Vec<PathBuf>,
}

impl Captures {
    /// Frames from one time to another.
    pub fn count(&self, from: SystemTime, to: SystemTime) -> io::Result<Seen> {
        let mut all = Seen::default();
        for file in &self.files {
            match self.by {
                By::Outside => ask_tshark(file, from, to, &mut all)?,
                By::Own => ask_ourselves(file, from, to, &mut all)?,
            }
        }
        Ok(all)
    }
}

fn seconds(t: SystemTime) -> f64 {
    t.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

fn ask_tshark(file: &Path, from: SystemTime, to: SystemTime, seen: &mut Seen) -> io::Result<()> {
    let program = program("tshark").ok_or_else(|| io::Error::other("tshark has gone"))?;
    let window = format!("frame.time_epoch >= {:.6} && frame.time_epoch <= {:.6}", seconds(from), seconds(to));
    let output = Command::new(program)
        .args(["-n", "-Y", &window, "-T", "fields", "-e", "eth.type", "-e", "macc.opcode", "-e", "data.data", "-r"])
        .arg(file)
        .stdin(Stdio::null())
        .output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!("tshark: {}", String::from_utf8_lossy(&output.stderr).trim())));
    }
    String::from_utf8_lossy(&output.stdout).lines().for_each(|line| sort(line, seen));
    Ok(())
}

/// A frame as tshark tells it: EtherType, opcode of MAC control, payload that it has no dissector for.
fn sort(line: &str, seen: &mut Seen) {
    let mut fields = line.split('\t');
    let mut number = || fields.next().and_then(|f| u64::from_str_radix(f.trim_start_matches("0x"), 16).ok());
    let (ether_type, opcode) = (number(), number());
    // Magic "xo", version 1, subtype.
    let subtype = fields.next().and_then(|d| d.replace(':', "").strip_prefix("786f01").map(|rest| rest.get(..2).unwrap_or("").to_owned()));
    let count = match (ether_type, opcode, subtype.as_deref()) {
        (Some(0x8808), Some(0x0101), _) => &mut seen.pfc,
        (Some(0x88b5), None, Some("05")) => &mut seen.data,
        (Some(0x88b5), None, Some("01" | "02" | "03" | "04")) => &mut seen.ours,
        _ => &mut seen.other,
    };
    *count += 1;
}

fn ask_ourselves(file: &Path, from: SystemTime, to: SystemTime, seen: &mut Seen) -> io::Result<()> {
    for frame in CaptureReader::open(file)? {
        let frame = frame?;
        let at = UNIX_EPOCH + Duration::from_nanos(frame.time_ns);
        if at < from || at > to {
            continue;
        }
        // A test frame is read in whole: what was cut off is filler.
        let mut bytes = frame.bytes;
        bytes.resize(frame.original_len as usize, 0);
        let test = || {
            let frame = ethernet::Frame::new(&bytes).ok()?;
            let ours = frame.ether_type() == ethernet::LOCAL;
            matches!(local::Message::parse(frame.payload()), Ok(Message::Test(_))).then_some(()).filter(|()| ours)
        };
        let count = match control::parse(&bytes) {
            Ok(Some(Control::Mac(mac_control::Repr::Pfc(_)))) => &mut seen.pfc,
            Ok(Some(Control::Local(_))) => &mut seen.ours,
            Ok(None) if test().is_some() => &mut seen.data,
            _ => &mut seen.other,
        };
        *count += 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(seen, Seen { data: 2, pfc: 1, ours: 1, other: 3 });
    }
}
