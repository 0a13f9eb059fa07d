//! An interface before it is opened: is it there, up, Ethernet, and do its offloads leave frames
//! alone?
//!
//! Offloads are settings by which a host leaves work to its network card; between veth ends there
//! is no card, and a switch in user space sees the unfinished work. The kernel's features are asked
//! and set one by one (ioctl SIOCETHTOOL), as `ethtool -k` and `-K` do.
//!
//! | offload | effect for a switch |
//! |---|---|
//! | `gro`, `lro` | several frames merged into one, longer than the MTU, in another form than they were sent |
//! | `tx`, `tso`, `gso` | of a veth pair: made with defaults, so on at the peer too: unfinished checksums, frames of 64 KiB |
//! | `rxvlan`, `txvlan` | nothing: tags come next to the frame and are put back |
//!
//! The peer of a veth end is not examined: it may be in another namespace, and an interface that
//! was not given is not touched. What it does shows in [`crate::netio::PortCounters`].

use std::io;

use crate::netio::error::OpenError;
use crate::netio::sys::{Ethtool, Request};

/// Offloads, as `ethtool -K` names them, and the request for each: (name, description).
const OFFLOADS: [(&str, Ethtool); 7] = [
    ("tx", Ethtool { get: 0x16, set: 0x17, bits: !0 }),
    ("tso", Ethtool { get: 0x1e, set: 0x1f, bits: !0 }),
    ("gso", Ethtool { get: 0x23, set: 0x24, bits: !0 }),
    ("gro", Ethtool { get: 0x2b, set: 0x2c, bits: !0 }),
    // Flags: ETH_FLAG_LRO, ETH_FLAG_RXVLAN, ETH_FLAG_TXVLAN.
    ("lro", Ethtool { get: 0x25, set: 0x26, bits: 1 << 15 }),
    ("rxvlan", Ethtool { get: 0x25, set: 0x26, bits: 1 << 8 }),
    ("txvlan", Ethtool { get: 0x25, set: 0x26, bits: 1 << 7 }),
];

/// Merge received frames: wrong on any interface.
const MERGING: [&str; 2] = ["gro", "lro"];
/// Leave sent frames unfinished: wrong where the wire is memory.
const UNFINISHED: [&str; 3] = ["tx", "tso", "gso"];

/// Facts that the kernel reports of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Name.
    pub name: String,
    /// Number in this network namespace.
    pub index: u32,
    /// Longest payload of an untagged frame [bytes].
    pub mtu: u32,
    /// MAC address.
    pub mac: [u8; 6],
    /// Hardware type, ARPHRD_*; 1: Ethernet.
    pub hardware: u16,
    /// Administratively up.
    pub up: bool,
    /// Whether there is a carrier: a cable, or a peer that is up.
    pub carrier: bool,
    /// Driver; "veth" for a veth interface, empty if the kernel does not report it.
    pub driver: String,
    /// Offloads that are on, as `ethtool -K` names them.
    pub offloads: Vec<&'static str>,
}

impl Interface {
    /// Asks the kernel about an interface of the calling thread's network namespace.
    pub fn look(name: &str) -> Result<Interface, OpenError> {
        let system =
            |action| move |source| OpenError::System { interface: name.to_owned(), action, source };
        let request = Request::new().map_err(system("opening a socket to query it"))?;
        let index = request.index(name).map_err(|e| match e.raw_os_error() {
            Some(libc::ENODEV) => OpenError::NoSuchInterface { interface: name.to_owned() },
            _ => system("querying its index")(e),
        })?;
        let (hardware, mac) = request.hardware(name).map_err(system("querying its address"))?;
        let flags = request.flags(name).map_err(system("querying its flags"))?;
        let mut offloads = Vec::new();
        for (offload, how) in OFFLOADS {
            if request.is_on(name, how).map_err(system("querying its offloads"))? {
                offloads.push(offload);
            }
        }
        Ok(Interface {
            name: name.to_owned(),
            index,
            mtu: request.mtu(name).map_err(system("querying its MTU"))?,
            mac,
            hardware,
            up: flags & libc::IFF_UP as u32 != 0,
            carrier: flags & libc::IFF_RUNNING as u32 != 0,
            driver: request.driver(name).unwrap_or_default(),
            offloads,
        })
    }

