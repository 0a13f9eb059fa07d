//! Random networks that can be split: every flow control meets every detection and every rate
//! control, taken from the registries, so that a new one is tested without a change here.

use xoff_mech::{balancing, detection, flow_control, rate_control};
use xoff_net::topology::NodeKind;
use xoff_run::NetworkScenario;
use xoff_sim::PORT_PROBES;

use crate::draw::{Dice, Drawn};
use crate::memory;
use crate::operation::{links, operation};

fn topology(d: &mut Dice) -> String {
    let kind = match d.roll(5) {
        0 => format!(
            "kind = \"ring\"\nswitches = {}\nhosts_per_switch = {}",
            3 + d.roll(6),
            1 + d.roll(2)
        ),
        1 => format!(
            "kind = \"chain\"\nswitches = {}\nhosts_per_switch = {}",
            2 + d.roll(7),
            1 + d.roll(2)
        ),
        2 => format!(
            "kind = \"dumbbell\"\nsenders = {}\nreceivers = {}",
            2 + d.roll(5),
            1 + d.roll(4)
        ),
        3 => format!(
            "kind = \"leaf-spine\"\nleaves = {}\nspines = {}\nhosts_per_leaf = {}",
            2 + d.roll(4),
            1 + d.roll(4),
            1 + d.roll(3)
        ),
        _ => "kind = \"fat-tree\"\nk = 4".to_owned(),
    };
    let host_rate = d.pick(&["", "", "", "host_rate = \"40Gbps\"\n"]);
    let host_rate = if kind.contains("dumbbell") { "" } else { host_rate };
    format!(
        "{kind}\n{host_rate}rate = \"{}\"\ndelay = \"{}\"\n",
        d.pick(&["40Gbps", "100Gbps"]),
        d.pick(&["100ns", "600ns", "1us", "5us"])
    )
}

/// Parameters that make a mechanism act within some hundred microseconds; what is not named here
/// has its defaults.
fn parameters(kind: &str, shared: bool, d: &mut Dice) -> String {
    match kind {
        "pfc" if shared => "threshold = \"dynamic\"\n".into(),
        "pfc" => format!("xoff = \"{}KB\"\nquanta = {}\n", 30 + d.roll(100), 60 + d.roll(1000)),
        "cbfc" => "period = \"4us\"\n".into(),
        "gfc-time" => "period = \"4us\"\nb0 = \"60KB\"\n".into(),
        "uec-cbfc" => format!("limit = {}\ncc_period = \"20us\"\n", 70 + d.roll(600)),
        "gfc-conceptual" => format!("b0 = \"{}KB\"\n", 20 + d.roll(100)),
        "gfc-buffer" => "b1 = \"80KB\"\nhysteresis = \"2KB\"\n".into(),
        "pffc" => {
            format!("xoff_s = \"30KB\"\nxon_s = \"20KB\"\nslots = {}\n", d.pick(&["2", "4096"]))
        }
        "red" | "tcd" => "kmin = \"20KB\"\nkmax = \"80KB\"\npmax = 0.3\n".into(),
        "fecn" => "threshold = \"30KB\"\n".into(),
        "np-ecn" => "threshold = \"30KB\"\n".into(),
        "qcn" | "af-qcn" => {
            let placement = d.pick(&["output", "input", "both"]);
            format!("setpoint = \"20KB\"\nsample_base = \"20KB\"\nplacement = \"{placement}\"\n")
        }
        _ => String::new(),
    }
}

