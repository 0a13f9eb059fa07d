//! Packets that come to the ports of a fabric (section 4).

use rand_chacha::ChaCha8Rng;
use xoff_net::workload::random;
use xoff_units::state::{Broken, Reader, State, Value, Walk};
use xoff_units::{Bytes, Rate, Time};

/// Senders, receivers and their loads.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Every output has the same load.
    Uniform,
    /// Outputs that receive more than they can carry, from all inputs alike; the others receive the
    /// load of [`Traffic::load`], from all inputs alike.
    Hotspots {
        /// The overloaded outputs.
        outputs: Vec<u32>,
        /// Load of the outputs, in multiples of their capacity.
        factor: f64,
    },
    /// As hotspots, but what they receive comes in addition to the rest and not instead of it:
    /// every input has a source for them of its own, so that it may receive more than its line
    /// carries. Then the others can be loaded up to 1.
    HotspotsBeside {
        /// The overloaded outputs.
        outputs: Vec<u32>,
        /// Load of the outputs, in multiples of their capacity.
        factor: f64,
    },
    /// Packets one by one, for instance those of another simulation; [`Traffic::load`] and
    /// [`Traffic::sizes`] do not matter.
    Listed {
        /// Packets, in any order.
        packets: Vec<Arrival>,
        /// Outputs that count as hotspots.
        hot: Vec<u32>,
    },
    /// At most one stream per input, each with its own load and size; [`Traffic::load`] and
    /// [`Traffic::sizes`] do not matter.
    Streams(Vec<Stream>),
    /// From uniform (0) to one input for each output (1): a share `w` of each input's load goes to
    /// one output, the rest to all outputs alike.
    Unbalanced {
        /// The share w.
        w: f64,
        /// Number of that output minus the number of the input, modulo the ports.
        shift: u32,
    },
    /// All inputs in the list send to one output, the others nothing.
    Incast {
        /// Numbers of the inputs.
        inputs: Vec<u32>,
        /// Number of the output.
        output: u32,
    },
}

/// A packet that comes to an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrival {
    /// Arrival of its last bit.
    pub at: Time,
    /// Number of the input.
    pub input: u32,
    /// Number of the output.
    pub output: u32,
    /// Size of the packet.
    pub size: Bytes,
}

/// Load of one input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stream {
    /// Number of the input.
    pub input: u32,
    /// Number of the output.
    pub output: u32,
    /// Load, as a share of the line.
    pub load: f64,
    /// Size of its packets.
    pub size: Bytes,
}

/// Sizes of packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sizes {
    /// All alike.
    Fixed(Bytes),
    /// Small ones and large ones.
    Bimodal {
        /// Size of a small packet [bytes].
        small: Bytes,
        /// Size of a large packet [bytes].
        large: Bytes,
        /// Share of packets that are small.
        small_share: f64,
    },
}

impl Sizes {
    /// Mean size of a packet [bytes].
    pub fn mean(&self) -> f64 {
        match *self {
            Sizes::Fixed(b) => b.0 as f64,
            Sizes::Bimodal { small, large, small_share } => {
                small_share * small.0 as f64 + (1.0 - small_share) * large.0 as f64
            }
        }
    }
    /// Size of the largest packet [bytes].
    pub fn max(&self) -> Bytes {
        match *self {
            Sizes::Fixed(b) => b,
            Sizes::Bimodal { small, large, .. } => small.max(large),
        }
    }
    fn draw(&self, rng: &mut ChaCha8Rng) -> u32 {
        match *self {
            Sizes::Fixed(b) => b.0 as u32,
            Sizes::Bimodal { small, large, small_share } => {
                if random::uniform(rng) < small_share {
                    small.0 as u32
                } else {
                    large.0 as u32
                }
            }
        }
    }
}

/// A workload: bursts of packets for one output, back to back at the rate of the line, with
/// exponential gaps.
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    /// Senders and receivers.
    pub pattern: Pattern,
    /// Load of an output that is no hotspot, as a share of the line. At 1 an input sends all the
    /// time.
    pub load: f64,
    /// Sizes of packets.
    pub sizes: Sizes,
    /// Mean number of packets of a burst, geometrically distributed; 1 is smooth.
    pub burst_packets: f64,
}

