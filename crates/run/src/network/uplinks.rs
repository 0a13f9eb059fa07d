//! Balance of load: how evenly switches use their uplinks, and which flows collide on them.
//!
//! ```text
//!   routes -> groups of uplinks --+-- bytes of ports at the end ------> Jain's index, largest / mean
//!                                 +-- sampled rates of ports -Samples-> the same over time
//!                                 +-- uplinks and life of each flow --> paths, collisions
//! ```

use std::collections::BTreeMap;

use xoff_net::topology::PortNumbers;
use xoff_net::topology::routing::{Routes, Uplinks, uplinks};
use xoff_record::{LoadBalance, Node, RateRow, RateSource, RecordError, Tables, UplinkRow};
use xoff_sim::{FlowRecord, Outcome};
use xoff_units::NodeId;

use super::NetworkScenario;
use super::ideal::Ideals;

/// No group.
const NONE: u32 = u32::MAX;

/// A port of a group.
#[derive(Clone, Copy, Debug)]
struct Uplink {
    /// Number of the port.
    port: u32,
    /// Its rate in relation to the fastest port of the group.
    share: f64,
    /// Failure of its link [ps].
    fails_at: u64,
}

/// Groups of uplinks of a network.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// Switch, number of the group at the switch, ports.
    all: Vec<(NodeId, u32, Vec<Uplink>)>,
    /// By port number: group, and place in the group.
    of_port: Vec<(u32, u32)>,
}

impl Groups {
    /// Groups by the routes at the start of the run.
    pub fn new(s: &NetworkScenario, routes: &Routes, ports: &PortNumbers) -> Groups {
        let mut groups = Groups { all: Vec::new(), of_port: vec![(NONE, 0); ports.len()] };
        let t = &s.topology;
        let mut fails: BTreeMap<u32, u64> = BTreeMap::new();
        for f in s.failures() {
            let at = fails.entry(f.link).or_insert(u64::MAX);
            *at = (*at).min(f.at.0);
        }
        for Uplinks { switch, ports: numbers } in uplinks(t, routes) {
            let rate = |port: u16| t.link_at(switch, port).rate.0 as f64;
            let fastest = numbers.iter().map(|&p| rate(p)).fold(1.0, f64::max);
            let uplink = |&p: &u16| {
                let link = t.nodes[switch.index()].ports[usize::from(p)].link;
                let fails_at = fails.get(&link).copied().unwrap_or(u64::MAX);
                Uplink { port: ports.of(switch, p), share: rate(p) / fastest, fails_at }
            };
            let group: Vec<Uplink> = numbers.iter().map(uplink).collect();
            for (place, uplink) in (0..).zip(&group) {
                groups.of_port[uplink.port as usize] = (groups.all.len() as u32, place);
            }
            let nth = groups.all.last().filter(|g| g.0 == switch).map_or(0, |g| g.1 + 1);
            groups.all.push((switch, nth, group));
        }
        groups
    }
}

/// Evenness of loads.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Evenness {
    /// Jain's index: (sum x)^2 / (n sum x^2).
    jain: f64,
    /// Largest load over the mean.
    peak: f64,
}

impl Evenness {
    /// `None`: no load.
    fn of(loads: &[f64]) -> Option<Evenness> {
        let (n, sum) = (loads.len() as f64, loads.iter().sum::<f64>());
        let squares: f64 = loads.iter().map(|x| x * x).sum();
        let largest = loads.iter().copied().fold(0.0, f64::max);
        (squares > 0.0)
            .then(|| Evenness { jain: sum * sum / (n * squares), peak: largest * n / sum })
    }
}

/// A mean of [`Evenness`], weighted by load: step by step, so that equal values have no other mean.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    count: u64,
    weight: f64,
    mean: Option<Evenness>,
}

impl Mean {
    fn add(&mut self, e: Evenness, weight: f64) {
        self.count += 1;
        self.weight += weight;
        let before = self.mean.unwrap_or(e);
        let towards = |before: f64, value: f64| before + (value - before) * (weight / self.weight);
        self.mean = Some(Evenness {
            jain: towards(before.jain, e.jain),
            peak: towards(before.peak, e.peak),
        });
    }
}

/// Evenness over time, from the sampled rates of ports.
#[derive(Debug, Default)]
pub(super) struct Samples {
    groups: Groups,
    /// Time of the sample at hand [ps].
    at: u64,
    /// Its loads by group.
    loads: Vec<Vec<f64>>,
    means: Vec<Mean>,
}

