//! GOAL in its text form, as LogGOPSim and ATLAHS have it.
//!
//! ```text
//!   num_ranks 2
//!   rank 0 {
//!   l1: calc 1000 cpu 0              ns; operations of one cpu do not overlap
//!   l2: send 8b to 1 tag 7 cpu 0 nic 0
//!   l3: recv 8b from -1 tag -1       -1: any
//!   l2 requires l1                   after its end; irequires: after its start
//!   }
//! ```
//!
//! A send is over when its last frame starts on the wire, whatever its size: there is no
//! rendezvous. A NIC is chosen by the host, so `nic` chooses among the queue pairs. Indentation and
//! comments behind a statement, at which txt2bin fails, are read. Read line by line, also from
//! gzip, where a job is streamed.

mod binary;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use xoff_net::jobs::{BYTES_MAX, SPAN_MAX, Work};
use xoff_scenario::{Problem, Problems, Source};
use xoff_units::Span;
use xoff_units::paged::PageFile;

use super::labels::Labels;
use super::lines::{Lines, line_of, problem_in};
use super::{Places, RANKS_MAX, Trace};
use crate::network::jobs::room;

pub(in crate::network::jobs) use binary::{is_binary, read_binary};

/// Words of a line with their places.
struct Words<'t> {
    all: Vec<(&'t str, Range<usize>)>,
    at: usize,
    line: Range<usize>,
}

type Bad = (Range<usize>, String, String);

fn bad<T>(place: Range<usize>, what: impl Into<String>, hint: &str) -> Result<T, Bad> {
    Err((place, what.into(), hint.to_owned()))
}

