//! `xoff testbed`: a scenario with real Ethernet frames, on this machine.

pub mod processes;

use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use schemars::JsonSchema;
use serde::Serialize;
use xoff_real::switchd::{Link, RunnerConfig};
use xoff_real::testbed::hosts::{self, IpHosts, Run, RunReport};
use xoff_real::testbed::packet_capture::{Observation, PacketCapture};
use xoff_real::testbed::replay::{self, Facts};
use xoff_real::testbed::veth_network::NetworkError;
use xoff_real::testbed::wiring::{self, Real};
use xoff_real::testbed::{
    Comparison, Drive, DriveError, Next, RealReport, Side, compare, drive, shims, veth_network,
};
use xoff_record::{Folder, Sink};
use xoff_run::{Finished, NetworkScenario, Progress};
use xoff_scenario::{Problem, Problems};
use xoff_units::grouped;

use crate::answer::{Allowed, Answer, refused, unwritten};
use crate::live_page::Waiting;
use crate::out::{self, Out, refused as refused_out};
use crate::run::{bar, problem, settings, show, verdict};
use crate::{interrupt, terminal};

/// Run a scenario with real Ethernet frames on this machine.
///
/// Every link becomes a pair of virtual interfaces in network namespaces, which need no privileges
/// and vanish with the command. The nodes run the same code as in a simulation. They send and
/// receive real frames in real time, at the rates of the scenario. The results are the tables of a
/// simulation and the losses and delays of the machine.
#[derive(clap::Args)]
#[command(
    after_long_help = "Examples:\n  xoff testbed scenarios/testbed/ring-pfc.toml\n  xoff testbed scenarios/testbed/ring-gfc.toml --out out/testbed-gfc --compare\n  xoff testbed scenarios/testbed/incast.toml --out out/testbed-iperf \\\n    --ip H0,H1 --run 'H0=iperf3 -s -1' --run 'H1=iperf3 -c 10.88.0.1 -t 3'"
)]
pub struct Args {
    /// Scenario file
    scenario: PathBuf,
    #[command(flatten)]
    out: Out,
    /// Set the seed of every random stream; replaces run.seed
    #[arg(long)]
    seed: Option<u64>,
    /// Set a value of the scenario, such as flow_control=gfc-buffer or run.duration=2s; may be
    /// repeated
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Give these hosts an ordinary IP stack in a namespace, with addresses from 10.88.0.1 in the
    /// order of the scenario's hosts; omit their flows
    #[arg(long, value_name = "HOST,...", value_delimiter = ',')]
    ip: Vec<String>,
    /// Start a command in such a host, half a second after the previous one; write its output to
    /// DIR/HOST.txt. The run ends with the last command; may be repeated
    #[arg(long, value_name = "HOST=COMMAND", requires = "ip")]
    run: Vec<String>,
    /// Write every frame into this file (pcapng); `xoff replay` proves from it that the run matches
    /// the simulation
    #[arg(long, value_name = "FILE")]
    capture: Option<PathBuf>,
    /// Keep only this many bytes of each frame in the capture; 0: all
    #[arg(long, value_name = "BYTES", default_value_t = 0, requires = "capture")]
    snap: u32,
    /// Also capture the link behind this port, such as S1->S2, with tcpdump or dumpcap, and count
    /// its frames with tshark; write the captures into DIR/link
    #[arg(long, value_name = "PORT", conflicts_with = "processes")]
    observe: Option<String>,
    /// Also simulate the scenario, and draw both in one figure: compare.svg, compare.html and
    /// compare.md next to the tables
    #[arg(long, conflicts_with = "ip")]
    compare: bool,
    /// Run every node in a separate process with its own clock; write its tables to DIR/NODE
    #[arg(long, conflicts_with_all = ["ip", "compare", "capture"])]
    processes: bool,
    /// Show the report in a browser during the run, on this port of 127.0.0.1 (--live=8080) or on
    /// any free one
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true, default_missing_value = "0", conflicts_with = "processes")]
    live: Option<u16>,
    #[command(flatten)]
    allowed: Allowed,
    /// Also print engine, times and the result hash
    #[arg(short, long)]
    verbose: bool,
}

impl Args {
    /// Folder of the results.
    fn folder(&self) -> PathBuf {
        self.out.or(out::default(&self.scenario, "-testbed"))
    }
}

