//! `xoff-farm soak`: itself once more, in namespaces of its own; what is left over when that has
//! ended; the page.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use xoff_farm::readers;
use xoff_farm::soak::{self, Plan, Round, report};
use xoff_real::netio::sandbox;
use xoff_record::output::Folder;

/// Record of the rounds, a line each.
const LEDGER: &str = "rounds.jsonl";
/// Set in the process inside the namespaces.
pub const INSIDE: &str = "XOFF_FARM_INSIDE";
/// Variable with the folder for the files of nodes.
const FILES: &str = "XOFF_FARM_FILES";
/// Prefix of such folders, before the number of the process that made them.
const FILES_OF: &str = "xoff-soak-";

#[derive(clap::Args)]
pub struct Args {
    /// Folder of the rounds that were done; more are added to them
    #[arg(long)]
    out: PathBuf,
    /// Only these flow controls
    #[arg(long)]
    only: Vec<String>,
    /// Only these faults
    #[arg(long)]
    fault: Vec<String>,
    /// Ends after this time, such as 3h; each flow control has each fault once at least
    #[arg(long, default_value = "30min", value_parser = super::time)]
    lasting: Duration,
    /// Traffic of a round lasts about so long
    #[arg(long, default_value = "15s", value_parser = super::time)]
    traffic: Duration,
    /// A setting of all nodes, KEY=VALUE
    #[arg(long)]
    set: Vec<String>,
    /// Of what is drawn
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The program `xoff`; that next to this one without it
    #[arg(long)]
    xoff: Option<PathBuf>,
}

fn known(
    all: impl Iterator<Item = &'static str>,
    asked: &[String],
) -> Result<Vec<&'static str>, String> {
    let all: Vec<&str> = all.collect();
    if let Some(wrong) = asked.iter().find(|a| !all.contains(&a.as_str())) {
        return Err(format!("there is no '{wrong}'; expected one of {}", all.join(", ")));
    }
    Ok(all.into_iter().filter(|n| asked.is_empty() || asked.iter().any(|a| a == n)).collect())
}

/// Runs it. Returns the number of problems.
pub fn run(args: &Args, asked: &AtomicBool) -> Result<u64, String> {
    let kinds = known(soak::KINDS.iter().map(|k| k.0), &args.only)?;
    let faults = known(soak::fault_names(), &args.fault)?.into_iter().map(str::to_owned).collect();
    if std::env::var_os(INSIDE).is_some() {
        return inside(args, kinds, faults, asked).map(|()| 0).map_err(|e| e.to_string());
    }
    let folder = Folder::claim(&args.out, "soak", false).map_err(|e| e.to_string())?;
    // Written by the process inside.
    folder.own(LEDGER).map_err(|e| e.to_string())?;
    let mut left_over = "not looked for, nothing was run".to_owned();
    let before = rounds(&args.out)?.len();
    if !args.lasting.is_zero() {
        left_over = outside(asked)?;
    }
    let rounds = rounds(&args.out)?;
    print!("{}", report::page(&rounds, &left_over));
    let problems = report::problems(&rounds).len() as u64;
    if rounds.len() == before && !args.lasting.is_zero() {
        return Err("no round was completed".into());
    }
    Ok(problems + u64::from(left_over != "nothing"))
}

/// The rounds that were done.
fn rounds(folder: &Path) -> Result<Vec<Round>, String> {
    let text = match fs::read_to_string(folder.join(LEDGER)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(|e| e.to_string())?,
    };
    // The last line may have been cut off.
    let lines = text.split_inclusive('\n').filter(|l| l.ends_with('\n'));
    lines.map(|l| serde_json::from_str(l).map_err(|e| format!("{LEDGER}: {e}"))).collect()
}

