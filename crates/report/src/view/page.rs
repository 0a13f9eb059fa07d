//! A page as one HTML file with markup, style sheet, scripts and data. All reports are built with
//! it.
//!
//! ```text
//!   Page::new(title)
//!     .body(maud markup)          what a reader sees without scripts, and the elements that scripts fill
//!     .data(&value, blob)         JSON for xoff.data(); columns of a Blob arrive as typed arrays
//!     .charts()                   assets/chart.js and plotly.js, compressed: xoff.charts.chart({...})
//!     .script("...")              the page's own
//!     .to_html()
//! ```
//!
//! The base is always there (`assets/base.js`, `assets/view.css`): the one global `xoff` with
//! `time`, `bytes`, `rate`, `count` (numbers with units), `el` (elements without markup in texts),
//! `table` (sorts, filters, CSV), `csv`, `save`, `tools` (download buttons), `onTheme`, and the
//! classes `cards`, `bar`, `badge`, `two`, `wide`, `note`, `scroll`. A chart is
//!
//! ```js
//! const data = await xoff.data();
//! const chart = xoff.charts.chart({ name: "slowdown", title: "Slowdown", x: { title: "Size [B]", log: true }, y: [{ title: "Slowdown" }],
//!   series: [{ name: "run A", x: data.sizes, y: data.p99 }] });
//! document.getElementById("here").append(chart.element);
//! chart.draw();                  // inflates plotly.js the first time
//! ```
//!
//! with hover, zoom, downloads as SVG, PNG and CSV, colours of the theme, and one linked axis for
//! all charts whose `x` has `time: true`. Nothing leaves the page: its content security policy
//! forbids every request, except for a page that [`Page::served`] opens to its own server.

use crate::{Colour, DEADLOCK};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::Serialize;

/// Chart library of the page, compressed with gzip; `assets/plotly/README.md` names its origin and
/// checksum.
const PLOTLY: &[u8] = include_bytes!("../../assets/plotly/plotly-basic.min.js.gz");
/// Script of every page.
const BASE: &str = include_str!("../../assets/base.js");
/// Charts.
const CHART: &str = include_str!("../../assets/chart.js");
/// The style sheet.
const STYLE: &str = include_str!("../../assets/view.css");
/// Level of deflate for data: more takes longer and gains little.
const LEVEL: u8 = 3;

/// Columns of numbers next to the JSON, compressed together.
#[derive(Clone, Debug, Default)]
pub struct Blob(Vec<u8>);

/// A column in a [`Blob`], as the JSON of the page names it; `xoff.data()` puts a typed array in
/// its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Kind of number.
    c: &'static str,
    /// Start [bytes].
    o: usize,
    /// Count of numbers.
    n: usize,
}

impl Blob {
    fn column<const N: usize>(
        &mut self,
        c: &'static str,
        values: impl Iterator<Item = [u8; N]>,
    ) -> Column {
        // Typed arrays begin at multiples of the size of their numbers.
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        let o = self.0.len();
        self.0.extend(values.flatten());
        Column { c, o, n: (self.0.len() - o) / N }
    }
    /// Whole numbers of 16 bits.
    pub fn u16(&mut self, values: impl IntoIterator<Item = u16>) -> Column {
        self.column("u16", values.into_iter().map(u16::to_le_bytes))
    }
    /// Whole numbers of 32 bits.
    pub fn u32(&mut self, values: impl IntoIterator<Item = u32>) -> Column {
        self.column("u32", values.into_iter().map(u32::to_le_bytes))
    }
    /// Whole numbers, of 32 bits if all of them fit: a step that fast-forward skipped may hold
    /// more.
    pub fn whole(&mut self, values: impl Iterator<Item = u64> + Clone) -> Column {
        if values.clone().all(|v| u32::try_from(v).is_ok()) {
            self.u32(values.map(|v| v as u32))
        } else {
            self.f64(values.map(|v| v as f64))
        }
    }
    /// Numbers of 64 bits; whole ones are exact up to 2^53.
    pub fn f64(&mut self, values: impl IntoIterator<Item = f64>) -> Column {
        self.column("f64", values.into_iter().map(f64::to_le_bytes))
    }
    /// Compressed, and as characters.
    pub fn packed(&self) -> String {
        BASE64_STANDARD.encode(miniz_oxide::deflate::compress_to_vec_zlib(&self.0, LEVEL))
    }
}

