//! Tests of AI fabrics after draft-calabria-bmwg-ai-fabric-training-bench-02.
//!
//! ```text
//!   SCENARIO --Dut--> tests: cases (a scenario each) x seeds --sweep--> finished/ --measure--> rows --> index.html, report.md,
//!                            scenarios/TEST-CASE.toml                                               results.csv, bench.json
//! ```
//!
//! The traffic of the scenario is replaced, everything else is kept. Every case is a scenario of
//! its own that `xoff run` takes; its runs are kept and resumed like those of a sweep.

mod cases;
mod dut;
mod outcome;
mod report;
mod seen;
mod text;

use std::collections::BTreeMap;
use std::path::Path;

use xoff_record::output::Folder;
use xoff_record::verdict::{Allow, Conclusion};
use xoff_scenario::document::Override;
use xoff_scenario::{Problem, Problems, suggest};

use crate::sweep::{
    Cell, Counts, Ended, Plan, Progress, Ran, Shard, Status, Store, SweepError, Todo, Value, hash,
    run_each,
};
use cases::{ALL, Case, Measured, Prepared, SOURCES, Test};
pub use dut::Dut;
use outcome::NOT_COVERED;
pub use outcome::{
    Against, Benchmark, Fact, Finding, KpiAnswer, KpiValue, NotCovered, Outcome, RowAnswer, State,
};
use seen::Seen;

/// Owner of the folders of benchmarks.
pub const COMMAND: &str = "bench-fabric";
/// The document, with its date.
pub const DRAFT: &str = "draft-calabria-bmwg-ai-fabric-training-bench-02 (4 June 2026)";
/// Folder of the scenarios.
const SCENARIOS: &str = "scenarios";

/// Names of the tests, in the order of the draft.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|t| t.id)
}

/// Which tests run, and how often.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Names of tests; empty: all.
    pub only: Vec<String>,
    /// Seeds of each case, from 1.
    pub seeds: u64,
}

/// A benchmark whose runs are known.
pub struct Bench {
    dut: Dut,
    seeds: Vec<u64>,
    tests: Vec<Chosen>,
}

/// A test that was asked for.
struct Chosen {
    test: &'static Test,
    prepared: Prepared,
    /// A plan for each case; the reason, where its scenario is rejected.
    plans: Vec<Result<Plan, String>>,
}

impl Chosen {
    fn cases(&self) -> &[Case] {
        match &self.prepared {
            Prepared::Cases { cases, .. } => cases,
            Prepared::NotApplicable(_) => &[],
        }
    }

    /// Cases that can run, with their plans.
    fn planned(&self) -> impl Iterator<Item = (&Case, &Plan)> {
        self.cases().iter().zip(&self.plans).filter_map(|(c, p)| Some((c, p.as_ref().ok()?)))
    }
}

