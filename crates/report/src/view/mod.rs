//! The interactive report of a run: one HTML file that opens anywhere and sends no request.
//!
//! ```text
//!   NetworkScenario, Finished (with its Course) --> RunView (JSON, columns) --+
//!                                                   layout: positions of nodes+--> Page --> report.html
//!   assets/*.js, view.css, assets/plotly ------------------------------------+
//! ```
//!
//! [`page`] builds the other pages of the project: skeleton, data, charts, tables, downloads. The
//! scripts in `assets` are the project's own, without a build step. plotly.js is vendored with its
//! licence in `assets/plotly`.

mod balance;
mod fabric;
mod flows;
mod jobs;
mod layout;
mod network;
pub mod page;
mod report;
mod series;

pub use fabric::of_fabric;
pub use layout::{Layout, layout};
pub use network::{Drawn, Seen};
pub use page::opened;
pub use page::{Blob, Column, Page};
pub use report::{REPORT, live_data, live_page, of_network, of_real_frames};
pub use series::series;
