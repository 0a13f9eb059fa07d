//! `config.txt`: words, each a key followed by its values; line ends carry no meaning.
//!
//! The original skips an unknown key without a word and takes its values for keys. Here each key is
//! known, read, and either used, or named as having no effect, or refused because the run would
//! mean something else.

use std::ops::Range;
use std::sync::Arc;

use xoff_units::Rate;

use super::keys::{Effect, KEYS, Key};
use crate::words::{Word, Words};
use crate::{Place, Problem, Problems, Source, suggest};

/// Congestion control modes that run here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CcMode {
    /// Line rate throughout; losslessness comes from PFC alone.
    None,
    /// DCQCN, in the variant called "mlx" there.
    Dcqcn,
    /// HPCC: rate and window by the utilisation that frames record on their path.
    Hpcc,
    /// TIMELY: rate by the gradient of the round-trip time.
    Timely,
}

/// A link that fails during the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkDown {
    /// Time after second 2 [us].
    pub time_us: u64,
    /// First node.
    pub a: u32,
    /// Second node.
    pub b: u32,
}

/// A key that was read and has no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignored {
    /// The key.
    pub key: &'static str,
    /// Reason for the absence.
    pub why: &'static str,
    /// True if the user misses something that the original delivers.
    pub missed: bool,
}

/// A configuration. The defaults are the original's (`scratch/third.cc:45-95`).
#[derive(Clone, Debug, PartialEq)]
pub struct HpccConfig {
    /// Switches mark packets (`ENABLE_QCN`).
    pub ecn: bool,
    /// Payload of a full packet [bytes].
    pub payload: u32,
    /// Go-back-N chunk, with `l2_back_to_zero` [bytes].
    pub l2_chunk: u32,
    /// Bytes from which on packets are acknowledged; 1: every packet; 0: every packet, and senders
    /// ignore them.
    pub l2_ack_interval: u32,
    /// Go back to the start of a chunk (the original's documentation says the opposite of its
    /// code).
    pub l2_back_to_zero: bool,
    /// Topology file, as written.
    pub topology_file: String,
    /// Flow file, as written.
    pub flow_file: String,
    /// Trace file, as written.
    pub trace_file: Option<String>,
    /// Share of frames lost on each link that has no `error_rate` of its own.
    pub error_rate: f64,
    /// Name of the packet trace.
    pub trace_output_file: Option<String>,
    /// Name of the flow completion times.
    pub fct_output_file: String,
    /// Name of the PFC events.
    pub pfc_output_file: String,
    /// Name of the queue histograms.
    pub qlen_mon_file: Option<String>,
    /// First histogram [ns].
    pub qlen_mon_start_ns: u64,
    /// Last histogram [ns].
    pub qlen_mon_end_ns: u64,
    /// End of the run [ns].
    pub stop_ns: u64,
    /// Congestion control.
    pub cc_mode: CcMode,
    /// DCQCN: interval of alpha updates [whole us].
    pub alpha_resume_interval_us: u64,
    /// DCQCN: interval of rate decreases [whole us].
    pub rate_decrease_interval_us: u64,
    /// DCQCN: interval of rate increases [whole us].
    pub rp_timer_us: u64,
    /// DCQCN: g.
    pub ewma_gain: f64,
    /// DCQCN: stages of fast recovery.
    pub fast_recovery_times: u32,
    /// DCQCN: lower the target at every decrease, not only after an increase.
    pub clamp_target_rate: bool,
    /// Additive increase: of DCQCN and HPCC, TIMELY's delta.
    pub rate_ai: Rate,
    /// Hyper increase: of DCQCN and TIMELY.
    pub rate_hai: Rate,
    /// Least rate.
    pub min_rate: Rate,
    /// HPCC: utilisation aimed at (`U_TARGET`).
    pub u_target: f64,
    /// HPCC: increases after which the rate is set by utilisation again (`MI_THRESH`).
    pub mi_thresh: u32,
    /// HPCC: every acknowledgement changes the rate.
    pub fast_react: bool,
    /// HPCC: a reference rate per hop.
    pub multi_rate: bool,
    /// HPCC: within a round trip only hops with a queue count.
    pub sample_feedback: bool,
    /// HPCC: unit of the records: 128 bytes sent and 80 bytes waiting, times this.
    pub int_multi: u32,
    /// Senders keep a window.
    pub has_win: bool,
    /// The window of all flows follows from the network's largest round-trip time (value 1), not
    /// from each pair's.
    pub global_t: bool,
    /// The window follows the rate.
    pub var_win: bool,
    /// Senders pace at the flow's rate; without it at line rate.
    pub rate_bound: bool,
    /// Hosts send acknowledgements in queue 0, which PFC never pauses; without it in queue 3.
    pub ack_high_prio: bool,
    /// A link failure, if any.
    pub link_down: Option<LinkDown>,
    /// Write the packet trace.
    pub enable_trace: bool,
    /// ECN: (link rate, threshold [1000 bytes]) above which all packets are marked.
    pub kmax: Vec<(Rate, u32)>,
    /// ECN: (link rate, threshold [1000 bytes]) below which none is marked.
    pub kmin: Vec<(Rate, u32)>,
    /// ECN: (link rate, probability at the upper threshold).
    pub pmax: Vec<(Rate, f64)>,
    /// Buffer of a switch [MiB].
    pub buffer_mib: u32,
    /// A configuration of conweave-ns3, a fork: it has the key `LB_MODE`.
    pub conweave_ns3: bool,
    /// Keys in the file that have no effect, in its order.
    pub ignored: Vec<Ignored>,
    /// Warnings for the user.
    pub warnings: Problems,
    /// Place that names the congestion control.
    pub cc_mode_place: Option<Place>,
    /// Place that names the topology file.
    pub topology_place: Option<Place>,
    /// Place that names the flow file.
    pub flow_place: Option<Place>,
    /// Place that requests the link failure.
    pub link_down_place: Option<Place>,
}

