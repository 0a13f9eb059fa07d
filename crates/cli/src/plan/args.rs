//! The options of `plan`, from the table of its parameters.

use std::ffi::OsStr;
use std::path::Path;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};
use xoff_analysis::plan::{PARAMS, unplanned};
use xoff_scenario::Problem;
use xoff_units::params::{Kind, ParamError, ParamSpec, Values};

use crate::terminal;

const EXAMPLES: &str = "\
Examples:
  xoff plan --rate 100Gbps --length 100m --mtu 1500
  xoff plan --rate 400Gbps --length 40m --mtu 9216 --priorities 2 --ports 64
  xoff plan --rate 100Gbps --length 300m --mtu 9216 --explain
  xoff plan --flow-control gfc-buffer --rate 10Gbps --buffer 300KB
  xoff plan --flow-control cbfc --rate 40Gbps --credit-period 52.4us --json
  xoff plan tcd --rate 40Gbps --mtu 1000 --t-w 4us --t-r 0us \\
    --xoff 320KB --xon 318KB
  xoff plan tcd --flow-control cbfc --rate 40Gbps --credit-period 52.4us
  xoff plan pffc --rate 10Gbps --length 100m --flows 32 \\
    --queues 6 --slots 4096
  xoff plan sonic:configs/  # a whole fabric, port by port
  xoff plan --rate 400Gbps --length 40m --mtu 9100 --format sonic

A size without a unit is in bytes; every other value needs its unit.";

