//! A network that another program drives: closed forms, and the same traffic as a scenario.

use std::collections::HashMap;
use std::path::Path;

use xoff_record::Sink;
use xoff_run::{Driven, Happened, Interrupted, Message, NetworkScenario, Receive, What};
use xoff_units::{NodeId, Rate, Span, Time};

/// Hosts around one switch: 100 Gb/s, 1 us, frames of 1000 B payload and 48 B header.
fn star(hosts: u32, more: &str) -> String {
    format!(
        "[topology]\nkind = \"star\"\nhosts = {hosts}\nrate = \"100Gbps\"\ndelay = \"1us\"\n\
         [host]\nframe_max = \"1048B\"\nheader = \"48B\"\n[flow_control]\nkind = \"pfc\"\n{more}"
    )
}

fn driven(text: &str) -> Driven {
    Driven::new("driven.toml", text, &[], Path::new("."), &[3]).unwrap_or_else(|e| panic!("{e}"))
}

fn message(src: NodeId, dst: NodeId, bytes: u64, tag: u64) -> Message {
    Message { src, dst, bytes, priority: 3, queue_pair: None, tag }
}

/// A frame of 1048 B at 100 Gb/s, and a cable [ps].
const TX: u64 = 83_840;
const D: u64 = 1_000_000;

#[test]
fn a_message_takes_what_the_closed_form_gives_and_nothing_follows() {
    let mut d = driven(&star(3, ""));
    let (a, b) = (d.host("H0").unwrap(), d.host("H1").unwrap());
    let id = d.send(&message(a, b, 100_000, 7)).unwrap();
    let sent = Happened { what: What::Sent, at: Time(99 * TX), id, tag: 7 };
    let delivered = Happened { what: What::Delivered, at: Time(101 * TX + 2 * D), id, tag: 7 };
    assert_eq!(
        [d.next(Time::NEVER), d.next(Time::NEVER), d.next(Time::NEVER)],
        [Some(sent), Some(delivered), None]
    );
    assert_eq!((d.now(), d.lost_frames()), (delivered.at, 0));
    // The network continues from there, at any later time.
    d.schedule(Span(500), 1);
    assert_eq!(
        d.next(Time::NEVER).map(|h| (h.what, h.at)),
        Some((What::Timer, Time(delivered.at.0 + 500)))
    );
    d.send(&message(b, a, 1000, 8)).unwrap();
    let ends: Vec<_> =
        std::iter::from_fn(|| d.next(Time::NEVER)).map(|h| h.at.0 - delivered.at.0 - 500).collect();
    assert_eq!(ends, [0, 2 * TX + 2 * D]);
}

/// Before: looks of the detector, and calls that found nothing due, were made up for afterwards, one
/// after the other; the wait of a message after a quiet day did not return.
#[test]
fn a_message_after_a_long_quiet_time_takes_as_long_as_the_first() {
    const LONG: u64 = i64::MAX as u64;
    // Receivers of credits send by the clock forever, so such a wait does not end there yet.
    for kind in ["none", "pfc"] {
        for rates in ["", "[rate_control]\nkind = \"dcqcn\"\n[detection]\nkind = \"red\"\n"] {
            let pfc = star(3, rates).replace("kind = \"pfc\"", &format!("kind = \"{kind}\""));
            let mut d = driven(&pfc);
            let (a, b) = (d.host("H0").unwrap(), d.host("H1").unwrap());
            let mut took = Vec::new();
            for from in [0, LONG] {
                assert_eq!(d.next(Time(from)), None, "{kind}");
                d.send(&message(a, b, 100_000, 7)).unwrap();
                let ends: Vec<u64> =
                    std::iter::from_fn(|| d.next(Time::NEVER)).map(|h| h.at.0 - from).collect();
                took.push(ends);
            }
            assert_eq!(took[0].len(), 2, "{kind}: {took:?}");
            // Where messages are sent by the clock, it does not begin with the message.
            let apart = took[0].iter().zip(&took[1]).all(|(a, b)| a.abs_diff(*b) < 2_000_000);
            assert!(apart && took[1].len() == 2, "{kind}: {took:?}");
        }
    }
}

/// Before: such a wait did not return, because receivers send credits by the clock for ever.
#[test]
fn a_wait_without_a_limit_ends_under_credits_by_the_clock_too() {
    for kind in ["cbfc", "uec-cbfc", "gfc-time"] {
        let text = star(3, "").replace("kind = \"pfc\"", &format!("kind = \"{kind}\""));
        let mut d = driven(&text);
        let hosts: Vec<NodeId> = d.hosts().collect();
        assert_eq!(d.next(Time::NEVER), None, "{kind}");
        for from in [0, 1_000_000_000] {
            assert_eq!(d.next(Time(from)), None, "{kind}");
            d.send(&message(hosts[0], hosts[1], 1000, 7)).unwrap();
            let ends: Vec<u64> =
                std::iter::from_fn(|| d.next(Time::NEVER)).map(|h| h.at.0 - from).collect();
            assert_eq!(ends, [0, 2 * TX + 2 * D], "{kind}");
        }
    }
}

