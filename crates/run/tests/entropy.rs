//! Paths chosen by hosts: entropy values of frames, which switches hash.

mod support;

use std::path::Path;

use xoff_net::topology::routing::{Choice, FlowKey};
use xoff_record::Sink;
use xoff_run::{Finished, NetworkScenario};
use xoff_sim::Engine;

use support::uplinks;

fn load(text: &str) -> NetworkScenario {
    NetworkScenario::from_text("entropy.toml", text, &[], Path::new(""))
        .unwrap_or_else(|e| panic!("{}\n{text}", e.render(false)))
}

/// Two leaves and spines between; links of 100 Gb/s and 1 us, marks above 50 KB.
fn leaf_spine(hosts: u32, spines: u32, host: &str, rest: &str) -> String {
    format!(
        "[run]\nduration = \"5ms\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = {spines}\nhosts_per_leaf = {hosts}\n\
         rate = \"100Gbps\"\ndelay = \"1us\"\n[switch]\nbuffer = \"1MB\"\n[flow_control]\nkind = \"pfc\"\n\
         [detection]\nkind = \"red\"\nkmin = \"50KB\"\nkmax = \"50KB\"\npmax = 1.0\n\
         [host]\nacks = \"per-frame\"\n{host}\n{rest}"
    )
}

fn pairs(hosts: u32, size: &str) -> String {
    let flow =
        |h| format!("[[flow]]\nsrc = \"H{h}\"\ndst = \"H{}\"\nsize = \"{size}\"\n", h + hosts);
    (0..hosts).map(flow).collect()
}

fn finish(text: &str, engine: Engine, threads: usize) -> Finished {
    let mut s = load(text);
    s.engine = engine;
    let f = s.start(Sink::Nothing, Some(threads)).unwrap().run(|_| true).unwrap();
    assert_eq!(f.outcome.violations, [], "{text}");
    f
}

/// With one value, 0, frames take the path of their flow: every law is ECMP, hash for hash.
#[test]
fn one_path_is_ecmp() {
    let flows = "[[workload]]\nkind = \"poisson\"\ncdf = \"websearch\"\nload = 0.6\nduration = \"200us\"\nsize_max = \"300KB\"\n";
    let hash = |host: &str| {
        let f = finish(&leaf_spine(4, 4, host, flows), Engine::Windows, 1);
        f.manifest.result_hash
    };
    let ecmp = hash("");
    for law in ["oblivious", "bitmap", "reps"] {
        assert_eq!(hash(&format!("entropy = \"{law}\"\npaths = 1")), ecmp, "{law}");
    }
    assert_ne!(hash("entropy = \"oblivious\""), ecmp);
}

/// A lone flow of 1000 frames over 8 spines and 16 values in rotation: the bytes of each uplink
/// follow from the hash of the values.
#[test]
fn values_take_the_path_of_their_hash() {
    let text = leaf_spine(
        1,
        8,
        "entropy = \"oblivious\"\npaths = 16\norder = \"count\"",
        &pairs(1, "1500KB"),
    );
    let s = load(&text);
    let f = s.run(Sink::Nothing).unwrap();
    let Choice::Hashed(_) = s.routing().choice else { panic!("ECMP") };
    let leaf = s.topology.find("L1").unwrap();
    let key = FlowKey::from(&s.flows.flows[0]);
    let of_value: Vec<usize> = (0..16u16)
        .map(|v| {
            let key = FlowKey { src_port: key.src_port.wrapping_add(v), ..key };
            s.routing().choice.index(&key, leaf, 8)
        })
        .collect();
    // 1000 frames are 62 rounds of 16 and 8 more, from a random value on.
    let expected = |start: usize| {
        let mut bytes = vec![0u64; 8];
        (0..1000).for_each(|n| bytes[of_value[(start + n) % 16]] += 1500);
        bytes
    };
    let seen = uplinks(&s, &f);
    assert!((0..16).any(|start| expected(start) == seen), "{seen:?}, values {of_value:?}");
    assert!(seen.iter().filter(|&&b| b > 0).count() >= 4);
}

