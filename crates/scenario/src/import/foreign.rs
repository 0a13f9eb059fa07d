//! Files of other programs where a scenario is expected, and formats that xoff does not know: which
//! command reads them.
//!
//! ```text
//!   xoff check lab.clab.yml   'lab.clab.yml' is a file of containerlab, not a scenario    xoff check containerlab:lab.clab.yml
//!   xoff run configs/         'configs/' is a folder of files of sonic, not a scenario    xoff import sonic configs/ --out configs.toml
//! ```

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::Problem;

use crate::import::{FORMATS, Format, find, formats};

/// Bytes at the start of a file that tell its format.
const HEAD: u64 = 64 * 1024;
/// Files of a folder that are looked at.
const FILES_MAX: usize = 64;
/// Commands that read FORMAT:FILES in place of a scenario; the others need an import.
const READS_FORMATS: [&str; 2] = ["check", "plan"];
/// Formats of a folder, the most telling first: a lab of FRR has files of containerlab too.
const BY_WEIGHT: [&str; 9] = [
    "sonic",
    "ibnetdiscover",
    "frr",
    "containerlab",
    "htsim",
    "simai",
    "infragraph",
    "graphml",
    "networkx",
];

/// The error of `xoff COMMAND PATH` if the file or folder is of another program: it names the
/// format and the command that reads it. `None`: it is of no known format.
pub fn foreign(path: &Path, command: &str) -> Option<Problem> {
    let format = format_of(path)?;
    let name = path.display().to_string();
    let kind = if path.is_dir() { "folder with files" } else { "file" };
    let hint = if READS_FORMATS.contains(&command) {
        format!("use xoff {command} {}", word(&format!("{}:{name}", format.name)))
    } else {
        let stem =
            path.file_name().map_or_else(|| "network".into(), |n| n.to_string_lossy().into_owned());
        let scenario = format!("{}.toml", stem.split('.').next().unwrap_or("network"));
        let (files, scenario) = (word(&name), word(&scenario));
        format!("first write a scenario: xoff import {} {files} --out {scenario}", format.name)
    };
    let expected = if command == "plan" { "mechanism" } else { "scenario" };
    Some(Problem::new(format!("'{name}' is a {kind} of {}, not a {expected}", format.name), hint))
}

/// The error of FORMAT:FILES whose format is unknown; `None`: the text is not of this form, or the
/// format is known.
pub fn unknown_format(text: &str, command: &str) -> Option<Problem> {
    let (name, files) = text
        .split_once(':')
        .filter(|(name, _)| !name.contains(['/', '\\']) && find(name).is_none())?;
    let first = Path::new(files.split(',').next().unwrap_or_default());
    let known: Vec<&str> = FORMATS.iter().map(|f| f.name).collect();
    let hint = match format_of(first) {
        Some(format) if READS_FORMATS.contains(&command) => {
            format!(
                "use xoff {command} {}; formats: {}",
                word(&format!("{}:{files}", format.name)),
                known.join(", ")
            )
        }
        _ => formats::hint(name),
    };
    Some(Problem::new(format!("there is no format '{name}'"), hint))
}

/// The format of a file, or of the files of a folder.
fn format_of(path: &Path) -> Option<&'static Format> {
    if !path.is_dir() {
        return find(of_file(path)?);
    }
    let mut inside: Vec<PathBuf> =
        std::fs::read_dir(path).ok()?.filter_map(|e| Some(e.ok()?.path())).collect();
    inside.sort();
    let found: Vec<&str> = inside.iter().take(FILES_MAX).filter_map(|p| of_file(p)).collect();
    // A folder stands for the files whose names end as the format's do.
    let reads = |f: &Format| {
        inside.iter().any(|p| f.endings.iter().any(|end| p.to_string_lossy().ends_with(end)))
    };
    let weighed =
        BY_WEIGHT.iter().filter(|name| found.contains(name)).filter_map(|name| find(name));
    weighed.into_iter().find(|f| reads(f))
}

/// The format of a file, by its name and its start.
fn of_file(path: &Path) -> Option<&'static str> {
    let name = path.to_string_lossy().to_ascii_lowercase();
    // A pipe would wait for its writer.
    if !path.is_file() || name.ends_with(".toml") {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(HEAD).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let has = |words: &[&str]| words.iter().any(|w| text.contains(w));
    let starts = text.trim_start_matches('\u{feff}').trim_start();
    Some(match () {
        _ if [".clab.yml", ".clab.yaml"].iter().any(|end| name.ends_with(end)) => "containerlab",
        _ if has(&["<graphml"]) => "graphml",
        _ if starts.starts_with(['{', '[']) => of_json(&has)?,
        _ if has(&[
            "# Topology file: generated",
            "vendid=0x",
            "Unicast lids",
            "dump_ucast_routes",
        ]) =>
        {
            "ibnetdiscover"
        }
        _ if name.ends_with(".cm") || (name.ends_with(".topo") && has(&["Tiers", "Podsize"])) => {
            "htsim"
        }
        _ if name.ends_with(".ini") && has(&["xoff", "xon"]) => "sonic",
        _ if has(&["many2many", "one2one"]) && has(&["ep1:"]) => "infragraph",
        _ if is_simai(starts) => "simai",
        _ => return None,
    })
}