/// A rank sends its next part as soon as one has arrived: the collective of the scenario, from
/// outside.
#[test]
fn a_ring_all_reduce_driven_from_outside_ends_when_the_collective_does() {
    const RANKS: u32 = 8;
    for control in ["", "[rate_control]\nkind = \"dcqcn\"\n[detection]\nkind = \"red\"\n"] {
        let text = star(RANKS, control);
        let mut d = driven(&text);
        let hosts: Vec<NodeId> = d.hosts().collect();
        let next = |r: u32| hosts[((r + 1) % RANKS) as usize];
        for r in 0..RANKS {
            d.send(&Message {
                queue_pair: Some(0),
                ..message(hosts[r as usize], next(r), 100_000, 0)
            })
            .unwrap();
        }
        let mut steps = [0; RANKS as usize];
        let mut end = Time::ZERO;
        let mut from: HashMap<u64, u32> = (0..RANKS).map(|r| (r as u64, r)).collect();
        while let Some(h) = d.next(Time::NEVER) {
            if h.what != What::Delivered {
                continue;
            }
            let to = (from[&h.id] + 1) % RANKS;
            steps[to as usize] += 1;
            end = h.at;
            if steps[to as usize] < 2 * (RANKS - 1) {
                let id = d
                    .send(&Message {
                        queue_pair: Some(0),
                        ..message(hosts[to as usize], next(to), 100_000, h.tag + 1)
                    })
                    .unwrap();
                from.insert(id, to);
            }
        }
        let job = format!(
            "[run]\nduration = \"200ms\"\n{text}[[job]]\n[[collective]]\nkind = \"all-reduce\"\nsize = \"800KB\"\n"
        );
        let s = NetworkScenario::from_text("job.toml", &job, &[], Path::new("."))
            .unwrap_or_else(|e| panic!("{e}"));
        let f = s.run(Sink::Nothing).unwrap();
        let ends = f.outcome.ranks[0].iter().map(|r| r.log.iterations[0].1.expect("an end"));
        assert_eq!(Some(end), ends.max(), "{control}");
        if control.is_empty() {
            assert_eq!(end, Time(146_549_760));
        }
    }
}

/// Messages that are handed in at times of timers are flows that begin then.
#[test]
fn random_messages_arrive_when_the_same_flows_of_a_scenario_do() {
    for (case, control) in ["pfc", "cbfc", "gfc-buffer", "gfc-time", "pffc"].into_iter().enumerate()
    {
        let text = format!(
            "[run]\nduration = \"5ms\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts_per_leaf = 3\nrate = \"100Gbps\"\ndelay = \"500ns\"\n[flow_control]\nkind = \"{control}\"\n"
        );
        let mut seed = 17 + case as u64;
        let mut draw = |n: u64| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % n
        };
        let flows: Vec<(u64, u64, u64, u64)> = (0..60)
            .map(|i| {
                let src = draw(9);
                (src, (src + 1 + draw(8)) % 9, 1 + draw(300_000), i * 700 + draw(600))
            })
            .collect();
        let list: String = flows
            .iter()
            .map(|(a, b, size, ns)| {
                format!("[[flow]]\nsrc = \"H{a}\"\ndst = \"H{b}\"\nsize = \"{size}B\"\nstart = \"{ns}ns\"\npriority = 3\n")
            })
            .collect();
        let s = NetworkScenario::from_text("s.toml", &format!("{text}{list}"), &[], Path::new("."))
            .unwrap_or_else(|e| panic!("{e}"));
        let wanted: Vec<Option<Time>> =
            s.run(Sink::Nothing).unwrap().outcome.flows.iter().map(|f| f.received).collect();
        assert!(wanted.iter().all(Option::is_some), "{control}");

        let mut d = driven(&text);
        let hosts: Vec<NodeId> = (0..9).map(|i| d.host(&format!("H{i}")).unwrap()).collect();
        flows.iter().enumerate().for_each(|(i, f)| {
            d.schedule(Span(f.3 * 1000), i as u64);
        });
        let mut arrived = vec![None; flows.len()];
        while let Some(h) = d.next(Time::from_us(5000)) {
            match h.what {
                What::Timer => {
                    let (a, b, size, _) = flows[h.tag as usize];
                    d.send(&message(hosts[a as usize], hosts[b as usize], size, h.tag)).unwrap();
                }
                What::Delivered => arrived[h.tag as usize] = Some(h.at),
                _ => {}
            }
        }
        assert_eq!(arrived, wanted, "{control}");
        assert_eq!(d.now(), Time::from_us(5000), "a wait with a limit ends there");
    }
}

