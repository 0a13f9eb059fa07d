//! Warnings of what will not happen: a run without time, flows that begin after its end, samples that are never taken.

use xoff_params::ParamError;
use xoff_scenario::document::Section;
use xoff_units::{Span, Time};
use xoff_workload::Generated;

/// A run that lasts no time, and sections whose times lie beyond its end.
pub(crate) fn warn_of_times(run: &Section<'_>, duration: Span, probes: (&Section<'_>, Span), failures: &[(&Section<'_>, Time)]) {
    if duration.0 == 0 {
        run.warn(&ParamError::new("duration", "0: nothing is simulated", "expected a time above zero, such as \"20ms\""));
        return;
    }
    let (section, interval) = probes;
    if interval > duration {
        let what = format!("{interval} is longer than the run, {duration}: nothing is sampled");
        section.warn(&ParamError::new("interval", what, "a hundredth of run.duration gives a hundred samples"));
    }
    for (section, at) in failures.iter().filter(|f| f.1.0 > duration.0) {
        let what = format!("{at} is after the end of the run, {duration}: the link never fails");
        section.warn(&ParamError::new("at", what, "an earlier time, or a longer run.duration"));
    }
}

/// A workload without flows, or with flows that the run ends before.
pub(crate) fn warn_of_flows(section: &Section<'_>, made: &Generated, end: Time) {
    let hint = "an earlier start, or a longer run.duration";
    let first = match &made.closed_loop {
        Some(l) => l.first_start(),
        None => made.flows.iter().map(|f| f.start).min(),
    };
    let Some(first) = first else {
        let hint = "a higher load or rate, a longer duration, or more hosts";
        section.warn(&ParamError::new("kind", "it generates no flow: nothing is sent", hint));
        return;
    };
    if end.0 == 0 {
        return; // the duration is warned of
    }
    let late = made.flows.iter().filter(|f| f.start >= end).count();
    if first >= end {
        let what = format!("it begins at {first}, and the run ends at {end}: nothing is sent");
        section.warn(&ParamError::new("start", what, hint));
    } else if late > 0 {
        let what = format!("{late} of {} flows begin after the end of the run at {end}: they are left out", made.flows.len());
        section.warn(&ParamError::new("start", what, hint));
    }
}

/// A fabric that is never measured.
pub(crate) fn warn_of_measurement(run: &Section<'_>, duration: Span, (warm_up, window): (Span, Span)) {
    if duration.0 == 0 {
        run.warn(&ParamError::new("duration", "0: nothing is simulated", "expected a time above zero, such as \"1ms\""));
    } else if warm_up >= duration {
        let what = format!("{warm_up} is not over before the run ends at {duration}: nothing is measured");
        run.warn(&ParamError::new("warm_up", what, "a fifth of run.duration"));
    } else if window > duration {
        let what = format!("{window} is longer than the run, {duration}: no window ends, and the table of windows stays empty");
        run.warn(&ParamError::new("window", what, "a hundredth of run.duration"));
    }
}

/// A source that sends from a time to another.
pub(crate) fn warn_of_span(section: &Section<'_>, (start, stop): (Time, Time), end: Time) {
    if end.0 > 0 && start >= end {
        let what = format!("it begins at {start}, and the run ends at {end}: nothing is sent");
        section.warn(&ParamError::new("start", what, "an earlier start, or a longer run.duration"));
    } else if end.0 > 0 && stop <= start {
        let what = format!("{stop} is not after the start, {start}: nothing is sent");
        section.warn(&ParamError::new("stop", what, "a later time"));
    }
}
