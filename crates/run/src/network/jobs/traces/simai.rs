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
//! awaits the collective of the latter and the update after it. An update without a collective
//! follows the weight gradient, where SimAI leaves it out. Groups are those of `MockNcclGroup.cc`: tensor parallel
//! ranks follow each other; data parallel ones have a tensor group between them; `_EP` is one of
//! each of `ep` consecutive tensor groups, `_DP_EP` one of each `ep`-th. xoff rejects recomputation.
//!
//! SimAI runs the layers of a pipeline on one stage, and its analytical mode adds a formula. Here a
//! pipeline has `pp` stages of consecutive ranks, and each stage has the layers of the file:
//!
//! ```text
//!   layers    before | micro-batch 0 | micro-batch 1 | ... | micro-batch ga-1 | after       equal names in each
//!   batch     before | chunk 0 | chunk 1 | ... | chunk vpp-1 | after                        equal names in each
//!   a stage   forward of "before"; schedule of chunks; forward and backward of "after"; backward of "before"
//! ```
//!
//! The schedule is 1F1B, interleaved if `vpp` > 1 (Narayanan et al., Efficient Large-Scale Language
//! Model Training on GPU Clusters Using Megatron-LM, SC'21, section 2.2). A stage hands `pp_comm`
//! bytes for each chunk to the rank at the same place of the next stage, and continues at once.

use std::collections::HashMap;
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
/// Layers of a pipeline at most: the search for its micro-batches takes their square.
const STAGE_LAYERS_MAX: usize = 50_000;

type Bad = (Range<usize>, String, String);

fn bad<T>(place: Range<usize>, what: impl Into<String>, hint: &str) -> Result<T, Bad> {
    Err((place, what.into(), hint.to_owned()))
}