impl Bench {
    /// Reads the scenario and makes the cases of the tests.
    ///
    /// # Errors
    /// Everything wrong with the scenario, each with its place; an unknown test.
    pub fn load(file: &Path, settings: &[Override], choice: &Choice) -> Result<Bench, Problems> {
        let known: Vec<&str> = names().collect();
        let mut problems = Problems::default();
        for name in choice.only.iter().filter(|n| !known.contains(&n.as_str())) {
            let what = format!("there is no test '{}'", suggest::clip(name));
            problems.push(Problem::new(what, suggest::hint(name, "tests", &known)));
        }
        problems.or(())?;
        let dut = Dut::load(file, settings)?;
        let wanted = |t: &&&Test| choice.only.is_empty() || choice.only.iter().any(|n| n == t.id);
        let one = |test: &&'static Test| Chosen {
            test,
            prepared: (test.prepare)(&dut),
            plans: Vec::new(),
        };
        let tests = ALL.iter().filter(wanted).map(one).collect();
        Ok(Bench { dut, seeds: (1..=choice.seeds.max(1)).collect(), tests })
    }

    /// The fabric.
    pub fn dut(&self) -> &Dut {
        &self.dut
    }

    /// Claims a folder and writes the scenarios of all cases into it. A case whose scenario xoff
    /// rejects does not run; its test says why.
    ///
    /// # Errors
    /// A folder that is rejected, a file that cannot be written.
    pub fn claim(&mut self, out: &Path, force: bool) -> Result<Store, SweepError> {
        let store = Store::claim_for(COMMAND, out, force)?;
        let folder = claimed(&store).sub(SCENARIOS)?;
        let measures = hash(SOURCES.concat().as_bytes());
        let seeds: Vec<String> = self.seeds.iter().map(u64::to_string).collect();
        for chosen in &mut self.tests {
            let mut plans = Vec::new();
            for case in chosen.cases() {
                let file = format!("{}.toml", case.name);
                folder.write(&file, case.text.as_bytes())?;
                let text = format!("scenario = \"{file}\"\nseeds = [{}]\n", seeds.join(", "));
                let plan = Plan::from_text("plan", &text, &out.join(SCENARIOS));
                plans.push(plan.map_err(|e| reason(&e)).map(|mut plan| {
                    plan.add_basis(&measures);
                    plan
                }));
            }
            chosen.plans = plans;
        }
        Ok(store)
    }

    /// Warnings about the scenarios of the cases, each once.
    pub fn warnings(&self) -> Problems {
        let mut all: Vec<&Problem> = Vec::new();
        for (_, plan) in self.tests.iter().flat_map(Chosen::planned) {
            for p in plan.work().warnings().iter() {
                if all.iter().all(|known| known.message != p.message) {
                    all.push(p);
                }
            }
        }
        let mut problems = Problems::default();
        all.into_iter().for_each(|p| problems.push(p.clone()));
        problems
    }

    /// Number of runs.
    pub fn len(&self) -> usize {
        self.tests.iter().flat_map(Chosen::planned).map(|(_, plan)| plan.len()).sum()
    }

    /// Whether no test has a run.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Executes the runs that have no result, so many at a time; each is kept when it is finished.
    ///
    /// # Errors
    /// A result that cannot be stored: the disk is full.
    pub fn run(
        &self,
        store: &Store,
        threads: usize,
        stop: &(dyn Fn() -> bool + Sync),
        look: &(dyn Fn(Progress) + Sync),
    ) -> Result<Ended, SweepError> {
        let measures: Vec<_> = self
            .tests
            .iter()
            .flat_map(Chosen::planned)
            .map(|(case, plan)| (plan, move |ran: &Ran| measure(case, ran)))
            .collect();
        let todo: Vec<Todo<'_>> = measures
            .iter()
            .flat_map(|(plan, measure)| {
                let one = move |index| Todo { plan, index, measure: Some(measure as _) };
                store.unfinished(plan).into_iter().map(one)
            })
            .collect();
        run_each(&todo, self.len(), store, threads, stop, look)
    }

    /// Writes the results of finished runs.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn collect(&self, store: &Store, allowed: &[Allow]) -> Result<Benchmark, SweepError> {
        let mut counts = Counts::default();
        let mut deviations: Vec<String> = vec![
            format!("All: {} (the draft: 20 and more).", words(self.seeds.len(), "seed")),
            "All: simulated time and simulated frames; no switch, NIC or collective library is involved. Warm-up and trial durations of the terminology (10 s, 60 s) are not used: a run begins empty, and states its own time.".into(),
        ];
        let tests: Vec<Outcome> = self
            .tests
            .iter()
            .map(|chosen| outcome(chosen, store, &mut counts, &mut deviations))
            .collect();
        let against = tests.iter().flat_map(|t| &t.findings);
        let no = against.clone().filter(|f| !f.kind.is_allowed(allowed)).count();
        let answer = Conclusion::of(counts.missing > 0, no == 0);
        let headline = headline(&tests, &counts, answer);
        let benchmark = Benchmark {
            answer,
            headline,
            draft: DRAFT,
            xoff_version: xoff_run::VERSION,
            scenario: self.dut.file.display().to_string(),
            title: self.dut.scenario.title.clone(),
            dut: report::facts(&self.dut),
            seeds: self.seeds.clone(),
            runs: counts,
            tests,
            not_covered: NOT_COVERED.to_vec(),
            deviations,
            out: store.path().display().to_string(),
        };
        let folder = claimed(store);
        folder.stage_bytes("index.html", report::page(&benchmark).to_html().as_bytes())?;
        folder.stage_bytes("report.md", report::markdown(&benchmark).as_bytes())?;
        folder.stage_bytes("results.csv", report::csv(&benchmark).as_bytes())?;
        let json = serde_json::to_string_pretty(&benchmark).expect("plain data") + "\n";
        folder.commit("bench.json", json.as_bytes())?;
        Ok(benchmark)
    }
}

fn claimed(store: &Store) -> &Folder {
    store.claimed().expect("a benchmark has claimed its folder")
}

fn words(n: usize, word: &str) -> String {
    format!("{n} {word}{}", if n == 1 { "" } else { "s" })
}

/// The first problem, in one line.
fn reason(problems: &Problems) -> String {
    let first = problems.iter().next();
    first.map_or_else(String::new, |p| format!("{}; {}", p.message, p.hint))
}

/// Columns that every run of a benchmark has besides those of a sweep.
const VIOLATED: &str = "violated";
const UNFINISHED: &str = "unfinished";

fn measure(case: &Case, ran: &Ran) -> Vec<(String, Value)> {
    let parts = ran.manifest.verdict.as_ref().map(|v| v.parts());
    let violated = ran.manifest.verdict.as_ref().is_some_and(|v| {
        let excused = [Allow::Deadlock, Allow::Loss];
        v.conclusion(&excused) == Conclusion::No
    });
    let unfinished = parts.is_some_and(|p| p.work.incomplete > 0 || !p.unfinished.is_empty());
    (case.measure)(&Seen(ran))
        .into_iter()
        .map(|(name, value)| (name.to_owned(), Value::from(value)))
        .chain([(VIOLATED.into(), violated.into()), (UNFINISHED.into(), unfinished.into())])
        .collect()
}

