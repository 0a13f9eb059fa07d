//! Real frames, each test in namespaces of its own: the test runs again in a child process that owns them.
//!
//! Where the machine cannot do that, a test prints `SKIPPED: <capability>: <errno>`; with XOFF_NO_SKIPS=1 it fails instead.

mod links;
mod machine;

use std::process::Stdio;
use std::time::{Duration, Instant};

use xoff_netio::sandbox::{Capability, Missing};
use xoff_netio::{PacketOptions, PacketPort, Port, sandbox};

/// Set in the child to the name of its test.
const INSIDE: &str = "XOFF_NETIO_TEST_INSIDE";

/// Runs `body` in fresh namespaces, by running the test of this name again in a child process.
pub fn in_namespaces(test: &str, body: fn()) {
    if std::env::var(INSIDE).is_ok_and(|inside| inside == test) {
        return body();
    }
    if let Err(missing) = sandbox::probe() {
        return skip(&missing);
    }
    let mut child = sandbox::command(std::env::current_exe().unwrap());
    let child = child.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(INSIDE, test).stdin(Stdio::null());
    let output = child.output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "in its namespaces:\n{text}");
    // A name that matches no test would pass without running anything.
    assert!(text.contains("test result: ok. 1 passed"), "{text}");
    text.lines().filter(|line| line.contains("SKIPPED")).for_each(|line| println!("{line}"));
}

/// Says what is missing; fails where nothing may be.
fn skip(missing: &Missing) {
    skipped(&format!("{missing}; {}", missing.remedy()));
}

/// The same for what is no capability.
pub fn skipped(what: &str) {
    println!("SKIPPED: {what}");
    assert!(std::env::var_os("XOFF_NO_SKIPS").is_none_or(|v| v == "0"), "XOFF_NO_SKIPS is set, and the machine lacks {what}");
}

/// Is this there? Says so if it is not, and the test ends. Asked inside, where nothing has to be made for it.
pub fn has(capability: Capability) -> bool {
    sandbox::check(capability).inspect_err(skip).is_ok()
}

/// A veth pair with a port at each end.
pub fn two_ports(mtu: u32, options: &PacketOptions) -> (PacketPort, PacketPort) {
    sandbox::veth_pair("p0", "p1", mtu).unwrap();
    (PacketPort::open("p0", options).unwrap(), PacketPort::open("p1", options).unwrap())
}

/// Frames that arrive at a port until there are `count`, or for two seconds.
pub fn arriving(port: &mut dyn Port, count: usize) -> Vec<Vec<u8>> {
    let (mut frames, end) = (Vec::new(), Instant::now() + Duration::from_secs(2));
    while frames.len() < count && Instant::now() < end {
        port.receive(64, &mut |frame| frames.push(frame.to_vec())).unwrap();
        xoff_netio::wait([&*port], Duration::from_millis(1)).unwrap();
    }
    frames
}

/// Sends one frame now.
pub fn send_now(port: &mut dyn Port, frame: &[u8]) {
    assert!(port.send(frame).unwrap());
    port.flush().unwrap();
}

/// A frame of our EtherType with a number at its end.
pub fn numbered(number: u32, len: usize) -> Vec<u8> {
    let mut frame = vec![0x5A; len];
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xB5]);
    frame[len - 4..].copy_from_slice(&number.to_be_bytes());
    frame
}

/// The number at the end of a frame.
pub fn number(frame: &[u8]) -> u32 {
    u32::from_be_bytes(frame[frame.len() - 4..].try_into().unwrap())
}
