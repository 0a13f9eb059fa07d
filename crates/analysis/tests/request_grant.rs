//! The analytical claims of the request-grant paper (RG section 2): Lemma 1, Theorem 1,
//! Corollary 1. All figures are exact, and those with a closed form are asserted with `==`.

use xoff_analysis::scheduled::admission::{Admission, Arbitrated, Limit};
use xoff_analysis::scheduled::clos::Clos;
use xoff_analysis::scheduled::network::{Discipline, Network, Split};
use xoff_analysis::scheduled::rational::Q;
use xoff_analysis::scheduled::theorem_1::{Premise, Report, Stopped, Trial};
use xoff_analysis::scheduled::{examples, lemma_1};
use xoff_units::Span;

/// m, stages, epochs of random traffic.
const NETWORKS: [(usize, usize, u64); 8] = [
    (2, 3, 2000),
    (2, 5, 1000),
    (2, 7, 200),
    (3, 3, 400),
    (3, 5, 100),
    (4, 3, 300),
    (4, 5, 20),
    (8, 3, 100),
];

fn networks() -> impl Iterator<Item = (Clos, u64)> {
    NETWORKS.into_iter().map(|(m, stages, epochs)| (Clos::new(m, stages).unwrap(), epochs))
}

fn b() -> Q {
    Q::int(6)
}

fn q(n: usize) -> Q {
    Q::int(n as i128)
}

/// Uniform, mixed and adversarial traffic (one hotspot after the other), held back by the output
/// arbiters.
fn arbitrated(network: &Network, limit: Limit, epochs: u64) -> impl Iterator<Item = Report> {
    [(0, 1), (3, 2), (6, 3), (8, 4), (8, 5)].into_iter().map(move |(hot_eighths, seed)| {
        let admission =
            Admission::Arbitrated(Arbitrated { limit, seed, hot_eighths, epoch: Q::ONE, epochs });
        Trial { network: network.clone(), b: b(), buffer: b(), admission, stopped: Vec::new() }
            .run()
            .unwrap()
    })
}

fn highest(reports: &[Report]) -> Q {
    reports.iter().map(|r| r.routing().level).max().unwrap()
}

#[test]
fn lemma_1_holds_for_ten_thousand_sequences_and_is_reached() {
    let mut whole = 0;
    for seed in 0..10_000 {
        let (output, grants) = lemma_1::random(seed);
        let run = output.run(&grants);
        assert!(
            run.peak.backlog <= output.bound(),
            "seed {seed}: {:?} above {:?}",
            run.peak,
            output.bound()
        );
        // Whole segments: the one on the wire comes on top.
        let bound = output.bound().0.div_ceil(output.segment_time.0);
        assert!(
            run.whole_segments_max <= bound + 1,
            "seed {seed}: {} whole segments",
            run.whole_segments_max
        );
        whole += u64::from(run.whole_segments_max > bound);
        // The longest round trip, then the shortest, with enough segments: the bound itself.
        let (longest, shortest) = (
            (0..output.rtts.len()).max_by_key(|i| output.rtts[*i]).unwrap(),
            (0..output.rtts.len()).min_by_key(|i| output.rtts[*i]).unwrap(),
        );
        let tight =
            output.run(&[lemma_1::Grant::now(longest, 50), lemma_1::Grant::now(shortest, 50)]);
        assert_eq!(tight.peak.backlog, output.bound(), "seed {seed}");
    }
    assert_eq!(whole, 5050, "outputs that hold one whole segment more than the bound");
}

