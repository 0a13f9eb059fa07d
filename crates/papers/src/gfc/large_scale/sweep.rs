//! Table 1 as a sweep: blocks of random networks on as many machines as there are.
//!
//! ```text
//!   run: k, flow control, block (the seed n: networks (n - 1) N to n N - 1) --> filter --> search in those with a cycle
//!   all runs --> the table, as `xoff reproduce gfc tab1` makes it, without its limits on networks and time
//! ```
//!
//! Jobs are those of the reproduction with its seed 1: the same networks, traffic, repetitions and outcomes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use xoff_lab::sweep::{Cell, Column, Done, Kind, Measured, Ran, Shard, Study, Value, Work};
use xoff_report::{Section, Unit};
use xoff_units::params::{ParamError, suggest};

use super::job::{Egress, NextAfter, Runs, Scheme};
use super::network::{Filtered, Network, RoutingRule};
use super::sizes::{DURATION_US, Effort, SIZE_MAX, Sizes};
use super::study::{Case, LargeScale, Search};
use super::tab1;
use crate::Mode;

/// Number of the first repetition in the reproduction with seed 1.
const FIRST: u32 = 1000;
/// Parameters of a run; the seed is the block, from 1.
const PARAMETERS: [&str; 3] = ["k", "flow_control", "networks"];

const COLUMNS: [Column; 8] = [
    column("networks_examined", "random networks examined", none),
    column("disconnected", "networks in which some hosts cannot reach each other; they are left out", none),
    column("cyclic", "networks with a cyclic buffer dependency; each is simulated several times", none),
    column("deadlocks", "networks in which any repetition deadlocked", cases),
    column("standstills", "networks in which a flow of any repetition stopped: no byte in the last 5 ms, without a deadlock", cases),
    column("lost_frames", "frames that did not arrive, in all runs", none),
    column("violations", "checks violated, in all runs", none),
    column("frame_hops", "data frames that crossed a link, counted per link, in all runs", none),
];

const fn column(name: &'static str, doc: &'static str, unit: fn() -> Unit) -> Column {
    Column { name, kind: Kind::Whole, doc, unit }
}
fn none() -> Unit {
    Unit::None
}
fn cases() -> Unit {
    Unit::Other("cases".into())
}

/// Result of a cell for the table.
#[derive(Serialize, Deserialize)]
struct Kept {
    k: u32,
    first: u32,
    scheme: Scheme,
    filtered: Filtered,
    runs: Vec<(u32, Runs)>,
}

/// Table 1 of the GFC paper.
pub struct Table1;

/// Number of tries of a network of this size, as in the reproduction.
fn effort(k: u32) -> Effort {
    let known = Sizes::of(Mode::Full).headline.into_iter().find(|e| e.k == k);
    let effort = known.unwrap_or(Effort {
        k,
        rule: RoutingRule::LowestId,
        egress: Egress::Fifo,
        next_after: NextAfter::Delivery,
        size_max: SIZE_MAX,
        duration_us: DURATION_US,
        networks: usize::MAX,
        repetitions: 2,
        gentle_repetitions: 1,
    });
    Effort { networks: usize::MAX, ..effort }
}

fn whole(value: &Value) -> Option<u32> {
    if let Value::Whole(n) = value { u32::try_from(*n).ok() } else { None }
}

fn scheme(value: &Value) -> Option<Scheme> {
    Scheme::ALL.into_iter().find(|s| *value == Value::from(s.name()))
}

impl Table1 {
    fn cell(cell: &Cell, stop: &(dyn Fn() -> bool + Sync)) -> Result<Option<Kept>, String> {
        let block = u32::try_from(cell.seed).ok().and_then(|seed| seed.checked_sub(1));
        let (Some(k), Some(scheme), Some(networks)) =
            (whole(cell.value("k")), scheme(cell.value("flow_control")), whole(cell.value("networks")))
        else {
            return Err("a value that the plan does not allow".into());
        };
        let range =
            block.and_then(|b| Some((b.checked_mul(networks)?, b.checked_add(1)?.checked_mul(networks)?))).filter(|r| r.1 <= 1_000_000);
        let Some((first, past)) = range else {
            return Err("seeds count blocks of networks from 1, and there are a million networks of a size".into());
        };
        let filtered = Filtered::scan(k, first, past).map_err(|e| e.to_string())?;
        let effort = effort(k);
        let mut runs = Vec::new();
        for &number in filtered.cyclic(effort.rule) {
            let job = effort.job(Network { k, number }, scheme, FIRST, effort.repetitions_of(scheme));
            match job.run(stop).map_err(|e| e.to_string())? {
                Some(done) => runs.push((number, done)),
                None => return Ok(None),
            }
        }
        Ok(Some(Kept { k, first, scheme, filtered, runs }))
    }
}

