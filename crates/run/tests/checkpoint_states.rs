//! The state of a network is all of it: a new world that is given the state of another one in the
//! middle of its run continues as that one would have, in every row and every counter.
//!
//! Every flow control meets every detection and every rate control, with both engines and on
//! several threads, with failures, broken NICs, slow receivers, errors of links and links that
//! repeat.
//!
//! `XOFF_TEST_SWARM_CASE=123 cargo test --release --workspace --test checkpoint_states -- --nocapture`
//! runs one case.

use std::path::{Path, PathBuf};

use xoff_farm::checkers::{How, PLAIN, build, moved};
use xoff_farm::cores::on_all_cores;
use xoff_farm::draw::Dice;
use xoff_farm::networks;
use xoff_farm::outcome::{first_difference, stated};
use xoff_run::NetworkScenario;
use xoff_sim::{Ended, Engine, Outcome, Row, World};

struct Seen {
    rows: Vec<Row>,
    outcome: Outcome,
    /// Events after which the state was taken over by another world.
    cuts: Vec<u64>,
}

/// Runs it; after each slice of events, the world that `moves` returns continues.
fn drive(
    s: &NetworkScenario,
    how: How,
    mut slice: impl FnMut() -> u64,
    mut moves: impl FnMut(World) -> World,
) -> Seen {
    let mut w = build(s, how).unwrap();
    w.record_to(Box::new(Vec::<Row>::new()));
    let mut cuts = Vec::new();
    let ended: Ended = loop {
        if let Some(ended) = w.run(s.until, slice()) {
            break ended;
        }
        cuts.push(w.events());
        w = moves(w);
    };
    let (outcome, recorder) = w.finish(ended);
    let rows = *recorder.expect("it was given").into_any().downcast::<Vec<Row>>().expect("rows");
    Seen { rows, outcome, cuts }
}

fn whole(s: &NetworkScenario, how: How) -> Seen {
    drive(s, how, || 1 << 16, |w| w)
}

/// Compares a run whose state moved from world to world with one that was not interrupted. Returns
/// how often it moved.
fn same(s: &NetworkScenario, how: How, dice: &mut Dice, what: &str) -> usize {
    let whole = whole(s, how);
    let part = whole.outcome.events - whole.outcome.fast_forwarded.events_skipped;
    let cut = drive(s, how, || 1 + dice.roll(part / 2 + 1), |w| moved(s, how, w).unwrap());
    let place =
        || format!("{what}, {how:?}, cut after {:?} of {} events", cut.cuts, whole.outcome.events);
    if let Some(at) = whole.rows.iter().zip(&cut.rows).position(|(a, b)| a != b) {
        panic!("{}, row {at}: {:?}, cut {:?}", place(), whole.rows[at], cut.rows[at]);
    }
    assert_eq!(whole.rows.len(), cut.rows.len(), "{}", place());
    assert!(
        how.fast_forward || whole.outcome.events == cut.outcome.events,
        "{} events: {}",
        cut.outcome.events,
        place()
    );
    assert_eq!(
        first_difference(&stated(&whole.outcome), &stated(&cut.outcome)),
        None,
        "{}",
        place()
    );
    cut.cuts.len()
}

const HOWS: [How; 5] = [
    How { engine: Engine::Windows, threads: 1, fast_forward: false, ..PLAIN },
    How { engine: Engine::Events, threads: 1, fast_forward: false, ..PLAIN },
    How { engine: Engine::Windows, threads: 2, fast_forward: true, ..PLAIN },
    How { engine: Engine::Events, threads: 3, fast_forward: false, ..PLAIN },
    How { engine: Engine::Auto, threads: 1, fast_forward: true, ..PLAIN },
];

fn case(case: u64) -> usize {
    let (s, drawn) = networks::load(case);
    let mut dice = Dice(case ^ 0xc0ff_ee11);
    let how = HOWS[(case / 3) as usize % HOWS.len()];
    same(&s, how, &mut dice, &format!("case {case}\n{}", drawn.text()))
}

#[test]
fn random_networks_go_on_from_their_state() {
    if let Some(n) = std::env::var("XOFF_TEST_SWARM_CASE").ok().and_then(|c| c.parse().ok()) {
        println!("cut {} times", case(n));
        return;
    }
    let cuts: usize =
        on_all_cores(0..200, |cases| cases.map(case).sum::<usize>()).into_iter().sum();
    assert!(cuts > 400, "only {cuts} cuts");
}

/// Every scenario of the repository that a network runs, its first millisecond at most.
#[test]
fn every_scenario_of_the_repository_goes_on_from_its_state() {
    fn all(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension().and_then(|e| e.to_str()) {
                _ if path.is_dir() => all(&path, found),
                Some("toml") => found.push(path),
                _ => {}
            }
        }
    }
    let mut files = Vec::new();
    all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios"), &mut files);
    files.sort();
    let scenarios: Vec<_> =
        files.iter().filter_map(|f| Some((f, NetworkScenario::load(f, &[]).ok()?))).collect();
    assert!(scenarios.len() > 30, "{} scenarios", scenarios.len());
    let one = |nth: u64| {
        let file = scenarios[nth as usize].0;
        let mut s = NetworkScenario::load(file, &[]).unwrap();
        s.until = s.until.min(xoff_units::Time::from_us(1000));
        let how = HOWS[nth as usize % HOWS.len()];
        same(&s, how, &mut Dice(nth), &file.display().to_string())
    };
    let cuts: usize = on_all_cores(0..scenarios.len() as u64, |nth| nth.map(one).sum::<usize>())
        .into_iter()
        .sum();
    assert!(cuts > scenarios.len(), "only {cuts} cuts");
}

/// An explanation repeats no more of a run than what follows the checkpoint.
#[test]
fn an_explanation_begins_at_a_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    let folder = xoff_record::Folder::claim(&dir.path().join("out"), "run", false).unwrap();
    let ring = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/tutorial/ring.toml");
    let set = [
        "flow_control=gfc-buffer",
        "run.duration=100ms",
        "run.fast_forward=off",
        "run.checkpoint=10ms",
    ];
    let set: Vec<_> =
        set.iter().map(|s| xoff_scenario::document::Override::set(s).unwrap()).collect();
    let s = NetworkScenario::load(&ring, &set).unwrap();
    s.run(xoff_record::Sink::Files(folder, xoff_record::Format::find("parquet").unwrap())).unwrap();
    let again =
        NetworkScenario::from_text("resolved.toml", &s.resolved, &[], Path::new("")).unwrap();
    let at = xoff_units::Time::from_us(95_000);
    let ask = |from: Option<&Path>| {
        let mut first = None;
        let look = |now| {
            first.get_or_insert(now);
            true
        };
        let e = xoff_run::explain_in(&again, from, "S2->S3", at, None, look).unwrap();
        (e, first)
    };
    let ((whole, from_zero), (short, from_checkpoint)) =
        (ask(None), ask(Some(&dir.path().join("out"))));
    assert_eq!(whole, short);
    // Where so little is left to repeat that nothing was shown, it began late too.
    assert!(
        from_checkpoint.is_none_or(|t| Some(t) > from_zero),
        "{from_checkpoint:?} and {from_zero:?}"
    );
}