/// Warnings before the run. `left_out`: flows that start or end at the hosts `ip`, which have a stack.
fn warn(scenario: &NetworkScenario, left_out: usize, ip: &[String]) {
    terminal::problems(&scenario.warnings);
    wiring::warnings(scenario).iter().for_each(|w| terminal::note(w));
    if left_out > 0 {
        let at = ip.join(", ");
        terminal::note(&format!(
            "xoff leaves out {} that start or end at {at}, because it has an IP stack",
            terminal::counted(left_out as u64, "flow")
        ));
    }
}

/// Runs it.
pub fn run(args: &Args) -> Result<Answer, Problems> {
    let scenario = NetworkScenario::load(&args.scenario, &settings(&args.set, args.seed)?);
    let mut scenario = crate::import::or_foreign(scenario, &args.scenario, "testbed")?;
    wiring::refuse(&scenario).map_err(|e| refused(&e))?;
    let runs = args
        .run
        .iter()
        .map(|r| Run::parse(r, &args.ip))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|e| refused(&e))?;
    let (shims, left_out) = shims::insert(&mut scenario, &args.ip).map_err(|e| refused(&e))?;
    hosts::mtu(&scenario).map_err(|e| refused(&e))?;
    let here = shims::here(&scenario);
    let links =
        wiring::links(&scenario, &here, |node, port| shims::is_plain(&scenario, node, port));
    let observed =
        args.observe.as_deref().map(|port| observable(&scenario, &links, port)).transpose()?;
    warn(&scenario, left_out, &args.ip);
    // A socket of this machine: the namespaces have an address 127.0.0.1 of their own.
    let waiting = args.live.map(Waiting::bind).transpose()?;
    // Before anything has a thread.
    veth_network::isolate().map_err(missing)?;
    interrupt::ask_first();
    let (out, force) = (args.folder(), &args.out.force);
    if args.out.is_default() {
        out::of_this_file(&out, &args.scenario, force)?;
    }
    let folder = out::claim("--out", &out, "testbed", force)?;
    if args.processes {
        return processes::run(&scenario, args, &folder);
    }

    let (hosts, ports) = IpHosts::new(&scenario, &shims, &links).map_err(missing)?;
    let observed = observed.map(|interfaces| observe(&interfaces, &folder)).transpose()?;
    let mut commands = hosts.commands(runs, &folder).map_err(|e| refused_out("--out", &out, e))?;
    let runner = RunnerConfig {
        until: scenario.until,
        report: Duration::from_millis(100),
        ..RunnerConfig::default()
    };
    let written = |e: std::io::Error| {
        Problem::new(format!("--capture: {e}"), "name a file on a disk with free space")
    };
    let real = Real::default();
    let facts = Facts::of(&scenario, &here, &links, &real);
    let create = |path: &PathBuf| {
        crate::live::capture(path, Some(&folder), force.force, |path| {
            replay::create(path, &links, &facts, args.snap)
        })
    };
    let mut capture = args.capture.as_ref().map(create).transpose()?;
    let mut page = waiting.map(|w| w.serve(&scenario, &out.display().to_string())).transpose()?;
    if let Some(page) = &page {
        page.announce();
    }
    let bar = bar();
    let began = Instant::now();
    let start = SystemTime::now();
    // The last frame comes in before the last poll; closing the ports takes longer.
    let mut end = start;
    let name = out.display().to_string();
    let draw =
        Box::new(|f: &Finished| Some(xoff_report::view::of_real_frames(&scenario, f, &name)));
    let d = Drive { runner, real, tap: capture.as_mut().map(replay::tap), page: Some(draw) };
    let driven = drive(
        &scenario,
        here,
        links,
        ports,
        Sink::Files(folder.clone(), Default::default()),
        d,
        |look| {
            end = SystemTime::now();
            show(
                &bar,
                &Progress {
                    now: look.time,
                    until: look.until,
                    events: 0,
                    deadlocks: look.deadlocks,
                },
            );
            look.log.iter().for_each(|l| terminal::note(l));
            if let (Some(page), Some(world)) = (&mut page, look.world) {
                page.look(world, &scenario);
            }
            if interrupt::asked() {
                return Next::Stop;
            }
            commands.look(began.elapsed())
        },
    );
    drop(bar);
    let unstarted = commands.unstarted();
    let commands = commands.finish();
    if let Some(e) = unstarted {
        return Err(Problem::new(
            format!("xoff cannot start a command: {e}"),
            "check its name, and that it is installed",
        )
        .into());
    }
    let (mut finished, real) = driven.map_err(failed)?;
    let counted = observed
        .zip(args.observe.as_deref())
        .map(|(capture, port)| Observation::of(port, capture, &scenario, start, end));
    let observed = counted.transpose().map_err(|e| Problem::new(format!("--observe: {e}"), ""))?;
    if let Some(capture) = capture {
        capture.finish().map_err(written)?;
    }
    blame(&mut finished, &commands, &folder)?;
    let exit = args.allowed.exit(verdict(&finished.manifest));
    let compared =
        if args.compare { Some(simulated(&scenario, &finished, &real, &folder)?) } else { None };
    let mut answer = format!(
        "{}{}",
        text(&scenario, &finished, &real, observed.as_ref(), args),
        commands_text(&commands)
    );
    if let Some(c) = &compared {
        answer.push_str(&compared_text(c));
    }
    let view = format!("xoff view {}", terminal::word(&name));
    Ok(Answer::new(
        answer,
        &json(&finished, (&real, observed), commands, compared.as_ref(), args),
        exit,
    )
    .next([view]))
}

