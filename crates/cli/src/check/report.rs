//! The answer of `check`.

use schemars::JsonSchema;
use serde::Serialize;
use xoff_analysis::cbd::{
    Cycle, FailureStudy, Hole, HoleStudy, HolesOfSize, Installed, Loop, OfSize, Remedy, Report,
    Verdict,
};
use xoff_net::topology::Topology;
use xoff_net::topology::failures::link_name;
use xoff_record::verdict::{Conclusion, Tone};
use xoff_scenario::{Problem, Problems};

use crate::terminal::{self, counted};
use xoff_units::grouped;

/// Sets of failures in the table; JSON has all.
const ROWS_MAX: usize = 8;

/// Answer to the question whether these routes can deadlock.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Check")]
pub struct Checked<'a> {
    /// The answer in a line, as people read it.
    headline: String,
    #[serde(skip)]
    tone: Tone,
    /// Remedies that remove the cycles, each proved; the smallest change first.
    remedies: Vec<Remedy>,
    /// The topology, as it was named.
    topology: &'a str,
    /// Hosts.
    hosts: usize,
    /// Switches.
    switches: usize,
    /// Links.
    links: usize,
    /// Links that are down from the beginning.
    failed_links: Vec<String>,
    /// Paths that count.
    routing: &'a str,
    /// Flows that count; null: all pairs of hosts.
    flows: Option<usize>,
    /// Answer to the question, failures included.
    answer: Conclusion,
    /// Answer to the same question, as a word for programs: `cycle-free`, `cyclic`,
    /// `cyclic-after-failures`, or `not-checked` where xoff found no cycle and did not examine all
    /// pairs, flows and sets of failures.
    verdict: &'static str,
    /// Before any further failure.
    verdict_without_failures: Verdict,
    #[serde(flatten)]
    parts: ReportParts<'a>,
    #[serde(skip)]
    report: &'a Report,
    /// Further failures that create a cycle; null: not requested, or a cycle exists without them.
    failures: Option<&'a FailureStudy>,
    /// Further findings about installed tables; absent: the routes follow a rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    tables: Option<OfTables<'a>>,
    /// Black holes that failures create in installed tables; absent: not requested, or the routes
    /// follow a rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    table_failures: Option<&'a HoleStudy>,
}

/// Properties that only installed tables have.
#[derive(JsonSchema, Serialize)]
struct OfTables<'a> {
    /// True if service levels separated the virtual lanes.
    service_levels: bool,
    /// The tables are those of InfiniBand; others have priorities and no virtual lanes.
    #[serde(skip)]
    infiniband: bool,
    /// Black holes and forwarding loops in the files, each with the place of its entry.
    findings: Vec<String>,
    /// Switches that drop the frames for a destination; only the first ones.
    holes: &'a [Hole],
    /// Number of black holes in all.
    holes_total: u64,
    /// Forwarding loops, the first of them.
    loops: &'a [Loop],
    /// Destinations with one.
    loops_total: u64,
}

