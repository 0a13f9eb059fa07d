//! How long a lone frame takes through an empty rack fabric, to the picosecond: from its last bit
//! at the input to its first bit on the line of the output.

use std::ops::ControlFlow;

use xoff_sim::scheduled::{Arrival, Config, Hosts, Pattern, World};
use xoff_units::{Bytes, Rate, Span, Time};

fn delay(c: Config, frame: u64) -> u64 {
    let mut c = Config { hosts: None, until: Time::from_us(50), ..c };
    let packets = vec![Arrival { at: Time::ZERO, input: 0, output: 9, size: Bytes(frame) }];
    c.traffic.pattern = Pattern::Listed { packets, hot: Vec::new() };
    let r = World::new(c).unwrap().run(&mut |_, _| ControlFlow::Continue(()));
    assert_eq!((r.packets_in, r.packets_out, r.cold.count()), (1, 1, 1));
    r.cold.mean() as u64
}

#[test]
fn a_lone_frame_falls_through_at_the_speed_of_requests_links_and_one_segment() {
    for (gbps, rack_ps, ideal_ps) in [(100, 794_720, 776_100), (10, 1_647_200, 1_461_000)] {
        let line = Rate::from_gbps(gbps);
        let hosts = || Hosts::unbiased_qcn(Vec::new(), None);
        let ns = |n| Span::from_ns(n).0;
        // Request and grant of 20 B over two links each; then the six segments side by side over
        // two links, each forwarded as soon as its head is there: one of 256 B counts, at a quarter
        // of the line; then the adapter.
        let link = Rate(line.0 / 4);
        let rack = 2 * (2 * ns(100) + link.time_for(Bytes(20)).0)
            + 2 * ns(100)
            + link.time_for(Bytes(256)).0
            + ns(100);
        // Request and grant next to the data; then the frame at 1.6 times the line.
        let ideal = 2 * ns(150) + ns(400) + Rate(line.0 * 8 / 5).time_for(Bytes(1522)).0;
        assert_eq!((rack, ideal), (rack_ps, ideal_ps), "{gbps} Gb/s, by hand");
        assert_eq!(delay(Config::unbiased_qcn_rack(2, line, hosts()), 1522), rack, "{gbps} Gb/s");
        assert_eq!(
            delay(Config::unbiased_qcn_ideal(10, line, hosts()), 1522),
            ideal,
            "{gbps} Gb/s"
        );
    }
}
