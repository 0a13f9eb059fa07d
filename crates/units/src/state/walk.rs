//! Walk through a state, number by number, each with its meaning.

use serde::ser::{self, Serialize};

use super::{COUNTER, DEADLINE, FEEDER, FLOW, FRAME, ITERATION, NUMBER, SEQUENCE, SLOT, TICKS};

/// Meaning of a number of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Itself.
    Plain,
    /// A point in time [ps].
    Time,
    /// A time that means nothing once it has passed [ps].
    Deadline,
    /// A byte offset of the flow at hand.
    Sequence,
    /// A counter that both ends of a link keep.
    Counter,
    /// A second such counter.
    Number,
    /// The interval of a clock [ps].
    Ticks,
    /// The number of a flow, whose byte offsets follow.
    Flow,
    /// A handle of a frame.
    Frame,
    /// A place in the list of flows that a node has begun.
    Slot,
    /// An iteration of the job at hand.
    Iteration,
    /// A newtype of this name.
    Named(&'static str),
}

impl Meaning {
    fn of_newtype(name: &'static str) -> Meaning {
        match name {
            "Time" => Meaning::Time,
            DEADLINE => Meaning::Deadline,
            SEQUENCE => Meaning::Sequence,
            COUNTER => Meaning::Counter,
            NUMBER => Meaning::Number,
            TICKS => Meaning::Ticks,
            FLOW => Meaning::Flow,
            FRAME => Meaning::Frame,
            SLOT => Meaning::Slot,
            ITERATION => Meaning::Iteration,
            name => Meaning::Named(name),
        }
    }
}

/// Receiver of the numbers of a state.
pub trait Visitor: Sized {
    /// Reason for the end of the walk.
    type Error: ser::Error;
    /// The next number. Of text every byte is one; lists, options and variants have one in front: how many, whether, which.
    ///
    /// # Errors
    /// It goes no further.
    fn number(&mut self, meaning: Meaning, value: u64) -> Result<(), Self::Error>;
    /// A structure of this name begins.
    fn structure(&mut self, _name: &'static str) {}
    /// Start or end of the state of the opposite direction of the link. Returns the previous value.
    fn feeder(&mut self, _on: bool) -> bool {
        false
    }

    /// Goes through a state.
    ///
    /// # Errors
    /// Those of [`Visitor::number`], and states that cannot be written ([`unwritten`](super::unwritten)).
    fn walk<T: ?Sized + Serialize>(&mut self, state: &T) -> Result<(), Self::Error> {
        state.serialize(&mut Walk { visitor: self, meaning: Meaning::Plain })
    }
}

/// The serializer: newtypes give the number in them its meaning.
struct Walk<'v, V> {
    visitor: &'v mut V,
    meaning: Meaning,
}

impl<V: Visitor> Walk<'_, V> {
    fn number(&mut self, value: u64) -> Result<(), V::Error> {
        let meaning = std::mem::replace(&mut self.meaning, Meaning::Plain);
        self.visitor.number(meaning, value)
    }

    /// A number that is no value: how many, whether, which.
    fn shape(&mut self, value: u64) -> Result<(), V::Error> {
        self.visitor.number(Meaning::Plain, value)
    }
}

macro_rules! numbers {
    ($($name:ident: $t:ty),+) => {
        $(fn $name(self, v: $t) -> Result<(), V::Error> {
            self.number(v as u64)
        })+
    };
}

