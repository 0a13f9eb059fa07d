//! `xoff compare` as a user runs it: what it shows, and folders that cannot be compared.

mod support;

use std::path::Path;

use support::{files, folder, path, xoff};

fn scenario(name: &str) -> String {
    format!("{}/../../scenarios/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A run of the ring into a folder of its own; it may deadlock.
fn ring(dir: &Path, name: &str, set: &[&str]) -> String {
    let out = path(dir, name);
    let file = scenario("tutorial/ring.toml");
    let mut args = vec!["run", &file, "--out", &out];
    set.iter().for_each(|s| args.extend(["--set", s]));
    let ran = xoff(&args);
    assert!(matches!(ran.code, 0 | 1), "{}", ran.err);
    out
}

#[test]
fn two_runs_are_shown_side_by_side() {
    let dir = folder("compare-two");
    let (pfc, gfc) = (ring(&dir, "pfc", &[]), ring(&dir, "gfc", &["flow_control=gfc-buffer"]));
    let before = files(&dir.join("pfc"));
    let page = path(&dir, "page.html");
    let ran = xoff(&["compare", &pfc, &gfc, "--html", &page]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let flat = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "pfc -> gfc-buffer: deadlock in 1 of 1 (pfc), 0 of 1 (gfc-buffer); time paused 104.3 ms -> 0 s",
        "flow_control.kind",
        "Pauses by port",
        "S1->S2",
    ] {
        assert!(flat.contains(part), "{part}:\n{}", ran.out);
    }
    assert!(!ran.out.contains("Slowdown by size"), "no flow has a size");
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(
        html.starts_with("<!DOCTYPE html>")
            && html.contains("pfc against gfc-buffer")
            && html.contains("Pauses by port")
    );
    assert!(!html.contains("<script") && !html.contains("src=\"http"), "no script, no request");
    assert_eq!(files(&dir.join("pfc")), before, "a comparison only reads");
    // A page of xoff's is replaced, a user's file is not.
    assert_eq!(xoff(&["compare", &pfc, &gfc, "--html", &page]).code, 0);
    std::fs::write(&page, "mine").unwrap();
    let refused = xoff(&["compare", &pfc, &gfc, "--html", &page]);
    assert_eq!(refused.code, 2);
    assert_eq!(std::fs::read_to_string(&page).unwrap(), "mine");
    assert_eq!(xoff(&["compare", &pfc, &gfc, "--html", &page, "--force"]).code, 0);

    let same = xoff(&["compare", &pfc, &pfc, "--names", "a,b"]);
    assert!(same.out.contains("Note: a and b have the same result hash"), "{}", same.out);
    assert!(!same.out.contains("Pauses by port"), "none has changed:\n{}", same.out);
}

#[test]
fn unlike_runs_come_with_notes() {
    let dir = folder("compare-unlike");
    let file = path(&dir, "late.toml");
    let flow = |src: &str, size: &str| {
        format!("[[flow]]\nsrc = \"{src}\"\ndst = \"H1\"\nsize = \"{size}\"\n")
    };
    let text = "[run]\nduration = \"100us\"\n[topology]\nkind = \"star\"\nhosts = 3\n".to_owned();
    std::fs::write(&file, text + &flow("H0", "1500B") + &flow("H2", "1GB")).unwrap();
    let of = |seed: &str| {
        let out = path(&dir, seed);
        assert_eq!(xoff(&["run", &file, "--out", &out, "--seed", seed]).code, 0);
        out
    };
    let (one, two) = (of("1"), of("2"));
    let notes = xoff(&["--json", "compare", &one, &two]).json()["notes"].to_string();
    assert!(
        notes.contains("different seeds, 1 (A), 2 (B): part of every difference is chance"),
        "{notes}"
    );
    assert!(
        notes.contains("unfinished flows count with their age, so that slowdowns are lower bounds (≥); unfinished: 1 (A), 1 (B)"),
        "{notes}"
    );
    // One rule with the summary of the run, and the mark of a bound wherever a slowdown stands.
    let manifest: serde_json::Value =
        serde_json::from_slice(&std::fs::read(dir.join("1/manifest.json")).unwrap()).unwrap();
    let answer = xoff(&["--json", "compare", &one, &two]).json();
    let measures: Vec<_> = answer["measures"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|m| m["measure"] == "slowdown, median")
        .collect();
    assert_eq!(measures[0]["mean"], manifest["slowdown"]["median"]);
    assert!(
        measures.iter().all(|m| m["at_least"] == true)
            && measures[1]["difference"]["mean"].is_null()
    );
    let same = xoff(&["compare", &one, &one]);
    assert!(same.out.contains("≥ "), "{}", same.out);
    assert!(
        !same.out.contains("different seeds") && !same.out.contains("slows down most"),
        "nothing has changed:\n{}",
        same.out
    );
}

#[test]
fn seeds_give_intervals_and_the_same_flow_is_compared() {
    let dir = folder("compare-seeds");
    let web = scenario("bench/gate-websearch.toml");
    for (side, set) in [("dcqcn", "rate_control=dcqcn"), ("none", "rate_control=none")] {
        for seed in ["1", "2", "3"] {
            let out = path(&dir, &format!("{side}/{seed}"));
            assert_eq!(xoff(&["run", &web, "--out", &out, "--seed", seed, "--set", set]).code, 0);
        }
    }
    let of = |side: &str| path(&dir, side);
    let answer = xoff(&["--json", "compare", &of("dcqcn"), &of("none")]).json();
    assert_eq!(answer["sides"][0]["seeds"], serde_json::json!([1, 2, 3]));
    assert_eq!(answer["sides"][1]["name"], "none");
    assert!(
        answer["notes"].to_string().contains("dcqcn contains 3 runs, taken as one side"),
        "{}",
        answer["notes"]
    );
    let twice = format!("{},{}", of("dcqcn"), path(&dir, "dcqcn/1"));
    xoff(&["compare", &twice, &of("none")]).complains(&[
        "runs of one side need different seeds",
        "contains 3 runs, taken as the seeds of one side",
    ]);
    let of_measure = |name: &str| -> Vec<serde_json::Value> {
        answer["measures"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|m| m["measure"] == name)
            .cloned()
            .collect()
    };
    let p99 = of_measure("slowdown, 99th percentile");
    assert_eq!((p99.len(), &p99[0]["runs"]), (2, &serde_json::json!(3)));
    let number = |v: &serde_json::Value| v.as_f64().unwrap();
    assert!(
        number(&p99[0]["low"]) < number(&p99[0]["mean"])
            && number(&p99[0]["mean"]) < number(&p99[0]["high"])
    );
    assert!(p99[0]["difference"].is_null());
    let gap = number(&p99[1]["mean"]) - number(&p99[0]["mean"]);
    assert!(
        (number(&p99[1]["difference"]["mean"]) - gap).abs() < 1e-9,
        "paired differences have the mean of the differences"
    );
    let victim = &answer["victims"][0];
    let slowdowns = victim["slowdowns"].as_array().unwrap();
    assert_eq!(number(&victim["factor"]), number(&slowdowns[1]) / number(&slowdowns[0]));
    assert_eq!(
        answer["victims_total"].as_u64().unwrap() as usize,
        answer["victims"].as_array().unwrap().len()
    );
    // The same by a list of folders.
    let listed = ["1", "2", "3"].map(|seed| path(&dir, &format!("dcqcn/{seed}"))).join(",");
    assert_eq!(
        xoff(&["--json", "compare", &listed, &of("none")]).json()["measures"],
        answer["measures"]
    );
    let text = xoff(&["compare", &of("dcqcn"), &of("none"), "--bins", "10KB,1MB"]).out;
    // Headline and notes are wrapped; a path is no word that could be.
    let head: Vec<&str> =
        text.lines().take_while(|l| !l.is_empty()).filter(|l| !l.contains('/')).collect();
    assert!(head.len() > 1 && head.iter().all(|l| l.chars().count() <= 80), "{text}");
    assert!(
        text.lines().last().unwrap().starts_with("Next: xoff compare ")
            && text.ends_with(" --html compare.html\n"),
        "{text}"
    );
    assert!(
        text.contains("10 KB to") && text.contains("Student's t") && text.contains(" to "),
        "{text}"
    );
}

#[test]
fn what_cannot_be_compared_is_refused_with_a_hint() {
    let dir = folder("compare-wrong");
    let pfc = ring(&dir, "pfc", &["run.duration=1ms"]);
    let refused = |args: &[&str], parts: &[&str]| {
        let ran = xoff(&[&["compare"], args].concat());
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.out);
        ran.complains(parts);
    };
    refused(&[&pfc], &["2 values required", "for example: xoff compare out/pfc out/gfc"]);
    refused(&[&pfc, "nothing-here"], &["there is no folder 'nothing-here'", "--out of xoff run"]);
    refused(&[&pfc, &scenario("tutorial/ring.toml")], &["is a file, not the folder of a run"]);
    let twice = format!("{pfc},{pfc}");
    refused(&[&twice, &pfc], &["runs of one side need different seeds, not 1, 1", "--seed"]);
    refused(&[&pfc, &pfc, "--names", "a"], &["expected 2 different names"]);
    refused(&[&pfc, &pfc, "--bins", "1MB,10KB"], &["sizes in bytes that grow"]);
    refused(&[&pfc, &pfc, "--bins", "10 cows"], &["--bins"]);

    let fabric = path(&dir, "fabric");
    let args = [
        "run",
        &scenario("fabric/hotspots.toml"),
        "--out",
        &fabric,
        "--set",
        "run.duration=20us",
        "--set",
        "run.warm_up=10us",
    ];
    assert_eq!(xoff(&args).code, 0);
    refused(
        &[&pfc, &fabric],
        &["a run of a scheduled fabric has no flows and ports", "windows and fabric_ports"],
    );

    let sweep = path(&dir, "sweep");
    let plan = path(&dir, "plan.toml");
    let text = format!(
        "scenario = \"{}\"\nseeds = 1\n[set]\nrun.duration = \"1ms\"\n[grid]\nflow_control = [\"pfc\"]\n",
        scenario("tutorial/ring.toml")
    );
    std::fs::write(&plan, text).unwrap();
    assert_eq!(xoff(&["sweep", &plan, "--out", &sweep]).code, 0);
    refused(&[&pfc, &sweep], &["it belongs to xoff sweep", "index.html"]);

    std::fs::write(Path::new(&pfc).join("resolved.toml"), "changed").unwrap();
    refused(&[&pfc, &fabric], &["resolved.toml"]);
}

/// A run that was stopped has numbers up to then; the comparison says so.
#[test]
fn an_interrupted_run_is_compared_with_a_note() {
    let dir = folder("compare-interrupted");
    let (a, b) = (ring(&dir, "a", &["run.duration=1ms"]), ring(&dir, "b", &["run.duration=2ms"]));
    let manifest = Path::new(&b).join("manifest.json");
    // As `run` writes it after Ctrl-C; the record of the folder is taken away, since it knows what
    // was written.
    let text = std::fs::read_to_string(&manifest)
        .unwrap()
        .replace("\"interrupted\": false", "\"interrupted\": true");
    std::fs::remove_file(Path::new(&b).join(".xoff")).unwrap();
    std::fs::write(&manifest, text).unwrap();
    let ran = xoff(&["compare", &a, &b]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("was interrupted at 2.0000 ms"), "{}", ran.out);
    assert!(ran.out.contains("duration 1ms -> duration 2ms"), "{}", ran.out);
}

/// Three times one result is one result: no interval, no certainty.
#[test]
fn seeds_that_change_nothing_count_once() {
    let dir = folder("compare-same-seeds");
    let side = |control: &str| {
        let folders: Vec<String> = ["1", "2", "3"]
            .map(|seed| {
                let out = path(&dir, &format!("{control}-{seed}"));
                let set = format!("flow_control={control}");
                assert!(
                    xoff(&[
                        "run",
                        &scenario("tutorial/ring.toml"),
                        "--out",
                        &out,
                        "--seed",
                        seed,
                        "--set",
                        &set
                    ])
                    .code
                        < 2
                );
                out
            })
            .into();
        folders.join(",")
    };
    let (pfc, gfc) = (side("pfc"), side("gfc-buffer"));
    let answer = xoff(&["--json", "compare", &pfc, &gfc]).json();
    assert!(
        answer["notes"].to_string().contains("its 3 seeds give the same result"),
        "{}",
        answer["notes"]
    );
    assert!(!answer["headline"].to_string().contains("beyond chance"), "{}", answer["headline"]);
    for m in answer["measures"].as_array().unwrap() {
        assert!(
            m["low"].is_null()
                && m["runs"] == 1
                && m["difference"].get("low").is_none_or(|low| low.is_null()),
            "{m}"
        );
    }
    // A folder that is no scenario with several seeds is named; a share of runs stays one, and is
    // uncertain.
    let mixed = format!("{},{}", path(&dir, "pfc-1"), path(&dir, "gfc-buffer-2"));
    let answer = xoff(&["--json", "compare", &mixed, &gfc]).json();
    assert!(
        answer["notes"].to_string().contains("they differ in flow_control.kind"),
        "{}",
        answer["notes"]
    );
    let deadlocks = answer["measures"]
        .as_array()
        .unwrap()
        .iter()
        .find(|m| m["measure"] == "deadlocks")
        .unwrap();
    let number = |key: &str| deadlocks[key].as_f64().unwrap();
    // Wilson's interval of one in two.
    assert_eq!(
        (number("mean"), number("low") > 0.09, number("high") < 0.91),
        (0.5, true, true),
        "{deadlocks}"
    );
}

/// Credits stop ports too, and what differs is in the headline whatever it is.
#[test]
fn the_headline_names_what_differs() {
    let dir = folder("compare-headline");
    let file = path(&dir, "s.toml");
    let text = "[run]\nduration = \"200us\"\n[topology]\nkind = \"star\"\nhosts = 4\nrate = \"100Gbps\"\n[flow_control]\nkind = \"cbfc\"\n";
    let flow = |i: u32| format!("[[flow]]\nsrc = \"H{i}\"\ndst = \"H0\"\n");
    std::fs::write(&file, format!("{text}{}{}{}", flow(1), flow(2), flow(3))).unwrap();
    let run = |name: &str, set: &[&str]| {
        let out = path(&dir, name);
        let all: Vec<&str> =
            ["run", &file, "--out", &out].into_iter().chain(set.iter().copied()).collect();
        assert_eq!(xoff(&all).code, 0);
        out
    };
    let (a, b) = (run("a", &[]), run("b", &["--set", "switch.buffer=40KB"]));
    let headline = xoff(&["--json", "compare", &a, &b]).json()["headline"].to_string();
    assert!(headline.contains("time blocked"), "{headline}");
    let same =
        xoff(&["--json", "compare", &a, &a, "--names", "x,y"]).json()["headline"].to_string();
    assert!(same.contains("no measure differs"), "{same}");
}
