//! PFC over a shared pool: headroom is derived for a dynamic threshold; a static one is safe
//! wherever nothing is warned of.

use std::sync::Mutex;

use crate::harness::{Dice, Draw, Ran, all, run};
use crate::pfc::Tight;

/// Reserves and headrooms of the two switches, the larger sum.
fn committed(draw: &Draw, reserve: u64) -> u64 {
    let headroom =
        |at: usize| draw.plan("pfc", draw.links()[at], &[]).integer("H worst").unwrap() + reserve;
    let (core, sender, drain) = (headroom(0), headroom(1), headroom(2));
    (core + 3 * sender).max(core + sender + drain)
}

fn shared(
    draw: &Draw,
    total: u64,
    reserve: u64,
    shift: u64,
    more: &str,
    fc: &str,
) -> (String, Ran) {
    let switch = format!(
        "memory = \"shared\"\nshared_buffer = \"{total}B\"\nreserve = \"{reserve}B\"\nalpha_shift = {shift}\n{more}"
    );
    let text = draw.text(&switch, fc);
    let ran = run(&text);
    (text, ran)
}

fn dynamic_loses_nothing(case: u64) -> Result<(), String> {
    let draw = Draw::new(case);
    let mut d = Dice::new(!case);
    let reserve = if d.roll(2) == 0 { 0 } else { d.roll(20_000) };
    let total = committed(&draw, reserve) + if d.roll(3) == 0 { 0 } else { d.roll(60 * draw.mtu) };
    let fc = format!(
        "kind = \"pfc\"\nthreshold = \"dynamic\"\nxon_offset = \"{}B\"\n",
        d.roll(3 * draw.mtu)
    );
    let (text, ran) = shared(&draw, total, reserve, d.roll(8), "", &fc);
    match (ran.lost, ran.warnings.iter().find(|w| w.contains("may be lost"))) {
        (0, None) => Ok(()),
        (lost, w) => Err(format!("{lost} frames lost, warned {w:?}\n{text}")),
    }
}

#[test]
fn a_dynamic_threshold_with_derived_headroom_loses_nothing() {
    all("shared", 0..300, dynamic_loses_nothing);
}

#[test]
#[ignore = "1,000 draws take half a minute"]
fn a_dynamic_threshold_loses_nothing_in_a_thousand_draws() {
    all("shared", 0..1_000, dynamic_loses_nothing);
}

/// The frame that passes the limit goes into headroom as a whole: the same worst case as above
/// XOFF, to the byte.
#[test]
fn a_headroom_of_one_byte_less_loses_a_frame() {
    all("shared-less", 0..60, |case| {
        let t = Tight::new(case, 2 + case % 5);
        let rule = t.draw.plan("pfc", (t.draw.rate, t.draw.delay), &[]).integer("H worst").unwrap();
        let with = |headroom: u64| {
            let fc = "kind = \"pfc\"\nthreshold = \"dynamic\"\n";
            // Of the pool no ingress gets as much as a frame: beyond its reserve there is only
            // headroom.
            let ports = headroom + t.xoff();
            let shift = (0..).find(|s| (2 * ports) >> s < t.draw.mtu).unwrap();
            shared(
                &t.draw,
                4 * ports + (1 << shift),
                t.xoff(),
                shift,
                &format!("headroom = \"{headroom}B\"\n"),
                fc,
            )
            .1
        };
        let (enough, less) = (with(rule), with(rule - 2));
        let warned = less.warnings.iter().any(|w| w.contains("headroom >= C tau + MTU"));
        match (enough.lost, less.lost) {
            (0, 1..) if warned => Ok(()),
            (a, b) => Err(format!(
                "{a} lost with {rule} B, {b} with 2 B less, warned: {warned}, {:?}",
                t.draw
            )),
        }
    });
}

/// Static thresholds over a pool of any size: what loses frames has been warned of.
#[test]
fn a_static_threshold_that_loses_frames_is_warned_of() {
    let counts = Mutex::new([[0u32; 2]; 2]);
    all("static-shared", 0..300, |case| {
        let draw = Draw::new(case);
        let mut d = Dice::new(!case);
        let reserve = if d.roll(2) == 0 { 0 } else { d.roll(20_000) };
        let buffer = draw.largest("pfc", "B_min", &[]) + d.roll(20 * draw.mtu);
        let most = if d.roll(2) == 0 { 100 * draw.mtu } else { 20 * buffer };
        let total = committed(&draw, reserve) + d.roll(most);
        let (text, ran) = shared(
            &draw,
            total,
            reserve,
            d.roll(5),
            &format!("buffer = \"{buffer}B\"\n"),
            "kind = \"pfc\"\n",
        );
        let warned = ran.warnings.iter().any(|w| w.contains("may be lost"));
        counts.lock().unwrap()[warned as usize][(ran.lost > 0) as usize] += 1;
        if ran.lost > 0 && !warned {
            Err(format!("{} frames lost without a warning\n{text}", ran.lost))
        } else {
            Ok(())
        }
    });
    let [[safe, _], [careful, lost]] = counts.into_inner().unwrap();
    println!(
        "static over a pool: {safe} not warned of, {careful} warned of that lost nothing in this run, {lost} warned of that lost frames"
    );
    assert!(safe > 30 && lost > 30);
}
