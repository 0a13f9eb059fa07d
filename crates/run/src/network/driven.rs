//! A network that another program drives: it submits messages, receives and timers, and takes their
//! results, one after the other. So a simulator of computing hosts gets a lossless network.
//!
//! ```text
//!   send(message) ---> the network: exact, frame by frame --+--> next() : sent, delivered, acknowledged, deadlock
//!   receive(bytes) --> receives: match what is delivered ---+--> next() : received
//!   schedule(time) --> timers ------------------------------+--> next() : timer; time stops there
//! ```

pub(in crate::network) mod calls;
mod finish;
mod receives;
mod saved;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::path::Path;

use calls::{Line, Log, Numbering, flow_of};
use receives::Receives;
use xoff_net::topology::routing::Routes;
use xoff_net::topology::{NodeKind, failures};
use xoff_net::workload::UNLIMITED;
use xoff_scenario::document::{Document, Override};
use xoff_scenario::{Problem, Problems};
use xoff_sim::{News, PathFacts, Reached, SLICE, World, path_facts};
use xoff_units::paged::PageFile;
use xoff_units::params::ParamError;
use xoff_units::state::State;
use xoff_units::{FlowId, NodeId, PortId, Rate, Span, Time};

use super::NetworkScenario;
use super::execute::{ALONE, Whereabouts};
use super::read::read_driven;
use crate::RunError;

/// A message from one host to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub struct Message {
    /// Number of the sending host, see [`Driven::host`].
    pub src: NodeId,
    /// Number of the receiving host.
    pub dst: NodeId,
    /// Payload [bytes]. A message without any takes as long as one of 1 byte; a message to its own
    /// host arrives at once.
    pub bytes: u64,
    /// Priority, one of those that the network was made for.
    pub priority: u8,
    /// Messages of one queue pair leave one after the other, by one way, and share their congestion
    /// state; `None`: a pair of its own.
    pub queue_pair: Option<u16>,
    /// Value of the driver that returns with the result. Receives match messages by it.
    pub tag: u64,
}

/// Bytes that a host expects, see [`Driven::receive`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receive {
    /// Number of the receiving host.
    pub dst: NodeId,
    /// Number of the sending host.
    pub src: NodeId,
    /// Tag of the messages that count.
    pub tag: u64,
    /// Payload of one or several messages, or a part of one [bytes].
    pub bytes: u64,
    /// Value of the driver that returns with the result.
    pub token: u64,
}

/// Event of a driven network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub enum What {
    /// The source has begun to put the last frame of a message on its wire: the next one of its
    /// queue pair follows.
    Sent,
    /// The last byte of a message has arrived, and all before it.
    Delivered,
    /// The source of a message knows that it has arrived. Only after [`Driven::report_acknowledged`].
    Acknowledged,
    /// The bytes of a receive have arrived.
    Received,
    /// A time that was asked for has come.
    Timer,
    /// The deadlock detector has found ports that can never send again. From then on each wait
    /// without a limit ends so.
    Deadlock,
}

/// Something that has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub struct Happened {
    /// Kind of the event.
    pub what: What,
    /// Time of the event.
    pub at: Time,
    /// Number of the message, the receive or the timer, as [`Driven::send`], [`Driven::receive`] or
    /// [`Driven::schedule`] returned it.
    pub id: u64,
    /// The tag, or the token, that was given with it.
    pub tag: u64,
}

/// The caller ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

/// A network that another program drives.
pub struct Driven {
    scenario: NetworkScenario,
    /// Digest of the scenario before links failed on command.
    digest: u64,
    world: World,
    /// Routes after links have failed on command.
    rerouted: Option<Routes>,
    facts: HashMap<(NodeId, NodeId), PathFacts>,
    numbering: Numbering,
    /// The calls so far that the network saw.
    log: Log,
    /// Place and time of the last wait in the log.
    waited: (u64, Time),
    /// By number of the flow: the message that it is, with its number. Flows of the scenario are
    /// none.
    messages: HashMap<FlowId, (u64, Message)>,
    messages_made: u64,
    /// Timers by time and number, with their tags.
    timers: BinaryHeap<Reverse<(Time, u64, u64)>>,
    timers_made: u64,
    receives: Option<Receives>,
    reports_acknowledged: bool,
    waiting: VecDeque<Happened>,
    now: Time,
    deadlocks_reported: usize,
}

