//! A port on a network interface: a packet socket with a receive ring (packet(7)).
//!
//! ```text
//!   interface -> kernel -> ring in shared memory -> checks, checksum -> f(frame)
//!   send(frame) -> queue -- flush: one sendmmsg --> kernel, past its queueing disciplines -> interface
//! ```
//!
//! Frames are as on the wire. The kernel removes the first VLAN tag, and leaves checksums to
//! hardware; this file undoes both. It does not receive frames that the interface sends.

use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use crate::wire::ethernet::Mac;

use crate::netio::checksum;
use crate::netio::error::OpenError;
use crate::netio::interface::Interface;
use crate::netio::port::{Carrier, Port, PortCounters, SHORTEST, longest};
use crate::netio::queue::{BATCH, SendQueue};
use crate::netio::sys::{self, Geometry, Request, Ring};

/// Right that packet sockets ask for.
const RIGHT: &str = "cap_net_raw";
/// Number of calls that find the ring empty until one asks the socket for an error: a system call,
/// where the ring itself needs none.
const ASK_FOR_ERRORS: u32 = 1024;

/// Settings for opening a [`PacketPort`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketOptions {
    /// Size of the receive ring, at least [bytes]. A frame of any length takes a place of the
    /// longest. Default 4 MiB: 2560 frames at an MTU of 1500, 31 ms at 1 Gb/s.
    pub ring_bytes: usize,
    /// Turn off offloads that break a switch, where otherwise the port is rejected. Default false.
    pub fix_offloads: bool,
    /// Send past the interface's queueing discipline, which could drop or delay frames on its own
    /// account. Default true.
    pub qdisc_bypass: bool,
    /// Receive frames to all addresses. Default true: a switch has to.
    pub promiscuous: bool,
}

impl Default for PacketOptions {
    fn default() -> PacketOptions {
        PacketOptions {
            ring_bytes: 4 << 20,
            fix_offloads: false,
            qdisc_bypass: true,
            promiscuous: true,
        }
    }
}

/// A port on a network interface.
pub struct PacketPort {
    interface: Interface,
    /// Asks about the interface, in the network namespace in which the port was opened.
    request: Request,
    options: PacketOptions,
    // Before the socket: the mapping goes first.
    ring: Ring,
    socket: OwnedFd,
    queue: SendQueue,
    counters: PortCounters,
    empty: u32,
    /// Held while the port is open: the sign for others that the interface is taken.
    claim: UnixDatagram,
}

impl PacketPort {
    /// Opens an interface of the calling thread's network namespace. Frames that arrived before are
    /// not seen.
    pub fn open(interface: &str, options: &PacketOptions) -> Result<PacketPort, OpenError> {
        let failed = |action| move |source| OpenError::of(interface, action, RIGHT, source);
        let mut looked = Interface::look(interface)?;
        match looked.check() {
            Err(OpenError::Offloads { .. }) if options.fix_offloads => {
                looked.fix()?;
                looked.check()?;
            }
            other => other?,
        }
        let claim = claim(interface, looked.index)?;
        let socket = sys::packet_socket().map_err(failed("opening a packet socket"))?;
        sys::packet_options(&socket, options.qdisc_bypass)
            .map_err(failed("setting options of the packet socket"))?;
        let geometry = Geometry::new(options.ring_bytes, longest(looked.mtu));
        let ring = Ring::new(&socket, geometry).map_err(failed("making the receive ring"))?;
        sys::bind_packet(&socket, looked.index).map_err(failed("binding the packet socket"))?;
        if options.promiscuous {
            sys::promiscuous(&socket, looked.index).map_err(failed("setting it promiscuous"))?;
        }
        let queue = SendQueue::new(longest(looked.mtu));
        let request = Request::new().map_err(failed("opening a socket to query it"))?;
        let (options, counters) = (options.clone(), PortCounters::default());
        Ok(PacketPort {
            interface: looked,
            request,
            options,
            ring,
            socket,
            queue,
            counters,
            empty: 0,
            claim,
        })
    }

    /// Reads the kernel's facts about the interface again; an error text says why it cannot be
    /// used.
    fn look_again(&mut self) -> Result<(), String> {
        let name = &self.interface.name;
        let unknown = |e: io::Error| match e.raw_os_error() {
            Some(libc::ENODEV) => "the interface is gone".to_owned(),
            _ => format!("cannot query the interface: {e}"),
        };
        let index = self.request.index(name).map_err(unknown)?;
        let flags = self.request.flags(name).map_err(unknown)?;
        if flags & libc::IFF_UP as u32 == 0 {
            return Err("the interface was set down".into());
        }
        if flags & libc::IFF_RUNNING as u32 == 0 {
            return Err("no carrier: check the cable and the other end".into());
        }
        if index != self.interface.index {
            self.take_over().map_err(|e| e.to_string())?;
        }
        Ok(())
    }

