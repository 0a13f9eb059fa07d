//! A scenario of a network as a run: from its file to everything a world is built from.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use xoff_mech::flow_control::FlowControl;
use xoff_mech::{LinkFacts, link_retry};
use xoff_net::topology::Topology;
use xoff_net::topology::routing::{FlowKey, Routes, Routing, Way, all_paths};
use xoff_net::workload::{Act, Flow, Flows};
use xoff_node::{DisciplineKind, PoolConfig};
use xoff_scenario::document::{Document, Given, Override};
use xoff_scenario::{Problems, Source};
use xoff_sim::{Engine, LinkFailure, Model, way};
use xoff_units::params::ParamError;
use xoff_units::{Bytes, NodeId, Time};

pub(crate) mod boundary;
pub(crate) mod buffers;
pub(crate) mod checkpoint;
mod course;
mod derived;
pub(crate) mod driven;
mod execute;
pub(crate) mod explain;
mod flows_at_once;
mod from_outside;
mod ideal;
pub(crate) mod jobs;
mod pool;
mod processes;
mod read;
mod recorder;
pub(crate) mod resources;
mod rows;
pub(crate) mod sections;
mod sorted;
mod standstill;
pub(crate) mod summary;
mod summary_of_faults;
pub(crate) mod tree;
mod uplinks;
pub mod verdict;

use boundary::Boundary;
use buffers::{Buffers, SwitchLinks};
pub use course::{Course, PortLook};
pub use execute::{Finished, Page, Running};
pub use jobs::{CAUSES, Iteration, JobSummary, RankState, Straggler, Stretch, rank_states};
pub(crate) use read::{absolute, read, read_open};
pub use recorder::FrameTap;

/// A network of switches and hosts that can run.
pub struct NetworkScenario {
    /// Description in one line.
    pub title: String,
    /// Folder in which its files are looked up.
    pub folder: PathBuf,
    /// The network, failed links marked.
    pub topology: Topology,
    /// Flows of the scenario.
    pub flows: Flows,
    /// Simulated time.
    pub until: Time,
    /// Seed of every random stream.
    pub seed: u64,
    /// Name of the flow control.
    pub flow_control: &'static str,
    /// Name of the detection.
    pub detection: &'static str,
    /// Name of the rate control.
    pub rate_control: &'static str,
    /// Everything resolved, as a document that gives the same run.
    pub resolved: String,
    /// Every parameter with its origin.
    pub parameters: Vec<xoff_record::Parameter>,
    /// Warnings for the user, each with its place.
    pub warnings: Problems,
    /// Surroundings where its frames are real.
    pub boundary: Boundary,
    /// Engine for events; never changes a result.
    pub engine: Engine,
    /// Time on the clock between two checkpoints; `None`: none are written.
    pub checkpoint: Option<Duration>,
    /// As given: the text, and the settings over it.
    pub source: Arc<Source>,
    /// Settings laid over the text.
    pub settings: Vec<Override>,
    /// Memory of the switches, if it is in pools.
    pub(crate) pools: Option<Arc<Buffers>>,
    pub(crate) model: Model<'static>,
}

impl NetworkScenario {
    /// Reads a file; `settings` replace or add values.
    ///
    /// # Errors
    /// A file that cannot be read, and all problems of the scenario, each with its place and the
    /// expected form.
    pub fn load(path: &Path, settings: &[Override]) -> Result<NetworkScenario, Problems> {
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        read(Document::load(path, settings)?, &folder)
    }

