//! The state of a network in words, to find out whether it recurs (see [`xoff_units::state`]).
//!
//! A word is a number with the group that it belongs to. Two states recur if their words are equal in number and group, those of no group in
//! value, and all words of a group have grown by the same amount: times by the period, byte offsets of a flow by what it sent meanwhile,
//! credit counters of a link by what passed it.

use std::fmt;

use rustc_hash::FxHashMap;
use serde::ser::{self, Serialize};
use xoff_node::{Frame, FrameList, FrameStore};
use xoff_units::{Time, state};

use crate::layout::Layout;

/// Which numbers grow together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Group {
    /// None: they have to be equal.
    Plain,
    /// Points in time.
    Time,
    /// Byte offsets of a flow.
    Flow(u32),
    /// Counters of a link and class, by the port that transmits there.
    Counter(u32, u8),
    /// Second counters of a link and class.
    Number(u32, u8),
}

/// A state.
pub(super) type Words = Vec<(Group, u64)>;

/// How much each group has grown.
pub(super) type Growth = FxHashMap<Group, u64>;

/// Why no words were written.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The state is another one.
    Differs,
    /// This cannot be written.
    Unwritten(String),
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{self:?}")
    }
}
impl std::error::Error for Stop {}
impl ser::Error for Stop {
    fn custom<T: fmt::Display>(what: T) -> Stop {
        Stop::Unwritten(what.to_string())
    }
}

/// Where words go.
pub(super) enum Out<'w> {
    /// They are kept.
    Keep(&'w mut Words),
    /// They are compared with those of an earlier time, up to the first that differs.
    Compare { with: &'w [(Group, u64)], at: usize, growth: Growth },
}

/// What the next number is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Plain,
    Time,
    Deadline,
    Sequence,
    Counter,
    Number,
    Ticks,
    Flow,
    Frame,
    List,
}

/// Writes states as words.
pub(super) struct Writer<'w> {
    pub out: Out<'w>,
    pub frames: &'w FrameStore,
    layout: &'w Layout,
    /// Everything before this time has happened.
    at: Time,
    meaning: Meaning,
    flow: u32,
    /// The port at hand, counted over the whole network, and whether the link that leads to it is meant instead of its own.
    port: u32,
    of_feeder: bool,
    class: u8,
    /// The next port of the node at hand, and the next class of the port at hand.
    next_port: u32,
    next_class: u8,
    /// Words written.
    pub count: usize,
}

impl<'w> Writer<'w> {
    pub fn new(out: Out<'w>, frames: &'w FrameStore, layout: &'w Layout, at: Time) -> Writer<'w> {
        let meaning = Meaning::Plain;
        Writer { out, frames, layout, at, meaning, flow: 0, port: 0, of_feeder: false, class: 0, next_port: 0, next_class: 0, count: 0 }
    }

    /// A node, by its number.
    pub fn node(&mut self, node: u32, state: &impl Serialize) -> Result<(), Stop> {
        self.next_port = self.layout.ports.of(node, 0);
        state.serialize(&mut *self)
    }

    /// A frame that arrives at a port.
    pub fn arriving(&mut self, port: u32, frame: u32) -> Result<(), Stop> {
        (self.port, self.of_feeder) = (port, false);
        self.frame(&self.frames[frame])
    }

    /// One word.
    pub fn put(&mut self, group: Group, value: u64) -> Result<(), Stop> {
        self.count += 1;
        match &mut self.out {
            Out::Keep(words) => words.push((group, value)),
            Out::Compare { with, at, growth } => {
                let Some(&(g, before)) = with.get(*at) else { return Err(Stop::Differs) };
                *at += 1;
                let grown = value.wrapping_sub(before);
                let same = g == group && *growth.entry(group).or_insert(grown) == grown;
                if !same || group == Group::Plain && grown != 0 {
                    return Err(Stop::Differs);
                }
            }
        }
        Ok(())
    }

    fn frame(&mut self, frame: &Frame) -> Result<(), Stop> {
        let (flow, class) = (self.flow, self.class);
        self.class = frame.class();
        frame.serialize(&mut *self)?;
        (self.flow, self.class) = (flow, class);
        Ok(())
    }

    /// The link that counters belong to, by the port that transmits there.
    fn link(&self) -> u32 {
        if self.of_feeder { self.layout.ports.peer(self.port) } else { self.port }
    }

    fn number(&mut self, value: u64) -> Result<(), Stop> {
        let never = value == Time::NEVER.0;
        match std::mem::replace(&mut self.meaning, Meaning::Plain) {
            Meaning::Time if !never => self.put(Group::Time, value),
            Meaning::Deadline if value < self.at.0 => self.put(Group::Plain, 0),
            Meaning::Deadline if !never => self.put(Group::Time, value),
            Meaning::Sequence => self.put(Group::Flow(self.flow), value),
            Meaning::Counter => self.put(Group::Counter(self.link(), self.class), value),
            Meaning::Number => self.put(Group::Number(self.link(), self.class), value),
            Meaning::Ticks => self.put(Group::Plain, self.at.0 % value.max(1)),
            Meaning::Flow => {
                self.flow = value as u32;
                self.put(Group::Plain, value)
            }
            Meaning::Frame => self.frame(&self.frames[value as u32]),
            Meaning::List => {
                let frames = self.frames;
                for frame in frames.list(value as u32) {
                    self.put(Group::Plain, 1)?;
                    self.frame(frame)?;
                }
                self.put(Group::Plain, 0)
            }
            Meaning::Plain | Meaning::Time | Meaning::Deadline => self.put(Group::Plain, value),
        }
    }
}

/// A structure, whose fields follow.
type Fields<'a, 'w> = &'a mut Writer<'w>;

macro_rules! numbers {
    ($($name:ident: $t:ty),+) => {
        $(fn $name(self, v: $t) -> Result<(), Stop> {
            self.number(v as u64)
        })+
    };
}

impl<'a, 'w> ser::Serializer for &'a mut Writer<'w> {
    type Ok = ();
    type Error = Stop;
    type SerializeSeq = Fields<'a, 'w>;
    type SerializeTuple = Fields<'a, 'w>;
    type SerializeTupleStruct = Fields<'a, 'w>;
    type SerializeTupleVariant = Fields<'a, 'w>;
    type SerializeMap = Fields<'a, 'w>;
    type SerializeStruct = Fields<'a, 'w>;
    type SerializeStructVariant = Fields<'a, 'w>;

