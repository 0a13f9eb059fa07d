//! Reference cases of the HPCC simulator, to the nanosecond: every flow and every pause, in order.
//!
//! `tests/hpcc/<name>/` holds unmodified inputs and what that simulator (commit 9f4be2a) printed
//! for them. More can be compared by naming a folder of such cases in `XOFF_TEST_HPCC_CASES`.

use std::path::{Path, PathBuf};

use xoff_net::topology::PortNumbers;
use xoff_run::hpcc::{Lines, Pfc, fct_line, pfc_line, prepare, qlen_block};
use xoff_sim::{Recorder, Row};

struct Kept(std::sync::Arc<std::sync::Mutex<Vec<Row>>>);
impl Recorder for Kept {
    fn row(&mut self, row: &Row) {
        self.0.lock().unwrap().push(*row);
    }
    fn into_any(self: Box<Self>) -> Box<dyn std::any::Any> {
        self
    }
}

fn compare(dir: &Path) -> Result<(), String> {
    let case = xoff_scenario::hpcc::load(&dir.join("config.txt"))
        .map_err(|e| format!("unreadable: {e}"))?;
    let mut replay = prepare(&case).map_err(|e| format!("not supported: {e}"))?;
    let rows = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    replay.world.record_to(Box::new(Kept(rows.clone())));
    while replay.world.run(replay.until, 1 << 20).is_none() {}
    let switches: Vec<bool> = replay.topology.node_ids().map(|n| replay.is_switch(n)).collect();
    let ports = PortNumbers::new(&replay.topology);
    let (o, _) = replay.world.finish(xoff_sim::Ended::TimeUp);
    let (pairs, payload, conweave_ns3) = (&replay.pairs, replay.payload, replay.conweave_ns3);
    let lines = Lines { pairs, payload, conweave_ns3 };
    let fct: Vec<String> =
        o.completions.iter().filter_map(|&f| fct_line(&o.flows[f.index()], &lines)).collect();
    let pfc: Vec<String> = rows
        .lock()
        .unwrap()
        .iter()
        .filter_map(|r| Pfc::of(r, &ports, |n| switches[n.index()]).map(|p| pfc_line(&p)))
        .collect();
    let qlen: String =
        o.queue_counts.iter().map(|q| qlen_block(q, |n| switches[n.index()])).collect();
    let qlen: Vec<String> = qlen.lines().map(String::from).collect();
    for (name, got) in
        [("expected-pfc.txt", pfc), ("expected-fct.txt", fct), ("expected-qlen.txt", qlen)]
    {
        let path = dir.join(name);
        if name == "expected-qlen.txt" && !path.exists() {
            continue; // few cases look at queue lengths
        }
        let want = std::fs::read_to_string(path).unwrap();
        let want: Vec<&str> = want.lines().collect();
        if let Some(i) = (0..want.len().max(got.len()))
            .find(|&i| want.get(i).copied() != got.get(i).map(String::as_str))
        {
            return Err(format!(
                "{name} line {}: want {:?} of {}, got {:?} of {}",
                i + 1,
                want.get(i),
                want.len(),
                got.get(i),
                got.len()
            ));
        }
    }
    Ok(())
}

fn compare_all(root: &Path) {
    let mut dirs: Vec<PathBuf> = std::fs::read_dir(root)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.join("config.txt").exists())
        .collect();
    dirs.sort();
    assert!(!dirs.is_empty(), "no cases in {}", root.display());
    let mut failed = 0;
    for d in &dirs {
        if let Err(e) = compare(d) {
            failed += 1;
            println!("{}: {e}", d.file_name().unwrap().to_string_lossy());
        }
    }
    println!("{} of {} cases exact", dirs.len() - failed, dirs.len());
    assert_eq!(failed, 0);
}

/// Cases of the repository, and those of a folder that is named.
#[test]
fn reference_cases_are_exact() {
    compare_all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hpcc"));
    if let Some(root) = std::env::var_os("XOFF_TEST_HPCC_CASES") {
        compare_all(Path::new(&root));
    }
}
