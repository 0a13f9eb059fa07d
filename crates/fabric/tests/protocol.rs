//! The request-grant system of Chrysos et al. in motion: delays of section 4, nothing lost, order, admission.

use std::ops::ControlFlow;

use xoff_fabric::{Config, Pattern, Report, Sizes, Traffic, World};
use xoff_units::{Bytes, Time};

fn run(config: Config) -> Report {
    World::new(config).map_err(|p| format!("{p:?}")).unwrap().run(|_, _| ControlFlow::Continue(()))
}

fn uniform(load: f64, size: u64) -> Config {
    Config::paper(Traffic { pattern: Pattern::Uniform, load, sizes: Sizes::Fixed(Bytes(size)), burst_packets: 1.0 })
}

#[test]
fn first_look() {
    for (load, size) in [(0.001, 40), (0.001, 256), (0.001, 9000), (0.5, 40), (0.8, 40), (0.95, 40), (1.0, 40), (0.9, 9000), (1.0, 9000)] {
        let mut c = uniform(load, size);
        if load < 0.01 {
            c.until = Time(c.until.0 * 10);
        }
        let t = c.t_min().0 as f64;
        let line = c.line;
        let now = std::time::Instant::now();
        let r = run(c);
        println!(
            "load {load} size {size}: delay min {:.1} mean {:.1} max {:.1} thr {:.3} ctl {} seg {} unsol {} hops {} events {} qmax {:?} reass {} in {} out {} ooo {} {:?} {:?}",
            r.cold.min() as f64 / t,
            r.cold.mean() / t,
            r.cold.max() as f64 / t,
            r.throughput(0..64, line),
            r.control,
            r.segments,
            r.unsolicited,
            r.hops,
            r.events,
            r.queue_max,
            r.reassembly_max,
            r.packets_in,
            r.packets_out,
            r.out_of_order,
            r.stuck,
            now.elapsed()
        );
    }
}
