//! Takes the chart library out of the crate that carries it, and compresses it for pages: browsers inflate it.

use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// Highest level of deflate.
const LEVEL: u8 = 9;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let elements = plotly::Plot::offline_js_sources();
    let script = elements
        .split_once('>')
        .and_then(|(_, rest)| rest.split_once("</script>\n"))
        .map(|(script, _)| script)
        .filter(|s| s.starts_with("/**\n* plotly.js v") && s.len() > 1 << 20)
        .expect("the crate plotly hands out plotly.js as its first script element");
    let packed = BASE64_STANDARD.encode(miniz_oxide::deflate::compress_to_vec_zlib(script.as_bytes(), LEVEL));
    let out = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    std::fs::write(Path::new(&out).join("plotly.txt"), packed).expect("OUT_DIR can be written");
    let version = script.trim_start_matches("/**\n* plotly.js v").split('\n').next().unwrap_or_default();
    println!("cargo:rustc-env=PLOTLY_VERSION={version}");
}
