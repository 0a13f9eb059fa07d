//! Section 4: delays in an empty network.

use xoff_report::{Align, Cell, Table};
use xoff_sim::scheduled::{Arrival, Config, Pattern, Traffic};
use xoff_units::{Bytes, Rate, Time};

use super::run;
use super::setups::{self, MAX_P, MIN_P, t_min};
use crate::study::Job as _;
use crate::{Check, Context, Findings, ReproduceError};

/// Delay of one packet from input 0 to output 9, through an empty network [t_min].
fn alone(cx: &Context, size: Bytes, speedup: f64, unsolicited: bool) -> Result<f64, ReproduceError> {
    let packets = vec![Arrival { at: Time(0), input: 0, output: 9, size }];
    let pattern = Pattern::Listed { packets, hot: Vec::new() };
    let traffic = Traffic { pattern, load: 0.0, sizes: setups::fixed(size), burst_packets: 1.0 };
    let c = Config { unsolicited, seed: cx.seed, ..setups::during(setups::section_4(traffic, speedup), 0, 1_000) };
    let r = run::Job(c).run(cx.interrupted)?.ok_or(ReproduceError::Interrupted)?;
    Ok(r.delay.mean)
}

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let segment = Bytes(256);
    let wire = |size: Bytes, speedup: f64| size.0 as f64 / 40.0 / speedup;
    let mut table = Table::new(["Packet", "Fabric links", "How", "Delay", "Closed form"])
        .align([Align::Right, Align::Right, Align::Left, Align::Right, Align::Left])
        .caption("An empty network; delays in t_min, from the last bit at the input adapter to the first bit on the output link.");
    let mut values = Vec::new();
    for (size, speedup, unsolicited, form) in [
        (MIN_P, 1.0, true, "4 links + adapter + transfer"),
        (segment, 1.0, true, "the same"),
        (MIN_P, 1.1, true, "the same"),
        (MIN_P, 1.0, false, "one scheduling round trip more"),
        (segment, 1.0, false, "the same"),
        (MAX_P, 1.0, true, "the request rides on the first segment; the other segments follow a round trip later"),
        (MAX_P, 1.1, true, "the same"),
        (MAX_P, 1.2, true, "the same"),
    ] {
        let delay = alone(cx, size, speedup, unsolicited)?;
        let how = if unsolicited { "first segment unsolicited" } else { "all requested" };
        table.push([
            Cell::from(format!("{} B", size.0)),
            format!("{speedup} L").into(),
            how.into(),
            format!("{delay:.1}").into(),
            form.into(),
        ]);
        values.push(delay);
    }
    let [small, large, _, asked, asked_large, jumbo, jumbo_fast, _] = values[..] else { unreachable!("eight cases") };
    let round_trip = Config::paper(setups::traffic(0, 0.5, setups::fixed(MIN_P), 1.0)).round_trip().0 as f64 / t_min_ps();
    let checks = vec![
        Check::near("scheduling round trip", t_min(), round_trip, 55.0, 0.001).paper(55.0),
        Check::new("unsolicited packet of 40 B, less its transfer", t_min(), small - wire(MIN_P, 1.0), 28.0, 30.0).paper(29.0),
        Check::new("unsolicited packet of 256 B: transfer", t_min(), large - small + wire(MIN_P, 1.0), 0.0, 7.0).paper(7.0),
        Check::new("request-grant packet of 40 B, less its transfer", t_min(), asked - wire(MIN_P, 1.0), 82.0, 85.0).paper(83.0),
        Check::new("request-grant packet of 256 B, less its transfer", t_min(), asked_large - wire(segment, 1.0), 82.0, 85.0).paper(83.0),
        Check::near("jumbo frame at L_F = L: 3/2 of a round trip and max_p/min_p", t_min(), jumbo, 1.5 * 55.0 + 225.0, 0.01),
        Check::near("jumbo frame at L_F = L: the printed number", t_min(), jumbo, 280.0, 0.05).paper(280.0),
    ];
    let measured = format!(
        "{:.1} t_min + transfer unsolicited, {:.1} requested; 9000 B in {jumbo:.1} at L_F = L and {jumbo_fast:.1} at 1.1 L",
        small - wire(MIN_P, 1.0),
        asked - wire(MIN_P, 1.0)
    );
    let notes = vec![
        "3/2 of a scheduling round trip plus max_p/min_p are 82.5 + 225 = 307.5 t_min, not 280. The paper's value is that of faster \
         links (1.1 L: 287, 1.15 L: 278). Or it counts the transfer of the first segment, which overlaps the round trip, only once."
            .to_owned(),
    ];
    Ok(Findings { measured, checks, tables: vec![table], notes, ..Findings::default() })
}

/// t_min on the line of the paper's configuration [ps].
fn t_min_ps() -> f64 {
    Rate::from_gbps(100).time_for(Config::T_MIN_BYTES).0 as f64
}
