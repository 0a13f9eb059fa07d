//! One reader of the farm under libFuzzer. `xoff-farm fuzz` starts it for each of them, by the name
//! in `XOFF_FUZZ`.

#![no_main]

use std::path::Path;
use std::sync::OnceLock;

use xoff_farm::readers::{self, Reader};

static READER: OnceLock<Reader> = OnceLock::new();

libfuzzer_sys::fuzz_target!(
    init: {
        let name = std::env::var("XOFF_FUZZ").expect("XOFF_FUZZ names a reader; xoff-farm list has their names");
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let reader = readers::all(&root).into_iter().find(|r| r.name == name).expect("a reader of this name");
        let _ = READER.set(reader);
    },
    |bytes: &[u8]| {
        let reader = READER.get().expect("set before the first input");
        (reader.read)(reader, bytes);
    }
);
