//! ns-3's arithmetic on numbers with units, to the last bit.
//!
//! Times become 64.64 fixed point (`int64x64-128.h`: whole part and fraction of the double, the
//! fraction cut off at 2^-64), are multiplied by the unit and cut off to whole nanoseconds
//! (`nstime.h`). So 2.01 seconds, whose double is just below, is 2009999999 ns. Rates are a double
//! times the unit, cut off to whole bit/s (`data-rate.cc`).

/// The latest time that fits our clock of 2^64 ps [ns].
pub const NS_MAX: u64 = u64::MAX / 1_000;

/// `value` in a unit of `factor` nanoseconds, cut off to whole nanoseconds; `None` if negative or
/// too large.
pub fn time_to_ns(value: f64, factor: u64) -> Option<u64> {
    if !(0.0..1e18).contains(&value) {
        return None;
    }
    u64::try_from(xoff_units::cut_off(value, factor)).ok().filter(|&ns| ns <= NS_MAX)
}

/// Seconds to whole nanoseconds.
pub fn seconds_to_ns(seconds: f64) -> Option<u64> {
    time_to_ns(seconds, 1_000_000_000)
}

/// Reason why a text is not a quantity: problem, remedy.
type Refusal = (String, &'static str);

const RATES: &[(&str, f64)] = &[
    ("bps", 1.0),
    ("b/s", 1.0),
    ("kbps", 1e3),
    ("kb/s", 1e3),
    ("Kbps", 1e3),
    ("Kb/s", 1e3),
    ("Mbps", 1e6),
    ("Mb/s", 1e6),
    ("Gbps", 1e9),
    ("Gb/s", 1e9),
    ("Kib/s", 1024.0),
    ("Mib/s", 1_048_576.0),
    ("Gib/s", 1_073_741_824.0),
    ("Bps", 8.0),
    ("B/s", 8.0),
    ("kBps", 8e3),
    ("kB/s", 8e3),
    ("KBps", 8e3),
    ("KB/s", 8e3),
    ("MBps", 8e6),
    ("MB/s", 8e6),
    ("GBps", 8e9),
    ("GB/s", 8e9),
    ("KiB/s", 8_192.0),
    ("MiB/s", 8_388_608.0),
    ("GiB/s", 8_589_934_592.0),
];
const RATE_HINT: &str = "expected a rate with a unit, such as 100Gbps (bps, kbps, Mbps, Gbps, or b/s, kb/s, Mb/s, Gb/s)";

/// A rate such as `100Gbps` [bit/s].
///
/// # Errors
/// A text that is no number with a unit of ns-3, and a rate of 10^16 bit/s or more.
pub fn rate(text: &str) -> Result<u64, Refusal> {
    let (number, unit) = split(text, RATE_HINT)?;
    let Some(&(_, factor)) = RATES.iter().find(|(name, _)| *name == unit) else {
        return Err(unknown(unit, RATES.iter().map(|(n, _)| *n), RATE_HINT));
    };
    let bps = number * factor;
    // Above this a double no longer counts single bits per second, and no link is that fast.
    if bps >= 1e16 {
        return Err((format!("'{}' is too large", crate::suggest::clip(text)), RATE_HINT));
    }
    Ok(bps as u64)
}

/// Nanoseconds in a unit, or units in a nanosecond.
enum Scale {
    Times(u64),
    Over(u64),
}

const TIMES: &[(&str, Scale)] = &[
    ("s", Scale::Times(1_000_000_000)),
    ("ms", Scale::Times(1_000_000)),
    ("us", Scale::Times(1_000)),
    ("ns", Scale::Times(1)),
    ("ps", Scale::Over(1_000)),
    ("fs", Scale::Over(1_000_000)),
];
const TIME_HINT: &str = "expected a time with a unit, such as 1000ns or 0.001ms (s, ms, us, ns)";

/// A time such as `0.001ms`, cut off to whole nanoseconds.
///
/// # Errors
/// A text that is no number with a unit of ns-3, and a time that does not fit.
pub fn time(text: &str) -> Result<u64, Refusal> {
    let (number, unit) = split(text, TIME_HINT)?;
    let Some((_, scale)) = TIMES.iter().find(|(name, _)| *name == unit) else {
        return Err(unknown(unit, TIMES.iter().map(|(n, _)| *n), TIME_HINT));
    };
    let ns = match scale {
        Scale::Times(factor) => time_to_ns(number, *factor),
        Scale::Over(factor) => time_to_ns(number, 1).map(|units| units / factor),
    };
    ns.ok_or_else(|| (format!("'{}' is too large", crate::suggest::clip(text)), TIME_HINT))
}

fn unknown<'u>(unit: &str, known: impl Iterator<Item = &'u str>, hint: &'static str) -> Refusal {
    let mut known = known;
    let near =
        known.find(|k| k.eq_ignore_ascii_case(unit)).map(|k| format!(" (did you mean '{k}'?)"));
    (format!("unknown unit '{}'{}", crate::suggest::clip(unit), near.unwrap_or_default()), hint)
}

