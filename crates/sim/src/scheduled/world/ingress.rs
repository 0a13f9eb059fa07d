//! The way in: packets into VOQs, eligibility, injection (section 3.2).

use xoff_mech::scheduled::request_grant::MaySend;

use super::mail::Mail;
use super::part::Part;
use crate::scheduled::config::{Control, ControlPath, Core, Spray};
use crate::scheduled::event::Kind;
use crate::scheduled::flow::{Flow, Tag};
use crate::scheduled::link::{Behind, Ready};
use crate::scheduled::segment::Segment;
use xoff_units::Span;

impl Part {
    /// Takes the next packet of a source.
    pub(super) fn announce(&mut self, source: usize) {
        let (traffic, line) = (&self.plan.config.traffic, self.plan.config.line);
        let next = self.sources[source].next(traffic, line, self.now);
        if let Some((at, destination, len)) =
            next.filter(|p| p.0 <= self.plan.config.traffic_stop.0)
        {
            self.announced[source] = (destination, len);
            self.events.add(at, Kind::Source, source, 0);
        }
    }

    /// The packet that was announced is there.
    pub(super) fn packet(&mut self, source: usize) {
        let (destination, len) = self.announced[source];
        self.announce(source);
        let port = self.port_of_source(source);
        if self.hosts.is_some() {
            return self.through_host(port, destination, len);
        }
        if self.measuring() {
            self.report.offered[destination as usize] += u64::from(len);
        }
        self.accept(port, destination as usize, len, Tag::default());
    }

    /// A packet goes into its VOQ.
    pub(super) fn accept(&mut self, port: usize, destination: usize, len: u32, tag: Tag) {
        let now = self.now;
        self.flow(port, destination).push(len, now, tag);
        self.ports[port].waiting += u64::from(len);
        self.report.packets_in += 1;
        self.report.balance.came += u64::from(len);
        if self.is_beside(port, destination) {
            let unsolicited = self.plan.config.unsolicited;
            let flow = self.flow(port, destination);
            if flow.requester.may_send(flow.waits(), unsolicited) != MaySend::Unsolicited {
                self.request_beside(port, destination);
                self.feed_lane(self.ports[port].edge as usize);
            }
        }
        self.refresh(port, destination);
    }

    /// True if control between two ports travels next to the data: within an adapter, or on wires
    /// of its own.
    pub(super) fn is_beside(&self, port: usize, destination: usize) -> bool {
        let c = &self.plan.config;
        matches!(c.control, Control::OutOfBand { .. } | Control::Lane { .. })
            || c.control_within_adapter && port == destination
    }

    /// Sends all permitted requests, out of band.
    fn request_beside(&mut self, port: usize, destination: usize) {
        let (g, max) = (self.plan.config.requests_max, self.plan.config.segment_max.0 as u32);
        let pack = self.plan.config.pack;
        let request = self.flow(port, destination).request(g, max, pack);
        if request > 0 {
            self.message(Segment { request, ..control_segment(port as u32, destination as u32) });
        }
    }

    /// A control message that travels next to the data.
    pub(super) fn message(&mut self, segment: Segment) {
        let c = &self.plan.config;
        let within = c.control_within_adapter && segment.source == segment.destination;
        let delay = match c.control {
            _ if within => Span::ZERO,
            Control::OutOfBand { delay } => delay,
            Control::Lane { alone } => return self.enter_lane(segment, alone.0 as u32),
            Control::InBand { .. } => return,
        };
        self.report.control += u64::from(!within);
        let time = self.now + delay.0;
        self.post(segment.destination, Mail::Message { time, segment });
    }

    /// As [`Part::message`], from outside of an injection.
    pub(super) fn say(&mut self, segment: Segment) {
        self.message(segment);
        self.feed_lane(self.ports[segment.source as usize].edge as usize);
    }

    /// A control message enters the lane of its edge. It leaves with [`Part::feed_lane`].
    fn enter_lane(&mut self, mut segment: Segment, len: u32) {
        let (port, destination) = (segment.source as usize, segment.destination as usize);
        segment.len = len;
        segment.path = self.path(port, destination, 0, true);
        self.report.control += 1;
        self.report.control_bytes += u64::from(len);
        let id = self.segments.add(segment);
        let edge = self.ports[port].edge as usize;
        self.edges[edge].lane.push_back(id);
    }

