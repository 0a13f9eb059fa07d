//! Links that corrupt and resend real frames: where virtual time is exact, frame by frame those of
//! the simulator.

use xoff_real::switchd::mac;
use xoff_real::wire::link_retry::{self, Repr};
use xoff_units::NodeId;

use super::*;

/// One flow H0 - S1 - H1 in whole nanoseconds: no two frames arrive at once.
fn line(rest: &str) -> NetworkScenario {
    let text = format!(
        "[run]\nduration = \"400ms\"\ndeadlock_interval = \"0us\"\n[topology]\nkind = \"star\"\nhosts = 2\nrate = \"100Mbps\"\ndelay = \"10us\"\n\
         [switch]\nbuffer = \"400KB\"\n[[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nsize = \"600KB\"\n{rest}"
    );
    NetworkScenario::from_text("line.toml", &text, &[], Path::new(""))
        .unwrap_or_else(|e| panic!("{}\n{text}", e.render(false)))
}

/// A run over bytes, and the same run simulated.
fn both(s: &NetworkScenario) -> (Finished, Finished) {
    let mut b = Bench { early: true, ..Bench::new(s, &Real::default()) };
    let ended = b.run(Time::from_us(400_000), &mut whole);
    assert_eq!(b.counters(|c| c.malformed + c.unexpected + c.strange + c.stale), 0);
    (b.finish(ended), s.run(Sink::Nothing).unwrap())
}

/// A replay of the capture of a run is identical.
fn replayed(s: &NetworkScenario) {
    let mut b = Bench::new(s, &Real::default());
    b.run(Time::from_us(400_000), &mut whole);
    let log = b.log;
    let Bench { mut running, mut machine, far, .. } = Bench::new(s, &Real::default());
    let far: Vec<_> = far.into_iter().map(Some).collect();
    let all = log.len();
    let seen = replay(running.world(), &mut machine, &far, log.into_iter(), || true);
    assert_eq!(seen.difference, None);
    assert_eq!((seen.inbound + seen.outbound) as usize, all);
}

const ERRORS: [&str; 5] = [
    "kind = \"frame\"\nloss = 0.05\n",
    "kind = \"frame\"\nloss = 0.05\nseen = false\n",
    "kind = \"bit\"\nber = 1e-5\n",
    "kind = \"burst\"\nto_bad = 0.02\nto_good = 0.3\n",
    "kind = \"nth\"\nnumbers = [\"3\", \"4\", \"57\", \"58\", \"211\"]\n",
];

/// The same frames are hit, at the same places of the flow, and the times of the flow are the same to
/// the picosecond; with acknowledgements within 100 ns. A replay of the capture is identical.
#[test]
fn the_frames_that_are_hit_are_those_of_the_simulator() {
    for retry in [
        "",
        "[link_retry]\nkind = \"llr\"\n",
        "[link_retry]\nkind = \"llr\"\nnack_again = true\nreplays = 255\n",
        "[link_retry]\nkind = \"llr\"\nreplays = 1\n",
        "[link_retry]\nkind = \"llr\"\nreplays = 1\non_flush = \"best-effort\"\n",
    ] {
        for errors in ERRORS {
            for host in
                ["", "[host]\nacks = \"per-frame\"\nrecovery = \"go-back-n\"\nrto = \"5ms\"\n"]
            {
                let ports = if host.is_empty() { "ports = [\"H0->S1\"]\n" } else { "" };
                let s = line(&format!("{host}{retry}[[link_errors]]\n{ports}{errors}"));
                let (real, simulated) = both(&s);
                let what = format!("{errors}{retry}{host}");
                let (r, i) = (&real.outcome, &simulated.outcome);
                assert_eq!((r.lost, r.retry), (i.lost, i.retry), "{what}");
                assert!(i.lost.total().total() + i.retry.corrupted.total() > 0, "{what}: no hit");
                let [f, g] = [r, i].map(|o| &o.flows[0]);
                assert_eq!(f.delivered, g.delivered, "{what}");
                let apart = |a: Option<Time>, b: Option<Time>| {
                    a.zip(b).map_or(u64::from(a != b), |(a, b)| a.0.abs_diff(b.0))
                };
                let apart = apart(f.received, g.received).max(apart(f.end, g.end));
                // Two frames at once at two ports are taken one after the other.
                let most = if host.is_empty() { 0 } else { Span::from_ns(100).0 };
                assert!(apart <= most, "{what}: {apart} ps");
                assert_eq!((r.violations_total, i.violations_total), (0, 0), "{what}");
                replayed(&s);
            }
        }
    }
}