/// Draw of a case; pairs of mechanisms by its number, so that a hundred cases in a row meet all of
/// them.
fn draw(case: u64) -> Drawn {
    let mut d = Dice(case ^ 0x7412_ead5);
    let kind = |names: Vec<&'static str>, at: u64| names[(at % names.len() as u64) as usize];
    let fcs: Vec<&str> = flow_control::REGISTRY.iter().map(|e| e.name).collect();
    let by_fc = case / fcs.len() as u64;
    let (fc, det) =
        (kind(fcs, case), kind(detection::REGISTRY.iter().map(|e| e.name).collect(), by_fc));
    // Not by the case itself: the numbers of flow controls and of rate controls may have a common
    // factor.
    let by_det = by_fc / detection::REGISTRY.len() as u64;
    let rc = kind(rate_control::REGISTRY.iter().map(|e| e.name).collect(), by_fc + by_det);
    // A per-flow flow control has queues of its own.
    let per_flow = flow_control::REGISTRY.iter().any(|e| e.name == fc && e.per_flow);
    let discipline = if per_flow {
        "fifo"
    } else {
        kind(vec!["fifo", "round-robin", "drr", "input-fifo"], case / 2 + by_fc / 4)
    };
    let scheduler = kind(vec!["strict", "round-robin", "drr", "vl-arbitration"], by_fc);
    let shared = discipline != "input-fifo" && d.roll(4) == 0;
    let acks =
        if ["timely", "hpcc"].contains(&rc) { "per-frame" } else { d.pick(&["none", "per-frame"]) };
    let mtu = d.pick(&["1000B", "1500B", "4096B"]);
    let (look, stops) = (d.pick(&["0us", "20us"]), d.roll(2) == 0);
    let several = several_links(case, topology(&mut d));
    let head = format!(
        "[run]\nduration = \"150us\"\nseed = {case}\ndeadlock_interval = \"{}\"\nstop_when_done = {}\n[topology]\n{}[routing]\nkind = \"{}\"\n\
         [host]\nframe_max = \"{mtu}\"\nheader = \"{}B\"\nacks = \"{acks}\"\n{}{}\
         [control_delay]\nprocessing = \"{}\"\nprocessing_jitter = \"{}ns\"\ngeneration_jitter = \"{}ns\"\n",
        look,
        stops,
        several.0,
        d.pick(&["ecmp", "lowest-id", "per-destination"]),
        if rc == "hpcc" { 42 } else { d.roll(2) * 48 },
        // CNPs that nothing pauses, with acknowledgements next to them and without.
        ["", "cnp_priority = 6\n", "", "cnp_priority = 6\nack_priority = 6\n"]
            [(by_fc % 4) as usize],
        several.1,
        d.pick(&["0us", "200ns", "1us"]),
        d.roll(3) * 300,
        d.roll(3) * 100,
    );
    // More ports of a host are more bytes that arrive after a pause of one flow.
    let buffer = if per_flow && !several.1.is_empty() { 400 } else { 200 };
    let mut switch = format!("buffer = \"{buffer}KB\"\nquantum = \"{}B\"\n", 1000 + d.roll(5000));
    if shared {
        switch += "memory = \"shared\"\nshared_buffer = \"3MB\"\n";
    }
    if scheduler == "vl-arbitration" {
        let weights = [1 + d.roll(255), 1 + d.roll(255), 1 + d.roll(255)];
        switch += &format!(
            "vl_high = [\"2:{}\"]\nvl_low = [\"0:{}\", \"1:{}\"]\nvl_high_limit = 9\n",
            weights[0], weights[1], weights[2]
        );
    }
    let mut rate_control = (rc, parameters(if rc == "qcn" { "" } else { rc }, shared, &mut d));
    if rc == "dcqcn" && acks == "none" {
        rate_control.1 += "cnp_interval = \"20us\"\n";
    }
    let mut workload = format!(
        "[[workload]]\nkind = \"permutation\"\nsize = \"{}KB\"\npriority = {}\njitter = \"{}us\"\n",
        50 + d.roll(1000),
        d.roll(3),
        d.roll(3) * 10
    );
    match d.roll(3) {
        0 => {
            workload += &format!(
                "[[workload]]\nkind = \"poisson\"\ncdf = \"websearch\"\nload = 0.{}\nduration = \"100us\"\nsize_max = \"500KB\"\npriority = {}\n",
                3 + d.roll(6),
                d.roll(3)
            )
        }
        1 => {
            workload += &format!(
                "[[workload]]\nkind = \"incast\"\nreceiver = \"RECEIVER\"\nsize = \"{}KB\"\npriority = {}\n",
                20 + d.roll(200),
                d.roll(3)
            )
        }
        _ => {}
    }
    let mut drawn = Drawn {
        head,
        switch,
        discipline,
        scheduler,
        cut_through: [None, None, Some(1), Some(64), Some(500)][case as usize % 5],
        flow_control: (fc, parameters(fc, shared, &mut d)),
        detection: (det, parameters(det, shared, &mut d)),
        rate_control,
        workload,
        // Rows of every frame at a switch exclude the short way of a plain switch: not always.
        probes: PORT_PROBES
            .iter()
            .map(|p| p.key)
            .filter(|&p| !["queue_changes", "states"].contains(&p) || case.is_multiple_of(3))
            .collect(),
        operation: String::new(),
        failures: Vec::new(),
    };
    memory::draw(case, &mut drawn);
    repeated_or_shared(case, &mut drawn);
    balanced(case, &mut drawn);
    rarer(case, &mut drawn);
    drawn
}

