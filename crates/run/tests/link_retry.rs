//! Links that corrupt frames, with and without repetition: closed forms, exact traces, and the cost
//! of a lost message.

use std::path::Path;

use xoff_record::Sink;
use xoff_run::{Finished, NetworkScenario};
use xoff_sim::LostFrames;
use xoff_units::Loss;

fn load(text: &str) -> NetworkScenario {
    NetworkScenario::from_text("links.toml", text, &[], Path::new(""))
        .unwrap_or_else(|e| panic!("{}\n{text}", e.render(false)))
}

fn run(text: &str) -> Finished {
    load(text).run(Sink::Nothing).unwrap()
}

const PS_PER_BYTE: u64 = 80;
const MTU: u64 = 1000;
const TX: u64 = MTU * PS_PER_BYTE;

/// One flow H0 - S1 - H1 at 100 Gb/s; errors on the first link only.
fn line(delay_ns: u64, frames: u64, errors: &str, retry: &str) -> String {
    format!(
        "[run]\nduration = \"1s\"\ndeadlock_interval = \"0us\"\n[topology]\nkind = \"star\"\nhosts = 2\nrate = \"100Gbps\"\ndelay = \"{delay_ns}ns\"\n\
         [host]\nframe_max = \"{MTU}B\"\n[switch]\nbuffer = \"10MB\"\n[flow_control]\nkind = \"none\"\n\
         [[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nsize = \"{}B\"\n{errors}{retry}",
        MTU * frames
    )
}

fn hit(kind: &str) -> String {
    format!("[[link_errors]]\nports = [\"H0->S1\"]\nframes = \"flows\"\n{kind}")
}

/// Slots from the start of a lost frame to the start of its replay: the frame, there and back, the
/// Nack; then at the end of a frame.
fn window(delay_ns: u64) -> u64 {
    (TX + 2 * delay_ns * 1000 + 8 * PS_PER_BYTE).div_ceil(TX)
}

fn end(f: &Finished) -> u64 {
    f.outcome.flows[0].end.expect("complete").0
}

/// (1-p)/(1-p+pW) where a lost replay is known as soon as another frame; with the standard's rule
/// the timer of T slots repairs it.
#[test]
fn efficiency_under_loss_is_that_of_go_back_n() {
    let delay_ns = 250; // W = 8, and room to the end of a slot
    let (w, timer_us) = (window(delay_ns) as f64, 20u64);
    assert_eq!(w, 8.0);
    for (p, frames) in
        [(1e-5, 100_000), (1e-4, 200_000), (1e-3, 400_000), (1e-2, 400_000), (1e-1, 400_000)]
    {
        for again in [true, false] {
            let retry = format!(
                "[link_retry]\nkind = \"llr\"\nreplays = 255\ntimer = \"{timer_us}us\"\nnack_again = {again}\n"
            );
            let f = run(&line(
                delay_ns,
                frames,
                &hit(&format!("kind = \"frame\"\nloss = {p}\n")),
                &retry,
            ));
            let t = (timer_us * 1_000_000 / TX) as f64;
            let efficiency = (frames * TX) as f64 / end(&f) as f64;
            // With the Nack sent again a lost replay is known one frame later than the first loss.
            let form = if again {
                (1.0 - p) / (1.0 - p + p * w)
            } else {
                1.0 / (1.0 + p * w + p * p * t / (1.0 - p))
            };
            assert!(
                (efficiency / form - 1.0).abs() < 0.01,
                "p {p}, again {again}: {efficiency:.5}, the closed form {form:.5}"
            );
            assert_eq!((f.outcome.lost, f.outcome.violations_total), (LostFrames::default(), 0));
            let r = f.outcome.retry;
            assert_eq!(
                r.replayed.data,
                r.corrupted.data + r.discarded.data,
                "what is sent again is what did not get through"
            );
        }
    }
}

