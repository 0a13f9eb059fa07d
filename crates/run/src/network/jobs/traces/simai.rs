//! SimAI's workload text: layers of a transformer, each with three times of computing and three
//! collectives.
//!
//! ```text
//!   HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4 ep: 2 pp: 1 vpp: 1 ga: 1 all_gpus: 16 checkpoints: 0 checkpoint_initiates:
//! 0
//!   3                                                                                      number of layers
//!   name dep  ns type bytes   ns type bytes   ns type bytes   ns                           forward, input gradient, weight gradient,
//! update
//! ```
//!
//! The order is that of `iterate_hybrid_parallel_Transformer_fwd_in_bckwd` (SimAI, `Workload.cc`):
//! forward through the layers, each collective awaited; then back: input gradient, its collective
//! (not of the first layer) in parallel with the computing of the weight gradient. Only the end
//! awaits the collective of the latter. Groups are those of `MockNcclGroup.cc`: tensor parallel
//! ranks follow each other; data parallel ones have a tensor group between them; `_EP` is one of
//! each of `ep` consecutive tensor groups, `_DP_EP` one of each `ep`-th. Pipelines, gradient
//! accumulation and recomputing are refused.

use std::ops::Range;
use std::sync::Arc;

use xoff_net::jobs::{BYTES_MAX, Collective, Graph, Kind, NONE, Op, SPAN_MAX, Work};
use xoff_scenario::{Problem, Problems, Source, suggest};
use xoff_units::Span;
use xoff_units::paged::PageFile;

use crate::network::jobs::room;

const POLICY: &str = "HYBRID_TRANSFORMER_FWD_IN_BCKWD";
const COMPUTING: u16 = 0;
/// Layers of a file at most.
const LAYERS_MAX: u64 = 1_000_000;

type Bad = (Range<usize>, String, String);

fn bad<T>(place: Range<usize>, what: impl Into<String>, hint: &str) -> Result<T, Bad> {
    Err((place, what.into(), hint.to_owned()))
}

/// Sizes of the groups.
#[derive(Clone, Copy)]
struct Shape {
    ranks: u32,
    tensor: u32,
    expert: u32,
}

/// Ranks of a collective.
#[derive(Clone, Copy, PartialEq)]
enum Among {
    Tensor,
    Data,
    Expert,
    DataExpert,
}

impl Shape {
    fn groups(self, among: Among) -> Vec<Vec<u32>> {
        let Shape { ranks, tensor, expert } = self;
        let every = |first: u32, step: u32, n: u32| (0..n).map(|i| first + i * step).collect();
        let data = ranks / tensor;
        match among {
            Among::Tensor => (0..data).map(|g| every(g * tensor, 1, tensor)).collect(),
            Among::Data => (0..tensor).map(|k| every(k, tensor, data)).collect(),
            Among::Expert => (0..data / expert)
                .flat_map(|g| {
                    (0..tensor).map(move |k| every(g * expert * tensor + k, tensor, expert))
                })
                .collect(),
            Among::DataExpert => (0..expert)
                .flat_map(|g| {
                    (0..tensor).map(move |k| every(g * tensor + k, expert * tensor, data / expert))
                })
                .collect(),
        }
    }
}

/// Computing and the operations after it.
#[derive(Clone, Copy)]
struct Pass {
    time: Span,
    collective: Option<(Kind, Among, u64)>,
}

struct Layer {
    name: String,
    place: Range<usize>,
    /// Forward, input gradient, weight gradient.
    parts: [Pass; 3],
    update: Span,
}

