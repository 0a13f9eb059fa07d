//! `xoff-farm fuzz`: every reader, one after the other, under libFuzzer, which is guided by what
//! its inputs reach. The program is that of `tools/fuzz`.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use xoff_farm::cores::cores;
use xoff_farm::ledger::Farm;
use xoff_farm::readers::{self, Reader};
use xoff_units::grouped;

/// Below the folder of the farm: its ledger, inputs that have been found by reader, and those that
/// failed. The fuzzer writes the last two.
const LEDGER: &str = "done";
const CORPUS: &str = "corpus";
const FAILED: &str = "failed";
/// Longest input [bytes].
const LONGEST: usize = 4096;
/// Longest input that is kept with the project [bytes].
const KEPT_LONGEST: usize = 512;
/// An input that takes longer is a failure [s]: large jobs take a second of the processor in the
/// command, and twenty here on a busy machine.
const TIMEOUT: u32 = 60;
/// Addresses that a fuzzer has [bytes]: less than libFuzzer's own limit, so that readers which look
/// for room before they take it refuse.
const MEMORY: u64 = 1_900 << 20;
/// Words of a dictionary; the rest of a reader's words are found in its samples.
const WORDS_MAX: usize = 3000;
/// Longest word in it [bytes].
const WORD_LONGEST: usize = 40;

#[derive(clap::Args)]
pub struct Args {
    /// Folder of the ledger, of the inputs that were found and of those that failed
    #[arg(long)]
    out: PathBuf,
    /// The program of the folder tools/fuzz
    #[arg(long)]
    program: PathBuf,
    /// Only these readers
    #[arg(long)]
    only: Vec<String>,
    /// Ends after this time, such as 30min; the readers share it
    #[arg(long, default_value = "10min", value_parser = super::time)]
    lasting: Duration,
    /// Afterwards keep some of the inputs that together reach as much as all in this folder: so
    /// many for each reader as --most says
    #[arg(long)]
    keep: Option<PathBuf>,
    /// See --keep
    #[arg(long, default_value_t = 24)]
    most: usize,
    /// Where the samples are
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))]
    root: PathBuf,
}

/// Runs it. Returns the number of failures in the ledger.
pub fn run(args: &Args, asked: &AtomicBool) -> Result<u64, String> {
    let all = super::chosen(readers::all(&args.root), |r| r.name.clone(), &args.only)?;
    let mut farm =
        Farm::open(&args.out.join(LEDGER), env!("CARGO_PKG_VERSION")).map_err(|e| e.to_string())?;
    let failed = |e: io::Error| e.to_string();
    fs::create_dir_all(args.out.join(FAILED)).map_err(failed)?;
    for r in &all {
        seed(r, &args.root, &args.out).map_err(failed)?;
    }
    // Files that readers want to find in a folder are in memory, if there is such a place; a fuzzer
    // that ends cleans nothing up.
    let memory = Path::new("/dev/shm");
    let scratch = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }
        .map_err(failed)?;
    let at_a_time = cores();
    // Whoever begins late has as long as the first.
    let share =
        args.lasting.mul_f64(at_a_time as f64 / all.len() as f64).max(Duration::from_secs(2));
    for some in all.chunks(at_a_time) {
        if asked.load(Ordering::Relaxed) || args.lasting.is_zero() {
            break;
        }
        let mut under_way = Vec::new();
        for r in some {
            under_way.push((
                r,
                start(args, r, share, scratch.path()).map_err(failed)?,
                Instant::now(),
            ));
        }
        for (r, mut child, began) in under_way {
            child.wait().map_err(failed)?;
            enter(&mut farm, args, r, began.elapsed())?;
        }
        farm.keep().map_err(|e| e.to_string())?;
    }
    let mut failures = 0;
    for (name, d) in
        farm.ledger.done.iter().filter(|(name, _)| all.iter().any(|r| r.name == **name))
    {
        println!(
            "{name:22} {:>16} executions, {:>7} edges, {:>6} inputs, {:>4} failed, {:>9.0} s",
            grouped(d.cases),
            grouped(d.edges),
            fs::read_dir(corpus(&args.out, name)).into_iter().flatten().count(),
            d.failed,
            d.seconds
        );
        failures += d.failed;
    }
    if let Some(kept) = &args.keep {
        for r in &all {
            keep(args, r, &kept.join(&r.name), scratch.path()).map_err(failed)?;
        }
    }
    Ok(failures)
}

fn corpus(out: &Path, reader: &str) -> PathBuf {
    out.join(CORPUS).join(reader)
}

/// The first inputs: samples, and inputs from the repository.
fn seed(r: &Reader, root: &Path, out: &Path) -> io::Result<()> {
    let folder = corpus(out, &r.name);
    fs::create_dir_all(&folder)?;
    for (n, sample) in r
        .samples
        .iter()
        .chain(&readers::kept(root, &r.name))
        .enumerate()
        .filter(|s| s.1.len() <= LONGEST)
    {
        fs::write(folder.join(format!("sample-{n}")), sample)?;
    }
    Ok(())
}

fn log(out: &Path, reader: &str) -> PathBuf {
    out.join(CORPUS).join(format!("{reader}.log"))
}

