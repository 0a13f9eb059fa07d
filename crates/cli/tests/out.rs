//! Folders and files that results go to: owned by one command, written by one process, complete or
//! absent.
#![cfg(unix)]

mod support;

use std::io::Read;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use support::{Ran, case, command, files, folder, limited, path, xoff};

fn scenario(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name).display().to_string()
}

/// The ring for so long, without a deadlock.
fn ring(out: &str, duration: &str) -> Vec<String> {
    let duration = format!("run.duration={duration}");
    let set = ["--set", &duration, "--set", "switch.discipline=round-robin", "--threads", "1"];
    ["run", &scenario("tutorial/ring.toml"), "--out", out]
        .iter()
        .chain(&set)
        .map(|s| (*s).to_owned())
        .collect()
}

fn ran(c: &mut Command) -> Ran {
    let o = c.output().unwrap();
    let text = |b: Vec<u8>| String::from_utf8_lossy(&b).into_owned();
    Ran { code: o.status.code().unwrap_or(-1), out: text(o.stdout), err: text(o.stderr) }
}

fn short(out: &str) -> Ran {
    ran(&mut command(ring(out, "1ms")))
}

fn spawned(args: Vec<String>) -> Child {
    command(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn until(what: &str, ready: impl Fn() -> bool) {
    let start = Instant::now();
    while !ready() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Results that can be read: what a run leaves when it is complete.
fn complete(out: &Path) {
    complete_but(out, 0);
}

/// Every table, the manifest, the resolved scenario and the page, but for so many files.
fn complete_but(out: &Path, missing: usize) {
    let names = files(out);
    let number = xoff_record::NETWORK.len() + 3 - missing;
    assert!(names.len() == number && !names.iter().any(|n| n.ends_with(".partial")), "{names:?}");
    let explained = xoff(&["explain", &out.display().to_string(), "H1->S1", "0.5ms"]);
    assert_eq!(explained.code, 0, "{}", explained.err);
}

/// The folder of a user's own scenario is rejected and not touched; with --force, files that xoff
/// did not write stay.
#[test]
fn a_folder_with_files_of_others_is_refused() {
    let dir = folder("out-unknown");
    let own = std::fs::read_to_string(scenario("tutorial/ring.toml")).unwrap();
    std::fs::write(dir.join("scenario.toml"), &own).unwrap();
    let run = |more: &[&str]| {
        ran(command(
            [&["run", "scenario.toml", "--out", ".", "--set", "run.duration=1ms"], more].concat(),
        )
        .current_dir(&dir))
    };
    let refused = run(&[]);
    assert_eq!((refused.code, refused.out.as_str()), (2, ""));
    refused.complains(&[
        ". contains files that 'xoff run' did not write: 'scenario.toml'",
        "--force",
        "--out .",
    ]);
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 1);
    assert_eq!(run(&["--force"]).code, 0);
    assert_eq!(std::fs::read_to_string(dir.join("scenario.toml")).unwrap(), own);
    assert!(dir.join("resolved.toml").is_file() && dir.join("manifest.json").is_file());
    assert_eq!(run(&[]).complains(&["'scenario.toml'"]).code, 2);
    assert_eq!(run(&["--force"]).code, 0);

    // A file of the user's under a name that a run needs is never overwritten.
    let dir = folder("out-in-the-way");
    std::fs::write(dir.join("flows.parquet"), "mine").unwrap();
    let out = dir.display().to_string();
    assert_eq!(short(&out).complains(&["'flows.parquet'"]).code, 2);
    let forced = ran(command(ring(&out, "1ms")).arg("--force"));
    assert_eq!(forced.complains(&["flows.parquet is in the way: xoff did not write it"]).code, 2);
    assert_eq!(std::fs::read_to_string(dir.join("flows.parquet")).unwrap(), "mine");
    assert_eq!(files(&dir), ["flows.parquet"]);
}

/// The same command replaces its own results as a whole; another command is rejected.
#[test]
fn a_folder_has_one_owner() {
    let dir = folder("out-owner");
    let out = dir.display().to_string();
    assert_eq!(short(&out).code, 0);
    let first = std::fs::read_to_string(dir.join("manifest.json")).unwrap();
    assert_eq!(ran(&mut command(ring(&out, "2ms"))).code, 0);
    complete(&dir);
    assert_ne!(std::fs::read_to_string(dir.join("manifest.json")).unwrap(), first);
    // A fabric has other tables: those of the network go.
    let fabric = [
        "run",
        &scenario("fabric/hotspots.toml"),
        "--out",
        &out,
        "--set",
        "run.duration=30us",
        "--set",
        "run.warm_up=10us",
    ];
    assert_eq!(xoff(&fabric).code, 0);
    assert_eq!(
        files(&dir),
        [
            "fabric_ports.parquet",
            "host_flows.parquet",
            "manifest.json",
            "report.html",
            "resolved.toml",
            "windows.parquet"
        ]
    );

    let hpcc = folder("out-owner-hpcc");
    let config = case(&hpcc, 3, "1 3 3 100 1000 2\n", "");
    let refused = xoff(&["hpcc", &config, "--out", &out]);
    assert_eq!((refused.code, refused.out.as_str()), (2, ""));
    refused.complains(&["contains results of 'xoff run'", "--force"]);
    assert_eq!(files(&dir).len(), 6);
    assert_eq!(xoff(&["hpcc", &config, "--out", &out, "--force"]).code, 0);
    assert_eq!(files(&dir), ["fct.txt", "manifest.json", "pfc.txt"]);
}

/// A folder of a version without records: read as it is, and replaced with --force. Two scenario
/// files of one name have one default folder: the second run does not replace the results of the
/// first, and says why.
#[test]
fn a_default_folder_belongs_to_one_scenario_file() {
    let dir = folder("out-same-name");
    for name in ["a", "b"] {
        std::fs::create_dir(dir.join(name)).unwrap();
        std::fs::copy(scenario("tutorial/ring.toml"), dir.join(name).join("ring.toml")).unwrap();
    }
    let run = |args: &[&str]| {
        ran(command([&["run"], args, &["--set", "run.duration=100us"]].concat()).current_dir(&dir))
    };
    let manifest = || std::fs::read_to_string(dir.join("out/ring/manifest.json")).unwrap();
    assert_eq!(run(&["a/ring.toml"]).code, 0);
    assert_eq!(
        run(&["a/ring.toml", "--seed", "2"]).code,
        0,
        "the same file again replaces its results"
    );
    let first = manifest();
    let second = run(&["b/ring.toml"]);
    assert_eq!((second.code, second.err.matches("help: ").count()), (2, 1), "{}", second.err);
    second.complains(&[
        "out/ring contains the results of another scenario file, a/ring.toml",
        "--out out/ring-2",
        "--force",
    ]);
    assert_eq!(manifest(), first);
    // From its own folder it is the same file.
    let inside =
        ran(command(["run", "ring.toml", "--out", "../out/ring", "--set", "run.duration=100us"])
            .current_dir(dir.join("a")));
    assert_eq!(inside.code, 0, "{}", inside.err);
    assert_eq!(run(&["b/ring.toml", "--out", "out/ring-2"]).code, 0);
    run(&["b/ring.toml"]).complains(&["--out out/ring-3"]);
    assert_eq!(run(&["b/ring.toml", "--force"]).code, 0);
    assert_eq!(run(&["b/ring.toml"]).code, 0, "the folder is now its own");
    // The scheduled fabric has a folder too.
    for name in ["a", "b"] {
        std::fs::copy(scenario("fabric/hotspots.toml"), dir.join(name).join("hotspots.toml"))
            .unwrap();
    }
    let fabric =
        |file: &str| ran(command(["run", file, "--set", "run.duration=100us"]).current_dir(&dir));
    assert_eq!((fabric("a/hotspots.toml").code, fabric("a/hotspots.toml").code), (0, 0));
    fabric("b/hotspots.toml").complains(&[
        "out/hotspots contains the results of another scenario file",
        "--out out/hotspots-2",
    ]);
}

#[test]
fn a_folder_of_an_older_version_is_read() {
    let dir = folder("out-older");
    let out = dir.display().to_string();
    assert_eq!(ran(command(ring(&out, "1ms")).arg("--no-report")).code, 0);
    std::fs::remove_file(dir.join(".xoff")).unwrap();
    std::fs::rename(dir.join("resolved.toml"), dir.join("scenario.toml")).unwrap();
    let mut manifest: serde_json::Value =
        serde_json::from_slice(&std::fs::read(dir.join("manifest.json")).unwrap()).unwrap();
    manifest.as_object_mut().unwrap().remove("files");
    std::fs::write(dir.join("manifest.json"), manifest.to_string()).unwrap();
    assert_eq!(xoff(&["explain", &out, "H1->S1", "0.5ms"]).code, 0);
    assert_eq!(short(&out).complains(&["--force"]).code, 2);
    assert_eq!(ran(command(ring(&out, "1ms")).arg("--force")).code, 0);
    assert!(files(&dir).contains(&"scenario.toml".to_owned()), "it may be the user's");
}

/// Two processes: the second is rejected with the name of the process that holds the folder; the
/// lock ends with the first.
#[test]
fn a_folder_is_written_by_one_process() {
    let dir = folder("out-two").join("run");
    let out = dir.display().to_string();
    let mut first = spawned(ring(&out, "1000s"));
    until("the first begins", || dir.join("flows.parquet.partial").exists());
    let second = short(&out);
    assert_eq!((second.code, second.out.as_str()), (2, ""));
    second.complains(&[
        &format!("is in use by process {} ('xoff run')", first.id()),
        "wait until the process ends",
    ]);
    assert_eq!(
        xoff(&["explain", &out, "H1->S1", "1ms"]).complains(&["is still writing it"]).code,
        2
    );
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(
        xoff(&["explain", &out, "H1->S1", "1ms"])
            .complains(&["'xoff run' did not finish in this folder"])
            .code,
        2
    );
    assert_eq!(short(&out).code, 0);
    complete(&dir);
}

/// Many at once, again and again: each succeeds or is rejected, and the final folder is that of one
/// process.
#[test]
fn of_many_processes_one_at_a_time_writes() {
    let dir = folder("out-many").join("run");
    let out = dir.display().to_string();
    for _ in 0..3 {
        let all: Vec<Child> = (1..=6).map(|ms| spawned(ring(&out, &format!("{ms}ms")))).collect();
        let codes: Vec<Option<i32>> =
            all.into_iter().map(|c| c.wait_with_output().unwrap().status.code()).collect();
        assert!(
            codes.contains(&Some(0)) && codes.iter().all(|c| matches!(c, Some(0 | 2))),
            "{codes:?}"
        );
        complete(&dir);
    }
}

/// SIGKILL at any time: either the results of before or none, never some of both; the next run
/// cleans up.
#[test]
fn a_killed_run_leaves_all_or_nothing() {
    let dir = folder("out-killed").join("run");
    let out = dir.display().to_string();
    let whole = Instant::now();
    assert_eq!(ran(&mut command(ring(&out, "30ms"))).code, 0);
    let lasts = whole.elapsed().as_micros() as u64;
    let mut random = 0x2545_f491_4f6c_dd1du64;
    let (mut kept, mut none) = (0, 0);
    for nth in 0..24 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let mut child = spawned(ring(&out, "30ms"));
        // Half of them about the end, when files get their names.
        let wait = if nth % 2 == 0 {
            random % (lasts * 5 / 4)
        } else {
            lasts * 3 / 4 + random % (lasts / 2)
        };
        std::thread::sleep(Duration::from_micros(wait));
        child.kill().unwrap();
        child.wait().unwrap();
        let read = xoff(&["explain", &out, "H1->S1", "0.5ms"]);
        match read.code {
            0 => kept += 1,
            _ => {
                none += 1;
                assert!(!dir.join("manifest.json").exists(), "{}", read.err);
                read.complains(&["'xoff run' did not finish in this folder"]);
            }
        }
    }
    println!("{kept} times the results of before or the new ones, {none} times none");
    assert!(kept > 0);
    assert_eq!(ran(&mut command(ring(&out, "30ms"))).code, 0);
    complete(&dir);
}

/// Results on a disk that is too small by a little or by a lot: complete, or nothing but an error.
fn too_small(dir: &Path, run: impl Fn(u64, &str) -> Ran) {
    let (mut full, mut fits) = (0, 0);
    for size in 0..48 {
        let out = dir.join(format!("run-{size}"));
        let ran = run(size, &out.display().to_string());
        match ran.code {
            0 => {
                fits += 1;
                complete_but(&out, 1);
            }
            _ => {
                full += 1;
                assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
                ran.complains(&["cannot "]);
                assert!(
                    !out.exists() || std::fs::read_dir(&out).unwrap().count() == 0,
                    "{size}: {:?}",
                    files(&out)
                );
            }
        }
    }
    assert!(full > 3 && fits > 3, "{full} did not fit, {fits} did");
}

/// By a limit on the length of files.
#[test]
fn a_file_that_cannot_grow_leaves_nothing() {
    let dir = folder("out-limited");
    let tables = |out: &str| [ring(out, "1ms"), vec!["--no-report".into()]].concat();
    too_small(&dir, |size, out| limited(size + 1, &tables(out)));
    // All but the page fits: the results are kept, and the page can be drawn from them.
    let out = dir.join("page");
    let ran = limited(500, &ring(&out.display().to_string(), "1ms"));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let lacks = "report.html was not written: cannot write";
    assert!(ran.err.contains(lacks), "{}", ran.err);
    complete_but(&out, 1);
    assert!(!out.join("report.html").exists());
    let manifest = std::fs::read_to_string(out.join("manifest.json")).unwrap();
    assert!(manifest.contains(lacks) && manifest.contains("page/report.html"), "{manifest}");
}

/// With a small file system in a namespace of the test's own.
#[test]
fn a_full_disk_leaves_nothing() {
    let dir = folder("out-full");
    let inside = |size: u64, script: &str, args: &[String]| {
        let mount =
            format!("mount -t tmpfs -o size={}k none \"$1\" && shift && {script}", 4 * size);
        ran(Command::new("unshare")
            .args(["-rm", "sh", "-c", &mount, "sh"])
            .arg(&dir)
            .args(args)
            .stdin(Stdio::null()))
    };
    let probe = std::panic::catch_unwind(|| inside(1, "true", &[]).code);
    if probe.ok() != Some(0) {
        return xoff_testing::skip("tmpfs", "unshare -rm, then mount -t tmpfs, does not work here");
    }
    let exe = env!("CARGO_BIN_EXE_xoff").to_owned();
    let (mut full, mut fits) = (0, 0);
    // A page more each time: every file is the one that does not fit.
    for pages in 1..=40 {
        let out = dir.join("run");
        let args: Vec<String> = [exe.clone()]
            .into_iter()
            .chain(ring(&out.display().to_string(), "1ms"))
            .chain(["--no-report".into()])
            .collect();
        let left = format!(
            "\"$@\" >&2; code=$?; ls -A {0} 2>/dev/null; test $code -ne 0 || {exe} explain {0} 'H1->S1' 0.5ms >&2 || code=9; exit $code",
            out.display()
        );
        let ran = inside(pages, &left, &args);
        match ran.code {
            0 => {
                fits += 1;
                assert!(
                    ran.out.contains("manifest.json") && !ran.out.contains(".partial"),
                    "{}",
                    ran.out
                );
            }
            _ => {
                full += 1;
                assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{pages} pages: {}", ran.err);
                ran.complains(&["No space left on device"]);
            }
        }
    }
    assert!(full > 3 && fits > 3, "{full} did not fit, {fits} did");
}

/// A path that is no folder for results is rejected before the run begins, which would never end.
#[test]
fn what_is_no_folder_is_refused_at_once() {
    let dir = folder("out-no-folder");
    let at = |name: &str| path(&dir, name);
    std::fs::write(at("file"), "mine").unwrap();
    std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    assert!(Command::new("mkfifo").arg(at("fifo")).status().unwrap().success());
    symlink("nowhere", at("dangling")).unwrap();
    symlink("loop", at("loop")).unwrap();
    for (out, text) in [
        (at("file"), "file is a file, not a folder"),
        (at("file/"), "is a file, not a folder"),
        (at("file/below"), "file is a file, not a folder"),
        (at("fifo"), "is a FIFO, not a folder"),
        (at("socket"), "is a socket, not a folder"),
        ("/dev/null".into(), "/dev/null is a device, not a folder"),
        (at("dangling"), "is a symbolic link to nowhere, which does not exist"),
        (at("dangling/"), "is a symbolic link to nowhere, which does not exist"),
        (at("loop"), "is a symbolic link to loop"),
        ("-".into(), "'-' is not a folder"),
        (String::new(), "a value is required for '--out"),
        ("/proc/nowhere".into(), "cannot create the folder /proc/nowhere"),
    ] {
        let refused = ran(&mut command(ring(&out, "1000000s")));
        assert_eq!((refused.code, refused.out.as_str()), (2, ""), "{out}: {}", refused.err);
        refused.complains(&[text]);
    }
    assert_eq!(std::fs::read_to_string(at("file")).unwrap(), "mine");
    // A link to a folder counts as one, and parent folders are created.
    std::fs::create_dir(at("real")).unwrap();
    symlink("real", at("link")).unwrap();
    for out in [at("link"), at("new/below/")] {
        assert_eq!(short(&out).code, 0, "{out}");
    }
    assert!(dir.join("link").is_symlink());
}

fn tree(svg: &str) -> Command {
    command(["tree", &scenario("mechanisms/tcd.toml"), "500us", "--svg", svg, "--json"])
}

/// A link stays and its target is written; what is no regular file is written through; what cannot
/// be written is reported at once.
#[test]
fn a_drawing_replaces_no_link_and_no_device() {
    let dir = folder("out-svg");
    let at = |name: &str| path(&dir, name);
    let drawn = |p: &PathBuf| {
        std::fs::read_to_string(p).is_ok_and(|t| t.starts_with("<svg") && t.ends_with("</svg>"))
    };
    std::fs::create_dir(at("far")).unwrap();
    std::fs::write(at("far/real.svg"), "").unwrap();
    symlink("far/real.svg", at("link.svg")).unwrap();
    symlink("far/new.svg", at("dangling.svg")).unwrap();
    symlink("/proc/self/fd/2", at("stderr")).unwrap();
    for name in ["plain.svg", "link.svg", "dangling.svg", "plain.svg"] {
        let drawing = ran(&mut tree(&at(name)));
        assert_eq!(drawing.code, 0, "{name}: {}", drawing.err);
    }
    assert!(dir.join("link.svg").is_symlink() && dir.join("dangling.svg").is_symlink());
    assert!(["plain.svg", "far/real.svg", "far/new.svg"].iter().all(|f| drawn(&dir.join(f))));
    let through = ran(&mut tree(&at("stderr")));
    assert!(
        through.code == 0 && through.err.contains("</svg>") && dir.join("stderr").is_symlink(),
        "{}",
        through.err
    );

    assert!(Command::new("mkfifo").arg(at("fifo")).status().unwrap().success());
    let mut child = tree(&at("fifo")).stdout(Stdio::null()).spawn().unwrap();
    let mut text = String::new();
    std::fs::File::open(at("fifo")).unwrap().read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success() && text.ends_with("</svg>"));
    assert!(std::fs::symlink_metadata(at("fifo")).unwrap().file_type().is_fifo());

    for (svg, expected) in [
        (at("far"), "it is a folder, not a file"),
        (at("no/such/a.svg"), "does not exist"),
        (at("plain.svg/a.svg"), "not a folder"),
        (scenario("mechanisms/tcd.toml"), "this command reads it"),
    ] {
        let refused = ran(&mut tree(&svg));
        assert_eq!((refused.code, refused.out.as_str()), (2, ""), "{svg}");
        refused.complains(&[expected, "--svg"]);
    }
    assert_eq!(files(&dir), ["dangling.svg", "far", "fifo", "link.svg", "plain.svg", "stderr"]);
}

