//! The answer of `check`.

use serde::Serialize;
use xoff_analysis::cbd::{Cycle, FailureStudy, Report, Verdict};
use xoff_topology::Topology;
use xoff_topology::failures::link_name;

use crate::terminal::{self, counted, grouped};

/// Sets of failures in the table; JSON has all.
const ROWS_MAX: usize = 20;

/// The JSON answer.
#[derive(Serialize)]
pub struct Checked<'a> {
    topology: &'a str,
    hosts: usize,
    switches: usize,
    links: usize,
    failed_links: Vec<String>,
    routing: &'a str,
    /// `None`: all pairs of hosts.
    flows: Option<usize>,
    #[serde(flatten)]
    report: &'a Report,
    /// `None`: not asked, or there is a cycle already.
    failures: Option<&'a FailureStudy>,
}

impl<'a> Checked<'a> {
    /// Puts it together.
    pub fn new(
        name: &'a str,
        t: &Topology,
        routing: &'a str,
        flows: Option<usize>,
        report: &'a Report,
        failures: Option<&'a FailureStudy>,
    ) -> Self {
        let failed_links = (0..t.links.len() as u32).filter(|&l| !t.links[l as usize].up).map(|l| link_name(t, l)).collect();
        Checked {
            topology: name,
            hosts: t.hosts().count(),
            switches: t.switches().count(),
            links: t.links.len(),
            failed_links,
            routing,
            flows,
            report,
            failures,
        }
    }
}

/// The answer for people.
pub fn text(c: &Checked<'_>) -> String {
    let r = c.report;
    let mut out = String::new();
    out += &match &r.cycle {
        None => terminal::good("No cycle: under these routes no deadlock can form."),
        Some(cycle) => terminal::bad(&format!("A cycle of {} buffers: a deadlock can form.", cycle.links.len())),
    };
    out += "\n\n";
    let mut t = terminal::pairs();
    let mut row = |name: &str, value: String| {
        t.add_row([name, &value]);
    };
    let size = [counted(c.hosts as u64, "host"), plural(c.switches, "switch", "switches"), counted(c.links as u64, "link")];
    row("Topology", format!("{}: {}", c.topology, size.join(", ")));
    if !c.failed_links.is_empty() {
        row("Failed", c.failed_links.join(", "));
    }
    row("Routing", c.routing.to_owned());
    row("Traffic", c.flows.map_or("all pairs of hosts".into(), |n| counted(n as u64, "flow")));
    row("Buffers", format!("{} between switches, {}", grouped(r.buffers as u64), plural(r.dependencies, "dependency", "dependencies")));
    if r.verdict == Verdict::Cyclic {
        let sets = counted(r.cyclic_components as u64, "set");
        row("In cycles", format!("{} in {sets} that all depend on each other", counted(r.cyclic_buffers as u64, "buffer")));
    }
    if r.unrouted > 0 {
        row("Unrouted", format!("{} without a path took no part", counted(r.unrouted, if c.flows.is_some() { "flow" } else { "pair" })));
    }
    out += &terminal::draw(&t);
    r.cycle.iter().for_each(|cycle| out += &witness(cycle));
    c.failures.iter().for_each(|s| out += &failures(s));
    out
}

fn plural(n: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(n as u64), if n == 1 { one } else { many })
}

/// A shortest cycle and who closes it.
fn witness(cycle: &Cycle) -> String {
    let mut t = terminal::table(["The buffer behind", "waits for", "because of", "on its way"]);
    for c in &cycle.closed_by {
        t.add_row([&c.from, &c.to, &c.flow, &c.path.join(" ")]);
    }
    format!("\nA shortest cycle:\n\n{}", terminal::draw(&t))
}

/// Which failures would create a cycle.
fn failures(s: &FailureStudy) -> String {
    let of = format!("of {} between switches", counted(s.links as u64, "link"));
    let looked = match s.sampled {
        true => format!("{} of {} sets {of}, drawn at random", grouped(s.sets_checked), s.sets_total),
        false if s.sets_checked == s.links as u64 => format!("each {of}"),
        false => format!("{} {of}", counted(s.sets_checked, "set")),
    };
    if s.cyclic.is_empty() {
        let answer = format!("No further failure creates a cycle (looked at {looked}).");
        return format!("\n{}\n{}", terminal::good(&answer), separations(s));
    }
    let mut t = terminal::table(["When these fail", "there is the cycle"]);
    for set in s.cyclic.iter().take(ROWS_MAX) {
        let cut = if set.disconnects { " (separates hosts)" } else { "" };
        t.add_row([format!("{}{cut}", set.links.join(" + ")), set.cycle.links.join(" ")]);
    }
    let more = s.cyclic.len().saturating_sub(ROWS_MAX);
    let more = if more > 0 { format!("... and {more} more; --json lists all\n") } else { String::new() };
    let (headline, kept) = match s.cyclic_total {
        1 => ("1 failure creates a cycle".into(), ""),
        n if n == s.cyclic.len() as u64 => (format!("{} failures create a cycle", grouped(n)), ""),
        n => (format!("{} failures create a cycle", grouped(n)), "\nThose that contain no smaller one:"),
    };
    let headline = terminal::bad(&format!("{headline} (looked at {looked})."));
    format!("\n{headline}{kept}\n\n{}{more}{}", terminal::draw(&t), separations(s))
}

/// Which failures cut the network.
fn separations(s: &FailureStudy) -> String {
    let sets: Vec<String> = s.disconnecting.iter().take(ROWS_MAX).map(|links| links.join(" + ")).collect();
    let more = s.disconnecting.len().saturating_sub(ROWS_MAX);
    match sets.is_empty() {
        true => String::new(),
        false if more > 0 => terminal::wrapped(&format!("Failures that separate hosts: {}, ... and {more} more", sets.join(", "))),
        false => terminal::wrapped(&format!("Failures that separate hosts: {}", sets.join(", "))),
    }
}
