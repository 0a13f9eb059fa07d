//! Promise 2 for processes: a run that several processes share gives the same rows in the same
//! order, the same counters and the same hash as that of one. Here they are threads that reach each
//! other by channels; `tools/mpi` does the same with real ones.

use xoff_farm::cores::on_all_cores;
use xoff_farm::networks::load;
use xoff_farm::outcome::{first_difference, stated};
use xoff_record::{Manifest, Sink};
use xoff_run::NetworkScenario;
use xoff_sim::{Engine, Outcome, Processes, Row, Share, World, local};

struct Seen {
    rows: Vec<Row>,
    outcome: Outcome,
    /// Processes that had something to do.
    busy: usize,
}

/// Runs to the end. Without processes alone.
fn run(s: &NetworkScenario, engine: Engine, processes: Option<Box<dyn Processes>>) -> Seen {
    let mut m = s.model();
    (m.engine, m.fast_forward) = (engine, false);
    m.share = processes.as_ref().map(|p| Share::of(&**p));
    let mut w = World::build(&s.topology, s.flows.clone(), &m).expect("it was built before");
    if m.share.is_none_or(|s| s.mine == 0) {
        w.record_to(Box::new(Vec::<Row>::new()));
    }
    if let Some(processes) = processes {
        w.join(processes);
    }
    let busy = w.busy_processes();
    let ended = w.drive(s.until, |_| true);
    let (outcome, recorder) = w.finish(ended);
    let rows = recorder.map_or(Vec::new(), |r| *r.into_any().downcast::<Vec<Row>>().expect("rows"));
    Seen { rows, outcome, busy }
}

/// Final value of the first of `count` processes.
fn together<T: Send>(count: usize, work: impl Fn(Box<dyn Processes>) -> T + Sync) -> T {
    std::thread::scope(|scope| {
        let all: Vec<_> =
            local(count).into_iter().map(|p| scope.spawn(|| work(Box::new(p)))).collect();
        let mut all: Vec<T> = all
            .into_iter()
            .map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect();
        all.swap_remove(0)
    })
}

fn compare(whole: &Seen, shared: &Seen, what: impl Fn() -> String) {
    if let Some(at) = whole.rows.iter().zip(&shared.rows).position(|(a, b)| a != b) {
        panic!(
            "{}, row {at}: {:?} in one process, {:?} here",
            what(),
            whole.rows[at],
            shared.rows[at]
        );
    }
    assert_eq!(
        (whole.rows.len(), whole.outcome.events),
        (shared.rows.len(), shared.outcome.events),
        "{}",
        what()
    );
    assert_eq!(
        first_difference(&stated(&whole.outcome), &stated(&shared.outcome)),
        None,
        "{}",
        what()
    );
}

fn same(case: u64) -> usize {
    let (s, drawn) = load(case);
    let whole = run(&s, Engine::Events, None);
    let mut busy = 0;
    for (engine, count) in [
        (Engine::Windows, 1),
        (Engine::Windows, 2),
        (Engine::Windows, 4),
        (Engine::Windows, 16),
        (Engine::Events, 3),
    ] {
        let shared = together(count, |p| run(&s, engine, Some(p)));
        busy = busy.max(shared.busy);
        compare(&whole, &shared, || {
            format!("case {case}, {engine:?}, {count} processes\n{}", drawn.text())
        });
    }
    busy
}

fn swarm(cases: std::ops::Range<u64>) {
    let busy = on_all_cores(cases, |cases| cases.map(same).max().unwrap_or(0)).into_iter().max();
    assert_eq!(
        busy,
        Some(16),
        "some network has work for all of them; networks of fewer switches leave some without any"
    );
}

#[test]
fn sixty_random_scenarios_are_the_same_on_any_number_of_processes() {
    if let Some(case) = std::env::var("XOFF_TEST_SWARM_CASE").ok().and_then(|c| c.parse().ok()) {
        println!("{}", load(case).1.text());
        same(case);
        return;
    }
    swarm(0..60);
}

