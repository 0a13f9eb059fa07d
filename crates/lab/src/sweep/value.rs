//! A value of a parameter, of a column.

use std::fmt;

use serde::{Deserialize, Serialize};
use xoff_scenario::document::{Entry, Item};

/// A value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// Not known, or it does not apply.
    Null,
    /// True or false.
    Flag(bool),
    /// A whole number.
    Whole(i64),
    /// A number.
    Number(f64),
    /// A text: a word, or a quantity with its unit.
    Text(String),
}

impl Value {
    /// As a number, for means: true is 1.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Flag(b) => Some(f64::from(u8::from(*b))),
            Value::Whole(n) => Some(*n as f64),
            Value::Number(x) if x.is_finite() => Some(*x),
            _ => None,
        }
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Value {
        Value::Flag(b)
    }
}
impl From<u64> for Value {
    fn from(n: u64) -> Value {
        Value::Whole(i64::try_from(n).unwrap_or(i64::MAX))
    }
}
impl From<f64> for Value {
    /// JSON has no other numbers than finite ones.
    fn from(x: f64) -> Value {
        if x.is_finite() { Value::Number(x) } else { Value::Null }
    }
}
impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}
impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}
impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => Ok(()),
            Value::Flag(b) => b.fmt(f),
            Value::Whole(n) => n.fmt(f),
            Value::Number(x) => x.fmt(f),
            Value::Text(text) => f.write_str(text),
        }
    }
}

/// A value of a parameter, and how it is written in TOML.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setting {
    /// The value, for columns and tables.
    pub value: Value,
    /// Text of the value in TOML.
    pub toml: String,
}

impl Setting {
    /// As a seed; `None`: it is not a whole number, or negative.
    pub(crate) fn seed(&self) -> Option<u64> {
        if let Value::Whole(n) = self.value { u64::try_from(n).ok() } else { None }
    }

    /// From a document; `None`: a section, a date, or a list with one of these in it.
    pub(crate) fn of(entry: &Entry) -> Option<Setting> {
        let toml = toml(&entry.item)?;
        let value = match &entry.item {
            Item::Text(text) => Value::Text(text.clone()),
            Item::Flag(b) => Value::Flag(*b),
            Item::Integer(n) => n.parse().map_or_else(|_| Value::Text(n.clone()), Value::Whole),
            Item::Float(x) => x
                .replace('_', "")
                .parse()
                .ok()
                .filter(|x: &f64| x.is_finite())
                .map_or_else(|| Value::Text(x.clone()), Value::Number),
            _ => Value::Text(toml.clone()),
        };
        Some(Setting { value, toml })
    }
}

fn toml(item: &Item) -> Option<String> {
    Some(match item {
        // Basic strings of TOML escape as JSON's do.
        Item::Text(text) => serde_json::Value::from(text.as_str()).to_string(),
        Item::Integer(n) | Item::Float(n) => n.clone(),
        Item::Flag(b) => b.to_string(),
        Item::List(items) => {
            let items: Option<Vec<String>> = items.iter().map(|i| toml(&i.item)).collect();
            format!("[{}]", items?.join(", "))
        }
        Item::Date | Item::Table(_) => return None,
    })
}
