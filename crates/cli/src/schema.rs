//! `xoff schema`: what a scenario, a table or a JSON answer may hold. As JSON Schema for editors
//! and programs, as Markdown for the pages of the site: `docs/scenario-keys.md`, `fabric-keys.md`,
//! `tables.md` and `json-answers.md`.

use serde_json::{Value, json};
use xoff_record::rows::{FABRIC, Kind, NETWORK, TableSpec};
use xoff_scenario::{Problems, document};

use crate::answer::{Answer, Exit};
#[cfg(not(target_family = "wasm"))]
use crate::answers;

/// Print the schema of scenarios, tables or JSON answers
#[derive(clap::Args)]
#[command(
    after_long_help = "Examples:\n  xoff schema > scenario.schema.json\n  xoff schema fabric > fabric.schema.json\n  xoff schema answers > answers.schema.json\n  xoff schema tables --markdown  # every column of every table"
)]
pub struct Args {
    /// Describe scenarios of a network ([topology]), of a scheduled fabric ([scheduled_fabric]),
    /// the tables of a run, or the output of --json
    #[arg(value_enum, default_value_t)]
    of: Of,

    /// Print Markdown tables for readers, instead of a JSON Schema
    #[arg(long)]
    markdown: bool,
}

#[derive(Clone, Copy, Default, clap::ValueEnum)]
enum Of {
    #[default]
    Network,
    Fabric,
    Tables,
    #[cfg(not(target_family = "wasm"))]
    Answers,
}

/// Prints it.
pub fn run(args: &Args) -> Result<Answer, Problems> {
    let schema = match args.of {
        Of::Network => document::schema(&xoff_run::sections()),
        Of::Fabric => document::schema(&xoff_run::fabric_sections()),
        Of::Tables => json!({ "network": tables(NETWORK), "fabric": tables(FABRIC) }),
        #[cfg(not(target_family = "wasm"))]
        Of::Answers => answers::schema(),
    };
    let text = match args.of {
        _ if !args.markdown => format!("{schema:#}"),
        Of::Network => xoff_run::keys::page(&xoff_run::sections()),
        Of::Fabric => xoff_run::keys::page(&xoff_run::fabric_sections()),
        Of::Tables => xoff_record::page::page(),
        #[cfg(not(target_family = "wasm"))]
        Of::Answers => answers::page(&schema),
    };
    Ok(Answer::new(text.trim_end().to_owned(), &schema, Exit::Done))
}

/// Tables and columns; a column with words lists them.
fn tables(specs: &[&TableSpec]) -> Value {
    let column = |c: &xoff_record::rows::ColumnSpec| {
        let words = match c.kind {
            Kind::Word(words) => words.iter().map(|w| w.word).collect(),
            _ => Vec::new(),
        };
        let (kind, about) = (xoff_record::page::kind(c), c.about.trim());
        json!({ "name": c.name, "type": kind, "null": c.nullable, "unit": c.unit, "description": about, "words": words })
    };
    let table = |t: &&TableSpec| {
        let columns: Vec<Value> = t.columns.iter().map(column).collect();
        json!({ "name": t.name, "description": t.about.trim(), "columns": columns })
    };
    specs.iter().map(table).collect()
}