impl Work for Table1 {
    fn columns(&self) -> Vec<Column> {
        COLUMNS.to_vec()
    }

    fn basis(&self) -> String {
        super::study::basis()
    }

    fn shown(&self) -> Vec<&'static str> {
        vec!["deadlocks", "cyclic", "standstills"]
    }

    fn run(&self, cell: &Cell, stop: &(dyn Fn() -> bool + Sync), _: Option<&mut Option<Ran>>) -> Done {
        let kept = match Table1::cell(cell, stop) {
            Ok(Some(kept)) => kept,
            Ok(None) => return Done::Stopped,
            Err(why) => return Done::Failed(why),
        };
        let all = || kept.runs.iter().flat_map(|(_, r)| &r.runs);
        let deadlocks = kept.runs.iter().filter(|(_, r)| r.deadlock().is_some()).count() as u64;
        let standstills = kept.runs.iter().filter(|(_, r)| r.stands_still()).count() as u64;
        let values: [(&str, u64); 8] = [
            ("networks_examined", kept.filtered.networks.into()),
            ("disconnected", kept.filtered.disconnected.into()),
            ("cyclic", kept.runs.len() as u64),
            ("deadlocks", deadlocks),
            ("standstills", standstills),
            ("lost_frames", all().map(|r| r.dropped).sum()),
            ("violations", all().map(|r| r.violations).sum()),
            ("frame_hops", all().map(|r| r.frame_hops).sum()),
        ];
        let values = values.into_iter().map(|(name, n)| (name.to_owned(), n.into())).collect();
        match serde_json::to_value(&kept) {
            Ok(more) => Done::Measured(Measured { values, more }, Vec::new()),
            Err(e) => Done::Failed(e.to_string()),
        }
    }

    fn sections(&self, cells: &[(Cell, Option<Shard>)]) -> Vec<Section> {
        let findings = tab1::findings(&study(cells));
        let section = Section::new("Table 1").text(findings.measured.clone());
        vec![findings.tables.into_iter().fold(section, Section::table)]
    }
}

/// The study that the runs are parts of. Blocks count as far as they are there without a gap.
fn study(cells: &[(Cell, Option<Shard>)]) -> LargeScale {
    let kept = cells.iter().filter_map(|(_, s)| serde_json::from_value::<Kept>(s.as_ref()?.measured.more.clone()).ok());
    let mut blocks: BTreeMap<(u32, u32), Filtered> = BTreeMap::new();
    let mut runs: BTreeMap<Network, [Option<Runs>; 5]> = BTreeMap::new();
    for kept in kept {
        for (number, done) in kept.runs {
            runs.entry(Network { k: kept.k, number }).or_default()[kept.scheme as usize] = Some(done);
        }
        blocks.insert((kept.k, kept.first), kept.filtered);
    }
    let mut all = LargeScale::default();
    for ((k, first), block) in blocks {
        if all.filtered.last().is_none_or(|(last, _)| *last != k) {
            all.filtered.push((k, Filtered::default()));
        }
        let filtered = &mut all.filtered.last_mut().expect("just pushed").1;
        if filtered.networks == first {
            filtered.append(&block);
        }
    }
    for (k, filtered) in &all.filtered {
        let effort = effort(*k);
        let numbers = filtered.cyclic(effort.rule);
        let case = |&number: &u32| {
            let network = Network { k: *k, number };
            Case { network, runs: runs.get(&network).cloned().unwrap_or_default() }
        };
        all.headline.push(Search { effort, cyclic: numbers.len(), cases: numbers.iter().map(case).collect() });
    }
    all
}

