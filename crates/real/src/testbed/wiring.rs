//! From a scenario to the ports and tables of a machine.

use crate::switchd::{Forwarding, Link, Machine, MachineConfig, format_of, mac};
use crate::wire::ethernet::Mac;
use crate::wire::link_retry as link_frames;
use xoff_mech::flow_control::{FlowControl, Pauses};
use xoff_mech::{LinkFacts, link_retry};
use xoff_net::topology::NodeKind;
use xoff_net::topology::routing::FlowKey;
use xoff_run::NetworkScenario;
use xoff_sim::World;
use xoff_units::params::ParamError;
use xoff_units::{Bytes, NodeId, Rate, Span};

use crate::testbed::shims::{self, Shim};

/// Above this rate one process cannot pace full frames on a machine that is not its own
/// (`docs/testbed.md`).
pub const PACEABLE: Rate = Rate(1_000_000_000);

/// Differences from the scenario where frames are real.
#[derive(Clone, Debug)]
pub struct Real {
    /// Frames of unknown origin go where their addresses were seen, instead of where the topology
    /// has their hosts.
    pub learns: bool,
    /// Time after which messages of a state are repeated, so that a loss heals; zero: never [ps].
    pub repeat: Span,
    /// Addresses of hosts besides those that the scenario's own have ([`mac`]): (host, address).
    pub macs: Vec<(NodeId, Mac)>,
}

impl Default for Real {
    fn default() -> Real {
        Real { learns: false, repeat: REPEAT, macs: Vec::new() }
    }
}

/// A scenario that real frames cannot follow is rejected, with the reason.
pub fn refuse(s: &NetworkScenario) -> Result<(), ParamError> {
    let no = |key: &str, what: &str, hint: &str| {
        Err(ParamError::new(key, what.to_string(), hint.to_string()))
    };
    if s.cut_through().is_some() {
        return no(
            "switch.cut_through",
            "the testbed receives each frame completely before it forwards it: cut-through has no effect",
            "remove cut_through",
        );
    }
    if s.needs_telemetry() {
        return no(
            "rate_control.kind",
            "real frames carry no records of ports",
            "use another rate control, or xoff run",
        );
    }
    if s.adds_headers() {
        return no(
            "load_balancing.kind",
            "real frames carry no header of a load balancer",
            "use another load balancing, or xoff run",
        );
    }
    if s.has_failures() {
        return no(
            "failure",
            "links of a testbed do not fail on schedule",
            "remove [[failure]], or use xoff run",
        );
    }
    if s.has_connections() {
        let hint =
            "remove [transport], or use the TCP of the kernel: xoff testbed --ip; or xoff run";
        return no(
            "transport.kind",
            "connections are only simulated: their acknowledgements cannot depend on real frames",
            hint,
        );
    }
    for (_, fc) in s.links() {
        fc.on_a_wire()
            .map_err(|e| ParamError::new(format!("flow_control.{}", e.key), e.what, e.hint))?;
        if format_of(fc).is_none() && !matches!(fc, FlowControl::None) {
            return no(
                "flow_control.kind",
                "the wire format of its messages is not defined",
                "use another kind, or xoff run",
            );
        }
    }
    // It would fill the wire with messages that ask for a start, one after each timer.
    let retries = s.links().iter().filter_map(|(link, _)| {
        let p = s.link_retry()?.on(link.rate, link.delay, link.mtu).ok()?;
        let round = link_retry::loop_time(link.rate, link.delay, link.mtu, p.ack_spacing);
        (p.timer < round).then_some((p.timer, round, link.rate))
    });
    if let Some((timer, round, rate)) = retries.max_by_key(|&(_, round, _)| round) {
        return no(
            "link_retry.timer",
            &format!("{timer} is less than {round}, the loop of a link of {rate}"),
            &format!("a timer of {} or more suits real ports", round + LOOP),
        );
    }
    Ok(())
}

/// Warnings for the user before real frames follow a scenario.
pub fn warnings(s: &NetworkScenario) -> Vec<String> {
    let mut all = Vec::new();
    if let Some(fast) = s.topology.links.iter().map(|l| l.rate).max().filter(|&r| r > PACEABLE) {
        all.push(format!(
            "links of {fast} are too fast for real time: queues and times may be wrong. Use at most {PACEABLE} on two cores, or better \
             100 Mb/s"
        ));
    }
    for (link, fc) in s.links() {
        if let Pauses::At(xoff) = fc.pauses() {
            let needed = xoff + link.rate.bytes_in(LOOP) + link.mtu * 2;
            if needed > link.buffer {
                all.push(format!(
                    "links of {}: a pause takes up to {LOOP} to take effect, so XOFF {xoff} needs a buffer of {needed}. The buffer has \
                     {}: frames may be lost",
                    link.rate, link.buffer
                ));
            }
        }
    }
    if let Some(retry) = s.link_retry() {
        all.extend(s.links().iter().filter_map(|(link, _)| late_answers(link, retry)));
    }
    all
}

