//! `xoff plan` of a whole fabric, and in SONiC's form.

mod support;

use support::{Ran, command, folder, xoff};

fn sample(name: &str) -> String {
    format!("{}/../scenario/tests/import/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Number of a row in the answer of `xoff plan`. The plan of a fabric has the same numbers for many
/// links.
fn of_link(rate: &str, length: &str, symbol: &str) -> u64 {
    let args = [
        "plan",
        "--rate",
        rate,
        "--length",
        length,
        "--mtu",
        "9100",
        "--priorities",
        "2",
        "--json",
    ];
    let plan = xoff(&args).json();
    let row = plan["rows"].as_array().unwrap().iter().find(|r| r["symbol"] == symbol).unwrap();
    row["value_exact"].as_u64().unwrap()
}

#[test]
fn a_fabric_is_planned_port_by_port() {
    let fabric = format!("sonic:{}", sample("sonic/fabric"));
    let ran = xoff(&["plan", "--network", &fabric, "--json"]);
    assert!(ran.code < 2, "{}", ran.err);
    let answer = ran.json();
    let ports = answer["ports"].as_array().unwrap();
    assert_eq!(ports.len(), 8, "{answer:#}");
    for port in ports {
        let rate = format!("{}bps", port["rate_bps"]);
        let least = of_link(&rate, port["cable"].as_str().unwrap(), "H worst");
        assert_eq!(
            (port["headroom_bytes"].as_u64(), port["mtu_bytes"].as_u64()),
            (Some(of_link(&rate, port["cable"].as_str().unwrap(), "H")), Some(9_100))
        );
        assert_eq!(
            port["verdict"] == "loses-frames",
            port["headroom_today_bytes"].as_u64().unwrap() < least,
            "{port:#}"
        );
    }
    let text = xoff(&["plan", "--network", &fabric]).out;
    let starts: Vec<&str> =
        text.lines().filter_map(|l| l.split_whitespace().next()).take(40).collect();
    let at = |word: &str| {
        starts.iter().position(|s| *s == word).unwrap_or_else(|| panic!("{word}: {text}"))
    };
    assert!(
        text.starts_with("8 lossless ports: ")
            && at("Switch") < at("Set")
            && at("Set") < at("Check"),
        "{text}"
    );
    xoff(&["plan", "--network", "moon"]).complains(&["'moon' is not a network", "sonic"]);
    xoff(&["plan", "--network", &format!("networkx:{}", sample("graph/integer-ids.json"))])
        .complains(&["has no"]);
}

/// A network stands where a mechanism does.
#[test]
fn a_network_needs_no_option() {
    let fabric = format!("sonic:{}", sample("sonic/fabric"));
    let ran = xoff(&["plan", &fabric]);
    assert_eq!(
        (ran.code, &ran.out),
        (0, &xoff(&["plan", "--network", &fabric]).out),
        "{}",
        ran.err
    );
    xoff(&["plan", &fabric, "--rate", "100Gbps"]).complains(&["conflicts with '--rate'"]);
    xoff(&["plan", &fabric, "--network", &fabric]).complains(&["cannot be used with '--network"]);
    xoff(&["plan", "moon:x"]).complains(&["there is no format 'moon'", "ibnetdiscover"]);
    xoff(&["plan", "moon"]).complains(&["'moon'", "pfc"]);
}

/// A folder needs its format; without one the error names it. A folder named like a mechanism is
/// still the mechanism.
#[test]
fn a_folder_is_no_network_without_its_format() {
    let dir = folder("plan-folder");
    for name in ["configs", "pfc", "dcqcn"] {
        std::fs::create_dir(dir.join(name)).unwrap();
        std::fs::copy(
            sample("sonic/fabric/leaf1.config_db.json"),
            dir.join(name).join("leaf1.config_db.json"),
        )
        .unwrap();
    }
    let plan = |name: &str| {
        let o = command(["plan", name]).current_dir(&dir).output().unwrap();
        let text = |b: Vec<u8>| String::from_utf8(b).unwrap();
        Ran { code: o.status.code().unwrap(), out: text(o.stdout), err: text(o.stderr) }
    };
    let configs = plan("configs");
    configs.complains(&[
        "'configs' is a folder with files of sonic, not a mechanism",
        "use xoff plan sonic:configs",
    ]);
    assert_eq!(
        (configs.code, configs.err.matches('×').count() + configs.err.matches(" x ").count()),
        (2, 1),
        "{}",
        configs.err
    );
    let pfc = plan("pfc");
    assert!(
        pfc.code == 0 && pfc.out.starts_with("pfc: one lossless priority"),
        "{}{}",
        pfc.out,
        pfc.err
    );
    plan("dcqcn").complains(&["dcqcn"]);
    assert!(!plan("dcqcn").err.contains("sonic"), "a mechanism without a plan has its own reason");
}

/// Without any buffer profile there is no headroom that could be too small, and the headline says
/// so.
#[test]
fn a_configuration_without_profiles_has_nothing_to_judge() {
    let dir = folder("plan-no-profile");
    for file in ["leaf1.config_db.json", "leaf2.config_db.json", "spine1.config_db.json"] {
        let mut config: serde_json::Value = serde_json::from_str(
            &std::fs::read_to_string(sample(&format!("sonic/fabric/{file}"))).unwrap(),
        )
        .unwrap();
        ["BUFFER_PG", "BUFFER_PROFILE", "BUFFER_POOL"]
            .iter()
            .for_each(|table| _ = config.as_object_mut().unwrap().remove(*table));
        std::fs::write(dir.join(file), config.to_string()).unwrap();
    }
    let ran = xoff(&["plan", &format!("sonic:{}", dir.display()), "--json"]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let headline = "8 lossless ports: the configuration has no buffer profile for them, so there is no lossless headroom to judge.";
    assert_eq!(ran.json()["headline"], headline);
    assert!(
        ran.json()["ports"].as_array().unwrap().iter().all(|p| p["verdict"] == "not-set"),
        "{}",
        ran.out
    );
}

/// Pools with static thresholds keep them, and where `size` is the reserve alone it stays: as on
/// Broadcom. What is written is read again.
#[test]
fn static_thresholds_and_reserves_stay() {
    let dir = folder("plan-static");
    for file in ["leaf1.config_db.json", "leaf2.config_db.json", "spine1.config_db.json"] {
        let mut config: serde_json::Value = serde_json::from_str(
            &std::fs::read_to_string(sample(&format!("sonic/fabric/{file}"))).unwrap(),
        )
        .unwrap();
        config["BUFFER_POOL"]["ingress_lossless_pool"]["mode"] = "static".into();
        for (name, profile) in config["BUFFER_PROFILE"].as_object_mut().unwrap() {
            if name.starts_with("pg_lossless") {
                let p = profile.as_object_mut().unwrap();
                p.remove("dynamic_th");
                for (key, value) in [
                    ("static_th", "1000000"),
                    ("size", "1248"),
                    ("xon", "0"),
                    ("xon_offset", "2288"),
                    ("xoff", "20000"),
                ] {
                    p.insert(key.into(), value.into());
                }
            }
        }
        std::fs::write(dir.join(file), config.to_string()).unwrap();
    }
    let fabric = format!("sonic:{}", dir.display());
    let plan = xoff(&["plan", &fabric, "--format", "sonic", "--json"]);
    assert_eq!(plan.code, 1, "20000 B lose frames: {}", plan.err);
    let tables = plan.json()["sonic"].clone();
    let profile = &tables["leaf1"]["BUFFER_PROFILE"]["pg_lossless_400000_40m_profile"];
    let given = ["static_th", "size", "xon", "xon_offset"]
        .map(|k| profile[k].as_str().unwrap_or("none").to_owned());
    assert_eq!(given, ["1000000", "1248", "0", "2288"], "{profile:#}");
    assert!(
        profile.get("dynamic_th").is_none()
            && profile["xoff"].as_str().unwrap().parse::<u64>().unwrap() > 200_000,
        "{profile:#}"
    );
    let lookup = xoff(&["plan", &fabric, "--format", "sonic"]).out;
    let row: Vec<&str> = lookup.lines().last().unwrap().split_whitespace().collect();
    assert_eq!(
        (row.len(), row[2], row[3], row[5], row[6]),
        (7, "1248", "0", "1000000", "2288"),
        "{lookup}"
    );
    // A fabric of both kinds: a table for each switch, as one cannot hold both.
    let both = folder("plan-static-and-dynamic");
    for file in ["leaf1.config_db.json", "spine1.config_db.json"] {
        std::fs::copy(dir.join(file), both.join(file)).unwrap();
    }
    std::fs::copy(sample("sonic/fabric/leaf2.config_db.json"), both.join("leaf2.config_db.json"))
        .unwrap();
    let mixed = xoff(&["plan", &format!("sonic:{}", both.display()), "--format", "sonic"]);
    assert!(
        ["leaf1", "leaf2", "spine1"].iter().all(|s| mixed.out.contains(&format!("of {s} alone"))),
        "{}{}",
        mixed.out,
        mixed.err
    );
    // The switch makes these profiles of the table, bytes for a static pool; and the plan is
    // content.
    for file in ["leaf1.config_db.json", "leaf2.config_db.json", "spine1.config_db.json"] {
        let mut config: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(dir.join(file)).unwrap()).unwrap();
        config["BUFFER_PROFILE"]
            .as_object_mut()
            .unwrap()
            .retain(|name, _| !name.starts_with("pg_lossless"));
        config.as_object_mut().unwrap().remove("BUFFER_PG");
        std::fs::write(dir.join(file), config.to_string()).unwrap();
    }
    std::fs::write(dir.join("pg_profile_lookup.ini"), &lookup).unwrap();
    let again = xoff(&["plan", &fabric, "--json"]);
    assert_eq!(again.code, 0, "{}{}", again.out, again.err);
    assert!(
        again.json()["ports"].as_array().unwrap().iter().all(|p| p["verdict"] == "enough"),
        "{}",
        again.out
    );
}

/// A headroom that is too small is named with its port; the answer is "no".
#[test]
fn what_loses_frames_today_is_named() {
    let dir = folder("plan-loses");
    for file in ["leaf1.config_db.json", "leaf2.config_db.json", "spine1.config_db.json"] {
        let text = std::fs::read_to_string(sample(&format!("sonic/fabric/{file}"))).unwrap();
        let text =
            if file.starts_with("leaf1") { text.replace("\"265216\"", "\"50000\"") } else { text };
        std::fs::write(dir.join(file), text).unwrap();
    }
    let ran = xoff(&["plan", "--network", &format!("sonic:{}", dir.display()), "--json"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let answer = ran.json();
    let warning = answer["warnings"][0].as_str().unwrap();
    assert!(
        warning.starts_with("leaf1 Ethernet8: 50000 B of headroom lose frames in the worst case"),
        "{answer:#}"
    );
    // The port to change comes first, and the command that writes its profile.
    let text = xoff(&["plan", "--network", &format!("sonic:{}", dir.display())]).out;
    let (change, others) = text.split_once("Other ports:").unwrap();
    assert!(
        change.contains("Headroom to change:")
            && change.contains("Ethernet8")
            && !change.contains("Ethernet0"),
        "{text}"
    );
    assert!(
        others.contains("Ethernet0")
            && others.contains("\nNext: xoff plan sonic:")
            && !text.contains("Warning"),
        "{text}"
    );
}

/// Received frames are as long as the other end sends them: a port with a smaller MTU needs
/// headroom for them too.
#[test]
fn a_port_is_planned_for_the_frames_of_its_peer() {
    let dir = folder("plan-mtu");
    for file in ["leaf1.config_db.json", "leaf2.config_db.json", "spine1.config_db.json"] {
        let text = std::fs::read_to_string(sample(&format!("sonic/fabric/{file}"))).unwrap();
        let text =
            if file.starts_with("spine1") { text.replace("\"9100\"", "\"9216\"") } else { text };
        std::fs::write(dir.join(file), text).unwrap();
    }
    let ports = |fabric: &str| {
        xoff(&["plan", fabric, "--json"]).json()["ports"].as_array().unwrap().clone()
    };
    let (before, after) = (
        ports(&format!("sonic:{}", sample("sonic/fabric"))),
        ports(&format!("sonic:{}", dir.display())),
    );
    let to_spine = |p: &&serde_json::Value| p["switch"] == "leaf1" && p["peer"] == "spine1";
    let (before, after) =
        (before.iter().find(to_spine).unwrap(), after.iter().find(to_spine).unwrap());
    assert_eq!(
        (before["mtu_bytes"].as_u64(), after["mtu_bytes"].as_u64()),
        (Some(9100), Some(9216))
    );
    assert!(
        after["headroom_bytes"].as_u64() > before["headroom_bytes"].as_u64(),
        "{before} {after}"
    );
}

/// Headroom that no memory backs loses frames too: the headline has it, and the answer is "no"
/// whichever way it is given.
#[test]
fn a_pool_that_does_not_hold_the_headrooms_is_in_the_headline() {
    let dir = folder("plan-pool");
    for file in ["leaf1.config_db.json", "leaf2.config_db.json", "spine1.config_db.json"] {
        let text = std::fs::read_to_string(sample(&format!("sonic/fabric/{file}"))).unwrap();
        let text = if file.starts_with("spine1") {
            text.replace("\"52723712\"", "\"1000000\"")
        } else {
            text
        };
        std::fs::write(dir.join(file), text).unwrap();
    }
    let ran = xoff(&["plan", "--network", &format!("sonic:{}", dir.display()), "--json"]);
    let answer = ran.json();
    assert_eq!((ran.code, &answer["answer"]), (1, &"no".into()), "{answer:#}");
    let headline = answer["headline"].as_str().unwrap();
    assert!(
        headline
            .ends_with("The memory of 1 switch does not hold the headroom of all ports at once."),
        "{headline}"
    );
}

/// A plan in SONiC's form is read back without a change.
#[test]
fn sonics_form_loads() {
    let dir = folder("plan-sonic");
    let fabric = format!("sonic:{}", sample("sonic/fabric"));
    let lookup = xoff(&["plan", "--network", &fabric, "--format", "sonic"]);
    assert!(
        lookup.code < 2 && lookup.out.contains("xoff is HEADROOM"),
        "{}{}",
        lookup.out,
        lookup.err
    );
    std::fs::write(dir.join("pg_profile_lookup.ini"), &lookup.out).unwrap();
    let tables = xoff(&["plan", "--network", &fabric, "--format", "sonic", "--json"]).json();
    for switch in ["leaf1", "leaf2", "spine1"] {
        let text =
            std::fs::read_to_string(sample(&format!("sonic/fabric/{switch}.config_db.json")))
                .unwrap();
        let mut config: serde_json::Value = serde_json::from_str(&text).unwrap();
        for table in ["BUFFER_PROFILE", "BUFFER_PG"] {
            for (key, value) in tables["sonic"][switch][table].as_object().unwrap() {
                config[table][key] = value.clone();
            }
        }
        std::fs::write(dir.join(format!("{switch}.config_db.json")), config.to_string()).unwrap();
    }
    let again = xoff(&["plan", "--network", &format!("sonic:{}", dir.display()), "--json"]);
    assert_eq!(again.code, 0, "{}{}", again.out, again.err);
    for port in again.json()["ports"].as_array().unwrap() {
        assert_eq!(port["verdict"], "enough", "{port:#}");
        assert!(
            port["headroom_today_bytes"].as_u64() >= port["headroom_bytes"].as_u64(),
            "{port:#}"
        );
    }
    // Today's profile is enough, and so it is what is written: xon and size too.
    let of_today = &tables["sonic"]["leaf1"]["BUFFER_PROFILE"]["pg_lossless_400000_40m_profile"];
    assert_eq!(
        (&of_today["size"], &of_today["xon"], &of_today["xoff"]),
        (&"284672".into(), &"19456".into(), &"265216".into())
    );
    let row = xoff(&[
        "plan", "--rate", "400Gbps", "--length", "40m", "--mtu", "9100", "--format", "sonic",
    ]);
    let words: Vec<u64> = row
        .out
        .lines()
        .last()
        .unwrap()
        .split_whitespace()
        .filter_map(|w| w.trim_end_matches('m').parse().ok())
        .collect();
    let plan =
        xoff(&["plan", "--rate", "400Gbps", "--length", "40m", "--mtu", "9100", "--json"]).json();
    let h = plan["answer"]["set"].as_array().unwrap().iter().find(|r| r["symbol"] == "H").unwrap()
        ["value_exact"]
        .as_u64()
        .unwrap();
    assert_eq!(
        (words[0], words[1], words[4]),
        (400_000, 40, h.div_ceil(1024) * 1024),
        "{}",
        row.out
    );
    assert_eq!(words[2], words[3] + words[4]);
    xoff(&["plan", "cbfc", "--format", "sonic"]).complains(&["SONiC has profiles for PFC only"]);
}
