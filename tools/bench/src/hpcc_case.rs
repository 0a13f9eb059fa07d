//! A case in the format of the HPCC simulator: 128 hosts under WebSearch, made by our own builders,
//! the same every time.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use xoff_net::topology::Topology;
use xoff_net::topology::builders::fat_tree;
use xoff_net::workload::generators::{Context, poisson};
use xoff_net::workload::{Flow, SizeCdf};
use xoff_scenario::cdf;
use xoff_units::params::{Defaults, ParamError, ParamSpec};

use crate::Failed;

/// First second of an HPCC run [ns]: flows start then.
const START_NS: u64 = 2_000_000_000;

/// Values that are no defaults.
type Given<'a> = &'a [(&'a str, &'a str)];

fn values(specs: &'static [ParamSpec], given: Given<'_>) -> Defaults {
    given.iter().fold(Defaults::of(specs), |d, (key, value)| d.with(key, value))
}

/// Writes topology.txt, flow.txt, trace.txt and config.txt into `dir`; returns the path of
/// config.txt.
pub fn write(dir: &Path, k: u32, arrivals: &str) -> Result<PathBuf, Failed> {
    let refused = |e: ParamError| format!("{}: {}", e.key, e.what);
    let topology = fat_tree::build(&mut values(
        fat_tree::PARAMS,
        &[("k", &k.to_string()), ("rate", "100Gbps")],
    ))
    .map_err(refused)?;
    let flows = flows(&topology, arrivals).map_err(refused)?;
    let save = |name: &str, text: String| {
        xoff_record::output::write(&dir.join(name), text.as_bytes()).map_err(|e| e.what)
    };
    std::fs::create_dir_all(dir).map_err(|e| format!("cannot create {}: {e}", dir.display()))?;
    save("topology.txt", topology_text(&topology))?;
    save("flow.txt", flow_text(flows))?;
    save("trace.txt", "0\n".into())?;
    save("config.txt", CONFIG.into())?;
    Ok(dir.join("config.txt"))
}

fn flows(topology: &Topology, arrivals: &str) -> Result<Vec<Flow>, ParamError> {
    let find = |name: &str| {
        let unknown = || ParamError::new("cdf", format!("no size distribution '{name}'"), "");
        let points = cdf::built_in(name).ok_or_else(unknown)?;
        SizeCdf::new(points).map_err(|e| ParamError::new("cdf", e.to_string(), ""))
    };
    let context = Context { topo: topology, seed: 1, label: 0, cdfs: &find };
    let given = [("load", "0.5"), ("duration", arrivals), ("cdf", "websearch")];
    Ok(poisson::generate(&mut values(poisson::PARAMS, &given), &context)?.flows)
}

/// `nodes switches links`, the switches, then `a b rate delay error_rate` per link.
fn topology_text(t: &Topology) -> String {
    let switches: Vec<String> = t.switches().map(|s| s.to_string()).collect();
    let mut text =
        format!("{} {} {}\n{}\n", t.nodes.len(), switches.len(), t.links.len(), switches.join(" "));
    for l in &t.links {
        let _ = writeln!(
            text,
            "{} {} {}Gbps {}ns 0.000000",
            l.a,
            l.b,
            l.rate.0 / 1_000_000_000,
            l.delay.0 / 1000
        );
    }
    text
}

/// The count, then `src dst priority_group port size start_seconds` per flow, by start.
fn flow_text(mut flows: Vec<Flow>) -> String {
    flows.sort_by_key(|f| f.start);
    let mut text = format!("{}\n", flows.len());
    for f in &flows {
        let ns = START_NS + f.start.0 / 1000;
        let _ = writeln!(
            text,
            "{} {} 3 100 {} {}.{:09}",
            f.src,
            f.dst,
            f.size,
            ns / 1_000_000_000,
            ns % 1_000_000_000
        );
    }
    text
}

/// DCQCN and PFC with dynamic thresholds; marking from 400 KB to 1600 KB at 100 Gb/s, as in the
/// authors' evaluation.
const CONFIG: &str = "\
ENABLE_QCN 1
USE_DYNAMIC_PFC_THRESHOLD 1
PACKET_PAYLOAD_SIZE 1000
TOPOLOGY_FILE topology.txt
FLOW_FILE flow.txt
TRACE_FILE trace.txt
TRACE_OUTPUT_FILE mix.tr
FCT_OUTPUT_FILE fct.txt
PFC_OUTPUT_FILE pfc.txt
SIMULATOR_STOP_TIME 2.1
CC_MODE 1
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
CLAMP_TARGET_RATE 0
RP_TIMER 300
EWMA_GAIN 0.00390625
FAST_RECOVERY_TIMES 1
RATE_AI 20Mb/s
RATE_HAI 200Mb/s
MIN_RATE 1000Mb/s
DCTCP_RATE_AI 1000Mb/s
ERROR_RATE_PER_LINK 0.0000
L2_CHUNK_SIZE 4000
L2_ACK_INTERVAL 1
L2_BACK_TO_ZERO 0
HAS_WIN 0
GLOBAL_T 1
VAR_WIN 0
FAST_REACT 0
U_TARGET 0.95
MI_THRESH 0
INT_MULTI 1
MULTI_RATE 0
SAMPLE_FEEDBACK 0
PINT_LOG_BASE 1.05
PINT_PROB 1.0
RATE_BOUND 1
ACK_HIGH_PRIO 1
LINK_DOWN 0 0 0
ENABLE_TRACE 0
KMAX_MAP 1 100000000000 1600
KMIN_MAP 1 100000000000 400
PMAX_MAP 1 100000000000 0.2
BUFFER_SIZE 32
QLEN_MON_FILE qlen.txt
QLEN_MON_START 0
QLEN_MON_END 0
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_case_is_read_back_by_the_reader_of_the_format() {
        let dir = tempfile::tempdir().unwrap();
        let config = write(dir.path(), 4, "50us").unwrap();
        let case = xoff_scenario::hpcc::load(&config)
            .unwrap_or_else(|_| panic!("the reader refuses the case"));
        assert_eq!(case.topology.links.len(), 48);
        assert_eq!(case.topology.is_switch.iter().filter(|s| **s).count(), 20);
        assert!(!case.flows.is_empty());
        assert!(case.flows.iter().all(|f| (START_NS..START_NS + 50_000).contains(&f.start_ns)));
        assert_eq!(case.config.buffer_mib, 32);
    }
}
