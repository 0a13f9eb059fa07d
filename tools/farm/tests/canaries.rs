//! Planted faults: every checker and every reader's part of the farm finds one, and the farm
//! reduces the failing case.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use xoff_farm::checkers::{self, CHECKERS, How, PLAIN, REFERENCE, Ran, run};
use xoff_farm::fabrics::{Came, FAMILIES, examine};
use xoff_farm::readers::{self, Reader, broken};
use xoff_farm::shrink::shrink;
use xoff_run::NetworkScenario;
use xoff_sim::{Engine, Violation, ViolationKind};
use xoff_units::{Loss, Time};

const STAR: &str = "[run]\nduration = \"6ms\"\n[topology]\nkind = \"star\"\nhosts = 4\n[flow_control]\nkind = \"pfc\"\n\
                    [[workload]]\nkind = \"permutation\"\nsize = \"2MB\"\n[[workload]]\nkind = \"closed-loop\"\nsize = \"30KB\"\ndifferent_rack = false\n[probes]\ninterval = \"20us\"\nqueues = [\"all\"]\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The ring that falls into deadlock under PFC.
fn ring() -> String {
    std::fs::read_to_string(root().join("scenarios/tutorial/ring.toml")).unwrap()
}

fn load(text: &str) -> NetworkScenario {
    NetworkScenario::from_text("farm.toml", text, &[], Path::new(""))
        .unwrap_or_else(|e| panic!("{e}"))
}

fn checked(name: &str, text: &str, run: checkers::Runner<'_>) -> Result<(), String> {
    (checkers::find(name).unwrap().check)(&load(text), run)
}

/// A run that goes wrong where `wrong` asks for it, in a manner that `plant` adds.
fn with_fault(
    wrong: impl Fn(How) -> bool,
    plant: impl Fn(&mut Ran),
) -> impl Fn(&NetworkScenario, How) -> Result<Rc<Ran>, String> {
    move |s, how| {
        let mut ran = run(s, how)?;
        if wrong(how) {
            plant(Rc::get_mut(&mut ran).unwrap());
        }
        Ok(ran)
    }
}

#[test]
fn every_checker_finds_a_planted_fault() {
    let first = |ran: &mut Ran| ran.outcome.frame_hops += 1;
    let lost = |ran: &mut Ran| ran.outcome.lost[Loss::BufferFull].data += 1;
    let broken = |ran: &mut Ran| ran.outcome.violations_total += 1;
    // A frame that is missing in the count, as the simulator states it.
    let uncounted = |ran: &mut Ran| {
        let what = "3 data frames were sent, 2 are delivered".to_owned();
        ran.outcome.violations.push(Violation {
            time: Time::ZERO,
            rank: 0,
            kind: ViolationKind::Conservation,
            what,
        });
    };
    let fast = |ran: &mut Ran| {
        ran.outcome
            .flows
            .iter_mut()
            .for_each(|f| f.received = f.received.map(|_| Time(f.flow.start.0 + 1)))
    };
    let early = |ran: &mut Ran| ran.outcome.now = Time::ZERO;
    let mut found = vec![
        ("promises", checked("promises", STAR, &with_fault(|_| true, broken))),
        ("end", checked("end", STAR, &with_fault(|_| true, early))),
        ("conservation", checked("conservation", STAR, &with_fault(|_| true, uncounted))),
        ("lossless", checked("lossless", STAR, &with_fault(|_| true, lost))),
        ("ideal", checked("ideal", STAR, &with_fault(|_| true, fast))),
        ("repeat", checked("repeat", STAR, &with_fault(|how| how.again, first))),
        ("resumed", checked("resumed", STAR, &with_fault(|how| how.moved, first))),
        (
            "engines",
            checked(
                "engines",
                STAR,
                &with_fault(|how| how.engine == Engine::Windows && how.threads == 3, first),
            ),
        ),
        (
            "engines",
            checked(
                "engines",
                STAR,
                &with_fault(|how| how != REFERENCE, |ran| ran.rows.truncate(10)),
            ),
        ),
        ("fast-forward", checked("fast-forward", STAR, &with_fault(|how| how == PLAIN, first))),
        ("observed", checked("observed", STAR, &with_fault(|how| how.unobserved, lost))),
    ];
    // A deadlock of the ring where there is no ring.
    let deadlock = run(&load(&ring()), PLAIN).unwrap().outcome.deadlocks.clone();
    assert!(!deadlock.is_empty(), "the ring under PFC");
    found.push((
        "deadlock",
        checked(
            "deadlock",
            STAR,
            &with_fault(|_| true, |ran| ran.outcome.deadlocks.clone_from(&deadlock)),
        ),
    ));
    for (name, came) in &found {
        assert!(came.is_err(), "{name} found nothing");
        assert_eq!(checked(name, STAR, &run), Ok(()), "{name} without a fault");
    }
    assert!(
        CHECKERS.iter().all(|c| found.iter().any(|f| f.0 == c.name)),
        "a checker without a canary"
    );
    assert_eq!(checked("deadlock", &ring(), &run), Ok(()), "in a ring it may be");
}

