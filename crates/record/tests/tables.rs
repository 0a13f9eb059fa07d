//! Every table written and read back; chunks, hashes, failures.

use std::fs;
use std::path::{Path, PathBuf};

use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{Array, RecordBatch};
use xoff_record::{
    Action, Cause, CauseRow, Closed, CnmRow, CollectiveRow, ControlRow, DeadlockRow, Direction,
    FORMATS, FlowRow, Folder, Format, Label, Manifest, Mark, MarkRow, Message, NETWORK, Names,
    Node, Operation, OperationRow, Parameter, PathRow, PauseRow, PoolRow, Port, PortRow, PortState,
    QueueRow, RankRow, RateRow, RateSource, ResultFile, RunInfo, SCHEMA_VERSION, Side, Sink,
    StateRow, StoppedBy, StormRow, Tables, UplinkRow, read,
};

/// An empty folder of this test.
fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    dir
}

/// A claim on a folder.
fn claim(dir: &Path) -> Folder {
    Folder::claim(dir, "run", false).unwrap()
}

/// Puts what was closed in place.
fn keep(folder: &Folder, closed: &Closed) {
    Manifest { files: closed.files.clone(), ..Manifest::default() }.write(folder).unwrap();
}

/// Names of the files in a folder but for its record.
fn listed(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|n| n != ".xoff");
    names.sort();
    names
}

fn names() -> Names {
    let own = |names: &[&str]| names.iter().map(|n| n.to_string()).collect();
    Names {
        nodes: own(&["H1", "S1", "H2"]),
        ports: own(&["H1->S1", "S1->H2"]),
        labels: own(&["incast", "background"]),
    }
}

fn info() -> RunInfo {
    RunInfo { xoff_version: "0.1.0".into(), scenario_hash: "abc".into() }
}

fn flow(n: u64) -> FlowRow {
    let done = !n.is_multiple_of(3);
    FlowRow {
        flow: n,
        src: Node(0),
        dst: Node(2),
        src_port: 10_000 + n as u16 % 7,
        dst_port: 100,
        priority: (n % 8) as u8,
        size_bytes: if done { 1_000 * n } else { u64::MAX },
        start_ps: 1_000_000 * n,
        end_ps: done.then_some(1_000_000 * n + 500),
        fct_ps: done.then_some(500),
        bytes_delivered: 7 * n,
        ce_frames: n % 5,
        ue_frames: n % 2,
        ideal_fct_ps: done.then_some(400),
        slowdown: done.then_some(1.25),
        label: Label(n as u32 % 2),
        // As in runs without acknowledgements and failures.
        acked_ps: None,
        bytes_arrived: 7 * n,
        ..FlowRow::default()
    }
}

/// Some rows in every table.
fn fill(t: &mut Tables, n: u64) {
    for i in 0..n {
        t.flows.push(flow(i)).unwrap();
        let kind = if i % 2 == 0 { Side::Ingress } else { Side::Egress };
        t.queues
            .push(QueueRow {
                time_ps: 10 * i,
                port: Port(i as u32 % 2),
                kind,
                priority: 3,
                bytes: 64 * i,
            })
            .unwrap();
        let source = [RateSource::Measured, RateSource::FlowControl, RateSource::RateControl]
            [i as usize % 3];
        let (priority, flow) =
            (if i % 2 == 0 { None } else { Some(5) }, if i % 3 == 2 { Some(i) } else { None });
        t.rates
            .push(RateRow {
                time_ps: i,
                port: Port(1),
                priority,
                flow,
                rate_bps: 5_000_000_000,
                source,
            })
            .unwrap();
        let (direction, message) =
            if i % 2 == 0 { (Direction::Sent, "pause") } else { (Direction::Received, "resume") };
        t.control
            .push(ControlRow {
                time_ps: i,
                port: Port(0),
                priority: 3,
                direction,
                message: Message(message),
                value: 65_535,
            })
            .unwrap();
        let (cycle, position) = (i as u32 / 3, i as u32 % 3);
        t.deadlocks
            .push(DeadlockRow {
                time_ps: 9,
                start_ps: 7,
                cycle,
                position,
                port: Port(0),
                priority: 0,
                frames: 200,
                bytes: 300_000,
                blocked_start_ps: 5,
            })
            .unwrap();
        let end_ps = if i % 2 == 0 { Some(i + 2) } else { None };
        t.pauses
            .push(PauseRow {
                port: Port(1),
                priority: 1,
                start_ps: i,
                end_ps,
                cause: StoppedBy::default(),
            })
            .unwrap();
        t.ports
            .push(PortRow {
                port: Port(i as u32 % 2),
                tx_bytes: 1_500 * i,
                tx_frames: i,
                messages: 2 * i,
                egress_bytes_max: 3_000,
                ingress_bytes_max: 4_500,
                pauses: i,
                paused_ps: 7 * i,
                blocks: 2 * i,
                blocked_ps: 9 * i,
                allowed_bps_min: end_ps,
                ..PortRow::default()
            })
            .unwrap();
        let state = [PortState::NonCongestion, PortState::Congestion, PortState::Undetermined]
            [i as usize % 3];
        t.states.push(StateRow { time_ps: 3 * i, port: Port(1), priority: 3, state }).unwrap();
        let mark = if i % 2 == 0 { Mark::Ue } else { Mark::Ce };
        t.marks
            .push(MarkRow { time_ps: 5 * i, port: Port(0), priority: 3, flow: i, mark })
            .unwrap();
        t.causes
            .push(CauseRow {
                time_ps: i,
                port: Port(0),
                priority: 1,
                flow: i,
                next_port: Port(1),
                bytes: 1_500,
            })
            .unwrap();
    }
}

