//! The `xoff` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(xoff::main_with_args(std::env::args_os()))
}