#[test]
fn every_family_draws_scenarios_that_pass() {
    for family in FAMILIES {
        for case in 70_000..70_003 {
            let text = (family.draw)(case);
            assert_eq!(
                examine(&text, family.checkers),
                Came::Fine,
                "{} {case}\n{text}",
                family.name
            );
            assert_eq!((family.draw)(case), text);
        }
    }
}

#[test]
fn a_failure_becomes_small() {
    let long = format!(
        "{}[[failure]]\nlink = \"S1-H1\"\nat = \"20s\"\n[probes]\ninterval = \"10us\"\nqueues = [\"all\"]\n",
        ring()
    );
    let deadlocks = |text: &str| {
        let s = NetworkScenario::from_text("farm.toml", text, &[], Path::new("")).ok();
        s.is_some_and(|s| run(&s, PLAIN).is_ok_and(|r| !r.outcome.deadlocks.is_empty()))
    };
    let small = shrink(&long, deadlocks);
    assert!(deadlocks(&small) && small.len() < long.len() / 2, "{small}");
    assert!(!small.contains("[probes]"), "{small}");
    // Nothing can be left out.
    let lines: Vec<&str> = small.lines().collect();
    for i in 0..lines.len() {
        let less: String = lines
            .iter()
            .enumerate()
            .filter(|(k, _)| *k != i)
            .map(|(_, l)| format!("{l}\n"))
            .collect();
        assert!(lines[i].starts_with('[') || !deadlocks(&less), "without '{}'", lines[i]);
    }
    // A text that is no scenario is no failure, and a panic is one.
    assert!(matches!(examine("[topology]\nkind = \"rin\"\n", &["promises"]), Came::Refused(_)));
}

#[test]
fn broken_inputs_are_read_or_refused() {
    let all = readers::all(&root());
    assert_eq!(all.len(), 23 + xoff_scenario::import::FORMATS.len());
    for r in &all {
        assert!(r.samples.iter().any(|s| (r.read)(r, s)), "{} accepts none of its samples", r.name);
        let cases = if r.name == "wire" { 100_000 } else { 500 };
        let accepted = (0..cases).filter(|&case| (r.read)(r, &broken(r, case))).count() as u64;
        // A farm whose inputs are all refused at the first byte tests nothing.
        assert!(accepted > cases / 100, "{}: {accepted} of {cases} accepted", r.name);
        assert!(r.name == "wire" || accepted < cases, "{}: none refused", r.name);
    }
    let careless = Reader {
        name: "careless".into(),
        samples: all[1].samples.clone(),
        folder: root(),
        read: |_, bytes| {
            assert!(std::str::from_utf8(bytes).is_ok(), "no text");
            true
        },
    };
    let panics = |case| {
        std::panic::catch_unwind(|| (careless.read)(&careless, &broken(&careless, case))).is_err()
    };
    assert!((0..2000).any(panics), "bytes that are no text are among them");
}