/// A file that the user put in the place of a result is rejected, and with --force reported; a copy
/// of a folder is as good as the folder.
#[test]
fn a_file_that_was_changed_is_not_replaced() {
    let dir = folder("out-changed");
    let out = path(&dir, "run");
    assert_eq!(short(&out).code, 0);
    std::fs::create_dir(dir.join("copy")).unwrap();
    for entry in std::fs::read_dir(&out).unwrap().flatten() {
        std::fs::write(
            dir.join("copy").join(entry.file_name()),
            std::fs::read(entry.path()).unwrap(),
        )
        .unwrap();
    }
    assert_eq!(short(&path(&dir, "copy")).code, 0);

    let notes = dir.join("run/queues.parquet");
    std::fs::write(&notes, "NOTES").unwrap();
    assert_eq!(
        short(&out)
            .complains(&[
                "contains files that changed after xoff wrote them: 'queues.parquet'",
                "--force"
            ])
            .code,
        2
    );
    assert_eq!(std::fs::read(&notes).unwrap(), b"NOTES");
    let forced = ran(command(ring(&out, "1ms")).arg("--force"));
    assert_eq!(forced.code, 0, "{}", forced.err);
    assert!(forced.flat().contains("queues.parquet changed after xoff wrote it"), "{}", forced.err);
    complete(Path::new(&out));

    // The same length, in a file that the manifest does not list.
    let resolved = std::fs::read_to_string(dir.join("run/resolved.toml")).unwrap();
    std::fs::write(dir.join("run/resolved.toml"), resolved.replacen("800KB", "100KB", 1)).unwrap();
    assert_eq!(
        xoff(&["explain", &out, "H1->S1", "0.5ms"])
            .complains(&["resolved.toml has changed since the run"])
            .code,
        2
    );
}

