//! A folder of results that one command owns and one process writes.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tempfile::TempPath;

use crate::output::draft::parent;
use crate::output::kind::named;
use crate::output::record::{self, Locked, Owner, RECORD, Record};
use crate::output::stamp::Stamp;
use crate::output::system::{self, same, same_file};
use crate::output::{Draft, OutputError};

/// Names in a message.
const NAMED_MAX: usize = 3;
/// Files that versions without a record wrote next to their manifest.
const BEFORE_RECORDS: [&str; 4] = ["manifest.json", "fct.txt", "pfc.txt", "qlen.txt"];

/// A claimed folder, or one below it; the claim ends with the last handle, or with the process.
#[derive(Clone, Debug)]
pub struct Folder {
    claim: Arc<Claim>,
    /// Below the claimed folder: empty, or `name/`.
    prefix: String,
}

/// A file that is complete and waits for [`Folder::commit`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staged {
    /// Path.
    pub path: PathBuf,
    /// Name in the folder.
    pub name: String,
    /// Length [bytes].
    pub bytes: u64,
}

#[derive(Debug)]
struct Claim {
    /// As the caller names it.
    root: PathBuf,
    /// The folder itself, which a rename of it or of one above does not change.
    handle: File,
    /// A name of the handle, by which everything is written.
    at: PathBuf,
    /// Files that were changed may be replaced.
    force: bool,
    /// The folder was made for this claim.
    made: bool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    record: Record,
    /// Names of this process's own, as in the record.
    written: BTreeSet<String>,
    /// Names among these that others write.
    elsewhere: BTreeSet<String>,
    staged: Vec<(String, TempPath, PathBuf)>,
    /// The record was empty before.
    fresh: bool,
}

impl Folder {
    /// Claims the folder at `path` for `command`; makes it if it does not exist. Refused: what is
    /// no folder, what another process is writing, what holds files that the same command did not
    /// write. With `force` the last is accepted: results of another command are replaced, files
    /// that xoff did not write are kept.
    ///
    /// # Errors
    /// A folder that is rejected, and why; what would help is in the hint.
    pub fn claim(path: &Path, command: &str, force: bool) -> Result<Folder, OutputError> {
        let made = ready(path)?;
        // Nothing is put into a user's folder that is rejected anyway.
        if !force && !path.join(RECORD).exists() {
            refuse_unknown(path, command, &BTreeSet::new())?;
        }
        let handle = File::open(path).map_err(|e| OutputError::io("read", path, &e))?;
        let at = name_of(&handle).unwrap_or_else(|| path.to_owned());
        let record = match Record::open(&at, path)? {
            Locked::Ours(record) => record,
            Locked::Held(owner) => return Err(held(path, owner)),
        };
        let fresh = record.before.is_none() && record.names.is_empty();
        let state = State {
            record,
            written: BTreeSet::new(),
            elsewhere: BTreeSet::new(),
            staged: Vec::new(),
            fresh,
        };
        let claim =
            Claim { root: path.to_owned(), handle, at, force, made, state: Mutex::new(state) };
        let folder = Folder { claim: Arc::new(claim), prefix: String::new() };
        folder.take_over(command, force)?;
        Ok(folder)
    }

    fn take_over(&self, command: &str, force: bool) -> Result<(), OutputError> {
        let (root, at, mut state) = (&self.claim.root, &self.claim.at, self.claim.state());
        let record = &mut state.record;
        if !force {
            let theirs = record.before.as_ref().filter(|b| {
                b.command != command && record.names.keys().any(|n| at.join(n).exists())
            });
            if let Some(before) = theirs {
                let what =
                    format!("{} contains results of 'xoff {}'", root.display(), before.command);
                return Err(OutputError::new(
                    root,
                    what,
                    "name another folder, or replace the results with --force",
                ));
            }
            refuse_unknown(root, command, &record.names.keys().cloned().collect())?;
            refuse_changed(root, &changed(record, at))?;
        }
        let failed = |e: io::Error| OutputError::io("write", &root.join(RECORD), &e);
        record
            .own(&Owner { command: command.to_owned(), process: system::process() })
            .map_err(failed)?;
        if state.fresh {
            for name in before_records(at) {
                state.record.add(&name).map_err(failed)?;
            }
        }
        for name in state.record.names.keys() {
            // What a process that was killed has left.
            let _ = fs::remove_file(at.join(format!("{name}.partial")));
        }
        Ok(())
    }

