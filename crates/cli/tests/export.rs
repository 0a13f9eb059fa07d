//! `xoff export` as a user types it: a trace against its tables, a capture against the counters and
//! messages of the run, by an own reader and by tshark; and rejected input.

#[path = "support/perfetto.rs"]
mod perfetto;
mod support;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

use perfetto::trace;
use support::{folder, limited, path, xoff};

/// A pause that spreads over three switches: every probe that a trace shows.
const CHAIN: &str = r#"
run = { title = "A pause spreads", duration = "100us" }
flow_control = { kind = "pfc", xoff = "200KB", xon = "150KB" }
probes = { queue_changes = ["all"], pauses = ["all"], control = ["all"], causes = true }
[topology]
kind = "custom"
hosts = ["H1", "H2", "H3", "H4", "H5"]
switches = ["S1", "S2", "S3"]
links = ["H1 S1 100Gbps 20m", "H2 S1 100Gbps 20m", "S1 S2 100Gbps 300m", "S2 S3 100Gbps 301m", "H3 S2 100Gbps 20m",
  "H4 S3 100Gbps 20m", "H5 S3 40Gbps 20m"]
[switch]
buffer = "1MB"
[[flow]]
src = "H1"
dst = "H5"
size = "2MB"
[[flow]]
src = "H3"
dst = "H5"
size = "200KB"
start = "3ns"
[[flow]]
src = "H2"
dst = "H4"
size = "1MB"
start = "20us"
[[flow]]
src = "H2"
dst = "H5"
size = "10KB"
start = "20.0001us"
"#;

