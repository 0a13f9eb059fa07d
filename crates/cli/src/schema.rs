//! `xoff schema`: the JSON Schema of scenario files, for editors.

use xoff_scenario::{Problems, document};

use crate::answer::{Answer, Exit};

/// Print the JSON Schema of scenario files
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  xoff schema > scenario.schema.json\n  xoff schema fabric > fabric.schema.json")]
pub struct Args {
    /// Which scenarios: those of a network ([topology]), or those of a scheduled fabric ([fabric])
    #[arg(value_enum, default_value_t)]
    of: Of,
}

#[derive(Clone, Copy, Default, clap::ValueEnum)]
enum Of {
    #[default]
    Network,
    Fabric,
}

/// Prints it.
pub fn run(args: &Args) -> Result<Answer, Problems> {
    let sections = match args.of {
        Of::Network => xoff_run::sections(),
        Of::Fabric => xoff_run::fabric_sections(),
    };
    let schema = document::schema(&sections);
    Ok(Answer::new(format!("{schema:#}"), &schema, Exit::Done))
}
