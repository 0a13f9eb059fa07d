//! `xoff schema`: the JSON Schema of scenario files, for editors, and of the JSON answers, for programs.

use xoff_scenario::{Problems, document};

use crate::answer::{Answer, Exit};
use crate::answers;

/// Print the JSON Schema of scenario files, or of the JSON answers
#[derive(clap::Args)]
#[command(
    after_long_help = "Examples:\n  xoff schema > scenario.schema.json\n  xoff schema fabric > fabric.schema.json\n  xoff schema answers > answers.schema.json"
)]
pub struct Args {
    /// Describe scenarios of a network ([topology]), of a scheduled fabric ([scheduled_fabric]), or the output of --json
    #[arg(value_enum, default_value_t)]
    of: Of,
}

#[derive(Clone, Copy, Default, clap::ValueEnum)]
enum Of {
    #[default]
    Network,
    Fabric,
    Answers,
}

/// Prints it.
pub fn run(args: &Args) -> Result<Answer, Problems> {
    let schema = match args.of {
        Of::Network => document::schema(&xoff_run::sections()),
        Of::Fabric => document::schema(&xoff_run::fabric_sections()),
        Of::Answers => answers::schema(),
    };
    Ok(Answer::new(format!("{schema:#}"), &schema, Exit::Done))
}