fn outcome(
    chosen: &Chosen,
    store: &Store,
    counts: &mut Counts,
    deviations: &mut Vec<String>,
) -> Outcome {
    let test = chosen.test;
    let (rows, notes, differs) = match &chosen.prepared {
        Prepared::NotApplicable(why) => {
            return Outcome { why: Some(why.clone()), ..Outcome::of(test, State::NotApplicable) };
        }
        Prepared::Cases { rows, notes, deviations, .. } => (rows, notes, deviations),
    };
    let mut outcome = Outcome::of(test, State::Done);
    outcome.notes.clone_from(notes);
    outcome.notes.extend(not_run(chosen));
    if chosen.planned().next().is_none() {
        let why = chosen.plans.iter().find_map(|p| p.as_ref().err().cloned());
        return Outcome { why, notes: Vec::new(), ..Outcome::of(test, State::NotApplicable) };
    }
    deviations.extend(differs.iter().cloned());
    let mut measured = Vec::new();
    for (case, plan) in chosen.planned() {
        let runs: Vec<(Cell, Option<Shard>)> =
            plan.cells().map(|cell| (cell.clone(), store.get(&cell))).collect();
        counts.total += runs.len();
        for (cell, shard) in &runs {
            match shard {
                None => counts.missing += 1,
                Some(s) if s.status == Status::Failed => counts.failed += 1,
                Some(_) => counts.done += 1,
            }
            outcome.findings.extend(shard.iter().flat_map(|s| against(test, case, cell, s)));
        }
        let values = |s: &Shard| -> Option<BTreeMap<String, f64>> {
            let numbers =
                s.measured.values.iter().filter_map(|(n, v)| Some((n.clone(), v.number()?)));
            (s.status == Status::Done).then(|| numbers.collect())
        };
        let seeds = runs.iter().map(|(_, s)| s.as_ref().and_then(values)).collect();
        outcome.scenarios.push(format!("{SCENARIOS}/{}.toml", case.name));
        if runs.iter().any(|(_, s)| s.is_none()) {
            outcome.state = State::Incomplete;
        }
        measured.push(Measured { case, seeds });
    }
    outcome.add(rows(test.kpis, &measured));
    outcome
}

/// Cases that xoff rejects, by reason.
fn not_run(chosen: &Chosen) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for (case, plan) in chosen.cases().iter().zip(&chosen.plans) {
        let Err(why) = plan else { continue };
        let name = case.name.clone();
        match reasons.iter_mut().find(|(known, _)| known == why) {
            Some((_, cases)) => cases.push(name),
            None => reasons.push((why, vec![name])),
        }
    }
    let words =
        |(why, cases): (&str, Vec<String>)| format!("Not run: {}. {why}.", cases.join(", "));
    reasons.into_iter().map(words).collect()
}

/// Findings of a run against the fabric.
fn against(test: &Test, case: &Case, cell: &Cell, s: &Shard) -> Vec<Finding> {
    let at = format!("{}, seed {}", case.name, cell.seed);
    let finding = |kind, what: &str| Finding { kind, what: format!("{at}: {what}") };
    if let Some(error) = &s.error {
        return vec![finding(Against::Failed, error.lines().next().unwrap_or_default())];
    }
    let is = |column: &str| *s.value(column) == Value::Flag(true);
    let mut all = Vec::new();
    if is("deadlock") {
        all.push(finding(Against::Deadlock, &format!("deadlock of {}", s.value("deadlock_ports"))));
    }
    let lost = s.value("lost_frames").number().unwrap_or(0.0);
    if lost > 0.0 && !test.excuses_loss {
        all.push(finding(Against::Loss, &words(lost as usize, "lost frame")));
    }
    if is(VIOLATED) {
        all.push(finding(Against::Check, &s.value("headline").to_string()));
    }
    if is(UNFINISHED) && !is("deadlock") {
        all.push(finding(Against::Unfinished, "flows or jobs did not end"));
    }
    all
}

fn headline(tests: &[Outcome], counts: &Counts, answer: Conclusion) -> String {
    let of = |state| tests.iter().filter(|t| t.state == state).count();
    let mut parts = vec![match answer {
        Conclusion::Interrupted => format!("interrupted, {}", counts.headline()),
        _ => format!("{} done", words(of(State::Done), "test")),
    }];
    if of(State::NotApplicable) > 0 {
        parts.push(format!("{} not applicable", of(State::NotApplicable)));
    }
    let findings = |kind| tests.iter().flat_map(|t| &t.findings).filter(|f| f.kind == kind).count();
    for (kind, word) in [
        (Against::Deadlock, "deadlock"),
        (Against::Loss, "loss"),
        (Against::Check, "violated check"),
        (Against::Unfinished, "unfinished work"),
        (Against::Failed, "failure"),
    ] {
        if findings(kind) > 0 {
            parts.push(format!("{word} in {}", words(findings(kind), "run")));
        }
    }
    if answer == Conclusion::Yes && tests.iter().all(|t| t.findings.is_empty()) {
        parts.push("no deadlock, no loss, all work ended".into());
    }
    parts.join(", ")
}
