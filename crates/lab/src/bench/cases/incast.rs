//! Section 7.2: PFC under N:1 incast.

use super::{Case, Kpi, Prepared, Test, Values, each_case, plain, rate, share, time};
use crate::bench::dut::Dut;
use crate::bench::seen::{Seen, jain};
use crate::bench::text::{list, quoted};

/// Payload of each sender [bytes].
const SIZE: u64 = 1_000_000;
/// Senders, as in the draft.
const SENDERS: [usize; 6] = [2, 4, 8, 16, 32, 64];
/// Hosts besides the senders: the receiver, and both ends of the victim.
const OTHERS: usize = 3;

pub(super) static TEST: Test = Test {
    id: "incast",
    sections: "7.2",
    title: "PFC behavior under incast",
    definition: "N hosts send 1 MB each to one host at line rate, all at once. Loss must be 0. Goodput is N times 1 MB over the time until the last byte arrived. A victim flow from another host to a neighbour of the receiver has as much to send as the receiver gets; its slowdown is its time over its time alone, and shows head-of-line blocking.",
    labels: &["N"],
    kpis: &KPIS,
    excuses_loss: false,
    prepare,
};

static KPIS: [Kpi; 9] = [
    rate(
        "goodput_bps",
        "Goodput",
        "payload that arrived at the receiver, over the time of the incast",
    ),
    share(
        "efficiency",
        "Of line rate",
        "goodput over the payload that the link of the receiver carries",
    ),
    plain("jfi", "Jain", "Jain's index of the mean rates of the senders"),
    plain("lost_frames", "Lost", "frames that did not arrive"),
    plain("pauses_per_s", "PAUSE/s", "pauses of all ports over the time of the incast"),
    time(
        "paused_max_ps",
        "Longest pause",
        "time paused (with credits: blocked), of the port with most of it",
    ),
    plain("hosts_paused", "Hosts paused", "hosts that flow control stopped at some time"),
    time(
        "onset_ps",
        "Storm onset",
        "first pause of a host that does not send to the receiver; none: pauses did not spread",
    ),
    plain("victim", "Victim slowdown", "time of the victim flow over its time alone"),
];

fn prepare(dut: &Dut) -> Prepared {
    if dut.scenario.flow_control == "none" {
        return Prepared::NotApplicable("the scenario has no flow control".into());
    }
    let n = dut.hosts.len();
    if n < OTHERS + SENDERS[0] {
        return Prepared::NotApplicable(format!(
            "an incast with a victim takes {} hosts",
            OTHERS + SENDERS[0]
        ));
    }
    // The receiver is the last host; the victim goes to its neighbour, from the host that is first.
    let (receiver, neighbour, victim) = (n - 1, n - 2, 0);
    let own = dut.racks.last().map_or(0, |r| r[0]);
    // Other leaves first, one host of each after the other.
    let deepest = dut.racks.iter().map(Vec::len).max().unwrap_or(0);
    let far = (0..deepest).flat_map(|i| dut.racks.iter().filter_map(move |r| r.get(i).copied()));
    let (mut senders, near): (Vec<usize>, Vec<usize>) =
        far.filter(|h| ![receiver, neighbour, victim].contains(h)).partition(|&h| h < own);
    senders.extend(near);
    let cases: Vec<Case> = SENDERS
        .into_iter()
        .filter(|&n| n <= senders.len())
        .map(|n| case(dut, &senders[..n], (receiver, neighbour, victim)))
        .collect();
    let left_out: Vec<String> = SENDERS[cases.len()..].iter().map(usize::to_string).collect();
    let deviations = if left_out.is_empty() {
        Vec::new()
    } else {
        vec![format!("N = {}: the network has too few hosts.", left_out.join(", "))]
    };
    Prepared::Cases { cases, rows: each_case, notes: Vec::new(), deviations }
}

