//! The one way in which a file comes in: bounded in size, and never from a device.
//!
//! ```text
//!   regular file, pipe, socket --at most `max` bytes--> text
//!   folder, disk, /dev/zero, a terminal              -> refused by name
//!   pipe without a writer                            -> refused after `WRITER_WAIT`
//! ```

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::{File, FileType, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

use xoff_units::Bytes;

use crate::Problem;

/// Largest text of another format: a list of ten million flows has some 400 MB.
pub const TEXT_MAX: Bytes = Bytes(1 << 30);
/// Largest TOML document: parsed, with the place of every value, it takes some hundred times its
/// size. Half a million lines fit.
pub const DOCUMENT_MAX: Bytes = Bytes(16 << 20);
/// Time limit for opening the other end of a named pipe.
const WRITER_WAIT: Duration = Duration::from_secs(10);

/// The bytes of `path`, at most `max`.
///
/// # Errors
/// It cannot be read, is a folder or a device, holds more than `max`, or is a pipe without a
/// writer.
pub fn bytes(path: &Path, max: Bytes) -> Result<Vec<u8>, Problem> {
    let refuse = |hint: String| unread(path, hint);
    let meta = is_readable(path)?;
    note(path);
    let too_large = |size: String| {
        let what = format!("'{}' has {size}; xoff reads at most {max}", path.display());
        Problem::new(
            what,
            "check the name, split the file, or describe repetition by a pattern ([[workload]], a builder)",
        )
    };
    if meta.is_file() && meta.len() > max.0 {
        return Err(too_large(Bytes(meta.len()).to_string()));
    }
    let file = if meta.is_file() { File::open(path) } else { opened_in_time(path) }
        .map_err(|e| refuse(why(&e)))?;
    let mut bytes = Vec::new();
    // One byte more shows that there is more: files grow, and pipes do not show how much they hold.
    file.take(max.0 + 1).read_to_end(&mut bytes).map_err(|e| refuse(why(&e)))?;
    if bytes.len() as u64 > max.0 { Err(too_large("more".into())) } else { Ok(bytes) }
}

/// Opens a file or a pipe that is read piece by piece, however long it is.
///
/// # Errors
/// It cannot be read, is a folder or a device, or is a pipe without a writer.
pub fn open(path: &Path) -> Result<File, Problem> {
    let meta = is_readable(path)?;
    note(path);
    if meta.is_file() { File::open(path) } else { opened_in_time(path) }
        .map_err(|e| unread(path, why(&e)))
}

/// Files that this process has read. An output must not replace one, whether the command line or
/// the scenario named it.
static READ: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

thread_local! {
    /// Files that this thread reads while [`recorded`] asks.
    static RECORDED: RefCell<Option<BTreeSet<PathBuf>>> = const { RefCell::new(None) };
}

/// Runs `work`. Returns its result, and every file that it read on this thread.
pub fn recorded<T>(work: impl FnOnce() -> T) -> (T, BTreeSet<PathBuf>) {
    let before = RECORDED.replace(Some(BTreeSet::new()));
    let result = work();
    (result, RECORDED.replace(before).unwrap_or_default())
}

fn note(path: &Path) {
    RECORDED.with_borrow_mut(|r| r.as_mut().map(|files| files.insert(path.to_owned())));
    READ.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
}

/// Every file that was read so far.
pub fn files() -> BTreeSet<PathBuf> {
    READ.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

fn unread(path: &Path, hint: String) -> Problem {
    Problem::new(format!("cannot read '{}'", path.display()), hint)
}

/// Metadata of a file that can be read to its end: no folder and no device.
///
/// # Errors
/// There is no such file, or it is neither a regular file nor a pipe.
pub fn is_readable(path: &Path) -> Result<Metadata, Problem> {
    let meta = std::fs::metadata(path).map_err(|e| unread(path, why(&e)))?;
    match unreadable(meta.file_type()) {
        Some(what) => Err(unread(path, what.into())),
        None => Ok(meta),
    }
}

/// Reason why files of this type are not read; `None`: they are.
fn unreadable(kind: FileType) -> Option<&'static str> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_char_device() || kind.is_block_device() {
            return Some("this is a device; expected a file or a pipe");
        }
    }
    kind.is_dir().then_some("this is a folder; expected a file")
}

/// Opens a pipe. The system waits for a writer without an end, so another thread does the waiting;
/// if none comes it is left behind, and the process ends with the refusal.
fn opened_in_time(path: &Path) -> io::Result<File> {
    let (sender, opened) = mpsc::channel();
    let name = path.to_owned();
    std::thread::spawn(move || sender.send(File::open(name)));
    opened.recv_timeout(WRITER_WAIT).unwrap_or_else(|_| {
        let what = format!(
            "no process wrote into this pipe for {} s; start the writer first, or give a file",
            WRITER_WAIT.as_secs()
        );
        Err(io::Error::new(io::ErrorKind::TimedOut, what))
    })
}

/// A clause for people.
fn why(e: &io::Error) -> String {
    match e.kind() {
        io::ErrorKind::NotFound => "no such file; check the path".into(),
        io::ErrorKind::IsADirectory => "this is a folder; expected a file".into(),
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        _ => e.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(path: &str, max: u64) -> String {
        bytes(Path::new(path), Bytes(max)).unwrap_err().line()
    }

    #[test]
    fn what_is_too_large_or_no_file_is_refused() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let size = std::fs::metadata(file).unwrap().len();
        assert_eq!(bytes(Path::new(file), Bytes(size)).unwrap().len() as u64, size);
        assert!(refusal(file, size - 1).contains("at most"), "{}", refusal(file, size - 1));
        assert!(refusal(env!("CARGO_MANIFEST_DIR"), 10).contains("this is a folder"));
        assert!(refusal("no/such/file", 10).contains("no such file"));
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_refused_and_pipes_are_bounded() {
        for device in ["/dev/zero", "/dev/null"] {
            assert!(refusal(device, 10).contains("this is a device"), "{device}");
        }
        let (reader, mut writer) = io::pipe().unwrap();
        let held = std::os::fd::AsRawFd::as_raw_fd(&reader);
        let path = format!("/proc/self/fd/{held}");
        let writes = std::thread::spawn(move || io::Write::write_all(&mut writer, b"0123456789"));
        assert_eq!(bytes(Path::new(&path), Bytes(10)).unwrap(), b"0123456789");
        writes.join().unwrap().unwrap();
        let (reader, mut writer) = io::pipe().unwrap();
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
        let writes = std::thread::spawn(move || io::Write::write_all(&mut writer, b"0123456789"));
        assert!(refusal(&path, 9).contains("at most"));
        writes.join().unwrap().unwrap();
    }
}
