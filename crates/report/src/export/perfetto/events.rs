//! The rows of each table as events.

use std::collections::{HashMap, VecDeque};
use std::io::Write;
use std::path::Path;

use xoff_record::{RecordBatch, read};

use super::encode::{Annotation, Event, TrackKind, Unit};
use super::tracks::Leaf;
use super::{Trace, on, ranks};
use crate::export::error::ExportError;

/// Messages of a port that wait for their arrival; more are not kept, because their arrivals are
/// not recorded.
const IN_FLIGHT_MAX: usize = 4096;

type Done = Result<(), ExportError>;

/// Columns of a batch by name.
struct Columns<'b>(&'b RecordBatch);

impl<'b> Columns<'b> {
    fn number(&self, name: &str) -> Vec<Option<u64>> {
        read::numbers(self.0, name)
    }
    fn text(&self, name: &str) -> Vec<Option<&'b str>> {
        read::texts(self.0, name)
    }
    fn rows(&self) -> std::ops::Range<usize> {
        0..self.0.num_rows()
    }
}

/// Every table.
pub fn all<W: Write>(t: &mut Trace<'_, W>, dir: &Path) -> Done {
    t.table(dir, "flows", flows)?;
    ranks::all(t, dir)?;
    t.table(dir, "queues", queues)?;
    t.table(dir, "rates", rates)?;
    t.table(dir, "pauses", pauses)?;
    tied(t)?;
    let mut under_way = HashMap::new();
    t.table(dir, "control", |t, b| control(t, b, &mut under_way))?;
    t.table(dir, "causes", |_, _| Ok(()))?; // they are arrows
    let mut states = HashMap::new();
    t.table(dir, "states", |t, b| states_of(t, b, &mut states))?;
    for (track, state, from) in open_states(states) {
        t.slice(
            from,
            None,
            on(track, &state, "detection", &[("start_ps", Annotation::Number(from))]),
        )?;
    }
    t.table(dir, "marks", marks)?;
    t.table(dir, "cnms", cnms)?;
    t.table(dir, "deadlocks", deadlocks)?;
    t.table(dir, "windows", windows)?;
    t.table(dir, "host_flows", host_flows)
}

fn flows<W: Write>(t: &mut Trace<'_, W>, b: &RecordBatch) -> Done {
    let c = Columns(b);
    let (flow, start, end) = (c.number("flow"), c.number("start_ps"), c.number("end_ps"));
    let (src, dst, label) = (c.text("src"), c.text("dst"), c.text("label"));
    let (size, delivered, priority) =
        (c.number("size_bytes"), c.number("bytes_delivered"), c.number("priority"));
    let slowdown = read::floats(b, "slowdown");
    for i in c.rows() {
        let (Some(flow), Some(start), Some(src), Some(dst)) = (flow[i], start[i], src[i], dst[i])
        else {
            continue;
        };
        if !t.window.holds(start, end[i].unwrap_or(u64::MAX)) {
            continue;
        }
        let track = t.tracks.row(
            &mut t.out,
            src,
            "flows",
            start / super::PS_PER_NS,
            end[i].map_or(u64::MAX, |e| e / super::PS_PER_NS),
        )?;
        let mut annotations = vec![
            ("start_ps", Annotation::Number(start)),
            ("flow", Annotation::Number(flow)),
            ("to", Annotation::Text(dst)),
        ];
        annotations.extend(end[i].map(|end| ("end_ps", Annotation::Number(end))));
        annotations.extend(priority[i].map(|p| ("priority", Annotation::Number(p))));
        annotations.extend(size[i].map(|n| {
            if n == u64::MAX {
                ("size", Annotation::Text("unlimited"))
            } else {
                ("size_bytes", Annotation::Number(n))
            }
        }));
        annotations.extend(delivered[i].map(|n| ("bytes_delivered", Annotation::Number(n))));
        annotations.extend(slowdown[i].map(|x| ("slowdown", Annotation::Float(x))));
        annotations
            .extend(label[i].filter(|l| !l.is_empty()).map(|l| ("label", Annotation::Text(l))));
        t.slice(start, end[i], on(track, &format!("flow {flow} to {dst}"), "flow", &annotations))?;
    }
    Ok(())
}

