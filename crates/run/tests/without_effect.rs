//! Keys that are accepted but have no effect next to the rest of the scenario are named before the
//! run, each at its place and with its reason.

use std::path::{Path, PathBuf};

use xoff_run::NetworkScenario;
use xoff_scenario::document::Override;

const RUN: &str = "[run]\nduration = \"200us\"\n[topology]\nkind = \"star\"\nhosts = 4\n";
const FLOWS: &str = "[[flow]]\nsrc = \"H1\"\ndst = \"H0\"\n[[flow]]\nsrc = \"H2\"\ndst = \"H0\"\n";
const POOL: &str = "[[buffer_pool]]\nname = \"i\"\nsize = \"2MB\"\n";
const PROFILE: &str = "[[buffer_profile]]\npool = \"i\"\npriorities = [\"0\"]\n";
const POOLS: &str =
    "[switch]\nmemory = \"pools\"\n[flow_control]\nkind = \"pfc\"\nthreshold = \"profile\"\n";

fn lines(text: &str, settings: &[&str]) -> Vec<String> {
    let settings: Vec<Override> = settings.iter().map(|s| Override::set(s).unwrap()).collect();
    let loaded = NetworkScenario::from_text("s.toml", text, &settings, Path::new(""))
        .unwrap_or_else(|e| panic!("{e}\n{text}"));
    loaded.warnings.iter().map(|p| p.line()).collect()
}

fn refused(text: &str) -> String {
    NetworkScenario::from_text("s.toml", text, &[], Path::new(""))
        .err()
        .unwrap_or_else(|| panic!("was accepted:\n{text}"))
        .to_string()
}

/// TCD without a flow control that pauses a port: RED alone decides.
#[test]
fn keys_about_pauses_where_no_port_is_paused() {
    for (kind, key, value) in [("none", "adaptive", "2.0"), ("pffc", "growth", "\"2KB\"")] {
        let tcd = |kind| {
            format!(
                "{RUN}[flow_control]\nkind = \"{kind}\"\n[detection]\nkind = \"tcd\"\n{key} = {value}\n{FLOWS}"
            )
        };
        let found = lines(&tcd(kind), &[]);
        let why = format!("{key}: flow_control.kind = \"{kind}\" pauses no port as a whole");
        let at = |l: &&String| l.contains(&why) && l.contains("s.toml:10:");
        assert_eq!(found.iter().filter(at).count(), 1, "{found:?}");
        assert!(lines(&tcd("pfc"), &[]).iter().all(|l| !l.contains(key)));
    }
}