/// The run of the chain, and its tables as CSV.
fn chain(name: &str) -> (PathBuf, String) {
    let dir = folder(name);
    let (file, run) = (path(&dir, "chain.toml"), path(&dir, "run"));
    std::fs::write(&file, CHAIN).unwrap();
    let ran = xoff(&["run", &file, "--out", &run]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let csv = xoff(&["export", &run, "--csv", &path(&dir, "csv")]);
    assert_eq!(csv.code, 0, "{}", csv.err);
    (dir, run)
}

/// The rows of a CSV table, by column; none of its cells holds a comma.
fn rows(dir: &Path, table: &str) -> Vec<HashMap<String, String>> {
    let text = std::fs::read_to_string(dir.join("csv").join(format!("{table}.csv"))).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines
        .map(|l| {
            names.iter().zip(l.split(',')).map(|(n, c)| ((*n).to_owned(), c.to_owned())).collect()
        })
        .collect()
}

fn number(row: &HashMap<String, String>, column: &str) -> u64 {
    row[column].parse().unwrap_or_else(|e| panic!("{column} {}: {e}", row[column]))
}

/// The track of a port: as an egress, or at its far end.
fn place(port: &str, what: &str, far: bool) -> String {
    let (from, to) = port.split_once("->").unwrap();
    if far { format!("{to} | from {port} | {what}") } else { format!("{from} | {port} | {what}") }
}

#[test]
fn a_trace_holds_what_the_tables_hold() {
    let (dir, run) = chain("export-trace");
    let file = path(&dir, "chain.pftrace");
    let ran = xoff(&["export", &run, "--perfetto", &file, "--json"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    let t = trace(Path::new(&file));
    let answer = ran.json()["perfetto"].clone();

    // Counters: the last value of each ns, where it differs from the previous one.
    let mut counters: BTreeMap<String, Vec<(u64, u64)>> = BTreeMap::new();
    for r in rows(&dir, "queues") {
        let far = r["kind"] == "ingress";
        let what = format!("{} p{}", if far { "buffer" } else { "queue" }, r["priority"]);
        let values = counters.entry(place(&r["port"], &what, far)).or_default();
        let ns = number(&r, "time_ps") / 1000;
        match values.last_mut() {
            Some(last) if last.0 == ns => last.1 = number(&r, "bytes"),
            _ => values.push((ns, number(&r, "bytes"))),
        }
    }
    counters.values_mut().for_each(|v| v.dedup_by(|later, before| later.1 == before.1));
    assert_eq!(t.counters, counters);
    assert!(
        counters.len() >= 8 && counters.values().map(Vec::len).sum::<usize>() > 1000,
        "{}",
        counters.len()
    );
    assert_eq!(answer["counter_values"], counters.values().map(Vec::len).sum::<usize>());

    // Pauses and flows, with their exact times.
    let mut slices: BTreeMap<String, Vec<perfetto::Slice>> = BTreeMap::new();
    let ns = |row: &HashMap<String, String>, column: &str| {
        row[column].parse::<u64>().ok().map(|ps| ps / 1000)
    };
    for r in rows(&dir, "pauses") {
        let exact = number(&r, "start_ps");
        let slice = (exact / 1000, ns(&r, "end_ps"), "paused".to_owned(), Some(exact));
        slices
            .entry(place(&r["port"], &format!("paused p{}", r["priority"]), false))
            .or_default()
            .push(slice);
    }
    assert!(slices.len() >= 4, "{slices:?}");
    for (row, r) in [1, 1, 1, 2].into_iter().zip(rows(&dir, "flows")) {
        let exact = number(&r, "start_ps");
        let slice = (
            exact / 1000,
            ns(&r, "end_ps"),
            format!("flow {} to {}", r["flow"], r["dst"]),
            Some(exact),
        );
        slices.entry(format!("{} | flows | flows, row {row}", r["src"])).or_default().push(slice);
    }
    let mut found = t.slices.clone();
    assert_eq!(found.remove("run | run"), Some(vec![(0, Some(100_000), "run".into(), None)]));
    assert_eq!(found, slices);
    assert!(found.values().flatten().any(|s| s.1.is_none()), "an unfinished flow has no end");

    // Messages, and an arrow from each sending to its arrival; and from pause to pause where the
    // table of causes says so.
    let control = rows(&dir, "control");
    assert_eq!(t.instants.values().map(Vec::len).sum::<usize>(), control.len());
    let arrow = |a: &[Option<(u64, String)>; 2]| a.clone().map(|end| end.map(|(_, track)| track));
    let sent = control.iter().filter(|r| r["direction"] == "sent").count();
    let by_messages = t
        .arrows
        .values()
        .filter(|a| arrow(a)[0].as_ref().is_some_and(|x| x.contains("messages sent")))
        .count();
    let spread: Vec<_> = t
        .arrows
        .values()
        .filter(|a| arrow(a)[0].as_ref().is_some_and(|x| x.contains("paused")))
        .collect();
    assert_eq!(by_messages, sent);
    let before = |a: &[Option<(u64, String)>; 2]| {
        a[1].as_ref().is_none_or(|end| a[0].as_ref().is_some_and(|begin| begin.0 <= end.0))
    };
    assert!(t.arrows.values().all(before), "a cause comes first");
    let wanted =
        [place("S2->S3", "paused p0", false), place("S1->S2", "paused p0", false)].map(Some);
    assert!(spread.iter().any(|a| arrow(a) == wanted), "{spread:?}");
    for a in spread {
        let [Some((at, cause)), Some((then, effect))] = a else { panic!("{a:?}") };
        // The pause of the cause lasts when that of the effect begins.
        let covers = found[cause].iter().any(|s| s.0 == *at && s.1.is_none_or(|end| end >= *then));
        assert!(covers && found[effect].iter().any(|s| s.0 == *then), "{a:?}");
    }

    // A part of the run: what is outside is absent, what reaches in is whole.
    let part = path(&dir, "part.pftrace");
    assert_eq!(
        xoff(&["export", &run, "--perfetto", &part, "--from", "50us", "--until", "60us"]).code,
        0
    );
    let t = trace(Path::new(&part));
    assert!(
        t.counters.values().flatten().all(|c| (50_000..=60_000).contains(&c.0))
            && !t.counters.is_empty()
    );
    assert!(
        t.slices
            .iter()
            .filter(|s| s.0 != "run | run")
            .flat_map(|s| s.1)
            .all(|s| s.0 <= 60_000 && s.1.is_none_or(|e| e >= 50_000))
    );
}

/// A frame of a capture: time [ps], interface, direction (1 in, 2 out), bytes, length on the wire.
type Packet = (u64, u32, u32, Vec<u8>, u32);

/// A capture, read back: names of the interfaces and packets.
fn packets(file: &Path) -> (Vec<String>, Vec<Packet>) {
    let bytes = std::fs::read(file).unwrap();
    let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let u16_at = |at: usize| usize::from(u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap()));
    let (mut at, mut names, mut found) = (0, Vec::new(), Vec::new());
    while at < bytes.len() {
        let (kind, len) = (u32_at(at), u32_at(at + 4) as usize);
        assert_eq!(u32_at(at + len - 4) as usize, len, "a block ends with its length");
        let options = |mut o: usize| {
            let mut found = HashMap::new();
            while o < at + len - 4 && u16_at(o) != 0 {
                found.insert(u16_at(o), bytes[o + 4..o + 4 + u16_at(o + 2)].to_vec());
                o += 4 + u16_at(o + 2).div_ceil(4) * 4;
            }
            found
        };
        match kind {
            0x0A0D_0D0A => {
                assert!(String::from_utf8_lossy(&options(at + 24)[&1]).contains("Result hash"))
            }
            1 => {
                let o = options(at + 16);
                assert_eq!(
                    (o[&9].as_slice(), o[&8].len()),
                    (&[12u8][..], 8),
                    "picoseconds, and a rate"
                );
                names.push(String::from_utf8(o[&2].clone()).unwrap());
            }
            6 => {
                let time = u64::from(u32_at(at + 12)) << 32 | u64::from(u32_at(at + 16));
                let kept = u32_at(at + 20) as usize;
                let flags = &options(at + 28 + kept.div_ceil(4) * 4)[&2];
                let flags = u32::from_le_bytes(flags.as_slice().try_into().unwrap());
                found.push((
                    time,
                    u32_at(at + 8),
                    flags,
                    bytes[at + 28..at + 28 + kept].to_vec(),
                    u32_at(at + 24),
                ));
            }
            other => panic!("block {other:x}"),
        }
        at += len;
    }
    (names, found)
}

#[test]
fn a_capture_holds_every_frame_of_its_links() {
    let (dir, run) = chain("export-capture");
    let file = path(&dir, "links.pcapng");
    let ran = xoff(&[
        "export", &run, "--pcapng", &file, "--link", "S1:S2", "--link", "S2->S1", "--link",
        "H1-S1", "--json",
    ]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    let (names, frames) = packets(Path::new(&file));
    assert_eq!(names, ["S1->S2", "S2->S1", "H1->S1"]);
    assert!(frames.is_sorted_by_key(|f| f.0), "in the order of time");
    let is_control = |f: &Packet| f.3[12..14] == [0x88, 0x08];
    let count = |interface: u32, direction: u32| {
        frames.iter().filter(|f| (f.1, f.2) == (interface, direction) && !is_control(f)).count()
            as u64
    };
    let ports = rows(&dir, "ports");
    let sent = |port: &str| number(ports.iter().find(|r| r["port"] == port).unwrap(), "tx_frames");
    assert!(sent("S1->S2") > 200);
    assert_eq!(
        (count(0, 2), count(1, 2), count(2, 2)),
        (sent("S1->S2"), sent("S2->S1"), sent("H1->S1"))
    );
    // The same link seen from both ends: what goes out here comes in there, a wire time and 300 m
    // later.
    let times = |interface: u32, direction: u32| -> Vec<(u64, u32)> {
        frames.iter().filter(|f| (f.1, f.2) == (interface, direction)).map(|f| (f.0, f.4)).collect()
    };
    let (out, came) = (times(0, 2), times(1, 1));
    assert!(out.len() - came.len() < 20, "except frames in flight at the end of the run");
    for (o, c) in out.iter().zip(&came) {
        // 4 B of FCS are on the wire and not in the file; 10 ps a bit; 5 ns a metre.
        assert_eq!((c.0 - o.0, c.1), (u64::from(o.1 + 4) * 80 + 1_500_000, o.1));
    }
    // Control frames arrive when the table says so, to the ps, and say what it says: PFC, its
    // vector and time of priority 0.
    let arrived: Vec<(u64, u64)> = rows(&dir, "control")
        .iter()
        .filter(|r| r["port"] == "S1->S2" && r["direction"] == "received")
        .map(|r| (number(r, "time_ps"), number(r, "value")))
        .collect();
    let word = |f: &Packet, at: usize| u64::from(u16::from_be_bytes([f.3[at], f.3[at + 1]]));
    let in_file = frames.iter().filter(|f| f.1 == 0 && f.2 == 1 && is_control(f));
    let in_file: Vec<(u64, u64)> = in_file
        .inspect(|f| assert_eq!((word(f, 14), word(f, 16), f.4), (0x0101, 1, 60)))
        .map(|f| (f.0, word(f, 18)))
        .collect();
    assert!(arrived.len() >= 3 && arrived.iter().any(|a| a.1 == 0));
    assert_eq!(in_file, arrived);
    assert_eq!(ran.json()["pcapng"]["interfaces"][0]["outbound_frames"], out.len());

    // A part, whole frames: another file of the same frames.
    let part = path(&dir, "part.pcapng");
    let limits = ["--from", "50us", "--until", "60us", "--snap-length", "0"];
    assert_eq!(
        xoff(&[&["export", &run, "--pcapng", &part, "--link", "S1:S2"][..], &limits].concat()).code,
        0
    );
    let (_, some) = packets(Path::new(&part));
    assert_eq!(
        some.len(),
        frames.iter().filter(|f| f.1 == 0 && (50_000_000..=60_000_000).contains(&f.0)).count()
    );
    assert!(some.iter().all(|f| f.3.len() == f.4 as usize) && some.iter().any(|f| f.4 > 1400));
}

#[test]
fn tshark_reads_a_capture_with_the_dissector() {
    if Command::new("tshark").arg("--version").output().is_err() {
        return xoff_testing::skip("tshark", "it is not installed");
    }
    let (dir, run) = chain("export-tshark");
    let file = path(&dir, "link.pcapng");
    assert_eq!(xoff(&["export", &run, "--pcapng", &file, "--link", "S1:S2"]).code, 0);
    let lua = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/wire/xoff.lua");
    let show = |filter: &str, names: &[&str]| -> Vec<Vec<String>> {
        let mut c = Command::new("tshark");
        c.args([
            "-X",
            &format!("lua_script:{}", lua.display()),
            "-r",
            &file,
            "-Y",
            filter,
            "-T",
            "fields",
        ]);
        names.iter().for_each(|n| _ = c.args(["-e", n]));
        let o = c.output().unwrap();
        assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stderr));
        String::from_utf8(o.stdout)
            .unwrap()
            .lines()
            .map(|l| l.split('\t').map(str::to_owned).collect())
            .collect()
    };
    assert!(show("_ws.malformed", &["frame.number"]).is_empty());
    // Data of flow 0: every byte sent, in order, once, with its length.
    let data = show(
        "xoff.test.flow == 0 && xoff.test.kind == 0",
        &["frame.interface_name", "xoff.test.sequence", "xoff.test.counted", "frame.len"],
    );
    let flow = &rows(&dir, "flows")[0];
    let mut next = 0;
    for d in &data {
        assert_eq!((d[0].as_str(), d[1].parse::<u64>().unwrap()), ("S1->S2", next));
        next += d[2].parse::<u64>().unwrap();
        assert_eq!(d[2].parse::<u64>().unwrap(), d[3].parse::<u64>().unwrap() + 4);
    }
    assert!(next >= number(flow, "bytes_delivered") && next > 100_000);
    // Messages as the table has them; tshark cuts ps to ns.
    let control: Vec<(String, String)> = rows(&dir, "control")
        .iter()
        .filter(|r| r["port"] == "S1->S2" && r["direction"] == "received")
        .map(|r| {
            (
                format!(
                    "{}.{:09}",
                    number(r, "time_ps") / 1_000_000_000_000,
                    number(r, "time_ps") / 1000 % 1_000_000_000
                ),
                r["value"].clone(),
            )
        })
        .collect();
    let seen = show("macc.cbfc.enbv == 1", &["frame.time_epoch", "macc.cbfc.pause_time.c0"]);
    assert_eq!(
        seen.into_iter()
            .map(|mut s| (std::mem::take(&mut s[0]), s.swap_remove(1)))
            .collect::<Vec<_>>(),
        control
    );
}

#[test]
fn tables_keep_every_digit() {
    let (dir, _) = chain("export-csv");
    // Parquet as CSV and a run that wrote CSV at once give the same text.
    let direct = path(&dir, "direct");
    assert_eq!(
        xoff(&["run", &path(&dir, "chain.toml"), "--out", &direct, "--format", "csv"]).code,
        0
    );
    let read =
        |folder: &str, name: &str| std::fs::read_to_string(Path::new(folder).join(name)).unwrap();
    let csv = path(&dir, "csv");
    for table in ["flows", "queues", "control", "pauses", "ports", "causes"] {
        let name = format!("{table}.csv");
        assert!(read(&csv, &name) == read(&direct, &name), "{table}");
    }
    // And a run in CSV can be exported again, chosen tables only.
    let again = xoff(&[
        "export",
        &direct,
        "--csv",
        &path(&dir, "again"),
        "--tables",
        "flows,pauses",
        "--perfetto",
        &path(&dir, "x.pftrace"),
    ]);
    assert_eq!(again.code, 0, "{}", again.err);
    assert!(
        read(&path(&dir, "again"), "flows.csv") == read(&csv, "flows.csv")
            && !dir.join("again/ports.csv").exists()
    );
    let columns = read(&csv, "columns.csv");
    assert!(
        columns.contains("flows,end_ps,u64,UInt64,ps,")
            && columns.lines().all(|l| l.matches('"').count() % 2 == 0),
        "{columns}"
    );
}

#[test]
fn what_cannot_be_exported_is_refused_with_a_reason() {
    let (dir, run) = chain("export-refused");
    let to = |name: &str| path(&dir, name);
    let refused = |args: &[&str], texts: &[&str]| {
        let ran = xoff(&[&["export"], args].concat());
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.out);
        ran.complains(texts);
    };
    refused(&[&to("nowhere"), "--csv", &to("c")], &["does not exist", "folder of a run"]);
    refused(&[&to("chain.toml"), "--csv", &to("c")], &["is a file", "xoff run"]);
    refused(&[&path(&dir, ""), "--csv", &to("c")], &["the folder does not contain a run"]);
    refused(&[&run], &["--perfetto", "--csv", "--pcapng"]);
    refused(&[&run, "--pcapng", &to("x.pcapng")], &["--link"]);
    refused(
        &[&run, "--csv", &to("c"), "--tables", "qeues"],
        &["no table 'qeues'", "did you mean 'queues'?"],
    );
    refused(
        &[&run, "--csv", &to("c"), "--tables", "windows"],
        &["the run has no table 'windows'", "flows"],
    );
    refused(
        &[&run, "--pcapng", &to("x.pcapng"), "--link", "S1:S3"],
        &["'S1' and 'S3' are not linked", "S2"],
    );
    refused(
        &[&run, "--pcapng", &to("x.pcapng"), "--link", "S1:S22"],
        &["no node 'S22'", "did you mean 'S1:S2'?"],
    );
    refused(
        &[&run, "--perfetto", &to("x.pftrace"), "--from", "2us", "--until", "1us"],
        &["--from is after --until"],
    );
    refused(&[&run, "--perfetto", &to("x.pftrace"), "--from", "2"], &["--from", "expected"]);
    refused(&[&run, "--perfetto", &to("no/x.pftrace")], &["the folder", "does not exist"]);
    // Its own run is never replaced, by whatever name.
    std::os::unix::fs::symlink(&run, to("link")).unwrap();
    for folder in [&run, &format!("{run}/"), &to("link")] {
        refused(&[&run, "--csv", folder], &["--csv", "this command reads it"]);
        refused(&[&run, "--csv", folder, "--force"], &["--csv", "this command reads it"]);
    }
    refused(&[&run, "--csv", "/dev/full"], &["--csv /dev/full", "is a device, not a folder"]);
    refused(
        &[&run, "--perfetto", &path(Path::new(&run), "flows.parquet"), "--force"],
        &["folder of results"],
    );
    // An existing file stays without --force, and is replaced with it.
    std::fs::write(to("mine"), "mine").unwrap();
    refused(&[&run, "--perfetto", &to("mine")], &["'", "already exists", "--force"]);
    refused(&[&run, "--pcapng", &to("mine"), "--link", "S1:S2"], &["already exists"]);
    assert_eq!(std::fs::read_to_string(to("mine")).unwrap(), "mine");
    assert_eq!(xoff(&["export", &run, "--perfetto", &to("mine"), "--force"]).code, 0);
    assert!(trace(Path::new(&to("mine"))).tracks.len() > 10);

    // A full disk: the reason, and nothing half written.
    for args in [
        ["--perfetto", "big"].as_slice(),
        &["--csv", "big"],
        &["--pcapng", "big", "--link", "S1:S2"],
    ] {
        let mut all = vec!["export".to_owned(), run.clone(), args[0].to_owned(), to(args[1])];
        all.extend(args[2..].iter().map(|a| (*a).to_owned()));
        let ran = limited(16, &all);
        assert_eq!(ran.code, 2, "{all:?}: {}{}", ran.out, ran.err);
        ran.complains(&["File too large"]);
        assert!(!dir.join("big").is_file() && !dir.join("big/columns.csv").exists(), "{all:?}");
        assert!(
            !std::fs::read_dir(&dir).unwrap().any(|e| e
                .unwrap()
                .file_name()
                .to_string_lossy()
                .ends_with(".partial"))
        );
        let _ = std::fs::remove_dir_all(dir.join("big"));
    }

    // A run that its scenario does not give again.
    let manifest = Path::new(&run).join("manifest.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replace("size = \\\"1MB\\\"", "size = \\\"2MB\\\"")).unwrap();
    refused(
        &[&run, "--pcapng", &to("other.pcapng"), "--link", "S1:S2"],
        &["has changed since the run"],
    );
    assert!(!dir.join("other.pcapng").exists());
}
