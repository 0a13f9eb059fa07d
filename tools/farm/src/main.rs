//! `xoff-farm`: random fabrics under checkers and broken inputs for readers, for as long as you
//! like.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::{Parser, Subcommand};
use xoff_farm::cores::on_all_cores;
use xoff_farm::fabrics::{self, Came, FAMILIES, Family, examine};
use xoff_farm::ledger::Farm;
use xoff_farm::readers::{self, Reader};
use xoff_farm::shrink::shrink;
use xoff_units::{Span, grouped};

mod fuzz_command;
mod soak_command;

/// Random fabrics under checkers, and broken inputs for every reader. What was done is kept in the
/// folder: a farm that was stopped continues.
#[derive(Parser)]
#[command(version)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Random fabrics under checkers
    Fabrics(Work),
    /// Broken inputs for readers
    Readers(Work),
    /// Inputs for readers, found by what they reach (needs the program of the folder tools/fuzz)
    Fuzz(fuzz_command::Args),
    /// Real frames for hours: four processes, on cables with faults (needs user namespaces and
    /// `ip`)
    Soak(soak_command::Args),
    /// Families and readers
    List,
    /// One case of a family, as a scenario
    Show {
        /// The family
        family: String,
        /// The number of the case
        case: u64,
    },
}

#[derive(clap::Args)]
struct Work {
    /// Folder of the ledger and of what failed
    #[arg(long)]
    out: PathBuf,
    /// Only these families or readers
    #[arg(long)]
    only: Vec<String>,
    /// Ends after this time, such as 10min
    #[arg(long, default_value = "1min", value_parser = time)]
    lasting: Duration,
    /// Ends when each has done so many cases
    #[arg(long, default_value_t = u64::MAX)]
    cases: u64,
    /// Where the samples are
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))]
    root: PathBuf,
}

fn time(text: &str) -> Result<Duration, String> {
    let minutes = |t: &str, unit: &str, s: u64| {
        t.strip_suffix(unit).and_then(|n| n.parse::<u64>().ok()).map(|n| Duration::from_secs(n * s))
    };
    let long = minutes(text, "min", 60).or_else(|| minutes(text, "h", 3600));
    long.map_or_else(
        || {
            text.parse::<Span>()
                .map(|s| Duration::from_secs_f64(s.as_secs_f64()))
                .map_err(|_| "expected a time, such as 10min, 2h or 30s".into())
        },
        Ok,
    )
}

/// The user asks it to end; a soak takes the word back when it has passed it on.
static ASKED: AtomicBool = AtomicBool::new(false);
/// The user did.
static CUT_SHORT: AtomicBool = AtomicBool::new(false);

fn main() -> ExitCode {
    let command = Args::parse().command;
    // The first Ctrl-C ends after the cases under way, the second at once.
    let _ = ctrlc::set_handler(|| {
        CUT_SHORT.store(true, Ordering::Relaxed);
        let again = ASKED.swap(true, Ordering::Relaxed);
        // A terminal asks a soak's two processes, and one of them the other.
        if again && std::env::var_os(soak_command::INSIDE).is_none() {
            std::process::exit(130);
        }
    });
    let done = match command {
        Command::Fabrics(work) => fabrics_of(&work).and_then(|all| farm(&work, &all)),
        Command::Readers(work) => readers_of(&work).and_then(|all| farm(&work, &all)),
        Command::Fuzz(args) => fuzz_command::run(&args, &ASKED),
        Command::Soak(args) => soak_command::run(&args, &ASKED),
        Command::List => {
            FAMILIES.iter().for_each(|f| {
                println!("fabrics  {:12} {} ({})", f.name, f.about, f.checkers.join(", "))
            });
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
            readers::all(&root)
                .iter()
                .for_each(|r| println!("readers  {:22} {} samples", r.name, r.samples.len()));
            Ok(0)
        }
        Command::Show { family, case } => fabrics::find(&family)
            .ok_or_else(|| format!("there is no family '{family}'"))
            .map(|f| {
                print!("{}", (f.draw)(case));
                0
            }),
    };
    match done {
        // The process inside a soak did what it was asked for.
        Ok(0)
            if CUT_SHORT.load(Ordering::Relaxed)
                && std::env::var_os(soak_command::INSIDE).is_none() =>
        {
            ExitCode::from(130)
        }
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("xoff-farm: {e}");
            ExitCode::from(2)
        }
    }
}

/// Work whose cases have numbers.
trait Field: Sync {
    fn name(&self) -> &str;
    /// Cases that are handed out at a time.
    fn chunk(&self) -> u64;
    fn case(&self, case: u64) -> Result<bool, Failure>;
}

/// A case that failed.
struct Failure {
    what: String,
    file: String,
    bytes: Vec<u8>,
}

