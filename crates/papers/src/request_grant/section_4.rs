//! Section 4: the numbers that it derives from its parameters, recomputed from the configuration that all entries run.

use xoff_report::{Align, Cell, Table, Unit};
use xoff_sim::scheduled::Control;

use super::setups::{self, MIN_P};
use crate::{Check, Context, Findings, ReproduceError};

/// The entry.
pub fn run(_: &Context) -> Result<Findings, ReproduceError> {
    let c = setups::section_4(setups::traffic(0, 1.0, setups::fixed(MIN_P), 1.0), 1.0);
    let Control::InBand { alone } = c.control else { unreachable!("section 4 has its control in band") };
    let max_s = c.segment_max.0 as f64;
    let (input, output) = (c.element.input.0 as f64, c.element.output.0 as f64);
    let (slots, grant) = (f64::from(c.output_slots), f64::from(c.requests_max));
    // What, how it is computed, here, printed, how close a number printed like that must be.
    let rows = [
        ("segments in the input queue of an element", "8 KiB / max_s", input / max_s, 240.0, 0.0),
        ("segments in its output queue", "60 KiB / max_s", output / max_s, 32.0, 0.0),
        ("segments in the reassembly buffer", "4 Mbit / max_s", slots, 2048.0, 0.0),
        ("grants of G segments that reserve an output queue", "60 KiB / (G max_s)", output / max_s / grant, 5.0, 0.1),
        ("grants of G segments that reserve a reassembly buffer", "4 Mbit / (G max_s)", slots / grant, 40.0, 0.1),
        ("control messages that fill an output queue", "60 KiB / 20 B", output / alone.0 as f64, 2048.0, 0.1),
    ];
    let mut checks = Vec::new();
    let mut table = Table::new(["What", "From", "Here", "Printed"]).align([Align::Left, Align::Left, Align::Right, Align::Right]);
    for (what, from, here, printed, share) in rows {
        checks.push(Check::near(what, Unit::None, here, printed, share).paper(printed));
        table.push([Cell::from(what), from.into(), Unit::None.format(here).into(), Unit::None.format(printed).into()]);
    }
    let unsolicited = output / max_s;
    checks.push(Check::new("unsolicited segments that fill an output queue", Unit::None, unsolicited, 200.0, f64::INFINITY).paper(200.0));
    table.push([
        Cell::from("unsolicited segments that fill an output queue"),
        "60 KiB / max_s".into(),
        Unit::None.format(unsolicited).into(),
        "more than 200".into(),
    ]);
    let wrong = checks.iter().filter(|c| !c.holds()).count();
    let why = vec![
        format!("The queues are printed in the wrong order: {} and {} segments.", input / max_s, output / max_s),
        format!(
            "{} control messages of {} B fill 60 KiB, not 2K: those would have {} B each.",
            output / alone.0 as f64,
            alone.0,
            output / 2048.0
        ),
    ];
    let measured = format!("{wrong} of {} printed numbers do not follow from the parameters next to them", checks.len());
    Ok(Findings { measured, checks, tables: vec![table], why, ..Findings::default() })
}
