//! `[[failure]]`: a link that fails during the run.

use xoff_net::topology::failures;
use xoff_scenario::document::SectionSpec;
use xoff_sim::{LinkFailure, Model};
use xoff_units::Time;
use xoff_units::params::{Kind, ParamError, ParamSpec, Values as _};

use super::{Context, Part, Read, Sections};

const KEYS: &[ParamSpec] = &[
    ParamSpec::required("link", Kind::Text, "the link, `A1-C1`"),
    ParamSpec::required(
        "at",
        Kind::Span,
        "time at which it fails, in both directions, for the rest of the run; routes are recomputed at once",
    ),
];

pub type Value = LinkFailure;

impl Part for LinkFailure {
    fn specs() -> Vec<SectionSpec> {
        vec![SectionSpec::many("failure", "A link that fails during the run.", vec![KEYS])]
    }

    fn read<'d>(cx: &Context<'d>, _: &Sections<'d>) -> Read<'d, LinkFailure> {
        Read::each(cx, |s| {
            let name = s.text("link")?;
            let link = failures::find_link(cx.topology, &name)
                .map_err(|e| ParamError::new("link", e.what, e.hint))?;
            let (at, duration) = (s.span("at")?, cx.run.duration);
            if at >= duration {
                s.warn(&ParamError::new(
                    "at",
                    format!("the run ends at {duration}, before the link fails"),
                    "give an earlier time",
                ));
            }
            if at > duration && duration.0 > 0 {
                let what = format!(
                    "the failure at {} is after the end of the run at {duration}: the link never fails",
                    Time(at.0)
                );
                s.warn(&ParamError::new(
                    "at",
                    what,
                    "choose an earlier time, or extend run.duration",
                ));
            }
            Ok(LinkFailure { at: Time(at.0), link })
        })
    }

    fn set(self, model: &mut Model<'static>) {
        model.faults.failures.push(self);
    }
}
