//! Section VI: what occupancy sampling costs, counted in the implementation that all entries run.

use xoff_mech::detection::culprit::{CulpritArray, Occupancy, ROW, TRIES, UNIT};
use xoff_net::workload::random;
use xoff_report::{Align, Axis, Figure, Mark, Panel, Table, Unit};
use xoff_units::Bytes;

use crate::stats::Mean;
use crate::{Check, Context, Findings, ReproduceError};

/// Purpose of a random stream; see `xoff_net::workload::random`.
const PICKS: u64 = 3_003;
/// Buffer units of a port, each with a word (section VI: 12K).
const WORDS: u64 = 12 << 10;
/// Bits of a word, and of the SRAM's width (section VI).
const WORD_BITS: u64 = 20;
const READ_BITS: u64 = 320;
/// Clock of the chips (section II-A) [Hz].
const CLOCK: f64 = 454e6;
/// Latency of the rate limiters (Table I) [s].
const REACTION: f64 = 2.4e-6;
/// Set point: the buffer of a congested priority holds as much (Table I) [bytes].
const SETPOINT: u64 = 60_000;
const FRAME: Bytes = Bytes(1_522);
/// Searches of which a mean is taken.
const SEARCHES: u64 = 20_000;
/// Flows in the buffer.
const FLOWS: [u32; 4] = [1, 4, 13, 39];

/// A search by the clock.
const ASSUMING: &str = "one read of the array per cycle of the 454 MHz chip. Random addresses are tried 64 times (the paper: \"a number \
    of searches\") before the rows are read in sequence. The frames are contiguous, the case in which random rows find them least often.";

/// Reads that searches took.
struct Reads {
    mean: Mean,
    most: u32,
    /// Share of searches that ended row by row.
    in_sequence: f64,
}

/// Searches an array of [`WORDS`] in which frames of so many flows lie one after the other, up to the set point.
fn reads(cx: &Context, flows: u32, at_once: usize) -> Reads {
    let mut array = CulpritArray::new(Bytes(WORDS * UNIT), at_once, TRIES);
    (0..(SETPOINT / FRAME.0) as u32).for_each(|n| array.insert(n % flows, FRAME));
    let mut rng = random::stream(cx.seed, u64::from(flows), PICKS);
    let mut draw = || random::uniform(&mut rng);
    let all: Vec<_> = (0..SEARCHES).filter_map(|_| array.pick(&mut draw)).collect();
    Reads {
        mean: Mean::of(all.iter().map(|f| f64::from(f.reads))),
        most: all.iter().map(|f| f.reads).max().unwrap_or(0),
        in_sequence: all.iter().filter(|f| f.sequential).count() as f64 / all.len() as f64,
    }
}

/// Counters that deterministic sampling keeps for frames of so many flows.
fn counters(flows: u32) -> usize {
    let mut occupancy = Occupancy::default();
    (0..flows).for_each(|flow| occupancy.insert(flow, Bytes(UNIT)));
    occupancy.len()
}

