//! The filter of paused flows, and the parts in which it travels.

use xoff_units::Bytes;
use xoff_units::state::State;

use super::super::law::Signal;

/// Bits of a filter: 128 B.
pub const FILTER_BITS: u32 = 1024;
/// Hashes of a filter.
pub const HASHES: u32 = 4;
/// Words of a filter.
pub(super) const WORDS: usize = FILTER_BITS as usize / 64;
/// A filter, its Ethernet header, EtherType and check sequence [bytes].
pub const FRAME_LEN: Bytes = Bytes(128 + 14 + 4);

/// Paused flows, with false positives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
pub(super) struct Filter(pub(super) [u64; WORDS]);

impl Filter {
    pub(super) fn insert(&mut self, vfid: u32) {
        bits(vfid).for_each(|b| self.0[b / 64] |= 1 << (b % 64));
    }
    pub(super) fn clear(&mut self, bit: usize) {
        self.0[bit / 64] &= !(1 << (bit % 64));
    }
    pub(super) fn contains(&self, vfid: u32) -> bool {
        bits(vfid).all(|b| self.0[b / 64] >> (b % 64) & 1 != 0)
    }
    /// Bits that another filter does not have.
    pub(super) fn bits_without(self, other: &Filter) -> impl Iterator<Item = usize> {
        let other = *other;
        (0..WORDS).flat_map(move |at| {
            let mut left = self.0[at] & !other.0[at];
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(at * 64 + bit)
            })
        })
    }
}

/// The bits of a flow.
pub(super) fn bits(vfid: u32) -> impl Iterator<Item = usize> {
    (0..HASHES)
        .map(move |n| (hash(vfid.wrapping_mul(HASHES).wrapping_add(n)) % FILTER_BITS) as usize)
}

/// The finalizer of MurmurHash3, for hashes of a switch.
pub(super) fn hash(x: u32) -> u32 {
    let mut h = x.wrapping_add(0x9e37_79b9); // zero would stay zero
    h = (h ^ h >> 16).wrapping_mul(0x85eb_ca6b);
    h = (h ^ h >> 13).wrapping_mul(0xc2b2_ae35);
    h ^ h >> 16
}

/// A word of a filter that is not zero, or the end of its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub enum FilterPart {
    /// The word at this place of the filter with this number.
    Word(u32, u8, u64),
    /// The filter with this number is complete, with its number of paused flows.
    End(u32, u32),
}

impl Signal for FilterPart {
    const PER_FLOW: bool = true;

    #[cold]
    fn to_words(self) -> (u64, u64) {
        match self {
            FilterPart::Word(number, at, word) => (word, u64::from(number) << 8 | u64::from(at)),
            FilterPart::End(number, flows) => (u64::from(flows), u64::from(number) << 8 | 0xff),
        }
    }
    #[cold]
    fn from_words(a: u64, b: u64) -> FilterPart {
        let number = (b >> 8) as u32;
        match b as u8 {
            0xff => FilterPart::End(number, a as u32),
            at => FilterPart::Word(number, at, a),
        }
    }
    fn describe(self) -> (&'static str, u64) {
        match self {
            FilterPart::Word(_, at, _) => ("word", u64::from(at)),
            FilterPart::End(_, flows) => ("paused", u64::from(flows)),
        }
    }
    fn is_part(self) -> bool {
        matches!(self, FilterPart::Word(..))
    }
}
