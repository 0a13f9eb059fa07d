//! Operations of ranks from files of other programs. A format is a file here and a key of
//! `[[job]]`.

mod chakra;
mod goal;
mod htsim;
mod labels;
mod lines;
mod msccl;
mod simai;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use xoff_net::jobs::collectives::ALGORITHMS;
use xoff_net::jobs::{Collective, Graph, Kind, Pages};
use xoff_scenario::document::Section;
use xoff_scenario::import::StartUnit;
use xoff_scenario::{Problem, Problems, Source};
use xoff_units::paged::{Items, PageFile};
use xoff_units::params::{ParamError, Values};

/// Ranks of a file at most: it says how many there are before it says anything of them.
const RANKS_MAX: u64 = 1 << 24;

/// Positions of operations in their file.
pub(super) enum Places {
    /// A text in memory, with a part of it by rank and operation.
    Text(Arc<Source>, Vec<Vec<Range<usize>>>),
    /// A file, with the number of a line by rank and operation.
    Lines(PathBuf, Vec<Items<u64>>),
}

/// Operations that have been read, and where each stands in its file.
pub(super) struct Trace {
    pub graph: Graph,
    places: Places,
}

/// A graph in memory, or in pages.
pub(super) fn graph(ranks: usize, pages: Option<&PageFile>) -> Graph {
    match pages {
        Some(file) => Graph::paged(ranks, Pages::new(file.clone(), ranks)),
        None => Graph::new(ranks),
    }
}

impl Trace {
    /// Lines of a text.
    pub fn of(ranks: usize, source: Arc<Source>, pages: Option<&PageFile>) -> Trace {
        Trace::new(ranks, Places::Text(source, Vec::new()), pages)
    }

    pub fn new(ranks: usize, mut places: Places, pages: Option<&PageFile>) -> Trace {
        let graph = graph(ranks, pages);
        match &mut places {
            Places::Text(_, all) => all.resize(ranks, Vec::new()),
            Places::Lines(_, all) => all.extend(
                (0..ranks).map(|_| graph.pages().map_or_else(Items::default, |p| p.list(|_| 0))),
            ),
        }
        Trace { graph, places }
    }

    /// Adds an operation that stands there.
    pub fn add(
        &mut self,
        rank: u32,
        work: xoff_net::jobs::Work,
        stream: u16,
        place: Range<usize>,
    ) -> u32 {
        self.add_on(rank, work, stream, (place, 0))
    }

    /// Adds an operation that stands there, on the line of this number.
    pub fn add_on(
        &mut self,
        rank: u32,
        work: xoff_net::jobs::Work,
        stream: u16,
        (place, line): (Range<usize>, u64),
    ) -> u32 {
        match &mut self.places {
            Places::Text(_, all) => all[rank as usize].push(place),
            Places::Lines(_, all) => all[rank as usize].push(line),
        }
        self.graph.add(rank, work, stream)
    }

    /// Puts the graph in order and goes through it: the first thing that keeps it from its end,
    /// with its place.
    pub fn check(mut self) -> Result<Graph, Problems> {
        self.graph.finish();
        let line = |rank: u32, op: u32| match &self.places {
            Places::Text(source, all) => {
                format!("line {}", source.position(all[rank as usize][op as usize].start).0)
            }
            Places::Lines(_, all) => format!("line {}", all[rank as usize].get(op as usize)),
        };
        match self.graph.check(&line) {
            Ok(()) => Ok(self.graph),
            Err(f) => {
                let what = format!("rank {}: {}", f.rank, f.what);
                Err(match &self.places {
                    Places::Text(source, all) => Problem::new(what, f.hint)
                        .at(source.place(all[f.rank as usize][f.op as usize].clone()))
                        .into(),
                    Places::Lines(path, all) => {
                        let number = all[f.rank as usize].get(f.op as usize);
                        let text = lines::line_of(path, number);
                        let begin = text.len() - text.trim_start().len();
                        lines::problem_in(path, number, &text, begin..text.len(), what, f.hint)
                    }
                })
            }
        }
    }
}

