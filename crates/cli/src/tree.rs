//! `xoff tree`: the congestion tree at a time, with its root, leaves and victims.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use xoff_record::output::Kind;
use xoff_report::{Tone, TreeBox, TreeFigure};
use xoff_run::{Member, Role, Scenario, Tree, congestion_tree};
use xoff_scenario::{Problem, Problems};

use crate::answer::{Answer, Exit, refused};
use crate::{explain, interrupt, out, terminal, waits};

/// Show which ports wait for which at a time: roots, leaves, culprits and victims.
///
/// With detection 'tcd' the tree has congested ports, undetermined ports behind them, and the flows
/// that cause it or suffer. With any other detection it has the paused ports and the ports they
/// wait for. Of a scheduled fabric it has the outputs for which most packets wait, and the reason. xoff repeats the run up to that time; nothing in the run's folder changes.
#[derive(clap::Args)]
#[command(
    after_long_help = "Examples:\n  xoff run scenarios/mechanisms/tcd.toml --out out/tcd\n  xoff tree out/tcd 500us\n  xoff tree out/tcd 500us --svg tree.svg\n  xoff tree scenarios/mechanisms/tcd.toml 500us"
)]
pub struct Args {
    /// Folder of a run, or a scenario file
    pub run: PathBuf,
    /// Time, such as 1.2ms
    pub time: String,
    /// Also draw the tree into this file
    #[arg(long, value_name = "FILE.svg")]
    pub svg: Option<PathBuf>,
    /// Replace the file of --svg even if xoff did not draw it
    #[arg(long, requires = "svg")]
    force: bool,
}

/// Shows it.
pub fn run(args: &Args) -> Result<Answer, Problems> {
    interrupt::end_at_once();
    explain::in_order(&[args.run.as_os_str(), args.time.as_ref()], "tree")?;
    let at = explain::parse_time(&args.time)?;
    let scenario = match explain::load_any(&args.run)? {
        Scenario::Network(scenario) => *scenario,
        Scenario::Fabric(scenario) => return waits::tree(args, &scenario, at),
    };
    let svg = args
        .svg
        .as_ref()
        .map(|file| Ok::<_, Problem>((file, out::draft("--svg", file, Kind::Svg, args.force)?)))
        .transpose()?;
    let tree = congestion_tree(&scenario, at, explain::repeats(at)).map_err(|e| refused(&e))?;
    if let Some((file, draft)) = svg {
        let title = format!("Congestion tree at {at}: {}", scenario.title);
        draft
            .finish_with(draw(&tree, title).to_svg().as_bytes())
            .map_err(|e| out::refused("--svg", file, e))?;
    }
    let held =
        || tree.branches.iter().find(|b| matches!(b.role, Role::Host | Role::Paused | Role::Leaf));
    let in_cycle = tree.cycles().first().map(|cycle| &tree.branches[cycle[0]]);
    let next = in_cycle.or_else(held).map(|b| {
        let (run, port) = (args.run.display().to_string(), b.port.replacen("->", ":", 1));
        format!(
            "xoff explain {} {} {}",
            terminal::word(&run),
            terminal::word(&port),
            terminal::word(&args.time)
        )
    });
    let text: String = tree
        .to_string()
        .lines()
        .map(|line| {
            if line.contains("─ ") { format!("{line}\n") } else { terminal::hanging(line, "  ") }
        })
        .collect();
    Ok(Answer::new(text, &json(&tree), Exit::Done).next(next))
}

fn words(role: Role) -> (Tone, &'static str) {
    match role {
        Role::Root => (Tone::Bad, "congested"),
        Role::Leaf => (Tone::Caution, "undetermined"),
        Role::Host => (Tone::Neutral, "paused host"),
        Role::Paused => (Tone::Caution, "paused"),
        Role::Free => (Tone::Good, "free to send"),
    }
}