/// Reads a file; remarks about it are added to `warnings`.
pub(in crate::network::jobs) fn read(
    source: &Arc<Source>,
    node: u32,
    pages: Option<&PageFile>,
    warnings: &mut Vec<(String, String)>,
) -> Result<Graph, Problems> {
    let problem =
        |(place, what, hint): Bad| Problems::from(Problem::new(what, hint).at(source.place(place)));
    let (shape, layers) = parse(source.text()).map_err(problem)?;
    let (graph, alone) = build(shape, &layers, node, pages).map_err(problem)?;
    if alone > 0 {
        let what = format!("{alone} collectives have one rank each");
        warnings.push((what, "they send nothing".into()));
    }
    let called = |rank: u32, op: u32| format!("operation {op} of rank {rank}");
    match graph.check(&called) {
        Ok(()) => Ok(graph),
        Err(f) => Err(problem((0..0, format!("rank {}: {}", f.rank, f.what), f.hint))),
    }
}

/// Words of a line with their places.
fn words(text: &str, from: usize) -> Vec<(&str, Range<usize>)> {
    let start = |word: &str| from + (word.as_ptr() as usize - text.as_ptr() as usize);
    text.split_whitespace().map(|w| (w, start(w)..start(w) + w.len())).collect()
}

fn parse(text: &str) -> Result<(Shape, Vec<Layer>), Bad> {
    let mut offset = 0;
    let mut lines = text.split_inclusive('\n').filter_map(|line| {
        let from = offset;
        offset += line.len();
        Some(words(line, from)).filter(|w| !w.is_empty())
    });
    let Some(head) = lines.next() else {
        return bad(0..0, "the file is empty", "expected the kind of parallelism first");
    };
    let shape = header(&head)?;
    let end = text.trim_end().len();
    let Some(count) = lines.next() else {
        return bad(end..end, "the number of layers is missing", "expected on the second line");
    };
    let stated = match (&count[..], count[0].0.parse::<u64>()) {
        ([_], Ok(n)) if (1..=LAYERS_MAX).contains(&n) => n,
        _ => {
            return bad(
                count[0].1.clone(),
                format!("'{}' is not a number of layers", suggest::clip(count[0].0)),
                "expected 1 to 1,000,000",
            );
        }
    };
    let layers = lines.map(|w| layer(&w)).collect::<Result<Vec<_>, _>>()?;
    if layers.len() as u64 != stated {
        let what =
            format!("the second line announces {stated} layers, but {} follow", layers.len());
        return bad(count[0].1.clone(), what, "correct the number, or add the missing layers");
    }
    Ok((shape, layers))
}