impl Default for HpccConfig {
    fn default() -> HpccConfig {
        HpccConfig {
            ecn: true,
            payload: 1_000,
            l2_chunk: 0,
            l2_ack_interval: 0,
            l2_back_to_zero: false,
            topology_file: String::new(),
            flow_file: String::new(),
            trace_file: None,
            error_rate: 0.0,
            trace_output_file: None,
            fct_output_file: "fct.txt".into(),
            pfc_output_file: "pfc.txt".into(),
            qlen_mon_file: None,
            qlen_mon_start_ns: 2_000_000_000,
            qlen_mon_end_ns: 2_100_000_000,
            stop_ns: 3_010_000_000 - 1, // 3.01 s, whose double lies below
            cc_mode: CcMode::Dcqcn,
            alpha_resume_interval_us: 55,
            rate_decrease_interval_us: 4,
            rp_timer_us: 0,
            ewma_gain: 0.0, // written 1 / 16 there, in integers
            fast_recovery_times: 5,
            clamp_target_rate: false,
            rate_ai: Rate::ZERO,
            rate_hai: Rate::ZERO,
            min_rate: Rate(100_000_000),
            u_target: 0.95,
            mi_thresh: 5,
            fast_react: true,
            multi_rate: true,
            sample_feedback: false,
            int_multi: 1,
            has_win: true,
            global_t: true,
            var_win: false,
            rate_bound: true,
            ack_high_prio: false,
            link_down: None,
            enable_trace: true,
            kmax: Vec::new(),
            kmin: Vec::new(),
            pmax: Vec::new(),
            buffer_mib: 16,
            conweave_ns3: false,
            ignored: Vec::new(),
            warnings: Problems::default(),
            cc_mode_place: None,
            topology_place: None,
            flow_place: None,
            link_down_place: None,
        }
    }
}

/// Hands the words of the file to the keys.
pub(super) struct Reader<'r, 't> {
    pub words: &'r mut Words<'t>,
    rest: std::iter::Peekable<std::vec::IntoIter<Word<'t>>>,
    /// The key being read.
    pub key: &'static str,
    pub key_word: Word<'t>,
}

impl<'t> Reader<'_, 't> {
    /// The next value of the key; a word that is itself a key is none.
    pub fn value(&mut self) -> Option<Word<'t>> {
        if let Some(word) = self.rest.next_if(|w| find(w.text).is_none()) {
            return Some(word);
        }
        let at = self.key_word.span.clone();
        let next =
            self.rest.peek().map(|w| format!("; '{}' is the next key", w.text)).unwrap_or_default();
        self.words.refuse(
            &at,
            format!("{}: a value is missing", self.key),
            format!("expected KEY value{next}"),
        );
        None
    }

    /// Warns at the key.
    pub fn warn(&self, out: &mut HpccConfig, what: String, hint: &str) {
        out.warnings.push(
            Problem::new(format!("{}: {what}", self.key), hint)
                .at(self.words.place(&self.key_word.span))
                .warning(),
        );
    }
}

fn find(word: &str) -> Option<&'static Key> {
    KEYS.iter().find(|k| k.name == word)
}

