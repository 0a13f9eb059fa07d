//! Assumptions of Theorem 1 about the network, each premise in a form that can be removed.

use super::clos::{BufferId, Clos};
use super::rational::Q;

/// Distribution of traffic over the routes: premise (v). A switch of the distribution half chooses
/// a port; the routing half has no choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Split {
    /// Every flow evenly over all routes: the premise.
    Even,
    /// Every flow by the same shares per port, one share for each of the m ports, in every
    /// distribution stage. Shares are not negative and their sum is 1.
    Weighted(Vec<Q>),
    /// One route per flow, chosen by its destination (D-mod-k): even over the destinations, not per
    /// flow.
    ByDestination,
    /// One route per flow, chosen by its source: every distribution switch passes straight through.
    BySource,
}

impl Split {
    /// Everything over one port, and so over one of the routes.
    pub fn single_route(net: Clos) -> Split {
        let mut shares = vec![Q::ZERO; net.element()];
        shares[0] = Q::ONE;
        Split::Weighted(shares)
    }

    /// The share of a flow that leaves distribution stage `stage` (from 1) by `port`.
    pub(super) fn share(
        &self,
        net: Clos,
        stage: usize,
        input: usize,
        output: usize,
        port: usize,
    ) -> Q {
        let d = net.digit_of_stage(stage);
        let only = |chosen: usize| if chosen == port { Q::ONE } else { Q::ZERO };
        match self {
            Split::Even => Q::new(1, net.element() as i128),
            Split::Weighted(shares) => shares[port],
            Split::ByDestination => only(net.digit(output, d)),
            Split::BySource => only(net.digit(input, d)),
        }
    }

    /// True if this is premise (v).
    pub fn is_even(&self, net: Clos) -> bool {
        match self {
            Split::Even => true,
            Split::Weighted(shares) => {
                shares.iter().all(|s| *s == Q::new(1, net.element() as i128))
            }
            Split::ByDestination | Split::BySource => net.routes() == 1,
        }
    }
}

/// Rank of traffic to an output (from 0) in a buffer; lower ranks are served first.
pub type Rank = fn(Clos, BufferId, usize) -> usize;

/// The order of departures from a buffer. The theorem names none.
#[derive(Clone, Copy, Debug)]
pub enum Discipline {
    /// FIFO.
    Fifo,
    /// By rank; FIFO within a rank.
    Ranked(Rank),
}

impl Discipline {
    pub(super) fn rank(self, net: Clos, buffer: BufferId, output: usize) -> usize {
        match self {
            Discipline::Fifo => 0,
            Discipline::Ranked(rank) => rank(net, buffer, output),
        }
    }

    /// True if the buffers that share the traffic to an output serve it alike. From five stages on
    /// the theorem needs this beyond its premises (see [`super::theorem_1`]).
    pub fn is_alike(self, net: Clos) -> bool {
        let ranks = |stage: usize, output: usize| {
            let buffers = (0..net.ports()).map(move |p| net.buffer_at(stage, p));
            buffers
                .filter(move |b| net.outputs_behind(*b).contains(&output))
                .map(move |b| self.rank(net, b, output))
        };
        let routing = net.distribution_stages() + 1..=net.stages();
        routing.into_iter().all(|stage| {
            (0..net.ports()).all(|o| {
                let first = ranks(stage, o).next();
                ranks(stage, o).all(|r| Some(r) == first)
            })
        })
    }
}

/// A network of the fluid model.
#[derive(Clone, Debug)]
pub struct Network {
    /// Shape of the network.
    pub clos: Clos,
    /// Premise (v).
    pub split: Split,
    /// Order of service.
    pub discipline: Discipline,
    /// Premise (ii): the rate [link rates] at which a switch can write into one of its output
    /// buffers; `None`: from all its inputs at once. What cannot be written waits at the switch's
    /// inputs, FIFO for each output port, so that only traffic to the same port is held up.
    pub write: Option<Q>,
    /// Delays of the links behind the buffers of each stage but the last, by position [segment
    /// times]; empty: none, as in the paper's model. See [`Network::with_delays`].
    pub delays: Vec<Vec<Q>>,
}

impl Network {
    /// The network of the theorem: even split, full write bandwidth, FIFO, no delays.
    pub fn of_the_theorem(clos: Clos) -> Network {
        Network {
            clos,
            split: Split::Even,
            discipline: Discipline::Fifo,
            write: None,
            delays: Vec::new(),
        }
    }

    /// Network with a delay of the link behind each buffer; not negative. The last stage's have
    /// none.
    pub fn with_delays(mut self, delay: impl Fn(BufferId) -> Q) -> Network {
        let clos = self.clos;
        let stage = |s: usize| (0..clos.ports()).map(|p| delay(clos.buffer_at(s, p))).collect();
        self.delays = (1..clos.stages()).map(stage).collect();
        self
    }

    /// True if all links behind a stage are equally long. All parts of a flow then travel together.
    pub fn has_equal_links(&self) -> bool {
        self.delays.iter().all(|stage| stage.windows(2).all(|w| w[0] == w[1]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_a_flow_sum_to_one() {
        let net = Clos::new(3, 5).unwrap();
        let weighted = Split::Weighted(vec![Q::new(1, 2), Q::new(1, 3), Q::new(1, 6)]);
        for split in
            [Split::Even, weighted, Split::ByDestination, Split::BySource, Split::single_route(net)]
        {
            for (input, output) in [(0, 0), (5, 22), (26, 13)] {
                for stage in 1..=net.distribution_stages() {
                    assert_eq!(
                        (0..3).map(|p| split.share(net, stage, input, output, p)).sum::<Q>(),
                        Q::ONE,
                        "{split:?}"
                    );
                }
            }
            assert_eq!(split.is_even(net), split == Split::Even);
        }
    }

    #[test]
    fn alike_means_the_same_rank_on_every_route() {
        let net = Clos::new(2, 5).unwrap();
        assert!(Discipline::Fifo.is_alike(net));
        assert!(Discipline::Ranked(|_, _, output| output).is_alike(net));
        assert!(!Discipline::Ranked(|_, b, output| (b.switch + output) % 2).is_alike(net));
    }
}
