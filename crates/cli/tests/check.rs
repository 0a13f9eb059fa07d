//! `xoff check`: verdicts, exit codes, refusals.

mod support;

use support::{folder, path, xoff};

#[test]
fn exit_codes_give_the_verdict() {
    let free = xoff(&["check", "fat-tree:k=4"]);
    assert_eq!(free.code, 0, "{}", free.err);
    assert!(
        free.out.starts_with("No cycle: under these routes no deadlock can form."),
        "{}",
        free.out
    );
    let ring = xoff(&["check", "ring:switches=5"]);
    assert_eq!(ring.code, 1);
    assert!(ring.out.contains("A cycle of 5 buffers"), "{}", ring.out);
}

#[test]
fn the_cycle_names_links_flows_and_paths() {
    let answer = xoff(&["check", "ring:switches=5", "--json"]).json();
    assert_eq!((&answer["verdict"], &answer["hosts"]), (&"cyclic".into(), &5.into()));
    let (links, closed) = (
        answer["cycle"]["links"].as_array().unwrap(),
        answer["cycle"]["closed_by"].as_array().unwrap(),
    );
    assert_eq!((links.len(), closed.len()), (5, 5));
    assert_eq!((&closed[0]["from"], &closed[0]["to"]), (&links[0], &links[1]));
    assert!(closed[0]["path"].as_array().unwrap().len() >= 4);
    assert!(answer["failures"].is_null());
}

#[test]
fn failures_are_named_and_studied() {
    let one = xoff(&["check", "fat-tree:k=4", "--fail", "C1-A1", "--json"]).json();
    assert_eq!(one["failed_links"], serde_json::json!(["A1-C1"]));
    let all = xoff(&["check", "leaf-spine:leaves=3,spines=2,hosts=1", "--fail-any", "1", "--json"]);
    let study = all.json()["failures"].clone();
    assert_eq!((&study["links"], &study["sets_checked"]), (&6.into(), &6.into()));
    assert_eq!(all.code, (study["cyclic_total"] != 0) as i32);
    let ring = xoff(&["check", "ring:switches=4", "--fail-any", "1"]);
    ring.complains(&["xoff skips --fail-any"]);
}

/// Before: "No cycle: under these routes no deadlock can form." and `cycle-free` above a list of
/// failures after which one can.
#[test]
fn the_answer_is_to_the_question_that_was_asked() {
    let args = ["check", "leaf-spine", "--fail-any", "2"];
    let (ran, json) = (xoff(&args), xoff(&[&args[..], &["--json"]].concat()).json());
    let failures = json["failures"]["cyclic_total"].as_u64().unwrap();
    assert!(failures > 1, "{json:#}");
    let headline = ran.out.lines().next().unwrap();
    assert_eq!(
        (ran.code, headline),
        (1, &*format!("Single failures: 0 of 8. Pairs: {failures} of 28 can deadlock."))
    );
    assert_eq!(json["headline"], headline);
    assert!(
        json["remedies"]
            .as_array()
            .unwrap()
            .iter()
            .any(|r| r["kind"] == "second-class" && r["classes"] == 2),
        "{json:#}"
    );
    assert!(ran.out.lines().nth(2).unwrap().contains("Remedy"), "{}", ran.out);
    assert_eq!(
        (&json["verdict"], &json["answer"], &json["verdict_without_failures"]),
        (&"cyclic-after-failures".into(), &"no".into(), &"cycle-free".into())
    );
    assert!(ran.out.contains("Without a further failure there is no cycle."), "{}", ran.out);

    // Before: " can deadlock."
    for name in ["star", "nvl:racks=1,leaves=0"] {
        let none = xoff(&["check", name, "--fail-any", "1"]);
        assert_eq!(none.code, 0, "{}", none.err);
        assert!(none.out.starts_with("No deadlock: there is no link"), "{}", none.out);
    }
    let safe = xoff(&["check", "fat-tree:k=4", "--fail-any", "1"]);
    assert!(
        safe.code == 0 && safe.out.starts_with("Single failures: 0 of 32 can deadlock."),
        "{}",
        safe.out
    );
    let sampled = xoff(&[
        "check",
        "fat-tree:k=4",
        "--fail-any",
        "2",
        "--routing",
        "up-down",
        "--sets-max",
        "10",
    ]);
    assert!(
        sampled.code == 1
            && sampled.out.contains("Pairs: 0 of 10 drawn of 496 can deadlock. Not all sets were"),
        "{}",
        sampled.out
    );
    assert_eq!(
        xoff(&["check", "fat-tree:k=4", "--fail-any", "0"]).complains(&["--fail-any"]).code,
        2
    );
}