fn header(head: &[(&str, Range<usize>)]) -> Result<Shape, Bad> {
    let (policy, place) = head[0].clone();
    if policy != POLICY {
        return bad(
            place,
            format!("xoff cannot read '{}'", suggest::clip(policy)),
            &format!(
                "expected {POLICY}, the only policy with a known \
                                                                                        order"
            ),
        );
    }
    const KEYS: [&str; 9] = [
        "model_parallel_NPU_group",
        "ep",
        "pp",
        "vpp",
        "ga",
        "all_gpus",
        "checkpoints",
        "checkpoint_initiates",
        "pp_comm",
    ];
    let mut values: [Option<(u32, Range<usize>)>; KEYS.len()] = Default::default();
    let mut rest = head[1..].iter();
    while let Some((word, place)) = rest.next() {
        let key = word.trim_end_matches(':');
        let Some(at) = KEYS.iter().position(|k| *k == key) else {
            return bad(
                place.clone(),
                format!("unknown key '{}' on the first line", suggest::clip(key)),
                &suggest::hint(key, "keys", &KEYS),
            );
        };
        let Some((value, place)) = rest.next() else {
            return bad(
                place.clone(),
                format!("{key} has no value"),
                "expected a whole number after the key",
            );
        };
        let Ok(n) = value.parse::<u32>() else {
            return bad(
                place.clone(),
                format!("{key}: '{}' is not a whole number", suggest::clip(value)),
                "expected decimal digits",
            );
        };
        if values[at].replace((n, place.clone())).is_some() {
            return bad(place.clone(), format!("{key} is defined twice"), "keep one of the two");
        }
    }
    let place = head[0].1.clone();
    let needed = |at: usize| match &values[at] {
        Some((0, place)) if at != 6 && at != 7 => {
            bad(place.clone(), format!("{} is 0", KEYS[at]), "expected 1 or more")
        }
        Some(v) => Ok(v.clone()),
        None => {
            bad(place.clone(), format!("{} is missing", KEYS[at]), "expected on the first line")
        }
    };
    let (tensor, expert, ranks) = (needed(0)?, needed(1)?, needed(5)?);
    for (at, why) in [
        (2, "xoff does not read the order of a pipeline"),
        (4, "xoff does not know which operations gradient accumulation repeats"),
        (6, "xoff does not read the recomputation of activations"),
        (7, "xoff does not read the recomputation of activations"),
    ] {
        let usual = u32::from(at == 2 || at == 4);
        if let Some((n, place)) = values[at].as_ref().filter(|v| v.0 != usual) {
            return bad(
                place.clone(),
                format!("{}: {n}: {why}", KEYS[at]),
                &format!("expected {usual}"),
            );
        }
    }
    if let Some((_, place)) = &values[8] {
        return bad(place.clone(), "pp_comm needs a pipeline", "remove the key");
    }
    if ranks.0 > 1 << 20 {
        return bad(ranks.1, format!("{} ranks", ranks.0), "expected at most 1,048,576");
    }
    if !ranks.0.is_multiple_of(tensor.0) {
        return bad(
            tensor.1,
            format!("groups of {} among {} ranks", tensor.0, ranks.0),
            "expected a number that divides all_gpus",
        );
    }
    if !(ranks.0 / tensor.0).is_multiple_of(expert.0) {
        let what = format!("ep {} among {} data parallel ranks", expert.0, ranks.0 / tensor.0);
        return bad(
            expert.1,
            what,
            "expected a number that divides all_gpus / model_parallel_NPU_group",
        );
    }
    Ok(Shape { ranks: ranks.0, tensor: tensor.0, expert: expert.0 })
}

fn layer(w: &[(&str, Range<usize>)]) -> Result<Layer, Bad> {
    let line = w[0].1.start..w[w.len() - 1].1.end;
    if w.len() != 12 {
        return bad(
            line,
            format!("{} columns", w.len()),
            "a layer has 12: name, dep, three times time, collective and bytes, update",
        );
    }
    let number = |at: usize, most: u64, what: &str| match w[at].0.parse::<u64>() {
        Ok(n) if n <= most => Ok(n),
        _ => bad(
            w[at].1.clone(),
            format!("'{}' is not a {what}", suggest::clip(w[at].0)),
            &format!("expected 0 to {most}"),
        ),
    };
    let time = |at: usize| Ok(Span::from_ns(number(at, SPAN_MAX.as_ns(), "time in ns")?));
    if w[1].0.parse::<i64>().is_err() {
        return bad(
            w[1].1.clone(),
            format!("'{}' is not the number of a layer", suggest::clip(w[1].0)),
            "-1: none",
        );
    }
    let part = |at: usize, plain: Among| -> Result<Pass, Bad> {
        let (word, place) = w[at + 1].clone();
        let bytes = number(at + 2, BYTES_MAX, "size in bytes")?;
        let (name, among) = match word
            .strip_suffix("_DP_EP")
            .map(|n| (n, Among::DataExpert))
            .or(word.strip_suffix("_EP").map(|n| (n, Among::Expert)))
        {
            Some(known) => known,
            None => (word, plain),
        };
        let kind = match name {
            "NONE" if name == word => None,
            "ALLREDUCE" => Some(Kind::AllReduce),
            "ALLGATHER" => Some(Kind::AllGather),
            "REDUCESCATTER" => Some(Kind::ReduceScatter),
            "ALLTOALL" => Some(Kind::AllToAll),
            _ => {
                return bad(
                    place,
                    format!("'{}' is not a collective", suggest::clip(word)),
                    "ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL, with _EP or _DP_EP, or NONE",
                );
            }
        };
        let collective = kind.filter(|_| bytes > 0).map(|kind| (kind, among, bytes));
        Ok(Pass { time: time(at)?, collective })
    };
    let parts = [part(2, Among::Tensor)?, part(5, Among::Tensor)?, part(8, Among::Data)?];
    Ok(Layer { name: w[0].0.to_owned(), place: line, parts, update: time(11)? })
}

