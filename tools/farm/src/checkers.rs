//! Checks of a random scenario. A checker runs it as often as needed, and reports the problem.

use std::cell::RefCell;
use std::rc::Rc;

use xoff_analysis::cbd::{self, Rule, Traffic};
use xoff_net::topology::routing::FlowKey;
use xoff_run::NetworkScenario;
use xoff_sim::{Ended, Engine, LostFrames, Outcome, Probes, Row, ViolationKind, World};
use xoff_units::{Span, Time};

use crate::outcome::{first_difference, stated};

/// Way in which a scenario is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct How {
    /// The order in which events are handled.
    pub engine: Engine,
    /// Threads.
    pub threads: usize,
    /// Whether periods may be skipped.
    pub fast_forward: bool,
    /// Repetition of the run.
    pub again: bool,
    /// With nothing recorded, and no look of the deadlock detector.
    pub unobserved: bool,
    /// Run whose state is saved now and then, and from which another world continues.
    pub moved: bool,
}

/// As a user runs it, on one thread.
pub const PLAIN: How = How {
    engine: Engine::Auto,
    threads: 1,
    fast_forward: true,
    again: false,
    unobserved: false,
    moved: false,
};
/// The reference: one global order of events, nothing skipped.
pub const REFERENCE: How = How {
    engine: Engine::Events,
    threads: 1,
    fast_forward: false,
    again: false,
    unobserved: false,
    moved: false,
};

/// Outcome of a run.
pub struct Ran {
    /// Everything that it recorded, in order.
    pub rows: Vec<Row>,
    /// Counters.
    pub outcome: Outcome,
}

/// Runs a scenario; another one than [`run`] is a canary.
pub type Runner<'a> = &'a dyn Fn(&NetworkScenario, How) -> Result<Rc<Ran>, String>;

/// [`ran`], as checkers share it.
///
/// # Errors
/// The network cannot be built.
pub fn run(s: &NetworkScenario, how: How) -> Result<Rc<Ran>, String> {
    ran(s, how).map(Rc::new)
}

/// Runs a scenario.
///
/// # Errors
/// Its network cannot be built.
pub fn ran(s: &NetworkScenario, how: How) -> Result<Ran, String> {
    let mut w = build(s, how)?;
    w.record_to(Box::new(Vec::<Row>::new()));
    let mut slice = if how.moved { FIRST_SLICE } else { u64::MAX };
    let ended = loop {
        if let Some(ended) = w.run(s.until, slice) {
            break ended;
        }
        w = moved(s, how, w)?;
        slice *= 4;
    };
    let (outcome, recorder) = w.finish(ended);
    let rows = recorder
        .and_then(|r| r.into_any().downcast::<Vec<Row>>().ok())
        .map_or(Vec::new(), |rows| *rows);
    Ok(Ran { rows, outcome })
}

/// Events after which a state is saved first; then after four times as many each time.
const FIRST_SLICE: u64 = 50;

/// Builds the network of a scenario.
///
/// # Errors
/// It cannot be built.
pub fn build(s: &NetworkScenario, how: How) -> Result<World, String> {
    let mut m = s.model();
    (m.engine, m.threads, m.fast_forward) = (how.engine, how.threads, how.fast_forward);
    if how.unobserved {
        (m.probes, m.deadlock_interval) = (Probes::default(), Span::ZERO);
    }
    World::build(&s.topology, s.flows.clone(), &m).map_err(|e| e.to_string())
}

/// Another world with the state of this one, which is over.
///
/// # Errors
/// The state cannot be saved, or is another one when it is restored.
pub fn moved(s: &NetworkScenario, how: How, mut old: World) -> Result<World, String> {
    let state = old.save().map_err(|what| format!("{what} cannot be saved"))?;
    let mut new = build(s, how)?;
    new.restore(&state).map_err(|e| e.to_string())?;
    if new.save() != Ok(state) {
        return Err("the state that was restored is another one".into());
    }
    new.record_to(old.take_recorder().ok_or("a world returns its recorder")?);
    Ok(new)
}

