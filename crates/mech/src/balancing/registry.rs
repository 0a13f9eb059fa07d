//! Everything that follows from the list of laws in `mod.rs`.

macro_rules! laws {
    ($($Law:ident($law:ident) $name:literal: $about:literal;)+) => {
        /// A law, with its parameters and their reader.
        pub type Entry = crate::choice::Choice<Balancing>;

        /// A law with its parameters.
        #[derive(Clone, Debug, Default)]
        pub enum Balancing {
            /// A flow keeps the path of its hash.
            #[default]
            Ecmp,
            $(#[doc = concat!("[`super::", stringify!($law), "`].")] $Law(super::$law::$Law),)+
            /// From outside.
            Custom(Arc<dyn Custom>),
        }

        /// All laws.
        pub const REGISTRY: &[Entry] = &[
            Entry {
                name: "ecmp",
                about: "a flow keeps the path of its hash",
                params: &[],
                read: |_: &mut dyn Values| -> Result<Balancing, ParamError> { Ok(Balancing::Ecmp) },
            },
            $(Entry {
                name: $name,
                about: $about,
                params: &[super::$law::PARAMS],
                read: |v| super::$law::$Law::read(v).map(Balancing::$Law),
            },)+
        ];

        /// The balancer of one switch, of any law.
        #[derive(State)]
        pub enum AnyBalancer {
            /// Of [`super::ecmp`].
            Ecmp(super::ecmp::Ecmp),
            $(#[doc = concat!("Of [`super::", stringify!($law), "`].")] $Law(super::$law::$Law),)+
            /// From outside.
            #[state(refused)]
            Custom(Box<dyn Balancer + Send + Sync>),
        }

        impl Balancing {
            /// The balancer of a switch; `None`: the environment's cached path of a flow's hash.
            /// `entropy`: each frame has an entropy value.
            pub fn balancer(&self, switch: NodeId, entropy: bool) -> Option<AnyBalancer> {
                match self {
                    Balancing::Ecmp if entropy => Some(AnyBalancer::Ecmp(Default::default())),
                    Balancing::Ecmp => None,
                    $(Balancing::$Law(law) => Some(AnyBalancer::$Law(law.clone())),)+
                    Balancing::Custom(law) => Some(AnyBalancer::Custom(law.balancer(switch))),
                }
            }

            /// True if flows keep the path of their hash.
            pub fn is_ecmp(&self) -> bool {
                matches!(self, Balancing::Ecmp)
            }

            /// True if frames between leaves have headers: the network has two tiers, leaves and
            /// spines.
            pub fn adds_headers(&self) -> bool {
                match self {
                    Balancing::Ecmp => false,
                    $(Balancing::$Law(law) => law.adds_headers(),)+
                    Balancing::Custom(law) => law.adds_headers(),
                }
            }

            /// True if leaves send replies.
            pub fn replies(&self) -> bool {
                match self {
                    Balancing::Ecmp => false,
                    $(Balancing::$Law(law) => law.replies(),)+
                    Balancing::Custom(law) => law.replies(),
                }
            }

            /// True if frames of a flow may overtake each other.
            pub fn reorders(&self) -> bool {
                match self {
                    Balancing::Ecmp => false,
                    $(Balancing::$Law(law) => law.reorders(),)+
                    Balancing::Custom(law) => law.reorders(),
                }
            }
        }

        impl Balancer for AnyBalancer {
            fn pick(&mut self, frame: &Arrival, hops: &mut dyn NextHops) -> usize {
                match self {
                    AnyBalancer::Ecmp(law) => law.pick(frame, hops),
                    $(AnyBalancer::$Law(law) => law.pick(frame, hops),)+
                    AnyBalancer::Custom(law) => law.pick(frame, hops),
                }
            }
            fn on_departure(&mut self, frame: &Departure, header: &mut Header) {
                match self {
                    AnyBalancer::Ecmp(law) => law.on_departure(frame, header),
                    $(AnyBalancer::$Law(law) => law.on_departure(frame, header),)+
                    AnyBalancer::Custom(law) => law.on_departure(frame, header),
                }
            }
            fn on_header(&mut self, frame: &Landing, header: &Header) -> Verdict {
                match self {
                    AnyBalancer::Ecmp(law) => law.on_header(frame, header),
                    $(AnyBalancer::$Law(law) => law.on_header(frame, header),)+
                    AnyBalancer::Custom(law) => law.on_header(frame, header),
                }
            }
            fn on_reply(&mut self, now: Time, flow: FlowId, from_leaf: NodeId, content: u64) {
                match self {
                    AnyBalancer::Ecmp(law) => law.on_reply(now, flow, from_leaf, content),
                    $(AnyBalancer::$Law(law) => law.on_reply(now, flow, from_leaf, content),)+
                    AnyBalancer::Custom(law) => law.on_reply(now, flow, from_leaf, content),
                }
            }
            fn due(&self) -> Time {
                match self {
                    AnyBalancer::Ecmp(law) => law.due(),
                    $(AnyBalancer::$Law(law) => law.due(),)+
                    AnyBalancer::Custom(law) => law.due(),
                }
            }
            fn release(&mut self, now: Time) -> Option<FlowId> {
                match self {
                    AnyBalancer::Ecmp(law) => law.release(now),
                    $(AnyBalancer::$Law(law) => law.release(now),)+
                    AnyBalancer::Custom(law) => law.release(now),
                }
            }
        }
    };
}
