//! Common operations and counters of every port.

use std::io;
use std::os::fd::RawFd;

/// One Ethernet port: frames without FCS, VLAN tags in line.
pub trait Port: Send {
    /// Name: that of the interface, where there is one.
    fn name(&self) -> &str;

    /// Hands at most `max` frames that have arrived to `f`, never blocks. Returns how many.
    ///
    /// The bytes are valid during the call of `f` only: they may be in memory shared with the
    /// kernel.
    fn receive(&mut self, max: usize, f: &mut dyn FnMut(&[u8])) -> io::Result<usize>;

    /// Takes a frame to be sent (copies it). False: no room now, try again after `flush`.
    ///
    /// A frame that the port can never send, shorter than a header or longer than the MTU allows,
    /// is taken and counted in [`PortCounters::send_errors`].
    fn send(&mut self, frame: &[u8]) -> io::Result<bool>;

    /// Gives everything taken to the kernel, in one call where possible. Frames that the kernel had
    /// no room for stay queued.
    fn flush(&mut self) -> io::Result<()>;

    /// Counts since the port was opened.
    fn counters(&mut self) -> PortCounters;

    /// Whether its link is there. Polled now and then, and after an error. A port that can come
    /// back on its own, such as one on an interface that was made again, does so when it is asked.
    fn carrier(&mut self) -> Carrier {
        Carrier::Unknown
    }

    /// Drops accepted frames that were not sent: the link is gone. Returns their number.
    fn clear(&mut self) -> u64 {
        0
    }

    /// File descriptor to poll for arrived frames; `None`: the port has to be polled directly
    /// ([`crate::netio::wait()`]).
    fn fd(&self) -> Option<RawFd> {
        None
    }
}

/// State of the link of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// Nothing: an error is an error.
    Unknown,
    /// Frames can be sent and received.
    Up,
    /// The link is down, with the reason.
    Down(String),
}

/// Counts of a port since it was opened [frames].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Handed over by `receive`.
    pub received: u64,
    /// Taken by the kernel.
    pub sent: u64,
    /// Bytes of those [bytes].
    pub sent_bytes: u64,
    /// Lost in the kernel's receive ring, because it was not emptied in time. Not zero: "lossless"
    /// cannot be claimed.
    pub kernel_drops: u64,
    /// Frames that could not be sent and were given up.
    pub send_errors: u64,
    /// Frames whose checksum the sender left to hardware, repaired here.
    pub checksums_completed: u64,
    /// Longer than the MTU and refused: an offload at the peer.
    pub too_long: u64,
}

impl PortCounters {
    /// Advice about the peer's offloads from the counts, with the commands that fix them; `None`:
    /// no problem.
    pub fn advice(&self, interface: &str) -> Option<String> {
        let mut text = Vec::new();
        if self.too_long > 0 {
            text.push(format!(
                "{} frames longer than the MTU arrived at {interface}, and xoff rejected them: the peer uses hardware segmentation, or \
                 the MTUs differ. At the peer: ethtool -K <peer> tso off gso off",
                self.too_long
            ));
        }
        if self.checksums_completed > 0 {
            text.push(format!(
                "{} frames arrived at {interface} with unfinished checksums, and xoff completed them. At the peer: ethtool -K <peer> tx \
                 off",
                self.checksums_completed
            ));
        }
        if self.kernel_drops > 0 {
            text.push(format!(
                "the kernel's receive ring of {interface} lost {} frames: use a larger ring or a faster reader",
                self.kernel_drops
            ));
        }
        (!text.is_empty()).then(|| text.join("\n"))
    }
}

/// Longest frame of a port with this MTU: header and one VLAN tag on top [bytes].
pub(crate) const fn longest(mtu: u32) -> usize {
    mtu as usize + 18
}

/// Shortest frame that the kernel sends: a header [bytes].
pub(crate) const SHORTEST: usize = crate::wire::ethernet::HEADER;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_names_the_command() {
        assert_eq!(
            PortCounters { received: 9, sent: 9, ..Default::default() }.advice("veth0"),
            None
        );
        let text = PortCounters { too_long: 3, checksums_completed: 4, ..Default::default() }
            .advice("veth0")
            .unwrap();
        assert!(
            text.contains("3 frames longer than the MTU arrived at veth0")
                && text.contains("tso off gso off"),
            "{text}"
        );
        assert!(text.contains("4 frames") && text.contains("tx off"), "{text}");
    }
}
