//! Numbers, texts and collections as states.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, VecDeque};
use std::hash::{BuildHasher, Hash};

use super::{Broken, Meaning, Reader, State, Value, Walk};
use crate::{Bytes, Rate, Span, Time};

/// Makes types values: how each is walked through, and read.
macro_rules! values {
    ($([$($of:tt)*] $t:ty: |$value:ident, $w:ident| $walk:expr, |$from:ident| $read:expr;)+) => {$(
        impl<$($of)*> State for $t {
            #[inline]
            fn walk<W: Walk>(&self, $w: &mut W) -> Result<(), W::Stop> {
                let $value = self;
                $walk
            }
            #[inline]
            fn restore(&mut self, from: &mut Reader) -> Result<(), Broken> {
                *self = Value::read(from)?;
                Ok(())
            }
        }
        impl<$($of)*> Value for $t {
            #[inline]
            fn read($from: &mut Reader) -> Result<Self, Broken> {
                $read
            }
        }
    )+};
}

macro_rules! numbers {
    ($($t:ty),+) => {
        values! {$(
            [] $t: |n, w| w.number(Meaning::Plain, *n as u64),
                |from| <$t>::try_from(from.number()?).map_err(|_| Broken("a number out of its range"));
        )+}
    };
}
numbers!(u8, u16, u32, u64, usize);

/// The sign goes into the lowest bit.
macro_rules! signed {
    ($($t:ty),+) => {
        values! {$(
            [] $t: |n, w| {
                let n = i64::from(*n);
                w.number(Meaning::Plain, ((n << 1) ^ (n >> 63)) as u64)
            }, |from| {
                let n = from.number()?;
                <$t>::try_from((n >> 1) as i64 ^ -((n & 1) as i64)).map_err(|_| Broken("a number out of its range"))
            };
        )+}
    };
}
signed!(i8, i16, i32, i64);

values! {
    [] Time: |t, w| w.number(Meaning::Time, t.0), |from| from.number().map(Time);
    [] Span: |t, w| w.number(Meaning::Plain, t.0), |from| from.number().map(Span);
    [] Bytes: |n, w| w.number(Meaning::Plain, n.0), |from| from.number().map(Bytes);
    [] Rate: |r, w| w.number(Meaning::Plain, r.0), |from| from.number().map(Rate);
    [] bool: |b, w| w.number(Meaning::Plain, u64::from(*b)), |from| match from.byte()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Broken("neither true nor false")),
    };
    [] f64: |x, w| w.wide(x.to_bits()), |from| from.wide().map(f64::from_bits);
    [] f32: |x, w| w.number(Meaning::Plain, u64::from(x.to_bits())), |from| u32::read(from).map(f32::from_bits);
    [] u128: |n, w| {
        w.wide(*n as u64)?;
        w.wide((*n >> 64) as u64)
    }, |from| Ok(u128::from(from.wide()?) | u128::from(from.wide()?) << 64);
    [] String: |text, w| w.bytes(text.as_bytes()), |from| String::from_utf8(from.bytes()?.to_vec()).map_err(|_| Broken("no text"));
    [T: Value] Option<T>: |value, w| w.list(value.iter()), |from| bool::read(from)?.then(|| T::read(from)).transpose();
    [T: Value, const N: usize] [T; N]: |all, w| all.iter().try_for_each(|v| v.walk(w)), |from| {
        let all = (0..N).map(|_| T::read(from)).collect::<Result<Vec<_>, _>>()?;
        all.try_into().map_err(|_| Broken("a list of another length"))
    };
    [T: Value] Vec<T>: |all, w| w.list(all.iter()), |from| (0..from.count()?).map(|_| T::read(from)).collect();
    [T: Value] VecDeque<T>: |all, w| w.list(all.iter()), |from| (0..from.count()?).map(|_| T::read(from)).collect();
    [T: Value + Ord] BTreeSet<T>: |all, w| w.list(all.iter()), |from| (0..from.count()?).map(|_| T::read(from)).collect();
    // From the least: the order in which a heap holds its elements is its own.
    [T: Value + Ord] BinaryHeap<T>: |all, w| {
        let mut all: Vec<&T> = all.iter().collect();
        all.sort();
        w.list(all.into_iter())
    }, |from| (0..from.count()?).map(|_| T::read(from)).collect();
    [K: Value + Ord, V: Value] BTreeMap<K, V>: |all, w| entries(all.iter(), w), |from| (0..from.count()?).map(|_| Value::read(from)).collect();
    // By key: the order of a hash map means nothing.
    [K: Value + Ord + Hash, V: Value, S: BuildHasher + Default] HashMap<K, V, S>: |all, w| {
        let mut all: Vec<(&K, &V)> = all.iter().collect();
        all.sort_by_key(|entry| entry.0);
        entries(all.into_iter(), w)
    }, |from| (0..from.count()?).map(|_| Value::read(from)).collect();
    [T: Value] Reverse<T>: |value, w| value.0.walk(w), |from| T::read(from).map(Reverse);
}

fn entries<'t, K: State + 't, V: State + 't, W: Walk>(
    mut all: impl ExactSizeIterator<Item = (&'t K, &'t V)>,
    w: &mut W,
) -> Result<(), W::Stop> {
    w.number(Meaning::Plain, all.len() as u64)?;
    all.try_for_each(|(k, v)| {
        k.walk(w)?;
        v.walk(w)
    })
}

macro_rules! tuples {
    ($(($($t:ident.$n:tt),+))+) => {
        values! {$(
            [$($t: Value),+] ($($t,)+): |all, w| {
                $(all.$n.walk(w)?;)+
                Ok(())
            }, |from| Ok(($($t::read(from)?,)+));
        )+}
    };
}
tuples! { (A.0, B.1) (A.0, B.1, C.2) (A.0, B.1, C.2, D.3) }

impl<T: State> State for Box<T> {
    #[inline]
    fn walk<W: Walk>(&self, w: &mut W) -> Result<(), W::Stop> {
        (**self).walk(w)
    }
    fn restore(&mut self, from: &mut Reader) -> Result<(), Broken> {
        (**self).restore(from)
    }
}

impl<T: Value> Value for Box<T> {
    fn read(from: &mut Reader) -> Result<Self, Broken> {
        T::read(from).map(Box::new)
    }
}
