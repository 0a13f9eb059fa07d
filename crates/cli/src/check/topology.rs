//! The TOPOLOGY argument: a scenario, a file with nothing but a topology, or a fabric in short
//! form.
//!
//! ```text
//!   sonic:configs/               files of another program, see `xoff import`
//!   fat-tree                     a builder with its defaults
//!   leaf-spine:leaves=64,hosts=32,rate=100Gbps      keys may be shortened while they stay unique
//! ```

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use xoff_analysis::cbd::Rule;
use xoff_net::topology::Topology;
use xoff_net::topology::builders::{self, BUILDERS, Builder};
use xoff_net::topology::routing::{Paths, Tables};
use xoff_run::{FabricScenario, NetworkScenario};
use xoff_scenario::document::Document;
use xoff_scenario::{Problem, Problems, Source};
use xoff_units::params::suggest::nearest;
use xoff_units::params::{ParamError, ParamSpec, Values};

use super::flows::Given;

/// The network to check.
pub struct Network {
    /// The graph, failed links marked.
    pub topology: Topology,
    /// A scenario's routing: its name and its rule.
    pub routing: Option<(String, Rule)>,
    /// A scenario's flows; `None` also when they are drawn during the run.
    pub flows: Option<Given>,
    /// Routes as they are installed, where the files have them.
    pub tables: Option<Tables>,
    /// The tables are those of InfiniBand, with virtual lanes.
    pub infiniband: bool,
    /// Black holes and forwarding loops in the files, each at its entry.
    pub findings: Problems,
}

impl From<Topology> for Network {
    fn from(topology: Topology) -> Network {
        Network {
            topology,
            routing: None,
            flows: None,
            tables: None,
            infiniband: false,
            findings: Problems::default(),
        }
    }
}

/// Reads a file of this name, else builds the topology of the short form.
pub fn load(text: &str) -> Result<Network, Problems> {
    let path = Path::new(text);
    if let Some(imported) = crate::import::short(text).filter(|_| !path.is_file()) {
        let imported = imported?;
        let graph = imported.graph()?;
        let infiniband = text.starts_with("ibnetdiscover:");
        return Ok(Network {
            tables: imported.tables,
            infiniband,
            findings: imported.findings,
            ..graph.into()
        });
    }
    let (name, keys) = text.split_once(':').unwrap_or((text, ""));
    let builder = builders::find(name).filter(|_| !path.is_file());
    if let Some(builder) = builder {
        return build(builder, text, name.len() + 1, keys).map(Network::from);
    }
    // A text that looks like a path was meant as one.
    if path.exists()
        || text.contains(['/', '\\'])
        || (path.extension().is_some() && !text.contains(':'))
    {
        if let Some(unknown) =
            xoff_scenario::import::unknown_format(text, "check").filter(|_| !path.exists())
        {
            return Err(unknown.into());
        }
        let read = Source::read(path).and_then(|source| match is_scenario(&source) {
            true => scenario(&source),
            false => xoff_scenario::topology::read(source, &[]).map(Network::from),
        });
        return crate::import::or_foreign(read, path, "check");
    }
    let known: Vec<&str> = BUILDERS.iter().map(|b| b.name).collect();
    let near = nearest(name, known.iter().copied())
        .map(|n| format!("did you mean '{n}'? "))
        .unwrap_or_default();
    let formats: Vec<&str> = xoff_scenario::import::FORMATS.iter().map(|f| f.name).collect();
    let first = Path::new(keys.split(',').next().unwrap_or_default());
    let is_format =
        near.is_empty() && (first.exists() || nearest(name, formats.iter().copied()).is_some());
    if let Some(unknown) =
        xoff_scenario::import::unknown_format(text, "check").filter(|_| is_format)
    {
        return Err(unknown.into());
    }
    let hint = format!(
        "{near}fabrics: {}; with parameters as in fat-tree:k=4; formats, as in sonic:configs/: {}",
        known.join(", "),
        formats.join(", ")
    );
    Err(Problem::new(format!("'{name}' is neither a file nor a fabric"), hint).into())
}

/// True if this argument is a scenario that can run.
pub fn is_scenario_file(text: &str) -> bool {
    let path = Path::new(text);
    path.is_file()
        && Source::read(path).is_ok_and(|source| {
            Document::parse(source, &[]).is_ok_and(|doc| {
                xoff_run::sections()
                    .iter()
                    .any(|s| ["flow", "workload", "job"].contains(&s.path) && doc.has(s))
            })
        })
}

/// True if more than `[topology]` affects the routes.
fn is_scenario(source: &Arc<Source>) -> bool {
    let Ok(doc) = Document::parse(source.clone(), &[]) else { return false };
    xoff_run::sections().iter().any(|s| {
        ["routing", "load_balancing", "failures", "flow", "workload", "job"].contains(&s.path)
            && doc.has(s)
    })
}

