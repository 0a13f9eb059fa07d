//! Ctrl-C.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(not(target_family = "wasm"))]
use crate::answer::Exit;
use crate::caller::{self, Caller};

static ASKED: AtomicBool = AtomicBool::new(false);

/// From here on the first Ctrl-C only asks to stop, see [`asked`]; the second ends the process at
/// once.
pub fn ask_first() {
    if caller::present().is_some() {
        return; // signals are the caller's
    }
    // Only a second handler fails; the first one suffices then.
    #[cfg(not(target_family = "wasm"))]
    let _ = ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::Relaxed) {
            std::process::exit(Exit::Interrupted as i32);
        }
    });
}

/// From here on Ctrl-C ends the process at once: for commands that leave nothing behind.
pub fn end_at_once() {
    if caller::present().is_some() {
        return;
    }
    #[cfg(not(target_family = "wasm"))]
    let _ = ctrlc::set_handler(|| std::process::exit(Exit::Interrupted as i32));
}

/// True if the user asked to stop.
pub fn asked() -> bool {
    match caller::present() {
        Some(caller) => caller.stopped(),
        None => ASKED.load(Ordering::Relaxed),
    }
}

/// [`asked`], for other threads of the same subcommand.
pub fn asker() -> impl Fn() -> bool + Sync + Send {
    let caller: Option<Arc<Caller>> = caller::present();
    move || caller.as_ref().map_or_else(|| ASKED.load(Ordering::Relaxed), |c| c.stopped())
}
