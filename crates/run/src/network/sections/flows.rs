//! `[[flow]]`, `[[workload]]`: flows and patterns of flows. Jobs and collectives add theirs.

use std::path::Path;
use std::sync::Arc;

use xoff_net::jobs::Pages;
use xoff_net::topology::Topology;
use xoff_net::workload::{
    Act, Context as Generation, Flow, Flows, GENERATORS, Generated, Repeat, SizeCdf, generators,
    repeat,
};
use xoff_node::Classes;
use xoff_scenario::Problem;
use xoff_scenario::Problems;
use xoff_scenario::document::{Document, KindSpec, Section, SectionSpec};
use xoff_sim::classes_in_use;
use xoff_units::params::ParamError;
use xoff_units::{NodeId, Time};

use super::messages::Messages;
use super::run::Run;
use super::{Context, Part, Read, Sections, messages};
use crate::network::jobs;

/// Name of the generator behind `[[flow]]`.
const FLOWS: &str = "flows";

fn flow() -> SectionSpec {
    let g = generators::find(FLOWS).expect("the generator of single flows");
    SectionSpec::many("flow", "One flow.", vec![g.params, repeat::PARAMS])
}

fn workload() -> SectionSpec {
    let patterns = GENERATORS.iter().filter(|g| g.name != FLOWS);
    let kinds = patterns.map(|g| KindSpec { name: g.name, doc: g.doc, specs: vec![g.params] });
    SectionSpec::many("workload", "A pattern of flows.", vec![repeat::PARAMS]).kinds(
        "kind",
        None,
        kinds.collect(),
    )
}

pub type Value = Flows;

impl Sections<'_> {
    /// Priorities in use.
    pub fn classes(&self) -> Option<Classes> {
        let (host, flows) = (self.host.value()?, self.flows.value()?);
        Some(classes_in_use(flows, host.nic.acks.class, host.cnp_priority))
    }

    /// Number of priorities in use; 1 if they are unknown.
    pub fn class_count(&self) -> u64 {
        self.classes().map_or(1, |c| c.len() as u64)
    }
}

impl Part for Flows {
    fn specs() -> Vec<SectionSpec> {
        vec![flow(), workload(), messages::spec(), jobs::keys::job(), jobs::keys::collective()]
    }

    fn read<'d>(cx: &Context<'d>, _: &Sections<'d>) -> Read<'d, Flows> {
        let flows = read(cx.doc, cx.topology, cx.run, cx.folder, cx.handed_in);
        Read { sections: Vec::new(), values: vec![flows] }
    }

    fn warn(_: &Context<'_>, all: &Sections<'_>, warnings: &mut Problems) {
        for w in all.flows.found().flat_map(|flows| &flows.notes) {
            warnings.push(Problem::new(w.clone(), "").warning());
        }
    }
}

/// True if a host receives frames, of this priority if one is given. Flows that are added during
/// the run may end at any host.
pub(super) fn receives(flows: &Flows, answers: bool, host: NodeId, priority: Option<u8>) -> bool {
    let is_for = |f: &Flow| {
        f.dst == host && priority.is_none_or(|p| p == f.priority) || answers && f.src == host
    };
    !flows.all_listed() || flows.flows.iter().any(is_for)
}