fn queues<W: Write>(t: &mut Trace<'_, W>, b: &RecordBatch) -> Done {
    let c = Columns(b);
    let (time, port, kind) = (c.number("time_ps"), c.text("port"), c.text("kind"));
    let (priority, bytes) = (c.number("priority"), c.number("bytes"));
    for i in c.rows() {
        let (Some(time), Some(port), Some(p), Some(bytes)) =
            (time[i], port[i], priority[i], bytes[i])
        else {
            continue;
        };
        let leaf =
            if kind[i] == Some("ingress") { Leaf::Ingress(p as u8) } else { Leaf::Queue(p as u8) };
        let port = t.tracks.port(port);
        let track = t.leaf(port, leaf)?;
        t.count(time, track, bytes)?;
    }
    Ok(())
}

fn rates<W: Write>(t: &mut Trace<'_, W>, b: &RecordBatch) -> Done {
    let c = Columns(b);
    let (time, port, source) = (c.number("time_ps"), c.text("port"), c.text("source"));
    let (priority, flow, rate) = (c.number("priority"), c.number("flow"), c.number("rate_bps"));
    for i in c.rows() {
        let (Some(time), Some(port), Some(rate)) = (time[i], port[i], rate[i]) else { continue };
        let source = match source[i] {
            Some("measured") => "measured",
            Some("flow_control") => "allowed by flow control",
            _ => "set by rate control",
        };
        let leaf = match flow[i] {
            Some(flow) => Leaf::FlowRate(source, flow),
            None => Leaf::Rate(source, priority[i].map(|p| p as u8)),
        };
        let port = t.tracks.port(port);
        let track = t.leaf(port, leaf)?;
        t.count(time, track, rate)?;
    }
    Ok(())
}

fn pauses<W: Write>(t: &mut Trace<'_, W>, b: &RecordBatch) -> Done {
    let c = Columns(b);
    let (port, priority, cause) = (c.text("port"), c.number("priority"), c.text("cause"));
    let (from, to) = (c.number("start_ps"), c.number("end_ps"));
    for i in c.rows() {
        let (Some(port), Some(p), Some(from)) = (port[i], priority[i], from[i]) else { continue };
        let name = match cause[i] {
            Some("credits") => "no credits",
            Some("flows") => "flows paused",
            _ => "paused",
        };
        let port = t.tracks.port(port);
        let track = t.leaf(port, Leaf::Paused(p as u8))?;
        let mut annotations = vec![("start_ps", Annotation::Number(from))];
        match to[i] {
            Some(to) => annotations.extend([
                ("end_ps", Annotation::Number(to)),
                ("duration_ps", Annotation::Number(to - from)),
            ]),
            None => annotations.push(("to", Annotation::Text("still when the run ended"))),
        }
        // Taken out for the time of the call, which needs the rest of the trace.
        let arrows = std::mem::take(&mut t.arrows);
        let (begins, ends) = arrows.of(port, p as u8, from);
        let done = t.slice(
            from,
            to[i],
            Event { begins, ends, ..on(track, name, "flow control", &annotations) },
        );
        t.arrows = arrows;
        done?;
    }
    Ok(())
}

/// Ends of arrows whose two pauses begin in one ns.
fn tied<W: Write>(t: &mut Trace<'_, W>) -> Done {
    for ((port, p, from), id) in std::mem::take(&mut t.arrows.tied) {
        let track = t.leaf(port, Leaf::Paused(p))?;
        let annotations = [("time_ps", Annotation::Number(from))];
        t.instant(
            from,
            Event { ends: &[id], ..on(track, "held up", "flow control", &annotations) },
        )?;
    }
    Ok(())
}

/// Messages of a port and priority that have not arrived: their arrow, kind and value.
type UnderWay = HashMap<(u32, u8), VecDeque<(u64, String, u64)>>;