/// Before: "Nothing checked" with the answer "yes" and exit code 0: a gate passed with a network in
/// two pieces.
#[test]
fn what_was_not_examined_is_no_good_news() {
    let fabric = "leaf-spine:leaves=2,spines=1,hosts=2";
    for (args, headline) in [
        (
            vec![fabric, "--fail", "L1-S1", "--fail", "H0", "--fail", "H2"],
            "Nothing checked: no pair of hosts and no flow has a route.",
        ),
        // Of twelve ordered pairs, four are still together.
        (
            vec![fabric, "--fail", "L1-S1"],
            "No cycle found. Not all checked: 8 of 12 pairs have no route.",
        ),
        (
            vec![fabric, "--fail", "H0", "--fail-any", "1"],
            "Single failures: 0 of 2 can deadlock. Not all checked: 6 of 12 pairs have no route.",
        ),
    ] {
        let args = [&["check"], &args[..]].concat();
        let (ran, json) = (xoff(&args), xoff(&[&args[..], &["--json"]].concat()).json());
        assert_eq!((ran.code, ran.out.lines().next().unwrap()), (1, headline));
        assert_eq!(
            (&json["answer"], &json["verdict"], &json["headline"]),
            (&"no".into(), &"not-checked".into(), &headline.into())
        );
    }
}

#[test]
fn files_of_every_kind_are_read() {
    let dir = folder("check-files");
    std::fs::write(
        dir.join("t.txt"),
        "4 2 3\n0 1\n0 2 100Gbps 1us 0\n1 3 100Gbps 1us 0\n0 1 100Gbps 1us 0\n",
    )
    .unwrap();
    std::fs::write(dir.join("t.toml"), "node = [{name = \"H0\", kind = \"host\"}, {name = \"H1\", kind = \"host\"}, {name = \"S\", kind = \"switch\"}]\nlink = [{a = \"H0\", b = \"S\"}, {a = \"H1\", b = \"S\"}]\n").unwrap();
    std::fs::write(dir.join("s.toml"), "[topology]\nkind = \"star\"\n").unwrap();
    for name in ["t.txt", "t.toml", "s.toml"] {
        let ran = xoff(&["check", &path(&dir, name)]);
        assert_eq!(ran.code, 0, "{name}: {}", ran.err);
    }
}

#[test]
fn given_flows_decide() {
    let dir = folder("check-flows");
    let flows = |text: &str| {
        std::fs::write(dir.join("flows.txt"), text).unwrap();
        xoff(&["check", "ring:switches=3", "--flows", &path(&dir, "flows.txt")])
    };
    assert_eq!(flows("H1 H2\n").code, 0);
    let around = flows(
        "# clockwise, two hops each\nH1 S1 S2 S3 H3\nH2 -> S2 -> S3 -> S1 -> H1\nH3 S3 S1 S2 H2 # last\n",
    );
    assert_eq!(around.code, 1, "{}", around.out);
    assert!(
        around.out.contains("3 flows") && around.out.contains("A cycle of 3 buffers"),
        "{}",
        around.out
    );
    let bad = flows("H1 H2\n  H1 H1\nH1 H9\nS1 H1\nH1 S1 S1 H2\n\nH1\n");
    assert_eq!(bad.code, 2);
    bad.complains(&[
        "flows.txt:2:3",
        "the source of the flow is its destination",
        "flows.txt:3:1",
        "no node 'H9'",
        "'S1' is a switch",
        "flows.txt:7:1",
    ]);
    assert_eq!(flows("# nothing\n").code, 2);
    assert_eq!(flows("1\n0 1 3 100 1000 2\n").code, 0);
}