    /// Whether the folder was claimed with permission to replace every file of xoff in it.
    pub fn may_replace_all(&self) -> bool {
        self.claim.force
    }

    /// Path of the folder.
    pub fn path(&self) -> PathBuf {
        self.claim.root.join(&self.prefix)
    }

    /// Files here that are not as xoff left them; with `force` they are replaced where a result has
    /// their name, and kept elsewhere.
    pub fn changed(&self) -> Vec<String> {
        changed(&self.claim.state().record, &self.claim.at)
    }

    /// Refuses inputs that are results in this folder, by whatever name: they would be replaced.
    ///
    /// # Errors
    /// An input is a result in this folder.
    pub fn refuse_inputs<'p>(
        &self,
        inputs: impl IntoIterator<Item = &'p Path>,
    ) -> Result<(), OutputError> {
        let state = self.claim.state();
        for input in inputs {
            let mut named = state.record.names.keys().filter(|n| !n.ends_with('/'));
            if let Some(name) = named.find(|n| same_file(&self.claim.at.join(n), input)) {
                let root = &self.claim.root;
                let what =
                    format!("cannot write {}: this command reads it", root.join(name).display());
                return Err(OutputError::new(root, what, "name another folder"));
            }
        }
        Ok(())
    }

    /// Path at which the files are written.
    fn at(&self) -> PathBuf {
        self.claim.at.join(&self.prefix)
    }

    /// A folder below this one, under the same claim.
    ///
    /// # Errors
    /// A folder that cannot be made.
    pub fn sub(&self, name: &str) -> Result<Folder, OutputError> {
        let sub = Folder { claim: self.claim.clone(), prefix: format!("{}{name}/", self.prefix) };
        let path = sub.path();
        self.free(name, true)?;
        self.note(&(name.to_owned() + "/"), Record::add)?;
        fs::create_dir_all(sub.at()).map_err(|e| OutputError::io("create", &path, &e))?;
        Ok(sub)
    }

    /// Notes that this command writes `name` by itself, such as the output of a program; ends in
    /// `/` for a folder whose content is not recorded.
    ///
    /// # Errors
    /// A record that cannot be written.
    pub fn own(&self, name: &str) -> Result<PathBuf, OutputError> {
        self.free(name.trim_end_matches('/'), name.ends_with('/'))?;
        self.note(name, Record::add)?;
        self.claim.state().elsewhere.insert(format!("{}{name}", self.prefix));
        Ok(self.path().join(name))
    }

    /// The file at `path` is in this folder, by any of its names.
    pub fn is_parent_of(&self, path: &Path) -> bool {
        parent(path)
            .canonicalize()
            .is_ok_and(|at| self.path().canonicalize().is_ok_and(|own| own == at))
    }

    /// Notes a file that is in this folder by any of its names; others are none of its business.
    ///
    /// # Errors
    /// A record that cannot be written.
    pub fn own_if_inside(&self, file: &Path) -> Result<(), OutputError> {
        match file.file_name().and_then(|n| n.to_str()).filter(|_| self.is_parent_of(file)) {
            Some(name) => self.own(name).map(drop),
            None => Ok(()),
        }
    }

    /// A file of this folder, to be written, staged and committed.
    ///
    /// # Errors
    /// A file that cannot be made, and the reason of the operating system.
    pub fn draft(&self, name: &str) -> Result<Draft, OutputError> {
        let path = self.path().join(name);
        self.claim.still_there()?;
        self.free(name, false)?;
        if self.claim.state().elsewhere.contains(&format!("{}{name}", self.prefix)) {
            return Err(in_the_way(&path, "this command writes another file there"));
        }
        self.note(name, Record::expect)?;
        Ok(Draft::beside(&self.at().join(name), &path)?.held_by(self.clone()))
    }

    /// Keeps a draft that is complete until the commit.
    ///
    /// # Errors
    /// A disk that is full, and any other reason of the operating system.
    pub fn stage(&self, mut draft: Draft) -> Result<Staged, OutputError> {
        draft.flush().map_err(|e| OutputError::io("write", draft.path(), &e))?;
        let (path, bytes) = (draft.path().to_owned(), draft.bytes());
        let name = path.strip_prefix(self.path()).unwrap_or(&path).to_string_lossy().into_owned();
        let (temporary, target) = draft.close();
        self.claim.state().staged.push((format!("{}{name}", self.prefix), temporary, target));
        Ok(Staged { path, name, bytes })
    }

    /// Stages a whole file.
    ///
    /// # Errors
    /// A disk that is full, and any other reason of the operating system.
    pub fn stage_bytes(&self, name: &str, bytes: &[u8]) -> Result<Staged, OutputError> {
        let mut draft = self.draft(name)?;
        draft
            .write_all(bytes)
            .map_err(|e| OutputError::io("write", &self.path().join(name), &e))?;
        self.stage(draft)
    }

    /// Puts everything in place that was staged here, takes files of earlier runs away that were
    /// not written again, and writes `last`, whose presence says that all the others are complete:
    /// it is the first to go and the last to come. All of it is on the disk when this returns, in
    /// this order: also after a power failure `last` is only there with the others.
    ///
    /// # Errors
    /// A file that cannot be put in its place: the results of before are then gone or still there,
    /// never mixed with these.
    pub fn commit(&self, last: &str, bytes: &[u8]) -> Result<PathBuf, OutputError> {
        let (path, at) = (self.path().join(last), self.at().join(last));
        self.stage_bytes(last, bytes)?;
        self.claim.still_there()?;
        let mut state = self.claim.state();
        let own: Vec<_> =
            state.staged.extract_if(.., |(name, ..)| name.starts_with(&self.prefix)).collect();
        for (name, temporary, _) in &own {
            self.claim.unchanged(&state.record, name)?;
            sync(temporary, &self.claim.root.join(name))?;
        }
        remove(&at)?;
        let (last, others): (Vec<_>, Vec<_>) =
            own.into_iter().partition(|(.., target)| *target == at);
        let folders: BTreeSet<PathBuf> =
            others.iter().map(|(.., target)| parent(target).to_owned()).collect();
        others.into_iter().try_for_each(|s| self.claim.place(&mut state.record, s))?;
        self.take_stale(&mut state)?;
        state.record.sync().map_err(|e| OutputError::io("write", &self.path().join(RECORD), &e))?;
        folders.iter().try_for_each(|folder| sync(folder, &self.path()))?;
        self.claim.still_there_with(&state.record)?;
        last.into_iter().try_for_each(|s| self.claim.place(&mut state.record, s))?;
        sync(parent(&at), &self.path())?;
        Ok(path)
    }

    /// Takes files of earlier runs away that were not written again, where no file says that all is
    /// there.
    ///
    /// # Errors
    /// A file that cannot be removed.
    pub fn settle(&self) -> Result<(), OutputError> {
        self.take_stale(&mut self.claim.state())
    }

    /// Writes a whole file at once.
    ///
    /// # Errors
    /// A file that cannot be written, and the reason of the operating system.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, OutputError> {
        let staged = self.stage_bytes(name, bytes)?;
        let name = format!("{}{name}", self.prefix);
        self.claim.still_there()?;
        let mut state = self.claim.state();
        self.claim.unchanged(&state.record, &name)?;
        let all: Vec<_> = state.staged.extract_if(.., |(n, ..)| *n == name).collect();
        all.into_iter().try_for_each(|s| self.claim.place(&mut state.record, s))?;
        Ok(staged.path)
    }

    fn note(
        &self,
        name: &str,
        how: impl FnOnce(&mut Record, &str) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        let name = format!("{}{name}", self.prefix);
        let mut state = self.claim.state();
        how(&mut state.record, &name)
            .map_err(|e| OutputError::io("write", &self.claim.root.join(RECORD), &e))?;
        state.written.insert(name);
        Ok(())
    }

    /// Nothing is at this name that xoff did not write.
    fn free(&self, name: &str, folder: bool) -> Result<(), OutputError> {
        let path = self.path().join(name);
        let Ok(there) = fs::symlink_metadata(self.at().join(name)) else { return Ok(()) };
        let full = format!("{}{name}{}", self.prefix, if folder { "/" } else { "" });
        let state = self.claim.state();
        let ours = state.record.names.contains_key(&full);
        match (if folder { there.is_dir() } else { there.is_file() }, ours) {
            (true, true) => self.claim.unchanged(&state.record, &full),
            (true, false) => Err(in_the_way(&path, "xoff did not write it")),
            (false, _) => Err(in_the_way(&path, &format!("it is {}", named(there.file_type())))),
        }
    }

    fn take_stale(&self, state: &mut State) -> Result<(), OutputError> {
        let stale = state
            .record
            .names
            .keys()
            .filter(|n| n.starts_with(&self.prefix) && !state.written.contains(*n));
        // Folders after what is in them.
        for name in stale.rev() {
            let path = self.claim.at.join(name);
            match name.strip_suffix('/') {
                // It has become the user's.
                None if state.record.changed(name, &path) => {}
                None => remove(&path)?,
                Some(_) => take_claimed(&path),
            }
        }
        Ok(())
    }
}

