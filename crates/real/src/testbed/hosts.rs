//! The IP hosts of a testbed: namespaces with a stack, and the commands that run in them.

use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::netio::sandbox::{self, Capability, Host, Missing};
use crate::netio::{Port, TapPort};
use crate::switchd::{Link, mac};
use schemars::JsonSchema;
use serde::Serialize;
use xoff_record::output::{Folder, OutputError};
use xoff_run::NetworkScenario;
use xoff_units::NodeId;
use xoff_units::params::ParamError;

use crate::testbed::drive::Next;
use crate::testbed::shims::Shim;
use crate::testbed::stack::{StackPort, tc};
use crate::testbed::veth_network::{self, NetworkError};

/// The interface of a stack, in a namespace where there is no other.
const INTERFACE: &str = "eth0";
/// Distance of the starts of two commands: time for a server to listen.
const APART: Duration = Duration::from_millis(500);
/// Once the last command has ended, the others have so long to end by themselves.
const GRACE: Duration = Duration::from_millis(500);

/// Bytes around a frame of a stack beyond its MTU: header and FCS [bytes].
const AROUND: u32 = 18;
/// Places in the kernel's ring of a tap [frames]: those that a stack sends at 100 Mb/s in a second
/// and more, because for so long a process may be away on a machine with other work.
const TAP_RING: u32 = 10_000;
/// Least MTU that IPv4 asks for (RFC 791) [bytes].
const MTU_MIN: u32 = 68;

/// MTU of the stacks: their frames are no longer than those that the scenario's buffers are planned
/// for [bytes].
pub fn mtu(s: &NetworkScenario) -> Result<u32, ParamError> {
    let (payload, header) = s.frame();
    let mtu = (payload + header).saturating_sub(AROUND);
    if mtu < MTU_MIN {
        let what = format!("frames of {} B are too short for IP", payload + header);
        return Err(ParamError::new("host.frame_max", what, "set host.frame_max = \"1500B\""));
    }
    Ok(mtu)
}

/// Readies a tap of this name for a shim in front of a stack of the calling thread's network: its
/// address is that of the scenario's host, and it stays silent until it is sent to.
pub fn tap(name: &str, host: NodeId, mtu: u32) -> Result<TapPort, NetworkError> {
    let failed = |e| NetworkError::Host(name.to_owned(), e);
    sandbox::check_name(name).map_err(failed)?;
    // Root of a namespace may make taps, if the device is open to all.
    let tun = File::options().read(true).write(true).open("/dev/net/tun");
    tun.map_err(|error| NetworkError::Missing(Missing { capability: Capability::Tun, error }))?;
    let tap = TapPort::create(name, mtu).map_err(NetworkError::Open)?;
    let quiet = std::fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1");
    match quiet {
        // No IPv6 in this kernel.
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        other => other.map_err(failed)?,
    }
    let address = mac(host, 0);
    sandbox::ip(&format!("link set dev {name} txqueuelen {TAP_RING} address {address}\n"))
        .map_err(failed)?;
    Ok(tap)
}

/// Hosts with a stack each.
pub struct IpHosts {
    hosts: Vec<(Shim, Host)>,
}

impl IpHosts {
    /// Makes the hosts, and opens the ports of all links in order: of veth pairs, and of taps where
    /// a shim meets its stack.
    pub fn new(
        s: &NetworkScenario,
        shims: &[Shim],
        links: &[Link],
    ) -> Result<(IpHosts, Vec<Box<dyn Port>>), NetworkError> {
        let mtu = mtu(s).map_err(|e| {
            NetworkError::Host(e.key.clone(), io::Error::new(io::ErrorKind::InvalidInput, e.what))
        })?;
        let wired: Vec<Link> = links.iter().filter(|l| !l.plain).cloned().collect();
        let mut wired = veth_network::ports(s, &wired)?.into_iter();
        let mut hosts: Vec<(Shim, Host)> = Vec::new();
        let mut ports: Vec<Box<dyn Port>> = Vec::new();
        for l in links {
            let Some(shim) = shims.iter().find(|shim| (shim.node, shim.stack) == (l.node, l.port))
            else {
                ports.extend(wired.next());
                continue;
            };
            let (host, port) = stack(s, shim, shims, mtu)?;
            hosts.push((shim.clone(), host));
            ports.push(Box::new(port));
        }
        Ok((IpHosts { hosts }, ports))
    }

