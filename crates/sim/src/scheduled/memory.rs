//! How large a fabric is before anything of it is built: ports, ends of links, memory. All in 64
//! bits that saturate, because a scenario may ask for anything.

use std::collections::VecDeque;

use xoff_units::Bytes;

use crate::scheduled::config::{Config, ControlPath, Core, Problem, Spray};
use crate::scheduled::element::{Input, Output};
use crate::scheduled::event::PLACES_MAX;
use crate::scheduled::link::Link;
use crate::scheduled::shape::Shape;

/// Elements of one kind: how many, with how many inputs and outputs each.
struct Kind {
    count: u64,
    inputs: u64,
    outputs: u64,
}

fn power(base: u32, exponent: u32) -> u64 {
    u64::from(base).saturating_pow(exponent)
}

impl Shape {
    /// Ports, N.
    fn ports_exact(&self) -> u64 {
        power(self.below, self.levels).saturating_mul(self.middle.into())
    }

    fn kinds(&self) -> Vec<Kind> {
        let (below, above, middle) =
            (u64::from(self.below), u64::from(self.above), u64::from(self.middle));
        let mut kinds =
            vec![Kind { count: power(self.above, self.levels), inputs: middle, outputs: middle }];
        for level in 0..self.levels {
            let left = power(self.above, level)
                .saturating_mul(power(self.below, self.levels - level - 1))
                .saturating_mul(middle);
            if self.folded {
                kinds.push(Kind { count: left, inputs: below + above, outputs: below + above });
            } else {
                kinds.push(Kind { count: left.saturating_mul(2), inputs: below, outputs: above });
            }
        }
        kinds
    }
}

impl Config {
    fn kinds(&self) -> Vec<Kind> {
        match self.core {
            Core::Network(shape) => shape.kinds(),
            Core::Spine { edges, spines, .. } => {
                vec![Kind { count: spines.into(), inputs: edges.into(), outputs: edges.into() }]
            }
            Core::Ideal { .. } => Vec::new(),
        }
    }

    fn ports_exact(&self) -> u64 {
        match self.core {
            Core::Network(shape) => shape.ports_exact(),
            Core::Spine { edge_ports, edges, .. } => u64::from(edge_ports) * u64::from(edges),
            Core::Ideal { ports } => ports.into(),
        }
    }

    /// Inputs of all elements; as many as outputs, where a stage and its mirror image are counted
    /// together.
    fn element_inputs(&self) -> u64 {
        self.kinds()
            .iter()
            .fold(0, |sum, k| sum.saturating_add(k.count.saturating_mul(k.inputs.max(k.outputs))))
    }

    /// Reason why the fabric cannot be built.
    pub(crate) fn too_large(&self) -> Option<Problem> {
        let (ports, inputs) = (self.ports_exact(), self.element_inputs());
        let places = ports.saturating_add(inputs);
        let key = if let Core::Network(_) = self.core { "above" } else { "ports" };
        let paths = match self.core {
            Core::Network(shape) => power(shape.above, shape.levels),
            _ => 1,
        };
        let most = u64::from(u16::MAX);
        (places >= PLACES_MAX as u64 || ports.max(paths) >= most).then(|| Problem {
            key,
            what: format!(
                "ports + inputs of all elements < {PLACES_MAX}, ports < {most}, paths < {most}: {ports} ports, {inputs} inputs of elements, {paths} paths"
            ),
            hint: "use fewer ports, stages, or elements above".into(),
        })
    }

    /// Memory of the idle fabric [bytes]: ports know the place and the paths of each flow, and
    /// their granters the requests of each input; elements keep a bit or, with iSLIP, a queue for
    /// each pair of an input and an output. Flows in motion, packets and segments are added.
    pub fn memory(&self) -> Bytes {
        let ports = self.ports_exact();
        // A place at each end, and at the granter requests, a virtual start and two bits.
        let mut pair = 16;
        if let Core::Network(shape) = self.core {
            pair += if self.control_path == ControlPath::Own { 4 } else { 2 };
            if self.spray == Spray::Permuted {
                pair += power(shape.above, shape.levels).saturating_mul(2);
            }
        }
        let mut sum = ports.saturating_mul(ports).saturating_mul(pair);
        let queue = if self.element.keeps_queues_by_output() {
            size_of::<VecDeque<u32>>() as u64
        } else {
            0
        };
        for k in self.kinds() {
            let own = k.inputs * (size_of::<Input>() + size_of::<Link>()) as u64
                + k.outputs * size_of::<Output>() as u64;
            let crossbar = k.inputs.saturating_mul(k.outputs).saturating_mul(queue + 1) / 4
                * if queue > 0 { 4 } else { 1 };
            sum = sum.saturating_add(k.count.saturating_mul(own.saturating_add(crossbar)));
        }
        Bytes(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduled::Arbitration;
    use crate::scheduled::host::Hosts;
    use crate::scheduled::traffic::{Pattern, Sizes, Traffic};
    use xoff_units::Rate;

    fn paper(core: Core) -> Config {
        let traffic = Traffic {
            pattern: Pattern::Uniform,
            load: 0.5,
            sizes: Sizes::Fixed(Bytes(40)),
            burst_packets: 1.0,
        };
        Config { core, ..Config::paper(traffic) }
    }

    #[test]
    fn elements_are_counted_as_they_are_built() {
        for shape in [
            Shape::benes(8, 3),
            Shape::benes(2, 7),
            Shape { below: 2, above: 5, middle: 3, levels: 2, folded: false },
            Shape { below: 3, above: 4, middle: 2, levels: 2, folded: true },
        ] {
            let built: (u64, u64) = shape
                .places()
                .iter()
                .map(|&p| shape.size(p))
                .fold((0, 0), |a, s| (a.0 + 1, a.1 + u64::from(s.0.max(s.1))));
            let kinds = shape.kinds();
            assert_eq!(kinds.iter().map(|k| k.count).sum::<u64>(), built.0, "{shape:?}");
            assert_eq!(paper(Core::Network(shape)).element_inputs(), built.1, "{shape:?}");
            assert_eq!(shape.ports_exact(), shape.ports().into());
        }
    }

    /// 2^7 ports with 10,000 elements above each: 10^28 paths.
    #[test]
    fn what_no_machine_holds_is_refused_before_it_is_built() {
        let huge = Shape { below: 2, above: 10_000, middle: 2, levels: 7, folded: false };
        let problems = paper(Core::Network(huge)).problems();
        assert_eq!(problems.len(), 1);
        assert!(
            problems[0].key == "above" && problems[0].what.contains("256 ports"),
            "{problems:?}"
        );
        let spine = Config::unbiased_qcn_rack(
            1000,
            Rate::from_gbps(100),
            Hosts::unbiased_qcn(Vec::new(), None),
        );
        assert!(spine.too_large().is_none());
        let islip = |mut c: Config| {
            c.core = Core::Spine { edge_ports: 4, edges: 1000, spines: 1000 };
            c.element.arbitration = Arbitration::Islip;
            c.memory().0
        };
        assert!(
            islip(spine) > 32_000_000_000,
            "1000 spines with a queue for each of 1000 x 1000 pairs"
        );
        // 6.6 MB for 409,600 pairs, and the links. A run takes 40 MB, with flows in motion, packets and the program.
        let rack = Config::unbiased_qcn_rack(
            128,
            Rate::from_gbps(100),
            Hosts::unbiased_qcn(Vec::new(), None),
        );
        assert!((7_000_000..40_000_000).contains(&rack.memory().0), "{}", rack.memory());
    }
}
