//! Result of a check.

use std::fmt::Debug;
use std::hash::Hash;

use stateright::{Checker, Model};

/// Steps after which a search is given up; most of them lead to states that are known.
const STEPS_MAX: usize = 20_000_000;

/// A closed system.
pub trait System: Model + Clone + Send + Sync + 'static {
    /// Checked properties, in the order of the page.
    const PROPERTIES: &'static [&'static str];
    /// System that checks only this property.
    fn alone(&self, property: &'static str) -> Self;
    /// States on a path at most; `None`: any number.
    fn states_on_a_path_max(&self) -> Option<usize>;
    /// Explanation of the last state of a counter-example of a property.
    fn why(&self, property: &str, last: &Self::State) -> Option<&'static str>;
}

/// The outcome of a search through all states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// States that were found to be different.
    pub states: usize,
    /// All of them: the search ended by itself, or at the first counter-example of each property
    /// that does not hold.
    pub complete: bool,
    /// Shortest counter-example of each property that does not hold: a line for each decision.
    pub broken: Vec<(&'static str, Vec<String>)>,
}

/// Goes through all states of a system.
pub fn check<S: System>(system: &S) -> Verdict
where
    S::State: Clone + Debug + Hash + PartialEq + Send + Sync + 'static,
    S::Action: Clone + Debug + PartialEq,
{
    let search = |system: S| {
        let most = system.states_on_a_path_max();
        let checker = system.checker().target_state_count(STEPS_MAX);
        match most {
            Some(most) => checker.target_max_depth(most).spawn_bfs().join(),
            None => checker.spawn_bfs().join(),
        }
    };
    let all = search(system.clone());
    let states = all.unique_state_count();
    let complete = all.state_count() < STEPS_MAX;
    let broken = S::PROPERTIES.iter().filter_map(|&name| {
        all.discovery(name)?;
        // The checker keeps the counter-example that it finds last; alone, a property ends the
        // search at the first one.
        let path = search(system.alone(name)).discovery(name)?;
        let last = path.last_state().clone();
        let mut lines: Vec<String> = path
            .into_vec()
            .into_iter()
            .map(|(state, decision)| {
                decision.map_or(format!("{state:?}"), |d| format!("{state:?}; {d:?}"))
            })
            .collect();
        lines.extend(system.why(name, &last).map(String::from));
        Some((name, lines))
    });
    Verdict { states, complete, broken: broken.collect() }
}

impl Verdict {
    /// Whether a property holds in every state.
    pub fn holds(&self, property: &str) -> bool {
        self.complete && self.broken.iter().all(|b| b.0 != property)
    }
}
