//! Tables of one router.

use crate::{Place, Problem, suggest};

use super::prefix::Prefix;
use super::unexpected;
use crate::import::tree::{Document, Item, Tree};

/// A route that is installed.
pub(super) struct Route {
    pub prefix: Prefix,
    /// Interfaces by which it leaves; none where it drops.
    pub hops: Vec<(String, Place)>,
    pub connected: bool,
    pub place: Place,
}

/// All routes of a router.
pub(super) struct Table {
    pub routes: Vec<Route>,
    pub is_frr: bool,
    pub place: Place,
}

fn prefix(d: &Document, place: Place, text: &str) -> Result<Prefix, Problem> {
    let bad = |what: String| {
        Problem::new(
            format!("'{}': {what}", suggest::clip(text)),
            "expected a prefix such as 10.0.1.0/24",
        )
        .at(place)
    };
    let _ = d;
    Prefix::read(text).map(|(p, _)| p).map_err(bad)
}

/// `show ip route json`: prefix -> routes, of which one is selected.
pub(super) fn frr(d: &Document) -> Result<Table, Problem> {
    let mut routes = Vec::new();
    for (key, list) in d.object(&d.root, "show ip route json")? {
        let place = d.source.place(key.span.clone());
        if matches!(list.item, Item::Object(_)) && !key.name.contains('/') {
            let hint =
                "this is the output for 'vrf all'; give 'show ip route vrf NAME json' of one VRF";
            return Err(d.problem(
                list,
                format!("'{}' is not a prefix", suggest::clip(&key.name)),
                hint,
            ));
        }
        let prefix = prefix(d, place.clone(), &key.name)?;
        let list = d.list(list, &key.name)?;
        let Some(route) = list.iter().find(|r| r.get("selected").is_some_and(Tree::is_true)) else {
            // Known, and not installed: as good as absent, and reported where it is missed.
            continue;
        };
        if let Some(length) = route.get("prefixLen")
            && d.count(length, "prefixLen", 128)? != u64::from(prefix.length)
        {
            return Err(d.problem(
                length,
                format!("prefixLen of '{}' differs from the prefix", key.name),
                "expected the length in the key",
            ));
        }
        let Some(nexthops) = route.get("nexthops") else {
            return Err(unexpected(d, route, format!("the route to {prefix} has no nexthops")));
        };
        let mut hops = Vec::new();
        for hop in d.list(nexthops, "nexthops")? {
            d.object(hop, "nexthop")?;
            let is = |flag: &str| hop.get(flag).is_some_and(Tree::is_true);
            // The resolved hops of a recursive one follow it.
            if is("recursive")
                || is("duplicate")
                || is("unreachable")
                || is("blackhole")
                || is("reject")
                || !is("fib")
            {
                continue;
            }
            if let Some(interface) = hop.get("interfaceName") {
                hops.push((d.text(interface, "interfaceName")?.to_owned(), d.place(interface)));
            }
        }
        let connected = route.get("protocol").and_then(Tree::as_text) == Some("connected");
        routes.push(Route { prefix, hops, connected, place });
    }
    Ok(Table { routes, is_frr: true, place: d.source.place(0..0) })
}

/// `ip -j route`: a list of routes.
pub(super) fn linux(d: &Document) -> Result<Table, Problem> {
    let mut routes: Vec<Route> = Vec::new();
    for route in d.list(&d.root, "ip -j route")? {
        let dst = d.need(route, "dst", "route")?;
        let text = match d.text(dst, "dst")? {
            "default" => "0.0.0.0/0",
            other => other,
        };
        let prefix = prefix(d, d.place(dst), text)?;
        let kind = route.get("type").and_then(Tree::as_text).unwrap_or("unicast");
        let mut hops = Vec::new();
        let several = route.get("nexthops").map(|n| d.list(n, "nexthops")).transpose()?;
        let down = |hop: &Tree| matches!(hop.get("flags").map(|f| &f.item), Some(Item::List(flags)) if flags.iter().any(|f| matches!(f.as_text(), Some("linkdown" | "dead"))));
        for hop in several.unwrap_or(std::slice::from_ref(route)) {
            if let Some(device) = hop.get("dev").filter(|_| kind == "unicast" && !down(hop)) {
                hops.push((d.text(device, "dev")?.to_owned(), d.place(device)));
            }
        }
        let connected = route.get("scope").and_then(Tree::as_text) == Some("link");
        let place = d.place(dst);
        // Of several routes to one prefix the kernel takes that of the lowest metric, and prints it
        // first.
        if !routes.iter().any(|r| r.prefix == prefix) {
            routes.push(Route { prefix, hops, connected, place });
        }
    }
    Ok(Table { routes, is_frr: false, place: d.source.place(0..0) })
}
