//! `xoff switch` and `xoff host`: each node a process, in one namespace.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use xoff_real::netio::{PacketOptions, PacketPort, Port, sandbox};
use xoff_real::switchd::mac;
use xoff_real::wire::mac_control::{Pfc, Repr};
use xoff_units::NodeId;

use crate::support::{Ran, command, folder, path};
use crate::{INCAST, in_namespaces};

/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// A node in a process of its own.
pub struct Process {
    pub child: Child,
    lines: Receiver<String>,
    ran: Vec<String>,
}

impl Process {
    /// Starts it and waits until its ports are open.
    pub fn start(args: &[&str]) -> Process {
        let mut p = Process::start_anyhow(args);
        p.prints(" runs on ");
        p
    }

    pub fn start_anyhow(args: &[&str]) -> Process {
        let mut child =
            command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = child.stderr.take().unwrap();
        let (send, lines) = channel();
        std::thread::spawn(move || {
            BufReader::new(stderr).lines().map_while(Result::ok).try_for_each(|l| send.send(l))
        });
        Process { child, lines, ran: Vec::new() }
    }

    /// Waits for a line with this text.
    pub fn prints(&mut self, text: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    self.ran.push(line.clone());
                    if line.contains(text) {
                        return line;
                    }
                }
                Err(_) => panic!("it never printed '{text}':\n{}", self.ran.join("\n")),
            }
        }
    }

    /// Ctrl-C.
    fn interrupt(&self) {
        let id = rustix::process::Pid::from_raw(self.child.id() as i32).unwrap();
        rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    }

    /// Waits for its end.
    pub fn end(mut self) -> Ran {
        let mut out = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        self.ran.extend(self.lines.iter());
        Ran { code, out, err: self.ran.join("\n") }
    }

    pub fn stop(self) -> Ran {
        self.interrupt();
        self.end()
    }
}

/// A test that fails leaves no node behind.
impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Links between S1 and the hosts: a0 to a3 at the switch, b0 to b3 at the hosts.
pub fn wires(mtu: u32) {
    (0..4).for_each(|i| sandbox::veth_pair(&format!("a{i}"), &format!("b{i}"), mtu).unwrap());
}

pub const SWITCH: [&str; 12] = [
    "switch", INCAST, "--node", "S1", "--port", "H0=a0", "--port", "H1=a1", "--port", "H2=a2",
    "--port", "H3=a3",
];

pub fn switch(more: &[&str]) -> Process {
    Process::start(&[&SWITCH[..], more].concat())
}

pub fn host(name: &str, interface: &str, scenario: &str, more: &[&str]) -> Process {
    Process::start(
        &[&["host", scenario, "--node", name, "--port", interface, "--json"], more].concat(),
    )
}

/// The incast scenario with other flows. Processes come late one by one: memory for frames that
/// arrive at 100 Mb/s while a switch is away for more than half a second.
pub fn scenario(name: &str, flows: &str) -> String {
    let text =
        std::fs::read_to_string(INCAST).unwrap().replace("buffer = \"400KB\"", "buffer = \"8MB\"");
    let at = text.find("[[flow]]").unwrap();
    let dir = folder(name);
    let file = path(&dir, "net.toml");
    std::fs::write(&file, format!("{}{flows}", &text[..at])).unwrap();
    file
}

pub fn flow(src: &str, dst: &str, more: &str) -> String {
    format!("[[flow]]\nsrc = \"{src}\"\ndst = \"{dst}\"\n{more}\n")
}

