//! `[load_balancing]`: choice of switches among several next hops.

use xoff_mech::balancing::{Balancing, REGISTRY};
use xoff_net::topology::routing::{Choice, EcmpHash};
use xoff_scenario::document::{KindSpec, SectionSpec};
use xoff_sim::Model;
use xoff_units::params::ParamError;

use super::{Context, Part, Read, Sections};

pub type Value = Balancing;

impl Part for Balancing {
    fn specs() -> Vec<SectionSpec> {
        let kinds = REGISTRY.iter().map(|e| KindSpec {
            name: e.name,
            doc: e.about,
            specs: e.params.to_vec(),
        });
        let about = "Choice of switches among the equal next hops of a frame of data.";
        vec![SectionSpec::once("load_balancing", about, vec![]).kinds(
            "kind",
            Some("ecmp"),
            kinds.collect(),
        )]
    }

    fn read<'d>(cx: &Context<'d>, _: &Sections<'d>) -> Read<'d, Self> {
        Read::each(cx, |s| {
            let kind = s.kind().unwrap_or("ecmp");
            let entry = REGISTRY.iter().find(|e| e.name == kind).expect("a kind of the registry");
            (entry.read)(s)
        })
    }

    fn agree(cx: &Context<'_>, all: &mut Sections<'_>) {
        all.load_balancing.check(|s, law| {
            let leaves = if law.adds_headers() { cx.topology.leaves().err() } else { None };
            leaves.map_or(Ok(()), |what| {
                let kind = s.kind().unwrap_or_default();
                let hint = format!(
                    "{kind} needs two tiers, leaves with hosts and spines between them: set topology.kind = \"leaf-spine\", or another load_balancing.kind"
                );
                Err(ParamError::new("kind", what, hint))
            })
        });
        let hosts_choose = all.host.value().is_some_and(|h| h.nic.entropy.is_some());
        all.load_balancing.check(|_, law| match law {
            Balancing::Ecmp | Balancing::Wcmp(_) => Ok(()),
            _ if hosts_choose => Err(ParamError::new(
                "kind",
                "hosts choose the path of each frame by host.entropy, which these switches do not read",
                "remove [load_balancing], set its kind to \"ecmp\" or \"wcmp\", or remove host.entropy",
            )),
            _ => Ok(()),
        });
        let Some(routing) = all.routing.value() else { return };
        let short = matches!(routing.choice, Choice::Hashed(EcmpHash::Ns3Rdma { .. }));
        all.load_balancing.check(|_, law| match law {
            Balancing::Wcmp(_) if short => Err(ParamError::new(
                "kind",
                "the hash of ns3-rdma has 32 bits, and weights are bits per second",
                "set routing.kind = \"ecmp-polarised\", or remove [load_balancing]",
            )),
            _ => Ok(()),
        });
        let one_path = !matches!(routing.choice, Choice::Hashed(_));
        all.load_balancing.check(|_, law| {
            if one_path && (hosts_choose || !law.is_ecmp()) {
                return Err(ParamError::new(
                    "kind",
                    "routing.kind gives each destination one path, and the switches balance over several",
                    "set routing.kind = \"ecmp\" or \"up-down\", or remove [load_balancing]",
                ));
            }
            Ok(())
        });
    }

    fn set(self, model: &mut Model<'static>) {
        model.balancing = self;
    }
}