/// Sizes of the groups, and the pipeline.
#[derive(Clone)]
struct Shape {
    /// Ranks of a stage.
    ranks: u32,
    tensor: u32,
    expert: u32,
    /// Stages; 1: no pipeline.
    stages: u32,
    /// Chunks of layers of a stage.
    chunks: u32,
    batches: u32,
    /// From a rank to the one of the next stage, for a chunk [bytes].
    handed: u64,
    /// Place of `ga`, for problems with the pipeline.
    place: Range<usize>,
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
    /// Groups of a stage.
    fn groups(&self, among: Among, stage: u32) -> Vec<Vec<u32>> {
        let Shape { ranks, tensor, expert, .. } = *self;
        let every = |first: u32, step: u32, n: u32| {
            (0..n).map(|i| stage * ranks + first + i * step).collect()
        };
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
    let (graph, alone) = build(&shape, &layers, node, pages).map_err(problem)?;
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
        // SimAI's generator divides sizes as floats.
        let Ok(n) = value.strip_suffix(".0").unwrap_or(value).parse::<u32>() else {
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
    for at in [6, 7] {
        if let Some((n, place)) = values[at].as_ref().filter(|v| v.0 != 0) {
            let what =
                format!("{}: {n}: xoff does not read the recomputation of activations", KEYS[at]);
            return bad(place.clone(), what, "expected 0");
        }
    }
    let or_one = |at: usize| values[at].as_ref().map_or(Ok((1, place.clone())), |_| needed(at));
    let (stages, chunks, batches) = (or_one(2)?, or_one(3)?, or_one(4)?);
    let handed = match &values[8] {
        None if stages.0 > 1 => {
            return bad(stages.1, "pp_comm is missing", "expected the bytes between two stages");
        }
        // SimAI's generator writes the key without a pipeline too.
        Some((0, _)) if stages.0 == 1 => 0,
        Some((0, place)) => return bad(place.clone(), "pp_comm is 0", "expected 1 or more"),
        Some((_, place)) if stages.0 == 1 => {
            return bad(place.clone(), "pp_comm needs a pipeline", "remove the key");
        }
        other => other.as_ref().map_or(0, |v| v.0),
    };
    if ranks.0 > 1 << 20 {
        return bad(ranks.1, format!("{} ranks", ranks.0), "expected at most 1,048,576");
    }
    if !ranks.0.is_multiple_of(stages.0) {
        return bad(
            stages.1,
            format!("{} stages of a pipeline among {} ranks", stages.0, ranks.0),
            "expected a number that divides all_gpus",
        );
    }
    let stage = ranks.0 / stages.0;
    if !stage.is_multiple_of(tensor.0) {
        return bad(
            tensor.1,
            format!("groups of {} among {stage} ranks", tensor.0),
            "expected a number that divides all_gpus / pp",
        );
    }
    if !(stage / tensor.0).is_multiple_of(expert.0) {
        let what = format!("ep {} among {} data parallel ranks", expert.0, stage / tensor.0);
        return bad(
            expert.1,
            what,
            "expected a number that divides all_gpus / pp / model_parallel_NPU_group",
        );
    }
    if stages.0 > 1 && chunks.0 > 1 && !batches.0.is_multiple_of(stages.0) {
        let what = format!("{} micro-batches on {} interleaved stages", batches.0, stages.0);
        return bad(batches.1, what, "expected a multiple of pp, or vpp: 1");
    }
    Ok(Shape {
        ranks: stage,
        tensor: tensor.0,
        expert: expert.0,
        stages: stages.0,
        chunks: chunks.0,
        batches: batches.0,
        handed: handed.into(),
        place: batches.1,
    })
}

fn layer(w: &[(&str, Range<usize>)]) -> Result<Layer, Bad> {
    let place = w[0].1.start..w[w.len() - 1].1.end;
    if w.len() != 12 {
        return bad(
            place,
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
    Ok(Layer { name: w[0].0.to_owned(), place, parts, update: time(11)? })
}

/// Layers of each chunk, of one micro-batch after the other, and the ones before and after them all.
struct Pipeline {
    chunks: Vec<Vec<Range<usize>>>,
    before: Range<usize>,
    after: Range<usize>,
}

impl Pipeline {
    fn of(shape: &Shape, layers: &[Layer]) -> Result<Pipeline, Bad> {
        if layers.len() > STAGE_LAYERS_MAX {
            let what = format!("a pipeline of {} layers", layers.len());
            return bad(shape.place.clone(), what, "expected at most 50,000");
        }
        // Layers of one name have one number. Their times may differ: the first micro-batch of a real
        // file has a longer embedding.
        let mut known = HashMap::new();
        let names: Vec<usize> = layers
            .iter()
            .map(|l| {
                let next = known.len();
                *known.entry(l.name.as_str()).or_insert(next)
            })
            .collect();
        let parts = |within: Range<usize>, n: u32, of: &str| {
            let found = repetition(&names[within.clone()], n as usize).ok_or_else(|| {
                let what = format!("the names of the layers do not repeat {n} times");
                let hint = format!("expected {n} {of} with equal layers after each other");
                (shape.place.clone(), what, hint)
            })?;
            let (start, length) = (within.start + found.start, found.len() / n as usize);
            Ok((0..n as usize).map(|i| start + i * length).map(|s| s..s + length).collect())
        };
        let batches: Vec<Range<usize>> = parts(0..layers.len(), shape.batches, "micro-batches")?;
        let (before, after) = (0..batches[0].start, batches[batches.len() - 1].end..layers.len());
        let chunks = batches
            .into_iter()
            .map(|batch| {
                let mut chunks: Vec<Range<usize>> = parts(batch.clone(), shape.chunks, "chunks")?;
                chunks[0].start = batch.start;
                chunks[shape.chunks as usize - 1].end = batch.end;
                Ok(chunks)
            })
            .collect::<Result<_, Bad>>()?;
        Ok(Pipeline { chunks, before, after })
    }
}

/// The longest run of `n` equal parts, the first of them.
fn repetition(names: &[usize], n: usize) -> Option<Range<usize>> {
    (1..=names.len() / n).rev().find_map(|length| {
        let whole = length * n;
        let mut equal = 0;
        for at in 0..=names.len() - length {
            // The layers `at - equal .. at` are equal to those one part later.
            if equal == whole - length {
                return Some(at - equal..at - equal + whole);
            }
            let same = at + length < names.len() && names[at] == names[at + length];
            equal = if same { equal + 1 } else { 0 };
        }
        None
    })
}

/// Forward and backward passes of a stage in their order: micro-batch, chunk, whether backward.
fn schedule(shape: &Shape, stage: u32) -> Vec<(u32, u32, bool)> {
    let Shape { stages, chunks, batches, .. } = *shape;
    let all = batches * chunks;
    let warm = match chunks {
        1 => stages - stage - 1,
        _ => 2 * (stages - stage - 1) + (chunks - 1) * stages,
    };
    let pass = |k: u32, backward: bool| {
        let (round, within) =
            if chunks == 1 { (k, 0) } else { (k / (stages * chunks), k % (stages * chunks)) };
        let (chunk, batch) = if chunks == 1 {
            (0, round)
        } else {
            (within / stages, round * stages + within % stages)
        };
        (batch, if backward { chunks - 1 - chunk } else { chunk }, backward)
    };
    let warm = warm.min(all);
    let steady = (warm..all).flat_map(|k| [pass(k, false), pass(k - warm, true)]);
    (0..warm)
        .map(|k| pass(k, false))
        .chain(steady)
        .chain((all - warm..all).map(|k| pass(k, true)))
        .collect()
}

/// Operations while they are put together.
struct Build<'a> {
    shape: &'a Shape,
    layers: &'a [Layer],
    node: u32,
    graph: Graph,
    /// By rank: the operation that its next one waits for.
    at: Vec<u32>,
    /// Collectives of one rank.
    alone: u64,
}

/// The operations, and how many collectives are of one rank.
fn build(
    shape: &Shape,
    layers: &[Layer],
    node: u32,
    pages: Option<&PageFile>,
) -> Result<(Graph, u64), Bad> {
    let n = shape.ranks as usize * shape.stages as usize;
    if let Err((what, hint)) = room::for_ranks(n as u64, pages.is_some()) {
        return bad(0..0, what, &hint);
    }
    let mut b =
        Build { shape, layers, node, graph: super::graph(n, pages), at: vec![NONE; n], alone: 0 };
    let times = layers.iter().flat_map(|l| l.parts.iter().map(|p| p.time).chain([l.update]));
    let computing = times.filter(|time| *time > Span::ZERO).count();
    b.room(&layers[0].place, (computing as u64).saturating_mul(n as u64))?;
    if shape.stages == 1 {
        b.forward(0, 0..layers.len())?;
        b.backward(0, 0..layers.len())?;
    } else {
        let pipeline = Pipeline::of(shape, layers)?;
        let handed = 4 * u64::from(shape.batches) * u64::from(shape.chunks);
        b.room(&shape.place, handed.saturating_mul(n as u64))?;
        for stage in 0..shape.stages {
            b.forward(stage, pipeline.before.clone())?;
            for (batch, chunk, backward) in schedule(shape, stage) {
                b.chunk(&pipeline, stage, (batch, chunk), backward)?;
            }
            b.forward(stage, pipeline.after.clone())?;
            b.backward(stage, pipeline.after.clone())?;
            b.backward(stage, pipeline.before.clone())?;
        }
    }
    b.graph.finish();
    Ok((b.graph, b.alone))
}

impl Build<'_> {
    fn room(&self, place: &Range<usize>, more: u64) -> Result<(), Bad> {
        room::for_more(&self.graph, more, 1).map_err(|(what, hint)| (place.clone(), what, hint))
    }

    fn ranks(&self, stage: u32) -> Range<u32> {
        stage * self.shape.ranks..(stage + 1) * self.shape.ranks
    }

    fn forward(&mut self, stage: u32, layers: Range<usize>) -> Result<(), Bad> {
        for l in &self.layers[layers] {
            self.compute(stage, l.parts[0].time);
            for (rank, end) in self.collective(stage, &l.parts[0], l, "forward")? {
                self.at[rank as usize] = end;
            }
        }
        Ok(())
    }

    fn backward(&mut self, stage: u32, layers: Range<usize>) -> Result<(), Bad> {
        for i in layers.rev() {
            let l = &self.layers[i];
            self.compute(stage, l.parts[1].time);
            // As SimAI, which has no pipeline: the first layer has nothing to hand back.
            let input = match i {
                0 if self.shape.stages == 1 => Vec::new(),
                _ => self.collective(stage, &l.parts[1], l, "input gradient")?,
            };
            self.compute(stage, l.parts[2].time);
            let mut weight = self.collective(stage, &l.parts[2], l, "weight gradient")?;
            if weight.is_empty() {
                weight = self.ranks(stage).map(|rank| (rank, self.at[rank as usize])).collect();
            }
            // In parallel with everything else: only the end of the iteration waits for it.
            for (rank, end) in weight.into_iter().filter(|_| l.update > Span::ZERO) {
                let op = self.graph.add(rank, Work::Compute(l.update), Op::FREE);
                self.graph.after(rank, op, end);
            }
            for (rank, input) in input {
                let join = self.graph.mark(rank);
                self.graph.after(rank, join, self.at[rank as usize]);
                self.graph.after(rank, join, input);
                self.at[rank as usize] = join;
            }
        }
        Ok(())
    }

    /// A chunk of a micro-batch, with the message before it and the one after it.
    fn chunk(
        &mut self,
        pipeline: &Pipeline,
        stage: u32,
        (batch, chunk): (u32, u32),
        backward: bool,
    ) -> Result<(), Bad> {
        let Shape { ranks, stages, chunks, handed: bytes, .. } = *self.shape;
        // Stages of all chunks follow each other: the place among them, and the places next to it.
        let place = chunk * stages + stage;
        let (lower, upper) =
            (place.checked_sub(1), Some(place + 1).filter(|p| *p < stages * chunks));
        let (from, to) = if backward { (upper, lower) } else { (lower, upper) };
        // A tag names the message by its receiver's pass.
        let tag = |place: u32| {
            2 * (u64::from(batch) * u64::from(stages * chunks) + u64::from(place))
                + u64::from(backward)
        };
        for rank in self.ranks(stage).filter(|_| from.is_some()) {
            let peer = from.unwrap_or(0) % stages * ranks + rank % ranks;
            let work = Work::Receive { from: Some(peer), bytes, tag: Some(tag(place)) };
            self.next(rank, work, Op::FREE);
        }
        let layers = pipeline.chunks[batch as usize][chunk as usize].clone();
        if backward {
            self.backward(stage, layers)?;
        } else {
            self.forward(stage, layers)?;
        }
        for rank in self.ranks(stage) {
            let Some(to) = to else { continue };
            let peer = to % stages * ranks + rank % ranks;
            let work = Work::Send { to: peer, bytes, tag: tag(to), channel: 0 };
            let op = self.graph.add(rank, work, Op::FREE);
            self.graph.after(rank, op, self.at[rank as usize]);
        }
        Ok(())
    }

    /// Adds an operation after the previous one of its rank.
    fn next(&mut self, rank: u32, work: Work, stream: u16) {
        let op = self.graph.add(rank, work, stream);
        self.graph.after(rank, op, self.at[rank as usize]);
        self.at[rank as usize] = op;
    }

    fn compute(&mut self, stage: u32, time: Span) {
        for rank in self.ranks(stage).filter(|_| time > Span::ZERO) {
            self.next(rank, Work::Compute(time), COMPUTING);
        }
    }

    /// Adds a collective after the previous operations of its ranks. Returns its last operation of
    /// each rank.
    fn collective(
        &mut self,
        stage: u32,
        part: &Pass,
        layer: &Layer,
        word: &str,
    ) -> Result<Vec<(u32, u32)>, Bad> {
        let Some((kind, among, bytes)) = part.collective else { return Ok(Vec::new()) };
        let mut ends = Vec::new();
        for (nth, group) in self.shape.groups(among, stage).into_iter().enumerate() {
            let before: Vec<u32> = group.iter().map(|&r| self.at[r as usize]).collect();
            if group.len() < 2 {
                self.alone += 1;
                ends.extend(group.into_iter().zip(before));
                continue;
            }
            let c = Collective {
                name: format!("{} {word}[{nth}]", layer.name),
                node: self.node,
                ..Collective::new(kind, bytes, group.clone())
            };
            c.check().map_err(|(_, what, hint)| (layer.place.clone(), what, hint))?;
            self.room(&layer.place, c.ops_at_most())?;
            ends.extend(group.into_iter().zip(c.add_to(&mut self.graph, &before)));
        }
        Ok(ends)
    }
}
