//! Keys of `config.txt`: the reader and the effect of each.

use xoff_units::Rate;

use super::config::{CcMode, HpccConfig, LinkDown, Reader};
use super::ns3;
use crate::words::Word;

/// One key.
pub(super) struct Key {
    pub name: &'static str,
    /// Effect of the key.
    pub effect: Effect,
    /// Reads its values; `None` if they are refused.
    pub read: Read,
}

/// Effect of a key, or the reason for none.
pub(super) enum Effect {
    Always,
    /// In this mode; elsewhere it has none because of this.
    Only(CcMode, &'static str),
    Never(&'static str),
}

type Read = fn(&mut Reader<'_, '_>, &mut HpccConfig) -> Option<()>;

const fn used(name: &'static str, read: Read) -> Key {
    Key { name, effect: Effect::Always, read }
}
const fn ignored(name: &'static str, why: &'static str, read: Read) -> Key {
    Key { name, effect: Effect::Never(why), read }
}
/// Used by HPCC and by no other congestion control.
const fn hpcc(name: &'static str, read: Read) -> Key {
    Key { name, effect: Effect::Only(CcMode::Hpcc, "only CC_MODE 3 (HPCC) uses it"), read }
}

const NEVER_USED: &str = "the original reads it and never uses it";
const DCTCP: &str = "only CC_MODE 8 (DCTCP) uses it";
const PINT: &str = "only CC_MODE 10 (HPCC-PINT) uses it";
const CONWEAVE: &str = "only LB_MODE 9 (ConWeave) uses it";
const MONITOR: &str = "xoff does not write this file of conweave-ns3";

/// All keys of the original (`scratch/third.cc:360-665`).
pub(super) const KEYS: &[Key] = &[
    used("ENABLE_QCN", |r, c| set(&mut c.ecn, r.flag())),
    ignored("USE_DYNAMIC_PFC_THRESHOLD", "the original's threshold is always dynamic", |r, _| {
        r.flag().map(drop)
    }),
    used("CLAMP_TARGET_RATE", |r, c| set(&mut c.clamp_target_rate, r.flag())),
    ignored(
        "PAUSE_TIME",
        "the original's receiver ignores this key: a pause lasts until the resume",
        |r, _| {
            let word = r.value()?;
            // Cut off to whole microseconds there, and a pause of 0 is a resume.
            if r.words.number(&word, r.key)? < 1.0 {
                let hint = "expected at least 1: in the original, a pause of 0 us is a resume, so no port would ever pause";
                r.words.refuse(&word.span, format!("{}: {} is too small", r.key, word.text), hint);
                return None;
            }
            Some(())
        },
    ),
    ignored("DATA_RATE", NEVER_USED, |r, _| r.text().map(drop)),
    ignored("LINK_DELAY", NEVER_USED, |r, _| r.text().map(drop)),
    used("PACKET_PAYLOAD_SIZE", |r, c| set(&mut c.payload, r.within(1, 65_000))),
    used("L2_CHUNK_SIZE", |r, c| set(&mut c.l2_chunk, r.u32())),
    used("L2_ACK_INTERVAL", |r, c| set(&mut c.l2_ack_interval, r.u32())),
    used("L2_BACK_TO_ZERO", |r, c| set(&mut c.l2_back_to_zero, r.flag())),
    used("TOPOLOGY_FILE", |r, c| {
        let word = r.value()?;
        c.topology_place = Some(r.words.place(&word.span));
        set(&mut c.topology_file, Some(word.text.to_owned()))
    }),
    used("FLOW_FILE", |r, c| {
        let word = r.value()?;
        c.flow_place = Some(r.words.place(&word.span));
        set(&mut c.flow_file, Some(word.text.to_owned()))
    }),
    used("TRACE_FILE", |r, c| set(&mut c.trace_file, r.text().map(Some))),
    used("TRACE_OUTPUT_FILE", |r, c| set(&mut c.trace_output_file, r.text().map(Some))),
    used("SIMULATOR_STOP_TIME", |r, c| {
        let word = r.value()?;
        let seconds = r.words.number(&word, r.key)?;
        let ns = ns3::seconds_to_ns(seconds);
        if ns.is_none() {
            r.words.refuse(
                &word.span,
                format!("{}: {} is too late", r.key, word.text),
                "expected at most 18446744 seconds",
            );
        }
        set(&mut c.stop_ns, ns)
    }),
    used("ALPHA_RESUME_INTERVAL", |r, c| {
        let us = r.microseconds(c);
        set(&mut c.alpha_resume_interval_us, us)
    }),
    used("RP_TIMER", |r, c| {
        let us = r.microseconds(c);
        set(&mut c.rp_timer_us, us)
    }),
    used("EWMA_GAIN", |r, c| set(&mut c.ewma_gain, r.fraction())),
    used("FAST_RECOVERY_TIMES", |r, c| set(&mut c.fast_recovery_times, r.u32())),
    used("RATE_AI", |r, c| set(&mut c.rate_ai, r.rate())),
    used("RATE_HAI", |r, c| set(&mut c.rate_hai, r.rate())),
    used("ERROR_RATE_PER_LINK", |r, c| set(&mut c.error_rate, r.fraction())),
    used("CC_MODE", |r, c| {
        let word = r.value()?;
        c.cc_mode_place = Some(r.words.place(&word.span));
        set(&mut c.cc_mode, r.cc_mode(&word))
    }),
    used("RATE_DECREASE_INTERVAL", |r, c| {
        let us = r.microseconds(c);
        set(&mut c.rate_decrease_interval_us, us)
    }),
    used("MIN_RATE", |r, c| set(&mut c.min_rate, r.rate())),
    used("FCT_OUTPUT_FILE", |r, c| set(&mut c.fct_output_file, r.text())),
    used("HAS_WIN", |r, c| set(&mut c.has_win, r.flag())),
    // Compared with 1 there: any other number means per pair.
    used("GLOBAL_T", |r, c| set(&mut c.global_t, r.u32().map(|v| v == 1))),
    hpcc("MI_THRESH", |r, c| set(&mut c.mi_thresh, r.u32())),
    used("VAR_WIN", |r, c| set(&mut c.var_win, r.flag())),
    hpcc("FAST_REACT", |r, c| set(&mut c.fast_react, r.flag())),
    hpcc("U_TARGET", |r, c| set(&mut c.u_target, r.number())),
    hpcc("INT_MULTI", |r, c| set(&mut c.int_multi, r.u32())),
    used("RATE_BOUND", |r, c| set(&mut c.rate_bound, r.flag())),
    used("ACK_HIGH_PRIO", |r, c| set(&mut c.ack_high_prio, r.flag())),
    ignored("DCTCP_RATE_AI", DCTCP, |r, _| r.rate().map(drop)),
    used("PFC_OUTPUT_FILE", |r, c| set(&mut c.pfc_output_file, r.text())),
    used("LINK_DOWN", |r, c| {
        let (time_us, a, b) = (r.u64()?, r.u32()?, r.u32()?);
        c.link_down_place = Some(r.words.place(&r.key_word.span));
        set(&mut c.link_down, Some((time_us > 0).then_some(LinkDown { time_us, a, b })))
    }),
    used("ENABLE_TRACE", |r, c| set(&mut c.enable_trace, r.flag())),
    used("KMAX_MAP", |r, c| set(&mut c.kmax, r.map(Reader::u32))),
    used("KMIN_MAP", |r, c| set(&mut c.kmin, r.map(Reader::u32))),
    used("PMAX_MAP", |r, c| set(&mut c.pmax, r.map(Reader::fraction))),
    // Megabytes of 1048576, multiplied in 32 bits there.
    used("BUFFER_SIZE", |r, c| set(&mut c.buffer_mib, r.within(1, 4_095))),
    used("QLEN_MON_FILE", |r, c| set(&mut c.qlen_mon_file, r.text().map(Some))),
    // conweave-ns3 gives them as 2.0.
    used("QLEN_MON_START", |r, c| set(&mut c.qlen_mon_start_ns, r.number().map(|v| v as u64))),
    used("QLEN_MON_END", |r, c| set(&mut c.qlen_mon_end_ns, r.number().map(|v| v as u64))),
    hpcc("MULTI_RATE", |r, c| set(&mut c.multi_rate, r.flag())),
    hpcc("SAMPLE_FEEDBACK", |r, c| set(&mut c.sample_feedback, r.flag())),
    ignored("PINT_LOG_BASE", PINT, |r, _| r.number().map(drop)),
    ignored("PINT_PROB", PINT, |r, _| r.number().map(drop)),
    // Keys of conweave-ns3 (`scratch/network-load-balance.cc`).
    used("LB_MODE", |r, c| {
        c.conweave_ns3 = true;
        let modes = [(2, "DRILL"), (3, "CONGA"), (6, "LetFlow"), (9, "ConWeave")];
        let hint = "expected 0 (ECMP); [load_balancing] in a scenario has the other laws";
        r.only(0, &modes, hint)
    }),
    used("ENABLE_PFC", |r, _| r.only(1, &[], "expected 1: xoff replays PFC only")),
    used("ENABLE_IRN", |r, _| r.only(0, &[], "expected 0; host.recovery in a scenario is IRN's")),
    used("FLOWGEN_STOP_TIME", |r, c| {
        // Flows start until then, and the run ends 10 s later.
        let ns = r.number().and_then(|seconds| ns3::seconds_to_ns(seconds + 10.0));
        set(&mut c.stop_ns, ns)
    }),
    ignored("FLOWGEN_START_TIME", "flows start as in the flow file", |r, _| r.number().map(drop)),
    ignored("LOAD", "the flow file has the traffic", |r, _| r.number().map(drop)),
    ignored("RANDOM_SEED", "xoff draws other numbers for the marks of RED", |r, _| {
        r.u32().map(drop)
    }),
    ignored("SW_MONITORING_INTERVAL", MONITOR, |r, _| r.u64().map(drop)),
    ignored("FLOW_INPUT_FILE", MONITOR, |r, _| r.text().map(drop)),
    ignored("CNP_OUTPUT_FILE", MONITOR, |r, _| r.text().map(drop)),
    ignored("VOQ_MON_FILE", MONITOR, |r, _| r.text().map(drop)),
    ignored("VOQ_MON_DETAIL_FILE", MONITOR, |r, _| r.text().map(drop)),
    ignored("UPLINK_MON_FILE", MONITOR, |r, _| r.text().map(drop)),
    ignored("CONN_MON_FILE", MONITOR, |r, _| r.text().map(drop)),
    ignored("EST_ERROR_MON_FILE", MONITOR, |r, _| r.text().map(drop)),
    ignored("CONWEAVE_TX_EXPIRY_TIME", CONWEAVE, |r, _| r.u32().map(drop)),
    ignored("CONWEAVE_REPLY_TIMEOUT_EXTRA", CONWEAVE, |r, _| r.u32().map(drop)),
    ignored("CONWEAVE_PATH_PAUSE_TIME", CONWEAVE, |r, _| r.u32().map(drop)),
    ignored("CONWEAVE_EXTRA_VOQ_FLUSH_TIME", CONWEAVE, |r, _| r.u32().map(drop)),
    ignored("CONWEAVE_DEFAULT_VOQ_WAITING_TIME", CONWEAVE, |r, _| r.u32().map(drop)),
];

fn set<T>(target: &mut T, value: Option<T>) -> Option<()> {
    *target = value?;
    Some(())
}

impl Reader<'_, '_> {
    fn text(&mut self) -> Option<String> {
        self.value().map(|w| w.text.to_owned())
    }

    fn u64(&mut self) -> Option<u64> {
        let word = self.value()?;
        self.words.count(&word, self.key, u64::MAX)
    }

    fn u32(&mut self) -> Option<u32> {
        let word = self.value()?;
        self.words.count(&word, self.key, u32::MAX.into()).map(|v| v as u32)
    }

    /// Any number but 0 is yes.
    fn flag(&mut self) -> Option<bool> {
        self.u32().map(|v| v != 0)
    }

    /// A number that can have one value only. `known`: names of others.
    fn only(&mut self, value: u64, known: &[(u64, &str)], hint: &str) -> Option<()> {
        let word = self.value()?;
        let given = self.words.count(&word, self.key, u32::MAX.into())?;
        if given == value {
            return Some(());
        }
        let name = known.iter().find(|(number, _)| *number == given);
        let name = name.map(|(_, name)| format!(" ({name})")).unwrap_or_default();
        let what = format!("{} {given}{name} is not supported", self.key);
        self.words.refuse(&word.span, what, hint);
        None
    }

    fn within(&mut self, min: u32, max: u32) -> Option<u32> {
        let word = self.value()?;
        let v = self.words.count(&word, self.key, max.into())? as u32;
        if v < min {
            self.words.refuse(
                &word.span,
                format!("{}: {v} is too small", self.key),
                format!("expected {min} to {max}"),
            );
            return None;
        }
        Some(v)
    }

    fn number(&mut self) -> Option<f64> {
        let word = self.value()?;
        self.words.number(&word, self.key)
    }

    fn fraction(&mut self) -> Option<f64> {
        let word = self.value()?;
        let v = self.words.number(&word, self.key)?;
        if v > 1.0 {
            self.words.refuse(
                &word.span,
                format!("{}: {v} is out of range", self.key),
                "expected 0 to 1",
            );
            return None;
        }
        Some(v)
    }

    fn rate(&mut self) -> Option<Rate> {
        let word = self.value()?;
        ns3::rate(word.text)
            .map(Rate)
            .map_err(|(e, hint)| self.words.refuse(&word.span, format!("{}: {e}", self.key), hint))
            .ok()
    }

    /// A number of microseconds; the original hands the double to a function of whole ones.
    fn microseconds(&mut self, out: &mut HpccConfig) -> Option<u64> {
        let word = self.value()?;
        let us = self.words.number(&word, self.key)?;
        if us > 1e12 {
            self.words.refuse(
                &word.span,
                format!("{}: {us} is too large", self.key),
                "expected microseconds",
            );
            return None;
        }
        if us.fract() != 0.0 {
            self.warn(
                out,
                format!("xoff rounds {us} us down to {} us", us.floor()),
                "the original counts whole microseconds",
            );
        }
        Some(us as u64)
    }

    fn cc_mode(&mut self, word: &Word<'_>) -> Option<CcMode> {
        let mode = self.words.count(word, self.key, u32::MAX.into())?;
        let name = match mode {
            0 => return Some(CcMode::None),
            1 => return Some(CcMode::Dcqcn),
            3 => return Some(CcMode::Hpcc),
            7 => return Some(CcMode::Timely),
            8 => " (DCTCP)",
            10 => " (HPCC-PINT)",
            _ => "",
        };
        let hint = "supported: 0 (none), 1 (DCQCN), 3 (HPCC), 7 (TIMELY)";
        self.words.refuse(&word.span, format!("CC_MODE {mode}{name} is not supported yet"), hint);
        None
    }

    /// `n rate value ...`, rates in bit/s without unit; a rate given twice has its last value.
    fn map<T>(&mut self, value: fn(&mut Self) -> Option<T>) -> Option<Vec<(Rate, T)>> {
        let count = self.u32()?;
        let mut map: Vec<(Rate, T)> = Vec::new();
        for _ in 0..count {
            let rate = Rate(self.u64()?);
            let v = value(self)?;
            map.retain(|(r, _)| *r != rate);
            map.push((rate, v));
        }
        Some(map)
    }
}
