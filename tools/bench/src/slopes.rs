//! Growth of costs: instructions of runs of three sizes. Cost must grow with the work, not faster.
//!
//! ```text
//!   I(n), I(2n), I(4n) -> log2 of (I(4n) - I(2n)) / (I(2n) - I(n)): what start and exit take cancels
//! ```
//!
//! Where the work is the same at every size, all instructions count.

use std::ffi::OsString;
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use comfy_table::{ContentArrangement, Table, presets};

use crate::Failed;
use crate::child::Xoff;
use crate::instructions::{count, has_valgrind, run_of};

/// A cost.
struct Cost {
    /// The quantity that grows.
    grows: &'static str,
    /// Three sizes.
    sizes: [u32; 3],
    /// Work of a size; `None`: the same for all.
    work: Option<fn(u32) -> f64>,
    /// Largest exponent of the instructions: 1 is linear.
    most: f64,
    /// Arguments of a run of this size, which may write files into the folder.
    args: fn(u32, &Path) -> std::io::Result<Vec<OsString>>,
}

/// A linear cost, with a tenth for logarithms and noise.
const LINEAR: f64 = 1.1;
/// A cost that does not grow.
const FLAT: f64 = 0.1;

fn same(n: u32) -> f64 {
    n.into()
}

const COSTS: &[Cost] = &[
    Cost {
        grows: "unacknowledged flows of a NIC",
        sizes: [25, 50, 100],
        work: None,
        most: FLAT,
        args: |us, dir| run(dir, &mice(us, "duration = \"40us\"")),
    },
    Cost {
        grows: "flows of a run",
        sizes: [2000, 4000, 8000],
        work: Some(same),
        most: LINEAR,
        args: |n, dir| run(dir, &mice(1, &format!("flows = {n}"))),
    },
    Cost {
        grows: "messages of a driven run",
        sizes: [2000, 4000, 8000],
        work: Some(same),
        most: LINEAR,
        args: |n, dir| {
            let mut table = String::from(
                "event,time_ps,call,src,dst,bytes,priority,queue_pair,link,rate_bps\n",
            );
            for i in 0..n {
                let (src, dst) = (i % 8, (i + 1 + i / 8 % 7) % 8);
                _ = writeln!(table, "0,0,send,H{src},H{dst},1000,0,,,");
            }
            std::fs::write(dir.join("messages.csv"), table)?;
            run(
                dir,
                &star(
                    9,
                    "kind = \"pfc\"",
                    "[messages]\nfile = \"messages.csv\"\npriorities = [\"0\"]",
                ),
            )
        },
    },
    Cost {
        grows: "flows that PFFC holds at a host",
        sizes: [250, 500, 1000],
        work: None,
        most: 0.3, // each flow is paused and resumed
        args: |n, dir| run(dir, &held("pffc", n)),
    },
    Cost {
        grows: "flows that BFC holds at a host",
        sizes: [250, 500, 1000],
        work: None,
        most: 0.3, // each flow is paused and resumed
        args: |n, dir| run(dir, &held("bfc", n)),
    },
    Cost {
        grows: "ports that are paused at the same time",
        sizes: [32, 64, 128],
        work: Some(same),
        most: LINEAR,
        args: |n, dir| run(dir, &paused(n)),
    },
    Cost {
        grows: "priorities",
        sizes: [2, 4, 8],
        work: None,
        most: 0.7, // classes have queues, counters and pauses each
        args: |n, dir| {
            let mut flows = String::new();
            for (src, priority) in (0..8).flat_map(|src| (0..n).map(move |p| (src, p))) {
                _ = write!(
                    flows,
                    "[[flow]]\nsrc = \"H{src}\"\ndst = \"H{}\"\nsize = \"{}KB\"\npriority = {priority}\n",
                    (src + 1) % 8,
                    1000 / n
                );
            }
            run(dir, &star(8, "kind = \"pfc\"", &flows))
        },
    },
    Cost {
        grows: "samples",
        sizes: [1000, 2000, 4000],
        work: Some(same),
        most: LINEAR,
        args: |n, dir| {
            let rest = format!(
                "[[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nstart = \"{n}us\"\nsize = \"1KB\"\n[probes]\ninterval = \"1us\"\nqueues = [\"all\"]"
            );
            run(dir, &star(8, "kind = \"pfc\"", &rest))
        },
    },
    Cost {
        grows: "sets of failures in a check",
        sizes: [1, 2, 3],
        work: Some(|n| [32.0, 528.0, 5488.0][n as usize - 1]),
        most: LINEAR,
        args: |n, _| {
            Ok(["check", "fat-tree:k=4", "--fail-any", &n.to_string()].map(OsString::from).into())
        },
    },
    Cost {
        grows: "messages of an all-to-all",
        sizes: [8, 16, 32],
        work: Some(|ranks| f64::from(ranks * (ranks - 1))),
        most: LINEAR,
        args: |n, dir| {
            let job = format!(
                "[[job]]\nranks = {n}\n[[collective]]\nkind = \"all-to-all\"\nsize = \"{n}KB\""
            );
            run(dir, &star(n, "kind = \"pfc\"", &job))
        },
    },
];

