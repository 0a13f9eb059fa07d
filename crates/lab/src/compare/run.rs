//! Facts that a comparison takes from a run.

use std::path::Path;

use xoff_record::{Manifest, read};

use crate::compare::CompareError;

/// Size of a flow without an end.
const UNLIMITED: u64 = u64::MAX;

/// A flow of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowFacts {
    /// Number.
    pub flow: u64,
    /// Sending host.
    pub src: String,
    /// Receiving host.
    pub dst: String,
    /// Payload [bytes]; 2^64 - 1: unlimited.
    pub size_bytes: u64,
    /// Start of the flow [ps].
    pub start_ps: u64,
    /// Completion time of the same flow alone; `None`: it has no end or no route.
    pub ideal_fct_ps: Option<u64>,
    /// Completion time over the ideal one; `None`: unfinished.
    pub slowdown: Option<f64>,
    /// Payload delivered [bytes].
    pub bytes_delivered: u64,
    /// Frames that arrived marked CE.
    pub ce_frames: u64,
    /// Frames that arrived marked UE.
    pub ue_frames: u64,
}

impl FlowFacts {
    /// Whether the flow has a size and a route, so that a slowdown has a meaning.
    pub(crate) fn is_sized(&self) -> bool {
        self.size_bytes != UNLIMITED && self.ideal_fct_ps.is_some_and(|ps| ps > 0)
    }
}

/// Counters of a port of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PortFacts {
    /// Name.
    pub port: String,
    /// Number of pauses.
    pub pauses: u64,
    /// Time it was paused [ps].
    pub paused_ps: u64,
    /// Time it was blocked [ps].
    pub blocked_ps: u64,
    /// Fullest ingress buffer at its far end [bytes].
    pub ingress_bytes_max: u64,
    /// Frames marked when leaving through it.
    pub marked: u64,
}

/// A run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Folder; empty: the run is in memory only.
    pub folder: String,
    /// Manifest.
    pub manifest: Manifest,
    /// Flows.
    pub flows: Vec<FlowFacts>,
    /// Ports.
    pub ports: Vec<PortFacts>,
    /// Whether the run has the tables of a network; false: those of a scheduled fabric.
    pub is_network: bool,
}

impl Run {
    /// The run in a folder.
    ///
    /// # Errors
    /// The folder is none of a run, or was changed since.
    pub fn read(folder: &Path) -> Result<Run, CompareError> {
        let unread =
            |e: xoff_record::RecordError| CompareError::of_files(e.to_string(), e.hint.clone());
        if let Some(command) = xoff_record::output::owner(folder)
            .filter(|c| ["sweep", "bench-fabric", "reproduce"].iter().any(|own| c.starts_with(own)))
        {
            let what = format!(
                "{} is not the folder of a run: it belongs to xoff {command}",
                folder.display()
            );
            return Err(CompareError::of_files(
                what,
                "its index.html compares what it holds; give the folders of single runs",
            ));
        }
        let manifest = Manifest::read(folder).map_err(unread)?;
        // Its page and its resolved scenario are not read.
        if let Some(name) = xoff_record::output::changed_in(folder)
            .iter()
            .find(|name| !name.ends_with(".html") && !name.ends_with(".toml"))
        {
            let what = format!("{} has changed since the run", folder.join(name).display());
            return Err(CompareError::of_files(
                what,
                "the folder changed after the run: repeat the run",
            ));
        }
        let is_network = read::exists(folder, "flows") && read::exists(folder, "ports");
        let mut run = Run {
            folder: folder.display().to_string(),
            manifest,
            flows: Vec::new(),
            ports: Vec::new(),
            is_network,
        };
        if !is_network {
            return Ok(run);
        }
        for batch in read::stream(folder, "flows").map_err(unread)? {
            let batch = batch.map_err(unread)?;
            let number = |name| read::numbers(&batch, name);
            let (src, dst) = (read::texts(&batch, "src"), read::texts(&batch, "dst"));
            let slowdown = read::floats(&batch, "slowdown");
            let columns = [
                "flow",
                "size_bytes",
                "start_ps",
                "ideal_fct_ps",
                "bytes_delivered",
                "ce_frames",
                "ue_frames",
            ]
            .map(number);
            run.flows.extend((0..batch.num_rows()).map(|i| FlowFacts {
                flow: columns[0][i].unwrap_or(0),
                src: src[i].unwrap_or_default().into(),
                dst: dst[i].unwrap_or_default().into(),
                size_bytes: columns[1][i].unwrap_or(UNLIMITED),
                start_ps: columns[2][i].unwrap_or(0),
                ideal_fct_ps: columns[3][i],
                slowdown: slowdown[i],
                bytes_delivered: columns[4][i].unwrap_or(0),
                ce_frames: columns[5][i].unwrap_or(0),
                ue_frames: columns[6][i].unwrap_or(0),
            }));
        }
        for batch in read::stream(folder, "ports").map_err(unread)? {
            let batch = batch.map_err(unread)?;
            let port = read::texts(&batch, "port");
            let names = ["pauses", "paused_ps", "blocked_ps", "ingress_bytes_max", "marked"];
            let columns = names.map(|name| read::numbers(&batch, name));
            let value = |c: usize, i: usize| columns[c][i].unwrap_or(0);
            run.ports.extend((0..batch.num_rows()).map(|i| PortFacts {
                port: port[i].unwrap_or_default().into(),
                pauses: value(0, i),
                paused_ps: value(1, i),
                blocked_ps: value(2, i),
                ingress_bytes_max: value(3, i),
                marked: value(4, i),
            }));
        }
        Ok(run)
    }

