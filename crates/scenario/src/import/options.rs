//! Facts that a format does not contain and options give.

use xoff_units::{Length, Rate, Span};

use crate::import::Wire;

/// Unit of `start` in a connection matrix of htsim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StartUnit {
    /// Microseconds, as most of its programs expect.
    #[default]
    Us,
    /// Picoseconds, as its generators write.
    Ps,
}

/// Values that a format does not contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Rate of the links without one.
    pub rate: Option<Rate>,
    /// Length or delay of the links without one.
    pub wire: Option<Wire>,
    /// Unit of attributes such as `capacity` that have none [bit/s].
    pub unit: Option<Rate>,
    /// Hosts added to each node of a graph that has no hosts.
    pub hosts_per_node: Option<u32>,
    /// Unit of start times.
    pub start_unit: StartUnit,
}

impl Options {
    /// Keys of [`Options::set`].
    pub const KEYS: &'static [&'static str] =
        &["rate", "delay", "length", "unit", "hosts_per_node", "start_unit"];

    /// Sets an option from its text.
    ///
    /// # Errors
    /// The problem, and the expected form.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), (String, String)> {
        let problem = |e: xoff_units::UnitError| {
            (format!("{key}: {}", e.what), format!("expected {}", e.expected))
        };
        let refuse = |expected: &str| {
            Err((
                format!("{key}: '{}' is out of range", crate::suggest::clip(value)),
                expected.to_owned(),
            ))
        };
        match key {
            "rate" => match value.parse::<Rate>().map_err(problem)? {
                Rate(0) => return refuse("expected a rate above 0"),
                rate => self.rate = Some(rate),
            },
            "delay" => self.wire = Some(Wire::Delay(value.parse::<Span>().map_err(problem)?)),
            "length" => self.wire = Some(Wire::Length(value.parse::<Length>().map_err(problem)?)),
            "unit" => match format!("1{value}").parse::<Rate>() {
                Ok(unit) => self.unit = Some(unit),
                Err(_) => return refuse("expected bps, kbps, Mbps, Gbps or Tbps"),
            },
            "hosts_per_node" => match value.parse::<u32>() {
                Ok(n) if (1..=1024).contains(&n) => self.hosts_per_node = Some(n),
                _ => return refuse("expected 1 to 1024"),
            },
            "start_unit" => match value {
                "us" => self.start_unit = StartUnit::Us,
                "ps" => self.start_unit = StartUnit::Ps,
                _ => return refuse("expected us or ps"),
            },
            _ => {
                return Err((
                    format!("unknown option '{key}'"),
                    format!("options: {}", Options::KEYS.join(", ")),
                ));
            }
        }
        Ok(())
    }
}