#[test]
fn bad_input_is_refused_with_a_hint() {
    for (args, texts) in [
        (
            &["fat-tre:k=4"][..],
            &["'fat-tre' is neither a file nor a fabric", "did you mean 'fat-tree'?"][..],
        ),
        (&["fat-tree:k=5"], &["k: 5 is odd", "even k"]),
        (&["fat-tree:q=5"], &["unknown key 'q'", "keys: k, rate"]),
        (&["fat-tree:k"], &["'k' has no value", "k=4"]),
        (&["fat-tree:k=4,k=8"], &["'k' is given twice"]),
        (&["leaf-spine:uplink=1Gbps"], &["may mean several keys", "uplink_rate, uplink_delay"]),
        (&["fat-tree:rate=10"], &["'10' has no unit", "10Gbps"]),
        (&["absent.toml"], &["cannot read 'absent.toml'"]),
        (&["fat-tree", "--fail", "A1-C9"], &["there is no node 'C9'", "--fail A1-C9"]),
        (&["fat-tree", "--fail", "A1-C3"], &["are not linked", "linked to E1, E2, C1, C2"]),
        (&["fat-tree", "--routing", "magic"], &["magic", "all-paths"]),
        (
            &["ring", "--routing", "d-mod-k"],
            &["routing: the link S1-S2 joins levels 1 and 1", "fat-tree or leaf-spine"],
        ),
        (&["fat-tree", "--flows", "absent.txt"], &["cannot read 'absent.txt'"]),
    ] {
        let ran = xoff(&[&["check"], args].concat());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}");
        ran.complains(texts);
    }
}

#[test]
fn a_scenario_brings_its_routing_failures_and_flows() {
    let dir = folder("check-scenario");
    let scenario = |more: &str| {
        let text = format!("[topology]\nkind = \"ring\"\nswitches = 4\n\n{more}");
        std::fs::write(dir.join("s.toml"), text).unwrap();
        xoff(&["check", &path(&dir, "s.toml"), "--json"])
    };
    let flow = "[[flow]]\nsrc = \"H1\"\ndst = \"H2\"\nsize = \"1MB\"\n";
    let flows = scenario(flow);
    assert_eq!(
        (flows.code, &flows.json()["flows"], &flows.json()["routing"]),
        (0, &1.into(), &"ecmp".into()),
        "{}",
        flows.err
    );
    let failed = scenario(&format!(
        "[failures]\nlinks = [\"S1-S2\"]\n\n[routing]\nkind = \"lowest-id\"\n\n{flow}"
    ))
    .json();
    assert_eq!(
        (&failed["failed_links"][0], &failed["routing"]),
        (&"S1-S2".into(), &"lowest-id".into())
    );
    let all = xoff(&["check", &path(&dir, "s.toml"), "--all-pairs", "--json"]).json();
    assert!(all["flows"].is_null());
    let wrong = scenario("[routing]\nkind = \"magic\"\n");
    assert_eq!(wrong.code, 2);
    wrong.complains(&["s.toml:6:8"]);
}

/// A worker that waits at a full ring makes the buffers of two switches wait for each other, where
/// no flow turns: the run deadlocks, so the check must not say yes. A worker that skips can be
/// checked.
#[test]
fn a_worker_that_waits_is_not_checked() {
    let dir = folder("check-worker");
    let pairs = [(1, 4), (2, 4), (3, 5), (4, 1), (5, 1), (6, 2)];
    let flow = |(a, b)| format!("[[flow]]\nsrc = \"H{a}\"\ndst = \"H{b}\"\n");
    let text = format!(
        "[run]\nduration = \"2ms\"\n[topology]\nkind = \"chain\"\nswitches = 2\nhosts_per_switch = 3\nrate = \"10Gbps\"\n\
         delay = \"1us\"\n[switch]\nbuffer = \"300KB\"\ndiscipline = \"pipeline\"\n[flow_control]\nkind = \"pfc\"\n{}",
        pairs.map(flow).concat()
    );
    let file = path(&dir, "s.toml");
    let out = path(&dir, "out");
    for (text, deadlocks) in
        [(text.replace("\"pipeline\"", "\"pipeline\"\nfull_ring = \"skips\""), 0), (text, 1)]
    {
        std::fs::write(&file, text).unwrap();
        let ran = xoff(&["run", &file, "--out", &out, "--no-report"]);
        assert_eq!(ran.code, deadlocks, "{}", ran.err);
        let checked = xoff(&["check", &file]);
        assert_eq!(checked.code, if deadlocks > 0 { 2 } else { 0 }, "{}", checked.err);
        if deadlocks > 0 {
            checked.complains(&["a worker that waits", "skips"]);
        }
    }
}

/// A job is a workload: a file with nothing else is a scenario too, and its worker that waits is
/// seen.
#[test]
fn a_file_with_a_job_only_is_a_scenario() {
    let file = path(&folder("check-job"), "s.toml");
    let text = |switch| {
        format!(
            "[topology]\nkind = \"chain\"\nswitches = 2\nhosts_per_switch = 3\nrate = \"10Gbps\"\n\
             delay = \"1us\"\n[switch]\n{switch}\n[flow_control]\nkind = \"pfc\"\n\
             [[job]]\nhosts = [\"H1\", \"H2\", \"H4\", \"H5\"]\n[[collective]]\nkind = \"all-to-all\"\nsize = \"60KB\"\n"
        )
    };
    std::fs::write(&file, text("discipline = \"pipeline\"")).unwrap();
    let checked = xoff(&["check", &file]);
    assert_eq!(checked.code, 2, "{}", checked.out);
    checked.complains(&["a worker that waits", "skips"]);
    std::fs::write(&file, text("discipline = \"fifo\"")).unwrap();
    let checked = xoff(&["check", &file]);
    assert_eq!(checked.code, 0, "{}", checked.err);
    assert!(checked.out.contains("No cycle"), "{}", checked.out);
}