impl Study for Table1 {
    fn name(&self) -> &'static str {
        "gfc-table1"
    }

    fn about(&self) -> &'static str {
        "Table 1 of the GFC paper: deadlocks among random fat-trees. k: ports per switch; networks: per run; the seed n: the n-th block of them."
    }

    fn parameters(&self) -> &'static [&'static str] {
        &PARAMETERS
    }

    fn check(&self, parameter: &str, value: &Value) -> Result<(), ParamError> {
        let refuse = |hint: &str| Err(ParamError::new(parameter, format!("found {value}"), hint));
        match parameter {
            "k" if !whole(value).is_some_and(|k| k % 2 == 0 && (4..=32).contains(&k)) => {
                refuse("expected an even number of ports, 4 to 32, such as [4, 8, 16]")
            }
            "networks" if !whole(value).is_some_and(|n| (1..=10_000).contains(&n)) => refuse("expected networks in a run, 1 to 10000"),
            "flow_control" if scheme(value).is_none() => {
                refuse(&suggest::hint(&value.to_string(), "flow controls", &Scheme::ALL.map(Scheme::name)))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use xoff_lab::sweep::Plan;

    use super::super::job::{Aim, Job};
    use super::*;

    /// A cell has the same filter, jobs and numbers as the reproduction.
    #[test]
    fn a_cell_is_a_part_of_the_reproduction() {
        let text = "study = \"gfc-table1\"\nseeds = [1]\n[set]\nnetworks = 150\n[grid]\nk = [4]\nflow_control = [\"pfc\"]\n";
        let studies: [Arc<dyn Study>; 1] = [Arc::new(Table1)];
        let plan = Plan::from_text("plan", text, std::path::Path::new(""), &studies).unwrap();
        let cells: Vec<_> = plan.cells().map(|c| (c.clone(), plan.run(&c, &|| false, None).map(|r| r.0))).collect();
        let all = study(&cells);
        let filtered = Filtered::scan(4, 0, 150).unwrap();
        assert_eq!(all.filtered(4), Some(&filtered));
        let search = all.headline(4).unwrap();
        assert!(search.cyclic > 0 && search.cyclic == filtered.cyclic(RoutingRule::LowestId).len());
        let job = |number| Job {
            aim: Aim::Deadlock,
            network: Network { k: 4, number },
            rule: RoutingRule::LowestId,
            egress: Egress::Fifo,
            scheme: Scheme::Pfc,
            hysteresis: 3000,
            spacing_ns: 0,
            next_after: NextAfter::Delivery,
            size_max: SIZE_MAX,
            duration_us: DURATION_US,
            first: 1000,
            repetitions: 100,
        };
        let case = &search.cases[0];
        assert_eq!(case.of(Scheme::Pfc), job(case.network.number).run(&|| false).unwrap().as_ref());
        let shard = cells[0].1.as_ref().unwrap();
        assert_eq!(shard.value("cyclic"), &Value::from(search.cyclic as u64));
        let deadlocks = search.cases.iter().filter(|c| c.deadlocks(Scheme::Pfc) == Some(true)).count();
        assert_eq!(shard.value("deadlocks"), &Value::from(deadlocks as u64));
    }

    #[test]
    fn wrong_values_have_a_place() {
        let studies: [Arc<dyn Study>; 1] = [Arc::new(Table1)];
        let refused = |text: &str| Plan::from_text("plan", text, std::path::Path::new(""), &studies).err().unwrap().to_string();
        let wrong = refused("study = \"gfc-table1\"\n[grid]\nk = [4, 5]\nflow_control = [\"pcf\"]\nnet = [1]\n");
        assert!(wrong.contains("plan:3:9: k: found 5") && wrong.contains("did you mean 'pfc'"), "{wrong}");
        assert!(
            wrong.contains("plan:5:1: the study 'gfc-table1' has no parameter 'net'") && wrong.contains("missing parameter 'networks'"),
            "{wrong}"
        );
        assert!(refused("study = \"gfc-tab1\"\n").contains("did you mean 'gfc-table1'"));
    }
}
