//! The order of a flow's frames, where everything that could change it happens often.

use xoff_report::{Align, Axis, Bar, BarGroup, Figure, Mark, Panel, Table, Unit};
use xoff_sim::ViolationKind;

use super::run::{PFFC, run};
use crate::lab::Observed;
use crate::{Check, Context, Findings, ReproduceError};

const SCENARIO: (&str, &str) = scenario!("pffc", "order.toml");
/// Pause queues and slots: fewer, and the defaults.
const TABLES: [(u16, u32); 4] = [(1, 16), (2, 64), (6, 64), (6, 4096)];

/// The entry.
pub fn run_order(cx: &Context) -> Result<Findings, ReproduceError> {
    let seeds = cx.mode.pick(1, 5);
    let jobs: Vec<(usize, u64)> = (0..TABLES.len()).flat_map(|t| (0..seeds).map(move |n| (t, n))).collect();
    let runs = cx.parallel(&jobs, |&(t, n)| {
        let (queues, slots) = TABLES[t];
        let settings =
            [format!("flow_control.queues={queues}"), format!("flow_control.slots={slots}"), format!("run.seed={}", cx.seed + n)];
        run(cx, SCENARIO, PFFC, &settings)
    })?;
    let of = |t: usize| jobs.iter().zip(&runs).filter(move |(j, _)| j.0 == t).map(|(_, r)| r);
    let sum = |t: usize, value: &dyn Fn(&Observed) -> u64| of(t).map(value).sum::<u64>();
    let disordered = |r: &Observed| r.outcome.violations.iter().filter(|v| v.kind == ViolationKind::Order).count() as u64;
    let all = |value: &dyn Fn(&Observed) -> u64| (0..TABLES.len()).map(|t| sum(t, value)).sum::<u64>();
    let delivered = all(&|r| r.outcome.delivered_frames);
    let checks = vec![
        Check::none("frames out of order, all runs", "frames", all(&disordered)),
        Check::none("violated invariants of any kind, all runs", "promises", all(&|r| r.outcome.violations_total)),
        Check::none("frames lost, all runs", "frames", all(&Observed::lost)),
        Check::some("control frames: pauses, resumes and changes of queue", "frames", all(&Observed::messages)),
        Check::some("frames counted in the slot of another flow", "frames", all(&|r| r.outcome.flow_collisions)),
    ];
    let columns = ["Pause queues", "Slots", "Frames delivered", "Control frames", "Counted for another flow", "Out of order"];
    let mut table = Table::new(columns).align([Align::Right; 6]);
    for (t, (queues, slots)) in TABLES.iter().enumerate() {
        table.push([
            queues.to_string(),
            slots.to_string(),
            sum(t, &|r| r.outcome.delivered_frames).to_string(),
            sum(t, &Observed::messages).to_string(),
            sum(t, &|r| r.outcome.flow_collisions).to_string(),
            sum(t, &disordered).to_string(),
        ]);
    }
    let group =
        |name: &str, value: &dyn Fn(&Observed) -> u64| BarGroup::new(name, (0..TABLES.len()).map(|t| Bar::new(sum(t, value) as f64)));
    let groups = [
        group("control frames", &Observed::messages),
        group("counted for another flow", &|r| r.outcome.flow_collisions),
        group("out of order", &disordered),
    ];
    let panel = Panel::new("", Axis::new("", Unit::None), Axis::new("Frames", Unit::Other("frames".into())))
        .mark(Mark::bars(TABLES.map(|(q, s)| format!("{q} queue{}, {s} slots", if q == 1 { "" } else { "s" })), groups));
    let figure = Figure::new("Order of frames under many pauses")
        .caption("No frame overtakes another frame of its flow, no matter how often flows change and share their queue.")
        .panel(panel);
    let measured = format!(
        "{} frames are out of order among {delivered} delivered, with {} control frames and {} frames counted for another flow.",
        all(&disordered),
        all(&Observed::messages),
        all(&|r| r.outcome.flow_collisions)
    );
    let table = table.caption(format!("Sums over {seeds} seeds. A fat-tree of 16 hosts, 80 % load and an incast of 8 to 1, 10 ms."));
    Ok(Findings { measured, checks, figures: vec![figure], tables: vec![table], ..Findings::default() })
}
