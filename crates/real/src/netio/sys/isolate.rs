//! Namespaces: own networks apart from those of the machine, in this process or in a child process.

use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Signal, getgid, getuid};
use rustix::thread::UnshareFlags;

/// Test actions of a child process before it becomes another program, to learn the permissions on
/// this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    /// A user namespace of its own, its user mapped to root there.
    User,
    /// Also a network namespace.
    Network,
    /// Also a packet socket.
    Packet,
    /// Also /dev/net/tun.
    Tun,
}

/// Texts for /proc, made where memory may still be allocated.
struct Maps {
    users: CString,
    groups: CString,
}

impl Maps {
    fn new() -> Maps {
        // Inside: root. Outside: whoever we are; one line of one is all that a user may write.
        let line = |id: u32| CString::new(format!("0 {id} 1")).unwrap_or_default();
        Maps { users: line(getuid().as_raw()), groups: line(getgid().as_raw()) }
    }

    /// Only plain system calls: runs between fork and exec.
    fn write(&self) -> Result<(), Errno> {
        // Without this a user may not map a group (user_namespaces(7)).
        write(c"/proc/self/setgroups", c"deny")?;
        write(c"/proc/self/uid_map", &self.users)?;
        write(c"/proc/self/gid_map", &self.groups)
    }
}

fn write(path: &CStr, text: &CStr) -> Result<(), Errno> {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, text.to_bytes()).map(drop)
}

/// Leaves for namespaces. Only plain system calls: runs between fork and exec.
fn leave(maps: &Maps, check: Check) -> Result<(), Errno> {
    // SAFETY: the flags given here are about users and networks; file descriptors stay shared as
    // they were.
    let unshare = |flags| unsafe { rustix::thread::unshare_unsafe(flags) };
    match unshare(UnshareFlags::NEWUSER) {
        Ok(()) => maps.write()?,
        // Root needs no namespace of users to have one of networks, if the former is forbidden on
        // this machine.
        Err(_) if rustix::process::geteuid().is_root() => {}
        Err(e) => return Err(e),
    }
    if check != Check::User {
        unshare(UnshareFlags::NEWNET)?;
    }
    match check {
        Check::User | Check::Network => Ok(()),
        Check::Packet => {
            use rustix::net::{AddressFamily, SocketType, socket};
            socket(AddressFamily::PACKET, SocketType::RAW, None).map(drop)
        }
        Check::Tun => {
            rustix::fs::open(c"/dev/net/tun", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
                .map(drop)
        }
    }
}

/// Makes this process root of a user and a network namespace of its own. It has to have one thread
/// only (EINVAL).
pub(crate) fn isolate_here() -> io::Result<()> {
    Ok(leave(&Maps::new(), Check::Network)?)
}

/// Gives the calling thread a network namespace of its own.
pub(crate) fn own_network_here() -> io::Result<()> {
    // SAFETY: NEWNET leaves memory and file descriptors alone.
    Ok(unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }?)
}

/// The command will leave for namespaces of its own before it starts; if it cannot, spawning it
/// fails with the reason.
pub(crate) fn isolated(command: &mut Command, check: Check) {
    let maps = Maps::new();
    // SAFETY: between fork and exec only calls that are safe after a fork are allowed; `leave`
    // makes plain system calls, and allocates and locks nothing.
    unsafe { command.pre_exec(move || Ok(leave(&maps, check)?)) };
}

/// The command will be killed when the thread that spawns it ends, however it ends.
pub(crate) fn killed_with_parent(command: &mut Command) {
    let parent = rustix::process::getpid();
    let die = move || {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // Between fork and the call above the parent may have gone; its signal will not come any
        // more.
        if rustix::process::getppid() != Some(parent) {
            return Err(Errno::SRCH.into());
        }
        Ok(())
    };
    // SAFETY: as above: two plain system calls.
    unsafe { command.pre_exec(die) };
}
