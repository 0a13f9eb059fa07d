//! Common parts of `xoff switch` and `xoff host`: options, the live table, the answer.

use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use console::Term;
use xoff_real::netio::{MetricsServer, Port, privileges};
use xoff_real::switchd::{Link, RunnerConfig};
use xoff_real::testbed::nodes::{self, NodeError};
use xoff_real::testbed::protocol::{FlowReport, NodeAnswer, NodeReport, Ready};
use xoff_real::testbed::replay::{self, Facts};
use xoff_real::testbed::wiring::{self, Real};
use xoff_real::testbed::{
    Drive, DriveError, Look, Next, OutageReport, PortReport, RealReport, drive, metrics,
};
use xoff_record::output::{Kind, OutputError};
use xoff_record::{FORMATS, Folder, Sink};
use xoff_run::{Finished, NetworkScenario};
use xoff_scenario::document::Override;
use xoff_scenario::{Problem, Problems, read};
use xoff_sim::Ended;
use xoff_units::{Bytes, NodeId, Rate, Span, Time};

use crate::answer::{Allowed, Answer, refused};
use crate::live_page::Waiting;
use crate::out::{Force, claim, draft, refused as refused_out};
use crate::run::{problem, settings, verdict};
use crate::{interrupt, terminal};

/// Options of a node on real interfaces.
#[derive(clap::Args)]
pub struct Options {
    /// Scenario file
    scenario: PathBuf,
    /// End after this time [default: at Ctrl-C]
    #[arg(long = "for", value_name = "TIME")]
    lasting: Option<String>,
    /// Run a pause-storm watchdog on a switch, such as 200ms,300ms,drop: free a priority that the
    /// neighbour paused for DETECT, drop or forward its frames (ACTION: drop, forward or alert),
    /// and obey flow control again after RESTORE without a pause; replaces [watchdog]
    #[arg(long, value_name = "DETECT,RESTORE,ACTION")]
    watchdog: Option<String>,
    /// Serve counters for Prometheus at http://ADDRESS/metrics, such as 127.0.0.1:9464
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<String>,
    /// Show the report of the node in a browser while it runs, on this port of 127.0.0.1
    /// (--live=8080) or on any free one
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true, default_missing_value = "0")]
    live: Option<u16>,
    /// Write every frame into this file (pcapng); `xoff replay` proves from it that the run matches
    /// the simulation
    #[arg(long, value_name = "FILE")]
    capture: Option<PathBuf>,
    /// Keep only this many bytes of each frame in the capture; 0: all
    #[arg(long, value_name = "BYTES", default_value_t = 0, requires = "capture")]
    snap: u32,
    /// Turn off offloads that merge or split frames, instead of rejecting the interface
    #[arg(long)]
    pub fix_offloads: bool,
    /// Write the results into this folder, as tables of a simulation
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    /// Open the ports, then wait for a line or the end of standard input, so that several nodes
    /// start together
    #[arg(long)]
    wait: bool,
    /// Write this file once the ports are open: one line of JSON with the node, its interfaces and
    /// the address of --metrics
    #[arg(long, value_name = "FILE")]
    ready: Option<PathBuf>,
    /// Set the seed of every random stream; replaces run.seed
    #[arg(long)]
    seed: Option<u64>,
    /// Set a value of the scenario, such as flow_control=gfc-buffer; may be repeated
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    allowed: Allowed,
}

/// A node on its ports.
pub struct Node {
    /// The subcommand, which owns the folder of results.
    pub command: &'static str,
    /// Name.
    pub name: String,
    /// Nodes of the world.
    pub here: Vec<bool>,
    /// Ports.
    pub links: Vec<Link>,
    /// Interfaces of the ports, by name.
    pub interfaces: Vec<String>,
    /// Interfaces of the ports, open.
    pub ports: Vec<Box<dyn Port>>,
}

/// A port or an option that was refused.
pub fn node_problem(e: NodeError) -> Problem {
    Problem::new(e.to_string(), e.hint().to_owned())
}

impl Options {
    /// The scenario, if real frames can follow it.
    pub fn load(&self) -> Result<NetworkScenario, Problems> {
        let scenario = NetworkScenario::load(&self.scenario, &self.settings()?);
        let mut scenario = crate::import::or_foreign(scenario, &self.scenario, "run")?;
        wiring::refuse(&scenario).map_err(|e| refused(&e))?;
        terminal::problems(&scenario.warnings);
        wiring::warnings(&scenario).iter().for_each(|w| terminal::note(w));
        let until = match &self.lasting {
            None => Time::NEVER,
            Some(text) => {
                let span: Span = text.parse().map_err(|e: xoff_units::UnitError| {
                    Problem::new(e.what, format!("expected {}", e.expected))
                        .at(terminal::option("--for", text))
                })?;
                Time(span.0)
            }
        };
        scenario.last_until(until);
        Ok(scenario)
    }

