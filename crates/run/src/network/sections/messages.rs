//! `[messages]`: the messages of a network that another program drove, again.

use std::path::Path;

use xoff_net::topology::Topology;
use xoff_net::workload::{Act, Call};
use xoff_scenario::document::{Document, SectionSpec};
use xoff_scenario::{Problem, Source};
use xoff_units::params::{Kind, ParamError, ParamSpec, Values as _};

use crate::network::driven::calls;

const KEYS: &[ParamSpec] = &[
    ParamSpec::required(
        "file",
        Kind::Text,
        "the table of messages, which `xoff_finish` of the C library writes (docs/c-library.md)",
    ),
    ParamSpec::required(
        "priorities",
        Kind::Texts,
        "priorities that the network was made for, such as [\"3\"] or [\"0-2\"]",
    ),
    ParamSpec::new(
        "exact",
        Kind::Flag,
        "true",
        "each message begins at its place among the events of the network, so that the run is the one that was driven; false: at its time, so that the network may be another one",
        "",
    ),
];

pub(super) fn spec() -> SectionSpec {
    SectionSpec::once("messages", "Messages of a program that drove the network.", vec![KEYS])
}

/// `[messages]`.
pub(super) struct Messages {
    pub priorities: Vec<u8>,
    pub calls: Vec<Call>,
    pub exact: bool,
}

/// Reads the section. `None`: it has an error; `Some(None)`: there is none. `labels`: number of the
/// labels of other flows.
pub(super) fn read(
    doc: &Document,
    topology: &Topology,
    folder: &Path,
    labels: u32,
) -> Option<Option<Messages>> {
    let Some(mut section) = doc.open_if_present(&spec()) else { return Some(None) };
    let (name, priorities, exact) = section.take(|s| {
        let priorities = super::priorities("priorities", &s.texts("priorities")?)?;
        if priorities.is_empty() {
            let hint = "expected priorities from 0 to 7, such as [\"3\"]";
            return Err(ParamError::new("priorities", "the list is empty", hint));
        }
        Ok((s.text("file")?, priorities, s.flag("exact")?))
    })?;
    let calls = Source::read(&folder.join(name)).and_then(|source| {
        let calls = calls::read(&source, topology, labels)?;
        let other = |c: &&Call| match &c.act {
            Act::Send { flow, .. } => !priorities.contains(&flow.priority),
            Act::Wait => false,
            Act::Fail(_) | Act::SetRate(..) => !exact,
        };
        match calls.iter().find(other) {
            None => Ok(calls),
            Some(Call { act: Act::Send { flow, .. }, .. }) => {
                let what = format!("a message has priority {}", flow.priority);
                Err(Problem::new(what, "add it to messages.priorities")
                    .at(source.place(0..0))
                    .into())
            }
            Some(call) => {
                let what = format!("a link changes at {}", call.at);
                let hint = "remove this line and use [[failure]], or set messages.exact = true";
                Err(Problem::new(what, hint).at(source.place(0..0)).into())
            }
        }
    });
    match calls {
        Ok(calls) => Some(Some(Messages { priorities, calls, exact })),
        Err(problems) => {
            section.refuse_file(problems);
            None
        }
    }
}
