//! Resources of the machine for a run: threads and memory.

use xoff_net::topology::Topology;
use xoff_sim::scheduled::Config;
use xoff_sim::{Memory, PAYS_WINDOW};
use xoff_units::Bytes;
use xoff_units::params::{ParamError, memory};

use crate::fabric::FabricScenario;
use crate::network::NetworkScenario;

/// Processor cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

impl NetworkScenario {
    /// Threads that are likely to gain something: no more than there are cores, and each with
    /// enough to do in the time that frames are on their way over one link.
    pub fn threads_worth(&self) -> usize {
        let (payload, header) = self.frame();
        let links = &self.topology.links;
        let Some(fastest) = links.iter().map(|l| l.rate).max() else { return 1 };
        let Some(shortest) = links.iter().map(|l| l.delay).filter(|d| d.0 > 0).min() else {
            return 1;
        };
        let frame = fastest.time_for(Bytes((payload + header) as u64));
        // A frame makes some ten events on its way; half of the hosts send at a time.
        let busy = self.topology.hosts().count() as u64 / 2;
        let per_window = 10 * busy * shortest.0 / frame.0.max(1);
        cores().min((per_window / PAYS_WINDOW) as usize).max(1)
    }

    /// Least memory for a run on this number of threads.
    pub fn memory(&self, threads: usize) -> Memory {
        let (payload, header) = self.frame();
        let mut priorities: Vec<u8> = self.flows.flows.iter().map(|f| f.priority).collect();
        priorities.extend(self.flows.jobs.iter().flat_map(|j| &j.jobs).map(|j| j.priority));
        priorities.sort_unstable();
        priorities.dedup();
        let mtu = Bytes((payload + header) as u64);
        let mut m = Memory::estimate(
            &self.topology,
            self.flows.flows.len(),
            mtu,
            priorities.len().max(1),
            threads,
        );
        if self.flows.pages.is_some() {
            // Their records are in a file.
            let each = size_of::<xoff_net::workload::Flow>() as u64;
            m.flows = Bytes(self.flows.flows.len() as u64 * each);
        }
        // Messages of streamed jobs are in a file; their pages and the messages under way are not
        // known before.
        m.flows.0 += self.flows.jobs.iter().flat_map(|j| &j.jobs).map(|j| j.bytes()).sum::<u64>();
        m
    }

    /// Refuses a run for which the memory will not suffice.
    pub(crate) fn fits(&self, threads: usize) -> Result<(), ParamError> {
        memory::available().map_or(Ok(()), |available| suffices(&self.memory(threads), available))
    }

    /// Refuses a share of a run for which the memory will not suffice: every process knows the
    /// whole network and all flows, but has nodes and frames of its own only.
    pub(crate) fn share_fits(&self, processes: usize) -> Result<(), ParamError> {
        let Memory { network, routes, flows, frames } = self.memory(1);
        let part = |all: Bytes| Bytes(all.0 / processes.max(1) as u64);
        let needed = Memory { network: part(network), routes, flows, frames: part(frames) };
        memory::available().map_or(Ok(()), |available| suffices(&needed, available))
    }
}

/// Refuses a network whose nodes and routes alone will not fit into memory.
pub(crate) fn network_fits(t: &Topology) -> Result<(), ParamError> {
    let needed = Memory { frames: Bytes::ZERO, ..Memory::estimate(t, 0, Bytes(1500), 1, 1) };
    let refused = |e| ParamError { key: "kind".into(), ..e };
    memory::available().map_or(Ok(()), |available| suffices(&needed, available).map_err(refused))
}

impl FabricScenario {
    /// Refuses a fabric for which the memory will not suffice.
    pub(crate) fn fits(&self) -> Result<(), ParamError> {
        memory::available().map_or(Ok(()), |available| fabric_suffices(&self.config, available))
    }
}

fn fabric_suffices(config: &Config, available: Bytes) -> Result<(), ParamError> {
    let needed = config.memory();
    if needed <= available {
        return Ok(());
    }
    Err(ParamError::new(
        "fabric",
        format!(
            "pairs of {} ports and elements need {needed} of memory, but {available} are available",
            config.ports()
        ),
        "use fewer ports or elements, or a machine with more memory",
    ))
}

fn suffices(needed: &Memory, available: Bytes) -> Result<(), ParamError> {
    if needed.total() <= available {
        return Ok(());
    }
    let Memory { network, routes, flows, frames } = needed;
    Err(ParamError::new(
        "topology",
        format!(
            "the run needs at least {} of memory (nodes and ports {network}, routes {routes}, flows {flows}, frames on the links \
             {frames}), but {available} are available",
            needed.total()
        ),
        "use fewer hosts, shorter links, or a machine with more memory",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fabric_that_does_not_fit_is_refused_with_the_estimate() {
        let text = "[run]\nduration = \"1us\"\n[scheduled_fabric]\nkind = \"ideal\"\nports = 4096\nline = \"100Gbps\"\n[admission]\nkind = \"implicit\"\n";
        let s = FabricScenario::from_text("x.toml", text, &[], std::path::Path::new("."))
            .unwrap_or_else(|e| panic!("{e}"));
        let needed = s.config.memory();
        // A place at each end, requests, a virtual start and two bits for each pair of ports.
        assert!(needed.0 >= 4096 * 4096 * 16, "{needed}");
        assert!(fabric_suffices(&s.config, needed).is_ok());
        let e = fabric_suffices(&s.config, Bytes(200_000_000)).unwrap_err();
        assert!(
            e.what.contains("4096 ports") && e.what.contains("200 MB are available"),
            "{}",
            e.what
        );
    }

    #[test]
    fn too_little_memory_is_refused_with_the_estimate() {
        let needed = Memory {
            network: Bytes(3_000_000),
            routes: Bytes(1_000_000),
            flows: Bytes(500_000),
            frames: Bytes(500_000),
        };
        assert!(suffices(&needed, Bytes(5_000_000)).is_ok());
        let e = suffices(&needed, Bytes(4_999_999)).unwrap_err();
        assert!(
            e.what.contains("at least 5 MB of memory (nodes and ports 3 MB")
                && e.what.contains("5 MB are available"),
            "{}",
            e.what
        );
    }

    fn scenario(topology: &str) -> NetworkScenario {
        let text = format!(
            "[topology]\n{topology}\nrate = \"100Gbps\"\ndelay = \"1us\"\n[[workload]]\nkind = \"permutation\"\n"
        );
        NetworkScenario::from_text("s.toml", &text, &[], std::path::Path::new("."))
            .unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn a_large_network_is_worth_threads_and_a_small_one_is_not() {
        assert_eq!(scenario("kind = \"fat-tree\"\nk = 4").threads_worth(), 1);
        assert_eq!(scenario("kind = \"fat-tree\"\nk = 16").threads_worth(), cores().min(85));
    }
}
