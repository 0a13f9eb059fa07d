//! The summary of a run: active and inactive mechanisms, why the run ended.

use xoff_mech::detection::Mark;
use xoff_net::topology::NodeKind;
use xoff_record::Verdict;
use xoff_record::verdict::Deadlock;
use xoff_sim::{Ended, Outcome};
use xoff_units::{Bytes, Loss, NodeId, Span, grouped};

use crate::network::NetworkScenario;

/// A run in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Time and reason of the end: `stopped at 20 ms (run.duration)`.
    pub ended: String,
    /// Items that have an end and did not reach it: `4 of 4 flows`.
    pub incomplete: Option<String>,
    /// Active mechanisms and their effects, one sentence each.
    pub active: Vec<String>,
    /// Mechanisms that were configured and never triggered, one sentence each.
    pub inactive: Vec<String>,
}

/// Start of a sentence about a deadlock.
const DEADLOCK: &str = "deadlock: ";
/// Sentence of a run without a deadlock.
const NO_DEADLOCK: &str = "no deadlock";

impl Summary {
    /// Mechanisms that took effect. A deadlock is part of the verdict.
    pub fn active_mechanisms(&self) -> Vec<&str> {
        self.active.iter().map(String::as_str).filter(|text| !text.starts_with(DEADLOCK)).collect()
    }

    /// Mechanisms that never triggered. The absence of a deadlock is part of the verdict.
    pub fn inactive_mechanisms(&self) -> Vec<&str> {
        self.inactive.iter().map(String::as_str).filter(|text| *text != NO_DEADLOCK).collect()
    }

    /// Summary of the events.
    pub fn of(s: &NetworkScenario, o: &Outcome, verdict: &Verdict) -> Summary {
        let incomplete = verdict.parts().work.incomplete_words();
        let mut sum = Summary { ended: ended(s, o), incomplete, ..Summary::default() };
        let total =
            |f: fn(&xoff_sim::PortTotals) -> u64| o.ports.iter().flatten().map(f).sum::<u64>();
        let (ce, ue) = (total(|p| p.marked.of(Mark::Ce)), total(|p| p.marked.of(Mark::Ue)));

        sum.flow_control(s, o, total(|p| p.messages_received));
        sum.faults(s, o);
        sum.standstill(s, o);
        sum.memory(s, o);
        let cnms = o.cnms_total();
        let cnms = cnms.ingress + cnms.egress;
        if s.model.detection.any(|d| d.sends_cnms()) {
            sum.cnms(s, o, cnms);
        } else if s.detection != "none" {
            if ue > 0 {
                sum.active.push(format!(
                    "{} marked {} frames as congested (CE), {} as undetermined (UE)",
                    s.detection,
                    grouped(ce),
                    grouped(ue)
                ));
            } else if ce > 0 {
                sum.active.push(format!("{} marked {} frames", s.detection, grouped(ce)));
            } else {
                let longest =
                    o.ports.iter().flatten().map(|p| p.egress_bytes_max).max().unwrap_or(0);
                sum.inactive.push(format!(
                    "{} marked no frame: the longest egress queue was {}",
                    s.detection,
                    Bytes(longest)
                ));
            }
        }
        if s.rate_control != "none" {
            if o.rate_changes > 0 {
                sum.active.push(format!(
                    "{} changed flow rates {} times",
                    s.rate_control,
                    grouped(o.rate_changes)
                ));
            } else {
                let why = match () {
                    _ if ce + ue == 0 && s.model.nic.rate_control.reads_marks() => {
                        ": no mark reached a receiver"
                    }
                    _ if cnms == 0 && s.model.nic.rate_control.wants_quantized() => {
                        ": no CNM was sent"
                    }
                    _ => "",
                };
                sum.inactive.push(format!("{} changed no rate{why}", s.rate_control));
            }
        }
        if s.model.nic.transport.has_timer() {
            match o.retransmission_timeouts {
                0 => sum.inactive.push("no retransmission timer expired".into()),
                n => sum.active.push(format!("retransmission timers expired {} times", grouped(n))),
            }
        }
        sum.watchdog(s, o);
        sum.links(s, o);
        for d in &o.deadlocks {
            let names: Vec<String> =
                d.cycle.iter().map(|p| s.topology.port_name(p.node, p.port)).collect();
            sum.active.push(format!(
                "{DEADLOCK}{}, at {}; {} ports are stuck",
                names.join(" waits for "),
                d.closed,
                d.stuck_ports
            ));
        }
        if verdict.parts().deadlock == Deadlock::None {
            sum.inactive.push(sum_no_deadlock(s, o));
        }
        if o.flow_collisions > 0 {
            sum.active.push(format!(
                "{} treated {} frames as those of another flow, because their numbers collide",
                s.flow_control,
                grouped(o.flow_collisions)
            ));
        }
        if o.violations_total > 0 {
            sum.active.push(format!(
                "{} checks were violated, the first: {}",
                grouped(o.violations_total),
                o.violations.first().map_or("", |v| v.what.as_str())
            ));
        }
        sum
    }

