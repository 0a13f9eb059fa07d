//! Reproduces a paper and, with `--docs`, writes the page of the documentation:
//! `cargo run --release -p xoff-papers --example reproduce -- [--docs docs/papers/gfc.md] OUT quick|full gfc [ITEM...]`.

use std::path::Path;
use std::time::Instant;

use xoff_lab::{Context, Entry, Judged, Mode, Progress, Verdict};

struct Lines(Instant);
impl Progress for Lines {
    fn started(&self, entry: &Entry, nth: usize, total: usize) {
        eprintln!("[{:6.1} s] {}/{total} {} ...", self.0.elapsed().as_secs_f64(), nth + 1, entry.id);
    }
    fn finished(&self, j: &Judged, kept: bool) {
        eprintln!(
            "[{:6.1} s] {}: {}{}\n    {}",
            self.0.elapsed().as_secs_f64(),
            j.id,
            j.verdict.name(),
            if kept { " (kept)" } else { "" },
            j.measured
        );
        for why in &j.why {
            eprintln!("    why: {why}");
        }
    }
}

fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let docs = (args.first().is_some_and(|a| a == "--docs") && args.len() > 1).then(|| args.drain(..2).nth(1)).flatten();
    let [out, mode, paper, items @ ..] = args.as_slice() else { panic!("[--docs FILE] OUT quick|full PAPER [ITEM...]") };
    let mode = if mode == "full" { Mode::Full } else { Mode::Quick };
    let lines = Lines(Instant::now());
    let cx = Context { threads: 2, progress: &lines, ..Context::new(mode, Path::new(out)) };
    match xoff_papers::reproduce(paper, items, &cx) {
        Ok(report) => {
            let bad = report.entries.iter().filter(|e| e.verdict == Verdict::NotReproduced).count();
            eprintln!("{} entries, {bad} not reproduced; {}", report.entries.len(), report.page.display());
            if let Some(Err(e)) = docs.map(|file| xoff_lab::write_docs(&report, &cx, Path::new(&file))) {
                eprintln!("{e}");
            }
        }
        Err(e) => eprintln!("{e}"),
    }
}
