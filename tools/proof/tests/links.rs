//! Every state of a link under every flow control and every fault; planted faults are found.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::path::Path;

use xoff_proof::faults::Faults;
use xoff_proof::link::{Bounds, Canary, IN_ORDER, LOSSLESS, Link, RECOVERS, State};
use xoff_proof::page::{
    counter_examples, headings, lines, link_row, links, retry_links, retry_row,
};
use xoff_proof::retry::{self, Hits, RetryLink};
use xoff_proof::setups::{SETUPS, Setup};
use xoff_proof::verdict::{System, Verdict, check};

/// A file of docs/proof, whose tables are those of docs/proof.md.
fn file(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/proof").join(name)
}

/// Rows that take seconds: states that `make test` goes through again, and of each link the row
/// that has the fewest.
const SHORT: usize = 25_000;

/// Link, faults and states of a row of verdicts.
fn cells(row: &str) -> Option<(&str, &str, usize)> {
    let mut cells = row.trim_matches('"').split("\",\"");
    let (name, faults, states) = (cells.next()?, cells.next()?, cells.next()?);
    Some((name, faults, states.replace(',', "").parse().ok()?))
}

/// The row that begins like this, and whether it is short.
fn stated<'p>(rows: &'p str, name: &str, faults: &str) -> (&'p str, bool) {
    let of_link =
        || rows.lines().filter_map(|row| Some((row, cells(row)?))).filter(|(_, c)| c.0 == name);
    let found = of_link().find(|(_, c)| c.1 == faults);
    let (row, (.., states)) =
        found.unwrap_or_else(|| panic!("docs/proof has no row of {name}, {faults}"));
    (row, states <= SHORT || of_link().all(|(_, c)| states <= c.2))
}

#[test]
fn the_shorter_rows_of_the_page_are_computed_again() {
    xoff_testing::golden(&file("links.csv"), &links());
    let verdicts = std::fs::read_to_string(file("verdicts.csv")).unwrap();
    let mut rows = 0;
    for setup in SETUPS {
        let mut again = 0;
        for faults in setup.faults() {
            if let (row, true) = stated(&verdicts, setup.name, faults.describe()) {
                assert_eq!(link_row(setup, faults, &check(&setup.link(faults))), row);
                again += 1;
            }
        }
        assert!(again > 0, "no row of {} was computed", setup.name);
        rows += again;
    }
    assert!(rows >= 12, "only {rows} rows were computed");
}

#[test]
fn the_shorter_rows_of_links_that_repeat_are_computed_again() {
    xoff_testing::golden(&file("retry-links.csv"), &retry_links());
    let verdicts = std::fs::read_to_string(file("retry-verdicts.csv")).unwrap();
    let mut rows = 0;
    for setup in retry::SETUPS {
        let mut again = 0;
        for faults in Hits::ALL {
            if let (row, true) = stated(&verdicts, setup.name, faults.describe()) {
                assert_eq!(retry_row(setup, faults, &check(&setup.link(faults))), row);
                again += 1;
            }
        }
        assert!(again > 0, "no row of {} was computed", setup.name);
        rows += again;
    }
    assert!(rows >= 6, "only {rows} rows were computed");
}

/// All rows; `out/proof.md` has the counter-examples.
#[test]
#[ignore = "goes through millions of states, which takes minutes"]
fn the_whole_page() {
    let found: Vec<(&Setup, Faults, Verdict)> =
        SETUPS.iter().flat_map(|s| s.faults().map(move |f| (s, f, check(&s.link(f))))).collect();
    let retries: Vec<(&retry::Setup, Hits, Verdict)> =
        retry::SETUPS.iter().flat_map(|s| Hits::ALL.map(|f| (s, f, check(&s.link(f))))).collect();
    let mut examples = String::from("# Counter-examples of docs/proof.md\n");
    examples.extend(
        found
            .iter()
            .map(|(s, f, v)| counter_examples(s.name, f.describe(), s.bounds.every.into(), v)),
    );
    examples.extend(retries.iter().map(|(s, f, v)| counter_examples(s.name, f.describe(), 1, v)));
    let out = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../out");
    std::fs::create_dir_all(&out).unwrap();
    std::fs::write(out.join("proof.md"), examples).unwrap();
    let heading = headings("flow control", &["lossless", "in order", "recovers"]);
    let rows = found.iter().map(|(s, f, v)| link_row(s, *f, v));
    xoff_testing::golden(&file("verdicts.csv"), &lines(std::iter::once(heading).chain(rows)));
    let heading = headings("link", &["kept", "none given up", "in order", "recovers"]);
    let rows = retries.iter().map(|(s, f, v)| retry_row(s, *f, v));
    xoff_testing::golden(&file("retry-verdicts.csv"), &lines(std::iter::once(heading).chain(rows)));
}

/// Planted fault, and the property that has to find it.
fn finds(setup: &Setup, canary: Canary, property: &'static str) -> bool {
    finds_under(setup, Faults::None, canary, property)
}

