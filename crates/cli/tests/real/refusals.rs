//! Impossible requests are reported, with a remedy, and exit code 2.

use crate::INCAST;
use crate::support::{folder, path, xoff};

/// Exit code 2, and every one of these texts.
fn refused(args: &[&str], texts: &[&str]) {
    let ran = xoff(args);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}: {}", ran.err);
    // Messages are broken into lines.
    let flat = ran
        .err
        .split(|c: char| c.is_whitespace() || c == '│')
        .filter(|w| !w.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    for text in texts {
        assert!(flat.contains(text), "{args:?}: '{text}' is not in:\n{}", ran.err);
    }
    assert!(!flat.contains("panicked"), "{}", ran.err);
}

#[test]
fn switches_name_what_is_wrong() {
    let base = [
        "switch", INCAST, "--node", "S1", "--port", "H0=no0", "--port", "H1=no1", "--port",
        "H2=no2",
    ];
    let with = |more: &[&'static str]| [&base[..], more].concat();
    refused(&with(&[]), &["the interface of H3 is missing", "--port H3=INTERFACE"]);
    refused(
        &with(&["--port", "H9=no3"]),
        &["S1 has no port to H9", "its neighbours are H0, H1, H2, H3"],
    );
    refused(&with(&["--port", "H3=no0"]), &["interface no0 is listed twice"]);
    refused(&with(&["--port", "H3"]), &["'H3' is not PEER=INTERFACE"]);
    refused(&with(&["--port", "H3=no3"]), &["interface no0: not found", "ip link"]);
    refused(
        &with(&["--port", "H3=no3", "--watchdog", "soon"]),
        &["--watchdog", "200ms,300ms,drop"],
    );
    refused(
        &with(&["--port", "H3=no3", "--mac", "H1=nonsense"]),
        &["--mac", "H1=02:00:00:00:00:01"],
    );
    refused(&with(&["--port", "H3=no3", "--for", "long"]), &["--for"]);
    refused(
        &["switch", INCAST, "--node", "H1", "--port", "S1=no0"],
        &["no switch H1", "expected one of S1"],
    );
    refused(&["switch", "none.toml", "--node", "S1", "--port", "H1=no0"], &["none.toml"]);
    let cut = ["--port", "H3=no3", "--set", "switch.cut_through=64B"];
    refused(&with(&cut), &["switch.cut_through", "remove cut_through"]);
    let retry =
        ["--port", "H3=no3", "--set", "link_retry.kind=llr", "--set", "link_retry.timer=1ps"];
    refused(&with(&retry), &["link_retry.timer: 1 ps is less than", "or more suits real ports"]);
}

#[test]
fn hosts_name_what_is_wrong() {
    refused(&["host", INCAST, "--node", "S1", "--port", "no0"], &["no host S1", "H0, H1, H2, H3"]);
    refused(&["host", INCAST, "--node", "H1", "--port", "no0"], &["interface no0: not found"]);
    refused(&["host", INCAST, "--node", "H1", "--port", "lo"], &["interface lo"]);
    refused(
        &["host", INCAST, "--node", "H1", "--port", "lo", "--address", "10.0.0.1/24"],
        &["--tap"],
    );
    refused(
        &["host", INCAST, "--node", "H1", "--port", "lo", "--tap", "t0", "--address", "10.0.0.1"],
        &["10.0.0.1/24"],
    );
    refused(
        &["host", INCAST, "--node", "H1", "--port", "H0=lo"],
        &["H1 has no port to H0", "its neighbours are S1"],
    );
}

#[test]
fn testbeds_name_what_is_wrong() {
    let out = path(&folder("refused"), "");
    let veth_network = |more: &[&str], texts: &[&str]| {
        refused(&[&["testbed", INCAST, "--out", &out], more].concat(), texts)
    };
    veth_network(&["--ip", "H9"], &["no host H9", "hosts are H0, H1, H2, H3"]);
    veth_network(&["--ip", "H1,H1"], &["H1 is named twice"]);
    veth_network(&["--ip", "H1", "--run", "H2=true"], &["H2 has no stack", "HOST=COMMAND", "H1"]);
    veth_network(&["--ip", "H1", "--run", "true"], &["does not name a command"]);
    veth_network(&["--run", "H1=true"], &["--ip"]);
    veth_network(&["--observe", "S1->H9"], &["--observe: no port S1->H9", "such as H0->S1"]);
    veth_network(&["--ip", "H1", "--set", "host.frame_max=64B"], &["too short for IP"]);
    let retry = "link_retry.kind=llr";
    veth_network(&["--ip", "H1", "--set", retry], &["numbers no frames", "remove [link_retry]"]);
    veth_network(&["--observe", "H1->S1", "--set", retry], &["or use --capture"]);
}
