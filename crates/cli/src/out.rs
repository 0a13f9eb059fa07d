//! Folders of results: the meaning of `--out` and `--force` for every subcommand.

use std::path::{Path, PathBuf};

use xoff_record::Manifest;
use xoff_record::output::{Draft, Folder, Kind, OutputError};
use xoff_scenario::{Problem, Problems, read};

use crate::terminal;

/// A folder for results.
#[derive(clap::Args)]
pub struct Out {
    /// Write the results into this folder [default: out/NAME, after the input]
    #[arg(long = "out", value_name = "DIR")]
    folder: Option<PathBuf>,
    #[command(flatten)]
    pub force: Force,
}

/// Permission to use a folder that holds something else.
#[derive(clap::Args)]
pub struct Force {
    /// Use a folder that holds something else: replace results of another subcommand, keep files
    /// that xoff did not write
    #[arg(long)]
    pub force: bool,
}

impl Out {
    /// The folder that was named, or this one.
    pub fn or(&self, default: PathBuf) -> PathBuf {
        self.folder.clone().unwrap_or(default)
    }

    /// True if the default is used.
    pub fn is_default(&self) -> bool {
        self.folder.is_none()
    }
}

/// Default folder for the results of a scenario: `out/ring` for `scenarios/ring.toml`, with a
/// suffix `out/ring-testbed`.
pub fn default(file: &Path, suffix: &str) -> PathBuf {
    let stem = file.file_stem().map_or_else(|| "run".into(), |s| s.to_string_lossy());
    Path::new("out").join(format!("{stem}{suffix}"))
}

/// Refuses a default folder that holds the results of another scenario file: two files may have one
/// name, and nobody named the folder.
pub fn of_this_file(folder: &Path, file: &Path, force: &Force) -> Result<(), Problem> {
    let Some(manifest) = Manifest::read(folder).ok().filter(|_| !force.force) else {
        return Ok(());
    };
    let parent = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let before = Path::new(&manifest.scenario_folder);
    let full = |p: &Path| p.canonicalize().unwrap_or_else(|_| p.to_owned());
    // Results of an earlier version do not name the folder.
    if before.as_os_str().is_empty() || full(parent) == full(before) {
        return Ok(());
    }
    let here = std::env::current_dir().unwrap_or_default();
    let other = full(before).join(file.file_name().unwrap_or_default());
    let other = other.strip_prefix(full(&here)).unwrap_or(&other);
    let free = (2u32..)
        .map(|n| format!("{}-{n}", folder.display()))
        .find(|name| !Path::new(name).exists())
        .unwrap_or_default();
    let what = format!(
        "{} contains the results of another scenario file, {}",
        folder.display(),
        other.display()
    );
    let hint = format!(
        "choose another folder: --out {}; or replace the results: --force",
        terminal::word(&free)
    );
    Err(crate::caller::of_output(Problem::new(what, hint)))
}

/// Claims the folder of `option`.
pub fn claim(
    option: &str,
    folder: &Path,
    command: &str,
    force: &Force,
) -> Result<Folder, Problems> {
    let at_option = |e| Problems::from(refused(option, folder, e));
    let claimed = Folder::claim(folder, command, force.force).map_err(at_option)?;
    claimed.refuse_inputs(read::files().iter().map(PathBuf::as_path)).map_err(at_option)?;
    for name in claimed.changed() {
        terminal::note(&format!(
            "{} changed after xoff wrote it; with --force, a result of that name replaces it",
            folder.join(name).display()
        ));
    }
    Ok(claimed)
}

/// A file that an option names, for a text that is known later; refused now if it cannot be
/// written, if this command has read it, or if it is not of its kind and `force` is not given.
pub fn draft(option: &str, file: &Path, kind: Kind, force: bool) -> Result<Draft, Problem> {
    free(file, kind, force).and_then(|()| Draft::to(file)).map_err(|e| refused(option, file, e))
}

/// Refuses a file that may not be replaced.
pub fn free(file: &Path, kind: Kind, force: bool) -> Result<(), OutputError> {
    let inputs = read::files();
    xoff_record::output::refuse_inputs(file, inputs.iter().map(PathBuf::as_path))?;
    xoff_record::output::refuse_others(file, kind, force)
}

/// A problem at an option.
pub fn refused(option: &str, value: &Path, e: OutputError) -> Problem {
    crate::caller::of_output(Problem::new(e.what, e.hint))
        .at(terminal::option(option, &value.display().to_string()))
}