impl Claim {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn still_there(&self) -> Result<(), OutputError> {
        self.still_there_with(&self.state().record)
    }

    /// Refuses to go on when the folder of that name is another one by now, or the record was
    /// taken, and with it the lock.
    fn still_there_with(&self, record: &Record) -> Result<(), OutputError> {
        let here = self
            .handle
            .metadata()
            .is_ok_and(|own| fs::metadata(&self.root).is_ok_and(|there| same(&own, &there)));
        let what = if !here {
            format!(
                "{} was moved or replaced while this command wrote into it",
                self.root.display()
            )
        } else if !record.is_at(&self.at.join(RECORD)) {
            format!(
                "{} was removed or replaced while this command wrote into its folder",
                self.root.join(RECORD).display()
            )
        } else {
            return Ok(());
        };
        Err(OutputError::new(
            &self.root,
            what,
            "xoff discarded the results; run the command again, and do not change the folder while it \
                                                runs",
        ))
    }

    /// Refuses to replace a file that is not as xoff left it.
    fn unchanged(&self, record: &Record, name: &str) -> Result<(), OutputError> {
        let names = if !self.force && record.changed(name, &self.at.join(name)) {
            vec![name.to_owned()]
        } else {
            Vec::new()
        };
        refuse_changed(&self.root, &names)
    }

