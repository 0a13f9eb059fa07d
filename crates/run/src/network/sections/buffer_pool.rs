//! `[[buffer_pool]]`: pools of a switch's memory, as SONiC's BUFFER_POOL.

use xoff_net::topology::{NodeKind, Topology};
use xoff_scenario::document::{Section, SectionSpec};
use xoff_scenario::suggest;
use xoff_units::params::{Kind, ParamError, ParamSpec, Values as _};
use xoff_units::{Bytes, NodeId};

use super::switch::Memory;
use super::{Context, Part, Read, Sections};
use crate::network::buffers::PoolKeys;

/// Key of pools and profiles.
pub(super) const SWITCHES: ParamSpec =
    ParamSpec::optional("switches", Kind::Texts, "its switches, by name; default: all", "");

const KEYS: &[ParamSpec] = &[
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

pub type Value = PoolKeys;

impl Part for PoolKeys {
    fn specs() -> Vec<SectionSpec> {
        vec![SectionSpec::many(
            "buffer_pool",
            "A pool of a switch's memory; with switch.memory = \"pools\".",
            vec![KEYS],
        )]
    }

    fn read<'d>(cx: &Context<'d>, all: &Sections<'d>) -> Read<'d, PoolKeys> {
        let in_pools = all.switch.value().map(|switch| matches!(switch.memory, Memory::Pools(_)));
        if in_pools != Some(true) {
            let read = Read::skipped(cx);
            if let (Some(false), Some(section)) = (in_pools, read.sections.first()) {
                refuse_without_pools(section, "pool");
            }
            return read;
        }
        let mut found: Vec<PoolKeys> = Vec::new();
        Read::each(cx, |s| {
            let pool = pool(s, cx.topology)?;
            let meets = |a: &PoolKeys, b: &PoolKeys| match (&a.switches, &b.switches) {
                (None, None) => true,
                (Some(a), Some(b)) => a.iter().any(|s| b.contains(s)),
                _ => false, // the one that names a switch goes before
            };
            if found.iter().any(|p| p.name == pool.name && meets(p, &pool)) {
                let what = format!("pool '{}' is already defined", pool.name);
                return Err(ParamError::new(
                    "name",
                    what,
                    "each pool of a switch needs its own name",
                ));
            }
            found.push(pool.clone());
            Ok(pool)
        })
    }
}

/// Rejects a pool or a profile where memory is not in pools.
pub(super) fn refuse_without_pools(section: &Section<'_>, key: &str) {
    section.refuse(&ParamError::new(
        key,
        "pools need switch.memory = \"pools\"",
        "set memory = \"pools\" in [switch]",
    ));
}

pub(super) fn switches(
    s: &mut Section<'_>,
    topology: &Topology,
) -> Result<Option<Vec<NodeId>>, ParamError> {
    let names = s.texts("switches")?;
    let find = |name: &String| {
        let found =
            topology.find(name).filter(|&n| topology.nodes[n.index()].kind == NodeKind::Switch);
        found.ok_or_else(|| {
            let switches: Vec<&str> = topology.switches().map(|n| topology.name(n)).collect();
            ParamError::new(
                "switches",
                format!("there is no switch '{}'", suggest::clip(name)),
                suggest::hint(name, "switches", &switches),
            )
        })
    };
    let found = names.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    named_once(s, "switches", &names, &found)?;
    Ok((!found.is_empty()).then_some(found))
}

/// Refuses an empty list, which would be for all, and warns of a name that it contains twice.
pub(super) fn named_once<T: PartialEq>(
    s: &Section<'_>,
    key: &str,
    names: &[String],
    found: &[T],
) -> Result<(), ParamError> {
    if found.is_empty() && s.given(key) {
        return Err(ParamError::new(
            key,
            "the list is empty",
            "remove the key: the default is all",
        ));
    }
    if let Some(n) = (1..found.len()).find(|&n| found[..n].contains(&found[n])) {
        s.warn(&ParamError::new(
            key,
            format!(
                "'{}' is already in the list: the repetition has no effect",
                suggest::clip(&names[n])
            ),
            "each once",
        ));
    }
    Ok(())
}

fn pool(s: &mut Section<'_>, topology: &Topology) -> Result<PoolKeys, ParamError> {
    let (name, size, headroom) = (s.text("name")?, s.bytes("size")?, s.bytes("headroom")?);
    if size == Bytes::ZERO {
        return Err(ParamError::new("size", "a pool of 0 bytes", "expected a size above zero"));
    }
    if headroom > size {
        let what = format!("headroom {headroom} > size {size}, which includes the headroom");
        return Err(ParamError::new("headroom", what, "a larger size, or less headroom"));
    }
    Ok(PoolKeys { name, size, headroom, switches: switches(s, topology)? })
}
