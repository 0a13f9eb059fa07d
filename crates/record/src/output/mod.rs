//! Places of results: folders that one command owns, and files that are complete or absent.
//!
//! ```text
//!   Folder::claim(--out) -- refuses what is no folder, what another process holds, what holds files of another origin
//!      |   .xoff: who owns it, and every file that was written (the lock is on it; the kernel releases it)
//!      +-- draft(name) -> name.partial --stage--+
//!      +-- draft(name) -> name.partial --stage--+-- commit(manifest.json): old manifest away, new files in place,
//!                                               |   old files that are no longer written away, new manifest in place
//!   write(path), Draft::to(path): one file on its own; a link is followed, what is no regular file is written through
//! ```

mod draft;
mod error;
mod folder;
mod kind;
mod record;
mod replace;
mod stamp;
mod system;

pub use draft::{Draft, refuse_inputs, write};
pub use error::OutputError;
pub use folder::{Folder, Staged, changed_in, holder, owner};
pub use replace::{
    FONTS, GENERATOR, Kind, PAGE_BEGINS, READY_SCHEMA, refuse_others, refuse_unlike,
};
