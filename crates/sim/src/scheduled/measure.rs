//! What a run of a fabric has seen.

use hdrhistogram::Histogram;
use xoff_units::Time;
use xoff_units::state::{Broken, Reader, State, Value, Walk};

use crate::scheduled::host::HostReport;

/// Delays of packets: from the last bit at the input adapter to the first bit on the output line
/// (section 4) [ps].
#[derive(Clone, Debug, PartialEq)]
pub struct Delay {
    sum: u128,
    histogram: Histogram<u64>,
}

impl Default for Delay {
    fn default() -> Delay {
        // Three digits, up to whatever comes.
        Delay { sum: 0, histogram: Histogram::new(3).expect("three digits are allowed") }
    }
}

impl Delay {
    pub(crate) fn add(&mut self, ps: u64) {
        self.sum += u128::from(ps);
        self.histogram.record(ps).expect("it grows as needed");
    }
    /// Those of another part of the fabric too.
    pub(crate) fn merge(&mut self, o: &Delay) {
        self.sum += o.sum;
        self.histogram.add(&o.histogram).expect("it grows as needed");
    }
    /// Number of packets.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }
    /// Mean [ps]; zero without packets.
    pub fn mean(&self) -> f64 {
        if self.count() == 0 { 0.0 } else { self.sum as f64 / self.count() as f64 }
    }
    /// A quantile, three digits exact [ps].
    pub fn quantile(&self, q: f64) -> u64 {
        self.histogram.value_at_quantile(q)
    }
    /// Smallest, three digits exact [ps].
    pub fn min(&self) -> u64 {
        self.histogram.min()
    }
    /// Largest, three digits exact [ps].
    pub fn max(&self) -> u64 {
        self.histogram.max()
    }
}

impl State for Delay {
    fn walk<W: Walk>(&self, w: &mut W) -> Result<(), W::Stop> {
        self.sum.walk(w)?;
        let recorded = self.histogram.iter_recorded();
        let counts = recorded.map(|v| (v.value_iterated_to(), v.count_at_value()));
        counts.collect::<Vec<(u64, u64)>>().walk(w)
    }
    fn restore(&mut self, from: &mut Reader) -> Result<(), Broken> {
        *self = Value::read(from)?;
        Ok(())
    }
}

impl Value for Delay {
    fn read(from: &mut Reader) -> Result<Delay, Broken> {
        let mut delay = Delay { sum: Value::read(from)?, ..Delay::default() };
        for (value, count) in Vec::<(u64, u64)>::read(from)? {
            let recorded = delay.histogram.record_n(value, count);
            recorded.map_err(|_| Broken("a delay beyond all numbers"))?;
        }
        Ok(delay)
    }
}

/// One stretch of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, State)]
pub struct Window {
    /// End of the window.
    pub end: Time,
    /// Bytes of packets that left for outputs that are no hotspots, and for those that are [bytes].
    pub cold_bytes: u64,
    /// Hotspots [bytes].
    pub hot_bytes: u64,
    /// Packets to outputs that are no hotspots, and the sum of their delays [ps].
    pub cold_packets: u64,
    /// Sum [ps].
    pub cold_delay: u64,
    /// Fullest and mean fabric-output queue of a hotspot at the end [bytes].
    pub hot_queue_max: u32,
    /// Mean [bytes].
    pub hot_queue_mean: f64,
    /// Grants held by the input that holds most, and by all inputs on average [segments].
    pub grants_max: u32,
    /// Mean [segments].
    pub grants_mean: f64,
}

/// Packets that wait for each other in a reassembly buffer forever.
#[derive(Clone, Debug, PartialEq, Eq, State)]
pub struct Stuck {
    /// Number of the output.
    pub output: u32,
    /// Free slots of its buffer [segments].
    pub free: u32,
    /// Packets that have come in part, by input.
    pub partial: Vec<Partial>,
}

