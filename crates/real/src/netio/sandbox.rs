//! Networks of one's own, without being root: user and network namespaces, veth pairs, hosts.
//!
//! ```text
//!   enter() --> this process: root of its own namespaces
//!                 |
//!                 +-- veth_pairs: a0 ==== b0   a1 ==== b1      ends between switches stay here
//!                 |                             |
//!                 +-- Host "client" <--attach---+              a thread with a network namespace of its own; its commands
//!                                                              run in there and die with it
//! ```
//!
//! Nothing here has a name outside of the process, so that nothing is left when it ends, however it
//! ends.

use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::{fmt, fs};

use crate::netio::sys::{self, Check};

mod host;

pub use host::Host;

/// Capability that a machine may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Namespaces of users: being root of a small world.
    UserNamespaces,
    /// Namespaces of networks.
    NetworkNamespaces,
    /// Packet sockets (AF_PACKET).
    PacketSockets,
    /// /dev/net/tun.
    Tun,
    /// The command `ip`.
    Iproute2,
    /// Pairs of virtual Ethernet interfaces.
    Veth,
}

impl Capability {
    /// Name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Capability::UserNamespaces => "user namespaces",
            Capability::NetworkNamespaces => "network namespaces",
            Capability::PacketSockets => "AF_PACKET",
            Capability::Tun => "tun",
            Capability::Iproute2 => "iproute2",
            Capability::Veth => "veth",
        }
    }

    /// The command that would grant it.
    pub fn remedy(self) -> &'static str {
        match self {
            Capability::UserNamespaces => {
                "sysctl -w kernel.unprivileged_userns_clone=1 kernel.apparmor_restrict_unprivileged_userns=0 \
                 user.max_user_namespaces=15000 (skip any that do not exist), or run as root; in a container: --privileged"
            }
            Capability::NetworkNamespaces => {
                "sysctl -w user.max_net_namespaces=15000, or run as root; in a container: --privileged"
            }
            Capability::PacketSockets => "modprobe af_packet (CONFIG_PACKET)",
            Capability::Tun => {
                "modprobe tun (CONFIG_TUN) and chmod 0666 /dev/net/tun; in a container: --device /dev/net/tun"
            }
            Capability::Iproute2 => "apt-get install iproute2, or the equivalent of your system",
            Capability::Veth => "modprobe veth (CONFIG_VETH)",
        }
    }
}

/// A capability that is missing, with what the kernel reported and the command that would grant it.
#[derive(Debug)]
pub struct Missing {
    /// Missing capability.
    pub capability: Capability,
    /// Error of the kernel, with its number.
    pub error: io::Error,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.capability.name(), self.error)
    }
}

impl Missing {
    /// The command that would grant it.
    pub fn remedy(&self) -> &'static str {
        self.capability.remedy()
    }
}

impl std::error::Error for Missing {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// Makes this process root of a user and a network namespace of its own: from here on it sees no
/// interface of the machine.
///
/// Call it first in `main`: a process with more than one thread cannot change its user namespace.
/// For a program that has threads, or that shall stay where it is, there is [`command`]. Root can
/// do it too, and needs no user namespace if those are forbidden.
pub fn enter() -> Result<(), Missing> {
    let threads = fs::read_dir("/proc/self/task").map(Iterator::count).unwrap_or(1);
    if threads > 1 {
        let error = io::Error::new(
            io::ErrorKind::ResourceBusy,
            format!(
                "the process has {threads} threads; enter the namespace before starting \
                                                                 threads"
            ),
        );
        return Err(Missing { capability: Capability::UserNamespaces, error });
    }
    sys::isolate_here().map_err(|error| Missing { capability: which(&error), error })?;
    loopback_up().map_err(|error| Missing { capability: Capability::Iproute2, error })
}

/// A command that starts in a user and a network namespace of its own, as root there. If that is
/// impossible, spawning it fails.
pub fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    sys::isolated(&mut command, Check::Network);
    command
}

/// The command will be killed when the thread that spawns it ends, however it ends.
pub fn killed_with_parent(command: &mut Command) {
    sys::killed_with_parent(command);
}

/// The missing capability of the two; unknown from outside, so each is tried alone.
fn which(_: &io::Error) -> Capability {
    match attempt(Check::User) {
        Err(_) => Capability::UserNamespaces,
        Ok(()) => Capability::NetworkNamespaces,
    }
}

/// Tries in a child process; the child is `ip -V`, which does nothing.
fn attempt(check: Check) -> io::Result<()> {
    let mut child = ip_command();
    sys::isolated(&mut child, check);
    child
        .arg("-V")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map(drop)
}

/// Whether own networks, with veth pairs and ports on them, can be created here; otherwise the
/// first missing thing. Taps are not among them ([`check`]). Changes nothing; takes a few child
/// processes.
pub fn probe() -> Result<(), Missing> {
    use Capability::*;
    [Iproute2, UserNamespaces, NetworkNamespaces, PacketSockets, Veth]
        .into_iter()
        .try_for_each(check)
}

/// Whether this is there. Tried in a child process, in namespaces of its own.
pub fn check(capability: Capability) -> Result<(), Missing> {
    let tried = match capability {
        Capability::Iproute2 => ip_command().arg("-V").stdin(Stdio::null()).output().map(drop),
        Capability::UserNamespaces => attempt(Check::User),
        Capability::NetworkNamespaces => attempt(Check::Network),
        Capability::PacketSockets => attempt(Check::Packet),
        Capability::Tun => attempt(Check::Tun),
        Capability::Veth => {
            let mut ip = ip_command();
            sys::isolated(&mut ip, Check::Network);
            run_batch(ip, "link add name probe0 type veth peer name probe1\n")
        }
    };
    tried.map_err(|error| Missing { capability, error })
}