#[test]
fn late_answers_pass_the_lemma_but_not_the_effective_bound() {
    let (mut passed, mut excess) = (0, Span::ZERO);
    for seed in 0..2_000 {
        // Four outputs share the inputs of the first.
        let fabric = lemma_1::random(4 * seed).0;
        let mut outputs: Vec<_> = (0..4)
            .map(|o| {
                let mut grants = lemma_1::random(4 * seed + o).1;
                grants.iter_mut().for_each(|g| g.input %= fabric.rtts.len());
                (xoff_units::Time::ZERO, grants)
            })
            .collect();
        lemma_1::one_at_a_time(&fabric, &mut outputs);
        for (_, grants) in &outputs {
            let peak = fabric.run(grants).peak.backlog;
            assert!(peak <= fabric.effective_bound(grants), "seed {seed}");
            if peak > fabric.bound() {
                passed += 1;
                excess = excess.max(peak - fabric.bound());
            }
        }
    }
    // Figures of docs/theory/request-grant.md; the bound is at most 400 ns.
    assert_eq!((passed, excess.0 / 100_000), (6895, 71), "of 8000 outputs, by 7.1 us at most");
}

#[test]
fn theorem_1_holds_for_uniform_and_adversarial_traffic() {
    for (clos, epochs) in networks() {
        let reports: Vec<Report> =
            arbitrated(&Network::of_the_theorem(clos), Limit::Outstanding(b()), epochs).collect();
        for r in &reports {
            assert_eq!(r.broken, [], "{clos:?}");
            assert!(r.routing_holds() && r.distribution_never_queues(), "{clos:?}: {:?}", r.stages);
            assert_eq!(r.first_full, None, "Corollary 1, {clos:?}");
            assert!(r.burst.level <= b(), "premise (iv) implies the outline's envelope");
        }
        // The check is worth something: the arbiters were at their limit and a buffer was full, or
        // nearly.
        assert!(reports.iter().all(|r| r.outstanding.level == b()), "{clos:?}");
        for stage in clos.distribution_stages() + 1..clos.stages() {
            let level = reports.iter().map(|r| r.stages[stage - 1].level).max().unwrap();
            let typical = b() * Q::new(72, 100)..=b() * Q::new(84, 100);
            assert!(typical.contains(&level), "{clos:?}, stage {stage}: {level}");
        }
        assert_eq!(highest(&reports), b(), "{clos:?}");
    }
}

#[test]
fn theorem_1_is_tight_in_every_routing_stage() {
    for (clos, _) in networks() {
        for stage in 1..=clos.stages() {
            let Some(trial) = examples::tight(clos, stage, b()) else {
                assert!(stage <= clos.distribution_stages());
                continue;
            };
            let r = trial.run().unwrap();
            assert!(r.holds() && r.broken.is_empty(), "{r:?}");
            let at = (r.routing().buffer.stage, r.routing().level, r.routing().time);
            assert_eq!(at, (stage, b(), b() / q(clos.element() - 1)), "{clos:?}");
            // (i) A buffer that is smaller by any amount makes flow control act, sooner by its
            // share.
            let smaller = Trial { buffer: b() - Q::new(1, 1000), ..trial };
            let r = smaller.run().unwrap();
            assert_eq!(r.broken, [Premise::BufferSize]);
            assert_eq!(
                r.first_full.unwrap().time,
                smaller.buffer / q(clos.element() - 1),
                "{clos:?}"
            );
        }
    }
}

#[test]
fn theorem_1_does_not_need_hosts_that_listen() {
    // RG section 4.1: adapters that take nothing for a while, here forever and by rotation.
    // Counting, not draining.
    for (clos, epochs) in networks() {
        let admission = Admission::Arbitrated(Arbitrated {
            limit: Limit::Outstanding(b()),
            seed: 9,
            hot_eighths: 6,
            epoch: Q::ONE,
            epochs,
        });
        let half = (0..clos.ports() / 2).map(|output| Stopped {
            output,
            from: q(output),
            until: q(output + 20),
        });
        let stopped = half
            .chain([Stopped { output: clos.ports() - 1, from: Q::ZERO, until: q(100_000) }])
            .collect();
        let r = Trial {
            network: Network::of_the_theorem(clos),
            b: b(),
            buffer: b(),
            admission,
            stopped,
        }
        .run()
        .unwrap();
        assert!(r.holds() && r.broken.is_empty(), "{clos:?}: {r:?}");
    }
}

