//! Scenarios drawn at random, from a number: the draw next to the text made from it, so that
//! nothing is tested under a name that it does not deserve.

use std::path::Path;

use xoff_node::{DisciplineKind, SchedulerKind};
use xoff_run::NetworkScenario;
use xoff_sim::{PORT_PROBES, Selection};

/// SplitMix64: enough to choose settings by.
pub struct Dice(pub u64);

impl Dice {
    /// One of `0 .. n`.
    pub fn roll(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
    /// One of these.
    pub fn pick(&mut self, of: &[&'static str]) -> &'static str {
        of[self.roll(of.len() as u64) as usize]
    }
}

/// Random draw. A section of a mechanism has its parameters, without heading and kind.
#[derive(Clone, Default)]
pub struct Drawn {
    /// Lines of `[run]`, `[topology]`, `[routing]`, `[host]`, `[control_delay]`.
    pub head: String,
    /// Lines of `[switch]` except those that follow from the fields below.
    pub switch: String,
    /// Egress discipline.
    pub discipline: &'static str,
    /// Scheduler of priorities.
    pub scheduler: &'static str,
    /// Bytes.
    pub cut_through: Option<u64>,
    /// Flow control: name and parameters.
    pub flow_control: (&'static str, String),
    /// Detection: name and parameters.
    pub detection: (&'static str, String),
    /// Rate control: name and parameters.
    pub rate_control: (&'static str, String),
    /// Sections of flows.
    pub workload: String,
    /// Whether every port is probed, by probe.
    pub probes: Vec<&'static str>,
    /// Sections about a network in operation.
    pub operation: String,
    /// Link and time of failures.
    pub failures: Vec<(String, String)>,
}

impl Drawn {
    /// The scenario as text.
    pub fn text(&self) -> String {
        let Drawn { head, switch, discipline, scheduler, workload, .. } = self;
        let mut t = format!(
            "{head}[switch]\n{switch}discipline = \"{discipline}\"\nscheduler = \"{scheduler}\"\n"
        );
        if let Some(head) = self.cut_through {
            t += &format!("cut_through = \"{head}B\"\n");
        }
        let sections = [
            ("flow_control", &self.flow_control),
            ("detection", &self.detection),
            ("rate_control", &self.rate_control),
        ];
        for (section, (kind, parameters)) in sections {
            t += &format!("[{section}]\nkind = \"{kind}\"\n{parameters}");
        }
        t += workload;
        t += &self.operation;
        if !self.probes.is_empty() {
            t += "[probes]\ninterval = \"20us\"\nflow_rates = true\n";
            self.probes.iter().for_each(|p| t += &format!("{p} = [\"all\"]\n"));
        }
        self.failures.iter().for_each(|(link, at)| {
            t += &format!("[[failure]]\nlink = \"{link}\"\nat = \"{at}\"\n")
        });
        t
    }

    /// The scenario of the draw.
    pub fn load(&self) -> Result<NetworkScenario, String> {
        let s = NetworkScenario::from_text("swarm.toml", &self.text(), &[], Path::new("."))
            .map_err(|e| e.to_string())?;
        assert_eq!(
            (s.flow_control, s.detection, s.rate_control),
            (self.flow_control.0, self.detection.0, self.rate_control.0),
            "{}",
            self.text()
        );
        let m = s.model();
        let discipline = match m.discipline {
            DisciplineKind::Fifo => "fifo",
            DisciplineKind::RoundRobin => "round-robin",
            DisciplineKind::Drr { .. } => "drr",
            DisciplineKind::Random { .. } => "random",
            DisciplineKind::InputFifo { .. } => "input-fifo",
            DisciplineKind::Pipeline(_) => "pipeline",
        };
        let scheduler = match m.scheduler {
            SchedulerKind::Strict => "strict",
            SchedulerKind::RoundRobin => "round-robin",
            SchedulerKind::Drr(_) => "drr",
            SchedulerKind::VlArbitration(_) => "vl-arbitration",
        };
        assert_eq!((discipline, scheduler), (self.discipline, self.scheduler), "{}", self.text());
        assert_eq!(
            (m.cut_through.map(|b| b.0), m.faults.failures.len()),
            (self.cut_through, self.failures.len()),
            "{}",
            self.text()
        );
        let p = &m.probes;
        for (name, selection) in PORT_PROBES.iter().map(|probe| (probe.key, (probe.of)(p))) {
            // The answers of jobs need some that were not asked for.
            let (drawn, jobs) = (
                self.probes.contains(&name),
                !s.flows.jobs.as_ref().is_none_or(|j| j.jobs.is_empty()),
            );
            assert!(
                (*selection == Selection::All) == drawn || jobs && !drawn,
                "{name}\n{}",
                self.text()
            );
        }
        drop(m);
        Ok(s)
    }
}