/// The scenario is not replaced by the run that reads it, nor by a drawing, by whatever name; nor
/// is a file that it names.
#[test]
fn an_input_is_not_replaced() {
    let dir = folder("out-input");
    let out = path(&dir, "a");
    assert_eq!(short(&out).code, 0);
    let resolved = path(&dir, "a/resolved.toml");
    let text = std::fs::read_to_string(&resolved).unwrap();
    symlink("a/resolved.toml", path(&dir, "link.toml")).unwrap();
    std::fs::hard_link(&resolved, path(&dir, "hard.toml")).unwrap();
    for name in ["a/resolved.toml", "link.toml", "hard.toml"] {
        let refused = xoff(&["run", &path(&dir, name), "--out", &out]);
        assert_eq!(refused.complains(&["this command reads it", "--out"]).code, 2, "{name}");
    }
    assert_eq!(std::fs::read_to_string(&resolved).unwrap(), text);

    std::fs::write(dir.join("notes.svg"), "PRECIOUS").unwrap();
    for (svg, expected) in
        [("notes.svg", "not a drawing of xoff"), ("a/flows.parquet", "a folder of results")]
    {
        let refused = ran(&mut tree(&path(&dir, svg)));
        assert_eq!(refused.complains(&[expected, "--svg"]).code, 2, "{svg}");
    }
    assert_eq!(std::fs::read(dir.join("notes.svg")).unwrap(), b"PRECIOUS");
    let forced = ran(tree(&path(&dir, "notes.svg")).arg("--force"));
    assert!(
        forced.code == 0 && std::fs::read(dir.join("notes.svg")).unwrap().starts_with(b"<svg"),
        "{}",
        forced.err
    );
}