    /// Gives a file its name. What it holds is noted before: a process may be killed in between.
    fn place(
        &self,
        record: &mut Record,
        (name, temporary, target): (String, TempPath, PathBuf),
    ) -> Result<(), OutputError> {
        let failed = |e: &io::Error| OutputError::io("write", &self.root.join(&name), e);
        let stamp = Stamp::of(&temporary).map_err(|e| failed(&e))?;
        record.stamp(&name, stamp).map_err(|e| failed(&e))?;
        temporary.persist(&target).map_err(|e| failed(&e.error))
    }
}

impl Drop for Claim {
    /// A claim that came to nothing leaves nothing.
    fn drop(&mut self) {
        let here = self.still_there().is_ok();
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.staged.clear();
        let record = self.at.join(RECORD);
        if state.fresh
            && state.record.is_at(&record)
            && !state.record.names.keys().any(|n| self.at.join(n).exists())
        {
            let _ = fs::remove_file(record);
            if self.made && here {
                let _ = fs::remove_dir(&self.root);
            }
        }
    }
}

/// Names of files in a folder of results that are not as xoff left them.
pub fn changed_in(folder: &Path) -> Vec<String> {
    record::changed(folder)
}

/// The command that owns a folder; `None`: there is no record.
pub fn owner(folder: &Path) -> Option<String> {
    Some(record::look(folder)?.0?.command)
}

