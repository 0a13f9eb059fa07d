//! A small network, and a generator run on it.

use xoff_net::topology::{NodeKind, Topology};
use xoff_net::workload::{Context, Flow, Generated, SizeCdf, generators};
use xoff_units::params::{Defaults, ParamError};
use xoff_units::{NodeId, Rate, Span};

/// `racks` edge switches with `per_rack` hosts each (H0, H1, ...) below one spine S.
pub fn network(racks: u32, per_rack: u32) -> Topology {
    let mut t = Topology::default();
    let (rate, delay) = (Rate::from_gbps(10), Span::from_us(1));
    for i in 0..racks * per_rack {
        t.add_node(format!("H{i}"), NodeKind::Host, 0, i / per_rack);
    }
    let spine = t.add_node("S", NodeKind::Switch, 2, racks);
    for r in 0..racks {
        let edge = t.add_node(format!("E{r}"), NodeKind::Switch, 1, r);
        (0..per_rack).for_each(|i| {
            t.add_link(NodeId(r * per_rack + i), edge, rate, delay);
        });
        t.add_link(edge, spine, rate, delay);
    }
    t
}

fn web_search(name: &str) -> Result<SizeCdf, ParamError> {
    if name != "websearch" {
        return Err(ParamError::new("cdf", format!("unknown distribution '{name}'"), ""));
    }
    let kb = [
        (0, 0),
        (10, 15),
        (20, 20),
        (30, 30),
        (50, 40),
        (80, 53),
        (200, 60),
        (1000, 70),
        (2000, 80),
        (5000, 90),
        (10_000, 97),
        (30_000, 100),
    ];
    Ok(SizeCdf::new(kb.map(|(s, p)| (s * 1000, p as f64)).to_vec()).unwrap())
}

pub fn run(
    kind: &str,
    topo: &Topology,
    seed: u64,
    label: u32,
    given: &[(&str, &str)],
) -> Result<Generated, ParamError> {
    let g = generators::find(kind)?;
    let mut v = given.iter().fold(Defaults::of(g.params), |v, (key, value)| v.with(key, value));
    (g.generate)(&mut v, &Context { topo, seed, label, cdfs: &web_search })
}

pub fn flows(kind: &str, topo: &Topology, given: &[(&str, &str)]) -> Vec<Flow> {
    run(kind, topo, 1, 0, given).unwrap().flows
}

#[track_caller]
pub fn refused(kind: &str, topo: &Topology, given: &[(&str, &str)], key: &str, text: &str) {
    let e = run(kind, topo, 1, 0, given).unwrap_err();
    assert!(e.key == key && e.to_string().contains(text), "{e}");
}
