//! `xoff-mpi`: `xoff run` in several processes that reach each other by MPI. What it does is in the
//! crate of the command; here is how mail travels, and how a process that fails ends the others.

mod mail;

use std::process::ExitCode;

use mpi::Threading;
use mpi::topology::SimpleCommunicator;
use mpi::traits::Communicator;

use mail::OverMpi;

/// Exit code of a process that panics, as Rust has it.
const PANICKED: i32 = 101;

/// Ends all processes on a panic: the others would wait for a process that is gone.
fn end_all_on_panic() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        SimpleCommunicator::world().abort(PANICKED);
    }));
}

fn main() -> ExitCode {
    // One thread calls MPI; another one waits for Ctrl-C.
    let Some((universe, _)) = mpi::initialize_with_threading(Threading::Funneled) else {
        eprintln!("xoff-mpi: MPI cannot be initialized; start it with mpirun -n N xoff-mpi ...");
        return ExitCode::from(2);
    };
    end_all_on_panic();
    let code = xoff::main_among(std::env::args_os(), Box::new(OverMpi::new(&universe.world())));
    // Waits until all have printed their messages: mpirun ends the others when one has ended with a
    // code that is not 0.
    drop(universe);
    ExitCode::from(code)
}
