//! Readers of files that a scenario names: operations of jobs, sizes of flows, bytes of a matrix. And those of the HPCC simulator.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use xoff_run::NetworkScenario;
use xoff_scenario::hpcc::{HpccConfig, HpccFlows, HpccTopology, read_trace};
use xoff_scenario::{Problems, Source};

use super::{Reader, refused};

/// A kind of file that a scenario names: the reader's name, the name that the scenario gives, and the section with it.
const NAMED: [(&str, &str, &str); 7] = [
    ("job-goal", "x.goal", "[[job]]\ngoal = \"x.goal\"\n"),
    ("job-msccl", "x.xml", "[[job]]\nmsccl = \"x.xml\"\nmessage_size = \"64KB\"\n"),
    ("job-htsim", "x.cm", "[[job]]\nhtsim = \"x.cm\"\n"),
    ("job-simai", "x.txt", "[[job]]\nsimai = \"x.txt\"\n"),
    ("job-chakra", "x.0.et", "[[job]]\nchakra = \"x\"\nranks = 2\n"),
    ("job-matrix", "x.txt", "[[job]]\n[[collective]]\nkind = \"all-to-all\"\nmatrix = \"x.txt\"\n"),
    ("cdf", "x.txt", "[[workload]]\nkind = \"poisson\"\ncdf = \"x.txt\"\nload = 0.5\nduration = \"1ms\"\n"),
];

/// The network around it; its flows never begin.
const NETWORK: &str = "[run]\nduration = \"1ms\"\n[topology]\nkind = \"star\"\nhosts = 4\nrate = \"100Gbps\"\ndelay = \"1us\"\n\
                       [flow_control]\nkind = \"pfc\"\n";

/// What reads text.
type Text = fn(&Arc<Source>) -> Result<(), Problems>;

/// Nodes of a topology for which any sample's flows are flows: all of them hosts.
const NODES: usize = 1024;

const HPCC: [(&str, Text); 4] = [
    ("hpcc-config", |s| HpccConfig::read(s).map(drop)),
    ("hpcc-topology", |s| HpccTopology::read(s).map(drop)),
    ("hpcc-flows", |s| HpccFlows::read(s, &[false; NODES]).map(drop)),
    ("hpcc-trace", |s| read_trace(s, NODES).map(drop)),
];

/// All of them, with the samples in `folder`: a file belongs to the reader whose name it begins with.
pub fn all(folder: &Path, samples: impl Fn(&str) -> Vec<Vec<u8>>) -> Vec<Reader> {
    let reader = |name: &str, read| Reader { name: name.into(), samples: samples(name), folder: PathBuf::from(folder), read };
    let named = NAMED.iter().map(|n| reader(n.0, in_scenario as fn(&Reader, &[u8]) -> bool));
    named.chain(HPCC.iter().map(|h| reader(h.0, hpcc))).collect()
}

thread_local! {
    /// Where this thread puts the files that scenarios name: in memory, where there is such a place.
    static FOLDER: tempfile::TempDir = {
        let memory = Path::new("/dev/shm");
        let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        made.or_else(|_| tempfile::tempdir()).expect("a folder for temporary files")
    };
}

/// A scenario that names a file with these bytes.
fn in_scenario(r: &Reader, bytes: &[u8]) -> bool {
    let (_, file, section) = NAMED.iter().find(|n| n.0 == r.name).expect("a reader of this list");
    FOLDER.with(|folder| {
        std::fs::write(folder.path().join(file), bytes).expect("a file");
        let other = folder.path().join("x.1.et");
        if r.name == "job-chakra" && !other.exists() {
            // The rank at the other end, unbroken.
            std::fs::copy(r.folder.join("chakra-other.1.et"), other).expect("the sample of rank 1");
        }
        match NetworkScenario::from_text("farm.toml", &format!("{NETWORK}{section}"), &[], folder.path()) {
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