/// [`run`], once for each manner: checkers that look at the same run share it.
pub fn remembering() -> impl Fn(&NetworkScenario, How) -> Result<Rc<Ran>, String> {
    let known: RefCell<Vec<(How, Rc<Ran>)>> = RefCell::default();
    move |s, how| {
        if let Some((_, ran)) = known.borrow().iter().find(|k| k.0 == how) {
            return Ok(ran.clone());
        }
        let ran = run(s, how)?;
        known.borrow_mut().push((how, ran.clone()));
        Ok(ran)
    }
}

/// A check.
pub struct Checker {
    /// Name on the command line and in the names of failures.
    pub name: &'static str,
    /// Property that holds if the checker finds nothing, one line.
    pub about: &'static str,
    /// Check; returns the problem.
    pub check: fn(&NetworkScenario, Runner<'_>) -> Result<(), String>,
}

/// Every checker.
pub const CHECKERS: &[Checker] = &[
    Checker {
        name: "promises",
        about: "no law of the simulator is broken: order, conservation, accounting, loss",
        check: promises,
    },
    Checker {
        name: "end",
        about: "a run ends with its last flow or rank, and records nothing later",
        check: end,
    },
    Checker {
        name: "conservation",
        about: "the same where frames may be lost, which have to be counted",
        check: conservation,
    },
    Checker { name: "lossless", about: "no frame is lost, for whatever reason", check: lossless },
    Checker { name: "ideal", about: "no flow is faster than its path allows", check: ideal },
    Checker {
        name: "repeat",
        about: "a second run has the same hash and the same counters",
        check: repeat,
    },
    Checker {
        name: "resumed",
        about: "saved on its way and continued elsewhere, a run has the same rows and counters",
        check: resumed,
    },
    Checker {
        name: "engines",
        about: "both engines, with three threads and without, have the same hash and the same counters",
        check: engines,
    },
    Checker {
        name: "fast-forward",
        about: "skipped periods change no row and no counter",
        check: fast_forward,
    },
    Checker {
        name: "observed",
        about: "what is recorded and who looks changes nothing of what happens",
        check: observed,
    },
    Checker {
        name: "deadlock",
        about: "where the check finds no cycle of buffers the run finds no deadlock",
        check: deadlock,
    },
];

/// The checker of this name.
pub fn find(name: &str) -> Option<&'static Checker> {
    CHECKERS.iter().find(|c| c.name == name)
}

fn promises(s: &NetworkScenario, run: Runner<'_>) -> Result<(), String> {
    let ran = run(s, PLAIN)?;
    let o = &ran.outcome;
    match o.violations.first() {
        None if o.violations_total == 0 => Ok(()),
        first => Err(format!("{} laws broken, the first: {first:?}", o.violations_total)),
    }
}

fn end(s: &NetworkScenario, run: Runner<'_>) -> Result<(), String> {
    let ran = run(s, PLAIN)?;
    let o = &ran.outcome;
    let logs = o.ranks.iter().flatten();
    let ranks = logs.flat_map(|r| &r.log.iterations).filter_map(|i| i.1);
    let last = o.all_flows().filter_map(|f| f.end).chain(ranks).max().unwrap_or_default();
    if o.ended == Ended::FlowsDone && o.now != last {
        return Err(format!("ended at {}, its last flow or rank at {last}", o.now));
    }
    let deadlocks = o.deadlocks.iter().map(|d| d.seen.0.max(d.closed.0));
    let storms = o.storms.iter().map(|s| s.found.max(s.over.unwrap_or_default()).0);
    let late = ran.rows.iter().map(|r| r.time()).chain(deadlocks).chain(storms);
    match late.filter(|time| *time > o.now.0).max() {
        Some(time) => Err(format!("ended at {}, and recorded something at {}", o.now, Time(time))),
        None => Ok(()),
    }
}

/// Only the first hundred broken promises are kept: of a run that loses more, one that is not loss
/// may be missing.
fn conservation(s: &NetworkScenario, run: Runner<'_>) -> Result<(), String> {
    let ran = run(s, PLAIN)?;
    let other = ran.outcome.violations.iter().find(|v| v.kind != ViolationKind::Loss);
    other.map_or(Ok(()), |first| Err(format!("{first:?}")))
}

fn lossless(s: &NetworkScenario, run: Runner<'_>) -> Result<(), String> {
    let ran = run(s, PLAIN)?;
    let lost = &ran.outcome.lost;
    if *lost == LostFrames::default() { Ok(()) } else { Err(format!("{lost:?}")) }
}

