//! The way out: grants, reassembly, the line (section 3.3).

use xoff_mech::scheduled::request_grant::{Decision, MaySend};

use super::ingress::control_segment;
use super::part::Part;
use crate::scheduled::event::Kind;
use crate::scheduled::segment::Segment;
use xoff_units::{Bytes, Time};

impl Part {
    /// A segment or a control message is at its destination.
    pub(super) fn deliver(&mut self, s: Segment) {
        let (port, source) = (s.destination as usize, s.source as usize);
        if s.grant > 0 || s.acks > 0 {
            let back = self.flow(port, source);
            if s.grant > 0 {
                back.requester.on_grant(s.grant);
            }
            back.requester.on_ack(s.acks);
            self.grants_held[port] += s.grant;
            self.refresh(port, source);
            self.flows.let_rest(port, source, self.now);
        }
        if s.request > 0 {
            self.ports[port].granter.on_request(s.source, s.request);
        }
        if s.payload > 0 {
            self.reassemble(&s);
        }
        self.grant(port);
    }

    fn reassemble(&mut self, s: &Segment) {
        let (port, source) = (s.destination as usize, s.source as usize);
        let p = &mut self.ports[port];
        p.output_held += u64::from(s.payload);
        p.output_held_max = p.output_held_max.max(p.output_held);
        if s.how == MaySend::Granted {
            p.granter.on_arrived();
        }
        let flow = self.reassembly(source, port);
        let late = flow.is_late(s.offset);
        let complete = flow.on_segment(s.offset, s.payload, s.how);
        let ready = flow.ready();
        self.report.out_of_order += u64::from(late);
        if self.hosts.is_some() {
            for nth in ready - complete..ready {
                let (len, tag) = self.reassembly(source, port).complete(nth);
                self.enter_output(port, len, tag);
            }
        }
        let p = &mut self.ports[port];
        p.line.extend(std::iter::repeat_n(s.source, complete));
        if complete > 0 {
            match p.line_busy_until {
                free if free <= self.now => self.line(port),
                busy => self.call_line(port, busy),
            }
        }
    }

    /// The line of a port takes the next packet.
    pub(super) fn line(&mut self, port: usize) {
        let now = self.now;
        let p = &mut self.ports[port];
        if p.line_call <= now {
            p.line_call = u64::MAX;
        }
        if p.line_busy_until > now {
            // A control frame has taken the line meanwhile.
            return self.call_line(port, self.ports[port].line_busy_until);
        }
        let Some(source) = p.line.pop_front() else { return };
        let d = self.reassembly(source as usize, port).depart();
        self.reassemblies.let_rest(port, source as usize, now);
        let overhead = self.plan.config.hosts.as_ref().map_or(Bytes::ZERO, |h| h.overhead);
        let p = &mut self.ports[port];
        let free = now + p.line_rate.time_for(Bytes(d.len.into()) + overhead).0;
        p.line_busy_until = free;
        p.output_held -= u64::from(d.len);
        p.granter.on_departed(d.granted);
        // A packet that becomes complete meanwhile calls.
        if !p.line.is_empty() {
            self.call_line(port, free);
        }
        // The adapter is a pipeline: its delay is added to each packet, and nothing waits for it.
        let delay = now + self.plan.config.adapter_delay.0 - d.arrived;
        self.note_departure(port, source, d.len, delay, d.arrived);
        self.leave_output(port, source, d.len, d.tag, delay);
        self.packet_came(port, d.len, d.tag, free + self.plan.config.adapter_delay.0);
        if d.unsolicited > 0 {
            self.acknowledge(port, source, d.unsolicited);
        }
        self.grant(port);
    }

    fn call_line(&mut self, port: usize, at: u64) {
        let p = &mut self.ports[port];
        if at < p.line_call {
            p.line_call = at;
            self.events.add(at, Kind::Line, port, 0);
        }
    }

    fn note_departure(&mut self, port: usize, source: u32, len: u32, delay: u64, arrived: u64) {
        self.report.packets_out += 1;
        self.report.balance.left += u64::from(len);
        let (len, hot) = (u64::from(len), self.plan.hot[port]);
        let w = &mut self.window;
        if hot {
            w.hot_bytes += len;
        } else {
            w.cold_bytes += len;
            w.cold_packets += 1;
            w.cold_delay += delay;
        }
        if self.measuring() {
            self.report.delivered[port] += len;
            self.report.delivered_by_input[source as usize] += len;
            self.report.hot_by_input[source as usize] += if hot { len } else { 0 };
        }
        if arrived >= self.plan.config.warm_up.0 {
            if hot { self.report.hot.add(delay) } else { self.report.cold.add(delay) }
        }
    }

    fn acknowledge(&mut self, port: usize, source: u32, segments: u32) {
        if self.is_beside(port, source as usize) {
            return self.say(Segment { acks: segments, ..control_segment(port as u32, source) });
        }
        self.flow(port, source as usize).transit_acks += segments;
        self.refresh(port, source as usize);
    }

    /// The output arbiter of a port grants as much as it can.
    pub(super) fn grant(&mut self, port: usize) {
        loop {
            match self.ports[port].granter.decide(Time(self.now)) {
                Decision::Grant { input, segments } if self.is_beside(port, input as usize) => {
                    self.say(Segment { grant: segments, ..control_segment(port as u32, input) })
                }
                Decision::Grant { input, segments } => {
                    self.flow(port, input as usize).transit_grants += segments;
                    self.refresh(port, input as usize);
                }
                Decision::Wait(at) => {
                    let p = &mut self.ports[port];
                    if at.0 < p.grant_call {
                        p.grant_call = at.0;
                        self.events.add(at.0, Kind::Grant, port, 0);
                    }
                    return;
                }
                Decision::Nothing => return,
            }
        }
    }
}
