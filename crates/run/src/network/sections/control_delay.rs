//! `[control_delay]`: delays of flow control messages inside nodes.

use xoff_node::{ControlDelay, Delay};
use xoff_scenario::document::SectionSpec;
use xoff_sim::Model;
use xoff_units::params::{Kind, ParamSpec, Values as _};

use super::{Context, Part, Read, Sections};

const KEYS: &[ParamSpec] = &[
    ParamSpec::new(
        "generation",
        Kind::Span,
        "0us",
        "from the decision to the control queue of the port",
        "",
    ),
    ParamSpec::new("generation_jitter", Kind::Span, "0us", "uniform addition to it, 0 to this", ""),
    ParamSpec::new(
        "processing",
        Kind::Span,
        "0us",
        "from the arrival of a control frame to its effect, t_r",
        "GFC Eq. (6): up to 3 us in hardware",
    ),
    ParamSpec::new("processing_jitter", Kind::Span, "0us", "uniform addition to it, 0 to this", ""),
];

pub type Value = ControlDelay;

impl Part for ControlDelay {
    fn specs() -> Vec<SectionSpec> {
        vec![SectionSpec::once(
            "control_delay",
            "Delays of flow control messages inside nodes.",
            vec![KEYS],
        )]
    }

    fn read<'d>(cx: &Context<'d>, _: &Sections<'d>) -> Read<'d, ControlDelay> {
        Read::each(cx, |s| {
            Ok(ControlDelay {
                generation: Delay {
                    constant: s.span("generation")?,
                    jitter: s.span("generation_jitter")?,
                },
                processing: Delay {
                    constant: s.span("processing")?,
                    jitter: s.span("processing_jitter")?,
                },
            })
        })
    }

    fn set(self, model: &mut Model<'static>) {
        model.control_delay = self;
    }
}
