//! Ctrl-C.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::answer::Exit;

static ASKED: AtomicBool = AtomicBool::new(false);

/// From here on the first Ctrl-C only asks to stop, see [`asked`]; the second ends the process at once.
pub fn ask_first() {
    // Only a second handler is refused; then the first one does.
    let _ = ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::Relaxed) {
            std::process::exit(Exit::Interrupted as i32);
        }
    });
}

/// From here on Ctrl-C ends the process at once: for commands that leave nothing behind.
pub fn end_at_once() {
    let _ = ctrlc::set_handler(|| std::process::exit(Exit::Interrupted as i32));
}

/// Whether the user asked to stop.
pub fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}