    /// Sends control while an uplink is free, without credits. Over spines it takes any uplink.
    fn feed_lane(&mut self, edge: usize) {
        while let Some(&id) = self.edges[edge].lane.front() {
            let busy = |link: u32| self.links[link as usize].busy_until;
            let first = self.edges[edge].uplinks.iter().copied().min_by_key(|&link| busy(link));
            let Some(link) = first else { return };
            let free = busy(link);
            if free > self.now {
                return self.call_link(link, free);
            }
            self.edges[edge].lane.pop_front();
            self.send_in_lane(link, id);
        }
    }

    /// Sends a control segment over a free link.
    pub(super) fn send_in_lane(&mut self, link: u32, id: u32) {
        let len = self.segments.get(id).len;
        let free = self.links[link as usize].start_in_lane(self.now, len);
        self.depart(link, id, free);
    }

    /// True if port `port` has a segment for `destination`.
    fn is_eligible(&self, port: usize, destination: usize) -> bool {
        let Some(flow) = self.flows.moving(port, destination) else { return false };
        if flow.requester.may_send(flow.waits(), self.plan.config.unsolicited) != MaySend::No {
            return true;
        }
        if self.is_beside(port, destination) {
            return false;
        }
        flow.transit_grants + flow.transit_acks > 0 || self.asks_alone(port, destination)
    }

    /// True if the first request of a flow travels alone, because unsolicited segments are
    /// forbidden.
    fn asks_alone(&self, port: usize, destination: usize) -> bool {
        let asks = |flow: &Flow| flow.waits() && flow.requester.pending() == 0;
        !self.plan.config.unsolicited && self.flows.moving(port, destination).is_some_and(asks)
    }

    /// Brings the eligibility mask up to date, and injects if that makes a difference.
    pub(super) fn refresh(&mut self, port: usize, destination: usize) {
        let eligible = self.is_eligible(port, destination);
        let p = &mut self.ports[port];
        p.eligible.set(destination, eligible);
        let (edge, any) = (p.edge as usize, !p.eligible.is_empty());
        let e = &mut self.edges[edge];
        e.eligible.set(port - e.first_port as usize, any);
        if eligible {
            self.feed(edge);
        }
    }

    /// Injects while an uplink is idle and has room.
    pub(super) fn feed(&mut self, edge: usize) {
        if self.plan.config.element.crosspoint.is_some() {
            return self.feed_crosspoints(edge);
        }
        if !self.edges[edge].lane.is_empty() {
            self.feed_lane(edge);
        }
        let room_for = self.plan.config.segment_max.0 as u32;
        loop {
            let e = &mut self.edges[edge];
            if e.eligible.is_empty() {
                return;
            }
            let Some(uplink) = e.idle.next_from(e.next_uplink) else { return };
            let link = e.uplinks[uplink];
            match self.links[link as usize].ready(self.now, room_for, 0) {
                Ready::Now => {
                    e.next_uplink = uplink + 1;
                    self.inject(edge, uplink as u32, link);
                }
                Ready::At(at) => {
                    e.idle.set(uplink, false);
                    self.call_link(link, at);
                }
                Ready::Starved => e.idle.set(uplink, false),
            }
        }
    }

    /// An uplink is idle again, or has room again.
    pub(super) fn uplink_free(&mut self, edge: usize, link: u32) {
        let e = &mut self.edges[edge];
        let uplink = e.uplinks.iter().position(|&l| l == link).expect("an uplink of this edge");
        e.idle.set(uplink, true);
        self.feed(edge);
    }

    /// Next segment of an edge, round robin.
    fn inject(&mut self, edge: usize, uplink: u32, link: u32) {
        let e = &mut self.edges[edge];
        let local = e.eligible.next_from(e.next_port).expect("one is eligible");
        e.next_port = local + 1;
        let port = e.first_port as usize + local;
        let p = &mut self.ports[port];
        let destination = p.eligible.next_from(p.next).expect("for some output");
        self.inject_to(port, destination, uplink, link);
    }

    /// The next segment of a port to an output.
    pub(super) fn inject_to(&mut self, port: usize, destination: usize, uplink: u32, link: u32) {
        self.ports[port].next = destination + 1;
        let segment = self.segment(port, destination, uplink);
        self.refresh_quietly(port, destination);
        self.flows.let_rest(port, destination, self.now);
        let id = self.segments.add(segment);
        self.send(link, id, segment.len);
        self.feed_lane(self.ports[port].edge as usize);
    }