/// The third of ten frames is hit: it and all behind it come W slots later, to the picosecond; and
/// so for every place of the hit.
#[test]
fn a_hit_costs_exactly_its_window() {
    for delay_ns in [1, 37, 100, 250, 999] {
        let w = window(delay_ns);
        for n in [1, 2, 3, 10, 99, 100] {
            let f = run(&line(
                delay_ns,
                100,
                &hit(&format!("kind = \"nth\"\nnumbers = [\"{n}\"]\n")),
                "[link_retry]\nkind = \"llr\"\n",
            ));
            // The Nack may find the wire free: then the replay begins as it comes.
            let whole = 100 * TX + TX + 2 * delay_ns * 1000;
            let goes_on = (n + w - 1 <= 100) as u64;
            let nack = TX + 2 * delay_ns * 1000 + 8 * PS_PER_BYTE;
            let lasts = if goes_on == 1 { w * TX } else { nack.max((100 - n + 1) * TX) };
            assert_eq!(end(&f), whole + lasts, "frame {n}, {delay_ns} ns");
            assert_eq!(
                (f.outcome.retry.nacks, f.outcome.retry.timeouts, f.outcome.retry.corrupted.data),
                (1, 0, 1)
            );
        }
    }
}

/// Only the timer repairs a tail that vanishes: it costs exactly that, counted from the last
/// progress.
#[test]
fn a_tail_that_vanishes_costs_the_timer() {
    for timer_us in [7, 20, 65] {
        let retry = format!("[link_retry]\nkind = \"llr\"\ntimer = \"{timer_us}us\"\n");
        let f =
            run(&line(100, 1, &hit("kind = \"nth\"\nnumbers = [\"1\"]\nseen = false\n"), &retry));
        assert_eq!(end(&f), timer_us * 1_000_000 + 2 * (TX + 100_000));
        assert_eq!((f.outcome.retry.nacks, f.outcome.retry.timeouts), (0, 1));
    }
}

/// Every kind of error on every link and every frame, signals between the ends included: all flows
/// arrive in order; without a retry they do not.
#[test]
fn retry_hides_every_kind_of_error() {
    let kinds = [
        "kind = \"bit\"\nber = 1e-6\n",
        "kind = \"bit\"\nber = 1.5e-3\nfec = \"rs-544-514\"\n",
        "kind = \"frame\"\nloss = 0.02\nseen = false\n",
        "kind = \"burst\"\nto_bad = 0.002\nto_good = 0.2\n",
    ];
    for kind in kinds {
        let text = |retry: &str| {
            format!(
                "[run]\nduration = \"20ms\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 3\nrate = \"100Gbps\"\n\
                 delay = \"500ns\"\n[flow_control]\nkind = \"uec-cbfc\"\n[[link_errors]]\n{kind}{retry}\
                 [[workload]]\nkind = \"permutation\"\nsize = \"2MB\"\n"
            )
        };
        let o = run(&text("[link_retry]\nkind = \"llr\"\nreplays = 255\n")).outcome;
        assert!(
            o.retry.replayed.data > 0 && o.lost[Loss::OnFaultyLink].data == 0,
            "{kind}: {:?} {:?}",
            o.retry,
            o.lost
        );
        assert_eq!(
            (o.lost.dropped().total(), o.violations_total),
            (0, 0),
            "{kind}: {:?}",
            o.violations
        );
        assert!(o.flows.iter().all(|f| f.end.is_some()), "{kind}");
        let o = run(&text("")).outcome;
        assert!(o.lost[Loss::OnFaultyLink].data > 0, "{kind}");
        assert_eq!(o.violations_total, 0, "{kind}: {:?}", o.violations);
    }
}

