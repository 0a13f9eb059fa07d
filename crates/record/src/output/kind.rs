//! Kind of the item at a path, in words.

use std::fs::FileType;

use crate::output::system;

/// Name of what is there, with its article.
pub(crate) fn named(t: FileType) -> &'static str {
    match t {
        t if t.is_dir() => "a folder",
        t if t.is_file() => "a file",
        t if t.is_symlink() => "a symbolic link",
        t => system::special(t),
    }
}
