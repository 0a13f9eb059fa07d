//! Random fabrics under random traffic: nothing is lost, nothing is made, no buffer holds more than
//! its size, everything continues, and the same seed gives the same run.

use std::ops::ControlFlow;

use xoff_mech::scheduled::request_grant::{Admission, Service};
use xoff_sim::scheduled::{
    Arbitration, Blocked, Config, Control, ControlPath, Core, Pattern, Report, Shape, Sizes, Spray,
    Traffic, World,
};
use xoff_units::{Bytes, Rate, Span, Time};

/// Numbers for one case: a generator of its own (PCG's multiplier), so that a case is known by its
/// number.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
    fn draw(&mut self) -> bool {
        self.below(2) == 0
    }
}

fn core(d: &mut Dice) -> Core {
    let shape = d.pick(&[
        Shape::benes(4, 3),
        Shape::benes(2, 5),
        Shape::benes(2, 7),
        Shape::benes(3, 5),
        Shape::benes(8, 1),
    ]);
    let wide = Shape { below: 3, above: 4, middle: 4, levels: 1, folded: false };
    match d.below(8) {
        0 => Core::Spine { edge_ports: 4, edges: 4, spines: 4 },
        1 => Core::Ideal { ports: 8 },
        2 => Core::Network(wide),
        3 | 4 => Core::Network(Shape { folded: true, ..shape }),
        _ => Core::Network(shape),
    }
}