    numbers!(
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_char: char
    );
    fn serialize_f32(self, v: f32) -> Result<(), Stop> {
        self.number(v.to_bits() as u64)
    }
    fn serialize_f64(self, v: f64) -> Result<(), Stop> {
        self.number(v.to_bits())
    }
    fn serialize_str(self, v: &str) -> Result<(), Stop> {
        self.serialize_bytes(v.as_bytes())
    }
    fn serialize_bytes(self, v: &[u8]) -> Result<(), Stop> {
        self.put(Group::Plain, v.len() as u64)?;
        v.iter().try_for_each(|&b| self.put(Group::Plain, b as u64))
    }
    fn serialize_none(self) -> Result<(), Stop> {
        self.put(Group::Plain, 0)
    }
    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Result<(), Stop> {
        self.put(Group::Plain, 1)?;
        value.serialize(self)
    }
    fn serialize_unit(self) -> Result<(), Stop> {
        Ok(())
    }
    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Stop> {
        Ok(())
    }
    fn serialize_unit_variant(self, _: &'static str, variant: u32, _: &'static str) -> Result<(), Stop> {
        self.put(Group::Plain, variant as u64)
    }
    fn serialize_newtype_struct<T: ?Sized + Serialize>(self, name: &'static str, value: &T) -> Result<(), Stop> {
        if name == state::FEEDER {
            let before = std::mem::replace(&mut self.of_feeder, true);
            value.serialize(&mut *self)?;
            self.of_feeder = before;
            return Ok(());
        }
        self.meaning = match name {
            "Time" => Meaning::Time,
            state::DEADLINE => Meaning::Deadline,
            state::SEQUENCE => Meaning::Sequence,
            state::COUNTER => Meaning::Counter,
            state::NUMBER => Meaning::Number,
            state::TICKS => Meaning::Ticks,
            state::FLOW => Meaning::Flow,
            state::FRAME => Meaning::Frame,
            FrameList::NAME => Meaning::List,
            _ => Meaning::Plain,
        };
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        variant: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), Stop> {
        self.put(Group::Plain, variant as u64)?;
        value.serialize(self)
    }
    fn serialize_seq(self, len: Option<usize>) -> Result<Fields<'a, 'w>, Stop> {
        self.put(Group::Plain, len.map_or(u64::MAX, |n| n as u64))?;
        Ok(self)
    }
    fn serialize_tuple(self, _: usize) -> Result<Fields<'a, 'w>, Stop> {
        Ok(self)
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Fields<'a, 'w>, Stop> {
        Ok(self)
    }
    fn serialize_tuple_variant(self, _: &'static str, variant: u32, _: &'static str, _: usize) -> Result<Fields<'a, 'w>, Stop> {
        self.put(Group::Plain, variant as u64)?;
        Ok(self)
    }
    fn serialize_map(self, len: Option<usize>) -> Result<Fields<'a, 'w>, Stop> {
        self.serialize_seq(len)
    }
    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Fields<'a, 'w>, Stop> {
        match name {
            "Port" => {
                (self.port, self.next_class) = (self.next_port, 0);
                self.next_port += 1;
            }
            "ClassState" => {
                self.class = self.next_class;
                self.next_class += 1;
            }
            _ => {}
        }
        Ok(self)
    }
    fn serialize_struct_variant(self, _: &'static str, variant: u32, _: &'static str, _: usize) -> Result<Fields<'a, 'w>, Stop> {
        self.put(Group::Plain, variant as u64)?;
        Ok(self)
    }
}

macro_rules! fields {
    ($($trait:ident: $($method:ident($($name:ident: $t:ty),*))+;)+) => {
        $(impl ser::$trait for Fields<'_, '_> {
            type Ok = ();
            type Error = Stop;
            $(fn $method<T: ?Sized + Serialize>(&mut self, $($name: $t,)* value: &T) -> Result<(), Stop> {
                value.serialize(&mut **self)
            })+
            fn end(self) -> Result<(), Stop> {
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