#[test]
fn without_iv_buffers_pass_b() {
    for (clos, epochs) in networks() {
        for stage in clos.distribution_stages() + 1..=clos.stages() {
            let r = examples::unlimited(clos, stage, b()).unwrap().run().unwrap();
            assert_eq!(
                (r.broken.as_slice(), r.routing().level),
                ([Premise::Outstanding].as_slice(), b() * q(2)),
                "{clos:?}"
            );
            assert_eq!(r.first_full.unwrap().time, b() / q(clos.element() - 1));
        }
        let r: Vec<Report> =
            arbitrated(&Network::of_the_theorem(clos), Limit::None, epochs.min(60)).collect();
        assert!(
            r.iter().all(|r| r.distribution_never_queues()),
            "the distribution half does not need it"
        );
        assert!(highest(&r) > b() * q(2), "{clos:?}");
    }
}

#[test]
fn the_outlines_envelope_is_not_enough() {
    let r = examples::envelope_only(b()).unwrap().run().unwrap();
    assert_eq!(r.burst.level, b(), "at most T + b in any T");
    assert_eq!(
        (r.routing().buffer.stage, r.routing().level, r.routing().time),
        (3, b() * Q::new(4, 3), b() * q(2))
    );
    assert_eq!(r.broken, [Premise::Outstanding]);
    // Random traffic finds it as well, and worse.
    let worst = |m, stages| {
        let net = Network::of_the_theorem(Clos::new(m, stages).unwrap());
        let reports: Vec<Report> = arbitrated(&net, Limit::Envelope(b()), 600).collect();
        assert!(reports.iter().all(|r| r.burst.level <= b()));
        highest(&reports)
    };
    assert_eq!((worst(2, 3), worst(2, 5)), (b() * Q::new(3, 2), b() * Q::new(35, 24)));
}

#[test]
fn without_v_one_half_or_the_other_fails() {
    for (clos, epochs) in networks() {
        let g = q(clos.routes());
        for trial in [examples::single_route(clos, b()), examples::by_source(clos, b())] {
            let r = trial.run().unwrap();
            assert_eq!(
                (r.broken.as_slice(), r.routing().level),
                ([Premise::EvenSplit].as_slice(), g * b()),
                "{clos:?}"
            );
            assert_eq!(r.routing().buffer.stage, clos.distribution_stages() + 1);
        }
        let r = examples::by_destination(clos, b()).run().unwrap();
        assert_eq!(
            (r.broken.as_slice(), r.distribution().unwrap().level),
            ([Premise::EvenSplit].as_slice(), g * b()),
            "{clos:?}"
        );
        // A route per destination is right for the routing half, a route per source for the
        // distribution half.
        for (split, good) in [
            (Split::ByDestination, Report::routing_holds as fn(&Report) -> bool),
            (Split::BySource, Report::distribution_never_queues),
        ] {
            let net = Network { split, ..Network::of_the_theorem(clos) };
            for r in arbitrated(&net, Limit::Outstanding(b()), epochs.min(40)) {
                assert!(good(&r), "{clos:?} {:?}", net.split);
            }
        }
    }
}

#[test]
fn without_v_any_unevenness_gives_the_same() {
    for (m, share) in [
        (2, Q::new(3, 4)),
        (2, Q::new(51, 100)),
        (3, Q::new(2, 5)),
        (4, Q::new(1, 3)),
        (8, Q::new(1, 4)),
    ] {
        let r = examples::uneven(m, share, b()).unwrap().run().unwrap();
        assert_eq!(
            (r.routing().level, r.routing().time),
            (q(m) * b(), q(m) * b() / (share * q(m) - Q::ONE)),
            "m = {m}, {share}"
        );
        assert_eq!(r.broken, [Premise::EvenSplit]);
        assert!(r.distribution_never_queues());
    }
    assert!(examples::uneven(2, Q::new(1, 2), b()).is_none());
}