    /// As [`Part::refresh`], from within an injection.
    fn refresh_quietly(&mut self, port: usize, destination: usize) {
        let eligible = self.is_eligible(port, destination);
        let p = &mut self.ports[port];
        p.eligible.set(destination, eligible);
        let any = !p.eligible.is_empty();
        let e = &mut self.edges[p.edge as usize];
        e.eligible.set(port - e.first_port as usize, any);
    }

    /// Cuts a segment from a VOQ, or makes a control segment.
    fn segment(&mut self, port: usize, destination: usize, uplink: u32) -> Segment {
        let (g, max, min, header) = (
            self.plan.config.requests_max,
            self.plan.config.segment_max.0 as u32,
            self.plan.config.segment_min.0 as u32,
            self.plan.config.header.0 as u32,
        );
        let (control, unsolicited, pack) =
            (self.plan.config.control, self.plan.config.unsolicited, self.plan.config.pack);
        let (alone, beside) =
            (self.asks_alone(port, destination), self.is_beside(port, destination));
        let flow = self.flow(port, destination);
        let how = flow.requester.may_send(flow.waits(), unsolicited);
        let path = self.path(port, destination, uplink, how == MaySend::No);
        let flow = self.flow(port, destination);
        let piece = match how {
            MaySend::Granted => Some(flow.take_granted(max)),
            MaySend::Unsolicited => Some(flow.take_unsolicited(max)),
            MaySend::No => None,
        };
        let mut s = Segment { path, how, ..control_segment(port as u32, destination as u32) };
        if let Some(piece) = piece {
            flow.requester.on_sent(how);
            (s.offset, s.payload, s.len) = (piece.offset, piece.len, piece.len.max(min) + header);
        }
        if let (Control::InBand { alone: len }, false) = (control, beside) {
            (s.grant, s.acks) =
                (std::mem::take(&mut flow.transit_grants), std::mem::take(&mut flow.transit_acks));
            if piece.is_some() || alone {
                s.request = flow.request(g, max, pack);
            }
            if piece.is_none() {
                s.len = len.0 as u32;
                self.report.control += 1;
                self.report.control_bytes += len.0;
            }
        } else if piece.is_some() {
            self.request_beside(port, destination);
        }
        if piece.is_some() {
            self.ports[port].waiting -= u64::from(s.payload);
            self.report.segments += 1;
            self.report.unsolicited += u64::from(how == MaySend::Unsolicited);
            self.report.segment_bytes += u64::from(s.len);
            self.grants_held[port] -= u32::from(how == MaySend::Granted);
            self.note_injected(port, destination);
        }
        s
    }

    /// Packets whose last byte has left the VOQ leave the input buffer, if no copy is kept.
    fn note_injected(&mut self, port: usize, destination: usize) {
        let kept = self.plan.config.hosts.as_ref().is_some_and(|h| h.reliable);
        loop {
            let flow = self.flow(port, destination);
            let (begun, injected) = (flow.next_begun(), flow.next_injected());
            if let Some(packet) = begun {
                let (source, destination) = (port as u32, destination as u32);
                self.post(destination, Mail::Packet { source, destination, packet });
            }
            let Some((len, tag)) = injected else { return };
            self.packet_left(port, len, tag);
            if !kept {
                self.free_input(port, len, tag);
            }
        }
    }

    /// True if the next segment of a flow would be a control segment alone.
    pub(super) fn is_control_next(&self, port: usize, destination: usize) -> bool {
        let unsolicited = self.plan.config.unsolicited;
        let may_not = |f: &Flow| f.requester.may_send(f.waits(), unsolicited) == MaySend::No;
        self.flows.moving(port, destination).is_none_or(may_not)
    }

    /// The present path of the counter of a flow; none if paths are random.
    pub(super) fn path_at_counter(&self, port: usize, destination: usize, control: bool) -> u32 {
        let nth = self.nth(port, destination);
        let own = control && self.plan.config.control_path == ControlPath::Own;
        let at = if own { self.next_control_paths[nth] } else { self.next_paths[nth] };
        match (self.plan.config.spray, self.plan.config.core) {
            (Spray::Permuted, Core::Network(shape)) => {
                self.orders[nth * shape.paths() as usize + usize::from(at)].into()
            }
            _ => at.into(),
        }
    }