#[test]
fn a_flow_through_three_processes_arrives() {
    in_namespaces("processes::a_flow_through_three_processes_arrives", || {
        wires(1500);
        let file = scenario("three", &flow("H1", "H0", "size = \"3MB\""));
        let capture = file.replace("net.toml", "s1.pcapng");
        let mut args = SWITCH.to_vec();
        args[1] = &file;
        args.extend(["--metrics", "127.0.0.1:0", "--capture", &capture, "--json"]);
        let s1 = Process::start(&args);
        let h0 = host("H0", "b0", &file, &[]);
        let h1 = host("H1", "b1", &file, &["--for", "2s"]);
        let h1 = h1.end();
        assert_eq!(h1.code, 0, "{}", h1.err);
        let (h0, s1) = (h0.stop(), s1.stop());
        assert_eq!((h0.code, s1.code), (130, 130), "{}\n{}", h0.err, s1.err);
        assert_eq!(h1.json()["flows"][0]["sent"], 3_000_000, "{}", h1.out);
        let got = &h0.json()["flows"][0];
        assert_eq!(
            (got["delivered"].as_u64(), got["complete"].as_bool()),
            (Some(3_000_000), Some(true)),
            "{}",
            h0.out
        );
        let answer = s1.json();
        let [to_h0, from_h1] = [&answer["real"]["ports"][0], &answer["real"]["ports"][1]];
        assert_eq!(to_h0["sent"], from_h1["received"], "{}", s1.out);
        assert_eq!(
            (answer["dropped_frames"].as_u64(), answer["violations"].as_u64()),
            (Some(0), Some(0)),
            "{}",
            s1.out
        );
        // The process that ran and the one in virtual time are the same switch.
        let replayed = Process::start_anyhow(&["replay", &capture]).end();
        assert_eq!(replayed.code, 0, "{}\n{}", replayed.out, replayed.err);
        // Without its last block nobody knows whether it is all: before, half of it was complete.
        let bytes = std::fs::read(&capture).unwrap();
        let seal = u32::from_le_bytes(bytes[bytes.len() - 4..].try_into().unwrap()) as usize;
        std::fs::write(&capture, &bytes[..bytes.len() - seal]).unwrap();
        let cut = Process::start_anyhow(&["replay", &capture, "--json"]).end();
        let json = cut.json();
        assert_eq!(
            (cut.code, &json["identical"], &json["complete"], &json["answer"]),
            (1, &true.into(), &false.into(), &"no".into())
        );
    });
}

/// A frame that pauses priority 0 for as long as the field can hold.
fn pause() -> Vec<u8> {
    let mut bytes = [0; 64];
    let len = Repr::Pfc(Pfc::one(0, u16::MAX).unwrap())
        .emit_frame(mac(NodeId(1), 0), &mut bytes)
        .unwrap();
    bytes[..len].to_vec()
}

pub fn send(port: &mut PacketPort, frame: &[u8]) {
    assert!(port.send(frame).unwrap());
    port.flush().unwrap();
}

#[test]
fn a_storm_is_contained_while_others_go_on() {
    in_namespaces("processes::a_storm_is_contained_while_others_go_on", || {
        wires(1500);
        let file = scenario("storm", &(flow("H2", "H1", "") + &flow("H3", "H0", "")));
        let mut args = SWITCH.to_vec();
        args[1] = &file;
        args.extend(["--watchdog", "200ms,300ms,drop", "--json"]);
        let mut s1 = Process::start(&args);
        let mut broken = PacketPort::open("b1", &PacketOptions::default()).unwrap();
        let (h0, h2, h3) = (
            host("H0", "b0", &file, &[]),
            host("H2", "b2", &file, &[]),
            host("H3", "b3", &file, &[]),
        );
        // A pause of 335 ms, repeated long before it is over, for longer than the watchdog waits.
        let storm = |broken: &mut PacketPort, lasting: u64| {
            let end = Instant::now() + Duration::from_millis(lasting);
            while Instant::now() < end {
                send(broken, &pause());
                broken.receive(10_000, &mut |_| ()).unwrap();
                std::thread::sleep(Duration::from_millis(20));
            }
        };
        storm(&mut broken, 1200);
        let began = s1.prints("S1->H1 priority 0 was paused for");
        assert!(began.contains("xoff ignores flow control and drops its queued frames"), "{began}");
        let ended = s1.prints("S1->H1 priority 0 was restored after");
        assert!(
            s1.ran.iter().filter(|l| l.contains("was paused for")).all(|l| l.contains("S1->H1")),
            "{:?}",
            s1.ran
        );
        let (s1, h0, h2, h3) = (s1.stop(), h0.stop(), h2.stop(), h3.stop());
        let answer = s1.json();
        let port = &answer["real"]["ports"][1];
        assert!(
            port["storms"].as_u64().unwrap() >= 1 && port["thrown_away"].as_u64().unwrap() > 0,
            "{}\n{ended}",
            s1.out
        );
        // The only losses are frames that the watchdog drops.
        let thrown = port["thrown_away"].as_u64();
        assert_eq!(
            (answer["dropped_frames"].as_u64(), answer["lost_frames"].as_u64()),
            (thrown, thrown),
            "{}",
            s1.out
        );
        assert_eq!(answer["violations"].as_u64(), Some(0), "{}", s1.out);
        // The other flow had a link to itself: it lasted two seconds at least, at up to 12 MB a
        // second.
        let delivered = h0.json()["flows"][0]["delivered"].as_u64().unwrap();
        assert!(delivered > 5_000_000, "{delivered}: {}\n{}", h0.out, h3.out);
        // And the sender towards the broken one was freed with the queue that it filled.
        let sent = h2.json()["flows"][0]["sent"].as_u64().unwrap();
        assert!(sent > 2_000_000, "{sent}: {}", h2.out);
    });
}