/// The operations of a file, if one is named.
pub(super) fn read_trace(
    s: &mut Section<'_>,
    folder: &Path,
    pages: Option<&PageFile>,
) -> Result<Option<Graph>, ParamError> {
    const FORMATS: [&str; 5] = ["goal", "msccl", "chakra", "htsim", "simai"];
    let mut named = Vec::new();
    for key in FORMATS {
        named.extend(s.text_opt(key)?.map(|name| (key, name)));
    }
    for (key, of) in [
        ("message_size", "msccl"),
        ("chakra_groups", "chakra"),
        ("chakra_dimensions", "chakra"),
        ("chakra_all_reduce", "chakra"),
        ("chakra_all_gather", "chakra"),
        ("chakra_control", "chakra"),
        ("chakra_peak_perf", "chakra"),
        ("chakra_memory_bandwidth", "chakra"),
        ("chakra_efficiency", "chakra"),
        ("htsim_start", "htsim"),
    ] {
        if s.given(key) && named.iter().all(|n| n.0 != of) {
            return Err(ParamError::new(
                key,
                format!("the key belongs to {of}, but the job has no such trace"),
                "remove the key",
            ));
        }
    }
    let (key, name) = match &named[..] {
        [] => return Ok(None),
        [one] => one.clone(),
        [_, (second, _), ..] => {
            return Err(ParamError::new(
                *second,
                "a job has only one trace",
                format!("name one of {}", FORMATS.join(", ")),
            ));
        }
    };
    let path = folder.join(name);
    let read = |parse: &dyn Fn(Arc<Source>) -> Result<Trace, Problems>| {
        Source::read(&path).and_then(parse).and_then(Trace::check)
    };
    let graph = match key {
        "goal" if goal::is_binary(&path) => goal::read_binary(&path, pages).map_err(Problems::from),
        "goal" => match pages {
            Some(pages) => goal::read_streamed(&path, pages).and_then(Trace::check),
            None => read(&goal::read),
        },
        "htsim" => {
            let unit = if s.text("htsim_start")? == "ps" { StartUnit::Ps } else { StartUnit::Us };
            let mut warnings = Vec::new();
            let graph = Source::read(&path)
                .and_then(|source| htsim::read(source, unit, pages, &mut warnings))
                .and_then(Trace::check);
            warnings.iter().for_each(|(what, hint)| s.warn(&ParamError::new("htsim", what, hint)));
            graph
        }
        "simai" => {
            let node = s.count("node_ranks")?.min(u32::MAX.into()) as u32;
            let mut warnings = Vec::new();
            let graph = Source::read(&path)
                .and_then(|source| simai::read(&source, node, pages, &mut warnings));
            warnings.iter().for_each(|(what, hint)| s.warn(&ParamError::new("simai", what, hint)));
            graph
        }
        "msccl" => match s.bytes_opt("message_size")? {
            None => {
                return Err(ParamError::new(
                    "message_size",
                    "missing",
                    "expected the size that the chunks of the algorithm divide",
                ));
            }
            Some(size) if size.0 == 0 => {
                return Err(ParamError::new("message_size", "0", "expected a size above zero"));
            }
            Some(size) => read(&|source| msccl::read(&source, size.0, pages)),
        },
        _ => {
            let options = chakra_options(s, folder)?;
            chakra::read(&path, &options, pages).map_err(Problems::from).map(|c| {
                c.warnings
                    .iter()
                    .for_each(|(what, hint)| s.warn(&ParamError::new("chakra", what, hint)));
                c.graph
            })
        }
    };
    match graph {
        Ok(graph) => Ok(Some(graph)),
        Err(problems) => {
            s.refuse_file(problems);
            Err(ParamError::new(key, "xoff cannot use the file", "see the message about the file"))
        }
    }
}

fn chakra_options(s: &mut Section<'_>, folder: &Path) -> Result<chakra::Options, ParamError> {
    let mut dimensions = Vec::new();
    if let Some(text) = s.text_opt("chakra_dimensions")? {
        for size in text.split('x') {
            match size.trim().parse::<u32>() {
                Ok(n @ 1..) => dimensions.push(n),
                _ => {
                    return Err(ParamError::new(
                        "chakra_dimensions",
                        format!("'{size}' is not a size"),
                        "expected sizes such as \"8x2\", the innermost first",
                    ));
                }
            }
        }
    }
    let all_reduce = s.text("chakra_all_reduce")?;
    Ok(chakra::Options {
        groups: s.text_opt("chakra_groups")?.map(|name| folder.join(name)),
        dimensions,
        control_dependencies: s.flag("chakra_control")?,
        all_reduce: ALGORITHMS
            .iter()
            .find(|a| a.0 == all_reduce)
            .map_or(Collective::usual(Kind::AllReduce), |a| a.1),
        all_gather_of_shares: s.text("chakra_all_gather")? == "share",
        node: s.count("node_ranks")?.min(u32::MAX.into()) as u32,
        roofline: roofline(s)?,
    })
}

/// The speed of the accelerator, if one is given.
fn roofline(s: &mut Section<'_>) -> Result<Option<chakra::Roofline>, ParamError> {
    const PEAK: &str = "chakra_peak_perf";
    const BANDWIDTH: &str = "chakra_memory_bandwidth";
    const EFFICIENCY: &str = "chakra_efficiency";
    let (peak, bandwidth) = (s.float_opt(PEAK)?, s.float_opt(BANDWIDTH)?);
    let efficiency = s.float(EFFICIENCY)?;
    let wrong = |key, value: f64, hint: &str| Err(ParamError::new(key, value.to_string(), hint));
    let Some(peak) = peak else {
        return match [BANDWIDTH, EFFICIENCY].into_iter().find(|key| s.given(key)) {
            None => Ok(None),
            Some(key) => {
                let what = "the speed of the accelerator is missing";
                Err(ParamError::new(key, what, "set chakra_peak_perf [10^12 operations/s]"))
            }
        };
    };
    if !(0.0..1e9).contains(&peak) {
        return wrong(PEAK, peak, "expected 0 or more, in 10^12 operations/s, such as 989");
    }
    if bandwidth.is_some_and(|b| !(b > 0.0 && b < 1e12)) {
        let hint = "expected more than 0, in GB/s, such as 3350";
        return wrong(BANDWIDTH, bandwidth.unwrap_or_default(), hint);
    }
    if !(efficiency > 0.0 && efficiency <= 1.0) {
        return wrong(EFFICIENCY, efficiency, "expected more than 0, and at most 1");
    }
    let bandwidth = bandwidth.map_or(f64::INFINITY, |b| b * 1e9);
    Ok(Some(chakra::Roofline { peak: peak * 1e12, bandwidth, efficiency }))
}
