//! A file that appears under its name when it is complete, or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::{Builder, NamedTempFile};

use crate::output::folder::{in_the_way, sync};
use crate::output::kind::named;
use crate::output::system::{carefully, lock, with_mode_of};
use crate::output::{Folder, OutputError};

/// Links in a row that are followed, as the kernel does.
const LINKS_MAX: usize = 40;
/// A draft that no process holds and that is older than this was left by a process that was killed.
const ABANDONED: Duration = Duration::from_secs(10);

/// A file being written. Dropped unfinished, it leaves nothing.
#[derive(Debug)]
pub struct Draft {
    /// As the caller names it.
    path: PathBuf,
    to: To,
    bytes: u64,
    /// The claim outlives the files written under it.
    held: Option<Folder>,
}

#[derive(Debug)]
enum To {
    /// A temporary file next to the final one, which links have been followed to.
    File(NamedTempFile, PathBuf),
    /// A device, a FIFO or a socket: written as it is.
    Through(File),
}

impl Draft {
    /// A draft of the file at `path`: a link is followed to its target, and a path that is no
    /// regular file is written through. A path that cannot be written is rejected here, not when
    /// the work is done.
    ///
    /// # Errors
    /// A file that cannot be made, and the reason of the operating system.
    pub fn to(path: &Path) -> Result<Draft, OutputError> {
        let failed = |e: &io::Error| OutputError::io("write", path, e);
        let refused = |what: String, hint: &str| {
            OutputError::new(path, format!("cannot write {}: {what}", path.display()), hint)
        };
        if path.as_os_str().is_empty() {
            return Err(refused("the name is empty".into(), "name a file"));
        }
        let target = follow(path).map_err(|e| failed(&e))?;
        let existing = match fs::metadata(&target) {
            Ok(m) => Some(m),
            // What is wrong above it is said below.
            Err(e)
                if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
            {
                None
            }
            Err(e) => return Err(failed(&e)),
        };
        if existing.as_ref().is_some_and(fs::Metadata::is_dir) {
            return Err(refused("it is a folder, not a file".into(), "name a file in it"));
        }
        if existing.as_ref().is_some_and(|m| !m.is_file()) {
            // Without O_CREAT: a device that vanishes must not become a file.
            let file = OpenOptions::new().write(true).open(&target).map_err(|e| failed(&e))?;
            return Ok(Draft {
                path: path.to_owned(),
                to: To::Through(file),
                bytes: 0,
                held: None,
            });
        }
        let Some(name) = target.file_name().filter(|_| !ends_with_slash(path)) else {
            return Err(refused("it is not the name of a file".into(), "name a file"));
        };
        let folder = parent(&target);
        match fs::metadata(folder) {
            Ok(m) if m.is_dir() => {}
            Ok(m) => {
                return Err(refused(
                    format!("{} is {}, not a folder", folder.display(), named(m.file_type())),
                    "",
                ));
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Err(refused(
                    format!("the folder {} does not exist", folder.display()),
                    "create the folder first",
                ));
            }
            Err(e) => return Err(failed(&e)),
        }
        // A file that may not be written to is not replaced either.
        if existing.is_some() {
            OpenOptions::new().write(true).open(&target).map_err(|e| failed(&e))?;
        }
        let prefix = format!(".{}.", name.to_string_lossy());
        sweep(folder, &prefix);
        let mut builder = Builder::new();
        builder.prefix(&prefix).suffix(".partial");
        let draft = with_mode_of(&mut builder, existing.as_ref()).tempfile_in(folder);
        let draft = draft.map_err(|e| failed(&e))?;
        // Held as long as it is written, so that it is not taken for abandoned. Without locks in a
        // file system, age decides.
        let _ = lock(draft.as_file());
        Ok(Draft { path: path.to_owned(), to: To::File(draft, target), bytes: 0, held: None })
    }

    /// A draft of the file `name` in the folder at `at`, named `name.partial`: for who holds the
    /// folder, so that no other process has that name. Messages show it at `path`.
    pub(crate) fn beside(at: &Path, path: &Path) -> Result<Draft, OutputError> {
        let name = format!("{}.partial", at.file_name().unwrap_or_default().to_string_lossy());
        let mut builder = Builder::new();
        builder.prefix(&name).rand_bytes(0);
        let draft = with_mode_of(&mut builder, None).tempfile_in(parent(at));
        let draft = draft.map_err(|e| match e.kind() {
            io::ErrorKind::AlreadyExists => {
                in_the_way(&path.with_file_name(name), "xoff did not write it")
            }
            _ => OutputError::io("write", path, &e),
        })?;
        Ok(Draft {
            path: path.to_owned(),
            to: To::File(draft, at.to_owned()),
            bytes: 0,
            held: None,
        })
    }