fn read(
    doc: &Document,
    topology: &Topology,
    run: &Run,
    folder: &Path,
    handed_in: &[u8],
) -> Option<Flows> {
    let (seed, end) = (run.seed, Time(run.duration.0));
    let cdfs = |name: &str| -> Result<SizeCdf, ParamError> {
        let points = xoff_scenario::cdf::find(name, folder).map_err(|problems| {
            let (what, hint) = problems
                .iter()
                .next()
                .map(|p| (p.place_and_message(), p.hint.clone()))
                .unwrap_or_default();
            ParamError::new("cdf", what, hint)
        })?;
        SizeCdf::new(points).map_err(|e| {
            ParamError::new("cdf", e.what, "expected sizes and percentages that grow from 0 to 100")
        })
    };
    let (mut labels, mut parts) = (Vec::new(), Vec::new());
    let mut complete = true;
    let mut generate = |section: &mut Section<'_>, name: &str, label: String| {
        let g = generators::find(name).expect("a known generator");
        let cx = Generation { topo: topology, seed, label: parts.len() as u32, cdfs: &cdfs };
        let made = section.take(|s| {
            let mut part = (g.generate)(s, &cx)?;
            part.repeat = Repeat::read(s, &part)?;
            Ok(part)
        });
        match made {
            Some(part) => {
                warn_of_flows(section, &part, end);
                labels.push(label);
                parts.push(part);
            }
            None => complete = false,
        }
    };
    for mut section in doc.open_all(&flow()) {
        let label = section.path().to_owned();
        generate(&mut section, FLOWS, label);
    }
    for mut section in doc.open_all(&workload()) {
        let kind = section.kind()?;
        let label = format!("{} {kind}", section.path());
        generate(&mut section, kind, label);
    }
    if !complete {
        return None;
    }
    let repeated = messages::read(doc, topology, folder, labels.len() as u32)?;
    if !handed_in.is_empty() {
        if repeated.is_some() {
            let what = "the scenario repeats messages, but another program submits them";
            let place = doc.open(&messages::spec()).place("");
            doc.push(Problem::new(what, "remove [messages]").at(place));
            return None;
        }
        return driven_flows(doc, topology, labels, parts, handed_in);
    }
    let pages = match run.stream.then(jobs::page_file).transpose() {
        Ok(file) => file.map(|file| Pages::new(file, 1)),
        Err(problem) => {
            doc.push(problem.at(doc.source().place(0..0)));
            return None;
        }
    };
    let jobs = doc.has(&jobs::keys::job()) || doc.has(&jobs::keys::collective());
    match repeated {
        None => {}
        Some(Messages { priorities, calls, exact: true }) => {
            let flows = driven_flows(doc, topology, labels, parts, &priorities)?;
            return Some(Flows { calls: Some(Arc::new(calls)), pages, ..flows });
        }
        Some(Messages { calls, .. }) => {
            labels.push("messages".into());
            let sent = calls.into_iter().filter_map(|c| match c.act {
                Act::Send { flow, .. } => Some(Flow { label: parts.len() as u32, ..flow }),
                _ => None,
            });
            parts.push(Generated { flows: sent.collect(), ..Generated::default() });
        }
    }
    if parts.is_empty() && !jobs {
        // A section that is written wrongly has been reported.
        if !doc.has(&flow()) && !doc.has(&workload()) {
            let place = doc.source().place(0..0);
            doc.push(
                Problem::new("the scenario has no flows", "add a [[flow]] or a [[workload]]")
                    .at(place),
            );
        }
        return None;
    }
    match Flows::new(topology, labels, parts) {
        Ok(mut flows) => {
            flows.pages = pages;
            jobs::read_jobs(doc, topology, (seed, end), folder, &mut flows, |_, _| Ok(()))
                .map(|()| flows)
        }
        Err(e) => {
            doc.push(
                Problem::new(format!("{}: {}", e.key, e.what), e.hint).at(doc.source().place(0..0)),
            );
            None
        }
    }
}

/// A workload without flows, or with flows that the run ends before.
fn warn_of_flows(section: &Section<'_>, made: &Generated, end: Time) {
    let hint = "choose an earlier start, or extend run.duration";
    let first = match &made.closed_loop {
        Some(l) => l.first_start(),
        None => made.flows.iter().map(|f| f.start).min(),
    };
    let Some(first) = first else {
        let hint = "use a higher load or rate, a longer duration, or more hosts";
        section.warn(&ParamError::new(
            "kind",
            "the workload generates no flow: its hosts send nothing",
            hint,
        ));
        return;
    };
    if end.0 == 0 {
        return; // the duration is warned of
    }
    let late = made.flows.iter().filter(|f| f.start >= end).count();
    if first >= end {
        let what = format!(
            "the first flow starts at {first}, but the run ends at {end}: its hosts send nothing"
        );
        section.warn(&ParamError::new("start", what, hint));
    } else if late > 0 {
        let what = format!(
            "{late} of {} flows start after the end of the run at {end}: xoff leaves these flows out",
            made.flows.len()
        );
        section.warn(&ParamError::new("start", what, hint));
    }
}

/// The flows of a scenario to which others are handed in while it runs.
fn driven_flows(
    doc: &Document,
    topology: &Topology,
    labels: Vec<String>,
    parts: Vec<Generated>,
    handed_in: &[u8],
) -> Option<Flows> {
    let place = || doc.source().place(0..0);
    if doc.has(&jobs::keys::job())
        || doc.has(&jobs::keys::collective())
        || parts.iter().any(|p| p.closed_loop.is_some())
    {
        let what = "the scenario has a job, a collective or a closed loop, but another program submits the messages";
        doc.push(
            Problem::new(what, "remove them: only the other program may start messages")
                .at(place()),
        );
        return None;
    }
    match Flows::new(topology, labels, parts) {
        Ok(mut flows) => {
            flows.labels.extend(["messages", "messages of queue pairs"].map(String::from));
            Some(Flows { handed_in: handed_in.to_vec(), ..flows })
        }
        Err(e) => {
            doc.push(Problem::new(format!("{}: {}", e.key, e.what), e.hint).at(place()));
            None
        }
    }
}
