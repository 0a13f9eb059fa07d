//! Admissions that fill a buffer exactly to b, and, with one premise taken away each, admissions
//! that pass it.
//!
//! All are scripts, so that levels and times have closed forms; `tests/request_grant.rs` asserts
//! them with `==`. N is the number of ports, g of outputs behind a buffer.

use super::admission::{Admission, Phase};
use super::clos::{BufferId, Clos};
use super::fluid::Injection;
use super::network::{Discipline, Network, Split};
use super::rational::Q;
use super::theorem_1::Trial;

fn q(n: usize) -> Q {
    Q::int(n as i128)
}

/// Every one of `inputs` sends at `rate`, evenly to all `outputs`.
fn flood(inputs: impl Iterator<Item = usize>, outputs: &[usize], rate: Q) -> Vec<Injection> {
    let share = rate / q(outputs.len());
    inputs
        .flat_map(|input| {
            outputs.iter().map(move |&output| Injection { input, output, rate: share })
        })
        .collect()
}

fn trial(network: Network, b: Q, phases: Vec<Phase>) -> Trial {
    Trial { network, b, buffer: b, admission: Admission::Script(phases), stopped: Vec::new() }
}

/// Fills the buffers of a routing stage to exactly b, all premises kept: m g inputs flood the g
/// outputs behind them, so that the stage before is just not overloaded. At b/(m-1) the outputs
/// have b outstanding, all of it there. `None` for a stage of the distribution half.
pub fn tight(clos: Clos, stage: usize, b: Q) -> Option<Trial> {
    trial_of_flood(clos, stage, b, Q::ONE)
}

/// [`tight`] without premise (iv): the flood continues, and the level rises to 2 b at 2 b/(m-1).
pub fn unlimited(clos: Clos, stage: usize, b: Q) -> Option<Trial> {
    trial_of_flood(clos, stage, b, Q::int(2))
}

fn trial_of_flood(clos: Clos, stage: usize, b: Q, times: Q) -> Option<Trial> {
    if !clos.routes_in(stage) || stage > clos.stages() {
        return None;
    }
    let m = clos.element();
    let outputs = clos.outputs_behind(BufferId { stage, switch: 0, port: 0 });
    let until = times * b / q(m - 1);
    let phase = Phase { until, flows: flood(0..m * outputs.len(), &outputs, Q::ONE) };
    Some(trial(Network::of_the_theorem(clos), b, vec![phase]))
}

/// Premise (v) replaced by a single route for everything: m inputs meet in one middle switch, and
/// its buffer gathers all that is outstanding for the N/m outputs behind it, (N/m) b.
pub fn single_route(clos: Clos, b: Q) -> Trial {
    Trial {
        network: Network { split: Split::single_route(clos), ..Network::of_the_theorem(clos) },
        ..through_one_middle_switch(clos, b)
    }
}

/// Premise (v) bent: three stages, one middle switch gets `share` > 1/m of every flow, the others
/// equal parts of the rest. The same (N/m) b = m b as over a single route, at m b/(share m - 1):
/// however small the difference, only later. `None` for a share outside (1/m, 1].
pub fn uneven(m: usize, share: Q, b: Q) -> Option<Trial> {
    let clos = Clos::new(m, 3)?;
    if share > Q::ONE || share <= Q::ONE / q(m) {
        return None;
    }
    let mut shares = vec![(Q::ONE - share) / q(m - 1); m];
    shares[0] = share;
    let outputs: Vec<usize> = (0..m).collect();
    let phase = Phase {
        until: q(m) * b / (share * q(m) - Q::ONE),
        flows: flood((0..m).map(|v| v * m), &outputs, Q::ONE),
    };
    Some(trial(
        Network { split: Split::Weighted(shares), ..Network::of_the_theorem(clos) },
        b,
        vec![phase],
    ))
}

/// Premise (v) replaced by a route per source: the same (N/m) b; the distribution half stays empty
/// for any traffic.
pub fn by_source(clos: Clos, b: Q) -> Trial {
    Trial {
        network: Network { split: Split::BySource, ..Network::of_the_theorem(clos) },
        ..through_one_middle_switch(clos, b)
    }
}

fn through_one_middle_switch(clos: Clos, b: Q) -> Trial {
    let (m, g) = (clos.element(), clos.routes());
    // Inputs that differ in the middle stage's digit only: with the other digits given up or kept,
    // they meet there.
    let outputs: Vec<usize> = (0..g).collect();
    let until = q(g) * b / q(m - 1);
    let phase = Phase { until, flows: flood((0..m).map(|v| v * g), &outputs, Q::ONE) };
    trial(Network::of_the_theorem(clos), b, vec![phase])
}