fn case(
    dut: &Dut,
    senders: &[usize],
    (receiver, neighbour, victim): (usize, usize, usize),
) -> Case {
    let n = senders.len();
    let total = n as u64 * SIZE;
    let alone = dut.wire_ps(total) / dut.payload_share();
    let duration = dut.slack_ps() + (alone * 20.0) as u64;
    let mut text = dut.text(&format!("Incast {n}:1 with a victim"), duration, true);
    text.add(
        "workload",
        [
            ("kind", quoted("incast")),
            ("receiver", quoted(&dut.hosts[receiver])),
            ("senders", list(senders.iter().map(|&h| dut.hosts[h].as_str()))),
            ("size", format!("\"{SIZE}B\"")),
            ("priority", dut.priority.to_string()),
        ],
    );
    text.add(
        "flow",
        [
            ("src", quoted(&dut.hosts[victim])),
            ("dst", quoted(&dut.hosts[neighbour])),
            ("size", format!("\"{total}B\"")),
            ("priority", dut.priority.to_string()),
        ],
    );
    text.set("probes", "pauses", list(["all"]));
    let of_hosts = |hosts: &mut dyn Iterator<Item = usize>| -> Vec<String> {
        hosts.map(|h| format!("{}->", dut.hosts[h])).collect()
    };
    let all = of_hosts(&mut (0..dut.hosts.len()));
    let innocent = of_hosts(&mut (0..dut.hosts.len()).filter(|h| !senders.contains(h)));
    let line = dut.rate * dut.payload_share();
    let to = dut.hosts[victim].clone();
    Case {
        labels: vec![n.to_string()],
        name: format!("incast-{n}"),
        text: text.write(&format!(
            "Section 7.2 of draft-calabria-bmwg-ai-fabric-training-bench-02, N = {n}: written by xoff bench-fabric.\nThe last flow is the victim."
        )),
        measure: Box::new(move |seen| measure(seen, total, line, (&all, &innocent, &to))),
    }
}

fn measure(
    seen: &Seen<'_>,
    total: u64,
    line: f64,
    (hosts, innocent, victim): (&[String], &[String], &str),
) -> Values {
    let flows = seen.flows();
    let (own, others): (Vec<_>, Vec<_>) = flows.iter().partition(|f| f.src != victim);
    let end = own.iter().map(|f| f.end).try_fold(0, |a, end| end.map(|e| a.max(e)));
    let goodput = end.map_or(f64::NAN, |end| total as f64 * 8e12 / end as f64);
    let rates: Vec<f64> =
        own.iter().filter_map(|f| Some(f.size as f64 / (f.end? - f.start) as f64)).collect();
    let ports = seen.ports();
    let of = |names: &[String], port: &str| names.iter().any(|h| port.starts_with(h.as_str()));
    let stopped = |p: &&crate::bench::seen::Port| of(hosts, &p.name) && p.paused.max(p.blocked) > 0;
    let pauses: u64 = ports.iter().map(|p| p.pauses).sum();
    let (port, start) = (seen.texts("pauses", "port"), seen.numbers("pauses", "start_ps"));
    let onset = (0..port.len()).filter(|&i| of(innocent, &port[i])).filter_map(|i| start[i]).min();
    vec![
        ("goodput_bps", goodput),
        ("efficiency", goodput / line),
        ("jfi", jain(&rates)),
        ("lost_frames", seen.0.manifest.lost_frames as f64),
        ("pauses_per_s", end.map_or(f64::NAN, |end| pauses as f64 * 1e12 / end as f64)),
        ("paused_max_ps", ports.iter().map(|p| p.paused.max(p.blocked)).max().unwrap_or(0) as f64),
        ("hosts_paused", ports.iter().filter(stopped).count() as f64),
        ("onset_ps", onset.map_or(f64::NAN, |t| t as f64)),
        ("victim", others.first().map_or(f64::NAN, |f| f.slowdown)),
    ]
}
