//! Broken NICs and slow receivers in the summary of a run: pauses at the switch port that leads to
//! them, and their length.

use xoff_sim::{Outcome, PortTotals};
use xoff_units::{Bytes, NodeId, Span, grouped};

use super::NetworkScenario;
use super::summary::Summary;

impl Summary {
    /// A sentence for each host with a fault. A host without a fault accepts every frame, so that
    /// all pauses of the port before it are due to faults.
    pub(super) fn faults(&mut self, s: &NetworkScenario, o: &Outcome) {
        let m = &s.model.faults;
        let mut hosts: Vec<NodeId> = m
            .storms
            .iter()
            .map(|f| f.host)
            .chain(m.slow_receivers.iter().map(|f| f.host))
            .collect();
        hosts.sort_unstable();
        hosts.dedup();
        for host in hosts {
            let name = s.topology.name(host);
            let storms = m.storms.iter().filter(|f| f.host == host);
            let storms = storms.map(|f| {
                format!("pause storm of {name} (priority {}, from {})", f.priority, f.from)
            });
            let slow = m.slow_receivers.iter().filter(|f| f.host == host);
            let slow = slow.map(|f| {
                let most = o.ports[host.index()].iter().map(|p| p.ingress_bytes_max).max();
                let most = most.unwrap_or(0);
                format!("slow receiver {name} ({}, at most {} queued)", f.drain.rate, Bytes(most))
            });
            let what = storms.chain(slow).collect::<Vec<_>>().join(" and ");
            // Of several ports, the one whose peer waited longest.
            let blocked = |p: &&xoff_net::topology::Port| {
                o.ports[p.peer.index()][p.peer_port as usize].blocked_ps
            };
            let ports = s.topology.nodes[host.index()].ports.iter().rev();
            let Some(&peer) = ports.max_by_key(blocked) else { continue };
            let port = s.topology.port_name(peer.peer, peer.peer_port);
            let totals = &o.ports[peer.peer.index()][peer.peer_port as usize];
            let freed = o
                .storms
                .iter()
                .any(|found| (found.node, found.port) == (peer.peer, peer.peer_port));
            match held(totals, s.topology.links[peer.link as usize].rate, freed) {
                Some(how) => self.active.push(format!("{what}: {port} {how}")),
                None => self
                    .inactive
                    .push(format!("{what} paused nothing: no frame waited for it at {port}")),
            }
        }
    }
}

/// Pause of a port, in words; `None`: no pause. A queue that the watchdog freed sends, whatever its
/// peer does.
fn held(t: &PortTotals, line: xoff_units::Rate, freed: bool) -> Option<String> {
    let times = |n: u64| if n == 1 { "once".to_owned() } else { format!("{} times", grouped(n)) };
    let frames = match t.blocks {
        _ if freed => ", until the watchdog released it".to_owned(),
        0 => ", while no frame waited".to_owned(),
        n => format!(", and blocked frames {}, for {} in total", times(n), Span(t.blocked_ps)),
    };
    match t.pauses {
        0 if t.blocks == 0 => {
            t.allowed_min.filter(|r| *r < line).map(|rate| format!("was slowed down to {rate}"))
        }
        0 if freed => Some(format!("blocked frames {}{frames}", times(t.blocks))),
        0 => {
            Some(format!("blocked frames {}, for {} in total", times(t.blocks), Span(t.blocked_ps)))
        }
        n => Some(format!("was paused {}, for {} in total{frames}", times(n), Span(t.paused_ps))),
    }
}