/// Number and unit. ns-3 takes a number without unit as bit/s or seconds; this reader rejects it,
/// because in these files it is always a mistake.
fn split<'t>(text: &'t str, hint: &'static str) -> Result<(f64, &'t str), Refusal> {
    let shown = crate::suggest::clip(text);
    let at = text.find(|c: char| !(c.is_ascii_digit() || "+-.".contains(c))).unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    if number.is_empty() {
        return Err((format!("'{shown}' has no number"), hint));
    }
    if unit.is_empty() {
        return Err((format!("'{shown}' has no unit"), hint));
    }
    match number.parse::<f64>() {
        Ok(v) if v >= 0.0 && v.is_finite() => Ok((v, unit)),
        Ok(_) => Err((format!("'{shown}' is negative"), hint)),
        Err(_) => Err((format!("'{}' is not a number", crate::suggest::clip(number)), hint)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_cut_off_after_the_double() {
        for (text, ns) in [
            ("2.01", 2_009_999_999),
            ("2.000000000", 2_000_000_000),
            ("2.1", 2_100_000_000), // its double lies above
            ("0.1", 100_000_000),
            ("0.3", 299_999_999),
            ("2.000001", 2_000_001_000),
            ("2.0000001", 2_000_000_099),
            ("4.0", 4_000_000_000),
            ("1e-9", 0), // the fraction is cut off at 2^-64 first
            ("18446744", 18_446_744_000_000_000),
        ] {
            assert_eq!(seconds_to_ns(text.parse().unwrap()), Some(ns), "{text}");
        }
        assert_eq!(seconds_to_ns(1e10), None);
        assert_eq!(seconds_to_ns(-1.0), None);
        assert_eq!(seconds_to_ns(f64::NAN), None);
    }

    #[test]
    fn quantities_with_units() {
        assert_eq!(rate("100Gbps"), Ok(100_000_000_000));
        assert_eq!(rate("20Mb/s"), Ok(20_000_000));
        assert_eq!(rate("2.5Gb/s"), Ok(2_500_000_000));
        assert_eq!(rate("1kbps"), rate("1Kb/s"));
        assert_eq!(time("1000ns"), Ok(1_000));
        assert_eq!(time("0.001ms"), Ok(1_000));
        assert_eq!(time("1.5ns"), Ok(1));
        assert_eq!(time("1500ps"), Ok(1));
        assert_eq!(time("0s"), Ok(0));
        assert_eq!(rate("100").unwrap_err().0, "'100' has no unit");
        assert_eq!(rate("100gbps").unwrap_err().0, "unknown unit 'gbps' (did you mean 'Gbps'?)");
        assert_eq!(rate("1.2.3Gbps").unwrap_err().0, "'1.2.3' is not a number");
        assert_eq!(time("-1us").unwrap_err().0, "'-1us' is negative");
        assert_eq!(time("us").unwrap_err().0, "'us' has no number");
        assert_eq!(time("99999999999s").unwrap_err().0, "'99999999999s' is too large");
    }
}