fn control<W: Write>(t: &mut Trace<'_, W>, b: &RecordBatch, under_way: &mut UnderWay) -> Done {
    let c = Columns(b);
    let (time, port, priority) = (c.number("time_ps"), c.text("port"), c.number("priority"));
    let (direction, message, value) = (c.text("direction"), c.text("message"), c.number("value"));
    for i in c.rows() {
        let (Some(time), Some(port), Some(p), Some(message)) =
            (time[i], port[i], priority[i], message[i])
        else {
            continue;
        };
        let (port, p, value) = (t.tracks.port(port), p as u8, value[i].unwrap_or(0));
        let annotations =
            [("time_ps", Annotation::Number(time)), ("value", Annotation::Number(value))];
        let waiting = under_way.entry((port, p)).or_default();
        if direction[i] == Some("sent") {
            t.arrow += 1;
            waiting.push_back((t.arrow, message.to_owned(), value));
            if waiting.len() > IN_FLIGHT_MAX {
                waiting.pop_front();
            }
            let arrow = [t.arrow];
            let track = t.leaf(port, Leaf::Sent(p))?;
            t.instant(
                time,
                Event {
                    begins: &arrow,
                    ..on(track, &format!("{message} sent"), "flow control", &annotations)
                },
            )?;
        } else {
            // Messages of one port arrive in the order in which they were sent; those before the
            // one that arrives were lost.
            let at = waiting.iter().position(|(_, m, v)| m == message && *v == value);
            let arrow: Vec<u64> = at
                .and_then(|at| waiting.drain(..=at).next_back())
                .map(|(id, ..)| id)
                .into_iter()
                .collect();
            t.summary.arrows += arrow.len() as u64;
            let track = t.leaf(port, Leaf::Paused(p))?;
            t.instant(
                time,
                Event {
                    ends: &arrow,
                    ..on(track, &format!("{message} received"), "flow control", &annotations)
                },
            )?;
        }
    }
    Ok(())
}

/// The state of each track and since when [ps].
type States = HashMap<u64, (String, u64)>;

fn states_of<W: Write>(t: &mut Trace<'_, W>, b: &RecordBatch, states: &mut States) -> Done {
    let c = Columns(b);
    let (time, port, priority, state) =
        (c.number("time_ps"), c.text("port"), c.number("priority"), c.text("state"));
    for i in c.rows() {
        let (Some(time), Some(port), Some(p), Some(state)) =
            (time[i], port[i], priority[i], state[i])
        else {
            continue;
        };
        let port = t.tracks.port(port);
        let track = t.leaf(port, Leaf::State(p as u8))?;
        if let Some((before, from)) = states.insert(track, (state.to_owned(), time)) {
            let annotations =
                [("start_ps", Annotation::Number(from)), ("end_ps", Annotation::Number(time))];
            t.slice(from, Some(time), on(track, &before, "detection", &annotations))?;
        }
    }
    Ok(())
}

/// The states at the end, by track.
fn open_states(states: States) -> Vec<(u64, String, u64)> {
    let mut open: Vec<_> =
        states.into_iter().map(|(track, (state, from))| (track, state, from)).collect();
    open.sort_unstable();
    open
}

fn marks<W: Write>(t: &mut Trace<'_, W>, b: &RecordBatch) -> Done {
    let c = Columns(b);
    let (time, port, priority) = (c.number("time_ps"), c.text("port"), c.number("priority"));
    let (flow, mark) = (c.number("flow"), c.text("mark"));
    for i in c.rows() {
        let (Some(time), Some(port), Some(p), Some(flow)) =
            (time[i], port[i], priority[i], flow[i])
        else {
            continue;
        };
        let port = t.tracks.port(port);
        let track = t.leaf(port, Leaf::Marks(p as u8))?;
        let annotations =
            [("time_ps", Annotation::Number(time)), ("flow", Annotation::Number(flow))];
        t.instant(
            time,
            on(track, if mark[i] == Some("ue") { "UE" } else { "CE" }, "detection", &annotations),
        )?;
    }
    Ok(())
}

