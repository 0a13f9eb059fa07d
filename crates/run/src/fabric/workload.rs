//! `[traffic]` of a fabric, with the sections and the scenario that its kinds name.

use std::path::Path;

use xoff_scenario::document::{Document, Override, Section};
use xoff_scenario::{Problem, Problems};
use xoff_sim::scheduled::{Arrival, Pattern, Sizes, Stream, Traffic};
use xoff_units::params::{ParamError, Values};
use xoff_units::{Bytes, Span, Time};

use super::read::{PORTS_MAX, count, ports};
use super::sections;
use crate::network::NetworkScenario;

/// What `[traffic]` describes; the inner `None`: nothing. `run`: duration and seed of the run;
/// files are looked up in `folder`.
pub(super) fn read(
    doc: &Document,
    s: &mut Section,
    run: Option<(Span, u64)>,
    folder: &Path,
) -> Option<Option<Traffic>> {
    let streams: Vec<Stream> = doc
        .open_all(&sections::stream())
        .iter_mut()
        .filter_map(|s| s.take(read_stream))
        .flatten()
        .collect();
    let packets: Vec<Arrival> =
        doc.open_all(&sections::packet()).iter_mut().filter_map(|s| s.take(read_packet)).collect();
    let kind = s.kind().unwrap_or("none");
    for (section, of, empty) in
        [("stream", "streams", streams.is_empty()), ("packet", "packets", packets.is_empty())]
    {
        if !empty && kind != of {
            doc.push(
                Problem::new(
                    format!("[[{section}]] without kind = \"{of}\" in [traffic]"),
                    "remove one of them",
                )
                .at(s.place("kind")),
            );
        }
    }
    s.take(|s| {
        let sizes = read_sizes(s)?;
        let (load, burst_packets) = (part(s, "load", 1.0)?, part(s, "burst", 1e6)?);
        let pattern = match kind {
            "uniform" => Pattern::Uniform,
            "hotspots" => {
                let (outputs, factor) = (ports(s, "outputs")?, s.float("factor")?);
                if s.flag("beside")? {
                    Pattern::HotspotsBeside { outputs, factor }
                } else {
                    Pattern::Hotspots { outputs, factor }
                }
            }
            "unbalanced" => Pattern::Unbalanced {
                w: part(s, "w", 1.0)?,
                shift: super::read::count(s, "shift", 0, u64::from(super::read::PORTS_MAX) - 1)?,
            },
            "incast" => Pattern::Incast {
                inputs: ports(s, "inputs")?,
                output: count(s, "output", 0, u64::from(PORTS_MAX) - 1)?,
            },
            "streams" => {
                if let Some(twice) = streams
                    .iter()
                    .enumerate()
                    .find(|(n, a)| streams[..*n].iter().any(|b| b.input == a.input))
                {
                    let what = format!("two [[stream]] have input {}", twice.1.input);
                    return Err(ParamError::new("kind", what, "expected one stream of an input"));
                }
                Pattern::Streams(streams)
            }
            "packets" => Pattern::Listed { packets, hot: Vec::new() },
            "network" => match run {
                Some(run) => read_network(s, run, sizes.max(), folder)?,
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        // Streams and lists have loads of their own.
        let load = if matches!(pattern, Pattern::Streams(_) | Pattern::Listed { .. }) {
            0.0
        } else {
            load
        };
        Ok(Some(Traffic { pattern, load, sizes, burst_packets }))
    })
}

/// A number from 0 to `most`.
fn part(s: &mut Section, key: &'static str, most: f64) -> Result<f64, ParamError> {
    match s.float(key)? {
        value if (0.0..=most).contains(&value) => Ok(value),
        value => Err(ParamError::new(
            key,
            format!("{value} is out of range"),
            format!("expected 0 to {most}"),
        )),
    }
}

fn read_sizes(s: &mut Section) -> Result<Sizes, ParamError> {
    let (size, large, share) =
        (s.bytes("size")?, s.bytes_opt("large")?, part(s, "large_share", 1.0)?);
    for (key, size) in [("size", Some(size)), ("large", large)] {
        check_size(key, size)?;
    }
    Ok(large.map_or(Sizes::Fixed(size), |large| Sizes::Bimodal {
        small: size,
        large,
        small_share: 1.0 - share,
    }))
}

fn check_size(key: &str, size: Option<Bytes>) -> Result<(), ParamError> {
    match size {
        Some(Bytes(0)) | Some(Bytes(16_777_217..)) => {
            Err(ParamError::new(key, "out of range", "expected a size above zero, up to 16 MiB"))
        }
        _ => Ok(()),
    }
}

fn read_stream(s: &mut Section) -> Result<Vec<Stream>, ParamError> {
    let (output, load, size) =
        (count(s, "output", 0, u64::from(PORTS_MAX) - 1)?, part(s, "load", 1.0)?, s.bytes("size")?);
    check_size("size", Some(size))?;
    Ok(ports(s, "inputs")?.into_iter().map(|input| Stream { input, output, load, size }).collect())
}

fn read_packet(s: &mut Section) -> Result<Arrival, ParamError> {
    let mut port = |key| count(s, key, 0, u64::from(PORTS_MAX) - 1);
    let (input, output) = (port("input")?, port("output")?);
    let size = s.bytes("size")?;
    check_size("size", Some(size))?;
    Ok(Arrival { at: Time(s.span("at")?.0), input, output, size })
}

/// The flows of a network's scenario, in packets of `size`: a flow with a rate at that rate,
/// another one as fast as the link of its host.
fn read_network(
    s: &mut Section,
    (duration, seed): (Span, u64),
    size: Bytes,
    folder: &Path,
) -> Result<Pattern, ParamError> {
    let name = s.text("scenario")?;
    let mut settings = vec![format!("run.seed={seed}"), format!("run.duration={}ps", duration.0)];
    settings.extend(s.texts("settings")?);
    let hot = if s.texts("outputs")?.is_empty() { Vec::new() } else { ports(s, "outputs")? };
    let laid: Result<Vec<Override>, Problem> =
        settings.iter().map(|text| Override::set(text)).collect();
    let network = laid
        .map_err(Problems::from)
        .and_then(|laid| NetworkScenario::load(&folder.join(&name), &laid));
    let network = match network {
        Ok(network) => network,
        Err(problems) => {
            s.refuse_file(problems);
            return Err(ParamError::new(
                "scenario",
                "xoff cannot use the file",
                "see the message about the file",
            ));
        }
    };
    let until = Time(duration.0);
    let topology = &network.topology;
    let mut number = vec![0; topology.nodes.len()];
    topology.hosts().enumerate().for_each(|(n, host)| number[host.index()] = n as u32);
    let mut packets = Vec::new();
    for f in network.flows.flows.iter().filter(|f| f.start < until) {
        let link = topology.link_at(f.src, 0).rate;
        let gap = f.rate.unwrap_or(link).time_for(size);
        let whole = (until.since(f.start).0 / gap.0.max(1)).min(f.size.div_ceil(size.0)).max(1);
        let (input, output) = (number[f.src.index()], number[f.dst.index()]);
        packets.extend((0..whole).map(|n| Arrival {
            at: Time(f.start.0 + n * gap.0),
            input,
            output,
            size,
        }));
    }
    Ok(Pattern::Listed { packets, hot })
}
