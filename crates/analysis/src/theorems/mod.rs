//! The claims of the GFC paper that can be checked without a simulator, each as a small solver.
//!
//! | file | claim | answer |
//! | --- | --- | --- |
//! | [`theorem_4_1`] | conceptual GFC is safe for B_m - B_0 >= 4 C tau | true, and loose: the onset is e C tau |
//! | [`theorem_5_1`] | time-based GFC is safe for B_m - B_0 >= (sqrt(tau/T) + 1)^2 C T | exact for tau <= T, false for tau > T |
//! | [`message_rate`] | messages take at most m/tau, in steady state m/(8 tau) | the steady worst case is m/(2 tau) |
//! | [`gfc_repair`] | the ring with FIFO, with and without entry ports (an extension) | 1/t without, C/(2 n) with |
//! | [`fig5`] | PFC swings, conceptual GFC settles (Fig. 5) | true; peak 78.5 KB, rest 75.0 KB |
//!
//! These are fluid models: bytes are infinitely divisible and the laws are exact. What whole
//! packets add is the packet simulator's business.

pub mod fig5;
pub mod gfc_repair;
pub mod message_rate;
pub mod theorem_4_1;
pub mod theorem_5_1;
