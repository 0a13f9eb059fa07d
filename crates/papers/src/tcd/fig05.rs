//! Fig. 5: the covered congestion tree, as the states of its ports show it.

use xoff_mech::detection::{Mark as Marking, PortState};
use xoff_report::{Axis, Figure, HeatCell, Mark, Panel, Tone, Unit};

use super::fig2::{self, Detection, Fabric, Flows, Load, P2, P3, PORTS, Reading, Setup};
use super::fig12::{assumption, share};
use super::fig13::{first_ce, max_ton};
use super::second_reading;
use crate::lab::{self, Observed};
use crate::{Check, Context, Findings, ReproduceError};

/// Role of a port in a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Root,
    Leaf,
    Apart,
    Changing,
}

impl Role {
    /// Role by the state of the port during most of an interval.
    fn of(run: &Observed, port: &str, from: f64, to: f64) -> (Role, f64) {
        let of = |state| share(run, port, state, from, to);
        let all = [
            (Role::Root, of(PortState::Congestion)),
            (Role::Leaf, of(PortState::Undetermined)),
            (Role::Apart, of(PortState::NonCongestion)),
        ];
        let most = all.into_iter().fold(all[0], |best, x| if x.1 > best.1 { x } else { best });
        if most.1 >= 0.9 { most } else { (Role::Changing, most.1) }
    }

    fn name(self) -> &'static str {
        match self {
            Role::Root => "root",
            Role::Leaf => "leaf",
            Role::Apart => "not in a tree",
            Role::Changing => "changing",
        }
    }

    fn tone(self) -> Tone {
        match self {
            Role::Root => Tone::Bad,
            Role::Leaf => Tone::Caution,
            Role::Apart => Tone::Good,
            Role::Changing => Tone::Neutral,
        }
    }
}

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    second_reading::beside(cx, entry)
}

