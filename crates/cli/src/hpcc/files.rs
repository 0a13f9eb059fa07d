//! `fct.txt`, `pfc.txt` and `qlen.txt`: text files that get their names when all of them are
//! complete.

use std::any::Any;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use xoff_net::topology::PortNumbers;
use xoff_record::{Folder, RecordError, ResultFile, TableHasher};
use xoff_run::hpcc::{Pfc, pfc_line};
use xoff_scenario::hpcc::HpccCase;
use xoff_scenario::{Problem, Problems};
use xoff_sim::{Recorder, Row};

use crate::answer::unwritten;

/// Lines on their way to a file. Dropped unfinished, it leaves nothing.
pub struct LineFile {
    folder: Folder,
    out: BufWriter<xoff_record::output::Draft>,
    error: Option<io::Error>,
    /// Hash of the lines so far.
    pub hasher: TableHasher,
}

impl LineFile {
    /// Opens a file of the folder.
    pub fn create(folder: &Folder, name: &str) -> Result<LineFile, RecordError> {
        let out = BufWriter::new(folder.draft(name)?);
        Ok(LineFile { folder: folder.clone(), out, error: None, hasher: TableHasher::new() })
    }

    /// Path of the final file.
    pub fn path(&self) -> PathBuf {
        self.out.get_ref().path().to_owned()
    }

    /// Appends a line; an error is kept until [`LineFile::finish`].
    pub fn line(&mut self, text: &str) {
        self.hasher.text(text);
        if self.error.is_none() {
            self.error =
                self.out.write_all(text.as_bytes()).and_then(|()| self.out.write_all(b"\n")).err();
        }
    }

    /// Completes it; it gets its name with the manifest.
    pub fn finish(self) -> Result<ResultFile, RecordError> {
        let path = self.path();
        let failed = |e| RecordError::new("write", &path, e);
        if let Some(e) = self.error {
            // The rest of the buffer is not written again.
            let _ = self.out.into_parts();
            return Err(failed(e));
        }
        let staged =
            self.folder.stage(self.out.into_inner().map_err(|e| failed(e.into_error()))?)?;
        Ok(ResultFile { name: staged.name, rows: self.hasher.rows(), bytes: staged.bytes })
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

/// Opens the files in the folder, under the names of the configuration without its folders.
pub fn create(folder: &Folder, case: &HpccCase, config: &Path) -> Result<Files, Problems> {
    let qlen = case
        .config
        .qlen_mon_file
        .as_ref()
        .map(|name| base_name("QLEN_MON_FILE", name, case, config))
        .transpose()?;
    let fct = base_name("FCT_OUTPUT_FILE", &case.config.fct_output_file, case, config)?;
    let pfc = base_name("PFC_OUTPUT_FILE", &case.config.pfc_output_file, case, config)?;
    let names = [Some(fct), Some(pfc), qlen];
    if let Some(twice) =
        names.iter().flatten().find(|n| names.iter().flatten().filter(|m| m == n).count() > 1)
    {
        let what = format!("two outputs are named '{twice}'");
        return Err(Problem::new(
            what,
            "give them different names: xoff writes both into one folder",
        )
        .into());
    }
    let open = || {
        Ok(Files {
            fct: LineFile::create(folder, fct)?,
            pfc: LineFile::create(folder, pfc)?,
            qlen: qlen.map(|name| LineFile::create(folder, name)).transpose()?,
        })
    };
    open().map_err(|e: RecordError| unwritten(&e).into())
}

/// The name to write under; never that of an input, which may be in the same folder.
fn base_name<'n>(
    key: &str,
    name: &'n str,
    case: &HpccCase,
    config: &Path,
) -> Result<&'n str, Problems> {
    let base = |n: &'n str| Path::new(n).file_name().and_then(|n| n.to_str());
    let Some(base) = base(name) else {
        return Err(Problem::new(
            format!("{key}: '{name}' is not the name of a file"),
            "expected a name such as fct.txt",
        )
        .into());
    };
    let c = &case.config;
    let inputs = [
        Some(config),
        Some(c.topology_file.as_ref()),
        Some(c.flow_file.as_ref()),
        c.trace_file.as_ref().map(Path::new),
    ];
    let taken = inputs.iter().flatten().any(|i| i.file_name().is_some_and(|i| i == base));
    if taken || base == xoff_record::manifest::MANIFEST {
        return Err(Problem::new(
            format!("{key}: another file of this run has the name '{base}'"),
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
    /// Numbers of the ports.
    pub ports: PortNumbers,
    /// By node: is it a switch?
    pub switches: Vec<bool>,
}

impl Recorder for PfcRecorder {
    fn row(&mut self, row: &Row) {
        if let Some(pfc) = Pfc::of(row, &self.ports, |n| self.switches[n.index()]) {
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
