//! Segments through switching elements (section 3.1).

use xoff_units::Bytes;

use super::mail::Mail;
use super::part::Part;
use crate::scheduled::config::{Control, Core};
use crate::scheduled::element::{Arbitration, Input};
use crate::scheduled::event::Kind;
use crate::scheduled::link::{Feeder, Ready};

impl Part {
    /// The head of a segment is at an input.
    pub(super) fn head(&mut self, input: usize, id: u32) {
        let i = &self.inputs[input];
        let e = &self.elements[i.element as usize];
        let (place, first_output, of_element) = (e.place, e.first_output, i.number);
        let s = self.segments.get_mut(id);
        let number = match self.plan.config.core {
            Core::Network(shape) => shape.output(place, s.destination, s.path),
            Core::Spine { edge_ports, .. } => s.destination / edge_ports,
            Core::Ideal { .. } => 0,
        };
        s.head_at = self.now;
        s.output = first_output + number;
        let output = s.output as usize;
        self.report.hops += 1;
        if matches!(self.plan.config.control, Control::Lane { .. }) && s.payload == 0 {
            self.outputs[output].lane.push_back(id);
            return self.drain(output);
        }
        if self.plan.config.element.crosspoint.is_some() {
            return self.at_crosspoint(id, of_element, input, output);
        }
        let i = &mut self.inputs[input];
        let queue = i.queue(number);
        queue.push_back(id);
        if queue.len() == 1 {
            i.wants.set(number as usize, true);
            self.outputs[output].wanted_by.set(of_element as usize, true);
            self.cross(output);
        }
    }

    /// Moves segments through the crossbar to an output, as long as something can move.
    pub(super) fn cross(&mut self, output: usize) {
        loop {
            self.settle(output);
            let o = &self.outputs[output];
            if o.wanted_by.is_empty() {
                return;
            }
            if o.busy_until > self.now {
                return self.call_crossbar(output, o.busy_until);
            }
            let first_input = self.elements[o.element as usize].first_input as usize;
            let free = |i: usize| self.inputs[first_input + i].busy_until <= self.now;
            let chosen = match self.plan.config.element.arbitration {
                Arbitration::RoundRobin | Arbitration::Islip => {
                    let from = o.next as usize;
                    let round = o
                        .wanted_by
                        .iter()
                        .filter(|&i| i >= from)
                        .chain(o.wanted_by.iter().take_while(|&i| i < from));
                    round.into_iter().find(|&i| free(i))
                }
                Arbitration::OldestFirst => {
                    o.wanted_by.iter().filter(|&i| free(i)).min_by_key(|&i| {
                        let head = self.inputs[first_input + i].queues[0][0];
                        self.segments.get(head).head_at
                    })
                }
            };
            let Some(input) = chosen else {
                let soonest =
                    o.wanted_by.iter().map(|i| self.inputs[first_input + i].busy_until).min();
                return soonest.into_iter().for_each(|at| self.call_crossbar(output, at));
            };
            if !self.transfer(output, input) {
                return;
            }
        }
    }

    /// The crossbar was called for an output.
    pub(super) fn crossbar_free(&mut self, output: usize) {
        let o = &mut self.outputs[output];
        if o.wake != self.now {
            // It was called before, and has other calls now.
            self.events.done -= 1;
            return;
        }
        o.wake = u64::MAX;
        self.cross(output);
    }

    fn call_crossbar(&mut self, output: usize, at: u64) {
        let o = &mut self.outputs[output];
        if at < o.wake {
            o.wake = at;
            self.events.add(at, Kind::Crossbar, output, 0);
        }
    }

    /// Takes a segment from an input of the element to an output; false if the output queue has no
    /// room for it.
    fn transfer(&mut self, output: usize, input: usize) -> bool {
        let o = &self.outputs[output];
        let (number, element) = (o.number, &self.elements[o.element as usize]);
        let place = element.first_input as usize + input;
        let i = &mut self.inputs[place];
        let id = i.queue(number)[0];
        let segment = self.segments.get(id);
        let len = segment.len;
        if o.held + len > o.size {
            return self.wait_for_room(output);
        }
        i.queue(number).pop_front();
        let rate = self.plan.config.fabric;
        let crossbar = rate * u64::from(self.plan.config.element.speedup);
        // Neither before the crossbar has carried all of it nor before all of it has come in.
        let whole = segment.head_at + rate.time_for(Bytes(len.into())).0;
        let carried = self.now + crossbar.time_for(Bytes(len.into())).0;
        let done = carried.max(whole);
        let taken_until = if self.plan.config.element.holds { done } else { carried };
        i.busy_until = taken_until;
        let o = &mut self.outputs[output];
        o.busy_until = taken_until;
        o.next = input as u32 + 1;
        o.held += len;
        o.held_max = o.held.max(o.held_max);
        o.queue.push_back(id);
        self.give_back(place, done, len, 0);
        self.next_head(output, place, input);
        self.drain(output);
        true
    }

