//! A bar on standard error while a run lasts; nothing when standard error is no terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::output::scaled;

/// The bar.
pub struct Progress {
    bar: ProgressBar,
    cells: f64,
}

impl Progress {
    /// A bar for `steps` steps over `cells` cells.
    pub fn new(app: &'static str, steps: u64, cells: usize) -> Self {
        let bar = ProgressBar::new(steps);
        let template = "{prefix} [{bar:32}] {pos}/{len} steps, {msg}cells/s, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_prefix(app);
        Self { bar, cells: cells as f64 }
    }

    /// `done` steps are through.
    pub fn at(&self, done: u64) {
        self.bar.set_position(done);
        let seconds = self.bar.elapsed().max(Duration::from_millis(1)).as_secs_f64();
        self.bar.set_message(scaled(self.cells * done as f64 / seconds));
    }

    /// Takes the bar away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