/// The scheduled fabric that an argument names; `None`: it names something else.
pub fn scheduled_fabric(text: &str) -> Result<Option<FabricScenario>, Problems> {
    let path = Path::new(text);
    let sections = xoff_run::fabric_sections();
    let is_fabric = |source| {
        Document::parse(source, &[])
            .is_ok_and(|doc| sections.iter().any(|s| s.path == "scheduled_fabric" && doc.has(s)))
    };
    if !path.is_file() || !Source::read(path).is_ok_and(is_fabric) {
        return Ok(None);
    }
    FabricScenario::load(path, &[]).map(Some)
}

fn scenario(source: &Source) -> Result<Network, Problems> {
    let s = NetworkScenario::from_text(
        source.name(),
        source.text(),
        &[],
        Path::new(source.name()).parent().unwrap_or(Path::new("")),
    )?;
    crate::terminal::problems(&s.warnings);
    if s.has_workers_that_wait() {
        return Err(Problem::new(
            "switch.discipline = \"pipeline\" with full_ring = \"blocks\": a worker that waits for one egress holds the frames of all inputs, so buffers wait for each other where no flow turns, and xoff check does not examine that",
            "use xoff run, or set switch.full_ring = \"skips\"",
        )
        .into());
    }
    let rule = Rule::of(&s.routing(), s.balances());
    let kind = s.parameters.iter().find(|p| p.path == "routing.kind").map_or("", |p| &p.value);
    let name = match (s.balances(), rule.paths) {
        (true, Paths::Shortest) => "all-paths",
        _ => kind.trim_matches('"'),
    };
    let routing = Some((name.to_owned(), rule));
    let paths = s.flows.paths.clone();
    let lossy = s.lossy().to_vec();
    let flows =
        (s.flows.loops.is_empty() && !s.flows.flows.is_empty()).then(|| Given::of(s.flows, &lossy));
    if flows.is_none() && !paths.is_empty() {
        crate::terminal::note(
            "flows are drawn during the run, so all pairs count; explicit paths do not (name them with --flows)",
        );
    }
    Ok(Network {
        topology: s.topology,
        routing,
        flows,
        tables: None,
        infiniband: false,
        findings: Problems::default(),
    })
}

fn build(builder: &Builder, text: &str, start: usize, keys: &str) -> Result<Topology, Problems> {
    let source = Source::setting("command line", text);
    let mut given = Short { specs: builder.params, given: Vec::new() };
    let mut problems = Problems::default();
    let mut at = start;
    for item in keys.split(',') {
        let span = at..at + item.len();
        at = span.end + 1;
        if !item.trim().is_empty() {
            given.read(item, span, &source).unwrap_or_else(|p| problems.push(p));
        }
    }
    problems.or(())?;
    (builder.build)(&mut given).map_err(|e| {
        let span = given.given.iter().find(|g| g.0 == e.key).map(|g| g.2.clone());
        match span {
            Some(span) => {
                Problem::new(format!("{}: {}", e.key, e.what), e.hint).at(source.place(span)).into()
            }
            None => crate::answer::refused(&e).into(),
        }
    })
}

/// The keys of a short form.
struct Short {
    specs: &'static [ParamSpec],
    given: Vec<(&'static str, String, Range<usize>)>,
}

impl Short {
    /// Reads `key=value`.
    fn read(
        &mut self,
        item: &str,
        span: Range<usize>,
        source: &Arc<Source>,
    ) -> Result<(), Problem> {
        let refuse = |what: String, hint: String| {
            Err(Problem::new(what, hint).at(source.place(span.clone())))
        };
        let Some((key, value)) = item.split_once('=') else {
            return refuse(
                format!("'{item}' has no value"),
                "expected key=value, such as k=4".into(),
            );
        };
        let key = key.trim().replace('-', "_");
        let known: Vec<&'static str> = self.specs.iter().map(|s| s.key).collect();
        let exact = known.iter().copied().find(|k| *k == key);
        let short: Vec<&'static str> =
            known.iter().copied().filter(|k| !key.is_empty() && k.starts_with(&key)).collect();
        let key = match (exact, short.as_slice()) {
            (Some(k), _) => k,
            (None, [k]) => *k,
            (None, []) => {
                let near = nearest(&key, known.iter().copied())
                    .map(|n| format!("did you mean '{n}'? "))
                    .unwrap_or_default();
                return refuse(
                    format!("unknown key '{key}'"),
                    format!("{near}keys: {}", known.join(", ")),
                );
            }
            (None, several) => {
                return refuse(
                    format!("'{key}' may mean several keys"),
                    format!("expected one of {}", several.join(", ")),
                );
            }
        };
        if self.given.iter().any(|g| g.0 == key) {
            return refuse(format!("'{key}' is given twice"), "keep one of the two".into());
        }
        self.given.push((key, value.trim().to_owned(), span));
        Ok(())
    }
}

impl Values for Short {
    fn raw(&mut self, key: &str) -> Result<Option<String>, ParamError> {
        let given = self.given.iter().find(|g| g.0 == key).map(|g| g.1.clone());
        let default = || self.specs.iter().find(|s| s.key == key)?.default.map(str::to_owned);
        Ok(given.or_else(default))
    }
}
