//! System calls that no safe interface offers. All `unsafe` code of the crate is here, each block
//! with its reason.

mod ioctl;
mod isolate;
mod ring;

pub(crate) use ioctl::{Ethtool, Request, create_tap};
pub(crate) use isolate::{Check, isolate_here, isolated, killed_with_parent, own_network_here};
pub(crate) use ring::{Geometry, Ring};

use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

use crate::netio::queue::BATCH;

/// The result of a call that returns -1 on failure.
fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Sets a socket option.
fn set_option<T: Copy>(socket: &OwnedFd, name: libc::c_int, value: T) -> io::Result<()> {
    let (at, len) = (std::ptr::from_ref(&value).cast(), size_of::<T>() as libc::socklen_t);
    // SAFETY: `at` points to `len` readable bytes of `value`, which outlives the call.
    checked(unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_PACKET, name, at, len) })
        .map(drop)
}

/// A packet socket that receives nothing yet: protocol 0, not bound. Closed on exec, never blocks.
pub(crate) fn packet_socket() -> io::Result<OwnedFd> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
    Ok(socket_with(
        AddressFamily::PACKET,
        SocketType::RAW,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    )?)
}

/// Options of a packet socket that are no secret of the ring's.
pub(crate) fn packet_options(socket: &OwnedFd, qdisc_bypass: bool) -> io::Result<()> {
    match set_option(socket, libc::PACKET_IGNORE_OUTGOING, 1i32) {
        // Before Linux 4.20; the ring's reader recognises outgoing frames by their packet type.
        Err(e) if e.raw_os_error() == Some(libc::ENOPROTOOPT) => {}
        other => other?,
    }
    set_option(socket, libc::PACKET_QDISC_BYPASS, i32::from(qdisc_bypass))
}

/// All frames, also those to other addresses, until the socket is closed.
pub(crate) fn promiscuous(socket: &OwnedFd, index: u32) -> io::Result<()> {
    let membership = libc::packet_mreq {
        mr_ifindex: index as libc::c_int,
        mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set_option(socket, libc::PACKET_ADD_MEMBERSHIP, membership)
}

/// Binds a packet socket to an interface, all protocols: frames arrive from here on.
pub(crate) fn bind_packet(socket: &OwnedFd, index: u32) -> io::Result<()> {
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as libc::c_ushort,
        sll_protocol: (libc::ETH_P_ALL as u16).to_be(),
        sll_ifindex: index as libc::c_int,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    let (at, len) =
        (std::ptr::from_ref(&address).cast(), size_of::<libc::sockaddr_ll>() as libc::socklen_t);
    // SAFETY: `at` points to `len` readable bytes of `address`, which outlives the call.
    checked(unsafe { libc::bind(socket.as_raw_fd(), at, len) }).map(drop)
}

/// Frames that the kernel dropped since this was last asked (PACKET_STATISTICS, which starts again
/// from zero).
pub(crate) fn packet_drops(socket: &OwnedFd) -> io::Result<u64> {
    let mut stats = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
    let mut len = size_of::<libc::tpacket_stats>() as libc::socklen_t;
    let at = std::ptr::from_mut(&mut stats).cast();
    // SAFETY: `at` points to `len` writable bytes of `stats`; any bits are a valid value of its two
    // integers.
    checked(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            at,
            &mut len,
        )
    })?;
    Ok(u64::from(stats.tp_drops))
}

/// Sends frames, one message each, in one call. Returns how many were sent; the error is that of
/// the first frame.
pub(crate) fn send_batch(socket: &OwnedFd, frames: &mut [IoSlice<'_>]) -> io::Result<usize> {
    // SAFETY: all zeros is a valid `mmsghdr`: null pointers with length 0, and integers.
    let mut messages: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
    let count = frames.len().min(BATCH);
    for (message, frame) in messages.iter_mut().zip(frames.iter_mut()) {
        // `IoSlice` is guaranteed to be laid out as `iovec` on Unix.
        message.msg_hdr.msg_iov = std::ptr::from_mut(frame).cast();
        message.msg_hdr.msg_iovlen = 1;
    }
    // SAFETY: the first `count` messages each point to one iovec in `frames`, whose bytes are
    // borrowed for longer than the call; the kernel writes to `messages` only (`msg_len`).
    let sent = checked(unsafe {
        libc::sendmmsg(
            socket.as_raw_fd(),
            messages.as_mut_ptr(),
            count as libc::c_uint,
            libc::MSG_DONTWAIT,
        )
    })?;
    Ok(sent as usize)
}

/// Waits until one of the descriptors is readable (true) or the time is over (false). An error on
/// one of them is returned.
pub(crate) fn poll_readable(fds: &[RawFd], timeout: Duration) -> io::Result<bool> {
    let mut fds: Vec<_> =
        fds.iter().map(|&fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect();
    // A wait of centuries is one of decades.
    let seconds = timeout.as_secs().min(1 << 30) as libc::time_t;
    let timeout = libc::timespec { tv_sec: seconds, tv_nsec: timeout.subsec_nanos() as _ };
    // SAFETY: the pointer and length are those of a vector that nothing else touches, `timeout`
    // outlives the call, and a null signal mask leaves the mask as it is. A descriptor closed
    // meanwhile is reported as invalid, not used.
    match checked(unsafe {
        libc::ppoll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, &timeout, std::ptr::null())
    }) {
        // Interrupted: whoever waits asks its ports, and perhaps a flag that the signal set.
        Err(e) if e.kind() == io::ErrorKind::Interrupted => return Ok(false),
        other => other?,
    };
    // An error comes before what is readable next to it, or it would never be seen; a hang-up with
    // something to read is to be read.
    let in_trouble = |fd: &&libc::pollfd| {
        fd.revents & (libc::POLLERR | libc::POLLNVAL) != 0
            || fd.revents & (libc::POLLHUP | libc::POLLIN) == libc::POLLHUP
    };
    if let Some(fd) = fds.iter().find(in_trouble) {
        return Err(pending_error(fd.fd, fd.revents));
    }
    Ok(fds.iter().any(|fd| fd.revents & libc::POLLIN != 0))
}

/// The error that a descriptor in trouble holds.
fn pending_error(fd: RawFd, revents: libc::c_short) -> io::Error {
    if revents & libc::POLLNVAL != 0 {
        return io::Error::from_raw_os_error(libc::EBADF);
    }
    // SAFETY: poll has just found the descriptor open, and it is borrowed for one call. Were it
    // closed meanwhile, the call would fail.
    let fd = unsafe { BorrowedFd::borrow_raw(fd) };
    match rustix::net::sockopt::socket_error(fd) {
        Ok(Err(e)) => e.into(),
        _ => io::Error::new(io::ErrorKind::BrokenPipe, "the port was closed or taken away"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_hang_up_is_an_error_and_not_a_frame() {
        let (a, b) = UnixStream::pair().unwrap();
        assert!(!poll_readable(&[a.as_raw_fd()], Duration::ZERO).unwrap());
        // Whoever sees the end of a stream may read it: end of file is readable.
        drop(b);
        assert!(poll_readable(&[a.as_raw_fd()], Duration::ZERO).unwrap());
        assert_eq!(
            poll_readable(&[1 << 20], Duration::ZERO).unwrap_err().raw_os_error(),
            Some(libc::EBADF)
        );
    }
}
