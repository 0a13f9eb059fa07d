//! States that are written and restored: checkpoints of a run.
//!
//! ```text
//!   world  -- save -->  bytes  -- restore -->  a world that was built from the same scenario and has not begun
//! ```
//!
//! What a scenario decides is built again and not written, so a mechanism that comes as a trait object or with parameters of its own is
//! restored in its place ([`Save`]). What comes and goes during a run - frames, messages, entries of lists - is written whole ([`Value`]).
//! Both are derived, so that the compiler counts the fields; a field that is left out (`save(built)`) comes with the world or is a cache.
//!
//! No `serde`: states derive `Serialize` to describe how they recur ([`state`](crate::state)). It omits results, which a resumed run needs.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, VecDeque};
use std::fmt;
use std::hash::{BuildHasher, Hash};

pub use xoff_save_derive::{Save, Value};

use crate::{Bytes, Rate, Span, Time};

/// Takes a state in.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
    refused: Option<String>,
}

impl Writer {
    /// One byte.
    #[inline]
    pub fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }
    /// Bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }
    /// A number, seven bits to a byte, the lowest first: most are small.
    #[inline]
    pub fn number(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.bytes.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.bytes.push(n as u8);
    }
    /// Marks a state that cannot be written: its name, for the reader.
    pub fn refuse(&mut self, what: &str) {
        self.refused.get_or_insert_with(|| what.to_owned());
    }
    /// Written bytes, or the name of the part that could not be written.
    ///
    /// # Errors
    /// The name of the part that cannot be written.
    pub fn end(self) -> Result<Vec<u8>, String> {
        match self.refused {
            Some(what) => Err(what),
            None => Ok(self.bytes),
        }
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
    /// Takes a number of bytes.
    ///
    /// # Errors
    /// There are fewer left.
    pub fn bytes(&mut self, n: usize) -> Result<&'b [u8], Broken> {
        let (taken, rest) = self.bytes.split_at_checked(n).ok_or(Broken("it ends too early"))?;
        self.bytes = rest;
        Ok(taken)
    }
    /// A number.
    ///
    /// # Errors
    /// It ends too early, or has more than 64 bits.
    #[inline]
    pub fn number(&mut self) -> Result<u64, Broken> {
        let (mut n, mut shift) = (0u64, 0);
        loop {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                return Err(Broken("a number of more than 64 bits"));
            }
            n |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(n);
            }
            shift += 7;
        }
    }
    /// Number of elements that follow. Each has a byte at least, so no list is longer than the rest.
    ///
    /// # Errors
    /// More than there can be.
    pub fn count(&mut self) -> Result<usize, Broken> {
        let n = self.number()?;
        if n > self.bytes.len() as u64 { Err(Broken("a list that is longer than the file")) } else { Ok(n as usize) }
    }
    /// Is everything read?
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

/// A state that is restored in its place.
pub trait Save {
    /// Writes it.
    fn save(&self, to: &mut Writer);
    /// Becomes the state that was written.
    ///
    /// # Errors
    /// The input is no state of this type; the value is then unusable.
    fn restore(&mut self, from: &mut Reader) -> Result<(), Broken>;
}

/// A value that is created from its saved form.
pub trait Value: Sized {
    /// Writes it. Writes a byte at least.
    fn write(&self, to: &mut Writer);
    /// Reads one.
    ///
    /// # Errors
    /// The input is no such value.
    fn read(from: &mut Reader) -> Result<Self, Broken>;
}

/// Saves the elements of a list that are there.
pub fn save_each<'t, T: Save + 't>(list: impl ExactSizeIterator<Item = &'t T>, to: &mut Writer) {
    to.number(list.len() as u64);
    list.for_each(|part| part.save(to));
}

/// Restores the elements of a list, of known length.
///
/// # Errors
/// Another number was written, or an element cannot be restored.
pub fn restore_each<'t, T: Save + 't>(there: usize, list: impl Iterator<Item = &'t mut T>, from: &mut Reader) -> Result<(), Broken> {
    if from.number()? != there as u64 {
        return Err(Broken("a list of another length"));
    }
    list.into_iter().try_for_each(|part| part.restore(from))
}

/// Values that are built and may be gone later, for `save(by = may_be_gone)`.
pub mod may_be_gone {
    use super::{Broken, Reader, Save, Value, Writer};

