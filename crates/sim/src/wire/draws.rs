//! Random draws of ports: a stream each, or the order of another simulator's generator.

use rand_chacha::ChaCha8Rng;
use xoff_net::workload::random;
use xoff_units::state::{Broken, Reader, State, Value, Walk};

/// Random numbers in an order of another simulator's, instead of our streams.
pub trait RngSource: Send {
    /// A number in [0, 1).
    fn draw(&mut self) -> f64;
    /// A control message was made, which consumes randomness there.
    fn message_sent(&mut self) {}
}

/// Purpose of the random streams of ports (the workload crate counts from 1, the topology crate
/// from 1000).
const PORT_DRAWS: u64 = 2000;

/// The draws of ports.
pub(crate) struct Draws {
    seed: u64,
    /// By port, made at its first draw.
    streams: Vec<Option<Box<ChaCha8Rng>>>,
    /// Numbers drawn.
    pub drawn: u64,
    /// Replaces the streams.
    pub source: Option<Box<dyn RngSource>>,
}

impl Draws {
    /// Streams of a number of ports.
    pub fn new(seed: u64, ports: usize) -> Draws {
        Draws { seed, streams: (0..ports).map(|_| None).collect(), drawn: 0, source: None }
    }

    /// A number in [0, 1) for a port.
    pub fn draw(&mut self, port: usize) -> f64 {
        self.drawn += 1;
        if let Some(source) = &mut self.source {
            return source.draw();
        }
        let seed = self.seed;
        random::uniform(
            self.streams[port]
                .get_or_insert_with(|| Box::new(random::stream(seed, port as u64, PORT_DRAWS)))
                .as_mut(),
        )
    }

    /// A port has sent a control message, which consumes randomness in some simulators.
    #[inline]
    pub fn message_sent(&mut self) {
        if let Some(source) = &mut self.source {
            source.message_sent();
        }
    }
}

/// Position of each stream: the generator counts.
impl State for Draws {
    fn walk<W: Walk>(&self, w: &mut W) -> Result<(), W::Stop> {
        let Draws { seed: _, streams, drawn, source } = self;
        if source.is_some() {
            w.refuse("random numbers in the order of another simulator")?;
        }
        drawn.walk(w)?;
        let begun = streams
            .iter()
            .zip(0u64..)
            .filter_map(|(s, port)| Some((port, s.as_ref()?.get_word_pos())));
        begun.collect::<Vec<(u64, u128)>>().walk(w)
    }

    fn restore(&mut self, from: &mut Reader) -> Result<(), Broken> {
        self.drawn = Value::read(from)?;
        for (port, at) in Vec::<(u64, u128)>::read(from)? {
            let mut stream = random::stream(self.seed, port, PORT_DRAWS);
            stream.set_word_pos(at);
            *self.streams.get_mut(port as usize).ok_or(Broken("a port that is not there"))? =
                Some(Box::new(stream));
        }
        Ok(())
    }
}
