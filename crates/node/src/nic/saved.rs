//! A NIC in a checkpoint. Its flows began after it was built, so each is created as at its start, then restored.

use xoff_units::Time;
use xoff_units::save::{Broken, Reader, Save, Value, Writer};

use super::{FlowStart, Nic, Sending};

impl Save for Nic {
    fn save(&self, to: &mut Writer) {
        #[rustfmt::skip]
        let Nic {
            c: _, node: _, per_flow: _, line: _, memory: _, // constants
            flows, round_robin, slots, receiving, ahead, sinks, feedback, port, drain, storms, cancelled_wakes, queue_pairs,
            at_work: _,
            complete: _, // a run that clears flows is not saved
        } = self;
        to.number(flows.len() as u64);
        for flow in flows.iter() {
            flow.start.write(to);
            flow.save(to);
        }
        round_robin.save(to);
        slots.save(to);
        receiving.save(to);
        ahead.save(to);
        sinks.save(to);
        feedback.save(to);
        port.save(to);
        xoff_units::save::save_each(drain.iter(), to);
        xoff_units::save::save_each(storms.iter(), to);
        cancelled_wakes.save(to);
        queue_pairs.save(to);
    }

    fn restore(&mut self, from: &mut Reader) -> Result<(), Broken> {
        self.flows.clear();
        for _ in 0..from.count()? {
            let start = FlowStart::read(from)?;
            // Random draws of its rate control at its start are part of the restored state.
            let mut flow = Sending::new(start, Time::ZERO, &self.facts(&start, 0), &self.c);
            flow.restore(from)?;
            self.flows.push(flow);
        }
        let Nic { round_robin, slots, receiving, ahead, sinks, feedback, port, drain, storms, cancelled_wakes, queue_pairs, .. } = self;
        round_robin.restore(from)?;
        slots.restore(from)?;
        receiving.restore(from)?;
        ahead.restore(from)?;
        sinks.restore(from)?;
        feedback.restore(from)?;
        port.restore(from)?;
        xoff_units::save::restore_each(drain.iter().count(), drain.iter_mut(), from)?;
        xoff_units::save::restore_each(storms.len(), storms.iter_mut(), from)?;
        cancelled_wakes.restore(from)?;
        queue_pairs.restore(from)
    }
}
