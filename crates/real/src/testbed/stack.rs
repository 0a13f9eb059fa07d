//! A port to an IP stack that makes the stack wait.
//!
//! ```text
//!   sockets --> token bucket --> tap --> queue here --> shim
//!                    ^                      |
//!                    +---- fast or slow ----+      by how much waits here
//! ```
//!
//! A tap drops frames that are not read. A token bucket (tc-tbf(8)) before it does not: its waiting
//! frames are charged to their socket, and a socket that has used up its memory blocks its program.
//! So the bucket runs at the rate of the link while there is room behind it, and at a fiftieth
//! while there is not. Full stops are not possible, and not needed: programs come to a stand long
//! before the queue here is full.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::fd::RawFd;
use std::process::{Child, Command, Stdio};

use crate::netio::{Port, PortCounters, TapPort};
use xoff_units::Rate;

/// Queue lengths at which the bucket turns slow, and fast again [frames]. The lower one is the need
/// of the link until the bucket's timer has run out.
const SLOW_FROM: usize = 128;
const FAST_FROM: usize = 64;
/// Frames that wait here at most; the tap's own ring comes behind them.
const ROOM: usize = 8192;
/// Factor of the slow mode.
const SLOWER: u64 = 50;
/// Frames taken off the tap at a time.
const BURST: usize = 64;

/// The command `tc`, reading one command a line.
///
/// One process for a whole run: a change then takes microseconds, and needs no rights of ours at
/// the time.
pub fn tc() -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut tc = Command::new("tc");
    tc.env("PATH", format!("{path}:/usr/sbin:/sbin")).args(["-force", "-batch", "-"]);
    tc.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    tc
}

/// A tap whose stack waits.
pub struct StackPort {
    tap: TapPort,
    tc: Child,
    rate: Rate,
    queue: VecDeque<Vec<u8>>,
    spare: Vec<Vec<u8>>,
    slow: bool,
}

impl StackPort {
    /// Takes a tap and a running [`tc`] of the network namespace that it is in. The stack sends at
    /// `rate` at most.
    pub fn new(tap: TapPort, tc: Child, rate: Rate) -> io::Result<StackPort> {
        let mut port =
            StackPort { tap, tc, rate, queue: VecDeque::new(), spare: Vec::new(), slow: false };
        port.set_rate("add", rate)?;
        Ok(port)
    }

    /// The burst is two full frames; the limit is never reached, for sockets reach theirs before.
    fn set_rate(&mut self, verb: &str, rate: Rate) -> io::Result<()> {
        let line = format!(
            "qdisc {verb} dev {} root tbf rate {}bit burst 4kb limit 1gb\n",
            self.tap.name(),
            rate.0.max(8000)
        );
        let Some(stdin) = &mut self.tc.stdin else { return Ok(()) };
        stdin
            .write_all(line.as_bytes())
            .map_err(|e| io::Error::new(e.kind(), format!("tc has ended: {e}")))
    }

    fn govern(&mut self) -> io::Result<()> {
        let slow = self.queue.len() >= if self.slow { FAST_FROM } else { SLOW_FROM };
        if slow != self.slow {
            self.slow = slow;
            self.set_rate("change", if slow { Rate(self.rate.0 / SLOWER) } else { self.rate })?;
        }
        Ok(())
    }
}

impl Drop for StackPort {
    fn drop(&mut self) {
        // At the end of its input it ends by itself.
        self.tc.stdin = None;
        let _ = self.tc.wait();
    }
}

impl Port for StackPort {
    fn name(&self) -> &str {
        self.tap.name()
    }

    fn receive(&mut self, max: usize, f: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        let (queue, spare) = (&mut self.queue, &mut self.spare);
        self.tap.receive(BURST.min(ROOM - queue.len()), &mut |frame| {
            let mut bytes = spare.pop().unwrap_or_default();
            bytes.clear();
            bytes.extend_from_slice(frame);
            queue.push_back(bytes);
        })?;
        let mut handed = 0;
        while handed < max
            && let Some(bytes) = queue.pop_front()
        {
            f(&bytes);
            spare.push(bytes);
            handed += 1;
        }
        self.govern()?;
        Ok(handed)
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
        self.tap.send(frame)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.tap.flush()
    }

    fn counters(&mut self) -> PortCounters {
        self.tap.counters()
    }

    fn fd(&self) -> Option<RawFd> {
        self.tap.fd()
    }
}
