//! `xoff plan`: what a lossless link needs, with formula and source.

mod args;
pub mod fabric;
mod sonic;

use xoff_analysis::plan::{Column, Evidence, Exact, Plan, PlanInput, PlanRow, Table, plan};
use xoff_params::ParamError;
use xoff_scenario::{Problem, Problems};
use xoff_units::{Bytes, Rate, Span};

pub use args::Args;

use crate::answer::{Answer, Exit};
use crate::terminal;

/// Plans it.
pub fn run(args: &Args) -> Result<Answer, Problems> {
    let input = PlanInput::read(&mut &*args).map_err(|e| args.refused(&e))?;
    if args.is_sonic() && (input.flow_control != "pfc" || input.detection.is_some()) {
        let problem = Problem::new("SONiC's profiles are for PFC", "leave --format out, or plan --flow-control pfc");
        return Err(problem.at(terminal::option("--format", "sonic")).into());
    }
    if let Some(network) = &args.network {
        if input.flow_control != "pfc" {
            let problem = Problem::new("a network is planned for PFC alone", "leave --flow-control out");
            return Err(problem.at(terminal::option("--network", network)).into());
        }
        return fabric::run(args, network);
    }
    let plan = plan(&input).map_err(|e: ParamError| args.refused(&e))?;
    if args.is_sonic() {
        return Ok(Answer::new(sonic::row(&plan, input.rate, input.length), &plan, Exit::Done));
    }
    Ok(Answer::new(text(&plan), &plan, Exit::Done))
}

fn text(plan: &Plan) -> String {
    let what = plan.detection.as_ref().map_or(plan.flow_control.clone(), |d| format!("{d} beside {}", plan.flow_control));
    let mut out = format!("{what}: one direction of a link, one priority\n\n{}", answer(plan));
    out += &evidence(plan);
    let mut t = terminal::table(["Quantity", "Symbol", "Value", "Formula", "Source"]);
    let elsewhere = |symbol| plan.evidence.iter().any(|e| e.row.symbol == symbol);
    for r in plan.rows.iter().filter(|r| !elsewhere(r.symbol)) {
        t.add_row([r.name, r.symbol, &r.value, r.formula, r.source]);
    }
    out += &format!("\n{}", terminal::draw(&t));
    plan.tables.iter().for_each(|t| out += &table(t));
    out
}

/// What to set, what does not hold, why and what to check.
fn answer(plan: &Plan) -> String {
    let mut t = terminal::table(["Set for each lossless priority of a port", "Symbol", "Value", "Formula"]);
    for r in &plan.answer.set {
        t.add_row([r.name, r.symbol, &settable(r), r.formula]);
    }
    let mut out = terminal::draw(&t);
    for w in &plan.warnings {
        let label = terminal::bad(&format!("Warning: {} does not hold", w.condition));
        out += &format!("\n{label}{}", terminal::wrapped(&format!("{} [{}]", w.text, w.source)));
    }
    for (heading, lines) in [("Why", &plan.answer.why), ("Check", &plan.answer.check)] {
        let mut list = terminal::pairs();
        for (i, line) in lines.iter().enumerate() {
            list.add_row([if i == 0 { heading } else { "" }, line.as_str()]);
        }
        if !lines.is_empty() {
            out += &format!("\n{}", terminal::draw(&list));
        }
    }
    out
}

/// A value as it is typed into a switch: sizes in bytes.
fn settable(row: &PlanRow) -> String {
    match row.value_exact {
        Exact::Integer(v) if row.unit == "bytes" => format!("{v} B"),
        _ => row.value.clone(),
    }
}

/// Values of other rules, with the distance to what is set, and what each of them counts.
fn evidence(plan: &Plan) -> String {
    if plan.evidence.is_empty() {
        return String::new();
    }
    let rules = rules(&plan.evidence);
    let mut notes = terminal::table(["Rule", "Formula", "Counts", "Leaves out"]);
    for same in plan.evidence.chunk_by(|a, b| a.row.formula == b.row.formula) {
        let (first, last) = (&same[0], &same[same.len() - 1]);
        let rules = if same.len() == 1 { name(first).to_owned() } else { format!("{} to {}", name(first), name(last)) };
        notes.add_row([&rules, first.row.formula, first.counts, first.leaves_out]);
    }
    format!("\n{rules}\n{}", terminal::draw(&notes))
}

/// A rule that can be chosen goes by the name that chooses it.
fn name(e: &Evidence) -> &'static str {
    if e.choice.is_empty() { e.row.symbol } else { e.choice }
}

/// The rules with their values; where the terminal is too narrow for a column of sources, those stand below.
fn rules(evidence: &[Evidence]) -> String {
    let mut wide = terminal::table(["Rule for H", "Bytes", "Against H", "Source"]);
    let mut narrow = terminal::table(["Rule for H", "Bytes", "Against H"]);
    let mut sources = terminal::table(["Rule", "Source"]);
    for e in evidence {
        let against = if e.chosen { "set".to_owned() } else { format!("{:+}", e.difference) };
        let Exact::Integer(bytes) = e.row.value_exact else { continue };
        let bytes = bytes.to_string();
        wide.add_row([name(e), &bytes, &against, e.row.source]);
        narrow.add_row([name(e), &bytes, &against]);
        sources.add_row([name(e), e.row.source]);
    }
    let drawn = terminal::draw(&wide);
    if drawn.lines().all(|l| l.chars().count() <= terminal::columns().into()) {
        return drawn;
    }
    format!("{}\n{}", terminal::draw(&narrow), terminal::draw(&sources))
}

fn table(of: &Table) -> String {
    let mut t = terminal::table(of.columns.iter().map(|c| c.name));
    for row in &of.rows {
        t.add_row(of.columns.iter().zip(row).map(|(c, &v)| number(c, v)));
    }
    let heading = terminal::wrapped(&format!("Table of {}: {} [{}]", of.name, of.formula, of.source));
    format!("{heading}\n{}", terminal::draw(&t))
}

/// A number of a column with its unit.
fn number(column: &Column, v: u64) -> String {
    match column.unit {
        "bit/s" => Rate(v).to_string(),
        "bytes" => Bytes(v).to_string(),
        "ps" => Span(v).to_string(),
        "" => v.to_string(),
        unit => format!("{v} {unit}"),
    }
}
