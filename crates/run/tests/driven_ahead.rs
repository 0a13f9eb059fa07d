//! Driven networks that run ahead of their driver, on one thread and on several, and checkpoints of
//! them: the events and results of the network that stops at each event.

use std::path::Path;

use xoff_run::{Driven, Happened, Message, Receive, What};
use xoff_units::{NodeId, Rate, Span, Time};

/// Four leaves, four spines and eight hosts.
fn text(control: &str, more: &str) -> String {
    format!(
        "[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 4\nhosts_per_leaf = 2\nrate = \"100Gbps\"\ndelay = \"1us\"\n\
         [host]\nacks = \"per-frame\"\n[flow_control]\nkind = \"{control}\"\n{more}"
    )
}

const DCQCN: &str = "[rate_control]\nkind = \"dcqcn\"\n[detection]\nkind = \"red\"\n";
const RECOVERS: &str = "recovery = \"go-back-n\"\nrto = \"50us\"\n";

/// Flow controls, and more of a scenario.
fn cases() -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> =
        ["pfc", "cbfc", "gfc-buffer", "gfc-time", "pffc", "bfc", "uec-cbfc"]
            .iter()
            .map(|control| ((*control).to_owned(), text(control, "")))
            .collect();
    all.push(("dcqcn".into(), text("pfc", DCQCN)));
    let recovers =
        text("pfc", "").replace("\"per-frame\"\n", &format!("\"per-frame\"\n{RECOVERS}"));
    all.push(("recovers".into(), recovers));
    all
}

fn driven(text: &str, threads: usize) -> Driven {
    let mut d = Driven::new("ahead.toml", text, &[], Path::new("."), &[3])
        .unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(d.set_threads(threads).unwrap(), threads, "{:?}", d.unsplit());
    d.report_acknowledged().unwrap();
    d.match_receives().unwrap();
    d
}

struct Draws(u64);

impl Draws {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// A driver that sends random messages, half of them in queue pairs, some to itself, with receives
/// and timers.
struct Driver {
    draws: Draws,
    left: u64,
}

impl Driver {
    fn new(seed: u64, messages: u64) -> Driver {
        Driver { draws: Draws(seed + 99), left: messages }
    }

    fn send(&mut self, d: &mut Driven, src: u64) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        let hosts: Vec<NodeId> = d.hosts().collect();
        let to = match self.draws.below(20) {
            0 => 0,
            n => 1 + n % 7,
        };
        let tag = self.draws.below(3) * 8 + src;
        let (src, dst) = (hosts[src as usize], hosts[((src + to) % 8) as usize]);
        let queue_pair = (self.draws.below(2) == 0).then(|| self.draws.below(2) as u16);
        let bytes = self.draws.below(80_000);
        d.send(&Message { src, dst, bytes, priority: 3, queue_pair, tag }).unwrap();
        let bytes = self.draws.below(100_000);
        d.receive(&Receive { src, dst, tag, bytes, token: self.left }).unwrap();
        if self.draws.below(4) == 0 {
            d.schedule(Span(self.draws.below(9_000_000)), tag);
        }
    }

    /// Sends at times that are multiples of `every`, after what has been delivered until then.
    /// `ahead`: runs there without stops.
    fn by_the_clock(&mut self, d: &mut Driven, every: Span, ahead: bool) -> Vec<Happened> {
        let mut all = Vec::new();
        (0..8).for_each(|src| self.send(d, src));
        let mut last = Time::ZERO;
        while d.now() < last + Span::from_us(100) {
            let until = d.now() + every;
            if ahead {
                d.advance(until);
                assert_eq!(d.now(), until);
            }
            let from = all.len();
            let limit = if ahead { Time::ZERO } else { until };
            all.extend(std::iter::from_fn(|| d.next(limit)));
            assert_eq!(d.now(), until);
            last = if all.len() == from { last } else { until };
            for h in &all[from..] {
                if matches!(h.what, What::Delivered | What::Timer) {
                    self.send(d, h.tag % 8);
                }
            }
        }
        all
    }