impl HpccConfig {
    /// Reads a configuration file.
    ///
    /// # Errors
    /// Every unknown key and every invalid value, each with its place.
    pub fn read(source: &Arc<Source>) -> Result<HpccConfig, Problems> {
        let mut words = Words::new(source);
        let all: Vec<Word<'_>> = words.lines().flat_map(|l| l.words).collect();
        let mut out = HpccConfig::default();
        let mut seen: Vec<(&'static Key, Range<usize>)> = Vec::new();
        let none = Word { text: "", span: 0..0 };
        let mut r =
            Reader { words: &mut words, rest: all.into_iter().peekable(), key: "", key_word: none };
        while let Some(word) = r.rest.next() {
            let Some(key) = find(word.text) else {
                unknown(&mut r, &word);
                continue;
            };
            (r.key, r.key_word) = (key.name, word);
            if seen.iter().any(|(k, _)| k.name == key.name) {
                r.warn(&mut out, "given twice".into(), "the last one counts");
            }
            seen.push((key, r.key_word.span.clone()));
            // A refused value is reported already; reading continues with the next word that is a
            // key.
            if (key.read)(&mut r, &mut out).is_none() {
                while r.rest.next_if(|w| find(w.text).is_none()).is_some() {}
            }
        }
        out.check(&seen, &mut words);
        words.problems.or(out)
    }

    /// Checks that need the whole file.
    fn check(&mut self, seen: &[(&'static Key, Range<usize>)], w: &mut Words<'_>) {
        let place = |key: &str| seen.iter().rev().find(|(k, _)| k.name == key).map(|(_, at)| at);
        for key in ["TOPOLOGY_FILE", "FLOW_FILE"] {
            if place(key).is_none() {
                w.refuse(
                    &(0..0),
                    format!("missing key {key}"),
                    format!("expected {key} followed by the name of a file"),
                );
            }
        }
        if self.l2_ack_interval == 0 {
            let at = place("L2_ACK_INTERVAL").unwrap_or(&(0..0));
            let problem = Problem::new(
                "L2_ACK_INTERVAL: 0",
                "as in the original, senders then ignore all acknowledgements, and no flow completes",
            );
            self.warnings.push(problem.at(w.place(at)).warning());
        }
        for (key, what, hint) in self.impossible() {
            w.refuse(place(key).unwrap_or(&(0..0)), format!("{key}: {what}"), hint);
        }
        for (key, _) in seen {
            let effect = match key.effect {
                Effect::Always => None,
                Effect::Only(mode, why) => (mode != self.cc_mode).then_some(why),
                Effect::Never(why) => Some(why),
            };
            self.ignored.extend(effect.map(|why| Ignored { key: key.name, why, missed: false }));
        }
        if self.enable_trace && !self.conweave_ns3 {
            // It is on unless it is switched off.
            self.ignored.push(Ignored {
                key: "ENABLE_TRACE",
                why: "the packet trace (mix.tr) is not written",
                missed: true,
            });
        }
    }

    /// Values with which the rate control of this mode cannot work: the key, the problem, the
    /// expected value. Other modes do not look at them.
    fn impossible(&self) -> Vec<(&'static str, String, &'static str)> {
        let mut out = Vec::new();
        let mut refuse = |wrong: bool, key, what: String, hint| {
            if wrong {
                out.push((key, what, hint));
            }
        };
        if matches!(self.cc_mode, CcMode::Hpcc | CcMode::Timely) {
            let hint = "expected a rate above 0: a flow at rate 0 never speeds up";
            refuse(self.min_rate.0 == 0, "MIN_RATE", "a floor of 0".into(), hint);
        }
        if self.cc_mode == CcMode::Hpcc {
            let hint = "expected HAS_WIN 1: the law of CC_MODE 3 divides by the window";
            refuse(!self.has_win, "HAS_WIN", "0 with HPCC".into(), hint);
            refuse(
                self.u_target == 0.0,
                "U_TARGET",
                "a utilisation of 0".into(),
                "expected above 0, such as 0.95",
            );
            // Above this the unit of 128 bytes times INT_MULTI leaves the 32 bits it has there.
            let range = (1..1 << 25).contains(&self.int_multi);
            refuse(
                !range,
                "INT_MULTI",
                format!("{} is not a unit", self.int_multi),
                "expected 1 to 33554431, such as 1 at 25G and 4 at 100G",
            );
        }
        out
    }
}

/// Names an unknown key once and skips words that look like its values.
fn unknown(r: &mut Reader<'_, '_>, word: &Word<'_>) {
    let known: Vec<&str> = KEYS.iter().map(|k| k.name).collect();
    let what = if word.text.starts_with('#') {
        "this format has no comments".into()
    } else {
        format!("unknown key '{}'", suggest::clip(word.text))
    };
    let near = suggest::nearest(word.text, known).map(|k| format!("did you mean '{k}'?"));
    r.words.refuse(
        &word.span,
        what,
        near.unwrap_or_else(|| "expected a key of the HPCC simulator, such as CC_MODE".into()),
    );
    while r.rest.next_if(|w| find(w.text).is_none() && !is_key_like(w.text)).is_some() {}
}

/// Keys are capitals and underscores; values are numbers, files and rates.
fn is_key_like(word: &str) -> bool {
    word.len() > 2
        && word.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
        && word.contains('_')
}
