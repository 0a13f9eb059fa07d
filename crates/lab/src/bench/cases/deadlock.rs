//! Section 7.4: storms of pauses, and deadlocks under the traffic that the routes allow.

use xoff_analysis::cbd::{self, Cycle, Rule, Spread, Traffic};
use xoff_net::topology::failures::is_fabric_link;

use super::{
    Case, Kpi, Measured, Prepared, Row, Test, Values, each_case, over, plain, share, time,
};
use crate::bench::dut::{self, Dut};
use crate::bench::seen::Seen;
use crate::bench::text::{list, quoted};

/// Time of a run [ps].
const DURATION: u64 = 10_000_000_000;
/// Begin of the storm [ps].
const STORM: u64 = 1_000_000_000;
/// Sets of failed links of one size that are examined.
const SETS_MAX: u64 = 20_000;
/// Links that fail at once, at most.
const FAILURES: usize = 2;
/// Links between switches that fail one by one where each failure is a search of its own.
const LINKS_MAX: usize = 100;
/// Longest pause of PFC, 65,535 quanta of 512 bit times, 802.1Q clause 36 [bits].
const PAUSE_BITS: f64 = 65_535.0 * 512.0;

pub(super) static TEST: Test = Test {
    id: "deadlock",
    sections: "7.4",
    title: "PFC storm and deadlock resilience",
    definition: "Deadlock: the draft asks for \"traffic patterns known to cause\" them. Here a pattern is constructed: the shortest cycle of buffers that wait for each other among all routes that the rule allows, now, else of the scenario's own flows, else after the failure of one or two links (as xoff check finds it), and one endless flow for each dependency that no flow before it closes. The second pattern also fills the links to its receivers from their neighbours. Storm: the last host sends pauses without end from 1 ms on, while every host sends to the one half of all further on.",
    labels: &["Pattern", "Failed links"],
    kpis: &KPIS,
    excuses_loss: false,
    prepare,
};

static KPIS: [Kpi; 6] = [
    share("deadlock", "Deadlock", "share of runs with a deadlock"),
    time("deadlock_ps", "After", "time at which the cycle closed"),
    plain("flows", "Flows", "flows of the pattern"),
    share(
        "kept",
        "Others keep",
        "storm: payload that arrives at other hosts, over that without the storm",
    ),
    plain("watchdog", "Watchdog", "queues that a watchdog released"),
    plain("lost_frames", "Lost", "frames that did not arrive"),
];

fn prepare(dut: &Dut) -> Prepared {
    if dut.scenario.flow_control == "none" {
        return Prepared::NotApplicable("the scenario has no flow control".into());
    }
    let mut notes = Vec::new();
    let mut cases = Vec::new();
    match adversary(dut) {
        Ok(Adversary { cycle, failed, shown }) => {
            let after = match failed.is_empty() {
                true => String::new(),
                false => format!(" after the failure of {}", failed.join(" and ")),
            };
            notes.push(format!("Cycle{after}: {}. Shown by: {shown}.", cycle.links.join(", ")));
            let (bare, flows) = pattern(dut, &cycle, &failed, false);
            let (filled, more) = pattern(dut, &cycle, &failed, true);
            cases.push(bare);
            cases.extend((more > flows).then_some(filled));
        }
        Err(why) => notes.push(why),
    }
    cases.extend([storm(dut, false), storm(dut, true)]);
    if dut.parameter("watchdog.kind").is_empty() || dut.parameter("watchdog.kind") == "none" {
        notes.push("The scenario has no watchdog ([watchdog]).".into());
    }
    Prepared::Cases {
        cases,
        rows,
        notes,
        deviations: vec!["7.4: 10 ms of simulated time, not 300 s.".into()],
    }
}

/// The rule of the scenario, with every choice that its hashes might make.
fn rule(dut: &Dut) -> Rule {
    let rule = Rule::of(&dut.scenario.routing(), dut.scenario.balances());
    match rule.spread {
        Spread::Chosen(c) if c.is_per_destination() => rule,
        _ => Rule { spread: Spread::All, ..rule },
    }
}

/// Name for `--routing`.
fn rule_name(rule: &Rule) -> &'static str {
    let same = |name: &&&str| {
        Rule::named(name, 1).is_ok_and(|r| r.paths == rule.paths && r.spread == rule.spread)
    };
    Rule::NAMES.iter().find(same).copied().unwrap_or("all-paths")
}

