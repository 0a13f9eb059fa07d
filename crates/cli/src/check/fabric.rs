//! `xoff check` of a scheduled fabric: can packets wait for each other, and what can an output
//! carry? Both without a run.

use schemars::JsonSchema;
use serde::Serialize;
use xoff_record::verdict::Conclusion;
use xoff_run::FabricScenario;
use xoff_scenario::{Problem, Problems};

use super::Args;
use crate::answer::Answer;
use crate::terminal;

/// Answer about a scheduled fabric.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "CheckFabric")]
pub struct Checked {
    /// The answer in a line, as people read it.
    headline: String,
    /// Inputs and outputs.
    ports: u32,
    /// True if no packet can wait forever, whatever the workload with packets of these sizes.
    answer: Conclusion,
    /// Answer to the same question, as a word for programs: `deadlock-free` or `can-deadlock`.
    verdict: &'static str,
    /// Condition that holds, or the one that fails, with its numbers.
    because: String,
    /// Upper bounds on the throughput of an output.
    limits: Vec<Limit>,
}

/// Upper bound on the throughput of an output.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "FabricLimit")]
struct Limit {
    /// Key that sets it.
    key: &'static str,
    /// The bound, as a share of the line.
    share: f64,
    /// Load of an output, as a share of its line.
    load: f64,
    /// Formula and numbers.
    formula: String,
    /// Remedy if the bound is below the load.
    hint: &'static str,
}

/// Checks it.
pub fn run(args: &Args, scenario: &FabricScenario) -> Result<Answer, Problems> {
    let given = [
        ("--fail", !args.fail.is_empty()),
        ("--fail-any", args.fail_any.is_some()),
        ("--routing", args.routing.is_some()),
        ("--flows", args.flows.is_some()),
        ("--all-pairs", args.all_pairs),
    ];
    if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
        let what = format!("{option} is about the routes of a network");
        return Err(Problem::new(what, "omit it for a scheduled fabric").into());
    }
    terminal::problems(&scenario.warnings);
    let c = &scenario.config;
    let freedom = c.freedom();
    let limits: Vec<Limit> = c
        .limits()
        .into_iter()
        .map(|l| Limit { key: l.key, share: l.share, load: l.load, formula: l.how, hint: l.hint })
        .collect();
    let (headline, verdict) = match freedom.free {
        true => ("No deadlock can form.", "deadlock-free"),
        false => ("Packets can wait for each other forever.", "can-deadlock"),
    };
    let checked = Checked {
        headline: headline.into(),
        ports: c.ports(),
        answer: Conclusion::of(false, freedom.free),
        verdict,
        because: freedom.why,
        limits,
    };
    let next = format!("xoff run {}", terminal::word(&args.topology));
    Ok(Answer::new(text(&checked, freedom.free), &checked, checked.answer.into()).next([next]))
}

fn text(c: &Checked, free: bool) -> String {
    let head = if free { terminal::good(&c.headline) } else { terminal::bad(&c.headline) };
    let mut t = terminal::pairs();
    t.add_row([
        "Elements",
        "a queue waits only for queues of the next stage, and an output takes every segment, because its slots were reserved",
    ]);
    t.add_row(["Packets", &c.because]);
    if !free {
        t.add_row(["Remedy", "admission.whole_requests = true, and grant_max, output_slots and fabric_slots of at least requests_max"]);
    }
    let mut text = format!("{head}\n{}", terminal::draw(&t));
    if !c.limits.is_empty() {
        let mut t = terminal::table(["Limit of an output", "Share of the line", "Formula"]);
        for l in &c.limits {
            let share = format!("{:.3}", l.share);
            let share = if l.share < l.load { terminal::bad(&share) } else { share };
            t.add_row([l.key.into(), share, l.formula.clone()]);
        }
        text += &format!("\n{}", terminal::draw(&t));
    }
    text
}
