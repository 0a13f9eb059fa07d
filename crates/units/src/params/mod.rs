//! Declared parameters of a mechanism or a model.
//!
//! A declaration is a table of [`ParamSpec`]: key, kind, default, meaning, source. From the same
//! table come the reader (with its unknown-key check and suggestions), the JSON Schema, the
//! defaults in the manifest and the documentation, so they cannot drift apart. The values arrive
//! through [`Values`], which a file reader, a command line or a Python call implements; a mechanism
//! does not depend on where its numbers come from.

pub mod memory;
pub mod suggest;

use std::fmt;

use crate::{Bytes, Length, Rate, Span, UnitError};

/// Kind of value that a key takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A rate with a unit, `"10Gbps"`.
    Rate,
    /// A size with a unit, `"300KB"`.
    Bytes,
    /// A duration or a point in time with a unit, `"1us"`.
    Span,
    /// A cable length with a unit, `"100m"`.
    Length,
    /// A whole number, zero or more.
    Count,
    /// A whole number that may be negative.
    Integer,
    /// A number.
    Float,
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Any text, for instance a path or a name.
    Text,
    /// A list of texts.
    Texts,
}

/// One parameter, as declared by its owner.
#[derive(Clone, Copy, Debug)]
pub struct ParamSpec {
    /// Key in the file, `snake_case`.
    pub key: &'static str,
    /// Kind of its value.
    pub kind: Kind,
    /// Default in the text form of the file (`"10Gbps"`, `"2"`, `"true"`); `None`: must be given,
    /// unless `optional`.
    pub default: Option<&'static str>,
    /// Whether it may be absent without a default; the owner then derives it (and states it in
    /// `doc`).
    pub optional: bool,
    /// Meaning, one sentence, with the unit's role.
    pub doc: &'static str,
    /// Source of the default or the rule: paper section, equation, clause.
    pub source: &'static str,
    /// Earlier names of the key. They still work, with a warning that names `key`.
    pub renamed_from: &'static [&'static str],
}

impl ParamSpec {
    /// A parameter with a default.
    pub const fn new(
        key: &'static str,
        kind: Kind,
        default: &'static str,
        doc: &'static str,
        source: &'static str,
    ) -> Self {
        ParamSpec {
            key,
            kind,
            default: Some(default),
            optional: false,
            doc,
            source,
            renamed_from: &[],
        }
    }
    /// A parameter that must be given.
    pub const fn required(key: &'static str, kind: Kind, doc: &'static str) -> Self {
        ParamSpec { key, kind, default: None, optional: false, doc, source: "", renamed_from: &[] }
    }
    /// A parameter that is derived when it is not given.
    pub const fn optional(
        key: &'static str,
        kind: Kind,
        doc: &'static str,
        source: &'static str,
    ) -> Self {
        ParamSpec { key, kind, default: None, optional: true, doc, source, renamed_from: &[] }
    }
    /// Parameter with former names.
    pub const fn renamed_from(mut self, names: &'static [&'static str]) -> Self {
        self.renamed_from = names;
        self
    }
}

/// Reason why a value was rejected. The implementor of [`Values`] adds file, line and column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamError {
    /// The key concerned.
    pub key: String,
    /// The problem, one clause.
    pub what: String,
    /// The expected value, one clause; may be empty.
    pub hint: String,
}

impl ParamError {
    /// An error about `key`.
    pub fn new(key: impl Into<String>, what: impl Into<String>, hint: impl Into<String>) -> Self {
        ParamError { key: key.into(), what: what.into(), hint: hint.into() }
    }
    /// A unit error at `key`.
    pub fn unit(key: &str, e: &UnitError) -> Self {
        ParamError::new(key, e.what.clone(), format!("expected {}", e.expected))
    }
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.what)?;
        if !self.hint.is_empty() {
            write!(f, " ({})", self.hint)?;
        }
        Ok(())
    }
}
impl std::error::Error for ParamError {}

/// Source of values. `raw` is the only method to write; the typed ones follow from it.
///
/// `raw` returns the text form of the value of `key`: given, or the declared default, or `None` for
/// an optional key that is absent. A list comes as its items joined by `\n`.
pub trait Values {
    /// The text of `key`.
    fn raw(&mut self, key: &str) -> Result<Option<String>, ParamError>;

    /// Reports that `key` has no effect with the other values, `why`, and the remedy. A key that
    /// was given needs this warning; a default does not.
    fn without_effect(&mut self, _key: &str, _why: &str, _hint: &str) {}

