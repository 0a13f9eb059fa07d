//! Why bytes were refused, and why a struct could not become bytes. Also the few accessors that all
//! formats share.

use std::fmt;

/// Reason why bytes are not of the expected format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Fewer bytes than the format, or a length in it, asks for.
    Short {
        /// Expected format.
        format: &'static str,
        /// Bytes it takes.
        needed: usize,
        /// Bytes there are.
        got: usize,
    },
    /// A field has a value that this crate does not take: another version, an unknown operation, an
    /// impossible length.
    Value {
        /// Field, with its format.
        field: &'static str,
        /// Value of the field.
        found: u64,
        /// Correct values.
        expected: &'static str,
    },
    /// A checksum contradicts the bytes it covers.
    Checksum {
        /// Field, with its format.
        field: &'static str,
        /// Value of the field.
        found: u32,
        /// Value computed from the bytes.
        expected: u32,
    },
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Malformed::Short { format, needed, got } => {
                write!(f, "{format}: {got} bytes where {needed} are needed")
            }
            Malformed::Value { field, found, expected } => {
                write!(f, "{field}: {found:#x}, expected {expected}")
            }
            Malformed::Checksum { field, found, expected } => {
                write!(f, "{field}: {found:#x}, but the bytes give {expected:#x}")
            }
        }
    }
}

impl std::error::Error for Malformed {}

/// Reason why a struct could not be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// The buffer is too small.
    Room {
        /// Format to write.
        format: &'static str,
        /// Bytes it takes.
        needed: usize,
        /// Bytes there are.
        got: usize,
    },
    /// A value is greater than its field.
    Value {
        /// Field, with its format.
        field: &'static str,
        /// The value.
        value: u64,
        /// Greatest value that the field holds.
        max: u64,
    },
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unfit::Room { format, needed, got } => {
                write!(f, "{format}: room for {got} bytes where {needed} are needed")
            }
            Unfit::Value { field, value, max } => {
                write!(f, "{field}: {value} does not fit, at most {max}")
            }
        }
    }
}

impl std::error::Error for Unfit {}

/// The first `needed` bytes.
pub(crate) fn take<'a>(
    format: &'static str,
    bytes: &'a [u8],
    needed: usize,
) -> Result<&'a [u8], Malformed> {
    bytes.get(..needed).ok_or(Malformed::Short { format, needed, got: bytes.len() })
}

/// The first `needed` bytes, zeroed: bytes that are not set afterwards are reserved.
pub(crate) fn room<'a>(
    format: &'static str,
    out: &'a mut [u8],
    needed: usize,
) -> Result<&'a mut [u8], Unfit> {
    let got = out.len();
    let out = out.get_mut(..needed).ok_or(Unfit::Room { format, needed, got })?;
    out.fill(0);
    Ok(out)
}

/// Refuses a value greater than its field.
pub(crate) fn fits(field: &'static str, value: impl Into<u64>, max: u64) -> Result<(), Unfit> {
    let value = value.into();
    if value <= max { Ok(()) } else { Err(Unfit::Value { field, value, max }) }
}

/// `N` bytes at an offset that was checked before.
pub(crate) fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(array(bytes, at))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(array(bytes, at))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(array(bytes, at))
}

/// Writes big-endian bytes at an offset that was checked before.
pub(crate) fn put<const N: usize>(out: &mut [u8], at: usize, value: [u8; N]) {
    out[at..at + N].copy_from_slice(&value);
}
