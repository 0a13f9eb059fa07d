//! Report of a node that runs as a process to the program that started it, declared once for both
//! sides.
//!
//! ```text
//!   xoff switch --ready FILE --wait --json          its parent, such as `xoff testbed --processes`
//!     ports are open   -- FILE: Ready, one line -->   waits until all of its nodes have theirs
//!                      <-- stdin ends -------------   all begin
//!     has ended        -- stdout: NodeAnswer ----->   tables, verdict
//! ```
//!
//! Both are JSON whose key `schema` names the form and its version. A key that is new keeps the
//! version; one that goes or changes its meaning raises it. Lines on standard error are for people
//! and no part of this.

use std::fmt;
use std::io;
use std::path::Path;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use xoff_record::Verdict;

use crate::testbed::RealReport;

/// The ports of a node are open: from now on a frame that is sent to it is received.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Ready {
    schema: String,
    /// Name of the node.
    pub node: String,
    /// Interfaces, by port.
    pub interfaces: Vec<String>,
    /// Address and port at which counters are served; `None`: they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<String>,
}

/// Outcome of the run of a node: the answer of `xoff switch` and `xoff host` with `--json`.
#[derive(Clone, Debug, JsonSchema, Serialize, Deserialize)]
pub struct NodeAnswer {
    /// Form and version of this answer.
    schema: String,
    /// The report itself.
    #[serde(flatten)]
    pub run: NodeReport,
}

/// A node after its run.
#[derive(Clone, Debug, JsonSchema, Serialize, Deserialize)]
pub struct NodeReport {
    /// Name.
    pub node: String,
    /// Interfaces, by port.
    pub interfaces: Vec<String>,
    /// Time by its clock [s].
    pub clock_seconds: f64,
    /// Stopped by a signal.
    pub interrupted: bool,
    /// Frames for which a node had no room.
    pub dropped_frames: u64,
    /// Frames that did not arrive, for any reason.
    pub lost_frames: u64,
    /// Broken promises.
    pub violations: u64,
    /// Verdict of the run.
    pub verdict: Verdict,
    /// Facts that only real frames show.
    pub real: RealReport,
    /// The flows that begin or end at it.
    pub flows: Vec<FlowReport>,
}

/// A flow, as one of its ends counted it.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct FlowReport {
    /// Number in the scenario.
    pub flow: usize,
    /// The host that sends.
    pub src: String,
    /// The host that receives.
    pub dst: String,
    /// Size [bytes]; null: it never ends.
    pub size: Option<u64>,
    /// Sent by this node [bytes].
    pub sent: u64,
    /// Delivered here in order, without a gap from the first byte on [bytes].
    pub delivered: u64,
    /// Arrived here in any order, repetitions included [bytes]; more than `delivered` at a receiver
    /// that began after its sender.
    #[serde(default)]
    pub arrived: u64,
    /// All of it was delivered.
    pub complete: bool,
    /// Mean rate of the payload delivered here [bit/s].
    pub rate: u64,
}

/// Reason why a message was not understood.
#[derive(Debug)]
pub enum Unread {
    /// The file cannot be read.
    File(io::Error),
    /// The message is not JSON, or a key is missing or of another type.
    Form(serde_json::Error),
    /// The message has this form or version, which differs from the expected one.
    Schema {
        /// Found form or version.
        found: String,
        /// Expected form or version.
        expected: &'static str,
    },
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unread::File(e) => fmt::Display::fmt(e, f),
            Unread::Form(e) => fmt::Display::fmt(e, f),
            Unread::Schema { found, expected } => {
                write!(
                    f,
                    "its schema is '{found}' instead of '{expected}': it may be another version of xoff"
                )
            }
        }
    }
}
impl std::error::Error for Unread {}

/// Start of every message.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    schema: String,
}

/// Reads a message of this schema. The schema is examined first, so that another version is named
/// as such.
fn parse<T: DeserializeOwned>(text: &str, expected: &'static str) -> Result<T, Unread> {
    let Head { schema } = serde_json::from_str(text).map_err(Unread::Form)?;
    if schema != expected {
        return Err(Unread::Schema { found: schema, expected });
    }
    serde_json::from_str(text).map_err(Unread::Form)
}

impl Ready {
    /// Form and version.
    pub const SCHEMA: &str = "xoff-ready-1";

    /// Message of a node with these interfaces.
    pub fn new(node: String, interfaces: Vec<String>, metrics: Option<String>) -> Ready {
        Ready { schema: Ready::SCHEMA.into(), node, interfaces, metrics }
    }

    /// As a line of JSON, with its end.
    pub fn line(&self) -> String {
        // Texts only: there is nothing that could fail.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    /// Reads the file of a node; `None`: there is none yet. A node gives it its name when it is
    /// complete.
    ///
    /// # Errors
    /// It cannot be read, or is of another version.
    pub fn read(path: &Path) -> Result<Option<Ready>, Unread> {
        match std::fs::read_to_string(path) {
            Ok(text) => parse(&text, Ready::SCHEMA).map(Some),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(Unread::File(e)),
        }
    }
}

impl NodeAnswer {
    /// Form and version.
    pub const SCHEMA: &str = "xoff-node-1";

    /// With its schema.
    pub fn new(run: NodeReport) -> NodeAnswer {
        NodeAnswer { schema: NodeAnswer::SCHEMA.into(), run }
    }

    /// Reads a node's text on standard output.
    ///
    /// # Errors
    /// It is no JSON, lacks a key, or is of another version.
    pub fn parse(text: &str) -> Result<NodeAnswer, Unread> {
        parse(text, NodeAnswer::SCHEMA)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_another_version_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("ready");
        assert!(Ready::read(&file).unwrap().is_none(), "not yet");
        let ready = Ready::new("S1".into(), vec!["a0".into()], Some("127.0.0.1:9464".into()));
        std::fs::write(&file, ready.line()).unwrap();
        assert_eq!(Ready::read(&file).unwrap(), Some(ready));
        // Its own kind: a node that begins again may replace it.
        xoff_record::output::refuse_others(&file, xoff_record::output::Kind::Ready, false).unwrap();
        std::fs::write(&file, r#"{"schema":"xoff-ready-2","moved":[]}"#).unwrap();
        let text = Ready::read(&file).unwrap_err().to_string();
        assert!(text.contains("xoff-ready-2") && text.contains(Ready::SCHEMA), "{text}");
        std::fs::write(&file, format!(r#"{{"schema":"{}"}}"#, Ready::SCHEMA)).unwrap();
        assert!(
            Ready::read(&file).unwrap_err().to_string().contains("node"),
            "the missing key is named"
        );
        assert!(matches!(NodeAnswer::parse("S1 runs on a0\n"), Err(Unread::Form(_))));
    }
}