/// One warning, at the line of the key, with the reason.
#[test]
fn a_key_that_nothing_reads_is_named_with_its_reason() {
    let pools = |more: &str| format!("{POOLS}{POOL}{PROFILE}{more}");
    let rows: &[(&str, String, &str, &str)] = &[
        ("shift", "[switch]\nalpha_shift = 1\n".into(), "alpha_shift", "memory = \"per-ingress\" is a fixed buffer"),
        ("shared", "[switch]\nshared_buffer = \"10KB\"\n".into(), "shared_buffer", "memory = \"per-ingress\""),
        ("pools", pools("").replace("memory", "reserve = \"1KB\"\nmemory"), "reserve", "[[buffer_pool]] and [[buffer_profile]] divide"),
        (
            "plan",
            pools("").replace("memory", "buffer = \"10KB\"\nmemory"),
            "buffer",
            "with memory = \"pools\", [[buffer_pool]] gives the size",
        ),
        ("quantum", "[switch]\nquantum = \"3000B\"\n".into(), "quantum", "only discipline = \"drr\""),
        ("weights", "[switch]\nweights = [\"1500B\"]\n".into(), "weights", "only scheduler = \"drr\""),
        (
            "many",
            "[switch]\nscheduler = \"drr\"\nweights = [\"1500B\", \"3000B\"]\n".into(),
            "weights",
            "2 weights, but 1 priorities in use",
        ),
        ("arbitration", "[switch]\nvl_high_limit = 3\n".into(), "vl_high_limit", "only scheduler = \"vl-arbitration\""),
        ("offset", "[flow_control]\nxon_offset = \"10KB\"\n".into(), "xon_offset", "a static threshold resumes at xon"),
        ("profile", pools("").replace("kind", "xoff = \"10KB\"\nkind"), "xoff", "by its [[buffer_profile]]"),
        ("sticky", "[flow_control]\npause = \"sticky\"\nquanta = 100\n".into(), "quanta", "a sticky pause has no time"),
        ("uec", "[flow_control]\nkind = \"uec-cbfc\"\nshared_th = 3\n".into(), "shared_th", "sharing = \"none\" does not use the key"),
        (
            "uec all",
            "[flow_control]\nkind = \"uec-cbfc\"\nsharing = \"static\"\nshared_limit = 1000000\n".into(),
            "shared_limit",
            "shared_limit 1000000 > 2331, the credits of the shared part",
        ),
        ("lossy", "[flow_control]\nlossy = [\"0\"]\n".into(), "lossy", "every priority in use is lossy: pfc never pauses a port"),
        ("acks", "[host]\nack_len = \"100B\"\n".into(), "ack_len", "hosts send no acknowledgements"),
        ("timer", "[host]\nrto = \"50us\"\n".into(), "rto", "sources cannot detect losses"),
        ("order", "[host]\norder = \"strict\"\n".into(), "order", "no frame overtakes another"),
        ("nack", "[host]\nacks = \"per-frame\"\nrto = \"50us\"\n".into(), "rto", "recovery = \"nack\" has no timer"),
        (
            "selective",
            "[host]\nacks = \"per-frame\"\nrecovery = \"selective\"\nnack_interval = \"5us\"\n".into(),
            "nack_interval",
            "reports missing frames with every acknowledgement",
        ),
        (
            "late",
            "[host]\nacks = \"per-frame\"\nrecovery = \"selective\"\nrto = \"1s\"\n".into(),
            "rto",
            "no timer expires before the run ends",
        ),
        ("cnp", "[host]\ncnp_priority = 6\n".into(), "cnp_priority", "this rate control sends no CNPs"),
        ("gap", "[host]\npacing = \"gap\"\n".into(), "pacing", "no flow has its own rate"),
        (
            "segment",
            "[rate_control]\nkind = \"timely\"\nvariant = \"hpcc\"\nsegment = \"64KB\"\n[host]\nacks = \"per-frame\"\n".into(),
            "segment",
            "variant = \"hpcc\" has no segments",
        ),
        ("pairs", "[host]\nconnections = \"per-pair\"\n".into(), "connections", "keep their own connection"),
        ("window", "[host]\nacks = \"per-frame\"\nwindow = \"10B\"\n".into(), "window", "window 10 B < 1.5 KB, the payload of a frame"),
        ("tcp", "[transport]\nkind = \"tcp\"\n[host]\nrto = \"50us\"\n".into(), "rto", "connections detect losses themselves"),
        (
            "alert",
            "[watchdog]\nkind = \"duration\"\ndetect = \"50us\"\npoll = \"10us\"\naction = \"alert\"\nrestore = \"30us\"\n".into(),
            "restore",
            "changes no queue",
        ),
        (
            "look",
            "[watchdog]\nkind = \"duration\"\ndetect = \"50us\"\npoll = \"10us\"\nrestore = \"1us\"\n".into(),
            "restore",
            "restore 1 us < poll 10 us",
        ),
        ("replays", "[link_retry]\nkind = \"llr\"\nreplays = 255\non_flush = \"best-effort\"\n".into(), "on_flush", "never flushes"),
        ("storm", "[[pause_storm]]\nhost = \"H3\"\n".into(), "host", "no flow of priority 0 ends at H3: the storm blocks no frame"),
        ("end", "[[pause_storm]]\nhost = \"H0\"\nstop = \"500us\"\n".into(), "stop", "stop 500 us > run.duration 200 us"),
        ("idle", "[[slow_receiver]]\nhost = \"H3\"\nrate = \"1Gbps\"\n".into(), "host", "no frame has the destination H3"),
        (
            "endless",
            "[[slow_receiver]]\nhost = \"H0\"\nrate = \"1Gbps\"\nmessage_rate = 1000\n".into(),
            "message_rate",
            "no message completes",
        ),
        (
            "stall",
            "[[slow_receiver]]\nhost = \"H0\"\nrate = \"1Gbps\"\nstalls = [\"150us+1ms\"]\n".into(),
            "stalls",
            "after run.duration 200 us",
        ),
        ("all", "[[link_errors]]\nkind = \"frame\"\nloss = 0.1\nports = [\"all\", \"H1->S1\"]\n".into(), "ports", "the others in the list"),
        ("unseen", "[[link_errors]]\nkind = \"frame\"\nloss = 0.1\nseen = false\n".into(), "seen", "without [link_retry], a frame is lost"),
        (
            "messages",
            "[flow_control]\nkind = \"none\"\n[[link_errors]]\nkind = \"frame\"\nloss = 0.1\nframes = \"control\"\n".into(),
            "frames",
            "this flow control sends no frames",
        ),
        ("unused", pools("[[buffer_pool]]\nname = \"x\"\nsize = \"1MB\"\n"), "name", "no [[buffer_profile]] uses pool 'x'"),
        ("shadow", pools(&format!("{PROFILE}switches = [\"S1\"]\n")), "priorities", "overrides this one"),
        ("again", pools("switches = [\"S1\", \"S1\"]\n"), "switches", "'S1' is already in the list"),
        ("lossy group", pools("xon = \"20KB\"\n").replace("kind", "lossy = [\"0\"]\nkind"), "xon", "no group of this profile is lossless"),
        ("limit", pools("kind = \"static\"\nlimit = \"5MB\"\n"), "limit", "limit 5 MB > 2 MB, the whole pool"),
        ("xon", pools("xon = \"5MB\"\n"), "xon", "a group is always below it"),
    ];
    for (name, part, key, why) in rows {
        let text = format!("{RUN}{part}{FLOWS}");
        // The last line of that key: the others of its name are in sections before.
        let line = 1 + text
            .lines()
            .collect::<Vec<_>>()
            .iter()
            .rposition(|l| l.starts_with(&format!("{key} =")))
            .unwrap();
        let line = if *name == "shadow" {
            1 + text.lines().position(|l| l.starts_with("priorities")).unwrap()
        } else {
            line
        };
        let all = lines(&text, &[]);
        let found = all.iter().filter(|w| {
            w.starts_with(&format!("s.toml:{line}:")) && w.contains(&format!("warning: {key}: "))
        });
        assert!(
            found.clone().count() == 1 && found.clone().all(|w| w.contains(why)),
            "{name}: '{why}' in line {line} is not in {all:#?}"
        );
    }
}