    /// A watchdog is part of a switch.
    pub fn refuse_watchdog(&self) -> Result<(), Problems> {
        let Some(text) = &self.watchdog else { return Ok(()) };
        let p = Problem::new(
            "a host's NIC has no watchdog",
            "give it to xoff switch, or to a host behind a shim (--tap)",
        );
        Err(p.at(terminal::option("--watchdog", text)).into())
    }

    /// Keys of the scenario that options replace.
    fn settings(&self) -> Result<Vec<Override>, Problems> {
        let mut all = settings(&self.set, self.seed)?;
        if let Some(text) = &self.watchdog {
            let keys = nodes::watchdog(text).map_err(|e| refused(&e))?;
            for (key, value) in keys {
                all.push(Override::option("--watchdog", key, &value)?);
            }
        }
        Ok(all)
    }

    /// Runs the node until it ends, and prints how it went.
    pub fn run(&self, s: &NetworkScenario, node: Node, real: Real) -> Result<Answer, Problems> {
        let Node { command, name, here, links, interfaces, ports } = node;
        let folder =
            self.out.as_ref().map(|out| claim("--out", out, command, &self.force)).transpose()?;
        let written = |e: std::io::Error| {
            Problem::new(format!("--capture: {e}"), "name a file on a disk with free space")
        };
        let facts = Facts::of(s, &here, &links, &real);
        let create = |path: &PathBuf| {
            capture(path, folder.as_ref(), self.force.force, |path| {
                replay::create(path, &links, &facts, self.snap)
            })
        };
        let mut capture = self.capture.as_ref().map(create).transpose()?;
        let ready = self
            .ready
            .as_ref()
            .map(|file| draft("--ready", file, Kind::Ready, self.force.force))
            .transpose()?;
        // Everything is open; frames from unknown sources are handled without rights. Each thread
        // has its own: before there are others.
        privileges::drop_all().map_err(|e| {
            Problem::new(
                format!("xoff cannot give up its privileges: {e}"),
                "start xoff as an ordinary user with the capabilities that it \
                                                                         needs",
            )
        })?;
        let unserved = |e: std::io::Error| {
            Problem::new(
                format!("--metrics: {e}"),
                "name an address and a free port, such as 127.0.0.1:9464",
            )
        };
        let server =
            self.metrics.as_deref().map(MetricsServer::bind).transpose().map_err(unserved)?;
        let out = self.out.as_ref().map_or("DIR".into(), |out| out.display().to_string());
        let mut page = self.live.map(|port| Waiting::bind(port)?.serve(s, &out)).transpose()?;
        interrupt::ask_first();
        terminal::note(&format!(
            "{name} runs on {}{}",
            interfaces.join(", "),
            served(server.as_ref())
        ));
        if let (Some(draft), Some(file)) = (ready, &self.ready) {
            let line = Ready::new(
                name.clone(),
                interfaces.clone(),
                server.as_ref().map(|s| s.address().to_string()),
            )
            .line();
            draft.finish_with(line.as_bytes()).map_err(|e| refused_out("--ready", file, e))?;
        }

        if self.wait {
            // The end of the input is as good as a line, and so is an input that cannot be read.
            let _ = std::io::stdin().read_line(&mut String::new());
        }
        if let Some(page) = &page {
            page.announce();
        }
        let runner = RunnerConfig {
            until: s.until,
            report: Duration::from_millis(100),
            ..RunnerConfig::default()
        };
        let sink = folder.map_or(Sink::Nothing, |f| Sink::Files(f, Default::default()));
        let mut table = LiveTable::new(interfaces.clone());
        // The report that was shown during the run stays next to its tables.
        let draw = |f: &Finished| Some(xoff_report::view::of_real_frames(s, f, &out));
        let kept: Option<xoff_run::Page> =
            if self.live.is_some() { Some(Box::new(draw)) } else { None };
        let d = Drive { runner, real, tap: capture.as_mut().map(replay::tap), page: kept };
        let mut lasted = Time::ZERO;
        let driven = drive(s, here, links, ports, sink, d, |look| {
            lasted = look.time;
            if let Some(server) = &server {
                server.set(metrics::text(&name, &interfaces, look));
            }
            if let (Some(page), Some(world)) = (&mut page, look.world) {
                page.look(world, s);
            }
            table.draw(look);
            Next::from(!interrupt::asked())
        });
        table.clear();
        let (finished, real) = driven.map_err(|e| match e {
            DriveError::Run(e) => problem(e),
            DriveError::Live(e) => {
                Problem::new(e.to_string(), "check that the interface is up").into()
            }
        })?;
        if let Some(capture) = capture {
            capture.finish().map_err(written)?;
        }
        let flows = flows(s, &finished, &name, lasted);
        let verdict = verdict(&finished.manifest);
        let headline =
            self.allowed.headline(&format!("{name}, {lasted} on real interfaces"), verdict);
        let text = format!("{headline}\n\n{}", text(&interfaces, &finished, &real, &flows));
        let exit = self.allowed.exit(verdict);
        Ok(Answer::new(
            text,
            &NodeAnswer::new(report((name, lasted), &finished, real, interfaces, flows)),
            exit,
        ))
    }
}