    /// Writes it, if it is there.
    pub fn save<T: Save>(state: &Option<T>, to: &mut Writer) {
        state.is_some().write(to);
        state.iter().for_each(|s| s.save(to));
    }

    /// Becomes the saved value, or is removed.
    ///
    /// # Errors
    /// It was there, and is not here; or it cannot be restored.
    pub fn restore<T: Save>(state: &mut Option<T>, from: &mut Reader) -> Result<(), Broken> {
        if !bool::read(from)? {
            *state = None;
            return Ok(());
        }
        state.as_mut().ok_or(Broken("a part that was not built"))?.restore(from)
    }
}

/// Makes types that are values states too: they are replaced.
#[macro_export]
#[doc(hidden)]
macro_rules! whole {
    ($($t:ty),+ $(,)?) => {$(
        impl $crate::save::Save for $t {
            #[inline]
            fn save(&self, to: &mut $crate::save::Writer) {
                $crate::save::Value::write(self, to);
            }
            #[inline]
            fn restore(&mut self, from: &mut $crate::save::Reader) -> Result<(), $crate::save::Broken> {
                *self = $crate::save::Value::read(from)?;
                Ok(())
            }
        }
    )+};
}
pub use crate::whole;

macro_rules! numbers {
    ($($t:ty),+) => {$(
        impl Value for $t {
            #[inline]
            fn write(&self, to: &mut Writer) {
                to.number(*self as u64);
            }
            #[inline]
            fn read(from: &mut Reader) -> Result<Self, Broken> {
                <$t>::try_from(from.number()?).map_err(|_| Broken("a number out of its range"))
            }
        }
        whole!($t);
    )+};
}
numbers!(u8, u16, u32, u64, usize);

macro_rules! signed {
    ($($t:ty),+) => {$(
        impl Value for $t {
            fn write(&self, to: &mut Writer) {
                let n = i64::from(*self);
                to.number(((n << 1) ^ (n >> 63)) as u64);
            }
            fn read(from: &mut Reader) -> Result<Self, Broken> {
                let n = from.number()?;
                <$t>::try_from((n >> 1) as i64 ^ -((n & 1) as i64)).map_err(|_| Broken("a number out of its range"))
            }
        }
        whole!($t);
    )+};
}
signed!(i8, i16, i32, i64);

macro_rules! newtypes {
    ($($t:ident),+) => {$(
        impl Value for $t {
            #[inline]
            fn write(&self, to: &mut Writer) {
                to.number(self.0);
            }
            #[inline]
            fn read(from: &mut Reader) -> Result<Self, Broken> {
                from.number().map($t)
            }
        }
        whole!($t);
    )+};
}
newtypes!(Time, Span, Bytes, Rate);

/// Bit by bit, so that it is the very same.
impl Value for f64 {
    fn write(&self, to: &mut Writer) {
        to.bytes(&self.to_bits().to_le_bytes());
    }
    fn read(from: &mut Reader) -> Result<Self, Broken> {
        let bytes = from.bytes(8)?.try_into().map_err(|_| Broken("it ends too early"))?;
        Ok(f64::from_bits(u64::from_le_bytes(bytes)))
    }
}

impl Value for f32 {
    fn write(&self, to: &mut Writer) {
        to.number(u64::from(self.to_bits()));
    }
    fn read(from: &mut Reader) -> Result<Self, Broken> {
        u32::read(from).map(f32::from_bits)
    }
}

impl Value for bool {
    #[inline]
    fn write(&self, to: &mut Writer) {
        to.byte(u8::from(*self));
    }
    #[inline]
    fn read(from: &mut Reader) -> Result<Self, Broken> {
        match from.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Broken("neither true nor false")),
        }
    }
}

impl Value for u128 {
    fn write(&self, to: &mut Writer) {
        to.bytes(&self.to_le_bytes());
    }
    fn read(from: &mut Reader) -> Result<Self, Broken> {
        let bytes = from.bytes(16)?.try_into().map_err(|_| Broken("it ends too early"))?;
        Ok(u128::from_le_bytes(bytes))
    }
}

impl Value for String {
    fn write(&self, to: &mut Writer) {
        to.number(self.len() as u64);
        to.bytes(self.as_bytes());
    }
    fn read(from: &mut Reader) -> Result<Self, Broken> {
        let n = from.count()?;
        String::from_utf8(from.bytes(n)?.to_vec()).map_err(|_| Broken("no text"))
    }
}
whole!(f64, f32, bool, u128, String);