#[test]
fn without_ii_the_rest_waits_where_there_is_no_buffer() {
    for (clos, epochs) in networks() {
        let m = q(clos.element());
        for write in [Q::ONE, Q::new(3, 2)] {
            let r =
                examples::limited_write(clos, clos.stages(), b(), write).unwrap().run().unwrap();
            assert_eq!(r.routing().level, b() * (write - Q::ONE) / (m - Q::ONE), "{clos:?}");
            assert_eq!(r.waiting.level, b() * (m - write) / (m - Q::ONE), "{clos:?}");
            assert_eq!(r.broken, [Premise::FullWriteBandwidth]);
        }
        let net = Network { write: Some(Q::new(3, 2)), ..Network::of_the_theorem(clos) };
        for r in arbitrated(&net, Limit::Outstanding(b()), epochs.min(60)) {
            assert!(
                r.holds() && r.waiting.level.is_positive() && r.waiting.level <= b(),
                "{clos:?}"
            );
        }
    }
}

#[test]
fn inputs_above_link_rate_fill_the_distribution_half() {
    for (clos, _) in networks() {
        let r = examples::fast_inputs(clos, b()).run().unwrap();
        assert_eq!(r.broken, [Premise::InputRate]);
        let peak = r.distribution().unwrap();
        assert_eq!((peak.buffer.stage, peak.level), (1, q(clos.routes()) * b()), "{clos:?}");
    }
}

#[test]
fn premises_i_to_v_are_not_enough_from_five_stages_on() {
    let r = examples::unlike_service(b()).unwrap().run().unwrap();
    assert_eq!(r.broken, [Premise::AlikeService]);
    assert_eq!(r.outstanding.level, b());
    assert_eq!(
        (r.routing().buffer.stage, r.routing().level, r.routing().time),
        (4, b() * Q::new(4, 3), b() * q(2))
    );
    // Three stages: any order of service will do. The middle has T + b, the last stage is counted.
    let unlike = Discipline::Ranked(|clos, b, output| (b.switch + output / clos.element()) % 2);
    for (clos, epochs) in networks().filter(|(clos, _)| clos.stages() == 3) {
        let net = Network { discipline: unlike, ..Network::of_the_theorem(clos) };
        for r in arbitrated(&net, Limit::Outstanding(b()), epochs) {
            assert!(r.holds() && r.broken == [Premise::AlikeService], "{clos:?}");
        }
    }
    // The same order on all routes: any number of stages.
    let alike = Discipline::Ranked(|_, _, output| output % 3);
    for (clos, epochs) in networks() {
        let net = Network { discipline: alike, ..Network::of_the_theorem(clos) };
        for r in arbitrated(&net, Limit::Outstanding(b()), epochs.min(100)) {
            assert!(r.holds() && r.broken.is_empty(), "{clos:?}");
        }
    }
}

#[test]
fn premises_i_to_v_are_not_enough_with_links_of_unequal_length() {
    // However little one link is longer; from 2 b on it is as bad as a single route, (N/m) b.
    for d in [Q::ZERO, Q::new(1, 100), Q::ONE, b(), b() * q(2)] {
        let r = examples::unequal_links(b(), d).unwrap().run().unwrap();
        let half = d / q(2);
        assert_eq!(r.routing().level, b() + half, "d = {d}");
        assert_eq!(r.outstanding.level, b());
        if d.is_positive() {
            assert_eq!(r.broken, [Premise::EqualLinks]);
            assert_eq!((r.routing().buffer.stage, r.routing().time), (2, b() + d + half));
        }
    }
    // Equally long links: the theorem, whatever their length.
    for (clos, epochs) in networks() {
        let net = Network::of_the_theorem(clos).with_delays(|b| Q::new(b.stage as i128, 2));
        for r in arbitrated(&net, Limit::Outstanding(b()), epochs.min(100)) {
            assert!(r.holds() && r.broken.is_empty(), "{clos:?}");
        }
    }
}