    /// Offloads that are on and break a switch.
    pub fn breaking(&self) -> Vec<&'static str> {
        let breaks = |name: &&str| {
            MERGING.contains(name) || (self.driver == "veth" && UNFINISHED.contains(name))
        };
        self.offloads.iter().copied().filter(breaks).collect()
    }

    /// Whether it merges frames that arrive.
    pub fn merges(&self) -> bool {
        self.offloads.iter().any(|o| MERGING.contains(o))
    }

    /// Refuses an interface that a switch cannot use as it is.
    pub fn check(&self) -> Result<(), OpenError> {
        let interface = || self.name.clone();
        if self.hardware != libc::ARPHRD_ETHER {
            return Err(OpenError::NotEthernet { interface: interface(), hardware: self.hardware });
        }
        if !self.up {
            return Err(OpenError::Down { interface: interface() });
        }
        match self.breaking() {
            on if on.is_empty() => Ok(()),
            on => Err(OpenError::Offloads { interface: interface(), on, source: None }),
        }
    }

    /// Turns off the offloads that break a switch, and looks again. Needs the right to administer
    /// the network.
    pub fn fix(&mut self) -> Result<(), OpenError> {
        let on = self.breaking();
        if let Err(source) = on.iter().try_for_each(|offload| turn(&self.name, offload, false)) {
            return Err(OpenError::Offloads {
                interface: self.name.clone(),
                on,
                source: Some(source),
            });
        }
        *self = Interface::look(&self.name)?;
        Ok(())
    }
}

/// Turns an offload of an interface on or off, by its name for `ethtool -K`.
pub fn turn(interface: &str, offload: &str, on: bool) -> io::Result<()> {
    let how = OFFLOADS.iter().find(|(name, _)| *name == offload);
    let (_, how) = how.ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, format!("unknown offload {offload}"))
    })?;
    Request::new()?.turn(interface, *how, on)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(driver: &str, offloads: &[&'static str]) -> Interface {
        let (name, driver, offloads) = ("veth0".to_owned(), driver.to_owned(), offloads.to_vec());
        Interface {
            name,
            index: 7,
            mtu: 1500,
            mac: [2; 6],
            hardware: 1,
            up: true,
            carrier: true,
            driver,
            offloads,
        }
    }

    #[test]
    fn what_merges_is_refused_and_what_is_harmless_is_not() {
        let all: Vec<_> = OFFLOADS.iter().map(|(name, _)| *name).collect();
        assert_eq!(interface("ixgbe", &all).breaking(), ["gro", "lro"]);
        assert_eq!(interface("veth", &all).breaking(), ["tx", "tso", "gso", "gro", "lro"]);
        assert!(interface("veth", &["rxvlan", "txvlan"]).check().is_ok());
        let text = interface("ixgbe", &["gro"]).check().unwrap_err().to_string();
        assert!(text.contains("ethtool -K veth0 gro off"), "{text}");
        let down = Interface { up: false, ..interface("veth", &["gro"]) };
        assert!(matches!(down.check(), Err(OpenError::Down { .. })));
    }

    #[test]
    fn the_loopback_is_refused_and_so_is_what_does_not_exist() {
        let lo = Interface::look("lo").unwrap();
        assert!(matches!(
            lo.check(),
            Err(OpenError::NotEthernet { hardware: libc::ARPHRD_LOOPBACK, .. })
        ));
        let text = Interface::look("xoff-none").unwrap_err().to_string();
        assert!(text.contains("interface xoff-none") && text.contains("ip link"), "{text}");
        assert_eq!(turn("lo", "warp", true).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