fn fuzzer(args: &Args, r: &Reader, scratch: &Path) -> io::Result<Command> {
    let mut c = Command::new(&args.program);
    c.env("XOFF_FUZZ", &r.name).env("TMPDIR", scratch).stdin(Stdio::null()).stdout(Stdio::null());
    c.stderr(fs::File::create(log(&args.out, &r.name))?);
    Ok(c)
}

/// Words of the samples and what tends to break readers, in libFuzzer's form: it puts them where it
/// would never come to by single bytes.
fn dictionary(r: &Reader) -> String {
    let of_samples = r
        .samples
        .iter()
        .flat_map(|s| s.split(|b| !b.is_ascii_alphanumeric() && !b"_-.".contains(b)));
    let known = readers::TOKENS.iter().map(|t| t.as_bytes());
    let words: BTreeSet<&[u8]> =
        known.chain(of_samples).filter(|w| (2..=WORD_LONGEST).contains(&w.len())).collect();
    let escaped = |w: &[u8]| w.iter().map(|b| format!("\\x{b:02X}")).collect::<String>();
    words.iter().take(WORDS_MAX).map(|w| format!("\"{}\"\n", escaped(w))).collect()
}

fn start(args: &Args, r: &Reader, lasting: Duration, scratch: &Path) -> io::Result<Child> {
    let words = args.out.join(CORPUS).join(format!("{}.dict", r.name));
    fs::write(&words, dictionary(r))?;
    let mut c = fuzzer(args, r, scratch)?;
    c.arg(format!("-dict={}", words.display()));
    c.arg(format!("-max_total_time={}", lasting.as_secs().max(1)));
    c.args([
        format!("-max_len={LONGEST}"),
        format!("-timeout={TIMEOUT}"),
        format!("-report_slow_units={TIMEOUT}"),
        "-print_final_stats=1".into(),
        "-verbosity=1".into(),
    ]);
    c.arg(format!("-artifact_prefix={}/{}-", args.out.join(FAILED).display(), r.name));
    let child = c.arg(corpus(&args.out, &r.name)).spawn()?;
    // It reads its inputs first; none of them takes much.
    prlimit(
        Some(Pid::from_child(&child)),
        Resource::As,
        Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) },
    )?;
    Ok(child)
}

/// The number that stands behind the last of these words.
fn figure(text: &str, word: &str) -> u64 {
    let behind = text.rsplit_once(word).map_or("", |p| p.1).trim_start();
    behind.split(|c: char| !c.is_ascii_digit()).next().and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// Enters the result of a reader's turn.
fn enter(farm: &mut Farm, args: &Args, r: &Reader, lasted: Duration) -> Result<(), String> {
    let text = fs::read(log(&args.out, &r.name)).map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&text);
    // The first line that begins with `#` counts executions too, where a run has ended early.
    let executions = figure(&text, "stat::number_of_executed_units:").max(figure(&text, "\n#"));
    let mut artifact = text
        .lines()
        .find_map(|l| l.split_once("Test unit written to ").map(|p| p.1.trim().to_owned()));
    if executions == 0 && artifact.is_none() {
        // It has not come to its first line: the others are entered all the same.
        artifact = Some(log(&args.out, &r.name).display().to_string());
    }
    let done = farm.ledger.done.entry(r.name.clone()).or_default();
    done.cases += executions;
    done.edges = done.edges.max(figure(&text, "cov:"));
    done.seconds += lasted.as_secs_f64();
    if let Some(file) = artifact {
        done.failed += 1;
        let mut lines =
            text.lines().skip_while(|l| !l.contains("panicked at") && !l.contains("ERROR:"));
        println!(
            "FAILED {file}: {} {}",
            lines.next().unwrap_or("no reason"),
            lines.next().unwrap_or_default()
        );
    }
    Ok(())
}

/// Keeps some of the inputs: those that together reach everything.
fn keep(args: &Args, r: &Reader, folder: &Path, scratch: &Path) -> io::Result<()> {
    let all = tempfile::tempdir()?;
    let mut c = fuzzer(args, r, scratch)?;
    c.args(["-set_cover_merge=1", &format!("-max_len={KEPT_LONGEST}")])
        .arg(all.path())
        .arg(corpus(&args.out, &r.name));
    if !c.status()?.success() {
        return Err(io::Error::other(format!(
            "the inputs of {} could not be merged: {}",
            r.name,
            log(&args.out, &r.name).display()
        )));
    }
    let mut inputs: Vec<(usize, Vec<u8>)> = fs::read_dir(all.path())?
        .filter_map(|e| fs::read(e.ok()?.path()).ok())
        .map(|bytes| (bytes.len(), bytes))
        .filter(|(len, _)| *len <= KEPT_LONGEST)
        .collect();
    inputs.sort();
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder)?;
    // Of every length: the shortest ones alone come no further than the first line.
    let kept = inputs.len().min(args.most);
    for n in 0..kept {
        fs::write(folder.join(format!("{n:02}")), &inputs[n * inputs.len() / kept].1)?;
    }
    println!("{:22} {kept} of {} inputs kept", r.name, inputs.len());
    Ok(())
}
