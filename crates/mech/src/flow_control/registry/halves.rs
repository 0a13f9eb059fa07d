//! Calls of a port to the two halves of its flow control. Static dispatch: every frame passes here.

use super::*;
use xoff_units::FlowId;

/// Calls of a port to a receiver half; per-flow halves get the flow of the frame.
impl Rx {
    /// True if it is per-flow. Frames concern [`Rx::on_flow_arrival`] and [`Rx::on_flow_departure`]
    /// then.
    #[inline]
    pub fn per_flow(&self) -> bool {
        dispatch!(Rx, self, _ => false, _ => true, Rx::None => false,)
    }
    /// A frame was admitted; see [`Receiver::on_arrival`]. Nothing of a per-flow half.
    #[inline(always)]
    pub fn on_arrival(&mut self, now: Time, occupancy: &Occupancy, len: Bytes) -> Option<Message> {
        dispatch!(Rx, self, m => m.on_arrival(now, occupancy, len), _ => None, Rx::None => None,)
    }
    /// A frame left the buffer; see [`Receiver::on_departure`]. Nothing of a per-flow half.
    #[inline(always)]
    pub fn on_departure(
        &mut self,
        now: Time,
        occupancy: &Occupancy,
        len: Bytes,
    ) -> Option<Message> {
        dispatch!(Rx, self, m => m.on_departure(now, occupancy, len), _ => None, Rx::None => None,)
    }
    /// See [`Receiver::wants_egress`].
    pub fn wants_egress(&self) -> bool {
        dispatch!(Rx, self, m => m.wants_egress(), _ => false, Rx::None => false,)
    }
    /// See [`Receiver::on_arrival_to`].
    pub fn on_arrival_to(
        &mut self,
        now: Time,
        occupancy: &Occupancy,
        egress: Waiting,
        len: Bytes,
    ) -> Option<Message> {
        dispatch!(Rx, self, m => m.on_arrival_to(now, occupancy, egress, len), _ => None, Rx::None => None,)
    }
    /// See [`Receiver::on_departure_from`].
    pub fn on_departure_from(
        &mut self,
        now: Time,
        occupancy: &Occupancy,
        egress: Waiting,
        len: Bytes,
    ) -> Option<Message> {
        dispatch!(Rx, self, m => m.on_departure_from(now, occupancy, egress, len), _ => None, Rx::None => None,)
    }
    /// See [`FlowReceiver::on_arrival`].
    pub fn on_flow_arrival(
        &mut self,
        now: Time,
        flow: FlowId,
        queue: Option<QueueState>,
        len: Bytes,
    ) -> Option<Message> {
        dispatch!(Rx, self, _ => None, m => m.on_arrival(now, flow, queue, len), Rx::None => None,)
    }
    /// See [`FlowReceiver::on_departure`].
    pub fn on_flow_departure(
        &mut self,
        now: Time,
        flow: FlowId,
        queue: Option<QueueState>,
        len: Bytes,
    ) -> Option<Message> {
        dispatch!(Rx, self, _ => None, m => m.on_departure(now, flow, queue, len), Rx::None => None,)
    }
    /// See [`FlowReceiver::more`]; the others send one message at a time.
    pub fn more(&mut self) -> Option<Message> {
        dispatch!(Rx, self, _ => None, m => m.more(), Rx::None => None,)
    }
    /// See [`FlowReceiver::collisions`]; the others do not distinguish flows.
    pub fn collisions(&self) -> u64 {
        dispatch!(Rx, self, _ => 0, m => m.collisions(), Rx::None => 0,)
    }
    /// See [`Receiver::on_wake`] and [`FlowReceiver::on_wake`].
    pub fn on_wake(&mut self, now: Time, occupancy: &Occupancy) -> Option<Message> {
        dispatch!(Rx, self, m => m.on_wake(now, occupancy), m => m.on_wake(now), Rx::None => None,)
    }
    /// See [`Receiver::next_wake`].
    #[inline]
    pub fn next_wake(&self) -> Option<Time> {
        dispatch!(Rx, self, m => m.next_wake(), m => m.next_wake(), Rx::None => None,)
    }
    /// See [`Receiver::holds`] and [`FlowReceiver::holds`].
    pub fn holds(&self, occupancy: &Occupancy, stuck: Bytes, len: Bytes) -> bool {
        let gone = occupancy.bytes.saturating_sub(stuck);
        dispatch!(Rx, self, m => m.holds(occupancy, stuck, len), m => m.holds(gone), Rx::None => false,)
    }
    /// See [`Receiver::hold`]; a per-flow half holds no peer as a whole.
    pub fn hold(&self) -> Option<Message> {
        dispatch!(Rx, self, m => m.hold(), _ => None, Rx::None => None,)
    }
    /// See [`Receiver::on_dropped`].
    pub fn on_dropped(&mut self, now: Time, len: Bytes) -> Option<Message> {
        dispatch!(Rx, self, m => m.on_dropped(now, len), _ => None, Rx::None => None,)
    }
    /// See [`Receiver::on_peer_total`].
    pub fn on_peer_total(&mut self, sent: u64) {
        dispatch!(Rx, self, m => m.on_peer_total(sent), _ => {}, Rx::None => {})
    }
}

