//! PFFC: the buffer that `plan` answers for so many flows and hops loses nothing.

use crate::harness::{Dice, Draw, all, run};

/// Flows of H1 and H5 to a slow H2, each in a slot of its own; S2 is the second switch of their
/// way.
fn loses_nothing(case: u64) -> Result<(), String> {
    let mut draw = Draw::new(case);
    let mut d = Dice::new(!case);
    let given = [("hops", "2".to_owned()), ("flows", draw.flows.len().max(2).to_string())];
    let flow = draw
        .links()
        .iter()
        .map(|&l| draw.plan("pffc", l, &given[1..]).integer("H").unwrap())
        .max()
        .unwrap();
    // Thresholds are those of each link where they are not given; given ones are the same
    // everywhere.
    let (xoff, keys) = match d.roll(2) {
        0 => {
            let xoff = draw.longest() + d.roll(6 * draw.longest());
            (xoff, format!("xoff_s = \"{xoff}B\"\nxon_s = \"{}B\"\n", d.roll(xoff + 1)))
        }
        _ => (draw.largest("pffc", "Xoff_s", &given), String::new()),
    };
    let buffer = draw.flows.len().max(2) as u64 * 2 * (xoff + flow);
    draw.cut_through = None;
    let text = draw.text(
        &format!("buffer = \"{buffer}B\"\n"),
        &format!("kind = \"pffc\"\nslots = 65536\n{keys}"),
    );
    let ran = run(&text);
    match ran.lost {
        0 => Ok(()),
        _ if ran.collisions > 0 => Ok(()),
        lost => Err(format!("{lost} frames lost with a buffer of {buffer} B\n{text}")),
    }
}

#[test]
fn derived_thresholds_lose_nothing() {
    all("pffc", 0..300, loses_nothing);
}

#[test]
#[ignore = "1,000 draws take half a minute"]
fn derived_thresholds_lose_nothing_in_a_thousand_draws() {
    all("pffc", 0..1_000, loses_nothing);
}
