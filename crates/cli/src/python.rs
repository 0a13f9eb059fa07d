//! The Python package of xoff, which draws figures for papers and runs claims: it is started as a
//! process.

use std::ffi::OsString;
use std::io::{self, Read};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use xoff_scenario::{Problem, Problems};

use crate::interrupt;

/// Interval at which the end of the program and Ctrl-C are polled.
const POLL: Duration = Duration::from_millis(20);

/// Exit code of the interpreter if it has no such package.
const NOT_LOADED: i32 = 3;

/// The answer of the package.
#[derive(Deserialize)]
#[serde(untagged)]
enum Given<T> {
    Refused { refused: String },
    Answer(T),
}

/// The interpreter that this command runs in, or the one on the PATH.
pub fn interpreter() -> OsString {
    crate::STARTED_BY
        .get()
        .and_then(|words| words.first())
        .map_or_else(|| OsString::from("python3"), OsString::clone)
}

/// The package is not installed, or lacks something.
pub fn missing(what: &str) -> Problem {
    Problem::new(
        what,
        "install xoff's Python package for this interpreter: pip install . in its sources",
    )
}

/// An answer that this version does not know.
pub fn garbled(e: &dyn std::fmt::Display) -> Problem {
    Problem::new(
        format!("the Python package gave no answer that this program understands: {e}"),
        "install the Python package of the same version: pip install . in its sources",
    )
}

/// Starts the `main` of a module of the package for a subcommand. `None`: the user stopped it before
/// it had an answer.
pub fn ask<T: DeserializeOwned>(
    subcommand: &str,
    module: &str,
    args: &[OsString],
) -> Result<Option<T>, Problems> {
    let python = interpreter();
    let missing = |why: &str| {
        let what = format!(
            "xoff {subcommand} needs xoff's Python package, but {} cannot load it: {why}",
            python.to_string_lossy()
        );
        missing(&what)
    };
    // Ctrl-C while the package is loaded ends it without a traceback.
    let program = format!(
        "import signal, sys\n\
         signal.signal(signal.SIGINT, signal.SIG_DFL)\n\
         try:\n    from {module} import main\n\
         except ImportError as e:\n    print(e, file=sys.stderr)\n    sys.exit({NOT_LOADED})\n\
         sys.exit(main())"
    );
    let mut command = Command::new(&python);
    // Without the present folder among the places of modules: `json.py` there is none of ours.
    command.args(["-P", "-c", &program]).args(args);
    let (status, stdout) = output(&mut command).map_err(|e| missing(&e.to_string()))?;
    let answered = matches!(status.code(), Some(0 | 2)) && !stdout.is_empty();
    if !answered && interrupt::asked() {
        return Ok(None);
    }
    if !answered && status.code() == Some(NOT_LOADED) {
        return Err(missing("see the line above").into());
    }
    if !answered {
        return Err(Problem::new(
            format!("xoff's Python package gave no answer and ended with {status}"),
            "this is a defect of xoff: please report it with the lines above",
        )
        .into());
    }
    match serde_json::from_slice(&stdout).map_err(|e| garbled(&e))? {
        Given::Answer(answer) => Ok(Some(answer)),
        Given::Refused { refused } => Err(Problem::new(refused, "").into()),
    }
}

/// Status and standard output of a program, whose progress goes to the terminal. If the user asks
/// to stop, the program gets SIGINT: a signal to this process alone does not reach it.
fn output(command: &mut Command) -> io::Result<(ExitStatus, Vec<u8>)> {
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut program = command.spawn()?;
    let mut pipe = program.stdout.take();
    let reader = std::thread::spawn(move || {
        let mut stdout = Vec::new();
        pipe.as_mut().map_or(Ok(0), |p| p.read_to_end(&mut stdout)).map(|_| stdout)
    });
    let mut told = false;
    let status = loop {
        if let Some(status) = program.try_wait()? {
            break status;
        }
        if interrupt::asked() && !told {
            kill_process(Pid::from_child(&program), Signal::INT)?;
            told = true;
        }
        std::thread::sleep(POLL);
    };
    let stdout = reader.join().map_err(|_| io::Error::other("its output was not read"))??;
    Ok((status, stdout))
}