fn draw(tree: &Tree, title: String) -> TreeFigure {
    let boxes = tree.branches.iter().enumerate().map(|(i, b)| {
        let (tone, what) = words(b.role);
        let detail = if b.role == Role::Host {
            what.to_owned()
        } else {
            format!("{what}, {} queued", b.queue)
        };
        let parent = tree.parent(i);
        let ties = b
            .waits_for
            .iter()
            .filter(|w| w.1.0 > 0 && b.role != Role::Root)
            .map(|w| w.0)
            .filter(|&p| Some(p) != parent && p != i);
        TreeBox { title: b.port.clone(), detail, tone, parent, ties: ties.collect() }
    });
    let names = |members: &[Member]| {
        let mut names: Vec<String> =
            members.iter().take(6).map(|m| format!("{} to {}", m.src, m.dst)).collect();
        if members.len() > 6 {
            names.push(format!("{} more", members.len() - 6));
        }
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    let (roles, notes) = match &tree.stateless {
        Some(detection) => (
            [Role::Free, Role::Paused, Role::Host],
            vec![format!(
                "Pauses only: detection \"{detection}\" does not tell congested from undetermined ports."
            )],
        ),
        None => (
            [Role::Root, Role::Leaf, Role::Host],
            vec![
                format!(
                    "Culprits, through a congested port ({}): {}.",
                    tree.culprits.len(),
                    names(&tree.culprits)
                ),
                format!(
                    "Victims, through undetermined ports only ({}): {}.",
                    tree.victims.len(),
                    names(&tree.victims)
                ),
            ],
        ),
    };
    TreeFigure {
        title,
        legend: roles.map(|r| (words(r).0, words(r).1.to_owned())).to_vec(),
        boxes: boxes.collect(),
        notes,
    }
}

/// A port of the tree.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Branch")]
struct JsonBranch {
    /// Name.
    port: String,
    /// Priority.
    priority: u8,
    /// `congested`, `undetermined` or `paused host`; without a detector of congestion `paused`,
    /// `paused host` or `free to send`.
    role: &'static str,
    /// Bytes queued to leave through the port [bytes].
    queue_bytes: u64,
    /// Flow control pauses it now.
    held: bool,
    /// Number, from 0, of the branch that most of its frames wait for; null: none.
    parent: Option<usize>,
    /// Numbers of the branches that its bytes wait for, with the bytes.
    waits_for: Vec<(usize, u64)>,
}

/// A flow of the tree.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "TreeFlow")]
struct JsonMember {
    /// Number.
    flow: u32,
    /// Sending host.
    src: String,
    /// Receiving host.
    dst: String,
    /// Frames of the flow that were marked as congestion encountered.
    ce_frames: u64,
    /// Frames of the flow that were marked as undetermined.
    ue_frames: u64,
}

/// A congestion tree.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Tree")]
pub struct Json {
    /// Time of the tree [ps].
    at_ps: u64,
    /// Ports.
    branches: Vec<JsonBranch>,
    /// Flows through a congested port.
    culprits: Vec<JsonMember>,
    /// Flows through undetermined ports only.
    victims: Vec<JsonMember>,
    /// Detection of the run if it cannot distinguish congested from undetermined ports; null: it
    /// can.
    pauses_only: Option<String>,
}

fn json(t: &Tree) -> Json {
    let members = |m: &[Member]| {
        let one = |m: &Member| JsonMember {
            flow: m.flow,
            src: m.src.clone(),
            dst: m.dst.clone(),
            ce_frames: m.ce_frames,
            ue_frames: m.ue_frames,
        };
        m.iter().map(one).collect()
    };
    let branch = |(i, b): (usize, &xoff_run::Branch)| JsonBranch {
        port: b.port.clone(),
        priority: b.priority,
        role: words(b.role).1,
        queue_bytes: b.queue.0,
        held: b.held,
        parent: t.parent(i),
        waits_for: b.waits_for.iter().map(|w| (w.0, w.1.0)).collect(),
    };
    Json {
        at_ps: t.at.0,
        branches: t.branches.iter().enumerate().map(branch).collect(),
        culprits: members(&t.culprits),
        victims: members(&t.victims),
        pauses_only: t.stateless.clone(),
    }
}