/// A cycle that flows can close.
struct Adversary {
    cycle: Cycle,
    /// Links that fail before.
    failed: Vec<String>,
    /// The command that shows it.
    shown: String,
}

/// The shortest cycle of the routes, after as few failures as possible, else that of the scenario's
/// own flows; or why there is none.
fn adversary(dut: &Dut) -> Result<Adversary, String> {
    let (t, rule) = (dut.topology(), rule(dut));
    let command = format!("xoff check {}", dut.file.display());
    let of_rule = format!("--all-pairs --routing {}", rule_name(&rule));
    if let Some(cycle) = cbd::check(t, &rule, Traffic::AllPairs).cycle {
        return Ok(Adversary { cycle, failed: Vec::new(), shown: format!("{command} {of_rule}") });
    }
    let flows = &dut.scenario.flows;
    let own: Vec<cbd::Flow> = flows
        .flows
        .iter()
        .map(|f| cbd::Flow { key: f.into(), path: f.path })
        .filter(|_| flows.loops.is_empty())
        .collect();
    let traffic = Traffic::Flows { flows: &own, paths: &flows.paths };
    if let Some(cycle) = cbd::check(t, &rule, traffic).cycle.filter(|_| !own.is_empty()) {
        return Ok(Adversary { cycle, failed: Vec::new(), shown: command });
    }
    let links = (0..t.links.len() as u32)
        .filter(|&l| t.links[l as usize].up && is_fabric_link(t, l))
        .count();
    let none = "No cycle of buffers among all routes";
    if links == 0 {
        return Err(format!("{none}: no link joins two switches. No traffic can deadlock."));
    }
    if !cbd::is_incremental(&rule, Traffic::AllPairs) && links > LINKS_MAX {
        return Err(format!(
            "{none}: no traffic can deadlock. Failures are not examined, because each takes a search of the whole network: {command} {of_rule} --fail-any 1."
        ));
    }
    let study = cbd::fail_any(t, &rule, Traffic::AllPairs, FAILURES, SETS_MAX, 1, &|| true);
    let smallest = study
        .cyclic
        .into_iter()
        .min_by_key(|s| (s.links.len(), s.cycle.closed_by.len(), s.links.clone()));
    let Some(s) = smallest else {
        let sampled = if study.sampled { " (a sample of the pairs)" } else { "" };
        return Err(format!(
            "{none}, and none after the failure of one or two of the {links} links between switches{sampled}: no traffic can deadlock there. Shown by: {command} {of_rule} --fail-any {FAILURES}."
        ));
    };
    let failed: String = s.links.iter().map(|l| format!(" --fail {l}")).collect();
    let shown = format!("{command}{failed} {of_rule}");
    Ok(Adversary { cycle: s.cycle, failed: s.links, shown })
}

/// The case, and its number of flows.
fn pattern(dut: &Dut, cycle: &Cycle, failed: &[String], filled: bool) -> (Case, usize) {
    let mut flows: Vec<&[String]> = Vec::new();
    for closing in &cycle.closed_by {
        if !flows.contains(&closing.path.as_slice()) {
            flows.push(&closing.path);
        }
    }
    let mut pairs: Vec<(String, String, Option<&[String]>)> =
        flows.iter().map(|p| (p[0].clone(), p[p.len() - 1].clone(), Some(*p))).collect();
    if filled {
        for path in &flows {
            let to = &path[path.len() - 1];
            let at = dut.hosts.iter().position(|h| h == to);
            let rack = dut.racks.iter().find(|r| at.is_some_and(|at| r.contains(&at)));
            let sends = |h: &&usize| pairs.iter().all(|(src, ..)| *src != dut.hosts[**h]);
            let own = rack.into_iter().flatten().filter(|&&h| dut.hosts[h] != *to);
            if let Some(&neighbour) = own.filter(sends).collect::<Vec<_>>().first() {
                pairs.push((dut.hosts[*neighbour].clone(), to.clone(), None));
            }
        }
    }
    let title =
        if filled { "A cycle of buffers, its receivers full" } else { "A cycle of buffers" };
    let mut text = dut.text(title, DURATION, false);
    if !failed.is_empty() {
        // Links that the scenario has failed are failed here, too.
        let own: Vec<String> = text
            .get("failures", "links")
            .and_then(|links| serde_json::from_str(links).ok())
            .unwrap_or_default();
        let all = own.iter().chain(failed).map(String::as_str);
        text.set("failures", "links", list(all));
    }
    for (src, dst, path) in &pairs {
        let mut values = vec![
            ("src", quoted(src)),
            ("dst", quoted(dst)),
            ("priority", dut.priority.to_string()),
        ];
        values.extend(path.map(|p| ("path", list(p.iter().map(String::as_str)))));
        text.add("flow", values);
    }
    let n = pairs.len();
    let (label, name) = if filled { ("cycle, filled", "filled") } else { ("cycle", "cycle") };
    let case = Case {
        labels: vec![label.into(), failed.join(" ")],
        name: format!("deadlock-{name}"),
        text: text.write(&format!(
            "Section 7.4 of draft-calabria-bmwg-ai-fabric-training-bench-02: written by xoff bench-fabric.\nThe paths close the cycle {}.",
            cycle.links.join(", ")
        )),
        measure: Box::new(move |seen| measure(seen, n, None)),
    };
    (case, n)
}