impl<'t> Words<'t> {
    fn of(text: &'t str, from: usize) -> Words<'t> {
        let code = text.split("//").next().unwrap_or("");
        let start = |word: &str| from + (word.as_ptr() as usize - text.as_ptr() as usize);
        let all = code.split_whitespace().map(|w| (w, start(w)..start(w) + w.len())).collect();
        let trimmed = code.trim();
        let begin = if trimmed.is_empty() { from } else { start(trimmed) };
        Words { all, at: 0, line: begin..begin + trimmed.len() }
    }

    fn next(&mut self, expected: &str) -> Result<(&'t str, Range<usize>), Bad> {
        match self.all.get(self.at) {
            Some((word, place)) => {
                self.at += 1;
                Ok((word, place.clone()))
            }
            None => bad(
                self.line.end..self.line.end,
                format!("the line ends before {expected}"),
                "complete it",
            ),
        }
    }

    fn number(&mut self, expected: &str) -> Result<u64, Bad> {
        let (word, place) = self.next(expected)?;
        word.parse().or_else(|_| {
            bad(place, format!("'{word}' is not a number"), &format!("expected {expected}"))
        })
    }

    /// A number, or -1 for any.
    fn number_or_any(&mut self, expected: &str) -> Result<Option<u64>, Bad> {
        if self.all.get(self.at).is_some_and(|w| w.0 == "-1") {
            self.at += 1;
            return Ok(None);
        }
        self.number(expected).map(Some)
    }

    fn word(&mut self, wanted: &str) -> Result<(), Bad> {
        let (word, place) = self.next(&format!("'{wanted}'"))?;
        if word == wanted {
            Ok(())
        } else {
            bad(
                place,
                format!("found '{word}' instead of '{wanted}'"),
                "the order of the words is fixed",
            )
        }
    }

    fn has(&mut self, wanted: &str) -> bool {
        let there = self.all.get(self.at).is_some_and(|w| w.0 == wanted);
        self.at += there as usize;
        there
    }

    fn end(&self, of: &str) -> Result<(), Bad> {
        match self.all.get(self.at) {
            Some((word, place)) => {
                bad(place.clone(), format!("'{word}' is not part of a {of}"), "remove the key")
            }
            None => Ok(()),
        }
    }

    /// A size: digits with `b` behind them.
    fn size(&mut self) -> Result<u64, Bad> {
        let (word, place) = self.next("a size")?;
        match word.strip_suffix('b').and_then(|n| n.parse().ok()) {
            Some(bytes) if bytes > BYTES_MAX => {
                bad(place, format!("a message of {bytes} B"), "expected at most 1 PiB")
            }
            Some(bytes) => Ok(bytes),
            None => bad(
                place,
                format!("'{word}' is not a size"),
                "expected digits and b, such as 1024b",
            ),
        }
    }

    /// `cpu C` and, where there is one, `nic N`.
    fn cpu(&mut self, nic: bool) -> Result<(u16, u16), Bad> {
        let of = |w: &mut Words, key| -> Result<u16, Bad> {
            if !w.has(key) {
                return Ok(0);
            }
            let place = w.all.get(w.at).map_or(w.line.end..w.line.end, |x| x.1.clone());
            match w.number("0 to 255")? {
                n @ 0..=255 => Ok(n as u16),
                n => bad(place, format!("{key} {n}"), "expected 0 to 255"),
            }
        };
        Ok((of(self, "cpu")?, if nic { of(self, "nic")? } else { 0 }))
    }
}

/// A rank that is being read.
struct Block {
    rank: u32,
    labels: Labels,
    /// Start of the block, with its line number.
    opened: (u64, Range<usize>),
}

/// A file while it is read.
struct File {
    trace: Option<Trace>,
    block: Option<Block>,
    /// Ranks before it have been read.
    least: u32,
    /// Places of operations, while there is no page file.
    places: Option<Places>,
    pages: Option<PageFile>,
}

/// Reads a file.
pub(in crate::network::jobs) fn read(source: Arc<Source>) -> Result<Trace, Problems> {
    let text = source.text();
    let mut file = File {
        trace: None,
        block: None,
        least: 0,
        places: Some(Places::Text(source.clone(), Vec::new())),
        pages: None,
    };
    let all = |file: &mut File| {
        let mut offset = 0;
        for (number, line) in (1..).zip(text.split_inclusive('\n')) {
            file.line(line, offset, number)?;
            offset += line.len();
        }
        file.end(text.len()).map_err(|(_, bad)| bad)
    };
    match all(&mut file) {
        Ok(()) => file.trace.ok_or_else(Problems::default),
        Err((place, what, hint)) => Err(Problem::new(what, hint).at(source.place(place)).into()),
    }
}

/// Reads a file line by line, with its operations in pages.
pub(in crate::network::jobs) fn read_streamed(
    path: &Path,
    pages: &PageFile,
) -> Result<Trace, Problems> {
    let mut lines = Lines::open(path)?;
    let places = Some(Places::Lines(path.to_owned(), Vec::new()));
    let mut file = File { trace: None, block: None, least: 0, places, pages: Some(pages.clone()) };
    let mut number = 0;
    while let Some(line) = lines.next()? {
        number += 1;
        if let Err((place, what, hint)) = file.line(line, 0, number) {
            return Err(lines.problem(place, what, hint));
        }
    }
    match file.end(0) {
        Ok(()) => file.trace.ok_or_else(Problems::default),
        Err((Some(number), (place, what, hint))) => {
            Err(problem_in(path, number, &line_of(path, number), place, what, hint))
        }
        Err((None, (_, what, hint))) => Err(lines.problem_at_end(what, hint)),
    }
}

impl File {
    /// Reads a line that begins at `offset`.
    fn line(&mut self, line: &str, offset: usize, number: u64) -> Result<(), Bad> {
        let mut w = Words::of(line, offset);
        let Some((first, place)) = w.all.first().cloned() else { return Ok(()) };
        let Some(t) = &mut self.trace else {
            w.word("num_ranks")?;
            let ranks = w.number("the number of ranks")?;
            if !(1..=RANKS_MAX).contains(&ranks) {
                return bad(
                    w.line,
                    format!("{ranks} ranks"),
                    &format!("expected 1 to {RANKS_MAX}"),
                );
            }
            w.end("num_ranks")?;
            if let Err((what, hint)) = room::for_ranks(ranks, self.pages.is_some()) {
                return bad(w.line, what, &hint);
            }
            self.trace = self
                .places
                .take()
                .map(|places| Trace::new(ranks as usize, places, self.pages.as_ref()));
            return Ok(());
        };
        match (&mut self.block, first) {
            (None, "rank") => {
                w.at = 1;
                let ranks = t.graph.ranks();
                let number_of_rank = w.number("the number of a rank")?;
                if number_of_rank >= ranks as u64 {
                    return bad(
                        w.line,
                        format!("there is no rank {number_of_rank}"),
                        &format!("num_ranks is {ranks}: 0 to {}", ranks - 1),
                    );
                }
                let rank = number_of_rank as u32;
                if rank < self.least {
                    return bad(
                        w.line,
                        format!("rank {rank} after rank {}", self.least - 1),
                        "ranks ascend",
                    );
                }
                w.word("{")?;
                w.end("rank")?;
                self.least = rank + 1;
                self.block =
                    Some(Block { rank, labels: Labels::default(), opened: (number, w.line) });
            }
            (None, word) => {
                return bad(place, format!("'{word}' outside of a rank"), "expected 'rank N {'");
            }
            (Some(_), "}") => {
                w.at = 1;
                w.end("rank")?;
                self.block = None;
            }
            (Some(b), _) => statement(t, b, w, number)?,
        }
        Ok(())
    }