    /// Starts nothing yet; see [`Commands::look`].
    pub fn commands(self, runs: Vec<Run>, folder: &Folder) -> Result<Commands, OutputError> {
        let names: Vec<String> = (0..runs.len()).map(|nth| output_name(&runs, nth)).collect();
        let outputs = names.iter().map(|name| folder.own(name)).collect::<Result<_, _>>()?;
        Ok(Commands {
            hosts: self.hosts,
            runs,
            outputs,
            started: Vec::new(),
            last_ended: None,
            unstarted: None,
        })
    }
}

/// A namespace with a stack, and the port by which the shim meets it.
fn stack(
    s: &NetworkScenario,
    shim: &Shim,
    all: &[Shim],
    mtu: u32,
) -> Result<(Host, StackPort), NetworkError> {
    let failed = |e| NetworkError::Host(shim.name.clone(), e);
    let host = Host::new(&shim.name).map_err(failed)?;
    let number = shim.host;
    let tap = host.run(move || {
        // It would begin to talk as soon as the tap is up.
        let _ = std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
        tap(INTERFACE, number, mtu)
    })?;
    // Tables of a testbed know every host beforehand, and carry no broadcasts; so do the stacks.
    let mut batch = format!("addr add {}/24 dev {INTERFACE}\n", shim.address);
    for other in all.iter().filter(|o| o.host != shim.host) {
        batch += &format!(
            "neigh replace {} lladdr {} nud permanent dev {INTERFACE}\n",
            other.address,
            mac(other.host, 0)
        );
    }
    host.run(move || sandbox::ip(&batch)).map_err(failed)?;
    let tc = host.spawn(tc()).map_err(|e| {
        failed(io::Error::new(e.kind(), format!("tc (iproute2) cannot be started: {e}")))
    })?;
    let rate = s.topology.link_at(shim.node, shim.stack).rate;
    let port = StackPort::new(tap, tc, rate).map_err(failed)?;
    Ok((host, port))
}

/// A command for a host, as given: `H1=iperf3 -s -1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Name of the host.
    pub host: String,
    /// Command, for the shell.
    pub command: String,
}

impl Run {
    /// Reads `HOST=COMMAND`; the host has to be one of those with a stack.
    pub fn parse(text: &str, ip: &[String]) -> Result<Run, ParamError> {
        let bad = |what: String| {
            Err(ParamError::new(
                "--run",
                what,
                format!("write HOST=COMMAND; hosts with a stack: {}", ip.join(", ")),
            ))
        };
        match text.split_once('=').map(|(host, command)| (host.trim(), command.trim())) {
            None | Some((_, "")) => bad(format!("'{text}' does not name a command")),
            Some((host, _)) if !ip.iter().any(|i| i == host) => bad(format!("{host} has no stack")),
            Some((host, command)) => Ok(Run { host: host.into(), command: command.into() }),
        }
    }
}

/// A command that was started.
struct Started {
    child: Child,
    since: Instant,
    output: PathBuf,
    ended: Option<(ExitStatus, Duration)>,
}

/// Result of a command.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct RunReport {
    /// Host.
    pub host: String,
    /// Command that was run.
    pub command: String,
    /// Exit code; null: it was never started, or a signal ended it.
    pub exit_code: Option<i32>,
    /// In words.
    pub ended: String,
    /// Duration [s].
    pub seconds: f64,
    /// File with its output.
    pub output: PathBuf,
}

/// The commands of a run, under way.
pub struct Commands {
    hosts: Vec<(Shim, Host)>,
    runs: Vec<Run>,
    /// Files of their outputs.
    outputs: Vec<PathBuf>,
    started: Vec<Started>,
    last_ended: Option<Instant>,
    /// Reason why a command could not be started.
    unstarted: Option<io::Error>,
}

