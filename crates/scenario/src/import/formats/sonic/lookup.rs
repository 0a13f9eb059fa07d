//! `pg_profile_lookup.ini`: columns speed [Mb/s], cable, size, xon, xoff, threshold and perhaps
//! xon_offset [bytes].

use std::collections::HashMap;
use std::sync::Arc;

use crate::{Place, Problem, Problems, Source, suggest};

use crate::import::text::lines;

const COLUMNS: &str = "expected speed cable size xon xoff threshold [xon_offset]";

/// A row.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub size: u64,
    pub xon: u64,
    pub headroom: u64,
    /// A power of 2, or bytes where the pool is static.
    pub threshold: i64,
    pub xon_offset: Option<u64>,
    pub place: Place,
}

/// The table.
pub(super) struct Lookup {
    pub source: Arc<Source>,
    /// By speed [Mb/s] and length as written (`5m`): the switch compares the texts.
    pub rows: HashMap<(u64, String), Row>,
}

impl Lookup {
    /// Reads a table.
    ///
    /// # Errors
    /// Every line that is rejected, with its place.
    pub fn read(source: &Arc<Source>) -> Result<Lookup, Problems> {
        let (mut rows, mut problems) = (HashMap::<(u64, String), Row>::new(), Problems::default());
        for line in lines(source) {
            let text = line.text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let words: Vec<&str> = text.split_whitespace().collect();
            if let ([one], true) = (words.as_slice(), text.contains('/')) {
                let hint = "give the file at this path (a checkout without symbolic links leaves only the path)";
                return Err(line
                    .problem(one, format!("'{}' is a path, not a row", suggest::clip(one)), hint)
                    .into());
            }
            match row(&line, &words) {
                Ok((key, row)) => {
                    if let Some(first) = rows.get(&key) {
                        let hint = format!("first defined at {}; keep one", first.place);
                        problems.push(line.problem(
                            "",
                            format!("{} {} is defined twice", key.0, key.1),
                            hint,
                        ));
                    } else {
                        rows.insert(key, row);
                    }
                }
                Err(p) => problems.push(p),
            }
        }
        if rows.is_empty() && problems.is_empty() {
            problems.push(Problem::new("the table has no rows", COLUMNS).at(source.place(0..0)));
        }
        problems.or(Lookup { source: source.clone(), rows })
    }
}

fn row(
    line: &crate::import::text::Line<'_>,
    words: &[&str],
) -> Result<((u64, String), Row), Problem> {
    if !(6..=7).contains(&words.len()) {
        return Err(line.problem(
            "",
            format!("found {} columns instead of 6 or 7", words.len()),
            COLUMNS,
        ));
    }
    let bytes = |i: usize, what: &str| line.count(words[i], what, u32::MAX.into());
    let speed = line.count(words[0], "speed", 100_000_000)?;
    let length = words[1]
        .strip_suffix('m')
        .filter(|m| !m.is_empty() && m.bytes().all(|b| b.is_ascii_digit()));
    if length.is_none() {
        return Err(line.problem(
            words[1],
            format!("cable: '{}' is not a length", suggest::clip(words[1])),
            "expected a form such as 40m",
        ));
    }
    let threshold = words[5].parse::<i64>();
    let threshold = threshold.map_err(|_| {
        line.problem(words[5], "threshold: not a whole number", "expected a power of 2, or bytes")
    })?;
    let xon_offset = if words.len() == 7 { Some(bytes(6, "xon_offset")?) } else { None };
    let (size, xon, headroom) = (bytes(2, "size")?, bytes(3, "xon")?, bytes(4, "xoff")?);
    Ok((
        (speed, words[1].to_owned()),
        Row { size, xon, headroom, threshold, xon_offset, place: line.place() },
    ))
}
