//! Readers of checkpoints: the file, the state of a network in it, and the rows next to it.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use xoff_run::{NetworkScenario, checkpoints};
use xoff_sim::{Row, World};
use xoff_units::state::Writer;
use xoff_units::{Time, state};

use super::Reader;

/// Flow control, detection and rate control of the networks whose states are restored.
const MECHANISMS: [(&str, &str, &str); 6] = [
    ("pfc", "red", "dcqcn"),
    ("cbfc", "fecn", "ib-cc"),
    ("gfc-buffer", "qcn", "qcn"),
    ("uec-cbfc", "tcd", "none"),
    ("pffc", "none", "timely"),
    ("bfc", "none", "none"),
];

/// A state is taken at this time, when every buffer holds something.
const TAKEN_AT: Time = Time(12_000_000);

static NETWORKS: LazyLock<Vec<NetworkScenario>> =
    LazyLock::new(|| MECHANISMS.iter().map(|m| network(*m)).collect());

fn network((flow_control, detection, rate_control): (&str, &str, &str)) -> NetworkScenario {
    let acks = if rate_control == "timely" { "per-frame" } else { "none" };
    let marks = match detection {
        "red" => "[detection.red]\nkmin = \"10KB\"\nkmax = \"40KB\"\npmax = 0.5\n",
        "qcn" => "[detection.qcn]\nsetpoint = \"10KB\"\nsample_base = \"10KB\"\n",
        _ => "",
    };
    let text = format!(
        "[run]\nduration = \"30us\"\n[topology]\nkind = \"dumbbell\"\nsenders = 2\nreceivers = 1\nrate = \"40Gbps\"\ndelay = \"500ns\"\n\
         [host]\nacks = \"{acks}\"\n[flow_control]\nkind = \"{flow_control}\"\n[detection]\nkind = \"{detection}\"\n{marks}\
         [rate_control]\nkind = \"{rate_control}\"\n[[workload]]\nkind = \"incast\"\nreceiver = \"H2\"\nsize = \"100KB\"\n\
         [probes]\npauses = [\"all\"]\ncontrol = [\"all\"]\nqueues = [\"all\"]\ninterval = \"3us\"\n"
    );
    NetworkScenario::from_text("farm.toml", &text, &[], Path::new(""))
        .unwrap_or_else(|e| panic!("{text}\n{e}"))
}

fn built(s: &NetworkScenario) -> World {
    let mut m = s.model();
    m.threads = 1;
    World::build(&s.topology, s.flows.clone(), &m).expect("a network that was built before")
}

/// The state of a network at a time, and the rows until then.
fn taken(s: &NetworkScenario) -> (Vec<u8>, Vec<Row>) {
    let mut w = built(s);
    w.record_to(Box::new(Vec::<Row>::new()));
    w.drive(TAKEN_AT, |_| true);
    let state = w.save().expect("a network that can be saved");
    let rows = w
        .take_recorder()
        .and_then(|r| r.into_any().downcast::<Vec<Row>>().ok())
        .map_or(Vec::new(), |rows| *rows);
    (state, rows)
}

/// All of them.
pub fn all() -> Vec<Reader> {
    let reader = |name: &str, samples, read| Reader {
        name: name.into(),
        samples,
        folder: PathBuf::new(),
        read,
    };
    let states: Vec<(Vec<u8>, Vec<Row>)> = NETWORKS.iter().map(taken).collect();
    let files = states.iter().map(|(state, _)| checkpoints::sample(state)).collect();
    let rows = |rows: &[Row]| {
        let mut to = Writer::default();
        rows.iter().take(60).for_each(|row| to.put(row));
        to.end().expect("a row is never refused")
    };
    let logs = states.iter().map(|(_, of)| rows(of)).collect();
    // The network stands before its state.
    let numbered = states
        .into_iter()
        .enumerate()
        .map(|(n, (state, _))| [vec![n as u8], state].concat())
        .collect();
    vec![
        reader("checkpoint", files, file),
        reader("checkpoint-state", numbered, network_state),
        reader("checkpoint-rows", logs, log),
    ]
}

/// As it is; and with the lengths and the checksum that a forger would give it, because a reader
/// that is never passed shows nothing.
fn file(_: &Reader, bytes: &[u8]) -> bool {
    let read = |bytes: &[u8]| match checkpoints::inspect(bytes) {
        Ok(_) => true,
        Err(why) => {
            assert!(why.len() > 10, "refused without a reason: {why}");
            false
        }
    };
    read(bytes) || checkpoints::sealed(bytes).is_some_and(|forged| read(&forged))
}

fn network_state(_: &Reader, bytes: &[u8]) -> bool {
    let Some((network, state)) = bytes.split_first() else { return false };
    built(&NETWORKS[*network as usize % NETWORKS.len()]).restore(state).is_ok()
}

fn log(_: &Reader, bytes: &[u8]) -> bool {
    let mut left = state::Reader::new(bytes);
    while !left.is_over() {
        let Ok(row) = left.take::<Row>() else { return false };
        let mut to = Writer::default();
        to.put(&row);
        // A number may have been written in more bytes than it needs, so not those that were read.
        let again = to.end().expect("a row is never refused");
        assert_eq!(state::Reader::new(&again).take(), Ok(row));
    }
    true
}
