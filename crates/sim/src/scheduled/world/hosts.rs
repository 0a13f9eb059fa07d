//! Hosts, input buffers, PAUSE and congestion notification.

use xoff_mech::detection::qcn::Cnm;
use xoff_mech::rate_control::{Feedback, RateControl as _, Wakes};
use xoff_net::workload::random;
use xoff_units::state::State;
use xoff_units::{Bytes, FlowId, Time};

use super::mail::Mail;
use super::part::Part;
use crate::scheduled::event::Kind;
use crate::scheduled::flow::Tag;
use crate::scheduled::host::{Buffers, Host, HostFrame, HostReport, HostWindow, Hosts, Multicasts};
use crate::scheduled::port::Local;

/// All that there is only with hosts in front of the ports.
#[derive(State)]
pub(super) struct HostSide {
    #[state(built)]
    pub config: Hosts,
    pub hosts: Local<Host>,
    pub buffers: Local<Buffers>,
    /// Place of each flow among the senders of its host.
    #[state(built)]
    pub place: Vec<u32>,
    pub multicasts: Multicasts,
    /// Bytes of each flow in its input buffer [bytes].
    pub held: Vec<u64>,
    /// Since when each host is stopped [ps].
    pub stopped_since: Local<u64>,
    pub window: HostWindow,
    pub report: HostReport,
}

impl Part {
    /// With hosts a packet of the workload goes through its host.
    pub(super) fn through_host(&mut self, port: usize, destination: u32, len: u32) {
        let Some(side) = &mut self.hosts else { return };
        side.hosts[port].queue.push_back(HostFrame { flow: None, destination, len });
        self.host_line(port);
    }

    /// Puts the next frame of a host on its line.
    pub(super) fn host_line(&mut self, port: usize) {
        let Some(side) = &mut self.hosts else { return };
        let (c, h) = (&side.config, &mut side.hosts[port]);
        if h.call == self.now {
            h.call = u64::MAX;
        }
        if h.stopped {
            return;
        }
        let mut call = u64::MAX;
        if h.busy_until > self.now {
            call = h.busy_until;
        } else {
            let frame = h.queue.pop_front().or_else(|| {
                let n = h.senders.len();
                let mut soonest = u64::MAX;
                let chosen = (0..n).map(|i| (h.next + i) % n).find(|&i| {
                    let s = &h.senders[i];
                    let ends = c.flows[s.number as usize].stop.0;
                    if self.now < s.due && s.due < ends {
                        soonest = soonest.min(s.due);
                    }
                    s.due <= self.now && self.now < ends
                });
                call = soonest;
                let i = chosen?;
                h.next = i + 1;
                let s = &mut h.senders[i];
                let flow = &c.flows[s.number as usize];
                let len = c.frame.0 as u32;
                let mut wakes = Wakes::default();
                if let Some(rc) = &mut s.rate_control {
                    rc.on_sent(Time(self.now), c.frame, &mut wakes);
                }
                // The time lost to another frame on the line is made up for, the time lost to a
                // pause is not.
                let wire = c.frame + c.overhead;
                s.base =
                    s.due.max(self.now.saturating_sub(2 * self.plan.config.line.time_for(wire).0));
                if c.gap_jitter > 0 {
                    s.stretch = 1_000 - c.gap_jitter
                        + random::below(&mut h.rng, u64::from(2 * c.gap_jitter + 1)) as u32;
                }
                s.pace(flow.rate, wire);
                for (which, at) in wakes.iter() {
                    self.events.add(
                        at.0,
                        Kind::HostTimer,
                        port,
                        (i as u32) << 8 | u32::from(which),
                    );
                }
                Some(HostFrame { flow: Some(s.number), destination: flow.destinations[0], len })
            });
            if let Some(frame) = frame {
                let wire = self.plan.config.line.time_for(Bytes(frame.len.into()) + c.overhead).0;
                h.busy_until = self.now + wire;
                h.flying.push_back(frame);
                self.events.add(h.busy_until + c.delay.0, Kind::HostFrame, port, 0);
                call = h.busy_until;
            }
        }
        if call < h.call {
            h.call = call;
            self.events.add(call, Kind::HostLine, port, 0);
        }
    }