impl<T: Value> Value for Box<T> {
    fn write(&self, to: &mut Writer) {
        (**self).write(to);
    }
    fn read(from: &mut Reader) -> Result<Self, Broken> {
        T::read(from).map(Box::new)
    }
}

impl<T: Save> Save for Box<T> {
    fn save(&self, to: &mut Writer) {
        (**self).save(to);
    }
    fn restore(&mut self, from: &mut Reader) -> Result<(), Broken> {
        (**self).restore(from)
    }
}

impl<T: Value> Value for Reverse<T> {
    fn write(&self, to: &mut Writer) {
        self.0.write(to);
    }
    fn read(from: &mut Reader) -> Result<Self, Broken> {
        T::read(from).map(Reverse)
    }
}

impl<T: Value> Value for Option<T> {
    fn write(&self, to: &mut Writer) {
        to.byte(u8::from(self.is_some()));
        self.iter().for_each(|v| v.write(to));
    }
    fn read(from: &mut Reader) -> Result<Self, Broken> {
        bool::read(from)?.then(|| T::read(from)).transpose()
    }
}

impl<T: Value, const N: usize> Value for [T; N] {
    fn write(&self, to: &mut Writer) {
        self.iter().for_each(|v| v.write(to));
    }
    fn read(from: &mut Reader) -> Result<Self, Broken> {
        let all = (0..N).map(|_| T::read(from)).collect::<Result<Vec<_>, _>>()?;
        all.try_into().map_err(|_| Broken("a list of another length"))
    }
}

/// Lists that are written in their order and collected again.
macro_rules! lists {
    ($($list:ident<$t:ident: $bound:ident>),+) => {$(
        impl<$t: Value + $bound> Value for $list<$t> {
            fn write(&self, to: &mut Writer) {
                to.number(self.len() as u64);
                self.iter().for_each(|v| v.write(to));
            }
            fn read(from: &mut Reader) -> Result<Self, Broken> {
                (0..from.count()?).map(|_| $t::read(from)).collect()
            }
        }
    )+};
}
lists!(Vec<T: Sized>, VecDeque<T: Sized>, BTreeSet<T: Ord>);

/// From the least: the order in which a heap holds its elements is its own.
impl<T: Value + Ord> Value for BinaryHeap<T> {
    fn write(&self, to: &mut Writer) {
        to.number(self.len() as u64);
        let mut all: Vec<&T> = self.iter().collect();
        all.sort();
        all.into_iter().for_each(|v| v.write(to));
    }
    fn read(from: &mut Reader) -> Result<Self, Broken> {
        (0..from.count()?).map(|_| T::read(from)).collect()
    }
}

impl<K: Value + Ord, V: Value> Value for BTreeMap<K, V> {
    fn write(&self, to: &mut Writer) {
        to.number(self.len() as u64);
        self.iter().for_each(|(k, v)| {
            k.write(to);
            v.write(to);
        });
    }
    fn read(from: &mut Reader) -> Result<Self, Broken> {
        (0..from.count()?).map(|_| Ok((K::read(from)?, V::read(from)?))).collect()
    }
}

/// By key: the order of a hash map means nothing.
impl<K: Value + Ord + Hash, V: Value, S: BuildHasher + Default> Value for HashMap<K, V, S> {
    fn write(&self, to: &mut Writer) {
        to.number(self.len() as u64);
        let mut all: Vec<(&K, &V)> = self.iter().collect();
        all.sort_by_key(|entry| entry.0);
        all.into_iter().for_each(|(k, v)| {
            k.write(to);
            v.write(to);
        });
    }
    fn read(from: &mut Reader) -> Result<Self, Broken> {
        (0..from.count()?).map(|_| Ok((K::read(from)?, V::read(from)?))).collect()
    }
}

