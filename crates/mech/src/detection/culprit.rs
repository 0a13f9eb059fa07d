//! Choice of the source that receives a CNM: three rules that pick a flow out of a buffer (RZ 3880,
//! "Unbiased QCN", sections III and VI).
//!
//! ```text
//!   arrival        the flow of the frame that has just come                     P(n) = lambda_n / lambda
//!   deterministic  the flow that occupies most                                  the largest q_n
//!   random         the flow of a random occupied buffer unit of 256 B           P(n) = q_n / q
//!
//!   CulpritArray   row 0 | 7 7 . 3 . . . . 3 3 . . . . . . |   one word per buffer unit: whose, or free
//!                  row 1 | . . . . 7 . . . . . . . . . . . |   a read gives a row of 16
//! ```
//!
//! The words of a flow are chained in the order in which they were taken, so that a frame that
//! leaves frees as many as it took, without a search. Frames of a flow leave in order, so those are
//! its own; and all of them name the same flow.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;
use xoff_units::state::State;
use xoff_units::{Bytes, FlowId};

/// Payload of a buffer unit, and so of a word [bytes] (RZ 3880, section VI).
pub const UNIT: u64 = 256;
/// Words in a row of the array, which one read returns: 320 bits of 20 (RZ 3880, section VI).
pub const ROW: usize = 16;
/// Reads at random addresses before the array is searched row by row. RZ 3880 says "a number of
/// searches"; ours.
pub const TRIES: u32 = 64;

/// Choice of the flow whose source receives the CNM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sampling {
    /// Flow of the frame that has just arrived (802.1Q, clause 30.2.1).
    #[default]
    Arrival,
    /// Flow with most bytes in the buffer; among equals the lowest number.
    Largest,
    /// Flow of a random occupied buffer unit.
    Random,
}

/// Words of a new array at most, those of 64 MiB. It grows with the frames that are there; more
/// words would only make random reads miss more often.
const WORDS_MAX: u64 = 1 << 18;

/// No word.
const NIL: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
struct Word {
    /// Flow that owns the unit; only where `valid`.
    flow: FlowId,
    /// Next word of this flow, taken after it, or next free word.
    next: u32,
    valid: bool,
}

/// Word per unit of a buffer: the flow of the frame there.
#[derive(Clone, Debug, PartialEq, State)]
pub struct CulpritArray {
    /// Units used so far. The others are free, and are taken before any freed unit.
    words: Vec<Word>,
    /// Words, those that have never been used included.
    len: usize,
    /// By flow: the first and the last of its words. Looked up, never iterated.
    #[state(unwritten = "an array of culprits")]
    chains: FxHashMap<FlowId, (u32, u32)>,
    /// Free words are reused in the order in which they became free: occupied ones spread over the
    /// rows.
    free_first: u32,
    free_last: u32,
    occupied: usize,
    /// Words of a row that a random read considers: 1 to [`ROW`].
    class_states: usize,
    tries: u32,
}

/// Result of a search, and its cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Flow of the unit.
    pub flow: FlowId,
    /// Rows read.
    pub reads: u32,
    /// The random addresses had failed, and it was found row by row.
    pub sequential: bool,
}

impl CulpritArray {
    /// An empty array for a buffer of this size. With `class_states` = 1 a random read considers
    /// the word at its address alone, and every occupied unit is equally likely. With 16 it takes
    /// the first occupied one of the row from there on, as the SRAM of RZ 3880 allows: fewer reads,
    /// but a unit with free ones before it is likelier than one in a crowd.
    pub fn new(buffer: Bytes, class_states: usize, tries: u32) -> Self {
        let rows = buffer.0.div_ceil(UNIT).min(WORDS_MAX).div_ceil(ROW as u64).max(1);
        CulpritArray {
            words: Vec::new(),
            len: rows as usize * ROW,
            chains: FxHashMap::default(),
            free_first: NIL,
            free_last: NIL,
            occupied: 0,
            class_states: class_states.clamp(1, ROW),
            tries,
        }
    }

    /// Units that a frame takes.
    pub fn units(len: Bytes) -> u64 {
        len.0.div_ceil(UNIT).max(1)
    }