/// The permutation of 16 hosts over 8 spines: ECMP takes twice the time of the wire, 256 values
/// come near it, and values that avoid marked paths at least as near.
#[test]
fn values_spread_a_permutation() {
    let end = |host: &str| {
        let f = finish(&leaf_spine(8, 8, host, &pairs(8, "1500KB")), Engine::Windows, 1);
        let last = f.outcome.flows.iter().map(|f| f.received.expect("complete")).max();
        last.unwrap().0 as f64 / 1e6
    };
    let wire = 1500e3 * 8.0 / 100e9 * 1e6;
    let ecmp = end("");
    let of = |law: &str| end(&format!("entropy = \"{law}\"\norder = \"count\""));
    let (oblivious, bitmap, reps) = (of("oblivious"), of("bitmap"), of("reps"));
    println!(
        "wire {wire:.1} us, ECMP {ecmp:.1}, oblivious {oblivious:.1}, bitmap {bitmap:.1}, REPS {reps:.1}"
    );
    assert!(ecmp > 1.8 * wire, "{ecmp} of {wire}");
    for (law, end) in [("oblivious", oblivious), ("bitmap", bitmap), ("reps", reps)] {
        assert!(end < 1.3 * wire, "{law}: {end} of {wire}");
    }
}

/// An uplink of eight takes every frame with it, and switches do not know. Oblivious spraying sends
/// an eighth of all frames there, again and again. The bitmap sends more, since lost frames return no
/// mark. REPS freezes at the first timeout, and no frame goes there after that.
#[test]
fn reps_leaves_a_path_that_loses_everything() {
    let broken = "[[link_errors]]\nkind = \"frame\"\nloss = 1.0\nports = [\"L1->S3\"]\n";
    let lost = |law: &str, size: &str| {
        let host = format!("recovery = \"selective\"\nrto = \"100us\"\nentropy = \"{law}\"");
        let text =
            leaf_spine(8, 8, &host, &format!("{broken}{}", pairs(8, size))).replace("5ms", "9ms");
        let s = load(&text);
        let f = s.run(Sink::Nothing).unwrap();
        assert_eq!(f.outcome.violations, [], "{law}");
        assert!(f.outcome.flows.iter().all(|f| f.received.is_some()), "{law}");
        uplinks(&s, &f)[2] / 1500
    };
    let sprayed = lost("oblivious", "3MB");
    for law in ["oblivious", "bitmap", "reps"] {
        let (short, long) = (lost(law, "3MB"), lost(law, "12MB"));
        println!("{law}: {short} frames lost of 3 MB each, {long} of 12 MB");
        match law {
            "reps" => assert!(short == long && short < 1200, "{short} {long}"),
            "bitmap" => assert!(short > sprayed && long > 3 * short, "{short} {long}"),
            _ => assert!((3.8..4.2).contains(&(long as f64 / short as f64)), "{short} {long}"),
        }
    }
}

/// Every law, while a link fails: equal for both engines and any number of threads.
#[test]
fn results_are_equal_on_both_engines_and_any_number_of_threads() {
    for law in ["oblivious", "bitmap", "reps"] {
        for balancing in ["ecmp", "wcmp"] {
            let rest = format!(
                "[load_balancing]\nkind = \"{balancing}\"\n[[failure]]\nlink = \"L1-S2\"\nat = \"40us\"\n\
                 [[workload]]\nkind = \"poisson\"\ncdf = \"websearch\"\nload = 0.7\nduration = \"100us\"\nsize_max = \"300KB\"\n"
            );
            let host = format!(
                "recovery = \"selective\"\nrto = \"100us\"\nentropy = \"{law}\"\npaths = 32\n"
            );
            let text = leaf_spine(4, 4, &host, &rest);
            let one = finish(&text, Engine::Events, 1).manifest.result_hash;
            for threads in [1, 2, 3, 4] {
                let hash = finish(&text, Engine::Windows, threads).manifest.result_hash;
                assert_eq!(hash, one, "{law}, {balancing}, {threads} threads");
            }
        }
    }
}

