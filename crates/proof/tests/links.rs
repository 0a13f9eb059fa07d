//! Every state of a link under every flow control and every fault; planted faults are found.

use std::collections::HashMap;
use std::path::Path;

use stateright::Model;
use xoff_proof::faults::Faults;
use xoff_proof::link::{Canary, IN_ORDER, LOSSLESS, Link, RECOVERS, State};
use xoff_proof::page::{introduction, render, row};
use xoff_proof::setups::{SETUPS, Setup};
use xoff_proof::verdict::{Verdict, check};

const PAGE: &str = "docs/proof.md";

fn page() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE)
}

/// Rows that take seconds: states that `make test` goes through again.
const SHORT: usize = 25_000;

fn states_on_page(row: &str) -> usize {
    row.split('|').nth(3).and_then(|n| n.trim().replace(',', "").parse().ok()).unwrap_or(usize::MAX)
}

#[test]
fn the_shorter_rows_of_the_page_are_computed_again() {
    let page = std::fs::read_to_string(page()).unwrap();
    assert!(page.starts_with(&introduction()), "{PAGE} does not begin with:\n{}", introduction());
    let mut again = 0;
    for setup in SETUPS {
        for faults in Faults::ALL {
            let start = format!("| {} | {} |", setup.name, faults.describe());
            let stated = page.lines().find(|l| l.starts_with(&start)).unwrap_or_else(|| panic!("{PAGE} has no row {start}"));
            if states_on_page(stated) <= SHORT {
                assert_eq!(row(setup, faults, &check(&setup.link(faults))), stated);
                again += 1;
            }
        }
    }
    assert!(again >= 12, "only {again} rows were computed");
}

#[test]
#[ignore = "goes through millions of states, which takes minutes"]
fn the_whole_page() {
    let all: Vec<(&Setup, Faults, Verdict)> = SETUPS.iter().flat_map(|s| Faults::ALL.map(|f| (s, f, check(&s.link(f))))).collect();
    xoff_testing::golden(&page(), &render(&all));
}

/// What is planted, and the property that has to find it.
fn finds(setup: &Setup, canary: Canary, property: &'static str) -> bool {
    let v = check(&Link { canary: Some(canary), only: Some(property), ..setup.link(Faults::None) });
    v.broken.iter().any(|b| b.0 == property)
}

#[test]
fn planted_faults_are_found_under_every_flow_control() {
    for setup in SETUPS {
        assert!(finds(setup, Canary::Overtakes, IN_ORDER), "{}: frames that change places", setup.name);
        let first = (1..setup.frames as u8 - 1).find(|&n| finds(setup, Canary::BufferTooSmall(n), LOSSLESS));
        assert_eq!(first, Some(setup.spare + 1), "{}: frames that the buffer may have less before one is lost", setup.name);
    }
}

/// A half whose messages about departures are left out, or whose timer is never called, does not come back.
#[test]
fn a_half_that_falls_silent_is_found() {
    for (name, canary) in [
        ("pfc, pauses without an end", Canary::SilentDeparture),
        ("gfc-buffer", Canary::SilentDeparture),
        ("pffc", Canary::SilentDeparture),
        ("cbfc", Canary::NoTimer),
        ("cbfc, 12-bit counters", Canary::NoTimer),
    ] {
        let setup = SETUPS.iter().find(|s| s.name == name).unwrap();
        assert!(finds(setup, canary, RECOVERS), "{name}: {canary:?}");
    }
}

/// A search that takes two states for one is right only if they go on alike.
#[test]
fn states_that_are_taken_for_one_go_on_alike() {
    for setup in SETUPS {
        for faults in [Faults::None, Faults::Lost, Faults::FrameLostReported] {
            let link = setup.link(faults);
            let mut random = 7u64;
            let mut decide = |link: &Link, state: &State| {
                let mut actions = Vec::new();
                link.actions(state, &mut actions);
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (!actions.is_empty()).then(|| actions[(random >> 33) as usize % actions.len()])
            };
            let mut seen: HashMap<State, ()> = HashMap::new();
            let mut state = link.init_states().remove(0);
            let mut pairs = 0;
            for _ in 0..if setup.wraps { 40_000 } else { 4_000 } {
                if let Some((earlier, ())) = seen.get_key_value(&state) {
                    let (mut a, mut b) = (earlier.clone(), state.clone());
                    for _ in 0..8 {
                        let Some(decision) = decide(&link, &a) else { break };
                        (a, b) = (link.next_state(&a, decision).unwrap(), link.next_state(&b, decision).unwrap());
                        assert!(a == b, "{} {faults:?}: {earlier:?} after {decision:?}: {a:?}, {b:?}", setup.name);
                    }
                    pairs += 1;
                } else {
                    seen.insert(state.clone(), ());
                }
                state = match decide(&link, &state).and_then(|d| link.next_state(&state, d)) {
                    Some(next) if next.broken.is_none() => next,
                    _ => link.init_states().remove(0),
                };
            }
            // Bounded searches are of states that hardly ever come again.
            assert!(pairs > 20 || setup.ticks_max.is_some(), "{} {faults:?}: only {pairs} states came again", setup.name);
        }
    }
}
