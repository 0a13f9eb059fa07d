//! The two analytical claims of the request-grant paper (RG: Chrysos et al., IBM Research), each as
//! a small solver.
//!
//! | file | claim | answer |
//! | --- | --- | --- |
//! | [`lemma_1`] | implicit rate regulation: backlog at most (rtt_max - rtt_min) L | true and reached; false once inputs answer late |
//! | [`theorem_1`] | at most b outstanding, even split: no buffer exceeds b, no flow control acts | true and reached if all routes are alike |
//! | [`slots`] | Figs. 2 and 3: grants of real granters, slot by slot | effect of contention at inputs and of round trips |
//! | [`examples`] | purpose of each premise | exact levels with one premise taken away |
//!
//! [`fluid`] solves the network exactly: [`clos`] is its shape, [`network`] its assumptions,
//! [`admission`] its traffic, [`rational`] its numbers. What was found is in
//! `docs/theory/request-grant.md`.

pub mod admission;
pub mod clos;
pub mod examples;
pub mod fluid;
pub mod lemma_1;
pub mod network;
pub mod rational;
mod server;
pub mod slots;
pub mod theorem_1;
