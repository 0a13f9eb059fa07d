//! Waiting for frames without a busy core, and for no longer than asked.

use std::cell::Cell;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::RawFd;
use std::time::Duration;

use crate::netio::port::Port;
use crate::netio::sys;

/// Longest sleep where a port cannot be polled.
const ASK_AGAIN: Duration = Duration::from_micros(50);

/// Sleeps until a frame has arrived at one of the ports, or until the timeout. True: a frame has
/// arrived, or a port without a file descriptor ([`Port::fd`]) has to be asked.
///
/// An error on a port, such as its interface going down, is returned: the socket would report it
/// forever, and no wait would wait.
pub fn wait<'a>(
    ports: impl IntoIterator<Item = &'a dyn Port>,
    timeout: Duration,
) -> io::Result<bool> {
    no_slack();
    let mut unpolled = false;
    let mut fds: Vec<RawFd> = Vec::new();
    for port in ports {
        match port.fd() {
            Some(fd) => fds.push(fd),
            None => unpolled = true,
        }
    }
    let arrived =
        sys::poll_readable(&fds, if unpolled { timeout.min(ASK_AGAIN) } else { timeout })?;
    Ok(arrived || unpolled)
}

/// Slack 1 ns for this thread, once; 0 would mean "the default".
fn no_slack() {
    thread_local!(static DONE: Cell<bool> = const { Cell::new(false) });
    if !DONE.replace(true) {
        // Where a sandbox forbids it, naps are merely longer.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;
    use std::time::Instant;

    use super::*;
    use crate::netio::memory::pair;
    use crate::netio::port::PortCounters;

    struct Polled(UnixStream);

    impl Port for Polled {
        fn name(&self) -> &str {
            "polled"
        }
        fn receive(&mut self, _: usize, _: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
            Ok(0)
        }
        fn send(&mut self, _: &[u8]) -> io::Result<bool> {
            Ok(true)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
        fn counters(&mut self) -> PortCounters {
            PortCounters::default()
        }
        fn fd(&self) -> Option<RawFd> {
            Some(self.0.as_raw_fd())
        }
    }

    #[test]
    fn waiting_ends_with_a_frame_or_with_the_timeout() {
        let (mine, mut peer) = UnixStream::pair().unwrap();
        let port = Polled(mine);
        let start = Instant::now();
        assert!(!wait([&port as &dyn Port], Duration::from_millis(5)).unwrap());
        assert!(start.elapsed() >= Duration::from_millis(5));
        peer.write_all(b"x").unwrap();
        let start = Instant::now();
        assert!(wait([&port as &dyn Port], Duration::from_secs(60)).unwrap());
        assert!(start.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn ports_in_memory_are_asked_again_soon() {
        let (a, _b) = pair("a", "b");
        let start = Instant::now();
        assert!(wait([&a as &dyn Port], Duration::from_secs(60)).unwrap());
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}
