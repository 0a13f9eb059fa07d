//! Prefixes of IPv4 and IPv6 in one form.

use std::fmt;
use std::net::IpAddr;

/// An address as a number, with its family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Address {
    pub bits: u128,
    /// 32 or 128.
    pub width: u8,
}

impl From<IpAddr> for Address {
    fn from(ip: IpAddr) -> Address {
        match ip {
            IpAddr::V4(a) => Address { bits: u32::from(a).into(), width: 32 },
            IpAddr::V6(a) => Address { bits: a.into(), width: 128 },
        }
    }
}

/// A prefix; bits below its length are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Prefix {
    base: Address,
    pub length: u8,
}

impl Prefix {
    /// Reads `10.0.1.0/24`, and its address with all of its bits.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(text: &str) -> Result<(Prefix, Address), String> {
        let (ip, length) = text.split_once('/').unwrap_or((text, ""));
        let address: Address = ip
            .parse::<IpAddr>()
            .map_err(|_| format!("'{}' is not an address", crate::suggest::clip(ip)))?
            .into();
        let length = match length {
            "" if text.contains('/') => return Err("the slash is not followed by a length".into()),
            "" => address.width,
            digits => match digits.parse::<u8>() {
                Ok(n) if n <= address.width => n,
                _ => {
                    return Err(format!(
                        "length /{} of at most /{}",
                        crate::suggest::clip(digits),
                        address.width
                    ));
                }
            },
        };
        let mut prefix = Prefix { base: address, length };
        prefix.base.bits &= prefix.mask();
        Ok((prefix, address))
    }

    fn mask(&self) -> u128 {
        let all = if self.base.width == 32 { u32::MAX.into() } else { u128::MAX };
        let free = u32::from(self.base.width - self.length);
        all & u128::MAX.checked_shl(free).unwrap_or(0)
    }

    /// True if an address is inside the prefix.
    pub fn holds(&self, a: &Address) -> bool {
        a.width == self.base.width && a.bits & self.mask() == self.base.bits
    }

    /// True for a single address.
    pub fn is_host(&self) -> bool {
        self.length == self.base.width
    }

    /// True if the prefix has room for more than the two ends of a link.
    pub fn holds_hosts(&self) -> bool {
        self.length + 3 <= self.base.width && self.length > 0
    }

    /// True if the prefix has room for exactly the two ends of a link.
    pub fn is_link(&self) -> bool {
        let free = self.base.width - self.length;
        free == 1 || free == 2
    }

    /// Addresses that may represent a host in it, from the top.
    pub fn candidates(&self) -> Vec<Address> {
        let free = u32::from(self.base.width - self.length);
        let size = 1u128.checked_shl(free).unwrap_or(u128::MAX);
        let at = |n: u128| Address { bits: self.base.bits | n, width: self.base.width };
        match size {
            1 => vec![at(0)],
            2 => vec![at(1), at(0)],
            _ => (1..=8.min(size - 2)).map(|k| at(size - 1 - k)).collect(),
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.base.width {
            32 => write!(f, "{}/{}", std::net::Ipv4Addr::from(self.base.bits as u32), self.length),
            _ => write!(f, "{}/{}", std::net::Ipv6Addr::from(self.base.bits), self.length),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_hold_their_addresses() {
        let (p, a) = Prefix::read("10.0.1.7/24").unwrap();
        assert_eq!(p.to_string(), "10.0.1.0/24");
        assert!(p.holds(&a) && !p.holds(&Prefix::read("10.0.2.7").unwrap().1));
        assert!(
            p.holds_hosts() && !p.is_link() && Prefix::read("10.0.0.0/31").unwrap().0.is_link()
        );
        let (all, _) = Prefix::read("0.0.0.0/0").unwrap();
        assert!(all.holds(&a) && !all.holds(&Prefix::read("::1").unwrap().1));
        assert_eq!(Prefix::read("2001:db8::/32").unwrap().0.to_string(), "2001:db8::/32");
        assert!(p.candidates().iter().all(|c| p.holds(c)));
        for bad in ["10.0.1.0/33", "10.0.1/24", "::/129", "10.0.0.0/", "x"] {
            assert!(Prefix::read(bad).is_err(), "{bad}");
        }
    }
}
