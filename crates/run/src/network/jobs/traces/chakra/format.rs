//! The files of Chakra: messages of protocol buffers, each after its length, perhaps all of it in
//! gzip. Field numbers are those of `et_def.proto`.

use std::io::{BufRead, Read};

use flate2::bufread::MultiGzDecoder;
use prost::Message;
use xoff_net::jobs::{BYTES_MAX, Kind};

/// A message of a file holds no more [bytes].
const MESSAGE_MAX: u64 = 1 << 30;

/// The first message of a file.
#[derive(Clone, PartialEq, Message)]
pub(super) struct GlobalMetadata {
    #[prost(string, tag = "1")]
    pub version: String,
    #[prost(message, repeated, tag = "2")]
    pub attributes: Vec<Attribute>,
}

/// An operation of a rank.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Node {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(int32, tag = "3")]
    pub kind: i32,
    #[prost(uint64, repeated, tag = "4")]
    pub control: Vec<u64>,
    #[prost(uint64, repeated, tag = "5")]
    pub data: Vec<u64>,
    #[prost(uint64, tag = "7")]
    pub duration_us: u64,
    #[prost(message, repeated, tag = "10")]
    pub attributes: Vec<Attribute>,
}

/// A property of an operation: of its value, whose type the file chooses, the one field that is
/// there.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Attribute {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(double, optional, tag = "3")]
    pub double: Option<f64>,
    #[prost(float, optional, tag = "5")]
    pub float: Option<f32>,
    #[prost(int32, optional, tag = "7")]
    pub int32: Option<i32>,
    #[prost(int64, optional, tag = "9")]
    pub int64: Option<i64>,
    #[prost(uint32, optional, tag = "11")]
    pub uint32: Option<u32>,
    #[prost(uint64, optional, tag = "13")]
    pub uint64: Option<u64>,
    #[prost(sint32, optional, tag = "15")]
    pub sint32: Option<i32>,
    #[prost(sint64, optional, tag = "17")]
    pub sint64: Option<i64>,
    #[prost(fixed32, optional, tag = "19")]
    pub fixed32: Option<u32>,
    #[prost(fixed64, optional, tag = "21")]
    pub fixed64: Option<u64>,
    #[prost(sfixed32, optional, tag = "23")]
    pub sfixed32: Option<i32>,
    #[prost(sfixed64, optional, tag = "25")]
    pub sfixed64: Option<i64>,
    #[prost(bool, optional, tag = "27")]
    pub flag: Option<bool>,
    #[prost(message, optional, tag = "28")]
    pub flags: Option<Flags>,
    #[prost(string, optional, tag = "29")]
    pub text: Option<String>,
}

/// Several truth values.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Flags {
    #[prost(bool, repeated, tag = "1")]
    pub values: Vec<bool>,
}

/// Types of a node.
pub(super) const METADATA: i32 = 1;
pub(super) const MEMORY_LOAD: i32 = 2;
pub(super) const MEMORY_STORE: i32 = 3;
pub(super) const COMPUTE: i32 = 4;
pub(super) const SEND: i32 = 5;
pub(super) const RECEIVE: i32 = 6;
pub(super) const COLLECTIVE: i32 = 7;

/// Problem, and remedy.
pub(super) type Bad = (String, String);

pub(super) fn bad<T>(what: impl Into<String>, hint: impl Into<String>) -> Result<T, Bad> {
    Err((what.into(), hint.into()))
}

impl Attribute {
    /// Value as a whole number, from any type of number.
    pub fn integer(&self) -> Option<i128> {
        let signed =
            [self.int64, self.sint64, self.sfixed64].into_iter().flatten().next().map(i128::from);
        let unsigned = [self.uint64, self.fixed64].into_iter().flatten().next().map(i128::from);
        let short =
            [self.int32, self.sint32, self.sfixed32].into_iter().flatten().next().map(i128::from);
        let short_unsigned =
            [self.uint32, self.fixed32].into_iter().flatten().next().map(i128::from);
        signed.or(unsigned).or(short).or(short_unsigned)
    }
}

