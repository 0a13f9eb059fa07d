//! A program of one thread enters a sandbox: from then on it sees no interface of the machine, and
//! may make its own.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use xoff_real::netio::interface::Interface;
use xoff_real::netio::sandbox::{self, Host};
use xoff_real::netio::{PacketOptions, PacketPort, Port, privileges};

fn main() -> ExitCode {
    // Asked for its list of tests, as test runners do, it has none to offer one by one.
    if std::env::args().any(|a| a == "--list") {
        return ExitCode::SUCCESS;
    }
    if let Err(missing) = sandbox::probe() {
        xoff_testing::skip(
            missing.capability.name(),
            format_args!("{}; {}", missing.error, missing.remedy()),
        );
        return ExitCode::SUCCESS;
    }
    sandbox::enter().unwrap();
    let interfaces = || {
        let text = std::fs::read_to_string("/proc/net/dev").unwrap();
        text.lines()
            .filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned()))
            .collect::<Vec<_>>()
    };
    assert_eq!(interfaces(), ["lo"]);
    assert!(Interface::look("lo").unwrap().up);
    assert!(privileges::has_any().unwrap());

    sandbox::veth_pair("p0", "p1", 1500).unwrap();
    let host = Host::new("client").unwrap();
    host.attach("p1", &["10.0.0.1/24"]).unwrap();
    assert_eq!(interfaces().len(), 2);
    // A switch's port here, a port in the host's network there; the host's may be used from here.
    let mut port = PacketPort::open("p0", &PacketOptions::default()).unwrap();
    let mut far = host.run(|| PacketPort::open("p1", &PacketOptions::default())).unwrap();
    let frame = [2u8; 60];
    assert!(far.send(&frame).unwrap());
    far.flush().unwrap();
    let (mut got, end) = (Vec::new(), Instant::now() + Duration::from_secs(5));
    while got.is_empty() && Instant::now() < end {
        xoff_real::netio::wait([&port as &dyn Port], Duration::from_millis(10)).unwrap();
        port.receive(1, &mut |f| got.extend_from_slice(f)).unwrap();
    }
    assert_eq!(got, frame);

    // Now that there is a thread, the host's, there is no second time.
    assert!(sandbox::enter().unwrap_err().to_string().contains("threads"));
    println!("1 passed, 0 failed");
    ExitCode::SUCCESS
}
