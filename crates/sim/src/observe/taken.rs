//! Ports by which flows left hosts of several ports, and uplinks that they took at the first switch
//! of their path, where switches balance load.

use xoff_units::FlowId;
use xoff_units::state::State;

/// By flow: port numbers, and bytes of the flow on their wires. Empty where hosts have one port and
/// no switch balances load: the hash of a flow tells its uplink.
#[derive(Default, State)]
pub(crate) struct Taken {
    flows: Vec<Vec<(u32, u64)>>,
}

impl Taken {
    /// A frame of a flow took a port.
    pub fn add(&mut self, flow: FlowId, port: u32, bytes: u64) {
        if self.flows.len() <= flow.index() {
            self.flows.resize(flow.index() + 1, Vec::new());
        }
        let ports = &mut self.flows[flow.index()];
        match ports.iter_mut().find(|p| p.0 == port) {
            Some(p) => p.1 += bytes,
            None => ports.push((port, bytes)),
        }
    }

    /// Adds those of another partition of the network: a host may have several switches.
    pub fn join(&mut self, other: Taken) {
        for (flow, (port, bytes)) in other.into_list() {
            self.add(FlowId(flow), port, bytes);
        }
    }

    /// As a list of flow, port and bytes.
    pub fn into_list(self) -> Vec<(u32, (u32, u64))> {
        let of = |(flow, ports): (u32, Vec<_>)| ports.into_iter().map(move |port| (flow, port));
        (0..).zip(self.flows).flat_map(of).collect()
    }

    /// From such a list.
    pub fn of_list(list: Vec<(u32, (u32, u64))>) -> Taken {
        let mut taken = Taken::default();
        list.into_iter().for_each(|(flow, (port, bytes))| taken.add(FlowId(flow), port, bytes));
        taken
    }

    /// The flows, each with its ports in any order.
    pub fn into_flows(self) -> Vec<Vec<(u32, u64)>> {
        self.flows
    }
}