/// A report without its verdict, which is about the network as it is.
#[derive(JsonSchema, Serialize)]
struct ReportParts<'a> {
    /// Ingress buffers of switches behind working links from switches.
    buffers: usize,
    /// Dependencies among them.
    dependencies: usize,
    /// Sets of buffers that all depend on each other.
    cyclic_components: usize,
    /// Buffers in those sets.
    cyclic_buffers: usize,
    /// Pairs of hosts, or flows, without a route; the analysis ignores them.
    unrouted: u64,
    /// A shortest cycle; null: there is none.
    cycle: &'a Option<Cycle>,
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
        let failed_links = (0..t.links.len() as u32)
            .filter(|&l| !t.links[l as usize].up)
            .map(|l| link_name(t, l))
            .collect();
        let Report {
            verdict: now,
            buffers,
            dependencies,
            cyclic_components,
            cyclic_buffers,
            unrouted,
            ref cycle,
        } = *report;
        let mut checked = Checked {
            headline: String::new(),
            tone: Tone::Caution,
            remedies: Vec::new(),
            answer: Conclusion::No,
            verdict: "not-checked",
            verdict_without_failures: now,
            parts: ReportParts {
                buffers,
                dependencies,
                cyclic_components,
                cyclic_buffers,
                unrouted,
                cycle,
            },
            topology: name,
            hosts: t.hosts().count(),
            switches: t.switches().count(),
            links: t.links.len(),
            failed_links,
            routing,
            flows,
            report,
            failures,
            tables: None,
            table_failures: None,
        };
        checked.conclude();
        checked
    }

    /// Sets headline, answer and verdict. What was not examined is no good news.
    fn conclude(&mut self) {
        (self.tone, self.headline) = self.line();
        let after = self.failures.is_some_and(|s| s.cyclic_total > 0);
        self.verdict = match self.report.verdict {
            Verdict::Cyclic => "cyclic",
            Verdict::CycleFree if after => "cyclic-after-failures",
            Verdict::CycleFree if self.tone == Tone::Good => "cycle-free",
            Verdict::CycleFree => "not-checked",
        };
        let interrupted = self.failures.is_some_and(|s| s.interrupted);
        self.answer = Conclusion::of(interrupted, self.verdict == "cycle-free");
    }

    /// Adds remedies.
    pub fn with(mut self, remedies: Vec<Remedy>) -> Self {
        self.remedies = remedies;
        self
    }

    /// Report about installed tables.
    pub fn of_tables(
        mut self,
        found: &'a Installed,
        (findings, infiniband): (&Problems, bool),
    ) -> Self {
        let Installed {
            virtual_lanes,
            ref holes,
            holes_total,
            ref loops,
            loops_total,
            ref remedies,
            ..
        } = *found;
        let findings: Vec<String> = findings.iter().map(Problem::line).collect();
        let broken = holes_total + loops_total > 0 || !findings.is_empty();
        self.tables = Some(OfTables {
            service_levels: virtual_lanes,
            infiniband,
            findings,
            holes,
            holes_total,
            loops,
            loops_total,
        });
        self.remedies.clone_from(remedies);
        self.conclude();
        if broken {
            self.answer = Conclusion::No;
            let count = |n: u64, what| (n > 0).then(|| counted(n, what));
            let parts: Vec<String> =
                [count(holes_total, "black hole"), count(loops_total, "forwarding loop")]
                    .into_iter()
                    .flatten()
                    .collect();
            let what = if parts.is_empty() {
                "frames go to the wrong host".to_owned()
            } else {
                parts.join(", ")
            };
            (self.tone, self.headline) =
                (Tone::Bad, format!("Broken tables: {what}. {}", self.headline));
        }
        self
    }

    /// Adds the effect of failures on the tables.
    pub fn after_failures(mut self, study: Option<&'a HoleStudy>) -> Self {
        let Some(s) = study else { return self };
        self.table_failures = Some(s);
        if s.interrupted {
            self.answer = Conclusion::Interrupted;
        } else if s.holes_total > 0 || s.sampled {
            self.answer = Conclusion::No;
        }
        self.headline = format!("{} {}", self.headline, holes_by_size(s));
        if self.tone == Tone::Good && (s.holes_total > 0 || s.sampled || s.interrupted) {
            self.tone = Tone::Caution;
        }
        self
    }
}

/// `Single failures: 0 of 8. Pairs: 12 of 28 can deadlock.`
fn by_size(sizes: &[OfSize]) -> String {
    if sizes.is_empty() {
        return "No deadlock: there is no link between switches that could fail.".to_owned();
    }
    let one = |s: &OfSize| of_size(s.failures, s.cyclic, s.sets_checked, s.sets_total);
    format!("{} can deadlock.", sizes.iter().map(one).collect::<Vec<_>>().join(". "))
}

/// `Pairs: 12 of 28`
fn of_size(failures: usize, found: u64, checked: u64, total: u128) -> String {
    let name = match failures {
        1 => "Single failures".to_owned(),
        2 => "Pairs".to_owned(),
        3 => "Triples".to_owned(),
        n => format!("Sets of {n}"),
    };
    let of = grouped(checked);
    let drawn =
        if u128::from(checked) < total { format!(" drawn of {total}") } else { String::new() };
    format!("{name}: {} of {of}{drawn}", grouped(found))
}

/// `Single failures: 8 of 8 make black holes, up to 12 pairs each.`
fn holes_by_size(s: &HoleStudy) -> String {
    if s.by_size.is_empty() {
        return "There is no link between switches that could fail.".to_owned();
    }
    let one = |s: &HolesOfSize| of_size(s.failures, s.holes, s.sets_checked, s.sets_total);
    let most = s.by_size.iter().map(|s| s.unrouted_max).max().unwrap_or(0);
    let most =
        if most > 0 { format!(", up to {} each", counted(most, "pair")) } else { String::new() };
    let stopped = if s.interrupted { " Interrupted." } else { "" };
    format!(
        "{} make black holes{most}.{stopped}",
        s.by_size.iter().map(one).collect::<Vec<_>>().join(". ")
    )
}

