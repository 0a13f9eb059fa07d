//! One flow, given explicitly: a `[[flow]]` entry.

use crate::topology::Topology;
use crate::topology::routing::ExplicitPaths;
use xoff_units::NodeId;
use xoff_units::params::{Kind, ParamError, ParamSpec, Values};

use crate::workload::flow::{DST_PORT, GivenPath};
use crate::workload::{Context, Flow, Generated, select};

/// Declared keys, with defaults and sources.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::required("src", Kind::Text, "Sending host."),
    ParamSpec::required("dst", Kind::Text, "Receiving host."),
    select::SIZE,
    select::START,
    select::RATE,
    select::CONTROLLED,
    select::PRIORITY,
    ParamSpec::optional(
        "path",
        Kind::Texts,
        "Names of all nodes from source to destination; absent: as routed.",
        "",
    ),
    ParamSpec::new(
        "loop",
        Kind::Flag,
        "false",
        "The path is a routing loop: it ends at a switch that it already contains, and its frames circle forever.",
        "GFC section 7",
    ),
    ParamSpec::optional(
        "src_port",
        Kind::Count,
        "Source port for ECMP hashes, 1 to 65535; absent: 10000, 10001, ... for the flows of a pair.",
        "HPCC simulator",
    ),
    ParamSpec::new(
        "dst_port",
        Kind::Count,
        "100",
        "Destination port, 1 to 65535.",
        "HPCC simulator",
    ),
];

/// The flow.
pub fn generate(v: &mut dyn Values, cx: &Context) -> Result<Generated, ParamError> {
    let src = select::host(cx.topo, "src", &v.text("src")?)?;
    let dst = select::host(cx.topo, "dst", &v.text("dst")?)?;
    if src == dst {
        let what = format!("the flow runs from '{0}' to '{0}'", cx.topo.name(src));
        return Err(ParamError::new("dst", what, "give another host as destination"));
    }
    let path = path(v, cx.topo, src, dst)?;
    let flow = Flow {
        src,
        dst,
        priority: select::priority(v)?,
        size: select::size(v)?,
        start: select::start(v)?,
        rate: select::rate(v)?,
        controlled: v.flag("rate_control")?,
        src_port: port(v, "src_port")?.unwrap_or(0),
        dst_port: port(v, "dst_port")?.unwrap_or(DST_PORT),
        path: path.as_ref().map(|_| 0),
        label: cx.label,
    };
    Ok(Generated { flows: vec![flow], paths: path.into_iter().collect(), ..Generated::default() })
}

fn port(v: &mut dyn Values, key: &str) -> Result<Option<u16>, ParamError> {
    match v.count_opt(key)? {
        None => Ok(None),
        Some(p @ 1..=65_535) => Ok(Some(p as u16)),
        Some(p) => Err(ParamError::new(key, format!("{p} is not a port"), "expected 1 to 65535")),
    }
}

/// Keys `path` and `loop`: checked here, by the rules of the topology's explicit paths.
fn path(
    v: &mut dyn Values,
    topo: &Topology,
    src: NodeId,
    dst: NodeId,
) -> Result<Option<GivenPath>, ParamError> {
    let (names, is_loop) = (v.texts("path")?, v.flag("loop")?);
    if names.is_empty() {
        return match is_loop {
            true => Err(ParamError::new(
                "loop",
                "there is no path",
                "give `path`, up to the switch that closes the loop",
            )),
            false => Ok(None),
        };
    }
    // Looked up here for the nearest name.
    let nodes =
        names.iter().map(|n| select::node(topo, "path", n)).collect::<Result<Vec<_>, _>>()?;
    let path = GivenPath { nodes, is_loop };
    path.add_to(&mut ExplicitPaths::default(), topo)?;
    let (first, last) = (path.nodes[0], path.nodes[path.nodes.len() - 1]);
    if first != src || (last != dst && !is_loop) {
        let what = format!("the path leads from '{}' to '{}'", topo.name(first), topo.name(last));
        let hint = format!(
            "list every node from '{}' to '{}', both included",
            topo.name(src),
            topo.name(dst)
        );
        return Err(ParamError::new("path", what, hint));
    }
    Ok(Some(path))
}
