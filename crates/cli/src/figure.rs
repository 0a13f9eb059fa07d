//! `xoff figure`: a figure for a paper. This command gives the data; Matplotlib draws, through the
//! Python package.
//!
//! ```text
//!   RUN -> Data: nodes, links, one port over time (JSON) -> python -m xoff._figure -> PDF, SVG, PNG, text of the caption
//! ```

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_net::topology::names::{What, find_port};
use xoff_net::topology::{NodeKind, PortNumbers, Topology};
use xoff_record::output::{Draft, Kind};
use xoff_record::{Manifest, Sink};
use xoff_run::{Course, NetworkScenario};
use xoff_scenario::{Problem, Problems};

use crate::answer::{Answer, Exit, unwritten};
use crate::run::{bar, problem, show};
use crate::{explain, interrupt, out, python, terminal};

/// Subject of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Of {
    /// The cycle of a deadlock in its network
    Cycle,
    /// A port over time: rate, buffers, pauses
    Port,
    /// Slowdown of flows over their size
    Slowdown,
    /// The network, each link coloured by the share of the run for which it was paused
    Network,
}

/// Width of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
enum Width {
    /// One column of a two-column page, 3.35 inches
    Column,
    /// Both columns, 7 inches
    Page,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
enum Format {
    Pdf,
    Svg,
    Png,
}

impl Format {
    const ALL: [Format; 3] = [Format::Pdf, Format::Svg, Format::Png];
    fn name(self) -> &'static str {
        match self {
            Format::Pdf => "pdf",
            Format::Svg => "svg",
            Format::Png => "png",
        }
    }
}

/// Draw a figure of a run for a paper, with its caption and its provenance.
///
/// Writes one file for each format, and a text file with the caption and the provenance: scenario,
/// flow control, seed, version, result hash. The same facts are in the metadata of each file.
/// Matplotlib draws the figure, so this needs the Python package (pip install xoff). A figure of a
/// port repeats the run.
#[derive(clap::Args)]
#[command(
    after_long_help = "Examples:\n  xoff run scenarios/tutorial/ring.toml --out out/ring\n  xoff figure out/ring --of cycle\n  xoff figure out/ring --of port --port S1:S2 --format pdf,png --out s1s2"
)]
pub struct Args {
    /// Folder of a run (--out of xoff run)
    run: PathBuf,
    /// Content of the figure
    #[arg(long, value_enum)]
    of: Of,
    /// Port of --of port, such as S1:S2
    #[arg(long, required_if_eq("of", "port"))]
    port: Option<String>,
    /// Width of the figure
    #[arg(long, value_enum, default_value = "column")]
    width: Width,
    /// Formats, separated by commas
    #[arg(long, value_enum, value_delimiter = ',', default_value = "pdf")]
    format: Vec<Format>,
    /// Name of the files, without an ending; default: the name of the run and the content, such as
    /// ring-cycle
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace files that xoff did not draw
    #[arg(long)]
    force: bool,
    /// Draw nothing, and answer with the data of the figure as JSON
    #[arg(long, conflicts_with_all = ["out", "format", "force"])]
    data: bool,
}

/// Nodes and links, placed as in the report.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "FigureNetwork")]
struct Network {
    /// Names of the nodes.
    name: Vec<String>,
    /// Position of each node, to the right.
    x: Vec<f64>,
    /// Position of each node, downwards.
    y: Vec<f64>,
    /// The node is a host.
    host: Vec<bool>,
    /// Numbers of the two ends of each link.
    links: Vec<(u32, u32)>,
    /// Width and height may be scaled apart.
    tiers: bool,
}

/// A port at the samples of the report.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "FigurePort")]
struct OverTime {
    /// Name of the port.
    port: String,
    /// Node that receives from the port.
    peer: String,
    /// The port belongs to a host, which has no egress queue.
    host: bool,
    /// Line rate [bit/s].
    line_bps: u64,
    /// Time of each sample [ps].
    time_ps: Vec<u64>,
    /// Bytes sent since the previous sample.
    sent_bytes: Vec<u64>,
    /// Time paused since the previous sample [ps].
    paused_ps: Vec<u64>,
    /// Share of the line rate that flow control allows.
    allowed_share: Vec<f64>,
    /// Egress queue of the port [bytes].
    egress_bytes: Vec<u64>,
    /// Ingress buffer of the peer behind the port [bytes].
    ingress_bytes: Vec<u64>,
}