    pub(crate) fn held_by(self, folder: Folder) -> Draft {
        Draft { held: Some(folder), ..self }
    }

    /// The file, as the caller named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Gives the file its name. The system has it on disk, or the error is returned.
    ///
    /// # Errors
    /// A disk that is full, and any other reason of the operating system.
    pub fn finish(self) -> Result<(), OutputError> {
        let Draft { path, to, held: _held, .. } = self;
        let failed = |e: &io::Error| OutputError::io("write", &path, e);
        match to {
            To::Through(mut file) => file.flush().map_err(|e| failed(&e)),
            To::File(mut draft, target) => {
                draft
                    .flush()
                    .and_then(|()| draft.as_file().sync_all())
                    .and_then(|()| draft.persist(&target).map(drop).map_err(|e| e.error))
                    .map_err(|e| failed(&e))?;
                sync(parent(&target), &path)
            }
        }
    }

    /// Writes this and finishes.
    ///
    /// # Errors
    /// A disk that is full, and any other reason of the operating system.
    pub fn finish_with(mut self, bytes: &[u8]) -> Result<(), OutputError> {
        self.write_all(bytes).map_err(|e| OutputError::io("write", &self.path, &e))?;
        self.finish()
    }

    /// The closed draft and where it belongs; only for drafts next to their file.
    pub(crate) fn close(self) -> (tempfile::TempPath, PathBuf) {
        match self.to {
            To::File(draft, target) => (draft.into_temp_path(), target),
            To::Through(_) => unreachable!("a draft beside its file is a file"),
        }
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &mut self.to {
            To::File(file, _) => file.write(bytes)?,
            To::Through(file) => file.write(bytes)?,
        };
        self.bytes += written as u64;
        Ok(written)
    }
    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            To::File(file, _) => file.flush(),
            To::Through(file) => file.flush(),
        }
    }
}

/// Writes a whole file, or leaves what was there.
///
/// # Errors
/// A file that cannot be written, and the reason of the operating system.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), OutputError> {
    Draft::to(path)?.finish_with(bytes)
}

/// Refuses an output that is one of the inputs, by whatever name.
///
/// # Errors
/// The output is one of the inputs.
pub fn refuse_inputs<'p>(
    output: &Path,
    inputs: impl IntoIterator<Item = &'p Path>,
) -> Result<(), OutputError> {
    let Ok(real) = output.canonicalize() else { return Ok(()) };
    match inputs.into_iter().find(|i| i.canonicalize().is_ok_and(|i| i == real && i.is_file())) {
        Some(_) => {
            let what = format!("cannot write {}: this command reads it", output.display());
            Err(OutputError::new(output, what, "name another file"))
        }
        None => Ok(()),
    }
}

/// The folder that a file is in.
pub(crate) fn parent(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn ends_with_slash(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// Target of a chain of links, which need not exist.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut at = path.to_owned();
    for _ in 0..LINKS_MAX {
        // What the kernel makes of a name of an open file, such as /dev/stdout, is no path that
        // could be followed by hand.
        if !fs::symlink_metadata(&at).is_ok_and(|m| m.is_symlink())
            || fs::metadata(&at).is_ok_and(|m| !m.is_file())
        {
            return Ok(at);
        }
        at = parent(&at).join(fs::read_link(&at)?);
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Takes drafts away that a killed process left.
fn sweep(folder: &Path, prefix: &str) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let ours = name.to_str().and_then(|n| n.strip_prefix(prefix)?.strip_suffix(".partial"));
        // Six letters and digits are what `tempfile` puts there.
        if !ours.is_some_and(|middle| {
            middle.len() == 6 && middle.bytes().all(|b| b.is_ascii_alphanumeric())
        }) {
            continue;
        }
        let open = carefully(OpenOptions::new().write(true)).open(entry.path());
        let Ok(file) = open else { continue };
        let old = |m: fs::Metadata| {
            m.modified()
                .ok()
                .and_then(|t| SystemTime::now().duration_since(t).ok())
                .is_some_and(|a| a > ABANDONED)
        };
        if file.metadata().is_ok_and(|m| m.is_file() && old(m))
            && lock(&file).is_ok_and(|ours| ours)
        {
            // Best effort: it is harmless.
            let _ = fs::remove_file(entry.path());
        }
    }
}
