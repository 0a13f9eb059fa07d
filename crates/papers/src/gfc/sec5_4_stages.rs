//! Section 5.4: the number of stages, which the paper's own formula does not give.

use xoff_analysis::plan::{gfc_buffer, link};
use xoff_report::{Align, Cell, Table, Unit};
use xoff_units::{Bytes, Rate, Span};

use crate::{Check, Context, Findings, ReproduceError};

/// Rate [Gb/s], stages that the paper prints.
const PRINTED: [(u64, u32); 3] = [(10, 16), (40, 18), (100, 20)];

/// The entry.
pub fn run(_: &Context) -> Result<Findings, ReproduceError> {
    let mut checks = Vec::new();
    let mut table =
        Table::new(["Link rate", "Frame", "2 C tau", "N for 1 bit", "N for 1 byte", "N for 8 bytes", "N for 64 bytes", "Paper"])
            .align([Align::Right; 8])
            .caption("Stages until B_N - B_(N-1) is at most this size, for B_m - B_1 = 2 C tau, t_w 1 us, t_r 3 us.");
    for (gbps, paper) in PRINTED {
        let rate = Rate::from_gbps(gbps);
        for mtu in [1500, 4000] {
            let range = gfc_buffer::range(rate, link::tau(rate, Bytes(mtu), Span::from_us(1), Span::from_us(3)));
            // N counts halvings of the range: a unit of 2^u bytes takes u stages less.
            let n = gfc_buffer::stage_count(range);
            let row = [
                format!("{gbps} Gb/s"),
                format!("{mtu} B"),
                range.to_string(),
                (n + 3).to_string(),
                n.to_string(),
                (n - 3).to_string(),
                (n - 6).to_string(),
                paper.to_string(),
            ];
            table.push(row.map(Cell::from));
            if mtu == 1500 {
                let what = format!("N at {gbps} Gb/s");
                checks.push(Check::exact(what, Unit::Other("stages".into()), f64::from(n), f64::from(paper)).paper(f64::from(paper)));
            }
        }
    }
    let measured = format!("N = {} at 10/40/100 Gb/s", checks.iter().map(|c| format!("{:.0}", c.value)).collect::<Vec<_>>().join(" / "));
    let scaled: Vec<String> = PRINTED.iter().map(|(gbps, _)| format!("{:.1}", checks[0].value + (*gbps as f64 / 10.0).log2())).collect();
    let range = |gbps: u64| {
        let rate = Rate::from_gbps(gbps);
        gfc_buffer::range(rate, link::tau(rate, Bytes(1500), Span::from_us(1), Span::from_us(3))).0 as f64
    };
    let grown = PRINTED.map(|(gbps, _)| range(gbps) / range(10));
    let why = vec![
        format!(
            "Scaling the 10 Gb/s value by the link rate alone gives {}; rounded up, the printed 16/18/20. But tau shrinks as the rate grows: 2 C tau at 40 and 100 Gb/s is only {:.1} and {:.1} times that at 10 Gb/s, not 4 and 10 times.",
            scaled.join(" / "),
            grown[1],
            grown[2]
        ),
        "No unit and no frame size in the table gives both 18 and 20. More stages than needed do no harm: xoff uses N from the formula \
         everywhere."
            .into(),
    ];
    Ok(Findings { measured, checks, tables: vec![table], why, ..Findings::default() })
}