    /// Number of words.
    pub fn len(&self) -> usize {
        self.len
    }
    /// No unit is occupied.
    pub fn is_empty(&self) -> bool {
        self.occupied == 0
    }
    /// Occupied units.
    pub fn occupied(&self) -> usize {
        self.occupied
    }

    /// Takes a free word; the array grows by a row if there is none.
    fn take(&mut self) -> u32 {
        if self.words.len() == self.len && self.free_first == NIL {
            self.len += ROW;
        }
        if self.words.len() < self.len {
            self.words.push(Word { flow: FlowId(0), next: NIL, valid: false });
            return self.words.len() as u32 - 1;
        }
        let at = self.free_first;
        self.free_first = self.words[at as usize].next;
        if self.free_first == NIL {
            self.free_last = NIL;
        }
        at
    }

    /// The first occupied word of some of a row.
    fn occupied_of(&self, mut words: impl Iterator<Item = usize>) -> Option<Word> {
        words.find_map(|at| self.words.get(at).copied().filter(|w| w.valid))
    }

    fn release(&mut self, at: u32) {
        self.words[at as usize] = Word { flow: FlowId(0), next: NIL, valid: false };
        match self.free_last {
            NIL => self.free_first = at,
            last => self.words[last as usize].next = at,
        }
        self.free_last = at;
    }

    /// A frame of this flow is stored. A buffer that is counted in bytes holds more small frames
    /// than it has units; the array grows then.
    pub fn insert(&mut self, flow: FlowId, len: Bytes) {
        for _ in 0..CulpritArray::units(len) {
            let at = self.take();
            self.words[at as usize] = Word { flow, next: NIL, valid: true };
            let chain = self.chains.entry(flow).or_insert((at, at));
            if chain.1 != at {
                self.words[chain.1 as usize].next = at;
                chain.1 = at;
            }
            self.occupied += 1;
        }
    }

    /// A frame of this flow is gone.
    pub fn remove(&mut self, flow: FlowId, len: Bytes) {
        let Some((mut at, last)) = self.chains.remove(&flow) else { return };
        for _ in 0..CulpritArray::units(len) {
            let next = self.words[at as usize].next;
            self.release(at);
            self.occupied -= 1;
            at = next;
            if at == NIL {
                return;
            }
        }
        self.chains.insert(flow, (at, last));
    }

    /// Picks an occupied unit at random; `None`: there is none.
    pub fn pick(&self, draw: &mut dyn FnMut() -> f64) -> Option<Found> {
        if self.is_empty() {
            return None;
        }
        let mut row = 0;
        for reads in 1..=self.tries {
            let at = ((draw() * self.len as f64) as usize).min(self.len - 1);
            row = at / ROW;
            let hit = self.occupied_of(
                (0..self.class_states).map(|class_state| row * ROW + (at + class_state) % ROW),
            );
            if let Some(w) = hit {
                return Some(Found { flow: w.flow, reads, sequential: false });
            }
        }
        let rows = self.len / ROW;
        (1..=rows).find_map(|k| {
            let first = (row + k) % rows * ROW;
            let word = self.occupied_of(first..first + ROW)?;
            Some(Found { flow: word.flow, reads: self.tries + k as u32, sequential: true })
        })
    }
}

/// Bytes of each flow in a buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq, State)]
pub struct Occupancy {
    /// Flow and bytes, in no order. A list: a buffer holds few flows at a time, and it is walked at
    /// samples only.
    flows: Vec<(FlowId, u64)>,
}

impl Occupancy {
    /// A frame of this flow is stored.
    pub fn insert(&mut self, flow: FlowId, len: Bytes) {
        match self.flows.iter_mut().find(|(f, _)| *f == flow) {
            Some((_, bytes)) => *bytes += len.0,
            None => self.flows.push((flow, len.0)),
        }
    }
    /// A frame of this flow is gone.
    pub fn remove(&mut self, flow: FlowId, len: Bytes) {
        if let Some(at) = self.flows.iter().position(|(f, _)| *f == flow) {
            self.flows[at].1 = self.flows[at].1.saturating_sub(len.0);
            if self.flows[at].1 == 0 {
                self.flows.swap_remove(at);
            }
        }
    }
    /// Flows that have something in the buffer: the counters that are kept.
    pub fn len(&self) -> usize {
        self.flows.len()
    }
    /// No flow has anything in the buffer.
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }
    /// The flow with most bytes, among equals the lowest number.
    pub fn largest(&self) -> Option<FlowId> {
        self.flows
            .iter()
            .max_by_key(|(flow, bytes)| (*bytes, Reverse(*flow)))
            .map(|(flow, _)| *flow)
    }
}

