//! Cables between the processes of a soak, with their faults.
//!
//! ```text
//!   node ==== veth ==== [ this process: Faults ] ==== veth ==== node
//! ```
//!
//! Data goes through untouched unless the cable is down. All that is done to frames is counted. Of
//! the control frames of one kind that go one way on a cable at most [`IN_A_ROW`] are lost one
//! after the other: no flow control without repetition could promise anything otherwise.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::io;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use xoff_real::netio::sandbox::{self, VethPair};
use xoff_real::netio::{PacketOptions, PacketPort, Port, wait};
use xoff_real::wire::control::{self, Control};
use xoff_real::wire::local::Message;
use xoff_real::wire::{mac_control, pffc};

use crate::draw::Dice;
use crate::readers::{self, Reader};

/// MTU of all interfaces [bytes].
const MTU: u32 = 1500;
/// Frames that are taken from one end at a time.
const AT_ONCE: usize = 256;
/// A nap while nothing comes.
const NAP: Duration = Duration::from_millis(1);

/// Buffers suffice for so many messages of a kind that are lost one after the other (see
/// `chain.toml`).
pub const IN_A_ROW: u32 = 2;

/// Faults of a cable on frames. Shares are of 100.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Control frames that come twice.
    pub doubled: u64,
    /// Control frames that come late, and the latest that they do [ms]. They may overtake each
    /// other.
    pub late: u64,
    /// See `late`.
    pub late_ms: u64,
    /// Control frames that are lost, [`IN_A_ROW`] of a kind at most one after the other.
    pub lost: u64,
    /// Frames a second that no node has sent and that no receiver may take for valid.
    pub noise: u64,
    /// Frames a second that no node has sent: control frames that are valid, of any content.
    pub lies: u64,
}

/// Events on the cables [frames].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Data frames that went through.
    pub data: u64,
    /// Control frames that nodes sent.
    pub control: u64,
    /// Control frames that came twice.
    pub doubled: u64,
    /// Control frames that came late.
    pub late: u64,
    /// Control frames that were lost.
    pub lost: u64,
    /// Frames that no node had sent.
    pub forged: u64,
    /// Data frames that a cable lost while it was down, or in this process.
    pub data_lost: u64,
    /// Control frames that a cable lost while it was down.
    pub control_lost: u64,
    /// Frames of any kind that the kernel dropped on their path to this process, which did not come
    /// in time: the soak's own fault.
    #[serde(default)]
    pub own_drops: u64,
    /// The longest time for which this process did not look at its cables [ms].
    #[serde(default)]
    pub away_ms: u64,
}

/// Whether a cable carries frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// Works.
    Up,
    /// Broken, without any sign of it.
    Silent,
    /// Broken, and the interfaces of both nodes have no carrier.
    NoCarrier,
}

/// A frame that comes late, by its time.
type Late = Reverse<(Instant, u64, usize, usize, Vec<u8>)>;

struct Cable {
    /// The ends in this process.
    ends: [PacketPort; 2],
    names: [String; 2],
    link: Link,
    /// Frames that the end could not take yet.
    waiting: [VecDeque<Vec<u8>>; 2],
    /// Control frames to the end that were lost since the last of their kind that was not.
    lost: [BTreeMap<Kind, u32>; 2],
}

/// Data frames of a direction of a cable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gone {
    /// Frames that went through.
    pub frames: u64,
    /// The last of them.
    pub at: Option<Instant>,
    /// The last frame of a flow was among them.
    pub all: bool,
}

/// The cables of a chain.
pub struct Cables {
    cables: Vec<Cable>,
    late: BinaryHeap<Late>,
    nth: u64,
    dice: Dice,
    noise: Reader,
    /// Frames that no node has sent, owed since `forged_at`.
    forged_at: Instant,
    /// Faults of frames from now on.
    pub faults: Faults,
    /// Since the last [`Cables::take`].
    counts: Counts,
    /// Frames that the kernel had dropped then, over all ends.
    dropped: u64,
    /// The last poll.
    looked: Instant,
    /// Frames that passed, by cable and direction.
    pub data: Vec<[Gone; 2]>,
}

