//! Fig. 19: bandwidth that the messages of buffer-based GFC take.

use xoff_report::{Align, Axis, Cell, Figure, Mark, Panel, Table, Unit};

use super::meter::MESSAGE_WINDOW;
use super::sizes::Sizes;
use super::stats::quantile;
use super::study::{Chatter, LargeScale, Messages, Parts};
use crate::{Check, Context, Findings, ReproduceError};

/// Length of a message [bit] (GFC section 5.4: m = 64 B).
const MESSAGE_BITS: f64 = 512.0;
/// Rate of the links [bit/s].
const LINE: f64 = 10e9;
/// tau of Eq. (6) with the parameters of section 6.2.2 [s].
const TAU: f64 = 7.4e-6;

const SPACING: &str = "at most one message per tau, with the latest stage: the worst case that the paper states";
const SPREAD: &str = "flows are spread by hash over the shortest paths, so that most links carry traffic";

impl Messages {
    /// Bandwidth of `n` messages in a window, as a share of the line.
    fn share(n: f64) -> f64 {
        n * MESSAGE_BITS / MESSAGE_WINDOW.as_secs_f64() / LINE
    }
    fn total(&self) -> u64 {
        self.histogram.iter().sum()
    }
    /// Mean over (port, window), all or only those with a message.
    fn mean(&self, busy: bool) -> f64 {
        let count: u64 = self.histogram.iter().enumerate().map(|(n, windows)| n as u64 * windows).sum();
        let of = if busy { self.total() - self.histogram.first().unwrap_or(&0) } else { self.total() };
        Messages::share(count as f64 / of as f64)
    }
    fn quantile(&self, share: f64) -> f64 {
        Messages::share(quantile(&self.histogram, share) as f64)
    }
    fn max(&self) -> f64 {
        Messages::share(self.histogram.len().saturating_sub(1) as f64)
    }
    /// Points of the distribution: share of the line, share of (port, window) up to it.
    fn cdf(&self) -> Vec<(f64, f64)> {
        let (total, mut below) = (self.total() as f64, 0);
        let mut point = |(n, windows): (usize, &u64)| {
            below += windows;
            (Messages::share(n as f64), below as f64 / total)
        };
        self.histogram.iter().enumerate().map(&mut point).collect()
    }
}

/// The entry.
pub fn run(cx: &Context) -> Result<Findings, ReproduceError> {
    Ok(findings(&LargeScale::run(cx, Sizes::of(cx.mode), Parts { messages: true, ..Parts::default() })?))
}

/// Findings of Fig. 19.
pub fn findings(study: &LargeScale) -> Findings {
    let mut f = Findings::default();
    let bound = MESSAGE_BITS / TAU / LINE;
    for m in study.messages.iter().filter(|m| m.by == Chatter::Spacing) {
        let k = m.k;
        f.checks.push(
            Check::new(format!("k = {k}: mean over all ports"), Unit::Fraction, m.mean(false), 0.001, 0.0035)
                .paper(0.0021)
                .assuming(SPREAD),
        );
        f.checks.push(
            Check::new(format!("k = {k}: 99 % of ports and windows"), Unit::Fraction, m.quantile(0.99), 0.0, 0.005)
                .paper(0.004)
                .assuming(SPACING),
        );
        f.checks.push(Check::new(format!("k = {k}: largest"), Unit::Fraction, m.max(), 0.0, bound).paper(0.0049).assuming(SPACING));
    }
    let percent = |v| Unit::Fraction.format(v);
    let words = study.messages.iter().map(|m| {
        format!(
            "k = {}, {}: mean {} ({} of those with a message), 99 % below {}, largest {}",
            m.k,
            m.by.words(),
            percent(m.mean(false)),
            percent(m.mean(true)),
            percent(m.quantile(0.99)),
            percent(m.max())
        )
    });
    f.measured = format!("{}. The bound m/tau is {}.", words.collect::<Vec<_>>().join("; "), percent(bound));
    for m in &study.messages {
        let (k, quiet) = (m.k, *m.histogram.first().unwrap_or(&0) as f64 / m.total().max(1) as f64);
        f.why.extend(match m.by {
            Chatter::Spacing => Some(format!(
                "k = {k}: {} of the windows of all ports have no message at all, because a port whose downstream queue stays below 281 \
                 KB receives none. The mean over all ports is {}; over ports that receive messages it is {}.",
                percent(quiet),
                percent(m.mean(false)),
                percent(m.mean(true))
            )),
            Chatter::Hysteresis => Some(format!(
                "k = {k}, with xoff's hysteresis of 2 MTU instead: mean over all ports {}, 99 % below {}, largest {}.",
                percent(m.mean(false)),
                percent(m.quantile(0.99)),
                percent(m.max())
            )),
            Chatter::Neither => Some(format!(
                "k = {k}, with neither: mean over all ports {}, 99 % below {}, largest {}. Each frame that crosses a threshold sends a \
                 message, so that there can be several per tau and m/tau is no bound.",
                percent(m.mean(false)),
                percent(m.quantile(0.99)),
                percent(m.max())
            )),
        });
    }
    let mut panel = Panel::new(
        "",
        // What is judged ends below m/tau; without spacing and hysteresis a few windows take ten times as much (table).
        Axis::new("Bandwidth taken by messages", Unit::Fraction).range(0.0, 1.5 * bound),
        Axis::new("Share of ports and windows", Unit::Fraction).range(0.9, 1.0),
    );
    for m in &study.messages {
        let line = Mark::steps(format!("k = {}, {}", m.k, m.by.words()), m.cdf());
        panel = panel.mark(if m.by == Chatter::Neither { line.dashed() } else { line });
    }
    let marks = [(0.0021, "paper: mean 0.21 %"), (0.0049, "paper: largest 0.49 %"), (bound, "m / tau")];
    let panel = marks.into_iter().fold(panel, |p, (x, label)| p.mark(Mark::vline(x, label)));
    f.figures.push(
        Figure::new("Fig. 19: bandwidth taken by the messages of buffer-based GFC")
            .caption("Messages of 64 B received per port in windows of 500 us, all ports with a working link.")
            .panel(panel),
    );
    f.tables.push(table(study));
    f
}

fn table(study: &LargeScale) -> Table {
    let columns = ["k", "Extra rule", "Runs", "Ports x windows", "Mean", "Mean where any", "99 %", "Largest"];
    let mut t = Table::new(columns).align([Align::Right; 8]).caption("Paper, k = 16: mean 0.21 %, 99 % below 0.4 %, largest 0.49 %.");
    for m in &study.messages {
        let percent = |v: f64| Cell::from(Unit::Fraction.format(v));
        t.push([
            Cell::from(m.k as u64),
            m.by.words().into(),
            Cell::from(m.runs as u64),
            m.total().into(),
            percent(m.mean(false)),
            percent(m.mean(true)),
            percent(m.quantile(0.99)),
            percent(m.max()),
        ]);
    }
    t
}
