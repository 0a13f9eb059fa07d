//! Memory of switches in pools: `[[buffer_pool]]` and `[[buffer_profile]]`, as SONiC's BUFFER_POOL,
//! BUFFER_PROFILE, BUFFER_PG and BUFFER_QUEUE.
//!
//! ```text
//!   [[buffer_pool]]      name, size, headroom that is shared     of all switches, or of those that it names
//!   [[buffer_profile]]   pool, reserve, headroom, policy         of groups (ingress) or queues (egress): all ports, or those that it names
//!   Buffers::at(switch) --> accounts of its pools, a member for each port, priority and side
//! ```

mod fits;
mod unread;

pub(super) use fits::fits;
pub(super) use unread::unread;

use xoff_mech::LinkFacts;
use xoff_mech::flow_control::FlowControl;
use xoff_mech::sharing::AnySharing;
use xoff_net::topology::Topology;
use xoff_node::{Classes, MemberConfig, PoolConfig, PoolsConfig};
use xoff_sim::Side;
use xoff_units::params::ParamError;
use xoff_units::{Bytes, NodeId, Rate, Span};

use super::pool;

/// Priorities of a port.
const PRIORITIES: usize = 8;

/// A `[[buffer_pool]]`.
#[derive(Clone)]
pub(crate) struct PoolKeys {
    pub name: String,
    pub size: Bytes,
    /// Headroom that its groups share; zero: each has its own.
    pub headroom: Bytes,
    /// `None`: all.
    pub switches: Option<Vec<NodeId>>,
}

/// A `[[buffer_profile]]`.
#[derive(Clone)]
pub(crate) struct ProfileKeys {
    /// Name of the profile, or of its pool.
    pub name: String,
    pub pool: String,
    pub side: Side,
    pub priorities: Vec<u8>,
    /// Ports of switches; `None`: those of the switches.
    pub ports: Option<Vec<(NodeId, u16)>>,
    /// `None`: all.
    pub switches: Option<Vec<NodeId>>,
    pub reserve: Bytes,
    pub headroom: Option<Bytes>,
    pub xon: Option<Bytes>,
    pub xon_offset: Option<Bytes>,
    pub sharing: AnySharing,
}

impl ProfileKeys {
    /// Precision with which the profile names a port: 2 by its own name, 1 by its switch, 0 as any;
    /// `None`: not at all.
    fn rank(&self, node: NodeId, port: u16) -> Option<u8> {
        match (&self.ports, &self.switches) {
            (Some(ports), _) => ports.contains(&(node, port)).then_some(2),
            (None, Some(switches)) => switches.contains(&node).then_some(1),
            (None, None) => Some(0),
        }
    }
}

/// The section that a mistake is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    Pool(usize),
    Profile(usize),
    Switch,
}

/// A mistake, and where.
pub(crate) type Refused = (Of, ParamError);

/// The memory of all switches.
pub(crate) struct Buffers {
    pub pools: Vec<PoolKeys>,
    pub profiles: Vec<ProfileKeys>,
    /// Two full frames: how far below its limit a group is resumed, if its profile does not say it.
    pub hysteresis: Bytes,
}

/// A switch with its links.
pub(crate) struct SwitchLinks {
    pub node: NodeId,
    /// By port: rate of the link, and bytes that arrive after a pause.
    ports: Vec<(Rate, Bytes)>,
    /// Priorities that no flow control pauses.
    pub lossy: Vec<u8>,
}

impl SwitchLinks {
    /// `ports`: rate and delay of each port's link; `lossy`: priorities that the file lists.
    pub fn new(
        node: NodeId,
        ports: impl Iterator<Item = (Rate, Span)>,
        links: &[(LinkFacts, FlowControl)],
        listed: &[u8],
    ) -> SwitchLinks {
        let port = |(rate, delay)| {
            let found = links.iter().find(|(l, _)| (l.rate, l.delay) == (rate, delay));
            (rate, found.map_or(Bytes::ZERO, |(facts, fc)| pool::headroom(None, facts, fc)))
        };
        SwitchLinks { node, ports: ports.map(port).collect(), lossy: lossy(links, listed) }
    }

    /// A switch of a network.
    pub fn of(
        topology: &Topology,
        node: NodeId,
        links: &[(LinkFacts, FlowControl)],
        listed: &[u8],
    ) -> SwitchLinks {
        let ports =
            topology.nodes[node.index()].ports.iter().map(|p| &topology.links[p.link as usize]);
        SwitchLinks::new(node, ports.map(|l| (l.rate, l.delay)), links, listed)
    }

    pub fn ports(&self) -> u16 {
        self.ports.len() as u16
    }

    fn line(&self, port: u16) -> Rate {
        self.ports[port as usize].0
    }

    fn headroom(&self, port: u16) -> Bytes {
        self.ports[port as usize].1
    }
}

/// The pools of a switch, and by side, port and priority their users.
pub(crate) struct SwitchPools {
    pub pools: Vec<PoolConfig>,
    /// The `[[buffer_pool]]` of each.
    pub of: Vec<usize>,
    /// The profile of each member, and its configuration.
    groups: Vec<(Option<usize>, MemberConfig)>,
    queues: Vec<(Option<usize>, MemberConfig)>,
}

impl SwitchPools {
    /// The member of a port and priority at one side, and the profile that made it.
    fn member(&self, side: Side, port: u16, priority: u8) -> &(Option<usize>, MemberConfig) {
        let all = if side == Side::Ingress { &self.groups } else { &self.queues };
        &all[port as usize * PRIORITIES + priority as usize]
    }

