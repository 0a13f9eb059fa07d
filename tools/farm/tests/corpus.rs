//! Every reader again with the inputs that are kept with the project: what a fuzzer found that
//! reaches the most of it.

use std::path::Path;

use xoff_farm::readers;

#[test]
fn what_a_fuzzer_found_is_read_or_refused() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mut inputs, mut accepted) = (0, 0);
    for r in readers::all(&root) {
        let kept = readers::kept(&root, &r.name);
        assert!(!kept.is_empty(), "{} has no inputs in tools/fuzz/corpus", r.name);
        for bytes in kept {
            inputs += 1;
            accepted += usize::from((r.read)(&r, &bytes));
        }
    }
    assert!(inputs > 200 && accepted > 30 && accepted < inputs, "{accepted} of {inputs} accepted");
}