impl Traffic {
    /// Largest packet.
    pub fn packet_max(&self) -> Bytes {
        match &self.pattern {
            Pattern::Streams(streams) => streams.iter().map(|s| s.size).max().unwrap_or_default(),
            Pattern::Listed { packets, .. } => {
                packets.iter().map(|p| p.size).max().unwrap_or_default()
            }
            _ => self.sizes.max(),
        }
    }

    /// Sources: one per port, twice as many where hotspots come in addition to the rest.
    pub(crate) fn sources(&self, ports: u32) -> u32 {
        if matches!(self.pattern, Pattern::HotspotsBeside { .. }) { 2 * ports } else { ports }
    }

    fn stream(&self, input: u32) -> Option<&Stream> {
        let Pattern::Streams(streams) = &self.pattern else { return None };
        streams.iter().find(|s| s.input == input)
    }

    /// Load of one input, as a share of its line; where hotspots come in addition to the rest, that
    /// of the rest.
    pub fn input_load(&self, ports: u32, input: u32) -> f64 {
        match &self.pattern {
            Pattern::Uniform | Pattern::Unbalanced { .. } => self.load,
            Pattern::Hotspots { outputs, factor } => {
                let hot = outputs.len() as f64;
                (hot * factor + (f64::from(ports) - hot) * self.load) / f64::from(ports)
            }
            Pattern::HotspotsBeside { outputs, .. } => {
                (f64::from(ports) - outputs.len() as f64) * self.load / f64::from(ports)
            }
            Pattern::Streams(_) => self.stream(input).map_or(0.0, |s| s.load),
            // A list says when packets are there; what an input cannot have received is the list's
            // affair.
            Pattern::Listed { .. } => 0.0,
            Pattern::Incast { inputs, .. } => {
                if inputs.contains(&input) {
                    self.load
                } else {
                    0.0
                }
            }
        }
    }
}

/// Purpose of a random stream; see `xoff_net::workload::random`.
const SOURCE: u64 = 2_000;

/// The source at one input.
#[derive(State)]
pub(crate) struct Source {
    #[state(by = random::position)]
    rng: ChaCha8Rng,
    #[state(built)]
    input: u32,
    #[state(built)]
    ports: u32,
    #[state(built)]
    load: f64,
    /// Destination of the burst, and packets that it still has.
    destination: u32,
    left: u64,
    /// True if it sends to hotspots only, in addition to another source.
    #[state(built)]
    beside: bool,
    /// Packets of a list that are still to come, the last one first.
    #[state(by = still_to_come)]
    listed: Vec<Arrival>,
}

/// A list whose last entries are gone.
mod still_to_come {
    use super::{Arrival, Broken, Reader, Value as _, Walk};

    pub fn walk<W: Walk>(listed: &[Arrival], w: &mut W) -> Result<(), W::Stop> {
        w.number(xoff_units::state::Meaning::Plain, listed.len() as u64)
    }
    pub fn restore(listed: &mut Vec<Arrival>, from: &mut Reader) -> Result<(), Broken> {
        listed.truncate(usize::read(from)?);
        Ok(())
    }
}

impl Source {
    /// Source `number`: of the input of that number, or next to it.
    pub fn new(traffic: &Traffic, ports: u32, number: u32, seed: u64) -> Source {
        let rng = random::stream(seed, number.into(), SOURCE);
        let (input, beside) = (number % ports, number >= ports);
        let load = match &traffic.pattern {
            Pattern::HotspotsBeside { outputs, factor } if beside => {
                outputs.len() as f64 * factor / f64::from(ports)
            }
            _ => traffic.input_load(ports, input),
        };
        let mut listed = match &traffic.pattern {
            Pattern::Listed { packets, .. } => {
                packets.iter().filter(|p| p.input == input).copied().collect()
            }
            _ => Vec::new(),
        };
        listed.sort_unstable_by(|a, b| b.cmp(a));
        Source { rng, input, ports, load, destination: 0, left: 0, beside, listed }
    }

