//! `xoff import`, and networks of other programs in place of a topology.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use xoff_net::topology::NodeKind;
use xoff_scenario::import::{FORMATS, Format, Network, Options};
use xoff_scenario::{Problem, Problems, Source, read};

use crate::answer::{Answer, Exit};
use crate::terminal::{self, counted};
use xoff_units::grouped;

/// Import a scenario from the files of a real network.
///
/// xoff does not guess: links without a rate or a length need --rate, --length or --delay. The
/// answer and the first lines of the scenario list what xoff used and what it left out.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// Format of the files
    #[arg(value_name = "FORMAT", value_parser = clap::builder::PossibleValuesParser::new(FORMATS.iter().map(|f| clap::builder::PossibleValue::new(f.name).help(f.doc))))]
    format: String,
    /// Files of one network, or a folder of them
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write the scenario into this file, and a table of many links next to it [default: standard
    /// output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    /// Give links without a rate this one, such as 100Gbps
    #[arg(long, value_name = "RATE")]
    rate: Option<String>,
    /// Give links without a length this one, such as 5m; the delay is 5 ns per metre
    #[arg(long, value_name = "LENGTH", conflicts_with = "delay")]
    length: Option<String>,
    /// Give links without a delay this one, such as 100ns
    #[arg(long, value_name = "TIME")]
    delay: Option<String>,
    /// networkx, graphml: read rates without a unit in this one, such as Gbps
    #[arg(long, value_name = "UNIT")]
    unit: Option<String>,
    /// networkx, graphml: add N hosts to every node
    #[arg(long, value_name = "N")]
    hosts_per_node: Option<String>,
    /// htsim: read start times in this unit, us or ps [default: us]
    #[arg(long, value_name = "UNIT")]
    start_unit: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  xoff import sonic configs/ --out network.toml
  xoff import containerlab lab.clab.yml --rate 100Gbps --length 5m
  xoff import graphml zoo.graphml --hosts-per-node 1 --rate 10Gbps \\
    --length 100km --out zoo.toml
  xoff check ibnetdiscover:fabric.topo,opensm-lfts.dump
  xoff check sonic:configs/

Other commands accept FORMAT:FILE,FILE,...,key=value in place of a topology. docs/imports.md lists the parts of each format that xoff reads.
The command `import hpcc` is the command `hpcc`: it replays a configuration of the HPCC simulator.

Exit codes: 0 done; 2 bad input, with file and place.";

/// Facts of the import.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Import")]
pub struct Json<'a> {
    /// Format of the files.
    format: &'a str,
    /// The scenario that was written; null: standard output, which now has this answer instead.
    out: Option<String>,
    /// File with the links, next to the scenario; null: the scenario has them.
    links_file: Option<String>,
    /// Hosts.
    hosts: usize,
    /// Switches.
    switches: usize,
    /// Links.
    links: usize,
    /// Flows.
    flows: usize,
    /// Destinations of installed tables; null: there are no tables.
    destinations: Option<usize>,
    /// Contents of the files that a scenario cannot express, one sentence each.
    left_out: &'a [String],
    /// Black holes and forwarding loops of the tables, with their places.
    findings: Vec<String>,
    /// Doubtful contents of the files, with their place.
    warnings: Vec<String>,
}

/// Reads the files and writes the scenario.
pub fn run(args: &Args) -> Result<Answer, Problems> {
    let format = xoff_scenario::import::find(&args.format).ok_or_else(|| {
        Problem::new("unknown format", xoff_scenario::import::formats::hint(&args.format))
    })?;
    let network = network(format, &args.files, &options(args)?)?;
    terminal::problems(&network.findings);
    let links_file = args.out.as_ref().map(|out| out.with_extension("links.csv"));
    let links_name = links_file
        .as_ref()
        .and_then(|f| f.file_name())
        .map_or("links.csv".into(), |n| n.to_string_lossy().into_owned());
    let files: Vec<String> = args.files.iter().map(|f| f.display().to_string()).collect();
    let origin = format!("Written by xoff import {} {}.", format.name, files.join(" "));
    let written = xoff_scenario::import::scenario(&network, &origin, &links_name)?;
    let count = |kind| network.nodes.iter().filter(|n| n.kind == kind).count();
    let table = written.links.as_ref().and(links_file.as_ref());
    let json = Json {
        format: format.name,
        out: args.out.as_ref().map(|o| o.display().to_string()),
        links_file: table.map(|f| f.display().to_string()),
        hosts: count(NodeKind::Host),
        switches: count(NodeKind::Switch),
        links: network.links.len(),
        flows: network.flows.len(),
        destinations: network.tables.as_ref().map(|t| t.destinations.len()),
        left_out: &network.left_out,
        findings: network.findings.iter().map(Problem::line).collect(),
        warnings: network.warnings.iter().map(Problem::line).collect(),
    };
    let Some(out) = &args.out else {
        if written.links.is_some() {
            let what = format!(
                "{} links need a table next to the scenario",
                grouped(network.links.len() as u64)
            );
            return Err(
                Problem::new(what, "name a file for the scenario: --out network.toml").into()
            );
        }
        return Ok(Answer::new(written.scenario, &json, Exit::Done));
    };
    let free = |file: &Path| free(file, args.force);
    free(out)?;
    if let (Some(file), Some(text)) = (table, &written.links) {
        free(file)?;
        write(file, text)?;
    }
    write(out, &written.scenario)?;
    let file = out.display().to_string();
    let next = ["check", "run"].map(|command| format!("xoff {command} {}", terminal::word(&file)));
    Ok(Answer::new(text(&network, &json, out), &json, Exit::Done).next(next))
}

