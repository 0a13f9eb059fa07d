//! `xoff host`: a host of a scenario on a real interface, or a shim in front of this machine's
//! stack.

use xoff_net::topology::NodeKind;
use xoff_real::testbed::{nodes, shims, wiring};
use xoff_scenario::Problems;

use crate::answer::{Answer, refused};
use crate::live::{Node, Options, node_problem};

/// Run one host of a scenario on a real interface.
///
/// Without --tap it generates and receives traffic: it sends the flows of the scenario that start
/// at the host, with numbered frames, and counts flows that end there. With --tap it is a shim: it
/// creates an interface of that name for this machine's own stack, queues and paces the frames of
/// the stack, and obeys the pauses, credits, rates and per-flow pauses of the network.
#[derive(clap::Args)]
#[command(
    after_long_help = "Examples:\n  xoff host scenarios/testbed/incast.toml --node H1 --port eth1 --for 10s\n  xoff host scenarios/testbed/incast.toml --node H1 --port eth1 \\\n    --tap xoff0 --address 10.0.0.1/24"
)]
pub struct Args {
    #[command(flatten)]
    options: Options,
    /// Run this host of the scenario
    #[arg(long, value_name = "HOST")]
    node: String,
    /// Use this interface to the switch; a host with several ports needs one for each, as
    /// PEER=INTERFACE
    #[arg(long, value_name = "[PEER=]INTERFACE", required = true)]
    port: Vec<String>,
    /// Create an interface of this name for the machine's own stack, behind a shim
    #[arg(long, value_name = "NAME")]
    tap: Option<String>,
    /// Give that interface this address, such as 10.0.0.1/24
    #[arg(long, value_name = "ADDRESS/PREFIX", requires = "tap")]
    address: Option<String>,
}

/// Runs it.
pub fn run(args: &Args) -> Result<Answer, Problems> {
    let mut s = args.options.load()?;
    let host = nodes::find(&s, &args.node, NodeKind::Host).map_err(|e| refused(&e))?;
    let given = nodes::assign(&s, host, &args.port).map_err(|e| refused(&e))?;
    let mut interfaces: Vec<String> = given.iter().map(|g| g.interface.clone()).collect();
    let Some(tap) = &args.tap else {
        args.options.refuse_watchdog()?;
        let ports = nodes::open(&s, &given, args.options.fix_offloads).map_err(node_problem)?;
        let node = Node {
            command: "host",
            name: args.node.clone(),
            here: nodes::only(&s, host),
            links: given.into_iter().map(|g| g.link).collect(),
            interfaces,
            ports,
        };
        return args.options.run(&s, node, wiring::Real::default());
    };
    if let Some(address) = &args.address {
        nodes::address(address).map_err(|e| refused(&e))?;
    }
    let (shims, _) =
        shims::insert(&mut s, std::slice::from_ref(&args.node)).map_err(|e| refused(&e))?;
    let here = nodes::only(&s, shims[0].node);
    let links = wiring::links(&s, &here, |node, port| shims::is_plain(&s, node, port));
    let stack = (tap.as_str(), args.address.as_deref());
    let ports =
        nodes::open_shim(&s, &given, stack, args.options.fix_offloads).map_err(node_problem)?;
    interfaces.push(tap.clone());
    let node = Node { command: "host", name: args.node.clone(), here, links, interfaces, ports };
    args.options.run(&s, node, wiring::Real::default())
}
