//! Sections of a network's scenario, one file each.
//!
//! A file declares the keys of its section, reads them, checks them against other sections, warns,
//! and sets its part of the model. A new section is a file, its `mod` line, and its place in the
//! order of reading.

use std::path::Path;

use xoff_mech::Unmet;
use xoff_net::topology::Topology;
use xoff_scenario::document::{Document, Section, SectionSpec};
use xoff_scenario::{Problem, Problems};
use xoff_sim::Model;
use xoff_units::params::ParamError;

pub(super) mod buffer_pool;
pub(super) mod buffer_profile;
pub(super) mod clocks;
pub(super) mod control_delay;
pub(super) mod detection;
pub(super) mod failure;
pub(super) mod failures;
pub(super) mod flow_control;
pub(super) mod flows;
pub(super) mod host;
pub(super) mod link_errors;
pub(super) mod link_retry;
pub(super) mod load_balancing;
pub(super) mod messages;
pub(super) mod pause_storm;
pub(super) mod probes;
pub(super) mod rate_control;
pub(super) mod routing;
pub(crate) mod run;
pub(super) mod slow_receiver;
pub(super) mod switch;
pub(super) mod topology;
pub(super) mod transport;
pub(super) mod watchdog;

use run::Run;

macro_rules! sections {
    ($($name:ident)*) => {
        /// All sections after `[run]`, `[topology]`, `[failures]` and `[clocks]`.
        #[derive(Default)]
        pub(super) struct Sections<'d> {
            $(pub $name: Read<'d, $name::Value>,)*
        }

        impl<'d> Sections<'d> {
            /// Reads all sections, and checks them against each other.
            pub fn read(cx: &Context<'d>) -> Sections<'d> {
                let mut all = Sections::default();
                $(all.$name = Part::read(cx, &all);)*
                $($name::Value::plan(cx, &mut all);)*
                $($name::Value::agree(cx, &mut all);)*
                all
            }

            /// Warnings about a scenario without errors.
            pub fn warn(&self, cx: &Context<'d>, warnings: &mut Problems) {
                $($name::Value::warn(cx, self, warnings);)*
            }

            /// Sets the model.
            pub fn set(self, model: &mut Model<'static>) {
                $(self.$name.values.into_iter().flatten().for_each(|value| value.set(model));)*
            }
        }

        /// Every section of a network's scenario, source of the JSON Schema.
        pub fn specs() -> Vec<SectionSpec> {
            let first = [vec![run::spec()], topology::specs(), vec![failures::spec(), clocks::spec()]];
            first.into_iter().chain([$($name::Value::specs(),)*]).flatten().collect()
        }
    };
}

// In the order of reading: a section may need those before it.
sections! {
    routing
    load_balancing
    transport
    host
    control_delay
    switch
    flow_control
    detection
    rate_control
    watchdog
    flows
    probes
    failure
    pause_storm
    slow_receiver
    link_errors
    link_retry
    buffer_pool
    buffer_profile
}

/// Value of a section, or of each one where the section may be repeated.
pub(super) trait Part: Sized {
    /// Declared keys.
    fn specs() -> Vec<SectionSpec>;

    /// Reads the section; `earlier`: those before it in the list.
    fn read<'d>(cx: &Context<'d>, earlier: &Sections<'d>) -> Read<'d, Self>;

    /// Reads keys whose meaning depends on sections after it.
    fn plan(_: &Context<'_>, _: &mut Sections<'_>) {}

    /// Requirements to other sections, and warnings about keys without effect next to them.
    fn agree(_: &Context<'_>, _: &mut Sections<'_>) {}

    /// Warnings about conditions that a scenario without errors does not meet.
    fn warn(_: &Context<'_>, _: &Sections<'_>, _: &mut Problems) {}

    /// Sets its part of the model.
    fn set(self, _: &mut Model<'static>) {}
}

/// What every section may need.
pub(super) struct Context<'d> {
    pub doc: &'d Document,
    pub run: &'d Run,
    /// The network, failed links marked.
    pub topology: &'d Topology,
    /// Folder of files that the document names.
    pub folder: &'d Path,
    /// Priorities of flows that are added during the run.
    pub handed_in: &'d [u8],
}

/// Sections of one name, and the value of each. `None`: the section has an error, which the
/// document knows.
pub(super) struct Read<'d, T> {
    pub sections: Vec<Section<'d>>,
    pub values: Vec<Option<T>>,
}