/// Credits of lost frames come back: with Ultra Ethernet's credits by CC_Update, with InfiniBand's
/// by FCTBS. A gap without them would end the flow.
#[test]
fn lost_frames_leak_no_credits() {
    for fc in [
        "kind = \"uec-cbfc\"\nlimit = 120\ncc_period = \"50us\"\n",
        "kind = \"cbfc\"\nperiod = \"1us\"\n",
    ] {
        let text = format!(
            "[run]\nduration = \"3ms\"\n[topology]\nkind = \"star\"\nhosts = 2\nrate = \"100Gbps\"\ndelay = \"100ns\"\n[switch]\nbuffer = \"20KB\"\n\
             [flow_control]\n{fc}[[link_errors]]\nkind = \"frame\"\nloss = 0.01\n[[flow]]\nsrc = \"H0\"\ndst = \"H1\"\n"
        );
        let o = run(&text).outcome;
        let (sent, lost) = (o.flows[0].sent, o.lost[Loss::OnFaultyLink].data);
        // 20 KB are used up by 14 frames that leak; a hundred times as many are lost.
        assert!(lost > 100, "{fc}: {lost}");
        assert!(sent > 20_000_000, "{fc}: {sent} B in 3 ms");
        assert_eq!(
            (o.lost.dropped().total(), o.violations_total),
            (0, 0),
            "{fc}: {:?}",
            o.violations
        );
    }
}

/// No leak outlives a CC period: a link that loses its first ten frames has its full rate from the
/// first CC_Update on.
#[test]
fn a_leak_ends_with_one_cc_period() {
    let numbers: Vec<String> = (1..=10).map(|n| format!("\"{n}\"")).collect();
    let text = |errors: &str| {
        format!(
            "[run]\nduration = \"1ms\"\n[topology]\nkind = \"star\"\nhosts = 2\nrate = \"100Gbps\"\ndelay = \"100ns\"\n[switch]\nbuffer = \"40KB\"\n\
             [flow_control]\nkind = \"uec-cbfc\"\nlimit = 120\ncc_period = \"40us\"\ncf_min_spacing = \"800B\"\n{errors}\
             [[flow]]\nsrc = \"H0\"\ndst = \"H1\"\n"
        )
    };
    let errors = format!(
        "[[link_errors]]\nports = [\"H0->S1\"]\nframes = \"flows\"\nkind = \"nth\"\nnumbers = [{}]\n",
        numbers.join(", ")
    );
    let (with, without) = (run(&text(&errors)).outcome, run(&text("")).outcome);
    assert_eq!(with.lost[Loss::OnFaultyLink].data, 10, "all ten frames that its credits cover");
    // The CC_Update at 40 us, and the CF_Update that follows it: 64 B, a way there, 8 B and a way
    // back, and the loop restarts.
    let stood = 40_000_000 + (64 + 8) * PS_PER_BYTE + 200_000;
    let missing = without.flows[0].sent - with.flows[0].sent;
    let rate = 1_000_000_000 / (without.flows[0].sent / 1500);
    let frames = stood / rate;
    assert!(
        (missing / 1500).abs_diff(frames) <= 10 + 1,
        "{missing} B are {} frames; {frames} in {stood} ps",
        missing / 1500
    );
}

/// An impossible value is rejected at its place.
#[test]
fn bad_input_has_its_place_and_its_inequality() {
    let refused = |errors: &str, what: &str| {
        let text = line(100, 1, errors, "");
        let e = NetworkScenario::from_text("links.toml", &text, &[], Path::new(""))
            .err()
            .unwrap_or_else(|| panic!("accepted: {errors}"));
        let all = e.render(false);
        assert!(all.contains(what) && all.contains("links.toml"), "{all}");
    };
    refused(&hit("kind = \"bit\"\nber = 0.6\n"), "a bit error ratio of 0.6");
    refused(&hit("kind = \"bit\"\nber = -1\n"), "a bit error ratio of -1");
    refused(&hit("kind = \"frame\"\nloss = 1.5\n"), "a probability of 1.5");
    refused(&hit("kind = \"burst\"\nto_bad = 2\nto_good = 0\n"), "a probability of 2");
    refused(&hit("kind = \"nth\"\nnumbers = [\"0\"]\n"), "'0' is not the number of a frame");
    refused(&hit("kind = \"nth\"\nnumbers = []\n"), "no frame is hit");
    refused(
        "[[link_errors]]\nports = []\nkind = \"frame\"\nloss = 0\n",
        "the list of links is empty",
    );
    refused("[[link_errors]]\nports = [\"H9->S1\"]\nkind = \"frame\"\nloss = 0\n", "H9");
    refused("[link_retry]\nkind = \"llr\"\nframes = 0\n", "0 frames outstanding");
    refused("[link_retry]\nkind = \"llr\"\nbuffer = \"10B\"\n", "no room for a frame");
    let cut = line(100, 1, "[link_retry]\nkind = \"llr\"\n", "")
        .replace("buffer = \"10MB\"", "buffer = \"10MB\"\ncut_through = \"64B\"");
    let e = NetworkScenario::from_text("links.toml", &cut, &[], Path::new(""))
        .err()
        .unwrap()
        .render(false);
    assert!(e.contains("check sequence"), "{e}");
    let s = load(&line(1000, 1, "[link_retry]\nkind = \"llr\"\nbuffer = \"5KB\"\n", ""));
    assert!(
        s.warnings.render(false).contains("replay buffer 5 KB < "),
        "{}",
        s.warnings.render(false)
    );
}