    /// As [`Self::load`], with what the file and the settings gave: enough to write scenarios of the
    /// same network with other traffic.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn load_given(
        path: &Path,
        settings: &[Override],
    ) -> Result<(NetworkScenario, Vec<Given>), Problems> {
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let mut doc = Document::load(path, settings)?;
        let scenario = read_open(&mut doc, &folder, &[])?;
        Ok((scenario, doc.resolved().given()))
    }

    /// From a text; `name` appears in messages, files are looked up in `folder`.
    ///
    /// # Errors
    /// All problems of the scenario, each with its place and the expected form.
    pub fn from_text(
        name: &str,
        text: &str,
        settings: &[Override],
        folder: &Path,
    ) -> Result<NetworkScenario, Problems> {
        read(Document::from_text(name, text, settings)?, folder)
    }

    /// A copy of this scenario's model.
    pub fn model(&self) -> Model<'static> {
        Model { engine: self.engine, ..self.model.clone() }
    }

    /// Priorities that no flow control holds.
    pub fn lossy(&self) -> &[u8] {
        &self.model.lossy
    }

    /// Names of all pools, each once.
    pub(crate) fn pool_names(&self) -> Vec<String> {
        self.pools.as_ref().map_or(Vec::new(), |pools| pools.pool_names())
    }

    /// The pools of a switch, each with its side; empty: its memory is not in pools.
    pub fn pools_at(&self, node: NodeId) -> Vec<PoolConfig> {
        let Some(buffers) = &self.pools else { return Vec::new() };
        let at = SwitchLinks::of(&self.topology, node, self.links(), self.lossy());
        buffers.at(&at).map_or(Vec::new(), |made| made.pools)
    }

    /// The egress ports of a flow's path, or of the fastest that load balancing may choose, with the
    /// hops to which there are alternatives; `None`: there is no route, or it leads in a circle.
    pub(crate) fn way(&self, routes: &Routes, w: &Flow) -> Option<Way> {
        match w.path {
            Some(p) if self.flows.paths.is_loop(p) => None,
            Some(p) => Some((self.flows.paths.hops(p).to_vec(), 0..0)),
            None => {
                let (payload, header) = self.frame();
                let full = Bytes(u64::from(payload + header));
                way(&self.topology, routes, &self.model, &FlowKey::from(w), full)
            }
        }
    }

    /// The egress ports that a flow goes through, or may go through where load balancing chooses:
    /// its host's first; `None`: there is no route, or it leads in a circle.
    pub fn ports(&self, routes: &Routes, w: &Flow) -> Option<Vec<(NodeId, u16)>> {
        if !self.balances() || w.path.is_some() {
            return self.way(routes, w).map(|(path, _)| path);
        }
        let all = all_paths(&self.topology, routes, w.src, w.dst).concat();
        (!all.is_empty()).then_some(all)
    }

    /// True if its flows, or the operations and messages of its jobs, are in a file, and not in
    /// memory.
    pub fn is_streamed(&self) -> bool {
        self.flows.pages().is_some()
    }

    /// Refuses a question about single flows of a run that does not keep its flows.
    ///
    /// # Errors
    /// The run or its job is streamed.
    pub fn keeps_flows(&self) -> Result<(), ParamError> {
        if self.flows.pages.is_some() {
            let what = "a run with run.stream = true does not keep its flows";
            return Err(ParamError::new(
                "run.stream",
                what,
                "run it without the key, for less time",
            ));
        }
        if self.is_streamed() {
            let what = "a run does not keep the messages of a streamed job";
            return Err(ParamError::new(
                "job.stream",
                what,
                "run the job without stream = true, or run a part of the trace",
            ));
        }
        Ok(())
    }

    /// Payload of a full frame and bytes around it.
    pub fn frame(&self) -> (u32, u32) {
        (self.model.nic.payload_max, self.model.nic.header)
    }

    /// Bytes after which switches forward a frame; `None`: they wait for all of it.
    pub fn cut_through(&self) -> Option<Bytes> {
        self.model.cut_through
    }

    /// True if frames carry records of the ports they pass.
    pub fn needs_telemetry(&self) -> bool {
        self.model.nic.rate_control.telemetry().is_some()
    }

    /// True if the run checks its invariants.
    pub fn is_checked(&self) -> bool {
        self.model.checks
    }

    /// True if flows are connections of a transport.
    pub fn has_connections(&self) -> bool {
        self.model.nic.transport.facts().connections
    }

    /// True if links fail during the run.
    pub fn has_failures(&self) -> bool {
        !self.failures().is_empty()
    }

    /// Links that fail during the run.
    pub(crate) fn failures(&self) -> Vec<LinkFailure> {
        let repeated = self.flows.calls.iter().flat_map(|calls| calls.iter());
        let repeated = repeated.filter_map(|call| match call.act {
            Act::Fail(link) => Some(LinkFailure { at: call.at, link }),
            _ => None,
        });
        self.model.faults.failures.iter().copied().chain(repeated).collect()
    }

    /// Retry of links; `None`: links resend nothing.
    pub fn link_retry(&self) -> Option<&link_retry::Config> {
        self.model.faults.link_retry.as_ref()
    }

    /// The routing rule.
    pub fn routing(&self) -> Routing {
        self.model.routing
    }

    /// True if switches choose among the next hops of a frame, or hosts among their ports for a
    /// flow.
    pub fn balances(&self) -> bool {
        self.model.balances(&self.topology)
    }

    /// True if an input of a switch may wait for an egress that none of its frames takes: behind a
    /// worker that waits at a full ring.
    pub fn has_workers_that_wait(&self) -> bool {
        matches!(self.model.discipline, DisciplineKind::Pipeline(c) if c.blocks)
    }

    /// True if frames between leaves have a header of their load balancer.
    pub fn adds_headers(&self) -> bool {
        self.model.balancing.adds_headers()
    }

    /// The facts of every kind of link with the flow control configured for it.
    pub fn links(&self) -> &[(LinkFacts, FlowControl)] {
        self.model.flow_control.kinds()
    }
}
