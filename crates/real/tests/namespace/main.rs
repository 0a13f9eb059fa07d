//! Real frames, each test in namespaces of its own: the test runs again in a child process that
//! owns them.
//!
//! Where the machine cannot do that, a test is skipped (`xoff_testing::skip`).

mod links;
mod machine;

use std::time::{Duration, Instant};

use xoff_real::netio::sandbox::{Capability, Missing};
use xoff_real::netio::{PacketOptions, PacketPort, Port, sandbox};

/// Runs `body` in fresh namespaces, by running the test of this name again in a child process.
pub fn in_namespaces(test: &str, body: fn()) {
    if xoff_testing::inside(test) {
        return body();
    }
    match sandbox::probe() {
        Ok(()) => {
            drop(xoff_testing::again(&mut sandbox::command(std::env::current_exe().unwrap()), test))
        }
        Err(missing) => skip(&missing),
    }
}

fn skip(missing: &Missing) {
    xoff_testing::skip(
        missing.capability.name(),
        format_args!("{}; {}", missing.error, missing.remedy()),
    );
}

/// Whether this is there. Records a skip if it is not, and the test ends. Asked inside, where
/// nothing has to be made for it.
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
        xoff_real::netio::wait([&*port], Duration::from_millis(1)).unwrap();
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