/// Values on the command line, by key.
pub struct Args {
    given: Vec<(&'static str, String)>,
    /// A network of another program's files.
    pub network: Option<String>,
    sonic: bool,
    /// All rules, quantities and formulas are shown.
    pub explain: bool,
}

impl clap::Args for Args {
    fn augment_args(cmd: Command) -> Command {
        let network = Arg::new("network")
            .long("network")
            .value_name("FORMAT:FILES")
            .conflicts_with_all(["rate", "length", "t_w", "detection"]);
        let network =
            network.help("Plan every lossless port of this network and compare with its settings; same as xoff plan sonic:configs/");
        let formats = PossibleValuesParser::new([
            PossibleValue::new("text").help("For reading"),
            PossibleValue::new("sonic")
                .help("Rows of pg_profile_lookup.ini; with --json also tables of config_db.json"),
        ]);
        let format = Arg::new("format")
            .long("format")
            .value_name("FORMAT")
            .value_parser(formats)
            .help("Print the answer in this form [default: text]");
        let explain = Arg::new("explain").long("explain").action(ArgAction::SetTrue);
        let explain = explain.help("Also show the reasons, the values of other rules, and every quantity with its formula and source");
        cmd.after_long_help(EXAMPLES)
            .args(PARAMS.iter().map(arg))
            .arg(network)
            .arg(format)
            .arg(explain)
    }
    fn augment_args_for_update(cmd: Command) -> Command {
        Self::augment_args(cmd)
    }
}

impl FromArgMatches for Args {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let text = |id: &str| matches.get_one::<String>(id).cloned();
        let mut given: Vec<(&'static str, String)> =
            PARAMS.iter().filter_map(|p| Some((p.key, text(p.key)?))).collect();
        // `xoff plan sonic:configs/`: a network stands where a mechanism does.
        let stands_alone = given
            .iter()
            .position(|(key, value)| *key == POSITIONAL && is_network(value))
            .map(|at| given.remove(at).1);
        if let Some((network, option)) = stands_alone
            .as_ref()
            .and_then(|n| Some((n, conflict(&given, text("network").is_some())?)))
        {
            let what = format!(
                "the network '{network}' conflicts with '{option}', because it has its own links"
            );
            return Err(clap::Error::raw(clap::error::ErrorKind::ArgumentConflict, what + "\n"));
        }
        Ok(Args {
            given,
            network: stands_alone.or(text("network")),
            sonic: text("format").is_some_and(|f| f == "sonic"),
            explain: matches.get_flag("explain"),
        })
    }
    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Args::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Keys that a network provides itself.
const OF_LINKS: [&str; 3] = ["rate", "length", "t_w"];

/// Option for a value that a network already provides.
fn conflict(given: &[(&'static str, String)], network: bool) -> Option<String> {
    let of_link = given
        .iter()
        .find(|(key, _)| OF_LINKS.contains(key))
        .map(|(key, _)| format!("--{}", option(key)));
    of_link.or(network.then(|| "--network".into()))
}

/// True if an argument is FORMAT:FILES.
fn is_network(text: &str) -> bool {
    text.contains(':')
}

/// Names of mechanisms, and FORMAT:FILES.
#[derive(Clone)]
struct Planned(PossibleValuesParser);

impl TypedValueParser for Planned {
    type Value = String;
    fn parse_ref(
        &self,
        cmd: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        match value.to_str() {
            Some(text) if is_network(text) => Ok(text.to_owned()),
            // A mechanism goes first: a folder of that name is no network without its format.
            text => self.0.parse_ref(cmd, arg, value).map_err(|e| {
                if let Some(file) = text.filter(|t| t.ends_with(".toml") && Path::new(t).is_file()) {
                    let text = format!(
                        "xoff plan sizes links, and '{file}' is a scenario\n\n  tip: use xoff check {} for its deadlocks and limits, or xoff run\n",
                        terminal::word(file)
                    );
                    return clap::Error::raw(clap::error::ErrorKind::ValueValidation, text);
                }
                match text.and_then(|t| xoff_scenario::import::foreign(Path::new(t), "plan")) {
                    Some(p) => {
                        let text = format!("{}\n\n  tip: {}\n", p.message, p.hint);
                        clap::Error::raw(clap::error::ErrorKind::ValueValidation, text)
                    }
                    None => e,
                }
            }),
        }
    }
    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        self.0.possible_values()
    }
}

/// Keys in the short help; the others belong to single mechanisms, or have a value that follows
/// from these.
const COMMON: [&str; 12] = [
    "detection",
    "flow_control",
    "rate",
    "length",
    "mtu",
    "mtu_other",
    "buffer",
    "t_r",
    "priorities",
    "ports",
    "headroom",
    "xoff",
];

/// The key whose value stands without an option.
const POSITIONAL: &str = "detection";

fn arg(p: &ParamSpec) -> Arg {
    let default = p.default.map(|d| format!(" [default: {d}]")).unwrap_or_default();
    let source = if p.source.is_empty() { String::new() } else { format!(" ({})", p.source) };
    let (first, rest) = p.doc.split_at(1);
    let doc = first.to_uppercase() + rest;
    let arg = Arg::new(p.key)
        .help(format!("{doc}{default}"))
        .long_help(format!("{doc}{source}{default}"))
        .hide_short_help(!COMMON.contains(&p.key));
    // The subject of the plan is positional: `xoff plan tcd`.
    let (arg, choice) = if p.key == POSITIONAL {
        (arg, "MECHANISM|FORMAT:FILES")
    } else {
        (arg.long(option(p.key)), "NAME")
    };
    let value = match p.kind {
        Kind::Rate => "RATE",
        Kind::Bytes => "SIZE",
        Kind::Span => "TIME",
        Kind::Length => "LENGTH",
        // The plan itself rejects a mechanism without a plan, with the reason.
        Kind::Choice(words) if ["detection", "flow_control"].contains(&p.key) => {
            let others = unplanned().map(|(name, _)| PossibleValue::new(name).hide(true));
            let all: Vec<_> = words.iter().copied().map(PossibleValue::new).chain(others).collect();
            let words = PossibleValuesParser::new(all);
            let arg = arg.value_name(choice);
            return if p.key == POSITIONAL {
                arg.value_parser(Planned(words))
            } else {
                arg.value_parser(words)
            };
        }
        Kind::Choice(words) => {
            return arg.value_name(choice).value_parser(PossibleValuesParser::new(words));
        }
        _ => "N",
    };
    arg.value_name(value)
}

/// `flow_control` is `--flow-control`.
fn option(key: &str) -> String {
    key.replace('_', "-")
}

impl Args {
    /// Command with another option.
    pub fn command(&self, more: &str) -> String {
        let mut words = vec!["xoff plan".to_owned()];
        words.extend(self.network.iter().map(|n| terminal::word(n).into_owned()));
        for (key, value) in &self.given {
            let value = terminal::word(value);
            words.push(if *key == POSITIONAL {
                value.into_owned()
            } else {
                format!("--{} {value}", option(key))
            });
        }
        words.push(more.to_owned());
        words.join(" ")
    }

    /// True if the answer is in SONiC's form.
    pub fn is_sonic(&self) -> bool {
        self.sonic
    }

    /// True if this key was given.
    pub fn gives(&self, key: &str) -> bool {
        self.given.iter().any(|(k, _)| *k == key)
    }

    /// A refusal, at the option if it was given.
    pub fn refused(&self, e: &ParamError) -> Problem {
        match self.given.iter().find(|(key, _)| *key == e.key) {
            // As it was written: an argument by its place.
            Some((POSITIONAL, value)) => {
                Problem::new(e.what.clone(), e.hint.clone()).at(terminal::option("plan", value))
            }
            Some((key, value)) => Problem::new(e.what.clone(), e.hint.clone())
                .at(terminal::option(&format!("--{}", option(key)), value)),
            None if e.key == POSITIONAL => {
                Problem::new(format!("MECHANISM: {}", e.what), e.hint.clone())
            }
            None => Problem::new(format!("--{}: {}", option(&e.key), e.what), e.hint.clone()),
        }
    }
}

impl Values for &Args {
    fn raw(&mut self, key: &str) -> Result<Option<String>, ParamError> {
        let Some(spec) = PARAMS.iter().find(|p| p.key == key) else { return Ok(None) };
        Ok(match self.given.iter().find(|(k, _)| *k == key) {
            Some((_, v)) if spec.kind == Kind::Bytes && v.bytes().all(|b| b.is_ascii_digit()) => {
                Some(format!("{v}B"))
            }
            Some((_, v)) => Some(v.clone()),
            None => spec.default.map(str::to_owned),
        })
    }
}
