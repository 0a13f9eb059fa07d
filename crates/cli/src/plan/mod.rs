//! `xoff plan`: thresholds and headroom of a lossless link, with formula and source.

mod args;
pub mod fabric;
mod sonic;

use xoff_analysis::plan::{Column, Evidence, Exact, Plan, PlanInput, PlanRow, Table, plan};
use xoff_scenario::{Problem, Problems};
use xoff_units::params::ParamError;
use xoff_units::{Bytes, Rate, Span};

pub use args::Args;

use crate::answer::{Answer, Exit};
use crate::terminal;

/// Plans it.
pub fn run(args: &Args) -> Result<Answer, Problems> {
    let input = PlanInput::read(&mut &*args).map_err(|e| args.refused(&e))?;
    if args.is_sonic() && (input.flow_control != "pfc" || input.detection.is_some()) {
        let problem = Problem::new(
            "SONiC has profiles for PFC only",
            "omit --format, or plan --flow-control pfc",
        );
        return Err(problem.at(terminal::option("--format", "sonic")).into());
    }
    if let Some(network) = &args.network {
        if input.flow_control != "pfc" {
            let problem = Problem::new("xoff plans a network for PFC only", "omit --flow-control");
            return Err(problem.at(terminal::option("--network", network)).into());
        }
        return fabric::run(args, network);
    }
    let plan = plan(&input).map_err(|e: ParamError| args.refused(&e))?;
    if args.is_sonic() {
        return Ok(Answer::new(sonic::row(&plan, input.rate, input.length), &plan, Exit::Done));
    }
    let next = (!args.explain).then(|| args.command("--explain"));
    Ok(Answer::new(text(&plan, args.explain), &plan, Exit::Done).next(next))
}

fn text(plan: &Plan, explain: bool) -> String {
    let what = plan
        .detection
        .as_ref()
        .map_or(plan.flow_control.clone(), |d| format!("{d} with {}", plan.flow_control));
    let value = |symbol| plan.row(symbol).map_or(String::new(), |r| r.value.clone());
    let link = format!("{}, t_w = {}, frames up to {}", value("C"), value("t_w"), value("MTU"));
    let mut out = terminal::hanging(
        &format!("{what}: one lossless priority, one direction of a link ({link})"),
        "",
    );
    out += &format!("\n{}", answer(plan, explain));
    if !explain {
        return out;
    }
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

/// Values to set, violated conditions, and checks to make.
fn answer(plan: &Plan, explain: bool) -> String {
    let heading = "Set for each lossless priority of a port";
    let mut t = if explain {
        terminal::table([heading, "Symbol", "Value", "Formula"])
    } else {
        terminal::table([heading, "Symbol", "Value"])
    };
    for r in &plan.answer.set {
        let value = settable(r);
        let cells = [r.name, r.symbol, &value, r.formula];
        t.add_row(&cells[..if explain { 4 } else { 3 }]);
    }
    let mut out = terminal::draw(&t);
    for w in &plan.warnings {
        let label = terminal::bad(&format!("Warning: {} does not hold", w.condition));
        let (problem, fix) = w.parts();
        let fix = fix.map_or(String::new(), |fix| format!(". Fix: {fix}"));
        out +=
            &format!("\n{label}{}", terminal::wrapped(&format!("{problem}{fix}. [{}]", w.source)));
    }
    let why: &[String] = if explain { &plan.answer.why } else { &[] };
    out + &listed(&[("Why", why), ("Check", &plan.answer.check), ("Use", &plan.answer.apply)])
}

/// Lists, each with its heading to the left.
fn listed(lists: &[(&str, &[String])]) -> String {
    let mut out = String::new();
    for (heading, lines) in lists.iter().filter(|(_, lines)| !lines.is_empty()) {
        let mut list = terminal::pairs();
        for (i, line) in lines.iter().enumerate() {
            list.add_row([if i == 0 { heading } else { "" }, line.as_str()]);
        }
        out += &format!("\n{}", terminal::draw(&list));
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

/// Values of other rules, their distance to the chosen one, and the contributions that each counts.
fn evidence(plan: &Plan) -> String {
    if plan.evidence.is_empty() {
        return String::new();
    }
    let rules = rules(&plan.evidence);
    let mut notes = terminal::table(["Rule", "Formula", "Counts", "Leaves out"]);
    for same in plan.evidence.chunk_by(|a, b| a.row.formula == b.row.formula) {
        let (first, last) = (&same[0], &same[same.len() - 1]);
        let rules = if same.len() == 1 {
            name(first).to_owned()
        } else {
            format!("{} to {}", name(first), name(last))
        };
        notes.add_row([&rules, first.row.formula, first.counts, first.leaves_out]);
    }
    format!("\n{rules}\n{}", terminal::draw(&notes))
}

/// A rule that can be chosen goes by the name that chooses it.
fn name(e: &Evidence) -> &'static str {
    if e.choice.is_empty() { e.row.symbol } else { e.choice }
}

/// The rules with their values. If the terminal is too narrow, the sources follow in a table of
/// their own.
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
    let heading =
        terminal::wrapped(&format!("Table of {}: {} [{}]", of.name, of.formula, of.source));
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
