//! Reads a Perfetto trace back, by a reader of our own.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// A value on the wire of protobuf.
#[derive(Debug)]
enum Wire<'b> {
    Number(u64),
    Bytes(&'b [u8]),
}

impl<'b> Wire<'b> {
    fn number(&self) -> u64 {
        if let Wire::Number(n) = self { *n } else { panic!("{self:?}") }
    }
    fn bytes(&self) -> &'b [u8] {
        if let Wire::Bytes(b) = self { b } else { panic!("{self:?}") }
    }
    fn text(&self) -> String {
        String::from_utf8(self.bytes().to_vec()).unwrap()
    }
}

/// The fields of a message.
fn fields(mut b: &[u8]) -> Vec<(u64, Wire<'_>)> {
    fn varint(b: &mut &[u8]) -> u64 {
        let (mut n, mut shift) = (0, 0);
        loop {
            let (first, rest) = b.split_first().expect("a whole number");
            *b = rest;
            n |= u64::from(first & 0x7f) << shift;
            shift += 7;
            if first & 0x80 == 0 {
                return n;
            }
        }
    }
    let mut out = Vec::new();
    while !b.is_empty() {
        let tag = varint(&mut b);
        let value = match tag & 7 {
            0 => Wire::Number(varint(&mut b)),
            1 => {
                let (eight, rest) = b.split_at(8);
                b = rest;
                Wire::Number(u64::from_le_bytes(eight.try_into().unwrap()))
            }
            2 => {
                let len = varint(&mut b) as usize;
                let (content, rest) = b.split_at(len);
                b = rest;
                Wire::Bytes(content)
            }
            other => panic!("wire type {other}"),
        };
        out.push((tag >> 3, value));
    }
    out
}

/// Slice of a track: begin and end [ns], name, exact begin [ps].
pub type Slice = (u64, Option<u64>, String, Option<u64>);

/// A trace, read back.
#[derive(Default)]
pub struct Trace {
    /// Path of each track by its number: node, port, what.
    pub tracks: HashMap<u64, String>,
    /// Counters: time [ns] and value, by path.
    pub counters: BTreeMap<String, Vec<(u64, u64)>>,
    /// Slices by path.
    pub slices: BTreeMap<String, Vec<Slice>>,
    /// Instants: time [ns], name; by path.
    pub instants: BTreeMap<String, Vec<(u64, String)>>,
    /// Arrows: where each begins and where it ends: time [ns] and path.
    pub arrows: BTreeMap<u64, [Option<(u64, String)>; 2]>,
}

/// Reads a trace.
pub fn trace(file: &Path) -> Trace {
    let bytes = std::fs::read(file).unwrap();
    let mut t = Trace::default();
    for (i, (tag, packet)) in fields(&bytes).iter().enumerate() {
        assert_eq!(*tag, 1);
        let f: HashMap<u64, Wire> = fields(packet.bytes()).into_iter().collect();
        assert_eq!(
            (f[&10].number(), f[&13].number(), f.contains_key(&87)),
            (1, if i == 0 { 1 } else { 2 }, i == 0),
            "packet {i}"
        );
        match f.get(&60) {
            Some(track) => {
                let d: HashMap<u64, Wire> = fields(track.bytes()).into_iter().collect();
                let parent =
                    d.get(&5).map_or(String::new(), |p| format!("{} | ", t.tracks[&p.number()]));
                let known = t.tracks.insert(d[&1].number(), format!("{parent}{}", d[&2].text()));
                assert!(known.is_none() && d[&1].number() > 0, "a track is described once");
            }
            None => event(&mut t, f[&8].number(), f[&11].bytes()),
        }
    }
    t
}

fn event(t: &mut Trace, ns: u64, event: &[u8]) {
    let all = fields(event);
    let get = |field: u64| all.iter().find(|(f, _)| *f == field).map(|(_, v)| v);
    let track = t.tracks[&get(11).unwrap().number()].clone();
    let name = get(23).map(Wire::text).unwrap_or_default();
    let note = |wanted: &str| {
        let notes = all
            .iter()
            .filter(|(f, _)| *f == 4)
            .map(|(_, v)| fields(v.bytes()).into_iter().collect::<HashMap<_, _>>());
        notes.filter(|n| n[&10].text() == wanted).find_map(|n| n.get(&3).map(Wire::number))
    };
    match get(9).unwrap().number() {
        1 => t.slices.entry(track.clone()).or_default().push((
            ns,
            None,
            name,
            note("start_ps").or(note("start_ps")),
        )),
        // A table's slices are written whole, so an end belongs to the last begin of its track.
        2 => t.slices.get_mut(&track).unwrap().last_mut().unwrap().1 = Some(ns),
        3 => t.instants.entry(track.clone()).or_default().push((ns, name)),
        4 => t.counters.entry(track.clone()).or_default().push((ns, get(30).unwrap().number())),
        other => panic!("event of type {other}"),
    }
    for (field, place) in [(47, 0), (48, 1)] {
        for (_, id) in all.iter().filter(|(f, _)| *f == field) {
            let ends = &mut t.arrows.entry(id.number()).or_default()[place];
            assert!(
                ends.replace((ns, track.clone())).is_none(),
                "an arrow has one begin and one end"
            );
        }
    }
}