/// Processes that still have this process's mark, and the network namespaces that they are in. A
/// namespace lives as long as there are processes in it; those of others on this machine come and
/// go.
fn marked(mark: &str) -> (usize, BTreeSet<PathBuf>) {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let has = |p: &fs::DirEntry| {
        fs::read(p.path().join("environ"))
            .is_ok_and(|e| e.split(|&b| b == 0).any(|v| v == mark.as_bytes()))
    };
    let left: Vec<fs::DirEntry> = processes.filter(has).collect();
    (left.len(), left.iter().filter_map(|p| fs::read_link(p.path().join("ns/net")).ok()).collect())
}

/// A folder for the files of nodes, short enough for the names of sockets. One that a killed soak
/// has left is removed.
fn files() -> io::Result<tempfile::TempDir> {
    for entry in fs::read_dir(std::env::temp_dir())?.flatten() {
        let name = entry.file_name();
        let of = name
            .to_str()
            .and_then(|n| n.strip_prefix(FILES_OF))
            .and_then(|n| n.split_once('-')?.0.parse::<u32>().ok());
        if of.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            // That of another user stays.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    tempfile::Builder::new().prefix(&format!("{FILES_OF}{}-", std::process::id())).tempdir()
}

/// Starts this program again in namespaces of its own and waits for it. What is left over of it, in
/// words.
fn outside(asked: &AtomicBool) -> Result<String, String> {
    let failed = |e: io::Error| e.to_string();
    sandbox::probe().map_err(|missing| format!("{missing}; try: {}", missing.remedy()))?;
    let mark = format!("{}-{:?}", std::process::id(), std::time::SystemTime::now());
    let mut inside = sandbox::command(std::env::current_exe().map_err(failed)?);
    let files = files().map_err(failed)?;
    inside.args(std::env::args_os().skip(1)).env(INSIDE, &mark).env(FILES, files.path());
    sandbox::killed_with_parent(&mut inside);
    let mut child = inside.spawn().map_err(failed)?;
    let status = loop {
        match child.try_wait().map_err(failed)? {
            Some(status) => break status,
            None => std::thread::sleep(Duration::from_millis(100)),
        }
        if asked.swap(false, Ordering::Relaxed)
            && let Some(pid) =
                i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw)
        {
            // In a terminal it has been asked already, and asking twice is no more.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        }
    };
    if !status.success() {
        return Err(format!("the soak ended with {status}"));
    }
    let (processes, namespaces) = marked(&format!("{INSIDE}={mark}"));
    Ok(match processes {
        0 => "nothing".into(),
        _ => format!("{processes} processes in {} network namespaces", namespaces.len()),
    })
}

/// The soak itself.
fn inside(
    args: &Args,
    kinds: Vec<&'static str>,
    faults: Vec<String>,
    asked: &AtomicBool,
) -> io::Result<()> {
    let beside = || std::env::current_exe().map(|p| p.with_file_name("xoff"));
    let program = args.xoff.clone().map_or_else(beside, Ok)?;
    sandbox::loopback_up()?;
    let mut ledger =
        fs::OpenOptions::new().append(true).create(true).open(args.out.join(LEDGER))?;
    let (settings, lasting, traffic, seed) =
        (args.set.clone(), args.lasting, args.traffic, args.seed);
    let folder = std::env::var_os(FILES)
        .map(PathBuf::from)
        .ok_or_else(|| io::Error::other(format!("{INSIDE} without {FILES}")))?;
    let plan = Plan { program, folder, kinds, faults, settings, lasting, traffic, seed };
    let mut nth = 0;
    soak::run(&plan, readers::of_frames(), asked, |r| {
        nth += 1;
        let problems =
            if r.problems.is_empty() { "fine".to_owned() } else { r.problems.join("; ") };
        eprintln!(
            "round {nth}: {}, {}: {:.1} s, S1 has {} KiB: {problems}",
            r.kind, r.fault, r.seconds, r.memory
        );
        let line = serde_json::to_string(r)? + "\n";
        ledger.write_all(line.as_bytes())?;
        ledger.sync_data()
    })?;
    Ok(())
}
