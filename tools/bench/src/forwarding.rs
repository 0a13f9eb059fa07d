//! Speed at which the switch forwards real frames, and its delay until it obeys a pause.
//!
//! ```text
//!   generator --veth--> switch of a scenario --veth--> sink         frames per second, as many as one core moves
//!   host ------veth--> switch ------------veth--> sink: PAUSE        from the pause to the last frame that still came
//! ```
//!
//! Measured in a process of its own, because namespaces have to be entered before there is a second
//! thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use xoff_real::netio::{PacketOptions, PacketPort, Port};
use xoff_real::switchd::{Live, RunnerConfig, mac};
use xoff_real::testbed::wiring::{self, Real};
use xoff_real::wire::mac_control::{self, Pfc};
use xoff_real::wire::{local, test_frame};
use xoff_record::Sink;
use xoff_run::NetworkScenario;
use xoff_units::{NodeId, Time};

use crate::Failed;
use crate::results::{Row, Stat};
use crate::runs::Bench;
use crate::targets as t;

/// Lengths of frames on the wire [bytes].
const LENGTHS: [u32; 4] = [64, 1500, 4096, 9000];
/// Time for which each length is forwarded.
const LASTS: Duration = Duration::from_millis(1500);
/// Runs of each length.
const RUNS: usize = 3;
/// Pauses whose reaction is measured.
const PAUSES: usize = 100;

/// Measured values of a child.
#[derive(Debug, Serialize, Deserialize)]
pub struct Forwarding {
    /// Length [bytes] and frames per second of each run.
    pub rates: Vec<(u32, Vec<f64>)>,
    /// From a pause to the last frame that came after it [s].
    pub reactions: Vec<f64>,
}

/// The rows, measured by another process of this program.
pub fn rows(bench: &Bench) -> Vec<Row> {
    let what = "real frames through a switch";
    bench.report(what);
    let measured = in_child().inspect_err(|e| bench.done(what, e));
    let of = |len: u32, to: fn(u32, f64) -> f64| -> Result<Stat, Failed> {
        let all = measured.as_ref().map_err(Clone::clone)?;
        let runs = all.rates.iter().find(|r| r.0 == len).ok_or("not measured")?;
        Stat::of(runs.1.iter().map(|&r| to(len, r))).ok_or_else(|| "no run".into())
    };
    let frames = |_, r| r;
    let bits = |len: u32, r: f64| r * f64::from(len) * 8.0;
    let mut rows: Vec<Row> = Vec::new();
    for (len, (f, b)) in LENGTHS.into_iter().zip(t::FORWARDING) {
        rows.push(f.row(of(len, frames)));
        rows.push(b.row(of(len, bits)));
    }
    let reaction = |share: f64| {
        let mut all = measured.as_ref().map_err(Clone::clone)?.reactions.clone();
        all.sort_by(f64::total_cmp);
        let at = ((all.len() as f64 * share) as usize).min(all.len().saturating_sub(1));
        all.get(at)
            .map(|&v| Stat { median: v, min: all[0], max: all[all.len() - 1], runs: all.len() })
            .ok_or_else(|| "no pause".into())
    };
    rows.push(t::REACTION_P50.row(reaction(0.5)));
    rows.push(t::REACTION_P99.row(reaction(0.99)));
    if let Some(s) = rows[2].measured.stat() {
        bench.done(what, &format!("{:.2} Mpps at {} B", s.median / 1e6, LENGTHS[1]));
    }
    rows
}

fn in_child() -> Result<Forwarding, Failed> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let out = std::process::Command::new(program)
        .arg("forward-child")
        .output()
        .map_err(|e| e.to_string())?;
    if !out.status.success() {
        return Err(String::from_utf8_lossy(&out.stderr).trim().to_owned());
    }
    serde_json::from_slice(&out.stdout)
        .map_err(|e| format!("the measuring process printed nothing: {e}"))
}

/// Work of the child: everything, then prints it as JSON.
pub fn child() -> Result<(), Failed> {
    xoff_real::testbed::veth_network::isolate().map_err(|e| e.to_string())?;
    let mut rates = Vec::new();
    for len in LENGTHS {
        let runs = (0..RUNS).map(|i| forward(len, i)).collect::<Result<Vec<f64>, Failed>>()?;
        rates.push((len, runs));
    }
    let all = Forwarding { rates, reactions: reactions()? };
    println!("{}", serde_json::to_string(&all).map_err(|e| e.to_string())?);
    Ok(())
}