/// The operations, and how many collectives are of one rank.
fn build(
    shape: Shape,
    layers: &[Layer],
    node: u32,
    pages: Option<&PageFile>,
) -> Result<(Graph, u64), Bad> {
    let n = shape.ranks as usize;
    if let Err((what, hint)) = room::for_ranks(shape.ranks.into(), pages.is_some()) {
        return bad(0..0, what, &hint);
    }
    let mut graph = super::graph(n, pages);
    let computing = layers.iter().flat_map(|l| &l.parts).filter(|p| p.time > Span::ZERO).count();
    if let (Some(first), Err((what, hint))) =
        (layers.first(), room::for_more(&graph, (computing as u64).saturating_mul(n as u64), 1))
    {
        return Err((first.place.clone(), what, hint));
    }
    let (mut at, mut alone) = (vec![NONE; n], 0u64);
    let compute = |graph: &mut Graph, at: &mut [u32], time: Span| {
        for (rank, before) in (0..).zip(at.iter_mut()).filter(|_| time > Span::ZERO) {
            let op = graph.add(rank, Work::Compute(time), COMPUTING);
            graph.after(rank, op, *before);
            *before = op;
        }
    };
    // Begins a collective after `at`; the end of each rank.
    let mut collective = |graph: &mut Graph,
                          at: &[u32],
                          part: &Pass,
                          layer: &Layer,
                          word: &str|
     -> Result<Option<Vec<u32>>, Bad> {
        let Some((kind, among, bytes)) = part.collective else { return Ok(None) };
        let mut ends = at.to_vec();
        for (nth, group) in shape.groups(among).into_iter().enumerate() {
            if group.len() < 2 {
                alone += 1;
                continue;
            }
            let before: Vec<u32> = group.iter().map(|&r| at[r as usize]).collect();
            let c = Collective {
                name: format!("{} {word}[{nth}]", layer.name),
                node,
                ..Collective::new(kind, bytes, group.clone())
            };
            c.check().map_err(|(_, what, hint)| (layer.place.clone(), what, hint))?;
            room::for_more(graph, c.ops_at_most(), 1)
                .map_err(|(what, hint)| (layer.place.clone(), what, hint))?;
            for (&rank, end) in group.iter().zip(c.add_to(graph, &before)) {
                ends[rank as usize] = end;
            }
        }
        Ok(Some(ends))
    };
    for l in layers {
        compute(&mut graph, &mut at, l.parts[0].time);
        if let Some(ends) = collective(&mut graph, &at, &l.parts[0], l, "forward")? {
            at = ends;
        }
    }
    for (i, l) in layers.iter().enumerate().rev() {
        compute(&mut graph, &mut at, l.parts[1].time);
        let input = if i > 0 {
            collective(&mut graph, &at, &l.parts[1], l, "input gradient")?
        } else {
            None
        };
        compute(&mut graph, &mut at, l.parts[2].time);
        if let Some(ends) = collective(&mut graph, &at, &l.parts[2], l, "weight gradient")? {
            // In parallel with everything else: only the end of the iteration waits for it.
            for (rank, end) in (0..).zip(ends).filter(|_| l.update > Span::ZERO) {
                let op = graph.add(rank, Work::Compute(l.update), Op::FREE);
                graph.after(rank, op, end);
            }
        }
        for (rank, input) in (0..).zip(input.into_iter().flatten()) {
            let join = graph.mark(rank);
            graph.after(rank, join, at[rank as usize]);
            graph.after(rank, join, input);
            at[rank as usize] = join;
        }
    }
    graph.finish();
    Ok((graph, alone))
}