impl Sender for Tx {
    #[inline(always)]
    fn gate(&self, now: Time, len: Bytes) -> Gate {
        dispatch!(Tx, self, m => m.gate(now, len), m => m.gate(now), Tx::None(_) | Tx::Released(_) => Gate::Open,)
    }
    #[inline(always)]
    fn on_sent(&mut self, now: Time, len: Bytes, tx: Span) {
        dispatch!(Tx, self, m => m.on_sent(now, len, tx), _ => {}, Tx::None(_) => {} Tx::Released(r) => r.on_sent(now, len, tx),)
    }
    fn on_message(&mut self, now: Time, message: Message) {
        dispatch!(
            Tx, self, m => m.on_message(now, message), m => m.on_message(now, message),
            Tx::None(_) => {} Tx::Released(r) => r.on_message(now, message),
        )
    }
    #[inline]
    fn held(&self, now: Time, len: Bytes) -> bool {
        dispatch!(Tx, self, m => m.held(now, len), m => m.gate(now) != Gate::Open, Tx::None(_) | Tx::Released(_) => false,)
    }
    #[inline]
    fn rate(&self, now: Time) -> Rate {
        dispatch!(Tx, self, m => m.rate(now), m => m.rate(), Tx::None(line) => *line, Tx::Released(r) => r.line,)
    }
    fn is_possible(&self, message: Message) -> bool {
        dispatch!(
            Tx, self, m => m.is_possible(message), m => m.is_possible(message),
            Tx::None(_) => true, Tx::Released(r) => r.tx.is_possible(message),
        )
    }
    fn overdrawn(&self) -> bool {
        dispatch!(Tx, self, m => m.overdrawn(), _ => false, Tx::None(_) | Tx::Released(_) => false,)
    }
    fn restart(&mut self, now: Time) {
        dispatch!(Tx, self, m => m.restart(now), m => m.restart(now), Tx::None(_) => {} Tx::Released(r) => r.tx.restart(now),)
    }
    fn sent_total(&self) -> Option<u64> {
        dispatch!(Tx, self, m => m.sent_total(), _ => None, Tx::None(_) => None, Tx::Released(r) => r.tx.sent_total(),)
    }
    fn shared_use(&self) -> Option<u64> {
        dispatch!(Tx, self, m => m.shared_use(), _ => None, Tx::None(_) => None, Tx::Released(r) => r.tx.shared_use(),)
    }
    fn on_shared_use(&mut self, others: u64, classes: u64) {
        dispatch!(
            Tx, self, m => m.on_shared_use(others, classes), _ => {},
            Tx::None(_) => {} Tx::Released(r) => r.tx.on_shared_use(others, classes),
        )
    }
    #[inline]
    fn stopped_by(&self) -> StoppedBy {
        dispatch!(Tx, self, m => m.stopped_by(), _ => StoppedBy::Flows, Tx::None(_) | Tx::Released(_) => StoppedBy::Pause,)
    }
}

impl Tx {
    /// The queue of a per-flow sender; `None`: frames wait elsewhere, FIFO or in another order.
    #[inline]
    pub fn flows(&self) -> Option<&dyn FlowSender> {
        dispatch!(Tx, self, _ => None, m => Some(&**m), Tx::None(_) | Tx::Released(_) => None,)
    }
    /// Mutable access, to insert and remove frames.
    #[inline]
    pub fn flows_mut(&mut self) -> Option<&mut dyn FlowSender> {
        dispatch!(Tx, self, _ => None, m => Some(&mut **m), Tx::None(_) | Tx::Released(_) => None,)
    }
}