    /// Drops of lossy priorities, and the fill of the pools.
    fn memory(&mut self, s: &NetworkScenario, o: &Outcome) {
        if !s.model.lossy.is_empty() {
            let (at_ingress, at_egress) =
                (o.lost[Loss::LossyIngress].total(), o.lost[Loss::LossyEgress].total());
            let list = s.model.lossy.iter().map(u8::to_string).collect::<Vec<_>>().join(", ");
            let ports =
                || (0..o.ports.len()).flat_map(|n| (0..o.ports[n].len()).map(move |p| (n, p)));
            let worst = ports()
                .max_by_key(|&(n, p)| (o.ports[n][p].tail_dropped, std::cmp::Reverse((n, p))));
            let worst = worst.filter(|&(n, p)| o.ports[n][p].tail_dropped > 0).map_or(
                String::new(),
                |(n, p)| {
                    let most = grouped(o.ports[n][p].tail_dropped);
                    format!(
                        ", {most} of them at {}",
                        s.topology.port_name(NodeId(n as u32), p as u16)
                    )
                },
            );
            match at_ingress + at_egress {
                0 => self.inactive.push(format!("no frame of lossy priorities ({list}) was dropped")),
                n => self.active.push(format!(
                    "{} frames of lossy priorities ({list}) were dropped: {} at full egress queues{worst}; {} at full ingress buffers",
                    grouped(n),
                    grouped(at_egress),
                    grouped(at_ingress)
                )),
            }
        }
        // The switch in which each pool was fullest.
        let mut fullest: Vec<(xoff_node::PoolConfig, NodeId, xoff_sim::PoolUse)> = Vec::new();
        for (&node, uses) in &o.pools {
            for (pool, used) in s.pools_at(node).into_iter().zip(uses) {
                match fullest.iter_mut().find(|f| (&f.0.name, f.0.side) == (&pool.name, pool.side))
                {
                    None => fullest.push((pool, node, *used)),
                    Some(f)
                        if (used.shared_max, used.headroom_max)
                            > (f.2.shared_max, f.2.headroom_max) =>
                    {
                        *f = (pool, node, *used)
                    }
                    Some(_) => {}
                }
            }
        }
        for (pool, node, used) in fullest {
            let headroom = match used.headroom {
                0 => String::new(),
                all => {
                    format!(", and {} of its headroom of {}", Bytes(used.headroom_max), Bytes(all))
                }
            };
            let side = if pool.side == xoff_sim::Side::Ingress { "ingress" } else { "egress" };
            self.active.push(format!(
                "pool {} ({side}): {} used at most {} of its shared part of {}{headroom}",
                pool.name,
                s.topology.name(node),
                Bytes(used.shared_max),
                Bytes(used.shared)
            ));
        }
    }

    /// Findings of the watchdog, the first few storms by name.
    fn watchdog(&mut self, s: &NetworkScenario, o: &Outcome) {
        const NAMED: usize = 4;
        let Some(c) = s.watchdog() else { return };
        if o.storms.is_empty() {
            self.inactive.push(format!(
                "the watchdog found no storm: no queue was paused for {} (polls every {})",
                c.detect, c.poll
            ));
            return;
        }
        for storm in o.storms.iter().take(NAMED) {
            let port = s.topology.port_name(storm.node, storm.port);
            let over = storm
                .over
                .map_or("not restored before the end".to_owned(), |t| format!("restored at {t}"));
            let discarded = match storm.discarded.total() {
                0 => String::new(),
                n => format!(", {} frames discarded", grouped(n)),
            };
            self.active.push(format!(
                "watchdog ({}): {port}, priority {}, paused since {}, found at {}, {over}{discarded}",
                c.action.word(),
                storm.priority,
                storm.since,
                storm.found
            ));
        }
        if o.storms.len() > NAMED {
            self.active.push(format!(
                "watchdog: {} more storms, in the table storms",
                o.storms.len() - NAMED
            ));
        }
    }

