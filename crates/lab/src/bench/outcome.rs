//! Results of the tests, for people and programs.

use schemars::JsonSchema;
use serde::Serialize;
use xoff_record::verdict::{Allow, Conclusion};
use xoff_report::Unit;

use crate::bench::cases::{Kpi, Row, Test};
use crate::stats::Mean;
use crate::sweep::Counts;

/// Results of a benchmark.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "BenchFabric")]
pub struct Benchmark {
    /// `no`: a deadlock, lost frames, a violated check, work that did not end, or a run that
    /// failed, in a test that promises the opposite.
    pub answer: Conclusion,
    /// The answer in one line.
    pub headline: String,
    /// The document whose tests these are.
    pub draft: &'static str,
    /// Version of xoff.
    pub xoff_version: &'static str,
    /// File of the scenario.
    pub scenario: String,
    /// Its title.
    pub title: String,
    /// Fabric, switches and hosts: name and value.
    pub dut: Vec<Fact>,
    /// The seeds of each case.
    pub seeds: Vec<u64>,
    /// Runs.
    pub runs: Counts,
    /// The tests, in the order of the draft.
    pub tests: Vec<Outcome>,
    /// Sections of the draft without a test.
    pub not_covered: Vec<NotCovered>,
    /// Differences from the draft.
    pub deviations: Vec<String>,
    /// Folder of the results.
    pub out: String,
}

/// A name and its value.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "BenchFact")]
pub struct Fact {
    /// Name.
    pub name: String,
    /// Value.
    pub value: String,
}

/// Whether a test ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "BenchState")]
pub enum State {
    /// Every run has a result.
    Done,
    /// Some runs have none yet.
    Incomplete,
    /// The test has no meaning for this fabric.
    NotApplicable,
}

/// Result of a test.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "BenchTest")]
pub struct Outcome {
    /// Name for --only.
    pub test: &'static str,
    /// Sections of the draft.
    pub sections: &'static str,
    /// Title.
    pub title: &'static str,
    /// Quantity, and its measurement.
    pub definition: &'static str,
    /// Whether it ran.
    pub state: State,
    /// Why it does not apply; null: it does.
    pub why: Option<String>,
    /// Names of what differs between rows.
    pub labels: Vec<&'static str>,
    /// Indicators, the primary one first.
    pub kpis: Vec<KpiAnswer>,
    /// A row for each case.
    pub rows: Vec<RowAnswer>,
    /// Findings against the fabric: one sentence each.
    pub findings: Vec<Finding>,
    /// Notes, one sentence each.
    pub notes: Vec<String>,
    /// Scenarios of its cases, below the folder of the results.
    pub scenarios: Vec<String>,
}

/// An indicator.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "BenchKpi")]
pub struct KpiAnswer {
    /// Name.
    pub name: &'static str,
    /// Name in tables.
    pub label: &'static str,
    /// Unit of its values; empty: none.
    pub unit: &'static str,
    /// Definition.
    pub definition: &'static str,
    #[serde(skip)]
    pub(crate) shown: Unit,
}

/// Values of a case.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "BenchRow")]
pub struct RowAnswer {
    /// Settings that differ, in the order of `labels`.
    pub case: Vec<String>,
    /// Values in the order of `kpis`; null: none.
    pub values: Vec<Option<KpiValue>>,
}

/// A mean over seeds.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "BenchValue")]
pub struct KpiValue {
    /// Mean.
    pub mean: f64,
    /// Lower end of the 95 % interval (Student's t over the seeds).
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Coefficient of variation: standard deviation over mean; null: one seed, or a mean of 0.
    pub cv: Option<f64>,
    /// Seeds with a value.
    pub n: usize,
}

/// Findings against the fabric.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(rename = "BenchFinding")]
pub struct Finding {
    /// Kind.
    pub kind: Against,
    /// In words.
    pub what: String,
}

/// Kinds of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "BenchAgainst")]
pub enum Against {
    /// A deadlock.
    Deadlock,
    /// Frames that did not arrive.
    Loss,
    /// A check was violated.
    Check,
    /// Flows or jobs that did not end.
    Unfinished,
    /// A run failed.
    Failed,
}

impl Against {
    /// True if the user expects it.
    pub fn is_allowed(self, allowed: &[Allow]) -> bool {
        allowed.iter().any(|a| match a {
            Allow::Deadlock => self == Against::Deadlock,
            Allow::Loss => self == Against::Loss,
        })
    }
}

/// A section of the draft that has no test here.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
#[schemars(rename = "BenchNotCovered")]
pub struct NotCovered {
    /// Section.
    pub section: &'static str,
    /// Title.
    pub title: &'static str,
    /// The reason, and what takes its place.
    pub why: &'static str,
}

