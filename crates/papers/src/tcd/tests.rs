use std::path::Path;

use super::run::{Job, Pick};
use super::schemes::*;
use super::victims::{FLOW_BINS, MESSAGE_BINS, VICTIMS, picks};
use crate::study::Job as _;

fn short(file: &str, scheme: &Scheme, more: &[&str]) -> Job {
    let mut settings: Vec<String> = (0..3).map(|w| format!("workload[{w}].duration=3ms")).collect();
    settings.extend(more.iter().map(|s| (*s).to_owned()));
    Job::new(file, scheme, &settings, 1, &picks(if file == "victims-ib.toml" { MESSAGE_BINS } else { FLOW_BINS }))
}

/// Every scheme on every network of the victims: it runs, loses nothing, all flows end, and a second run gives the same.
#[test]
fn every_scheme_runs() {
    let ethernet = [DCQCN, DCQCN_TCD, DCQCN_TCD_B, DCQCN_NP_ECN, TIMELY, TIMELY_TCD, HPCC, HPCC_TCD];
    let mut jobs: Vec<Job> = ethernet.iter().map(|s| short("victims.toml", s, &[])).collect();
    jobs.extend([IB_CC, IB_CC_TCD].iter().map(|s| short("victims-ib.toml", s, &[])));
    jobs.push(short("victims-bursts.toml", &DCQCN_TCD, &["workload[2].size=100KB"]));
    jobs.extend(["gfc-buffer", "gfc-time", "cbfc"].map(|fc| short("victims.toml", &DCQCN_TCD, &[&format!("flow_control.kind={fc}")])));
    for job in &jobs {
        let run = job.run(&|| false).unwrap_or_else(|e| panic!("{job:?}: {e}")).unwrap();
        assert_eq!((run.totals.lost, run.totals.violations, run.totals.incomplete), (0, 0, 0), "{job:?}");
        assert!(run.groups[VICTIMS].flows > 10 && run.groups[VICTIMS].fct() > 0.0, "{job:?}");
        assert_eq!(job.run(&|| false).unwrap().unwrap(), run);
    }
}

#[test]
fn who_asks_to_stop_gets_no_run() {
    // Long enough to be asked.
    let long = Job::new("victims.toml", &DCQCN, &[], 1, &[Pick::all("")]);
    assert_eq!(long.run(&|| true).unwrap(), None);
}

/// Marks mean nothing to HPCC.
#[test]
fn hpcc_is_the_same_beside_tcd() {
    let of = |s: &Scheme| {
        let run = short("victims.toml", s, &[]).run(&|| false).unwrap().unwrap();
        run.groups.iter().map(|g| (g.flows, g.fct().to_bits(), g.quantile(1).to_bits())).collect::<Vec<_>>()
    };
    assert_eq!(of(&HPCC), of(&HPCC_TCD));
}

/// Groups take what they say, and a job that differs in anything is another key.
#[test]
fn jobs_are_distinguished_by_all_that_matters() {
    let a = Job::new("victims.toml", &DCQCN, &[], 1, &[Pick::all("S0")]);
    let others = [
        Job::new("victims-ib.toml", &DCQCN, &[], 1, &[Pick::all("S0")]),
        Job::new("victims.toml", &DCQCN_TCD, &[], 1, &[Pick::all("S0")]),
        Job::new("victims.toml", &DCQCN, &["run.deadlock_interval=2ms".into()], 1, &[Pick::all("S0")]),
        Job::new("victims.toml", &DCQCN, &[], 2, &[Pick::all("S0")]),
        Job::new("victims.toml", &DCQCN, &[], 1, &[Pick::new("S0", 0, 10)]),
    ];
    let key = |j: &Job| serde_json::to_string(j).unwrap();
    assert!(others.iter().all(|o| key(o) != key(&a)));
}

#[test]
fn every_entry_reads() {
    for item in super::TCD {
        let entry = item.entry().unwrap_or_else(|e| panic!("{e}"));
        for s in &entry.scenarios {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/papers/tcd").join(s);
            assert!(path.is_file(), "{}: {s}", entry.id);
        }
    }
}
