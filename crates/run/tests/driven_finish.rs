//! Results of a driven network: the run that was driven, and the run of the same messages as a
//! scenario.

use std::path::Path;

use arrow_array::{ArrayRef, RecordBatch};
use xoff_record::Sink;
use xoff_run::{Driven, Message, NetworkScenario, What};
use xoff_scenario::document::Override;
use xoff_units::{NodeId, Rate, Span, Time};

/// Two leaves, two spines and eight hosts, with everything that a run records.
fn text(control: &str, more: &str) -> String {
    format!(
        "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\nrate = \"100Gbps\"\ndelay = \"1us\"\n\
         [host]\nacks = \"per-frame\"\n[flow_control]\nkind = \"{control}\"\n[probes]\ninterval = \"2us\"\nqueues = [\"all\"]\nrates = [\"all\"]\nflow_rates = true\ncontrol = [\"all\"]\npauses = [\"all\"]\n{more}"
    )
}

fn driven(text: &str) -> Driven {
    Driven::new("driven.toml", text, &[], Path::new("."), &[3]).unwrap_or_else(|e| panic!("{e}"))
}

struct Draws(u64);

impl Draws {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// Drives a network with random messages, half of them in queue pairs: each delivery sends the next
/// one, and timers do. Returns the deliveries.
fn drive(d: &mut Driven, seed: u64, messages: u64) -> Vec<Time> {
    let mut draws = Draws(seed + 17);
    let hosts: Vec<NodeId> = d.hosts().collect();
    let mut sent = 0;
    let mut send = |d: &mut Driven, src: NodeId| {
        let dst = hosts.iter().cycle().skip_while(|h| **h != src).nth(1 + draws.below(7) as usize);
        let queue_pair = (draws.below(2) == 0).then(|| draws.below(2) as u16);
        let bytes = 1 + draws.below(60_000);
        let m =
            Message { src, dst: *dst.unwrap(), bytes, priority: 3, queue_pair, tag: src.0.into() };
        d.send(&m).unwrap();
        sent += 1;
        sent < messages
    };
    for &host in &hosts {
        send(d, host);
        d.schedule(Span(1 + 700_000 * u64::from(host.0)), host.0.into());
    }
    let (mut more, mut delivered) = (true, Vec::new());
    while let Some(h) = d.next(Time::NEVER) {
        match h.what {
            What::Delivered => delivered.push(h.at),
            What::Timer => {}
            _ => continue,
        }
        if more {
            more = send(d, NodeId(h.tag as u32));
        }
    }
    delivered
}

/// Before: a driven network left nothing.
#[test]
fn the_results_are_those_of_the_run_that_was_driven() {
    let dcqcn = "[rate_control]\nkind = \"dcqcn\"\n[detection]\nkind = \"red\"\n";
    let flow =
        "[[flow]]\nsrc = \"H2\"\ndst = \"H5\"\nsize = \"300KB\"\npriority = 3\nstart = \"3us\"\n";
    let failure = "[[failure]]\nlink = \"L1-S2\"\nat = \"20us\"\n";
    for (nth, (control, more)) in [
        ("pfc", ""),
        ("pfc", dcqcn),
        ("pfc", flow),
        ("pfc", failure),
        ("cbfc", ""),
        ("gfc-buffer", ""),
        ("gfc-time", ""),
        ("pffc", ""),
        ("bfc", ""),
        ("uec-cbfc", ""),
    ]
    .into_iter()
    .enumerate()
    {
        let case = format!("{control} {more}");
        let mut d = driven(&text(control, more));
        let mut delivered = drive(&mut d, nth as u64, 300);
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let f = d
            .finish(folder.path(), |_, _| None, |_| true)
            .unwrap_or_else(|e| panic!("{case}: {e}"));
        let own = |f: &&xoff_sim::FlowRecord| more != flow || f.flow.size != 300_000;
        let mut ends: Vec<Time> =
            f.outcome.flows.iter().filter(own).filter_map(|f| f.received).collect();
        ends.sort_unstable();
        delivered.sort_unstable();
        assert_eq!(ends, delivered, "{case}");
        let queues = f.tables.rows.iter().find(|t| t.0 == "queues").map(|t| t.1);
        assert!(queues > Some(0) && f.outcome.now >= *delivered.last().unwrap(), "{case}");
        // The network goes on, and its results are the same once more.
        let again = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let g = d.finish(again.path(), |_, _| None, |_| true).unwrap();
        assert_eq!(f.manifest.result_hash, g.manifest.result_hash, "{case}");
        // What a folder keeps gives the same run.
        let kept = folder.path().join("resolved.toml");
        let s = NetworkScenario::load(&kept, &[]).unwrap_or_else(|e| panic!("{case}: {e}"));
        assert_eq!(s.run(Sink::Nothing).unwrap().manifest.result_hash, f.manifest.result_hash);
    }
}

/// Messages at times of no other event, and links that fail and slow down: the tables are those of
/// the scenario that has these flows, and a failure of the scenario is one on command.
#[test]
fn the_tables_are_those_of_the_same_messages_in_a_scenario() {
    let host = "[host]\nacks = \"per-frame\"\nrecovery = \"go-back-n\"\nrto = \"50us\"\n";
    let text = text("pfc", "").replace("[host]\nacks = \"per-frame\"\n", host);
    let mut d = driven(&text);
    let hosts: Vec<NodeId> = d.hosts().collect();
    let mut draws = Draws(5);
    let mut flows = String::new();
    let mut at = 0;
    for tag in 0..200 {
        at += 1 + 2 * draws.below(200_000);
        let (src, more) = (draws.below(8), draws.below(7));
        let (dst, bytes) = ((src + 1 + more) % 8, 1 + draws.below(40_000));
        while d.next(Time(at)).is_some() {}
        let (src, dst) = (hosts[src as usize], hosts[dst as usize]);
        d.send(&Message { src, dst, bytes, priority: 3, queue_pair: None, tag }).unwrap();
        let (src, dst) = (d.name(src).unwrap(), d.name(dst).unwrap());
        flows += &format!(
            "[[flow]]\nsrc = \"{src}\"\ndst = \"{dst}\"\nsize = \"{bytes}B\"\nstart = \"{at}ps\"\npriority = 3\n"
        );
        if tag == 100 {
            at += 1;
            while d.next(Time(at)).is_some() {}
            d.fail_link("L1-S2").unwrap();
            flows += &format!("[[failure]]\nlink = \"L1-S2\"\nat = \"{at}ps\"\n");
        }
    }
    while d.next(Time::NEVER).is_some() {}
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let repeated = d.finish(folder.path(), |_, _| None, |_| true).unwrap_or_else(|e| panic!("{e}"));
    let run = format!("[run]\nduration = \"{}ps\"\n{text}{flows}", d.now().0);
    let s = NetworkScenario::from_text("s.toml", &run, &[], Path::new(".")).unwrap();
    let listed = tables(&s);
    let kept = NetworkScenario::load(&folder.path().join("resolved.toml"), &[]).unwrap();
    for ((name, repeated), (_, listed)) in tables(&kept).iter().zip(&listed) {
        assert!(repeated == listed, "{name}");
    }
    assert_eq!(
        kept.run(Sink::Nothing).unwrap().manifest.result_hash,
        repeated.manifest.result_hash
    );
    let exact = Override::set("messages.exact=false").unwrap();
    // Links that change are not repeated by their times.
    let refused = NetworkScenario::load(&folder.path().join("resolved.toml"), &[exact]).err();
    assert!(refused.unwrap().to_string().contains("use [[failure]]"));
}

/// All tables but the names of the flows' sections.
fn tables(s: &NetworkScenario) -> Vec<(&'static str, Vec<Vec<ArrayRef>>)> {
    let without_label = |batch: &RecordBatch| -> Vec<ArrayRef> {
        let schema = batch.schema();
        let named = schema.fields().iter().zip(batch.columns());
        named.filter(|(field, _)| field.name() != "label").map(|(_, c)| c.clone()).collect()
    };
    let tables = s.run(Sink::Memory).unwrap().tables.memory;
    let all: Vec<_> =
        tables.iter().map(|t| (t.name, t.batches.iter().map(without_label).collect())).collect();
    let rows = |name| {
        let rows = |t: &(&str, Vec<Vec<ArrayRef>>)| t.1.iter().map(|b| b[0].len()).sum::<usize>();
        all.iter().filter(|t| t.0 == name).map(rows).sum::<usize>()
    };
    assert!(rows("flows") == 200 && rows("queues") > 0 && rows("ports") > 0);
    all
}

/// Messages in another network begin at their times.
#[test]
fn messages_that_begin_at_their_times_may_run_in_another_network() {
    let mut d = driven(&text("pfc", ""));
    let delivered = drive(&mut d, 3, 100);
    d.set_rate("L1-S1", Rate::from_gbps(50)).unwrap();
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let f = d.finish(folder.path(), |_, _| None, |_| true).unwrap();
    let kept = folder.path().join("resolved.toml");
    let load = |settings: &[&str]| {
        let settings: Vec<Override> = settings.iter().map(|s| Override::set(s).unwrap()).collect();
        NetworkScenario::load(&kept, &settings)
    };
    // Another network with exact places is refused, not answered.
    let wrong = load(&["flow_control.kind=none", "topology.delay=2us"]).unwrap();
    let e = wrong.run(Sink::Nothing).err().expect("another network").to_string();
    assert!(e.contains("this network is another one"), "{e}");
    let table = folder.path().join("messages.csv");
    let calls = std::fs::read_to_string(&table).unwrap();
    let lines: Vec<&str> = calls.lines().filter(|l| !l.contains("set_rate")).collect();
    std::fs::write(&table, lines.join("\n")).unwrap();
    let other = load(&["messages.exact=false", "topology.delay=2us", "run.duration=1ms"]).unwrap();
    let g = other.run(Sink::Nothing).unwrap();
    let starts = |f: &xoff_run::Finished| -> Vec<Time> {
        f.outcome.flows.iter().map(|f| f.flow.start).collect()
    };
    assert_eq!(starts(&f), starts(&g));
    assert!(g.outcome.flows.iter().all(|f| f.received.is_some()) && delivered.len() == 100);
    assert!(g.outcome.now > f.outcome.now);
}

#[test]
fn a_table_of_messages_that_is_wrong_is_refused_at_its_line() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let head = "event,time_ps,call,src,dst,bytes,priority,queue_pair,link,rate_bps\n";
    for (lines, wanted) in [
        ("0,0,sent,H0,H1,1,3,,,\n", "messages.csv:2:1: call: 'sent'"),
        ("0,0,send,H0,H9,1,3,,,\n", "dst: 'H9'"),
        ("0,0,send,H0,H0,1,3,,,\n", "dst: 'H0'"),
        ("0,0,send,H0,H1,18446744073709551615,3,,,\n", "bytes: '18446744073709551615'"),
        ("0,0,send,H0,H1,1,8,,,\n", "priority: '8'"),
        ("0,0,send,H0,H1,1,4,,,\n", "a message has priority 4"),
        ("0,0,send,H0,H1,1,3,65536,,\n", "queue_pair: '65536'"),
        ("0,0,fail_link,,,,,,L1-S9,\n", "link:"),
        ("0,0,set_rate,,,,,,L1-S1,0\n", "rate_bps: '0'"),
        ("5,7,wait,,,,,,,\n4,7,wait,,,,,,,\n", "messages.csv:3:1: event 4 at 7 ps is before"),
        ("0,x,wait,,,,,,,\n", "time_ps: 'x'"),
        ("0,0,wait\n", "3 fields"),
    ] {
        std::fs::write(folder.path().join("messages.csv"), format!("{head}{lines}")).unwrap();
        let more = "[messages]\nfile = \"messages.csv\"\npriorities = [\"3\"]\n";
        let s = NetworkScenario::from_text("s.toml", &text("pfc", more), &[], folder.path());
        let said = s.err().unwrap_or_else(|| panic!("{lines} is accepted")).to_string();
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
    let e = driven(&text("pfc", ""))
        .finish(folder.path(), |_, _| None, |_| true)
        .err()
        .unwrap()
        .to_string();
    assert!(e.contains("no message has begun"), "{e}");
}

/// A run ahead may handle a timer that finds nothing due, at its very end; the repeated run handles
/// it too before the next call.
#[test]
fn a_timer_that_finds_nothing_due_is_repeated() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for recovery in ["go-back-n", "selective"] {
        let mut d = driven(&format!(
            "[topology]\nkind = \"star\"\nhosts = 3\n[host]\nacks = \"per-frame\"\nrecovery = \"{recovery}\"\n"
        ));
        let hosts: Vec<NodeId> = d.hosts().collect();
        let send = |d: &mut Driven, to: usize, bytes, until| {
            let (src, dst) = (hosts[1], hosts[to]);
            d.send(&Message { src, dst, bytes, priority: 3, queue_pair: None, tag: 0 }).unwrap();
            d.advance(Time::from_us(until));
            while d.next(Time::ZERO).is_some() {}
        };
        send(&mut d, 2, 80_574, 300);
        send(&mut d, 0, 0, 320);
        send(&mut d, 2, 137_144, 700);
        let out = folder.path().join(recovery);
        let finished = d.finish(&out, |_, _| None, |_| true).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(finished.outcome.completions.len(), 3);
    }
}
