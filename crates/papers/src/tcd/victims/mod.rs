//! Victim flows: S0 sends to R0 and waits behind what goes to R1 (sections 5.1.3 and 5.2, Fig. 2).

pub mod bursts;
pub mod by_size;
pub mod tab3;

use super::run::Pick;

/// Ethernet: Hadoop everywhere.
pub const ETHERNET: &str = "victims.toml";
/// Ethernet: bursts of one size.
pub const BURSTS: &str = "victims-bursts.toml";
/// InfiniBand.
pub const INFINIBAND: &str = "victims-ib.toml";

/// Why the loads are an assumption.
pub const LOAD: &str = "the load is not stated in the paper: S0 and S1 at 40 % of their links, and bursts that offer P3 127 % \
    (Ethernet) or 70 % (InfiniBand) of its capacity. At this load ECN and FECN mark about as many victims as in the paper (Table 3)";

/// Load of P3 by bursts that come every `us` on the average.
pub fn burst_load(mean_size: f64, us: f64) -> f64 {
    15.0 * mean_size * 8.0 / (us * 1e-6 * 40e9)
}

/// Time between bursts that load P3 so much, as a setting.
pub fn gap(mean_size: f64, load: f64) -> String {
    format!("workload[2].gap={:.0}ns", 15.0 * mean_size * 8.0 / (load * 40e9) * 1e9)
}

/// Mean size of a Hadoop flow [bytes].
pub const HADOOP_MEAN: f64 = 120_421.0;
/// Mean size of an MPI or I/O message [bytes].
pub const MPI_IO_MEAN: f64 = 201_364.0;

/// Sizes of flows that are shown together: name, first size, first size that is too large.
pub type Bins = &'static [(&'static str, u64, u64)];
/// Size groups of the Hadoop flows.
pub const FLOW_BINS: Bins =
    &[("< 10 KB", 0, 10_000), ("10 - 100 KB", 10_000, 100_000), ("100 KB - 1 MB", 100_000, 1_000_000), ("> 1 MB", 1_000_000, u64::MAX)];
/// Size groups of the MPI and I/O messages.
pub const MESSAGE_BINS: Bins = &[
    ("MPI 2 KB", 0, 4_096),
    ("MPI 4 - 32 KB", 4_096, 100_000),
    ("I/O 512 KB", 100_000, 1_000_000),
    ("I/O 1 MB", 1_000_000, 2_000_000),
    ("I/O 2 MB", 2_000_000, 4_000_000),
    ("I/O 4 MB", 4_000_000, u64::MAX),
];

/// The groups of every run: victims, S1's flows, bursts, all; then victims by size.
pub fn picks(bins: Bins) -> Vec<Pick> {
    let all = ["S0", "S1", "A", ""].map(Pick::all);
    all.into_iter().chain(bins.iter().map(|&(_, low, high)| Pick::new("S0", low, high))).collect()
}
/// Place of the victims in [`picks`].
pub const VICTIMS: usize = 0;
/// Place of S1's flows.
pub const CONGESTED: usize = 1;
/// Place of all flows together, behind the bursts.
pub const ALL_FLOWS: usize = 3;
/// Place of the first bin.
pub const BIN: usize = 4;
