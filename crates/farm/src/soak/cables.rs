//! Cables between the processes of a soak, with what goes wrong on cables.
//!
//! ```text
//!   node ==== veth ==== [ this process: Faults ] ==== veth ==== node
//! ```
//!
//! Data goes through untouched unless the cable is down. All that is done to frames is counted.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use xoff_netio::sandbox::{self, VethPair};
use xoff_netio::{PacketOptions, PacketPort, Port, wait};
use xoff_wire::control;

use crate::draw::Dice;
use crate::readers::{self, Reader};

/// MTU of all interfaces [bytes].
const MTU: u32 = 1500;
/// Frames that are taken from one end at a time.
const AT_ONCE: usize = 256;
/// A nap while nothing comes.
const NAP: Duration = Duration::from_millis(1);

/// Buffers suffice for so many messages that are lost one after the other (see `chain.toml`).
pub const IN_A_ROW: u32 = 2;

/// What a cable does to frames. Shares are of 100.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Control frames that come twice.
    pub doubled: u64,
    /// Control frames that come late, and the latest that they do [ms]. They may overtake each other.
    pub late: u64,
    /// See `late`.
    pub late_ms: u64,
    /// Control frames that are lost, [`IN_A_ROW`] at most one after the other.
    pub lost: u64,
    /// Frames a second that no node has sent and that no receiver may take for valid.
    pub noise: u64,
    /// Frames a second that no node has sent: control frames that are valid, of any content.
    pub lies: u64,
}

/// What happened on the cables [frames].
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
    /// Frames of any kind that the kernel dropped on their path to this process, which did not come in time: the soak's own fault.
    #[serde(default)]
    pub own_drops: u64,
    /// The longest time for which this process did not look at its cables [ms].
    #[serde(default)]
    pub away_ms: u64,
}

/// Whether a cable carries frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// It does.
    Up,
    /// It does not, without any sign of it.
    Silent,
    /// It does not, and the interfaces of both nodes have no carrier.
    NoCarrier,
}

/// A frame that comes late, by its time.
type Late = Reverse<(Instant, u64, usize, usize, Vec<u8>)>;

struct Cable {
    /// The ends in this process.
    ends: [PacketPort; 2],
    names: [String; 2],
    link: Link,
    /// What the end could not take yet.
    waiting: [VecDeque<Vec<u8>>; 2],
    /// Control frames to the end that were lost since the last that was not.
    lost: [u32; 2],
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
    /// What is done to frames from now on.
    pub faults: Faults,
    /// Since the last [`Cables::take`].
    counts: Counts,
    /// What the kernel had dropped then, over all ends.
    dropped: u64,
    /// The last look.
    looked: Instant,
    /// Data frames that went through and the last of them, by cable and direction.
    pub data: Vec<[(u64, Option<Instant>); 2]>,
}

/// The interface of a node at a cable: `side` 0 or 1.
pub fn interface(cable: usize, side: usize) -> String {
    format!("c{cable}n{side}")
}

/// What a receiver makes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Is {
    Data,
    Control,
    /// It is refused.
    Nothing,
}

fn what(frame: &[u8]) -> Is {
    match control::parse(frame) {
        Ok(Some(_)) => Is::Control,
        Ok(None) => Is::Data,
        Err(_) => Is::Nothing,
    }
}

impl Cables {
    /// Makes so many, in this process's network namespace.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn new(count: usize, seed: u64, noise: Reader) -> io::Result<Cables> {
        let middle = |cable: usize, side: usize| format!("c{cable}m{side}");
        let pairs: Vec<VethPair> =
            (0..count).flat_map(|c| (0..2).map(move |s| VethPair { a: interface(c, s), b: format!("c{c}m{s}"), mtu: MTU })).collect();
        sandbox::veth_pairs(&pairs)?;
        let open = |name: &str| PacketPort::open(name, &PacketOptions::default()).map_err(io::Error::other);
        let cable = |c: usize| -> io::Result<Cable> {
            let names = [middle(c, 0), middle(c, 1)];
            Ok(Cable { ends: [open(&names[0])?, open(&names[1])?], names, link: Link::Up, waiting: Default::default(), lost: [0; 2] })
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
            data: vec![[(0, None); 2]; count],
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
            sandbox::ip(&c.names.iter().map(|n| format!("link set dev {n} {word}\n")).collect::<String>())
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

    /// The counts since the last call; those by cable begin anew too.
    pub fn take(&mut self) -> Counts {
        self.data.fill([(0, None); 2]);
        let dropped: u64 = self.cables.iter_mut().flat_map(|c| &mut c.ends).map(|e| e.counters().kernel_drops).sum();
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
        let polled = self.cables.iter().filter(|c| c.link != Link::NoCarrier).flat_map(|c| c.ends.iter().map(|e| e as &dyn Port));
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
        let is = what(&frame);
        let up = self.cables[cable].link == Link::Up;
        if is != Is::Control {
            if up {
                self.counts.data += 1;
                let (frames, last) = &mut self.data[cable][to];
                (*frames, *last) = (*frames + 1, Some(now));
                self.put(cable, to, frame);
            } else {
                self.counts.data_lost += 1;
            }
            return;
        }
        self.counts.control += 1;
        if !up {
            self.counts.control_lost += 1;
            return;
        }
        let f = self.faults;
        let mut chance = |share: u64| share > 0 && self.dice.roll(100) < share;
        let (lost, doubled, late) = (chance(f.lost), chance(f.doubled), chance(f.late));
        let in_a_row = &mut self.cables[cable].lost[to];
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
            let (cable, to) = (self.dice.roll(self.cables.len() as u64) as usize, self.dice.roll(2) as usize);
            if self.cables[cable].link == Link::Up {
                self.counts.forged += 1;
                self.put(cable, to, frame);
            }
        }
    }

    /// A broken frame: one that is valid control all the same, or one that is refused, or for no receiver.
    fn draw(&mut self, lie: bool) -> Option<Vec<u8>> {
        for _ in 0..64 {
            let mut frame = readers::broken(&self.noise, self.dice.roll(u64::MAX));
            frame.truncate(MTU as usize);
            if frame.len() < 14 {
                continue; // no interface carries it
            }
            let fits = match what(&frame) {
                Is::Control => lie,
                Is::Nothing => !lie,
                // A frame of a flow would be counted as one.
                Is::Data => !lie && !is_test(&frame),
            };
            if fits {
                return Some(frame);
            }
        }
        None
    }
}

/// A frame of a host of ours.
fn is_test(frame: &[u8]) -> bool {
    let message = xoff_wire::ethernet::Frame::new(frame).ok().map(|f| xoff_wire::local::Message::parse(f.payload()));
    matches!(message, Some(Ok(xoff_wire::local::Message::Test(_))))
}
