//! A port whose other side is the machine's own network stack: a tap
//! (Documentation/networking/tuntap.rst).
//!
//! Creating one needs the right to administer the network; the tap disappears with the port. The
//! stack finishes its checksums and cuts its segments itself, because the tap promises it no
//! offloads, and leaves VLAN tags in line.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

use crate::wire::ethernet::Mac;

use crate::netio::error::OpenError;
use crate::netio::port::{Port, PortCounters, SHORTEST, longest};
use crate::netio::queue::SendQueue;
use crate::netio::sys::{self, Request};

/// Right that making a tap asks for.
const RIGHT: &str = "cap_net_admin";

/// A tap, made by [`TapPort::create`].
pub struct TapPort {
    name: String,
    mac: Mac,
    file: File,
    /// Counts of the interfaces of the tap's network namespace: the kernel reports its earlier
    /// drops nowhere else.
    statistics: Option<File>,
    queue: SendQueue,
    frame: Vec<u8>,
    counters: PortCounters,
}

impl TapPort {
    /// Makes a tap of this name and MTU [bytes] in the calling thread's network namespace, and sets
    /// it up.
    pub fn create(name: &str, mtu: u32) -> Result<TapPort, OpenError> {
        let failed = |action| move |source| OpenError::of(name, action, RIGHT, source);
        let mut how = OpenOptions::new();
        how.read(true).write(true).custom_flags(libc::O_NONBLOCK);
        let file = how.open("/dev/net/tun").map_err(failed("opening /dev/net/tun"))?;
        sys::create_tap(&file, name).map_err(failed("making the tap"))?;
        let request = Request::new().map_err(failed("opening a socket to set it up"))?;
        request.set_mtu(name, mtu).map_err(failed("setting its MTU"))?;
        request.set_up(name).map_err(failed("setting it up"))?;
        let (_, mac) = request.hardware(name).map_err(failed("querying its address"))?;
        Ok(TapPort {
            name: name.to_owned(),
            mac: Mac(mac),
            file,
            statistics: File::open("/proc/thread-self/net/dev").ok(),
            queue: SendQueue::new(longest(mtu)),
            // One byte more than fits: a frame that fills it was too long.
            frame: vec![0; longest(mtu) + 1],
            counters: PortCounters::default(),
        })
    }

    /// Address of the stack's side of the tap.
    pub fn mac(&self) -> Mac {
        self.mac
    }

    /// Frames that the stack sent and were not read in time.
    fn dropped(&mut self) -> Option<u64> {
        let file = self.statistics.as_mut()?;
        let mut text = String::new();
        file.seek(SeekFrom::Start(0)).ok()?;
        file.read_to_string(&mut text).ok()?;
        dropped(&text, &self.name)
    }
}

/// Dropped outgoing frames of an interface, from the text of /proc/net/dev: eight columns of
/// reception, then bytes, packets, errors and drops of transmission.
fn dropped(text: &str, name: &str) -> Option<u64> {
    let of = |line: &str| {
        line.trim_start()
            .strip_prefix(name)?
            .strip_prefix(':')?
            .split_whitespace()
            .nth(11)?
            .parse()
            .ok()
    };
    text.lines().find_map(of)
}

impl Port for TapPort {
    fn name(&self) -> &str {
        &self.name
    }

    fn receive(&mut self, max: usize, f: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        let mut received = 0;
        for _ in 0..max {
            match self.file.read(&mut self.frame) {
                Ok(length) if length == self.frame.len() => self.counters.too_long += 1,
                Ok(length) => {
                    received += 1;
                    self.counters.received += 1;
                    f(&self.frame[..length]);
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(received)
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
        if frame.len() < SHORTEST || frame.len() > self.queue.longest() {
            self.counters.send_errors += 1;
            return Ok(true);
        }
        Ok(self.queue.push(frame))
    }

    fn flush(&mut self) -> io::Result<()> {
        // A tap takes one frame a call.
        while let Some(frame) = self.queue.front() {
            match self.file.write(frame) {
                Ok(_) => {
                    self.counters.sent += 1;
                    self.counters.sent_bytes += frame.len() as u64;
                }
                Err(e) => match e.raw_os_error() {
                    Some(libc::EINTR) => continue,
                    Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM) => break,
                    Some(libc::EINVAL | libc::EMSGSIZE) => self.counters.send_errors += 1,
                    _ => return Err(e),
                },
            }
            self.queue.pop(1);
        }
        Ok(())
    }

    fn counters(&mut self) -> PortCounters {
        if let Some(dropped) = self.dropped() {
            self.counters.kernel_drops = dropped;
        }
        self.counters
    }

    fn fd(&self) -> Option<RawFd> {
        Some(self.file.as_raw_fd())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_in_the_twelfth_column() {
        let text = "Inter-|   Receive ...\n face |bytes packets errs drop ...\n  tap1: 1 2 3 4 5 6 7 8 9 10 11 99 13\n tap0:1 2 3 4 5 6 7 8 9 10 11 12 13\n";
        assert_eq!(
            (dropped(text, "tap0"), dropped(text, "tap1"), dropped(text, "tap")),
            (Some(12), Some(99), None)
        );
    }

    #[test]
    fn a_name_that_is_none_is_refused_with_the_name() {
        let text =
            TapPort::create("a-name-that-is-too-long", 1500).map(drop).unwrap_err().to_string();
        assert!(text.starts_with("interface a-name-that-is-too-long: "), "{text}");
    }
}
