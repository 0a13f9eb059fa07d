//! A network as a commented scenario that `xoff check` and `xoff run` take.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::{Problem, Problems};
use xoff_net::topology::NodeKind;
use xoff_units::{Bytes, Length, Rate, Span};

use crate::import::network::{Start, Threshold};
use crate::import::{End, Link, Network, Wire};

mod pools;

/// Largest number of links in the scenario itself; more go to a table next to it.
const LINKS_MAX: usize = 2_000;
/// Flows that are written; more would not fit into a document.
const FLOWS_MAX: usize = 100_000;

/// A scenario, and the table of links that it names where there are many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The scenario.
    pub scenario: String,
    /// The table, for the file that the scenario names.
    pub links: Option<String>,
}

/// Writes a scenario. `origin` says where it comes from, `links_file` is the name of the table of
/// links, if one is needed.
///
/// # Errors
/// Links without a rate or without a length: the file does not say them, and they are not guessed.
pub fn scenario(network: &Network, origin: &str, links_file: &str) -> Result<Written, Problems> {
    complete(network)?;
    let mut out = String::new();
    for line in origin.lines() {
        let _ = writeln!(out, "# {line}");
    }
    if !network.left_out.is_empty() {
        let _ = writeln!(out, "#\n# Not taken over:");
        network.left_out.iter().for_each(|what| out.push_str(&format!("#   {what}\n")));
    }
    let title = if network.title.is_empty() { "Imported network" } else { &network.title };
    let _ = writeln!(out, "\n[run]\ntitle = {}\nduration = \"1ms\"\n", quote(title));
    let links = topology(network, &mut out, links_file);
    let lossless = switch(network, &mut out);
    watchdog(network, &mut out);
    flows(network, &lossless, &mut out)?;
    Ok(Written { scenario: out, links })
}

/// Rejects links that lack values that a run needs.
fn complete(network: &Network) -> Result<(), Problems> {
    let mut problems = Problems::default();
    let mut lack = |what: &str, hint: &str, lacks: &dyn Fn(&Link) -> bool| {
        let missing: Vec<&Link> = network.links.iter().filter(|l| lacks(l)).collect();
        if let Some(first) = missing.first() {
            let name = |end: &End| &network.nodes[end.node].name;
            let more = if missing.len() > 1 {
                format!(" and {} more", missing.len() - 1)
            } else {
                String::new()
            };
            let what =
                format!("the link {}-{}{more} has no {what}", name(&first.a), name(&first.b));
            problems.push(Problem::new(what, hint).at(first.place.clone()));
        }
    };
    lack("rate", "set a rate for all links without one: --rate 100Gbps", &|l| l.rate.is_none());
    lack(
        "length or delay",
        "set a length or delay for all links without one: --length 5m, or --delay 100ns",
        &|l| l.wire.is_none(),
    );
    problems.or(())
}

/// `[topology]`; returns the table of links, if one is needed.
fn topology(network: &Network, out: &mut String, links_file: &str) -> Option<String> {
    let count = |kind| network.nodes.iter().filter(|n| n.kind == kind).count();
    let (hosts, switches) = (count(NodeKind::Host), count(NodeKind::Switch));
    let _ = writeln!(out, "# {hosts} hosts, {switches} switches, {} links.", network.links.len());
    let _ = writeln!(out, "[topology]\nkind = \"custom\"");
    // Levels have a place in the long form alone.
    let levels = network.nodes.iter().any(|n| n.level.is_some());
    if !levels {
        let of =
            |kind| network.nodes.iter().filter(move |n| n.kind == kind).map(|n| n.name.as_str());
        list(out, "hosts", of(NodeKind::Host));
        list(out, "switches", of(NodeKind::Switch));
    }
    let table = table_of_links(network, out, links_file);
    if levels {
        nodes(network, out);
    }
    table
}