/// Some rows in another one.
fn fill_storms(t: &mut Tables, n: u64) {
    for i in 0..n {
        let action = [Action::Drop, Action::Forward, Action::Alert][i as usize % 3];
        let end_ps = (i % 2 == 1).then_some(5 * i);
        let (discarded_data, discarded_control) = (8 * i, i);
        let row = StormRow {
            port: Port(1),
            priority: 4,
            start_ps: i,
            detected_ps: 3 * i,
            end_ps,
            action,
            discarded_data,
            discarded_control,
        };
        t.storms.push(row).unwrap();
    }
}

/// Some rows in the tables of jobs.
fn fill_jobs(t: &mut Tables, n: u64) {
    for i in 0..n {
        let end_ps = (i % 2 == 1).then_some(9 * i);
        t.ranks
            .push(RankRow {
                job: Label(1),
                rank: i as u32,
                host: Node(i as u32 % 2),
                end_ps,
                exposed_ps: 4 * i,
                ..RankRow::default()
            })
            .unwrap();
        t.collectives
            .push(CollectiveRow {
                collective: Label(i as u32 % 2),
                end_ps,
                bytes: 8 * i,
                bus_bps: end_ps,
                ..CollectiveRow::default()
            })
            .unwrap();
        let cause = [Cause::Pause, Cause::RateLimit, Cause::Queueing][i as usize % 3];
        t.critical_path
            .push(PathRow {
                position: i as u32,
                start_ps: i,
                end_ps: i + 1,
                cause,
                flow: end_ps,
                ..PathRow::default()
            })
            .unwrap();
        let work = [Operation::Compute, Operation::Send, Operation::Receive][i as usize % 3];
        t.operations
            .push(OperationRow {
                operation: i as u32,
                work,
                bytes: end_ps,
                ..OperationRow::default()
            })
            .unwrap();
    }
}

/// Some rows in the tables of switches: pools of memory, uplinks.
fn fill_switches(t: &mut Tables, n: u64) {
    for i in 0..n {
        let jain = (i % 2 == 1).then_some(i as f64 / 8.0);
        t.uplinks.push(UplinkRow { switch: Node(1), jain, ..UplinkRow::default() }).unwrap();
        let row = PoolRow {
            switch: Node(1),
            pool: Label(i as u32 % 2),
            size_bytes: 6 * i,
            shared_bytes_max: 5 * i,
            ..PoolRow::default()
        };
        t.pools.push(row).unwrap();
    }
}