/// Obstacle to reading a folder's results, if a record names one; `None`: there is no record.
pub fn holder(folder: &Path) -> Option<String> {
    let (owner, held) = record::look(folder)?;
    let command = owner.as_ref().map_or("xoff".into(), |o| format!("xoff {}", o.command));
    Some(match (held, owner) {
        (true, Some(o)) => format!("process {} ('{command}') is still writing it", o.process),
        (true, None) => "a process is still writing it".into(),
        (false, _) => format!("'{command}' did not finish in this folder"),
    })
}

fn held(path: &Path, owner: Option<Owner>) -> OutputError {
    let by = owner.map_or("another process".into(), |o| {
        format!("process {} ('xoff {}')", o.process, o.command)
    });
    OutputError::new(
        path,
        format!("{} is in use by {by}", path.display()),
        "wait until the process ends, or name another folder",
    )
}

/// A name of an open folder that leads to it wherever it is moved; `None`: the system has none.
fn name_of(handle: &File) -> Option<PathBuf> {
    let name = PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd()));
    let (there, own) = (fs::metadata(&name).ok()?, handle.metadata().ok()?);
    same(&there, &own).then_some(name)
}

/// Names of files that are not as xoff left them.
fn changed(record: &Record, at: &Path) -> Vec<String> {
    record.names.keys().filter(|n| record.changed(n, &at.join(n))).cloned().collect()
}

fn refuse_changed(root: &Path, names: &[String]) -> Result<(), OutputError> {
    if names.is_empty() {
        return Ok(());
    }
    let shown: Vec<String> = names.iter().map(|n| format!("'{n}'")).collect();
    let what = format!(
        "{} contains files that changed after xoff wrote them: {}",
        root.display(),
        shown.join(", ")
    );
    Err(OutputError::new(
        root,
        what,
        "move them away, name another folder, or replace them with --force",
    ))
}

pub(crate) fn in_the_way(path: &Path, why: &str) -> OutputError {
    OutputError::new(
        path,
        format!("{} is in the way: {why}", path.display()),
        "move it away, or name another folder",
    )
}

/// Makes the folder if it does not exist: true. Refuses what is none.
fn ready(path: &Path) -> Result<bool, OutputError> {
    let text = path.display();
    let refuse = |what: String| {
        Err(OutputError::new(path, what, "name an empty or new folder, such as out/ring"))
    };
    if path.as_os_str().is_empty() {
        return refuse("the name of the folder is empty".into());
    }
    if path.as_os_str() == "-" {
        return refuse(
            "'-' is not a folder, and standard output cannot contain several files".into(),
        );
    }
    match fs::metadata(path) {
        Ok(m) if m.is_dir() => return Ok(false),
        Ok(m) => return refuse(format!("{text} is {}, not a folder", named(m.file_type()))),
        Err(_) => {}
    }
    // With a slash at the end a link is followed before it is examined.
    let trimmed = PathBuf::from(path.to_string_lossy().trim_end_matches('/'));
    if let Ok(to) = fs::read_link(&trimmed) {
        return refuse(format!(
            "{text} is a symbolic link to {}, which does not exist or cannot be reached",
            to.display()
        ));
    }
    match fs::create_dir_all(path) {
        Ok(()) => Ok(true),
        Err(e) => match trimmed
            .ancestors()
            .filter(|a| !a.as_os_str().is_empty())
            .find_map(|a| Some((a, fs::metadata(a).ok()?)))
        {
            Some((a, m)) if !m.is_dir() && a == trimmed => {
                refuse(format!("{text} is {}, not a folder", named(m.file_type())))
            }
            Some((a, m)) if !m.is_dir() => refuse(format!(
                "cannot create the folder {text}: {} is {}, not a folder",
                a.display(),
                named(m.file_type())
            )),
            _ => Err(OutputError::io("create the folder", path, &e)),
        },
    }
}