    /// Sends right after each delivery. After `n` events, `at` may put another network in the place
    /// of this one.
    fn at_once(
        &mut self,
        mut d: Driven,
        begins: bool,
        mut at: impl FnMut(usize, Driven) -> Driven,
    ) -> (Vec<Happened>, Driven) {
        let mut all = Vec::new();
        if begins {
            (0..8).for_each(|src| self.send(&mut d, src));
        }
        while let Some(h) = d.next(Time::NEVER) {
            all.push(h);
            if matches!(h.what, What::Delivered | What::Timer) {
                self.send(&mut d, h.tag % 8);
            }
            d = at(all.len(), d);
        }
        (all, d)
    }
}

fn hash(d: &Driven, case: &str) -> String {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let f =
        d.finish(folder.path(), |_, _| None, |_| true).unwrap_or_else(|e| panic!("{case}: {e}"));
    f.manifest.result_hash.clone()
}

/// Events, and the hash of all tables, of runs that stop at each event and of runs that do not, on
/// one to four threads.
#[test]
fn running_ahead_changes_nothing_on_any_number_of_threads() {
    for (nth, (control, text)) in cases().into_iter().enumerate() {
        for every in [Span(700_001), Span::from_us(20)] {
            let run = |threads: usize, ahead: bool| {
                let mut d = driven(&text, threads);
                let events = Driver::new(nth as u64, 250).by_the_clock(&mut d, every, ahead);
                (events, hash(&d, &control), d.lost_frames(), d.now())
            };
            let wanted = run(1, false);
            assert!(wanted.0.len() > 900, "{control}: {}", wanted.0.len());
            for (threads, ahead) in [(1, true), (2, true), (3, true), (4, true), (3, false)] {
                let found = run(threads, ahead);
                let first = found.0.iter().zip(&wanted.0).position(|(a, b)| a != b);
                assert!(found == wanted, "{control}, {threads} threads, {ahead}, event {first:?}");
            }
        }
    }
}

/// A driver that answers at once, of a network that is divided.
#[test]
fn stopping_at_each_event_changes_nothing_on_any_number_of_threads() {
    for (nth, (control, text)) in cases().into_iter().enumerate() {
        let run = |threads: usize| {
            let d = driven(&text, threads);
            let (events, d) = Driver::new(nth as u64, 250).at_once(d, true, |n, mut d| {
                if n == 300 {
                    d.set_rate("L1-S1", Rate::from_gbps(40)).unwrap();
                } else if n == 400 && control == "recovers" {
                    d.fail_link("L2-S1").unwrap();
                }
                d
            });
            (events, hash(&d, &control))
        };
        let wanted = run(1);
        for threads in 2..=4 {
            let found = run(threads);
            let first = found.0.iter().zip(&wanted.0).position(|(a, b)| a != b);
            assert!(found == wanted, "{control}, {threads} threads, event {first:?}");
        }
    }
}

/// A network that was saved and loaded after some events, again and again.
#[test]
fn a_loaded_network_continues_as_the_saved_one() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("state");
    for (nth, (control, text)) in cases().into_iter().enumerate() {
        for threads in [1, 3] {
            let run = |saves: bool| {
                let d = driven(&text, threads);
                let (events, d) = Driver::new(nth as u64, 250).at_once(d, true, |n, mut d| {
                    if n == 200 {
                        d.set_rate("L1-S1", Rate::from_gbps(40)).unwrap();
                    } else if n == 300 && control == "recovers" {
                        d.fail_link("L2-S1").unwrap();
                    }
                    if saves && n % 61 == 60 {
                        d.save(&path).unwrap_or_else(|e| panic!("{control}: {e}"));
                        drop(d);
                        d = Driven::load(&path).unwrap_or_else(|e| panic!("{control}: {e}"));
                        assert_eq!(d.threads(), threads);
                    }
                    d
                });
                (events, hash(&d, &control), d.lost_frames(), d.now())
            };
            let (wanted, found) = (run(false), run(true));
            let first = found.0.iter().zip(&wanted.0).position(|(a, b)| a != b);
            assert!(found == wanted, "{control}, {threads} threads, event {first:?}");
        }
    }
}