/// A page, built part by part.
#[derive(Clone, Debug, Default)]
pub struct Page {
    title: String,
    body: String,
    data: Option<String>,
    packed: Option<String>,
    charts: bool,
    served: bool,
    styles: Vec<String>,
    scripts: Vec<String>,
}

impl Page {
    /// A page without content.
    pub fn new(title: impl Into<String>) -> Page {
        Page { title: title.into(), ..Page::default() }
    }

    /// Content of the body.
    #[must_use]
    pub fn body(mut self, body: Markup) -> Page {
        self.body = body.into_string();
        self
    }

    /// Result of `xoff.data()`; its columns are in `packed`, from [`Blob::packed`].
    ///
    /// # Panics
    /// The value is none that JSON can hold, such as a map whose keys are no text.
    #[must_use]
    pub fn data(mut self, value: &impl Serialize, packed: Option<String>) -> Page {
        // A text may not end its element.
        self.data = Some(
            serde_json::to_string(value)
                .expect("the data of a page are JSON")
                .replace('<', "\\u003c"),
        );
        self.packed = packed;
        self
    }

    /// Charts are drawn on it.
    #[must_use]
    pub fn charts(mut self) -> Page {
        self.charts = true;
        self
    }

    /// Allows requests to the server of the page.
    #[must_use]
    pub fn served(mut self) -> Page {
        self.served = true;
        self
    }

    /// Further rules of style.
    #[must_use]
    pub fn style(mut self, style: impl Into<String>) -> Page {
        self.styles.push(style.into());
        self
    }

    /// A script, run after the elements of the body are there; scripts run in the order in which
    /// they were added.
    #[must_use]
    pub fn script(mut self, script: impl Into<String>) -> Page {
        self.scripts.push(script.into());
        self
    }

    /// The whole file.
    pub fn to_html(&self) -> String {
        let connect = if self.served { "'self'" } else { "'none'" };
        let policy = format!(
            "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; connect-src {connect}; base-uri 'none'; form-action 'none'"
        );
        let kept = |id: &str, text: &str| html! { script type="text/plain" id=(id) { (PreEscaped(text)) } };
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(policy);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    // Without one a browser asks the server for it.
                    link rel="icon" href="data:,";
                    title { (self.title) }
                    style { (PreEscaped(palette())) (PreEscaped(STYLE)) @for style in &self.styles { (PreEscaped(style)) } }
                }
                body {
                    (PreEscaped(&self.body))
                    @if let Some(data) = &self.data { script type="application/json" id="data" { (PreEscaped(data)) } }
                    @if let Some(packed) = &self.packed { (kept("packed", packed)) }
                    script { (PreEscaped(BASE)) }
                    @if self.charts { script { (PreEscaped(CHART)) } }
                    @for script in &self.scripts { script { (PreEscaped(script)) } }
                    // Last: the page is there before it is read.
                    @if self.charts { (kept("plotly", &BASE64_STANDARD.encode(PLOTLY))) }
                }
            }
        }
        .into_string()
    }
}

/// The colours of figures as properties of the style sheet.
fn palette() -> String {
    let rule = |of: fn(Colour) -> &'static str, deadlock: &str| {
        let colours: String =
            Colour::NAMED.iter().map(|&(name, c)| format!("--{name}:{};", of(c))).collect();
        format!(":root{{{colours}--deadlock:{deadlock}}}")
    };
    format!(
        "{}@media (prefers-color-scheme:dark){{{}}}",
        rule(Colour::hex, DEADLOCK.0),
        rule(Colour::dark, DEADLOCK.1)
    )
}

/// A page from a file, changed for its server: it may send requests, and its data say so.
pub fn opened(html: &str) -> String {
    html.replacen("connect-src 'none'", "connect-src 'self'", 1).replacen(
        "\"served\":false}",
        "\"served\":true}",
        1,
    )
}

/// Version of the chart library.
pub const PLOTLY_VERSION: &str = "4.1.1";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_any_size_stay_exact() {
        let mut blob = Blob::default();
        let (small, large) = (
            blob.whole([1, u64::from(u32::MAX)].into_iter()),
            blob.whole([0, 125_000_068_500].into_iter()),
        );
        assert_eq!((small.c, small.n, large.c, large.n), ("u32", 2, "f64", 2));
        assert_eq!(blob.0[large.o + 8..], 125_000_068_500_f64.to_le_bytes());
    }
}
