//! States as bytes.

use std::convert::Infallible;
use std::fmt;

use super::{Meaning, State, Value, Walk};

/// The longest number [bytes].
const NUMBER_MAX: usize = 10;

/// Takes a state in.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
    refused: Option<&'static str>,
}

impl Writer {
    /// Writer that appends to these bytes.
    pub fn onto(bytes: Vec<u8>) -> Writer {
        Writer { bytes, refused: None }
    }
    /// Appends a state.
    #[inline]
    pub fn put(&mut self, state: &impl State) {
        let Ok(()) = state.walk(self);
    }
    /// Written bytes, or the name of the part that could not be written.
    ///
    /// # Errors
    /// The name of the part that cannot be written.
    #[inline]
    pub fn end(self) -> Result<Vec<u8>, String> {
        match self.refused {
            Some(what) => Err(what.to_owned()),
            None => Ok(self.bytes),
        }
    }
}

impl Walk for Writer {
    type Stop = Infallible;
    const COMPARES: bool = false;

    /// Seven bits to a byte, the lowest first: most numbers are small.
    #[inline]
    fn number(&mut self, _: Meaning, mut n: u64) -> Result<(), Infallible> {
        if n < 0x80 {
            self.bytes.push(n as u8);
            return Ok(());
        }
        let (mut bytes, mut len) = ([0; NUMBER_MAX], 0);
        while n >= 0x80 {
            bytes[len] = n as u8 | 0x80;
            n >>= 7;
            len += 1;
        }
        bytes[len] = n as u8;
        self.bytes.extend_from_slice(&bytes[..=len]);
        Ok(())
    }
    #[inline]
    fn wide(&mut self, n: u64) -> Result<(), Infallible> {
        self.bytes.extend_from_slice(&n.to_le_bytes());
        Ok(())
    }
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        self.number(Meaning::Plain, bytes.len() as u64)?;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }
    /// Keeps the name, for [`Writer::end`].
    fn refuse(&mut self, what: &'static str) -> Result<(), Infallible> {
        self.refused.get_or_insert(what);
        Ok(())
    }
}

/// Gives a state back.
#[derive(Debug)]
pub struct Reader<'b> {
    bytes: &'b [u8],
}

impl<'b> Reader<'b> {
    /// Reader of the bytes of [`Writer::end`].
    pub fn new(bytes: &'b [u8]) -> Reader<'b> {
        Reader { bytes }
    }
    /// A value.
    ///
    /// # Errors
    /// The input is no such value.
    pub fn take<T: Value>(&mut self) -> Result<T, Broken> {
        T::read(self)
    }
    /// One byte.
    ///
    /// # Errors
    /// There is none left.
    #[inline]
    pub fn byte(&mut self) -> Result<u8, Broken> {
        let (&byte, rest) = self.bytes.split_first().ok_or(Broken("it ends too early"))?;
        self.bytes = rest;
        Ok(byte)
    }
    /// A number.
    ///
    /// # Errors
    /// It ends too early, or has more than 64 bits.
    #[inline]
    pub fn number(&mut self) -> Result<u64, Broken> {
        match self.bytes {
            [byte @ ..0x80, rest @ ..] => {
                self.bytes = rest;
                Ok(u64::from(*byte))
            }
            _ => self.long_number(),
        }
    }

    fn long_number(&mut self) -> Result<u64, Broken> {
        let mut n = 0;
        for (place, &byte) in self.bytes.iter().enumerate().take(NUMBER_MAX) {
            n |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 && (place < NUMBER_MAX - 1 || byte < 2) {
                self.bytes = &self.bytes[place + 1..];
                return Ok(n);
            }
        }
        let short = self.bytes.len() < NUMBER_MAX;
        Err(Broken(if short { "it ends too early" } else { "a number of more than 64 bits" }))
    }
    /// A number of [`Walk::wide`].
    ///
    /// # Errors
    /// It ends too early.
    #[inline]
    pub fn wide(&mut self) -> Result<u64, Broken> {
        let (&bytes, rest) = self.bytes.split_first_chunk().ok_or(Broken("it ends too early"))?;
        self.bytes = rest;
        Ok(u64::from_le_bytes(bytes))
    }
    /// Bytes of [`Walk::bytes`].
    ///
    /// # Errors
    /// It ends too early.
    pub fn bytes(&mut self) -> Result<&'b [u8], Broken> {
        let n = self.count()?;
        let (bytes, rest) = self.bytes.split_at_checked(n).ok_or(Broken("it ends too early"))?;
        self.bytes = rest;
        Ok(bytes)
    }
    /// Number of elements that follow. Each has a byte at least, so no list is longer than the
    /// rest.
    ///
    /// # Errors
    /// More than there can be.
    pub fn count(&mut self) -> Result<usize, Broken> {
        let n = self.number()?;
        if n > self.bytes.len() as u64 {
            Err(Broken("a list that is longer than the file"))
        } else {
            Ok(n as usize)
        }
    }
    /// True if everything is read.
    pub fn is_over(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// Error of a reader: the input is no state of this world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken(pub &'static str);

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Broken {}
