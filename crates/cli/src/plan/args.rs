//! The options of `plan`, from the table of its parameters.

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgMatches, Command, FromArgMatches};
use xoff_analysis::plan::{PARAMS, unplanned};
use xoff_params::{Kind, ParamError, ParamSpec, Values};
use xoff_scenario::Problem;

use crate::terminal;

const EXAMPLES: &str = "\
Examples:
  xoff plan --flow-control pfc --rate 100Gbps --length 100m --mtu 1500
  xoff plan --rate 400Gbps --length 40m --mtu 9216 --priorities 2 --ports 64
  xoff plan --flow-control gfc-buffer --rate 10Gbps --buffer 300KB
  xoff plan --flow-control cbfc --rate 40Gbps --credit-period 52.4us --json
  xoff plan tcd --rate 40Gbps --mtu 1000 --t-w 4us --t-r 0us \\
    --xoff 320KB --xon 318KB
  xoff plan tcd --flow-control cbfc --rate 40Gbps --credit-period 52.4us
  xoff plan pffc --rate 10Gbps --length 100m --flows 32 \\
    --queues 6 --slots 4096

A size without a unit is in bytes; everything else needs its unit.";

/// What was given, by key.
pub struct Args {
    given: Vec<(&'static str, String)>,
}

impl clap::Args for Args {
    fn augment_args(cmd: Command) -> Command {
        cmd.after_help(EXAMPLES).args(PARAMS.iter().map(arg))
    }
    fn augment_args_for_update(cmd: Command) -> Command {
        Self::augment_args(cmd)
    }
}

impl FromArgMatches for Args {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = PARAMS.iter().filter_map(|p| Some((p.key, matches.get_one::<String>(p.key)?.clone())));
        Ok(Args { given: given.collect() })
    }
    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Args::from_arg_matches(matches)?;
        Ok(())
    }
}

fn arg(p: &ParamSpec) -> Arg {
    let default = p.default.map(|d| format!(" [default: {d}]")).unwrap_or_default();
    let source = if p.source.is_empty() { String::new() } else { format!(" ({})", p.source) };
    let arg = Arg::new(p.key).help(format!("{}{source}{default}", p.doc));
    // What is planned stands alone: `xoff plan tcd`.
    let (arg, choice) = if p.key == "detection" { (arg, "MECHANISM") } else { (arg.long(option(p.key)), "NAME") };
    let value = match p.kind {
        Kind::Rate => "RATE",
        Kind::Bytes => "SIZE",
        Kind::Span => "TIME",
        Kind::Length => "LENGTH",
        // A mechanism without a plan is refused by the plan itself, which gives the reason.
        Kind::Choice(words) if ["detection", "flow_control"].contains(&p.key) => {
            let others = unplanned().map(|(name, _)| PossibleValue::new(name).hide(true));
            let all: Vec<_> = words.iter().copied().map(PossibleValue::new).chain(others).collect();
            return arg.value_name(choice).value_parser(PossibleValuesParser::new(all));
        }
        Kind::Choice(words) => return arg.value_name(choice).value_parser(PossibleValuesParser::new(words)),
        _ => "N",
    };
    arg.value_name(value)
}

/// `flow_control` is `--flow-control`.
fn option(key: &str) -> String {
    key.replace('_', "-")
}

impl Args {
    /// A refusal, at the option if it was given.
    pub fn refused(&self, e: &ParamError) -> Problem {
        match self.given.iter().find(|(key, _)| *key == e.key) {
            Some((key, value)) => Problem::new(e.what.clone(), e.hint.clone()).at(terminal::option(&format!("--{}", option(key)), value)),
            None => Problem::new(format!("--{}: {}", option(&e.key), e.what), e.hint.clone()),
        }
    }
}

impl Values for &Args {
    fn raw(&mut self, key: &str) -> Result<Option<String>, ParamError> {
        let Some(spec) = PARAMS.iter().find(|p| p.key == key) else { return Ok(None) };
        Ok(match self.given.iter().find(|(k, _)| *k == key) {
            Some((_, v)) if spec.kind == Kind::Bytes && v.bytes().all(|b| b.is_ascii_digit()) => Some(format!("{v}B")),
            Some((_, v)) => Some(v.clone()),
            None => spec.default.map(str::to_owned),
        })
    }
}
