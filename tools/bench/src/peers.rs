//! Other simulators beside xoff: the same work, by turns, on this machine.
//!
//! ```text
//!   inputs (written here) -> the peer, xoff, the peer, xoff, ... -> CPU time and memory of both, ratio, both answers
//! ```
//!
//! The peers are programs that the user has. A ratio divides medians of one call, never figures of
//! two machines.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use comfy_table::{ContentArrangement, Table, presets};

use crate::child::{Ended, Xoff, to_the_end};
use crate::results::Stat;
use crate::{Failed, hpcc_case};

/// Programs and inputs of the user.
#[derive(clap::Args)]
pub struct Args {
    /// The HPCC simulator: its program `third`
    #[arg(long, value_name = "FILE")]
    hpcc: Option<PathBuf>,
    /// uet-htsim: its program `htsim_roce`
    #[arg(long, value_name = "FILE")]
    htsim: Option<PathBuf>,
    /// BookSim2: its program `booksim`
    #[arg(long, value_name = "FILE")]
    booksim: Option<PathBuf>,
    /// LogGOPSim: its program; needs --schedule
    #[arg(long, value_name = "FILE", requires = "schedule")]
    loggopsim: Option<PathBuf>,
    /// LogGOPSim: a binary schedule of `txt2bin`
    #[arg(long, value_name = "FILE")]
    schedule: Option<PathBuf>,
    /// astra-sim: its program `AstraSim_Analytical_Congestion_Aware`; needs --xoff-astra and
    /// --astra-sim
    #[arg(long, value_name = "FILE", requires_all = ["xoff_astra", "astra_sim"])]
    analytical: Option<PathBuf>,
    /// astra-sim: the adapter of clients/astra-sim
    #[arg(long, value_name = "FILE")]
    xoff_astra: Option<PathBuf>,
    /// astra-sim: its checkout, for an example of 1 MB on 16 ranks
    #[arg(long, value_name = "DIR")]
    astra_sim: Option<PathBuf>,
    /// Runs of each program
    #[arg(long, value_name = "N", default_value_t = 3)]
    rounds: usize,
    /// Only work whose name contains this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Folder of the inputs and results
    #[arg(long, value_name = "DIR", default_value = "out/bench/peers")]
    out: PathBuf,
    /// Longest time that one run may take [s]
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    limit: u64,
}

/// What a program ended with -> its answer in words, and that of xoff.
type Answers = Box<dyn Fn(&Ended, &Ended) -> (String, String)>;
/// What a program ended with -> its hops, and those of xoff.
type Hops = Box<dyn Fn(&Ended, &Ended) -> (f64, f64)>;

/// The same work for both.
struct Pair {
    peer: &'static str,
    /// Network, load, payload, pairs, paths and rate control.
    work: String,
    theirs: Command,
    ours: Command,
    /// Reads what each found, in words, from what it said.
    answers: Answers,
    /// Counts the hops of both, where the work is of one kind but not equal: the ratio is then that of
    /// hops per CPU second.
    hops: Option<Hops>,
}

/// Measures all peers that are given, and prints the table.
pub fn measure(args: &Args, xoff: &Xoff) -> Result<(), Failed> {
    let mut table = Table::new();
    table
        .load_preset(presets::ASCII_MARKDOWN)
        .set_content_arrangement(ContentArrangement::Disabled);
    table.set_header([
        "Simulator",
        "Work",
        "Its CPU time",
        "Its memory",
        "xoff's CPU time",
        "xoff's memory",
        "Ratio",
        "Its answer",
        "xoff's answer",
    ]);
    let mut given = false;
    for mut pair in pairs(args, xoff)? {
        given = true;
        if !format!("{}, {}", pair.peer, pair.work).contains(&args.only) {
            continue;
        }
        eprintln!("{}: {}", pair.peer, pair.work);
        table.add_row(by_turns(&mut pair, args)?);
    }
    if !given {
        return Err("name the programs to measure, such as --htsim FILE; --help lists them".into());
    }
    println!("{table}");
    Ok(())
}

