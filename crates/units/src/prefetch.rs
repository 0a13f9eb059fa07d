//! Asking for memory before it is needed.

/// Asks the processor to fetch the cache line of `place`; changes nothing else. In a large network
/// most of the time of a frame-hop is waiting for memory, and the event queue knows the next data
/// well ahead.
#[inline(always)]
pub fn prefetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code)]
    // SAFETY: a prefetch neither faults nor changes memory, and the address is that of a reference.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// Asks for all cache lines of `place`.
#[inline(always)]
pub fn prefetch_whole<T: ?Sized>(place: &T) {
    const LINE: usize = 64;
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code)]
    // SAFETY: as above; the addresses are within the object.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start = std::ptr::from_ref(place).cast::<i8>();
        let mut at = 0;
        while at < size_of_val(place) {
            _mm_prefetch::<_MM_HINT_T0>(start.add(at));
            at += LINE;
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (place, LINE);
}
