//! Workloads of a scheduled fabric: the traffic is as the file describes it.

use std::ops::ControlFlow;
use std::path::Path;

use xoff_run::FabricScenario;
use xoff_scenario::document::Override;
use xoff_sim::scheduled::{Arrival, Config, Control, Pattern, Report, Sizes, Stream, World};
use xoff_units::{Bytes, Span, Time};

fn read(text: &str, settings: &[&str], folder: &Path) -> Result<Config, String> {
    let text = format!(
        "[run]\nduration = \"10us\"\nseed = 7\n[scheduled_fabric]\nkind = \"clos\"\nradix = 2\n{text}"
    );
    let settings: Vec<Override> = settings.iter().map(|s| Override::set(s).unwrap()).collect();
    FabricScenario::from_text("traffic.toml", &text, &settings, folder)
        .map(|s| s.config)
        .map_err(|p| p.to_string())
}

fn pattern(text: &str) -> Pattern {
    read(text, &[], Path::new("")).unwrap().traffic.pattern
}

#[test]
fn streams_and_packets_are_those_of_their_sections() {
    let stream = |input, output| Stream { input, output, load: 0.25, size: Bytes(100) };
    let text = "[traffic]\nkind = \"streams\"\n[[stream]]\ninputs = [\"0-1\"]\noutput = 3\nload = 0.25\nsize = \"100B\"\n";
    assert_eq!(pattern(text), Pattern::Streams(vec![stream(0, 3), stream(1, 3)]));
    let twice =
        format!("{text}[[stream]]\ninputs = [\"1\"]\noutput = 2\nload = 0.25\nsize = \"100B\"\n");
    assert!(read(&twice, &[], Path::new("")).unwrap_err().contains("two [[stream]] have input 1"));
    let beyond = read(text, &["stream[0].output=4"], Path::new("")).unwrap_err();
    assert!(beyond.contains("port < ports: 4 >= 4"), "{beyond}");
    let unused = read(text, &["traffic=uniform"], Path::new("")).unwrap_err();
    assert!(unused.contains("[[stream]] without kind"), "{unused}");

    let text = "[traffic]\nkind = \"packets\"\n[[packet]]\nat = \"5ns\"\ninput = 1\noutput = 2\nsize = \"40B\"\n";
    let packets = vec![Arrival { at: Time(5_000), input: 1, output: 2, size: Bytes(40) }];
    assert_eq!(pattern(text), Pattern::Listed { packets, hot: vec![] });
}

#[test]
fn hotspots_may_come_in_addition_to_the_rest() {
    let text = "[traffic]\nkind = \"hotspots\"\noutputs = [\"3\"]\nload = 0.9\n";
    let (outputs, factor) = (vec![3], 2.5);
    assert_eq!(
        read(text, &["traffic.beside=true"], Path::new("")).unwrap().traffic.pattern,
        Pattern::HotspotsBeside { outputs, factor }
    );
    // Instead of the rest they do not fit: (2.5 + 3 x 0.9) / 4.
    assert!(read(text, &[], Path::new("")).unwrap_err().contains("load of an input <= 1: 1.300"));
}

/// Without `[traffic]` no packet is longer than a frame of the hosts, which one grant has to cover.
#[test]
fn hosts_may_send_short_frames() {
    let text = "[scheduled_fabric]\nkind = \"ideal\"\n[hosts]\nframe = \"200B\"\n[[host_flow]]\nsource = 0\ndestinations = [\"1\"]\n";
    let read = FabricScenario::from_text("hosts.toml", text, &[], Path::new(""))
        .map_err(|p| p.to_string())
        .unwrap();
    assert_eq!(
        (read.config.traffic.sizes, read.config.segment_max),
        (Sizes::Fixed(Bytes(200)), Bytes(200))
    );
}

