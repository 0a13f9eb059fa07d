//! Number of flows that are active at once, where flow control limits each flow but not their sum.
//!
//! ```text
//!   flows of a host and priority share its link equally     as if the network were empty: congestion only makes them last longer
//!   sum of min(size, limit of one flow) > B                 their frames may be lost where they wait, be every link without errors
//! ```

use std::collections::{BTreeMap, BinaryHeap};

use xoff_mech::LinkFacts;
use xoff_mech::flow_control::FlowControl;
use xoff_net::topology::Topology;
use xoff_net::workload::{Flow, Flows, UNLIMITED};
use xoff_scenario::{Problem, Problems};
use xoff_units::{Bytes, Rate, Time};

/// The most that is under way at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Peak {
    /// Bytes that the flows may hold together.
    held: u64,
    flows: u64,
}

/// Peak of flows that share a link, in the order of their starts; `each`: limit of a flow [bytes].
fn peak(flows: &[&Flow], rate: Rate, each: u64) -> Peak {
    let per_ps = rate.0 as f64 / 8e12;
    // Service of each flow since the beginning [bytes]; the ends of flows under way, by service.
    let (mut served, mut now, mut at) = (0.0f64, Time::ZERO, Peak::default());
    let mut ends: BinaryHeap<std::cmp::Reverse<(u64, u64)>> = BinaryHeap::new();
    let mut most = at;
    for f in flows {
        while let Some(&std::cmp::Reverse((end, held))) = ends.peek() {
            let share = per_ps / ends.len() as f64;
            let left = (end as f64 - served).max(0.0) / share;
            if end == u64::MAX || left > f.start.since(now).0 as f64 {
                served += f.start.since(now).0 as f64 * share;
                break;
            }
            (served, now) = (end as f64, Time(now.0 + left as u64));
            ends.pop();
            at = Peak { held: at.held - held, flows: at.flows - 1 };
        }
        now = now.max(f.start);
        let (end, held) = match f.size {
            UNLIMITED => (u64::MAX, each),
            size => ((served as u64).saturating_add(size), size.min(each)),
        };
        ends.push(std::cmp::Reverse((end, held)));
        at = Peak { held: at.held + held, flows: at.flows + 1 };
        most = most.max(at);
    }
    most
}

/// Warns of a host whose flows may hold more at once than a buffer has.
pub(super) fn warn(
    name: &str,
    topology: &Topology,
    flows: &Flows,
    links: &[(LinkFacts, FlowControl)],
    warnings: &mut Problems,
) {
    if !links.iter().any(|(_, fc)| fc.per_flow()) {
        return;
    }
    let planned = xoff_analysis::plan::unplanned().all(|(n, _)| n != name);
    let mut by_source: BTreeMap<(u32, u8), Vec<&Flow>> = BTreeMap::new();
    for f in flows.flows.iter().filter(|f| f.start != Time::NEVER) {
        by_source.entry((f.src, f.priority)).or_default().push(f);
    }
    let of = |(&(host, priority), flows): (&(u32, u8), &Vec<&Flow>)| {
        // All of them may leave by one port: the fastest.
        let link = topology.links_at(host).max_by_key(|l| l.rate)?;
        let (facts, fc) =
            links.iter().find(|(facts, _)| (facts.rate, facts.delay) == (link.rate, link.delay))?;
        let each = fc.flow_bytes(facts)?;
        let most = peak(flows, link.rate, each.0);
        // For flows that never end, the plan of the mechanism warns, if there is one, and states
        // the requirement.
        let endless = flows.iter().filter(|f| f.size == UNLIMITED).count() as u64;
        let stated = planned && endless.saturating_mul(each.0) > facts.buffer.0;
        (most.held > facts.buffer.0 && !stated).then_some((
            most,
            std::cmp::Reverse((host, priority)),
            each,
            facts.buffer,
        ))
    };
    let Some((most, std::cmp::Reverse((host, priority)), each, buffer)) =
        by_source.iter().filter_map(of).max_by_key(|f| (f.0, f.1))
    else {
        return;
    };
    let what = format!(
        "{name} limits each flow, not their sum: {} flows of {}, priority {priority}, are active at once and may queue {} (at most \
         {each} each), more than a buffer of {buffer}: frames may be lost",
        most.flows,
        topology.name(host),
        Bytes(most.held)
    );
    warnings.push(
        Problem::new(what, "enlarge switch.buffer, use fewer or shorter flows at once, or choose a flow control that pauses priorities")
            .warning(),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(start_us: u64, size: u64) -> Flow {
        let start = Time::from_us(start_us);
        Flow {
            src: 0,
            dst: 1,
            priority: 0,
            size,
            start,
            rate: None,
            controlled: true,
            src_port: 0,
            dst_port: 0,
            path: None,
            label: 0,
        }
    }

    /// 10 Gb/s are 1250 B in a microsecond: two flows of 12.5 KB that begin together take 20 us,
    /// and a third of 1250 B in the middle 3 us.
    #[test]
    fn flows_share_a_link_and_leave_it() {
        let all = |flows: &[Flow], each| {
            peak(&flows.iter().collect::<Vec<_>>(), Rate::from_gbps(10), each)
        };
        assert_eq!(
            all(&[flow(0, 12_500), flow(0, 12_500), flow(25, 12_500)], 5_000),
            Peak { held: 10_000, flows: 2 }
        );
        assert_eq!(
            all(&[flow(0, 12_500), flow(0, 12_500), flow(19, 1_250)], 5_000),
            Peak { held: 11_250, flows: 3 }
        );
        assert_eq!(
            all(&[flow(0, UNLIMITED), flow(0, 1_250), flow(3, 1_250)], 5_000),
            Peak { held: 6_250, flows: 2 }
        );
        assert_eq!(
            all(&[flow(0, UNLIMITED), flow(0, 1_250), flow(1, 1_250)], 5_000),
            Peak { held: 7_500, flows: 3 }
        );
    }
}