/// A topology whose hosts have several links, in every sixth network; by dice of its own.
fn several_links(case: u64, topology: String) -> (String, String) {
    let mut d = Dice(case ^ 0x9071_5a11);
    if d.roll(6) > 0 {
        return (topology, String::new());
    }
    let size = |d: &mut Dice, least: u64| least + d.roll(3);
    let kind = match d.roll(5) {
        0 => format!(
            "kind = \"multi-plane\"\nplanes = {}\nleaves = {}\nspines = {}\nhosts_per_leaf = {}",
            size(&mut d, 1),
            size(&mut d, 2),
            size(&mut d, 1),
            size(&mut d, 1)
        ),
        1 => format!(
            "kind = \"dual-tor\"\nracks = {}\nspines = {}\nhosts_per_rack = {}",
            size(&mut d, 2),
            size(&mut d, 1),
            size(&mut d, 1)
        ),
        2 => format!(
            "kind = \"rail\"\nservers = {}\ngpus = {}\nspines = {}\nnvswitches = {}",
            size(&mut d, 2),
            size(&mut d, 2),
            size(&mut d, 1),
            d.roll(3)
        ),
        3 => "kind = \"hpn\"\nsegments = 2\nservers_per_segment = 2\ngpus = 2\naggs_per_plane = 2"
            .to_owned(),
        _ => format!(
            "kind = \"nvl\"\nracks = 2\ngpus = {}\nnvswitches = {}\nleaves = 2\nspines = {}",
            size(&mut d, 2),
            size(&mut d, 1),
            size(&mut d, 1)
        ),
    };
    let port = d.pick(&["hash", "least-loaded", "round-robin", "destination", "spray"]);
    let scale_up = match kind.contains("nvswitches") || kind.contains("hpn") {
        true => "scale_up_rate = \"100Gbps\"\nscale_up_delay = \"600ns\"\n",
        false => "",
    };
    let links = format!("rate = \"100Gbps\"\ndelay = \"1us\"\n{scale_up}");
    (format!("{kind}\n{links}"), format!("port = \"{port}\"\n"))
}

/// Load balancing of switches, every law in turn, in half of the networks with several paths; by
/// dice of its own.
fn balanced(case: u64, drawn: &mut Drawn) {
    let mut d = Dice(case ^ 0xba1a_9ce5);
    if !drawn.head.contains("kind = \"ecmp\"") || d.roll(2) == 0 {
        return;
    }
    // Laws with headers want leaves and spines, and are drawn more often there.
    let two_tiers = drawn.head.contains("kind = \"leaf-spine\"");
    let with_headers = ["conga", "conweave"];
    let laws = balancing::REGISTRY.iter().filter(|e| two_tiers || !with_headers.contains(&e.name));
    let laws: Vec<&str> = laws.map(|e| e.name).collect();
    let law = if two_tiers && d.roll(2) == 0 { d.pick(&with_headers) } else { d.pick(&laws) };
    let parameters = match law {
        "flowlet" => format!("gap = \"{}us\"\n", d.roll(8)),
        "conga" => format!(
            "gap = \"{}us\"\ntau = \"16us\"\ninterval = \"{}us\"\naging = \"{}us\"\n",
            d.roll(8),
            1 + d.roll(16),
            1 + d.roll(50)
        ),
        "conweave" => format!(
            "reply = \"{}us\"\ninactive = \"{}us\"\nextra = \"{}us\"\nwait = \"{}us\"\nqueues = {}\n",
            3 + d.roll(6),
            5 + d.roll(50),
            d.roll(20),
            d.roll(20),
            d.roll(4)
        ),
        "drill" => format!("choices = {}\nmemory = {}\n", 1 + d.roll(3), d.roll(3)),
        "adaptive" => format!(
            "hysteresis = \"{}B\"\ngap = \"{}us\"\npaused = \"{}\"\n",
            d.roll(3) * 3000,
            d.roll(2) * 5,
            d.pick(&["avoid", "take"])
        ),
        _ => String::new(),
    };
    drawn.head += &format!("[load_balancing]\nkind = \"{law}\"\n{parameters}");
    if !["ecmp", "wcmp"].contains(&law) {
        let order = d.pick(&["", "order = \"buffer\"\n", "order = \"count\"\n"]);
        drawn.head = drawn.head.replacen("[host]\n", &format!("[host]\n{order}"), 1);
    }
}

