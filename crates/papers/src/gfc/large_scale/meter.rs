//! Measurements during a run: bytes delivered per server and window, rates near zero, feedback messages.

use std::any::Any;

use serde::{Deserialize, Serialize};
use xoff_net::topology::{NodeKind, Topology};
use xoff_sim::{ControlRow, Direction, QueueRow, RateRow, RateSource, Recorder, Row, Side};
use xoff_units::{Rate, Span, Time};

/// Window of throughput (GFC section 6.2.3: "counting sent bytes every 100 us").
pub const WINDOW: Span = Span::from_us(100);
/// Window of the message counters (GFC section 6.2.3, Fig. 19).
pub const MESSAGE_WINDOW: Span = Span::from_us(500);
/// What the beginning of a run, from empty buffers, is worth: nothing.
pub const WARM_UP: Time = Time::from_us(1000);
/// A port stops when its allowed rate lets no frame of 1500 B out within 5 ms: 2.4 Mb/s.
pub const STANDSTILL_RATE: Rate = Rate(2_400_000);
/// Minimum duration.
pub const STANDSTILL_TIME: Span = Span::from_us(5000);

/// Sums of a sample, enough for mean and standard deviation; exact for whole numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sums {
    /// Values.
    pub n: u64,
    /// Sum.
    pub sum: f64,
    /// Sum of their squares.
    pub squares: f64,
}

impl Sums {
    /// Adds a value.
    pub fn add(&mut self, x: f64) {
        self.n += 1;
        self.sum += x;
        self.squares += x * x;
    }
    /// Adds another sample.
    pub fn merge(&mut self, other: &Sums) {
        self.n += other.n;
        self.sum += other.sum;
        self.squares += other.squares;
    }
    /// Mean; NaN of nothing.
    pub fn mean(&self) -> f64 {
        self.sum / self.n as f64
    }
    /// Standard deviation of the population.
    pub fn deviation(&self) -> f64 {
        (self.squares / self.n as f64 - self.mean() * self.mean()).max(0.0).sqrt()
    }
}

/// The measurements of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Rate delivered to a server in a window, over all servers and windows after the warm-up [bit/s].
    pub throughput: Sums,
    /// Mean rate per server in each window, from the first on [kbit/s].
    pub series_kbps: Vec<u32>,
    /// Fill of the ingress buffers that are not empty, over all ports and windows after the warm-up [bytes].
    pub ingress: Sums,
    /// Ports that stopped for [`STANDSTILL_TIME`] at some time.
    pub standstill_ports: u32,
    /// When the first of them had done so [us].
    pub standstill_us: Option<u64>,
    /// Number of (port, window) pairs with 0, 1, 2 ... messages, over all ports with a working link.
    pub messages: Vec<u64>,
}

/// Measures.
pub struct Meter {
    /// Per port: a server receives from it.
    delivers: Vec<bool>,
    /// Per port: its link works.
    up: Vec<bool>,
    servers: u64,
    window: Time,
    window_rate: u64,
    /// Per port: since when its allowed rate has been that of a standstill, and whether it was counted.
    slow: Vec<Option<Time>>,
    stood: Vec<bool>,
    message_window: u64,
    messages: Vec<u32>,
    measured: Measured,
}

impl Meter {
    /// For this network.
    pub fn new(t: &Topology) -> Meter {
        let (mut delivers, mut up) = (Vec::new(), Vec::new());
        for node in &t.nodes {
            for port in &node.ports {
                let peer = &t.nodes[port.peer as usize];
                delivers.push(node.kind == NodeKind::Switch && peer.kind == NodeKind::Host);
                up.push(t.links[port.link as usize].up);
            }
        }
        let ports = up.len();
        Meter {
            delivers,
            up,
            servers: t.hosts().count() as u64,
            window: Time::ZERO,
            window_rate: 0,
            slow: vec![None; ports],
            stood: vec![false; ports],
            message_window: 0,
            messages: vec![0; ports],
            measured: Measured::default(),
        }
    }

    fn close_window(&mut self) {
        if self.window > Time::ZERO {
            let mean = self.window_rate / self.servers.max(1);
            self.measured.series_kbps.push((mean / 1000).min(u32::MAX as u64) as u32);
        }
        self.window_rate = 0;
    }

    fn close_message_window(&mut self) {
        for (count, _) in self.messages.iter().zip(&self.up).filter(|(_, up)| **up) {
            let n = *count as usize;
            if self.measured.messages.len() <= n {
                self.measured.messages.resize(n + 1, 0);
            }
            self.measured.messages[n] += 1;
        }
        self.messages.fill(0);
        self.message_window += 1;
    }

    /// The result of a run that ended at `end`; a message window that it cut short does not count.
    pub fn finish(mut self, end: Time, counts_messages: bool) -> Measured {
        self.close_window();
        while counts_messages && (self.message_window + 1) * MESSAGE_WINDOW.0 <= end.0 {
            self.close_message_window();
        }
        self.measured
    }
}

impl Recorder for Meter {
    fn row(&mut self, row: &Row) {
        match *row {
            Row::Rate(RateRow { time_ps, port, flow: None, rate_bps, source: RateSource::Measured, .. }) => {
                let (time, at, rate) = (Time(time_ps), port.0 as usize, Rate(rate_bps));
                if !self.delivers[at] {
                    return;
                }
                if time > self.window {
                    self.close_window();
                    self.window = time;
                }
                self.window_rate += rate.0;
                if time > WARM_UP {
                    self.measured.throughput.add(rate.as_f64());
                }
            }
            Row::Rate(RateRow { time_ps, port, rate_bps, source: RateSource::FlowControl, .. }) => {
                let (time, at, rate) = (Time(time_ps), port.0 as usize, Rate(rate_bps));
                if rate > STANDSTILL_RATE || !self.up[at] {
                    self.slow[at] = None;
                    return;
                }
                let since = *self.slow[at].get_or_insert(time);
                if time.since(since) >= STANDSTILL_TIME && !self.stood[at] {
                    self.stood[at] = true;
                    self.measured.standstill_ports += 1;
                    self.measured.standstill_us.get_or_insert(time.0 / 1_000_000);
                }
            }
            Row::Queue(QueueRow { time_ps, kind: Side::Ingress, bytes, .. }) if bytes > 0 && time_ps > WARM_UP.0 => {
                self.measured.ingress.add(bytes as f64)
            }
            Row::Control(ControlRow { time_ps, port, direction: Direction::Received, .. }) => {
                while time_ps >= (self.message_window + 1) * MESSAGE_WINDOW.0 {
                    self.close_message_window();
                }
                self.messages[port.0 as usize] += 1;
            }
            _ => {}
        }
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
