//! Reason why a port could not be opened, and the command that would help.

use std::{fmt, io};

/// Reason why a port could not be opened. Each text names the interface and, where there is one,
/// the command that fixes it.
#[derive(Debug)]
pub enum OpenError {
    /// No interface, or none that could ever be, has this name.
    NoSuchInterface {
        /// Name asked for.
        interface: String,
    },
    /// The interface carries no Ethernet frames (`lo`, for one).
    NotEthernet {
        /// Name of the interface.
        interface: String,
        /// Hardware type, ARPHRD_*.
        hardware: u16,
    },
    /// The interface is administratively down.
    Down {
        /// Name of the interface.
        interface: String,
    },
    /// Offloads are on that merge frames or leave them unfinished.
    Offloads {
        /// Name of the interface.
        interface: String,
        /// The offloads, as `ethtool -K` names them.
        on: Vec<&'static str>,
        /// Reason why they could not be turned off, if that was tried.
        source: Option<io::Error>,
    },
    /// Another program of this project has the interface open.
    InUse {
        /// Name of the interface.
        interface: String,
    },
    /// The right to open packet sockets, or to create taps, is missing.
    NotPermitted {
        /// Name of the interface.
        interface: String,
        /// Capability that is missing, in the spelling of `setcap`.
        capability: &'static str,
        /// Error of the kernel.
        source: io::Error,
    },
    /// Some other call failed.
    System {
        /// Name of the interface.
        interface: String,
        /// Attempted action.
        action: &'static str,
        /// Error of the kernel.
        source: io::Error,
    },
}

impl OpenError {
    /// The error of a call: a missing right under its name, anything else as it is.
    pub(crate) fn of(
        interface: &str,
        action: &'static str,
        capability: &'static str,
        source: io::Error,
    ) -> OpenError {
        let interface = interface.to_owned();
        match source.kind() {
            io::ErrorKind::PermissionDenied => {
                OpenError::NotPermitted { interface, capability, source }
            }
            _ => OpenError::System { interface, action, source },
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::NoSuchInterface { interface } => {
                write!(
                    f,
                    "interface {interface}: not found in this network namespace; list interfaces with `ip link`"
                )
            }
            OpenError::NotEthernet { interface, hardware } => {
                write!(
                    f,
                    "interface {interface}: not Ethernet (hardware type {hardware}); a switch needs Ethernet frames"
                )
            }
            OpenError::Down { interface } => {
                write!(f, "interface {interface} is down: ip link set {interface} up")
            }
            OpenError::Offloads { interface, on, source } => {
                write!(
                    f,
                    "interface {interface} has offloads that break a switch ({}); turn them off: ethtool -K {interface}",
                    on.join(", ")
                )?;
                on.iter().try_for_each(|name| write!(f, " {name} off"))?;
                // Both ends of a veth pair are born alike, and it is the other end whose frames
                // come here unfinished.
                if on.contains(&"tx") || on.contains(&"tso") || on.contains(&"gso") {
                    write!(f, ", and at its peer if that is a host")?;
                }
                match source {
                    Some(e) => write!(f, " (turning them off failed: {e})"),
                    None => Ok(()),
                }
            }
            OpenError::InUse { interface } => {
                write!(
                    f,
                    "interface {interface} is already open in another xoff: both would accept every frame. Use another interface, \
                           or stop the other xoff"
                )
            }
            OpenError::NotPermitted { interface, capability, source } => write!(
                f,
                "interface {interface}: {source}. xoff needs {capability}: use setcap {capability}+ep on the program, run it as root, or \
                 run it in its own namespace with unshare -Urn"
            ),
            OpenError::System { interface, action, source } => {
                write!(f, "interface {interface}: {action}: {source}")
            }
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            OpenError::Offloads { source: Some(source), .. } => Some(source),
            OpenError::NotPermitted { source, .. } | OpenError::System { source, .. } => {
                Some(source)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_name_interface_and_command() {
        let interface = || "veth0".to_owned();
        let down = OpenError::Down { interface: interface() }.to_string();
        assert!(down.contains("ip link set veth0 up"), "{down}");
        let off = OpenError::Offloads {
            interface: interface(),
            on: vec!["tx", "tso", "gso", "gro"],
            source: None,
        }
        .to_string();
        assert!(off.contains("ethtool -K veth0 tx off tso off gso off gro off"), "{off}");
        let denied = OpenError::of(
            "veth0",
            "socket",
            "cap_net_raw",
            io::Error::from_raw_os_error(libc::EPERM),
        )
        .to_string();
        assert!(
            denied.contains("setcap cap_net_raw+ep") && denied.contains("unshare -Urn"),
            "{denied}"
        );
        let other = OpenError::of(
            "veth0",
            "bind",
            "cap_net_raw",
            io::Error::from_raw_os_error(libc::EINVAL),
        )
        .to_string();
        assert!(other.starts_with("interface veth0: bind: "), "{other}");
        assert!(OpenError::InUse { interface: interface() }.to_string().contains("interface"));
    }
}