fn run(dir: &Path, scenario: &str) -> std::io::Result<Vec<OsString>> {
    let file = dir.join("scenario.toml");
    std::fs::write(&file, scenario)?;
    Ok(run_of(&file, dir))
}

const RUN: &str = "[run]\nduration = \"1s\"\nfast_forward = \"off\"\n";

/// Messages of one frame on a fat-tree.
fn mice(us: u32, many: &str) -> String {
    format!(
        "{RUN}[topology]\nkind = \"fat-tree\"\nk = 4\nrate = \"100Gbps\"\ndelay = \"{us}us\"\n\
        [host]\nframe_max = \"1048B\"\nheader = \"48B\"\nacks = \"per-frame\"\n\
        [switch]\nmemory = \"shared\"\nshared_buffer = \"32MiB\"\n\
        [flow_control]\nkind = \"pfc\"\nthreshold = \"dynamic\"\n\
        [[workload]]\nkind = \"poisson\"\nsize = \"1000B\"\nload = 0.3\n{many}\n"
    )
}

fn star(hosts: u32, flow_control: &str, rest: &str) -> String {
    format!(
        "{RUN}[topology]\nkind = \"star\"\nhosts = {hosts}\nrate = \"100Gbps\"\ndelay = \"1us\"\n\
        [switch]\nbuffer = \"1MB\"\n[flow_control]\n{flow_control}\n{rest}\n"
    )
}

/// A host whose flows to a slow one are held, and which sends to another one for a given time.
fn held(flow_control: &str, flows: u32) -> String {
    let nodes =
        ["H1", "H2", "H3"].map(|h| format!("[[topology.node]]\nname = \"{h}\"\nkind = \"host\"\n"));
    let links = [("H1", "10Gbps"), ("H2", "1Gbps"), ("H3", "10Gbps")].map(|(h, rate)| {
        format!("[[topology.link]]\na = \"S1\"\nb = \"{h}\"\nrate = \"{rate}\"\n")
    });
    format!(
        "[run]\nduration = \"20ms\"\nfast_forward = \"off\"\ndeadlock_interval = \"0us\"\n\
        [topology]\nkind = \"custom\"\ndelay = \"1us\"\nrate = \"10Gbps\"\n{}\
        [[topology.node]]\nname = \"S1\"\nkind = \"switch\"\n{}\
        [switch]\nbuffer = \"30MB\"\n[flow_control]\nkind = \"{flow_control}\"\n\
        [[flow]]\nsrc = \"H1\"\ndst = \"H3\"\n\
        [[workload]]\nkind = \"incast\"\nreceiver = \"H2\"\nsenders = [\"H1\"]\nsize = \"40KB\"\n\
        repeat = {flows}\nevery = \"10ns\"\n",
        nodes.concat(),
        links.concat(),
    )
}

