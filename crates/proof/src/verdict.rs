//! What a check came to.

use stateright::{Checker, Model};

use crate::link::{IN_ORDER, LOSSLESS, Link, RECOVERS, Stuck};

/// Steps after which a search is given up; most of them lead to states that are known.
const STEPS_MAX: usize = 20_000_000;

/// The outcome of a search through all states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// States that were found to be different.
    pub states: usize,
    /// All of them: the search ended by itself, or at the first counter-example of each property that does not hold.
    pub complete: bool,
    /// Of each property of [`PROPERTIES`] that does not hold the shortest counter-example: a line for each tick.
    pub broken: Vec<(&'static str, Vec<String>)>,
}

/// What is checked.
pub const PROPERTIES: [&str; 3] = [LOSSLESS, IN_ORDER, RECOVERS];

/// Goes through all states of a link.
pub fn check(link: &Link) -> Verdict {
    let search = |link: Link| {
        let ticks = link.ticks_max;
        let checker = link.checker().target_state_count(STEPS_MAX);
        match ticks {
            Some(ticks) => checker.target_max_depth(ticks + 1).spawn_bfs().join(), // of states, one more than ticks
            None => checker.spawn_bfs().join(),
        }
    };
    let all = search(link.clone());
    let states = all.unique_state_count();
    let complete = all.state_count() < STEPS_MAX;
    let broken = PROPERTIES.iter().filter_map(|&name| {
        all.discovery(name)?;
        // The checker keeps the counter-example that it finds last; alone, a property ends the search at the first one.
        let path = search(Link { only: Some(name), ..link.clone() }).discovery(name)?;
        let last = path.last_state().clone();
        let mut lines: Vec<String> = path
            .into_vec()
            .into_iter()
            .map(|(state, decision)| decision.map_or(format!("{state:?}"), |d| format!("{state:?}; {d:?}")))
            .collect();
        if name == RECOVERS
            && let Err(stuck) = link.recovers(&last)
        {
            lines.push(describe(stuck).into());
        }
        Some((name, lines))
    });
    Verdict { states, complete, broken: broken.collect() }
}

impl Verdict {
    /// Does a property hold in every state?
    pub fn holds(&self, property: &str) -> bool {
        self.complete && self.broken.iter().all(|b| b.0 != property)
    }
}

fn describe(stuck: Stuck) -> &'static str {
    match stuck {
        Stuck::NotAsNew => "left alone from here, the sender stays held or slower than on a new link",
        Stuck::Stands => "used from here, with all going well, it carries less than half of what it could",
        Stuck::BreaksLater => "used from here, with all going well, it loses a frame",
    }
}
