//! Share of the event queue: the speed of a run compared with its event queue alone.

use std::path::Path;

use cpu_time::ThreadTime;
use xoff_run::NetworkScenario;
use xoff_sim::{Engine, World};
use xoff_units::Time;

use crate::Failed;
use crate::results::Stat;
use crate::runs::Bench;

/// Events before the first measurement: the network has filled.
const WARM: u64 = 3_000_000;
/// Events per measurement.
const EVENTS: u64 = 2_000_000;
const REPEATS: usize = 5;

/// Speed of the 128-host run as a share of the speed of its event queue alone: a stretch of the run
/// is noted operation by operation and done again by the queue alone, then the next stretch of the
/// run is timed.
pub fn queue_alone_share(bench: &Bench) -> Result<Stat, Failed> {
    let what = "event queue alone";
    bench.report(what);
    let file = bench.scenario("websearch.toml");
    let scenario = NetworkScenario::load(Path::new(&file), &[]).map_err(|e| e.to_string())?;
    let mut model = scenario.model();
    model.engine = Engine::Events; // the queue of all events is what is compared
    let mut world = World::build(&scenario.topology, scenario.flows.clone(), &model)
        .map_err(|e| e.to_string())?;
    let until = Time(scenario.until.0);
    world.run(until, WARM);
    let mut shares = Vec::new();
    for _ in 0..REPEATS {
        world.trace_queue(2 * EVENTS as usize);
        world.run(until, EVENTS);
        let trace = world.take_queue_trace().ok_or("nothing was noted")?;
        trace.replay(); // warms the caches, as the run has warmed its own
        let alone = trace.replay();
        let (before, cpu) = (world.events(), ThreadTime::now());
        world.run(until, EVENTS);
        let run = cpu.elapsed().as_secs_f64() / (world.events() - before).max(1) as f64;
        shares.push(alone.cpu.as_secs_f64() / alone.events.max(1) as f64 / run);
    }
    let stat = Stat::of(shares).ok_or("no run")?;
    bench.done(what, &format!("{:.0} %", stat.median * 100.0));
    Ok(stat)
}