/// Ctrl-C during a long study: what was checked until then is the answer, as one JSON object.
#[test]
#[cfg(unix)]
fn an_interrupted_study_answers_with_what_it_looked_at() {
    let args = ["check", "fat-tree:k=12", "--fail-any", "2", "--routing", "up-down", "--json"];
    let child = support::command(args)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert!(
        std::process::Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130));
    let answer: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!(
        (&answer["failures"]["interrupted"], &answer["answer"]),
        (&true.into(), &"interrupted".into()),
        "{answer:#}"
    );
    assert!(
        answer["failures"]["sets_checked"].as_u64() < answer["failures"]["sets_total"].as_u64(),
        "{answer:#}"
    );
}

#[test]
fn a_node_fails_with_all_its_links() {
    let node = xoff(&[
        "check",
        "leaf-spine:leaves=3,spines=2,hosts=1",
        "--fail",
        "S1",
        "--fail",
        "L1-S2",
        "--json",
    ])
    .json();
    let links = xoff(&[
        "check",
        "leaf-spine:leaves=3,spines=2,hosts=1",
        "--fail",
        "L1-S1,L2-S1,L3-S1,L1-S2",
        "--json",
    ])
    .json();
    assert_eq!(
        (&node["failed_links"], node["failed_links"].as_array().unwrap().len()),
        (&links["failed_links"], 4)
    );
    xoff(&["check", "leaf-spine", "--fail", "S9"]).complains(&["S9", "--fail S9"]);
}

/// A table that drops or loops is an answer about the fabric, with the line of the file; a table
/// that lists too little is rejected.
#[test]
fn a_broken_fabric_is_a_finding_with_its_place() {
    let dir = folder("check-broken");
    let sample = |name: &str| {
        format!("{}/../scenario/tests/import/ib/ring5-minhop/{name}", env!("CARGO_MANIFEST_DIR"))
    };
    let (net, tables) = (
        sample("ibnetdiscover.topo"),
        std::fs::read_to_string(sample("opensm-lfts.dump")).unwrap(),
    );
    let check = |name: &str, text: &str| {
        std::fs::write(dir.join(name), text).unwrap();
        xoff(&["check", &format!("ibnetdiscover:{net},{}", path(&dir, name)), "--json"])
    };
    let entry = tables.lines().position(|l| l.starts_with("0x000b 0")).unwrap();
    let with = |new: Option<&str>| {
        let lines = tables.lines().enumerate().filter_map(|(i, l)| {
            if i == entry { new.map(|n| format!("{n}{}", &l[10..])) } else { Some(l.into()) }
        });
        lines.collect::<Vec<String>>().join("\n") + "\n"
    };
    let hole = check("hole.dump", &with(Some("0x000b 255")));
    assert_eq!(hole.code, 1, "{}", hole.err);
    let answer = hole.json();
    assert!(
        answer["headline"].as_str().unwrap().starts_with("Broken tables: 1 black hole. "),
        "{answer:#}"
    );
    let finding = answer["tables"]["findings"][0].as_str().unwrap();
    assert!(
        finding.contains(&format!("hole.dump:{}:", entry + 1)) && finding.contains("a black hole"),
        "{finding}"
    );
    // A switch gives it back to where it comes from.
    let entries: Vec<usize> = tables
        .lines()
        .enumerate()
        .filter(|(_, l)| l.starts_with("0x000b 0"))
        .map(|(i, _)| i)
        .collect();
    let with_port = |(entry, port): (usize, u8)| {
        let change = |(i, l): (usize, &str)| {
            if i == entry { format!("0x000b 00{port}{}", &l[10..]) } else { l.to_owned() }
        };
        tables.lines().enumerate().map(change).collect::<Vec<_>>().join("\n") + "\n"
    };
    let all = entries.iter().flat_map(|&e| [1, 2, 7, 8].map(|port| (e, port)));
    let mut answers = all
        .map(|at| check("loop.dump", &with_port(at)))
        .filter(|ran| ran.code == 1)
        .map(|ran| ran.json());
    let found = answers.find(|a| a["tables"]["loops_total"].as_u64() > Some(0));
    let answer = found.expect("a port that leads back");
    assert!(answer["headline"].as_str().unwrap().contains("forwarding loop"), "{answer:#}");
    assert!(
        answer["tables"]["findings"][0].as_str().unwrap().contains("a forwarding loop"),
        "{answer:#}"
    );
    let absent = check("absent.dump", &with(None));
    assert_eq!(absent.code, 2);
    absent.complains(&["absent.dump", "has no entry for"]);
}

