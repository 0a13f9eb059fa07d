//! Clos/Benes networks with any odd number of stages made of m x m elements, with their
//! connections.
//!
//! ```text
//!   N = m^k ports, 2k - 1 stages. A position is a link between two stages, written in base m; an element of a stage
//!   joins the m positions that differ in that stage's digit, and its output port is the digit's new value.
//!
//!   m = 2, five stages (RG Fig. 7), digits 2 1 0:
//!      stage     1     2     3     4     5
//!      digit     0     1     2     1     0
//!                distribution| routing: the digit becomes the destination's
//! ```
//!
//! Taking away the first and the last stage leaves m networks of N/m ports (fixed digit 0): Clos'
//! recursion. Source: RG (request-grant paper) Figs. 1 and 7.

use std::fmt;

/// A network of 2k - 1 stages of m x m elements with m^k ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clos {
    m: usize,
    k: usize,
}

/// The buffer in front of one output of one switch. With the first-stage buffers of Fig. 7 being E,
/// its D, C, B, A are stages 2 to 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BufferId {
    /// Stage, from 1.
    pub stage: usize,
    /// Element within the stage, from 0.
    pub switch: usize,
    /// Output port of the element, from 0.
    pub port: usize,
}

impl fmt::Display for BufferId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stage {}, switch {}, port {}", self.stage, self.switch, self.port)
    }
}

impl Clos {
    /// A network of `m` x `m` elements in `stages` stages. `None` unless m >= 2, the number of
    /// stages is odd, and there are at most 4096 ports.
    pub fn new(m: usize, stages: usize) -> Option<Clos> {
        let k = stages.div_ceil(2);
        let ports = m.checked_pow(u32::try_from(k).ok()?)?;
        (m >= 2 && stages % 2 == 1 && ports <= 4096).then_some(Clos { m, k })
    }

    /// Ports of an element, m.
    pub fn element(self) -> usize {
        self.m
    }

    /// Ports of the network, N = m^k.
    pub fn ports(self) -> usize {
        self.m.pow(self.k as u32)
    }

    /// Stages, 2k - 1.
    pub fn stages(self) -> usize {
        2 * self.k - 1
    }

    /// Number of distributing stages, k - 1; the others, from the middle on, route.
    pub fn distribution_stages(self) -> usize {
        self.k - 1
    }

    /// True if buffers of this stage (from 1) belong to the routing half.
    pub fn routes_in(self, stage: usize) -> bool {
        stage > self.distribution_stages()
    }

    /// Number of routes between an input and an output, m^(k-1); also of middle switches.
    pub fn routes(self) -> usize {
        self.ports() / self.m
    }

    /// Digit that the elements of `stage` (from 1) decide.
    pub(super) fn digit_of_stage(self, stage: usize) -> usize {
        if self.routes_in(stage) { self.stages() - stage } else { stage - 1 }
    }

    /// Digit `d` (from 0, the least) of a position.
    pub fn digit(self, position: usize, d: usize) -> usize {
        position / self.m.pow(d as u32) % self.m
    }

    /// `position` with digit `d` replaced.
    pub(super) fn with_digit(self, position: usize, d: usize, value: usize) -> usize {
        let weight = self.m.pow(d as u32);
        position - self.digit(position, d) * weight + value * weight
    }

    /// The buffer at a position behind `stage` (from 1).
    pub fn buffer_at(self, stage: usize, position: usize) -> BufferId {
        let d = self.digit_of_stage(stage);
        let weight = self.m.pow(d as u32);
        // The element's number is the position without the digit it decides.
        let switch = position / (weight * self.m) * weight + position % weight;
        BufferId { stage, switch, port: self.digit(position, d) }
    }

    /// The position behind a buffer's stage: the inverse of [`Clos::buffer_at`].
    pub fn position_of(self, buffer: BufferId) -> usize {
        let weight = self.m.pow(self.digit_of_stage(buffer.stage) as u32);
        buffer.switch / weight * weight * self.m + buffer.port * weight + buffer.switch % weight
    }

    /// The outputs that a buffer of the routing half leads to; all of them in the distribution
    /// half.
    pub fn outputs_behind(self, buffer: BufferId) -> Vec<usize> {
        let fixed =
            if self.routes_in(buffer.stage) { self.digit_of_stage(buffer.stage) } else { self.k };
        let weight = self.m.pow(fixed as u32);
        let position = self.position_of(buffer);
        (0..self.ports()).filter(|o| o / weight == position / weight).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_fig_7_and_of_the_evaluation() {
        let fig7 = Clos::new(2, 5).unwrap();
        assert_eq!((fig7.ports(), fig7.distribution_stages(), fig7.routes()), (8, 2, 4));
        let evaluated = Clos::new(8, 3).unwrap();
        assert_eq!(
            (evaluated.ports(), evaluated.distribution_stages(), evaluated.routes()),
            (64, 1, 8)
        );
        assert_eq!([Clos::new(2, 4), Clos::new(1, 3), Clos::new(8, 9)], [None; 3]);
    }

    #[test]
    fn buffers_and_positions_name_each_other() {
        for (m, stages) in [(2, 3), (2, 5), (3, 5), (2, 7), (4, 3)] {
            let net = Clos::new(m, stages).unwrap();
            for stage in 1..=stages {
                for p in 0..net.ports() {
                    let b = net.buffer_at(stage, p);
                    assert!(b.switch < net.ports() / m && b.port < m);
                    assert_eq!(net.position_of(b), p, "{b} of m = {m}");
                }
            }
        }
    }

    #[test]
    fn the_recursion_is_that_of_fig_7() {
        // The paper follows output 5 (number 4 here) upstream: A serves it alone, B1 and B2 also
        // output 6, C1 to C4 5 to 8.
        let net = Clos::new(2, 5).unwrap();
        let behind = |stage, position| net.outputs_behind(net.buffer_at(stage, position));
        assert_eq!(behind(5, 4), [4]);
        assert_eq!([behind(4, 4), behind(4, 5)], [[4, 5], [4, 5]]);
        assert!((4..8).all(|p| behind(3, p) == [4, 5, 6, 7]));
        assert_eq!(behind(2, 3).len(), 8);
        // B1 and B2 feed the switch of A: they differ in digit 0 only, which is the last stage's.
        assert_eq!(
            (
                net.digit_of_stage(5),
                net.digit_of_stage(4),
                net.digit_of_stage(3),
                net.digit_of_stage(1)
            ),
            (0, 1, 2, 0)
        );
    }
}