fn ideal(s: &NetworkScenario, run: Runner<'_>) -> Result<(), String> {
    let routes = s.routing().routes(&s.topology);
    let ran = run(s, PLAIN)?;
    for f in &ran.outcome.flows {
        let Some(fct) = f.fct() else { continue };
        let ideal = s.ideal_time(&routes, &f.flow).ok_or("no route")?;
        if fct < ideal {
            return Err(format!("{:?} took {fct}, ideal {ideal}", f.flow));
        }
    }
    Ok(())
}

/// Two runs have the same rows and counters.
fn same(a: &Ran, b: &Ran, what: &str) -> Result<(), String> {
    if let Some(at) = a.rows.iter().zip(&b.rows).position(|(a, b)| a != b) {
        return Err(format!("{what}: row {at}: {:?} <> {:?}", a.rows[at], b.rows[at]));
    }
    if a.rows.len() != b.rows.len() {
        return Err(format!("{what}: {} rows <> {}", a.rows.len(), b.rows.len()));
    }
    first_difference(&stated(&a.outcome), &stated(&b.outcome))
        .map_or(Ok(()), |d| Err(format!("{what}: other counters: {d}")))
}

fn repeat(s: &NetworkScenario, run: Runner<'_>) -> Result<(), String> {
    same(&*run(s, PLAIN)?, &*run(s, How { again: true, ..PLAIN })?, "once more")
}

fn resumed(s: &NetworkScenario, run: Runner<'_>) -> Result<(), String> {
    same(&*run(s, PLAIN)?, &*run(s, How { moved: true, ..PLAIN })?, "saved on its way")
}

fn engines(s: &NetworkScenario, run: Runner<'_>) -> Result<(), String> {
    let reference = run(s, REFERENCE)?;
    for (threads, engine) in [(1, Engine::Windows), (3, Engine::Windows), (3, Engine::Auto)] {
        same(
            &reference,
            &*run(s, How { engine, threads, ..REFERENCE })?,
            &format!("{engine:?} on {threads} threads"),
        )?;
    }
    Ok(())
}

fn fast_forward(s: &NetworkScenario, run: Runner<'_>) -> Result<(), String> {
    same(&*run(s, How { fast_forward: false, ..PLAIN })?, &*run(s, PLAIN)?, "with fast-forward")
}

fn observed(s: &NetworkScenario, run: Runner<'_>) -> Result<(), String> {
    let (seen, unseen) = (run(s, PLAIN)?, run(s, How { unobserved: true, ..PLAIN })?);
    let (a, b) = (&seen.outcome, &unseen.outcome);
    if !a.deadlocks.is_empty() {
        return Ok(()); // a run may end with it
    }
    let what = |o: &Outcome| {
        format!(
            "{:?} {:?} {} {:?} {:?}",
            o.flows, o.completions, o.delivered_frames, o.lost, o.ranks
        )
    };
    first_difference(&what(a), &what(b)).map_or(Ok(()), |d| Err(format!("unobserved: {d}")))
}

fn deadlock(s: &NetworkScenario, run: Runner<'_>) -> Result<(), String> {
    let ran = run(s, PLAIN)?;
    let Some(first) = ran.outcome.deadlocks.first() else { return Ok(()) };
    if s.has_workers_that_wait() {
        return Ok(()); // xoff check rejects such switches
    }
    let key = |f: &xoff_net::workload::Flow| FlowKey {
        src: f.src,
        dst: f.dst,
        src_port: f.src_port,
        dst_port: f.dst_port,
    };
    let flows: Vec<cbd::Flow> =
        s.flows.flows.iter().map(|f| cbd::Flow { key: key(f), path: f.path }).collect();
    // A closed loop makes its flows under way.
    let traffic = match s.flows.loops.is_empty() {
        true => Traffic::Flows { flows: &flows, paths: &s.flows.paths },
        false => Traffic::AllPairs,
    };
    // A host that does not drain, and a link that fails, need no cycle to stop others; what they
    // stop is no deadlock.
    match cbd::is_cyclic(&s.topology, &Rule::of(&s.routing(), s.balances()), traffic) {
        true => Ok(()),
        false => Err(format!("no cycle of buffers, and yet {first:?}")),
    }
}
