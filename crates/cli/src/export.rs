//! `xoff export`: a run for other programs.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use xoff_net::topology::Topology;
use xoff_net::topology::names::{What, find_port};
use xoff_real::export as capture;
use xoff_record::output::{Draft, Folder, Kind};
use xoff_record::rows::{TableSpec, tables};
use xoff_record::{Manifest, read};
use xoff_report::export::{ExportError, csv, perfetto};
use xoff_run::{NetworkScenario, Progress};
use xoff_scenario::{Problem, Problems};
use xoff_units::params::suggest;
use xoff_units::{Bytes, NodeId, Time, grouped};

use crate::answer::{Answer, Exit, refused, unwritten};
use crate::progress::Bar;
use crate::terminal;
use crate::{explain, import, interrupt, out, run};

/// Export a run for other programs: Perfetto, Wireshark, spreadsheets.
///
/// A trace or CSV comes from the tables of the run. A capture holds every frame, which no table
/// has: xoff repeats the run with a tap on the links, and writes the file only if the result hash
/// is that of the run.
#[derive(clap::Args)]
#[command(
    after_long_help = "Examples:\n  xoff run scenarios/tutorial/ring.toml\n  xoff export out/ring --perfetto ring.pftrace  # open it at ui.perfetto.dev\n  xoff export out/ring --csv ring-csv\n  xoff export out/ring --pcapng s1.pcapng --link S1:S2\n  tshark -X lua_script:docs/wire/xoff.lua -r s1.pcapng\n\nA trace shows the records of the run: [probes] with queue_changes, pauses, control and causes show most."
)]
#[command(group = clap::ArgGroup::new("to").args(["perfetto", "csv", "pcapng"]).required(true).multiple(true))]
#[group(skip)]
pub struct Args {
    /// Folder of a run
    run: PathBuf,
    /// Write a Perfetto trace: queues and rates as counters, pauses and flows as slices, how pauses
    /// spread as arrows
    #[arg(long, value_name = "FILE.pftrace")]
    perfetto: Option<PathBuf>,
    /// Write the tables as CSV into this folder, and columns.csv, which describes them
    #[arg(long, value_name = "DIR")]
    csv: Option<PathBuf>,
    /// Write only these tables as CSV, separated by commas [default: all]
    #[arg(long, value_name = "TABLES", value_delimiter = ',', requires = "csv")]
    tables: Vec<String>,
    /// Write the frames of links as a capture
    #[arg(long, value_name = "FILE.pcapng", requires = "link")]
    pcapng: Option<PathBuf>,
    /// Capture this link at its first end; may be repeated, both ends of a link are two interfaces
    #[arg(long, value_name = "A:B", requires = "pcapng")]
    link: Vec<String>,
    /// Keep only this many bytes of each frame of a capture; 0: all; headers need less than 100
    #[arg(long, value_name = "BYTES", default_value_t = 128, requires = "pcapng")]
    snap_length: u32,
    /// Start the trace or capture at this time, such as 1.2ms
    #[arg(long, value_name = "TIME", value_parser = time)]
    from: Option<Time>,
    /// End the trace or capture at this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: Option<Time>,
    /// Replace files, and use a folder that holds something else
    #[arg(long)]
    force: bool,
}

/// Owner of the folders of tables.
const COMMAND: &str = "export";

/// Traces beyond this load slowly in a browser [bytes].
const TRACE_LARGE: u64 = 200_000_000;

fn time(text: &str) -> Result<Time, String> {
    text.parse().map_err(|e: xoff_units::UnitError| format!("{}; expected {}", e.what, e.expected))
}

/// Files and counts of the export.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Export")]
pub struct Json {
    /// Form and version of this answer.
    schema: &'static str,
    /// Hash of the results of the run.
    result_hash: String,
    /// The trace; null: not requested.
    perfetto: Option<JsonTrace>,
    /// The tables; null: not requested.
    csv: Option<JsonTables>,
    /// The capture; null: not requested.
    pcapng: Option<JsonCapture>,
}

