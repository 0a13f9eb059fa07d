//! `xoff schema`: the JSON Schema of scenario files, for editors.

use xoff_scenario::{Problems, document};

use crate::answer::{Answer, Exit};

/// Prints it.
pub fn run() -> Result<Answer, Problems> {
    let schema = document::schema(&xoff_run::sections());
    Ok(Answer::new(format!("{schema:#}"), &schema, Exit::Done))
}