/// Rates of 100 Gb/s: a packet of 1000 B takes 80 ns.
#[test]
fn a_network_gives_its_flows_in_packets() {
    let folder = std::env::temp_dir().join(format!("xoff-fabric-traffic-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let network = "[topology]\nkind = \"star\"\nhosts = 4\nrate = \"100Gbps\"\n[flow_control]\nkind = \"pfc\"\n\
        [[flow]]\nsrc = \"H2\"\ndst = \"H3\"\nrate = \"50Gbps\"\nstart = \"9us\"\n\
        [[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nsize = \"1500B\"\nstart = \"1us\"\n";
    std::fs::write(folder.join("network.toml"), network).unwrap();
    let text = "[traffic]\nkind = \"network\"\nscenario = \"network.toml\"\noutputs = [\"3\"]\nsize = \"1000B\"\n";
    let of = |settings: &[&str]| read(text, settings, &folder).unwrap().traffic;
    let arrival = |at: u64, input, output| Arrival {
        at: Time(at * 1_000),
        input,
        output,
        size: Bytes(1_000),
    };
    let Pattern::Listed { packets, hot } = of(&[]).pattern else { panic!("a list") };
    assert_eq!((&packets[..2], hot), (&[arrival(1_000, 0, 1), arrival(1_080, 0, 1)][..], vec![3]));
    // From 9 to 10 us at half the rate, whole packets only.
    assert_eq!(packets[2..], [0, 160, 320, 480, 640, 800].map(|late| arrival(9_000 + late, 2, 3)));
    assert_eq!(
        of(&["run.duration=1.01us"]).pattern,
        Pattern::Listed { packets: vec![arrival(1_000, 0, 1)], hot: vec![3] }
    );
    assert_eq!(of(&[]).sizes, Sizes::Fixed(Bytes(1_000)));
    let Pattern::Listed { packets, .. } = of(&["traffic.settings=[\"flow[1].start=2us\"]"]).pattern
    else {
        panic!("a list")
    };
    assert_eq!(packets[0], arrival(2_000, 0, 1));
    let wrong = read(text, &["traffic.scenario=none.toml"], &folder).unwrap_err();
    assert!(wrong.contains("none.toml") && wrong.contains("xoff cannot use the file"), "{wrong}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn ports_may_be_further_away_and_a_crossbar_may_be_held() {
    let text = "port_delays = [\"0ns\", \"1.5ns\"]\n[element]\nholds = true\n";
    let c = read(text, &[], Path::new("")).unwrap();
    assert_eq!((c.port_delays, c.element.holds), (vec![Span(0), Span(1_500)], true));
    let wrong = read("port_delays = [\"3\"]\n", &[], Path::new("")).unwrap_err();
    assert!(wrong.contains("port_delays"), "{wrong}");
}

fn done(world: World) -> Report {
    world.run(&mut |_, _| ControlFlow::Continue(()))
}

/// An all-reduce by a ring of 4 ranks is 6 steps, one after the other. Over a switch without
/// contention a step is a request, a grant, the way through the switch and the line.
#[test]
fn a_ring_over_a_switch_takes_the_time_of_its_steps() {
    let text = "[admission]\nkind = \"implicit\"\n[[job]]\niterations = 2\nstart = \"1us\"\n[[collective]]\n\
                kind = \"all-reduce\"\nalgorithm = \"ring\"\nsize = \"4000B\"\n";
    let ideal = ["scheduled_fabric.kind=ideal", "scheduled_fabric.ports=4", "run.duration=20us"];
    let text = text.replace("4000B", "4000B\"\ncompute = \"0us");
    let c = read(&text, &ideal, Path::new("")).unwrap();
    let Control::OutOfBand { delay } = c.control else { unreachable!() };
    let step = delay.0 * 2
        + c.link_delay.0
        + c.fabric.time_for(Bytes(1_000)).0
        + c.adapter_delay.0
        + c.line.time_for(Bytes(1_000)).0;
    let report = done(World::new(c).unwrap());
    let time = |steps: u64| Time(1_000_000 + steps * step);
    assert_eq!(report.ranks.len(), 4);
    for rank in &report.ranks {
        assert_eq!(rank.iterations, [(time(0), Some(time(6))), (time(6), Some(time(12)))]);
    }
}

/// An all-to-all over a Clos network next to other packets: the same on one thread and on three,
/// and if its state is saved in the middle.
#[test]
fn jobs_do_not_depend_on_threads_or_checkpoints() {
    let text = "[traffic]\nkind = \"uniform\"\nload = 0.3\n[[job]]\nname = \"a\"\niterations = 3\n[[collective]]\n\
                kind = \"all-to-all\"\nsize = \"40KB\"\ncompute = \"500ns\"\n[[job]]\nname = \"b\"\nhosts = [\"P1\", \"P9\", \"P14\"]\n\
                iterations = 5\n[[collective]]\njob = \"b\"\nkind = \"all-reduce\"\nsize = \"9KB\"\n";
    let text = text.replace(
        "[[collective]]\nkind = \"all-to-all\"",
        "[[collective]]\njob = \"a\"\nkind = \"all-to-all\"",
    );
    let c = read(&text, &["scheduled_fabric.radix=4", "run.duration=60us"], Path::new("")).unwrap();
    let whole = done(World::new(c.clone()).unwrap());
    let complete = |job: usize| {
        let of = whole.ranks.iter().filter(|r| r.job == job);
        of.map(|r| r.iterations.iter().filter(|i| i.1.is_some()).count()).min().unwrap()
    };
    assert_eq!((complete(0), complete(1)), (3, 5), "{:?}", whole.ranks);
    assert!(whole.balance.holds());
    for threads in [1, 3] {
        let build = || World::on_threads(c.clone(), threads).unwrap();
        assert_eq!(done(build()), whole, "{threads} threads");
        let (mut first, mut second) = (build(), build());
        first.advance(Time(9_000_000), &mut |_, _| ControlFlow::Continue(()));
        second.restore(&first.save().unwrap()).unwrap();
        assert_eq!(done(second), whole, "saved on {threads} threads");
    }
}