/// The interface of a node at a cable: `side` 0 or 1.
pub fn interface(cable: usize, side: usize) -> String {
    format!("c{cable}n{side}")
}

/// Meaning of a frame for a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Is {
    Data,
    Control(Kind),
    /// Rejected.
    Nothing,
}

fn what(frame: &[u8]) -> Is {
    match control::parse(frame) {
        Ok(Some(message)) => Is::Control(kind(&message)),
        Ok(None) => Is::Data,
        Err(_) => Is::Nothing,
    }
}

/// Subject of a control frame, whatever its value: a format, an operation, and the priority, queue
/// or flow.
type Kind = (u8, u8, u32);

fn kind(message: &Control) -> Kind {
    match message {
        Control::Mac(mac_control::Repr::Pause { quanta }) => (0, u8::from(*quanta > 0), 0),
        Control::Mac(mac_control::Repr::Pfc(pfc)) => {
            let those = |of: fn(u16) -> bool| {
                (0..8).filter(|&p| pfc.times[p].is_some_and(of)).fold(0, |bits, p| bits | 1 << p)
            };
            (1, u8::from(those(|t| t > 0) > 0), those(|_| true))
        }
        Control::Local(Message::Gfc(m)) => (2, 0, m.priority.into()),
        Control::Local(Message::Credit12(m)) => (3, 0, m.vl.into()),
        Control::Local(Message::Credit64(m)) => (4, 0, m.vl.into()),
        Control::Local(Message::Pffc(m)) => match m.kind {
            pffc::Kind::Pause(_) => (5, 0, m.queue.into()),
            pffc::Kind::Resume => (5, 1, m.queue.into()),
            pffc::Kind::Migrate => (5, 2, m.hash),
            pffc::Kind::MigrateBack => (5, 3, m.hash),
        },
        Control::Local(Message::Test(_)) => (6, 0, 0), // never control
        Control::Local(Message::LinkRetry(m)) => (7, m.kind, 0),
    }
}

