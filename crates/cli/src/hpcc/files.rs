//! `fct.txt`, `pfc.txt` and `qlen.txt`: text files that exist under their final names only when they are complete.

use std::any::Any;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use xoff_hpcc::{Pfc, pfc_line};
use xoff_record::{RecordError, TableHasher};
use xoff_scenario::hpcc::HpccCase;
use xoff_scenario::{Problem, Problems};
use xoff_sim::{Recorder, Row};

use crate::answer::unwritten;

/// Lines on their way to a file. Dropped unfinished, it takes its partial file away.
pub struct LineFile {
    path: PathBuf,
    partial: PathBuf,
    out: Option<BufWriter<File>>,
    error: Option<RecordError>,
    /// Hash of the lines so far.
    pub hasher: TableHasher,
}

impl LineFile {
    /// Takes an earlier file of this name away, so that two runs never mix, and opens `<path>.partial`.
    pub fn create(path: PathBuf) -> Result<LineFile, RecordError> {
        match fs::remove_file(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(RecordError::new("replace", &path, e)),
            _ => {}
        }
        let mut partial = path.clone().into_os_string();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let file = File::create(&partial).map_err(|e| RecordError::new("create", &partial, e))?;
        Ok(LineFile { path, partial, out: Some(BufWriter::new(file)), error: None, hasher: TableHasher::new() })
    }

    /// Appends a line; an error is kept until [`LineFile::finish`].
    pub fn line(&mut self, text: &str) {
        self.hasher.text(text);
        let Some(out) = self.out.as_mut().filter(|_| self.error.is_none()) else { return };
        if let Err(e) = out.write_all(text.as_bytes()).and_then(|()| out.write_all(b"\n")) {
            self.error = Some(RecordError::new("write", &self.path, e));
        }
    }

    /// Gives the file its name.
    pub fn finish(mut self) -> Result<PathBuf, RecordError> {
        if let Some(e) = self.error.take() {
            return Err(e);
        }
        if let Some(mut out) = self.out.take() {
            let done = out.flush().and_then(|()| fs::rename(&self.partial, &self.path));
            if let Err(e) = done {
                let _ = fs::remove_file(&self.partial);
                return Err(RecordError::new("write", &self.path, e));
            }
        }
        Ok(self.path.clone())
    }
}

impl Drop for LineFile {
    fn drop(&mut self) {
        if self.out.take().is_some() {
            let _ = fs::remove_file(&self.partial);
        }
    }
}

/// The files of a replay.
pub struct Files {
    /// Flow completion times.
    pub fct: LineFile,
    /// PFC frames.
    pub pfc: LineFile,
    /// Queue histograms, if the configuration names a file for them.
    pub qlen: Option<LineFile>,
}

/// Makes the folder and opens the files in it, under the names of the configuration without its folders.
pub fn create(dir: &Path, case: &HpccCase, config: &Path) -> Result<Files, Problems> {
    let qlen = case.config.qlen_mon_file.as_ref().map(|name| base_name("QLEN_MON_FILE", name, case, config)).transpose()?;
    let fct = base_name("FCT_OUTPUT_FILE", &case.config.fct_output_file, case, config)?;
    let pfc = base_name("PFC_OUTPUT_FILE", &case.config.pfc_output_file, case, config)?;
    let names = [Some(fct), Some(pfc), qlen];
    if let Some(twice) = names.iter().flatten().find(|n| names.iter().flatten().filter(|m| m == n).count() > 1) {
        let what = format!("two outputs are named '{twice}'");
        return Err(Problem::new(what, "give them different names: both are written into one folder").into());
    }
    let open = || {
        fs::create_dir_all(dir).map_err(|e| RecordError::new("create", dir, e))?;
        let manifest = dir.join(xoff_record::manifest::MANIFEST);
        // It would describe the run before.
        if manifest.exists() {
            fs::remove_file(&manifest).map_err(|e| RecordError::new("replace", &manifest, e))?;
        }
        Ok(Files {
            fct: LineFile::create(dir.join(fct))?,
            pfc: LineFile::create(dir.join(pfc))?,
            qlen: qlen.map(|name| LineFile::create(dir.join(name))).transpose()?,
        })
    };
    open().map_err(|e: RecordError| unwritten(&e).into())
}

/// The name to write under; never that of an input, which may lie in the same folder.
fn base_name<'n>(key: &str, name: &'n str, case: &HpccCase, config: &Path) -> Result<&'n str, Problems> {
    let base = |n: &'n str| Path::new(n).file_name().and_then(|n| n.to_str());
    let Some(base) = base(name) else {
        return Err(Problem::new(format!("{key}: '{name}' is not the name of a file"), "expected a name such as fct.txt").into());
    };
    let c = &case.config;
    let inputs = [Some(config), Some(c.topology_file.as_ref()), Some(c.flow_file.as_ref()), c.trace_file.as_ref().map(Path::new)];
    let taken = inputs.iter().flatten().any(|i| i.file_name().is_some_and(|i| i == base));
    if taken || base == xoff_record::manifest::MANIFEST {
        return Err(Problem::new(
            format!("{key}: the name '{base}' is taken by another file of this run"),
            "expected a name such as fct.txt",
        )
        .into());
    }
    Ok(base)
}

/// Writes PFC frames as they arrive.
pub struct PfcRecorder {
    /// The file.
    pub file: LineFile,
    /// By node: is it a switch?
    pub switches: Vec<bool>,
}

impl Recorder for PfcRecorder {
    fn row(&mut self, row: &Row) {
        if let Row::Control { time, node, port, sent: false, kind, .. } = *row {
            let is_switch = self.switches[node as usize];
            let pfc = Pfc { time_ns: time.as_ns(), node, is_switch, interface: port + 1, pause: kind == "pause" };
            self.file.line(&pfc_line(&pfc));
        }
    }

    fn failed(&self) -> bool {
        self.file.error.is_some()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
