//! Closed loops: how many flows of a host are open, and when its next one starts.

use std::collections::BTreeMap;
use std::path::Path;

use xoff_record::Sink;
use xoff_run::NetworkScenario;
use xoff_sim::FlowRecord;
use xoff_units::{NodeId, Span, Time};

/// 9 hosts below 3 leaves under 2 spines, links of 1 us: four of them between any two hosts of
/// different leaves.
fn flows(acks: &str, concurrency: u64, next_after: &str) -> BTreeMap<NodeId, Vec<FlowRecord>> {
    let next_after = if next_after.is_empty() {
        String::new()
    } else {
        format!("next_after = \"{next_after}\"\n")
    };
    let text = format!(
        "[run]\nduration = \"3ms\"\nwatch = \"0us\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts_per_leaf = 3\ndelay = \"1us\"\n\
         [flow_control]\nkind = \"pfc\"\n[host]\nacks = \"{acks}\"\n[[workload]]\nkind = \"closed-loop\"\nconcurrency = {concurrency}\nsize = \"30KB\"\n{next_after}"
    );
    let s = NetworkScenario::from_text("loop.toml", &text, &[], Path::new("."))
        .unwrap_or_else(|e| panic!("{e}"));
    let f = s.run(Sink::Nothing).unwrap();
    assert_eq!(f.outcome.violations, []);
    let mut by_host: BTreeMap<NodeId, Vec<FlowRecord>> = BTreeMap::new();
    f.outcome.flows.into_iter().for_each(|f| by_host.entry(f.flow.src).or_default().push(f));
    assert_eq!(by_host.len(), 9);
    by_host
}

/// The most flows of a host that are open at once, delivery being the end.
fn most_open(flows: &[FlowRecord]) -> i64 {
    let ends = flows.iter().map(|f| (f.received.unwrap_or(Time::NEVER), -1));
    let mut changes: Vec<(Time, i64)> =
        flows.iter().map(|f| (f.flow.start, 1)).chain(ends).collect();
    changes.sort();
    let (mut open, mut most) = (0, 0);
    for (_, change) in changes {
        open += change;
        most = most.max(open);
    }
    most
}

/// A flow with its successor, and the start of the successor, for one flow at a time.
fn successions(
    flows: &BTreeMap<NodeId, Vec<FlowRecord>>,
) -> impl Iterator<Item = (&FlowRecord, Time)> {
    flows.values().flat_map(|f| f.windows(2).map(|w| (&w[0], w[1].flow.start)))
}

/// As it was, up to 18 flows of a host were open where one was asked for: the next one started when
/// the last frame had left.
#[test]
fn a_loop_is_closed_on_delivery() {
    for concurrency in [1, 3] {
        let f = flows("none", concurrency, "");
        assert!(
            f.values().all(|f| most_open(f) == concurrency as i64),
            "{:?}",
            f.values().map(|f| most_open(f)).collect::<Vec<_>>()
        );
    }
    let f = flows("none", 1, "delivery");
    assert!(successions(&f).count() > 100);
    for (before, next) in successions(&f) {
        assert_eq!(next, before.received.unwrap() + Span::from_us(4), "news cross four links");
    }
}

#[test]
fn acknowledgements_close_a_loop_where_there_are_any() {
    let f = flows("per-frame", 1, "");
    assert!(f.values().all(|f| most_open(f) == 1) && successions(&f).count() > 100);
    for (before, next) in successions(&f) {
        assert_eq!(Some(next), before.acked());
    }
}

#[test]
fn a_loop_may_go_on_when_the_last_frame_has_left() {
    for acks in ["none", "per-frame"] {
        let f = flows(acks, 1, "sent");
        for (before, next) in successions(&f) {
            assert_eq!(Some(next), before.all_sent);
        }
        assert!(f.values().any(|f| most_open(f) > 3), "they pile up behind pauses");
    }
}
