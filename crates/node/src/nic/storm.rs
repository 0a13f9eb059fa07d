//! A broken NIC: it keeps stopping its peer, whatever it receives.
//!
//! ```text
//!   from -- hold -- hold -- hold -- ... -- until: it ends        every interval the message that holds the peer longest
//!            messages of its receiver half wait until then
//! ```

use xoff_mech::flow_control::Message;
use xoff_units::state::State;
use xoff_units::{Class, PortId, Span, Time};

use super::nic_port::NicPort;
use super::{Nic, NicConfig};
use crate::env::{Call, Env};

/// Pause storm of a NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StormConfig {
    /// Number of the class that it stops, from 0.
    pub class: Class,
    /// Time of the first message.
    pub from: Time,
    /// Time of the release.
    pub until: Time,
    /// Time between two messages [ps].
    pub interval: Span,
}

/// A storm, until it is over.
#[derive(State)]
pub(super) struct Storm {
    #[state(built)] // constant
    c: StormConfig,
    /// Next message; never: it is over.
    next: Time,
    /// Last message that the receiver half wanted to send.
    withheld: Option<Message>,
}

impl NicPort {
    /// True if no storm is active or to come.
    pub fn is_calm(&self) -> bool {
        self.storms.iter().all(|s| s.next == Time::NEVER)
    }

    pub fn plan_storm(&self, env: &mut impl Env) {
        if let Some(next) = self.storms.iter().map(|s| s.next).min() {
            let PortId { node, port } = self.port.at();
            env.call_at(node, next, Call::Clock { which: Nic::clock(Nic::STORM, port) });
        }
    }

    /// The receiver half of a class wants to send a message. Returns whether a present storm
    /// withholds it.
    #[cold]
    pub fn withholds(&mut self, now: Time, class: Class, message: Message) -> bool {
        let storm = self
            .storms
            .iter_mut()
            .find(|s| s.c.class == class && s.c.from <= now && s.next != Time::NEVER);
        storm.map(|s| s.withheld = Some(message)).is_some()
    }

    fn go_on_storming(&mut self, c: &NicConfig, env: &mut impl Env) -> bool {
        let now = env.now();
        let mut acts = false;
        for n in 0..self.storms.len() {
            let s = &mut self.storms[n];
            if s.next > now {
                continue;
            }
            acts = true;
            let (class, ends) = (s.c.class, now >= s.c.until);
            let hold = self.port.hold_message(class);
            let s = &mut self.storms[n];
            let message = if ends {
                s.next = Time::NEVER;
                s.withheld.take().or(hold.and_then(Message::release))
            } else {
                s.next = (now + s.c.interval).min(s.c.until);
                hold
            };
            if let Some(message) = message {
                self.port.send_control(class, message, &c.control_delay, env);
                self.plan_next(env);
            }
        }
        self.plan_storm(env);
        acts
    }
}

impl Nic {
    const STORM: u8 = 1;
    /// Clocks of one port that can be distinguished; the environment has those from 3 on.
    const CLOCKS: u8 = 4;

    /// Number of a clock of a port.
    pub(super) fn clock(kind: u8, port: u16) -> u8 {
        kind + Nic::CLOCKS * port as u8
    }

    /// The NIC is broken in this manner, at each of its ports.
    pub fn break_by(&mut self, storms: impl IntoIterator<Item = StormConfig>) {
        let storms: Vec<StormConfig> = storms.into_iter().collect();
        for p in self.ports.iter_mut() {
            let storm = |&c: &StormConfig| Storm { next: c.from, withheld: None, c };
            p.storms = storms.iter().map(storm).collect();
        }
    }

    /// A clock of the NIC. Returns whether that changed anything.
    pub fn on_clock(&mut self, which: u8, env: &mut impl Env) -> bool {
        let port = u16::from(which / Nic::CLOCKS);
        match which % Nic::CLOCKS {
            Self::DRAIN => self.on_drained(port, env),
            _ => self.ports[port].go_on_storming(&self.c, env),
        }
    }
}
