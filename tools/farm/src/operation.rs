//! A network in operation, drawn at random in addition to the rest of a scenario.

use crate::draw::Dice;

/// A watchdog and a host that stops its switch, where this flow control holds ports; by dice of its
/// own, so that what else a case draws stays as it is. Some hosts drain slowly, if any may.
pub fn operation(case: u64, flow_control: &str, host: &str, drains: bool) -> String {
    let mut d = Dice(case ^ 0x0b5e_55ed);
    let holds = xoff_mech::flow_control::REGISTRY
        .iter()
        .any(|e| e.name == flow_control && e.name != "none" && !e.per_flow);
    if !holds {
        return String::new();
    }
    let kind = d.pick(&["duration", "status", "none"]);
    let times = format!(
        "detect = \"{}us\"\nrestore = \"{}us\"\npoll = \"{}ns\"\naction = \"{}\"\n",
        9 + d.roll(12), // no less than the longest poll
        5 + d.roll(30),
        2000 + d.roll(8) * 999,
        d.pick(&["drop", "forward", "drop", "alert"])
    );
    let times = if kind == "none" { String::new() } else { times };
    let empty = if kind == "duration" && d.roll(2) == 0 { "empty_queues = true\n" } else { "" };
    let slow = match d.roll(2) {
        0 if drains => format!(
            "[[slow_receiver]]\nhost = \"{host}\"\nrate = \"{}Gbps\"\n{}",
            5 + d.roll(35),
            d.pick(&["", "stalls = [\"30us+15us\"]\n", "message_rate = 200000\n"])
        ),
        _ => String::new(),
    };
    // A slow receiver alone lets states recur.
    if kind == "none" && !slow.is_empty() {
        return slow;
    }
    format!(
        "{slow}[watchdog]\nkind = \"{kind}\"\n{times}{empty}[[pause_storm]]\nhost = \"{host}\"\npriority = {}\nstart = \"{}us\"\nstop = \"{}us\"\n\
         interval = \"{}ns\"\n",
        d.roll(2),
        d.roll(60),
        70 + d.roll(60),
        500 + d.roll(7000),
    )
}

/// Links that corrupt frames, most of them with a retry; none where frames go on before they are
/// in.
pub fn links(case: u64, cut_through: bool) -> String {
    let mut d = Dice(case ^ 0x0bad_b175);
    if cut_through {
        return String::new();
    }
    let errors = match d.roll(4) {
        0 => format!("kind = \"bit\"\nber = {}e-8\n", 1 + d.roll(60)),
        1 => format!("kind = \"frame\"\nloss = 0.0{}\n", 1 + d.roll(9)),
        2 => "kind = \"burst\"\nto_bad = 0.002\nto_good = 0.1\nloss_bad = 0.9\nloss_good = 1e-4\n"
            .into(),
        _ => {
            format!("kind = \"nth\"\nnumbers = [\"{}\", \"{}\"]\n", 1 + d.roll(30), 1 + d.roll(300))
        }
    };
    let of = d.pick(&["flows", "flows", "all", "control"]);
    let mut text =
        format!("[[link_errors]]\nframes = \"{of}\"\nseen = {}\n{errors}", d.roll(3) > 0);
    if d.roll(3) > 0 {
        let (replays, again) = (d.pick(&["1", "3", "255"]), d.roll(2) == 0);
        let flush = d.pick(&["re-init", "best-effort"]);
        let more = d.pick(&["", "frames = 20\n", "buffer = \"30KB\"\n", "timer = \"2us\"\n"]);
        text += &format!(
            "[link_retry]\nkind = \"llr\"\nreplays = {replays}\nnack_again = {again}\non_flush = \"{flush}\"\n{more}"
        );
    }
    text
}
