//! Mutants of captures: a replay that calls one of them whole and identical is no evidence.

use std::io::Write;

use xoff_real::netio::Whole;
use xoff_real::switchd::Link;

use super::*;

/// Number of mutants. `make test` tries a few hundred, and `XOFF_TEST_MUTANTS=10000` more.
fn wanted() -> u64 {
    std::env::var("XOFF_TEST_MUTANTS").map_or(400, |n| n.parse().expect("a number of mutants"))
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }
    /// A number below `n`.
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

/// A run whose frames are known.
struct Run {
    name: &'static str,
    links: Vec<Link>,
    facts: capture::Facts,
    log: Vec<Captured>,
}

impl Run {
    /// A run of all nodes of the ring, or of the view that one of them had.
    fn new(name: &'static str, settings: &[&str], only: Option<&str>) -> Run {
        let s = scenario(&[&["run.duration=6ms"], settings].concat());
        let mut b = Bench::new(&s, &Real::default());
        b.run(Time::from_us(6_000), &mut whole);
        let here: Vec<bool> =
            s.topology.nodes.iter().map(|n| only.is_none_or(|only| n.name == only)).collect();
        let all = wiring::links(&s, &vec![true; here.len()], |_, _| false);
        let links = wiring::links(&s, &here, |_, _| false);
        let known = |link: usize| links.iter().position(|l| *l == all[link]);
        let log = std::mem::take(&mut b.log)
            .into_iter()
            .filter_map(|c| Some(Captured { link: known(c.link)?, ..c }))
            .collect();
        let facts = capture::Facts::of(&s, &here, &links, &Real::default());
        Run { name, links, facts, log }
    }

    fn written(&self, log: &[Captured]) -> Vec<u8> {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut to = capture::create(file.path(), &self.links, &self.facts, 0).unwrap();
        for c in log {
            let direction = if c.inbound { Direction::Inbound } else { Direction::Outbound };
            to.write(c.at.0 / 1000, c.link, direction, &c.bytes).unwrap();
        }
        to.finish().unwrap();
        std::fs::read(file.path()).unwrap()
    }

    fn all() -> Vec<Run> {
        vec![
            Run::new("ring, gfc-buffer", &["flow_control.gfc-buffer.b1=20KB"], None),
            Run::new(
                "ring, pfc",
                &["flow_control.kind=pfc", "flow_control.pfc.xoff=9KB", "flow_control.pfc.xon=6KB"],
                None,
            ),
            Run::new("one switch, cbfc", &["flow_control.kind=cbfc"], Some("S1")),
            Run::new(
                "one switch, pffc",
                &["flow_control.kind=pffc", "switch.discipline=fifo"],
                Some("S2"),
            ),
        ]
    }
}

/// Answer of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Answer {
    /// The file cannot be read, with the reason.
    Unreadable,
    /// A difference is named.
    Different,
    /// Nothing differs as far as the file goes, and its end is missing.
    NotWhole,
    /// Identical and complete.
    Yes,
}

fn answer(bytes: &[u8]) -> Answer {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    match capture::replay(file.path(), |_| true) {
        Err(_) => Answer::Unreadable,
        Ok((_, seen, _)) if seen.difference.is_some() => Answer::Different,
        Ok((_, _, whole)) if whole != Whole::Yes => Answer::NotWhole,
        Ok(_) => Answer::Yes,
    }
}

/// Starts of all blocks, and the end of the file.
fn blocks(bytes: &[u8]) -> Vec<usize> {
    let mut starts = vec![0];
    while let Some(&at) = starts.last().filter(|at| **at < bytes.len()) {
        starts.push(at + u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize);
    }
    starts
}

/// Damage to a file. Each kind returns false where it would change nothing.
type Damage = fn(&mut Vec<u8>, &mut Random, &[u8]) -> bool;

/// A block and its place.
fn block(bytes: &[u8], r: &mut Random) -> std::ops::Range<usize> {
    let starts = blocks(bytes);
    let nth = r.below(starts.len() - 1);
    starts[nth]..starts[nth + 1]
}

/// A packet block; the others are the section, interfaces and the end.
fn packet(bytes: &[u8], r: &mut Random) -> std::ops::Range<usize> {
    loop {
        let at = block(bytes, r);
        if bytes[at.start] == 6 {
            return at;
        }
    }
}