/// Some rows in the table that came later.
fn fill_cnms(t: &mut Tables, n: u64) {
    for i in 0..n {
        let kind = if i % 2 == 0 { Side::Ingress } else { Side::Egress };
        let row = CnmRow {
            time_ps: 7 * i,
            port: Port(1),
            kind,
            priority: 3,
            flow: i,
            feedback: 63,
            q_off: 5_000,
            q_delta: -(i as i64),
        };
        t.cnms.push(row).unwrap();
    }
}

/// A column as numbers, over all batches.
fn numbers(batches: &[RecordBatch], column: &str) -> Vec<Option<u64>> {
    batches.iter().flat_map(|b| read::numbers(b, column)).collect()
}

fn texts(batches: &[RecordBatch], column: &str) -> Vec<String> {
    batches.iter().flat_map(|b| read::texts(b, column)).map(|t| t.unwrap().to_owned()).collect()
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list: one table an item")]
fn every_table_reads_back_as_written() {
    let dir = folder("round-trip");
    let folder = claim(&dir);
    let mut t =
        Tables::with_chunks(&Sink::Files(folder.clone(), Default::default()), &info(), &names(), 4)
            .unwrap();
    fill(&mut t, 10);
    fill_cnms(&mut t, 10);
    fill_storms(&mut t, 10);
    fill_jobs(&mut t, 10);
    fill_switches(&mut t, 10);
    let closed = t.close();
    keep(&folder, &closed);
    assert_eq!(closed.error, None);
    let all = [
        "flows",
        "queues",
        "rates",
        "control",
        "deadlocks",
        "pauses",
        "ports",
        "causes",
        "states",
        "marks",
        "cnms",
        "storms",
    ];
    let later = ["ranks", "collectives", "critical_path", "operations", "pools", "uplinks"];
    assert_eq!(
        closed.rows,
        all.into_iter().chain(later).map(|name| (name, 10)).collect::<Vec<_>>()
    );
    let length = |name: &str| fs::metadata(dir.join(name)).unwrap().len();
    let file = |table: &str| format!("{table}.parquet");
    let files = all.into_iter().chain(later).map(|t| ResultFile {
        name: file(t),
        rows: 10,
        bytes: length(&file(t)),
    });
    assert_eq!(closed.files, files.collect::<Vec<_>>());
    let some = |f: fn(u64) -> u64| (0..10).map(|i| Some(f(i))).collect::<Vec<_>>();
    let get = |name| read::batches(&dir, name).unwrap();

    let b = get("flows");
    let columns: Vec<_> = b[0].schema().fields().iter().map(|f| f.name().clone()).collect();
    let expected = [
        "flow",
        "src",
        "dst",
        "src_port",
        "dst_port",
        "priority",
        "size_bytes",
        "start_ps",
        "end_ps",
        "fct_ps",
        "bytes_delivered",
        "ce_frames",
        "ue_frames",
        "ideal_fct_ps",
        "slowdown",
        "label",
        "cnms",
        "acked_ps",
        "bytes_arrived",
        "frames_ahead",
        "ahead_bytes_max",
        "ahead_ps_max",
        "paths",
        "collided",
    ];
    assert_eq!(columns, expected);
    let rows: Vec<FlowRow> = (0..10).map(flow).collect();
    let column = |f: fn(&FlowRow) -> Option<u64>| rows.iter().map(f).collect::<Vec<_>>();
    assert_eq!(numbers(&b, "flow"), column(|r| Some(r.flow)));
    assert_eq!(numbers(&b, "src_port"), column(|r| Some(r.src_port.into())));
    assert_eq!(numbers(&b, "dst_port"), column(|r| Some(r.dst_port.into())));
    assert_eq!(numbers(&b, "priority"), column(|r| Some(r.priority.into())));
    assert_eq!(numbers(&b, "size_bytes"), column(|r| Some(r.size_bytes)));
    assert_eq!(numbers(&b, "start_ps"), column(|r| Some(r.start_ps)));
    assert_eq!(numbers(&b, "end_ps"), column(|r| r.end_ps));
    assert_eq!(numbers(&b, "fct_ps"), column(|r| r.fct_ps));
    assert_eq!(numbers(&b, "bytes_delivered"), column(|r| Some(r.bytes_delivered)));
    assert_eq!(numbers(&b, "ce_frames"), column(|r| Some(r.ce_frames)));
    assert_eq!(numbers(&b, "ue_frames"), column(|r| Some(r.ue_frames)));
    assert_eq!(numbers(&b, "ideal_fct_ps"), column(|r| r.ideal_fct_ps));
    assert_eq!(numbers(&b, "acked_ps"), column(|r| r.acked_ps));
    assert_eq!(numbers(&b, "bytes_arrived"), column(|r| Some(r.bytes_arrived)));
    let slowdowns: Vec<_> = b.iter().flat_map(|b| read::floats(b, "slowdown")).collect();
    assert_eq!(slowdowns, rows.iter().map(|r| r.slowdown).collect::<Vec<_>>());
    assert_eq!(
        (texts(&b, "src"), texts(&b, "dst")),
        (vec!["H1".to_owned(); 10], vec!["H2".to_owned(); 10])
    );
    assert_eq!(texts(&b, "label")[..3], ["incast", "background", "incast"]);

    let b = get("queues");
    assert_eq!(
        (numbers(&b, "time_ps"), numbers(&b, "bytes"), numbers(&b, "priority")),
        (some(|i| 10 * i), some(|i| 64 * i), some(|_| 3))
    );
    assert_eq!(texts(&b, "port")[..2], ["H1->S1", "S1->H2"]);
    assert_eq!(texts(&b, "kind")[..3], ["ingress", "egress", "ingress"]);

    let b = get("rates");
    assert_eq!(numbers(&b, "priority")[..2], [None, Some(5)]);
    assert_eq!(numbers(&b, "flow")[..4], [None, None, Some(2), None]);
    assert_eq!(texts(&b, "source")[..3], ["measured", "flow_control", "rate_control"]);
    assert_eq!(
        (numbers(&b, "time_ps"), numbers(&b, "rate_bps"), texts(&b, "port").len()),
        (some(|i| i), some(|_| 5_000_000_000), 10)
    );

    let b = get("control");
    assert_eq!(texts(&b, "direction")[..2], ["sent", "received"]);
    assert_eq!(texts(&b, "message")[7..], ["resume", "pause", "resume"]);
    assert_eq!(
        (numbers(&b, "time_ps"), numbers(&b, "value"), numbers(&b, "priority")),
        (some(|i| i), some(|_| 65_535), some(|_| 3))
    );

    let b = get("deadlocks");
    assert_eq!((numbers(&b, "cycle"), numbers(&b, "position")), (some(|i| i / 3), some(|i| i % 3)));
    let fixed = [
        ("time_ps", 9),
        ("start_ps", 7),
        ("priority", 0),
        ("frames", 200),
        ("bytes", 300_000),
        ("blocked_start_ps", 5),
    ];
    for (name, value) in fixed {
        assert_eq!(numbers(&b, name), vec![Some(value); 10], "{name}");
    }
    assert_eq!(texts(&b, "port"), vec!["H1->S1"; 10]);

    let b = get("pauses");
    assert_eq!(
        (numbers(&b, "start_ps"), numbers(&b, "priority"), texts(&b, "port")),
        (some(|i| i), some(|_| 1), vec!["S1->H2".to_owned(); 10])
    );
    assert_eq!(numbers(&b, "end_ps")[..3], [Some(2), None, Some(4)]);

    let b = get("ranks");
    assert_eq!((numbers(&b, "rank"), numbers(&b, "exposed_ps")), (some(|i| i), some(|i| 4 * i)));
    assert_eq!(numbers(&b, "end_ps")[..3], [None, Some(9), None]);
    assert_eq!(numbers(&get("collectives"), "bytes"), some(|i| 8 * i));
    let b = get("critical_path");
    assert_eq!(
        (numbers(&b, "end_ps"), texts(&b, "cause")[..3].to_vec()),
        (some(|i| i + 1), ["pause", "rate_limit", "queueing"].map(str::to_owned).to_vec())
    );
    assert_eq!(texts(&get("operations"), "work")[..3], ["compute", "send", "receive"]);

    let b = get("causes");
    assert_eq!(
        (numbers(&b, "time_ps"), numbers(&b, "flow"), numbers(&b, "bytes")),
        (some(|i| i), some(|i| i), some(|_| 1_500))
    );
    assert_eq!(
        (texts(&b, "port"), texts(&b, "next_port")),
        (vec!["H1->S1".to_owned(); 10], vec!["S1->H2".to_owned(); 10])
    );

    let b = get("states");
    assert_eq!((numbers(&b, "time_ps"), numbers(&b, "priority")), (some(|i| 3 * i), some(|_| 3)));
    assert_eq!(
        texts(&b, "state")[..4],
        ["non_congestion", "congestion", "undetermined", "non_congestion"]
    );

    let b = get("marks");
    assert_eq!((numbers(&b, "time_ps"), numbers(&b, "flow")), (some(|i| 5 * i), some(|i| i)));
    assert_eq!(
        (texts(&b, "port")[0].as_str(), &texts(&b, "mark")[..2]),
        ("H1->S1", &["ue".to_owned(), "ce".to_owned()][..])
    );

    let b = get("cnms");
    assert_eq!(
        (numbers(&b, "time_ps"), numbers(&b, "flow"), numbers(&b, "feedback")),
        (some(|i| 7 * i), some(|i| i), some(|_| 63))
    );
    assert_eq!(
        (texts(&b, "port")[0].as_str(), &texts(&b, "kind")[..2]),
        ("S1->H2", &["ingress".to_owned(), "egress".to_owned()][..])
    );

    let b = get("storms");
    assert_eq!(
        (numbers(&b, "start_ps"), numbers(&b, "detected_ps"), numbers(&b, "discarded_data")),
        (some(|i| i), some(|i| 3 * i), some(|i| 8 * i))
    );
    assert_eq!(
        numbers(&b, "end_ps"),
        (0..10).map(|i| (i % 2 == 1).then_some(5 * i)).collect::<Vec<_>>()
    );
    assert_eq!(texts(&b, "action")[..3], ["drop", "forward", "alert"].map(str::to_owned));

    let metadata = read::metadata(&dir, "pauses").unwrap();
    let version = SCHEMA_VERSION.to_string();
    for pair in [
        ("xoff.table", "pauses"),
        ("xoff.schema_version", &*version),
        ("xoff.version", "0.1.0"),
        ("xoff.scenario_hash", "abc"),
    ] {
        assert!(
            metadata.iter().any(|(k, v)| (k.as_str(), v.as_str()) == pair),
            "{pair:?} in {metadata:?}"
        );
    }
}

#[test]
fn chunks_change_neither_hash_nor_rows_nor_do_sinks() {
    let mut hashes = Vec::new();
    for (i, rows) in [1, 7, 64, 1 << 16].into_iter().enumerate() {
        for sink in [
            Sink::Nothing,
            Sink::Memory,
            Sink::Files(claim(&folder(&format!("chunks-{i}"))), Default::default()),
        ] {
            let mut t = Tables::with_chunks(&sink, &info(), &names(), rows).unwrap();
            fill(&mut t, 500);
            assert_eq!(t.flows.rows(), 500);
            let closed = t.close();
            let total: usize =
                closed.memory.iter().flat_map(|m| &m.batches).map(|b| b.num_rows()).sum();
            assert_eq!(total, if matches!(sink, Sink::Memory) { 10 * 500 } else { 0 });
            hashes.push(closed.hash);
        }
    }
    assert!(hashes.iter().all(|h| *h == hashes[0]), "{hashes:?}");
    // Computed independently of this crate, from the documented bytes with another XXH3.
    assert_eq!(hashes[0].to_string(), "5bd86801241b10178abf3919fc110a62");
}

#[test]
fn any_difference_changes_the_hash() {
    let hash = |names: &Names, rows: &[PauseRow]| {
        let mut t = Tables::create(&Sink::Nothing, &info(), names).unwrap();
        rows.iter().for_each(|&r| t.pauses.push(r).unwrap());
        t.hash()
    };
    let row = PauseRow {
        port: Port(0),
        priority: 0,
        start_ps: 5,
        end_ps: None,
        cause: StoppedBy::default(),
    };
    let base = hash(&names(), &[row]);
    assert_eq!(base, hash(&names(), &[row]));
    let mut renamed = names();
    renamed.ports[0] = "H9->S1".into();
    let others = [
        hash(&names(), &[]),
        hash(&names(), &[row, row]),
        hash(&names(), &[PauseRow { end_ps: Some(0), ..row }]),
        hash(&names(), &[PauseRow { start_ps: 6, ..row }]),
        hash(&names(), &[PauseRow { port: Port(1), ..row }]),
        hash(&names(), &[PauseRow { cause: StoppedBy::Credits, ..row }]),
        hash(&renamed, &[row]),
    ];
    assert!(others.iter().all(|h| *h != base));
}

#[test]
fn the_same_rows_give_the_same_files() {
    let (a, b) = (folder("same-a"), folder("same-b"));
    for dir in [&a, &b] {
        let folder = claim(dir);
        let mut t =
            Tables::create(&Sink::Files(folder.clone(), Default::default()), &info(), &names())
                .unwrap();
        fill(&mut t, 1_000);
        let closed = t.close();
        assert_eq!(closed.error, None);
        keep(&folder, &closed);
    }
    assert_eq!(listed(&a).len(), 19);
    for name in listed(&a) {
        assert_eq!(fs::read(a.join(&name)).unwrap(), fs::read(b.join(&name)).unwrap(), "{name:?}");
    }
}

#[test]
fn empty_tables_are_complete_files() {
    let dir = folder("empty").join("deep").join("er");
    let folder = claim(&dir);
    let closed =
        Tables::create(&Sink::Files(folder.clone(), Default::default()), &info(), &names())
            .unwrap()
            .close();
    keep(&folder, &closed);
    assert_eq!((closed.error, closed.files.len()), (None, 18));
    for (name, _) in closed.rows {
        assert_eq!(
            read::batches(&dir, name).unwrap().iter().map(|b| b.num_rows()).sum::<usize>(),
            0
        );
    }
    assert!(read::metadata(&dir, "flows").unwrap().iter().any(|(k, _)| k == "xoff.version"));
}

#[test]
fn memory_goes_through_the_c_stream_without_a_copy() {
    let mut t = Tables::with_chunks(&Sink::Memory, &info(), &names(), 64).unwrap();
    fill(&mut t, 100);
    let closed = t.close();
    let queues = closed.memory.into_iter().find(|m| m.name == "queues").unwrap();
    assert_eq!(queues.schema.metadata()["xoff.table"], "queues");
    let bytes =
        |b: &RecordBatch| b.column_by_name("bytes").unwrap().to_data().buffers()[0].as_ptr();
    let before: Vec<_> = queues.batches.iter().map(bytes).collect();
    let stream = FFI_ArrowArrayStream::new(Box::new(queues.into_reader()));
    let after: Vec<_> =
        ArrowArrayStreamReader::try_new(stream).unwrap().map(|b| bytes(&b.unwrap())).collect();
    assert_eq!((before.len(), before), (2, after));
}

/// A folder where a table should be: refused, and the tables opened before leave nothing behind.
#[test]
fn what_is_in_the_way_is_named() {
    let dir = folder("in-the-way");
    fs::create_dir_all(dir.join("rates.parquet")).unwrap();
    let sink = Sink::Files(Folder::claim(&dir, "run", true).unwrap(), Default::default());
    let e = Tables::create(&sink, &info(), &names()).err().unwrap();
    assert!(e.path == dir.join("rates.parquet") && e.to_string().contains("it is a folder"), "{e}");
    drop(sink);
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
}

/// A disk that has no more room, here by a limit on the length of files: nothing of the run is
/// left, and the run before stays.
#[test]
fn a_full_disk_leaves_the_results_of_before() {
    let test = "a_full_disk_leaves_the_results_of_before";
    if !xoff_testing::inside(test) {
        // Without the signal the write fails, as it does on a full disk. 512 or 1024 bytes each.
        let limited = ["-c", "trap '' XFSZ; ulimit -f 1024; exec \"$0\" \"$@\""];
        xoff_testing::again(
            std::process::Command::new("sh").args(limited).arg(std::env::current_exe().unwrap()),
            test,
        );
        return;
    }
    let dir = folder("full");
    let before = claim(&dir);
    let mut t = Tables::create(&Sink::Files(before.clone(), Default::default()), &info(), &names())
        .unwrap();
    fill(&mut t, 10);
    keep(&before, &t.close());
    drop(before);

    // Large enough that the failure comes in the middle of the run, before close.
    let again = claim(&dir);
    let mut t = Tables::with_chunks(
        &Sink::Files(again.clone(), Default::default()),
        &info(),
        &names(),
        1 << 12,
    )
    .unwrap();
    let mut failed = None;
    for i in 0..600_000u64 {
        // Bytes that do not compress.
        let bytes = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if let Err(e) = t.queues.push(QueueRow {
            time_ps: i,
            port: Port(0),
            kind: Side::Ingress,
            priority: 0,
            bytes,
        }) {
            failed = Some(e);
            break;
        }
    }
    let e = failed.expect("the failure must come during the run");
    assert_eq!((e.doing, &e.path), ("write", &dir.join("queues.parquet")));
    assert!(e.to_string().contains("File too large"), "{e}");
    let row = QueueRow { time_ps: 0, port: Port(0), kind: Side::Egress, priority: 0, bytes: 0 };
    assert_eq!(t.queues.push(row).as_ref(), Err(&e));
    let closed = t.close();
    assert_eq!((closed.error, closed.files.len()), (Some(e), 17));
    drop(again);
    assert!(listed(&dir).iter().all(|n| !n.ends_with(".partial")), "{:?}", listed(&dir));
    assert_eq!(Manifest::read(&dir).unwrap().files.len(), 18);
    let rows: usize = read::batches(&dir, "queues").unwrap().iter().map(|b| b.num_rows()).sum();
    assert_eq!(rows, 10);
}

#[test]
fn an_index_without_a_name_is_an_error_and_leaves_nothing() {
    let dir = folder("no-name");
    let folder = claim(&dir);
    let mut t =
        Tables::with_chunks(&Sink::Files(folder.clone(), Default::default()), &info(), &names(), 1)
            .unwrap();
    let row = PauseRow {
        port: Port(2),
        priority: 0,
        start_ps: 0,
        end_ps: None,
        cause: StoppedBy::default(),
    };
    assert!(t.pauses.push(row).is_err());
    let closed = t.close();
    assert!(closed.error.is_some() && closed.files.len() == 17);
    drop(folder);
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
}

/// Until the new tables are complete the old ones are there; a run that dies changes nothing.
#[test]
fn a_run_that_dies_leaves_the_run_before() {
    let dir = folder("dies");
    let first = claim(&dir);
    keep(
        &first,
        &Tables::create(&Sink::Files(first.clone(), Default::default()), &info(), &names())
            .unwrap()
            .close(),
    );
    drop(first);
    let second = claim(&dir);
    let mut t = Tables::create(&Sink::Files(second.clone(), Default::default()), &info(), &names())
        .unwrap();
    fill(&mut t, 10);
    assert!(dir.join("flows.parquet.partial").exists() && dir.join("flows.parquet").exists());
    drop((t, second));
    assert_eq!(listed(&dir).len(), 19);
    assert_eq!(Manifest::read(&dir).unwrap().files[0].rows, 0);
}

/// Tables that are not those of the manifest are refused, with what happened.
#[test]
fn tables_of_another_run_are_refused() {
    let dir = folder("mixed");
    let folder = claim(&dir);
    let mut t = Tables::create(&Sink::Files(folder.clone(), Default::default()), &info(), &names())
        .unwrap();
    fill(&mut t, 10);
    keep(&folder, &t.close());
    drop(folder);
    Manifest::read(&dir).unwrap();
    let table = dir.join("flows.parquet");
    let whole = fs::read(&table).unwrap();
    fs::write(&table, &whole[..whole.len() - 1]).unwrap();
    let e = Manifest::read(&dir).unwrap_err();
    assert!(e.path == table && e.to_string().contains("manifest.json lists it with"), "{e}");
    fs::remove_file(&table).unwrap();
    assert!(Manifest::read(&dir).unwrap_err().to_string().contains("the file is missing"));
    fs::remove_file(dir.join("manifest.json")).unwrap();
    let e = Manifest::read(&dir).unwrap_err();
    assert!(e.to_string().contains("'xoff run' did not finish in this folder"), "{e}");
    let busy = claim(&dir);
    let e = Manifest::read(&dir).unwrap_err();
    assert!(e.to_string().contains("is still writing it"), "{e}");
    drop(busy);
}

#[test]
fn the_manifest_reads_back() {
    let dir = folder("manifest");
    let parameter = Parameter {
        path: "flow_control.xoff".into(),
        value: "280KB".into(),
        origin: "scenario file line 12".into(),
        source: "GFC section 6.2.1".into(),
    };
    let manifest = Manifest {
        xoff_version: "0.1.0".into(),
        scenario: "[run]\nduration = \"10ms\"\n".into(),
        parameters: vec![parameter],
        seed: u64::MAX,
        threads: 2,
        result_hash: "00ff".into(),
        wall_seconds: 0.1,
        deadlock: Some(vec!["S1->S2".into(), "S2->S1".into()]),
        warnings: vec!["tau > T".into()],
        interrupted: true,
        ..Manifest::default()
    };
    let path = manifest.write(&claim(&dir)).unwrap();
    assert_eq!(path, dir.join("manifest.json"));
    assert_eq!(Manifest::read(&dir).unwrap(), manifest);
    assert_eq!(listed(&dir), ["manifest.json"]);
    let json: serde_json::Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(
        (json["seed"].as_u64(), json["deadlock"][1].as_str()),
        (Some(u64::MAX), Some("S2->S1"))
    );
    assert!(Manifest::read(&dir.join("nowhere")).unwrap_err().to_string().contains("No such file"));
}

/// Names, words, nulls, whole numbers with and without sign and floats, in every format as in
/// Parquet.
#[test]
fn every_format_reads_back_what_parquet_does() {
    let written = |format: &'static Format| {
        let dir = folder(&format!("format-{}", format.name));
        let folder = claim(&dir);
        let mut t =
            Tables::with_chunks(&Sink::Files(folder.clone(), format), &info(), &names(), 16)
                .unwrap();
        fill(&mut t, 100);
        fill_cnms(&mut t, 100);
        fill_storms(&mut t, 100);
        fill_jobs(&mut t, 100);
        fill_switches(&mut t, 100);
        let closed = t.close();
        assert!(closed.error.is_none());
        keep(&folder, &closed);
        assert_eq!(
            listed(&dir).iter().filter(|n| n.ends_with(&format!(".{}", format.name))).count(),
            18
        );
        (dir, closed.hash)
    };
    let (parquet, hash) = written(&FORMATS[0]);
    for format in &FORMATS[1..] {
        let (dir, same) = written(format);
        assert_eq!(same, hash, "{}", format.name);
        for table in NETWORK {
            let (a, b) = (
                read::batches(&parquet, table.name).unwrap(),
                read::batches(&dir, table.name).unwrap(),
            );
            assert_eq!(
                (a.len(), b.len(), a[0].num_rows(), a[0].schema().fields()),
                (1, 1, 100, b[0].schema().fields()),
                "{}",
                table.name
            );
            for c in table.columns {
                let (left, right) =
                    (a[0].column_by_name(c.name).unwrap(), b[0].column_by_name(c.name).unwrap());
                let text = matches!(left.data_type(), arrow_schema::DataType::Dictionary(..));
                // Keys may differ, what they stand for may not.
                let equal = if text {
                    read::texts(&a[0], c.name) == read::texts(&b[0], c.name)
                } else {
                    left == right
                };
                assert!(equal, "{} {}.{}: {left:?} {right:?}", format.name, table.name, c.name);
            }
        }
    }
}

#[test]
fn text_that_is_no_table_is_refused_with_its_place() {
    let dir = folder("bad-csv");
    let refused = |text: &str| {
        fs::write(dir.join("marks.csv"), text).unwrap();
        read::batches(&dir, "marks").unwrap_err().to_string()
    };
    let head = "time_ps,port,priority,flow,mark\n";
    assert!(
        refused(&format!("{head}1,H1->S1,3,0,ce\n2,H1->S1,300,0,ce\n"))
            .contains("row 2, column priority: '300' is not a number of its type")
    );
    assert!(refused("time,port\n").contains("its columns differ from those of this version"));
    assert!(refused(&format!("{head}1,H1->S1\n")).contains("marks.csv"));
    assert!(
        read::batches(&dir, "none").unwrap_err().to_string().contains("there is no such table")
    );
}
