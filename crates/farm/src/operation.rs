//! A network in operation, drawn at random beside what else a scenario has.

use crate::draw::Dice;

/// A watchdog and a host that stops its switch, where this flow control holds ports; by dice of its own, so that what else a case draws
/// stays as it is. Some hosts drain slowly, if any may.
pub fn operation(case: u64, flow_control: &str, host: &str, drains: bool) -> String {
    let mut d = Dice(case ^ 0x0b5e_55ed);
    let holds = xoff_mech::flow_control::REGISTRY.iter().any(|e| e.name == flow_control && e.name != "none" && !e.per_flow);
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
        "{slow}[watchdog]\nkind = \"{kind}\"\n{times}{empty}[[pause_storm]]\nhost = \"{host}\"\npriority = {}\nfrom = \"{}us\"\nuntil = \"{}us\"\n\
         interval = \"{}ns\"\n",
        d.roll(2),
        d.roll(60),
        70 + d.roll(60),
        500 + d.roll(7000),
    )
}
