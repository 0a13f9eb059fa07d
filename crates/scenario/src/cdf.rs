//! Distributions of flow sizes: the file format, and six by name.
//!
//! ```text
//!   # comment
//!   size_bytes cumulative_percent        from 0 to 100 percent, never falling; linear in size between points
//! ```

use std::path::Path;
use std::sync::Arc;

use crate::words::{Line, Words};
use crate::{Problem, Problems, Source, suggest};

/// The built-in distributions: name and file.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("websearch", include_str!("../data/cdf/websearch.txt")),
    ("hadoop", include_str!("../data/cdf/hadoop.txt")),
    ("alistorage2019", include_str!("../data/cdf/alistorage2019.txt")),
    ("googlerpc2008", include_str!("../data/cdf/googlerpc2008.txt")),
    ("enterprise", include_str!("../data/cdf/enterprise.txt")),
    ("mpi-io", include_str!("../data/cdf/mpi-io.txt")),
];

/// Points of a distribution: size [bytes] and the percentage of flows up to it.
pub type Points = Vec<(u64, f64)>;

/// The built-in distribution of this name.
pub fn built_in(name: &str) -> Option<Points> {
    let (name, text) = BUILT_IN.iter().find(|(n, _)| *n == name)?;
    Some(
        read(&Source::file(*name, *text))
            .expect("the built-in files are sound; a test reads them all"),
    )
}

/// A distribution by built-in name, else the file of this path; `folder` is where relative paths
/// start.
///
/// # Errors
/// No such name or file, or a file that is no distribution: each with its place.
pub fn find(name: &str, folder: &Path) -> Result<Points, Problems> {
    if let Some(points) = built_in(name) {
        return Ok(points);
    }
    let path = folder.join(name);
    if !path.exists() {
        let known: Vec<&str> = BUILT_IN.iter().map(|(n, _)| *n).collect();
        let what =
            format!("'{}' is neither a built-in size distribution nor a file", suggest::clip(name));
        return Err(Problem::new(what, suggest::hint(name, "built-in", &known)).into());
    }
    read(&Source::read(&path)?)
}

/// Reads a distribution.
///
/// # Errors
/// Every line that is no point of a distribution, with its place.
pub fn read(source: &Arc<Source>) -> Result<Points, Problems> {
    let mut w = Words::new(source);
    let mut points: Points = Vec::new();
    let mut last_place = 0..0;
    for mut line in w.lines() {
        if let Some(comment) = line.words.iter().position(|word| word.text.starts_with('#')) {
            line.words.truncate(comment);
        }
        let Some(first) = line.words.first().map(|word| word.span.clone()) else { continue };
        if let Some(point) = point(&mut w, &line, points.last().copied()) {
            points.push(point);
        }
        last_place = first;
    }
    // Points that were refused are missing: only a sound list can be judged as a whole.
    if w.problems.is_empty() {
        match points.as_slice() {
            [] | [_] => w.refuse(
                &last_place,
                "the distribution has fewer than two points",
                "expected lines of size_bytes cumulative_percent, such as \"0 0\" and \"1000 100\"",
            ),
            [.., (_, percent)] if *percent != 100.0 => {
                w.refuse(
                    &last_place,
                    format!("the last point is at {percent} % instead of 100 %"),
                    "expected 100",
                );
            }
            [.., (0, _)] => {
                w.refuse(&last_place, "every flow would have 0 bytes", "expected sizes above 0")
            }
            _ => {}
        }
    }
    w.problems.or(points)
}

fn point(w: &mut Words<'_>, line: &Line<'_>, before: Option<(u64, f64)>) -> Option<(u64, f64)> {
    if !w.expect(line, "point", &["size_bytes", "cumulative_percent"]) {
        return None;
    }
    let (size_word, percent_word) = (&line.words[0], &line.words[1]);
    let size = w.count(size_word, "size", 1 << 60)?;
    let percent = w.number(percent_word, "percentage")?;
    if percent > 100.0 {
        w.refuse(&percent_word.span, format!("{percent} is not a percentage"), "expected 0 to 100");
        return None;
    }
    // A refused point still counts as the previous one: its successors may be sound.
    match before {
        None if percent != 0.0 => w.refuse(
            &percent_word.span,
            format!("the first point is at {percent} % instead of 0 %"),
            "expected 0, as in \"0 0\"",
        ),
        Some((s, _)) if size < s => w.refuse(
            &size_word.span,
            format!("size {size} is below the previous one, {s}"),
            "expected sizes that grow",
        ),
        Some((_, p)) if percent < p => {
            w.refuse(
                &percent_word.span,
                format!("{percent} % is below the previous value, {p} %"),
                "expected percentages that grow",
            );
        }
        _ => {}
    }
    Some((size, percent))
}
