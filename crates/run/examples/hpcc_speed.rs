//! Speed at which a configuration is replayed:
//! `cargo run --release -p xoff-run --example hpcc_speed -- config.txt`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use xoff_sim::Ended;

fn main() -> ExitCode {
    let Some(config) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("expected a config.txt");
        return ExitCode::from(2);
    };
    let case = match xoff_scenario::hpcc::load(&config) {
        Ok(case) => case,
        Err(e) => {
            eprintln!("{e}");
            return ExitCode::from(2);
        }
    };
    let started = Instant::now();
    let mut replay = match xoff_run::hpcc::prepare(&case) {
        Ok(replay) => replay,
        Err(e) => {
            eprintln!("{e}");
            return ExitCode::from(2);
        }
    };
    let built = started.elapsed();
    let ended = loop {
        if let Some(ended) = replay.world.run(replay.until, 1 << 20) {
            break ended;
        }
    };
    let ran = started.elapsed() - built;
    let (o, _) = replay.world.finish(ended);
    let per_second = |n: u64| n as f64 / ran.as_secs_f64() / 1e6;
    println!(
        "built in {:.3} s, ran in {:.3} s, ended {}",
        built.as_secs_f64(),
        ran.as_secs_f64(),
        if ended == Ended::Quiet { "quiet" } else { "in time" }
    );
    println!("{} frame-hops, {:.2} million a second", o.frame_hops, per_second(o.frame_hops));
    println!(
        "{} events, {:.2} million a second, {:.2} per frame-hop",
        o.events,
        per_second(o.events),
        o.events as f64 / o.frame_hops.max(1) as f64
    );
    println!("{} of {} flows complete", o.completions.len(), o.flows.len());
    ExitCode::SUCCESS
}
