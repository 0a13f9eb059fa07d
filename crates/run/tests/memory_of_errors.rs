//! Memory of links with errors: by direction, whatever the length of the list of ports.

use std::path::Path;

use xoff_record::Sink;
use xoff_run::NetworkScenario;

/// Memory of this process [bytes].
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = status.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

/// 6,144 directions. Before, each of them had the whole list of ports, in every partition: 600 MB.
#[test]
fn a_direction_does_not_keep_the_list_of_all() {
    let text = "[run]\nduration = \"1us\"\n[topology]\nkind = \"fat-tree\"\nk = 16\nrate = \"100Gbps\"\ndelay = \"1us\"\n\
        [flow_control]\nkind = \"pfc\"\n[[link_errors]]\nports = [\"all\"]\nkind = \"frame\"\nloss = 1e-6\n\
        [[flow]]\nsrc = \"H0\"\ndst = \"H1\"\nsize = \"1KB\"\n";
    let s = NetworkScenario::from_text("errors.toml", text, &[], Path::new(""))
        .unwrap_or_else(|e| panic!("{e}"));
    let before = resident();
    let running = s.start(Sink::Nothing, Some(2)).unwrap();
    let taken = resident() - before;
    drop(running);
    assert!(taken < 150_000_000, "{taken} B");
}
