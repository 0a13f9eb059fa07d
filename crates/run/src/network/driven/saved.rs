//! Checkpoints of a driven network: its state and that of the driver's side of it, in the file of
//! any other checkpoint.

use std::path::Path;

use xoff_scenario::document::Override;
use xoff_scenario::{Problem, Problems};
use xoff_units::state::{Broken, Reader, Walk, Writer};

use super::Driven;
use super::calls::{self, Line};
use crate::network::checkpoint::{read_driven, write_driven};

impl Driven {
    /// Writes the state into a file, which [`Self::load`] reads: whole, or not at all.
    ///
    /// # Errors
    /// The file cannot be written, or the state contains a part that cannot be saved.
    pub fn save(&self, path: &Path) -> Result<(), Problem> {
        let refused =
            |what: String| Problem::new(what, "only networks without this part can be saved");
        let mut to = Writer::default();
        to.put(&self.scenario.flows.handed_in);
        let state = self.world.save();
        let state = state.map_err(|what| refused(format!("xoff cannot save {what}")))?;
        let Ok(()) = to.bytes(&state);
        to.put(&self.numbering);
        to.put(&self.waited);
        to.put(&self.messages);
        to.put(&(self.messages_made, self.timers_made, self.reports_acknowledged));
        to.put(&self.timers);
        to.put(&self.receives);
        to.put(&self.waiting);
        to.put(&(self.now, self.deadlocks_reported));
        to.put(&self.log.len());
        self.log.lines().for_each(|line| to.put(&line));
        let state = to.end().map_err(refused)?;
        write_driven(path, (&self.scenario, self.digest), &self.world, &state).map_err(|e| {
            let what = format!("cannot write {}: {e}", path.display());
            Problem::new(what, "free space on the disk, or choose another path")
        })
    }

    /// The network that [`Self::save`] wrote, with the scenario that it had: it continues as the
    /// other one does.
    ///
    /// # Errors
    /// The file is none of a driven network, another build of xoff wrote it, it is damaged, or
    /// input files of the scenario have changed; each with its reason.
    pub fn load(path: &Path) -> Result<Driven, Problems> {
        let unusable = |why: String| {
            let what = format!("xoff cannot use {}: {why}", path.display());
            Problems::from(Problem::new(what, "only the build that wrote a checkpoint can use it"))
        };
        let (header, state) = read_driven(path).map_err(unusable)?;
        let given = &header.given;
        let settings = given
            .settings
            .iter()
            .map(|(name, text)| Override::from_origin(name, text))
            .collect::<Result<Vec<_>, _>>()?;
        let mut from = Reader::new(&state);
        let broken = |why: Broken| unusable(format!("it does not fit its scenario: {why}"));
        let priorities: Vec<u8> = from.take().map_err(broken)?;
        let mut driven =
            Driven::new(&given.name, &given.text, &settings, &given.folder, &priorities)?;
        if driven.scenario.resolved != header.resolved || driven.digest != header.digest {
            let what = format!("input files of {} have changed", path.display());
            return Err(Problem::new(what, "restore the files").into());
        }
        driven
            .set_threads(header.threads)
            .map_err(|e| unusable(format!("{}: {}", e.key, e.what)))?;
        driven.restore(&mut from).map_err(broken)?;
        Ok(driven)
    }

    fn restore(&mut self, from: &mut Reader) -> Result<(), Broken> {
        let state = from.bytes()?;
        self.world.restore(state)?;
        self.numbering = from.take()?;
        self.waited = from.take()?;
        self.messages = from.take()?;
        (self.messages_made, self.timers_made, self.reports_acknowledged) = from.take()?;
        self.timers = from.take()?;
        self.receives = from.take()?;
        self.waiting = from.take()?;
        (self.now, self.deadlocks_reported) = from.take()?;
        for _ in 0..from.take::<u64>()? {
            let line: Line = from.take()?;
            self.log.push(line);
            if line.what == calls::What::FailLink {
                let links = &mut self.scenario.topology.links;
                links.get_mut(line.a as usize).ok_or(Broken("no such link"))?.up = false;
                let routes = |t| self.scenario.model.routing.routes(t);
                self.rerouted = self.world.topology().map(routes);
            }
        }
        if from.is_over() { Ok(()) } else { Err(Broken("more than the state of a network")) }
    }
}