    /// An input has freed room at `at`, of the crosspoint `crosspoint` if there are any.
    pub(super) fn give_back(&mut self, place: usize, at: u64, bytes: u32, crosspoint: u32) {
        let Input { link, part, .. } = self.inputs[place];
        let time = at + self.plan.config.credit_delay.0;
        self.post_to(part, Mail::Room { time, link, bytes, place: crosspoint });
    }

    /// Next request of an input after it has given its first segment for `output`.
    fn next_head(&mut self, output: usize, place: usize, input: usize) {
        let number = self.outputs[output].number;
        let i = &mut self.inputs[place];
        let islip = self.plan.config.element.arbitration == Arbitration::Islip;
        match (i.queue(number).front().copied(), islip) {
            (None, _) => {
                i.wants.set(number as usize, false);
                self.outputs[output].wanted_by.set(input, false);
            }
            (Some(_), true) => {}
            (Some(next), false) => {
                let wanted = self.segments.get(next).output as usize;
                if wanted != output {
                    self.outputs[output].wanted_by.set(input, false);
                    self.outputs[wanted].wanted_by.set(input, true);
                    self.cross(wanted);
                }
            }
        }
        let i = &mut self.inputs[place];
        if islip {
            i.next = number + 1;
            if !i.wants.is_empty() && !i.called {
                i.called = true;
                self.events.add(i.busy_until, Kind::InputFree, place, 0);
            }
        }
    }

    /// iSLIP: an input that falls free chooses among the outputs that could take from it.
    pub(super) fn input_free(&mut self, place: usize) {
        self.inputs[place].called = false;
        let i = &self.inputs[place];
        let input = i.number as usize;
        let first = self.elements[i.element as usize].first_output as usize;
        let from = i.next as usize;
        let round =
            i.wants.iter().filter(|&o| o >= from).chain(i.wants.iter().take_while(|&o| o < from));
        let mut free: Vec<usize> =
            round.filter(|&o| self.outputs[first + o].busy_until <= self.now).collect();
        free.retain(|&o| {
            self.settle(first + o);
            let head = self.inputs[place].queues[o][0];
            let out = &self.outputs[first + o];
            out.held + self.segments.get(head).len <= out.size
        });
        if let Some(&o) = free.first() {
            self.transfer(first + o, input);
        }
    }

    /// An output queue has no room: the crossbar is called when its link has sent something.
    fn wait_for_room(&mut self, output: usize) -> bool {
        let o = &mut self.outputs[output];
        o.full = true;
        if o.leaving > 0 {
            let (link, at) = (o.link, self.links[o.link as usize].busy_until);
            self.call_link(link, at);
        }
        false
    }

    /// Room of a segment whose last bit has left is free.
    pub(super) fn settle(&mut self, output: usize) {
        let o = &mut self.outputs[output];
        if o.leaving > 0 && self.links[o.link as usize].busy_until <= self.now {
            o.held -= o.leaving;
            o.leaving = 0;
        }
    }

    /// Sends the first segment of an output queue if the link is ready.
    fn drain(&mut self, output: usize) {
        self.settle(output);
        if !self.outputs[output].lane.is_empty() {
            return self.drain_lane(output);
        }
        let o = &mut self.outputs[output];
        let Some(&id) = o.queue.front() else { return };
        let link = o.link;
        let len = self.segments.get(id).len;
        match self.links[link as usize].ready(self.now, len, 0) {
            Ready::Now => {
                o.queue.pop_front();
                o.leaving = len;
                let more = !o.queue.is_empty() || o.full;
                self.send(link, id, len);
                if more {
                    self.call_link(link, self.links[link as usize].busy_until);
                }
            }
            Ready::At(at) => self.call_link(link, at),
            Ready::Starved => {}
        }
    }

    /// Sends the first control segment of an output if the wire is free.
    fn drain_lane(&mut self, output: usize) {
        let link = self.outputs[output].link;
        let free = self.links[link as usize].busy_until;
        if free > self.now {
            return self.call_link(link, free);
        }
        let o = &mut self.outputs[output];
        let Some(id) = o.lane.pop_front() else { return };
        let more = !o.lane.is_empty() || !o.queue.is_empty() || o.full;
        self.send_in_lane(link, id);
        if more {
            self.call_link(link, self.links[link as usize].busy_until);
        }
    }

    /// A link is idle again, or there is room behind it again.
    pub(super) fn link_free(&mut self, link: usize) {
        let l = &mut self.links[link];
        if l.wake != self.now {
            // It was called before, and has other calls now.
            self.events.done -= 1;
            return;
        }
        l.called();
        match l.feeder {
            Feeder::Edge(edge) => self.uplink_free(edge as usize, link as u32),
            Feeder::Output(output) => {
                let output = output as usize;
                if self.plan.config.element.crosspoint.is_some() {
                    return self.serve_crosspoints(output);
                }
                self.settle(output);
                self.drain(output);
                if std::mem::take(&mut self.outputs[output].full) {
                    self.cross(output);
                }
            }
        }
    }
}