/// Two hosts at a switch.
fn scenario(mtu: u32, rate: &str) -> Result<NetworkScenario, Failed> {
    let text = format!(
        "[topology]\nkind = \"star\"\nhosts = 2\nrate = \"{rate}\"\ndelay = \"0us\"\n[run]\ndeadlock_interval = \"0us\"\nduration = \"1000s\"\n\
         [host]\nframe_max = \"{mtu}B\"\n[switch]\nbuffer = \"4MB\"\n[flow_control]\nkind = \"pfc\"\nxoff = \"2MB\"\nxon = \"1MB\"\n\
         [[flow]]\nsrc = \"H0\"\ndst = \"H1\"\n"
    );
    NetworkScenario::from_text("bench", &text, &[], std::path::Path::new(""))
        .map_err(|e| e.to_string())
}

fn open(name: &str) -> Result<PacketPort, Failed> {
    let options = PacketOptions { ring_bytes: 16 << 20, ..PacketOptions::default() };
    PacketPort::open(name, &options).map_err(|e| e.to_string())
}

fn pair(a: &str, b: &str, mtu: u32) -> Result<(PacketPort, PacketPort), Failed> {
    xoff_real::netio::sandbox::veth_pair(a, b, mtu).map_err(|e| e.to_string())?;
    Ok((open(a)?, open(b)?))
}

/// Frames per second through a switch that is given more than it can forward.
fn forward(len: u32, nth: usize) -> Result<f64, Failed> {
    let s = scenario(len.max(1500), "100Gbps")?;
    let node = |name: &str| s.topology.find(name).ok_or_else(|| format!("no {name}"));
    let (switch, source, sink) = (node("S1")?, node("H0")?, node("H1")?);
    let here: Vec<bool> = s.topology.node_ids().map(|n| n == switch).collect();
    let links = wiring::links(&s, &here, |_, _| false);
    let (mut ports, mut far): (Vec<Box<dyn Port>>, Vec<PacketPort>) = (Vec::new(), Vec::new());
    for l in &links {
        let (near, end) = pair(
            &format!("a{len}x{nth}p{}", l.port),
            &format!("b{len}x{nth}p{}", l.port),
            len.max(1500),
        )?;
        ports.push(Box::new(near));
        far.push(end);
    }
    let first = s.topology.nodes[switch.index()]
        .ports
        .iter()
        .position(|p| p.peer == source)
        .ok_or("no port")?;
    let mut generator = far.swap_remove(first);
    let stop = Arc::new(AtomicBool::new(false));
    let generating = {
        let stop = stop.clone();
        let frame = test_frame(len, sink.0, source.0)?;
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                // A full socket is how the kernel reports that the switch does not keep up.
                if !matches!(generator.send(&frame), Ok(true)) {
                    let _ = generator.flush();
                }
            }
        })
    };
    let mut running = s.start_outside(Sink::Nothing, here).map_err(|e| e.to_string())?;
    let machine = wiring::machine(&s, links, &Real::default(), running.world());
    let runner = RunnerConfig {
        nap: Duration::ZERO,
        report: LASTS,
        until: Time::NEVER,
        ..RunnerConfig::default()
    };
    let mut live = Live::new(machine, ports, runner, None);
    let mut seen = Vec::new();
    let ended = live.run(running.world(), |now| {
        seen.push((now.wall, now.ports.iter().map(|p| p.kernel.sent).sum::<u64>()));
        seen.len() < 3
    });
    stop.store(true, Ordering::Relaxed);
    generating.join().map_err(|_| "the generator failed")?;
    ended.map_err(|e| e.to_string())?;
    // The first stretch is for caches and queues to fill.
    let [(t0, n0), (t1, n1), ..] = seen[..] else { return Err("too few looks".into()) };
    Ok((n1 - n0) as f64 / (t1 - t0).as_secs_f64())
}

