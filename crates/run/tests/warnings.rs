//! Keys without effect are reported before the run, with their places; derived values are in the
//! manifest.

use std::path::Path;

use xoff_record::Sink;
use xoff_run::{FabricScenario, NetworkScenario};
use xoff_scenario::document::Override;

const STAR: &str = "[topology]\nkind = \"star\"\nhosts = 3\n[run]\nduration = \"1ms\"\n";
const FLOW: &str = "[[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nsize = \"15KB\"\n";

fn load(text: &str) -> NetworkScenario {
    NetworkScenario::from_text("s.toml", text, &[], Path::new(""))
        .unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// The warnings, one line each.
fn warned(text: &str) -> Vec<String> {
    load(text).warnings.iter().map(|p| p.line()).collect()
}

/// Before: all of these ran without a word, to "0 of 0 complete" or to a probe, a failure or a rate
/// control that never came.
#[test]
fn what_will_not_happen_is_warned_of_at_its_place() {
    let workload =
        |kind: &str, more: &str| format!("{STAR}[[workload]]\nkind = \"{kind}\"\n{more}");
    let poisson = "load = 0.9\ncdf = \"websearch\"\nduration = \"100ms\"\n";
    for (text, place, words) in [
        (
            format!("{STAR}{FLOW}").replace("1ms", "0us"),
            "s.toml:5:",
            "duration: the run has a duration of 0: xoff simulates nothing",
        ),
        (
            format!("{STAR}{FLOW}start = \"2ms\"\n"),
            "s.toml:10:",
            "start: the first flow starts at 2 ms, but the run ends at 1 ms: its hosts send nothing",
        ),
        (format!("{STAR}{FLOW}start = \"1ms\"\n"), "s.toml:10:", "its hosts send nothing"),
        (
            workload("poisson", &format!("{poisson}start = \"5ms\"\n")),
            "s.toml:11:",
            "its hosts send nothing",
        ),
        (workload("poisson", poisson), "s.toml:6:", "flows start after the end of the run at 1 ms"),
        (
            workload(
                "closed-loop",
                "cdf = \"websearch\"\ndifferent_rack = false\nstart = \"3ms\"\n",
            ),
            "s.toml:10:",
            "the first flow starts at 3 ms",
        ),
        (
            format!("{STAR}{FLOW}[probes]\ninterval = \"5ms\"\nqueues = [\"all\"]\n"),
            "s.toml:11:",
            "5 ms is longer than the run of 1 ms",
        ),
        (
            format!("{STAR}{FLOW}[[failure]]\nlink = \"H0-S1\"\nat = \"4ms\"\n"),
            "s.toml:12:",
            "4 ms is after the end of the run at 1 ms",
        ),
        (
            format!("{STAR}{FLOW}[rate_control]\nkind = \"dcqcn\"\n"),
            "",
            "no port marks without a detection: no rate ever changes",
        ),
    ] {
        let all = warned(&text);
        assert!(
            all.iter().any(|w| w.contains(place) && w.contains(words)),
            "'{words}' at {place} is not among {all:?}\n{text}"
        );
    }
    assert_eq!(
        warned(&format!("{STAR}{FLOW}")),
        [""; 0],
        "a run in which all happens has no warning"
    );
    let old = warned(&format!(
        "{STAR}{FLOW}[host]\nmtu = \"9000B\"\n[[pause_storm]]\nhost = \"H1\"\nfrom = \"10us\"\nuntil = \"500us\"\n"
    ));
    let expected = [("frame_max", "mtu"), ("start", "from"), ("stop", "until")]
        .map(|(new, old)| format!("write '{new}' instead of '{old}', its old name"));
    assert!(
        old.len() == 3 && expected.iter().all(|e| old.iter().any(|w| w.contains(e))),
        "{old:?}"
    );
    assert_eq!(
        warned(&format!(
            "{STAR}{FLOW}[detection]\nkind = \"wred\"\n[rate_control]\nkind = \"dcqcn\"\n"
        )),
        [""; 0]
    );
    assert_eq!(
        warned(&format!(
            "{STAR}{FLOW}[rate_control]\nkind = \"dcqcn\"\n[detection]\nkind = \"red\"\n"
        )),
        [""; 0]
    );
}

/// Marks that come after the pause, or never, and constants of DCQCN that undo each other: with the
/// inequality and both numbers. Before: without a word.
#[test]
fn marks_and_constants_that_have_no_effect_are_warned_of() {
    let with = |fc: &str, detection: &str, rate: &str| {
        format!(
            "{STAR}[switch]\nbuffer = \"300KB\"\n[flow_control]\nkind = \"pfc\"\nxoff = \"200KB\"\n{fc}[detection]\n{detection}[rate_control]\nkind = \"dcqcn\"\n{rate}{FLOW}"
        )
    };
    for (detection, rate, words) in [
        (
            "kind = \"red\"\nkmin = \"200KB\"\nkmax = \"250KB\"\n",
            "",
            "kmin < XOFF on 10 Gb/s links: 200 KB >= 200 KB",
        ),
        (
            "kind = \"red\"\nkmin = \"100KB\"\nkmax = \"300KB\"\n",
            "",
            "kmax < XOFF on 10 Gb/s links: 300 KB >= 200 KB, a queue that one ingress fills is paused while at most 0.0050",
        ),
        (
            "kind = \"red\"\nkmin = \"900KB\"\nkmax = \"900KB\"\n",
            "",
            "900 KB >= 900 KB, no frame is ever marked",
        ),
        (
            "kind = \"np-ecn\"\nthreshold = \"200KB\"\n",
            "",
            "threshold < XOFF on 10 Gb/s links: 200 KB >= 200 KB",
        ),
        (
            "kind = \"red\"\n",
            "alpha_timer = \"50us\"\n",
            "alpha_timer > cnp_interval: 50 us <= 50 us",
        ),
        ("kind = \"red\"\n", "min_rate = \"10Gbps\"\n", "min_rate < C: 10 Gb/s >= 10 Gb/s"),
    ] {
        let all = warned(&with("", detection, rate));
        assert!(all.iter().any(|w| w.contains(words)), "'{words}' is not among {all:?}");
    }
    let below = "kind = \"red\"\nkmin = \"199KB\"\nkmax = \"199999B\"\n";
    assert_eq!(
        warned(&with("", below, "alpha_timer = \"51us\"\nmin_rate = \"9Gbps\"\n")),
        [""; 0],
        "one less on each side is enough"
    );
    let sticky =
        with("pause = \"sticky\"\n", "kind = \"red\"\nkmin = \"200KB\"\nkmax = \"200KB\"\n", "");
    assert!(warned(&sticky).iter().any(|w| w.contains("kmin < XOFF")));
}

/// A load or rate of zero sends nothing: refused, or warned of.
#[test]
fn a_workload_that_sends_nothing_is_not_silent() {
    for (kind, more) in [
        ("poisson", "load = 0.0\ncdf = \"websearch\"\nduration = \"100us\"\n"),
        ("poisson", "load = 0.5\ncdf = \"websearch\"\nduration = \"0us\"\n"),
        ("poisson", "load = 0.5\ncdf = \"websearch\"\nflows = 0\n"),
        ("constant-rate", "rate = \"0Gbps\"\n"),
        ("mpi-io", "load = 0.0\nduration = \"100us\"\n"),
        ("bursts", "gap = \"10us\"\nrounds = 0\n"),
        ("incast", "receiver = \"H0\"\nfan_in = 0\n"),
    ] {
        let text = format!("{STAR}[[workload]]\nkind = \"{kind}\"\n{more}");
        match NetworkScenario::from_text("s.toml", &text, &[], Path::new("")) {
            Err(refused) => assert!(
                refused.iter().next().is_some_and(|p| p.line().contains("s.toml:")),
                "{text}\n{refused}"
            ),
            Ok(s) => assert!(s.warnings.iter().any(|w| w.line().contains("nothing")), "{text}"),
        }
    }
}

#[test]
fn a_fabric_that_measures_nothing_is_warned_of() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/fabric/hotspots.toml");
    let warned = |settings: &[&str]| -> Vec<String> {
        let settings: Vec<Override> = settings.iter().map(|s| Override::set(s).unwrap()).collect();
        FabricScenario::load(&file, &settings)
            .unwrap_or_else(|e| panic!("{e}"))
            .warnings
            .iter()
            .map(|p| p.line())
            .collect()
    };
    let stated = |settings: &[&str], words: &str| {
        let all = warned(settings);
        assert!(all.iter().any(|w| w.contains(words)), "'{words}' is not among {all:?}");
    };
    stated(&["run.duration=0us"], "xoff simulates nothing");
    stated(
        &["run.duration=10us", "run.warm_up=10us"],
        "10 us is not shorter than the run of 10 us: xoff measures nothing",
    );
    stated(
        &["run.duration=10us", "run.warm_up=1us", "run.window=20us"],
        "the table of windows stays empty",
    );
    let short = &["run.duration=40us", "run.warm_up=10us", "run.window=1us"];
    assert!(
        warned(short).iter().all(|w| !w.contains("nothing") && !w.contains("window")),
        "{:?}",
        warned(short)
    );
}