/// Messages of one frame begin to leave as they are sent. The caller gets these events in the order
/// of its calls, on any thread. A saved file contains the events that the caller has not taken.
#[test]
fn a_message_that_leaves_at_once_is_told_in_the_order_of_calls() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("state");
    let run = |threads: usize, saves: bool, ahead: bool| {
        let mut d = driven(&text("pfc", ""), threads);
        let hosts: Vec<_> = d.hosts().collect();
        for (tag, from) in [5, 2, 0, 7, 3].into_iter().enumerate() {
            let (src, dst) = (hosts[from], hosts[(from + 4) % 8]);
            let tag = tag as u64;
            let message = Message { src, dst, bytes: 700, priority: 3, queue_pair: None, tag };
            d.send(&message).unwrap();
            if saves {
                d.save(&path).unwrap_or_else(|e| panic!("{e}"));
                d = Driven::load(&path).unwrap_or_else(|e| panic!("{e}"));
            }
        }
        if ahead {
            d.advance(Time::from_us(50));
        }
        let events: Vec<_> = std::iter::from_fn(|| d.next(Time::from_us(50))).collect();
        let sent = events.iter().filter(|h| h.what == What::Sent).map(|h| h.tag);
        assert!(sent.eq(0..5), "{threads} threads: {events:?}");
        (events, hash(&d, "pfc"))
    };
    let wanted = run(1, false, false);
    for threads in [1, 2, 3] {
        for (saves, ahead) in [(false, true), (true, false), (true, true)] {
            assert_eq!(run(threads, saves, ahead), wanted, "{threads} threads, {saves}, {ahead}");
        }
    }
}

/// A file of another kind, of another build, cut, changed, or with inputs that have changed.
#[test]
fn a_file_that_cannot_be_used_is_refused() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("state");
    let load = || Driven::load(&path).err().expect("it is refused").to_string();
    assert!(load().contains("state: No such file"), "{}", load());
    let mut d = driven(&text("pfc", ""), 2);
    Driver::new(1, 40).by_the_clock(&mut d, Span::from_us(5), true);
    d.save(&path).unwrap();
    let whole = std::fs::read(&path).unwrap();
    for length in (0..whole.len()).step_by(97).chain([whole.len() - 1]) {
        std::fs::write(&path, &whole[..length]).unwrap();
        let e = load();
        assert!(e.contains("truncated") || e.contains("not a checkpoint"), "{length}: {e}");
    }
    for at in (0..whole.len()).step_by(53) {
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        std::fs::write(&path, &changed).unwrap();
        assert!(load().contains("xoff cannot use"), "{at}");
    }
    let header = String::from_utf8_lossy(&whole[36..]).into_owned();
    let build = header.split("\"build\":\"").nth(1).unwrap().get(..32).unwrap();
    let mut other = whole.clone();
    let at = whole.windows(32).position(|w| w == build.as_bytes()).unwrap();
    other[at..at + 32].copy_from_slice(&[b'0'; 32]);
    std::fs::write(&path, xoff_run::checkpoints::sealed(&other).unwrap()).unwrap();
    assert!(load().contains("another build of xoff"), "{}", load());
    std::fs::write(&path, &whole).unwrap();
    assert!(Driven::load(&path).is_ok());
    // The network of the scenario is in a file that changes.
    let net = |delay: &str| {
        let text = format!(
            "rate = \"100Gbps\"\ndelay = \"{delay}\"\nhosts = [\"H0\", \"H1\"]\nlinks = [\"H0 S0\", \"H1 S0\"]\n"
        );
        std::fs::write(folder.path().join("net.toml"), text).unwrap();
    };
    net("1us");
    let of_file =
        "[topology]\nkind = \"file\"\npath = \"net.toml\"\n[flow_control]\nkind = \"pfc\"\n";
    let from_file = Driven::new("s.toml", of_file, &[], folder.path(), &[3]);
    from_file.unwrap_or_else(|e| panic!("{e}")).save(&path).unwrap();
    assert!(Driven::load(&path).is_ok());
    net("2us");
    assert!(load().contains("input files of"), "{}", load());
    std::fs::remove_file(folder.path().join("net.toml")).unwrap();
    assert!(load().contains("net.toml"), "{}", load());
    // A folder that is not there, one in the place of the file, and a device.
    for wrong in ["none/state", ".", "/dev/null"] {
        let e = d.save(&folder.path().join(wrong)).unwrap_err().to_string();
        assert!(e.contains("cannot write"), "{e}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    d.save(&link).unwrap();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink() && Driven::load(&link).is_ok());
}
