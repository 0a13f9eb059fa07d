//! `[routing]`: routes of frames.

use xoff_net::topology::routing::Routing;
use xoff_scenario::document::SectionSpec;
use xoff_sim::Model;
use xoff_units::params::{Kind, ParamError, ParamSpec, Values as _};

use super::{Context, Part, Read, Sections};

const KEYS: &[ParamSpec] = &[
    ParamSpec { key: "kind", ..Routing::PARAM },
    ParamSpec::optional(
        "seed",
        Kind::Count,
        "seed of the hashes that choose among several paths; default: that of the run",
        "",
    ),
];

pub type Value = Routing;

impl Part for Routing {
    fn specs() -> Vec<SectionSpec> {
        vec![SectionSpec::once("routing", "Routes of frames.", vec![KEYS])]
    }

    fn read<'d>(cx: &Context<'d>, _: &Sections<'d>) -> Read<'d, Routing> {
        Read::each(cx, |s| {
            let (kind, seed) = (s.text("kind")?, s.count_opt("seed")?.unwrap_or(cx.run.seed));
            let rule =
                Routing::named(&kind, seed).and_then(|rule| rule.fits(cx.topology).map(|()| rule));
            rule.map_err(|e| ParamError::new("kind", e.what, e.hint))
        })
    }

    fn set(self, model: &mut Model<'static>) {
        model.routing = self;
    }
}