/// Five counts and a kind of GPU, as `32 8 4 72 544 H100`.
fn is_simai(text: &str) -> bool {
    let words: Vec<&str> = text.lines().next().unwrap_or_default().split_whitespace().collect();
    words.len() == 6
        && words[..5].iter().all(|w| w.parse::<u64>().is_ok())
        && words[5].parse::<u64>().is_err()
}

fn of_json(has: &dyn Fn(&[&str]) -> bool) -> Option<&'static str> {
    Some(match () {
        _ if has(&[
            "\"DEVICE_METADATA\"",
            "\"PORT_QOS_MAP\"",
            "\"BUFFER_PG\"",
            "\"DEVICE_NEIGHBOR\"",
        ]) =>
        {
            "sonic"
        }
        _ if has(&["\"clab\""]) => "containerlab",
        _ if has(&["\"ep1\""]) && has(&["\"instances\""]) => "infragraph",
        _ if has(&[
            "\"vrfName\"",
            "\"prefixLen\"",
            "\"node1\"",
            "\"runtimeData\"",
            "\"prefsrc\"",
        ]) =>
        {
            "frr"
        }
        _ if has(&["\"nodes\""]) && has(&["\"links\"", "\"edges\"", "\"adjacency\""]) => "networkx",
        _ => return None,
    })
}

/// A word of a command, so that a shell reads it as one.
fn word(text: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./:,=@%+-#".contains(c);
    if text.chars().all(plain) {
        text.into()
    } else {
        format!("'{}'", text.replace('\'', "'\\''")).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each sample under `tests/import` is told from the others, and the folder of each program
    /// too.
    #[test]
    fn samples_are_recognised() {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/import");
        for (file, format) in [
            ("containerlab/leafspine.clab.yml", "containerlab"),
            ("containerlab/topology-data.json", "containerlab"),
            ("graph/leafspine.graphml", "graphml"),
            ("graph/leafspine.links.json", "networkx"),
            ("graph/leafspine.edges.json", "networkx"),
            ("htsim/barrier.cm", "htsim"),
            ("infragraph/rails.yaml", "infragraph"),
            ("infragraph/rack.json", "infragraph"),
            ("simai/dual-plane_H100", "simai"),
            ("ib/ring5-minhop/ibnetdiscover.topo", "ibnetdiscover"),
            ("ib/several-vendors.topo", "ibnetdiscover"),
            ("routing/ring3/R1.show-ip-route.json", "frr"),
            ("routing/ring3/R1.ip-j-route.json", "frr"),
            ("routing/ring3", "frr"),
            ("routing/clos", "frr"),
            ("sonic/fabric/leaf1.config_db.json", "sonic"),
            ("sonic/fabric/pg_profile_lookup.ini", "sonic"),
            ("sonic/fabric", "sonic"),
            ("ib/ring5-minhop", "ibnetdiscover"),
        ] {
            assert_eq!(format_of(&data.join(file)).map(|f| f.name), Some(format), "{file}");
        }
        for other in ["expected.txt", "nothing", ""] {
            assert_eq!(format_of(&data.join(other)).map(|f| f.name), None, "{other}");
        }
        assert!(FORMATS.iter().all(|f| BY_WEIGHT.contains(&f.name)));
    }

    #[test]
    fn the_right_command_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("my lab.clab.yml");
        std::fs::write(&file, "name: x\n").unwrap();
        let name = file.display().to_string();
        let check = foreign(&file, "check").unwrap();
        assert_eq!(check.message, format!("'{name}' is a file of containerlab, not a scenario"));
        assert_eq!(check.hint, format!("use xoff check 'containerlab:{name}'"));
        let run = foreign(&file, "run").unwrap();
        assert_eq!(
            run.hint,
            format!(
                "first write a scenario: xoff import containerlab '{name}' --out 'my lab.toml'"
            )
        );
        let wrong = unknown_format(&format!("moon:{name}"), "check").unwrap();
        assert_eq!(wrong.message, "there is no format 'moon'");
        assert!(
            wrong.hint.starts_with(&format!("{}; formats: containerlab, ", check.hint)),
            "{}",
            wrong.hint
        );
        let listed = unknown_format("sonik:x", "check").unwrap().hint;
        assert!(
            listed.contains("did you mean 'sonic'") && listed.contains("ibnetdiscover"),
            "{listed}"
        );
        assert!(
            unknown_format("sonic:x", "check").is_none()
                && unknown_format("sonic", "check").is_none()
        );
    }
}