impl Driven {
    /// A network at rest, from the text of a scenario, which needs no flows; those that it has run
    /// as usual. Error messages contain `name`, files are looked up in `folder`. Messages may have
    /// any of `priorities`, each 0 to 7. `run.duration` ends nothing.
    ///
    /// # Errors
    /// All problems of the scenario, each with its place and the expected form; no priority, or one
    /// above 7.
    pub fn new(
        name: &str,
        text: &str,
        settings: &[Override],
        folder: &Path,
        priorities: &[u8],
    ) -> Result<Driven, Problems> {
        if priorities.is_empty() || priorities.iter().any(|p| *p > 7) {
            return Err(Problem::new(
                format!("priorities: {priorities:?}"),
                "expected one or more from 0 to 7",
            )
            .into());
        }
        let mut scenario =
            read_driven(Document::from_text(name, text, settings)?, folder, priorities)?;
        // The last flow of the scenario is not the end, and nothing is recorded.
        scenario.model.stop_when_done = false;
        scenario.model.probes = Default::default();
        let file = tempfile::tempfile().map_err(|e| {
            let folder = std::env::temp_dir();
            Problem::new(
                format!("cannot make a temporary file in {}: {e}", folder.display()),
                "set TMPDIR to a folder that you may write to",
            )
        })?;
        let file = PageFile::new(file);
        let world = build(&scenario, 1, &file)
            .map_err(|e| Problem::new(format!("{}: {}", e.key, e.what), e.hint))?;
        Ok(Driven {
            digest: scenario.digest(),
            scenario,
            world,
            rerouted: None,
            facts: HashMap::new(),
            numbering: Numbering::default(),
            log: Log::new(file),
            waited: (0, Time::ZERO),
            messages: HashMap::new(),
            messages_made: 0,
            timers: BinaryHeap::new(),
            timers_made: 0,
            receives: None,
            reports_acknowledged: false,
            waiting: VecDeque::new(),
            now: Time::ZERO,
            deadlocks_reported: 0,
        })
    }

    /// The network runs on so many threads where [`Self::advance_while`] lets it, if it can be
    /// divided. Never changes a result. Returns the number of threads.
    ///
    /// # Errors
    /// No thread, time has passed, or a call was made that the network saw.
    pub fn set_threads(&mut self, threads: usize) -> Result<usize, ParamError> {
        if threads == 0 {
            return Err(ParamError::new("threads", "0", "expected 1 or more"));
        }
        if self.messages_made > 0 || self.log.len() > 0 || self.now > Time::ZERO {
            let what = "the network has begun";
            return Err(ParamError::new("threads", what, "ask for them before anything else"));
        }
        if threads != self.world.threads() {
            self.world = build(&self.scenario, threads, self.log.file())?;
        }
        Ok(self.world.threads())
    }

    /// Threads that the network runs on.
    pub fn threads(&self) -> usize {
        self.world.threads()
    }

    /// The first of the priorities that messages may have.
    pub fn priority(&self) -> u8 {
        self.scenario.flows.handed_in.first().copied().unwrap_or_default()
    }

    /// Reason for one thread although more were asked for.
    pub fn unsplit(&self) -> Option<&str> {
        self.world.unsplit()
    }

    /// Number of the host with a name.
    pub fn host(&self, name: &str) -> Option<NodeId> {
        let nodes = &self.scenario.topology.nodes;
        nodes
            .iter()
            .position(|n| n.kind == NodeKind::Host && n.name == name)
            .map(|i| NodeId(i as u32))
    }

    /// The hosts, by number.
    pub fn hosts(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.scenario.topology.hosts()
    }

    /// Name of a node.
    pub fn name(&self, node: NodeId) -> Option<&str> {
        self.scenario.topology.nodes.get(node.index()).map(|n| n.name.as_str())
    }

    /// Present time: the time of the last [`Self::next`].
    pub fn now(&self) -> Time {
        self.now
    }

    /// Frames that were lost until now, of every kind.
    pub fn lost_frames(&self) -> u64 {
        self.world.lost_frames()
    }

    /// Rate of a host [bit/s]: of all its links that are up.
    ///
    /// # Errors
    /// No such host.
    pub fn host_rate(&self, host: NodeId) -> Result<Rate, ParamError> {
        self.is_host("host", host)?;
        let t = &self.scenario.topology;
        let links = t.nodes[host.index()].ports.iter().map(|p| &t.links[p.link as usize]);
        Ok(Rate(links.filter(|l| l.up).map(|l| l.rate.0).sum()))
    }

