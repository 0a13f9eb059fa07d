//! Warnings where a published condition does not hold for a configured flow control.

use xoff_analysis::plan::{Parameters, conditions};
use xoff_mech::LinkFacts;
use xoff_mech::flow_control::{FlowControl, pfc};
use xoff_scenario::{Problem, Problems};

pub(crate) fn warn(name: &str, link: &LinkFacts, fc: &FlowControl, warnings: &mut Problems) {
    let mut p = Parameters { rate: link.rate, tau: link.tau(), mtu: link.mtu, buffer: link.buffer, ..Parameters::default() };
    match fc {
        FlowControl::Pfc(x) => {
            if let pfc::Threshold::Static { xoff, xon } = x.threshold {
                (p.xoff, p.xon) = (Some(xoff), Some(xon));
            } else {
                return; // a dynamic threshold has no fixed numbers to check
            }
        }
        FlowControl::Cbfc(x) => {
            p.period = Some(x.period);
            p.twelve_bit = x.conformance;
        }
        FlowControl::GfcConceptual(x) => (p.b_m, p.b_0, p.rate_unit) = (Some(x.bm), Some(x.b0), Some(x.rate_unit)),
        FlowControl::GfcBuffer(x) => (p.b_m, p.b_1, p.rate_unit) = (Some(x.bm), Some(x.b1), Some(x.rate_unit)),
        FlowControl::GfcTime(x) => {
            (p.b_m, p.b_0, p.rate_unit) = (Some(x.bm), Some(x.b0), Some(x.rate_unit));
            p.period = Some(x.credit.period);
        }
        FlowControl::None | FlowControl::Custom(_) => return,
    }
    for w in conditions(name, &p) {
        warnings.push(
            Problem::new(format!("{} on {} links: {}", w.condition, link.rate, w.text), format!("condition of {}", w.source)).warning(),
        );
    }
}