/// The two interfaces of the link behind a port.
fn observable(s: &NetworkScenario, links: &[Link], port: &str) -> Result<[String; 2], Problem> {
    if s.link_retry().is_some() {
        return Err(Problem::new(
            "--observe: [link_retry] numbers frames, and counts do not look into numbered frames",
            "remove [link_retry], or use --capture",
        ));
    }
    let wired = |ends: &[usize; 2]| ends.iter().all(|&i| !links[i].plain);
    let ends = wiring::ends(s, links, port).filter(wired).ok_or_else(|| {
        let example = links.iter().find(|l| !l.plain).map_or("", |l| &l.name);
        Problem::new(
            format!("--observe: no port {port}"),
            format!("name a port of the network, such as {example}"),
        )
    })?;
    Ok(ends.map(|i| veth_network::interface(&links[i])))
}

/// Starts the packet capture of `--observe`.
fn observe(interfaces: &[String], folder: &Folder) -> Result<PacketCapture, Problems> {
    let into = folder.own("link/").map_err(|e| Problem::new(e.what, e.hint))?;
    let capture = PacketCapture::start(interfaces, &into)
        .map_err(|e| Problem::new(format!("--observe: {e}"), ""))?;
    Ok(capture.ok_or_else(|| {
        let hint =
            "install tshark, and tcpdump or dumpcap (Debian, Ubuntu: apt-get install tshark)";
        Problem::new("--observe: neither tcpdump nor dumpcap works here together with tshark", hint)
    })?)
}

/// A command that failed makes the answer "no".
fn blame(f: &mut Finished, commands: &[RunReport], folder: &Folder) -> Result<(), Problems> {
    let failed = |c: &&RunReport| c.exit_code.is_some_and(|code| code != 0);
    let failures: Vec<String> = commands
        .iter()
        .filter(failed)
        .map(|c| format!("the command at {} failed: {}", c.host, c.ended))
        .collect();
    if !failures.is_empty() {
        let verdict = verdict(&f.manifest).with(|parts| parts.failures = failures);
        f.manifest = std::mem::take(&mut f.manifest).judged(verdict);
        f.manifest.write(folder).map_err(|e| unwritten(&e))?;
    }
    Ok(())
}

fn compared_text(c: &Comparison) -> String {
    let mut t = terminal::table(c.table.columns.iter().map(|c| c.name.as_str()));
    c.table.rows.iter().for_each(|row| {
        t.add_row(row.iter().map(|c| c.text().to_owned()));
    });
    format!("\n{}\nComparison: {}\n", terminal::draw(&t), c.page.display())
}

/// A capability that the machine lacks, or an object that could not be created.
fn missing(e: NetworkError) -> Problem {
    Problem::new(e.to_string(), e.remedy())
}