const DAMAGE: [(&str, Damage); 18] = [
    ("a bit flipped", |b, r, _| {
        let bit = r.below(b.len() * 8);
        b[bit / 8] ^= 1 << (bit % 8);
        true
    }),
    ("a bit of a frame flipped", |b, r, _| {
        let at = packet(b, r);
        let bit = r.below((at.len() - 32) * 8);
        b[at.start + 28 + bit / 8] ^= 1 << (bit % 8);
        true
    }),
    ("a bit of the first or last block flipped", |b, r, _| {
        let starts = blocks(b);
        let at = if r.below(2) == 0 { 0..starts[1] } else { starts[starts.len() - 2]..b.len() };
        let bit = r.below(at.len() * 8);
        b[at.start + bit / 8] ^= 1 << (bit % 8);
        true
    }),
    ("up to 64 bytes overwritten", |b, r, _| {
        let from = r.below(b.len());
        let to = (from + 1 + r.below(64)).min(b.len());
        b[from..to].fill_with(|| r.next() as u8);
        true
    }),
    ("a sector zeroed", |b, r, _| {
        let from = r.below(b.len()) / 512 * 512;
        let to = (from + 512).min(b.len());
        b[from..to].fill(0);
        true
    }),
    ("cut anywhere", |b, r, _| {
        b.truncate(r.below(b.len()));
        true
    }),
    ("cut behind a block", |b, r, _| {
        b.truncate(block(b, r).start);
        true
    }),
    ("a block dropped", |b, r, _| {
        b.drain(block(b, r));
        true
    }),
    ("a block twice", |b, r, _| {
        let at = block(b, r);
        b.splice(at.end..at.end, b[at].to_vec());
        true
    }),
    ("two neighbours swapped", |b, r, _| {
        let starts = blocks(b);
        let nth = r.below(starts.len() - 2);
        b[starts[nth]..starts[nth + 2]].rotate_left(starts[nth + 1] - starts[nth]);
        true
    }),
    ("a block moved", |b, r, _| {
        let (from, to) = (block(b, r), block(b, r).start);
        let moved = b[from.clone()].to_vec();
        if to > from.start {
            b.splice(to..to, moved);
            b.drain(from);
        } else {
            b.drain(from);
            b.splice(to..to, moved);
        }
        true
    }),
    ("a time changed", |b, r, _| {
        let at = packet(b, r).start + 16;
        let old = u32::from_le_bytes(b[at..at + 4].try_into().unwrap());
        let most = 1 << r.below(24);
        let by = 1 + r.below(most) as u32;
        let new = if r.below(2) == 0 { old.wrapping_add(by) } else { old.wrapping_sub(by) };
        b[at..at + 4].copy_from_slice(&new.to_le_bytes());
        true
    }),
    ("another port", |b, r, _| {
        let at = packet(b, r).start + 8;
        b[at] ^= 1 + r.below(3) as u8;
        true
    }),
    ("the other direction", |b, r, _| {
        let at = packet(b, r).end - 12; // flags, end of options, length
        b[at] ^= 3;
        true
    }),
    ("a frame cut to fewer bytes", |b, r, _| {
        let at = packet(b, r);
        let old = b[at.clone()].to_vec();
        let kept = r.below(u32::from_le_bytes(old[20..24].try_into().unwrap()) as usize) / 4 * 4;
        let mut new = [&old[..28 + kept], &old[old.len() - 16..]].concat();
        let len = (new.len() as u32).to_le_bytes();
        new[20..24].copy_from_slice(&(kept as u32).to_le_bytes());
        new[4..8].copy_from_slice(&len);
        let end = new.len() - 4;
        new[end..].copy_from_slice(&len);
        b.splice(at, new);
        true
    }),
    ("bytes inserted", |b, r, _| {
        let at = r.below(b.len() + 1);
        let new: Vec<u8> = (0..1 + r.below(16)).map(|_| r.next() as u8).collect();
        b.splice(at..at, new);
        true
    }),
    ("the end of another run", |b, _, other| {
        let [ours, theirs] = [&b[..], other].map(|x| blocks(x)[blocks(x).len() - 2]);
        b.splice(ours.., other[theirs..].iter().copied());
        true
    }),
    ("a frame of another run", |b, r, other| {
        let (at, theirs) = (block(b, r).start, packet(other, r));
        b.splice(at..at, other[theirs].iter().copied());
        true
    }),
];

/// Damage that a disk, an editor or a cut does: the end of the file names each.
#[test]
fn every_damaged_capture_is_named() {
    let runs = Run::all();
    let files: Vec<Vec<u8>> = runs.iter().map(|run| run.written(&run.log)).collect();
    for (run, file) in runs.iter().zip(&files) {
        assert_eq!(answer(file), Answer::Yes, "{}", run.name);
    }
    let mut r = Random(41);
    let mut counts = BTreeMap::new();
    let mut missed = Vec::new();
    for nth in 0..wanted() as usize {
        let (kind, damage) = DAMAGE[nth % DAMAGE.len()];
        let of = r.below(files.len());
        let other = &files[(of + 1) % files.len()];
        let mut bytes = files[of].clone();
        while !damage(&mut bytes, &mut r, other) || bytes == files[of] {
            bytes.clone_from(&files[of]);
        }
        let answer = answer(&bytes);
        *counts.entry((kind, answer)).or_insert(0u32) += 1;
        if answer == Answer::Yes {
            missed.push(format!("mutant {nth} of {}: {kind}", runs[of].name));
        }
    }
    for ((kind, answer), n) in &counts {
        println!("{kind}: {n} {answer:?}");
    }
    assert!(missed.is_empty(), "{} missed, {missed:?}", missed.len());
}

