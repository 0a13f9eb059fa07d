//! CNPs that leave at the ticks of a clock, where the rate control has one.

use xoff_mech::detection::Mark;
use xoff_mech::rate_control::{CnpClock, CnpMode};
use xoff_units::state::State;
use xoff_units::{Class, FlowId, Span};

use super::Nic;
use super::repair::CNP_TICK;
use crate::env::{Call, Env};
use crate::frame::{Frame, FrameKind};

/// Destination of a flow with such a clock.
#[derive(Clone, Copy, Debug, Default, State)]
pub(super) struct Clocked {
    clock: CnpClock,
    /// Class of its data.
    class: Class,
    /// Port by which its latest marked frame came.
    port: u16,
}

impl Nic {
    /// A CNP of a flow whose data are of this class.
    pub(super) fn cnp(&self, flow: FlowId, class: Class, mark: Mark) -> Frame {
        let class = self.c.cnp_class.or(self.c.acks.class).unwrap_or(class);
        // 64 B, the smallest Ethernet frame.
        let mut cnp = Frame::new(FrameKind::CongestionNotification, flow, class, 64);
        cnp.set_reported(mark);
        cnp
    }

    /// A frame of data arrived: the CNP that goes now.
    #[cold]
    pub(super) fn note_for_clock(
        &mut self,
        port: u16,
        f: &Frame,
        interval: Span,
        env: &mut impl Env,
    ) -> Option<Mark> {
        let d = self.clocked.entry(f.flow).or_default();
        let undetermined = self.c.rate_control.reports_undetermined();
        let (due, tick) = d.clock.on_frame(env.now(), f.mark(), interval, undetermined);
        if let Some(at) = tick {
            (d.class, d.port) = (f.class(), port);
            env.call_at(self.node, at, Call::FlowTimer { slot: f.flow.0, which: CNP_TICK });
        }
        due
    }

    /// A tick of the clock of a flow.
    #[cold]
    pub(super) fn on_cnp_tick(&mut self, flow: FlowId, env: &mut impl Env) {
        let CnpMode::Clock { interval } = self.c.rate_control.cnp_mode() else { return };
        let Some(d) = self.clocked.get_mut(&flow) else { return };
        let Some(mark) = d.clock.on_tick(env.now(), interval) else { return };
        let (class, port) = (d.class, d.port);
        self.send_cnp(port, self.cnp(flow, class, mark), env);
        self.try_send(port, env);
    }

    /// A CNP waits at a port.
    pub(super) fn send_cnp(&mut self, port: u16, cnp: Frame, env: &mut impl Env) {
        if self.c.cnp_class.is_some() {
            let id = env.frames().insert(cnp);
            self.ports[port].port.send_unpaused(id, env);
        } else {
            self.queue_feedback(port, cnp, env);
        }
    }
}