/// Runs both by turns, and returns a row.
fn by_turns(pair: &mut Pair, args: &Args) -> Result<[String; 9], Failed> {
    let limit = Duration::from_secs(args.limit);
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    for round in 1..=args.rounds.max(1) {
        // 255: BookSim2 after a simulation that ended well.
        theirs.push(to_the_end(again(&pair.theirs), limit, &[0, 255])?);
        ours.push(to_the_end(again(&pair.ours), limit, &[0, 1])?);
        let (Some(a), Some(b)) = (theirs.last(), ours.last()) else { break };
        eprintln!("  run {round}: {:.2} s, xoff {:.2} s", a.cpu_seconds, b.cpu_seconds);
    }
    let (Some(a), Some(b)) = (theirs.last(), ours.last()) else { return Err("no run".into()) };
    let (their_answer, our_answer) = (pair.answers)(a, b);
    let stat = |runs: &[Ended]| {
        Stat::of(runs.iter().map(|e| e.cpu_seconds)).ok_or_else(|| Failed::from("no run"))
    };
    let (t, o) = (stat(&theirs)?, stat(&ours)?);
    let hops = pair.hops.as_ref().map(|hops| hops(a, b));
    let ratio = match hops {
        None => t.median / o.median,
        Some((theirs, ours)) => (ours / o.median) / (theirs / t.median),
    };
    let time = |s: Stat, hops: Option<f64>| {
        let speed =
            hops.map_or(String::new(), |h| format!(": {:.2} M hops a second", h / s.median / 1e6));
        format!("{:.2} s ({:.2} to {:.2}){speed}", s.median, s.min, s.max)
    };
    let memory = |e: &Ended| format!("{} MiB", e.peak_bytes >> 20);
    Ok([
        pair.peer.into(),
        pair.work.clone(),
        time(t, hops.map(|h| h.0)),
        memory(a),
        time(o, hops.map(|h| h.1)),
        memory(b),
        format!("{ratio:.digits$}x", digits = if ratio < 1.0 { 3 } else { 1 }),
        their_answer,
        our_answer,
    ])
}

fn again(c: &Command) -> Command {
    let mut copy = Command::new(c.get_program());
    copy.args(c.get_args());
    if let Some(dir) = c.get_current_dir() {
        copy.current_dir(dir);
    }
    copy
}

fn pairs(args: &Args, xoff: &Xoff) -> Result<Vec<Pair>, Failed> {
    let mut pairs = Vec::new();
    fs::create_dir_all(&args.out)
        .map_err(|e| format!("cannot create {}: {e}", args.out.display()))?;
    let absolute = |p: &Path| fs::canonicalize(p).map_err(|e| format!("{}: {e}", p.display()));
    let out = absolute(&args.out)?;
    let xoff = &absolute(&xoff.binary)?;
    if let Some(program) = &args.hpcc {
        for arrivals in ["1ms", "5ms"] {
            pairs.push(hpcc(&absolute(program)?, xoff, &out, arrivals)?);
        }
    }
    if let Some(program) = &args.htsim {
        for (k, megabytes) in [(8, 10), (16, 2)] {
            pairs.push(htsim(&absolute(program)?, xoff, &out, k, megabytes)?);
        }
    }
    if let Some(program) = &args.booksim {
        for radix in [8, 32] {
            pairs.push(booksim(&absolute(program)?, xoff, &out, radix)?);
        }
    }
    if let (Some(program), Some(schedule)) = (&args.loggopsim, &args.schedule) {
        pairs.push(loggopsim(&absolute(program)?, xoff, &out, &absolute(schedule)?)?);
    }
    if let (Some(program), Some(adapter), Some(checkout)) =
        (&args.analytical, &args.xoff_astra, &args.astra_sim)
    {
        pairs.push(analytical(
            &absolute(program)?,
            &absolute(adapter)?,
            &out,
            &absolute(checkout)?,
        )?);
    }
    Ok(pairs)
}

fn write(path: &Path, text: &str) -> Result<(), Failed> {
    fs::write(path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))
}

/// A program in a folder of its own.
fn command(program: &Path, dir: &Path, args: &[&str]) -> Command {
    let mut c = Command::new(program);
    c.args(args).current_dir(dir);
    c
}