/// Before: the manifest named neither the thresholds of PFC nor DCQCN's constants unless the file
/// gave them.
#[test]
fn derived_values_are_in_the_manifest_with_their_origin() {
    let two_rates = "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 1\nrate = \"10Gbps\"\nuplink_rate = \"40Gbps\"\n[run]\nduration = \"1us\"\n[detection]\nkind = \"red\"\n[rate_control]\nkind = \"dcqcn\"\nrate_ai = \"5Mbps\"\n";
    let f = load(&format!("{two_rates}{FLOW}")).run(Sink::Nothing).unwrap();
    let all = &f.manifest.parameters;
    let find = |path: &str| all.iter().filter(|p| p.path == path).collect::<Vec<_>>();
    let xoffs: Vec<_> = all.iter().filter(|p| p.path.starts_with("flow_control.xoff")).collect();
    assert_eq!(xoffs.len(), 2, "one for each kind of link: {xoffs:?}");
    assert!(
        xoffs.iter().any(|p| p.path.contains("10Gbps"))
            && xoffs.iter().any(|p| p.path.contains("40Gbps")),
        "{xoffs:?}"
    );
    assert!(
        xoffs[0].value != xoffs[1].value
            && xoffs.iter().all(|p| p.origin.starts_with("derived from rate ")),
        "{xoffs:?}"
    );
    assert_eq!(find("rate_control.alpha_timer")[0].value, "55us");
    let given = find("rate_control.rate_ai");
    assert!(
        given.len() == 1 && given[0].value == "5Mbps" && given[0].origin.contains("s.toml:"),
        "what is given stands once: {given:?}"
    );

    let one_rate = load(&format!("{STAR}{FLOW}"));
    let xoff: Vec<_> =
        one_rate.parameters.iter().filter(|p| p.path.starts_with("flow_control.xoff")).collect();
    assert!(xoff.len() == 1 && xoff[0].path == "flow_control.xoff", "{xoff:?}");
}

