//! `xoff plan`: what a lossless link needs, with formula and source.

mod args;

use xoff_analysis::plan::{Column, Plan, PlanInput, Table, plan};
use xoff_params::ParamError;
use xoff_scenario::Problems;
use xoff_units::{Bytes, Rate, Span};

pub use args::Args;

use crate::answer::{Answer, Exit};
use crate::terminal;

/// Plans it.
pub fn run(args: &Args) -> Result<Answer, Problems> {
    let planned = PlanInput::read(&mut &*args).and_then(|input| plan(&input));
    let plan = planned.map_err(|e: ParamError| args.refused(&e))?;
    Ok(Answer::new(text(&plan), &plan, Exit::Done))
}

fn text(plan: &Plan) -> String {
    let mut t = terminal::table(["Quantity", "Symbol", "Value", "Formula", "Source"]);
    for r in &plan.rows {
        t.add_row([r.name, r.symbol, &r.value, r.formula, r.source]);
    }
    let what = plan.detection.as_ref().map_or(plan.flow_control.clone(), |d| format!("{d} beside {}", plan.flow_control));
    let mut out = format!("{what}: one direction of a link, one priority\n\n{}", terminal::draw(&t));
    plan.tables.iter().for_each(|t| out += &table(t));
    for w in &plan.warnings {
        let label = terminal::bad(&format!("Warning: {} does not hold", w.condition));
        out += &format!("\n{label}{}", terminal::wrapped(&format!("{} [{}]", w.text, w.source)));
    }
    out
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
