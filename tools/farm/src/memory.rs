//! Random pools of memory and lossy priorities. Their dice are separate, so the other values of a
//! case do not change.

use crate::draw::{Dice, Drawn};
use crate::promises;

/// Lossy priorities in every fifth case, and memory in pools where the flow control goes with it.
pub fn draw(case: u64, drawn: &mut Drawn) {
    let mut d = Dice(case ^ 0x1055_cafe);
    if !case.is_multiple_of(5) {
        return;
    }
    // A storm, which only a priority that is held can have, is in one of the first two.
    let lossy = if case % 4 == 1 { "2" } else { d.pick(&["0", "1", "0-1", "2"]) };
    drawn.flow_control.1 += &format!("lossy = [\"{lossy}\"]\n");
    // A detection that has to know for how long a port transmits between two stops needs one number
    // for all groups.
    if drawn.flow_control.0 == "pfc" && drawn.detection.0 != "tcd" {
        drawn.flow_control.1 = drawn.flow_control.1.replace("threshold = \"dynamic\"\n", "");
        drawn.switch = drawn.switch.replace("memory = \"shared\"\nshared_buffer = \"3MB\"\n", "");
        // Small, so that queues overflow and groups pause.
        pools(&mut d, drawn, 600 + d_size(case), 9);
    }
}

fn d_size(case: u64) -> u64 {
    (case % 7) * 100
}

/// Lossy and lossless priorities with room for the promises: small networks under PFC.
pub fn beside(case: u64) -> Drawn {
    let mut d = Dice(case ^ 0x1055_beef);
    let mut drawn = promises::scenario(case);
    drawn.flow_control = ("pfc", format!("lossy = [\"{}\"]\n", d.pick(&["0", "1", "0-1", "2"])));
    drawn.head = drawn.head.replace("duration = \"2ms\"", "duration = \"1ms\"");
    pools(&mut d, &mut drawn, 20_000, 20);
    drawn
}

/// A policy and its keys.
fn policy(d: &mut Dice) -> String {
    let alpha = d.pick(&["0.0625", "0.25", "0.5", "1", "4", "128"]);
    match d.pick(&["dynamic", "dynamic", "static", "abm", "reverie"]) {
        "static" => format!("kind = \"static\"\nlimit = \"{}KB\"\n", 20 + d.roll(200)),
        kind => format!("kind = \"{kind}\"\nalpha = {alpha}\n"),
    }
}

/// Pools of so many KB; members have reserves up to so many KB, a frame at least.
fn pools(d: &mut Dice, drawn: &mut Drawn, size: u64, reserve: u64) {
    let reserve = |d: &mut Dice| 9 + d.roll(reserve - 8);
    drawn.flow_control.1 += "threshold = \"profile\"\n";
    drawn.flow_control.1 = drawn
        .flow_control
        .1
        .lines()
        .filter(|l| !l.starts_with("xoff"))
        .map(|l| format!("{l}\n"))
        .collect();
    drawn.switch += "memory = \"pools\"\n";
    let both = d.roll(3) == 0;
    // The largest possible reserves of the ports of the largest switch come on top.
    let size = size + 17 * 8 * 30 * 2;
    let mut text = format!("[[buffer_pool]]\nname = \"in\"\nsize = \"{size}KB\"\n");
    if !both {
        // Beyond what up to eight ports reserve in two priorities.
        text += &format!(
            "[[buffer_pool]]\nname = \"out\"\nsize = \"{}KB\"\n",
            8 * 2 * 20 + 20 + d.roll(300)
        );
    }
    let out = if both { "in" } else { "out" };
    text += &format!(
        "[[buffer_profile]]\npool = \"in\"\npriorities = [\"0-3\"]\nreserve = \"{}KB\"\n",
        reserve(d)
    );
    text += d.pick(&["", "", "xon_offset = \"2KB\"\n", "xon = \"9KB\"\n"]);
    text += &policy(d);
    // Of lossless priorities nothing is dropped at the egress while the pool is large; of the
    // others it is.
    let lossy = drawn
        .flow_control
        .1
        .lines()
        .find_map(|l| l.strip_prefix("lossy = "))
        .unwrap_or("[\"0\"]")
        .to_owned();
    text += &format!(
        "[[buffer_profile]]\npool = \"{out}\"\nside = \"egress\"\npriorities = {lossy}\nreserve = \"{}KB\"\n",
        reserve(d)
    );
    text += &policy(d);
    drawn.workload = text + &drawn.workload;
}