/// Time that a program may take to open a FIFO that a capture goes to.
const READER_WAIT: Duration = Duration::from_secs(10);

/// Makes the file of `--capture`, which is written while the network runs. Links are followed,
/// devices and FIFOs written through. A file that is neither a capture nor empty is not
/// overwritten.
pub fn capture<T>(
    path: &Path,
    folder: Option<&Folder>,
    force: bool,
    create: impl FnOnce(&Path) -> std::io::Result<T>,
) -> Result<T, Problems> {
    let refused = |e| Problems::from(refused_out("--capture", path, e));
    // The folder of this very run may hold a capture of an earlier one.
    let inside = folder.is_some_and(|f| f.is_parent_of(path));
    xoff_record::output::refuse_inputs(path, read::files().iter().map(PathBuf::as_path))
        .map_err(refused)?;
    let others = if inside {
        xoff_record::output::refuse_unlike
    } else {
        xoff_record::output::refuse_others
    };
    others(path, Kind::Capture, force).map_err(refused)?;
    if let Some(folder) = folder.filter(|_| inside) {
        let result = path.extension().is_some_and(|e| {
            ["json", "toml", "txt", "html"]
                .into_iter()
                .chain(FORMATS.iter().map(|f| f.name))
                .any(|r| e == r)
        });
        if result {
            let what = format!(
                "cannot write {}: results of this command may use that name",
                path.display()
            );
            return Err(refused(OutputError::new(path, what, "name a file that ends in .pcapng")));
        }
        folder.own_if_inside(path).map_err(refused)?;
    }
    let _reader = reader(path).map_err(refused)?;
    let failed = |e: std::io::Error| {
        refused(OutputError::new(
            path,
            format!("cannot write {}: {e}", path.display()),
            "name a file in a folder that exists",
        ))
    };
    create(path).map_err(failed)
}

/// Waits until a process reads the FIFO at `path`, where it is one; keeps it open until the capture
/// does.
fn reader(path: &Path) -> Result<Option<std::fs::File>, OutputError> {
    let began = Instant::now();
    while std::fs::metadata(path).is_ok_and(|m| m.file_type().is_fifo()) {
        let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        match std::fs::OpenOptions::new().write(true).custom_flags(flags).open(path) {
            Ok(file) => return Ok(Some(file)),
            Err(_) if began.elapsed() < READER_WAIT && !interrupt::asked() => {
                std::thread::sleep(Duration::from_millis(20))
            }
            Err(_) => {
                let what = format!("cannot write {}: no process reads this FIFO", path.display());
                return Err(OutputError::new(path, what, "first start the program that reads it"));
            }
        }
    }
    Ok(None)
}

fn served(server: Option<&MetricsServer>) -> String {
    server.map_or(String::new(), |s| format!(", counters at http://{}/metrics", s.address()))
}

/// The flows that begin or end at a host.
fn flows(s: &NetworkScenario, f: &Finished, name: &str, lasted: Time) -> Vec<FlowReport> {
    let named = |n: NodeId| s.topology.name(n).to_owned();
    let of = |(flow, r): (usize, &xoff_sim::FlowRecord)| FlowReport {
        flow,
        src: named(r.flow.src),
        dst: named(r.flow.dst),
        size: Some(r.flow.size).filter(|&size| size != xoff_net::workload::UNLIMITED),
        sent: r.sent,
        delivered: r.delivered,
        arrived: r.arrived(),
        complete: r.received.is_some(),
        rate: Rate::of(Bytes(r.delivered), r.received.unwrap_or(lasted).since(r.flow.start)).0,
    };
    f.outcome.flows.iter().enumerate().map(of).filter(|r| r.src == name || r.dst == name).collect()
}