fn folder(out: &Path, name: &str) -> Result<PathBuf, Failed> {
    let dir = out.join(name);
    fs::create_dir_all(&dir).map_err(|e| format!("cannot create {}: {e}", dir.display()))?;
    Ok(dir)
}

/// A run of a scenario of xoff on one thread, without a report.
fn run(xoff: &Path, dir: &Path, scenario: &str) -> Result<Command, Failed> {
    write(&dir.join("xoff.toml"), scenario)?;
    Ok(command(
        xoff,
        dir,
        &[
            "--json",
            "run",
            "xoff.toml",
            "--threads",
            "1",
            "--no-report",
            "--out",
            "xoff",
            "--force",
        ],
    ))
}

/// A number of xoff's answer.
fn number(said: &str, key: &str) -> Option<f64> {
    serde_json::from_str::<serde_json::Value>(said).ok()?.get(key)?.as_f64()
}

fn hpcc(program: &Path, xoff: &Path, out: &Path, arrivals: &str) -> Result<Pair, Failed> {
    let dir = folder(out, &format!("hpcc-{arrivals}"))?;
    hpcc_case::write(&dir, 8, arrivals)?;
    let lines = |path: PathBuf| -> BTreeSet<String> {
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines().map(|l| l.trim().to_owned()).collect()
    };
    let files = dir.clone();
    Ok(Pair {
        peer: "HPCC simulator (ns-3)",
        work: format!(
            "fat-tree k = 8, 128 hosts, 100 Gb/s, WebSearch 50 %, {arrivals} of arrivals; payload of 1000 B, ECMP of that simulator, PFC, DCQCN, an ACK per frame"
        ),
        theirs: command(program, &dir, &["config.txt"]),
        ours: command(xoff, &dir, &["--json", "hpcc", "config.txt", "--out", "xoff", "--force"]),
        answers: Box::new(move |_, _| {
            let (theirs, ours) = (lines(files.join("fct.txt")), lines(files.join("xoff/fct.txt")));
            let same = theirs.intersection(&ours).count();
            (
                format!("{} flows", theirs.len()),
                format!("{same} flows the same, {} others", ours.len() - same),
            )
        }),
        hops: None,
    })
}

/// A permutation in which every flow leaves its pod: host i sends to i + hosts / 2 + 1.
fn htsim(program: &Path, xoff: &Path, out: &Path, k: u32, megabytes: u32) -> Result<Pair, Failed> {
    let dir = folder(out, &format!("htsim-{k}"))?;
    let hosts = k * k * k / 4;
    let size = megabytes * 1_000_000;
    let (mut matrix, mut flows) = (format!("Nodes {hosts}\nConnections {hosts}\n"), String::new());
    for i in 0..hosts {
        let to = (i + hosts / 2 + 1) % hosts;
        let _ = writeln!(matrix, "{i}->{to} id {} start 0 size {size}", i + 1);
        let _ = writeln!(flows, "[[flow]]\nsrc = \"H{i}\"\ndst = \"H{to}\"\nsize = \"{size}B\"");
    }
    write(&dir.join("pairs.cm"), &matrix)?;
    let scenario = format!(
        "[run]\nduration = \"20ms\"\nfast_forward = \"off\"\nstop_when_done = true\n[topology]\nkind = \"fat-tree\"\nk = {k}\nrate = \"100Gbps\"\ndelay = \"1us\"\n\
         [host]\nframe_max = \"4160B\"\nheader = \"64B\"\nacks = \"per-frame\"\nack_len = \"64B\"\n[switch]\nbuffer = \"1MB\"\n\
         [flow_control]\nkind = \"pfc\"\nxoff = \"61440B\"\nxon = \"49152B\"\n{flows}"
    );
    Ok(Pair {
        peer: "uet-htsim (RoCE)",
        work: format!(
            "fat-tree k = {k}, {hosts} hosts, 100 Gb/s, host i to i + {} with {megabytes} MB; payload of 4096 B, one path per flow by ECMP of each program, PFC of 60 and 48 KiB, no rate control, ACKs",
            hosts / 2 + 1
        ),
        theirs: command(
            program,
            &dir,
            &[
                "-nodes",
                &hosts.to_string(),
                "-tiers",
                "3",
                "-linkspeed",
                "100000",
                "-mtu",
                "4096",
                "-hop_latency",
                "1",
                "-strat",
                "ecmp_host",
                "-paths",
                "1",
                "-pfc_thresholds",
                "12",
                "15",
                "-q",
                "1000",
                "-end",
                "20000",
                "-tm",
                "pairs.cm",
                "-o",
                "htsim.dat",
            ],
        ),
        ours: run(xoff, &dir, &scenario)?,
        answers: Box::new(|theirs, ours| {
            let ends = theirs.said.lines().filter_map(|l| {
                l.split_once(" finished at ")?.1.split_whitespace().next()?.parse::<f64>().ok()
            });
            let ends: Vec<f64> = ends.collect();
            let last = ends.iter().copied().fold(0.0, f64::max);
            let seconds = number(&ours.said, "simulated_seconds").unwrap_or_default();
            (
                format!("{} flows, last after {last:.1} us", ends.len()),
                format!(
                    "{} flows, end after {:.1} us",
                    number(&ours.said, "flows_completed").unwrap_or_default(),
                    seconds * 1e6
                ),
            )
        }),
        hops: None,
    })
}

