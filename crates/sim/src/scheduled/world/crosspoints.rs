//! Buffered crossbars: a buffer at each crosspoint in place of an input and an output queue
//! (section 3.1; Chrysos and Katevenis 2006).
//!
//! ```text
//!            output 0   output 1          a segment goes to its crosspoint as it comes in: the crossbar has full speed, and no input
//!   input 0 -[ xx ]-----[    ]----        holds another one up; an output takes the crosspoints of its column in a circle
//!   input 1 -[    ]-----[ x  ]----        room behind a link is kept by crosspoint: who sends knows which output a segment will want
//!                |          |
//! ```

use crate::scheduled::config::Core;
use crate::scheduled::link::{Behind, Ready};

use super::part::Part;

impl Part {
    /// The crosspoint behind a link that a segment on `path` to `destination` wants: the number of
    /// its output there.
    fn crosspoint_behind(&self, link: u32, destination: u32, path: u32) -> u32 {
        let l = &self.links[link as usize];
        match (l.behind, self.plan.config.core) {
            (Behind::Input(_), Core::Network(shape)) => {
                shape.output(self.plan.places[l.element as usize], destination, path)
            }
            _ => 0,
        }
    }

    /// Place behind a link that a segment needs.
    pub(super) fn place_behind(&self, link: u32, id: u32) -> u32 {
        if self.plan.config.element.crosspoint.is_none() {
            return 0;
        }
        let s = self.segments.get(id);
        self.crosspoint_behind(link, s.destination, s.path)
    }

    /// The head of a segment is at its crosspoint.
    pub(super) fn at_crosspoint(&mut self, id: u32, input: u32, place: usize, output: usize) {
        let len = self.segments.get(id).len;
        let number = self.outputs[output].number;
        self.inputs[place].queue(number).push_back(id);
        let o = &mut self.outputs[output];
        o.wanted_by.set(input as usize, true);
        o.held += len;
        o.held_max = o.held.max(o.held_max);
        self.serve_crosspoints(output);
    }

    /// The link of an output takes the next segment of its column for which there is room behind
    /// it.
    pub(super) fn serve_crosspoints(&mut self, output: usize) {
        self.settle(output);
        let o = &self.outputs[output];
        if o.wanted_by.is_empty() {
            return;
        }
        let (link, number, next) = (o.link, o.number, o.next as usize);
        let busy = self.links[link as usize].busy_until;
        if busy > self.now {
            return self.call_link(link, busy);
        }
        let first_input = self.elements[o.element as usize].first_input as usize;
        let mut soonest = u64::MAX;
        let (mut from, mut left) = (next, o.wanted_by.len());
        while left > 0 {
            let input = self.outputs[output].wanted_by.next_from(from).expect("some are left");
            (from, left) = (input + 1, left - 1);
            let id = self.inputs[first_input + input].queue(number)[0];
            let (len, place) = (self.segments.get(id).len, self.place_behind(link, id));
            match self.links[link as usize].ready(self.now, len, place) {
                Ready::Now => return self.leave_crosspoint(output, first_input + input, input, id),
                Ready::At(at) => soonest = soonest.min(at),
                Ready::Starved => {}
            }
        }
        if soonest < u64::MAX {
            self.call_link(link, soonest);
        }
    }

    fn leave_crosspoint(&mut self, output: usize, place: usize, input: usize, id: u32) {
        let number = self.outputs[output].number;
        let queue = self.inputs[place].queue(number);
        queue.pop_front();
        let empty = queue.is_empty();
        let len = self.segments.get(id).len;
        let o = &mut self.outputs[output];
        o.wanted_by.set(input, !empty);
        o.next = input as u32 + 1;
        o.leaving = len;
        let (link, more) = (o.link, !o.wanted_by.is_empty());
        self.send(link, id, len);
        let gone = self.links[link as usize].busy_until;
        self.give_back(place, gone, len, number);
        if more {
            self.call_link(link, gone);
        }
    }

    /// An adapter injects for the first flow in round robin order whose first crosspoint has room.
    pub(super) fn feed_crosspoints(&mut self, edge: usize) {
        let len = self.plan.config.segment_max.0 as u32;
        'next: loop {
            let e = &self.edges[edge];
            let Some(uplink) = e.idle.next_from(e.next_uplink).filter(|_| !e.eligible.is_empty())
            else {
                return;
            };
            let (link, port) = (e.uplinks[uplink], e.first_port as usize);
            let busy = self.links[link as usize].busy_until;
            let mut soonest = if busy > self.now { busy } else { u64::MAX };
            if soonest == u64::MAX {
                // Crosspoints that have been found full in this round: flows of one adapter share
                // few.
                let mut full = [false; 256];
                let p = &self.ports[port];
                let (mut from, mut left) = (p.next, p.eligible.len());
                while left > 0 {
                    let destination =
                        self.ports[port].eligible.next_from(from).expect("some are left");
                    (from, left) = (destination + 1, left - 1);
                    let path = self.path_at_counter(
                        port,
                        destination,
                        self.is_control_next(port, destination),
                    );
                    let place = self.crosspoint_behind(link, destination as u32, path);
                    if full.get(place as usize) == Some(&true) {
                        continue;
                    }
                    match self.links[link as usize].ready(self.now, len, place) {
                        Ready::Now => {
                            self.inject_to(port, destination, uplink as u32, link);
                            continue 'next;
                        }
                        Ready::At(at) => soonest = soonest.min(at),
                        Ready::Starved => {}
                    }
                    if let Some(known) = full.get_mut(place as usize) {
                        *known = true;
                    }
                }
            }
            self.edges[edge].idle.set(uplink, false);
            if soonest < u64::MAX {
                self.call_link(link, soonest);
            }
            return;
        }
    }
}
