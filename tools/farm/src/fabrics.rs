//! Families of random fabrics, each with the checkers that it has to pass.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use xoff_run::NetworkScenario;

use crate::checkers::{self, Checker, remembering};
use crate::{memory, networks, promises};

/// A family.
pub struct Family {
    /// Name on the command line and in the names of failures.
    pub name: &'static str,
    /// Description of the draw, one line.
    pub about: &'static str,
    /// The scenario of a case.
    pub draw: fn(u64) -> String,
    /// Names of its checkers.
    pub checkers: &'static [&'static str],
}

/// Promises hold in all of them.
const KEPT: &[&str] = &["promises", "end", "lossless", "ideal", "repeat", "resumed", "deadlock"];

/// Every family.
pub const FAMILIES: &[Family] = &[
    Family {
        name: "smallest",
        about: "two to four hosts under every kind of mechanism for 20 us: a million of them in minutes",
        draw: |case| promises::smallest(case).text(),
        checkers: &["promises", "end", "lossless", "ideal", "deadlock"],
    },
    Family {
        name: "tiny",
        about: "small networks of every kind for some 60 us: a million of them in an hour",
        draw: |case| promises::tiny(case).text(),
        checkers: &["promises", "end", "lossless", "ideal", "deadlock"],
    },
    Family {
        name: "small",
        about: "small networks of every kind, with room for every flow control",
        draw: |case| promises::scenario(case).text(),
        checkers: KEPT,
    },
    Family {
        name: "infiniband",
        about: "the same with cut-through and virtual lanes",
        draw: |case| promises::infiniband(case).text(),
        checkers: KEPT,
    },
    Family {
        name: "by-flow",
        about: "the same with flow controls that hold single flows",
        draw: |case| promises::by_flow(case).text(),
        checkers: KEPT,
    },
    Family {
        name: "lossy",
        about: "lossy priorities beside lossless ones, whose memory is in pools by every policy",
        draw: |case| memory::beside(case).text(),
        checkers: &[
            "promises",
            "end",
            "ideal",
            "repeat",
            "resumed",
            "deadlock",
            "engines",
            "fast-forward",
            "observed",
        ],
    },
    Family {
        name: "engines",
        about: "every flow control with every detection and every rate control, links that fail, broken NICs, slow receivers",
        draw: |case| networks::load(case).1.text(),
        // Buffers are small: what a flow control without room loses is lost on every engine alike.
        checkers: &["conservation", "end", "engines", "resumed", "fast-forward", "observed"],
    },
];

/// The family of this name.
pub fn find(name: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|f| f.name == name)
}

/// Result of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Came {
    /// All checks hold.
    Fine,
    /// Rejected: no scenario.
    Refused(String),
    /// Name of the check that does not hold, and the reason.
    Failed(&'static str, String),
}

/// Runs a scenario under checkers. A panic is a failure of its own, named `panic`.
pub fn examine(text: &str, names: &[&str]) -> Came {
    let all = || {
        let s = match NetworkScenario::from_text("farm.toml", text, &[], Path::new("")) {
            Ok(s) => s,
            Err(e) => return Came::Refused(e.to_string()),
        };
        let run = remembering();
        let check = |c: &Checker| (c.check)(&s, &run).err().map(|why| Came::Failed(c.name, why));
        names.iter().filter_map(|n| checkers::find(n)).find_map(check).unwrap_or(Came::Fine)
    };
    catch_unwind(AssertUnwindSafe(all))
        .unwrap_or_else(|panic| Came::Failed("panic", words(&*panic)))
}

/// Text of a panic.
pub fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without words".into())
}