impl Node {
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|a| a.name == name)
    }

    pub fn integer(&self, name: &str) -> Result<Option<i128>, Bad> {
        let Some(a) = self.attribute(name) else { return Ok(None) };
        match a.integer() {
            Some(n) => Ok(Some(n)),
            None if a.double.is_some() || a.float.is_some() => bad(
                format!("its {name} is a floating-point number"),
                "expected any type of whole number",
            ),
            None => bad(format!("its {name} is not a number"), "expected any type of whole number"),
        }
    }

    /// Bytes of a message or a collective.
    pub fn size(&self) -> Result<u64, Bad> {
        match self.integer("comm_size")? {
            None => bad("it has no comm_size", "expected the size in bytes"),
            Some(n) => match u64::try_from(n).ok().filter(|&n| n <= BYTES_MAX) {
                Some(n) => Ok(n),
                None => bad(format!("its comm_size is {n} B"), "expected 0 to 1 PiB"),
            },
        }
    }

    /// Rank at the other end of a message.
    pub fn peer(&self, name: &str, ranks: u32) -> Result<u32, Bad> {
        match self.integer(name)? {
            None => bad(format!("it has no {name}"), "expected the other rank of the message"),
            Some(n) => match u32::try_from(n).ok().filter(|&n| n < ranks) {
                Some(n) => Ok(n),
                None => bad(
                    format!("there is no rank {n}"),
                    format!("the trace has the ranks 0 to {}", ranks - 1),
                ),
            },
        }
    }

    /// Tags of 32 bits, of either sign.
    pub fn tag(&self) -> Result<u64, Bad> {
        let tag = self.integer("comm_tag")?.unwrap_or(0);
        match i32::try_from(tag).map(|t| t as u32).or(u32::try_from(tag)) {
            Ok(tag) => Ok(tag.into()),
            Err(_) => bad(format!("its comm_tag is {tag}"), "expected 32 bits"),
        }
    }

    pub fn called(&self) -> String {
        called(self.id, &self.name)
    }
}

/// Name of a node in messages.
pub(super) fn called(id: u64, name: &str) -> String {
    if name.is_empty() { format!("node {id}") } else { format!("node {id} '{name}'") }
}

/// Kind of a collective, by its `comm_type`.
pub(super) fn kind_of(number: i128) -> Result<Kind, Bad> {
    Ok(match number {
        0 => Kind::AllReduce,
        1 => Kind::Reduce,
        2 => Kind::AllGather,
        5 => Kind::Broadcast,
        6 => Kind::AllToAll,
        7 | 8 => Kind::ReduceScatter,
        9 => Kind::Barrier,
        3 | 4 => {
            let name = if number == 3 { "a gather" } else { "a scatter" };
            return bad(
                format!("it is {name} (comm_type {number}), which xoff does not model"),
                "write it as sends and receives",
            );
        }
        _ => {
            return bad(
                format!("there is no comm_type {number}"),
                "expected 0 to 9, the types of collectives in et_def.proto",
            );
        }
    })
}

/// The messages of a file, each after its length.
pub(super) struct Messages<'f> {
    from: Box<dyn BufRead + 'f>,
    buffer: Vec<u8>,
}

impl<'f> Messages<'f> {
    pub fn of(mut file: impl BufRead + 'f) -> Messages<'f> {
        let zipped = file.fill_buf().is_ok_and(|head| head.starts_with(&[0x1f, 0x8b]));
        let from: Box<dyn BufRead> = if zipped {
            Box::new(std::io::BufReader::new(MultiGzDecoder::new(file)))
        } else {
            Box::new(file)
        };
        Messages { from, buffer: Vec::new() }
    }

    /// The length of the next one; `None`: the file ends.
    fn length(&mut self) -> Result<Option<u64>, Bad> {
        let mut length = 0u64;
        for nth in 0..5 {
            let mut byte = [0];
            match self.from.read(&mut byte) {
                Ok(0) if nth == 0 => return Ok(None),
                Ok(0) => {
                    return bad(
                        "the file ends within the length of a message",
                        "the file is truncated",
                    );
                }
                Ok(_) => {}
                Err(e) => {
                    return bad(
                        format!("it cannot be unpacked: {e}"),
                        "expected Chakra's messages, or gzip of them",
                    );
                }
            }
            length |= u64::from(byte[0] & 0x7f) << (7 * nth);
            if byte[0] < 0x80 {
                return Ok(Some(length));
            }
        }
        bad("the length of a message is longer than 32 bits", "check that this is a Chakra trace")
    }

    pub fn next<M: Message + Default>(&mut self, what: &str) -> Result<Option<M>, Bad> {
        let Some(length) = self.length()? else { return Ok(None) };
        if length > MESSAGE_MAX {
            return bad(
                format!("a message of {length} B"),
                "expected at most 1 GiB; check that this is a Chakra trace",
            );
        }
        self.buffer.clear();
        if let Err(e) = (&mut self.from).take(length).read_to_end(&mut self.buffer) {
            return bad(
                format!("it cannot be unpacked: {e}"),
                "expected Chakra's messages, or gzip of them",
            );
        }
        let there = self.buffer.len() as u64;
        if there < length {
            return bad(
                format!("the file ends after {there} of the {length} B of a message"),
                "the file is truncated",
            );
        }
        match M::decode(&self.buffer[..]) {
            Ok(message) => Ok(Some(message)),
            Err(e) => bad(
                format!("the message is not {what}: {e}"),
                "the first message is GlobalMetadata, all others are nodes (et_def.proto)",
            ),
        }
    }
}