/// Simulation of the same scenario, to compare with the real run.
fn simulated(
    s: &NetworkScenario,
    real: &Finished,
    report: &RealReport,
    out: &Folder,
) -> Result<Comparison, Problems> {
    let folder = out.sub("simulated").map_err(|e| Problem::new(e.what, e.hint))?;
    let simulated = s.run(Sink::Files(folder.clone(), Default::default())).map_err(problem)?;
    let (here, there) = (out.path(), folder.path());
    let real = Side { finished: real, folder: &here };
    let simulated = Side { finished: &simulated, folder: &there };
    compare(s, real, report, simulated, out).map_err(|e| Problem::new(e.to_string(), "").into())
}

/// A run that failed, as problems.
fn failed(e: DriveError) -> Problems {
    match e {
        DriveError::Run(e) => problem(e),
        DriveError::Live(e) => Problem::new(e.to_string(), "").into(),
    }
}

/// Outcome of a run with real frames.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Testbed")]
pub struct Json<'a> {
    #[serde(flatten)]
    run: crate::run::Json<'a>,
    /// Facts that only real frames show.
    real: &'a RealReport,
    /// The observed link; absent without --observe.
    #[serde(skip_serializing_if = "Option::is_none")]
    observed: Option<Observation>,
    /// The commands of --run.
    commands: Vec<RunReport>,
    /// Comparison with the simulation; absent without --compare.
    #[serde(skip_serializing_if = "Option::is_none")]
    compared: Option<&'a Comparison>,
}

fn json<'a>(
    f: &'a Finished,
    (real, observed): (&'a RealReport, Option<Observation>),
    commands: Vec<RunReport>,
    compared: Option<&'a Comparison>,
    args: &Args,
) -> Json<'a> {
    Json {
        run: crate::run::json(f, &args.allowed, &args.folder()),
        real,
        observed,
        commands,
        compared,
    }
}

fn commands_text(commands: &[RunReport]) -> String {
    if commands.is_empty() {
        return String::new();
    }
    let mut t = terminal::table(["Host", "Command", "Ended", "After", "Output"]);
    for c in commands {
        let lasted = format!("{:.1} s", c.seconds);
        t.add_row([
            c.host.clone(),
            c.command.clone(),
            c.ended.clone(),
            lasted,
            c.output.display().to_string(),
        ]);
    }
    format!("\n{}", terminal::draw(&t))
}

fn text(
    s: &NetworkScenario,
    f: &Finished,
    real: &RealReport,
    observed: Option<&Observation>,
    args: &Args,
) -> String {
    let mut t = terminal::pairs();
    let mut row = |name: &str, value: String| {
        t.add_row([name, &value]);
    };
    let count =
        |of: fn(&xoff_real::testbed::PortReport) -> u64| real.ports.iter().map(of).sum::<u64>();
    let lost = format!(
        "{} on wires, {} in kernel rings",
        real.lost_on_wire.map_or("-".into(), grouped),
        grouped(real.kernel_drops())
    );
    row(
        "Real frames",
        format!(
            "{} sent, {} of them control frames",
            grouped(count(|p| p.sent)),
            grouped(count(|p| p.control_sent))
        ),
    );
    row("Lost", lost);
    row(
        "Rejected",
        format!(
            "{} by nodes, {} by the kernel",
            count(|p| p.refused + p.no_route + p.too_long),
            count(|p| p.send_errors)
        ),
    );
    if args.verbose {
        row(
            "Loop gaps",
            format!("99 % below {:.0} us, longest {:.0} us", real.gap_p99_us, real.gap_longest_us),
        );
    }
    row(
        "Clock",
        format!(
            "stopped for {:.3} of {:.3} s, while the machine ran something else",
            real.left_out_seconds, real.wall_seconds
        ),
    );
    if let Some(o) = observed {
        let (all, last) = (&o.whole_run, &o.last_second);
        let words = format!(
            "{} data frames, {} in the last second, by {}",
            grouped(all.data),
            grouped(last.data),
            o.by.name()
        );
        row(
            &format!("Link {}", o.port),
            if o.stopped { format!("{words}: the link stopped") } else { words },
        );
    }
    format!(
        "{}\n{}",
        crate::run::text(s, f, &args.folder(), (&args.allowed, args.verbose)),
        terminal::draw(&t)
    )
}