/// Before: "nothing ran: no frame was transmitted" at a host that had received thousands.
#[test]
fn a_receiver_that_begins_after_its_sender_says_what_it_received() {
    in_namespaces(
        "processes::a_receiver_that_begins_after_its_sender_says_what_it_received",
        || {
            wires(1500);
            let file = scenario("late", &flow("H1", "H0", ""));
            let mut args = SWITCH.to_vec();
            args[1] = &file;
            let s1 = Process::start(&args);
            let h1 = host("H1", "b1", &file, &[]);
            std::thread::sleep(Duration::from_millis(500));
            let h0 = host("H0", "b0", &file, &["--for", "1s"]).end();
            h1.stop();
            s1.stop();
            let json = h0.json();
            let arrived = json["flows"][0]["arrived"].as_u64().unwrap();
            assert!(arrived > 1_000_000, "{}", h0.out);
            assert!(json["verdict"]["nothing_ran"].is_null(), "{}", h0.out);
        },
    );
}

#[test]
fn a_pause_where_there_is_no_pfc_is_refused() {
    in_namespaces("processes::a_pause_where_there_is_no_pfc_is_refused", || {
        wires(1500);
        let s1 = switch(&["--set", "flow_control=cbfc", "--json"]);
        let mut unknown = PacketPort::open("b2", &PacketOptions::default()).unwrap();
        (0..5).for_each(|_| send(&mut unknown, &pause()));
        send(&mut unknown, &pause()[..30]);
        std::thread::sleep(Duration::from_millis(300));
        let answer = s1.stop().json();
        let ports = answer["real"]["ports"].as_array().unwrap();
        let refused: Vec<_> =
            ports.iter().map(|p| (p["refused"].as_u64(), p["control_received"].as_u64())).collect();
        assert_eq!(
            refused,
            [(Some(0), Some(0)), (Some(0), Some(0)), (Some(6), Some(0)), (Some(0), Some(0))],
            "{answer:#}"
        );
    });
}

