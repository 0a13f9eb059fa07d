//! Sides, their names, and the parameters that differ.

use schemars::JsonSchema;
use serde::Serialize;

use crate::compare::{CompareError, Run};

/// Parameters that say nothing about a side.
const NOT_COMPARED: [&str; 2] = ["run.seed", "run.title"];

/// Sides to compare.
#[derive(Clone, Debug, Default)]
pub struct Sides {
    /// The runs of each side.
    pub runs: Vec<Vec<Run>>,
    /// Names; `None`: from the parameter that differs.
    pub names: Option<Vec<String>>,
}

/// A parameter that differs.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Difference {
    /// Path: `flow_control.kind`.
    pub path: String,
    /// Value on each side, in their order; null: the side has no such parameter.
    pub values: Vec<Option<String>>,
}

/// A parameter of a side, and the values that its runs have.
pub(crate) struct Parameter {
    pub path: String,
    pub values: Vec<String>,
    /// The values together.
    text: String,
}

/// The parameters of a side in their order.
pub(crate) type Parameters = Vec<Parameter>;

/// Parameters of these runs. Values that differ among them are listed together.
pub(crate) fn parameters(side: &[Run]) -> Parameters {
    let mut found: Parameters = Vec::new();
    let mut places = std::collections::HashMap::new();
    for p in side
        .iter()
        .flat_map(|r| &r.manifest.parameters)
        .filter(|p| !NOT_COMPARED.contains(&p.path.as_str()))
    {
        let at = *places.entry(p.path.clone()).or_insert_with(|| {
            found.push(Parameter { path: p.path.clone(), values: Vec::new(), text: String::new() });
            found.len() - 1
        });
        if !found[at].values.contains(&p.value) {
            found[at].values.push(p.value.clone());
        }
    }
    found.iter_mut().for_each(|p| p.text = p.values.join(" | "));
    found
}

fn value<'p>(of: &'p [Parameter], path: &str) -> Option<&'p str> {
    of.iter().find(|p| p.path == path).map(|p| p.text.as_str())
}

/// All paths, in the order in which they come.
fn paths(sides: &[Parameters]) -> Vec<&str> {
    let mut seen = std::collections::HashSet::new();
    sides.iter().flatten().map(|p| p.path.as_str()).filter(|p| seen.insert(*p)).collect()
}

/// Parameters that differ.
pub(crate) fn differing(sides: &[Parameters]) -> Vec<Difference> {
    let row = |path: &str| Difference {
        path: path.to_owned(),
        values: sides.iter().map(|of| value(of, path).map(str::to_owned)).collect(),
    };
    paths(sides)
        .into_iter()
        .map(row)
        .filter(|d| d.values.iter().any(|v| *v != d.values[0]))
        .collect()
}

/// The names of sides: those given, or the values of a parameter that differs on all of them.
pub(crate) fn choose(
    given: Option<&[String]>,
    sides: &[Parameters],
) -> Result<Vec<String>, CompareError> {
    if let Some(names) = given {
        if names.len() != sides.len() || !all_differ(names) {
            let what = format!("names: expected {} different names, not {names:?}", sides.len());
            return Err(CompareError::new(what, "give each side a name of its own"));
        }
        return Ok(names.to_vec());
    }
    let mut paths = paths(sides);
    // Kinds of mechanisms name a side best.
    paths.sort_by_key(|p| !p.ends_with(".kind"));
    for path in paths {
        let values: Option<Vec<&str>> = sides.iter().map(|of| value(of, path)).collect();
        let Some(values) = values.filter(|v| all_differ(v) && v.iter().all(|v| !v.is_empty()))
        else {
            continue;
        };
        let last = path.rsplit('.').next().unwrap_or(path);
        return Ok(values
            .iter()
            .map(|v| if last == "kind" { (*v).to_owned() } else { format!("{last} {v}") })
            .collect());
    }
    let letter = |i: usize| {
        u8::try_from(i)
            .ok()
            .filter(|i| *i < 26)
            .map_or(format!("side {i}"), |i| char::from(b'A' + i).to_string())
    };
    Ok((0..sides.len()).map(letter).collect())
}

fn all_differ<T: PartialEq>(values: &[T]) -> bool {
    values.iter().enumerate().all(|(i, v)| !values[..i].contains(v))
}