    /// A frame of a host is in the input buffer of its port.
    pub(super) fn host_frame(&mut self, port: usize) {
        let measuring = self.measuring();
        let Some(side) = &mut self.hosts else { return };
        let Some(frame) = side.hosts[port].flying.pop_front() else { return };
        let b = &mut side.buffers[port];
        side.report.overflows +=
            u64::from(b.held + u64::from(frame.len) > side.config.input_buffer.0);
        b.held += u64::from(frame.len);
        b.held_max = b.held.max(b.held_max);
        let mut cnm = None;
        let mut destinations = vec![frame.destination];
        if let Some(flow) = frame.flow {
            side.held[flow as usize] += u64::from(frame.len);
            side.window.arrived[flow as usize] += u64::from(frame.len) + side.config.overhead.0;
            let (now, len, held) = (Time(self.now), Bytes(frame.len.into()), Bytes(b.held));
            cnm = b.input.as_mut().and_then(|p| p.on_enqueue(now, flow, len, held, &mut b.rng));
            destinations.clone_from(&side.config.flows[flow as usize].destinations);
        }
        let copies = destinations.len() as u32;
        let multicast = (copies > 1).then(|| side.multicasts.add(copies));
        if measuring {
            self.report.offered[frame.destination as usize] += u64::from(frame.len);
        }
        if let Some(cnm) = cnm {
            self.send_cnm(port, cnm);
        }
        self.check_pause(port);
        for destination in destinations {
            self.accept(port, destination as usize, frame.len, Tag { flow: frame.flow, multicast });
        }
    }

    /// STOP at Q_high, GO at Q_low.
    fn check_pause(&mut self, port: usize) {
        let Some(side) = &mut self.hosts else { return };
        let b = &mut side.buffers[port];
        let stop =
            if b.stopping { b.held > side.config.go.0 } else { b.held >= side.config.stop.0 };
        if stop == b.stopping {
            return;
        }
        b.stopping = stop;
        side.report.stops[port] += u64::from(stop);
        if let Some(point) = &mut b.input {
            let now = Time(self.now);
            if stop { point.qcn().on_pause(now) } else { point.qcn().on_resume(now) }
        }
        let at = self.control_frame(port);
        self.events.add(at, Kind::Pause, port, u32::from(stop));
        self.call_clock(port);
    }

    fn call_clock(&mut self, port: usize) {
        let Some(side) = &mut self.hosts else { return };
        let b = &mut side.buffers[port];
        let Some(at) = b.input.as_mut().and_then(|p| p.qcn().next_clock()) else { return };
        if at.0 != b.clock {
            b.clock = at.0;
            self.events.add(at.0, Kind::PointClock, port, 0);
        }
    }

    /// The clock of a congestion point whose input has stopped its host (Unbiased QCN section IV,
    /// keep-alive).
    pub(super) fn point_clock(&mut self, port: usize) {
        let Some(side) = &mut self.hosts else { return };
        let b = &mut side.buffers[port];
        if b.clock != self.now {
            return;
        }
        b.clock = u64::MAX;
        let (now, held) = (Time(self.now), Bytes(b.held));
        let cnm = b.input.as_mut().and_then(|p| p.on_clock(now, held, &mut b.rng));
        if let Some(cnm) = cnm {
            self.send_cnm(port, cnm);
        }
        self.call_clock(port);
    }

    /// A frame of 64 bytes for the host of a port, after the frame on the line. Returns its arrival
    /// [ps].
    fn control_frame(&mut self, port: usize) -> u64 {
        let Some(side) = &mut self.hosts else { return self.now };
        let c = &side.config;
        side.report.control_bytes += c.control.0;
        let p = &mut self.ports[port];
        let start = p.line_busy_until.max(self.now);
        p.line_busy_until = start + p.line_rate.time_for(c.control + c.overhead).0;
        p.line_busy_until + c.delay.0
    }

    /// The congestion point of an input sends a CNM to a flow of its host.
    fn send_cnm(&mut self, port: usize, cnm: Cnm) {
        let at = self.control_frame(port);
        self.events.add(at, Kind::Cnm, port, cnm.flow.0 << 8 | u32::from(cnm.congestion.degree));
    }

    /// A CNM of an output has come through the fabric to the port of the flow's host.
    pub(super) fn cnm_at_edge(&mut self, port: usize, arg: u32) {
        let at = self.control_frame(port);
        self.events.add(at, Kind::Cnm, port, arg);
    }

    /// A CNM is at the host.
    pub(super) fn cnm_arrives(&mut self, port: usize, arg: u32) {
        let Some(side) = &mut self.hosts else { return };
        let (flow, feedback) = ((arg >> 8) as usize, arg as u8);
        side.report.cnms[flow] += 1;
        side.window.cnms[flow] += 1;
        let place = side.place[flow] as usize;
        self.host_news(port, place, |rc, now, wakes| {
            rc.on_feedback(now, Feedback::Quantized(feedback), wakes)
        });
    }

    /// A timer of a rate limiter.
    pub(super) fn host_timer(&mut self, port: usize, arg: u32) {
        let which = arg as u8;
        self.host_news(port, (arg >> 8) as usize, |rc, now, wakes| rc.on_wake(now, which, wakes));
    }