    /// Corrupted and repeated frames of links.
    fn links(&mut self, s: &NetworkScenario, o: &Outcome) {
        let (r, lost) = (&o.retry, o.lost[Loss::OnFaultyLink] + o.lost[Loss::GivenUp]);
        if !s.model.faults.errors.is_empty()
            && lost.total() + r.corrupted.total() + r.signals_lost == 0
        {
            self.inactive.push("no link corrupted a frame".into());
        }
        if s.model.faults.link_retry.is_none() {
            return;
        }
        if r.replayed.total() + r.given_up.total() == 0 {
            self.inactive.push("links resent no frame".into());
            return;
        }
        let given_up = match r.given_up.total() {
            0 => String::new(),
            n => format!(", gave {} up (arrived or not)", grouped(n)),
        };
        let on_failed_link = match r.on_failed_link.total() {
            0 => String::new(),
            n => format!(", {} were on links that failed", grouped(n)),
        };
        self.active.push(format!(
            "links resent {} frames ({} control){given_up}: {} were corrupted, {} others arrived out of order{on_failed_link}; {} Nacks, \
             {} expired timers, {} lost signals",
            grouped(r.replayed.total()),
            grouped(r.replayed.control),
            grouped(r.corrupted.total()),
            grouped(r.discarded.total()),
            grouped(r.nacks),
            grouped(r.timeouts),
            grouped(r.signals_lost)
        ));
    }

    fn cnms(&mut self, s: &NetworkScenario, o: &Outcome, cnms: u64) {
        let ports = || o.ports.iter().flatten();
        if cnms == 0 {
            let (ingress, egress) = (
                ports().map(|p| p.ingress_bytes_max).max().unwrap_or(0),
                ports().map(|p| p.egress_bytes_max).max().unwrap_or(0),
            );
            let (ingress, egress) = (Bytes(ingress), Bytes(egress));
            self.inactive
                .push(format!("{} sent no CNM: the fullest ingress buffer had {ingress}, the longest egress queue {egress}", s.detection));
            return;
        }
        let (at_ingress, at_egress) = (
            o.cnms.values().filter(|n| n.ingress > 0).count(),
            o.cnms.values().filter(|n| n.egress > 0).count(),
        );
        let (mut received, mut most) = (0u64, 0);
        for cnms in o.all_flows().map(|f| f.cnms).filter(|&n| n > 0) {
            received += 1;
            most = cnms.max(most);
        }
        self.active.push(format!(
            "{} sent {} CNMs, from {at_ingress} ingress buffers and {at_egress} egress queues; {} flows received any, at most {} each",
            s.detection,
            grouped(cnms),
            grouped(received),
            grouped(most)
        ));
    }

    /// Frames that found a buffer full although their flow control promises room for them: it sent
    /// at its lowest rate.
    fn standstill(&mut self, s: &NetworkScenario, o: &Outcome) {
        if o.lost[Loss::BufferFull].data == 0 {
            return;
        }
        for (link, stop) in
            s.links().iter().filter_map(|(link, fc)| Some((link, fc.standstill(link)?)))
        {
            self.active.push(format!(
                "{} never pauses: {} links keep sending {} into a blocked buffer, which has room for {} of that",
                s.flow_control,
                link.rate,
                stop.lowest,
                stop.longest(link.buffer)
            ));
        }
    }