/// A port is slow compared with its own link, not with the slowest one of the network: 25 of 100
/// Gb/s are slowed, an idle host on 1 Gb/s or no.
#[test]
fn a_slowed_port_took_effect_whatever_other_links_there_are() {
    let node = |name: &str, kind: &str| {
        format!("[[topology.node]]\nname = \"{name}\"\nkind = \"{kind}\"\n")
    };
    let link = |a: &str, rate: &str| {
        format!("[[topology.link]]\na = \"{a}\"\nb = \"S\"\nrate = \"{rate}\"\n")
    };
    let text =
        ["[run]\nduration = \"2ms\"\n[topology]\nkind = \"custom\"\ndelay = \"1us\"\n".to_owned()]
            .into_iter()
            .chain([node("A", "host"), node("B", "host"), node("M", "host"), node("S", "switch")])
            .chain([link("A", "100Gbps"), link("B", "25Gbps"), link("M", "1Gbps")])
            .chain(["[flow_control]\nkind = \"gfc-buffer\"\n[[flow]]\nsrc = \"A\"\ndst = \"B\"\n"
                .to_owned()])
            .collect::<String>();
    let summary = load(&text).run(Sink::Nothing).unwrap().summary;
    assert!(
        summary.active.iter().any(|t| t.contains("gfc-buffer slowed ports down to")),
        "{summary:?}"
    );
    assert!(!summary.inactive.iter().any(|t| t.contains("paused nothing")), "{summary:?}");
}

