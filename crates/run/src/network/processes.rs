//! A scenario as the run of several processes.
//!
//! ```text
//!   process 0    same_everywhere -- lead   --> Running: tables, progress, manifest
//!   process 1    same_everywhere -- follow --> nothing: process 0 has its records
//! ```
//!
//! Each has read the same scenario and simulates its share of the network. Whatever one of them
//! cannot do ends the run of all before it begins.

use std::hash::{DefaultHasher, Hasher};

use xoff_record::Sink;
use xoff_sim::{Processes, Selection, Share, Stopped, agree, texts};

use super::NetworkScenario;
use super::execute::{ALONE, Running, Whereabouts};
use crate::manifest::{ProcessTime, RunError};

impl NetworkScenario {
    /// Checks that all processes have read the same scenario with the same build of xoff, including
    /// the files that it names; each of them calls this.
    ///
    /// # Errors
    /// The difference and its place, in words; the same words in all processes.
    pub fn same_everywhere(&self, processes: &mut dyn Processes) -> Result<(), String> {
        let all = texts(processes, self.stated());
        let (first, others) = all.split_first().expect("a run has a process");
        match others.iter().zip(1..).find(|o| o.0 != first) {
            Some((text, process)) => Err(difference(first, process, text)),
            None => Ok(()),
        }
    }

    /// The scenario as far as results depend on it.
    fn stated(&self) -> String {
        format!("xoff {}\n{}\n{DIGEST}{:016x}", crate::ENGINE, self.resolved, self.digest())
    }

    /// Digest of inputs outside the resolved scenario: networks, flows and operations of jobs from
    /// files. The same program gives the same digest.
    pub(super) fn digest(&self) -> u64 {
        let mut h = DefaultHasher::new();
        let t = &self.topology;
        t.nodes.iter().for_each(|n| h.write(n.name.as_bytes()));
        for l in &t.links {
            [u64::from(l.a), u64::from(l.b), l.rate.0, l.delay.0, l.up as u64]
                .into_iter()
                .for_each(|n| h.write_u64(n));
        }
        for f in self.flows.flows.iter() {
            [
                u64::from(f.src),
                u64::from(f.dst),
                f.size,
                f.start.0,
                f.priority as u64,
                f.rate.map_or(u64::MAX, |r| r.0),
            ]
            .into_iter()
            .for_each(|n| h.write_u64(n));
            [f.src_port as u64, f.dst_port as u64, f.path.map_or(u64::MAX, u64::from)]
                .into_iter()
                .for_each(|n| h.write_u64(n));
        }
        for l in &self.flows.loops {
            h.write(format!("{l:?}").as_bytes());
        }
        for call in self.flows.calls.iter().flat_map(|calls| calls.iter()) {
            h.write(format!("{call:?}").as_bytes());
        }
        for job in self.flows.jobs.iter().flat_map(|j| &j.jobs) {
            job.graph.hash_into(&mut h);
        }
        h.finish()
    }

    /// [`Self::digest`] as the manifest has it.
    pub fn inputs_digest(&self) -> String {
        format!("{:016x}", self.digest())
    }

    /// Puts the share of the first process in motion, whose tables are those of the run; each of
    /// the others calls [`Self::follow`].
    ///
    /// # Errors
    /// The network cannot be built, or cannot be shared, or a table cannot be written; or another
    /// process cannot continue.
    pub fn lead(
        &self,
        sink: Sink,
        mut processes: Box<dyn Processes>,
    ) -> Result<Running<'_>, Stopped<RunError>> {
        let share = Some(Share::of(&*processes));
        let started = self.start_with(sink, Whereabouts { share, ..ALONE }, None);
        let mut running = agree(&mut *processes, started)?;
        running.world.join(processes);
        Ok(running)
    }

    /// Simulates the share of a process that is not the first one, to the end of the run. When
    /// `go_on` returns false, the run of all stops.
    ///
    /// # Errors
    /// The network cannot be built, or cannot be shared; or another process cannot continue.
    pub fn follow(
        &self,
        mut processes: Box<dyn Processes>,
        mut go_on: impl FnMut() -> bool,
    ) -> Result<(), Stopped<RunError>> {
        let cpu = ProcessTime::now();
        let share = Some(Share::of(&*processes));
        let built = self.build(&Whereabouts { share, ..ALONE }, Selection::None);
        let mut world = agree(&mut *processes, built)?;
        world.join(processes);
        let ended = world.drive(self.until, |_| go_on());
        world.sum_over_processes(cpu.elapsed().as_nanos() as u64);
        world.finish(ended);
        Ok(())
    }
}

/// Text before the digest of the network and the flows.
const DIGEST: &str = "network and flows ";

/// Difference between the scenarios of a process and the first one.
fn difference(first: &str, process: usize, other: &str) -> String {
    let mut pairs = first.lines().zip(other.lines());
    let what = match pairs.find(|(a, b)| a != b) {
        Some((a, b)) if a.starts_with(DIGEST) && b.starts_with(DIGEST) => {
            "its input files give another network or other flows".into()
        }
        Some((a, b)) => format!("`{}` instead of `{}`", b.trim(), a.trim()),
        None => "one of them is longer".into(),
    };
    format!("process {process} read a different scenario from process 0: {what}")
}