    /// Required text.
    fn text(&mut self, key: &str) -> Result<String, ParamError> {
        self.raw(key)?.ok_or_else(|| ParamError::new(key, "missing", "this key must be given"))
    }
    /// Text, if present.
    fn text_opt(&mut self, key: &str) -> Result<Option<String>, ParamError> {
        self.raw(key)
    }
    /// List of texts; absent means empty.
    fn texts(&mut self, key: &str) -> Result<Vec<String>, ParamError> {
        Ok(self
            .raw(key)?
            .map(|s| s.split('\n').filter(|s| !s.is_empty()).map(str::to_owned).collect())
            .unwrap_or_default())
    }
    /// A rate.
    fn rate(&mut self, key: &str) -> Result<Rate, ParamError> {
        self.text(key)?.parse().map_err(|e| ParamError::unit(key, &e))
    }
    /// A rate, if present.
    fn rate_opt(&mut self, key: &str) -> Result<Option<Rate>, ParamError> {
        self.raw(key)?.map(|s| s.parse().map_err(|e| ParamError::unit(key, &e))).transpose()
    }
    /// A size.
    fn bytes(&mut self, key: &str) -> Result<Bytes, ParamError> {
        self.text(key)?.parse().map_err(|e| ParamError::unit(key, &e))
    }
    /// A size, if present.
    fn bytes_opt(&mut self, key: &str) -> Result<Option<Bytes>, ParamError> {
        self.raw(key)?.map(|s| s.parse().map_err(|e| ParamError::unit(key, &e))).transpose()
    }
    /// A duration.
    fn span(&mut self, key: &str) -> Result<Span, ParamError> {
        span_of(key, &self.text(key)?)
    }
    /// A duration, if present.
    fn span_opt(&mut self, key: &str) -> Result<Option<Span>, ParamError> {
        self.raw(key)?.map(|s| span_of(key, &s)).transpose()
    }
    /// A length.
    fn length(&mut self, key: &str) -> Result<Length, ParamError> {
        length_of(key, &self.text(key)?)
    }
    /// A whole number.
    fn count(&mut self, key: &str) -> Result<u64, ParamError> {
        self.count_opt(key)?
            .ok_or_else(|| ParamError::new(key, "missing", "this key must be given"))
    }
    /// A whole number, if present.
    fn count_opt(&mut self, key: &str) -> Result<Option<u64>, ParamError> {
        self.raw(key)?
            .map(|s| {
                s.replace('_', "").parse().map_err(|_| {
                    ParamError::new(
                        key,
                        format!("'{s}' is not a whole number"),
                        "expected 0, 1, 2, ...",
                    )
                })
            })
            .transpose()
    }
    /// A whole number that may be negative.
    fn integer(&mut self, key: &str) -> Result<i64, ParamError> {
        let s = self.text(key)?;
        s.parse().map_err(|_| {
            ParamError::new(
                key,
                format!("'{s}' is not a whole number"),
                "expected ..., -1, 0, 1, ...",
            )
        })
    }
    /// A number.
    fn float(&mut self, key: &str) -> Result<f64, ParamError> {
        self.float_opt(key)?
            .ok_or_else(|| ParamError::new(key, "missing", "this key must be given"))
    }
    /// A number, if present.
    fn float_opt(&mut self, key: &str) -> Result<Option<f64>, ParamError> {
        self.raw(key)?
            .map(|s| match s.parse::<f64>() {
                Ok(v) if v.is_finite() => Ok(v),
                _ => Err(ParamError::new(
                    key,
                    format!("'{s}' is not a number"),
                    "expected a finite decimal number",
                )),
            })
            .transpose()
    }
    /// A flag.
    fn flag(&mut self, key: &str) -> Result<bool, ParamError> {
        match self.text(key)?.as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            s => Err(ParamError::new(
                key,
                format!("'{s}' is neither true nor false"),
                "expected true or false",
            )),
        }
    }
}

/// The longest time that can be given: 11.6 days. Sums of a few of them stay far below 2^64 ps,
/// where time ends: what was planned beyond it would never come, or come forever.
pub const SPAN_MAX: Span = Span(1_000_000_000_000_000_000);

fn span_of(key: &str, text: &str) -> Result<Span, ParamError> {
    match text.parse() {
        Ok(span) if span > SPAN_MAX => Err(ParamError::new(
            key,
            format!("{text} is more than xoff can count"),
            format!("expected at most {SPAN_MAX}"),
        )),
        Ok(span) => Ok(span),
        Err(e) => Err(ParamError::unit(key, &e)),
    }
}

/// A length whose propagation delay can be given as a time.
fn length_of(key: &str, text: &str) -> Result<Length, ParamError> {
    match text.parse::<Length>() {
        Ok(l) if l.0 > SPAN_MAX.0 / 5 => Err(ParamError::new(
            key,
            format!("a cable of {text}"),
            format!("expected a propagation delay of at most {SPAN_MAX}"),
        )),
        Ok(l) => Ok(l),
        Err(e) => Err(ParamError::unit(key, &e)),
    }
}

/// The declared defaults alone, with overrides: for tests and library users without a file.
///
/// ```
/// use xoff_units::params::{Defaults, Kind, ParamSpec, Values};
/// const SPECS: &[ParamSpec] = &[ParamSpec::new("rate", Kind::Rate, "10Gbps", "link rate", "")];
/// let mut v = Defaults::of(SPECS).with("rate", "40Gbps");
/// assert_eq!(v.rate("rate").unwrap().0, 40_000_000_000);
/// ```
pub struct Defaults {
    specs: &'static [ParamSpec],
    given: Vec<(String, String)>,
}

impl Defaults {
    /// The defaults of `specs`.
    pub fn of(specs: &'static [ParamSpec]) -> Self {
        Defaults { specs, given: Vec::new() }
    }
    /// With `key` set to `value` in text form.
    pub fn with(mut self, key: &str, value: &str) -> Self {
        self.given.push((key.to_owned(), value.to_owned()));
        self
    }
}

impl Values for Defaults {
    fn raw(&mut self, key: &str) -> Result<Option<String>, ParamError> {
        if let Some((_, v)) = self.given.iter().rev().find(|(k, _)| k == key) {
            return Ok(Some(v.clone()));
        }
        let spec = self.specs.iter().find(|s| s.key == key);
        Ok(spec.and_then(|s| s.default).map(str::to_owned))
    }
}
