//! `[detection]`: congestion detection at every switch egress.

use xoff_mech::detection::{Detection, Entry, NetworkFacts, Place, REGISTRY};
use xoff_mech::flow_control::FlowControl;
use xoff_scenario::Problems;
use xoff_scenario::document::{KindSpec, SectionSpec};
use xoff_sim::{Model, PerLink};
use xoff_units::params::Defaults;

use super::switch::most_at_an_egress;
use super::{Context, Named, Part, Read, Sections, choice, warn_of_unmet};

pub type Value = Named<Detection>;

impl Part for Named<Detection> {
    fn specs() -> Vec<SectionSpec> {
        let kinds =
            REGISTRY.iter().map(|e| KindSpec { name: e.name, doc: e.about, specs: vec![e.params] });
        let spec =
            SectionSpec::once("detection", "Congestion detection at every switch egress.", vec![]);
        vec![
            spec.kinds("kind", Some("none"), kinds.collect())
                .aliases(&[("ecn", "red"), ("wred", "red")]),
        ]
    }

    fn read<'d>(cx: &Context<'d>, _: &Sections<'d>) -> Read<'d, Self> {
        Read::each(cx, |s| {
            let kind = s.kind().unwrap_or("none");
            let entry = REGISTRY.iter().find(|e| e.name == kind).expect("a kind of the registry");
            Ok(Named { name: entry.name, law: (entry.read)(s)? })
        })
    }

    fn agree(cx: &Context<'_>, all: &mut Sections<'_>) {
        let (Some(switch), Some((name, links))) = (all.switch.value(), all.flow_control.links())
        else {
            return;
        };
        let memory = most_at_an_egress(cx.topology, switch);
        let place = |link, flow_control| Place { link, flow_control, to_host: false };
        all.detection.check(|_, detection| {
            links.iter().try_for_each(|(link, fc)| detection.law.validate(&place(link, fc), memory))
        });
        let stops = |fc: &FlowControl| matches!(fc, FlowControl::Custom(_)) || fc.stop().is_some();
        if let Some(detection) = all.detection.value()
            && !links.iter().any(|(_, fc)| stops(fc))
        {
            let section = all.detection.section();
            let why = format!("flow_control.kind = \"{name}\" pauses no port as a whole");
            let hint = "remove the key, or set flow_control.kind = \"pfc\"";
            let keys = detection.law.needs_pauses();
            keys.iter().for_each(|key| section.has_no_effect(key, &why, hint));
        }
    }

    fn warn(cx: &Context<'_>, all: &Sections<'_>, warnings: &mut Problems) {
        let (Some(detection), Some(switch), Some((_, links))) =
            (all.detection.value(), all.switch.value(), all.flow_control.links())
        else {
            return;
        };
        let at = NetworkFacts { links, memory: most_at_an_egress(cx.topology, switch) };
        warn_of_unmet(detection.law.unmet(&at), warnings);
    }

    fn set(self, model: &mut Model<'static>) {
        model.detection = PerLink::All(self.law);
    }
}

/// Detections that are such, for a hint: `set detection.kind = "red" or "tcd"`.
pub(super) fn detections(which: impl Fn(&Detection) -> bool) -> String {
    let of = |e: &&Entry| (e.read)(&mut Defaults::of(e.params)).is_ok_and(|d| which(&d));
    choice("detection.kind", REGISTRY.iter().filter(of).map(|e| e.name))
}