fn test_frame(len: u32, to: u32, from: u32) -> Result<Vec<u8>, Failed> {
    let mut out = vec![0; len.max(64) as usize];
    let repr = test_frame::Repr {
        kind: test_frame::Kind::Data,
        mark: xoff_real::wire::ecn::Ecn::TCD_CAPABLE,
        reported: xoff_real::wire::ecn::Ecn::TCD_CAPABLE,
        counted: len as u16,
        priority: 0,
        last: false,
        len: (len - 18).max(40) as u16,
        flow: 0,
        sequence: 0,
        due_ps: 0,
        sent_ps: 0,
    };
    let n = local::Message::Test(repr)
        .emit_frame(mac(NodeId(to), 0), mac(NodeId(from), 0), &mut out)
        .map_err(|e| format!("{e:?}"))?;
    out.truncate(n);
    Ok(out)
}

/// From a pause to the last frame that still came, of a host and a switch at 1 Gb/s.
fn reactions() -> Result<Vec<f64>, Failed> {
    let s = scenario(1500, "1Gbps")?;
    let node = |name: &str| s.topology.find(name).ok_or_else(|| format!("no {name}"));
    let (switch, sink) = (node("S1")?, node("H1")?);
    let here: Vec<bool> = s.topology.node_ids().map(|n| n != sink).collect();
    let links = wiring::links(&s, &here, |_, _| false);
    let name = |node: NodeId, port: u16| format!("r{node}p{port}");
    let mut opened: Vec<Option<PacketPort>> = links.iter().map(|_| None).collect();
    let mut far = None;
    for i in 0..links.len() {
        let l = &links[i];
        let p = s.topology.nodes[l.node.index()].ports[l.port as usize];
        if opened[i].is_some() {
            continue;
        }
        let (near, end) = pair(&name(l.node, l.port), &name(p.peer, p.peer_port), 1500)?;
        opened[i] = Some(near);
        match links.iter().position(|o| (o.node, o.port) == (p.peer, p.peer_port)) {
            Some(other) => opened[other] = Some(end),
            None => far = Some(end),
        }
    }
    let mut far = far.ok_or("no sink")?;
    let ports = opened.into_iter().flatten().map(|p| Box::new(p) as Box<dyn Port>).collect();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let measuring = std::thread::spawn(move || -> Result<Vec<f64>, Failed> {
        let all = (0..PAUSES).map(|i| reaction(&mut far, mac(switch, 9), i)).collect();
        stopped.store(true, Ordering::Relaxed);
        all
    });
    let mut running = s.start_outside(Sink::Nothing, here).map_err(|e| e.to_string())?;
    let machine = wiring::machine(&s, links, &Real::default(), running.world());
    let runner = RunnerConfig {
        nap: Duration::ZERO,
        report: Duration::from_millis(20),
        ..RunnerConfig::default()
    };
    let ended = Live::new(machine, ports, runner, None)
        .run(running.world(), |_| !stop.load(Ordering::Relaxed));
    ended.map_err(|e| e.to_string())?;
    measuring.join().map_err(|_| "the sink failed".to_string())?
}

fn reaction(
    far: &mut PacketPort,
    own: xoff_real::wire::ethernet::Mac,
    nth: usize,
) -> Result<f64, Failed> {
    let failed = |e: std::io::Error| e.to_string();
    let pause = |quanta: u16| {
        let mut out = [0; 64];
        let pfc = Pfc::one(0, quanta).unwrap_or(Pfc { times: [None; 8] });
        let n = mac_control::Repr::Pfc(pfc).emit_frame(own, &mut out).unwrap_or(0);
        out[..n].to_vec()
    };
    // Somewhere in a stream that runs: not in step with its frames.
    let until = Instant::now() + Duration::from_micros(3000 + 137 * (nth as u64 % 29));
    while Instant::now() < until {
        far.receive(64, &mut |_| ()).map_err(failed)?;
    }
    far.send(&pause(u16::MAX)).map_err(failed)?;
    far.flush().map_err(failed)?;
    let paused = Instant::now();
    let mut last = paused;
    // Silence of 5 ms, some 400 frame times, means that it has obeyed.
    while last.elapsed() < Duration::from_millis(5) {
        if far.receive(64, &mut |_| ()).map_err(failed)? > 0 {
            last = Instant::now();
        }
        if paused.elapsed() > Duration::from_secs(1) {
            return Err("a pause was not obeyed within a second".into());
        }
    }
    far.send(&pause(0)).map_err(failed)?;
    far.flush().map_err(failed)?;
    Ok(last.duration_since(paused).as_secs_f64())
}