    /// A link fails now, in both directions, for the rest of the run: frames on it and before it are
    /// lost, and routes are recomputed at once, as by `[[failure]]` of a scenario. A link that has
    /// failed stays so.
    ///
    /// # Errors
    /// No link, or several, of this name.
    pub fn fail_link(&mut self, name: &str) -> Result<(), ParamError> {
        let link = failures::find_link(&self.scenario.topology, name)?;
        self.note_call(Line { what: calls::What::FailLink, a: link, ..Line::default() });
        self.scenario.topology.links[link as usize].up = false;
        self.world.fail_now(link);
        let routes = |t| self.scenario.model.routing.routes(t);
        self.rerouted = self.world.topology().map(routes);
        Ok(())
    }

    /// Sets the rate of a link, in both directions, from the next frame on. Thresholds, windows and
    /// rate controls stay those of the rate that the scenario gave.
    ///
    /// # Errors
    /// No link, or several, of this name; no rate, or one above that of the scenario; switches that
    /// cut through.
    pub fn set_rate(&mut self, name: &str, rate: Rate) -> Result<(), ParamError> {
        let topology = &self.scenario.topology;
        let number = failures::find_link(topology, name)?;
        let link = &topology.links[number as usize];
        if rate == Rate::ZERO || rate > link.rate {
            return Err(ParamError::new(
                "rate",
                format!("{rate}"),
                format!("expected more than 0, and at most {} of the scenario", link.rate),
            ));
        }
        if self.scenario.cut_through().is_some() {
            return Err(ParamError::new(
                "rate",
                "a switch that cuts through knows the rates of its links",
                "remove switch.cut_through",
            ));
        }
        let ends = [(link.a, link.a_port), (link.b, link.b_port)].map(PortId::from);
        self.note_call(Line {
            what: calls::What::SetRate,
            a: number,
            amount: rate.0,
            ..Line::default()
        });
        self.world.set_rate(ends, rate);
        Ok(())
    }

    /// From now on [`What::Acknowledged`] is reported.
    ///
    /// # Errors
    /// Hosts of this scenario send no acknowledgements; a message was sent before.
    pub fn report_acknowledged(&mut self) -> Result<(), ParamError> {
        if !self.scenario.model.nic.transport.acknowledges() {
            return Err(ParamError::new(
                "acknowledged",
                "hosts of this scenario send no acknowledgements",
                "set host.acks",
            ));
        }
        self.is_before_messages("acknowledged")?;
        self.reports_acknowledged = true;
        Ok(())
    }

    /// From now on messages match receives.
    ///
    /// # Errors
    /// A message was sent before.
    pub fn match_receives(&mut self) -> Result<(), ParamError> {
        self.is_before_messages("received")?;
        self.receives.get_or_insert_default();
        Ok(())
    }

    fn is_before_messages(&self, key: &'static str) -> Result<(), ParamError> {
        match self.messages_made {
            0 => Ok(()),
            n => Err(ParamError::new(
                key,
                format!("{n} messages were sent before"),
                "ask for it before the first message",
            )),
        }
    }

    /// A host expects bytes from another host, or from itself. [`What::Received`] is reported when
    /// so many have been delivered by messages with this tag and not yet been received: receives with
    /// the same tag and ends are served in their order. A message or a receive of 0 bytes counts as
    /// one byte. Returns the number of the receive.
    ///
    /// # Errors
    /// No such host; receives are not matched ([`Self::match_receives`]).
    pub fn receive(&mut self, r: &Receive) -> Result<u64, ParamError> {
        self.is_host("dst", r.dst)?;
        self.is_host("src", r.src)?;
        let Some(receives) = &mut self.receives else {
            return Err(ParamError::new(
                "receive",
                "messages match no receives in this network",
                "ask for it before the first message",
            ));
        };
        let (id, complete) = receives.expect(r);
        self.note_received(complete);
        Ok(id)
    }

    fn note_received(&mut self, complete: Vec<(u64, u64)>) {
        let happened = |(id, tag)| Happened { what: What::Received, at: self.now, id, tag };
        self.waiting.extend(complete.into_iter().map(happened));
    }

    /// A message was delivered.
    fn note_delivered(&mut self, id: u64, m: &Message) {
        let delivered = Happened { what: What::Delivered, at: self.now, id, tag: m.tag };
        self.waiting.push_back(delivered);
        let complete = self.receives.as_mut().map(|r| r.deliver(m)).unwrap_or_default();
        self.note_received(complete);
    }

