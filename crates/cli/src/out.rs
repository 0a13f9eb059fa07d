//! Where results go: what `--out` and `--force` mean for every subcommand.

use std::path::{Path, PathBuf};

use xoff_output::{Draft, Folder, Kind, OutputError};
use xoff_scenario::{Problem, Problems, read};

use crate::terminal;

/// A folder for results.
#[derive(clap::Args)]
pub struct Out {
    /// Folder for the results; created if missing. Only results of the same subcommand are replaced
    #[arg(long = "out", value_name = "DIR")]
    pub folder: PathBuf,
    #[command(flatten)]
    pub force: Force,
}

/// Leave to use a folder that holds something else.
#[derive(clap::Args)]
pub struct Force {
    /// Also use a folder that holds something else: results of another subcommand are replaced, files that xoff did not write stay
    #[arg(long)]
    pub force: bool,
}

impl Out {
    /// Claims it, before the work begins.
    pub fn claim(&self, command: &str) -> Result<Folder, Problems> {
        claim("--out", &self.folder, command, &self.force)
    }

    /// Its name.
    pub fn display(&self) -> std::path::Display<'_> {
        self.folder.display()
    }
}

/// Claims the folder of `option`.
pub fn claim(option: &str, folder: &Path, command: &str, force: &Force) -> Result<Folder, Problems> {
    let at_option = |e| Problems::from(refused(option, folder, e));
    let claimed = Folder::claim(folder, command, force.force).map_err(at_option)?;
    claimed.refuse_inputs(read::files().iter().map(PathBuf::as_path)).map_err(at_option)?;
    for name in claimed.changed() {
        terminal::note(&format!("{} is not as xoff left it; --force: a result of that name replaces it", folder.join(name).display()));
    }
    Ok(claimed)
}

/// A file that an option names, for a text that is known later; refused now if it cannot be written, if this command has read it, or if it
/// is not of its kind and `force` is not given.
pub fn draft(option: &str, file: &Path, kind: Kind, force: bool) -> Result<Draft, Problem> {
    free(file, kind, force).and_then(|()| Draft::to(file)).map_err(|e| refused(option, file, e))
}

/// Refuses a file that may not be replaced.
pub fn free(file: &Path, kind: Kind, force: bool) -> Result<(), OutputError> {
    let inputs = read::files();
    xoff_output::refuse_inputs(file, inputs.iter().map(PathBuf::as_path))?;
    xoff_output::refuse_others(file, kind, force)
}

/// A problem at an option.
pub fn refused(option: &str, value: &Path, e: OutputError) -> Problem {
    crate::caller::of_output(Problem::new(e.what, e.hint)).at(terminal::option(option, &value.display().to_string()))
}