/// Small packets, each output with the same share, at half of the load.
fn booksim(program: &Path, xoff: &Path, out: &Path, radix: u32) -> Result<Pair, Failed> {
    let ports = radix * radix;
    let dir = folder(out, &format!("booksim-{ports}"))?;
    let cycles = if radix > 8 { 300 } else { 3_000 };
    write(
        &dir.join("booksim.cfg"),
        &format!(
            "topology = fattree;\nk = {radix};\nn = 2;\nrouting_function = nca;\nnum_vcs = 4;\nvc_buf_size = 16;\ntraffic = uniform;\npacket_size = 1;\n\
             injection_rate = 0.5;\nsim_type = latency;\nwarmup_periods = 1;\nmax_samples = 10;\nsample_period = {cycles};\nsim_count = 1;\nseed = 1;\n"
        ),
    )?;
    let scenario = format!(
        "[run]\nduration = \"{}ns\"\n[scheduled_fabric]\nkind = \"clos\"\nradix = {radix}\nstages = 3\n[admission]\nkind = \"reserve\"\n\
         [traffic]\nkind = \"uniform\"\nload = 0.5\nsize = \"40B\"\nburst = 1\n",
        if radix > 8 { 6_400 } else { 64_000 }
    );
    let of_line = |said: &str, name: &str| -> Option<f64> {
        let line = said.lines().rev().find(|l| l.trim_start().starts_with(name))?;
        line.trim_start()
            .strip_prefix(name)?
            .trim_start_matches([' ', '='])
            .split_whitespace()
            .next()?
            .parse()
            .ok()
    };
    Ok(Pair {
        peer: "BookSim2",
        work: format!(
            "{ports} ports, uniform traffic at half load, smallest packets; BookSim2: fat-tree of two levels, flits, cycle by cycle; xoff: three-stage Clos network, request-grant. Not the same work: hops per CPU second"
        ),
        theirs: command(program, &dir, &["booksim.cfg"]),
        ours: run(xoff, &dir, &scenario)?,
        answers: Box::new(move |theirs, ours| {
            (
                format!(
                    "{:.2} hops a flit",
                    of_line(&theirs.said, "Hops average").unwrap_or(f64::NAN)
                ),
                format!("{} link hops", number(&ours.said, "frame_hops").unwrap_or_default()),
            )
        }),
        hops: Some(Box::new(move |theirs, ours| {
            let hops = of_line(&theirs.said, "Hops average").unwrap_or(f64::NAN);
            let rate = of_line(&theirs.said, "Accepted flit rate average").unwrap_or(f64::NAN);
            let cycles = of_line(&theirs.said, "Time taken is").unwrap_or(f64::NAN);
            (
                hops * rate * ports as f64 * cycles,
                number(&ours.said, "frame_hops").unwrap_or(f64::NAN),
            )
        })),
    })
}