/// A key with its default value says what is so: resolved scenarios give all of them, and are run
/// again.
#[test]
fn defaults_and_resolved_scenarios_are_not_warned_of() {
    let given = "[switch]\nquantum = \"1.5KB\"\nalpha_shift = 3\nvl_high_limit = 255\n[host]\nrto = \"0.32ms\"\nack_len = \"64B\"\nrecovery = \"nack\"\n";
    assert_eq!(lines(&format!("{RUN}{given}{FLOWS}"), &[]), [""; 0]);
    for fc in ["none", "pfc", "cbfc", "uec-cbfc", "pffc", "bfc", "gfc-buffer"] {
        let text =
            format!("{RUN}[switch]\nbuffer = \"600KB\"\n[flow_control]\nkind = \"{fc}\"\n{FLOWS}");
        let first = NetworkScenario::from_text("s.toml", &text, &[], Path::new("")).unwrap();
        let again = lines(&first.resolved, &[]);
        assert!(!again.iter().any(|w| w.contains("has no effect")), "{fc}: {again:#?}");
    }
}

/// Settings of a kind that is not chosen, and keys below another kind's name next to those of the
/// chosen one.
#[test]
fn keys_of_a_kind_that_is_not_chosen() {
    let text = format!(
        "{RUN}[watchdog]\nkind = \"duration\"\ndetect = \"50us\"\npoll = \"10us\"\n{FLOWS}"
    );
    let all = lines(&text, &["watchdog.status.detect=60us"]);
    let words = "detect belongs to kind 'status', but the kind of [watchdog] is 'duration': the key has no effect";
    assert!(
        all.iter().any(|w| w.contains("--set watchdog.status.detect=60us") && w.contains(words)),
        "{all:#?}"
    );
    let both = text.replace(
        "[[flow]]\nsrc = \"H1\"",
        "[watchdog.status]\npoll = \"10us\"\n[[flow]]\nsrc = \"H1\"",
    );
    let all = lines(&both, &[]);
    assert!(
        all.iter().any(|w| w.starts_with("s.toml:10:")
            && w.contains("[watchdog.status] has no effect: [watchdog] has kind 'duration'")),
        "{all:#?}"
    );
    // A file of several kinds has the keys of each below its name.
    let several = format!(
        "{RUN}[watchdog]\nkind = \"duration\"\n[watchdog.duration]\ndetect = \"50us\"\npoll = \"10us\"\n[watchdog.status]\ndetect = \"60us\"\npoll = \"20us\"\n{FLOWS}"
    );
    assert_eq!(lines(&several, &[]), [""; 0]);
}