/// Installed tables stay as they are: what a failure takes away is counted, by pairs, with the
/// switch that drops.
#[test]
fn failures_make_black_holes_of_installed_tables() {
    let data =
        |name: &str| format!("{}/../scenario/tests/import/{name}", env!("CARGO_MANIFEST_DIR"));
    // Each spine has one port to each leaf: whichever link fails, half of the paths to a leaf end
    // there.
    let fabric = format!("frr:{}", data("routing/clos"));
    let one = xoff(&["check", &fabric, "--fail-any", "1", "--json"]);
    assert_eq!(one.code, 1, "{}", one.err);
    let study = &one.json()["table_failures"];
    assert_eq!(
        (&study["by_size"][0]["holes"], &study["by_size"][0]["unrouted_max"]),
        (&4.into(), &1.into()),
        "{study:#}"
    );
    assert!(
        study["sets"]
            .as_array()
            .unwrap()
            .iter()
            .all(|s| s["first"]["switch"].as_str().unwrap().starts_with("spine")),
        "{study:#}"
    );
    // Both links of one spine are another matter: the leaves leave it out.
    // The same by hand.
    let by_hand = xoff(&[
        "check",
        &fabric,
        "--fail",
        study["sets"][0]["links"][0].as_str().unwrap(),
        "--json",
    ])
    .json();
    assert_eq!(
        (&by_hand["unrouted"], &by_hand["tables"]["holes"][0]),
        (&1.into(), &study["sets"][0]["first"]),
        "{by_hand:#}"
    );
    let text = xoff(&["check", &fabric, "--fail-any", "2"]).out;
    assert!(
        text.contains(
            "Single failures: 4 of 4. Pairs: 4 of 6 make black holes, up to 2 pairs each."
        ),
        "{text}"
    );
    // Ethernet has priorities; virtual lanes and service levels are InfiniBand's.
    let ethernet = xoff(&["check", &format!("frr:{}", data("routing/ring3"))]).out;
    assert!(
        ethernet.starts_with(
            "A cycle of 3 buffers: a deadlock can form if all traffic uses one lossless priority."
        ),
        "{ethernet}"
    );
    assert!(!ethernet.contains("irtual lane") && !ethernet.contains("Service level"), "{ethernet}");
    let ib = format!(
        "ibnetdiscover:{},{}",
        data("ib/ring5-minhop/ibnetdiscover.topo"),
        data("ib/ring5-minhop/opensm-lfts.dump")
    );
    let ring = xoff(&["check", &ib, "--fail-any", "1", "--json"]).json();
    let shown = xoff(&["check", &ib]).out;
    assert!(
        shown.contains("if all traffic uses one virtual lane.")
            && shown.contains(" Service levels ")
            && shown.contains("unknown: one virtual lane"),
        "{shown}"
    );
    assert_eq!(
        (&ring["table_failures"]["by_size"][0]["sets_checked"], &ring["verdict"]),
        (&5.into(), &"cyclic".into()),
        "{ring:#}"
    );
}

#[test]
fn the_remedy_stands_before_the_evidence() {
    let ring = xoff(&["check", "ring:switches=5"]);
    let (remedy, cycle) =
        (ring.out.find("Remedy").unwrap(), ring.out.find("A shortest cycle").unwrap());
    assert!(remedy < cycle, "{}", ring.out);
    let sample = |name: &str| {
        format!("{}/../scenario/tests/import/ib/ring5-minhop/{name}", env!("CARGO_MANIFEST_DIR"))
    };
    let tables =
        format!("ibnetdiscover:{},{}", sample("ibnetdiscover.topo"), sample("opensm-lfts.dump"));
    let json = xoff(&["check", &tables, "--json"]).json();
    assert!(
        json["remedies"]
            .as_array()
            .unwrap()
            .iter()
            .any(|r| r["kind"] == "second-class" && r["classes"] == 2),
        "{json:#}"
    );
}