/// Frames, credits and answers of a ring are hit: with retry nothing is lost, and flows take as
/// long as those of the simulator.
#[test]
fn retry_hides_errors_from_flow_control() {
    for (kind, discipline) in MOVING {
        let text = format!(
            "{RING}\n[link_retry]\nkind = \"llr\"\nreplays = 255\ntimer = \"4ms\"\n[[link_errors]]\nkind = \"frame\"\nloss = 0.02\nframes = \"flows\"\n"
        );
        let set: Vec<_> = [
            format!("flow_control.kind={kind}"),
            format!("switch.discipline={discipline}"),
            "switch.buffer=8MB".into(),
            "flow_control.gfc-buffer.bm=397KB".into(),
        ]
        .iter()
        .map(|s| xoff_scenario::document::Override::set(s).unwrap())
        .collect();
        let s = NetworkScenario::from_text("ring.toml", &text, &set, Path::new(""))
            .unwrap_or_else(|e| panic!("{}", e.render(false)));
        let mut b = Bench::new(&s, &Real::default());
        let ended = b.run(END, &mut whole);
        let real = b.finish(ended);
        let simulated = s.run(Sink::Nothing).unwrap().outcome;
        all_flows_complete(kind, &real);
        let r = &real.outcome;
        assert_eq!(
            (r.lost.total().total(), r.violations_total),
            (0, 0),
            "{kind}: {:?}",
            r.violations
        );
        assert!(r.retry.corrupted.data > 50, "{kind}: {:?}", r.retry);
        for (r, i) in r.flows.iter().zip(&simulated.flows) {
            let (r, i) = (r.received.unwrap().as_secs_f64(), i.received.unwrap().as_secs_f64());
            assert!((r / i - 1.0).abs() < 0.03, "{kind}: {r} s with bytes, {i} s simulated");
        }
    }
}

/// A frame of another sender that a link sends again has the same bytes, and arrives once.
#[test]
fn frames_of_others_are_sent_again_whole() {
    let text = "[run]\nduration = \"100ms\"\n[topology]\nkind = \"star\"\nhosts = 2\nrate = \"100Mbps\"\ndelay = \"10us\"\n\
        [link_retry]\nkind = \"llr\"\nframes = 64\nbuffer = \"200KB\"\n\
        [[link_errors]]\nports = [\"S1->H1\"]\nkind = \"frame\"\nloss = 0.2\nframes = \"flows\"\n\
        [[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nsize = \"1KB\"\nstart = \"90ms\"\n";
    let s = NetworkScenario::from_text("others.toml", text, &[], Path::new(""))
        .unwrap_or_else(|e| panic!("{}", e.render(false)));
    let host =
        |name: &str| NodeId(s.topology.nodes.iter().position(|n| n.name == name).unwrap() as u32);
    let mut b = Bench::new(&s, &Real::default());
    let at =
        |name: &str, b: &Bench| b.machine.links().position(|(l, _, _)| l.name == name).unwrap();
    let (from, to) = (at("S1->H0", &b), at("H1->S1", &b));
    let frame = |n: u16| {
        let mut f = [&mac(host("H1"), 0).0[..], &mac(host("H0"), 0).0[..], &[0x12, 0x34]].concat();
        f.resize(60 + usize::from(n % 500), n as u8);
        f[14..16].copy_from_slice(&n.to_be_bytes());
        f
    };
    const FRAMES: u16 = 300;
    for n in 0..FRAMES {
        let arrival = (Time::from_us(100 + 100 * u64::from(n)), u64::from(n));
        b.under_way.insert(arrival, (from, frame(n)));
    }
    b.sent = u64::from(FRAMES);
    b.run(Time::from_us(80_000), &mut whole);
    // What H1 got, by the number on the link: each transmission of a frame has its bytes.
    let mut by_number: BTreeMap<u32, Vec<&[u8]>> = BTreeMap::new();
    for c in b.log.iter().filter(|c| c.inbound && c.link == to) {
        if let Some((Repr { kind: 0, number }, inner)) = link_retry::parse_frame(&c.bytes).unwrap()
        {
            by_number.entry(number).or_default().push(inner);
        }
    }
    assert_eq!(by_number.len(), usize::from(FRAMES));
    assert!(by_number.values().any(|copies| copies.len() > 1), "nothing was sent again");
    for (n, copies) in &by_number {
        assert!(copies.iter().all(|c| **c == frame(*n as u16)), "frame {n}");
    }
    // H1 forwards nothing: each ends there once, whatever the link did.
    let refused: Vec<u64> = b.machine.links().map(|(_, c, _)| c.no_route).collect();
    assert_eq!(refused[to], u64::from(FRAMES));
}

/// What a neighbour sends with numbers is bounded, and a port without retry refuses it.
#[test]
fn signals_of_a_hostile_neighbour_end_no_run() {
    let with =
        line("[link_retry]\nkind = \"llr\"\n[[link_errors]]\nkind = \"frame\"\nloss = 0.01\n");
    let without = line("");
    for (s, numbered) in [(&with, true), (&without, false)] {
        let mut b = Bench::new(s, &Real::default());
        let mut n = 0u32;
        let ended = b.run(Time::from_us(400_000), &mut |_, bytes| {
            n = n.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let mut all = vec![(Span::ZERO, bytes.to_vec())];
            if n.is_multiple_of(7) {
                let mut frame = [0; 60];
                let signal = Repr { kind: (n >> 8) as u8 % 5, number: n >> 12 };
                let message = xoff_real::wire::local::Message::LinkRetry(signal);
                let to = xoff_real::wire::ethernet::Mac::FLOW_CONTROL;
                message.emit_frame(to, mac(NodeId(0), 0), &mut frame).unwrap();
                all.push((Span::from_us(u64::from(n % 1000)), frame.to_vec()));
            }
            all
        });
        let refused = b.counters(|c| c.unexpected);
        let f = b.finish(ended);
        assert_eq!(refused > 0, !numbered);
        assert_eq!(f.outcome.violations_total, 0, "{:?}", f.outcome.violations);
        assert!(numbered || f.manifest.flows_completed == 1);
    }
}