/// Flow control by flow bounds what each flow holds, and a buffer full of flows loses frames.
/// Before: not a word, and 163 frames of PFFC's were lost.
#[test]
fn more_flows_at_once_than_a_buffer_holds_are_warned_of() {
    let text = |fc: &str, buffer: &str, size: &str| {
        format!(
            "[run]\nduration = \"5ms\"\n[topology]\nkind = \"ring\"\nswitches = 3\nrate = \"10Gbps\"\ndelay = \"2us\"\n[switch]\nbuffer = \"{buffer}\"\n\
             [flow_control]\nkind = \"{fc}\"\n[[workload]]\nkind = \"poisson\"\nload = 0.5\nsize = \"{size}\"\nduration = \"3ms\"\n"
        )
    };
    for fc in ["pffc", "bfc"] {
        let all = warned(&text(fc, "60KB", "20KB"));
        assert!(
            all.iter().any(|w| w.contains(&format!("{fc} limits each flow, not their sum: "))
                && w.contains("more than a buffer of 60 KB")),
            "{all:?}"
        );
        assert!(!warned(&text(fc, "2MB", "20KB")).iter().any(|w| w.contains("limits each flow")));
    }
    assert!(!warned(&text("pfc", "60KB", "20KB")).iter().any(|w| w.contains("limits each flow")));
}

/// Before: flows were taken to leave at the rate of their host's link, as if nothing behind it were
/// slower, and frames were lost without the warning.
#[test]
fn a_slow_link_on_the_way_keeps_flows_active() {
    let text = |trunk: &str| {
        format!(
            "[run]\nduration = \"1ms\"\n[topology]\nkind = \"custom\"\nhosts = [\"H0\", \"H1\"]\nswitches = [\"S0\", \"S1\"]\n\
             links = [\"H0 S0 100Gbps 5m\", \"H1 S1 100Gbps 5m\", \"S0 S1 {trunk} 5m\"]\n[switch]\nbuffer = \"150KB\"\n\
             [flow_control]\nkind = \"pffc\"\n[[workload]]\nkind = \"poisson\"\nhosts = [\"H0\", \"H1\"]\nload = 0.4\nsize = \"100KB\"\n\
             duration = \"500us\"\n"
        )
    };
    let warns = |trunk: &str| warned(&text(trunk)).iter().any(|w| w.contains("limits each flow"));
    assert!(!warns("100Gbps"), "{:?}", warned(&text("100Gbps")));
    assert!(warns("10Gbps"));
    let lost = load(&text("10Gbps")).run(Sink::Nothing).unwrap().outcome.lost;
    assert!(lost.dropped().total() > 0, "the prediction");
}

/// Before: flows that could not complete ran without a word.
#[test]
fn frames_that_never_come_again_are_warned_of() {
    let network = "[topology]\nkind = \"leaf-spine\"\n[run]\nduration = \"1ms\"\n[load_balancing]\nkind = \"spray-random\"\n";
    let words = |rest: &str| warned(&format!("{network}{FLOW}{rest}")).join("\n");
    let strict = "[host]\norder = \"strict\"\n";
    assert!(words(strict).contains("order: frames overtake each other"), "{}", words(strict));
    let acks = "[host]\nacks = \"per-frame\"\n";
    let lossy = "[flow_control]\nkind = \"none\"\n";
    for order in ["", "order = \"count\"\n"] {
        let lost = "lost frames stay lost";
        assert!(words(&format!("{acks}{order}{lossy}")).contains(lost), "{order}");
        assert!(!words(&format!("{acks}{order}")).contains(lost), "{order}: nothing is lost");
        let again = "recovery = \"selective\"\nrto = \"1ms\"\n";
        assert!(!words(&format!("{acks}{order}{again}{lossy}")).contains(lost), "{order}");
    }
}