fn storm(dut: &Dut, on: bool) -> Case {
    let broken = dut.hosts.last().expect("it has hosts").clone();
    let title = if on { "A host that pauses its switch" } else { "The same without the storm" };
    let mut text = dut.text(title, DURATION, false);
    let shifted = dut.shifted();
    for &(src, dst) in &shifted {
        text.add(
            "flow",
            [
                ("src", quoted(&dut.hosts[src])),
                ("dst", quoted(&dut.hosts[dst])),
                ("priority", dut.priority.to_string()),
            ],
        );
    }
    if on {
        text.add(
            "pause_storm",
            [
                ("host", quoted(&broken)),
                ("priority", dut.priority.to_string()),
                ("start", dut::time(STORM)),
                (
                    "interval",
                    dut::time((PAUSE_BITS / 2.0 * 1e6 / dut.rate).floor() as u64 * 1_000_000),
                ),
            ],
        );
    }
    let others: Vec<u64> = (0u64..)
        .zip(&shifted)
        .filter(|(_, (_, dst))| dut.hosts[*dst] != broken)
        .map(|f| f.0)
        .collect();
    let (label, name) = if on { ("storm", "storm") } else { ("no storm", "calm") };
    let n = shifted.len();
    Case {
        labels: vec![label.into(), String::new()],
        name: format!("deadlock-{name}"),
        text: text.write(
            "Section 7.4 of draft-calabria-bmwg-ai-fabric-training-bench-02: written by xoff bench-fabric.",
        ),
        measure: Box::new(move |seen| measure(seen, n, Some(&others))),
    }
}

fn measure(seen: &Seen<'_>, flows: usize, others: Option<&[u64]>) -> Values {
    let start = seen.numbers("deadlocks", "start_ps").into_iter().flatten().min();
    let arrived = |of: &[u64]| -> u64 {
        seen.flows().iter().filter(|f| of.contains(&f.flow)).map(|f| f.delivered).sum()
    };
    vec![
        ("deadlock", f64::from(u8::from(start.is_some()))),
        ("deadlock_ps", start.map_or(f64::NAN, |t| t as f64)),
        ("flows", flows as f64),
        ("arrived", others.map_or(f64::NAN, |of| arrived(of) as f64)),
        ("watchdog", seen.numbers("storms", "start_ps").len() as f64),
        ("lost_frames", seen.0.manifest.lost_frames as f64),
    ]
}

/// The run without a storm is the measure of the one with it.
fn rows(kpis: &[Kpi], cases: &[Measured<'_>]) -> Vec<Row> {
    let named = |name: &str| cases.iter().find(|m| m.case.name == name);
    let kept = named("deadlock-storm")
        .zip(named("deadlock-calm"))
        .map(|(storm, calm)| over(&storm.values("arrived"), &calm.values("arrived")));
    let mut rows = each_case(kpis, cases);
    rows.retain(|r| r.labels[0] != "no storm");
    let at = kpis.iter().position(|k| k.name == "kept").expect("an indicator of this test");
    if let (Some(row), Some(kept)) = (rows.iter_mut().find(|r| r.labels[0] == "storm"), kept) {
        row.values[at] = kept;
    }
    rows
}