/// A folder that is moved away while a run writes into it: whatever takes its name is not touched,
/// and the run reports it.
#[test]
fn a_folder_that_is_moved_is_reported() {
    let dir = folder("out-moved");
    let out = path(&dir, "o");
    for by_user in [true, false] {
        let mut first = spawned(ring(&out, "200ms"));
        until("the first begins", || dir.join("o/flows.parquet.partial").exists());
        std::fs::rename(&out, dir.join("old")).unwrap();
        if by_user {
            std::fs::create_dir(dir.join("precious")).unwrap();
            std::fs::write(dir.join("precious/flows.parquet"), "PRECIOUS").unwrap();
            symlink("precious", &out).unwrap();
        } else {
            assert_eq!(short(&out).code, 0);
        }
        let mut err = String::new();
        first.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert_eq!(first.wait().unwrap().code(), Some(2), "{err}");
        let flat = err
            .split(|c: char| c.is_whitespace() || c == '│')
            .filter(|w| !w.is_empty())
            .collect::<Vec<_>>()
            .join(" ");
        assert!(flat.contains("was moved or replaced while this command wrote into it"), "{err}");
        assert_eq!(files(&dir.join("old")), [""; 0]);
        if by_user {
            assert_eq!(std::fs::read(dir.join("precious/flows.parquet")).unwrap(), b"PRECIOUS");
            assert_eq!(files(&dir.join("precious")), ["flows.parquet"]);
            std::fs::remove_file(&out).unwrap();
        } else {
            complete(Path::new(&out));
        }
        std::fs::remove_dir_all(dir.join("old")).unwrap();
    }
}

/// With --force as without: a draft's name that is taken is reported in words.
#[test]
fn a_draft_of_the_users_is_in_the_way() {
    let dir = folder("out-draft");
    std::fs::write(dir.join("flows.parquet.partial"), "mine").unwrap();
    let forced = ran(command(ring(&dir.display().to_string(), "1ms")).arg("--force"));
    assert_eq!(
        forced.complains(&["flows.parquet.partial is in the way: xoff did not write it"]).code,
        2
    );
}