    /// The next packet after `now`: when its last bit is there, where it goes, how long it is.
    /// `None`: never.
    pub fn next(&mut self, traffic: &Traffic, line: Rate, now: u64) -> Option<(u64, u32, u32)> {
        if let Some(p) = self.listed.pop() {
            return Some((p.at.0.max(now), p.output, p.size.0 as u32));
        }
        if self.load <= 0.0 {
            return None;
        }
        let mut start = now;
        if self.left == 0 {
            let size = traffic.stream(self.input).map_or(traffic.sizes.mean(), |s| s.size.0 as f64);
            let mean_burst = traffic.burst_packets * size;
            let on = line.time_for(Bytes(mean_burst.round() as u64)).0 as f64;
            let off = on * (1.0 / self.load - 1.0).max(0.0);
            start += random::exponential(&mut self.rng, off) as u64;
            self.left = self.burst(traffic.burst_packets);
            self.destination = self.draw_destination(traffic);
        }
        self.left -= 1;
        let len = traffic
            .stream(self.input)
            .map_or_else(|| traffic.sizes.draw(&mut self.rng), |s| s.size.0 as u32);
        Some((start + line.time_for(Bytes(len.into())).0, self.destination, len))
    }

    /// Geometric on 1, 2, ... with this mean.
    fn burst(&mut self, mean: f64) -> u64 {
        if mean <= 1.0 {
            return 1;
        }
        // The logarithm of the libm crate: that of a platform may differ in the last bit.
        let u = 1.0 - random::uniform(&mut self.rng);
        1 + (libm::log(u) / libm::log(1.0 - 1.0 / mean)) as u64
    }

    fn draw_destination(&mut self, traffic: &Traffic) -> u32 {
        let n = self.ports;
        let any = |rng: &mut ChaCha8Rng| random::below(rng, n.into()) as u32;
        match &traffic.pattern {
            Pattern::Uniform => any(&mut self.rng),
            Pattern::Unbalanced { w, shift } => {
                if random::uniform(&mut self.rng) < *w {
                    (self.input + shift) % n
                } else {
                    any(&mut self.rng)
                }
            }
            Pattern::Hotspots { outputs, factor } => {
                let hot_share = outputs.len() as f64 * factor / f64::from(n) / self.load;
                if random::uniform(&mut self.rng) < hot_share {
                    return outputs[random::below(&mut self.rng, outputs.len() as u64) as usize];
                }
                self.cold(outputs)
            }
            Pattern::HotspotsBeside { outputs, .. } if self.beside => {
                outputs[random::below(&mut self.rng, outputs.len() as u64) as usize]
            }
            Pattern::HotspotsBeside { outputs, .. } => self.cold(outputs),
            Pattern::Streams(_) => traffic.stream(self.input).map_or(0, |s| s.output),
            Pattern::Incast { output, .. } => *output,
            Pattern::Listed { .. } => 0,
        }
    }

