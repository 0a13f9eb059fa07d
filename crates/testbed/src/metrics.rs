//! The numbers of a running node for Prometheus (exposition format 0.0.4).

use std::fmt::Write;

use xoff_switchd::Attached;

use crate::drive::Look;

/// A number of a port, by its labels beyond port and interface.
type Series<'a> = (&'a str, Box<dyn Fn(usize, &Attached) -> u64 + 'a>);

/// The text for one look at a node; `interfaces` are those of its ports, in order.
pub fn text(node: &str, interfaces: &[String], look: &Look) -> String {
    let mut out = String::new();
    let mut family = |name: &str, kind: &str, help: &str, series: Vec<Series>| {
        let _ = writeln!(out, "# HELP xoff_{name} {help}\n# TYPE xoff_{name} {kind}");
        for (i, a) in look.ports.iter().enumerate() {
            for (labels, value) in &series {
                let interface = interfaces.get(i).map_or("", String::as_str);
                let port = &a.link.name;
                let _ = writeln!(out, "xoff_{name}{{node=\"{node}\",port=\"{port}\",interface=\"{interface}\"{labels}}} {}", value(i, a));
            }
        }
    };
    let (rx, tx) = (",direction=\"in\"", ",direction=\"out\"");
    family("frames_total", "counter", "Frames.", vec![(rx, Box::new(|_, a| a.counters.received)), (tx, Box::new(|_, a| a.kernel.sent))]);
    family(
        "bytes_total",
        "counter",
        "Bytes, without check sequences.",
        vec![(rx, Box::new(|_, a| a.counters.received_bytes)), (tx, Box::new(|_, a| a.kernel.sent_bytes))],
    );
    family(
        "control_frames_total",
        "counter",
        "Frames of flow control.",
        vec![(rx, Box::new(|_, a| a.counters.control_received)), (tx, Box::new(|_, a| a.counters.control_sent))],
    );
    family(
        "dropped_frames_total",
        "counter",
        "Frames that were lost here.",
        vec![
            (",reason=\"memory\"", Box::new(|i, _| look.drops[i])),
            (",reason=\"kernel\"", Box::new(|_, a| a.kernel.kernel_drops)),
            (",reason=\"kernel_send\"", Box::new(|_, a| a.kernel.send_errors)),
            (",reason=\"watchdog\"", Box::new(|_, a| a.counters.thrown_away)),
            (",reason=\"port_down\"", Box::new(|_, a| a.counters.port_down)),
        ],
    );
    family(
        "refused_frames_total",
        "counter",
        "Frames that were not accepted.",
        vec![
            (",reason=\"malformed\"", Box::new(|_, a| a.counters.malformed)),
            (",reason=\"unexpected\"", Box::new(|_, a| a.counters.unexpected)),
            (",reason=\"strange\"", Box::new(|_, a| a.counters.strange)),
            (",reason=\"stale\"", Box::new(|_, a| a.counters.stale)),
            (",reason=\"no_route\"", Box::new(|_, a| a.counters.no_route)),
            (",reason=\"too_long\"", Box::new(|_, a| a.kernel.too_long)),
        ],
    );
    family("storms_total", "counter", "Holds without end that the watchdog found.", vec![("", Box::new(|_, a| a.counters.storms))]);
    family(
        "impossible_messages_total",
        "counter",
        "Control frames whose values cannot be true; the safe side was taken.",
        vec![("", Box::new(|_, a| a.counters.impossible))],
    );
    let up = |a: &Attached| a.outages.last().is_none_or(|o| o.until.is_some()) as u64;
    family("port_up", "gauge", "1: the link of the port is there.", vec![("", Box::new(move |_, a| up(a)))]);
    family("port_downs_total", "counter", "How often the port went down.", vec![("", Box::new(|_, a| a.counters.downs))]);
    family("queue_bytes", "gauge", "What waits to leave.", vec![("", Box::new(|i, _| look.queues[i]))]);
    let mut one = |name: &str, kind: &str, help: &str, value: f64| {
        let _ = writeln!(out, "# HELP xoff_{name} {help}\n# TYPE xoff_{name} {kind}\nxoff_{name}{{node=\"{node}\"}} {value}");
    };
    let gaps = look.gaps;
    one("loop_gap_longest_seconds", "gauge", "Longest time between two iterations of the loop.", gaps.longest.as_secs_f64());
    one("loop_gap_p99_seconds", "gauge", "99 of 100 gaps stayed below.", gaps.quantile(0.99).as_secs_f64());
    one("clock_left_out_seconds_total", "counter", "Time in which the node's clock stood still.", gaps.left_out.as_secs_f64());
    one("clock_seconds", "counter", "Time by the node's clock.", look.time.as_secs_f64());
    out
}
