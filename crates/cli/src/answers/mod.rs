//! The JSON answers of all subcommands: their schemas, made of the very types that are serialized,
//! texts and all.
//!
//! ```text
//!   types of the answers -- schemars --> schema (`xoff schema answers`) --> page (`xoff schema answers --markdown`)
//! ```

mod page;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

pub use page::page;

/// The answer of a command.
struct Of {
    /// Name in the schema: the subcommand, and the option that changes the answer.
    name: &'static str,
    /// The command for which it stands, in Markdown.
    command: &'static str,
    schema: fn(&mut SchemaGenerator) -> Schema,
}

const fn of<T: JsonSchema>(name: &'static str, command: &'static str) -> Of {
    Of { name, command, schema: |all| all.subschema_for::<T>() }
}

/// All answers. The type of an answer without a schema does not compile. Tests of real answers find
/// those that this list lacks.
const ANSWERS: &[Of] = &[
    of::<crate::run::Json<'static>>("run", "`xoff run FILE --out DIR`"),
    of::<crate::run::fabric::Json<'static>>(
        "run-fabric",
        "`xoff run FILE --out DIR`, of a scenario with `[scheduled_fabric]`",
    ),
    of::<crate::hpcc::report::Json<'static>>("hpcc", "`xoff hpcc FILE --out DIR`"),
    of::<crate::new::Json<'static>>("new", "`xoff new KIND`"),
    of::<crate::import::Json<'static>>("import", "`xoff import FORMAT FILE`"),
    of::<crate::check::report::Checked<'static>>("check", "`xoff check TOPOLOGY`"),
    of::<crate::check::fabric::Checked>(
        "check-fabric",
        "`xoff check FILE`, of a scenario with `[scheduled_fabric]`",
    ),
    of::<xoff_analysis::plan::Plan>("plan", "`xoff plan`"),
    of::<crate::plan::fabric::Json<'static>>("plan-fabric", "`xoff plan FORMAT:FILES`"),
    of::<crate::view::Json>("view", "`xoff view DIR`"),
    of::<crate::explain::Json>("explain", "`xoff explain DIR PORT TIME`"),
    of::<crate::tree::Json>("tree", "`xoff tree DIR TIME`"),
    of::<crate::waits::Json>(
        "waits-fabric",
        "`xoff explain DIR PORT TIME` and `xoff tree DIR TIME`, of a scenario with `[scheduled_fabric]`",
    ),
    of::<xoff_lab::compare::Comparison>("compare", "`xoff compare DIR DIR`"),
    of::<crate::verify::Json>("verify", "`xoff verify DIR...`"),
    of::<crate::export::Json>("export", "`xoff export DIR`"),
    of::<crate::figure::Json>("figure", "`xoff figure DIR --of CONTENT`"),
    of::<crate::reproduce::Json>("reproduce", "`xoff reproduce PAPER --out DIR`"),
    of::<Vec<crate::reproduce::Listed>>("reproduce-list", "`xoff reproduce PAPER --list`"),
    of::<xoff_lab::sweep::Swept<'static>>("sweep", "`xoff sweep FILE --out DIR`"),
    of::<crate::sweep::Stopped<'static>>(
        "sweep-interrupted",
        "`xoff sweep FILE --out DIR`, after Ctrl-C",
    ),
    of::<crate::sweep::Ran>("sweep-index", "`xoff sweep FILE --out DIR --index CELLS`"),
    of::<crate::sweep::Listed<'static>>("sweep-list", "`xoff sweep FILE --list`"),
    of::<xoff_lab::bench::Benchmark>("bench-fabric", "`xoff bench-fabric FILE --out DIR`"),
    #[cfg(target_os = "linux")]
    of::<crate::testbed::Json<'static>>("testbed", "`xoff testbed FILE --out DIR`"),
    #[cfg(target_os = "linux")]
    of::<crate::testbed::processes::Json<'static>>(
        "testbed-processes",
        "`xoff testbed FILE --out DIR --processes`",
    ),
    #[cfg(target_os = "linux")]
    of::<xoff_real::testbed::protocol::NodeAnswer>(
        "node",
        "`xoff switch FILE --node NAME`, `xoff host FILE --node NAME`",
    ),
    of::<crate::replay::Json>("replay", "`xoff replay FILE`"),
    of::<crate::installed::JsonCompletions>("completions", "`xoff completions SHELL`"),
    of::<crate::installed::JsonManual>("man", "`xoff man`"),
];

/// One schema for all answers: `answers` names the type of each, `$defs` holds the types.
pub fn schema() -> Value {
    let mut all = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let answers: Map<String, Value> = ANSWERS
        .iter()
        .map(|a| {
            let mut schema = (a.schema)(&mut all).to_value();
            schema["description"] = json!(format!("What --json prints for {}.", a.command));
            (a.name.to_owned(), schema)
        })
        .collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "JSON answers of xoff",
        "description": "What each subcommand prints with --json. An answer of `xoff check` is valid under #/answers/check.",
        "answers": answers,
        "$defs": all.take_definitions(true),
    })
}