    /// Any output that is no hotspot.
    fn cold(&mut self, hot: &[u32]) -> u32 {
        loop {
            let d = random::below(&mut self.rng, self.ports.into()) as u32;
            if !hot.contains(&d) {
                return d;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(traffic: &Traffic, ports: u32, input: u32, packets: usize) -> (f64, Vec<u64>, f64) {
        let line = Rate::from_gbps(100);
        let mut s = Source::new(traffic, ports, input, 1);
        let (mut now, mut bytes, mut to, mut bursts) = (0, 0u64, vec![0u64; ports as usize], 1.0);
        let mut last = (0, u32::MAX);
        for _ in 0..packets {
            let (at, destination, len) = s.next(traffic, line, now).unwrap();
            let wire = line.time_for(Bytes(len.into())).0;
            assert!(at >= now + wire, "a line carries one packet at a time");
            bursts += f64::from(u8::from(at > now + wire || last.1 != destination));
            last = (at, destination);
            (now, bytes) = (at, bytes + u64::from(len));
            to[destination as usize] += u64::from(len);
        }
        (bytes as f64 * 80.0 / now as f64, to, packets as f64 / bursts)
    }

    /// Loads, bursts and destinations are those asked for, within what 200,000 packets can resolve.
    #[test]
    fn loads_bursts_and_destinations_are_as_asked() {
        let base = Traffic {
            pattern: Pattern::Uniform,
            load: 0.5,
            sizes: Sizes::Fixed(Bytes(40)),
            burst_packets: 36.0,
        };
        let (load, _, burst) = arrivals(&base, 64, 3, 200_000);
        assert!((load - 0.5).abs() < 0.02 && (burst - 36.0).abs() < 2.5, "{load} {burst}");

        let hot = Traffic {
            pattern: Pattern::Hotspots { outputs: (8..16).collect(), factor: 2.5 },
            load: 0.7,
            burst_packets: 1.0,
            ..base.clone()
        };
        let (load, to, _) = arrivals(&hot, 64, 3, 200_000);
        // 8 x 2.5 / 64 + 56 x 0.7 / 64
        assert!((load - 0.925).abs() < 0.01, "{load}");
        let share: u64 = to[8..16].iter().sum();
        assert!((share as f64 / to.iter().sum::<u64>() as f64 - 0.3125 / 0.925).abs() < 0.01);

        let unbalanced = Traffic {
            pattern: Pattern::Unbalanced { w: 0.5, shift: 63 },
            load: 1.0,
            burst_packets: 1.0,
            ..base.clone()
        };
        let (load, to, _) = arrivals(&unbalanced, 64, 3, 200_000);
        assert!(
            load == 1.0
                && (to[2] as f64 / to.iter().sum::<u64>() as f64 - (0.5 + 0.5 / 64.0)).abs() < 0.01
        );

        // Beside: the rest alone fills 56/64 of an input, and the hotspots come on top of it.
        let beside = Traffic {
            pattern: Pattern::HotspotsBeside { outputs: (8..16).collect(), factor: 2.5 },
            load: 0.9,
            ..hot.clone()
        };
        let (load, to, _) = arrivals(&beside, 64, 3, 200_000);
        assert!(
            (load - 0.9 * 56.0 / 64.0).abs() < 0.01 && to[8..16].iter().sum::<u64>() == 0,
            "{load}"
        );
        let (load, to, _) = arrivals(&beside, 64, 64 + 3, 200_000);
        assert!(
            (load - 0.3125).abs() < 0.01
                && to[8..16].iter().all(|&b| b > 0)
                && to[16..].iter().sum::<u64>() == 0,
            "{load}"
        );

        let stream = Stream { input: 3, output: 9, load: 0.25, size: Bytes(1_500) };
        let streams = Traffic { pattern: Pattern::Streams(vec![stream]), ..beside };
        let (load, to, _) = arrivals(&streams, 64, 3, 200_000);
        assert!((load - 0.25).abs() < 0.01 && to[9] == 200_000 * 1_500, "{load}");
        assert!(Source::new(&streams, 64, 4, 1).next(&streams, Rate::from_gbps(100), 0).is_none());

        let sizes = Sizes::Bimodal { small: Bytes(40), large: Bytes(9000), small_share: 0.95 };
        let (load, ..) = arrivals(&Traffic { sizes, burst_packets: 1.0, ..base }, 64, 3, 400_000);
        assert!((load - 0.5).abs() < 0.03 && (sizes.mean() - 488.0).abs() < 1e-9, "{load}");
    }

    #[test]
    fn a_list_is_played_in_the_order_of_time() {
        let p = |at, input, output| Arrival { at: Time(at), input, output, size: Bytes(40) };
        let pattern =
            Pattern::Listed { packets: vec![p(9, 1, 4), p(5, 2, 3), p(5, 1, 2)], hot: vec![] };
        let t = Traffic { pattern, load: 0.0, sizes: Sizes::Fixed(Bytes(1)), burst_packets: 1.0 };
        let mut s = Source::new(&t, 8, 1, 1);
        let played: Vec<_> = std::iter::from_fn(|| s.next(&t, Rate::from_gbps(100), 0)).collect();
        assert_eq!(played, [(5, 2, 40), (9, 4, 40)]);
    }

    #[test]
    fn who_has_no_load_sends_nothing() {
        let incast = Pattern::Incast { inputs: vec![1], output: 5 };
        let t = Traffic {
            pattern: incast,
            load: 1.0,
            sizes: Sizes::Fixed(Bytes(100)),
            burst_packets: 1.0,
        };
        assert!(Source::new(&t, 8, 2, 1).next(&t, Rate::from_gbps(100), 0).is_none());
        assert_eq!(
            Source::new(&t, 8, 1, 1).next(&t, Rate::from_gbps(100), 0),
            Some((8_000, 5, 100))
        );
    }
}