/// A schedule; no network in LogGOPSim, packets in xoff.
fn loggopsim(program: &Path, xoff: &Path, out: &Path, schedule: &Path) -> Result<Pair, Failed> {
    let dir = folder(out, "loggopsim")?;
    let file = schedule.display().to_string();
    // G has whole nanoseconds a byte.
    let scenario = format!(
        "[run]\nduration = \"100s\"\n[topology]\nkind = \"star\"\nhosts = 64\nrate = \"8Gbps\"\ndelay = \"500ns\"\n[flow_control]\nkind = \"pfc\"\n[[job]]\ngoal = \"{file}\"\n"
    );
    let name = schedule.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Pair {
        peer: "LogGOPSim",
        work: format!(
            "schedule {name}; LogGOPSim: a message takes 1 us and 1 ns a byte, no network; xoff: packets of 1500 B over a star of 8 Gb/s and 500 ns, PFC"
        ),
        theirs: command(
            program,
            &dir,
            &["-f", &file, "-L", "1000", "-o", "0", "-g", "0", "-G", "1", "-S", "1000000000"],
        ),
        ours: run(xoff, &dir, &scenario)?,
        answers: Box::new(|theirs, ours| {
            let ends = theirs.said.lines().filter_map(|l| {
                l.strip_prefix("Host ")?.split_once(": ")?.1.trim().parse::<f64>().ok()
            });
            (
                format!("end after {:.3} us", ends.fold(0.0, f64::max) / 1e3),
                format!(
                    "end after {:.3} us",
                    number(&ours.said, "simulated_seconds").unwrap_or_default() * 1e6
                ),
            )
        }),
        hops: None,
    })
}

/// A collective of astra-sim over its own model and over xoff, by the same front end.
fn analytical(program: &Path, adapter: &Path, out: &Path, checkout: &Path) -> Result<Pair, Failed> {
    let dir = folder(out, "astra-sim")?;
    let ranks = 16;
    let examples = checkout.join("examples");
    write(
        &dir.join("network.yml"),
        &format!(
            "topology: [ Switch ]\nnpus_count: [ {ranks} ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n"
        ),
    )?;
    // Its GB are of 2^30 B.
    write(
        &dir.join("star.toml"),
        &format!(
            "[topology]\nkind = \"star\"\nhosts = {ranks}\nrate = \"{}bps\"\ndelay = \"500ns\"\n[flow_control]\nkind = \"pfc\"\n",
            50 * 8 * (1_u64 << 30)
        ),
    )?;
    let options = |network: &str| {
        let option =
            |name: &str, path: PathBuf| format!("--{name}-configuration={}", path.display());
        [
            option(
                "workload",
                examples.join(format!(
                    "workload/microbenchmarks/all_to_all/{ranks}npus_1MB/all_to_all"
                )),
            ),
            option(
                "remote-memory",
                examples.join("remote_memory/analytical/no_memory_expansion.json"),
            ),
            option("system", examples.join("system/native_collectives/Ring_4chunks.json")),
            option("network", dir.join(network)),
        ]
    };
    let ended = |said: &str| {
        let cycles = said.lines().filter_map(|l| {
            l.split_once("finished, ")?.1.split_whitespace().next()?.parse::<f64>().ok()
        });
        format!("{:.3} us", cycles.fold(0.0, f64::max) / 1e3)
    };
    Ok(Pair {
        peer: "astra-sim, analytical back end, congestion aware",
        work: format!(
            "all-to-all of 1 MB on {ranks} ranks in its front end, a star of 50 GB/s and 500 ns; there whole messages, over xoff packets of 1500 B, PFC, no rate control"
        ),
        theirs: command(program, &dir, &options("network.yml").each_ref().map(String::as_str)),
        ours: command(adapter, &dir, &options("star.toml").each_ref().map(String::as_str)),
        answers: Box::new(move |theirs, ours| (ended(&theirs.said), ended(&ours.said))),
        hops: None,
    })
}
