//! The analytical claims of the request-grant paper (RG: Chrysos et al., IBM Research), each as a small solver.

pub mod lemma_1;
