//! Operations of ranks from files of other programs. A format is a file here and a key of `[[job]]`.

use std::ops::Range;
use std::sync::Arc;

use xoff_jobs::Graph;
use xoff_scenario::{Problem, Problems, Source};

pub(super) mod chakra;
pub(super) mod goal;
pub(super) mod msccl;

/// Operations that have been read, and where each stands in its file.
pub(super) struct Trace {
    pub graph: Graph,
    pub source: Arc<Source>,
    /// By rank and operation.
    pub places: Vec<Vec<Range<usize>>>,
}

impl Trace {
    pub fn new(ranks: usize, source: Arc<Source>) -> Trace {
        Trace { graph: Graph::new(ranks), source, places: vec![Vec::new(); ranks] }
    }

    /// Adds an operation that stands there.
    pub fn add(&mut self, rank: u32, work: xoff_jobs::Work, stream: u16, place: Range<usize>) -> u32 {
        self.places[rank as usize].push(place);
        self.graph.add(rank, work, stream)
    }

    /// Puts the graph in order and goes through it: the first thing that keeps it from its end, with its place.
    pub fn check(mut self) -> Result<Graph, Problems> {
        self.graph.finish();
        let line = |rank: u32, op: u32| {
            let (line, _) = self.source.position(self.places[rank as usize][op as usize].start);
            format!("line {line}")
        };
        match self.graph.check(&line) {
            Ok(()) => Ok(self.graph),
            Err(f) => {
                let place = self.source.place(self.places[f.rank as usize][f.op as usize].clone());
                Err(Problem::new(format!("rank {}: {}", f.rank, f.what), f.hint).at(place).into())
            }
        }
    }
}
