//! Credits never lose a frame, whatever the buffer; the buffer that `plan` answers is the smallest
//! that keeps the link busy.

use xoff_units::{Bytes, Rate};

use crate::harness::{Dice, Draw, all, run};

fn loses_nothing(case: u64) -> Result<(), String> {
    let draw = Draw::new(case);
    let mut d = Dice::new(!case);
    let blocks = draw.longest().div_ceil(64);
    // From one frame to the buffer of the full rate and beyond, at any period.
    let frame = Rate(draw.rate).time_for(Bytes(draw.mtu)).0;
    let period = if d.roll(3) == 0 { None } else { Some(1 + d.roll(frame * 40)) };
    let buffer = blocks * 64 * (1 + d.roll(60)) + d.roll(64);
    let keys = period.map_or(String::new(), |p| format!("period = \"{p}ps\"\n"));
    let text = draw.text(&format!("buffer = \"{buffer}B\"\n"), &format!("kind = \"cbfc\"\n{keys}"));
    let ran = run(&text);
    if ran.lost > 0 || ran.ingress.ingress_bytes_max > buffer / 64 * 64 {
        return Err(format!(
            "{} frames lost, {} B of {buffer} used\n{text}",
            ran.lost, ran.ingress.ingress_bytes_max
        ));
    }
    Ok(())
}

#[test]
fn credits_lose_nothing() {
    all("cbfc", 0..300, loses_nothing);
}

#[test]
#[ignore = "2,000 draws take half a minute"]
fn credits_lose_nothing_in_two_thousand_draws() {
    all("cbfc", 0..2_000, loses_nothing);
}

/// H1 alone into a drain as fast as the link, with frames in the way of the credits in all phases:
/// how often the drawn link waits for credits, with the buffer of the plan less so many frames.
fn waits(case: u64, less: u64, phase: u64) -> (u64, String) {
    let mut d = Dice::new(case);
    let mut draw = Draw::new(case);
    (draw.drain, draw.sender_rate, draw.sender_delay) = (draw.rate, draw.rate, 0);
    (draw.acks, draw.cut_through) = (None, None);
    let frame = Rate(draw.rate).time_for(Bytes(draw.mtu)).0;
    (draw.control[1], draw.control[3]) = (0, 0);
    let period = frame * (2 + d.roll(30)) + d.roll(frame);
    draw.flows = vec![("H1", "H2", 0, 0, 0), ("H3", "H4", 0, 0, phase * frame / 8)];
    draw.duration = period * 12 + 4 * (draw.delay + draw.control[0] + draw.control[2]) + 30 * frame;
    let given = [("credit_period", format!("{period}ps"))];
    let full = draw.plan("cbfc", (draw.rate, draw.delay), &given).integer("B_full").unwrap();
    let frames = full / (draw.mtu.div_ceil(64) * 64);
    let buffer = (frames - less.min(frames - 1)) * draw.mtu.div_ceil(64) * 64;
    let text = draw.text(
        &format!("buffer = \"{buffer}B\"\n"),
        &format!("kind = \"cbfc\"\nperiod = \"{period}ps\"\n"),
    );
    (run(&text).egress.blocks, text)
}

/// Frames by which the buffer can be smaller than the plan's without a wait in any of 8 phases.
fn spare(case: u64) -> Result<u64, String> {
    for less in 0.. {
        let held = (0..8).map(|phase| waits(case, less, phase)).find(|(holds, _)| *holds > 0);
        match held {
            Some((holds, text)) if less == 0 => {
                return Err(format!(
                    "{holds} waits for credits with the buffer of the plan\n{text}"
                ));
            }
            Some(_) => return Ok(less),
            None if less > 20 => return Err("no buffer is too small".into()),
            None => {}
        }
    }
    unreachable!()
}

#[test]
fn the_buffer_of_the_plan_keeps_the_link_busy_and_is_the_smallest() {
    let counts = std::sync::Mutex::new([0u32; 8]);
    all("cbfc-rate", 0..60, |case| {
        let first = spare(case)?;
        counts.lock().unwrap()[first.min(7) as usize] += 1;
        Ok(())
    });
    let counts = counts.into_inner().unwrap();
    println!(
        "cbfc: the first buffer that is too small is so many frames below the plan's: {counts:?}"
    );
    assert!(counts[1] > 0 && counts[4..].iter().all(|n| *n == 0), "{counts:?}");
}
