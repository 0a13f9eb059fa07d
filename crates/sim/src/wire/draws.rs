//! Random draws of ports and switches: a stream each, or the order of another simulator's generator.

use std::sync::Arc;

use rand_chacha::ChaCha8Rng;
use xoff_net::workload::random;
use xoff_units::NodeId;
use xoff_units::state::{Broken, Reader, State, Value, Walk};

/// Makes a new source of random numbers, losses or turns for a run, so that a model can be built
/// any number of times.
pub type Fresh<T> = Arc<dyn Fn() -> Box<T> + Send + Sync>;

/// Random numbers in an order of another simulator's, instead of the streams of ports.
pub trait RngSource: Send {
    /// A number in [0, 1).
    fn draw(&mut self) -> f64;
    /// A control message was made, which consumes randomness there.
    fn message_sent(&mut self) {}
}

/// Purpose of the random streams of ports (the workload crate counts from 1, the topology crate
/// from 1000).
const PORT_DRAWS: u64 = 2000;
/// Purpose of the random streams of switches that balance load.
const BALANCING_DRAWS: u64 = 2001;

/// Streams of one purpose, by entity, each made at its first draw.
struct Streams {
    seed: u64,
    purpose: u64,
    streams: Vec<Option<Box<ChaCha8Rng>>>,
}

impl Streams {
    fn new(seed: u64, purpose: u64, entities: usize) -> Streams {
        Streams { seed, purpose, streams: (0..entities).map(|_| None).collect() }
    }

    fn draw(&mut self, entity: usize) -> f64 {
        let (seed, purpose) = (self.seed, self.purpose);
        let stream = self.streams[entity]
            .get_or_insert_with(|| Box::new(random::stream(seed, entity as u64, purpose)));
        random::uniform(stream.as_mut())
    }
}

/// Position of each stream: the generator counts.
impl State for Streams {
    fn walk<W: Walk>(&self, w: &mut W) -> Result<(), W::Stop> {
        let begun = self.streams.iter().zip(0u64..);
        let begun = begun.filter_map(|(s, entity)| Some((entity, s.as_ref()?.get_word_pos())));
        begun.collect::<Vec<(u64, u128)>>().walk(w)
    }

    fn restore(&mut self, from: &mut Reader) -> Result<(), Broken> {
        for (entity, at) in Vec::<(u64, u128)>::read(from)? {
            let mut stream = random::stream(self.seed, entity, self.purpose);
            stream.set_word_pos(at);
            let place = self.streams.get_mut(entity as usize);
            *place.ok_or(Broken("an entity that is not there"))? = Some(Box::new(stream));
        }
        Ok(())
    }
}

/// The random stream of a switch that balances load, for a law from outside: it draws the numbers
/// that a built-in law draws there.
pub struct BalancingDraws(ChaCha8Rng);

impl BalancingDraws {
    /// Stream of a switch under the seed of a run, at its beginning.
    pub fn new(seed: u64, switch: NodeId) -> BalancingDraws {
        BalancingDraws(random::stream(seed, u64::from(switch), BALANCING_DRAWS))
    }

    /// The next number in [0, 1).
    pub fn draw(&mut self) -> f64 {
        random::uniform(&mut self.0)
    }
}

/// The draws of ports and switches.
pub(crate) struct Draws {
    ports: Streams,
    balancing: Streams,
    /// Numbers drawn.
    pub drawn: u64,
    /// Replaces the streams of ports.
    pub source: Option<Box<dyn RngSource>>,
}

impl Draws {
    /// Streams of a number of ports, and of as many nodes as balance load.
    pub fn new(seed: u64, ports: usize, balancing: usize) -> Draws {
        Draws {
            ports: Streams::new(seed, PORT_DRAWS, ports),
            balancing: Streams::new(seed, BALANCING_DRAWS, balancing),
            drawn: 0,
            source: None,
        }
    }

    /// A number in [0, 1) for a port.
    pub fn draw(&mut self, port: usize) -> f64 {
        self.drawn += 1;
        match &mut self.source {
            Some(source) => source.draw(),
            None => self.ports.draw(port),
        }
    }

    /// A number in [0, 1) for the load balancer of a node.
    pub fn draw_for_balancing(&mut self, node: usize) -> f64 {
        self.drawn += 1;
        self.balancing.draw(node)
    }

    /// A port has sent a control message, which consumes randomness in some simulators.
    #[inline]
    pub fn message_sent(&mut self) {
        if let Some(source) = &mut self.source {
            source.message_sent();
        }
    }
}

impl State for Draws {
    fn walk<W: Walk>(&self, w: &mut W) -> Result<(), W::Stop> {
        let Draws { ports, balancing, drawn, source } = self;
        if source.is_some() {
            w.refuse("random numbers in the order of another simulator")?;
        }
        drawn.walk(w)?;
        ports.walk(w)?;
        balancing.walk(w)
    }

    fn restore(&mut self, from: &mut Reader) -> Result<(), Broken> {
        self.drawn = Value::read(from)?;
        self.ports.restore(from)?;
        self.balancing.restore(from)
    }
}