/// Refuses a folder with anything but these names, their drafts, and the record.
fn refuse_unknown(path: &Path, command: &str, names: &BTreeSet<String>) -> Result<(), OutputError> {
    let entries = fs::read_dir(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let entries = entries.map_err(|e| OutputError::io("read", path, &e))?;
    let tops: BTreeSet<&str> =
        names.iter().map(|n| n.split('/').next().unwrap_or_default()).collect();
    let ours = |name: &str| {
        name == RECORD
            || tops.contains(name)
            || name.strip_suffix(".partial").is_some_and(|n| tops.contains(n))
    };
    let name = |e: &fs::DirEntry| e.file_name().to_string_lossy().into_owned();
    let mut unknown: Vec<String> = entries.iter().map(name).filter(|n| !ours(n)).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    unknown.sort();
    let more = unknown.len().saturating_sub(NAMED_MAX);
    let shown: Vec<String> = unknown.iter().take(NAMED_MAX).map(|n| format!("'{n}'")).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let what = format!(
        "{} contains files that 'xoff {command}' did not write: {}{more}",
        path.display(),
        shown.join(", ")
    );
    Err(OutputError::new(
        path,
        what,
        "name an empty or new folder, or use --force, which keeps files that are not xoff's",
    ))
}

/// Results of a version without records, recognised by their manifest.
fn before_records(root: &Path) -> Vec<String> {
    let manifest = fs::read(root.join(BEFORE_RECORDS[0]))
        .ok()
        .and_then(|text| serde_json::from_slice::<serde_json::Value>(&text).ok());
    if !manifest.is_some_and(|m| m["xoff_version"].is_string() && m["result_hash"].is_string()) {
        return Vec::new();
    }
    let names = fs::read_dir(root)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|e| e.file_name().into_string().ok());
    names.filter(|n| BEFORE_RECORDS.contains(&n.as_str()) || n.ends_with(".parquet")).collect()
}

/// Brings a file, or the names in a folder, to the disk; messages show it as `path`.
pub(crate) fn sync(at: &Path, path: &Path) -> Result<(), OutputError> {
    match File::open(at).and_then(|f| f.sync_all()) {
        // A file system that cannot do it for this has nothing to bring.
        Err(e) if e.kind() != io::ErrorKind::InvalidInput => {
            Err(OutputError::io("write", path, &e))
        }
        _ => Ok(()),
    }
}

/// Takes a file away if it is there.
fn remove(path: &Path) -> Result<(), OutputError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(OutputError::io("replace", path, &e)),
        _ => Ok(()),
    }
}

/// Takes away what the record of a folder below lists, and the folder if nothing else is in it.
fn take_claimed(path: &Path) {
    if path.join(RECORD).is_file() {
        let Ok(Locked::Ours(record)) = Record::open(path, path) else { return };
        for name in record.names.keys().rev().filter(|n| !record.changed(n, &path.join(n))) {
            let _ = if name.ends_with('/') {
                fs::remove_dir(path.join(name))
            } else {
                fs::remove_file(path.join(name))
            };
        }
        let _ = fs::remove_file(path.join(RECORD));
    }
    // Not empty: something in it is not ours.
    let _ = fs::remove_dir(path);
}
