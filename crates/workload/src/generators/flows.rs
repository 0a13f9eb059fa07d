//! One flow, given explicitly: a `[[flow]]` entry.

use xoff_params::{Kind, ParamError, ParamSpec, Values};
use xoff_topology::{NodeId, NodeKind, Topology};

use crate::flow::DST_PORT;
use crate::{Context, Flow, Generated, select};

/// Parameters.
pub const PARAMS: &[ParamSpec] = &[
    ParamSpec::required("src", Kind::Text, "Sending host."),
    ParamSpec::required("dst", Kind::Text, "Receiving host."),
    select::SIZE,
    select::START,
    select::RATE,
    select::PRIORITY,
    ParamSpec::optional(
        "path",
        Kind::Texts,
        "Names of all nodes from source to destination; absent: as routed.",
        "",
    ),
    ParamSpec::optional(
        "src_port",
        Kind::Count,
        "Source port, 1 to 65535, which an ECMP hash sees; absent: 10000, 10001, ... for the flows of a pair.",
        "HPCC simulator",
    ),
    ParamSpec::new("dst_port", Kind::Count, "100", "Destination port, 1 to 65535.", "HPCC simulator"),
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

/// Key `path`: from `src` over switches to `dst`, each step a working link.
fn path(v: &mut dyn Values, topo: &Topology, src: NodeId, dst: NodeId) -> Result<Option<Vec<NodeId>>, ParamError> {
    let names = v.texts("path")?;
    if names.is_empty() {
        return Ok(None);
    }
    let err = |what: String, hint: String| Err(ParamError::new("path", what, hint));
    let path = names.iter().map(|n| select::node(topo, "path", n)).collect::<Result<Vec<_>, _>>()?;
    if path[0] != src || path[path.len() - 1] != dst {
        let hint = format!("list every node from '{}' to '{}', both included", topo.name(src), topo.name(dst));
        return err(format!("it runs from '{}' to '{}'", names[0], names[names.len() - 1]), hint);
    }
    for step in path.windows(2) {
        let (a, b) = (topo.name(step[0]), topo.name(step[1]));
        let mut links = topo.nodes[step[0] as usize].ports.iter().filter(|p| p.peer == step[1]).peekable();
        if links.peek().is_none() {
            return err(format!("there is no link between '{a}' and '{b}'"), "each node must be a neighbour of the one before".into());
        }
        if !links.any(|p| topo.links[p.link as usize].up) {
            return err(format!("the link between '{a}' and '{b}' has failed"), "choose another path, or repair the link".into());
        }
    }
    if let Some(&h) = path[1..path.len() - 1].iter().find(|&&n| topo.nodes[n as usize].kind == NodeKind::Host) {
        return err(format!("'{}' is a host", topo.name(h)), "only switches forward".into());
    }
    Ok(Some(path))
}