impl Checked<'_> {
    /// Meaning of the exit code.
    pub fn conclusion(&self) -> Conclusion {
        self.answer
    }

    /// The answer to the question that was asked, in a line.
    fn line(&self) -> (Tone, String) {
        if let Some(cycle) = &self.report.cycle {
            let note = match &self.tables {
                Some(t) if !t.infiniband => " if all traffic uses one lossless priority",
                Some(t) if !t.service_levels => " if all traffic uses one virtual lane",
                _ => "",
            };
            return (
                Tone::Bad,
                format!("A cycle of {} buffers: a deadlock can form{note}.", cycle.links.len()),
            );
        }
        let (all, what) = match self.flows {
            Some(n) => (n as u64, "flow"),
            None => (self.hosts as u64 * (self.hosts as u64).saturating_sub(1), "pair"),
        };
        let unrouted = self.report.unrouted;
        if unrouted >= all {
            let none = "Nothing checked: no pair of hosts and no flow has a route.";
            return (Tone::Caution, none.into());
        }
        let (mut tone, mut line) = match self.failures {
            None if unrouted > 0 => (Tone::Caution, "No cycle found.".into()),
            None => (Tone::Good, "No cycle: under these routes no deadlock can form.".into()),
            Some(s) if s.interrupted => (
                Tone::Caution,
                format!(
                    "Interrupted after {} of {} sets of failures. {}",
                    grouped(s.sets_checked),
                    s.sets_total,
                    by_size(&s.by_size)
                ),
            ),
            Some(s) if s.cyclic_total > 0 => (Tone::Bad, by_size(&s.by_size)),
            Some(s) if s.sampled => (
                Tone::Caution,
                format!("{} Not all sets were examined (see --sets-max).", by_size(&s.by_size)),
            ),
            Some(s) => (Tone::Good, by_size(&s.by_size)),
        };
        if unrouted > 0 {
            tone = if tone == Tone::Good { Tone::Caution } else { tone };
            let (of, have) = (counted(all, what), if unrouted == 1 { "has" } else { "have" });
            line += &format!(" Not all checked: {} of {of} {have} no route.", grouped(unrouted));
        }
        (tone, line)
    }
}

/// The answer for people.
pub fn text(c: &Checked<'_>) -> String {
    let r = c.report;
    let mut out = match c.tone {
        Tone::Good => terminal::good(&c.headline),
        Tone::Caution => terminal::caution(&c.headline),
        Tone::Bad => terminal::bad(&c.headline),
    };
    out += "\n\n";
    out += &remedies(&c.remedies);
    let mut t = terminal::pairs();
    let mut row = |name: &str, value: String| {
        t.add_row([name, &value]);
    };
    let size = [
        counted(c.hosts as u64, "host"),
        plural(c.switches, "switch", "switches"),
        counted(c.links as u64, "link"),
    ];
    row("Topology", format!("{}: {}", c.topology, size.join(", ")));
    if !c.failed_links.is_empty() {
        row("Failed", c.failed_links.join(", "));
    }
    row("Routing", c.routing.to_owned());
    row("Traffic", c.flows.map_or("all pairs of hosts".into(), |n| counted(n as u64, "flow")));
    row(
        "Buffers",
        format!(
            "{} between switches, {}",
            grouped(r.buffers as u64),
            plural(r.dependencies, "dependency", "dependencies")
        ),
    );
    if r.verdict == Verdict::Cyclic {
        let sets = counted(r.cyclic_components as u64, "set");
        row(
            "In cycles",
            format!(
                "{} in {sets} of buffers that depend on each other",
                counted(r.cyclic_buffers as u64, "buffer")
            ),
        );
    }
    if let Some(t) = &c.tables {
        let (name, value) = match (t.infiniband, t.service_levels) {
            (false, _) => ("Priorities", "not in the files: one lossless priority"),
            (_, true) => ("Service levels", "as given, a virtual lane each buffer"),
            (_, false) => ("Service levels", "unknown: one virtual lane"),
        };
        row(name, value.into());
        for (i, finding) in t.findings.iter().take(ROWS_MAX).enumerate() {
            row(if i == 0 { "Findings" } else { "" }, finding.clone());
        }
        if t.loops_total > 0 {
            row(
                "Forwarding loops",
                format!(
                    "for {}, such as {}",
                    counted(t.loops_total, "destination"),
                    t.loops[0].links.join(" ")
                ),
            );
        }
        if let Some(hole) = t.holes.first() {
            row(
                "Black holes",
                format!(
                    "{}, such as {} for {}",
                    grouped(t.holes_total),
                    hole.switch,
                    hole.destination
                ),
            );
        }
    }
    if r.unrouted > 0 {
        row(
            "Unrouted",
            format!(
                "{} without a path, not checked",
                counted(r.unrouted, if c.flows.is_some() { "flow" } else { "pair" })
            ),
        );
    }
    out += &terminal::draw(&t);
    if c.failures.is_some_and(|s| s.cyclic_total > 0) {
        out += "\nWithout a further failure there is no cycle.\n";
    }
    r.cycle.iter().for_each(|cycle| out += &closing_flows(cycle));
    c.failures.iter().for_each(|s| out += &failures(s));
    c.table_failures.iter().for_each(|s| out += &holes(s));
    out
}