#[test]
fn messages_of_a_queue_pair_leave_one_after_the_other() {
    let ends = |pair: Option<u16>| -> Vec<u64> {
        let mut d = driven(&star(3, ""));
        let hosts: Vec<NodeId> = d.hosts().collect();
        for tag in 0..2 {
            d.send(&Message { queue_pair: pair, ..message(hosts[0], hosts[1], 100_000, tag) })
                .unwrap();
        }
        std::iter::from_fn(|| d.next(Time::NEVER))
            .filter(|h| h.what == What::Delivered)
            .map(|h| h.at.0)
            .collect()
    };
    assert_eq!(ends(Some(5)), [101 * TX + 2 * D, 201 * TX + 2 * D]);
    // Side by side they share the wire.
    assert_eq!(ends(None), [200 * TX + 2 * D, 201 * TX + 2 * D]);
}

#[test]
fn flows_of_the_scenario_run_beside_and_are_not_reported() {
    let with = star(3, "[[flow]]\nsrc = \"H2\"\ndst = \"H1\"\nsize = \"100KB\"\npriority = 3\n");
    let mut d = driven(&with);
    let hosts: Vec<NodeId> = d.hosts().collect();
    let id = d.send(&message(hosts[0], hosts[1], 100_000, 7)).unwrap();
    let all: Vec<Happened> = std::iter::from_fn(|| d.next(Time::NEVER)).collect();
    assert_eq!(
        all.iter().map(|h| (h.what, h.id)).collect::<Vec<_>>(),
        [(What::Sent, id), (What::Delivered, id)]
    );
    assert!(
        all[1].at.0 > 101 * TX + 2 * D + 90 * TX,
        "they share the receiver's wire: {:?}",
        all[1].at
    );
}

#[test]
fn a_deadlock_ends_a_wait_without_a_limit() {
    let text = "[topology]\nkind = \"ring\"\nswitches = 5\nrate = \"10Gbps\"\ndelay = \"1us\"\n[switch]\nbuffer = \"1MB\"\n[flow_control]\nkind = \"pfc\"\n\
                [flow_control.pfc]\nxoff = \"800KB\"\nxon = \"797KB\"\n[control_delay]\nprocessing = \"81.6us\"\n";
    let mut d = driven(text);
    let hosts: Vec<NodeId> = d.hosts().collect();
    // Each host to the one two switches on: each link of the ring carries two flows.
    for i in 0..5 {
        d.send(&message(hosts[i], hosts[(i + 2) % 5], 1 << 40, i as u64)).unwrap();
    }
    let first = d.next(Time::NEVER).expect("a deadlock");
    assert_eq!((first.what, first.tag), (What::Deadlock, 0));
    assert_eq!(
        d.next(Time::NEVER).map(|h| h.what),
        Some(What::Deadlock),
        "again, instead of for ever"
    );
    let later = Time(first.at.0 + 1_000_000_000);
    assert_eq!((d.next(later), d.now(), d.lost_frames()), (None, later, 0));
}

#[test]
fn what_cannot_be_sent_is_refused_with_the_argument() {
    let mut d = driven(&star(3, ""));
    let hosts: Vec<NodeId> = d.hosts().collect();
    let (a, b) = (hosts[0], hosts[1]);
    let switch = (0..4).map(NodeId).find(|n| !hosts.contains(n)).unwrap();
    for (m, key) in [
        (message(NodeId(99), b, 1, 0), "src"),
        (message(switch, b, 1, 0), "src"),
        (message(a, switch, 1, 0), "dst"),
        (message(a, b, u64::MAX, 0), "bytes"),
        (Message { priority: 4, ..message(a, b, 1, 0) }, "priority"),
    ] {
        assert_eq!(d.send(&m).unwrap_err().key, key, "{m:?}");
    }
    assert_eq!(d.next(Time::NEVER), None);
    let refused = |text: &str, priorities: &[u8]| {
        Driven::new("d.toml", text, &[], Path::new("."), priorities)
            .err()
            .expect("refused")
            .to_string()
    };
    assert!(refused(&star(3, ""), &[]).contains("expected one or more from 0 to 7"));
    assert!(refused(&star(3, ""), &[8]).contains("expected one or more from 0 to 7"));
    assert!(refused("[topology]\nkind = \"stra\"\n", &[3]).contains("d.toml:2"));
    assert!(
        refused(&star(3, "[[job]]\n[[collective]]\nsize = \"1MB\"\n"), &[3])
            .contains("only the other program may start messages")
    );
}