/// Premise (v) replaced by a route per destination (D-mod-k): the m inputs of one switch send to
/// the N/m outputs whose routes share the switch's port 0, and (N/m) b gather in the first stage.
/// The routing half stays within b for any traffic.
pub fn by_destination(clos: Clos, b: Q) -> Trial {
    let (m, g) = (clos.element(), clos.routes());
    let outputs: Vec<usize> = (0..g).map(|o| o * m).collect();
    let phase = Phase { until: q(g) * b / q(m - 1), flows: flood(0..m, &outputs, Q::ONE) };
    let network = Network { split: Split::ByDestination, ..Network::of_the_theorem(clos) };
    trial(network, b, vec![phase])
}

/// Inputs of twice the link rate: the m inputs of one switch send to all outputs, and (N/m) b
/// gather in each buffer of the first stage.
pub fn fast_inputs(clos: Clos, b: Q) -> Trial {
    let outputs: Vec<usize> = (0..clos.ports()).collect();
    let phase =
        Phase { until: q(clos.routes()) * b, flows: flood(0..clos.element(), &outputs, Q::int(2)) };
    trial(Network::of_the_theorem(clos), b, vec![phase])
}

/// [`tight`] without premise (ii): at a write bandwidth of `write` link rates, the buffer gets
/// (w-1)/(m-1) b and the rest of b waits in front of it, where the theorem has no buffer.
pub fn limited_write(clos: Clos, stage: usize, b: Q, write: Q) -> Option<Trial> {
    let tight = tight(clos, stage, b)?;
    Some(Trial { network: Network { write: Some(write), ..tight.network }, ..tight })
}

/// Premise (iv) replaced by the condition that the outline of the proof uses, at most T + b in any
/// T: 4/3 b, in a 4 x 4 network of three stages and 2 x 2 elements.
///
/// A burst for output 1 fills the middle buffers, a burst for output 0 queues behind it. While
/// output 0 waits for its first segment, its link is idle and its envelope keeps growing. Then
/// everything arrives at twice the link rate.
pub fn envelope_only(b: Q) -> Option<Trial> {
    let clos = Clos::new(2, 3)?;
    let third = b / Q::int(3);
    let phases = vec![
        Phase { until: third, flows: flood(0..4, &[1], Q::ONE) },
        Phase { until: third * Q::int(2), flows: flood(0..4, &[0], Q::ONE) },
        Phase { until: b * Q::int(2), flows: flood(0..1, &[0], Q::ONE) },
    ];
    Some(trial(Network::of_the_theorem(clos), b, phases))
}

/// All of (i) to (v), and yet 4/3 b: five stages of 2 x 2 elements whose middle switches serve in
/// different orders.
///
/// ```text
///   middle switches of plane 0   outputs 2 3 first, then 0 1     plane: digit 0, the half of Fig. 7 that a
///   middle switches of plane 1   outputs 0 1 first, then 2 3     first-stage switch chooses
/// ```
///
/// Plane 1 delivers to outputs 0 and 1 and their credits return, while their other halves pile up
/// in plane 0. Released, they come to plane 0's fourth stage at twice the link rate.
pub fn unlike_service(b: Q) -> Option<Trial> {
    let clos = Clos::new(2, 5)?;
    let rank = |clos: Clos, buffer: BufferId, output: usize| {
        let plane = clos.digit(clos.position_of(buffer), 0);
        let upper_pair = clos.digit(output, 1) == 0;
        usize::from(buffer.stage == 3 && upper_pair == (plane == 0))
    };
    let network = Network { discipline: Discipline::Ranked(rank), ..Network::of_the_theorem(clos) };
    let both = [flood(0..4, &[0, 1], Q::ONE), flood(4..8, &[2, 3], Q::ONE)].concat();
    let phases = vec![
        Phase { until: b * Q::new(2, 3), flows: both },
        Phase { until: b * Q::int(2), flows: flood(0..2, &[0, 1], Q::ONE) },
    ];
    Some(trial(network, b, phases))
}

/// All of (i) to (v), and yet b + d/2: a 4 x 4 network of three stages and 2 x 2 elements in which
/// one link, from the first switch to the first middle switch, is `d` longer than the others.
/// `None` unless 0 <= d <= 2 b.
///
/// Inputs 0 and 1 send for d; one half of it is on the long link while the other arrives and its
/// credits return. Then all send until 2 b are outstanding, then inputs 2 and 3 replace departures.
/// The first middle switch gets old and new traffic at once.
pub fn unequal_links(b: Q, d: Q) -> Option<Trial> {
    let clos = Clos::new(2, 3)?;
    if d < Q::ZERO || d > b * Q::int(2) {
        return None;
    }
    let long = BufferId { stage: 1, switch: 0, port: 0 };
    let network = Network::of_the_theorem(clos)
        .with_delays(|buffer| if buffer == long { d } else { Q::ZERO });
    let all = d + b - d / Q::int(2);
    let mut phases = vec![
        Phase { until: d, flows: flood(0..2, &[0, 1], Q::ONE) },
        Phase { until: all, flows: flood(0..4, &[0, 1], Q::ONE) },
        Phase { until: all + d, flows: flood(2..4, &[0, 1], Q::ONE) },
    ];
    phases.retain(|p| p.until.is_positive());
    Some(trial(network, b, phases))
}
