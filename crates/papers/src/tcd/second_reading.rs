//! The same checks on the egress of ns3-rdma, the simulator that the paper's grew from: its egress is FIFO.
//!
//! The claims serve ingresses round robin, which gives the paper's figures. The paper names no discipline, so that the page has both.

use xoff_report::{Align, Cell, Table};

use super::fig2::{READING, Reading};
use crate::{Check, Context, Findings, ReproduceError};

/// The second reading.
pub const IN_ORDER: Reading = Reading { discipline: "fifo", ..READING };

/// An entry under both readings: its findings under the first, with a table of all checks under both.
pub fn beside(cx: &Context, entry: impl Fn(&Context, Reading) -> Result<Findings, ReproduceError>) -> Result<Findings, ReproduceError> {
    let mut found = entry(cx, READING)?;
    let other = entry(cx, IN_ORDER)?;
    add(&mut found, &other.checks);
    Ok(found)
}

/// Adds what the checks of the entry come to under FIFO.
pub fn add(found: &mut Findings, in_order: &[Check]) {
    let word = |c: &Check| if c.holds() { "yes" } else { "no" };
    let mut table = Table::new(["Check", "Expected", "Round robin", "Holds", "Under FIFO", "Holds "])
        .align([Align::Left, Align::Right, Align::Right, Align::Left, Align::Right, Align::Left])
        .caption("The same checks with a FIFO egress, as in ns3-rdma, next to those of the claim.");
    let mut changed = Vec::new();
    for (first, second) in found.checks.iter().zip(in_order) {
        assert_eq!(first.what, second.what, "the same checks");
        table.push([
            Cell::from(first.what.as_str()),
            first.range().into(),
            first.measured().into(),
            word(first).into(),
            second.measured().into(),
            word(second).into(),
        ]);
        if first.holds() != second.holds() {
            changed.push(format!("{} ({} instead of {})", second.what, second.measured(), first.measured()));
        }
    }
    let of = in_order.len();
    let holding = in_order.iter().filter(|c| c.holds()).count();
    found.why.push(match changed.len() {
        0 => format!("Under FIFO, as at the egress of ns3-rdma, the same {holding} of {of} checks hold (table)."),
        _ => format!("Under FIFO, as at the egress of ns3-rdma, {holding} of {of} checks hold. These differ: {}.", changed.join("; ")),
    });
    found.tables.push(table);
}
