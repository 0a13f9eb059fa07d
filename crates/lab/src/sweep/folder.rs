//! The folder of a sweep: who may write it, and where a finished run is kept.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use xoff_record::output::{Folder, OutputError, holder};

use crate::sweep::cell::{Cell, Shard, Status};
use crate::sweep::scenario::hash;
use crate::sweep::{Plan, SweepError};

/// Owner of the folders of sweeps.
pub const COMMAND: &str = "sweep";
/// Folder of finished runs.
const FINISHED: &str = "finished";
/// Time for which a process of a job array waits for another one that creates the folder.
const WAIT: Duration = Duration::from_secs(30);

/// A folder of a sweep.
pub struct Store {
    root: PathBuf,
    /// The claim; a process of a job array has none: many of them write at a time, each its own
    /// files.
    claim: Option<Folder>,
}

impl Store {
    /// Claims the folder: no other sweep may use it as long.
    ///
    /// # Errors
    /// A folder that another process writes, or that has files of others than sweeps.
    pub fn claim(path: &Path, force: bool) -> Result<Store, SweepError> {
        Store::claim_for(COMMAND, path, force)
    }

    /// Claims the folder for another command that keeps its runs in it.
    pub(crate) fn claim_for(command: &str, path: &Path, force: bool) -> Result<Store, SweepError> {
        let begun = Instant::now();
        let folder = loop {
            match Folder::claim(path, command, force) {
                // A process of a job array holds it for an instant.
                Err(_) if is_sweep(path) && begun.elapsed() < Duration::from_secs(1) => {
                    std::thread::sleep(Duration::from_millis(50))
                }
                claimed => break claimed?,
            }
        };
        make_cells(&folder)?;
        Ok(Store { root: path.to_owned(), claim: Some(folder) })
    }

    /// Joins others that write into the folder; makes it if there is none.
    ///
    /// # Errors
    /// A folder with files of others than sweeps.
    pub fn join(path: &Path, force: bool) -> Result<Store, SweepError> {
        let begun = Instant::now();
        while !(is_sweep(path) && path.join(FINISHED).is_dir()) {
            match Folder::claim(path, COMMAND, force) {
                Ok(folder) => make_cells(&folder)?,
                Err(e) if begun.elapsed() > WAIT || !is_sweep(path) => return Err(e.into()),
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
        Ok(Store { root: path.to_owned(), claim: None })
    }

    /// The folder as it is, for who only reads it.
    pub fn read(path: &Path) -> Store {
        Store { root: path.to_owned(), claim: None }
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// The claim.
    pub(crate) fn claimed(&self) -> Option<&Folder> {
        self.claim.as_ref()
    }

    fn file(&self, cell: &Cell, suffix: &str) -> PathBuf {
        self.root.join(FINISHED).join(&cell.key[..2]).join(format!("{}.{suffix}", cell.key))
    }

    /// Stored result of a run. A file that cannot be read or is damaged counts as absent: the run is
    /// executed again.
    pub fn get(&self, cell: &Cell) -> Option<Shard> {
        self.look(cell).ok().flatten()
    }

    /// Stored result of a run; `None`: there is none.
    ///
    /// # Errors
    /// A file of the result that cannot be read or is damaged, with its path.
    pub(crate) fn look(&self, cell: &Cell) -> Result<Option<Shard>, String> {
        let read = |path: &Path| {
            fs::read(path).map_err(|e| (e.kind(), format!("cannot read {}: {e}", path.display())))
        };
        let damaged = |path: &Path| format!("{} is damaged", path.display());
        let file = self.file(cell, "json");
        let bytes = match read(&file) {
            Err((ErrorKind::NotFound, _)) => return Ok(None),
            bytes => bytes.map_err(|(_, why)| why)?,
        };
        let shard = Shard::read(&bytes).filter(|s| s.key == cell.key);
        let shard = shard.ok_or_else(|| damaged(&file))?;
        for (name, sum) in &shard.tables {
            let table = self.file(cell, &format!("{name}.parquet"));
            if hash(&read(&table).map_err(|(_, why)| why)?) != *sum {
                return Err(damaged(&table));
            }
        }
        Ok(Some(shard))
    }

    /// A table of a finished run.
    pub fn table(&self, cell: &Cell, name: &str) -> Option<Vec<u8>> {
        fs::read(self.file(cell, &format!("{name}.parquet"))).ok()
    }

    /// Runs without a result, in order: those that never ran, and those that failed.
    pub fn unfinished(&self, plan: &Plan) -> Vec<usize> {
        plan.cells()
            .filter(|cell| !self.get(cell).is_some_and(|s| s.status == Status::Done))
            .map(|cell| cell.index)
            .collect()
    }

    /// Keeps a run: its tables first, so that a run that is there is there with all of them.
    ///
    /// # Errors
    /// A disk that is full, and any other reason of the operating system.
    pub fn put(
        &self,
        cell: &Cell,
        shard: &Shard,
        tables: &[(String, Vec<u8>)],
    ) -> Result<(), SweepError> {
        let file = self.file(cell, "json");
        let folder = file.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder).map_err(|e| SweepError::file("make", folder, &e))?;
        for (name, bytes) in tables {
            xoff_record::output::write(&self.file(cell, &format!("{name}.parquet")), bytes)?;
        }
        let tables = tables.iter().map(|(name, bytes)| (name.clone(), hash(bytes))).collect();
        Ok(xoff_record::output::write(&file, Shard { tables, ..shard.clone() }.file().as_bytes())?)
    }
}

fn make_cells(folder: &Folder) -> Result<(), OutputError> {
    let cells = folder.own(&format!("{FINISHED}/"))?;
    fs::create_dir_all(&cells)
        .map_err(|e| OutputError::new(&cells, format!("cannot make {}: {e}", cells.display()), ""))
}

/// Whether the folder is one of a sweep.
fn is_sweep(path: &Path) -> bool {
    holder(path).is_some_and(|who| who.contains(&format!("'xoff {COMMAND}'")))
}
