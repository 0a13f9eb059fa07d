//! Sweeps as a user runs them: killed and resumed, one run a process, two at a time, on a full
//! disk, with wrong plans.
#![cfg(unix)]

mod support;

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use support::{command, files, folder, limited, path, xoff};

fn ring() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../scenarios/tutorial/ring.toml")
        .display()
        .to_string()
}

/// A plan of 4 combinations with so many seeds, each run so long.
fn plan(dir: &Path, seeds: usize, duration: &str) -> String {
    let text = format!(
        "title = \"Ring\"\nscenario = \"{}\"\nseeds = {seeds}\n[set]\nrun.duration = \"{duration}\"\ncontrol_delay.processing_jitter = \"5us\"\n\
         [grid]\nflow_control = [\"pfc\", \"gfc-buffer\"]\nswitch.discipline = [\"fifo\", \"round-robin\"]\n",
        ring()
    );
    let file = dir.join("plan.toml");
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

fn cells(out: &Path) -> Vec<PathBuf> {
    let below = |dir: &Path| {
        std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path()).collect::<Vec<_>>()
    };
    let all = below(&out.join("finished")).iter().flat_map(|dir| below(dir)).collect::<Vec<_>>();
    all.into_iter().filter(|f| f.extension().is_some_and(|x| x == "json")).collect()
}

fn begin(args: &[&str]) -> Child {
    command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Kills it when so many runs are kept.
fn kill_at(mut child: Child, out: &Path, kept: usize) {
    let begun = Instant::now();
    while cells(out).len() < kept {
        assert!(begun.elapsed() < Duration::from_secs(60), "{} runs", cells(out).len());
        assert!(child.try_wait().unwrap().is_none(), "it ended before it was killed");
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

fn runs(out: &Path) -> Vec<u8> {
    std::fs::read(out.join("runs.parquet")).unwrap()
}

/// A thousand runs, whoever executes them and however often they are killed: the same bytes.
#[test]
fn a_thousand_runs_give_the_same_bytes() {
    let dir = folder("sweep-thousand");
    let plan = plan(&dir, 250, "200us");
    let out = |name: &str| (dir.join(name), path(&dir, name));
    let (whole, name) = out("whole");
    let done = xoff(&["sweep", &plan, "--out", &name]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.out.starts_with("Ring: 1000 of 1000 runs done\n"), "{}", done.out);
    let expected = [
        "figure.svg",
        "finished",
        "index.html",
        "manifest.json",
        "runs",
        "runs.parquet",
        "table.csv",
    ];
    assert_eq!(files(&whole), expected);

    let (killed, name) = out("killed");
    kill_at(begin(&["sweep", &plan, "--out", &name]), &killed, 200);
    kill_at(begin(&["sweep", &plan, "--out", &name]), &killed, 500);
    let kept = cells(&killed).len();
    assert!((500..1000).contains(&kept) && !killed.join("runs.parquet").exists(), "{kept}");
    let list = xoff(&["sweep", &plan, "--out", &name, "--list", "--json"]).json();
    assert_eq!(list["unfinished"].as_array().unwrap().len(), 1000 - kept);
    assert_eq!(xoff(&["sweep", &plan, "--out", &name]).code, 0);
    assert_eq!(runs(&whole), runs(&killed));
    assert_eq!(files(&killed), expected);

    // A job array: parallel processes in one folder. One of them dies.
    let (array, name) = out("array");
    let part = |cells: &str| begin(&["sweep", &plan, "--out", &name, "--index", cells]);
    let others = [part("250-499"), part("500-749"), part("750-999")];
    kill_at(part("0-249"), &array, 10);
    others.into_iter().for_each(|mut child| assert!(child.wait().unwrap().success()));
    let early = xoff(&["sweep", &plan, "--out", &name, "--collect", "--json"]);
    let missing = early.json()["missing"].as_array().unwrap().len();
    assert_eq!((early.code, cells(&array).len()), (1, 1000 - missing));
    assert!(missing > 0 && early.json()["answer"] == "no", "{missing}");
    assert!(part("0-249").wait().unwrap().success());
    assert_eq!(xoff(&["sweep", &plan, "--out", &name, "--collect"]).code, 0);
    assert_eq!(runs(&whole), runs(&array));
}

#[test]
fn one_sweep_at_a_time_uses_a_folder() {
    let dir = folder("sweep-two");
    let plan = plan(&dir, 500, "20ms");
    let (out, name) = (dir.join("out"), path(&dir, "out"));
    let first = begin(&["sweep", &plan, "--out", &name]);
    let begun = Instant::now();
    while cells(&out).is_empty() && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(2));
    }
    let second = xoff(&["sweep", &plan, "--out", &name]);
    let holder = format!("is in use by process {} ('xoff sweep')", first.id());
    assert_eq!(second.complains(&[&holder, "wait until the process ends", "--out"]).code, 2);
    // A run of a job array may start all the same: it writes its own file.
    assert_eq!(xoff(&["sweep", &plan, "--out", &name, "--index", "1999"]).code, 0);
    kill_at(first, &out, 1);

    let other = xoff(&["run", &ring(), "--out", &name]);
    assert_eq!(other.complains(&["contains results of 'xoff sweep'"]).code, 2);
    std::fs::write(dir.join("mine"), "mine").unwrap();
    let refused = xoff(&["sweep", &plan, "--out", &dir.display().to_string(), "--index", "0"]);
    assert_eq!(refused.complains(&["did not write: ", "'mine'"]).code, 2);
}

#[test]
fn an_interrupt_keeps_what_is_finished() {
    let dir = folder("sweep-interrupt");
    let plan = plan(&dir, 500, "20ms");
    let (out, name) = (dir.join("out"), path(&dir, "out"));
    let child = command(["sweep", &plan, "--out", &name, "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while cells(&out).len() < 3 {
        std::thread::sleep(Duration::from_millis(2));
    }
    let interrupt = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(interrupt.success());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130));
    let json: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!(
        (json["answer"].as_str(), json["runs"]["done"].as_u64()),
        (Some("interrupted"), Some(cells(&out).len() as u64))
    );
    assert!(!out.join("runs.parquet").exists());
}