/// A Perfetto trace.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ExportTrace")]
struct JsonTrace {
    /// File.
    file: String,
    /// Length [bytes].
    bytes: u64,
    /// Tracks.
    tracks: u64,
    /// Values of counters.
    counter_values: u64,
    /// Slices.
    slices: u64,
    /// Instants.
    instants: u64,
    /// Arrows.
    arrows: u64,
    /// Tables that it was made of, with the rows that were read.
    rows: Vec<(&'static str, u64)>,
    /// Content that it does not show, one sentence each.
    notes: Vec<String>,
}

/// Tables as CSV.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ExportTables")]
struct JsonTables {
    /// Folder.
    folder: String,
    /// Tables with their rows.
    rows: Vec<(&'static str, u64)>,
    /// Columns with numbers of more than 15 digits: table and column.
    large: Vec<(&'static str, &'static str)>,
}

/// An interface of a capture.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ExportInterface")]
struct JsonInterface {
    /// The port at which it was captured.
    port: String,
    /// Frames that left it.
    outbound_frames: u64,
    /// Frames that reached it.
    inbound_frames: u64,
}

/// A capture.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ExportCapture")]
struct JsonCapture {
    /// File.
    file: String,
    /// Length [bytes].
    bytes: u64,
    /// Interfaces.
    interfaces: Vec<JsonInterface>,
    /// Control frames among all.
    control_frames: u64,
    /// Frames lost on their link: sent and not received.
    lost_frames: u64,
    /// Control frames that are left out, because they have no format on a wire.
    without_bytes: u64,
}

/// Exports it.
pub fn run(args: &Args) -> Result<Answer, Problems> {
    if args.from.zip(args.until).is_some_and(|(from, until)| from > until) {
        let what = "--from is after --until";
        return Err(Problem::new(what, "expected a start and a later end").into());
    }
    if !args.run.is_dir() {
        let (what, hint) = match args.run.exists() {
            true => (
                "is a file, not the folder of a run",
                "run the scenario first: xoff run FILE --out DIR",
            ),
            false => ("does not exist", "expected the folder of a run (--out of xoff run)"),
        };
        return Err(Problem::new(format!("'{}' {what}", args.run.display()), hint).into());
    }
    let manifest = Manifest::read(&args.run).map_err(|e| unwritten(&e))?;
    // All of it is examined before anything is written.
    let chosen = tables_of(args)?;
    let trace = args
        .perfetto
        .as_ref()
        .map(|file| Ok::<_, Problem>((file, draft("--perfetto", file, args)?)))
        .transpose()?;
    let taken = args.pcapng.as_ref().map(|file| Tapped::new(args, file)).transpose()?;
    interrupt::ask_first();
    let folder = args.csv.as_ref().map(|f| folder(f, args)).transpose()?;
    let mut text = String::new();
    let mut json = Json {
        schema: "xoff-export/1",
        result_hash: manifest.result_hash.clone(),
        perfetto: None,
        csv: None,
        pcapng: None,
    };
    let done = (|| {
        if let Some((file, draft)) = trace {
            json.perfetto = Some(write_trace(args, &manifest, file, draft)?);
        }
        if let (Some(folder), Some(to)) = (&folder, &args.csv) {
            json.csv = Some(write_tables(args, &chosen, folder, to)?);
        }
        if let Some(taken) = taken {
            json.pcapng = Some(taken.write(args, &manifest)?);
        }
        Ok(())
    })();
    match done {
        Ok(()) => {}
        Err(Failed::Stopped) => {
            return Ok(Answer::new(
                "Interrupted: no partial files remain.".into(),
                &json,
                Exit::Interrupted,
            ));
        }
        Err(Failed::Because(problems)) => return Err(problems),
    }
    json.perfetto.iter().for_each(|t| text += &t.words());
    json.csv.iter().for_each(|t| text += &t.words());
    json.pcapng.iter().for_each(|c| text += &c.words());
    Ok(Answer::new(text, &json, Exit::Done))
}

/// Reason why an export ends early.
enum Failed {
    Stopped,
    Because(Problems),
}

impl From<Problem> for Failed {
    fn from(p: Problem) -> Self {
        Failed::Because(p.into())
    }
}

/// An error while the file of an option is written.
fn failed<'a>(option: &'a str, file: &'a Path) -> impl Fn(ExportError) -> Failed + use<'a> {
    move |e| match e {
        ExportError::Stopped => Failed::Stopped,
        ExportError::Read(e) => unwritten(&e).into(),
        ExportError::Run(e) => Failed::Because(run::problem(e)),
        ExportError::Output(e) => out::refused(option, file, e).into(),
        ExportError::Write(e) => {
            let what = format!("cannot write {}: {e}", file.display());
            Problem::new(what, "free some space, or name a file on another disk")
                .at(terminal::option(option, &file.display().to_string()))
                .into()
        }
    }
}

/// A file of an option: an existing one is replaced only with --force, and never if it belongs to a
/// run or is read.
fn draft(option: &str, file: &Path, args: &Args) -> Result<Draft, Problem> {
    let at = |p: Problem| p.at(terminal::option(option, &file.display().to_string()));
    if !args.force && file.is_file() {
        return Err(at(Problem::new(
            format!("'{}' already exists", file.display()),
            import::REPLACE,
        )));
    }
    out::draft(option, file, Kind::Capture, true)
}

/// The folder of --csv: never that of the run, whose tables would make room for those of the
/// export.
fn folder(to: &Path, args: &Args) -> Result<Folder, Problems> {
    if to.canonicalize().is_ok_and(|to| args.run.canonicalize().is_ok_and(|run| run == to)) {
        let problem = Problem::new(
            format!("cannot write {}: this command reads it", to.display()),
            "name another folder",
        );
        return Err(problem.at(terminal::option("--csv", &to.display().to_string())).into());
    }
    out::claim("--csv", to, COMMAND, &out::Force { force: args.force })
}

/// The tables of --csv.
fn tables_of(args: &Args) -> Result<Vec<&'static TableSpec>, Problems> {
    let held: Vec<&TableSpec> = tables().filter(|t| read::exists(&args.run, t.name)).collect();
    if args.tables.is_empty() {
        return Ok(held);
    }
    let names: Vec<&str> = held.iter().map(|t| t.name).collect();
    let one = |name: &String| {
        let name = name.trim();
        let found = held.iter().find(|t| t.name == name).copied();
        found.ok_or_else(|| {
            let known = tables().any(|t| t.name == name);
            let what = if known {
                format!("the run has no table '{name}'")
            } else {
                format!("there is no table '{name}'")
            };
            Problem::new(what, suggest::hint(name, "tables of the run", &names))
                .at(terminal::option("--tables", &args.tables.join(",")))
        })
    };
    args.tables.iter().map(|name| one(name).map_err(Problems::from)).collect()
}

/// Shows which table is at which row; false once the user asked to stop.
fn progress(bar: &Bar) -> impl FnMut(&'static str, u64) -> bool {
    move |table, rows| {
        bar.message(format!("{table}: {} rows", grouped(rows)));
        bar.tick();
        !interrupt::asked()
    }
}

fn write_trace(
    args: &Args,
    manifest: &Manifest,
    file: &Path,
    draft: Draft,
) -> Result<JsonTrace, Failed> {
    let bar = Bar::spinner("{spinner} {msg} {elapsed_precise:.dim}");
    let window = perfetto::Window {
        from: args.from.unwrap_or(Time::ZERO),
        until: args.until.unwrap_or(Time::NEVER),
    };
    let (draft, s) = perfetto::write(&args.run, manifest, window, draft, &mut progress(&bar))
        .map_err(failed("--perfetto", file))?;
    drop(bar);
    let bytes = draft.bytes();
    draft.finish().map_err(|e| out::refused("--perfetto", file, e))?;
    let mut notes = s.notes;
    if bytes > TRACE_LARGE {
        notes.push(
            "a trace of this size loads slowly in a browser: choose a part with --from and --until"
                .into(),
        );
    }
    Ok(JsonTrace {
        file: file.display().to_string(),
        bytes,
        tracks: s.tracks,
        counter_values: s.counts,
        slices: s.slices,
        instants: s.instants,
        arrows: s.arrows,
        rows: s.rows,
        notes,
    })
}

fn write_tables(
    args: &Args,
    chosen: &[&'static TableSpec],
    folder: &Folder,
    to: &Path,
) -> Result<JsonTables, Failed> {
    let bar = Bar::spinner("{spinner} {msg} {elapsed_precise:.dim}");
    let s =
        csv::write(&args.run, chosen, folder, &mut progress(&bar)).map_err(failed("--csv", to))?;
    Ok(JsonTables { folder: to.display().to_string(), rows: s.rows, large: s.large })
}

/// A capture that can be written: its links exist.
struct Tapped<'a> {
    file: &'a Path,
    scenario: NetworkScenario,
    ports: Vec<(NodeId, u16)>,
    draft: Draft,
}

impl<'a> Tapped<'a> {
    fn new(args: &Args, file: &'a Path) -> Result<Tapped<'a>, Problems> {
        let scenario = explain::load(&args.run)?;
        let mut ports = Vec::new();
        for link in &args.link {
            let port = port(&scenario.topology, link)?;
            if !ports.contains(&port) {
                ports.push(port);
            }
        }
        Ok(Tapped { file, scenario, ports, draft: draft("--pcapng", file, args)? })
    }

    fn write(self, args: &Args, manifest: &Manifest) -> Result<JsonCapture, Failed> {
        let Tapped { file, scenario, ports, draft } = self;
        if manifest.interrupted {
            let what = format!(
                "{} was interrupted, but a capture needs a complete run",
                args.run.display()
            );
            return Err(Problem::new(
                what,
                "complete the run, or export partial results with --perfetto or --csv",
            )
            .into());
        }
        let options = capture::Options {
            snap_length: args.snap_length,
            from: args.from.unwrap_or(Time::ZERO),
            until: args.until.unwrap_or(Time::NEVER),
            comment: comment(&scenario, manifest),
            ports,
        };
        let bar = run::bar();
        let look = |p: &Progress| {
            run::show(&bar, p);
            !interrupt::asked()
        };
        let written = capture::write(&scenario, &options, draft, look);
        drop(bar);
        let (draft, s) = written.map_err(failed("--pcapng", file))?;
        if s.result_hash != manifest.result_hash {
            return Err(another_result(args, manifest, &s.result_hash).into());
        }
        let bytes = draft.bytes();
        draft.finish().map_err(|e| out::refused("--pcapng", file, e))?;
        let interface = |(&(n, p), &(outbound_frames, inbound_frames))| JsonInterface {
            port: scenario.topology.port_name(n, p),
            outbound_frames,
            inbound_frames,
        };
        Ok(JsonCapture {
            file: file.display().to_string(),
            bytes,
            interfaces: options.ports.iter().zip(&s.frames).map(interface).collect(),
            control_frames: s.control,
            lost_frames: s.lost,
            without_bytes: s.without_bytes,
        })
    }
}

/// Comment inside a capture.
fn comment(s: &NetworkScenario, m: &Manifest) -> String {
    format!(
        "Simulated by xoff {}: {}. Result hash {}. Time 0 is the begin of the run; times are ps. Outbound: the first bit leaves; inbound: the node has the frame.",
        xoff_run::VERSION,
        s.title,
        m.result_hash
    )
}

/// The run repeated is not the run that is exported.
fn another_result(args: &Args, m: &Manifest, got: &str) -> Problem {
    let what = format!(
        "{} run again has the result hash {got}, and its manifest {}",
        args.run.display(),
        m.result_hash
    );
    let hint = if m.xoff_version != xoff_run::VERSION {
        "another version of xoff wrote the run: repeat it with this version"
    } else {
        "the run is not a simulation (capture real frames with --capture), or its input files have changed: repeat the run"
    };
    Problem::new(what, hint)
}

/// The port of --link.
fn port(t: &Topology, link: &str) -> Result<(NodeId, u16), Problem> {
    find_port(t, "--link", link, What::Link).map_err(|e| {
        let names = t
            .node_ids()
            .flat_map(|n| (0..t.nodes[n.index()].ports.len() as u16).map(move |p| (n, p)));
        let names: Vec<String> =
            names.map(|(n, p)| t.port_name(n, p).replacen("->", ":", 1)).collect();
        let near = suggest::nearest(link, names.iter().map(String::as_str))
            .filter(|_| !e.hint.contains("did you mean"));
        let near = near.map_or(String::new(), |n| format!("did you mean '{n}'? "));
        Problem::new(refused(&e).message, format!("{near}{}", e.hint))
            .at(terminal::option("--link", link))
    })
}

impl JsonTrace {
    fn words(&self) -> String {
        let mut text = format!(
            "{}: {}, {} tracks, {} values of counters, {} slices, {} instants, {} arrows\n  Open it at https://ui.perfetto.dev; nothing is uploaded.\n",
            self.file,
            Bytes(self.bytes),
            grouped(self.tracks),
            grouped(self.counter_values),
            grouped(self.slices),
            grouped(self.instants),
            grouped(self.arrows),
        );
        self.notes.iter().for_each(|note| text += &format!("  Note: {note}.\n"));
        text
    }
}

impl JsonTables {
    fn words(&self) -> String {
        let rows: Vec<String> = self
            .rows
            .iter()
            .filter(|r| r.1 > 0)
            .map(|(name, rows)| format!("{name} {}", grouped(*rows)))
            .collect();
        let mut text = format!(
            "{}: {} tables, with rows: {}\n",
            self.folder,
            self.rows.len(),
            rows.join(", ")
        );
        if !self.large.is_empty() {
            let names: Vec<String> =
                self.large.iter().map(|(table, column)| format!("{table}.{column}")).collect();
            text += &format!(
                "Note: {} contain numbers of more than 15 digits. Excel rounds them; R rounds from 2^53. Polars, DuckDB, and pandas with \
                 the types of columns.csv keep them.\n",
                names.join(", ")
            );
        }
        text
    }
}

impl JsonCapture {
    fn words(&self) -> String {
        let mut text = format!("{}: {}", self.file, Bytes(self.bytes));
        for i in &self.interfaces {
            text += &format!(
                ", {} {} frames out and {} in",
                i.port,
                grouped(i.outbound_frames),
                grouped(i.inbound_frames)
            );
        }
        text += &format!(", {} control frames among them\n", grouped(self.control_frames));
        text += "  xoff repeated the run; its result hash is the same.\n";
        text += "  tshark -X lua_script:docs/wire/xoff.lua -r FILE shows the frames of xoff's own kinds.\n";
        if self.lost_frames > 0 {
            text += &format!(
                "  {} frames were lost on their link: sent, but not received.\n",
                grouped(self.lost_frames)
            );
        }
        if self.without_bytes > 0 {
            let count = grouped(self.without_bytes);
            text += &format!(
                "  Note: xoff leaves out {count} control frames without a wire format (docs/wire-formats.md).\n"
            );
        }
        text
    }
}