fn cnms<W: Write>(t: &mut Trace<'_, W>, b: &RecordBatch) -> Done {
    let c = Columns(b);
    let (time, port, priority, kind) =
        (c.number("time_ps"), c.text("port"), c.number("priority"), c.text("kind"));
    let (flow, feedback) = (c.number("flow"), c.number("feedback"));
    for i in c.rows() {
        let (Some(time), Some(port), Some(p), Some(flow)) =
            (time[i], port[i], priority[i], flow[i])
        else {
            continue;
        };
        let port = t.tracks.port(port);
        let track = t.leaf(port, Leaf::Cnms(p as u8))?;
        let (kind, feedback) =
            (Annotation::Text(kind[i].unwrap_or("")), Annotation::Number(feedback[i].unwrap_or(0)));
        let annotations = [
            ("time_ps", Annotation::Number(time)),
            ("flow", Annotation::Number(flow)),
            ("buffer", kind),
            ("feedback", feedback),
        ];
        t.instant(time, on(track, "CNM", "detection", &annotations))?;
    }
    Ok(())
}

fn deadlocks<W: Write>(t: &mut Trace<'_, W>, b: &RecordBatch) -> Done {
    let c = Columns(b);
    let (time, closed, since) =
        (c.number("time_ps"), c.number("start_ps"), c.number("blocked_start_ps"));
    let (port, priority, bytes) = (c.text("port"), c.number("priority"), c.number("bytes"));
    let (cycle, position) = (c.number("cycle"), c.number("position"));
    for i in c.rows() {
        let (Some(time), Some(port), Some(p)) = (time[i], port[i], priority[i]) else { continue };
        let port = t.tracks.port(port);
        let track = t.leaf(port, Leaf::Paused(p as u8))?;
        let numbers = [
            ("time_ps", Some(time)),
            ("start_ps", closed[i]),
            ("blocked_start_ps", since[i]),
            ("cycle", cycle[i]),
            ("position", position[i]),
            ("bytes", bytes[i]),
        ];
        let annotations: Vec<_> = numbers
            .into_iter()
            .filter_map(|(name, n)| Some((name, Annotation::Number(n?))))
            .collect();
        t.instant(time, on(track, "deadlock found", "deadlock", &annotations))?;
    }
    Ok(())
}

fn windows<W: Write>(t: &mut Trace<'_, W>, b: &RecordBatch) -> Done {
    let c = Columns(b);
    let time = c.number("time_ps");
    for (name, unit) in [
        ("cold_bytes", Unit::Bytes),
        ("hot_bytes", Unit::Bytes),
        ("cold_packets", Unit::Named("packets")),
        ("cold_delay_ps", Unit::Named("ps")),
        ("hot_queue_bytes_max", Unit::Bytes),
        ("grants_held_max", Unit::Named("segments")),
    ] {
        let track = t.tracks.below(&mut t.out, "fabric", name, TrackKind::Counter(unit))?;
        for (time, value) in time.iter().zip(c.number(name)).filter_map(|(t, v)| Some(((*t)?, v?)))
        {
            t.count(time, track, value)?;
        }
    }
    Ok(())
}

fn host_flows<W: Write>(t: &mut Trace<'_, W>, b: &RecordBatch) -> Done {
    let c = Columns(b);
    let (time, flow, source) = (c.number("time_ps"), c.number("flow"), c.text("source"));
    let columns = [
        ("rate_bps", Unit::Named("bit/s")),
        ("limit_bps", Unit::Named("bit/s")),
        ("input_bytes", Unit::Bytes),
        ("output_bytes", Unit::Bytes),
    ];
    for (name, unit) in columns {
        let values = c.number(name);
        for i in c.rows() {
            let (Some(time), Some(flow), Some(source), Some(value)) =
                (time[i], flow[i], source[i], values[i])
            else {
                continue;
            };
            let track = t.tracks.below(
                &mut t.out,
                source,
                &format!("flow {flow} {name}"),
                TrackKind::Counter(unit),
            )?;
            t.count(time, track, value)?;
        }
    }
    Ok(())
}