fn report(
    (node, lasted): (String, Time),
    f: &Finished,
    real: RealReport,
    interfaces: Vec<String>,
    flows: Vec<FlowReport>,
) -> NodeReport {
    NodeReport {
        node,
        interfaces,
        clock_seconds: lasted.as_secs_f64(),
        interrupted: f.outcome.ended == Ended::Interrupted,
        dropped_frames: f.outcome.dropped_frames,
        lost_frames: f.manifest.lost_frames,
        violations: f.outcome.violations_total,
        verdict: verdict(&f.manifest).clone(),
        real,
        flows,
    }
}

fn text(interfaces: &[String], f: &Finished, real: &RealReport, flows: &[FlowReport]) -> String {
    let mut ports = Vec::new();
    for (p, i) in real.ports.iter().zip(interfaces) {
        let n = xoff_units::grouped;
        let numbers = [
            p.received,
            p.sent,
            p.control_received,
            p.control_sent,
            p.refused,
            p.no_route,
            p.storms,
        ]
        .map(n);
        ports.push([p.port.clone(), i.clone()].into_iter().chain(numbers).collect());
    }
    let heading = [
        "Port",
        "Interface",
        "In",
        "Out",
        "Control in",
        "Control out",
        "Refused",
        "No route",
        "Storms",
    ];
    let ports = terminal::stacked(&heading, &ports);
    let mut t = terminal::pairs();
    let mut row = |name: &str, value: String| {
        t.add_row([name, &value]);
    };
    verdict(&f.manifest).not_known().into_iter().for_each(|(name, value)| row(name, value));
    if let Some(first) = f.outcome.violations.first() {
        // Most often: a receiver that began to listen when its sender had begun to send.
        row(
            "Checks violated",
            format!(
                "{}, the first: {}",
                xoff_units::grouped(f.outcome.violations_total),
                first.what
            ),
        );
    }
    row(
        "Dropped by the watchdog",
        real.ports.iter().map(|p| p.thrown_away).sum::<u64>().to_string(),
    );
    for (p, i) in real.ports.iter().zip(interfaces).filter(|(p, _)| p.downs > 0) {
        row(
            &format!("{} ({i}) was down", p.port),
            format!("{}, {} dropped", outages(p), terminal::counted(p.port_down, "frame")),
        );
    }
    let control = |of: fn(&PortReport) -> u64| real.ports.iter().map(of).sum::<u64>();
    let (stale, impossible) = (control(|p| p.stale), control(|p| p.impossible));
    if stale + impossible > 0 {
        row(
            "Control frames not obeyed",
            format!("{stale} older than a previous one, {impossible} with impossible values"),
        );
    }
    row(
        "Loop gaps",
        format!("99 % below {:.0} us, longest {:.0} us", real.gap_p99_us, real.gap_longest_us),
    );
    row(
        "Node's clock",
        format!("{:.3} of {:.3} seconds left out", real.left_out_seconds, real.wall_seconds),
    );
    let advice: String = real.advice(interfaces).iter().map(|a| format!("\n{a}\n")).collect();
    format!("{ports}\n{}{}{advice}", terminal::draw(&t), flows_text(flows))
}

/// Outages of a port, the first few: `from 2.000 s to 3.500 s`.
fn outages(p: &PortReport) -> String {
    const SHOWN: usize = 4;
    let until =
        |o: &OutageReport| o.until_seconds.map_or("the end".into(), |s| format!("{s:.3} s"));
    let one = |o: &OutageReport| format!("from {:.3} s to {}", o.from_seconds, until(o));
    let mut all: Vec<String> = p.outages.iter().take(SHOWN).map(one).collect();
    if p.downs > SHOWN as u64 {
        all.push(format!("{} times in all", p.downs));
    }
    all.join(", ")
}