/// Other disciplines, a clock of CNPs, an adaptive max(T_on) and the hash of ns3-rdma, each in a
/// part of the networks that could have it; by dice of their own.
pub(crate) fn rarer(case: u64, drawn: &mut Drawn) {
    let mut d = Dice(case ^ 0x1a2e_511e);
    let (batch, burst, ring) = (1 + d.roll(9), 1 + d.roll(64), 1 + d.roll(128));
    let full = d.pick(&["blocks", "skips"]);
    let [discipline, clock, adaptive, hash] = [0; 4].map(|_| d.roll(2) == 0);
    match drawn.discipline {
        "round-robin" if discipline => {
            drawn.discipline = "random";
            drawn.switch += &format!("batch = {batch}\n");
        }
        "input-fifo" if discipline => {
            drawn.discipline = "pipeline";
            drawn.switch += &format!("burst = {burst}\nring = {ring}\nfull_ring = \"{full}\"\n");
        }
        _ => {}
    }
    if drawn.rate_control.0 == "dcqcn" && clock {
        drawn.rate_control.1 += "cnp = \"clock\"\n";
    }
    if drawn.detection.0 == "tcd" && adaptive {
        drawn.detection.1 += d.pick(&["adaptive = 1\n", "adaptive = 1.5\n", "adaptive = 10\n"]);
    }
    // Weights are no numbers of 32 bits.
    if hash && !drawn.head.contains("kind = \"wcmp\"") {
        let (plain, ns3) = ("[routing]\nkind = \"ecmp\"", "[routing]\nkind = \"ecmp-ns3-rdma\"");
        drawn.head = drawn.head.replace(plain, ns3);
    }
}

/// Messages that are sent again at intervals, and credits that the priorities of a port share; by
/// dice of their own, so that what else a case draws stays as it is. A host that drains slowly,
/// which every fourth case may have, has no memory that priorities share.
fn repeated_or_shared(case: u64, drawn: &mut Drawn) {
    let mut d = Dice(case ^ 0x5e4d_a9a1);
    let (kind, parameters) = &mut drawn.flow_control;
    match *kind {
        // Room for a flow of pffc that is paused later would be more than the buffer has.
        "pfc" | "gfc-buffer" if d.roll(3) == 0 => {
            *parameters += &format!("repeat = \"{}ns\"\n", 300 + d.roll(3000))
        }
        "uec-cbfc"
            if case % 4 != 1
                && !parameters.contains("lossy")
                && !drawn.switch.contains("memory = ")
                && d.roll(2) == 0 =>
        {
            let how = d.pick(&[
                "\"static\"\n",
                "\"static\"\nshared_limit = 200\n",
                "\"dynamic\"\n",
                "\"dynamic\"\nshared_th = -2\n",
            ]);
            let (limit, reserved) = (300 + d.roll(1200), 34 + d.roll(60));
            *parameters = format!(
                "limit = {limit}\nreserved = {reserved}\ncc_period = \"20us\"\nsharing = {how}"
            );
        }
        _ => {}
    }
}

/// The scenario of a case. In every third one a link between switches fails under way, in every
/// fourth a NIC is broken.
pub fn load(case: u64) -> (NetworkScenario, Drawn) {
    let mut drawn = draw(case);
    let incast = drawn.workload.contains("RECEIVER");
    let named = |drawn: &mut Drawn, s: &NetworkScenario| {
        let last = s.topology.hosts().last().expect("a host");
        drawn.workload = drawn.workload.replace("RECEIVER", s.topology.name(last));
    };
    if incast {
        // Hosts have the names of their network: it is built once without the incast.
        let mut plain = drawn.clone();
        plain.workload.truncate(plain.workload.rfind("[[workload]]").expect("the incast"));
        let s = plain.load().unwrap_or_else(|e| panic!("case {case}: {e}\n{}", plain.text()));
        named(&mut drawn, &s);
    }
    let mut s = drawn.load().unwrap_or_else(|e| panic!("case {case}: {e}\n{}", drawn.text()));
    if case % 4 == 1 {
        let last = s.topology.hosts().last().expect("a host");
        drawn.operation = operation(
            case,
            drawn.flow_control.0,
            s.topology.name(last),
            !drawn.switch.contains("memory = "),
        );
        s = drawn.load().unwrap_or_else(|e| panic!("case {case}: {e}\n{}", drawn.text()));
    }
    if case % 7 == 5 {
        drawn.operation += &links(case, drawn.cut_through.is_some());
        s = drawn.load().unwrap_or_else(|e| panic!("case {case}: {e}\n{}", drawn.text()));
    }
    if case.is_multiple_of(3) {
        let t = &s.topology;
        let between = |l: &&xoff_net::topology::Link| {
            [l.a, l.b].iter().all(|&n| t.nodes[n.index()].kind == NodeKind::Switch)
        };
        let l = t
            .links
            .iter()
            .filter(between)
            .nth(case as usize % 2)
            .or(t.links.iter().find(between))
            .expect("switches");
        drawn
            .failures
            .push((format!("{}-{}", t.name(l.a), t.name(l.b)), format!("{}us", 20 + case % 60)));
        s = drawn.load().unwrap_or_else(|e| panic!("case {case}: {e}\n{}", drawn.text()));
    }
    (s, drawn)
}