    /// The file ends at `offset`. What is wrong has the number of its line, if that is not the last
    /// one.
    fn end(&self, offset: usize) -> Result<(), (Option<u64>, Bad)> {
        if let Some(b) = &self.block {
            let (number, place) = b.opened.clone();
            return bad(
                place,
                format!("rank {} has no end", b.rank),
                "the file ends before its '}'",
            )
            .map_err(|e| (Some(number), e));
        }
        match &self.trace {
            Some(t) if self.least < t.graph.ranks() => {
                let what = format!("the file ends before rank {}", self.least);
                bad(offset..offset, what, "num_ranks also counts ranks with an empty block")
                    .map_err(|e| (None, e))
            }
            Some(_) => Ok(()),
            None => bad(0..0, "the file is empty", "expected num_ranks N first")
                .map_err(|e| (Some(1), e)),
        }
    }
}

fn statement(t: &mut Trace, b: &mut Block, mut w: Words, line: u64) -> Result<(), Bad> {
    let (mut word, mut place) = w.next("an operation")?;
    if let Some(word) = w.all.get(1).map(|x| x.0).filter(|x| matches!(*x, "requires" | "irequires"))
    {
        w.at = 2;
        let (other, other_place) = w.next("a label")?;
        w.end("requires")?;
        let find = |label: &str, place: Range<usize>| match b.labels.get(label) {
            Some(op) => Ok(op),
            None => bad(
                place,
                format!("rank {} has no label '{label}' before this line", b.rank),
                "define a label before its use",
            ),
        };
        let (later, before) = (find(w.all[0].0, place)?, find(other, other_place)?);
        if word == "requires" {
            t.graph.after(b.rank, later, before);
        } else {
            t.graph.after_start(b.rank, later, before);
        }
        return Ok(());
    }
    let mut label = None;
    if let Some(name) = word.strip_suffix(':') {
        let starts = name.starts_with(|c: char| c.is_ascii_alphabetic());
        if !starts || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return bad(
                place,
                format!("'{name}' is not a label"),
                "expected a letter, then letters, digits and _",
            );
        }
        if b.labels.get(name).is_some() {
            return bad(
                place,
                format!("the label '{name}' is defined twice in rank {}", b.rank),
                "give each operation its own label",
            );
        }
        label = Some(name);
        (word, place) = w.next("an operation")?;
    }
    let ranks = t.graph.ranks();
    let peer = |n: u64, line: &Range<usize>| match u32::try_from(n).ok().filter(|&n| n < ranks) {
        Some(n) if n == b.rank => bad(
            line.clone(),
            format!("rank {n} exchanges a message with itself"),
            "name another rank",
        ),
        Some(n) => Ok(n),
        None => bad(
            line.clone(),
            format!("there is no rank {n}"),
            &format!("num_ranks is {ranks}: 0 to {}", ranks - 1),
        ),
    };
    let (work, stream) = match word {
        "calc" => {
            let time = w.number("a time in ns")?;
            if time > SPAN_MAX.as_ns() {
                return bad(
                    w.line,
                    format!("{time} ns are more than xoff can count"),
                    "expected at most 11.6 days",
                );
            }
            let (cpu, _) = w.cpu(false)?;
            (Work::Compute(Span::from_ns(time)), cpu)
        }
        "send" => {
            let bytes = w.size()?;
            w.word("to")?;
            let to = peer(w.number("a rank")?, &w.line)?;
            let tag = if w.has("tag") { w.number("a tag")? } else { 0 };
            let (cpu, nic) = w.cpu(true)?;
            (Work::Send { to, bytes, tag, channel: nic }, cpu)
        }
        "recv" => {
            let bytes = w.size()?;
            w.word("from")?;
            let from = w.number_or_any("a rank, or -1")?.map(|n| peer(n, &w.line)).transpose()?;
            let tag = if w.has("tag") { w.number_or_any("a tag, or -1")? } else { Some(0) };
            let (cpu, _) = w.cpu(true)?;
            (Work::Receive { from, bytes, tag }, cpu)
        }
        _ => {
            return bad(
                place,
                format!("there is no operation '{word}'"),
                "expected send, recv, calc, requires or irequires",
            );
        }
    };
    w.end(word)?;
    let op = t.add_on(b.rank, work, stream, (w.line, line));
    if let Some(label) = label {
        b.labels.insert(label, op);
    }
    Ok(())
}