fn nodes(network: &Network, out: &mut String) {
    for n in &network.nodes {
        let kind = if n.kind == NodeKind::Host { "host" } else { "switch" };
        let _ = write!(out, "\n[[topology.node]]\nname = {}\nkind = \"{kind}\"\n", quote(&n.name));
        if let Some(level) = n.level.filter(|_| n.kind == NodeKind::Switch) {
            let _ = writeln!(out, "level = {level}");
        }
    }
    out.push('\n');
}

fn list<'n>(out: &mut String, key: &str, names: impl Iterator<Item = &'n str>) {
    let mut line = format!("{key} = [");
    let mut is_first = true;
    for name in names {
        let item = quote(name);
        if line.len() + item.len() > 118 {
            let _ = writeln!(out, "{}", line.trim_end());
            line = "  ".into();
        } else if !is_first {
            line.push(' ');
        }
        line += &item;
        line.push(',');
        is_first = false;
    }
    let _ = writeln!(out, "{}]", line.trim_end_matches([',', ' ']));
}

/// Links in the scenario, or in a table next to it.
fn table_of_links(network: &Network, out: &mut String, links_file: &str) -> Option<String> {
    let end = |e: &End| match &e.port {
        Some(port) => format!("{}:{port}", network.nodes[e.node].name),
        None => network.nodes[e.node].name.clone(),
    };
    // A name with a colon, or a port with a comma, would be taken apart.
    let plain = |e: &End| {
        !network.nodes[e.node].name.contains(':')
            && e.port.as_deref().is_none_or(|p| !p.contains(':'))
    };
    if network.links.len() <= LINKS_MAX && network.links.iter().all(|l| plain(&l.a) && plain(&l.b))
    {
        out.push_str("# Two ends with their ports, rate, length of the cable (5 ns a metre) or delay.\nlinks = [\n");
        for l in &network.links {
            let _ = writeln!(
                out,
                "  {},",
                quote(&format!("{} {} {} {}", end(&l.a), end(&l.b), rate(l), wire(l)))
            );
        }
        out.push_str("]\n\n");
        return None;
    }
    let _ = writeln!(out, "links_file = {}\n", quote(links_file));
    let mut table = String::from("a,a_port,b,b_port,rate,length,delay\n");
    for l in &network.links {
        let (name, port) = (
            |e: &End| csv(&network.nodes[e.node].name),
            |e: &End| csv(e.port.as_deref().unwrap_or_default()),
        );
        let (length, delay) = match l.wire {
            Some(Wire::Length(_)) => (wire(l), String::new()),
            _ => (String::new(), wire(l)),
        };
        let _ = writeln!(
            table,
            "{},{},{},{},{},{length},{delay}",
            name(&l.a),
            port(&l.a),
            name(&l.b),
            port(&l.b),
            rate(l)
        );
    }
    Some(table)
}