/// A pair of virtual Ethernet interfaces: frames sent on one end arrive at the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VethPair {
    /// Name of one end.
    pub a: String,
    /// Name of the other.
    pub b: String,
    /// MTU of both [bytes].
    pub mtu: u32,
}

/// Makes veth pairs in the calling thread's network namespace: MTU first, then everything that
/// talks without being asked off (IPv6 autoconfiguration), offloads off at both ends, and up at
/// last.
pub fn veth_pairs(pairs: &[VethPair]) -> io::Result<()> {
    for name in pairs.iter().flat_map(|p| [&p.a, &p.b]) {
        check_name(name)?;
    }
    ip(&pairs
        .iter()
        .map(|VethPair { a, b, mtu }| {
            format!("link add name {a} mtu {mtu} type veth peer name {b} mtu {mtu}\n")
        })
        .collect::<String>())?;
    for end in pairs.iter().flat_map(|p| [&p.a, &p.b]) {
        quiet(end)?;
        for offload in ["tx", "tso", "gso", "gro"] {
            crate::netio::interface::turn(end, offload, false)?;
        }
    }
    ip(&pairs
        .iter()
        .map(|VethPair { a, b, .. }| format!("link set dev {a} up\nlink set dev {b} up\n"))
        .collect::<String>())
}

/// Makes one veth pair ([`veth_pairs`]).
pub fn veth_pair(a: &str, b: &str, mtu: u32) -> io::Result<()> {
    veth_pairs(&[VethPair { a: a.to_owned(), b: b.to_owned(), mtu }])
}

/// No IPv6 address of its own accord, no questions for routers or for other holders of an address:
/// on a test network every frame is of another process. Called before the interface goes up.
fn quiet(interface: &str) -> io::Result<()> {
    for (key, value) in [
        ("addr_gen_mode", "1"),
        ("accept_ra", "0"),
        ("autoconf", "0"),
        ("router_solicitations", "0"),
        ("dad_transmits", "0"),
    ] {
        match fs::write(format!("/proc/sys/net/ipv6/conf/{interface}/{key}"), value) {
            // No IPv6 in this kernel, or none of this setting.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            other => other?,
        }
    }
    Ok(())
}

/// Words that `ip` may take for something else than a name.
const KEYWORDS: [&str; 28] = [
    "add",
    "address",
    "all",
    "alias",
    "arp",
    "broadcast",
    "change",
    "default",
    "delete",
    "dev",
    "down",
    "dynamic",
    "group",
    "help",
    "link",
    "list",
    "local",
    "lo",
    "master",
    "mtu",
    "name",
    "netns",
    "peer",
    "replace",
    "set",
    "show",
    "type",
    "up",
];

/// Refuses names of interfaces that the kernel or `ip` would not take.
pub fn check_name(name: &str) -> io::Result<()> {
    let letters = |b: u8| b.is_ascii_alphanumeric() || b"_.-".contains(&b);
    let problem = if name.is_empty() || name.len() > 15 {
        "expected 1 to 15 characters"
    } else if !name.bytes().all(letters) || name.starts_with(['-', '.']) {
        "expected a letter or digit, then letters, digits, '_', '-' and '.'"
    } else if KEYWORDS.contains(&name) || "help".starts_with(name) {
        "the command `ip` would take it for a keyword"
    } else {
        return Ok(());
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("interface name {name:?}: {problem}")))
}

/// Runs lines of the command `ip` in the calling thread's network namespace, all in one process;
/// the first that fails is the error.
pub fn ip(batch: &str) -> io::Result<()> {
    run_batch(ip_command(), batch)
}

fn run_batch(mut ip: Command, batch: &str) -> io::Result<()> {
    let mut child = ip
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        match stdin.write_all(batch.as_bytes()) {
            // It stopped at a bad line; its message counts.
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => {}
            other => other?,
        }
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    let failed = |text: &str| format!("ip: {text} (in: {})", batch.trim().replace('\n', "; "));
    Err(io::Error::other(failed(if text.is_empty() { "failed without a message" } else { &text })))
}

/// The command `ip`, which for ordinary users is often outside of the path.
fn ip_command() -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("ip");
    command.env("PATH", format!("{path}:/usr/sbin:/sbin")).env("LC_ALL", "C");
    command
}

/// Sets the loopback of the calling thread's network namespace up; [`enter`] and [`Host::new`] do
/// it themselves, [`command`] does not.
pub fn loopback_up() -> io::Result<()> {
    sys::Request::new()?.set_up("lo")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_ip_would_misread_are_refused() {
        for good in ["veth0", "s1-p2", "a.b", "h1", "p0"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "h",
            "he",
            "help",
            "up",
            "dev",
            "type",
            "sixteen-letters-",
            "a b",
            "a/b",
            "a:b",
            "-x",
            "..",
            "netns",
            "x\n",
        ] {
            assert_eq!(check_name(bad).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{bad:?}");
        }
        assert!(veth_pair("h", "p1", 1500).unwrap_err().to_string().contains("\"h\""));
    }

    #[test]
    fn a_process_with_threads_cannot_enter() {
        let error = std::thread::spawn(|| enter().unwrap_err()).join().unwrap();
        assert_eq!(error.capability, Capability::UserNamespaces);
        assert!(error.to_string().contains("threads"), "{error}");
    }
}