impl Field for &'static Family {
    fn name(&self) -> &str {
        self.name
    }
    fn chunk(&self) -> u64 {
        match self.name {
            "smallest" => 8192,
            "tiny" => 1024,
            _ => 32,
        }
    }
    fn case(&self, case: u64) -> Result<bool, Failure> {
        let drawn = catch_unwind(AssertUnwindSafe(|| (self.draw)(case)));
        let text = match drawn {
            Ok(text) => text,
            Err(panic) => {
                let what = format!("cannot be drawn: {}", fabrics::words(&*panic));
                return Err(Failure {
                    file: format!("{}-{case}.txt", self.name),
                    bytes: what.clone().into_bytes(),
                    what,
                });
            }
        };
        match examine(&text, self.checkers) {
            Came::Fine => Ok(true),
            // A draw is a valid scenario: a rejection is an error of the draw, or of the reader.
            Came::Refused(why) => Err(Failure {
                file: format!("{}-{case}.toml", self.name),
                bytes: text.into_bytes(),
                what: why,
            }),
            Came::Failed(checker, why) => {
                let smaller = shrink(
                    &text,
                    |t| matches!(examine(t, self.checkers), Came::Failed(c, _) if c == checker),
                );
                let head = format!(
                    "# {checker}: {}\n# xoff-farm show {} {case}, made smaller\n",
                    why.replace('\n', " "),
                    self.name
                );
                Err(Failure {
                    file: format!("{}-{case}.toml", self.name),
                    bytes: (head + &smaller).into_bytes(),
                    what: format!("{checker}: {why}"),
                })
            }
        }
    }
}

impl Field for Reader {
    fn name(&self) -> &str {
        &self.name
    }
    fn chunk(&self) -> u64 {
        if self.name == "wire" { 1 << 18 } else { 4096 }
    }
    fn case(&self, case: u64) -> Result<bool, Failure> {
        let bytes = readers::broken(self, case);
        let read = catch_unwind(AssertUnwindSafe(|| (self.read)(self, &bytes)));
        read.map_err(|panic| Failure {
            what: fabrics::words(&*panic),
            file: format!("{}-{case}.bin", self.name),
            bytes,
        })
    }
}

fn chosen<T>(all: Vec<T>, name: impl Fn(&T) -> String, only: &[String]) -> Result<Vec<T>, String> {
    let names: Vec<String> = all.iter().map(&name).collect();
    if let Some(wrong) = only.iter().find(|o| !names.contains(o)) {
        return Err(format!("there is no '{wrong}'; expected one of {}", names.join(", ")));
    }
    Ok(all.into_iter().filter(|x| only.is_empty() || only.contains(&name(x))).collect())
}

fn fabrics_of(work: &Work) -> Result<Vec<Box<dyn Field>>, String> {
    let all = chosen(FAMILIES.iter().collect(), |f| f.name.to_owned(), &work.only)?;
    Ok(all.into_iter().map(|f| Box::new(f) as Box<dyn Field>).collect())
}

fn readers_of(work: &Work) -> Result<Vec<Box<dyn Field>>, String> {
    let all = chosen(readers::all(&work.root), |r| r.name.clone(), &work.only)?;
    if let Some(empty) = all.iter().find(|r| r.samples.is_empty()) {
        return Err(format!("{} has no samples below {}", empty.name, work.root.display()));
    }
    Ok(all.into_iter().map(|r| Box::new(r) as Box<dyn Field>).collect())
}

/// Works the fields off, some cases of each and then of the next. The number of failures in the
/// ledger.
fn farm(work: &Work, fields: &[Box<dyn Field>]) -> Result<u64, String> {
    let mut farm = Farm::open(&work.out, env!("CARGO_PKG_VERSION")).map_err(|e| e.to_string())?;
    // From here on a panic is a finding, and is reported as one.
    std::panic::set_hook(Box::new(|_| {}));
    let until = Instant::now() + work.lasting;
    let over = || Instant::now() >= until || ASKED.load(Ordering::Relaxed);
    while !over() {
        let mut idle = true;
        for field in fields {
            let from = farm.ledger.done.get(field.name()).map_or(0, |d| d.cases);
            let to = from.saturating_add(field.chunk()).min(work.cases);
            if from < to && !over() {
                idle = false;
                turn(&mut farm, &**field, from..to)?;
            }
        }
        farm.keep().map_err(|e| e.to_string())?;
        if idle {
            break;
        }
    }
    farm.keep().map_err(|e| e.to_string())?;
    let mut failed = 0;
    for (name, d) in
        farm.ledger.done.iter().filter(|(name, _)| fields.iter().any(|f| f.name() == *name))
    {
        println!(
            "{name:22} {:>16} cases, {:>14} refused, {:>4} failed, {:>9.0} s",
            grouped(d.cases),
            grouped(d.refused),
            d.failed,
            d.seconds
        );
        failed += d.failed;
    }
    Ok(failed)
}

fn turn(farm: &mut Farm, field: &dyn Field, cases: std::ops::Range<u64>) -> Result<(), String> {
    let (refused, failures, busy) = (AtomicU64::new(0), Mutex::new(Vec::new()), Mutex::new(0.0));
    let to = cases.end;
    on_all_cores(cases, |cases| {
        let started = Instant::now();
        for case in cases {
            match field.case(case) {
                Ok(true) => {}
                Ok(false) => drop(refused.fetch_add(1, Ordering::Relaxed)),
                Err(failure) => {
                    failures.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(failure)
                }
            }
        }
        *busy.lock().unwrap_or_else(std::sync::PoisonError::into_inner) +=
            started.elapsed().as_secs_f64();
    });
    let failures = failures.into_inner().unwrap_or_default();
    for f in &failures {
        let at = farm.failed(&f.file, &f.bytes).map_err(|e| e.to_string())?;
        println!("FAILED {}: {}", at.display(), f.what.lines().next().unwrap_or_default());
    }
    let done = farm.ledger.done.entry(field.name().to_owned()).or_default();
    done.cases = to;
    done.refused += refused.into_inner();
    done.failed += failures.len() as u64;
    done.seconds += busy.into_inner().unwrap_or_default();
    Ok(())
}