/// Packets of one input that have come in part and hold slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub struct Partial {
    /// Number of the input.
    pub input: u32,
    /// Granted segments that have come: slots of the buffer [segments].
    pub granted: u32,
    /// Unsolicited segments that have come; their slots are set aside next to the buffer
    /// [segments].
    pub unsolicited: u32,
    /// Bytes that the first of its packets lacks.
    pub missing: u32,
    /// Asked for and not granted [segments].
    pub asked: u32,
}

impl std::fmt::Display for Stuck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let holding = || self.partial.iter().filter(|p| p.granted > 0);
        write!(
            f,
            "reassembly deadlock at output {}: parts of packets from {} inputs hold {} slots, {} are free, and none of the packets can be completed",
            self.output,
            holding().count(),
            holding().map(|p| p.granted).sum::<u32>(),
            self.free
        )?;
        match holding().max_by_key(|p| p.granted) {
            Some(p) => write!(
                f,
                "; input {} holds {}, lacks {} B and has requested {} more",
                p.input, p.granted, p.missing, p.asked
            ),
            None => Ok(()),
        }
    }
}

/// Packets for one output that wait at the inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
pub struct Backlog {
    /// Bytes that have not been sent into the fabric [bytes].
    pub bytes: u64,
    /// Flows with such bytes.
    pub flows: u32,
    /// Flows of those that hold a grant: they wait for their link. The others wait for a grant.
    pub granted: u32,
}

impl std::ops::AddAssign for Backlog {
    fn add_assign(&mut self, o: Backlog) {
        self.bytes += o.bytes;
        self.flows += o.flows;
        self.granted += o.granted;
    }
}

/// Places of the bytes of arrived packets at the end of a run, each counted separately [bytes].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
pub struct Balance {
    /// Came to the inputs.
    pub came: u64,
    /// Left the outputs.
    pub left: u64,
    /// In VOQs.
    pub waiting: u64,
    /// In segments on links and in elements.
    pub inside: u64,
    /// In reorder and reassembly buffers.
    pub output: u64,
}

impl Balance {
    /// Nothing was lost and nothing came out of nothing. Not meant for hosts, whose frames wait in
    /// buffers of their own.
    pub fn holds(&self) -> bool {
        self.came == self.left + self.waiting + self.inside + self.output
    }
}

/// Course of a rank of a job.
#[derive(Clone, Debug, Default, PartialEq, State)]
pub struct RankReport {
    /// Its job, by place.
    pub job: usize,
    /// Number of the rank.
    pub rank: u32,
    /// Start of each iteration that has begun, and its end.
    pub iterations: Vec<(Time, Option<Time>)>,
}

