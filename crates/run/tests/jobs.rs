//! Jobs in the simulator: closed forms of collectives, and the same result however a run is simulated.

use std::path::Path;

use xoff_record::{ResultHash, Sink};
use xoff_run::{Finished, NetworkScenario};
use xoff_sim::Engine;
use xoff_units::Time;

/// Eight hosts around one switch: 100 Gb/s, 1 us, frames of 1000 B payload and 48 B header.
fn star(hosts: u32, job: &str) -> String {
    format!(
        "[run]\nduration = \"200ms\"\n[topology]\nkind = \"star\"\nhosts = {hosts}\nrate = \"100Gbps\"\ndelay = \"1us\"\n\
         [host]\nmtu = \"1048B\"\nheader = \"48B\"\n[flow_control]\nkind = \"pfc\"\n{job}"
    )
}

fn load(text: &str) -> NetworkScenario {
    NetworkScenario::from_text("job.toml", text, &[], Path::new(".")).unwrap_or_else(|e| panic!("{e}"))
}

fn run(text: &str, engine: Engine, threads: usize) -> Finished {
    let mut s = load(text);
    s.engine = engine;
    s.start(Sink::Nothing, Some(threads)).unwrap().run(|_| true).unwrap()
}

/// When the last rank of the first job ended its last iteration.
fn end(f: &Finished) -> Time {
    let ends = f.outcome.ranks[0].iter().map(|r| r.log.iterations.last().and_then(|i| i.1).expect("an end"));
    ends.max().expect("a rank")
}

fn hash(f: &Finished) -> ResultHash {
    f.tables.hash
}

/// A frame of 1048 B at 100 Gb/s, and one of 1 B payload [ps].
const TX: u64 = 83_840;
const D: u64 = 1_000_000;

#[test]
fn ring_all_reduce_takes_what_the_closed_form_says() {
    let text = star(8, "[[job]]\n[[collective]]\nkind = \"all-reduce\"\nsize = \"800KB\"\n");
    let step = 101 * TX + 2 * D;
    assert_eq!(14 * step, 146_549_760, "146.54976 us");
    for (engine, threads) in [(Engine::Events, 1), (Engine::Windows, 1)] {
        assert_eq!(end(&run(&text, engine, threads)).0, 14 * step);
    }
}