    fn host_news(
        &mut self,
        port: usize,
        place: usize,
        news: impl FnOnce(&mut xoff_mech::rate_control::qcn::Qcn, Time, &mut Wakes),
    ) {
        let Some(side) = &mut self.hosts else { return };
        let Some(rc) = &mut side.hosts[port].senders[place].rate_control else { return };
        let mut wakes = Wakes::default();
        news(rc, Time(self.now), &mut wakes);
        for (which, at) in wakes.iter() {
            self.events.add(at.0, Kind::HostTimer, port, (place as u32) << 8 | u32::from(which));
        }
        let sender = &mut side.hosts[port].senders[place];
        let wire = side.config.frame + side.config.overhead;
        sender.pace(side.config.flows[sender.number as usize].rate, wire);
        self.host_line(port);
    }

    /// A host receives STOP or GO.
    pub(super) fn pause(&mut self, port: usize, stop: bool) {
        let Some(side) = &mut self.hosts else { return };
        let h = &mut side.hosts[port];
        if stop && !h.stopped {
            side.stopped_since[port] = self.now;
        } else if !stop && h.stopped {
            side.report.stopped_ps[port] += self.now - side.stopped_since[port];
        }
        h.stopped = stop;
        self.host_line(port);
    }

    /// A frame, or a copy of it, has left its VOQ, or with reliable delivery its output: its room
    /// in the input buffer is free if it was the last.
    pub(super) fn free_input(&mut self, port: usize, len: u32, tag: Tag) {
        let Some(side) = &mut self.hosts else { return };
        if tag.multicast.is_some_and(|m| !side.multicasts.leave(m)) {
            return;
        }
        let b = &mut side.buffers[port];
        b.held -= u64::from(len);
        if let Some(flow) = tag.flow {
            side.held[flow as usize] -= u64::from(len);
            if let Some(point) = &mut b.input {
                point.qcn().on_dequeue(FlowId(flow), Bytes(len.into()));
            }
        }
        self.check_pause(port);
    }

    /// A frame is in the output buffer of a port.
    pub(super) fn enter_output(&mut self, port: usize, len: u32, tag: Tag) {
        let Some(flow) = tag.flow else { return };
        let held = Bytes(self.ports[port].output_held);
        let Some(side) = &mut self.hosts else { return };
        let (now, b) = (Time(self.now), &mut side.buffers[port]);
        let cnm = b
            .output
            .as_mut()
            .and_then(|p| p.on_enqueue(now, flow, Bytes(len.into()), held, &mut b.rng));
        if let Some(cnm) = cnm {
            let port = side.config.flows[cnm.flow.index()].source;
            let time = self.now + side.config.edge_delay.0;
            let arg = cnm.flow.0 << 8 | u32::from(cnm.congestion.degree);
            self.post(port, Mail::Cnm { time, port, arg });
        }
    }

    /// A frame has left the output buffer of a port, `delay` after it came to its input buffer.
    pub(super) fn leave_output(
        &mut self,
        port: usize,
        source: u32,
        len: u32,
        tag: Tag,
        delay: u64,
    ) {
        let Some(side) = &mut self.hosts else { return };
        if let Some(flow) = tag.flow {
            side.window.delivered[flow as usize] += u64::from(len) + side.config.overhead.0;
        }
        if self.now - delay >= self.plan.config.warm_up.0 {
            let seen = tag
                .flow
                .map_or(&mut side.report.background, |flow| &mut side.report.delays[flow as usize]);
            seen.add(delay);
        }
        if let (Some(point), Some(flow)) = (&mut side.buffers[port].output, tag.flow) {
            point.qcn().on_dequeue(FlowId(flow), Bytes(len.into()));
        }
        if side.config.reliable {
            let time = self.now + side.config.edge_delay.0;
            self.post(source, Mail::Acknowledged { time, source, from: port as u32, len, tag });
        }
    }

    /// The rate of a line changes.
    pub(super) fn change_line(&mut self, nth: usize) {
        let Some(side) = &self.hosts else { return };
        let (_, port, rate) = side.config.line_changes[nth];
        self.ports[port as usize].line_rate = rate;
    }

    /// The hosts of this part, up to now.
    pub(super) fn finish_hosts(&mut self) -> Option<HostReport> {
        let ports = self.ports.numbers();
        let side = self.hosts.as_mut()?;
        for port in ports {
            if side.hosts[port].stopped {
                side.report.stopped_ps[port] += self.now - side.stopped_since[port];
            }
        }
        side.report.input_max = side.buffers.iter().map(|b| b.held_max).max().unwrap_or(0);
        Some(std::mem::take(&mut side.report))
    }
}