/// Observations of a run.
#[derive(Clone, Debug, Default, PartialEq, State)]
pub struct Report {
    /// Time measured: from the end of the warm-up [ps].
    pub measured: u64,
    /// Bytes of packets that came to the inputs while measured, by output [bytes].
    pub offered: Vec<u64>,
    /// Bytes of packets that left the outputs while measured, by output [bytes].
    pub delivered: Vec<u64>,
    /// Bytes by input that left the outputs while measured [bytes].
    pub delivered_by_input: Vec<u64>,
    /// Bytes by input that left through hotspots while measured [bytes].
    pub hot_by_input: Vec<u64>,
    /// Delays to outputs that are no hotspots.
    pub cold: Delay,
    /// Delays to hotspots.
    pub hot: Delay,
    /// Stretches, from the beginning of the run.
    pub windows: Vec<Window>,
    /// Largest length of an output queue, by stage [bytes].
    pub queue_max: Vec<u32>,
    /// Times that a link was free, had a segment and found too little room behind it, by stage: the
    /// links of the adapters first.
    pub waits: Vec<u64>,
    /// Most in a reorder and reassembly buffer [bytes].
    pub reassembly_max: u64,
    /// Segments with payload, and how many of them were unsolicited.
    pub segments: u64,
    /// Unsolicited.
    pub unsolicited: u64,
    /// Segments that came before an earlier one of their flow had.
    pub out_of_order: u64,
    /// Stand-alone control segments, or messages next to the data.
    pub control: u64,
    /// Bytes of stand-alone control segments, and of segments with payload [bytes].
    pub control_bytes: u64,
    /// With payload [bytes].
    pub segment_bytes: u64,
    /// Simulated time reached.
    pub now: Time,
    /// Times that a segment entered an element.
    pub hops: u64,
    /// Times that a segment started on a link of the fabric; with payload among them.
    pub link_hops: u64,
    /// With payload.
    pub data_link_hops: u64,
    /// Places of the bytes of packets at the end.
    pub balance: Balance,
    /// What waits at the inputs at the end, by output.
    pub backlog: Vec<Backlog>,
    /// Number of events handled.
    pub events: u64,
    /// Packets in and out, over the whole run.
    pub packets_in: u64,
    /// Out.
    pub packets_out: u64,
    /// A deadlock.
    pub stuck: Option<Stuck>,
    /// Results of the hosts, if there are any.
    pub hosts: Option<HostReport>,
    /// Courses of the ranks of jobs, by job and rank.
    pub ranks: Vec<RankReport>,
}

/// Adds one list to another, which may be empty.
pub(crate) fn add_each<T: Copy + Default + std::ops::AddAssign>(to: &mut Vec<T>, from: &[T]) {
    to.resize(from.len().max(to.len()), T::default());
    to.iter_mut().zip(from).for_each(|(to, &from)| *to += from);
}

impl Report {
    /// What another part of the fabric has seen. The times, windows and stages are the whole
    /// fabric's.
    pub(crate) fn add(&mut self, o: &Report) {
        for (to, from) in [
            (&mut self.offered, &o.offered),
            (&mut self.delivered, &o.delivered),
            (&mut self.delivered_by_input, &o.delivered_by_input),
            (&mut self.hot_by_input, &o.hot_by_input),
        ] {
            add_each(to, from);
        }
        add_each(&mut self.backlog, &o.backlog);
        self.ranks.extend(o.ranks.iter().cloned());
        self.cold.merge(&o.cold);
        self.hot.merge(&o.hot);
        self.reassembly_max = self.reassembly_max.max(o.reassembly_max);
        for (to, from) in [
            (&mut self.segments, o.segments),
            (&mut self.unsolicited, o.unsolicited),
            (&mut self.out_of_order, o.out_of_order),
            (&mut self.control, o.control),
            (&mut self.control_bytes, o.control_bytes),
            (&mut self.segment_bytes, o.segment_bytes),
            (&mut self.hops, o.hops),
            (&mut self.link_hops, o.link_hops),
            (&mut self.data_link_hops, o.data_link_hops),
            (&mut self.balance.came, o.balance.came),
            (&mut self.balance.left, o.balance.left),
            (&mut self.balance.waiting, o.balance.waiting),
            (&mut self.balance.inside, o.balance.inside),
            (&mut self.balance.output, o.balance.output),
            (&mut self.events, o.events),
            (&mut self.packets_in, o.packets_in),
            (&mut self.packets_out, o.packets_out),
        ] {
            *to += from;
        }
        if let Some(hosts) = &o.hosts {
            self.hosts.get_or_insert_default().add(hosts);
        }
    }

    /// Mean throughput of a set of outputs while measured, as a share of their lines.
    pub fn throughput(
        &self,
        outputs: impl IntoIterator<Item = u32>,
        line: xoff_units::Rate,
    ) -> f64 {
        let (mut bytes, mut n) = (0, 0u64);
        for o in outputs {
            bytes += self.delivered[o as usize];
            n += 1;
        }
        bytes as f64 * 8e12 / (line.as_f64() * self.measured as f64 * n as f64)
    }
}