/// No file may grow: the first run cannot be kept, then the table cannot be written. What was
/// finished is kept.
#[test]
fn a_full_disk_loses_nothing() {
    let dir = folder("sweep-full");
    let plan = plan(&dir, 5, "200us");
    let (out, name) = (dir.join("out"), path(&dir, "out"));
    let full = limited(0, &["sweep", &plan, "--out", &name]);
    assert_eq!(full.complains(&["cannot write"]).code, 2);
    let full = limited(4, &["sweep", &plan, "--out", &name]);
    assert_eq!(full.complains(&["cannot write"]).code, 2);
    assert_eq!(cells(&out).len(), 20);
    assert!(
        !out.join("runs.parquet").exists() && !out.join("manifest.json").exists(),
        "{:?}",
        files(&out)
    );
    let done = xoff(&["sweep", &plan, "--out", &name]);
    assert_eq!(done.code, 0, "{}", done.err);
    let before = runs(&out);
    // Results that cannot be written again are the old ones or none, never half of both.
    assert_eq!(limited(4, &["sweep", &plan, "--out", &name, "--collect"]).code, 2);
    assert_eq!(runs(&out), before);
    assert!(out.join("manifest.json").exists());
}

#[test]
fn a_run_that_fails_is_named_and_the_others_are_done() {
    let dir = folder("sweep-failing");
    // Alone both are right.
    let text = format!(
        "scenario = \"{}\"\n[set]\nrun.duration = \"200us\"\n[grid]\nswitch.buffer = [\"1MB\", \"100KB\"]\nflow_control = [\"none\", \"pfc\"]\n",
        ring()
    );
    std::fs::write(dir.join("plan.toml"), text).unwrap();
    let (plan, out) = (path(&dir, "plan.toml"), path(&dir, "out"));
    let ran = xoff(&["sweep", &plan, "--out", &out]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(
        ran.out.contains(
            "3 of 4 runs done, 1 failed\nrun 3 (switch.buffer=100KB, flow_control=pfc, seed=1): "
        ),
        "{}",
        ran.out
    );
    let json = xoff(&["sweep", &plan, "--out", &out, "--collect", "--json"]).json();
    // The failed run is a command: alone, with its values.
    let next = ran.out.lines().last().unwrap().to_owned();
    assert!(
        next.starts_with("Next: xoff run ")
            && next.contains(" --seed 1 ")
            && next.contains("-failed-3"),
        "{}",
        ran.out
    );
    assert!(next.contains(" --set switch.buffer=100KB --set flow_control=pfc "), "{next}");
    assert_eq!((json["answer"].as_str(), json["failed"][0]["run"].as_u64()), (Some("no"), Some(3)));
    let page = std::fs::read_to_string(dir.join("out/index.html")).unwrap();
    assert!(
        page.contains("Failed runs")
            && !page.contains("<script")
            && !page.contains("src=")
            && !page.contains("href=\"http")
    );
    let one = xoff(&["sweep", &plan, "--out", &out, "--index", "2-3"]);
    assert_eq!(one.code, 1);
    assert!(one.out.contains("run 2: done") && one.out.contains("run 3: failed"), "{}", one.out);
}

/// One run is no interval of width zero.
#[test]
fn one_seed_has_no_interval() {
    let dir = folder("sweep-one-seed");
    let (plan, out, name) = (plan(&dir, 1, "100us"), dir.join("out"), path(&dir, "out"));
    assert_eq!(xoff(&["sweep", &plan, "--out", &name]).code, 0);
    let table = std::fs::read_to_string(out.join("table.csv")).unwrap();
    let line = table.lines().find(|l| l.starts_with("gfc-buffer,fifo,throughput_bps,")).unwrap();
    let fields: Vec<&str> = line.split(',').collect();
    assert_eq!(
        (fields[3], fields[6], fields[7], fields[9], fields[10]),
        ("1", "", "", "", ""),
        "{line}"
    );
    assert!(!fields[5].is_empty() && !fields[8].is_empty(), "{line}");
}

/// Damaged runs are repeated: a flipped digit, a truncated or missing table, an empty file.
#[test]
fn damaged_runs_are_repeated() {
    let dir = folder("sweep-damaged");
    let plan = plan(&dir, 2, "100us");
    let text = std::fs::read_to_string(&plan).unwrap();
    std::fs::write(&plan, format!("tables = [\"flows\"]\n{text}")).unwrap();
    let (out, name) = (dir.join("out"), path(&dir, "out"));
    assert_eq!(xoff(&["sweep", &plan, "--out", &name]).code, 0);
    let (bytes, all) = (runs(&out), cells(&out));
    let own = |file: &Path| std::fs::read_to_string(file).unwrap();
    let flipped = own(&all[0]).replace("\"delivered_bytes\",", "\"delivered_bytes\",1");
    assert_ne!(flipped, own(&all[0]));
    std::fs::write(&all[0], flipped).unwrap();
    std::fs::write(&all[1], "").unwrap();
    std::fs::write(&all[2], &own(&all[2])[..200]).unwrap();
    let table = |i: usize| all[i].with_extension("flows.parquet");
    std::fs::write(table(3), &std::fs::read(table(3)).unwrap()[..100]).unwrap();
    std::fs::remove_file(table(4)).unwrap();
    let mut one = std::fs::read(table(5)).unwrap();
    one[40] ^= 1;
    std::fs::write(table(5), &one).unwrap();

    let left = xoff(&["sweep", &plan, "--out", &name, "--list", "--json"]);
    assert_eq!(left.json()["unfinished"].as_array().unwrap().len(), 6, "{}", left.out);
    // Each is named with its file and the reason where nothing runs again.
    let collect = ["sweep", &plan, "--out", &name, "--collect"];
    let told = xoff(&collect);
    assert_eq!(told.code, 1, "{}", told.err);
    assert!(told.out.contains("6 missing") && told.out.contains("and 3 more"), "{}", told.out);
    let json = xoff(&[&collect[..], &["--json"]].concat()).json();
    let reasons: Vec<&str> = json["unreadable"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["error"].as_str().unwrap())
        .collect();
    let wanted = |file: &Path, why: &str| {
        reasons.iter().any(|r| r.contains(&*file.display().to_string()) && r.contains(why))
    };
    for (file, why) in [
        (all[0].clone(), "is damaged"),
        (all[1].clone(), "is damaged"),
        (all[2].clone(), "is damaged"),
        (table(3), "is damaged"),
        (table(4), "cannot read"),
        (table(5), "is damaged"),
    ] {
        assert!(wanted(&file, why), "{}: {reasons:?}", file.display());
    }
    assert_eq!(reasons.len(), 6, "{reasons:?}");
    assert_eq!(xoff(&["sweep", &plan, "--out", &name]).code, 0);
    assert!(runs(&out) == bytes);
    assert_ne!(std::fs::read(table(5)).unwrap(), one);
}

/// A plan may change in a folder: runs that it still has are kept, and so are the others, out of
/// the results.
#[test]
fn a_changed_plan_runs_what_is_new() {
    let dir = folder("sweep-changed");
    let (out, name) = (dir.join("out"), path(&dir, "out"));
    let small = plan(&dir, 2, "200us");
    assert_eq!(xoff(&["sweep", &small, "--out", &name]).code, 0);
    let first = runs(&out);
    assert_eq!(cells(&out).len(), 8);
    let large = plan(&dir, 3, "200us");
    assert_eq!(xoff(&["sweep", &large, "--out", &name]).code, 0);
    assert_eq!(cells(&out).len(), 12);
    // Another value for every run: all are executed, none is taken for the old one.
    let other = plan(&dir, 2, "300us");
    assert_eq!(xoff(&["sweep", &other, "--out", &name]).code, 0);
    assert_eq!(cells(&out).len(), 20);
    let again = plan(&dir, 2, "200us");
    assert_eq!(xoff(&["sweep", &again, "--out", &name]).code, 0);
    assert_eq!((cells(&out).len(), runs(&out) == first), (20, true));
    // Tables of the runs, as a dataset in folders; a result that is gone from the plan leaves none
    // behind.
    let text = std::fs::read_to_string(&again)
        .unwrap()
        .replace("seeds = 2", "seeds = [7]\ntables = [\"flows\"]");
    std::fs::write(&again, text).unwrap();
    assert_eq!(xoff(&["sweep", &again, "--out", &name]).code, 0);
    assert!(
        out.join("flows/flow_control=pfc/switch.discipline=fifo/seed=7/flows.parquet").is_file()
    );
    plan(&dir, 2, "200us");
    assert_eq!(xoff(&["sweep", &again, "--out", &name]).code, 0);
    assert!(!out.join("flows").exists() && runs(&out) == first, "{:?}", files(&out));
}

#[test]
fn wrong_plans_are_refused_at_their_place() {
    let dir = folder("sweep-wrong");
    let file = dir.join("plan.toml");
    let name = file.display().to_string();
    let head = format!("scenario = \"{}\"\n", ring());
    let cases: &[(&str, &[&str])] = &[
        ("", &["a plan has at least scenario"]),
        ("# nothing\n", &["the plan is empty"]),
        ("seeds = 3\n", &["missing key 'scenario'"]),
        ("scenaro = \"a\"\n", &["unknown key 'scenaro'", "did you mean 'scenario'", ":1:1"]),
        ("scenario = 3\n", &["scenario: found number 3", ":1:12"]),
        ("scenario = \"none.toml\"\n", &["cannot read", "none.toml", ":1:12", "no such file"]),
        ("scenario = \"a\"\nscenario = \"b\"\n", &["key 'scenario' is defined twice"]),
        ("+seeds = 0\n", &["there are no seeds", ":2:9"]),
        ("+seeds = -1\n", &["seeds: found number -1"]),
        ("+seeds = [1, 2, 1]\n", &["the seed 1 is listed twice", ":2:16"]),
        ("+seeds = \"3\"\n", &["seeds: found text \"3\"", "such as 10"]),
        ("+seeds = 99999999999\n", &["at most 1000000"]),
        (
            "+seeds = 600000\n[grid]\nswitch.buffer = [\"1MB\", \"2MB\"]\n",
            &["1200000 runs", "at most 1000000"],
        ),
        ("+grid = 3\n", &["'grid' is number 3", "[grid]"]),
        (
            "+[grid]\nflow_control = \"pfc\"\n",
            &["flow_control: found text \"pfc\"", ":3:16", "for all runs into [set]"],
        ),
        ("+[grid]\nflow_control = []\n", &["flow_control has no values"]),
        ("+[grid]\nflow_control = [\"pfc\", \"pfc\"]\n", &["\"pfc\" is listed twice", ":3:24"]),
        (
            "+[grid]\nflow_control = [\"pfc\", \"pfcc\"]\n",
            &["unknown kind 'pfcc'", "did you mean 'pfc'", ":3:24"],
        ),
        (
            "+[grid]\nswitch.bufer = [\"1MB\"]\n",
            &["unknown key 'bufer'", "did you mean 'buffer'", ":3:"],
        ),
        ("+[grid]\nswitch.buffer = [1000]\n", &["has no unit", "KB", ":3:18"]),
        ("+[grid]\ntopology.delay = [\"1us\", 2, \"3us\"]\n", &["'2' has no unit", ":3:26"]),
        ("+[grid]\nrun.seed = [1]\n", &["every combination has the same seeds", "seeds = 10"]),
        (
            "+[grid]\nswitch.buffer = [\"1MB\"]\n[set]\nswitch.buffer = \"1MB\"\n",
            &["is also in [set]"],
        ),
        (
            "+[[point]]\nswitch.buffer = \"1MB\"\n[grid]\nswitch.buffer = [\"1MB\"]\n",
            &["in [grid] and in [[point]]"],
        ),
        ("+[[point]]\nx = 1\n[[point]]\nx = 1\n", &["this point is listed twice"]),
        ("+point = 3\n", &["[[point]] in double brackets"]),
        ("+[set]\nrun.duration = 2026-01-01\n", &["run.duration: found a date"]),
        (
            "+show = [\"deadlok\"]\n",
            &["there is no column 'deadlok' of numbers or flags", "did you mean 'deadlock'"],
        ),
        ("+tables = [\"flow\"]\n", &["there is no table 'flow'", "did you mean 'flows'"]),
        ("+[grid]\nflow[0].size = [1]\n", &["TOML"]),
    ];
    for (text, expected) in cases {
        let text =
            text.strip_prefix('+').map_or((*text).to_owned(), |rest| format!("{head}{rest}"));
        std::fs::write(&file, &text).unwrap();
        let refused = xoff(&["sweep", &name, "--out", &path(&dir, "out")]);
        assert_eq!((refused.code, refused.out.as_str()), (2, ""), "{text}\n{}", refused.err);
        refused.complains(expected);
        assert!(!dir.join("out").exists(), "{text}");
    }
    std::fs::write(&file, &head).unwrap();
    for (args, expected) in [
        (&["--index", "1"][..], "there is no run 1"),
        (&["--index", "x"], "'x' is not the number of a run"),
        (&["--index", "3-1"], "the first is above the last"),
        (&["--index", "0", "--collect"], "cannot be used with"),
    ] {
        let out = path(&dir, "out");
        let all = [&["sweep", &name, "--out", &out], args].concat();
        assert_eq!(xoff(&all).complains(&[expected]).code, 2);
    }
    // Without --out the folder has the name of the sweep.
    let ran = command(["sweep", &name]).current_dir(&dir).output().unwrap();
    let folder =
        dir.join("out").join(format!("{}-sweep", file.file_stem().unwrap().to_str().unwrap()));
    assert!(
        ran.status.success() && folder.join("runs.parquet").exists(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let list = xoff(&["sweep", &name, "--list"]);
    assert!(
        list.code == 0 && list.out.starts_with("1 run: 1 combination x 1 seed\nRuns: 0\n"),
        "{}",
        list.out
    );
}

/// Before: ten seeds of a run without randomness were ten samples, with an interval of width 0 and
/// 72 to 100 % deadlocks.
#[test]
fn seeds_that_give_one_result_count_once() {
    let dir = folder("sweep-once");
    let plan = path(&dir, "once.toml");
    let text = format!(
        "scenario = \"{}\"\nseeds = 4\n[set]\nrun.duration = \"1ms\"\n[grid]\nflow_control = [\"pfc\", \"gfc-buffer\"]\n",
        ring()
    );
    std::fs::write(&plan, text).unwrap();
    let out = path(&dir, "out");
    let ran = xoff(&["sweep", &plan, "--out", &out]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("they count once, without an interval"), "{}", ran.out);
    let table = std::fs::read_to_string(Path::new(&out).join("table.csv")).unwrap();
    let row = |start: &str| table.lines().find(|l| l.starts_with(start)).unwrap().to_owned();
    assert_eq!(row("pfc,deadlock,"), "pfc,deadlock,1,share,0,,,0,,");
    assert!(row("gfc-buffer,throughput_bps,").starts_with("gfc-buffer,throughput_bps,1,mean,"));
    assert!(!table.lines().any(|l| l.split(',').nth(2) == Some("4")), "{table}");
}