/// The entry.
#[expect(clippy::too_many_lines, reason = "a list: one check of the claim an item, then figures and tables")]
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    let none = || Unit::None;
    let by_row: Vec<Reads> = FLOWS.iter().map(|&f| reads(cx, f, ROW)).collect();
    let by_word: Vec<Reads> = FLOWS.iter().map(|&f| reads(cx, f, 1)).collect();
    let longest = by_row.iter().chain(&by_word).map(|r| r.most).max().unwrap_or(0);
    // All addresses that are tried fail, and the only frame lies in the last row.
    let worst = f64::from(TRIES) + (WORDS / ROW as u64) as f64;
    let overhead = WORD_BITS as f64 / (UNIT * 8) as f64;
    let time = |reads: f64| reads / CLOCK * 1e12;
    let last = FLOWS.len() - 1;
    let slots = WORDS as u32;
    let checks = vec![
        Check::new("a word over the payload of its buffer unit", Unit::Fraction, overhead, 0.0, 0.01).paper(0.01),
        Check::exact("buffer units in one read", Unit::Other("units".into()), (READ_BITS / WORD_BITS) as f64, ROW as f64).paper(16.0),
        Check::mean(
            "random: reads of a search with 39 flows, relative to one flow",
            Unit::Other("times".into()),
            by_row[last].mean.over(by_row[0].mean),
            0.9,
            1.1,
        )
        .claimed(),
        Check::exact(
            "deterministic: ratio of counters to units if each buffer unit has another flow",
            Unit::Other("times".into()),
            counters(slots) as f64 / f64::from(slots),
            1.0,
        )
        .paper(1.0),
        Check::new("random: longest search measured", Unit::Picoseconds, time(f64::from(longest)), 0.0, REACTION * 1e12)
            .claimed()
            .assuming(ASSUMING),
        Check::new("random: longest search possible", Unit::Picoseconds, time(worst), 0.0, REACTION * 1e12).claimed().assuming(ASSUMING),
    ];
    let mut table = Table::new([
        "Flows in the buffer",
        "Random, 16 units per read: mean reads",
        "most",
        "Random, one unit per read: mean \
        reads",
        "most",
        "found row by row",
        "Deterministic: \
        counters, and comparisons per sample",
    ])
    .align([Align::Right; 7])
    .caption(format!(
        "{} B of one priority in an array of {WORDS} words. The state of random sampling is {WORDS} words of \
            {WORD_BITS} bits, {} per port, for any number of flows.",
        Unit::None.format(SETPOINT as f64),
        Unit::Bytes.format((WORDS * WORD_BITS / 8) as f64)
    ));
    for (i, &flows) in FLOWS.iter().enumerate() {
        table.push([
            flows.to_string(),
            format!("{:.2}", by_row[i].mean.mean),
            by_row[i].most.to_string(),
            format!("{:.1}", by_word[i].mean.mean),
            by_word[i].most.to_string(),
            Unit::Fraction.format(by_word[i].in_sequence),
            counters(flows).to_string(),
        ]);
    }
    let units = CulpritArray::units(FRAME);
    let measured = format!(
        "A word is {} of the payload of its unit. A search takes {:.2} reads on average with one flow and {:.2} with {}, at most \
         {longest} ({}) and never more than {worst:.0} ({}). Deterministic sampling keeps one counter per flow. A frame of {} B writes \
         {units} words when it arrives and {units} when it leaves, or one counter.",
        Unit::Fraction.format(overhead),
        by_row[0].mean.mean,
        by_row[last].mean.mean,
        FLOWS[last],
        Unit::Picoseconds.format(time(f64::from(longest))),
        Unit::Picoseconds.format(time(worst)),
        FRAME.0
    );
    let notes = vec![format!(
        "12K buffer units are {} per port; Table I has 150 KB at an input of one priority, {} for eight.",
        Unit::Bytes.format((WORDS * UNIT) as f64),
        Unit::Bytes.format(8.0 * 150e3)
    )];
    let line =
        |name: &str, of: &[Reads]| Mark::line(name, FLOWS.iter().zip(of).map(|(&f, r)| (f64::from(f), r.mean.mean)).collect::<Vec<_>>());
    let panel = Panel::new("", Axis::new("Flows in the buffer", none()), Axis::new("Steps of a sample", none()).log())
        .mark(line("random, 16 units per read", &by_row))
        .mark(line("random, one unit per read", &by_word))
        .mark(Mark::line("deterministic: counters compared", FLOWS.map(|f| (f64::from(f), counters(f) as f64))));
    let figure = Figure::new("Cost of a sample (section VI)")
        .caption("Reads of the culprit array under random sampling, and counters to compare under deterministic sampling, by the number of flows.")
        .panel(panel);
    Ok(Findings { measured, checks, figures: vec![figure], tables: vec![table], notes, ..Findings::default() })
}
