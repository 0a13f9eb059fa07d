//! The bytes of a Perfetto trace: a file is packets, one behind the other, each a protobuf message.
//!
//! ```text
//!   Trace { packet = 1: TracePacket }
//!   TracePacket { timestamp = 8 [ns], sequence = 10, flags = 13, track_event = 11 | track_descriptor = 60, first = 87 }
//! ```
//!
//! Names and numbers are those of protos/perfetto/trace in google/perfetto (Apache-2.0). The few
//! messages that are needed are written by hand.

use std::io::{self, Write};

/// Kinds of field on the wire (protobuf encoding).
const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;

/// The one sequence of packets in the file; any number but 0.
const SEQUENCE: u64 = 1;

/// Quantity of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes, which the UI writes as kB and MB.
    Bytes,
    /// Anything else, by its name.
    Named(&'static str),
}

/// Kind of a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackKind {
    /// Other tracks: a process, as Perfetto calls it, with its number.
    Process(u32),
    /// Other tracks.
    Group,
    /// Slices and instants.
    Slices,
    /// A number over time.
    Counter(Unit),
}

/// A track to be described.
#[derive(Clone, Copy, Debug)]
pub struct Track<'a> {
    /// Number of the track, not 0.
    pub uuid: u64,
    /// The track that it is below; 0: none.
    pub parent: u64,
    /// Position among the tracks below the same parent.
    pub rank: u64,
    /// Name.
    pub name: &'a str,
    /// Kind.
    pub kind: TrackKind,
}

/// Kind of an event on a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A slice begins.
    Begin,
    /// The slice that began last ends.
    End,
    /// Something happens, without length.
    Instant,
}

/// A value next to an event.
#[derive(Clone, Copy, Debug)]
pub enum Annotation<'a> {
    /// A whole number.
    Number(u64),
    /// Any number.
    Float(f64),
    /// Text.
    Text(&'a str),
}

/// An event to be written.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// Time [ns].
    pub ns: u64,
    /// The track that it is on.
    pub track: u64,
    /// Kind.
    pub kind: EventKind,
    /// Name; empty: none.
    pub name: &'a str,
    /// Category, by which the UI can search.
    pub category: &'a str,
    /// Arrows that begin here.
    pub begins: &'a [u64],
    /// Arrows that end here.
    pub ends: &'a [u64],
    /// Details of a selected event.
    pub annotations: &'a [(&'a str, Annotation<'a>)],
}

/// Writes packets.
#[derive(Debug)]
pub struct Packets<W> {
    to: W,
    first: bool,
    /// A packet, and a message in it: kept for their memory.
    packet: Vec<u8>,
    message: Vec<u8>,
    nested: Vec<u8>,
}

impl<W: Write> Packets<W> {
    /// An empty trace.
    pub fn new(to: W) -> Self {
        Packets { to, first: true, packet: Vec::new(), message: Vec::new(), nested: Vec::new() }
    }

    /// Describes a track: once, before the first event on it.
    pub fn track(&mut self, t: &Track<'_>) -> io::Result<()> {
        let m = &mut self.message;
        m.clear();
        number(m, 1, t.uuid);
        self.nested.clear();
        match t.kind {
            TrackKind::Process(pid) => {
                number(&mut self.nested, 1, pid.into());
                bytes(&mut self.nested, 6, t.name.as_bytes());
                bytes(m, 3, &self.nested);
            }
            TrackKind::Counter(unit) => {
                match unit {
                    Unit::Bytes => number(&mut self.nested, 3, 3),
                    Unit::Named(name) => bytes(&mut self.nested, 6, name.as_bytes()),
                }
                bytes(m, 8, &self.nested);
            }
            TrackKind::Group | TrackKind::Slices => {}
        }
        bytes(m, 2, t.name.as_bytes());
        if t.parent != 0 {
            number(m, 5, t.parent);
        }
        // Tracks below this one in the order of their rank; two of one name stay two.
        number(m, 11, 3);
        number(m, 12, t.rank);
        number(m, 15, 2);
        self.packet(None, 60)
    }

    /// Writes an event.
    pub fn event(&mut self, e: &Event<'_>) -> io::Result<()> {
        let m = &mut self.message;
        m.clear();
        let kind = match e.kind {
            EventKind::Begin => 1,
            EventKind::End => 2,
            EventKind::Instant => 3,
        };
        number(m, 9, kind);
        number(m, 11, e.track);
        if !e.category.is_empty() {
            bytes(m, 22, e.category.as_bytes());
        }
        if !e.name.is_empty() {
            bytes(m, 23, e.name.as_bytes());
        }
        e.begins.iter().for_each(|id| fixed(m, 47, *id));
        e.ends.iter().for_each(|id| fixed(m, 48, *id));
        for (name, value) in e.annotations {
            self.nested.clear();
            bytes(&mut self.nested, 10, name.as_bytes());
            match value {
                Annotation::Number(n) => number(&mut self.nested, 3, *n),
                Annotation::Float(x) => fixed(&mut self.nested, 5, x.to_bits()),
                Annotation::Text(text) => bytes(&mut self.nested, 6, text.as_bytes()),
            }
            bytes(m, 4, &self.nested);
        }
        self.packet(Some(e.ns), 11)
    }

    /// Writes the value of a counter from a time [ns] on.
    pub fn count(&mut self, ns: u64, track: u64, value: i64) -> io::Result<()> {
        let m = &mut self.message;
        m.clear();
        number(m, 9, 4);
        number(m, 11, track);
        number(m, 30, value as u64);
        self.packet(Some(ns), 11)
    }

    /// Writes `self.message` as field `field` of a packet.
    fn packet(&mut self, ns: Option<u64>, field: u64) -> io::Result<()> {
        let p = &mut self.packet;
        p.clear();
        if let Some(ns) = ns {
            number(p, 8, ns);
        }
        number(p, 10, SEQUENCE);
        // The first packet begins the state of its sequence, the others need it.
        number(p, 13, if self.first { 1 } else { 2 });
        if std::mem::take(&mut self.first) {
            number(p, 87, 1);
        }
        bytes(p, field, &self.message);
        // Tag and length: at most 11 bytes.
        self.nested.clear();
        varint(&mut self.nested, 1 << 3 | BYTES);
        varint(&mut self.nested, p.len() as u64);
        self.to.write_all(&self.nested)?;
        self.to.write_all(p)
    }

    /// Returns the writer.
    pub fn into_inner(self) -> W {
        self.to
    }
}

fn varint(to: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        to.push(n as u8 | 0x80);
        n >>= 7;
    }
    to.push(n as u8);
}

fn number(to: &mut Vec<u8>, field: u64, n: u64) {
    varint(to, field << 3 | VARINT);
    varint(to, n);
}

fn fixed(to: &mut Vec<u8>, field: u64, n: u64) {
    varint(to, field << 3 | FIXED64);
    to.extend_from_slice(&n.to_le_bytes());
}

fn bytes(to: &mut Vec<u8>, field: u64, content: &[u8]) {
    varint(to, field << 3 | BYTES);
    varint(to, content.len() as u64);
    to.extend_from_slice(content);
}