/// All events until nothing happens any more.
fn all(d: &mut Driven) -> Vec<(What, u64, u64)> {
    std::iter::from_fn(|| d.next(Time::NEVER)).map(|h| (h.what, h.at.0, h.tag)).collect()
}

/// An acknowledgement of 64 B comes back when the last frame has arrived.
#[test]
fn a_message_is_acknowledged_a_way_back_after_its_delivery() {
    let acks = star(3, "").replace(
        "header = \"48B\"\n",
        "header = \"48B\"\nacks = \"per-frame\"\nack_len = \"64B\"\n",
    );
    for reports in [true, false] {
        let mut d = driven(&acks);
        if reports {
            d.report_acknowledged().unwrap();
        }
        let hosts: Vec<NodeId> = d.hosts().collect();
        d.send(&message(hosts[0], hosts[1], 1000, 7)).unwrap();
        let delivered = 2 * TX + 2 * D;
        let mut wanted = vec![(What::Sent, 0, 7), (What::Delivered, delivered, 7)];
        if reports {
            wanted.push((What::Acknowledged, delivered + 2 * 5_120 + 2 * D, 7));
        }
        assert_eq!(all(&mut d), wanted);
        assert_eq!(d.report_acknowledged().unwrap_err().key, "acknowledged");
    }
    assert_eq!(driven(&star(3, "")).report_acknowledged().unwrap_err().hint, "set host.acks");
}

/// Receives before and after their messages, of parts and of several, in their order; an independent
/// count of bytes.
#[test]
fn receives_are_served_by_bytes_in_their_order() {
    let mut d = driven(&star(3, ""));
    let hosts: Vec<NodeId> = d.hosts().collect();
    let receive =
        |src: usize, bytes, token| Receive { dst: hosts[1], src: hosts[src], tag: 5, bytes, token };
    assert_eq!(d.receive(&receive(0, 1, 0)).unwrap_err().key, "receive");
    d.match_receives().unwrap();
    // Two before: the first needs half a message, the second that half and the next message.
    assert_eq!(d.receive(&receive(0, 500, 10)), Ok(0));
    assert_eq!(d.receive(&receive(0, 1500, 11)), Ok(1));
    for tag in [5, 5, 6] {
        d.send(&Message { queue_pair: Some(0), ..message(hosts[0], hosts[1], 1000, tag) }).unwrap();
    }
    let received = |all: Vec<(What, u64, u64)>| -> Vec<(u64, u64)> {
        all.into_iter().filter(|e| e.0 == What::Received).map(|e| (e.1, e.2)).collect()
    };
    let at = |n: u64| (n + 1) * TX + 2 * D;
    assert_eq!(received(all(&mut d)), [(at(1), 10), (at(2), 11)]);
    // After: the message with tag 6 is there, one of another host is not.
    assert_eq!(d.receive(&Receive { tag: 6, ..receive(0, 1000, 12) }), Ok(2));
    assert_eq!(d.receive(&receive(2, 1, 13)), Ok(3));
    assert_eq!(received(all(&mut d)), [(at(3), 12)]);
    // To itself, and without bytes.
    d.send(&message(hosts[1], hosts[1], 0, 5)).unwrap();
    assert_eq!(d.receive(&receive(1, 0, 14)), Ok(4));
    d.send(&message(hosts[2], hosts[1], 0, 5)).unwrap();
    let now = d.now().0;
    let frame = 49 * 80; // 1 B of payload and a header of 48 B
    let wanted = [
        (What::Sent, now, 5),
        (What::Delivered, now, 5),
        (What::Received, now, 14),
        (What::Sent, now, 5),
        (What::Delivered, now + 2 * frame + 2 * D, 5),
        (What::Received, now + 2 * frame + 2 * D, 13),
    ];
    assert_eq!(all(&mut d), wanted);
}