impl Samples {
    /// No sample yet.
    pub fn new(groups: Groups) -> Samples {
        let n = groups.all.len();
        Samples { groups, at: 0, loads: vec![Vec::new(); n], means: vec![Mean::default(); n] }
    }

    /// A rate was recorded.
    pub fn note(&mut self, r: &RateRow) {
        if r.source != RateSource::Measured || r.flow.is_some() {
            return;
        }
        if r.time_ps != self.at {
            self.close();
            self.at = r.time_ps;
        }
        let (group, place) = self.groups.of_port[r.port.0 as usize];
        if group != NONE {
            let uplink = self.groups.all[group as usize].2[place as usize];
            if uplink.fails_at > self.at {
                self.loads[group as usize].push(r.rate_bps as f64 / uplink.share);
            }
        }
    }

    /// The sample at hand is complete: groups of which a port was not recorded do not count.
    fn close(&mut self) {
        for ((group, loads), mean) in
            self.groups.all.iter().zip(&mut self.loads).zip(&mut self.means)
        {
            let up = group.2.iter().filter(|u| u.fails_at > self.at).count();
            if let Some(e) = Evenness::of(loads).filter(|_| loads.len() == up) {
                mean.add(e, loads.iter().sum());
            }
            loads.clear();
        }
    }
}

/// A flow at the uplinks of its first switch.
struct Life {
    flow: usize,
    start: u64,
    end: u64,
    /// Places of the uplinks that its frames took besides the main one.
    others: Vec<u32>,
    /// Place of the one that carried most of it; of equal ones the first.
    main: u32,
}

impl Life {
    /// Places of the uplinks that its frames took.
    fn took(&self) -> impl Iterator<Item = usize> + '_ {
        self.others.iter().chain([&self.main]).map(|&place| place as usize)
    }
}

/// Balance of a run.
#[derive(Default)]
pub(super) struct Balance {
    /// By flow: uplinks of its first switch that its frames took.
    pub paths: Vec<Option<u32>>,
    /// By flow: whether it collided; `None`: it had no choice.
    pub collided: Vec<Option<bool>>,
    /// Rows of the table.
    pub rows: Vec<UplinkRow>,
    /// Of the run as a whole; `None`: no switch has alternatives, or a job is streamed, whose messages
    /// are not kept.
    pub of_run: Option<LoadBalance>,
}

/// Flows that collide: at some time another active flow has the same main uplink, while an uplink of
/// the group is idle, that is, no active flow takes it.
fn collisions(group: &[Uplink], lives: &[Life], mut collide: impl FnMut(usize)) {
    // At one time failures and ends come before starts.
    let mut events: Vec<(u64, u8, usize)> = Vec::new();
    events.extend((0..).zip(group).map(|(at, u)| (u.fails_at, 0, at)).filter(|e| e.0 < u64::MAX));
    for (at, life) in (0..).zip(lives) {
        events.extend([(life.end, 0, group.len() + at), (life.start, 1, at)]);
    }
    events.sort_unstable();
    let mut users = vec![0u32; group.len()];
    let mut up = vec![true; group.len()];
    // Active flows by main uplink, those that are known to collide left out; and the number of all.
    let mut open: Vec<Vec<usize>> = vec![Vec::new(); group.len()];
    let mut sharing = vec![0u32; group.len()];
    let mut ended = vec![false; lives.len()];
    for now in events.chunk_by(|a, b| a.0 == b.0) {
        for &(_, starts, at) in now {
            if starts == 1 {
                let life = &lives[at];
                life.took().for_each(|u| users[u] += 1);
                sharing[life.main as usize] += 1;
                open[life.main as usize].push(at);
            } else if at < group.len() {
                up[at] = false;
            } else {
                let at = at - group.len();
                let life = &lives[at];
                life.took().for_each(|u| users[u] -= 1);
                sharing[life.main as usize] -= 1;
                ended[at] = true;
            }
        }
        if !users.iter().zip(&up).any(|(&users, &up)| up && users == 0) {
            continue;
        }
        for (open, _) in open.iter_mut().zip(&sharing).filter(|(_, n)| **n > 1) {
            open.drain(..).filter(|&at| !ended[at]).for_each(|at| collide(lives[at].flow));
        }
    }
}

