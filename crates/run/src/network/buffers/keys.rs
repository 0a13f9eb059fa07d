//! Keys of pools and profiles.

use xoff_mech::sharing;
use xoff_scenario::document::{KindSpec, SectionSpec};
use xoff_units::params::{Kind, ParamSpec};

const SWITCHES: ParamSpec = ParamSpec::optional("switches", Kind::Texts, "its switches, by name; default: all", "");

const POOL: &[ParamSpec] = &[
    ParamSpec::required("name", Kind::Text, "its name, unique at each switch"),
    ParamSpec::required("size", Kind::Bytes, "total size: reserves, headroom and the shared part"),
    ParamSpec::new(
        "headroom",
        Kind::Bytes,
        "0B",
        "headroom that all of its priority groups share, a part of the size; 0 B: each group has its own, from its profile",
        "SONiC BUFFER_POOL xoff",
    ),
    SWITCHES,
];

const PROFILE: &[ParamSpec] = &[
    ParamSpec::optional("name", Kind::Text, "its name, for messages; default: that of its pool", "SONiC BUFFER_PROFILE"),
    ParamSpec::required("pool", Kind::Text, "the [[buffer_pool]] on which it draws"),
    ParamSpec::new(
        "side",
        Kind::Choice(&["ingress", "egress"]),
        "ingress",
        "ingress: for priority groups, by the port through which frames arrive; egress: for queues, by the port through which they leave",
        "SONiC BUFFER_PG, BUFFER_QUEUE",
    ),
    ParamSpec::required("priorities", Kind::Texts, "priorities of these groups or queues, such as [\"3\", \"0-2\"]"),
    ParamSpec::optional(
        "ports",
        Kind::Texts,
        "its ports, by name, `S1:H1`; such a profile overrides a profile without ports; default: all ports of its switches",
        "",
    ),
    SWITCHES,
    ParamSpec::new("reserve", Kind::Bytes, "0B", "guaranteed to each group or queue, headroom not counted", "SONiC BUFFER_PROFILE size"),
    ParamSpec::optional(
        "headroom",
        Kind::Bytes,
        "ingress, lossless: largest number of bytes that a group holds after its pause; default: C tau + 1 MTU of the port's link, as the headroom of pfc",
        "SONiC BUFFER_PROFILE xoff",
    ),
    ParamSpec::optional(
        "xon",
        Kind::Bytes,
        "ingress, lossless: the peer is resumed at or below this; default: by xon_offset alone",
        "SONiC BUFFER_PROFILE xon",
    ),
    ParamSpec::optional(
        "xon_offset",
        Kind::Bytes,
        "ingress, lossless: or this far below the limit of the group, if that is more; default: 2 MTU, or absent if xon is given",
        "SONiC BUFFER_PROFILE xon_offset",
    ),
];

pub(crate) fn pool() -> SectionSpec {
    SectionSpec::many("buffer_pool", "A pool of a switch's memory; with switch.memory = \"pools\".", vec![POOL])
}

pub(crate) fn profile() -> SectionSpec {
    let kinds = sharing::REGISTRY.iter().map(|e| KindSpec { name: e.name, doc: e.about, specs: e.params.to_vec() });
    let doc = "Limits of priority groups or queues in a pool, and their policy.";
    SectionSpec::many("buffer_profile", doc, vec![PROFILE]).kinds("kind", Some("dynamic"), kinds.collect())
}