#[test]
fn counters_are_served() {
    in_namespaces("processes::counters_are_served", || {
        sandbox::loopback_up().unwrap();
        wires(1500);
        let mut s1 = Process::start_anyhow(
            &[&SWITCH[..], &["--metrics", "127.0.0.1:0", "--learn"]].concat(),
        );
        let line = s1.prints("counters at http://");
        let address = line.split("http://").nth(1).unwrap().trim_end_matches("/metrics").to_owned();
        let mut unknown = PacketPort::open("b2", &PacketOptions::default()).unwrap();
        let mut frame = vec![0; 100];
        frame[..14]
            .copy_from_slice(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 9, 0x12, 0x34]);
        send(&mut unknown, &frame);
        // The count of a broadcast appears within a poll or two.
        let end = Instant::now() + PATIENCE;
        let wanted = [
            "port=\"S1->H0\",interface=\"a0\",direction=\"out\"} 1",
            "xoff_queue_bytes{",
            "xoff_loop_gap_p99_seconds{node=\"S1\"}",
        ];
        loop {
            let mut stream = std::net::TcpStream::connect(&address).unwrap();
            std::io::Write::write_all(&mut stream, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
                .unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            if wanted.iter().all(|w| text.contains(w)) {
                break;
            }
            assert!(Instant::now() < end, "{text}");
            std::thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(s1.stop().code, 130);
    });
}

/// The body of an answer of a page's server.
fn get(address: &str, at: &str) -> String {
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    std::io::Write::write_all(
        &mut stream,
        format!("GET {at} HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes(),
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// During the run, a switch and a host show the report that stays next to their tables.
#[test]
fn nodes_show_their_page_and_leave_it() {
    in_namespaces("processes::nodes_show_their_page_and_leave_it", || {
        sandbox::loopback_up().unwrap();
        wires(1500);
        let file = scenario("live", &flow("H1", "H0", ""));
        let (of_switch, of_host) = (file.replace("net.toml", "s1"), file.replace("net.toml", "h1"));
        let mut args = SWITCH.to_vec();
        args[1] = &file;
        args.extend(["--live", "--out", &of_switch]);
        let s1 = Process::start_anyhow(&args);
        let h1 = Process::start_anyhow(&[
            "host", &file, "--node", "H1", "--port", "b1", "--live", "--out", &of_host,
        ]);
        let h0 = host("H0", "b0", &file, &[]);
        let mut nodes = [(s1, of_switch), (h1, of_host)];
        for (node, _) in &mut nodes {
            let line = node.prints("the live page is at http://127.0.0.1:");
            let address =
                line.split("http://").nth(1).unwrap().trim().trim_end_matches('/').to_owned();
            assert!(get(&address, "/").contains("xoff.run()"));
            let end = Instant::now() + PATIENCE;
            // Two looks or more, a quarter of a second apart.
            while !get(&address, "/api/data").contains("\"course\":{\"times\":[") {
                assert!(Instant::now() < end, "no course: {}", &get(&address, "/api/data")[..400]);
                std::thread::sleep(Duration::from_millis(50));
            }
            assert!(get(&address, "/api/data").contains("\"live\":true"));
        }
        for (node, out) in nodes {
            let ran = node.stop();
            assert_eq!(ran.code, 130, "{}", ran.err);
            let page = std::fs::read_to_string(format!("{out}/report.html")).unwrap();
            assert!(page.contains("\"real\":true") && page.contains("\"live\":false"), "{out}");
        }
        assert_eq!(h0.stop().code, 130);
    });
}

#[test]
fn a_shim_obeys_for_a_stack() {
    if !crate::possible(&["tc", "ping"]) || !crate::taps() {
        return;
    }
    in_namespaces("processes::a_shim_obeys_for_a_stack", || {
        wires(1500);
        let s1 = switch(&["--learn", "--json"]);
        let shim = host("H1", "b1", INCAST, &["--tap", "xoff0", "--address", "10.9.0.1/24"]);
        // The far end: a port that answers nothing, but sees what the stack asks through shim and
        // switch.
        let mut far = PacketPort::open("b0", &PacketOptions::default()).unwrap();
        let ping = std::process::Command::new("ping")
            .args(["-c", "1", "-W", "1", "10.9.0.2"])
            .output()
            .unwrap();
        let mut asked = 0;
        far.receive(1000, &mut |f| asked += u32::from(f[12..14] == [0x08, 0x06])).unwrap();
        assert!(
            asked > 0,
            "no question for 10.9.0.2 came through: {}",
            String::from_utf8_lossy(&ping.stdout)
        );
        let (shim, s1) = (shim.stop(), s1.stop());
        assert_eq!((shim.code, s1.code), (130, 130), "{}\n{}", shim.err, s1.err);
        assert!(shim.json()["real"]["ports"][0]["sent"].as_u64().unwrap() > 0, "{}", shim.out);
    });
}

#[test]
fn two_switches_on_one_interface_are_refused() {
    in_namespaces("processes::two_switches_on_one_interface_are_refused", || {
        wires(1500);
        let first = switch(&[]);
        let second = Process::start_anyhow(&SWITCH).end();
        assert_eq!(second.code, 2, "{}", second.err);
        second.complains(&["interface a0 is already open in another xoff"]);
        let host = Process::start_anyhow(&["host", INCAST, "--node", "H1", "--port", "a1"]).end();
        assert_eq!(host.code, 2, "{}", host.err);
        host.complains(&["interface a1 is already open in another xoff"]);
        assert_eq!(first.stop().code, 130);
    });
}

#[test]
fn interfaces_that_do_not_fit_are_refused() {
    in_namespaces("processes::interfaces_that_do_not_fit_are_refused", || {
        wires(1500);
        let refused = |change: &str, wanted: &[&str]| {
            sandbox::ip(change).unwrap();
            let ran = Process::start_anyhow(&SWITCH).end();
            assert_eq!(ran.code, 2, "{change}: {}", ran.err);
            ran.complains(wanted);
        };
        refused(
            "link set dev a2 mtu 1400\n",
            &["interface a2 has an MTU of 1400", "need 1500", "ip link set dev a2 mtu 1500"],
        );
        refused(
            "link set dev a2 mtu 4000\n",
            &["interfaces a0 and a2 differ in their MTU", "ip link set dev a2 mtu 1500"],
        );
        refused(
            "link set dev a2 mtu 1500\nlink set dev a3 down\n",
            &["interface a3 is down: ip link set a3 up"],
        );
        xoff_real::netio::interface::turn("a1", "gro", true).unwrap();
        refused(
            "link set dev a3 up\n",
            &["interface a1 has offloads that break a switch", "ethtool -K a1 gro off"],
        );
        // The flag turns them off.
        let fixed = switch(&["--fix-offloads", "--for", "200ms"]).end();
        assert_eq!(fixed.code, 0, "{}", fixed.err);
    });
}
