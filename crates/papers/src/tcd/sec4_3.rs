//! Section 4.3: max(T_on), without a simulator.

use xoff_analysis::plan::tcd::of_the_paper;
use xoff_mech::flow_control::on_off::max_ton_by_queue;
use xoff_report::{Align, Cell, Table, Unit};
use xoff_units::{Bytes, Rate, Span};

use crate::{Check, Context, Findings, ReproduceError, lab};

/// Frames of the paper's simulations.
const MTU: Bytes = Bytes(1000);

/// tau = 2 MTU/C + 2 t_p.
fn tau(rate: Rate, t_p: Span) -> Span {
    rate.time_for(MTU) * 2 + t_p * 2
}

/// max(T_on) of the paper's example: XOFF - XON = 2 MTU, epsilon 0.05.
fn example(gbps: u64, t_p: Span) -> Span {
    let rate = Rate::from_gbps(gbps);
    max_ton_by_queue(rate, MTU * 2, tau(rate, t_p), 0.05)
}

/// The entry.
pub fn run(_: &Context) -> Result<Findings, ReproduceError> {
    let ps = |t: Span| t.0 as f64;
    let mut table = Table::new(["Rate", "Delay of a link", "XOFF - XON", "epsilon", "tau", "max(T_on)", "Paper"])
        .align([Align::Right; 7])
        .caption("max(T_on) = (2 (B_1 - B_0) + tau C)/(2 epsilon C) + tau, Eq. (3).");
    let mut row = |rate: &str, t_p: &str, range: &str, epsilon: &str, tau: Span, max: Span, paper: &str| {
        table.push([rate, t_p, range, epsilon, &lab::time(ps(tau)), &lab::time(ps(max)), paper].map(Cell::from));
    };
    let near = Span::from_us(1);
    let mut checks = Vec::new();
    for (gbps, us) in [(40, 34.4), (100, 26.96), (200, 24.48)] {
        let max = example(gbps, near);
        checks.push(Check::exact(format!("max(T_on), {gbps} Gb/s, t_p 1 us"), Unit::Picoseconds, ps(max), lab::us(us)).paper(lab::us(us)));
        row(&format!("{gbps} Gb/s"), "1 us", "2 KB", "0.05", tau(Rate::from_gbps(gbps), near), max, &format!("{us} us"));
    }
    let far = Span::from_us(4);
    let simulated = of_the_paper(far);
    checks.push(Check::exact("max(T_on), 40 Gb/s, t_p 4 us: the links of section 3.1.1", Unit::Picoseconds, ps(simulated), lab::us(100.4)));
    row("40 Gb/s", "4 us", "2 KB", "0.05", tau(Rate::from_gbps(40), far), simulated, "not stated");
    let (ten, tau_testbed) = (Rate::from_gbps(10), Span::from_us(20));
    let testbed = max_ton_by_queue(ten, Bytes(30_000), tau_testbed, 0.04);
    checks.push(Check::exact("max(T_on) of the testbed, tau 20 us, 30 KB, epsilon 0.04", Unit::Picoseconds, ps(testbed), lab::us(870.0)));
    row("10 Gb/s", "testbed", "30 KB", "0.04", tau_testbed, testbed, "not stated");
    let notes = vec![format!(
        "The paper's settings disagree: 34.4 us at 40 Gb/s is for links of 1 us, but its simulations have links of 4 us. With 34.4 us \
         there a repeatedly paused port would look like a released one. All claims here use {}, which the formula gives for the \
         simulated links.",
        lab::time(ps(simulated))
    )];
    let values: Vec<String> = [example(40, near), example(100, near), example(200, near)].map(|t| lab::time(ps(t))).into();
    let measured = format!(
        "{} at 40/100/200 Gb/s with links of 1 us; {} with the links of the simulations; {} for the testbed",
        values.join(" / "),
        lab::time(ps(simulated)),
        lab::time(ps(testbed))
    );
    Ok(Findings { measured, checks, tables: vec![table], notes, ..Findings::default() })
}