/// Before: the one in the section held, without a word, and a setting below it was not read.
#[test]
fn a_key_in_two_places_is_refused_and_a_setting_goes_before_the_file() {
    let text = format!(
        "{RUN}[watchdog]\nkind = \"duration\"\ndetect = \"50us\"\npoll = \"10us\"\n[watchdog.duration]\ndetect = \"60us\"\n{FLOWS}"
    );
    let all = refused(&text);
    assert!(
        all.contains("s.toml:11:1")
            && all.contains(
                "'detect' is defined twice: in [watchdog.duration] and in [watchdog] (s.toml:8:1)"
            ),
        "{all}"
    );
    let text = text.replace("[watchdog.duration]\ndetect = \"60us\"\n", "");
    let set = [Override::set("watchdog.duration.detect=70us").unwrap()];
    let loaded = NetworkScenario::from_text("s.toml", &text, &set, Path::new("")).unwrap();
    assert_eq!(loaded.watchdog().unwrap().detect.to_string(), "70 us");
}

/// A second entry for a port would be a second source of errors with the draws of the first.
#[test]
fn lists_that_contradict_themselves_are_refused() {
    let errors = |ports: &str| {
        format!("{RUN}[[link_errors]]\nkind = \"frame\"\nloss = 0.1\nports = [{ports}]\n{FLOWS}")
    };
    for ports in ["\"H1->S1\", \"H1->S1\"", "\"H1->S1\", \"H1:S1\""] {
        let all = refused(&errors(ports));
        assert!(
            all.contains("s.toml:9:9")
                && all.contains("names a link direction that is already in the list"),
            "{all}"
        );
    }
    let all = refused(&format!("{RUN}{POOLS}{POOL}switches = []\n{PROFILE}{FLOWS}"));
    assert!(all.contains("switches: the list is empty"), "{all}");
}

/// Scenarios of the repository give no key for nothing.
#[test]
fn scenarios_of_the_repository_give_no_key_without_effect() {
    fn files(folder: &Path, all: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
            match entry.is_dir() {
                true => files(&entry, all),
                false if entry.extension().is_some_and(|e| e == "toml") => all.push(entry),
                false => {}
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut all = Vec::new();
    files(&root.join("scenarios"), &mut all);
    files(&root.join("crates/cli/src/new"), &mut all);
    let mut named = Vec::new();
    let mut loaded = 0;
    for file in &all {
        let Ok(scenario) = NetworkScenario::load(file, &[]) else { continue };
        loaded += 1;
        named.extend(
            scenario
                .warnings
                .iter()
                .map(|p| p.line())
                .filter(|w| w.contains("has no effect") || w.contains("the storm blocks")),
        );
    }
    assert!(loaded > 40, "{loaded} of {}", all.len());
    assert!(named.is_empty(), "{named:#?}");
}

/// An unknown kind brings no further messages about keys.
#[test]
fn an_unknown_kind_of_errors_has_one_message() {
    let said = refused(
        "[topology]\nkind = \"star\"\nhosts = 2\nrate = \"100Gbps\"\ndelay = \"1us\"\n[flow_control]\nkind = \"pfc\"\n\
         [[flow]]\nsrc = \"H0\"\ndst = \"H1\"\n[[link_errors]]\nports = [\"all\"]\nkind = \"frames\"\nloss = 1e-6\n",
    );
    assert_eq!(
        said,
        "s.toml:13:8: unknown kind 'frames' (did you mean 'frame'? known: bit, frame, burst, nth)"
    );
}