/// Uplinks of a flow, with its bytes on each, where it had a choice at its first switch; `None`:
/// they are not known.
fn taken(
    s: &NetworkScenario,
    (o, ideals, ports): (&Outcome, &Ideals<'_>, &PortNumbers),
    (nth, f): (usize, &FlowRecord),
) -> Option<Vec<(u32, u64)>> {
    let mut all = o.uplinks.get(nth).cloned().unwrap_or_default();
    if s.model.switches_choose() && f.flow.path.is_none() {
        // A frame that has been through eight switches counts from zero again.
        let peers = &s.topology.nodes[f.flow.src.index()].ports;
        all.retain(|&(port, _)| peers.iter().any(|p| p.peer == ports.place(port).node));
        all.sort_unstable();
        return Some(all);
    }
    // Of a host with several ports it is known by which ones a flow left, but for messages of
    // streamed jobs.
    let left_by: Vec<(Option<u16>, u64)> = match s.topology.nodes[f.flow.src.index()].ports.len() {
        0 | 1 => vec![(None, 1)],
        _ if s.is_streamed() && s.model.chooses_ports(&s.topology) => return None,
        _ if all.is_empty() => vec![(None, 1)],
        _ => all.iter().map(|&(port, bytes)| (Some(ports.place(port).port), bytes)).collect(),
    };
    let mut took = BTreeMap::new();
    for (port, bytes) in left_by {
        let (switch, port, choice) = ideals.first_switch(f, port)?;
        if choice {
            *took.entry(ports.of(NodeId(switch), port)).or_insert(0) += bytes;
        }
    }
    Some(took.into_iter().collect())
}

/// Writes the table of uplinks.
pub(super) fn write(
    s: &NetworkScenario,
    o: &Outcome,
    (ideals, ports): (&Ideals<'_>, &PortNumbers),
    samples: Option<Samples>,
    tables: &mut Tables,
) -> Result<Balance, RecordError> {
    let groups = Groups::new(s, &o.routes, ports);
    let flows = o.flows.len();
    let mut balance =
        Balance { paths: vec![None; flows], collided: vec![None; flows], ..Balance::default() };
    let mut lives: Vec<Vec<Life>> = groups.all.iter().map(|_| Vec::new()).collect();
    for (nth, f) in o.flows.iter().enumerate().filter(|(_, f)| f.sent > 0) {
        let Some(took) = taken(s, (o, ideals, ports), (nth, f)) else { continue };
        balance.paths[nth] = Some((took.len() as u32).max(1));
        // Of a host with several switches the switch that carried most.
        let Some(&(main, _)) =
            took.iter().max_by_key(|&&(port, bytes)| (bytes, std::cmp::Reverse(port)))
        else {
            continue;
        };
        let (group, place) = groups.of_port[main as usize];
        if group == NONE {
            continue;
        }
        let places = took.iter().map(|&(port, _)| groups.of_port[port as usize]);
        lives[group as usize].push(Life {
            flow: nth,
            start: f.flow.start.0,
            end: f.received.unwrap_or(o.now).0.max(f.flow.start.0 + 1),
            others: places.filter(|p| p.0 == group && p.1 != place).map(|p| p.1).collect(),
            main: place,
        });
        balance.collided[nth] = Some(false);
    }
    let means = samples.map(|mut samples| {
        samples.close();
        samples.means
    });
    let (mut whole, mut sampled) = (Mean::default(), Mean::default());
    for (at, ((switch, nth, group), lives)) in groups.all.iter().zip(&lives).enumerate() {
        let mut collide = 0;
        collisions(group, lives, |flow| {
            collide += 1;
            balance.collided[flow] = Some(true);
        });
        let up: Vec<&Uplink> = group.iter().filter(|u| u.fails_at > o.now.0).collect();
        let bytes = |u: &Uplink| {
            let at = ports.place(u.port);
            o.ports[at.node.index()][usize::from(at.port)].tx_bytes
        };
        let loads: Vec<f64> = up.iter().map(|u| bytes(u) as f64 / u.share).collect();
        let (sum, even) = (loads.iter().sum::<f64>(), Evenness::of(&loads));
        even.into_iter().for_each(|e| whole.add(e, sum));
        let mean = means.as_ref().map(|m| m[at]);
        let over_time = mean.and_then(|m| Some((m, m.mean?)));
        over_time.iter().for_each(|(m, e)| sampled.add(*e, m.weight));
        let row = UplinkRow {
            switch: Node(switch.0),
            group: *nth,
            ports: up.len() as u32,
            used: up.iter().filter(|u| bytes(u) > 0).count() as u32,
            tx_bytes: group.iter().map(bytes).sum(),
            jain: even.map(|e| e.jain),
            max_over_mean: even.map(|e| e.peak),
            samples: mean.map_or(0, |m| m.count),
            jain_sampled: over_time.map(|x| x.1.jain),
            max_over_mean_sampled: over_time.map(|x| x.1.peak),
            flows: (!s.is_streamed()).then_some(lives.len() as u64),
            collided: (!s.is_streamed()).then_some(collide),
        };
        balance.rows.push(row);
        tables.uplinks.push(row)?;
    }
    if groups.all.is_empty() || s.is_streamed() {
        return Ok(balance);
    }
    let chose = balance.collided.iter().flatten();
    let chosen = balance.paths.iter().zip(&balance.collided).filter(|(_, chose)| chose.is_some());
    let paths: u64 = chosen.filter_map(|(paths, _)| *paths).map(u64::from).sum();
    let flows = chose.clone().count() as u64;
    let (frames, peak, hold) = o
        .all_flows()
        .map(|f| f.ahead)
        .fold((0, 0, 0), |sum, a| (sum.0 + a.frames, a.peak.max(sum.1), a.hold.max(sum.2)));
    balance.of_run = Some(LoadBalance {
        groups: groups.all.len() as u64,
        jain: whole.mean.map(|e| e.jain),
        max_over_mean: whole.mean.map(|e| e.peak),
        jain_sampled: sampled.mean.map(|e| e.jain),
        max_over_mean_sampled: sampled.mean.map(|e| e.peak),
        flows,
        collided: chose.filter(|c| **c).count() as u64,
        paths_mean: (flows > 0).then(|| paths as f64 / flows as f64),
        frames_ahead: frames,
        ahead_bytes_max: peak,
        ahead_ps_max: hold,
    });
    Ok(balance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_collides_while_an_uplink_is_idle() {
        let uplink = |port, fails_at| Uplink { port, share: 1.0, fails_at };
        let found = |group: &[Uplink], lives: &[(u64, u64, u32, &[u32])]| {
            let life = |(flow, &(start, end, main, others)): (usize, &(u64, u64, u32, &[u32]))| {
                Life { flow, start, end, others: others.to_vec(), main }
            };
            let lives: Vec<Life> = lives.iter().enumerate().map(life).collect();
            let mut all = Vec::new();
            collisions(group, &lives, |flow| all.push(flow));
            all.sort_unstable();
            all
        };
        let two = [uplink(0, u64::MAX), uplink(1, u64::MAX)];
        assert_eq!(found(&two, &[(0, 9, 0, &[]), (5, 8, 0, &[])]), [0, 1]);
        assert_eq!(found(&two, &[(0, 5, 0, &[]), (5, 8, 0, &[])]), [0; 0], "one after the other");
        assert_eq!(found(&two, &[(0, 9, 0, &[]), (0, 9, 1, &[])]), [0; 0], "one each");
        assert_eq!(found(&two, &[(0, 9, 0, &[1]), (0, 9, 0, &[])]), [0; 0], "none is idle");
        // The third flow leaves the second uplink idle, while the first two still share.
        assert_eq!(found(&two, &[(0, 9, 0, &[]), (0, 9, 0, &[]), (0, 4, 1, &[])]), [0, 1]);
        assert_eq!(found(&two, &[(0, 9, 0, &[]), (0, 4, 0, &[]), (0, 4, 1, &[])]), [0; 0]);
        let failed = [uplink(0, u64::MAX), uplink(1, 3)];
        assert_eq!(found(&failed, &[(3, 9, 0, &[]), (4, 9, 0, &[])]), [0; 0], "it is down");
        assert_eq!(found(&failed, &[(1, 9, 0, &[]), (2, 9, 0, &[])]), [0, 1]);
    }

    #[test]
    fn equal_values_have_that_mean() {
        let mut mean = Mean::default();
        let e = Evenness::of(&[1.0, 0.0, 2.0]).unwrap();
        assert_eq!((e.jain, e.peak), (9.0 / 15.0, 2.0));
        (1..20).for_each(|weight| mean.add(e, f64::from(weight) / 7.0));
        assert_eq!((mean.mean, mean.count), (Some(e), 19));
        mean.add(Evenness { jain: 1.0, peak: 1.0 }, mean.weight);
        assert_eq!(mean.mean, Some(Evenness { jain: 0.8, peak: 1.5 }));
    }
}