    /// Binds the socket to the interface that has the name now. It asks for no right: those were
    /// given up when the port was open.
    fn take_over(&mut self) -> Result<(), OpenError> {
        let name = self.interface.name.clone();
        let failed = |action| move |source| OpenError::of(&name, action, RIGHT, source);
        let mut looked = Interface::look(&self.interface.name)?;
        if self.options.fix_offloads && !looked.breaking().is_empty() {
            // Without the right to do so they stay; frames that the peer then leaves incomplete are
            // counted, repaired where possible, and advised on.
            let _ = looked.fix();
        }
        if looked.merges() || !looked.breaking().is_empty() && !self.options.fix_offloads {
            looked.check()?;
        }
        if looked.mtu != self.interface.mtu {
            let source = io::Error::other(format!(
                "its MTU changed to {} from {}",
                looked.mtu, self.interface.mtu
            ));
            return Err(failed("opening it again")(source));
        }
        let claim = claim(&looked.name, looked.index)?;
        sys::bind_packet(&self.socket, looked.index)
            .map_err(failed.clone()("binding the packet socket again"))?;
        if self.options.promiscuous {
            sys::promiscuous(&self.socket, looked.index)
                .map_err(failed("setting it promiscuous again"))?;
        }
        (self.claim, self.interface) = (claim, looked);
        Ok(())
    }

    /// Address of the interface: the source of frames that the switch itself sends.
    pub fn mac(&self) -> Mac {
        Mac(self.interface.mac)
    }

    /// Frames that the socket could not give away: interface down and the like.
    fn error(&self) -> io::Result<()> {
        Ok(rustix::net::sockopt::socket_error(&self.socket)??)
    }
}

/// Marks an interface as taken, until the returned socket is closed.
///
/// An abstract address belongs to the network namespace and goes with the process, however it ends:
/// there is no stale lock, and the interface of the same number in another namespace is another
/// one.
fn claim(interface: &str, index: u32) -> Result<UnixDatagram, OpenError> {
    let bound = SocketAddr::from_abstract_name(format!("xoff-port-{index}"))
        .and_then(|address| UnixDatagram::bind_addr(&address));
    bound.map_err(|e| match e.kind() {
        io::ErrorKind::AddrInUse => OpenError::InUse { interface: interface.to_owned() },
        _ => OpenError::of(interface, "marking it as taken", RIGHT, e),
    })
}

impl Port for PacketPort {
    fn name(&self) -> &str {
        &self.interface.name
    }

    fn receive(&mut self, max: usize, f: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        let (counters, longest) = (&mut self.counters, self.queue.longest());
        let before = counters.received;
        let mut empty = true;
        // At most `max` places, also where all of them are refused: a flood may not keep the caller
        // here.
        for _ in 0..max {
            let taken = self.ring.take(|arrived| {
                // A kernel that cannot omit them (before 4.20) delivers frames that were sent here.
                if arrived.packet_type == libc::PACKET_OUTGOING {
                    return;
                }
                let length = arrived.length + if arrived.tagged() { 4 } else { 0 };
                // Every place has room for the longest frame, so that one cut off is one too long;
                // a kernel that disagrees is ignored.
                if length > longest || arrived.captured() < arrived.length {
                    counters.too_long += 1;
                    return;
                }
                let unfinished = arrived.status & libc::TP_STATUS_CSUMNOTREADY != 0;
                let frame = arrived.frame();
                if unfinished && checksum::complete(frame) {
                    counters.checksums_completed += 1;
                }
                counters.received += 1;
                f(frame);
            });
            if !taken {
                break;
            }
            empty = false;
        }
        let received = (counters.received - before) as usize;
        if empty && max > 0 {
            self.empty += 1;
            if self.empty >= ASK_FOR_ERRORS {
                self.empty = 0;
                self.error()?;
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
        while !self.queue.is_empty() {
            let mut frames = [IoSlice::new(&[]); BATCH];
            let count = self.queue.batch(&mut frames);
            match sys::send_batch(&self.socket, &mut frames[..count]) {
                Ok(sent) => {
                    self.counters.sent += sent as u64;
                    self.counters.sent_bytes +=
                        frames[..sent].iter().map(|f| f.len() as u64).sum::<u64>();
                    self.queue.pop(sent);
                }
                Err(e) => match e.raw_os_error() {
                    Some(libc::EINTR) => {}
                    // The kernel, or the interface, has no room: the frame was not sent, and stays.
                    Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM) => break,
                    // This frame will never be sent: longer than the MTU, without being tagged.
                    Some(libc::EMSGSIZE | libc::EINVAL) => {
                        self.queue.pop(1);
                        self.counters.send_errors += 1;
                    }
                    _ => return Err(e),
                },
            }
        }
        Ok(())
    }

    fn carrier(&mut self) -> Carrier {
        match self.look_again() {
            Ok(()) => Carrier::Up,
            Err(why) => Carrier::Down(why),
        }
    }

    fn clear(&mut self) -> u64 {
        self.queue.clear()
    }

    fn counters(&mut self) -> PortCounters {
        // The kernel starts again from zero each time it is asked.
        self.counters.kernel_drops += sys::packet_drops(&self.socket).unwrap_or(0);
        self.counters
    }

    fn fd(&self) -> Option<RawFd> {
        Some(self.socket.as_raw_fd())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_is_claimed_once() {
        let first = claim("veth0", 0xF000_0001).unwrap();
        assert!(claim("veth1", 0xF000_0002).is_ok());
        let text = claim("veth0", 0xF000_0001).unwrap_err().to_string();
        assert!(text.contains("interface veth0 is already open"), "{text}");
        drop(first);
        assert!(claim("veth0", 0xF000_0001).is_ok());
    }

    #[test]
    fn what_cannot_be_opened_is_reported() {
        let open = |name| PacketPort::open(name, &PacketOptions::default()).map(drop);
        assert!(matches!(open("xoff-none"), Err(OpenError::NoSuchInterface { .. })));
        assert!(matches!(open("lo"), Err(OpenError::NotEthernet { .. })));
    }
}