fn case(number: u64) -> Config {
    let mut d = Dice(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    (0..4).for_each(|_| {
        d.below(2);
    });
    let core = core(&mut d);
    let base = Config::paper(Traffic {
        pattern: Pattern::Uniform,
        load: 0.0,
        sizes: Sizes::Fixed(Bytes(40)),
        burst_packets: 1.0,
    });
    let mut c = Config { core, ..base };
    let (n, t) = (c.ports(), c.t_min().0);
    let hot: Vec<u32> = (0..1 + d.below(2) as u32).collect();
    let factor = 1.0 + d.below(3) as f64;
    let beside = d.draw();
    c.traffic.pattern = match d.below(5) {
        0 => Pattern::Unbalanced { w: d.below(5) as f64 / 4.0, shift: d.below(3) as u32 },
        1 => Pattern::Incast { inputs: (0..n / 2).collect(), output: n - 1 },
        2 if beside => Pattern::HotspotsBeside { outputs: hot.clone(), factor },
        2 | 3 => Pattern::Hotspots { outputs: hot.clone(), factor },
        _ => Pattern::Uniform,
    };
    c.traffic.load = 0.1 + d.below(8) as f64 / 10.0;
    while (0..n).any(|i| c.traffic.input_load(n, i) > 1.0) {
        c.traffic.load -= 0.05;
    }
    let size = d.pick(&[1, 40, 64, 300, 1_500, 9_000]);
    c.traffic.sizes = d.pick(&[
        Sizes::Fixed(Bytes(size)),
        Sizes::Fixed(Bytes(size)),
        Sizes::Bimodal { small: Bytes(40), large: Bytes(9_000), small_share: 0.9 },
        Sizes::Bimodal { small: Bytes(255), large: Bytes(257), small_share: 0.5 },
    ]);
    c.traffic.burst_packets = d.pick(&[1.0, 1.0, 5.0, 36.0]);
    c.fabric = Rate(c.line.0 / 10 * d.pick(&[10, 11, 12, 14]));
    c.element.arbitration =
        d.pick(&[Arbitration::RoundRobin, Arbitration::OldestFirst, Arbitration::Islip]);
    c.element.holds = d.draw();
    c.element.speedup = d.pick(&[1, 2, 2, 3]);
    c.element.input = Bytes(d.pick(&[256, 600, 8 << 10]));
    c.element.output = Bytes(d.pick(&[20_000, 60 << 10]));
    c.requests_max = d.pick(&[36, 50, 128]);
    c.output_slots = d.pick(&[128, 200, 2_048]);
    let reserve = Admission::ReserveFabricBuffers { slots: (c.element.output.0 / 256) as u32 };
    c.admission = if d.draw() && c.element.output.0 / 256 >= u64::from(c.requests_max) {
        reserve
    } else {
        Admission::ImplicitRate
    };
    c.grant_rate = Rate(c.line.0 * d.pick(&[1, 10]));
    c.control = if d.draw() {
        c.control
    } else {
        Control::OutOfBand { delay: Span(d.pick(&[1_000, 88_000])) }
    };
    c.unsolicited = d.draw();
    c.spray = d.pick(&[Spray::RoundRobin, Spray::Random, Spray::PerFlow]);
    c.service = d.pick(&[Service::RoundRobin, Service::BySegments]);
    c.fair = d.draw();
    if d.below(4) == 0 {
        c.port_delays = (0..n).map(|_| Span(d.below(50_000))).collect();
    }
    c.seed = number;
    let until = if size == 1 { 1_500 } else { 6_000 };
    if d.below(4) == 0 && !matches!(c.core, Core::Spine { .. }) {
        c.blocked =
            Some(Blocked { outputs: hot, from: Time(until / 4 * t), until: Time(until / 2 * t) });
    }
    (c.warm_up, c.until, c.window) = (Time::ZERO, Time(until * t), Span(until / 10 * t));
    c.control_within_adapter = d.draw();
    c
}

fn run(c: &Config) -> Report {
    on_threads(c, 1)
}

fn on_threads(c: &Config, threads: usize) -> Report {
    let world = World::on_threads(c.clone(), threads).unwrap_or_else(|p| panic!("{p:?}"));
    assert_eq!(world.threads(), threads);
    world.run(&mut |_, _| ControlFlow::Continue(()))
}

/// What must hold whatever the settings.
fn check(number: u64, c: &Config, r: &Report) {
    let shown = format!("case {number}: {c:?}\n{:?}", r.balance);
    assert!(r.balance.holds(), "{shown}");
    assert!(r.stuck.is_none(), "{shown} {:?}", r.stuck);
    assert!(r.packets_out <= r.packets_in, "{shown}");
    assert!(
        r.queue_max.iter().all(|&q| u64::from(q) <= c.element.output.0),
        "{shown} {:?}",
        r.queue_max
    );
    // Granted segments fit the reassembly buffer; unsolicited ones have one place per input next to
    // it.
    let beside = if c.unsolicited { u64::from(c.ports()) } else { 0 };
    assert!(
        r.reassembly_max <= (u64::from(c.output_slots) + beside) * c.segment_max.0,
        "{shown} {}",
        r.reassembly_max
    );
    if let (Admission::ReserveFabricBuffers { slots }, Control::OutOfBand { .. }, false) =
        (c.admission, c.control, c.unsolicited)
        && let Some(&last) = r.queue_max.last()
    {
        assert!(last <= slots * 256, "{shown}");
    }
    // Everything continues: something leaves towards the end, also after a blocking, if there is
    // something to leave.
    let quiet = r.windows.iter().rev().take(4).all(|w| w.cold_bytes + w.hot_bytes == 0);
    assert!(!quiet || r.balance.came == r.balance.left, "{shown}");
}

#[test]
fn nothing_is_lost_made_or_stopped() {
    let mut alive = 0;
    for number in 0..200 {
        let c = case(number);
        let r = run(&c);
        check(number, &c, &r);
        alive += u32::from(r.packets_out > 10);
    }
    assert!(alive > 160, "{alive} cases with something to see");
}

/// The same networks with a buffer at each crosspoint, paths in an order of each flow's own, and
/// control on paths of its own.
#[test]
fn nothing_is_lost_made_or_stopped_in_buffered_crossbars() {
    let mut alive = 0;
    for number in 0..200 {
        let mut c = case(number);
        if !matches!(c.core, Core::Network(_)) {
            continue;
        }
        let mut d = Dice(number);
        (0..4).for_each(|_| _ = d.below(2));
        // All that is reserved in an output queue fits the column of one input.
        c.element.crosspoint = Some(c.element.output);
        c.spray = d.pick(&[Spray::RoundRobin, Spray::Permuted, Spray::PerFlow]);
        c.control_path = d.pick(&[ControlPath::Shared, ControlPath::Own]);
        let r = run(&c);
        c.element.output = Bytes(c.element.output.0 * 16);
        check(number, &c, &r);
        alive += u32::from(r.packets_out > 10);
    }
    assert!(alive > 100, "{alive} cases with something to see");
}

/// The same networks with control in a lane of its own, on one thread and on three.
#[test]
fn nothing_is_lost_made_or_stopped_with_a_lane_for_control() {
    let mut alive = 0;
    for number in 0..200 {
        let mut c = case(number);
        c.control = Control::Lane { alone: Bytes(20) };
        let r = run(&c);
        check(number, &c, &r);
        alive += u32::from(r.packets_out > 10);
        if number % 4 == 0 {
            assert_eq!(on_threads(&c, 3), r, "case {number} on 3 threads: {c:?}");
        }
    }
    assert!(alive > 160, "{alive} cases with something to see");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let mut differ = 0;
    for number in 0..20 {
        let c = case(number);
        let once = run(&c);
        assert_eq!(run(&c), once, "case {number}");
        differ += u32::from(run(&Config { seed: number + 1_000, ..c }) != once);
    }
    assert!(differ >= 18, "{differ}: another seed gives another run");
}

/// Everything that a run reports, the number of events included.
#[test]
fn no_result_depends_on_the_threads() {
    for number in 0..120 {
        let mut c = case(number);
        let mut d = Dice(number + 7_000);
        (0..4).for_each(|_| _ = d.below(2));
        c.until = Time(c.until.0 / 3);
        if matches!(c.core, Core::Network(_)) && d.below(3) == 0 {
            c.element.crosspoint = Some(c.element.output);
            c.spray = Spray::Permuted;
            c.control_path = d.pick(&[ControlPath::Shared, ControlPath::Own]);
        }
        let one = run(&c);
        for threads in 2..=4 {
            assert_eq!(on_threads(&c, threads), one, "case {number} on {threads} threads: {c:?}");
        }
    }
}

/// A run that is saved and continues in another world reports the same, the number of events
/// included, on any number of threads.
#[test]
fn a_saved_state_continues_as_if_it_had_never_stopped() {
    let progress = &mut |_, _| ControlFlow::Continue(());
    for number in 0..60 {
        let mut c = case(number);
        c.until = Time(c.until.0 / 3);
        if matches!(c.core, Core::Network(_)) && number % 3 == 0 {
            c.element.crosspoint = Some(c.element.output);
            (c.spray, c.control_path) = (Spray::Permuted, ControlPath::Own);
        }
        let whole = run(&c);
        for threads in [1, 3] {
            let build = || World::on_threads(c.clone(), threads).unwrap();
            let mut world = build();
            for part in 1..4 {
                assert!(world.advance(Time(c.until.0 * part / 4), progress));
                let state = world.save().unwrap();
                world = build();
                world.restore(&state).unwrap();
                assert_eq!(world.save().unwrap(), state, "case {number}");
            }
            assert_eq!(world.run(progress), whole, "case {number} on {threads} threads: {c:?}");
        }
    }
    let c = case(1);
    let state = World::new(c.clone()).unwrap().save().unwrap();
    for cut in 0..state.len() {
        assert!(World::new(c.clone()).unwrap().restore(&state[..cut]).is_err(), "{cut}");
    }
}

/// From 256 ports on a thread has several parts.
#[test]
fn no_result_depends_on_the_parts() {
    for (number, stages) in [(3, 3), (8, 3), (11, 1)] {
        let mut c = case(number);
        let radix = if stages == 1 { 300 } else { 18 };
        c.core = Core::Network(Shape::benes(radix, stages));
        let sizes = Sizes::Fixed(Bytes(300));
        c.traffic = Traffic { pattern: Pattern::Uniform, load: 0.6, sizes, ..c.traffic };
        (c.blocked, c.port_delays) = (None, Vec::new());
        (c.until, c.window) = (Time(600 * c.t_min().0), Span(100 * c.t_min().0));
        let one = run(&c);
        assert!(one.packets_out > 1_000, "case {number}: {}", one.packets_out);
        for threads in [2, 3, 5] {
            assert_eq!(on_threads(&c, threads), one, "case {number} on {threads} threads: {c:?}");
        }
    }
}