/// The manifest at the first process, or why there is no run, at each of them.
fn shared_run(texts: &[&str], until: Option<u64>) -> Vec<Result<Option<Manifest>, String>> {
    std::thread::scope(|scope| {
        let one = |(mut p, text): (xoff_sim::Local, &str)| {
            let s = NetworkScenario::from_text("shared.toml", text, &[], std::path::Path::new("."))
                .map_err(|e| e.to_string())?;
            s.same_everywhere(&mut p)?;
            let mut looks = 0;
            // Only the first process that is asked stops: one of the others.
            let mut go_on = |mine: usize| {
                looks += 1;
                mine == 0 || until.is_none_or(|until| looks < until)
            };
            match p.mine() {
                0 => {
                    let running = s.lead(Sink::Nothing, Box::new(p)).map_err(|e| e.to_string())?;
                    running.run(|_| go_on(0)).map(|f| Some(f.manifest)).map_err(|e| e.to_string())
                }
                mine => {
                    s.follow(Box::new(p), || go_on(mine)).map(|()| None).map_err(|e| e.to_string())
                }
            }
        };
        let all = local(texts.len()).into_iter().zip(texts.iter().copied());
        let all: Vec<_> = all.map(|process| scope.spawn(move || one(process))).collect();
        all.into_iter()
            .map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

/// Result of the first process.
fn first(all: Vec<Result<Option<Manifest>, String>>) -> Manifest {
    all.into_iter()
        .next()
        .expect("a process")
        .unwrap_or_else(|e| panic!("{e}"))
        .expect("the first process has the manifest")
}

const RING: &str = "[run]\nduration = \"2ms\"\n[topology]\nkind = \"ring\"\nswitches = 3\nhosts_per_switch = 1\nrate = \"100Gbps\"\n\
    delay = \"1us\"\n[flow_control]\nkind = \"pfc\"\nxoff = \"100KB\"\n[[workload]]\nkind = \"permutation\"\n[probes]\ninterval = \"10us\"\n\
    queues = [\"all\"]\npauses = [\"all\"]\nflow_rates = true\n";

/// Through tables and manifest, with a deadlock whose ports are in different processes, and with
/// more processes than switches.
#[test]
fn a_deadlock_across_processes_is_found_and_the_hash_is_the_same() {
    let path =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/tutorial/ring.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let s = NetworkScenario::from_text("ring.toml", &text, &[], std::path::Path::new(".")).unwrap();
    let alone = s.run(Sink::Nothing).unwrap();
    assert!(alone.manifest.deadlock.is_some());
    for count in [1, 2, 3, 8] {
        let shared = first(shared_run(&vec![&text[..]; count], None));
        assert_eq!((shared.processes, shared.threads), (count as u32, 1));
        assert_eq!(
            (&shared.result_hash, &shared.deadlock),
            (&alone.manifest.result_hash, &alone.manifest.deadlock),
            "{count} processes"
        );
        let (a, b) = (alone.manifest.verdict.as_ref().unwrap(), shared.verdict.as_ref().unwrap());
        assert_eq!(
            (a.headline(), &alone.manifest.active),
            (b.headline(), &shared.active),
            "{count} processes"
        );
    }
}

/// Any process stops all of them, after the same pass, and what there is until then is complete.
#[test]
fn one_process_that_is_to_stop_stops_all() {
    let text = RING.replace("2ms", "1s");
    let stopped = first(shared_run(&[&text[..]; 3], Some(3)));
    assert!(stopped.interrupted && stopped.simulated_seconds < 0.9, "{stopped:?}");
    let again =
        RING.replace("2ms", &format!("{}ps", (stopped.simulated_seconds * 1e12).round() as u64));
    let alone = NetworkScenario::from_text("ring.toml", &again, &[], std::path::Path::new("."))
        .unwrap()
        .run(Sink::Nothing)
        .unwrap();
    assert_eq!(alone.manifest.frame_hops, stopped.frame_hops);
}

#[test]
fn what_processes_cannot_share_is_refused_by_all_of_them() {
    let refused = |texts: &[&str]| -> Vec<String> {
        shared_run(texts, None).into_iter().map(|r| r.unwrap_err()).collect()
    };
    let closed =
        RING.replace("permutation", "closed-loop\"\nsize = \"30KB\"\ndifferent_rack = false # \"");
    for (text, why) in [
        (closed, "a closed loop numbers its flows"),
        (format!("{RING}causes = true\n"), "the cause of a pause is read from the next switch"),
        (
            RING.replace("delay = \"1us\"", "delay = \"0us\""),
            "a link between two of them has no delay",
        ),
    ] {
        for e in refused(&[&text, &text]) {
            assert!(e.contains("cannot be spread over 2 processes") && e.contains(why), "{e}");
        }
    }
    let other = RING.replace("100KB", "90KB");
    for e in refused(&[RING, RING, &other]) {
        assert!(
            e.starts_with("process 2 read a different scenario from process 0: `xoff = "),
            "{e}"
        );
    }
}
