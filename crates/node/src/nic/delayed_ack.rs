//! Acknowledgements that wait for another segment, where the transport delays them.

use xoff_mech::transport::{Answer, Sink};
use xoff_units::state::State;
use xoff_units::{Class, FlowId};

use super::Nic;
use super::repair::DELAYED_ACK;
use crate::env::{Call, Env};
use crate::frame::{Frame, FrameKind};

/// Destination of a flow whose acknowledgements may wait.
#[derive(Clone, Copy, Debug, Default, State)]
pub(super) struct Destination {
    sink: Sink,
    /// Class of its acknowledgements.
    class: Class,
    /// Port by which its latest segment came.
    port: u16,
    /// Its entropy value.
    value: Option<u16>,
}

impl Destination {
    /// Nothing waits.
    pub fn rests(&self) -> bool {
        self.sink.rests()
    }
}

impl Nic {
    /// A segment is to be answered by this acknowledgement. Returns one that goes now. `plain`: the
    /// segment is full and in order, and no gap is or was behind it.
    #[cold]
    pub(super) fn delay_ack(
        &mut self,
        port: u16,
        (ack, value): (Frame, Option<u16>),
        plain: bool,
        env: &mut impl Env,
    ) -> Option<Frame> {
        let now = env.now();
        let d = self.sinks.entry(ack.flow).or_default();
        (d.class, d.port, d.value) = (ack.class(), port, value);
        let answer =
            d.sink.on_segment(self.c.transport.facts().delayed_ack, now, ack.sent_at, plain);
        self.answered(answer, ack, env)
    }

    /// Acknowledgements of a flow may have waited long enough.
    #[cold]
    pub(super) fn on_delayed_ack(&mut self, flow: FlowId, env: &mut impl Env) {
        let now = env.now();
        let Some(d) = self.sinks.get_mut(&flow) else { return };
        let (answer, port, value) = (d.sink.on_call(now), d.port, d.value);
        let mut ack = Frame::new(FrameKind::Ack, flow, d.class, self.c.acks.len);
        ack.seq = self.receiving.get(&flow).map_or(0, |r| r.data.expected);
        if let Some(ack) = self.answered(answer, ack, env) {
            let id = self.queue_feedback(port, ack, env);
            if let Some(value) = value {
                env.frames().set_entropy(id, value);
            }
            self.try_send(port, env);
        }
    }

    fn answered(&self, answer: Answer, mut ack: Frame, env: &mut impl Env) -> Option<Frame> {
        match answer {
            Answer::Now(sent) => {
                ack.sent_at = sent;
                return Some(ack);
            }
            Answer::Later(Some(at)) => {
                let call = Call::FlowTimer { slot: ack.flow.0, which: DELAYED_ACK };
                env.call_at(self.node, at, call);
            }
            Answer::Later(None) => {}
        }
        None
    }
}