fn flows_text(flows: &[FlowReport]) -> String {
    if flows.is_empty() {
        return String::new();
    }
    let mut t =
        terminal::table(["Flow", "From", "To", "Sent", "Delivered", "Mean rate", "Complete"]);
    for f in flows {
        let complete = if f.complete { "yes" } else { "-" };
        let (sent, delivered) = (Bytes(f.sent).to_string(), Bytes(f.delivered).to_string());
        t.add_row([
            f.flow.to_string(),
            f.src.clone(),
            f.dst.clone(),
            sent,
            delivered,
            Rate(f.rate).to_string(),
            complete.into(),
        ]);
    }
    format!("\n{}", terminal::draw(&t))
}

/// Counters on a terminal, drawn again every half second; elsewhere only the lines of the watchdog.
struct LiveTable {
    term: Term,
    interfaces: Vec<String>,
    lines: usize,
    drawn: Time,
    /// Bytes in and out at that time, by port.
    bytes: Vec<(u64, u64)>,
}

impl LiveTable {
    const EVERY: Span = Span::from_ms(500);

    fn new(interfaces: Vec<String>) -> LiveTable {
        LiveTable {
            term: Term::stderr(),
            bytes: vec![(0, 0); interfaces.len()],
            interfaces,
            lines: 0,
            drawn: Time::ZERO,
        }
    }

    fn clear(&mut self) {
        // A closed terminal is no error.
        let _ = self.term.clear_last_lines(self.lines);
        self.lines = 0;
    }

    fn draw(&mut self, look: &Look) {
        if !look.log.is_empty() {
            self.clear();
            look.log.iter().for_each(|l| terminal::note(&format!("{}: {l}", look.time)));
        }
        let since = look.time.since(self.drawn);
        if !self.term.is_term() || since < Self::EVERY {
            return;
        }
        let mut rows = Vec::new();
        for (i, a) in look.ports.iter().enumerate() {
            let (c, n) = (&a.counters, xoff_units::grouped);
            let rate = |now: u64, before: u64| Rate::of(Bytes(now - before), since).to_string();
            let (was_in, was_out) =
                std::mem::replace(&mut self.bytes[i], (c.received_bytes, a.kernel.sent_bytes));
            rows.push(vec![
                a.link.name.clone(),
                self.interfaces[i].clone(),
                n(c.received),
                n(a.kernel.sent),
                rate(c.received_bytes, was_in),
                rate(a.kernel.sent_bytes, was_out),
                Bytes(look.queues[i]).to_string(),
                format!("{} / {}", n(c.control_received), n(c.control_sent)),
                n(look.drops[i]
                    + a.kernel.kernel_drops
                    + a.kernel.send_errors
                    + c.thrown_away
                    + c.port_down),
                n(c.malformed
                    + c.unexpected
                    + c.strange
                    + c.stale
                    + c.no_route
                    + a.kernel.too_long),
                n(c.storms),
            ]);
        }
        let gaps = (look.gaps.quantile(0.99).as_micros(), look.gaps.longest.as_micros());
        let heading = [
            "Port",
            "Interface",
            "In",
            "Out",
            "Rate in",
            "Rate out",
            "Queue",
            "Control",
            "Dropped",
            "Refused",
            "Storms",
        ];
        let table = terminal::stacked(&heading, &rows);
        let text = format!(
            "{table}{}, loop gaps 99 % below {} us, longest {} us\n",
            look.time, gaps.0, gaps.1
        );
        self.clear();
        self.lines = text.lines().count();
        self.drawn = look.time;
        let _ = self.term.write_str(&text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A capture takes the place of a capture or of nothing; the scenario, or any other file, is
    /// not lost by a slip.
    #[test]
    fn a_capture_replaces_captures_only() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let scenario = at("s.toml");
        std::fs::write(&scenario, "[topology]").unwrap();
        std::fs::write(at("notes"), "mine").unwrap();
        std::fs::write(at("old.pcapng"), b"\x0a\x0d\x0d\x0a...").unwrap();
        std::os::unix::fs::symlink("s.toml", at("link")).unwrap();
        let make = |name: &str| {
            capture(&at(name), None, false, |path| std::fs::File::create(path)).map(drop)
        };
        read::bytes(&scenario, read::TEXT_MAX).unwrap();
        for (name, text) in [
            ("s.toml", "reads it"),
            ("link", "reads it"),
            ("notes", "not a capture"),
            ("no/such", "No such file"),
        ] {
            let refused = make(name).unwrap_err().to_string();
            assert!(refused.contains(text), "{name}: {refused}");
        }
        assert_eq!(std::fs::read(at("notes")).unwrap(), b"mine");
        make("old.pcapng").unwrap();
        make("new.pcapng").unwrap();
        make("new.pcapng").unwrap();
    }
}
