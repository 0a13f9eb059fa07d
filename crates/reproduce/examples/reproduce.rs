//! Reproduces a paper without the command line: `cargo run --release -p xoff-reproduce --example reproduce -- OUT quick gfc [ITEM...]`.

use std::path::Path;
use std::time::Instant;

use xoff_reproduce::{Context, Entry, Judged, Mode, Progress, Verdict};

struct Lines(Instant);
impl Progress for Lines {
    fn started(&self, entry: &Entry, nth: usize, total: usize) {
        eprintln!("[{:6.1} s] {}/{total} {} ...", self.0.elapsed().as_secs_f64(), nth + 1, entry.id);
    }
    fn finished(&self, j: &Judged, kept: bool) {
        eprintln!("[{:6.1} s] {}: {}{}\n    {}", self.0.elapsed().as_secs_f64(), j.id, j.verdict.name(), if kept { " (kept)" } else { "" }, j.measured);
        for why in &j.why {
            eprintln!("    why: {why}");
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [out, mode, paper, items @ ..] = args.as_slice() else { panic!("OUT quick|full PAPER [ITEM...]") };
    let mode = if mode == "full" { Mode::Full } else { Mode::Quick };
    let lines = Lines(Instant::now());
    let cx = Context { threads: 2, progress: &lines, ..Context::new(mode, Path::new(out)) };
    match xoff_reproduce::reproduce(paper, items, &cx) {
        Ok(report) => {
            let bad = report.entries.iter().filter(|e| e.verdict == Verdict::NotReproduced).count();
            eprintln!("{} entries, {bad} not reproduced; {}", report.entries.len(), report.page.display());
        }
        Err(e) => eprintln!("{e}"),
    }
}