/// States with the form of a value of another type.
macro_rules! wholes {
    ($([$($of:tt)*] $t:ty),+ $(,)?) => {$(
        impl<$($of)*> Save for $t {
            fn save(&self, to: &mut Writer) {
                self.write(to);
            }
            fn restore(&mut self, from: &mut Reader) -> Result<(), Broken> {
                *self = Value::read(from)?;
                Ok(())
            }
        }
    )+};
}
wholes! {
    [T: Value] Option<T>,
    [T: Value] Vec<T>,
    [T: Value] VecDeque<T>,
    [T: Value + Ord] BTreeSet<T>,
    [T: Value + Ord] BinaryHeap<T>,
    [T: Value, const N: usize] [T; N],
    [K: Value + Ord, V: Value] BTreeMap<K, V>,
    [K: Value + Ord + Hash, V: Value, S: BuildHasher + Default] HashMap<K, V, S>,
    [A: Value, B: Value] (A, B),
    [A: Value, B: Value, C: Value] (A, B, C),
    [A: Value, B: Value, C: Value, D: Value] (A, B, C, D),
}

macro_rules! tuples {
    ($(($($t:ident),+))+) => {$(
        impl<$($t: Value),+> Value for ($($t,)+) {
            fn write(&self, to: &mut Writer) {
                #[expect(non_snake_case, reason = "named after their types")]
                let ($($t,)+) = self;
                $($t.write(to);)+
            }
            fn read(from: &mut Reader) -> Result<Self, Broken> {
                Ok(($($t::read(from)?,)+))
            }
        }
    )+};
}
tuples! { (A, B) (A, B, C) (A, B, C, D) }

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq, Value)]
    enum What {
        Nothing,
        Waits(Time, i16),
        Goes { at: Option<Span>, parts: Vec<u8> },
    }

    #[derive(Debug, PartialEq, Save)]
    struct Machine {
        #[save(built)]
        limit: u64,
        held: u64,
        what: What,
        table: HashMap<u32, f64>,
        #[save(each)]
        parts: Vec<Piece>,
        state: Half,
    }

    #[derive(Debug, PartialEq, Save)]
    struct Piece {
        #[save(built)]
        name: &'static str,
        count: i64,
    }

    #[derive(Debug, PartialEq, Save)]
    enum Half {
        On(Piece),
        Off,
        #[save(refused)]
        Outside,
    }

    fn machine(limit: u64, count: i64) -> Machine {
        let part = |name| Piece { name, count };
        Machine {
            limit,
            held: u64::MAX,
            what: What::Goes { at: Some(Span(7)), parts: vec![1, 200] },
            table: HashMap::from([(3, -0.0), (1, f64::INFINITY)]),
            parts: vec![part("a"), part("b")],
            state: Half::On(part("c")),
        }
    }

    fn saved(state: &impl Save) -> Vec<u8> {
        let mut to = Writer::default();
        state.save(&mut to);
        to.end().unwrap()
    }

    #[test]
    fn a_state_is_restored_in_what_was_built() {
        let bytes = saved(&machine(5, -300));
        let mut other = Machine { held: 0, what: What::Nothing, table: HashMap::new(), ..machine(9, 4) };
        let mut from = Reader::new(&bytes);
        other.restore(&mut from).unwrap();
        assert!(from.is_over());
        assert_eq!(other, Machine { limit: 9, ..machine(5, -300) });
        assert_eq!(saved(&other), bytes);
        let wait = What::Waits(Time(1 << 63), i16::MIN);
        let mut to = Writer::default();
        wait.write(&mut to);
        assert_eq!(What::read(&mut Reader::new(&to.end().unwrap())), Ok(wait));
    }

    #[test]
    fn what_does_not_fit_is_refused_and_nothing_panics() {
        let bytes = saved(&machine(5, 1));
        for cut in 0..bytes.len() {
            assert!(machine(5, 1).restore(&mut Reader::new(&bytes[..cut])).is_err(), "{cut}");
        }
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut wrong = bytes.clone();
                wrong[at] ^= 1 << bit;
                let _ = machine(5, 1).restore(&mut Reader::new(&wrong));
            }
        }
        let off = Machine { state: Half::Off, ..machine(5, 1) };
        assert_eq!(machine(5, 1).restore(&mut Reader::new(&saved(&off))), Err(Broken("another kind of Half")));
        let mut shorter = machine(5, 1);
        shorter.parts.pop();
        assert_eq!(shorter.restore(&mut Reader::new(&bytes)), Err(Broken("a list of another length")));
        let mut to = Writer::default();
        Half::Outside.save(&mut to);
        assert_eq!(to.end(), Err("Half::Outside".into()));
    }
}