impl Cables {
    /// Makes so many, in this process's network namespace.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn new(count: usize, seed: u64, noise: Reader) -> io::Result<Cables> {
        let middle = |cable: usize, side: usize| format!("c{cable}m{side}");
        let pairs: Vec<VethPair> = (0..count)
            .flat_map(|c| {
                (0..2).map(move |s| VethPair {
                    a: interface(c, s),
                    b: format!("c{c}m{s}"),
                    mtu: MTU,
                })
            })
            .collect();
        sandbox::veth_pairs(&pairs)?;
        let open = |name: &str| {
            PacketPort::open(name, &PacketOptions::default()).map_err(io::Error::other)
        };
        let cable = |c: usize| -> io::Result<Cable> {
            let names = [middle(c, 0), middle(c, 1)];
            Ok(Cable {
                ends: [open(&names[0])?, open(&names[1])?],
                names,
                link: Link::Up,
                waiting: Default::default(),
                lost: Default::default(),
            })
        };
        Ok(Cables {
            cables: (0..count).map(cable).collect::<io::Result<_>>()?,
            late: BinaryHeap::new(),
            nth: 0,
            dice: Dice(seed),
            noise,
            forged_at: Instant::now(),
            faults: Faults::default(),
            counts: Counts::default(),
            dropped: 0,
            looked: Instant::now(),
            data: vec![[Gone::default(); 2]; count],
        })
    }

    /// Sets a cable up or down.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn set(&mut self, cable: usize, link: Link) -> io::Result<()> {
        let c = &mut self.cables[cable];
        let carrier = |up: bool| {
            let word = if up { "up" } else { "down" };
            sandbox::ip(
                &c.names.iter().map(|n| format!("link set dev {n} {word}\n")).collect::<String>(),
            )
        };
        match (c.link, link) {
            (Link::NoCarrier, Link::NoCarrier) => {}
            (_, Link::NoCarrier) => carrier(false)?,
            (Link::NoCarrier, _) => carrier(true)?,
            _ => {}
        }
        c.link = link;
        Ok(())
    }

    /// The counts since the last call; those by cable begin again too.
    pub fn take(&mut self) -> Counts {
        self.data.fill([Gone::default(); 2]);
        let dropped: u64 = self
            .cables
            .iter_mut()
            .flat_map(|c| &mut c.ends)
            .map(|e| e.counters().kernel_drops)
            .sum();
        self.counts.own_drops = dropped.saturating_sub(self.dropped);
        self.dropped = dropped;
        self.looked = Instant::now();
        std::mem::take(&mut self.counts)
    }

    /// Carries what has come, or takes a nap.
    ///
    /// # Errors
    /// A port that is lost.
    pub fn carry(&mut self) -> io::Result<()> {
        let polled = self
            .cables
            .iter()
            .filter(|c| c.link != Link::NoCarrier)
            .flat_map(|c| c.ends.iter().map(|e| e as &dyn Port));
        // An interface that has just come back reports its absence once.
        if wait(polled, NAP).is_err() {
            std::thread::sleep(NAP);
        }
        let now = Instant::now();
        self.counts.away_ms = self.counts.away_ms.max((now - self.looked).as_millis() as u64);
        self.looked = now;
        for cable in 0..self.cables.len() {
            for side in 0..2 {
                let mut came = Vec::new();
                let c = &mut self.cables[cable];
                match c.ends[side].receive(AT_ONCE, &mut |f| came.push(f.to_vec())) {
                    Ok(_) => {}
                    // The port looks whether its interface is back.
                    Err(_) => drop(c.ends[side].carrier()),
                }
                came.into_iter().for_each(|frame| self.came(now, cable, 1 - side, frame));
            }
        }
        while let Some(Reverse((due, ..))) = self.late.peek()
            && *due <= now
        {
            let Some(Reverse((_, _, cable, to, frame))) = self.late.pop() else { break };
            self.put(cable, to, frame);
        }
        self.forge(now);
        for c in &mut self.cables {
            for side in 0..2 {
                while let Some(frame) = c.waiting[side].front() {
                    match c.ends[side].send(frame) {
                        Ok(true) => drop(c.waiting[side].pop_front()),
                        Ok(false) => break,
                        Err(_) => {
                            c.ends[side].carrier();
                            break;
                        }
                    }
                }
                if c.ends[side].flush().is_err() {
                    c.ends[side].carrier();
                }
            }
        }
        Ok(())
    }

    /// A frame of a node, on its way to the other end.
    fn came(&mut self, now: Instant, cable: usize, to: usize, frame: Vec<u8>) {
        let up = self.cables[cable].link == Link::Up;
        let Is::Control(kind) = what(&frame) else {
            if up {
                self.counts.data += 1;
                let gone = &mut self.data[cable][to];
                *gone = Gone {
                    frames: gone.frames + 1,
                    at: Some(now),
                    all: gone.all || test(&frame).is_some_and(|t| t.last),
                };
                self.put(cable, to, frame);
            } else {
                self.counts.data_lost += 1;
            }
            return;
        };
        self.counts.control += 1;
        if !up {
            self.counts.control_lost += 1;
            return;
        }
        let f = self.faults;
        let mut chance = |share: u64| share > 0 && self.dice.roll(100) < share;
        let (lost, doubled, late) = (chance(f.lost), chance(f.doubled), chance(f.late));
        let in_a_row = self.cables[cable].lost[to].entry(kind).or_default();
        *in_a_row = if lost && *in_a_row < IN_A_ROW { *in_a_row + 1 } else { 0 };
        if *in_a_row > 0 {
            self.counts.lost += 1;
            return;
        }
        if doubled {
            self.counts.doubled += 1;
            self.put(cable, to, frame.clone());
        }
        if late {
            self.counts.late += 1;
            let due = now + Duration::from_micros(self.dice.roll(1000 * f.late_ms.max(1)));
            self.nth += 1;
            self.late.push(Reverse((due, self.nth, cable, to, frame)));
            return;
        }
        self.put(cable, to, frame);
    }

    fn put(&mut self, cable: usize, to: usize, frame: Vec<u8>) {
        self.cables[cable].waiting[to].push_back(frame);
    }

    /// Puts frames on the cables that no node has sent.
    fn forge(&mut self, now: Instant) {
        let rate = self.faults.noise + self.faults.lies;
        if rate == 0 {
            self.forged_at = now;
            return;
        }
        let each = Duration::from_secs(1) / rate as u32;
        while self.forged_at + each <= now {
            self.forged_at += each;
            let lie = self.dice.roll(rate) < self.faults.lies;
            let Some(frame) = self.draw(lie) else { continue };
            let (cable, to) =
                (self.dice.roll(self.cables.len() as u64) as usize, self.dice.roll(2) as usize);
            if self.cables[cable].link == Link::Up {
                self.counts.forged += 1;
                self.put(cable, to, frame);
            }
        }
    }

    /// A broken frame: one that is valid control all the same, or one that is rejected, or for no
    /// receiver.
    fn draw(&mut self, lie: bool) -> Option<Vec<u8>> {
        for _ in 0..64 {
            let mut frame = readers::broken(&self.noise, self.dice.roll(u64::MAX));
            frame.truncate(MTU as usize);
            if frame.len() < 14 {
                continue; // no interface carries it
            }
            let fits = match what(&frame) {
                Is::Control(_) => lie,
                Is::Nothing => !lie,
                // A frame of a flow would be counted as one.
                Is::Data => !lie && test(&frame).is_none(),
            };
            if fits {
                return Some(frame);
            }
        }
        None
    }
}

