//! Scheduled fabrics: who may inject is decided before the injection.
//!
//! ```text
//!   input adapter                                   output adapter
//!   VOQ -> Requester -- request(segments) -->  Granter: one request counter per input
//!            ^                                      | space in the output buffer, and in the fabric if reserved
//!            +------------ grant(segments) <--------+ at most at the rate of grants
//! ```
//!
//! Both halves are plain counters: the caller decides how to carry the messages, in band or out of
//! band.

mod bits;
pub mod request_grant;

pub use bits::Bits;