impl<V: Visitor> ser::Serializer for &mut Walk<'_, V> {
    type Ok = ();
    type Error = V::Error;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    numbers!(
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_char: char
    );
    fn serialize_f32(self, v: f32) -> Result<(), V::Error> {
        self.number(u64::from(v.to_bits()))
    }
    fn serialize_f64(self, v: f64) -> Result<(), V::Error> {
        self.number(v.to_bits())
    }
    fn serialize_str(self, v: &str) -> Result<(), V::Error> {
        self.serialize_bytes(v.as_bytes())
    }
    fn serialize_bytes(self, v: &[u8]) -> Result<(), V::Error> {
        self.shape(v.len() as u64)?;
        v.iter().try_for_each(|&b| self.shape(u64::from(b)))
    }
    fn serialize_none(self) -> Result<(), V::Error> {
        self.shape(0)
    }
    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Result<(), V::Error> {
        self.shape(1)?;
        value.serialize(self)
    }
    fn serialize_unit(self) -> Result<(), V::Error> {
        Ok(())
    }
    fn serialize_unit_struct(self, _: &'static str) -> Result<(), V::Error> {
        Ok(())
    }
    fn serialize_unit_variant(self, _: &'static str, variant: u32, _: &'static str) -> Result<(), V::Error> {
        self.shape(u64::from(variant))
    }
    fn serialize_newtype_struct<T: ?Sized + Serialize>(self, name: &'static str, value: &T) -> Result<(), V::Error> {
        if name == FEEDER {
            let before = self.visitor.feeder(true);
            value.serialize(&mut *self)?;
            self.visitor.feeder(before);
            return Ok(());
        }
        self.meaning = Meaning::of_newtype(name);
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        variant: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), V::Error> {
        self.shape(u64::from(variant))?;
        value.serialize(self)
    }
    fn serialize_seq(self, len: Option<usize>) -> Result<Self, V::Error> {
        self.shape(len.map_or(u64::MAX, |n| n as u64))?;
        Ok(self)
    }
    fn serialize_tuple(self, _: usize) -> Result<Self, V::Error> {
        Ok(self)
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, V::Error> {
        Ok(self)
    }
    fn serialize_tuple_variant(self, _: &'static str, variant: u32, _: &'static str, _: usize) -> Result<Self, V::Error> {
        self.shape(u64::from(variant))?;
        Ok(self)
    }
    fn serialize_map(self, len: Option<usize>) -> Result<Self, V::Error> {
        self.serialize_seq(len)
    }
    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Self, V::Error> {
        self.visitor.structure(name);
        Ok(self)
    }
    fn serialize_struct_variant(self, _: &'static str, variant: u32, _: &'static str, _: usize) -> Result<Self, V::Error> {
        self.shape(u64::from(variant))?;
        Ok(self)
    }
}

macro_rules! fields {
    ($($trait:ident: $($method:ident($($name:ident: $t:ty),*))+;)+) => {
        $(impl<V: Visitor> ser::$trait for &mut Walk<'_, V> {
            type Ok = ();
            type Error = V::Error;
            $(fn $method<T: ?Sized + Serialize>(&mut self, $($name: $t,)* value: &T) -> Result<(), V::Error> {
                value.serialize(&mut **self)
            })+
            fn end(self) -> Result<(), V::Error> {
                Ok(())
            }
        })+
    };
}
fields! {
    SerializeSeq: serialize_element();
    SerializeTuple: serialize_element();
    SerializeTupleStruct: serialize_field();
    SerializeTupleVariant: serialize_field();
    SerializeMap: serialize_key() serialize_value();
    SerializeStruct: serialize_field(_key: &'static str);
    SerializeStructVariant: serialize_field(_key: &'static str);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Span, Time, state};
    use std::fmt;

    #[derive(serde::Serialize)]
    struct Half {
        #[serde(serialize_with = "state::counter")]
        sent: u64,
        at: Time,
        #[serde(serialize_with = "state::deadline")]
        until: Time,
        waits: Option<Span>,
        queue: Vec<u8>,
        #[serde(serialize_with = "state::feeder")]
        back: Back,
    }

    #[derive(serde::Serialize)]
    enum Back {
        #[allow(dead_code)]
        Never,
        Soon(Time),
    }

    #[derive(Default)]
    struct Seen {
        numbers: Vec<(Meaning, u64, bool)>,
        names: Vec<&'static str>,
        feeder: bool,
    }

    #[derive(Debug)]
    struct No;
    impl fmt::Display for No {
        fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("no")
        }
    }
    impl std::error::Error for No {}
    impl ser::Error for No {
        fn custom<T: fmt::Display>(_: T) -> No {
            No
        }
    }

    impl Visitor for Seen {
        type Error = No;
        fn number(&mut self, meaning: Meaning, value: u64) -> Result<(), No> {
            self.numbers.push((meaning, value, self.feeder));
            Ok(())
        }
        fn structure(&mut self, name: &'static str) {
            self.names.push(name);
        }
        fn feeder(&mut self, on: bool) -> bool {
            std::mem::replace(&mut self.feeder, on)
        }
    }

    #[test]
    fn every_number_comes_with_its_meaning() {
        let half = Half { sent: 1, at: Time(2), until: Time(3), waits: Some(Span(4)), queue: vec![5, 6], back: Back::Soon(Time(7)) };
        let mut seen = Seen::default();
        seen.walk(&half).unwrap();
        let here = |m, v| (m, v, false);
        assert_eq!(
            seen.numbers,
            [
                here(Meaning::Counter, 1),
                here(Meaning::Time, 2),
                here(Meaning::Deadline, 3),
                here(Meaning::Plain, 1),
                here(Meaning::Named("Span"), 4),
                here(Meaning::Plain, 2),
                here(Meaning::Plain, 5),
                here(Meaning::Plain, 6),
                (Meaning::Plain, 1, true),
                (Meaning::Time, 7, true),
            ]
        );
        assert_eq!((seen.names, seen.feeder), (vec!["Half"], false));
    }
}
