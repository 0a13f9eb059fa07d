//! `xoff view` as a user runs it: a folder without a report is rejected with a remedy. Pages
//! themselves: `python/tests/test_page.py`.

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Stdio;

use support::{command, folder, path, xoff};

fn root(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name).display().to_string()
}

#[test]
fn what_holds_no_page_of_a_run_is_refused() {
    let dir = folder("view-refused");
    let at = |name: &str| path(&dir, name);
    let sweep =
        ["sweep", &root("scenarios/sweeps/ring.toml"), "--out", &at("sweep"), "--index", "0"];
    assert_eq!(xoff(&sweep).code, 0);
    assert_eq!(
        xoff(&["sweep", &root("scenarios/sweeps/ring.toml"), "--out", &at("sweep"), "--collect"])
            .code,
        1
    );
    let case = root("crates/run/tests/hpcc/m4_star_2to1_dcqcnstep/config.txt");
    assert_eq!(xoff(&["hpcc", &case, "--out", &at("hpcc")]).code, 0);
    std::fs::create_dir(dir.join("empty")).unwrap();
    std::fs::write(dir.join("file"), "text").unwrap();
    for (name, texts) in [
        ("sweep", ["is not the folder of a run: it belongs to xoff sweep", "index.html"]),
        ("hpcc", ["replay of the HPCC simulator", "use xoff run for a report"]),
        ("empty", ["the folder does not contain a run", "expected a folder that a run wrote"]),
        ("file", ["is a file, not the folder of a run", "open report.html directly in a browser"]),
        ("none", ["there is no folder '", "expected the folder of a run"]),
    ] {
        let ran = xoff(&["view", &at(name), "--no-browser"]);
        assert_eq!(ran.code, 2, "{name}: {}", ran.err);
        ran.complains(&texts);
    }
    // Nor can a comparison take them.
    let ring = at("ring");
    xoff(&["run", &root("scenarios/tutorial/ring.toml"), "--out", &ring, "--no-report"]);
    let ran = xoff(&["compare", &ring, &at("hpcc")]);
    assert_eq!(ran.code, 2);
    ran.complains(&["a replay of the HPCC simulator has no tables of flows and ports"]);
}

/// The run of a folder without a page is repeated, whatever the folder is called; a port that is
/// taken is named.
#[test]
fn a_run_without_a_page_is_repeated_in_a_folder_of_any_name() {
    let dir = folder("view $(odd) 'name' \u{e4}");
    let out = path(&dir, "a b");
    xoff(&["run", &root("scenarios/tutorial/ring.toml"), "--out", &out, "--no-report"]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let ran = xoff(&["view", &out, "--no-browser", "--port", &port]);
    assert_eq!(ran.code, 2);
    ran.complains(&["xoff cannot serve the report", "choose another port"]);

    is_repeated(&out);
    // The same for a page that was removed.
    xoff(&["run", &root("scenarios/tutorial/ring.toml"), "--out", &out]);
    std::fs::remove_file(Path::new(&out).join("report.html")).unwrap();
    is_repeated(&out);
}

/// Before: a page of any other site could have the run repeated.
#[test]
fn only_its_own_page_is_answered() {
    let out = path(&folder("view-own"), "ring");
    xoff(&["run", &root("scenarios/tutorial/ring.toml"), "--out", &out]);
    let mut view = command(["view", &out, "--no-browser"])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(view.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
    let status = |path: &str, headers: &str| {
        let mut to = TcpStream::connect(&address).unwrap();
        write!(to, "GET {path} HTTP/1.1\r\nHost: {address}\r\n{headers}\r\n").unwrap();
        let mut answer = String::new();
        to.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap().parse::<u16>().unwrap()
    };
    let explain = "/api/explain?port=S1-%3ES2&at_ps=15000000000";
    let own = format!("Origin: http://{address}\r\nSec-Fetch-Site: same-origin\r\n");
    let seen = [
        status(explain, ""),
        status(explain, &own),
        status("/", "Sec-Fetch-Site: cross-site\r\n"),
        status(explain, "Sec-Fetch-Site: cross-site\r\n"),
        status(explain, "Sec-Fetch-Site: same-site\r\n"),
        status(explain, "Origin: http://evil.example\r\n"),
        status(explain, "Origin: null\r\n"),
        status("/api/series?port=S1-%3ES2&start_ps=0&end_ps=9", "Origin: http://localhost\r\n"),
    ];
    view.kill().unwrap();
    view.wait().unwrap();
    assert_eq!(seen, [200, 200, 200, 403, 403, 403, 403, 403]);
}

fn is_repeated(run: &str) {
    let mut view = command(["view", run, "--no-browser"])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let lines: Vec<String> =
        BufReader::new(view.stderr.take().unwrap()).lines().map_while(Result::ok).take(2).collect();
    view.kill().unwrap();
    view.wait().unwrap();
    assert!(
        lines[0].contains("xoff repeats the run to draw it")
            && lines[1].contains(" is at http://127.0.0.1:"),
        "{lines:?}"
    );
}
