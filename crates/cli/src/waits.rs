//! `xoff explain` and `xoff tree` of a scheduled fabric: outputs for which packets wait, paused
//! hosts, and the reasons.

use schemars::JsonSchema;
use serde::Serialize;
use xoff_run::FabricScenario;
use xoff_scenario::{Problem, Problems};
use xoff_sim::scheduled::{Hold, InputWaits, OutputWaits, Waits};
use xoff_units::{Bytes, Time};

use crate::answer::{Answer, Exit, refused};
use crate::{explain, terminal, tree};

/// Outputs and inputs of a tree that are shown; JSON has all.
const SHOWN: usize = 8;
/// Ports of a list that are named.
const NAMED: usize = 4;

/// Bytes that wait for a port, or at a port.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "WaitingBytes")]
struct Share {
    /// The port.
    port: String,
    /// The bytes.
    bytes: u64,
}

/// Packets for one output.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "FabricOutput")]
struct Output {
    /// The output.
    port: String,
    /// Bytes that have not been sent into the fabric [bytes].
    bytes: u64,
    /// Flows with such bytes.
    flows: u32,
    /// Flows of those that hold a grant: they wait for their link. The others wait for a grant.
    granted: u32,
    /// These bytes by input, most first.
    inputs: Vec<Share>,
    /// Requested and not granted [segments].
    requested: u64,
    /// Reason why the output grants nothing now: `no request`, `rate` (the time between two
    /// grants), `output slots` or `fabric slots` (too few are free).
    grants_wait_for: &'static str,
    /// Free slots of those; null: it does not wait for slots [segments].
    free: Option<u32>,
    /// Slots that the next grant needs; null: it does not wait for slots [segments].
    needed: Option<u32>,
    /// Bytes in its reorder and reassembly buffer [bytes].
    held_bytes: u64,
    /// Complete packets in it, which wait for the line.
    complete: usize,
    /// Its receiver takes nothing until then; null: it takes what comes [ps].
    blocked_until_ps: Option<u64>,
}

/// Packets at one input.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "FabricInput")]
struct Input {
    /// The input.
    port: String,
    /// Start of the pause of its host; null: the host may send, or there are no hosts [ps].
    paused_since_ps: Option<u64>,
    /// Bytes in its input buffer; in its VOQs where there are no hosts [bytes].
    held_bytes: u64,
    /// Bytes that have not been sent into the fabric by output, most first.
    outputs: Vec<Share>,
}

/// What waits in a scheduled fabric at a time.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "FabricWaits")]
pub struct Json {
    /// The time [ps].
    at_ps: u64,
    /// Outputs for which packets wait, most bytes first.
    outputs: Vec<Output>,
    /// Inputs with packets, most bytes first.
    inputs: Vec<Input>,
    /// A reassembly deadlock; null: there is none.
    deadlock: Option<String>,
}

/// Explains a port of a scheduled fabric.
pub fn explain(
    args: &explain::Args,
    s: &FabricScenario,
    (port, at): (&str, Time),
) -> Result<Answer, Problems> {
    if let Some(priority) = args.priority {
        let place = terminal::option("--priority", &priority.to_string());
        return Err(Problem::new("a scheduled fabric has one priority", "omit it")
            .at(place)
            .into());
    }
    let ports = s.config.ports();
    let number = port.strip_prefix('P').and_then(|n| n.parse::<u32>().ok()).filter(|n| *n < ports);
    let Some(number) = number else {
        let what = format!("the fabric has no port '{port}'");
        let hint = format!("its ports are P0 to P{}", ports - 1);
        return Err(Problem::new(what, hint).at(terminal::option("PORT", port)).into());
    };
    let all = s.waits(at, explain::repeats(at)).map_err(|e| refused(&e))?;
    let input = all.inputs.iter().find(|i| i.input == number);
    // What a paused host waits for is the output with most of its bytes.
    let paused = input.filter(|i| i.paused_since.is_some());
    let behind = paused.and_then(|i| i.outputs.first()).map(|(output, _)| *output);
    let outputs: Vec<&OutputWaits> =
        all.outputs.iter().filter(|o| o.output == number || Some(o.output) == behind).collect();
    let mut text = format!("P{number} at {}\n", all.at);
    let mut t = terminal::pairs();
    input.iter().for_each(|i| add_input(&mut t, i));
    outputs.iter().for_each(|o| add_output(&mut t, o));
    if input.is_none() && outputs.is_empty() {
        text += "Nothing waits at this port or for it.\n";
    }
    text += &terminal::draw(&t);
    all.stuck.iter().for_each(|stuck| text += &terminal::wrapped(&stuck.to_string()));
    let next = format!("xoff tree {} {}", word(&args.run), at.since(Time::ZERO).compact());
    let shown = Waits {
        at: all.at,
        outputs: outputs.into_iter().cloned().collect(),
        inputs: input.into_iter().cloned().collect(),
        stuck: all.stuck.clone(),
    };
    Ok(Answer::new(text, &json(&shown), Exit::Done).next([next]))
}

