//! Behaviour of every mechanism of every registry over a long course of events: with its defaults,
//! and with each parameter set to values that open other branches. The text has a line for each: a
//! digest of all that was answered, and counts by which a difference can be read. `../courses.txt`
//! has a hash for each mechanism. `answers.rs` asks what a mechanism says at rest; this one asks
//! what it does.

mod detection;
mod flow_control;
mod rate_control;
mod rest;

use std::path::Path;

use xoff_mech::LinkFacts;
use xoff_units::params::{Defaults, Kind, ParamSpec};
use xoff_units::state::{Meaning, Walk};
use xoff_units::{Bytes, Rate, Span, Time};

/// A short link of 10 Gb/s behind which 100 frames fit.
const LINK: LinkFacts =
    LinkFacts::plain(Rate::from_gbps(10), Span::from_us(1), Bytes(1_500), Bytes(150_000));

/// Numbers that look random, the same on every machine (Knuth's MMIX).
struct Lcg(u64);

impl Lcg {
    fn draw(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }
    fn below(&mut self, n: u64) -> u64 {
        self.draw() % n
    }
    fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }
    /// 0 to 1.
    fn unit(&mut self) -> f64 {
        self.draw() as f64 / (1u64 << 31) as f64
    }
}

/// FNV-1a, by words.
struct Digest(u64);

impl Digest {
    fn put(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        self.0 ^= self.0 >> 29;
    }
    fn words<const N: usize>(&mut self, words: [u64; N]) {
        words.into_iter().for_each(|w| self.put(w));
    }
    fn text(&mut self, text: &str) {
        text.bytes().for_each(|b| self.put(b.into()));
    }
    fn time(&mut self, t: Option<Time>) {
        self.put(t.map_or(7, |t| t.0));
    }
}

/// States, as they are written for whoever compares them.
impl Walk for Digest {
    type Stop = &'static str;
    const COMPARES: bool = true;
    fn refuse(&mut self, what: &'static str) -> Result<(), &'static str> {
        Err(what)
    }
    fn number(&mut self, meaning: Meaning, value: u64) -> Result<(), &'static str> {
        if meaning != Meaning::Plain {
            self.text(&format!("{meaning:?}"));
        }
        self.put(value);
        Ok(())
    }
}

impl Default for Digest {
    fn default() -> Self {
        Digest(0xcbf2_9ce4_8422_2325)
    }
}

type Setting = Vec<(&'static str, String)>;

/// The defaults, each key by itself at each of some values, and some keys together:
/// `"entry_ports=3 repeat=20us"`.
fn settings(params: &'static [ParamSpec], together: &[&'static str]) -> Vec<Setting> {
    let mut all = vec![Setting::new()];
    for p in params {
        let texts: &[&str] = match p.kind {
            Kind::Rate => &["50Mbps", "2Gbps"],
            Kind::Bytes => &["0B", "1500B", "20KB", "50KB"],
            Kind::Span => &["1us", "20us", "150us"],
            Kind::Count => &["0", "1", "3", "64", "300"],
            Kind::Integer => &["-3", "3"],
            Kind::Float => &["0.01", "0.2", "0.5", "1"],
            Kind::Flag => &["false", "true"],
            Kind::Choice(words) => words,
            Kind::Text | Kind::Texts | Kind::Length => &[],
        };
        all.extend(
            texts.iter().filter(|t| p.default != Some(t)).map(|t| vec![(p.key, (*t).to_owned())]),
        );
    }
    let pair = |word: &'static str| word.split_once('=').map(|(k, v)| (k, v.to_owned())).unwrap();
    all.extend(together.iter().map(|t| t.split(' ').map(pair).collect()));
    all
}

fn given(params: &'static [ParamSpec], setting: &Setting) -> Defaults {
    setting.iter().fold(Defaults::of(params), |v, (key, value)| v.with(key, value))
}

/// A line for each setting that is accepted and that is another law than the one of the defaults.
fn lines<L: std::fmt::Debug>(
    name: &str,
    params: &'static [ParamSpec],
    together: &[&'static str],
    read: impl Fn(&mut Defaults) -> Option<L>,
    course: impl Fn(&L) -> String,
) -> String {
    let mut to = format!("\n## {name}\n");
    let mut first = None;
    for setting in settings(params, together) {
        let Some(law) = read(&mut given(params, &setting)) else { continue };
        let shown = format!("{law:?}");
        if first.as_ref() == Some(&shown) {
            continue;
        }
        first.get_or_insert(shown);
        let keys: Vec<String> = setting.iter().map(|(k, v)| format!("{k} = {v}")).collect();
        let keys = if keys.is_empty() { "defaults".to_owned() } else { keys.join(", ") };
        to += &format!("{keys}: {}\n", course(&law));
    }
    to
}

#[test]
fn every_mechanism_over_a_long_course() {
    let mut t = String::new();
    t += &flow_control::all();
    t += &detection::all();
    t += &rate_control::all();
    t += &rest::all();
    xoff_testing::golden_sections(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/courses.txt"),
        &t,
    );
}
