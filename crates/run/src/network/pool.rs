//! Shared memory of the switches: its promises, and whether the memory suffices.

use xoff_analysis::plan::Pool;
use xoff_mech::flow_control::{FlowControl, MESSAGE_LEN, pfc};
use xoff_mech::{ControlLoop, LinkFacts};
use xoff_net::topology::Topology;
use xoff_units::Bytes;
use xoff_units::params::ParamError;

use super::sections::switch::Memory;

/// Headroom of a port in a shared pool, if it is not given: bytes that arrive after a pause, a lost
/// and repeated pause included.
pub(super) fn headroom(given: Option<Bytes>, link: &LinkFacts, fc: &FlowControl) -> Bytes {
    given.unwrap_or_else(|| {
        let l = link.control_loop(MESSAGE_LEN);
        pfc::headroom(&ControlLoop { tau: l.tau.max(fc.control_loop(link).tau), ..l })
    })
}

/// Pool behind a port with such a link.
pub(super) fn at(pool: Pool, memory: &Memory, link: &LinkFacts, fc: &FlowControl) -> Pool {
    let Memory::Shared { headroom: given, .. } = memory else { return pool };
    Pool { headroom: headroom(*given, link, fc), ..pool }
}

/// The pool of the switch that has the least for each of its ingresses; `None`: memory is not
/// shared. Refuses a memory that is smaller than the reserves and headrooms that have to fit into
/// it.
pub(super) fn smallest(
    topology: &Topology,
    memory: &Memory,
    links: &[(LinkFacts, FlowControl)],
    priorities: u64,
) -> Result<Option<Pool>, ParamError> {
    let &Memory::Shared { total, reserve, headroom: given, shift } = memory else {
        return Ok(None);
    };
    let mut smallest: Option<(Bytes, Pool)> = None;
    for s in topology.switches() {
        let ports = &topology.nodes[s.index()].ports;
        let of_port = |port: usize| {
            let link = topology.link_at(s, port as u16);
            links
                .iter()
                .find(|(f, _)| (f.rate, f.delay) == (link.rate, link.delay))
                .map_or(Bytes::ZERO, |(f, fc)| headroom(given, f, fc))
        };
        let headrooms = || (0..ports.len()).map(of_port);
        let committed =
            Bytes(headrooms().map(|h| h.0.saturating_add(reserve.0)).fold(0, u64::saturating_add));
        if committed > total {
            return Err(ParamError::new(
                "shared_buffer",
                format!(
                    "{total} is less than {} reserves: {} ports with {reserve} and headroom each need {committed}",
                    topology.name(s),
                    ports.len()
                ),
                format!("expected at least {} B, or a smaller reserve or headroom", committed.0),
            ));
        }
        let ingresses = ports.len() as u64 * priorities;
        let share = Bytes((total.0 - committed.0) / ingresses.max(1));
        let headroom = headrooms().min().unwrap_or(Bytes::ZERO);
        if smallest.is_none_or(|(least, _)| share < least) {
            smallest = Some((
                share,
                Pool { total, reserve, headroom, committed, shift, ingresses, priorities },
            ));
        }
    }
    Ok(smallest.map(|(_, pool)| pool))
}