/// State of a congestion point about its buffer to pick a culprit.
#[derive(Clone, Debug, PartialEq, State)]
pub enum Culprits {
    /// [`Sampling::Arrival`]: nothing.
    Arrival,
    /// [`Sampling::Largest`].
    Largest(Occupancy),
    /// [`Sampling::Random`].
    Random(Box<CulpritArray>),
}

impl Culprits {
    /// For an empty buffer of this size; every occupied unit is equally likely.
    pub fn new(sampling: Sampling, buffer: Bytes) -> Self {
        match sampling {
            Sampling::Arrival => Culprits::Arrival,
            Sampling::Largest => Culprits::Largest(Occupancy::default()),
            Sampling::Random => Culprits::Random(Box::new(CulpritArray::new(buffer, 1, TRIES))),
        }
    }
    /// A frame of this flow is stored.
    #[inline]
    pub fn insert(&mut self, flow: FlowId, len: Bytes) {
        match self {
            Culprits::Arrival => {}
            Culprits::Largest(o) => o.insert(flow, len),
            Culprits::Random(a) => a.insert(flow, len),
        }
    }
    /// A frame of this flow is gone.
    #[inline]
    pub fn remove(&mut self, flow: FlowId, len: Bytes) {
        match self {
            Culprits::Arrival => {}
            Culprits::Largest(o) => o.remove(flow, len),
            Culprits::Random(a) => a.remove(flow, len),
        }
    }
    /// Flow whose source receives the CNM. `arrived` is the flow of the frame that has just
    /// arrived, already inserted. It is `None` for a sample of the clock, where sampling by arrival
    /// has no flow to name.
    pub fn pick(&self, arrived: Option<FlowId>, draw: &mut dyn FnMut() -> f64) -> Option<FlowId> {
        match self {
            Culprits::Arrival => arrived,
            Culprits::Largest(o) => o.largest(),
            Culprits::Random(a) => a.pick(draw).map(|found| found.flow),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A full-period generator, enough for the statistics here.
    fn draws(seed: u64) -> impl FnMut() -> f64 {
        let mut x = seed;
        move || {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (x >> 11) as f64 / (1u64 << 53) as f64
        }
    }

    /// Sum of (seen - expected)^2/expected.
    fn chi_square(seen: &[u64], weights: &[u64]) -> f64 {
        let (n, total) = (seen.iter().sum::<u64>() as f64, weights.iter().sum::<u64>() as f64);
        seen.iter()
            .zip(weights)
            .map(|(&s, &w)| {
                let expected = n * w as f64 / total;
                (s as f64 - expected).powi(2) / expected
            })
            .sum()
    }
    /// At 3 degrees of freedom a fair law exceeds this once in a thousand times.
    const CHI_SQUARE_3: f64 = 16.27;

    const BUFFER: Bytes = Bytes(150_000);
    const LEN: Bytes = Bytes(1_522);

    /// Frames of 1522 B take six units of 256 B, and 150 KB are 586 units in 37 rows.
    #[test]
    fn an_occupancy_is_empty_when_all_has_left() {
        let mut o = Occupancy::default();
        assert!(o.is_empty());
        o.insert(FlowId(3), Bytes(100));
        assert!(!o.is_empty());
        o.remove(FlowId(3), Bytes(100));
        assert!(o.is_empty());
    }

    /// A product that is rounded up to the length is the last word.
    #[test]
    fn the_highest_draw_is_the_last_word() {
        let mut a = CulpritArray::new(Bytes(UNIT * ROW as u64), 1, 3);
        (0..ROW as u32).for_each(|flow| a.insert(FlowId(flow), Bytes(UNIT)));
        assert_eq!(
            a.pick(&mut || 1.0),
            Some(Found { flow: FlowId(ROW as u32 - 1), reads: 1, sequential: false })
        );
    }

    #[test]
    fn a_frame_takes_whole_units() {
        assert_eq!([1, 256, 257, 1_522].map(|len| CulpritArray::units(Bytes(len))), [1, 1, 2, 6]);
        let mut a = CulpritArray::new(BUFFER, 1, TRIES);
        assert_eq!((a.len(), a.occupied()), (37 * 16, 0));
        assert_eq!(a.pick(&mut || panic!("no draw")), None);
        a.insert(FlowId(7), LEN);
        a.insert(FlowId(8), Bytes(64));
        assert_eq!(a.occupied(), 7);
        a.remove(FlowId(7), LEN);
        assert_eq!((a.occupied(), a.pick(&mut draws(1)).map(|f| f.flow)), (1, Some(FlowId(8))));
        a.remove(FlowId(8), Bytes(64));
        a.remove(FlowId(8), Bytes(64));
        assert_eq!((a.is_empty(), a.chains.len()), (true, 0));
    }

    /// More small frames than units: 2344 of 64 B fit into 150 KB.
    #[test]
    fn the_array_grows_with_small_frames() {
        let mut a = CulpritArray::new(BUFFER, 1, TRIES);
        (0..2_343).for_each(|flow| a.insert(FlowId(flow), Bytes(64)));
        assert_eq!((a.occupied(), a.len() % ROW), (2_343, 0));
        (0..2_343).for_each(|flow| a.remove(FlowId(flow), Bytes(64)));
        assert!(a.is_empty());
        a.insert(FlowId(1), Bytes(64 * 256 * 16));
        assert_eq!(a.occupied(), 1_024);
    }

    /// The memory of a buffer of impossible size depends on its contents only, and its picks follow
    /// the same law.
    #[test]
    fn an_array_takes_memory_for_frames_not_for_the_buffer() {
        for buffer in [2_147_483_648_000, u64::MAX] {
            let mut a = CulpritArray::new(Bytes(buffer), 1, TRIES);
            assert_eq!((a.words.capacity(), a.len() as u64), (0, WORDS_MAX));
            a.insert(FlowId(3), LEN);
            a.insert(FlowId(4), Bytes(UNIT));
            assert_eq!((a.words.len(), a.occupied()), (7, 7));
            let (mut seen, mut draw) = ([0; 2], draws(7));
            // Two of 7 in 262,144 words are hardly ever hit: the rows are searched, from a random
            // one on.
            (0..100).for_each(|_| seen[a.pick(&mut draw).unwrap().flow.index() - 3] += 1);
            assert_eq!(seen.iter().sum::<u64>(), 100);
            a.insert(FlowId(5), Bytes(UNIT * (WORDS_MAX + 9)));
            assert_eq!((a.len() as u64, a.occupied() as u64), (WORDS_MAX + 16, WORDS_MAX + 16));
        }
    }

    /// RZ 3880, section III-B: P(n) = q_n/q in units, over 10^4 samples, for 40, 30, 20 and 10
    /// frames. One class is exact wherever the units are; here they are flow by flow, with gaps,
    /// and flow 3 has its row for itself.
    #[test]
    fn random_picks_follow_the_occupancies() {
        let frames = [40u64, 30, 20, 10];
        let mut a = CulpritArray::new(BUFFER, 1, TRIES);
        for (flow, &n) in frames.iter().enumerate() {
            (0..n).for_each(|_| a.insert(FlowId(flow as u32), LEN));
            if flow == 2 {
                // A gap of 30 units, which no flow has when all is done: they are the last to be
                // reused.
                a.insert(FlowId(9), Bytes(UNIT * 30));
            }
        }
        a.remove(FlowId(9), Bytes(UNIT * 30));
        let (mut seen, mut draw) = ([0; 4], draws(5));
        (0..10_000).for_each(|_| seen[a.pick(&mut draw).unwrap().flow.index()] += 1);
        assert!(chi_square(&seen, &frames) < CHI_SQUARE_3, "{seen:?}");
    }

    /// With rows of 16 read at once the law holds as long as the flows are mixed, and a search
    /// takes fewer reads.
    #[test]
    fn a_row_at_once_needs_fewer_reads() {
        let weights = [4u64, 3, 2, 1];
        let mut draw = draws(11);
        let mut tally = |class_states: usize| {
            let mut a = CulpritArray::new(BUFFER, class_states, TRIES);
            let (mut seen, mut reads) = ([0; 4], 0);
            let order: Vec<u32> = (0..40).map(|i| [0, 0, 0, 0, 1, 1, 1, 2, 2, 3][i % 10]).collect();
            order.iter().for_each(|&flow| a.insert(FlowId(flow), LEN));
            for _ in 0..10_000 {
                // As many frames as there are leave, one by one, and others of their flows come to
                // where there is room: what the next pick finds has moved.
                for _ in 0..order.len() {
                    let at = (draw() * order.len() as f64) as usize;
                    let flow = order[at];
                    a.remove(FlowId(flow), LEN);
                    a.insert(FlowId(flow), LEN);
                }
                let found = a.pick(&mut draw).unwrap();
                seen[found.flow.index()] += 1;
                reads += found.reads;
            }
            assert!(chi_square(&seen, &weights) < CHI_SQUARE_3, "{class_states} classes: {seen:?}");
            reads
        };
        // 240 of 592 units are occupied: 2.47 reads by the word, hardly more than one by the row.
        let (by_word, by_row) = (tally(1), tally(ROW));
        assert!((24_000..25_400).contains(&by_word) && by_row < 11_000, "{by_word} {by_row}");
    }

    /// RZ 3880, section VI: when random addresses find nothing, the array is read row by row from
    /// there.
    #[test]
    fn a_bounded_search_falls_back_to_the_rows() {
        let mut a = CulpritArray::new(Bytes(UNIT * 16 * 100), 1, 3);
        a.insert(FlowId(5), Bytes(1));
        // Unit 0 is the only one; the draws point at rows 50, 60 and 70: three reads, then rows 71
        // to 99, and row 0.
        let mut draws = [0.505, 0.605, 0.705].into_iter();
        let found = a.pick(&mut || draws.next().expect("three tries")).unwrap();
        assert_eq!(found, Found { flow: FlowId(5), reads: 3 + 30, sequential: true });
        let found = CulpritArray { tries: 0, ..a.clone() }.pick(&mut || panic!("no draw")).unwrap();
        assert_eq!((found.flow, found.sequential), (FlowId(5), true));
        assert_eq!(
            a.pick(&mut || 0.0),
            Some(Found { flow: FlowId(5), reads: 1, sequential: false })
        );
    }

    #[test]
    fn deterministic_picks_the_maximum() {
        let mut c = Culprits::new(Sampling::Largest, BUFFER);
        let no_draw = &mut || panic!("no draw");
        assert_eq!(c.pick(Some(FlowId(3)), no_draw), None);
        (0..3).for_each(|_| c.insert(FlowId(1), LEN));
        (0..4).for_each(|_| c.insert(FlowId(2), Bytes(1_000)));
        assert_eq!(c.pick(Some(FlowId(3)), no_draw), Some(FlowId(1)), "4566 over 4000 bytes");
        c.remove(FlowId(1), LEN);
        assert_eq!(c.pick(None, no_draw), Some(FlowId(2)));
        c.insert(FlowId(0), Bytes(4_000));
        assert_eq!(c.pick(None, no_draw), Some(FlowId(0)), "the lowest number of two equals");
        c.remove(FlowId(0), Bytes(4_000));
        (0..4).for_each(|_| c.remove(FlowId(2), Bytes(1_000)));
        assert_eq!(c.pick(None, no_draw), Some(FlowId(1)));
    }

    /// 802.1Q: the frame that has just come. RZ 3880, section III-A: P(n) = lambda_n/lambda, here 7
    /// to 3 of random arrivals.
    #[test]
    fn arrival_picks_follow_the_arrivals() {
        let c = Culprits::new(Sampling::Arrival, BUFFER);
        let (mut seen, mut draw) = ([0u64; 2], draws(3));
        for _ in 0..10_000 {
            let arrived = (draw() < 0.3) as u32;
            seen[c.pick(Some(FlowId(arrived)), &mut || panic!("no draw")).unwrap().index()] += 1;
        }
        assert!(
            chi_square(&seen, &[7, 3]) < 10.83,
            "1 degree of freedom, once in a thousand: {seen:?}"
        );
        assert_eq!(c.pick(None, &mut || panic!("no draw")), None, "a clock brings no frame");
    }
}