/// A forgery: other frames under an end that fits them. Returns false where it would change nothing.
type Forgery = fn(&mut Vec<Captured>, usize, &mut Random) -> bool;

/// A change of a time, up to 16 ms.
fn moved(at: Time, r: &mut Random) -> Time {
    let most = 1 << r.below(24);
    let by = 1000 * (1 + r.below(most) as u64);
    Time(if r.below(2) == 0 { at.0.saturating_sub(by) } else { at.0 + by })
}

const FORGERIES: [(&str, Forgery); 9] = [
    ("a bit flipped", |log, at, r| {
        let bit = r.below(log[at].bytes.len() * 8);
        log[at].bytes[bit / 8] ^= 1 << (bit % 8);
        true
    }),
    ("a byte of the filler changed", |log, at, r| {
        let last = log[at].bytes.len() - 1 - r.below(4);
        log[at].bytes[last] ^= 1 + r.below(255) as u8;
        log[at].bytes.len() > 64
    }),
    ("dropped", |log, at, _| {
        log.remove(at);
        true
    }),
    ("twice", |log, at, _| {
        log.insert(at, log[at].clone());
        true
    }),
    ("exchanged with a later one of its port", |log, at, _| {
        let same = |c: &Captured| (c.link, c.inbound) == (log[at].link, log[at].inbound);
        let Some(other) = (at + 1..log.len()).find(|&n| same(&log[n])) else { return false };
        let (first, second) = (log[at].clone(), log[other].clone());
        (log[at].bytes, log[at].len) = (second.bytes, second.len);
        (log[other].bytes, log[other].len) = (first.bytes, first.len);
        true
    }),
    ("at another time", |log, at, r| {
        log[at].at = moved(log[at].at, r);
        true
    }),
    ("at another port", |log, at, r| {
        let links = log.iter().map(|c| c.link).max().unwrap() + 1;
        log[at].link = (log[at].link + 1 + r.below(links - 1)) % links;
        true
    }),
    ("in the other direction", |log, at, _| {
        log[at].inbound ^= true;
        true
    }),
    ("cut short", |log, at, r| {
        let kept = r.below(log[at].bytes.len());
        log[at].bytes.truncate(kept);
        log[at].len = kept;
        true
    }),
];

/// The end of a file has no key, so a forger can write another. Frames that fit no run of the
/// network are named all the same, except for the time of an arrival that nothing depends on. Where
/// a capture lacks the other ends of the cables, an arrival is evidence only if something depends on
/// it.
#[test]
fn forged_captures_are_named_by_their_frames() {
    let runs = Run::all();
    let mut r = Random(1041);
    let mut counts = BTreeMap::new();
    for nth in 0..wanted() as usize {
        let (kind, forge) = FORGERIES[nth % FORGERIES.len()];
        let run = &runs[r.below(runs.len())];
        let (log, frame) = loop {
            let (mut log, at) = (run.log.clone(), r.below(run.log.len()));
            let frame = &run.log[at];
            // The last frame of a port may be under way.
            let port = |c: &Captured| (c.link, c.inbound) == (frame.link, frame.inbound);
            if run.log[at + 1..].iter().any(port) && forge(&mut log, at, &mut r) && log != run.log {
                break (log, frame);
            }
        };
        let network = run.name.starts_with("ring");
        let counted = counts.entry((network, frame.inbound, kind)).or_insert((0u32, 0u32));
        counted.0 += 1;
        if answer(&run.written(&log)) == Answer::Yes {
            counted.1 += 1;
            let arrives = frame.inbound && (!network || kind == "at another time");
            assert!(arrives, "forgery {nth}, {}: {kind}: {frame:?}", run.name);
        }
    }
    for ((network, inbound, kind), (tried, missed)) in &counts {
        let of = if *network { "network" } else { "one switch" };
        let direction = if *inbound { "in" } else { "out" };
        println!("{of}, {direction}, {kind}: {tried} tried, {missed} not named");
    }
}

/// Time and size of the last block of a capture: a million frames into nowhere, with and without.
#[test]
#[ignore = "a measurement: run it alone, with --nocapture"]
fn the_end_of_a_capture_costs_little() {
    use xoff_real::netio::{Capture, CaptureOptions};
    let frame = [0x5A; 1500];
    let time = |sealed| {
        let options = CaptureOptions { sealed, ..CaptureOptions::default() };
        let mut to = Capture::create("/dev/null", &["a"], &options).unwrap();
        let began = std::time::Instant::now();
        (0..1_000_000).for_each(|n| to.write(n, 0, Direction::Inbound, &frame).unwrap());
        to.finish().unwrap();
        began.elapsed().as_nanos() / 1_000_000
    };
    let (mut without, mut with): (Vec<_>, Vec<_>) =
        (0..5).map(|_| (time(false), time(true))).unzip();
    without.sort();
    with.sort();
    println!("{} ns a frame without, {} ns with: medians of five", without[2], with[2]);
    let run = &Run::all()[0];
    let file = run.written(&run.log);
    let starts = blocks(&file);
    println!("{} of {} bytes", file.len() - starts[starts.len() - 2], file.len());
}