fn entry(cx: &Context, reading: Reading) -> Result<Findings, ReproduceError> {
    let run =
        fig2::observe(cx, &[Setup::new(Fabric::Cee, Detection::Tcd, Load::Multiple).read(reading.discipline, reading.variant)])?.remove(0);
    let end = lab::ps(run.outcome.now);
    let (last_off, ce) = (fig2::last_off(&run, P2), first_ce(&run));
    // The tree of P3 has grown to P0 and P1 after 0.5 ms and stands until P2 is released; that of P2 from the time it emerges.
    let first = (lab::ms(0.5), last_off);
    let second = (ce, end);
    let roles = |(from, to): (f64, f64)| PORTS.map(|(_, p)| Role::of(&run, p, from, to));
    let (covered, emerged) = (roles(first), roles(second));
    let mut checks = Vec::new();
    let expected = [Role::Leaf, Role::Leaf, Role::Leaf, Role::Root];
    for (((name, _), (role, part)), want) in PORTS.iter().zip(covered).zip(expected) {
        let value = if role == want { part } else { 0.0 };
        checks.push(
            Check::new(format!("tree of P3: share of the time in which {name} is its {}", want.name()), Unit::Fraction, value, 0.9, 1.0)
                .claimed()
                .assuming(assumption(Fabric::Cee)),
        );
    }
    for (port, want) in [(2, Role::Root), (1, Role::Leaf)] {
        let (role, part) = emerged[port];
        let value = if role == want { part } else { 0.0 };
        let name = PORTS[port].0;
        checks.push(
            Check::new(format!("tree of P2: share of the time in which {name} is its {}", want.name()), Unit::Fraction, value, 0.9, 1.0)
                .claimed()
                .assuming(assumption(Fabric::Cee)),
        );
    }
    let flows = Flows::of(&run);
    let at = |flow: u32, mark: Marking, from: f64, to: f64| -> u64 {
        let on = |p: &str| run.marks(p).iter().filter(|m| m.flow == flow && m.mark == mark && from <= m.time && m.time < to).count() as u64;
        PORTS.iter().map(|(_, p)| on(p)).sum()
    };
    let before = ce.min(end); // it may not emerge
    for (name, flow) in [("F0", flows.f0), ("F2", flows.f2)] {
        checks.push(fig2::none(format!("CE on the victim {name} before P2 emerges"), at(flow, Marking::Ce, 0.0, before)));
        checks.push(fig2::some(format!("UE on the victim {name} before P2 emerges"), at(flow, Marking::Ue, 0.0, before)));
        checks.push(fig2::some(format!("CE on the culprit {name} after it"), at(flow, Marking::Ce, ce, end)));
    }
    checks.push(fig2::some("CE on the culprit F1 before P2 emerges", at(flows.f1, Marking::Ce, 0.0, before)));

    let figure = lanes(&run, &flows, (last_off, ce), end);
    let tree = tree(&run, &flows, &[("tree of P3", first, covered), ("tree of P2", second, emerged)]);
    let words = |all: [(Role, f64); 4]| {
        PORTS
            .iter()
            .zip(all)
            .map(|((n, _), (r, part))| format!("{n} {} ({})", r.name(), Unit::Fraction.format(part)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let measured = format!(
        "{} to {}: {}; from {} on, {} after the last OFF: {}",
        lab::time(first.0),
        lab::time(first.1),
        words(covered),
        lab::time(ce),
        lab::time(ce - last_off),
        words(emerged)
    );
    let notes = vec![
        format!("P2 cannot emerge before max(T_on) + T = {} after its last OFF.", lab::time(2.0 * max_ton(Fabric::Cee))),
        "The isolated case of Fig. 5 is fig12: one tree, with leaves that end in non-congestion.".into(),
    ];
    Ok(Findings { measured, checks, figures: vec![figure, tree], notes, ..Findings::default() })
}

/// States of the ports and marks over time, with the times at which P2 is released and emerges.
fn lanes(run: &Observed, flows: &Flows, (last_off, ce): (f64, f64), until: f64) -> Figure {
    let states = Mark::lanes(PORTS.map(|p| p.0), fig2::state_lanes(run, &PORTS, until));
    let marks = PORTS.iter().enumerate().flat_map(|(row, (_, p))| run.marks(p).into_iter().map(move |m| (row, m)));
    let marked = Mark::lanes(PORTS.map(|p| p.0), fig2::mark_lanes(marks, until));
    let by_flow = flows.named().into_iter().enumerate().flat_map(|(row, (_, flow))| {
        let all = PORTS.iter().flat_map(|(_, p)| run.marks(p)).filter(|m| m.flow == flow).collect::<Vec<_>>();
        all.into_iter().map(move |m| (row, m))
    });
    let carried = Mark::lanes(flows.named().map(|f| f.0), fig2::mark_lanes(by_flow, until));
    let with_events = |panel: Panel| panel.mark(Mark::vline(last_off, "P2 is released")).mark(Mark::vline(ce, "P2 emerges"));
    let lane = |title: &str, mark: Mark| with_events(Panel::new(title, fig2::time(until), Axis::new("", Unit::None)).mark(mark));
    let queues = Panel::new("Queues", fig2::time(until), Axis::new("Queue", Unit::Bytes))
        .mark(Mark::line("P2", fig2::first(run.egress(P2), until)))
        .mark(Mark::line("P3", fig2::first(run.egress(P3), until)))
        .height(110);
    Figure::new("One congestion tree covers another: states of the ports over time (paper: Fig. 5)")
        .caption(
            "Root and leaves of the two trees. During the bursts P3 is the root, and P2, P1, P0 are leaves: undetermined. Then the \
            covered root P2 emerges, with P0 and P1 as its leaves.",
        )
        .panel(lane("State of the port", states))
        .panel(lane("Marks of the port", marked))
        .panel(lane("Marks on each flow, at any port", carried))
        .panel(with_events(queues))
}

/// A tree: its name, when it stands, and what each port is in it for which share of that time.
type Tree<'a> = (&'a str, (f64, f64), [(Role, f64); 4]);

/// The ports in the order in which frames meet them, one row a tree: what each is, and what it marks on which flow.
fn tree(run: &Observed, flows: &Flows, trees: &[Tree]) -> Figure {
    let mut rows = Vec::new();
    let mut cells = Vec::new();
    for (name, (from, to), roles) in trees {
        rows.push((*name).to_owned());
        let cell = |at: usize| {
            let (role, part) = roles[at];
            let mut sentences = Vec::new();
            for (mark, name) in [(Marking::Ce, "CE"), (Marking::Ue, "UE")] {
                let marks = run.marks(PORTS[at].1);
                let on: Vec<&str> = flows
                    .named()
                    .into_iter()
                    .filter(|(_, f)| marks.iter().any(|m| m.flow == *f && m.mark == mark && *from <= m.time && m.time < *to))
                    .map(|(n, _)| n)
                    .collect();
                if !on.is_empty() {
                    sentences.push(format!("{name} on {}", on.join(", ")));
                }
            }
            HeatCell::new(role.tone(), format!("{} {}", role.name(), Unit::Fraction.format(part))).detail(sentences.join("; "))
        };
        cells.push([0, 1, 2, 3].map(cell).to_vec());
    }
    let columns = ["P0 = T0 to L0", "P1 = T1 to L0", "P2 = L0 to T2", "P3 = T2 to R1"];
    let legend = [Role::Root, Role::Leaf, Role::Apart, Role::Changing].map(|r| (r.tone(), r.name()));
    let heat = Mark::heatmap(rows, columns, cells).legend(legend);
    Figure::new("Roots, leaves and victims of the two trees")
        .caption(
            "Frames of F0 and F1 pass P0, and those of F2 pass P1. All pass P2, and F1 also passes P3. The share is a share of the \
            time; below it, the marks on each flow.",
        )
        .panel(Panel::new("", Axis::new("", Unit::None), Axis::new("", Unit::None)).mark(heat))
}
