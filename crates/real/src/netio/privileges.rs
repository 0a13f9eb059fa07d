//! Rights are for opening ports; the rest of a run needs none.

use std::io;

use rustix::thread::{self, CapabilitySet, CapabilitySets};

/// Gives up all capabilities, and the way to new ones (`no_new_privs`), for the calling thread and
/// those it starts from now on.
///
/// Call it after the ports are open and before threads are started: each thread has rights of its
/// own. Sockets that are open stay usable. The process remains user 0, without its capabilities.
pub fn drop_all() -> io::Result<()> {
    thread::set_no_new_privs(true)?;
    match thread::clear_ambient_capability_set() {
        // Before Linux 4.3 there was no such set.
        Err(rustix::io::Errno::INVAL) => {}
        other => other?,
    }
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    thread::set_capabilities(None, none)?;
    if has_any()? {
        return Err(io::Error::other("xoff could not give up its capabilities"));
    }
    Ok(())
}

/// Whether the calling thread has any capability.
pub fn has_any() -> io::Result<bool> {
    let sets = thread::capabilities(None)?;
    Ok(!(sets.effective | sets.permitted | sets.inheritable).is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a thread of its own: the test runner's others keep theirs.
    #[test]
    fn nothing_is_left_and_nothing_comes_back() {
        let before = has_any().unwrap();
        let child = std::thread::spawn(|| {
            drop_all().unwrap();
            // Twice is no error.
            drop_all().unwrap();
            assert!(!has_any().unwrap());
            assert!(thread::no_new_privs().unwrap());
            let raw = rustix::net::socket(
                rustix::net::AddressFamily::PACKET,
                rustix::net::SocketType::RAW,
                None,
            );
            assert_eq!(raw.unwrap_err(), rustix::io::Errno::PERM);
            std::thread::spawn(|| assert!(!has_any().unwrap())).join().unwrap();
        });
        child.join().unwrap();
        assert_eq!(has_any().unwrap(), before);
    }
}
