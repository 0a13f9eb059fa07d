//! Results of a driven network: its messages run again as a scenario, with all that a run records.

use std::path::Path;

use xoff_record::output::Folder;
use xoff_record::{FORMATS, Sink};
use xoff_scenario::document::Override;
use xoff_scenario::{Problem, Problems};
use xoff_units::Time;

use super::Driven;
use crate::manifest::{ExtraFile, Progress};
use crate::network::{Finished, NetworkScenario};

/// The table of calls in a folder of results.
const MESSAGES: &str = "messages.csv";

impl Driven {
    /// Writes the results of the network until now into a folder, as those of a run of a scenario
    /// that has the same messages at the same places; the network stays as it is. It takes as long
    /// as driving the network took, without the driver. `page` draws the report. `look` is called now
    /// and then; when it returns false, the results end there.
    ///
    /// # Errors
    /// No message has begun; the folder, or a file in it, cannot be written.
    pub fn finish(
        &self,
        folder: &Path,
        page: impl FnOnce(&NetworkScenario, &Finished) -> Option<ExtraFile>,
        look: impl FnMut(&Progress) -> bool,
    ) -> Result<Finished, Problems> {
        if self.messages_made == 0 {
            let hint = "finish after the first message";
            return Err(Problem::new("no message has begun: there are no results", hint).into());
        }
        let refused = |what: String, hint: &str| Problems::from(Problem::new(what, hint));
        let claimed = Folder::claim(folder, "run", false).map_err(|e| refused(e.what, &e.hint))?;
        let table = claimed.own(MESSAGES).map_err(|e| refused(e.what, &e.hint))?;
        self.log.write(&table, &self.scenario.topology).map_err(|e| {
            refused(format!("cannot write {}: {e}", table.display()), "free space on the disk")
        })?;
        let table = std::path::absolute(&table).unwrap_or(table);
        let priorities: Vec<String> =
            self.scenario.flows.handed_in.iter().map(|p| format!("\"{p}\"")).collect();
        let end = self.now.max(Time(1));
        let mut settings = self.scenario.settings.clone();
        for (key, value) in [
            ("messages.file", format!("{:?}", table.display().to_string())),
            ("messages.priorities", format!("[{}]", priorities.join(", "))),
            ("run.duration", format!("\"{}ps\"", end.0)),
        ] {
            settings.push(Override::keyword(key, &value)?);
        }
        let s = NetworkScenario::from_text(
            self.scenario.source.name(),
            self.scenario.source.text(),
            &settings,
            &self.scenario.folder,
        )?;
        let running = s
            .start(Sink::Files(claimed, &FORMATS[0]), Some(1))
            .map_err(|e| refused(e.to_string(), ""))?;
        running.with_page(|f| page(&s, f)).run(look).map_err(|e| refused(e.to_string(), ""))
    }
}