/// A link that fails on command is the failure of a scenario at that time; one at half rate takes
/// twice as long.
#[test]
fn links_fail_and_slow_down_on_command() {
    let text = "[run]\nduration = \"5ms\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\nrate = \"100Gbps\"\n\
                delay = \"1us\"\n[flow_control]\nkind = \"pfc\"\n[host]\nacks = \"per-frame\"\nrecovery = \"go-back-n\"\nrto = \"50us\"\n";
    let flows: String = (0..2)
        .map(|h| {
            format!(
                "[[flow]]\nsrc = \"H{h}\"\ndst = \"H{}\"\nsize = \"1MB\"\npriority = 3\n",
                h + 2
            )
        })
        .collect();
    for link in ["L1-S1", "L1-S2", "S1-L2"] {
        let failure = format!("[[failure]]\nlink = \"{link}\"\nat = \"30000001ps\"\n");
        let s = NetworkScenario::from_text(
            "s.toml",
            &format!("{text}{flows}{failure}"),
            &[],
            Path::new("."),
        )
        .unwrap_or_else(|e| panic!("{e}"));
        let wanted: Vec<Option<Time>> =
            s.run(Sink::Nothing).unwrap().outcome.flows.iter().map(|f| f.received).collect();
        let mut d = driven(text);
        let hosts: Vec<NodeId> = d.hosts().collect();
        for h in 0..2 {
            d.send(&message(hosts[h], hosts[h + 2], 1_000_000, h as u64)).unwrap();
        }
        // At no time of another event, which would come first.
        assert_eq!(d.next(Time(30_000_001)), None);
        d.fail_link(link).unwrap();
        let mut arrived = vec![None; 2];
        while let Some(h) = d.next(Time::from_us(5000)) {
            if h.what == What::Delivered {
                arrived[h.tag as usize] = Some(h.at);
            }
        }
        assert_eq!(arrived, wanted, "{link}");
        assert!(wanted.iter().all(Option::is_some));
    }
    let mut d = driven(text);
    assert_eq!(d.fail_link("L1-S9").unwrap_err().key, "failed_links");
    let (a, b) = (d.host("H0").unwrap(), d.host("H2").unwrap());
    d.fail_link("H2-L2").unwrap();
    assert_eq!(d.send(&message(a, b, 1, 0)).unwrap_err().key, "dst");
    assert_eq!(d.host_rate(b).unwrap(), Rate::ZERO);

    let mut d = driven(&star(3, ""));
    let hosts: Vec<NodeId> = d.hosts().collect();
    assert_eq!(d.host_rate(hosts[0]), Ok(Rate::from_gbps(100)));
    d.set_rate("H0-S1", Rate::from_gbps(50)).unwrap();
    d.send(&message(hosts[0], hosts[1], 100_000, 7)).unwrap();
    let wanted = [(What::Sent, 99 * 2 * TX, 7), (What::Delivered, 100 * 2 * TX + TX + 2 * D, 7)];
    assert_eq!(all(&mut d), wanted);
    for rate in [Rate::ZERO, Rate::from_gbps(101)] {
        assert_eq!(d.set_rate("H0-S1", rate).unwrap_err().key, "rate");
    }
}

/// Waits that a caller ends, one after the other: the same events as in one wait, and messages of
/// both later.
#[test]
fn a_wait_that_was_ended_continues() {
    let drive = |interrupts: bool| -> (Vec<Happened>, u32) {
        let mut d = driven(&star(8, ""));
        let hosts: Vec<NodeId> = d.hosts().collect();
        (0..8).for_each(|i| {
            let to = hosts[(i + 3) % 8];
            d.send(&message(hosts[i], to, 30_000_000, i as u64)).unwrap();
        });
        let (mut events, mut ended) = (Vec::new(), 0);
        loop {
            match d.next_while(Time::NEVER, || !interrupts) {
                Ok(Some(event)) => events.push(event),
                Ok(None) => return (events, ended),
                Err(Interrupted) => ended += 1,
            }
        }
    };
    let ((events, none), (again, ended)) = (drive(false), drive(true));
    assert_eq!(events, again);
    assert!(events.len() == 16 && none == 0 && ended > 5, "{ended}");
    // A message that is sent then begins at the time that was reached.
    let mut d = driven(&star(3, ""));
    let hosts: Vec<NodeId> = d.hosts().collect();
    d.send(&message(hosts[0], hosts[1], 100_000_000, 0)).unwrap();
    assert_eq!(d.next_while(Time::NEVER, || false), Err(Interrupted));
    let at = d.now().0;
    assert!(at > 0);
    let id = d.send(&message(hosts[2], hosts[0], 1000, 1)).unwrap();
    let sent = Happened { what: What::Sent, at: Time(at), id, tag: 1 };
    let delivered = Happened { what: What::Delivered, at: Time(at + 2 * TX + 2 * D), id, tag: 1 };
    assert_eq!([d.next(Time::NEVER), d.next(Time::NEVER)], [Some(sent), Some(delivered)]);
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    d.finish(folder.path(), |_, _| None, |_| true).unwrap_or_else(|e| panic!("{e}"));
}
