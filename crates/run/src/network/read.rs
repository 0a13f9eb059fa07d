//! From the document of a network to a scenario.
//!
//! ```text
//!   Document --> Run, Topology --> Sections: each alone, then against each other --> Model
//! ```

use std::path::{Path, PathBuf};

use xoff_mech::flow_control::FlowControl;
use xoff_scenario::document::Document;
use xoff_scenario::{Problem, Problems};
use xoff_sim::{Engine, Model};
use xoff_units::{Bytes, Time};

use super::sections::run::Run;
use super::sections::switch::Memory;
use super::sections::{Context, Sections, clocks, failures, specs, topology};
use super::{NetworkScenario, derived};
use crate::manifest::parameters;
use crate::network::boundary::Boundary;

/// The folder wherever the process is; as it was given where the system does not know.
pub(crate) fn absolute(folder: &Path) -> PathBuf {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    std::path::absolute(here).unwrap_or_else(|_| folder.to_owned())
}

/// Reads a document that has no section `[scheduled_fabric]`; files that it names are looked up in
/// `folder`.
pub(crate) fn read(doc: Document, folder: &Path) -> Result<NetworkScenario, Problems> {
    read_driven(doc, folder, &[])
}

/// Reads a scenario whose flows, of some priorities, are added during the run: it needs no flows of
/// its own.
pub(crate) fn read_driven(
    mut doc: Document,
    folder: &Path,
    handed_in: &[u8],
) -> Result<NetworkScenario, Problems> {
    read_open(&mut doc, folder, handed_in)
}

/// As [`read_driven`], and leaves the document with what was read.
pub(crate) fn read_open(
    doc: &mut Document,
    folder: &Path,
    handed_in: &[u8],
) -> Result<NetworkScenario, Problems> {
    if let Some(section) = doc.open_if_present(&crate::fabric::sections::fabric()) {
        let what = "this is the scenario of a scheduled fabric";
        return Err(Problem::new(
            what,
            "xoff run, check, tree, explain and sweep take it; this command needs a network, with [topology] instead of [scheduled_fabric]",
        )
        .at(section.place(""))
        .into());
    }
    doc.spread_kinds(&specs());
    let doc = &*doc;
    doc.declare(&specs());
    let run = Run::read(doc);
    let topology = topology::read(doc, folder).and_then(|mut topology| {
        let seed = run.as_ref().map_or(1, |r| r.seed);
        failures::fail(doc, &mut topology, seed)?;
        clocks::skew(doc, &mut topology, seed)?;
        Some(topology)
    });
    // Everything after this needs the network.
    let (Some(run), Some(topology)) = (run, topology) else {
        return Err(doc.check().err().unwrap_or_default());
    };
    let cx = Context { doc, run: &run, topology: &topology, folder, handed_in };
    let mut sections = Sections::read(&cx);
    doc.finish()?;
    let mut warnings = doc.warnings();
    sections.warn(&cx, &mut warnings);
    let mut resolved = doc.resolved();
    let mut parameters = parameters(&resolved);
    // Without problems every part was read.
    let incomplete =
        || Problem::new("the scenario is incomplete", "see the messages about its sections above");
    let (flow_control, links) = sections.flow_control.links().ok_or_else(incomplete)?;
    let (detection, rate_control) = (sections.detection.value(), sections.rate_control.value());
    let (detection, rate_control) = detection.zip(rate_control).ok_or_else(incomplete)?;
    derived::add(&mut parameters, (flow_control, links), detection, rate_control);
    derived::write(&mut resolved, rate_control);
    let pools = sections.switch.value().and_then(|switch| {
        if let Memory::Pools(pools) = &switch.memory { pools.clone() } else { None }
    });
    let (detection, rate_control) = (detection.name, rate_control.name);
    let flows = sections.flows.values.pop().flatten().ok_or_else(incomplete)?;
    let mut model = Model::plain(Bytes::ZERO, |_| Ok(FlowControl::None));
    run.set(&mut model);
    sections.set(&mut model);
    Ok(NetworkScenario {
        title: run.title,
        folder: absolute(folder),
        until: Time(run.duration.0),
        seed: run.seed,
        flow_control,
        detection,
        rate_control,
        resolved: resolved.to_toml(),
        parameters,
        warnings,
        boundary: Boundary::default(),
        engine: Engine::default(),
        checkpoint: run.checkpoint,
        source: doc.source().clone(),
        settings: doc.settings().to_vec(),
        pools,
        model,
        topology,
        flows,
    })
}
