//! Machine of the measured figures.

use std::process::Command;

use serde::{Deserialize, Serialize};

/// A machine and its compiler.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Model of the processor.
    pub cpu: String,
    /// Cores that this process may use.
    pub cores: usize,
    /// The compiler.
    pub rustc: String,
}

impl Machine {
    /// Description of this machine.
    pub fn this() -> Machine {
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Machine {
            cpu: model(&cpuinfo).unwrap_or("unknown processor").to_owned(),
            cores: std::thread::available_parallelism().map_or(1, |n| n.get()),
            rustc: rustc().unwrap_or_else(|| "unknown rustc".into()),
        }
    }
}

/// `rustc --version`, if there is one.
pub fn rustc() -> Option<String> {
    let out =
        Command::new("rustc").arg("--version").output().ok().filter(|o| o.status.success())?;
    Some(String::from_utf8_lossy(&out.stdout).trim().to_owned())
}

fn model(cpuinfo: &str) -> Option<&str> {
    cpuinfo
        .lines()
        .find_map(|l| l.strip_prefix("model name")?.split_once(':').map(|(_, name)| name.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_found() {
        assert_eq!(
            model("processor\t: 0\nmodel name\t: AMD EPYC 7B12\nmodel name\t: other"),
            Some("AMD EPYC 7B12")
        );
        assert_eq!(model(""), None);
    }
}
