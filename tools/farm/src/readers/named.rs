//! Readers of files that a scenario names: operations of jobs, sizes of flows, bytes of a matrix.
//! And those of the HPCC simulator.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use xoff_run::NetworkScenario;
use xoff_scenario::hpcc::{HpccConfig, HpccFlows, HpccTopology, read_trace};
use xoff_scenario::{Problems, Source};

use super::{Reader, refused};

/// A kind of file that a scenario names: the reader's name, the name that the scenario gives, and
/// the scenario around it.
const NAMED: [(&str, &str, &str, &str); 12] = [
    ("job-goal", "x.goal", STAR, "[[job]]\ngoal = \"x.goal\"\n"),
    ("job-goal-stream", "x.goal", STAR, "[[job]]\nstream = true\ngoal = \"x.goal\"\n"),
    ("job-msccl", "x.xml", STAR, "[[job]]\nmsccl = \"x.xml\"\nmessage_size = \"64KB\"\n"),
    ("job-htsim", "x.cm", STAR, "[[job]]\nhtsim = \"x.cm\"\n"),
    ("job-simai", "x.txt", STAR, "[[job]]\nsimai = \"x.txt\"\n"),
    ("job-chakra", "x.0.et", STAR, "[[job]]\nchakra = \"x\"\nranks = 2\n"),
    ("job-chakra-stream", "x.0.et", STAR, "[[job]]\nstream = true\nchakra = \"x\"\nranks = 2\n"),
    (
        "job-groups",
        "x.json",
        STAR,
        "[[job]]\nchakra = \"x\"\nchakra_groups = \"x.json\"\nranks = 2\n",
    ),
    (
        "job-matrix",
        "x.txt",
        STAR,
        "[[job]]\n[[collective]]\nkind = \"all-to-all\"\nmatrix = \"x.txt\"\n",
    ),
    (
        "cdf",
        "x.txt",
        STAR,
        "[[workload]]\nkind = \"poisson\"\ncdf = \"x.txt\"\nload = 0.5\nduration = \"1ms\"\n",
    ),
    ("topology-file", "x.toml", "kind = \"file\"\npath = \"x.toml\"\n", ANY),
    (
        "topology-links",
        "x.csv",
        "kind = \"custom\"\nhosts = [\"h1\", \"h2\", \"h3\"]\nlinks_file = \"x.csv\"\n",
        ANY,
    ),
];

/// A network whose flows never begin.
const STAR: &str = "kind = \"star\"\nhosts = 4\nrate = \"100Gbps\"\ndelay = \"1us\"\n";

/// Flows for any hosts.
const ANY: &str = "[[workload]]\nkind = \"permutation\"\nsize = \"1KB\"\n";

/// Reader of text.
type Text = fn(&Arc<Source>) -> Result<(), Problems>;

/// Nodes of a topology for which any sample's flows are flows: all of them hosts.
const NODES: usize = 1024;

const HPCC: [(&str, Text); 4] = [
    ("hpcc-config", |s| HpccConfig::read(s).map(drop)),
    ("hpcc-topology", |s| HpccTopology::read(s).map(drop)),
    ("hpcc-flows", |s| HpccFlows::read(s, &[false; NODES]).map(drop)),
    ("hpcc-trace", |s| read_trace(s, NODES).map(drop)),
];

/// All of them, with the samples in `folder`: a file belongs to the reader whose name it begins
/// with.
pub fn all(folder: &Path, samples: impl Fn(&str) -> Vec<Vec<u8>>) -> Vec<Reader> {
    // A streamed job reads the same files as another one.
    let of = |name: &str| samples(name.trim_end_matches("-stream"));
    let reader = |name: &str, read| Reader {
        name: name.into(),
        samples: of(name),
        folder: PathBuf::from(folder),
        read,
    };
    let named = NAMED.iter().map(|n| reader(n.0, in_scenario as fn(&Reader, &[u8]) -> bool));
    named.chain(HPCC.iter().map(|h| reader(h.0, hpcc))).collect()
}

thread_local! {
    /// Folder in which this thread puts the files that scenarios name: in memory, unless a place is
    /// given.
    static FOLDER: tempfile::TempDir = {
        let memory = Path::new("/dev/shm");
        let asked = std::env::var_os("TMPDIR").is_some() || !memory.is_dir();
        let made = if asked { tempfile::tempdir() } else { tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()) };
        made.expect("a folder for temporary files")
    };
}

/// Traces that stand unbroken next to the file that is read.
const BESIDE: [(&str, &str); 2] = [("x.0.et", "job-chakra.0.et"), ("x.1.et", "chakra-other.1.et")];

/// A scenario that names a file with these bytes.
fn in_scenario(r: &Reader, bytes: &[u8]) -> bool {
    let (_, file, topology, rest) =
        NAMED.iter().find(|n| n.0 == r.name).expect("a reader of this list");
    FOLDER.with(|folder| {
        for (name, sample) in BESIDE.iter().filter(|b| rest.contains("chakra = ") && b.0 != *file) {
            std::fs::copy(r.folder.join(sample), folder.path().join(name)).expect("a sample");
        }
        std::fs::write(folder.path().join(file), bytes).expect("a file");
        let text = format!("[run]\nduration = \"1ms\"\n[topology]\n{topology}[flow_control]\nkind = \"pfc\"\n{rest}");
        match NetworkScenario::from_text("farm.toml", &text, &[], folder.path()) {
            Ok(_) => true,
            Err(problems) => refused(&problems),
        }
    })
}

fn hpcc(r: &Reader, bytes: &[u8]) -> bool {
    let read = HPCC.iter().find(|h| h.0 == r.name).expect("a reader of this list").1;
    match read(&Source::file("farm.txt", String::from_utf8_lossy(bytes).into_owned())) {
        Ok(()) => true,
        Err(problems) => refused(&problems),
    }
}
