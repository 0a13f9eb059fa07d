//! Workloads of a scheduled fabric: the traffic is as the file describes it.

use std::path::Path;

use xoff_run::FabricScenario;
use xoff_scenario::document::Override;
use xoff_sim::scheduled::{Arrival, Config, Pattern, Sizes, Stream};
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