    fn path(&mut self, port: usize, destination: usize, uplink: u32, control: bool) -> u32 {
        let paths = match self.plan.config.core {
            Core::Network(shape) => shape.paths(),
            Core::Spine { .. } | Core::Ideal { .. } => return uplink,
        };
        if self.plan.config.spray == Spray::Random {
            return xoff_net::workload::random::below(&mut self.spray[port], paths.into()) as u32;
        }
        let path = self.path_at_counter(port, destination, control);
        if self.plan.config.spray != Spray::PerFlow {
            let own = control && self.plan.config.control_path == ControlPath::Own;
            let nth = self.nth(port, destination);
            let next =
                if own { &mut self.next_control_paths[nth] } else { &mut self.next_paths[nth] };
            *next = if u32::from(*next) + 1 == paths { 0 } else { *next + 1 };
        }
        path
    }

    /// Puts a segment on a link that is ready for it.
    pub(super) fn send(&mut self, link: u32, id: u32, len: u32) {
        let place = self.place_behind(link, id);
        let free = self.links[link as usize].start(self.now, len, place);
        self.depart(link, id, free);
    }

    /// A segment has started on a link, which is free again at a time.
    fn depart(&mut self, link: u32, id: u32, free: u64) {
        self.report.link_hops += 1;
        self.report.data_link_hops += u64::from(self.segments.get(id).payload > 0);
        let l = &self.links[link as usize];
        let (part, time, kind, at) = match l.behind {
            Behind::Input(input) => (l.part, self.now + l.head_delay, Kind::Head, input),
            Behind::Port => {
                // An ideal core has one link from each port to all others.
                let part = self.plan.part_of[self.segments.get(id).destination as usize];
                (part, free + l.head_delay, Kind::Tail, l.number)
            }
        };
        if part == self.number {
            return self.events.add(time, kind, at as usize, id);
        }
        let segment = self.segments.take(id);
        self.post_to(part, Mail::Segment { time, kind, at, segment });
    }

    /// Wants the feeder of a link to be called at `at`.
    pub(super) fn call_link(&mut self, link: u32, at: u64) {
        let l = &mut self.links[link as usize];
        if at < l.wake {
            l.wake = at;
            self.events.add(at, Kind::Link, link as usize, 0);
        }
    }
}

/// A segment without payload.
pub(super) fn control_segment(source: u32, destination: u32) -> Segment {
    Segment {
        source,
        destination,
        offset: 0,
        payload: 0,
        len: 0,
        how: MaySend::No,
        request: 0,
        grant: 0,
        acks: 0,
        path: 0,
        head_at: 0,
        output: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduled::{Config, Pattern, Sizes, Traffic};
    use xoff_units::Bytes;

    fn part(spray: Spray, control_path: ControlPath) -> Part {
        let traffic = Traffic {
            pattern: Pattern::Uniform,
            load: 0.0,
            sizes: Sizes::Fixed(Bytes(40)),
            burst_packets: 1.0,
        };
        let config = Config { spray, control_path, ..Config::paper(traffic) };
        super::super::build::parts(config, 1).pop().unwrap_or_else(|| panic!("one part"))
    }

    /// Sections 2.1 and 3.2: a flow carries the same number of segments on each of its eight paths,
    /// in the same order again, and that order is not another flow's.
    #[test]
    fn each_flow_goes_through_its_paths_in_an_order_of_its_own() {
        let mut w = part(Spray::Permuted, ControlPath::Shared);
        let mut round = |destination| -> Vec<u32> {
            (0..8).map(|_| w.path(3, destination, 0, false)).collect()
        };
        let (first, again, other) = (round(7), round(7), round(8));
        let mut sorted = first.clone();
        sorted.sort_unstable();
        assert_eq!((sorted, &again), ((0..8).collect(), &first));
        let at = other.iter().position(|p| *p == first[0]).unwrap_or(0);
        let turned: Vec<u32> = other[at..].iter().chain(&other[..at]).copied().collect();
        assert_ne!(turned, first, "no cyclic shift of another flow's order");
    }

    /// A control segment that travels alone takes a path of the flow that it goes with, or it does
    /// not.
    #[test]
    fn control_advances_the_path_of_data_or_has_a_counter_of_its_own() {
        for (control_path, skipped) in [(ControlPath::Shared, 2), (ControlPath::Own, 0)] {
            let mut w = part(Spray::RoundRobin, control_path);
            let first = w.path(3, 7, 0, false);
            let control = [w.path(3, 7, 0, true), w.path(3, 7, 0, true)];
            assert_eq!(control[1], (control[0] + 1) % 8);
            assert_eq!(w.path(3, 7, 0, false), (first + 1 + skipped) % 8, "{control_path:?}");
        }
    }
}