    /// Slowdown of a flow that has a size and a route. An unfinished one counts with its age at the
    /// end, as in the run's own summary: a lower bound in the place of a value.
    pub(crate) fn slowdown(&self, flow: &FlowFacts) -> f64 {
        flow.slowdown.unwrap_or_else(|| {
            let age = self.manifest.simulated_seconds * 1e12 - flow.start_ps as f64;
            flow.ideal_fct_ps.map_or(1.0, |ideal| (age / ideal as f64).max(1.0))
        })
    }

    /// Name of the run in a message.
    fn name(&self) -> String {
        if self.folder.is_empty() {
            format!("the run with seed {}", self.manifest.seed)
        } else {
            self.folder.clone()
        }
    }
}

/// Refuses a side that cannot be compared.
pub(crate) fn check(side: &[Run]) -> Result<(), CompareError> {
    if side.is_empty() {
        return Err(CompareError::new(
            "a side has no runs",
            "name a run, its folder, or several of them",
        ));
    }
    if let Some(run) = side.iter().find(|r| !r.is_network) {
        let folder = Path::new(&run.folder);
        if xoff_record::output::owner(folder).is_some_and(|c| c.starts_with("hpcc")) {
            let what = format!(
                "{}: a replay of the HPCC simulator has no tables of flows and ports",
                run.name()
            );
            return Err(CompareError::new(
                what,
                "compare its files with that simulator's tools, or run a scenario with xoff run",
            ));
        }
        if folder.exists() && !read::exists(folder, "windows") {
            let what = format!("{}: it has no tables of flows and ports", run.name());
            return Err(CompareError::new(what, "name the folder of a run (--out of xoff run)"));
        }
        let what = format!(
            "{}: a run of a scheduled fabric has no flows and ports of a network",
            run.name()
        );
        return Err(CompareError::new(
            what,
            "compare its tables windows and fabric_ports in Python, with xoff.open",
        ));
    }
    let mut seeds: Vec<u64> = side.iter().map(|r| r.manifest.seed).collect();
    seeds.sort_unstable();
    if seeds.windows(2).any(|w| w[0] == w[1]) {
        let list: Vec<String> = side.iter().map(|r| r.manifest.seed.to_string()).collect();
        let what = format!(
            "runs of one side need different seeds, not {}: the same one gives the same run again",
            list.join(", ")
        );
        return Err(CompareError::new(
            what,
            "run it with --seed, or make each of them a side of its own",
        ));
    }
    Ok(())
}