    fn is_host(&self, key: &'static str, node: NodeId) -> Result<(), ParamError> {
        match self.scenario.topology.nodes.get(node.index()) {
            Some(n) if n.kind == NodeKind::Host => Ok(()),
            _ => Err(ParamError::new(
                key,
                format!("node {node} is not a host"),
                "expected the number of a host",
            )),
        }
    }

    /// A message begins now. Returns its number.
    ///
    /// # Errors
    /// No such host, no route, too many bytes, a priority that the network was not made for, as many
    /// messages as can be distinguished: the argument, and the expected form.
    pub fn send(&mut self, m: &Message) -> Result<u64, ParamError> {
        self.is_host("src", m.src)?;
        self.is_host("dst", m.dst)?;
        if m.bytes == UNLIMITED {
            return Err(ParamError::new(
                "bytes",
                format!("{} bytes", m.bytes),
                "expected at most 2^64 - 2",
            ));
        }
        if !self.scenario.flows.handed_in.contains(&m.priority) {
            let what = format!("priority {}", m.priority);
            return Err(ParamError::new(
                "priority",
                what,
                format!("expected one of {:?}", self.scenario.flows.handed_in),
            ));
        }
        if m.src == m.dst {
            let id = self.messages_made;
            self.messages_made += 1;
            let at = self.now;
            let happened = |what| Happened { what, at, id, tag: m.tag };
            self.waiting.push_back(happened(What::Sent));
            self.note_delivered(id, m);
            if self.reports_acknowledged {
                self.waiting.push_back(happened(What::Acknowledged));
            }
            return Ok(id);
        }
        let scenario = &self.scenario;
        let routes = self.rerouted.as_ref().unwrap_or(self.world.routes());
        if scenario.ports(routes, &flow_of(m, 0, 0)).is_none() {
            let (src, dst) = (scenario.topology.name(m.src), scenario.topology.name(m.dst));
            return Err(ParamError::new(
                "dst",
                format!("{src} has no route to {dst}"),
                "choose hosts with a route between them",
            ));
        }
        if self.messages_made >= self.world.flows_max() {
            return Err(ParamError::new(
                "message",
                "the network has no message numbers left",
                "create a new network",
            ));
        }
        let id = self.messages_made;
        self.messages_made += 1;
        self.note_call(Line {
            what: calls::What::Send,
            a: m.src.0,
            b: m.dst.0,
            amount: m.bytes,
            priority: m.priority,
            queue_pair: m.queue_pair,
            ..Line::default()
        });
        let (flow, pair) = self.numbering.flow(m, self.scenario.flows.handed_in_label());
        // By the routes at the start, as for a scenario's flows.
        let (scenario, routes) = (&self.scenario, self.world.routes());
        let facts = *self.facts.entry((m.src, m.dst)).or_insert_with(|| {
            path_facts(&scenario.topology, routes, &scenario.model, m.src, m.dst)
        });
        let number = self.world.hand_in(flow, facts, pair);
        self.messages.insert(FlowId(number.0), (id, *m));
        Ok(id)
    }

    /// [`Self::next`] returns no later than this time from now. Returns the timer's number.
    pub fn schedule(&mut self, after: Span, tag: u64) -> u64 {
        let id = self.timers_made;
        self.timers_made += 1;
        self.timers.push(Reverse((Time(self.now.0.saturating_add(after.0)), id, tag)));
        id
    }

    /// Next event; `None`: no event until `until`, which is then the present time, or, if that is
    /// [`Time::NEVER`], no event ever. At equal times the network comes first, then timers in the
    /// order of their creation.
    pub fn next(&mut self, until: Time) -> Option<Happened> {
        self.next_while(until, || true).unwrap_or_default()
    }

    /// [`Self::next`] that asks `go_on` now and then. `Err`: it said no; the network stands at an
    /// event that is not reported, and continues with the next call.
    pub fn next_while(
        &mut self,
        until: Time,
        mut go_on: impl FnMut() -> bool,
    ) -> Result<Option<Happened>, Interrupted> {
        loop {
            if let Some(next) = self.waiting.pop_front() {
                return Ok(Some(next));
            }
            let timer = self.timers.peek().map(|Reverse(t)| *t).filter(|t| t.0 <= until);
            let limit = timer.map_or(until, |t| t.0).max(self.now);
            // Receivers that send credits by the clock never come to rest.
            if limit == Time::NEVER && timer.is_none() && self.has_nothing_to_report() {
                return Ok(None);
            }
            self.run(limit, false, &mut go_on)?;
            if !self.waiting.is_empty() {
                continue;
            }
            // Time stops while a caller waits without a limit.
            if timer.is_none() && limit == Time::NEVER {
                return Ok((self.deadlocks_reported > 0).then(|| self.deadlock()));
            }
            self.reach(limit);
            let Some((at, id, tag)) = timer else { return Ok(None) };
            self.timers.pop();
            return Ok(Some(Happened { what: What::Timer, at, id, tag }));
        }
    }