fn plural(n: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(n as u64), if n == 1 { one } else { many })
}

/// Remedies, smallest change first.
fn remedies(all: &[Remedy]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let mut t = terminal::pairs();
    for (i, r) in all.iter().enumerate() {
        t.add_row([if i == 0 { "Remedy" } else { "Or" }, &r.change]);
        t.add_row(["  Proof", &r.proof]);
    }
    format!("{}\n", terminal::draw(&t))
}

/// A shortest cycle and who closes it.
fn closing_flows(cycle: &Cycle) -> String {
    let mut t = terminal::table(["Buffer behind", "Waits for", "Flow", "Path"]);
    for c in &cycle.closed_by {
        t.add_row([&c.from, &c.to, &c.flow, &c.path.join(" ")]);
    }
    format!("\nA shortest cycle:\n\n{}", terminal::draw(&t))
}

/// Failures that would create a cycle.
fn failures(s: &FailureStudy) -> String {
    let of = format!("of {} between switches", counted(s.links as u64, "link"));
    let looked = match s.sampled {
        true => {
            format!("{} of {} sets {of}, drawn at random", grouped(s.sets_checked), s.sets_total)
        }
        false if s.sets_checked == s.links as u64 => format!("each {of}"),
        false => format!("{} {of}", counted(s.sets_checked, "set")),
    };
    if s.cyclic.is_empty() {
        let answer =
            terminal::wrapped(&format!("No further failure creates a cycle (examined {looked})."));
        return format!("{answer}{}", separations(s));
    }
    let mut t = terminal::table(["Failed links", "Cycle of buffers"]);
    for set in s.cyclic.iter().take(ROWS_MAX) {
        let cut = if set.disconnects { " (separates hosts)" } else { "" };
        t.add_row([format!("{}{cut}", set.links.join(" + ")), set.cycle.links.join(" ")]);
    }
    let more = s.cyclic.len().saturating_sub(ROWS_MAX);
    let more =
        if more > 0 { format!("... and {more} more; --json lists all\n") } else { String::new() };
    let kept = if s.cyclic_total == s.cyclic.len() as u64 {
        ""
    } else {
        "\nThose that contain no smaller one:"
    };
    let heading =
        format!("Failures that create a cycle: {} (examined {looked}).", grouped(s.cyclic_total));
    format!(
        "\n{}{kept}\n\n{}{more}{}",
        terminal::hanging(&heading, "").trim_end(),
        terminal::draw(&t),
        separations(s)
    )
}

/// Failures that make black holes.
fn holes(s: &HoleStudy) -> String {
    if s.sets.is_empty() {
        return String::new();
    }
    let mut t = terminal::table(["Failed links", "Pairs without a path", "Such as"]);
    for set in s.sets.iter().take(ROWS_MAX) {
        let such = set
            .first
            .as_ref()
            .map_or(String::new(), |h| format!("at {} for {}", h.switch, h.destination));
        t.add_row([set.links.join(" + "), counted(set.unrouted, "pair"), such]);
    }
    let more = (s.holes_total as usize).saturating_sub(ROWS_MAX);
    let more = if more > 0 {
        format!("... and {more} more; --json lists the first 1,000\n")
    } else {
        String::new()
    };
    format!(
        "\nInstalled tables do not change after a failure: switches drop frames without another port.\n\n{}{more}",
        terminal::draw(&t)
    )
}

/// Failures that cut the network.
fn separations(s: &FailureStudy) -> String {
    let sets: Vec<String> =
        s.disconnecting.iter().take(ROWS_MAX).map(|links| links.join(" + ")).collect();
    let more = s.disconnecting.len().saturating_sub(ROWS_MAX);
    match sets.is_empty() {
        true => String::new(),
        false if more > 0 => terminal::wrapped(&format!(
            "Failures that separate hosts: {}, ... and {more} more",
            sets.join(", ")
        )),
        false => terminal::wrapped(&format!("Failures that separate hosts: {}", sets.join(", "))),
    }
}
