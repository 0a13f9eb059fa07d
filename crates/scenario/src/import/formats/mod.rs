//! The formats, a file each. A new one is a module and a line in [`FORMATS`].

mod attributes;
pub mod containerlab;
pub mod frr;
pub mod graphml;
pub mod htsim;
pub mod ibnetdiscover;
pub mod infragraph;
pub mod networkx;
mod routes;
pub mod simai;
pub mod sonic;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{Problem, Problems, Source, suggest};

use crate::import::{Network, Options};

/// A format that can be read.
#[derive(Clone, Copy)]
pub struct Format {
    /// Name on the command line.
    pub name: &'static str,
    /// Description and files, one line.
    pub doc: &'static str,
    /// Endings of its files' names, for reading a folder.
    pub endings: &'static [&'static str],
    /// Reads files.
    read: fn(&[Arc<Source>], &Options) -> Result<Network, Problems>,
}

/// Every format, in alphabetical order.
pub const FORMATS: &[Format] = &[
    Format {
        name: "containerlab",
        doc: containerlab::DOC,
        endings: &[".clab.yml", ".clab.yaml"],
        read: containerlab::read,
    },
    Format {
        name: "frr",
        doc: frr::DOC,
        endings: &[".json", ".clab.yml", ".clab.yaml"],
        read: frr::read,
    },
    Format {
        name: "graphml",
        doc: graphml::DOC,
        endings: &[".graphml", ".xml"],
        read: graphml::read,
    },
    Format { name: "htsim", doc: htsim::DOC, endings: &[".topo", ".cm"], read: htsim::read },
    Format {
        name: "ibnetdiscover",
        doc: ibnetdiscover::DOC,
        endings: &[".topo", ".dump", ".fdbs", "psl.txt", "slvl.txt"],
        read: ibnetdiscover::read,
    },
    Format {
        name: "infragraph",
        doc: infragraph::DOC,
        endings: &[".yaml", ".yml", ".json"],
        read: infragraph::read,
    },
    Format { name: "networkx", doc: networkx::DOC, endings: &[".json"], read: networkx::read },
    Format {
        name: "simai",
        doc: simai::DOC,
        endings: &["_A100", "_A800", "_H100", "_H800", "_H20"],
        read: simai::read,
    },
    Format { name: "sonic", doc: sonic::DOC, endings: &[".json", ".ini"], read: sonic::read },
];

/// The format of this name.
pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|f| f.name == name)
}

/// Reads the files of a network. A folder represents its files whose names end as the format's do.
///
/// # Errors
/// Everything that is wrong, each with file and place.
pub fn read(format: &Format, files: &[PathBuf], options: &Options) -> Result<Network, Problems> {
    let mut problems = Problems::default();
    let mut sources = Vec::new();
    for path in files {
        if path.is_dir() {
            match folder(path, format) {
                Ok(inside) => inside.iter().for_each(|p| read_into(p, &mut sources, &mut problems)),
                Err(p) => problems.push(p),
            }
        } else {
            read_into(path, &mut sources, &mut problems);
        }
    }
    if problems.is_empty() && sources.is_empty() {
        problems.push(Problem::new(format!("{}: name at least one file", format.name), format.doc));
    }
    problems.or(())?;
    let network = read_sources(format, &sources, options)?;
    Ok(network)
}

/// As [`read`], from texts.
///
/// # Errors
/// As there.
pub fn read_sources(
    format: &Format,
    sources: &[Arc<Source>],
    options: &Options,
) -> Result<Network, Problems> {
    let mut network = (format.read)(sources, options)?;
    for link in &mut network.links {
        link.rate = link.rate.or(options.rate);
        link.wire = link.wire.or(options.wire);
    }
    if network.nodes.is_empty() {
        let problem =
            Problem::new(format!("{}: there is no node in these files", format.name), format.doc);
        return Err(match sources {
            [one] => problem.at(one.place(0..0)).into(),
            _ => problem.into(),
        });
    }
    network.graph()?;
    Ok(network)
}

fn read_into(path: &Path, sources: &mut Vec<Arc<Source>>, problems: &mut Problems) {
    match Source::read(path) {
        Ok(source) => sources.push(source),
        Err(p) => problems.extend(p),
    }
}

fn folder(path: &Path, format: &Format) -> Result<Vec<PathBuf>, Problem> {
    let refuse = |what: String| {
        Problem::new(what, format!("expected files that end in {}", format.endings.join(", ")))
    };
    let entries = std::fs::read_dir(path)
        .map_err(|e| refuse(format!("cannot read folder '{}': {e}", path.display())))?;
    let fits = |p: &PathBuf| {
        format.endings.iter().any(|end| p.to_string_lossy().ends_with(end)) && p.is_file()
    };
    let mut files: Vec<PathBuf> =
        entries.filter_map(|e| e.ok().map(|e| e.path())).filter(fits).collect();
    files.sort();
    if files.is_empty() {
        Err(refuse(format!("folder '{}' has no file of {}", path.display(), format.name)))
    } else {
        Ok(files)
    }
}

/// File of a format that has only one.
fn only<'s>(sources: &'s [Arc<Source>], doc: &str) -> Result<&'s Arc<Source>, Problem> {
    only_ref(&sources.iter().collect::<Vec<_>>(), doc)
}

/// As [`only`].
fn only_ref<'s>(sources: &[&'s Arc<Source>], doc: &str) -> Result<&'s Arc<Source>, Problem> {
    match *sources {
        [one] => Ok(one),
        [_, second, ..] => Err(Problem::new("a second file", doc).at(second.place(0..0))),
        [] => Err(Problem::new("no file is given", doc)),
    }
}

/// A hint that names the formats.
pub fn hint(name: &str) -> String {
    let names: Vec<&str> = FORMATS.iter().map(|f| f.name).collect();
    suggest::hint(name, "formats", &names)
}
