//! Enums that the registry generates: all mechanisms, their messages and their halves, with static dispatch.
//!
//! ```text
//!   Pfc(pfc) "pfc" sends 0 Pfc(Pause): "...";
//!     |   |    |         |  |    |            +- Entry::about
//!     |   |    |         |  |    +- its contents, a Signal of that module
//!     |   |    |         |  +- Message::Pfc                      or instead of `sends`:  like Credit, whose messages it has
//!     |   |    |         +- number of that message in a frame
//!     |   |    +- Entry::name
//!     |   +- module; its Params implement Law
//!     +- FlowControl::Pfc, Rx::Pfc, Tx::Pfc
//! ```

/// Makes the registry. `classes`: mechanisms that regulate a priority as a whole; `flows`: per-flow ones.
macro_rules! flow_controls {
    (
        classes {$(
            $C:ident($c:ident) $c_name:literal $(sends $c_tag:literal $c_message:ident($c_signal:ident))? $(like $c_like:ident)?: $c_about:literal;
        )+}
        flows {$(
            $F:ident($f:ident) $f_name:literal $(sends $f_tag:literal $f_message:ident($f_signal:ident))? $(like $f_like:ident)?: $f_about:literal;
        )+}
    ) => {
        /// Message from a receiver to its sender.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, xoff_units::save::Value)]
        pub enum Message {
            $($(#[doc = concat!("Of [`super::", stringify!($c), "`].")] $c_message(super::$c::$c_signal),)?)+
            $($(#[doc = concat!("Of [`super::", stringify!($f), "`].")] $f_message(super::$f::$f_signal),)?)+
            /// Message of a mechanism from outside.
            Custom(u64),
        }

        impl Message {
            /// Packed into a tag and two words, for stores that keep frames small.
            pub fn to_words(self) -> (u8, u64, u64) {
                let (tag, (a, b)) = match self {
                    $($(Message::$c_message(m) => ($c_tag, Signal::to_words(m)),)?)+
                    $($(Message::$f_message(m) => ($f_tag, Signal::to_words(m)),)?)+
                    Message::Custom(m) => (CUSTOM_TAG, Signal::to_words(m)),
                };
                (tag, a, b)
            }

            /// The inverse of [`Message::to_words`].
            pub fn from_words(tag: u8, a: u64, b: u64) -> Message {
                /// Numbers of messages are distinct.
                #[deny(unreachable_patterns)]
                const fn _distinct(tag: u8) {
                    match tag {
                        $($($c_tag => (),)?)+
                        $($($f_tag => (),)?)+
                        _ => (),
                    }
                }
                match tag {
                    $($($c_tag => Message::$c_message(Signal::from_words(a, b)),)?)+
                    _ => Message::rare(tag, a, b),
                }
            }

            #[cold] // out of line: every control frame passes here
            fn rare(tag: u8, a: u64, b: u64) -> Message {
                match tag {
                    $($($f_tag => Message::$f_message(Signal::from_words(a, b)),)?)+
                    _ => Message::Custom(Signal::from_words(a, b)),
                }
            }

            /// Kind and value for tables and logs.
            pub fn describe(&self) -> (&'static str, u64) {
                match *self {
                    $($(Message::$c_message(m) => Signal::describe(m),)?)+
                    $($(Message::$f_message(m) => Signal::describe(m),)?)+
                    Message::Custom(m) => Signal::describe(m),
                }
            }

            /// True if it pauses its sender, false if it resumes it. `None`: it does neither outright, or for some flows only.
            pub fn stops(self) -> Option<bool> {
                match self {
                    $($(Message::$c_message(m) => Signal::stops(m),)?)+
                    $($(Message::$f_message(m) => Signal::stops(m),)?)+
                    Message::Custom(m) => Signal::stops(m),
                }
            }

            /// The message that ends the state which this one sets, as if it had never been sent; `None`: it sets none that lasts.
            pub fn release(self) -> Option<Message> {
                match self {
                    $($(Message::$c_message(m) => Signal::release(m).map(Message::$c_message),)?)+
                    $($(Message::$f_message(m) => Signal::release(m).map(Message::$f_message),)?)+
                    Message::Custom(m) => Signal::release(m).map(Message::Custom),
                }
            }

            /// True if it sets a state and its receiver half sends it only once. On a real link it has to be repeated, so that a lost one
            /// heals.
            pub fn is_state(self) -> bool {
                match self {
                    $($(Message::$c_message(m) => Signal::is_state(m),)?)+
                    $($(Message::$f_message(m) => Signal::is_state(m),)?)+
                    Message::Custom(m) => Signal::is_state(m),
                }
            }

            /// True for a part of the frame that the next message closes. It takes no time on the wire: the closing one has the full
            /// length.
            pub fn is_part(self) -> bool {
                match self {
                    $($(Message::$c_message(m) => Signal::is_part(m),)?)+
                    $($(Message::$f_message(m) => Signal::is_part(m),)?)+
                    Message::Custom(m) => Signal::is_part(m),
                }
            }

            /// Length on the wire, if it differs from the length of all messages of its flow control [bytes].
            #[inline]
            pub fn own_len(self) -> Option<Bytes> {
                match self {
                    $($(Message::$c_message(m) => Signal::own_len(m),)?)+
                    $($(Message::$f_message(m) => Signal::own_len(m),)?)+
                    Message::Custom(m) => Signal::own_len(m),
                }
            }

            /// True if it contains the total that its port has sent.
            #[inline]
            pub fn totals(self) -> Totals {
                match self {
                    $($(Message::$c_message(m) => Signal::totals(m),)?)+
                    $($(Message::$f_message(m) => Signal::totals(m),)?)+
                    Message::Custom(m) => Signal::totals(m),
                }
            }

            /// True if it concerns single flows. A decision may then take several messages: [`Rx::more`].
            #[inline]
            pub fn is_per_flow(&self) -> bool {
                match self {
                    $($(Message::$c_message(_) => <super::$c::$c_signal as Signal>::PER_FLOW,)?)+
                    $($(Message::$f_message(_) => <super::$f::$f_signal as Signal>::PER_FLOW,)?)+
                    Message::Custom(_) => <u64 as Signal>::PER_FLOW,
                }
            }
        }

        /// A configured flow control, ready to make its two halves for any link.
        #[derive(Clone, Debug)]
        pub enum FlowControl {
            /// No flow control: a full buffer drops.
            None,
            $(#[doc = concat!("[`super::", stringify!($c), "`].")] $C(super::$c::Params),)+
            $(#[doc = concat!("[`super::", stringify!($f), "`].")] $F(super::$f::Params),)+
            /// A mechanism from outside this repository.
            Custom(Arc<dyn Custom>),
        }

        /// All flow controls.
        pub const REGISTRY: &[Entry] = &[
            Entry { name: "none", about: "no flow control; a full buffer drops", per_flow: false, params: &[], read: |_, _| Ok(FlowControl::None) },
            $(Entry {
                name: $c_name,
                about: $c_about,
                per_flow: false,
                params: super::$c::PARAMS,
                read: |v, l| super::$c::Params::read(v, l).map(FlowControl::$C),
            },)+
            $(Entry {
                name: $f_name,
                about: $f_about,
                per_flow: true,
                params: super::$f::PARAMS,
                read: |v, l| super::$f::Params::read(v, l).map(FlowControl::$F),
            },)+
        ];

        impl FlowControl {
            /// Name in the registry; `None`: a mechanism from outside.
            pub fn name(&self) -> Option<&'static str> {
                match self {
                    FlowControl::None => Some("none"),
                    $(FlowControl::$C(_) => Some($c_name),)+
                    $(FlowControl::$F(_) => Some($f_name),)+
                    FlowControl::Custom(_) => None,
                }
            }

            /// Receiver and sender for a link.
            pub fn halves(&self, link: &LinkFacts) -> (Rx, Tx) {
                match self {
                    FlowControl::None => (Rx::None, Tx::None(link.rate)),
                    $(FlowControl::$C(p) => {
                        let (rx, tx) = Law::halves(p, link);
                        (Rx::$C(rx), Tx::$C(tx))
                    })+
                    $(FlowControl::$F(p) => {
                        let (rx, tx) = Law::halves(p, link);
                        (Rx::$F(rx), Tx::$F(tx))
                    })+
                    FlowControl::Custom(x) => {
                        let (rx, tx) = x.halves(link);
                        (Rx::Custom(rx), Tx::Custom(tx))
                    }
                }
            }

            /// True if such a message fits a port with this flow control.
            pub fn accepts(&self, message: &Message) -> bool {
                match self {
                    FlowControl::None => false,
                    $(FlowControl::$C(_) => matches!(message, $(Message::$c_message(_))? $(Message::$c_like(_))?),)+
                    $(FlowControl::$F(_) => matches!(message, $(Message::$f_message(_))? $(Message::$f_like(_))?),)+
                    FlowControl::Custom(_) => matches!(message, Message::Custom(_)),
                }
            }

            /// Values of the keys without a default, as they take effect on its link.
            pub fn resolved(&self) -> Vec<(&'static str, String)> {
                of_law!(self, Vec::new(), p => p.resolved(); $($C)+ $($F)+)
            }

            /// Messages that a port sends on a real link when it starts. They end every state that its predecessor had set at the
            /// neighbour. Numbered messages are at least the first three, which announce a new count. Pauses of a priority end on their
            /// own, and credits are repeated all the time.
            pub fn opening(&self) -> Vec<Message> {
                of_law!(self, Vec::new(), p => p.opening(); $($C)+ $($F)+)
            }

            /// True if it is per-flow, so that its sender half is the egress queue.
            pub fn per_flow(&self) -> bool {
                matches!(self, $(FlowControl::$F(_))|+)
            }

            /// Refuses a buffer behind which the longest frame of this link never gets through, as a virtual lane without credits.
            ///
            /// # Errors
            /// The key with too small a value.
            pub fn holds_a_frame(&self, link: &LinkFacts) -> Result<(), ParamError> {
                of_law!(self, Ok(()), p => Law::holds_a_frame(p, link); $($C)+ $($F)+)
            }

            /// Size of a message on the wire [bytes]: the 64 B control frame that the GFC paper counts (m = 64 B), but where a mechanism
            /// says otherwise.
            pub fn message_len(&self) -> Bytes {
                match self {
                    FlowControl::Custom(x) => x.message_len(),
                    law => of_law!(law, MESSAGE_LEN, p => p.message_len(); $($C)+ $($F)+),
                }
            }

            /// The control loop of a link under this flow control.
            pub fn control_loop(&self, link: &LinkFacts) -> ControlLoop {
                of_law!(self, link.control_loop(self.message_len()), p => p.control_loop(link); $($C)+ $($F)+)
            }

            /// Condition that stops a regulated port; `None`: no port stops as a whole, or it is unknown.
            pub fn stop(&self) -> Option<Stop> {
                of_law!(self, None, p => p.stop(); $($C)+ $($F)+)
            }

            /// Place where a whole priority is stopped outright, if any.
            pub fn pauses(&self) -> Pauses {
                of_law!(self, Pauses::Never, p => p.pauses(); $($C)+ $($F)+)
            }

            /// Rejects parameters without a form on a real link.
            ///
            /// # Errors
            /// The key that has another value there.
            pub fn on_a_wire(&self) -> Result<(), ParamError> {
                of_law!(self, Ok(()), p => p.on_a_wire(); $($C)+ $($F)+)
            }

            /// Bytes that one flow may hold behind this link, if single flows are paused; `None`: priorities are.
            pub fn flow_bytes(&self, link: &LinkFacts) -> Option<Bytes> {
                of_law!(self, None, p => Law::flow_bytes(p, link); $($C)+ $($F)+)
            }

            /// Conditions of its own that do not hold on this link.
            pub fn unmet(&self, link: &LinkFacts) -> Vec<Unmet> {
                of_law!(self, Vec::new(), p => p.unmet(link); $($C)+ $($F)+)
            }

            /// Ports of a switch by which traffic enters and that share an egress, as many as it is made for; 0: its receiver halves do
            /// not look at egress queues ([`Receiver::wants_egress`]).
            pub fn entry_ports(&self) -> u64 {
                of_law!(self, 0, p => Law::entry_ports(p); $($C)+ $($F)+)
            }

            /// True if the priorities of a port share one buffer. Then the buffer of its link is that of all of them.
            pub fn shares_port(&self) -> bool {
                of_law!(self, false, p => Law::shares_port(p); $($C)+ $($F)+)
            }

            /// Rejects parameters that are too small for this number of priorities.
            ///
            /// # Errors
            /// The key with too small a value.
            pub fn fits_priorities(&self, link: &LinkFacts, priorities: u64) -> Result<(), ParamError> {
                of_law!(self, Ok(()), p => Law::fits_priorities(p, link, priorities); $($C)+ $($F)+)
            }

            /// Rejects periodic messages of `priorities` priorities that come faster than the wire carries them.
            ///
            /// # Errors
            /// The key that says how often they come.
            pub fn messages_fit(&self, link: &LinkFacts, priorities: u64) -> Result<(), ParamError> {
                of_law!(self, Ok(()), p => Law::messages_fit(p, link, priorities); $($C)+ $($F)+)
            }

            /// Effect of a stopped drain on the buffers behind such a link; `None`: the sender stops as well, or there is no guarantee.
            pub fn standstill(&self, link: &LinkFacts) -> Option<Standstill> {
                of_law!(self, None, p => p.standstill(link); $($C)+ $($F)+)
            }
        }

        /// A receiver half of any kind.
        #[derive(Serialize, xoff_units::save::Save)]
        #[repr(C)] // the beginning of a half stands at the beginning of this, as its order of fields expects
        pub enum Rx {
            /// Sends nothing.
            None,
            $(#[doc = concat!("Of [`super::", stringify!($c), "`].")] $C(<super::$c::Params as Law>::Receiver),)+
            $(#[doc = concat!("Of [`super::", stringify!($f), "`].")] $F(<super::$f::Params as Law>::Receiver),)+
            /// From outside.
            #[serde(serialize_with = "xoff_units::state::from_outside")]
            #[save(refused)]
            Custom(Box<dyn Receiver + Send + Sync>),
        }

        /// Calls of a port to a receiver half; per-flow halves get the flow of the frame.
        impl Rx {
            /// A copy, to try several continuations of one state; `None`: a half from outside.
            pub fn copy(&self) -> Option<Rx> {
                match self {
                    Rx::None => Some(Rx::None),
                    $(Rx::$C(m) => Some(Rx::$C(m.clone())),)+
                    $(Rx::$F(m) => Some(Rx::$F(m.clone())),)+
                    Rx::Custom(_) => None,
                }
            }
            /// True if it is per-flow. Frames concern [`Rx::on_flow_arrival`] and [`Rx::on_flow_departure`] then.
            #[inline]
            pub fn per_flow(&self) -> bool {
                matches!(self, $(Rx::$F(_))|+)
            }
            /// A frame was admitted; see [`Receiver::on_arrival`]. Nothing of a per-flow half.
            #[inline(always)]
            pub fn on_arrival(&mut self, now: Time, occupancy: &Occupancy, len: Bytes) -> Option<Message> {
                match self {
                    Rx::None => None,
                    $(Rx::$C(m) => m.on_arrival(now, occupancy, len),)+
                    $(Rx::$F(_) => None,)+
                    Rx::Custom(m) => m.on_arrival(now, occupancy, len),
                }
            }
            /// A frame left the buffer; see [`Receiver::on_departure`]. Nothing of a per-flow half.
            #[inline(always)]
            pub fn on_departure(&mut self, now: Time, occupancy: &Occupancy, len: Bytes) -> Option<Message> {
                match self {
                    Rx::None => None,
                    $(Rx::$C(m) => m.on_departure(now, occupancy, len),)+
                    $(Rx::$F(_) => None,)+
                    Rx::Custom(m) => m.on_departure(now, occupancy, len),
                }
            }
            /// See [`Receiver::wants_egress`].
            pub fn wants_egress(&self) -> bool {
                match self {
                    $(Rx::$C(m) => m.wants_egress(),)+
                    Rx::Custom(m) => m.wants_egress(),
                    _ => false,
                }
            }
            /// See [`Receiver::on_arrival_to`].
            pub fn on_arrival_to(&mut self, now: Time, occupancy: &Occupancy, egress: Waiting, len: Bytes) -> Option<Message> {
                match self {
                    $(Rx::$C(m) => m.on_arrival_to(now, occupancy, egress, len),)+
                    Rx::Custom(m) => m.on_arrival_to(now, occupancy, egress, len),
                    _ => None,
                }
            }
            /// See [`Receiver::on_departure_from`].
            pub fn on_departure_from(&mut self, now: Time, occupancy: &Occupancy, egress: Waiting, len: Bytes) -> Option<Message> {
                match self {
                    $(Rx::$C(m) => m.on_departure_from(now, occupancy, egress, len),)+
                    Rx::Custom(m) => m.on_departure_from(now, occupancy, egress, len),
                    _ => None,
                }
            }
            /// See [`FlowReceiver::on_arrival`].
            pub fn on_flow_arrival(&mut self, now: Time, flow: u32, queue: Option<QueueState>, len: Bytes) -> Option<Message> {
                match self {
                    $(Rx::$F(m) => m.on_arrival(now, flow, queue, len),)+
                    _ => None,
                }
            }
            /// See [`FlowReceiver::on_departure`].
            pub fn on_flow_departure(&mut self, now: Time, flow: u32, queue: Option<QueueState>, len: Bytes) -> Option<Message> {
                match self {
                    $(Rx::$F(m) => m.on_departure(now, flow, queue, len),)+
                    _ => None,
                }
            }
            /// See [`FlowReceiver::more`]; the others send one message at a time.
            pub fn more(&mut self) -> Option<Message> {
                match self {
                    $(Rx::$F(m) => m.more(),)+
                    _ => None,
                }
            }
            /// See [`FlowReceiver::collisions`]; the others do not distinguish flows.
            pub fn collisions(&self) -> u64 {
                match self {
                    $(Rx::$F(m) => m.collisions(),)+
                    _ => 0,
                }
            }
            /// See [`Receiver::on_wake`] and [`FlowReceiver::on_wake`].
            pub fn on_wake(&mut self, now: Time, occupancy: &Occupancy) -> Option<Message> {
                match self {
                    Rx::None => None,
                    $(Rx::$C(m) => m.on_wake(now, occupancy),)+
                    $(Rx::$F(m) => m.on_wake(now),)+
                    Rx::Custom(m) => m.on_wake(now, occupancy),
                }
            }
            /// See [`Receiver::next_wake`].
            #[inline]
            pub fn next_wake(&self) -> Option<Time> {
                match self {
                    Rx::None => None,
                    $(Rx::$C(m) => m.next_wake(),)+
                    $(Rx::$F(m) => m.next_wake(),)+
                    Rx::Custom(m) => m.next_wake(),
                }
            }
            /// See [`Receiver::holds`] and [`FlowReceiver::holds`].
            pub fn holds(&self, occupancy: &Occupancy, stuck: Bytes, len: Bytes) -> bool {
                match self {
                    Rx::None => false,
                    $(Rx::$C(m) => m.holds(occupancy, stuck, len),)+
                    $(Rx::$F(m) => m.holds(occupancy.bytes.saturating_sub(stuck)),)+
                    Rx::Custom(m) => m.holds(occupancy, stuck, len),
                }
            }
            /// See [`Receiver::hold`]; a per-flow half holds no peer as a whole.
            pub fn hold(&self) -> Option<Message> {
                match self {
                    $(Rx::$C(m) => m.hold(),)+
                    Rx::Custom(m) => m.hold(),
                    _ => None,
                }
            }
            /// See [`Receiver::on_peer_total`].
            pub fn on_peer_total(&mut self, sent: u64) {
                match self {
                    $(Rx::$C(m) => m.on_peer_total(sent),)+
                    Rx::Custom(m) => m.on_peer_total(sent),
                    _ => {}
                }
            }
        }

        /// A sender half of any kind.
        #[derive(Serialize, xoff_units::save::Save)]
        pub enum Tx {
            /// Always open, at this line rate.
            None(Rate),
            $(#[doc = concat!("Of [`super::", stringify!($c), "`].")] $C(<super::$c::Params as Law>::Sender),)+
            $(#[doc = concat!("Of [`super::", stringify!($f), "`].")] $F(<super::$f::Params as Law>::Sender),)+
            /// From outside.
            #[serde(serialize_with = "xoff_units::state::from_outside")]
            #[save(refused)]
            Custom(Box<dyn Sender + Send + Sync>),
            /// A released half: it keeps obeying and counting, but its answer is ignored ([`Tx::release`]).
            Released(Box<Released>),
        }

        impl Sender for Tx {
            #[inline(always)]
            fn gate(&self, now: Time, len: Bytes) -> Gate {
                match self {
                    Tx::None(_) | Tx::Released(_) => Gate::Open,
                    $(Tx::$C(m) => m.gate(now, len),)+
                    $(Tx::$F(m) => FlowSender::gate(&**m, now),)+
                    Tx::Custom(m) => m.gate(now, len),
                }
            }
            #[inline(always)]
            fn on_sent(&mut self, now: Time, len: Bytes, tx: Span) {
                match self {
                    Tx::None(_) => {}
                    Tx::Released(inner) => inner.on_sent(now, len, tx),
                    $(Tx::$C(m) => m.on_sent(now, len, tx),)+
                    $(Tx::$F(_) => {})+
                    Tx::Custom(m) => m.on_sent(now, len, tx),
                }
            }
            fn on_message(&mut self, now: Time, message: Message) {
                match self {
                    Tx::None(_) => {}
                    Tx::Released(inner) => inner.on_message(now, message),
                    $(Tx::$C(m) => m.on_message(now, message),)+
                    $(Tx::$F(m) => m.on_message(now, message),)+
                    Tx::Custom(m) => m.on_message(now, message),
                }
            }
            #[inline]
            fn held(&self, now: Time, len: Bytes) -> bool {
                match self {
                    Tx::None(_) | Tx::Released(_) => false,
                    $(Tx::$C(m) => m.held(now, len),)+
                    $(Tx::$F(m) => FlowSender::gate(&**m, now) != Gate::Open,)+
                    Tx::Custom(m) => m.held(now, len),
                }
            }
            #[inline]
            fn rate(&self, now: Time) -> Rate {
                match self {
                    Tx::None(line) => *line,
                    Tx::Released(inner) => inner.line,
                    $(Tx::$C(m) => m.rate(now),)+
                    $(Tx::$F(m) => m.rate(),)+
                    Tx::Custom(m) => m.rate(now),
                }
            }
            fn is_possible(&self, message: Message) -> bool {
                match self {
                    Tx::None(_) => true,
                    Tx::Released(inner) => inner.tx.is_possible(message),
                    $(Tx::$C(m) => m.is_possible(message),)+
                    $(Tx::$F(m) => m.is_possible(message),)+
                    Tx::Custom(m) => m.is_possible(message),
                }
            }
            fn overdrawn(&self) -> bool {
                match self {
                    $(Tx::$C(m) => m.overdrawn(),)+
                    Tx::Custom(m) => m.overdrawn(),
                    _ => false,
                }
            }
            fn restart(&mut self, now: Time) {
                match self {
                    Tx::None(_) => {}
                    Tx::Released(inner) => inner.tx.restart(now),
                    $(Tx::$C(m) => m.restart(now),)+
                    $(Tx::$F(m) => m.restart(now),)+
                    Tx::Custom(m) => m.restart(now),
                }
            }
            fn sent_total(&self) -> Option<u64> {
                match self {
                    Tx::Released(inner) => inner.tx.sent_total(),
                    $(Tx::$C(m) => m.sent_total(),)+
                    Tx::Custom(m) => m.sent_total(),
                    _ => None,
                }
            }
            fn shared_use(&self) -> Option<u64> {
                match self {
                    Tx::Released(inner) => inner.tx.shared_use(),
                    $(Tx::$C(m) => m.shared_use(),)+
                    _ => None,
                }
            }
            fn on_shared_use(&mut self, others: u64, classes: u64) {
                match self {
                    Tx::Released(inner) => inner.tx.on_shared_use(others, classes),
                    $(Tx::$C(m) => m.on_shared_use(others, classes),)+
                    _ => {}
                }
            }
            #[inline]
            fn stopped_by(&self) -> StoppedBy {
                match self {
                    Tx::None(_) | Tx::Released(_) => StoppedBy::Pause,
                    $(Tx::$C(m) => m.stopped_by(),)+
                    $(Tx::$F(_) => StoppedBy::Flows,)+
                    Tx::Custom(m) => m.stopped_by(),
                }
            }
        }

        impl Tx {
            /// The queue of a per-flow sender; `None`: frames wait elsewhere, FIFO or in another order.
            #[inline]
            pub fn flows(&self) -> Option<&dyn FlowSender> {
                match self {
                    $(Tx::$F(m) => Some(&**m),)+
                    _ => None,
                }
            }
            /// Mutable access, to insert and remove frames.
            #[inline]
            pub fn flows_mut(&mut self) -> Option<&mut dyn FlowSender> {
                match self {
                    $(Tx::$F(m) => Some(&mut **m),)+
                    _ => None,
                }
            }
            /// A copy, to try several continuations of one state; `None`: a half from outside, or one that is released.
            pub fn copy(&self) -> Option<Tx> {
                match self {
                    Tx::None(line) => Some(Tx::None(*line)),
                    $(Tx::$C(m) => Some(Tx::$C(m.clone())),)+
                    $(Tx::$F(m) => Some(Tx::$F(m.clone())),)+
                    Tx::Custom(_) | Tx::Released(_) => None,
                }
            }
        }
    };
}

/// Answer of a law; `$without` if there is none: no flow control, or an external one.
macro_rules! of_law {
    ($self:expr, $without:expr, $p:ident => $answer:expr; $($V:ident)+) => {
        match $self {
            FlowControl::None | FlowControl::Custom(_) => $without,
            $(FlowControl::$V($p) => $answer,)+
        }
    };
}

pub(super) use {flow_controls, of_law};