    /// For the classes of a run.
    pub fn in_classes(&self, ports: u16, classes: &Classes) -> PoolsConfig {
        let of = |side| {
            let by_class = move |port| {
                let own = classes.priorities().iter();
                own.map(move |&priority| self.member(side, port, priority).1.clone())
            };
            (0..ports).flat_map(by_class).collect()
        };
        PoolsConfig {
            pools: self.pools.clone(),
            groups: of(Side::Ingress),
            queues: of(Side::Egress),
            classes: classes.len(),
        }
    }
}

/// Priorities that nothing pauses: those of the file, and all without a flow control.
pub(super) fn lossy(links: &[(LinkFacts, FlowControl)], listed: &[u8]) -> Vec<u8> {
    let without = links.iter().all(|(_, fc)| matches!(fc, FlowControl::None));
    if without { (0..PRIORITIES as u8).collect() } else { listed.to_vec() }
}

impl Buffers {
    /// The names of all pools, each once.
    pub fn pool_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.pools.iter().map(|p| p.name.clone()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// The pool of this name at a switch: one that names the switch goes before one of all.
    fn pool(&self, name: &str, node: NodeId) -> Option<usize> {
        let fits =
            |p: &PoolKeys| p.name == name && p.switches.as_ref().is_none_or(|s| s.contains(&node));
        let found = || self.pools.iter().enumerate().filter(|(_, p)| fits(p));
        found().find(|(_, p)| p.switches.is_some()).or_else(|| found().next()).map(|(n, _)| n)
    }

    /// The profile of a port and priority at one side: the one that names it most closely.
    fn profile(
        &self,
        (node, port): (NodeId, u16),
        side: Side,
        priority: u8,
    ) -> Result<Option<usize>, Refused> {
        let mut best: Option<(u8, usize)> = None;
        for (n, p) in self
            .profiles
            .iter()
            .enumerate()
            .filter(|(_, p)| p.side == side && p.priorities.contains(&priority))
        {
            let Some(rank) = p.rank(node, port) else { continue };
            match best {
                Some((before, first)) if before == rank => {
                    let name = &self.profiles[first].name;
                    let what = format!(
                        "priority {priority} already has the profile '{name}' at this port"
                    );
                    return Err((
                        Of::Profile(n),
                        ParamError::new(
                            "priorities",
                            what,
                            "keep one profile for each port, priority and side",
                        ),
                    ));
                }
                Some((before, _)) if before > rank => {}
                _ => best = Some((rank, n)),
            }
        }
        Ok(best.map(|(_, n)| n))
    }

    /// The pools of a switch.
    pub fn at(&self, s: &SwitchLinks) -> Result<SwitchPools, Refused> {
        let mut made = SwitchPools {
            pools: Vec::new(),
            of: Vec::new(),
            groups: Vec::new(),
            queues: Vec::new(),
        };
        for side in [Side::Ingress, Side::Egress] {
            for (port, priority) in (0..s.ports())
                .flat_map(|port| (0..PRIORITIES as u8).map(move |priority| (port, priority)))
            {
                let profile = self.profile((s.node, port), side, priority)?;
                let member = match profile {
                    Some(n) => self.member(n, s, (port, priority), &mut made)?,
                    None => MemberConfig::UNLIMITED,
                };
                let all = if side == Side::Ingress { &mut made.groups } else { &mut made.queues };
                all.push((profile, member));
            }
        }
        Ok(made)
    }

    fn member(
        &self,
        profile: usize,
        s: &SwitchLinks,
        (port, priority): (u16, u8),
        made: &mut SwitchPools,
    ) -> Result<MemberConfig, Refused> {
        let p = &self.profiles[profile];
        let Some(keys) = self.pool(&p.pool, s.node) else {
            let names: Vec<&str> = self.pools.iter().map(|p| p.name.as_str()).collect();
            let what = format!("pool '{}' is not defined", xoff_scenario::suggest::clip(&p.pool));
            let hint = if names.contains(&p.pool.as_str()) {
                "a [[buffer_pool]] of this name exists at other switches".to_owned()
            } else {
                xoff_scenario::suggest::hint(&p.pool, "pools", &names)
            };
            return Err((Of::Profile(profile), ParamError::new("pool", what, hint)));
        };
        let pool =
            (0..made.pools.len()).find(|&n| made.of[n] == keys && made.pools[n].side == p.side);
        let keys_of = &self.pools[keys];
        let shares_headroom = p.side == Side::Ingress && keys_of.headroom > Bytes::ZERO;
        let pool = pool.unwrap_or_else(|| {
            let headroom = if shares_headroom { keys_of.headroom } else { Bytes::ZERO };
            made.pools.push(PoolConfig {
                name: keys_of.name.clone(),
                side: p.side,
                size: keys_of.size,
                reserves: Bytes::ZERO,
                headroom,
            });
            made.of.push(keys);
            made.pools.len() - 1
        });
        let is_held = p.side == Side::Ingress && !s.lossy.contains(&priority);
        let headroom =
            if is_held { p.headroom.unwrap_or_else(|| s.headroom(port)) } else { Bytes::ZERO };
        let account = &mut made.pools[pool];
        account.reserves = Bytes(account.reserves.0.saturating_add(p.reserve.0));
        if !shares_headroom {
            account.headroom = Bytes(account.headroom.0.saturating_add(headroom.0));
        }
        Ok(MemberConfig {
            pool: Some(pool),
            reserve: p.reserve,
            headroom,
            xon: p.xon.unwrap_or_default(),
            xon_offset: p.xon_offset.or(p.xon.is_none().then_some(self.hysteresis)),
            sharing: p.sharing.at(s.line(port)),
        })
    }
}