/// A frame of a host of ours.
fn test(frame: &[u8]) -> Option<xoff_real::wire::test_frame::Repr> {
    let frame = xoff_real::wire::ethernet::Frame::new(frame).ok()?;
    match Message::parse(frame.payload()) {
        Ok(Message::Test(test)) => Some(test),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::frames;

    #[test]
    fn a_kind_is_what_a_message_is_about() {
        let pfc = |times: [Option<u16>; 8]| {
            kind(&Control::Mac(mac_control::Repr::Pfc(mac_control::Pfc { times })))
        };
        let one = |priority: usize, quanta| {
            pfc(std::array::from_fn(|p| (p == priority).then_some(quanta)))
        };
        assert_eq!(one(3, 65_535), one(3, 1), "a pause, however long");
        assert!(
            one(3, 1) != one(3, 0) && one(3, 1) != one(4, 1),
            "a resume and another priority are of another kind"
        );
        let of = |kind_of, queue, sequence, hash| {
            kind(&Control::Local(Message::Pffc(pffc::Repr {
                kind: kind_of,
                queue,
                sequence,
                hash,
                key: None,
            })))
        };
        assert_eq!(of(pffc::Kind::Pause(5), 1, 7, 0), of(pffc::Kind::Pause(9), 1, 8, 3));
        assert_eq!(of(pffc::Kind::Migrate, 1, 7, 3), of(pffc::Kind::Migrate, 1, 8, 3));
        assert_ne!(
            of(pffc::Kind::Migrate, 1, 7, 3),
            of(pffc::Kind::Migrate, 1, 7, 4),
            "another flow"
        );
        assert_ne!(of(pffc::Kind::Migrate, 1, 7, 3), of(pffc::Kind::Pause(5), 1, 7, 3));
        // Those of every format that there are samples of: no two formats share a kind.
        let mut formats: BTreeMap<u8, u32> = BTreeMap::new();
        frames()
            .iter()
            .filter_map(|f| control::parse(f).ok().flatten())
            .for_each(|m| *formats.entry(kind(&m).0).or_default() += 1);
        assert_eq!(formats.into_keys().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 7]);
    }
}
