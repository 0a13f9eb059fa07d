//! Memory of a driven network: that of messages under way, however many there were.

use std::path::Path;

use xoff_run::{Driven, Message, What};
use xoff_units::{NodeId, Time};

/// Memory of this process [bytes].
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = status.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

/// Eight hosts that each have one message under way, to the next host, one after the other.
fn sends(d: &mut Driven, messages: u64, queue_pair: Option<u16>, last: What) {
    let hosts: Vec<NodeId> = d.hosts().collect();
    let send = |d: &mut Driven, from: usize| {
        let (src, dst) = (hosts[from], hosts[(from + 1) % hosts.len()]);
        let tag = from as u64;
        d.send(&Message { src, dst, bytes: 1000, priority: 3, queue_pair, tag }).unwrap();
    };
    (0..hosts.len()).for_each(|from| send(d, from));
    let mut done = 0;
    while let Some(h) = d.next(Time::NEVER) {
        if h.what == last {
            done += 1;
            if done + hosts.len() as u64 <= messages {
                send(d, h.tag as usize);
            }
        }
    }
    assert_eq!(done, messages);
}

/// Before: 620 B stayed for every message. `XOFF_TEST_MESSAGES=10000000` prints a curve.
#[test]
fn messages_that_are_over_leave_memory() {
    let asked = std::env::var("XOFF_TEST_MESSAGES").ok().and_then(|n| n.parse().ok());
    let many: u64 = asked.unwrap_or(200_000);
    for (acks, pair) in [("", None), ("", Some(0)), ("acks = \"per-frame\"\n", None)] {
        let text = format!(
            "[topology]\nkind = \"star\"\nhosts = 8\nrate = \"100Gbps\"\ndelay = \"1us\"\n[flow_control]\nkind = \"pfc\"\n[host]\n{acks}"
        );
        let mut d = Driven::new("many.toml", &text, &[], Path::new("."), &[3])
            .unwrap_or_else(|e| panic!("{e}"));
        let last = if acks.is_empty() { What::Delivered } else { What::Acknowledged };
        if last == What::Acknowledged {
            d.report_acknowledged().unwrap();
        }
        // Pages of records fill their place first.
        sends(&mut d, 100_000, pair, last);
        let (before, start) = (resident(), std::time::Instant::now());
        for part in 1..=10 {
            sends(&mut d, many / 10, pair, last);
            if asked.is_some() {
                let took = start.elapsed().as_secs_f64();
                println!(
                    "{acks:?} {pair:?}: {} messages, {} MB, {took:.1} s",
                    many / 10 * part,
                    resident() >> 20
                );
            }
        }
        let grown = resident().saturating_sub(before);
        assert!(grown < 4 << 20, "{grown} B for {many} messages, {acks:?}, {pair:?}");
    }
}