/// Data of a figure.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "FigureData")]
struct Data {
    /// The network, for `cycle` and `network`.
    network: Option<Network>,
    /// The port, for `port`.
    port: Option<OverTime>,
}

/// A drawn figure.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Figure")]
pub struct Json {
    /// Files that were written.
    files: Vec<String>,
    /// With `--data`, the data; the other fields are empty then.
    data: Option<Data>,
    /// Caption of the figure.
    caption: String,
    /// Scenario, flow control, seed, version and result hash in one line.
    provenance: String,
}

/// Reply of the Python package.
#[derive(Deserialize)]
struct Drawn {
    /// Reason why there is no figure, and a hint.
    #[serde(default)]
    refused: Option<(String, String)>,
    /// By format, in base64.
    #[serde(default)]
    files: std::collections::BTreeMap<String, String>,
    #[serde(default)]
    caption: String,
    #[serde(default)]
    provenance: String,
    #[serde(default)]
    text: String,
}

/// Draws it.
pub fn run(args: &Args) -> Result<Answer, Problems> {
    if let Some(port) = args.port.as_ref().filter(|_| args.of != Of::Port) {
        return Err(Problem::new("only a figure of a port has this option", "--of port")
            .at(terminal::option("--port", port))
            .into());
    }
    let data = data(args)?;
    if args.data {
        let text = serde_json::to_string_pretty(&data).unwrap_or_default();
        let answer = Json {
            files: Vec::new(),
            data: Some(data),
            caption: String::new(),
            provenance: String::new(),
        };
        return Ok(Answer::new(text, &answer, Exit::Done));
    }
    let stem = stem(args);
    let text = with_ending(&stem, "txt");
    free(args, &stem, &text)?;
    let drawn = draw(args, &data)?;
    let mut files = Vec::new();
    for (format, bytes) in &drawn.files {
        let file = with_ending(&stem, format);
        let bytes = BASE64_STANDARD.decode(bytes).map_err(|e| python::garbled(&e))?;
        Draft::to(&file)
            .and_then(|d| d.finish_with(&bytes))
            .map_err(|e| out::refused("--out", &file, e))?;
        files.push(file.display().to_string());
    }
    Draft::to(&text)
        .and_then(|d| d.finish_with(drawn.text.as_bytes()))
        .map_err(|e| out::refused("--out", &text, e))?;
    files.push(text.display().to_string());
    let said = format!(
        "{}\n\n{}\n{}\n",
        files.join("\n"),
        terminal::wrapped(&drawn.caption),
        terminal::wrapped(&drawn.provenance)
    );
    Ok(Answer::new(
        said,
        &Json { files, data: None, caption: drawn.caption, provenance: drawn.provenance },
        Exit::Done,
    ))
}

/// The file's name without the ending of a format.
fn stem(args: &Args) -> PathBuf {
    match &args.out {
        Some(file)
            if file.extension().is_some_and(|e| Format::ALL.iter().any(|f| e == f.name())) =>
        {
            file.with_extension("")
        }
        Some(file) => file.clone(),
        None => {
            let run = args.run.file_name().map_or("run".into(), |n| n.to_string_lossy());
            let of = clap::ValueEnum::to_possible_value(&args.of)
                .map_or(String::new(), |v| v.get_name().to_owned());
            PathBuf::from(format!("{run}-{of}"))
        }
    }
}

fn with_ending(stem: &Path, ending: &str) -> PathBuf {
    let mut name = stem.as_os_str().to_owned();
    name.push(format!(".{ending}"));
    PathBuf::from(name)
}

/// Rejects files that another program wrote. The text file next to a figure identifies it as one of
/// xoff.
fn free(args: &Args, stem: &Path, text: &Path) -> Result<(), Problem> {
    out::free(text, Kind::Caption, args.force).map_err(|e| out::refused("--out", text, e))?;
    let mine = args.force || text.is_file();
    for format in &args.format {
        let file = with_ending(stem, format.name());
        if file.exists() && !mine {
            let what = format!("{} exists, and xoff did not draw it", file.display());
            return Err(Problem::new(what, "name another file, or replace it with --force"));
        }
    }
    Ok(())
}

fn data(args: &Args) -> Result<Data, Problems> {
    let scenario = match args.of {
        Of::Slowdown => return Ok(Data { network: None, port: None }),
        _ => explain::load(&args.run)?,
    };
    let t = &scenario.topology;
    let port = match (args.of, &args.port) {
        (Of::Port, Some(name)) => Some(over_time(args, &scenario, name)?),
        _ => None,
    };
    Ok(Data { network: (args.of != Of::Port).then(|| network(t)), port })
}

