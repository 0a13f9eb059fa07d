//! Values that were not given: derived from the link, or belonging to a variant. The manifest lists
//! them next to the given ones.

use xoff_mech::LinkFacts;
use xoff_mech::detection::{Detection, Place};
use xoff_mech::flow_control::FlowControl;
use xoff_mech::rate_control::RateControlKind;
use xoff_record::Parameter;
use xoff_scenario::document::{Resolved, number};
use xoff_units::params::ParamSpec;

use super::sections::Named;

/// Values of one link, or of all.
type Values = Vec<(&'static str, String)>;

/// Adds missing parameters.
pub(super) fn add(
    parameters: &mut Vec<Parameter>,
    (flow_control, links): (&str, &[(LinkFacts, FlowControl)]),
    &Named { name: detector, law: ref detection }: &Named<Detection>,
    &Named { name: rate, law: ref rate_control }: &Named<RateControlKind>,
) {
    let per_link = |of: &dyn Fn(&LinkFacts, &FlowControl) -> Values| {
        links.iter().map(|(l, fc)| (Some(l), of(l, fc))).collect()
    };
    let specs = xoff_mech::flow_control::REGISTRY
        .iter()
        .find(|e| e.name == flow_control)
        .map_or(&[][..], |e| e.params);
    section(parameters, "flow_control", specs, per_link(&|_, fc| fc.resolved()));
    let specs = xoff_mech::detection::REGISTRY
        .iter()
        .find(|e| e.name == detector)
        .map_or(&[][..], |e| e.params);
    let at = |link: &LinkFacts, flow_control: &FlowControl| {
        detection.resolved(&Place { link, flow_control, to_host: false })
    };
    section(parameters, "detection", specs, per_link(&at));
    section(parameters, "rate_control", specs_of(rate), vec![(None, rate_control.resolved())]);
}

/// Adds the values of a variant of rate control to those that reproduce the run.
pub(super) fn write(resolved: &mut Resolved, Named { name, law }: &Named<RateControlKind>) {
    let values = law.resolved();
    for spec in specs_of(name) {
        for (_, value) in values.iter().filter(|(key, _)| *key == spec.key) {
            resolved.derive("rate_control", spec, value);
        }
    }
}

/// Keys of a rate control.
fn specs_of(rate_control: &str) -> &'static [ParamSpec] {
    let all = xoff_mech::rate_control::REGISTRY;
    all.iter().find(|e| e.name == rate_control).map_or(&[], |e| e.params)
}

/// Rows, one for each key, or one for each kind of link where they differ:
/// `flow_control.xoff (10Gbps, 1us)`.
fn section(
    parameters: &mut Vec<Parameter>,
    name: &str,
    specs: &[ParamSpec],
    classes: Vec<(Option<&LinkFacts>, Values)>,
) {
    for spec in specs {
        let path = format!("{name}.{}", spec.key);
        if parameters.iter().any(|p| p.path == path) {
            continue; // it was given
        }
        let of = |values: &Values| values.iter().find(|v| v.0 == spec.key).map(|v| v.1.clone());
        let values: Vec<(Option<&LinkFacts>, String)> =
            classes.iter().filter_map(|(l, values)| Some((*l, of(values)?))).collect();
        let same = values.windows(2).all(|two| two[0].1 == two[1].1);
        for (link, value) in values.into_iter().take(if same { 1 } else { usize::MAX }) {
            let (path, origin) = match link {
                None => (path.clone(), format!("derived from the other keys of {name}")),
                Some(l) => {
                    let path = if same {
                        path.clone()
                    } else {
                        format!("{path} ({:#}, {:#})", l.rate, l.delay)
                    };
                    (
                        path,
                        format!(
                            "derived from rate {}, delay {}, MTU {}, buffer {}",
                            l.rate, l.delay, l.mtu, l.buffer
                        ),
                    )
                }
            };
            let value = number(spec.kind, value);
            parameters.push(Parameter { path, value, origin, source: spec.doc.into() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key without a default that no mechanism resolves would be missing from the manifest.
    #[test]
    fn every_key_without_a_default_is_resolved() {
        use xoff_units::params::Defaults;
        use xoff_units::{Bytes, Rate, Span};
        let link = LinkFacts::plain(
            Rate(10_000_000_000),
            Span::from_us(1),
            Bytes(1500),
            Bytes::from_kb(300),
        );
        // In place of another key; of a variant that is not the default (`entry_ports`,
        // `sharing = "static"`); a list of exceptions, empty by default.
        let exempt = ["fecn.weight", "gfc-buffer.entry_b1", "uec-cbfc.reserved", "af-qcn.weights"];
        let check = |name: &str, specs: &'static [ParamSpec], values: Values| {
            for spec in specs.iter().filter(|s| {
                s.default.is_none()
                    && s.optional
                    && !exempt.contains(&&*format!("{name}.{}", s.key))
            }) {
                assert!(
                    values.iter().any(|v| v.0 == spec.key),
                    "{name}.{} has no resolved value",
                    spec.key
                );
            }
        };
        for e in xoff_mech::flow_control::REGISTRY {
            let fc = (e.read)(&mut Defaults::of(e.params), &link).unwrap();
            check(e.name, e.params, fc.resolved());
        }
        for e in xoff_mech::detection::REGISTRY {
            let detection = (e.read)(&mut Defaults::of(e.params)).unwrap();
            let flow_control = &FlowControl::None;
            check(
                e.name,
                e.params,
                detection.resolved(&Place { link: &link, flow_control, to_host: false }),
            );
        }
        for e in xoff_mech::rate_control::REGISTRY {
            check(e.name, e.params, (e.read)(&mut Defaults::of(e.params)).unwrap().resolved());
        }
    }
}