fn finds_under(setup: &Setup, faults: Faults, canary: Canary, property: &'static str) -> bool {
    let v = check(&Link { canary: Some(canary), only: Some(property), ..setup.link(faults) });
    v.broken.iter().any(|b| b.0 == property)
}

#[test]
fn planted_faults_are_found_under_every_flow_control() {
    for setup in SETUPS {
        assert!(
            finds(setup, Canary::Overtakes, IN_ORDER),
            "{}: frames that change places",
            setup.name
        );
        let first = (1..setup.frames as u8 - 1)
            .find(|&n| finds(setup, Canary::BufferTooSmall(n), LOSSLESS));
        assert_eq!(
            first,
            Some(setup.spare + 1),
            "{}: frames that the buffer may have less before one is lost",
            setup.name
        );
    }
}

/// The room that derived thresholds leave for a lost message is needed: with rare losses the search
/// finds a frame that is lost sooner than without any.
#[test]
fn the_room_for_a_lost_message_is_used() {
    let setup = |name: &str| SETUPS.iter().find(|s| s.name == name).unwrap();
    let pfc = setup("pfc, pauses without an end, repeated");
    let first = (1..pfc.frames as u8 - 1)
        .find(|&n| finds_under(pfc, Faults::LostRarely, Canary::BufferTooSmall(n), LOSSLESS));
    assert_eq!(
        first,
        Some(SPARE_OF_PFC + 1),
        "frames that the buffer may have less before one is lost"
    );
    assert_eq!(SPARE_OF_PFC + INTERVAL, pfc.spare);
    // Of PAUSE and MIGRATE one after the other may be lost, and the flow stops no later than if
    // both were.
    let pffc = setup("pffc, a single flow, repeated");
    let too_few = Canary::BufferTooSmall(pffc.spare - INTERVAL + 1);
    assert!(finds_under(pffc, Faults::LostByKind, too_few, LOSSLESS));
    assert!(!finds(pffc, too_few, LOSSLESS));
}

/// A pause with an end has to last until its copy after the next comes, which may take longer on
/// its way than the first one did.
#[test]
#[ignore = "slow: half a million states"]
fn a_pause_with_an_end_lasts_for_two_intervals_and_more() {
    let setup = SETUPS.iter().find(|s| s.name == "pffc, a single flow, repeated").unwrap();
    let lasts = |quanta: &'static str| {
        let given: Vec<_> = setup
            .given
            .iter()
            .map(|&(key, value)| if key == "pause" { ("quanta", quanta) } else { (key, value) })
            .collect();
        check(&Setup { given: given.leak(), ..setup.clone() }.link(Faults::LostByKind))
    };
    let (two, three) = (lasts("512"), lasts("768"));
    assert!(
        two.complete && two.broken.iter().map(|b| b.0).eq([LOSSLESS]),
        "two intervals to the picosecond: {:?}",
        two.broken
    );
    assert_eq!((three.complete, three.broken), (true, vec![]), "three intervals");
}

/// A buffer that BFC needs for one flow is too small for two, each with a queue of its own: the
/// first fills its share before the second is paused.
#[test]
fn a_buffer_for_one_flow_is_too_small_for_two() {
    let one = SETUPS.iter().find(|s| s.name == "bfc, a single flow").unwrap();
    let two = Bounds { flows: 2, greedy: true, filled: 7, ticks_max: Some(12), ..one.bounds };
    let given = &[("queues", "2"), ("period", "8192ns")];
    let two = Setup { bounds: two, given, ..one.clone() };
    assert!(finds(&two, Canary::BufferTooSmall(0), LOSSLESS), "two flows");
    assert!(!finds(one, Canary::BufferTooSmall(0), LOSSLESS), "one flow");
}

/// Frames that the buffer of [`the_room_for_a_lost_message_is_used`] may have less with rare
/// losses.
const SPARE_OF_PFC: u8 = 1;
/// Frames of an interval of repetition, by which a lost message is late.
const INTERVAL: u8 = 4;

/// A half whose messages about departures are left out, or whose timer is never called, does not
/// come back, or lets a sender go on.
#[test]
fn a_half_that_falls_silent_is_found() {
    for (name, canary, property) in [
        ("pfc, pauses without an end", Canary::SilentDeparture, RECOVERS),
        ("gfc-buffer", Canary::SilentDeparture, RECOVERS),
        ("gfc-conceptual", Canary::SilentDeparture, RECOVERS),
        ("gfc-time", Canary::NoTimer, LOSSLESS),
        // Bounds within which no sender has to obey would show nothing.
        ("pfc", Canary::ObeysNothing, LOSSLESS),
        ("gfc-buffer", Canary::ObeysNothing, LOSSLESS),
        ("gfc-conceptual", Canary::ObeysNothing, LOSSLESS),
        ("gfc-time", Canary::ObeysNothing, LOSSLESS),
        ("pffc", Canary::ObeysNothing, LOSSLESS),
        ("pffc", Canary::SilentDeparture, RECOVERS),
        ("cbfc", Canary::NoTimer, RECOVERS),
        ("bfc, a single flow", Canary::NoTimer, LOSSLESS),
        ("bfc, a single flow", Canary::ObeysNothing, LOSSLESS),
        ("cbfc, 12-bit counters", Canary::NoTimer, RECOVERS),
        ("uec-cbfc", Canary::NoTimer, RECOVERS),
    ] {
        let setup = SETUPS.iter().find(|s| s.name == name).unwrap();
        assert!(finds(setup, canary, property), "{name}: {canary:?}");
    }
}

