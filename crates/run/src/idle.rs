//! Warnings of parts without effect: a run without time, flows that begin after its end, samples that are never taken.

use xoff_net::workload::Generated;
use xoff_scenario::document::Section;
use xoff_units::params::ParamError;
use xoff_units::{Span, Time};

/// A run that lasts no time, and sections whose times are beyond its end.
pub(crate) fn warn_of_times(run: &Section<'_>, duration: Span, probes: (&Section<'_>, Span), failures: &[(&Section<'_>, Time)]) {
    if duration.0 == 0 {
        run.warn(&ParamError::new(
            "duration",
            "the run has a duration of 0: xoff simulates nothing",
            "expected a time above zero, such as \"20ms\"",
        ));
        return;
    }
    let (section, interval) = probes;
    if interval > duration {
        let what = format!("the interval of {interval} is longer than the run of {duration}: xoff takes no samples");
        section.warn(&ParamError::new("interval", what, "expected, for example, a hundredth of run.duration"));
    }
    for (section, at) in failures.iter().filter(|f| f.1.0 > duration.0) {
        let what = format!("the failure at {at} is after the end of the run at {duration}: the link never fails");
        section.warn(&ParamError::new("at", what, "choose an earlier time, or extend run.duration"));
    }
}

/// A workload without flows, or with flows that the run ends before.
pub(crate) fn warn_of_flows(section: &Section<'_>, made: &Generated, end: Time) {
    let hint = "choose an earlier start, or extend run.duration";
    let first = match &made.closed_loop {
        Some(l) => l.first_start(),
        None => made.flows.iter().map(|f| f.start).min(),
    };
    let Some(first) = first else {
        let hint = "use a higher load or rate, a longer duration, or more hosts";
        section.warn(&ParamError::new("kind", "the workload generates no flow: its hosts send nothing", hint));
        return;
    };
    if end.0 == 0 {
        return; // the duration is warned of
    }
    let late = made.flows.iter().filter(|f| f.start >= end).count();
    if first >= end {
        let what = format!("the first flow starts at {first}, but the run ends at {end}: its hosts send nothing");
        section.warn(&ParamError::new("start", what, hint));
    } else if late > 0 {
        let what = format!("{late} of {} flows start after the end of the run at {end}: xoff leaves these flows out", made.flows.len());
        section.warn(&ParamError::new("start", what, hint));
    }
}

/// A fabric that is never measured.
pub(crate) fn warn_of_measurement(run: &Section<'_>, duration: Span, (warm_up, window): (Span, Span)) {
    if duration.0 == 0 {
        run.warn(&ParamError::new(
            "duration",
            "the run has a duration of 0: xoff simulates nothing",
            "expected a time above zero, such as \"1ms\"",
        ));
    } else if warm_up >= duration {
        let what = format!("the warm-up of {warm_up} is not shorter than the run of {duration}: xoff measures nothing");
        run.warn(&ParamError::new("warm_up", what, "expected, for example, a fifth of run.duration"));
    } else if window > duration {
        let what = format!("the window of {window} is longer than the run of {duration}: the table of windows stays empty");
        run.warn(&ParamError::new("window", what, "expected, for example, a hundredth of run.duration"));
    }
}

/// A source that sends from a time to another.
pub(crate) fn warn_of_span(section: &Section<'_>, (start, stop): (Time, Time), end: Time) {
    if end.0 > 0 && start >= end {
        let what = format!("the source starts at {start}, but the run ends at {end}: it sends nothing");
        section.warn(&ParamError::new("start", what, "choose an earlier start, or extend run.duration"));
    } else if end.0 > 0 && stop <= start {
        let what = format!("stop {stop} is not after start {start}: the source sends nothing");
        section.warn(&ParamError::new("stop", what, "choose a later time"));
    }
}