    fn flow_control(&mut self, s: &NetworkScenario, o: &Outcome, messages: u64) {
        if s.flow_control == "none" {
            return;
        }
        // The fullest ingress of any switch, and the rate its sender was allowed at worst.
        let fullest = (0..o.ports.len())
            .filter(|&n| s.topology.nodes[n].kind == NodeKind::Switch)
            .flat_map(|n| (0..o.ports[n].len()).map(move |p| (n, p)))
            .max_by_key(|&(n, p)| (o.ports[n][p].ingress_bytes_max, std::cmp::Reverse((n, p))));
        let peak = fullest.map_or_else(String::new, |(n, p)| {
            let peer = s.topology.nodes[n].ports[p];
            format!(
                "fullest ingress {}, {}",
                s.topology.port_name(peer.peer, peer.peer_port),
                Bytes(o.ports[n][p].ingress_bytes_max)
            )
        });
        // Each port is compared with its own link: a rate that slows a fast link may be far above
        // the rate of the slowest one.
        let line =
            |n: usize, p: usize| s.topology.links[s.topology.nodes[n].ports[p].link as usize].rate;
        let slowed = (0..o.ports.len())
            .flat_map(|n| o.ports[n].iter().enumerate().map(move |(p, t)| (n, p, t.allowed_min)))
            .filter_map(|(n, p, allowed)| allowed.filter(|&r| r < line(n, p)))
            .min();
        let sum =
            |f: fn(&xoff_sim::PortTotals) -> u64| o.ports.iter().flatten().map(f).sum::<u64>();
        let (any, messages) = (messages > 0, grouped(messages));
        let worst = |f: fn(&xoff_sim::PortTotals) -> u64| {
            Span(o.ports.iter().flatten().map(f).max().unwrap_or(0))
        };
        let (pauses, holds) = (sum(|p| p.pauses), sum(|p| p.blocks));
        if pauses > 0 {
            let longest = worst(|p| p.paused_ps);
            self.active.push(format!(
                "{} paused ports {} times, one of them for {longest} in total ({messages} messages; {peak})",
                s.flow_control,
                grouped(pauses),
            ));
        } else if holds > 0 {
            let longest = worst(|p| p.blocked_ps);
            self.active.push(format!(
                "{} blocked frames {} times, at one port for {longest} in total ({messages} messages; {peak})",
                s.flow_control,
                grouped(holds),
            ));
        } else if let Some(lowest) = slowed {
            self.active.push(format!(
                "{} slowed ports down to {lowest} ({messages} messages; {peak})",
                s.flow_control
            ));
        } else if any && s.links().iter().any(|(_, fc)| fc.per_flow()) {
            self.active.push(format!(
                "{} paused single flows, and no whole port ({messages} messages; {peak})",
                s.flow_control
            ));
        } else {
            self.inactive
                .push(format!("{} paused nothing ({messages} messages; {peak})", s.flow_control));
        }
    }
}

fn sum_no_deadlock(s: &NetworkScenario, o: &Outcome) -> String {
    let slowest = o
        .ports
        .iter()
        .enumerate()
        .flat_map(|(n, ports)| ports.iter().enumerate().map(move |(p, t)| (n, p, t)))
        .filter_map(|(n, p, t)| t.allowed_min.map(|r| (r, n, p)))
        .filter(|(r, ..)| r.0 > 0)
        .min();
    match slowest {
        Some((rate, n, p)) if rate.0 < 1_000_000 => {
            format!(
                "{NO_DEADLOCK}, but slow progress: {} was slowed down to {rate}",
                s.topology.port_name(NodeId(n as u32), p as u16)
            )
        }
        _ => NO_DEADLOCK.into(),
    }
}

fn ended(s: &NetworkScenario, o: &Outcome) -> String {
    match o.ended {
        Ended::TimeUp => format!("stopped at {} (run.duration)", o.now),
        Ended::Quiet => format!("ended at {}: no event was left", o.now),
        Ended::FlowsDone => {
            let flows = match o.flows_total() {
                1 => "the flow".into(),
                n => format!("all {} flows", grouped(n)),
            };
            let (jobs, are) = match (o.ranks.len(), o.flows_total()) {
                (0, 1) => ("", "is"),
                (0, _) => ("", "are"),
                (1, _) => (" and the job", "are"),
                (_, _) => (" and all jobs", "are"),
            };
            format!("ended at {}: {flows}{jobs} {are} complete", o.now)
        }
        Ended::Deadlock => format!("stopped at {}: deadlock (run.stop_on_deadlock)", o.now),
        Ended::Interrupted => format!("interrupted at {} of {}", o.now, s.until),
        Ended::RecorderFailed => format!("failed at {}: the tables could not be written", o.now),
    }
}