/// Sections of the draft that have tests, and no place here.
pub(crate) const NOT_COVERED: [NotCovered; 10] = [
    NotCovered {
        section: "5.1, 5.2",
        title: "Baseline throughput, latency",
        why: "a pair of hosts without load has the closed form of its path: `xoff run` prints slowdown 1",
    },
    NotCovered {
        section: "5.3",
        title: "Back-to-back burst absorption",
        why: "`xoff plan` computes the headroom; test incast shows that it holds",
    },
    NotCovered {
        section: "6.1, 6.2, 6.7",
        title: "UET services, latency, PDCs",
        why: "xoff has no model of UET's transport services and PDCs",
    },
    NotCovered {
        section: "6.3, 6.4, 6.6",
        title: "UET spraying, congestion control, collectives",
        why: "no UET; spraying with a reorder buffer is in test balancing",
    },
    NotCovered {
        section: "6.5",
        title: "LLR, packet trimming, CBFC",
        why: "run test incast with --set flow_control=uec-cbfc; LLR: [link_retry]; trimming has no model",
    },
    NotCovered {
        section: "7.1",
        title: "ECN marking accuracy",
        why: "marks of a simulated switch are exact by construction",
    },
    NotCovered {
        section: "10.2",
        title: "MLPerf-aligned JCT",
        why: "needs traces of the workloads: [[job]] reads Chakra, GOAL and SimAI files (docs/jobs.md)",
    },
    NotCovered {
        section: "11.1",
        title: "Fabric scale limits",
        why: "repeat with larger scenarios; routing protocols have no model",
    },
    NotCovered {
        section: "12.1",
        title: "24-hour sustained load",
        why: "a simulation does not age; `make soak` does it with real frames",
    },
    NotCovered { section: "12.2", title: "Resource leak detection", why: "the same" },
];

impl KpiValue {
    /// Of the values of seeds; `None`: none has one.
    pub(crate) fn of(values: &[f64]) -> Option<KpiValue> {
        let m = Mean::of(values.iter().copied());
        if m.n == 0 {
            return None;
        }
        let own: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        let variance =
            own.iter().map(|v| (v - m.mean) * (v - m.mean)).sum::<f64>() / (m.n.max(2) - 1) as f64;
        let cv = (m.n > 1 && m.mean != 0.0).then(|| variance.sqrt() / m.mean.abs());
        Some(KpiValue { mean: m.mean, low: m.low, high: m.high, cv, n: m.n })
    }

    /// With its unit and interval: `5.06 (5.03 to 5.09) Gb/s`.
    pub(crate) fn words(self, unit: &Unit, interval: bool) -> String {
        let [value, low, high] = [self.mean, self.low, self.high].map(|v| unit.format(v));
        if !interval || self.n < 2 || (low == value && high == value) {
            return value;
        }
        let parts = [&value, &low, &high].map(|text| text.split_once(' '));
        match parts {
            [Some((v, unit)), Some((l, a)), Some((h, b))] if a == unit && b == unit => {
                format!("{v} ({l} to {h}) {unit}")
            }
            _ => format!("{value} ({low} to {high})"),
        }
    }
}

impl Outcome {
    /// Of a test without results.
    pub(crate) fn of(test: &'static Test, state: State) -> Outcome {
        let kpi = |k: &Kpi| KpiAnswer {
            name: k.name,
            label: k.label,
            unit: k.base,
            definition: k.doc,
            shown: k.unit.clone(),
        };
        Outcome {
            test: test.id,
            sections: test.sections,
            title: test.title,
            definition: test.definition,
            state,
            why: None,
            labels: test.labels.to_vec(),
            kpis: test.kpis.iter().map(kpi).collect(),
            rows: Vec::new(),
            findings: Vec::new(),
            notes: Vec::new(),
            scenarios: Vec::new(),
        }
    }

    /// Adds rows.
    pub(crate) fn add(&mut self, rows: Vec<Row>) {
        let answer = |r: Row| RowAnswer {
            case: r.labels,
            values: r.values.iter().map(|v| KpiValue::of(v)).collect(),
        };
        self.rows.extend(rows.into_iter().map(answer));
    }

    /// Headings of its table.
    pub fn columns(&self) -> Vec<&'static str> {
        self.labels.iter().copied().chain(self.kpis.iter().map(|k| k.label)).collect()
    }

    /// Cells of its table: means, the first with its interval.
    pub(crate) fn cells(&self) -> Vec<Vec<String>> {
        self.cells_with(|kpi| kpi == 0)
    }

    /// Cells without intervals.
    pub fn means(&self) -> Vec<Vec<String>> {
        self.cells_with(|_| false)
    }

    fn cells_with(&self, interval: impl Fn(usize) -> bool) -> Vec<Vec<String>> {
        let value = |(i, (k, v)): (usize, (&KpiAnswer, &Option<KpiValue>))| {
            v.map_or("-".into(), |v| v.words(&k.shown, interval(i)))
        };
        let row = |r: &RowAnswer| {
            let values = self.kpis.iter().zip(&r.values).enumerate().map(value);
            r.case.iter().cloned().chain(values).collect()
        };
        self.rows.iter().map(row).collect()
    }
}
