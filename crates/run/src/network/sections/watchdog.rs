//! `[watchdog]`: releases queues that their peer pauses for too long.

use xoff_mech::LinkFacts;
use xoff_mech::flow_control::{FlowControl, Occupancy, Pauses};
use xoff_mech::watchdog::{Action, Config, Detector, REGISTRY};
use xoff_node::Classes;
use xoff_scenario::document::{KindSpec, Section, SectionSpec};
use xoff_sim::{Model, PauseStorm};
use xoff_units::params::ParamError;
use xoff_units::{Bytes, Span, Time};

use super::{Context, Part, Read, Sections};
use crate::network::NetworkScenario;

/// `None`: there is none.
pub type Value = Option<Config>;

impl Part for Option<Config> {
    fn specs() -> Vec<SectionSpec> {
        let kinds = REGISTRY.iter().map(|e| KindSpec {
            name: e.name,
            doc: e.about,
            specs: e.params.to_vec(),
        });
        let doc = "Releases egress queues of switches that their peer pauses for too long.";
        vec![SectionSpec::once("watchdog", doc, vec![]).kinds(
            "kind",
            Some("none"),
            kinds.collect(),
        )]
    }

    fn read<'d>(cx: &Context<'d>, _: &Sections<'d>) -> Read<'d, Self> {
        Read::each(cx, |s| read(s, cx.run.duration))
    }

    fn agree(_: &Context<'_>, all: &mut Sections<'_>) {
        let Some(&Some(config)) = all.watchdog.value() else { return };
        let Some((name, links)) = all.flow_control.links() else { return };
        if let (Some(classes), Some(_)) = (all.classes(), all.flows.value()) {
            has_queues(all.watchdog.section(), &classes, all.lossy());
        }
        let storms = &all.pause_storm;
        all.watchdog.check(|s, _| fits(name, links).map(|()| sees(s, &config, links, storms)));
    }

    fn set(self, model: &mut Model<'static>) {
        model.watchdog = self;
    }
}

/// Reads `[watchdog]`; `None` in it: there is none.
fn read(s: &mut Section<'_>, duration: Span) -> Result<Option<Config>, ParamError> {
    let kind = s.kind().unwrap_or("none");
    let entry = REGISTRY.iter().find(|e| e.name == kind).expect("a kind of the registry");
    let config = (entry.read)(s)?;
    if let Some(c) = config.filter(|_| duration.0 > 0) {
        warn_of_times(s, &c, duration);
    }
    Ok(config)
}

/// Warnings about times after the end of the run.
fn warn_of_times(s: &Section<'_>, c: &Config, duration: Span) {
    let longer = "shorten the times, or extend run.duration";
    let restored = Span(c.detect.0.saturating_add(c.restore.0));
    if c.detect >= duration {
        let what = format!(
            "detect {} >= run.duration {duration}: the watchdog never finds a storm",
            c.detect
        );
        s.warn(&ParamError::new("detect", what, longer));
    } else if restored >= duration && c.action != Action::Alert {
        let what = format!(
            "detect + restore = {restored} >= run.duration {duration}: the watchdog restores no queue before the run ends"
        );
        s.warn(&ParamError::new("restore", what, longer));
    }
}

/// Warns of a watchdog if no queue in use is ever paused.
fn has_queues(s: &Section<'_>, classes: &Classes, lossy: &[u8]) {
    if classes.priorities().iter().all(|p| lossy.contains(p)) {
        s.has_no_effect(
            "kind",
            "every priority in use is lossy: flow control never pauses a queue",
            "remove [watchdog], or shorten flow_control.lossy",
        );
    }
}

/// Refuses a watchdog that could do nothing.
fn fits(name: &str, links: &[(LinkFacts, FlowControl)]) -> Result<(), ParamError> {
    let why = match () {
        _ if links.iter().any(|(_, fc)| !fc.holds_priorities()) => {
            "pauses single flows, but a watchdog releases whole priorities"
        }
        _ if links.iter().all(|(_, fc)| matches!(fc, FlowControl::None)) => {
            "pauses no queue that a watchdog could release"
        }
        _ => return Ok(()),
    };
    Err(ParamError::new(
        "kind",
        format!("{name} {why}"),
        "set watchdog.kind = \"none\", or another flow control",
    ))
}

/// Warns of pauses that come again later than the next poll, where a poll has to see one
/// (`status`).
fn sees(
    s: &Section<'_>,
    c: &Config,
    links: &[(LinkFacts, FlowControl)],
    storms: &Read<'_, PauseStorm>,
) {
    let stops = |fc: &FlowControl| fc.pauses() != Pauses::Never;
    if c.detector != Detector::Status || !links.iter().any(|(_, fc)| stops(fc)) {
        return;
    }
    // Storms come by their own clock.
    let again = match storms.found().map(|storm| storm.interval).max() {
        Some(interval) => Some(interval),
        None => links
            .iter()
            .filter(|(_, fc)| stops(fc))
            .filter_map(|(facts, fc)| pause_comes_again(facts, fc))
            .max(),
    };
    match again {
        None => {
            let what = "status counts repeated pauses, but this flow control sends each pause once: the watchdog finds no storm";
            s.warn(&ParamError::new(
                "kind",
                what,
                "set kind = \"duration\", pause = \"quanta\", or repeat",
            ));
        }
        Some(again) if again > c.poll => {
            let what = format!(
                "poll {} < {again}, the time between two pauses: most polls of status find no pause",
                c.poll
            );
            s.warn(&ParamError::new(
                "poll",
                what,
                "use a longer poll, shorter pauses, or kind = \"duration\"",
            ));
        }
        Some(_) => {}
    }
}

/// After which time the pause of a full buffer comes again; `None`: it does not.
fn pause_comes_again(facts: &LinkFacts, fc: &FlowControl) -> Option<Span> {
    let full = Bytes(u64::MAX / 4);
    let full = Occupancy { bytes: full, shared: full, headroom: full, limit: Bytes::ZERO };
    let (mut rx, _) = fc.halves(facts);
    rx.on_arrival(Time::ZERO, &full, facts.mtu)?;
    rx.next_wake().map(|t| Span(t.0))
}

impl NetworkScenario {
    /// The watchdog of its switches.
    pub fn watchdog(&self) -> Option<Config> {
        self.model.watchdog
    }

    /// Gives its switches another watchdog.
    ///
    /// # Errors
    /// Its flow control holds no port, or single flows.
    pub fn set_watchdog(&mut self, config: Config) -> Result<(), ParamError> {
        fits(self.flow_control, self.model.flow_control.kinds())?;
        self.model.watchdog = Some(config);
        Ok(())
    }
}
