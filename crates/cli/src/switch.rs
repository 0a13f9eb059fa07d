//! `xoff switch`: a switch of a scenario on real interfaces.

use xoff_net::topology::NodeKind;
use xoff_real::testbed::nodes;
use xoff_real::testbed::wiring::Real;
use xoff_scenario::Problems;

use crate::answer::{Answer, refused};
use crate::live::{Node, Options, node_problem};

/// Run one switch of a scenario on real interfaces.
///
/// Buffers, flow control, detection, scheduler and port rates are those of the scenario. Frames of
/// `xoff host` take the paths of the scenario; other frames go to the host with their address. xoff
/// uses only the given interfaces, and drops all privileges once they are open.
#[derive(clap::Args)]
#[command(
    after_long_help = "Examples:\n  xoff switch scenarios/testbed/incast.toml --node S1 \\\n    --port H0=eth1 --port H1=eth2 --port H2=eth3 --port H3=eth4\n  xoff switch scenarios/testbed/ring-pfc.toml --node S1 \\\n    --port H1=eth1 --port S2=eth2 --port S3=eth3 \\\n    --learn --watchdog 200ms,300ms,drop --metrics 127.0.0.1:9464"
)]
pub struct Args {
    #[command(flatten)]
    options: Options,
    /// Run this switch of the scenario
    #[arg(long, value_name = "SWITCH")]
    node: String,
    /// Use this interface for the port to a neighbour; every port of the switch needs one
    #[arg(long, value_name = "PEER=INTERFACE", required = true)]
    port: Vec<String>,
    /// Act as a learning bridge: forward to the port where the address was seen, flood unknown
    /// addresses; not for networks with a cycle
    #[arg(long)]
    learn: bool,
    /// Use this address for a host of the scenario; may be repeated
    #[arg(long, value_name = "HOST=ADDRESS")]
    mac: Vec<String>,
}

/// Runs it.
pub fn run(args: &Args) -> Result<Answer, Problems> {
    let s = args.options.load()?;
    let node = nodes::find(&s, &args.node, NodeKind::Switch).map_err(|e| refused(&e))?;
    let given = nodes::assign(&s, node, &args.port).map_err(|e| refused(&e))?;
    let macs = args
        .mac
        .iter()
        .map(|m| nodes::host_mac(&s, m))
        .collect::<Result<_, _>>()
        .map_err(|e| refused(&e))?;
    let real = Real { learns: args.learn, macs, ..Real::default() };
    let ports = nodes::open(&s, &given, args.options.fix_offloads).map_err(node_problem)?;
    let interfaces = given.iter().map(|g| g.interface.clone()).collect();
    let links = given.into_iter().map(|g| g.link).collect();
    let node = Node {
        command: "switch",
        name: args.node.clone(),
        here: nodes::only(&s, node),
        links,
        interfaces,
        ports,
    };
    args.options.run(&s, node, real)
}
