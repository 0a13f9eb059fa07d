//! Questions to the kernel about an interface, and changes to it, by `ioctl` (netdevice(7),
//! linux/ethtool.h).

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::checked;

/// linux/sockios.h
const SIOCETHTOOL: libc::c_ulong = 0x8946;
/// linux/ethtool.h
const ETHTOOL_GDRVINFO: u32 = 0x03;

/// A number behind SIOCETHTOOL: which one to ask, which one to set (linux/ethtool.h, the calls of
/// `struct ethtool_value`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ethtool {
    pub(crate) get: u32,
    pub(crate) set: u32,
    /// Bits of the value that are meant.
    pub(crate) bits: u32,
}

/// `struct ethtool_value`.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    value: u32,
}

/// `struct ethtool_drvinfo`.
#[repr(C)]
struct DriverInfo {
    command: u32,
    driver: [u8; 32],
    rest: [u8; 160],
}

/// A socket to ask about the interfaces of the network namespace it was made in.
pub(crate) struct Request(OwnedFd);

impl Request {
    pub(crate) fn new() -> io::Result<Request> {
        use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
        // Any family answers; this one exists in every kernel and asks for no right.
        Ok(Request(socket_with(
            AddressFamily::UNIX,
            SocketType::DGRAM,
            SocketFlags::CLOEXEC,
            None,
        )?))
    }

    /// Index of an interface.
    pub(crate) fn index(&self, name: &str) -> io::Result<u32> {
        let mut request = named(name)?;
        self.call(libc::SIOCGIFINDEX, &mut request)?;
        // SAFETY: the call has filled this field.
        Ok(unsafe { request.ifr_ifru.ifru_ifindex } as u32)
    }

    /// Flags, IFF_*.
    pub(crate) fn flags(&self, name: &str) -> io::Result<u32> {
        let mut request = named(name)?;
        self.call(libc::SIOCGIFFLAGS, &mut request)?;
        // SAFETY: the call has filled this field.
        Ok(u32::from(unsafe { request.ifr_ifru.ifru_flags } as u16))
    }

    /// MTU [bytes].
    pub(crate) fn mtu(&self, name: &str) -> io::Result<u32> {
        let mut request = named(name)?;
        self.call(libc::SIOCGIFMTU, &mut request)?;
        // SAFETY: the call has filled this field.
        Ok(unsafe { request.ifr_ifru.ifru_mtu } as u32)
    }

    /// Hardware type, ARPHRD_*, and hardware address.
    pub(crate) fn hardware(&self, name: &str) -> io::Result<(u16, [u8; 6])> {
        let mut request = named(name)?;
        self.call(libc::SIOCGIFHWADDR, &mut request)?;
        // SAFETY: the call has filled this field.
        let address = unsafe { request.ifr_ifru.ifru_hwaddr };
        let mut mac = [0; 6];
        for (to, from) in mac.iter_mut().zip(address.sa_data) {
            *to = from as u8;
        }
        Ok((address.sa_family, mac))
    }

    /// Sets the MTU [bytes].
    pub(crate) fn set_mtu(&self, name: &str, mtu: u32) -> io::Result<()> {
        let mut request = named(name)?;
        request.ifr_ifru.ifru_mtu = mtu as libc::c_int;
        self.call(libc::SIOCSIFMTU, &mut request)
    }

    /// Sets the interface up.
    pub(crate) fn set_up(&self, name: &str) -> io::Result<()> {
        let flags = self.flags(name)? | libc::IFF_UP as u32;
        let mut request = named(name)?;
        request.ifr_ifru.ifru_flags = flags as libc::c_short;
        self.call(libc::SIOCSIFFLAGS, &mut request)
    }

    /// Whether this offload is on. An interface that does not know the offload has it off.
    pub(crate) fn is_on(&self, name: &str, what: Ethtool) -> io::Result<bool> {
        Ok(self.ethtool_value(name, what.get)? & what.bits != 0)
    }

    /// Turns an offload on or off.
    pub(crate) fn turn(&self, name: &str, what: Ethtool, on: bool) -> io::Result<()> {
        let old = self.ethtool_value(name, what.get)?;
        let mut value = EthtoolValue {
            command: what.set,
            value: if on { old | what.bits } else { old & !what.bits },
        };
        self.ethtool(name, &mut value)
    }

    fn ethtool_value(&self, name: &str, command: u32) -> io::Result<u32> {
        let mut value = EthtoolValue { command, value: 0 };
        match self.ethtool(name, &mut value) {
            Err(e) if e.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(0),
            other => other.map(|()| value.value),
        }
    }

    /// Name of the driver.
    pub(crate) fn driver(&self, name: &str) -> io::Result<String> {
        let mut info = DriverInfo { command: ETHTOOL_GDRVINFO, driver: [0; 32], rest: [0; 160] };
        self.ethtool(name, &mut info)?;
        let end = info.driver.iter().position(|&b| b == 0).unwrap_or(info.driver.len());
        // `rest` is the kernel's to fill and never read.
        let _ = info.rest;
        Ok(String::from_utf8_lossy(&info.driver[..end]).into_owned())
    }

    /// `T` is a struct of linux/ethtool.h that begins with its command.
    fn ethtool<T>(&self, name: &str, data: &mut T) -> io::Result<()> {
        let mut request = named(name)?;
        request.ifr_ifru.ifru_data = std::ptr::from_mut(data).cast();
        self.call(SIOCETHTOOL, &mut request)
    }

    fn call(&self, what: libc::c_ulong, request: &mut libc::ifreq) -> io::Result<()> {
        let fd = self.0.as_raw_fd();
        // SAFETY: all calls made here take an `ifreq`, which outlives the call. Where its union is
        // a pointer (SIOCETHTOOL only, set in `ethtool`), it points to a live struct of the layout
        // and size that the command in its first field has.
        checked(unsafe { libc::ioctl(fd, what as libc::Ioctl, std::ptr::from_mut(request)) })
            .map(drop)
    }
}

/// A tap: a file of whole frames, with no header before them, that the network stack sees as an
/// interface. Goes with the file.
pub(crate) fn create_tap(file: &File, name: &str) -> io::Result<()> {
    let mut request = named(name)?;
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: TUNSETIFF takes an `ifreq` and writes the name it gave back into it; it outlives the
    // call.
    checked(unsafe {
        libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, std::ptr::from_mut(&mut request))
    })
    .map(drop)
}

/// A request about an interface; a name that is none is "no such device", as the kernel would
/// report.
fn named(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: all zeros is a valid `ifreq`: an empty name, and a union of integers and pointers.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // One byte stays zero: the end of the name.
    if name.is_empty() || name.len() >= request.ifr_name.len() || name.contains('\0') {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes of linux/ethtool.h: the kernel writes that much.
    #[test]
    fn structs_have_the_kernels_size() {
        assert_eq!((size_of::<EthtoolValue>(), size_of::<DriverInfo>()), (8, 196));
    }

    #[test]
    fn the_loopback_answers_and_what_is_missing_does_not() {
        let request = Request::new().unwrap();
        assert!(request.index("lo").unwrap() > 0);
        assert_eq!(request.hardware("lo").unwrap().0, libc::ARPHRD_LOOPBACK);
        assert!(request.flags("lo").unwrap() & libc::IFF_LOOPBACK as u32 != 0);
        assert!(request.mtu("lo").unwrap() >= 1280);
        for name in ["", "no-such-device-at-all", "xoff-none", "l\0"] {
            assert_eq!(
                request.index(name).unwrap_err().raw_os_error(),
                Some(libc::ENODEV),
                "{name}"
            );
        }
    }
}
