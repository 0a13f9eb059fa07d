//! Files beyond std: their identity, reads and writes at a position, locks.
//!
//! WebAssembly has one process with files of its own: nothing changes behind its back, and every
//! lock is free.

#[cfg(not(target_family = "wasm"))]
mod files {
    use std::fs::{self, File, FileType, Metadata, OpenOptions, Permissions};
    use std::io;
    use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
    use std::path::Path;

    use rustix::fs::{FlockOperation, OFlags, flock};
    use rustix::io::Errno;
    use tempfile::Builder;

    pub fn same(a: &Metadata, b: &Metadata) -> bool {
        (a.dev(), a.ino()) == (b.dev(), b.ino())
    }

    pub fn same_file(a: &Path, b: &Path) -> bool {
        let about = |path| fs::metadata(path).ok().filter(Metadata::is_file);
        about(a).is_some_and(|a| about(b).is_some_and(|b| same(&a, &b)))
    }

    pub fn carefully(options: &mut OpenOptions) -> &mut OpenOptions {
        options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32)
    }

    pub fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
        file.read_at(bytes, at)
    }

    pub fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
        file.read_exact_at(bytes, at)
    }

    pub fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        file.write_all_at(bytes, at)
    }

    pub fn lock(file: &File) -> io::Result<bool> {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    pub fn process() -> u32 {
        std::process::id()
    }

    pub fn is_locked(file: &File) -> bool {
        flock(file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK)
    }

    pub fn with_mode_of<'b, 'p, 's>(
        builder: &'b mut Builder<'p, 's>,
        existing: Option<&Metadata>,
    ) -> &'b mut Builder<'p, 's> {
        let mode = existing.map_or(0o666, |m| m.permissions().mode() & 0o7777);
        builder.permissions(Permissions::from_mode(mode))
    }

    pub fn special(t: FileType) -> &'static str {
        match t {
            t if t.is_fifo() => "a FIFO",
            t if t.is_socket() => "a socket",
            _ => "a device",
        }
    }
}

#[cfg(target_family = "wasm")]
mod files {
    use std::fs::{File, FileType, Metadata, OpenOptions};
    use std::io::{self, Read, Seek, SeekFrom, Write};
    use std::path::{Component, Path, PathBuf};

    use tempfile::Builder;

    pub fn same(_: &Metadata, _: &Metadata) -> bool {
        true
    }

    /// Files have no identity here, and no links: their paths decide.
    pub fn same_file(a: &Path, b: &Path) -> bool {
        let plain = |path: &Path| -> PathBuf {
            path.components().filter(|c| matches!(c, Component::Normal(_))).collect()
        };
        a.is_file() && plain(a) == plain(b)
    }

    pub fn carefully(options: &mut OpenOptions) -> &mut OpenOptions {
        options
    }

    pub fn read_at(mut file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
        file.seek(SeekFrom::Start(at))?;
        file.read(bytes)
    }

    pub fn read_exact_at(mut file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(bytes)
    }

    pub fn write_all_at(mut file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        file.seek(SeekFrom::Start(at))?;
        file.write_all(bytes)
    }

    pub fn lock(_: &File) -> io::Result<bool> {
        Ok(true)
    }

    pub fn process() -> u32 {
        0
    }

    pub fn is_locked(_: &File) -> bool {
        false
    }

    pub fn with_mode_of<'b, 'p, 's>(
        builder: &'b mut Builder<'p, 's>,
        _: Option<&Metadata>,
    ) -> &'b mut Builder<'p, 's> {
        builder
    }

    pub fn special(_: FileType) -> &'static str {
        "a device"
    }
}

pub(super) use files::{
    carefully, is_locked, lock, process, read_at, read_exact_at, same, same_file, special,
    with_mode_of, write_all_at,
};