/// Warning about a link whose retry does not reckon with the time of a loop.
fn late_answers(link: &LinkFacts, retry: &link_retry::Config) -> Option<String> {
    let p = retry.on(link.rate, link.delay, link.mtu).ok()?;
    let round = link_retry::loop_time(link.rate, link.delay, link.mtu, p.ack_spacing) + LOOP;
    let buffer = link.rate.bytes_in(round);
    (p.timer < round || p.buffer < buffer).then(|| {
        format!(
            "links of {}: an acknowledgement takes up to {round}. Replay timer {}, replay buffer {}: links may resend frames that \
             were not lost, or not reach their rate. Set link_retry.timer = \"{}\" and link_retry.buffer = \"{}B\"",
            link.rate, p.timer, p.buffer, round * 2, buffer.0 * 2
        )
    })
}

/// Time from a pause to its effect at the other end if all nodes share a loop: three polls of the
/// clock, at most a millisecond each.
const LOOP: Span = Span::from_ms(3);

/// The longest frame of a scenario decides about the MTU of its interfaces [bytes].
pub fn mtu(s: &NetworkScenario) -> u32 {
    let (payload, header) = s.frame();
    let number = if s.link_retry().is_some() { link_frames::AROUND as u32 } else { 0 };
    (payload + header).max(1500) + number
}

/// The ports of the nodes that are here, by node and port. `plain(node, port)`: its neighbour knows
/// no flow control.
pub fn links(s: &NetworkScenario, here: &[bool], plain: impl Fn(NodeId, u16) -> bool) -> Vec<Link> {
    let t = &s.topology;
    let nodes = t.node_ids().filter(|&n| here[n.index()]);
    let ports = nodes.flat_map(|n| (0..t.nodes[n.index()].ports.len() as u16).map(move |p| (n, p)));
    ports
        .map(|(node, port)| Link {
            node,
            port,
            name: t.port_name(node, port),
            plain: plain(node, port),
        })
        .collect()
}

/// By link: the position of the link at the other end of its cable; `None`: it is not here.
pub fn far(s: &NetworkScenario, links: &[Link]) -> Vec<Option<usize>> {
    let of = |l: &Link| {
        let far = s.topology.nodes[l.node.index()].ports[l.port as usize];
        links.iter().position(|o| (o.node, o.port) == (far.peer, far.peer_port))
    };
    links.iter().map(of).collect()
}

/// Positions of a port and of its peer among these links.
pub fn ends(s: &NetworkScenario, links: &[Link], port: &str) -> Option<[usize; 2]> {
    let at = links.iter().position(|l| l.name == port)?;
    Some([at, far(s, links)[at]?])
}

/// A machine for these links.
pub fn machine(s: &NetworkScenario, links: Vec<Link>, real: &Real, world: &World) -> Machine {
    let kinds: Vec<FlowControl> = s.links().iter().map(|(_, fc)| fc.clone()).collect();
    let opening = kinds.first().map(|kind| kind.opening()).unwrap_or_default();
    let control_len = kinds.iter().map(|kind| kind.message_len()).max().unwrap_or(Bytes(64));
    Machine::new(
        MachineConfig {
            links,
            accepts: Box::new(move |m| kinds.iter().any(|fc| fc.accepts(m))),
            control_len: control_len.0 as u32,
            forwarding: forwarding(s, real),
            repeat: real.repeat,
            opening,
            watchdog: s.watchdog().map(|w| w.action),
            frames_kept: s.link_retry().map(|retry| retry.frames() as u32),
        },
        world,
    )
}

/// A stage or a queue length is repeated after so long: a lost one would otherwise hold forever. A
/// third of the shortest pause that 802.1Q's timers can hold at 100 Mb/s, and under one message per
/// mille of such a link.
const REPEAT: Span = Span::from_ms(50);

/// By node: the ports that lead to each host.
fn forwarding(s: &NetworkScenario, real: &Real) -> Vec<Forwarding> {
    let t = &s.topology;
    let (routes, choice) = (s.routing().routes(t), s.routing().choice);
    let shims: Vec<Shim> = shims::of(s).collect();
    let own: Vec<(NodeId, Mac)> = t.hosts().map(|h| (h, mac(h, 0))).collect();
    t.node_ids()
        .map(|n| {
            let path = |&(host, address): &(NodeId, Mac)| {
                let mut ports = routes.candidates(n, host).to_vec();
                if choice.is_per_destination() && !ports.is_empty() {
                    let key = FlowKey { src: n, dst: host, src_port: 0, dst_port: 0 };
                    ports = vec![ports[choice.index(&key, n, ports.len())]];
                }
                (!ports.is_empty()).then_some((address, ports))
            };
            let known = own.iter().chain(&real.macs);
            match t.nodes[n.index()].kind {
                NodeKind::Host => Forwarding::default(),
                NodeKind::Switch if !t.nodes[n.index()].transit => {
                    let stack = shims.iter().find(|s| s.node == n).map_or(0, |s| s.stack);
                    Forwarding::shim(stack, known.filter_map(path))
                }
                NodeKind::Switch if real.learns => {
                    Forwarding::learning(real.macs.iter().filter_map(path))
                }
                NodeKind::Switch => Forwarding::fixed(known.filter_map(path)),
            }
        })
        .collect()
}
