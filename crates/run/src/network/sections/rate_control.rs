//! `[rate_control]`: end-to-end rate control of every flow.

use xoff_mech::detection::Detection;
use xoff_mech::rate_control::{Entry, REGISTRY, RateControlKind, RecordFormat};
use xoff_scenario::document::{KindSpec, SectionSpec};
use xoff_scenario::{Problem, Problems};
use xoff_sim::Model;
use xoff_units::params::{Defaults, ParamError};

use super::detection::detections;
use super::{Context, Named, Part, Read, Sections, choice, warn_of_unmet};

pub type Value = Named<RateControlKind>;

impl Sections<'_> {
    /// True if sources receive answers: acknowledgements, or notifications of a rate control.
    pub fn hosts_answer(&self) -> bool {
        let acks = self.host.value().is_some_and(|h| h.nic.transport.acknowledges());
        acks || self.rate_control.value().is_some_and(|r| !matches!(r.law, RateControlKind::None))
    }
}

impl Part for Named<RateControlKind> {
    fn specs() -> Vec<SectionSpec> {
        let kinds =
            REGISTRY.iter().map(|e| KindSpec { name: e.name, doc: e.about, specs: vec![e.params] });
        let spec =
            SectionSpec::once("rate_control", "End-to-end rate control of every flow.", vec![]);
        vec![spec.kinds("kind", Some("none"), kinds.collect())]
    }

    fn read<'d>(cx: &Context<'d>, _: &Sections<'d>) -> Read<'d, Self> {
        Read::each(cx, |s| {
            let kind = s.kind().unwrap_or("none");
            let entry = REGISTRY.iter().find(|e| e.name == kind).expect("a kind of the registry");
            Ok(Named { name: entry.name, law: (entry.read)(s)? })
        })
    }

    fn agree(_: &Context<'_>, all: &mut Sections<'_>) {
        let Some(host) = all.host.value() else { return };
        all.rate_control.check(|_, Named { name, law }| {
            if !law.needs_acks() || host.nic.transport.acknowledges() {
                return Ok(());
            }
            let what = format!(
                "{name} reacts to acknowledgements, but hosts send none: rates never change"
            );
            Err(ParamError::new("kind", what, "set host.acks = \"per-frame\""))
        });
    }

    fn warn(_: &Context<'_>, all: &Sections<'_>, warnings: &mut Problems) {
        let (Some(rate), Some(host), Some(detection)) =
            (all.rate_control.value(), all.host.value(), all.detection.value())
        else {
            return;
        };
        let (detection, rate_control) = ((detection.name, &detection.law), (rate.name, &rate.law));
        warn_of_header(rate_control, host.nic.header, warnings);
        warn_of_marks(detection, rate_control, warnings);
        let slowest = all
            .flow_control
            .links()
            .and_then(|(_, links)| links.iter().map(|(link, _)| link.rate).min());
        warn_of_unmet(slowest.map(|slowest| rate.law.unmet(slowest)).unwrap_or_default(), warnings);
        warn_of_cnms(detection, rate_control, warnings);
    }

    fn set(self, model: &mut Model<'static>) {
        model.nic.rate_control = self.law;
    }
}

/// Rate controls that are such.
fn rate_controls(which: impl Fn(&RateControlKind) -> bool) -> String {
    let of = |e: &&Entry| (e.read)(&mut Defaults::of(e.params)).is_ok_and(|r| which(&r));
    choice("rate_control.kind", REGISTRY.iter().filter(of).map(|e| e.name))
}

/// Records of the way for which frames have no room: they would travel for nothing, and the ideal
/// times of the run would be those of shorter frames than those of a run with room.
fn warn_of_header(
    (name, rate_control): (&str, &RateControlKind),
    header: u32,
    warnings: &mut Problems,
) {
    if rate_control.telemetry().is_some() && header < RecordFormat::HEADER {
        let what = format!(
            "{name}: frames carry up to {} B of records, but host.header = \"{header}B\" is smaller: completion and ideal times \
                     are too short",
            RecordFormat::HEADER
        );
        let hint = format!(
            "set host.header = \"{}B\", also in runs that you compare with this one",
            RecordFormat::HEADER
        );
        warnings.push(Problem::new(what, hint).warning());
    }
}

/// Marks that no rate control reads, and rules for marks that never come (TCD section 4.1, Table
/// 1).
fn warn_of_marks(
    (detection_name, detection): (&str, &Detection),
    (name, rate_control): (&str, &RateControlKind),
    warnings: &mut Problems,
) {
    let ternary = detection.has_states();
    let mut warn = |what: String, hint: String| warnings.push(Problem::new(what, hint).warning());
    match rate_control {
        RateControlKind::None | RateControlKind::Custom(_) => {}
        _ if ternary && !rate_control.knows_undetermined() => {
            let what =
                format!("detection {detection_name} marks UE, which {name} treats like no mark");
            let hint = "set rate_control.tcd = true where the rate control has it; UE is code point 10, ECT(0) of RFC 3168";
            warn(what, hint.into());
        }
        _ if !ternary && rate_control.knows_undetermined() => {
            let what = format!(
                "{name} follows TCD's rules, but no port marks UE: it cuts the rate of every flow more deeply"
            );
            warn(what, detections(|d| d.has_states()));
        }
        _ if rate_control.reads_marks() && matches!(detection, Detection::None) => {
            let what = format!(
                "rate_control {name} needs marks, but no port marks without a detection: no rate ever changes"
            );
            warn(
                what,
                detections(|d| !matches!(d, Detection::None) && !d.sends_cnms() && !d.has_states()),
            );
        }
        _ => {}
    }
}

/// CNMs that no sender reacts to, a rate control that no switch sends anything.
fn warn_of_cnms(
    (name, detection): (&str, &Detection),
    (rate_name, rate_control): (&str, &RateControlKind),
    warnings: &mut Problems,
) {
    let mut warn = |what: String, hint: String| warnings.push(Problem::new(what, hint).warning());
    let custom = matches!(rate_control, RateControlKind::Custom(_));
    if detection.sends_cnms() && !rate_control.wants_quantized() && !custom {
        warn(
            format!(
                "detection {name} sends CNMs with a value, which rate_control {rate_name} ignores"
            ),
            rate_controls(|r| r.wants_quantized()),
        );
    } else if !detection.sends_cnms() && rate_control.wants_quantized() && !custom {
        warn(
            format!(
                "rate_control {rate_name} needs CNMs with a value, which detection {name} never sends: no rate ever changes"
            ),
            detections(Detection::sends_cnms),
        );
    }
}