/// Remedy if a file is in the way.
pub const REPLACE: &str = "choose another name, or replace it with --force";

/// The scenario of an import is a file of the user's as soon as it is written: it is replaced only
/// when asked.
pub fn free(file: &Path, force: bool) -> Result<(), Problem> {
    let at = |p: Problem| p.at(terminal::option("--out", &file.display().to_string()));
    let inputs = read::files();
    xoff_record::output::refuse_inputs(file, inputs.iter().map(PathBuf::as_path))
        .map_err(|e| at(Problem::new(e.what, e.hint)))?;
    if !force && file.is_file() {
        let there = Problem::new(format!("'{}' already exists", file.display()), REPLACE);
        return Err(at(crate::caller::of_output(there)));
    }
    Ok(())
}

/// Writes a file as a whole.
pub fn write(file: &Path, text: &str) -> Result<(), Problem> {
    xoff_record::output::write(file, text.as_bytes())
        .map_err(|e| crate::out::refused("--out", file, e))
}

fn text(network: &Network, json: &Json<'_>, out: &Path) -> String {
    let mut text = format!(
        "{}\n\n",
        terminal::good(&format!(
            "{}: {} hosts, {} switches, {} links.",
            out.display(),
            json.hosts,
            json.switches,
            json.links
        ))
    );
    let mut t = terminal::pairs();
    if !network.flows.is_empty() {
        t.add_row(["Flows", &grouped(json.flows as u64)]);
    }
    if let Some(n) = json.destinations {
        let what = format!(
            "{} destinations; a scenario has no place for them, xoff check reads them: xoff check {}:FILES",
            grouped(n as u64),
            json.format
        );
        t.add_row(["Tables", &what]);
    }
    if !network.buffering.ports.is_empty() {
        t.add_row([
            "Settings",
            &format!("of {} with PFC", counted(network.buffering.ports.len() as u64, "port")),
        ]);
    }
    for what in json.left_out {
        t.add_row(["Not taken over", what]);
    }
    text += &terminal::draw(&t);
    text
}

fn options(args: &Args) -> Result<Options, Problems> {
    let mut options = Options::default();
    let mut problems = Problems::default();
    let given = [
        ("rate", &args.rate),
        ("length", &args.length),
        ("delay", &args.delay),
        ("unit", &args.unit),
        ("hosts_per_node", &args.hosts_per_node),
        ("start_unit", &args.start_unit),
    ];
    for (key, value) in given {
        if let Some(value) = value
            && let Err((what, hint)) = options.set(key, value)
        {
            problems.push(
                Problem::new(what, hint)
                    .at(terminal::option(&format!("--{}", key.replace('_', "-")), value)),
            );
        }
    }
    problems.or(options)
}

/// Reads files, and prints the warnings.
fn network(format: &Format, files: &[PathBuf], options: &Options) -> Result<Network, Problems> {
    let network = xoff_scenario::import::read(format, files, options)?;
    terminal::problems(&network.warnings);
    Ok(network)
}

/// The same result; if the scenario at `path` was refused because it is a file of another program
/// or of a sweep, the one error that says so.
pub fn or_foreign<T>(read: Result<T, Problems>, path: &Path, command: &str) -> Result<T, Problems> {
    read.map_err(|problems| {
        let other = xoff_scenario::import::foreign(path, command).or_else(|| sweep_file(path));
        other.map_or(problems, Problems::from)
    })
}

/// The error for a sweep file where a scenario is expected.
fn sweep_file(path: &Path) -> Option<Problem> {
    let source = Source::read_document(path).ok().filter(|_| path.is_file())?;
    let name = path.display().to_string();
    let hint = format!("use xoff sweep {}", terminal::word(&name));
    xoff_lab::sweep::is_plan(&source)
        .then(|| Problem::new(format!("'{name}' is a sweep file, not a scenario"), hint))
}

/// Reads `FORMAT:FILE,FILE,...,key=value`; `None`: the text is not of this form.
pub fn short(text: &str) -> Option<Result<Network, Problems>> {
    let (name, rest) = text.split_once(':')?;
    let format = xoff_scenario::import::find(name)?;
    Some(read_short(format, text, name.len() + 1, rest))
}

fn read_short(format: &Format, text: &str, start: usize, rest: &str) -> Result<Network, Problems> {
    let source = Source::setting("command line", text);
    let (mut options, mut files, mut problems) =
        (Options::default(), Vec::new(), Problems::default());
    let mut at = start;
    for item in rest.split(',') {
        let place = source.place(at..at + item.len());
        at += item.len() + 1;
        match item.split_once('=') {
            Some((key, value)) if !Path::new(item).exists() => {
                let key = key.trim().replace('-', "_");
                if let Err((what, hint)) = options.set(&key, value.trim()) {
                    problems.push(Problem::new(what, hint).at(place));
                }
            }
            _ if item.is_empty() => {}
            _ => files.push(PathBuf::from(item)),
        }
    }
    problems.or(())?;
    network(format, &files, &options)
}