fn csv(text: &str) -> String {
    if text.contains([',', '"', '#']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// `[switch]` and `[flow_control]`, from settings by port where there are any. Returns the
/// priorities that are lossless next to lossy ones.
fn switch(network: &Network, out: &mut String) -> BTreeSet<u8> {
    let b = &network.buffering;
    let profiles: BTreeSet<_> = b.ports.values().flat_map(|p| p.profiles.values()).collect();
    if profiles.is_empty() {
        let kind = if network.has_credits { "cbfc" } else { "pfc" };
        let _ = write!(out, "[flow_control]\nkind = \"{kind}\"\n\n");
        return BTreeSet::new();
    }
    let why = match pools::Pools::of(network) {
        Ok(pools) => {
            pools.write(out);
            return pools.lossless;
        }
        Err(why) => why,
    };
    out.push_str(
        "# Settings of lossless priority groups, by port:\n#\n#   switch port              PFC   profile, size, headroom \
                  (SONiC: xoff), xon, threshold\n",
    );
    for ((node, port), set) in &b.ports {
        let pfc: Vec<String> = set.pfc.iter().map(u8::to_string).collect();
        let mut of: Vec<&crate::import::Profile> = set.profiles.values().collect();
        of.dedup();
        for p in of {
            let name = format!("{} {port}", network.nodes[*node].name);
            let offset =
                p.xon_offset.map(|o| format!(", xon_offset {}", bytes(o))).unwrap_or_default();
            let threshold = match p.threshold {
                Threshold::Dynamic(n) => format!("2^{n} of the free pool"),
                Threshold::Static(b) => format!("{} of the pool", bytes(b)),
            };
            let sizes = format!(
                "{}, {}, {}{offset}, {threshold}",
                bytes(p.size),
                bytes(p.headroom),
                bytes(p.xon)
            );
            let _ = writeln!(out, "#   {name:<24} {:<5} {}, {sizes}", pfc.join(","), p.name);
        }
    }
    let groups = b.ports.values().map(|p| p.profiles.len() as u64).max().unwrap_or(1);
    let _ = writeln!(
        out,
        "#\n# xoff leaves out the pools, because {why}. One [switch] describes all switches:"
    );
    memory(network, &profiles, groups, out);
    BTreeSet::new()
}

fn memory(
    network: &Network,
    profiles: &BTreeSet<&crate::import::Profile>,
    groups: u64,
    out: &mut String,
) {
    let pools: BTreeSet<_> = network.buffering.pools.values().map(|p| p.size).collect();
    let size = pools.first().copied();
    let mut lines = vec!["memory = \"shared\"".to_owned()];
    if let Some(size) = size {
        let note = if pools.len() > 1 { "          # the smallest pool; they differ" } else { "" };
        lines.push(format!("shared_buffer = \"{}\"{note}", bytes(size)));
    }
    let one = |of: &dyn Fn(&crate::import::Profile) -> u64| {
        let all: BTreeSet<u64> = profiles.iter().map(|p| of(p)).collect();
        (all.len() == 1).then(|| all.first().copied().unwrap_or(0))
    };
    match one(&|p| p.size.0) {
        Some(size) => lines.push(format!(
            "reserve = \"{}\"          # of {groups} groups; SONiC counts it by group",
            bytes(Bytes(size * groups))
        )),
        None => lines.push("# reserve: the profiles differ; default of xoff".into()),
    }
    let shared = network.buffering.pools.values().any(|p| p.shared_headroom.0 > 0);
    match one(&|p| p.headroom.0) {
        _ if shared => lines.push("# headroom: the switches share it among all groups (pool xoff); here each port has its own".into()),
        Some(room) => {
            lines.push(format!("headroom = \"{}\"          # of {groups} groups; SONiC calls it xoff", bytes(Bytes(room * groups))))
        }
        None => lines.push("# headroom: the profiles differ; xoff computes the headroom of each port from its rate and delay".into()),
    }
    let dynamic = |p: &crate::import::Profile| match p.threshold {
        Threshold::Dynamic(n) => i64::from(n),
        Threshold::Static(_) => i64::MIN,
    };
    let mut flow_control = vec!["kind = \"pfc\"".to_owned()];
    let threshold = one(&|p| dynamic(p) as u64).map(|n| n as i64);
    match threshold {
        Some(i64::MIN) | None => {
            flow_control.push("# threshold: static, or the profiles differ; default of xoff".into())
        }
        Some(n) => {
            flow_control.push("threshold = \"dynamic\"".into());
            if let Some(offset) =
                one(&|p| p.xon_offset.map_or(u64::MAX, |o| o.0)).filter(|o| *o != u64::MAX)
            {
                flow_control.push(format!("xon_offset = \"{}\"", bytes(Bytes(offset))));
            }
            match n {
                ..=0 => lines.push(format!("alpha_shift = {}          # dynamic_th {n}: a group may use the free pool times 2^{n}", -n)),
                n => lines.push(format!("alpha_shift = 0          # dynamic_th {n} would be the free pool times 2^{n}, which xoff cannot")),
            }
        }
    }
    let _ = writeln!(
        out,
        "[switch]\n{}\n\n[flow_control]\n{}\n",
        lines.join("\n"),
        flow_control.join("\n")
    );
}

/// `[watchdog]`, off: its times are those of the switches, and a run of a millisecond is shorter.
fn watchdog(network: &Network, out: &mut String) {
    let Some(w) = &network.watchdog else { return };
    out.push_str("# PFC_WD. It is off: its times are longer than this run. kind = \"duration\" (or \"status\") turns it on; times in the same proportions\n");
    out.push_str("# show the same within less time, and [[pause_storm]] breaks a host.\n");
    let _ = write!(out, "[watchdog]\nkind = \"none\"\n\n");
    for kind in ["duration", "status"] {
        let [detect, restore, poll] = [w.detect, w.restore, w.poll].map(span);
        let _ = write!(
            out,
            "[watchdog.{kind}]\ndetect = \"{detect}\"\nrestore = \"{restore}\"\npoll = \"{poll}\"\naction = \"{}\"\n\n",
            w.action
        );
    }
}

/// `[[flow]]`, or a hint about it.
fn flows(network: &Network, lossless: &BTreeSet<u8>, out: &mut String) -> Result<(), Problems> {
    if network.flows.len() > FLOWS_MAX {
        let what =
            format!("{} flows are more than a scenario may have, {FLOWS_MAX}", network.flows.len());
        return Err(Problem::new(what, "split the matrix").into());
    }
    for f in &network.flows {
        let Start::At(start) = f.start;
        let (src, dst) = (quote(&network.nodes[f.src].name), quote(&network.nodes[f.dst].name));
        let _ = writeln!(
            out,
            "[[flow]]\nsrc = {src}\ndst = {dst}\nsize = \"{}\"\nstart = \"{}\"\n",
            bytes(f.size),
            span(start)
        );
    }
    let hosts: Vec<&str> = network
        .nodes
        .iter()
        .filter(|n| n.kind == NodeKind::Host)
        .map(|n| n.name.as_str())
        .collect();
    if let (true, [first, .., last]) = (network.flows.is_empty(), hosts.as_slice()) {
        let flow =
            format!("[[flow]]\nsrc = {}\ndst = {}\nsize = \"1MB\"\n", quote(first), quote(last));
        let lossy = (0..8u8).find(|p| !lossless.contains(p));
        match lossless.first().zip(lossy) {
            None => {
                out.push_str(
                    "# The files have no traffic. Replace this example flow by your own.\n",
                );
                out.push_str(&flow);
            }
            Some((lossless, lossy)) => {
                out.push_str("# The files have no traffic. Replace these two flows, one lossless and one lossy, by your own.\n");
                let _ = write!(out, "{flow}priority = {lossless}\n\n{flow}priority = {lossy}\n");
            }
        }
    }
    Ok(())
}

/// A TOML text.
fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", c as u32)),
            c => out.push(c),
        }
    }
    out + "\""
}

/// A value in the largest unit that keeps it exact.
fn exact(value: u64, units: &[(u64, &str)]) -> String {
    let (size, name) = units
        .iter()
        .find(|(size, _)| value != 0 && value.is_multiple_of(*size))
        .unwrap_or(&units[units.len() - 1]);
    format!("{}{name}", value / size)
}

fn rate(l: &Link) -> String {
    let Rate(bps) = l.rate.unwrap_or(Rate::ZERO);
    exact(bps, &[(1_000_000_000, "Gbps"), (1_000_000, "Mbps"), (1_000, "kbps"), (1, "bps")])
}

fn wire(l: &Link) -> String {
    match l.wire {
        Some(Wire::Length(Length(mm))) => exact(mm, &[(1_000, "m"), (1, "mm")]),
        Some(Wire::Delay(delay)) => span(delay),
        None => span(Span::ZERO),
    }
}

fn span(Span(ps): Span) -> String {
    exact(ps, &[(1_000_000_000, "ms"), (1_000_000, "us"), (1_000, "ns"), (1, "ps")])
}

fn bytes(Bytes(n): Bytes) -> String {
    exact(n, &[(1_000_000, "MB"), (1_000, "KB"), (1, "B")])
}