impl<T> Default for Read<'_, T> {
    fn default() -> Self {
        Read { sections: Vec::new(), values: Vec::new() }
    }
}

impl<'d, T: Part> Read<'d, T> {
    fn open(cx: &Context<'d>) -> Vec<Section<'d>> {
        let spec = T::specs().swap_remove(0);
        if spec.repeat { cx.doc.open_all(&spec) } else { vec![cx.doc.open(&spec)] }
    }

    /// Reads the section, or each one.
    fn each(
        cx: &Context<'d>,
        mut read: impl FnMut(&mut Section<'d>) -> Result<T, ParamError>,
    ) -> Self {
        let mut sections = Self::open(cx);
        let values = sections.iter_mut().map(|s| s.take(&mut read)).collect();
        Read { sections, values }
    }

    /// Opens the sections only: another section that they need has an error.
    fn skipped(cx: &Context<'d>) -> Self {
        let sections = Self::open(cx);
        let values = sections.iter().map(|_| None).collect();
        Read { sections, values }
    }
}

impl<'d, T> Read<'d, T> {
    /// True if the document has no such section.
    fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The section, where it is not repeated.
    fn section(&self) -> &Section<'d> {
        &self.sections[0]
    }

    /// The value, where the section is not repeated.
    pub fn value(&self) -> Option<&T> {
        self.values.first()?.as_ref()
    }

    fn value_mut(&mut self) -> Option<&mut T> {
        self.values.first_mut()?.as_mut()
    }

    /// Values without errors.
    fn found(&self) -> impl Iterator<Item = &T> {
        self.values.iter().flatten()
    }

    /// Checks each value without errors.
    fn check(&mut self, mut check: impl FnMut(&mut Section<'d>, &mut T) -> Result<(), ParamError>) {
        for (section, value) in self.sections.iter_mut().zip(&mut self.values) {
            if let Some(value) = value {
                section.take(|s| check(s, value));
            }
        }
    }
}

/// A mechanism and its name.
pub(super) struct Named<T> {
    pub name: &'static str,
    pub law: T,
}

/// Conditions that a mechanism itself knows not to hold.
fn warn_of_unmet(unmet: Vec<Unmet>, warnings: &mut Problems) {
    unmet.into_iter().for_each(|u| warnings.push(Problem::new(u.what, u.hint).warning()));
}

fn choice<'a>(key: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|n| format!("\"{n}\"")).collect();
    format!("set {key} = {}", names.join(" or "))
}

/// Priorities from their texts, each one of them or a range: `3`, `3-4`.
fn priorities(key: &str, texts: &[String]) -> Result<Vec<u8>, ParamError> {
    let refuse = |text: &str, what: &str| {
        let what = format!("'{}' {what}", xoff_scenario::suggest::clip(text));
        ParamError::new(
            key,
            what,
            "expected priorities from 0 to 7, such as [\"3\"] or [\"0-2\", \"5\"]",
        )
    };
    let mut all = Vec::new();
    for text in texts {
        let one = |n: &str| {
            n.trim()
                .parse::<u8>()
                .ok()
                .filter(|n| *n < 8)
                .ok_or_else(|| refuse(text, "is not a priority"))
        };
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, last) = (one(first)?, one(last)?);
        if first > last {
            return Err(refuse(text, "is not a range: its end is before its start"));
        }
        for p in first..=last {
            if all.contains(&p) {
                return Err(refuse(text, &format!("repeats priority {p}")));
            }
            all.push(p);
        }
    }
    Ok(all)
}
