//! Limit on the memory that an input may request.
//!
//! A number in a file sizes things: hosts, links, flows. Its reader checks the memory that it would
//! need before anything is allocated.

use crate::Bytes;

use crate::params::ParamError;

/// Available memory [bytes], where the system reports it: free without paging, and no more than the
/// limits of this process (`ulimit -v`) and of its control group leave.
pub fn available() -> Option<Bytes> {
    let free = kib(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")?;
    Some([address_space_left(), control_group_left()].into_iter().flatten().fold(free, Bytes::min))
}

/// The number behind `name` in a table of `name: 123 kB`.
fn kib(table: &str, name: &str) -> Option<Bytes> {
    let line = table.lines().find_map(|l| l.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Bytes(kib.saturating_mul(1024)))
}

/// Memory that RLIMIT_AS leaves; `None`: it is not set.
fn address_space_left() -> Option<Bytes> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|l| l.strip_prefix("Max address space"))?;
    let soft: u64 = line.split_whitespace().next()?.parse().ok()?;
    let used = kib(&std::fs::read_to_string("/proc/self/status").ok()?, "VmSize:")?;
    Some(Bytes(soft).saturating_sub(used))
}

/// Memory that the control group (version 2) of this process leaves; `None`: it has no limit.
fn control_group_left() -> Option<Bytes> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|l| l.strip_prefix("0::"))?;
    let number = |file: &str| -> Option<u64> {
        let text = std::fs::read_to_string(format!("/sys/fs/cgroup{path}/{file}")).ok()?;
        text.trim().parse().ok()
    };
    Some(Bytes(number("memory.max")?).saturating_sub(Bytes(number("memory.current")?)))
}

/// Rejects a size that would not fit; `what` names the things that need it, such as "10 million
/// links".
///
/// # Errors
/// More is needed than is available; the error's key is `key`.
pub fn suffices(key: &str, what: &str, needed: Bytes) -> Result<(), ParamError> {
    match available() {
        Some(left) if needed > left => Err(ParamError::new(
            key,
            format!("{what} need about {needed} of memory, but {left} are available"),
            "use a smaller number, or a machine with more memory",
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_the_system_are_read() {
        assert_eq!(
            kib("MemTotal:       7 kB\nMemAvailable:   3 kB\n", "MemAvailable:"),
            Some(Bytes(3 * 1024))
        );
        assert_eq!(kib("MemTotal: 7 kB", "MemAvailable:"), None);
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_estimate() {
        suffices("hosts", "3 hosts", Bytes(1)).unwrap();
        if available().is_some() {
            let e = suffices("hosts", "many hosts", Bytes(u64::MAX)).unwrap_err();
            assert!(e.what.contains("many hosts need about") && !e.hint.is_empty(), "{e}");
        }
    }
}