/// However a link loses what it keeps - too many replays, with a handshake after them or without,
/// or a failure in the middle of them - each frame that was sent has arrived or is counted as lost,
/// once, with the cause; what had arrived before its link gave it up is not.
#[test]
fn what_a_link_gives_up_is_a_loss_unless_it_had_arrived() {
    let (mut given_up, mut failed, mut arrived, mut on_control) = (0, 0, 0, 0);
    for case in 0..120u64 {
        let retry = [
            "on_flush = \"re-init\"\nreplays = 1\n",
            "on_flush = \"best-effort\"\nreplays = 1\n",
            "replays = 3\n",
            "replays = 255\n",
        ];
        let flow_control =
            ["kind = \"pfc\"\n", "kind = \"uec-cbfc\"\n", "kind = \"cbfc\"\n"][case as usize % 3];
        let seen = if case % 5 == 0 { "seen = false\n" } else { "" };
        let loss = [0.5, 0.3, 0.7][case as usize / 4 % 3];
        let failure = match case % 2 {
            0 => String::new(),
            _ => format!("[[failure]]\nlink = \"S1-S2\"\nat = \"{}ns\"\n", 20_000 + 1_237 * case),
        };
        let text = format!(
            "[run]\nduration = \"20ms\"\nseed = {case}\ndeadlock_interval = \"0us\"\n[topology]\nkind = \"dumbbell\"\nsenders = 2\nreceivers = 2\nrate = \"10Gbps\"\n\
             [host]\nframe_max = \"{MTU}B\"\nacks = \"per-frame\"\n[flow_control]\n{flow_control}[[link_errors]]\nkind = \"frame\"\nloss = {loss}\n{seen}{failure}\
             [link_retry]\nkind = \"llr\"\n{}[[flow]]\nsrc = \"H0\"\ndst = \"H2\"\nsize = \"60KB\"\n[[flow]]\nsrc = \"H1\"\ndst = \"H3\"\nsize = \"40KB\"\n",
            retry[case as usize % 4]
        );
        let f = run(&text);
        let o = &f.outcome;
        let sent = o.flows.iter().map(|f| f.sent).sum::<u64>() / MTU;
        assert_eq!(
            sent,
            o.delivered_frames + o.lost.total().data,
            "case {case}: {:?} {:?}\n{text}",
            o.lost,
            o.retry
        );
        assert_eq!(o.violations_total, 0, "case {case}: {:?}\n{text}", o.violations);
        // The column `lost` of the table ports.
        let at_ports: u64 = o.ports.iter().flatten().map(|p| p.lost).sum();
        assert_eq!(at_ports, o.lost.on_links().total(), "case {case}");
        (given_up, failed) =
            (given_up + o.lost[Loss::GivenUp].data, failed + o.lost[Loss::OnFailedLink].data);
        arrived += u64::from(
            o.retry.given_up.total()
                > o.lost[Loss::GivenUp].total() + o.lost[Loss::OnFailedLink].total(),
        );
        on_control += o.lost[Loss::GivenUp].control;
    }
    assert!(
        given_up > 100 && failed > 20 && arrived > 20 && on_control > 20,
        "{given_up} {failed} {arrived} {on_control}"
    );
}