impl Commands {
    /// Starts due commands and collects ended ones; `wall` is the time since the start of the
    /// network. Returns what the network does next: one whose command cannot be started stops, and
    /// [`Commands::unstarted`] has the reason.
    pub fn look(&mut self, wall: Duration) -> Next {
        match self.go_on(wall) {
            Ok(false) => Next::On,
            Ok(true) => Next::Done,
            Err(e) => {
                self.unstarted = Some(e);
                Next::Stop
            }
        }
    }

    /// Reason why a command could not be started; `None`: all attempted commands were started.
    pub fn unstarted(&mut self) -> Option<io::Error> {
        self.unstarted.take()
    }

    /// True: all is done.
    fn go_on(&mut self, wall: Duration) -> io::Result<bool> {
        let next = self.started.len();
        if next < self.runs.len() && wall >= APART * next as u32 {
            let started = self.start(next)?;
            self.started.push(started);
        }
        for s in self.started.iter_mut().filter(|s| s.ended.is_none()) {
            s.ended = s.child.try_wait()?.map(|status| (status, s.since.elapsed()));
        }
        if self.runs.is_empty() || self.started.len() < self.runs.len() {
            return Ok(false);
        }
        if self.started.last().is_some_and(|s| s.ended.is_some()) && self.last_ended.is_none() {
            self.last_ended = Some(Instant::now());
        }
        Ok(self.last_ended.is_some_and(|at| {
            at.elapsed() >= GRACE || self.started.iter().all(|s| s.ended.is_some())
        }))
    }

    fn start(&self, nth: usize) -> io::Result<Started> {
        let Run { host, command } = &self.runs[nth];
        let (_, at) =
            self.hosts.iter().find(|(s, _)| s.name == *host).ok_or(io::ErrorKind::NotFound)?;
        let output = self.outputs[nth].clone();
        let file = File::create(&output)?;
        let mut shell = Command::new("sh");
        // A group of its own: all that it starts ends with it.
        shell
            .args(["-c", command])
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .process_group(0);
        Ok(Started { child: at.spawn(shell)?, since: Instant::now(), output, ended: None })
    }

    /// Ends running commands, and reports the results of all.
    pub fn finish(mut self) -> Vec<RunReport> {
        self.runs
            .iter()
            .enumerate()
            .map(|(nth, run)| report(run, self.started.get_mut(nth)))
            .collect()
    }
}

/// Name of the file for the output of the `nth` command.
fn output_name(runs: &[Run], nth: usize) -> String {
    let host = &runs[nth].host;
    match runs[..nth].iter().filter(|r| r.host == *host).count() {
        0 => format!("{host}.txt"),
        before => format!("{host}-{}.txt", before + 1),
    }
}

fn report(run: &Run, started: Option<&mut Started>) -> RunReport {
    let (host, command) = (run.host.clone(), run.command.clone());
    let Some(s) = started else {
        return RunReport {
            host,
            command,
            exit_code: None,
            ended: "never started".into(),
            seconds: 0.0,
            output: PathBuf::new(),
        };
    };
    let (exit_code, ended, lasted) = match s.ended {
        Some((status, lasted)) => match (status.code(), status.signal()) {
            (Some(code), _) => (Some(code), format!("exit code {code}"), lasted),
            (_, signal) => (None, format!("ended by signal {}", signal.unwrap_or(0)), lasted),
        },
        None => {
            end(&mut s.child);
            (None, "stopped at the end of the run".into(), s.since.elapsed())
        }
    };
    RunReport {
        host,
        command,
        exit_code,
        ended,
        seconds: lasted.as_secs_f64(),
        output: s.output.clone(),
    }
}

/// Ends a command with all that it has started.
fn end(child: &mut Child) {
    if let Some(group) = rustix::process::Pid::from_raw(child.id() as i32) {
        // It may have ended just now.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.wait();
}