fn network(t: &Topology) -> Network {
    let place = xoff_report::view::layout(t);
    let numbers = PortNumbers::new(t);
    let ends = |p: u32| (numbers.place(p).node.0, numbers.place(numbers.peer(p)).node.0);
    Network {
        name: t.nodes.iter().map(|n| n.name.clone()).collect(),
        x: place.x,
        y: place.y,
        host: t.nodes.iter().map(|n| n.kind == NodeKind::Host).collect(),
        links: (0..numbers.len() as u32).filter(|&p| p < numbers.peer(p)).map(ends).collect(),
        tiers: place.tiers,
    }
}

/// The run repeated, with the samples of a port.
fn over_time(args: &Args, s: &NetworkScenario, name: &str) -> Result<OverTime, Problems> {
    let named = find_port(&s.topology, "PORT", name, What::Port);
    let (node, port) =
        named.map_err(|e| Problem::new(e.what, e.hint).at(terminal::option("--port", name)))?;
    let (bar, sink) = (bar(), Sink::Nothing);
    interrupt::ask_first();
    let running = s.start(sink, None).map_err(problem)?.with_page(|_| None);
    let finished = running.run(|p| {
        show(&bar, p);
        !interrupt::asked()
    });
    let finished = finished.map_err(problem)?;
    if args.run.is_dir() {
        let m = Manifest::read(&args.run).map_err(|e| unwritten(&e))?;
        if !m.interrupted && finished.manifest.result_hash != m.result_hash {
            terminal::note(
                "the repeated run has another result hash: xoff or a file that the scenario names has changed",
            );
        }
    }
    let Some(course) = finished.course.as_ref().filter(|c| c.looks.len() > 1) else {
        let what = format!("{name}: this network has too many ports for samples over time");
        return Err(
            Problem::new(what, "record the port with [probes], and plot it in Python").into()
        );
    };
    let t = &s.topology;
    let peer = t.nodes[node.index()].ports[port as usize].peer;
    let at = PortNumbers::new(t).of(node, port) as usize;
    Ok(sampled(
        course,
        at,
        OverTime {
            port: t.port_name(node, port),
            peer: t.name(peer).to_owned(),
            host: t.nodes[node.index()].kind == NodeKind::Host,
            line_bps: t.link_at(node, port).rate.0,
            time_ps: Vec::new(),
            sent_bytes: Vec::new(),
            paused_ps: Vec::new(),
            allowed_share: Vec::new(),
            egress_bytes: Vec::new(),
            ingress_bytes: Vec::new(),
        },
    ))
}

fn sampled(course: &Course, at: usize, mut into: OverTime) -> OverTime {
    let (mut sent, mut paused) = (0, 0);
    for look in &course.looks {
        let p = &look.ports[at];
        into.time_ps.push(look.at.0);
        into.sent_bytes.push(p.tx_bytes - sent);
        into.paused_ps.push(p.paused_ps - paused);
        into.allowed_share.push(f64::from(p.allowed));
        into.egress_bytes.push(u64::from(p.egress_bytes));
        into.ingress_bytes.push(u64::from(p.ingress_bytes));
        (sent, paused) = (p.tx_bytes, p.paused_ps);
    }
    into
}

/// Matplotlib's drawing, in a process of its own.
fn draw(args: &Args, data: &Data) -> Result<Drawn, Problems> {
    let python = python::interpreter();
    let name = python.to_string_lossy().into_owned();
    let missing = |why: &str| {
        python::missing(&format!("xoff figure needs Matplotlib, but {name} cannot load it: {why}"))
    };
    let asked = serde_json::json!({ "run": args.run.to_string_lossy(), "of": args.of, "width": args.width, "formats": args.format, "data": data });
    let mut child = Command::new(&python)
        .args(["-P", "-m", "xoff._figure"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| missing(&e.to_string()))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A process that has ended says why.
        let _ = stdin.write_all(asked.to_string().as_bytes());
    }
    let done = child.wait_with_output().map_err(|e| missing(&e.to_string()))?;
    let said = String::from_utf8_lossy(&done.stderr);
    let last = said.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or("no reason given");
    if !done.status.success() {
        return Err(missing(last).into());
    }
    let drawn: Drawn = serde_json::from_slice(&done.stdout).map_err(|e| python::garbled(&e))?;
    match drawn.refused {
        Some((what, hint)) => Err(Problem::new(what, hint).into()),
        None => Ok(drawn),
    }
}