/// Pairs of a fast sender and a slow receiver, so that each sender is paused nine tenths of the time.
fn paused(pairs: u32) -> String {
    let mut rest = String::new();
    for i in 0..pairs {
        for (side, rate) in [("A", "10Gbps"), ("B", "1Gbps")] {
            _ = writeln!(
                rest,
                "[[topology.node]]\nname = \"{side}{i}\"\nkind = \"host\"\n\
                [[topology.link]]\na = \"S1\"\nb = \"{side}{i}\"\nrate = \"{rate}\""
            );
        }
        _ = writeln!(rest, "[[flow]]\nsrc = \"A{i}\"\ndst = \"B{i}\"");
    }
    format!(
        "[run]\nduration = \"2ms\"\nfast_forward = \"off\"\n\
        [topology]\nkind = \"custom\"\ndelay = \"1us\"\nrate = \"10Gbps\"\n\
        [[topology.node]]\nname = \"S1\"\nkind = \"switch\"\n\
        [switch]\nbuffer = \"100KB\"\n[flow_control]\nkind = \"pfc\"\n{rest}"
    )
}

/// Exponents of the growth from the first size to the second, and from there to the third; one
/// only where the work grows.
fn exponents(cost: &Cost, instructions: [f64; 3]) -> Vec<f64> {
    let ([a, b, c], log) = (instructions, |of: f64, over: f64| of.log2() / over.log2());
    match cost.work.map(|work| cost.sizes.map(work)) {
        Some([x, y, z]) => vec![log((c - b) / (b - a), (z - y) / (y - x))],
        None => {
            let [x, y, z] = cost.sizes.map(f64::from);
            vec![log(b / a, y / x), log(c / b, z / y)]
        }
    }
}

/// Measures all costs: exit code 1 if one grows faster than it may.
pub fn gate(xoff: &Xoff, only: Option<&str>) -> Result<ExitCode, Failed> {
    if !has_valgrind() {
        xoff_testing::skip_as("growth gate", "valgrind", "not installed");
        return Ok(ExitCode::SUCCESS);
    }
    let dir = tempfile::tempdir().map_err(|e| format!("cannot create a temporary folder: {e}"))?;
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["Cost", "Sizes", "Instructions [million]", "Exponent", "At most", "Verdict"]);
    let mut grows = false;
    for cost in COSTS.iter().filter(|c| only.is_none_or(|only| c.grows.contains(only))) {
        let of_size = |n: u32| -> Result<f64, Failed> {
            let args = (cost.args)(n, dir.path()).map_err(|e| e.to_string())?;
            let counted = count(xoff, &args, dir.path());
            counted.map(|c| c.0 as f64).map_err(|e| format!("{} {n}: {e}", cost.grows))
        };
        let [a, b, c] = cost.sizes;
        let instructions = [of_size(a)?, of_size(b)?, of_size(c)?];
        let worst = exponents(cost, instructions).into_iter().fold(f64::MIN, f64::max);
        let fine = worst <= cost.most;
        grows |= !fine;
        table.add_row([
            cost.grows.to_owned(),
            cost.sizes.map(|n| n.to_string()).join(", "),
            instructions.map(|i| format!("{:.1}", i / 1e6)).join(", "),
            format!("{worst:.2}"),
            format!("{:.1}", cost.most),
            if fine { "fine" } else { "GROWS" }.into(),
        ]);
    }
    println!("{table}");
    Ok(if grows { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(work: Option<fn(u32) -> f64>) -> Cost {
        Cost { grows: "", sizes: [10, 20, 40], work, most: LINEAR, args: |_, _| Ok(vec![]) }
    }

    #[test]
    fn a_start_cancels_and_a_power_remains() {
        let of = |power: i32| [10.0f64, 20.0, 40.0].map(|n| 1e6 + n.powi(power));
        for power in [1, 2, 3] {
            let found = exponents(&cost(Some(same)), of(power));
            assert!((found[0] - f64::from(power)).abs() < 1e-6, "{found:?}");
        }
        let flat = exponents(&cost(None), [1e6; 3]);
        assert_eq!(flat, [0.0, 0.0]);
        assert_eq!(exponents(&cost(None), [1e6, 2e6, 8e6]), [1.0, 2.0]);
    }
}