    /// Nothing is sent before `until`: the network runs until then, on all its threads, and
    /// [`Self::next`] returns what has happened, each with its time. The present time is `until`
    /// then. Asks `go_on` now and then. `Err`: it said no; the network has come less far.
    ///
    /// # Errors
    /// See there.
    pub fn advance_while(
        &mut self,
        until: Time,
        mut go_on: impl FnMut() -> bool,
    ) -> Result<(), Interrupted> {
        let limit = until.max(self.now);
        let ran = self.run(limit, true, &mut go_on);
        if ran.is_ok() {
            self.reach(limit);
        }
        while let Some(&Reverse((at, id, tag))) =
            self.timers.peek().filter(|Reverse(t)| t.0 <= self.now)
        {
            self.timers.pop();
            // At equal times the network comes first.
            let place = self.waiting.partition_point(|h| h.at <= at);
            self.waiting.insert(place, Happened { what: What::Timer, at, id, tag });
        }
        ran
    }

    /// [`Self::advance_while`] to its end.
    pub fn advance(&mut self, until: Time) {
        let Ok(()) = self.advance_while(until, || true) else { return };
    }

    /// No message is under way, and no flow of the scenario that might end in a deadlock.
    fn has_nothing_to_report(&self) -> bool {
        self.messages.is_empty() && self.scenario.flows.flows.is_empty()
    }

    /// Runs the network until something becomes known, or until `limit`; `ahead`: not less far.
    fn run(
        &mut self,
        limit: Time,
        ahead: bool,
        go_on: &mut impl FnMut() -> bool,
    ) -> Result<(), Interrupted> {
        loop {
            let ended = match ahead {
                true => self.world.run_ahead(limit, self.world.slice()),
                false => self.world.run(limit, SLICE),
            };
            for news in self.world.news() {
                self.note(&news);
            }
            if self.world.deadlocks().len() > self.deadlocks_reported {
                self.deadlocks_reported = self.world.deadlocks().len();
                self.now = self.now.max(self.world.now());
                let deadlock = self.deadlock();
                self.waiting.push_back(deadlock);
            }
            // In a blocked network, messages of flow control continue forever.
            let stands = limit == Time::NEVER && self.deadlocks_reported > 0;
            if ended.is_some() || !ahead && (!self.waiting.is_empty() || stands) {
                return Ok(());
            }
            if !go_on() {
                self.now = self.now.max(self.world.now());
                return Err(Interrupted);
            }
        }
    }

    fn note(&mut self, news: &News) {
        self.now = news.at;
        let Some(&(id, message)) = self.messages.get(&news.flow) else { return };
        let happened = |what| Happened { what, at: news.at, id, tag: message.tag };
        let last = match (news.reached, self.reports_acknowledged) {
            (Reached::Sent, _) => {
                self.waiting.push_back(happened(What::Sent));
                false
            }
            (Reached::Delivered, more) => {
                self.note_delivered(id, &message);
                !more
            }
            (Reached::Acknowledged, reports) => {
                if reports {
                    self.waiting.push_back(happened(What::Acknowledged));
                }
                reports
            }
        };
        if last {
            self.messages.remove(&news.flow);
        }
    }

    fn deadlock(&self) -> Happened {
        Happened { what: What::Deadlock, at: self.now, id: self.deadlocks_reported as u64, tag: 0 }
    }

    fn reach(&mut self, time: Time) {
        self.now = time;
        let place = (self.world.node_events(), time);
        if place != self.waited {
            self.waited = place;
            self.note_call(Line::default());
        }
        self.world.wait_until(time);
    }

    /// The network sees a call now.
    fn note_call(&self, call: Line) {
        self.log.push(Line { after: self.world.node_events(), at: self.now.0, ..call });
    }
}

/// The world of a driven scenario, with the records of its messages in a file.
fn build(scenario: &NetworkScenario, threads: usize, file: &PageFile) -> Result<World, ParamError> {
    let of = Whereabouts { threads, ..ALONE };
    let mut world = scenario.build(&of, Default::default()).map_err(|e| match e {
        RunError::Build(e) => e,
        other => ParamError::new("network", other.to_string(), ""),
    })?;
    world.keep_records_in(file);
    Ok(world)
}