/// Shows the outputs for which most packets wait, and the paused hosts.
pub fn tree(args: &tree::Args, s: &FabricScenario, at: Time) -> Result<Answer, Problems> {
    if let Some(file) = &args.svg {
        let place = terminal::option("--svg", &file.display().to_string());
        let what = "--svg draws the tree of a network";
        return Err(Problem::new(what, "omit it for a scheduled fabric").at(place).into());
    }
    let all = s.waits(at, explain::repeats(at)).map_err(|e| refused(&e))?;
    let bytes: u64 = all.outputs.iter().map(|o| o.backlog.bytes).sum();
    let head = format!(
        "At {}: {} wait for {}",
        all.at,
        Bytes(bytes),
        terminal::counted(all.outputs.len() as u64, "output")
    );
    let mut t = terminal::pairs();
    all.outputs.iter().take(SHOWN).for_each(|o| add_output(&mut t, o));
    let paused: Vec<_> = all.inputs.iter().filter(|i| i.paused_since.is_some()).collect();
    paused.iter().take(SHOWN).for_each(|i| add_input(&mut t, i));
    let hidden = all.outputs.len().saturating_sub(SHOWN) + paused.len().saturating_sub(SHOWN);
    if hidden > 0 {
        t.add_row([String::new(), format!("{hidden} more: --json")]);
    }
    let mut text = format!("{}\n{}", terminal::caution(&head), terminal::draw(&t));
    all.stuck.iter().for_each(|stuck| text += &terminal::wrapped(&stuck.to_string()));
    let first = paused.first().map(|i| i.input).or(all.outputs.first().map(|o| o.output));
    let next = first.map(|port| {
        format!("xoff explain {} P{port} {}", word(&args.run), terminal::word(&args.time))
    });
    Ok(Answer::new(text, &json(&all), Exit::Done).next(next))
}

fn word(run: &std::path::Path) -> String {
    terminal::word(&run.display().to_string()).into_owned()
}

/// The first ports of a list, with their bytes.
fn named(shares: &[(u32, u64)]) -> String {
    let mut names: Vec<String> =
        shares.iter().take(NAMED).map(|&(port, b)| format!("P{port} {}", Bytes(b))).collect();
    if shares.len() > NAMED {
        names.push(format!("{} more", shares.len() - NAMED));
    }
    names.join(", ")
}

fn add_output(t: &mut comfy_table::Table, o: &OutputWaits) {
    let (b, asking) = (o.backlog, o.backlog.flows - o.backlog.granted);
    let mut row = |name: String, value: String| _ = t.add_row([name, value]);
    row(
        format!("Output P{}", o.output),
        format!(
            "{} of {} at the inputs: {asking} wait for a grant, {} for their link",
            Bytes(b.bytes),
            terminal::counted(b.flows.into(), "flow"),
            b.granted
        ),
    );
    if !o.inputs.is_empty() {
        row("  from".into(), named(&o.inputs));
    }
    let asked = terminal::counted(o.requested, "segment");
    row(
        "  grants".into(),
        match o.hold {
            Hold::NoRequest => "all that has arrived as a request is granted".into(),
            Hold::Idle(_) => format!("at the rate of grants; {asked} requested"),
            Hold::OutputSlots { free, needed } => {
                format!(
                    "none: {free} slots of the reassembly buffer are free, a grant needs {needed}; {asked} requested"
                )
            }
            Hold::FabricSlots { free, needed } => {
                format!(
                    "none: {free} slots of the fabric-output buffer are free, a grant needs {needed}; {asked} requested"
                )
            }
        },
    );
    let line = match (o.blocked_until, o.complete) {
        (Some(until), _) => format!("its receiver takes nothing until {until}"),
        (None, 0) => "no complete packet before the line".into(),
        (None, n) => format!("{} before the line", terminal::counted(n as u64, "complete packet")),
    };
    row("  buffer".into(), format!("{} held; {line}", Bytes(o.held)));
}

fn add_input(t: &mut comfy_table::Table, i: &InputWaits) {
    let pause = match i.paused_since {
        Some(since) => format!("its host is paused since {since}; "),
        None => String::new(),
    };
    t.add_row([format!("Input P{}", i.input), format!("{pause}{} held", Bytes(i.held))]);
    if !i.outputs.is_empty() {
        t.add_row(["  for".into(), named(&i.outputs)]);
    }
}

fn json(all: &Waits) -> Json {
    let shares = |all: &[(u32, u64)]| {
        all.iter().map(|&(port, bytes)| Share { port: format!("P{port}"), bytes }).collect()
    };
    let output = |o: &OutputWaits| {
        let (grants_wait_for, slots) = match o.hold {
            Hold::NoRequest => ("no request", None),
            Hold::Idle(_) => ("rate", None),
            Hold::OutputSlots { free, needed } => ("output slots", Some((free, needed))),
            Hold::FabricSlots { free, needed } => ("fabric slots", Some((free, needed))),
        };
        Output {
            port: format!("P{}", o.output),
            bytes: o.backlog.bytes,
            flows: o.backlog.flows,
            granted: o.backlog.granted,
            inputs: shares(&o.inputs),
            requested: o.requested,
            grants_wait_for,
            free: slots.map(|s| s.0),
            needed: slots.map(|s| s.1),
            held_bytes: o.held,
            complete: o.complete,
            blocked_until_ps: o.blocked_until.map(|t| t.0),
        }
    };
    let input = |i: &InputWaits| Input {
        port: format!("P{}", i.input),
        paused_since_ps: i.paused_since.map(|t| t.0),
        held_bytes: i.held,
        outputs: shares(&i.outputs),
    };
    Json {
        at_ps: all.at.0,
        outputs: all.outputs.iter().map(output).collect(),
        inputs: all.inputs.iter().map(input).collect(),
        deadlock: all.stuck.as_ref().map(ToString::to_string),
    }
}