/// Credits of frames that errors have taken come back with a report, and with nothing else.
#[test]
fn a_sender_that_reports_nothing_is_found() {
    for (name, faults) in [("cbfc", Faults::FrameLostReported), ("uec-cbfc", Faults::FrameLost)] {
        let setup = SETUPS.iter().find(|s| s.name == name).unwrap();
        assert!(finds_under(setup, faults, Canary::NoReport, RECOVERS), "{name}");
    }
}

/// Faults planted into a link that repeats, the faults of its wire, and the property that has to
/// find them.
#[test]
fn planted_faults_of_links_that_repeat_are_found() {
    let finds = |faults: Hits, canary: retry::Canary, property: &'static str| {
        let link = RetryLink {
            canary: Some(canary),
            only: Some(property),
            ..retry::SETUPS[0].link(faults)
        };
        check(&link).broken.iter().any(|b| b.0 == property)
    };
    assert!(finds(Hits::Vanished, retry::Canary::NoTimer, RECOVERS), "a tail that vanishes");
    assert!(finds(Hits::Vanished, retry::Canary::AcceptsAll, IN_ORDER), "frames behind a gap");
    assert!(
        finds(Hits::None, retry::Canary::AcksTheNext, retry::KEPT),
        "an acknowledgement that is one too high"
    );
    assert!(
        finds(Hits::All, retry::Canary::SilentOnOld, RECOVERS),
        "by the letter of the standard both ends repeat for ever"
    );
    // Four of eight numbers may be outstanding. All of them may not: a frame that is sent again is
    // taken for a new one.
    assert!(!finds(Hits::SignalLost, retry::Canary::Window(4), IN_ORDER));
    assert!(
        finds(Hits::SignalLost, retry::Canary::Window(8), IN_ORDER),
        "numbers that come again too soon"
    );
}

/// From states that are taken for one, eight random decisions lead to states that are taken for
/// one. Returns how many such states came.
fn pairs_go_on_alike<S: System>(system: &S, steps: usize, ends: impl Fn(&S::State) -> bool) -> usize
where
    S::State: Clone + Debug + Eq + Hash,
    S::Action: Copy + Debug,
{
    let mut random = 7u64;
    let mut decide = |state: &S::State| {
        let mut actions = Vec::new();
        system.actions(state, &mut actions);
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (!actions.is_empty()).then(|| actions[(random >> 33) as usize % actions.len()])
    };
    let mut seen: HashMap<S::State, ()> = HashMap::new();
    let mut state = system.init_states().remove(0);
    let mut pairs = 0;
    for _ in 0..steps {
        if let Some((earlier, ())) = seen.get_key_value(&state) {
            let (mut a, mut b) = (earlier.clone(), state.clone());
            for _ in 0..8 {
                let Some(decision) = decide(&a) else { break };
                (a, b) = (
                    system.next_state(&a, decision).unwrap(),
                    system.next_state(&b, decision).unwrap(),
                );
                assert!(a == b, "{earlier:?} after {decision:?}: {a:?}, {b:?}");
            }
            pairs += 1;
        } else {
            seen.insert(state.clone(), ());
        }
        state = match decide(&state).and_then(|d| system.next_state(&state, d)) {
            Some(next) if !ends(&next) => next,
            _ => system.init_states().remove(0),
        };
    }
    pairs
}

/// A search that takes two states for one is right only if they go on alike.
#[test]
fn states_that_are_taken_for_one_go_on_alike() {
    for setup in SETUPS {
        for faults in [
            Faults::None,
            Faults::Late,
            Faults::Turned,
            Faults::Lost,
            Faults::LostByKind,
            Faults::FrameLost,
            Faults::FrameLostReported,
        ] {
            if [Faults::Turned, Faults::LostByKind].contains(&faults)
                && setup.faults().all(|f| f != faults)
            {
                continue;
            }
            let steps = if setup.bounds.wraps { 40_000 } else { 4_000 };
            let pairs =
                pairs_go_on_alike(&setup.link(faults), steps, |s: &State| s.broken.is_some());
            // Bounded searches are of states that hardly ever come again.
            assert!(
                pairs > 20 || setup.bounds.ticks_max.is_some(),
                "{} {faults:?}: only {pairs} states came again",
                setup.name
            );
        }
    }
    for setup in retry::SETUPS {
        for faults in Hits::ALL {
            let pairs = pairs_go_on_alike(&setup.link(faults), 10_000, |s: &retry::State| {
                s.broken.is_some()
            });
            assert!(pairs > 20, "{} {faults:?}: only {pairs} states came again", setup.name);
        }
    }
}