/// Connections of TCP take several paths too, with delayed acknowledgements or without, and so do
/// datagrams next to them: all arrive under either engine.
#[test]
fn connections_and_datagrams_take_several_paths() {
    for (law, delay) in [("oblivious", "0us"), ("bitmap", "20us"), ("reps", "20us")] {
        let tcp =
            format!("[transport]\nkind = \"tcp\"\nrto_min = \"1ms\"\ndelayed_ack = \"{delay}\"\n");
        let flows = pairs(4, "300KB") + "rate_control = false\n";
        let host = format!("header = \"40B\"\nentropy = \"{law}\"");
        let text = leaf_spine(4, 4, &host, &(tcp + &flows)).replace("5ms", "50ms");
        let f = finish(&text, Engine::Events, 1);
        assert!(
            f.outcome.flows.iter().all(|f| f.received.is_some()),
            "{law}: {:?}",
            f.outcome.flows
        );
        assert!(uplinks(&load(&text), &f).iter().all(|&bytes| bytes > 100_000), "{law}");
        let other = finish(&text, Engine::Windows, 3);
        assert_eq!(other.manifest.result_hash, f.manifest.result_hash, "{law}");
    }
}

/// Combinations without a meaning.
#[test]
fn what_cannot_be_is_refused() {
    let refused = |host: &str, rest: &str| {
        let text = leaf_spine(2, 2, host, &format!("{rest}{}", pairs(2, "1KB")));
        let read = NetworkScenario::from_text("entropy.toml", &text, &[], Path::new(""));
        read.err().map(|e| e.to_string()).unwrap_or_default()
    };
    assert!(refused("entropy = \"reps\"\npaths = 0", "").contains("expected 1 to 65535"));
    let drill = "[load_balancing]\nkind = \"drill\"\n";
    assert!(refused("entropy = \"reps\"", drill).contains("remove host.entropy"));
    let no_acks = leaf_spine(2, 2, "entropy = \"bitmap\"", &pairs(2, "1KB"))
        .replace("acks = \"per-frame\"\n", "");
    let e = NetworkScenario::from_text("entropy.toml", &no_acks, &[], Path::new("")).err();
    assert!(e.is_some_and(|e| e.to_string().contains("hosts send none")));
}

/// Messages of a queue pair share their values: a frame that an earlier message repeats has one of
/// them too. Before: it had that of a frame before it under its handle, and the result depended on
/// the number of threads.
#[test]
fn frames_that_are_repeated_have_values_of_their_queue_pair() {
    let collective = |size: &str| {
        format!(
            "[[collective]]\nkind = \"all-reduce\"\nsize = \"{size}\"\nalgorithm = \"direct\"\n"
        )
    };
    for law in ["oblivious", "bitmap", "reps"] {
        for recovery in ["go-back-n", "selective"] {
            let text = format!(
                "[run]\nduration = \"5ms\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 4\nhosts_per_leaf = 1\n\
                 rate = \"40Gbps\"\n[host]\nacks = \"per-frame\"\nrecovery = \"{recovery}\"\nrto = \"50us\"\nentropy = \"{law}\"\n\
                 paths = 16\n[[link_errors]]\nkind = \"nth\"\nports = [\"H0->L1\"]\nnumbers = [\"2\"]\n\
                 [[job]]\nname = \"j\"\nhosts = [\"H0\", \"H1\"]\n{}{}",
                collective("3KB"),
                collective("60KB")
            );
            let hash = |engine, threads| finish(&text, engine, threads).manifest.result_hash;
            let one = hash(Engine::Events, 1);
            for (engine, threads) in [
                (Engine::Windows, 1),
                (Engine::Windows, 2),
                (Engine::Events, 2),
                (Engine::Windows, 4),
            ] {
                assert_eq!(hash(engine, threads), one, "{engine:?}, {threads}, {text}");
            }
        }
    }
}
