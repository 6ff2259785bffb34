//! A progress line on standard error; nothing if that is not a terminal.

use std::cell::Cell;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::output::{note, scaled};
use crate::{line, place};

/// Interval of updates for work without progress reports: rare enough not to disturb a pinned worker.
const TICK: Duration = Duration::from_millis(500);

/// Interval of lines if standard error is not a terminal: `mpirun` pipes that of its processes.
const LINE: Duration = Duration::from_secs(10);

/// The progress line; removed on drop.
pub struct Progress {
    bar: ProgressBar,
    /// What one unit of progress counts for in the rate, and its unit.
    each: (f64, &'static str),
    /// Steps that were done when the clock started.
    first: Cell<u64>,
    /// When a line was last printed, for ranks whose standard error `mpirun` pipes.
    told: Cell<Option<Instant>>,
}

impl Progress {
    /// A bar for `steps` steps over `cells` cells.
    pub fn new(app: &'static str, steps: u64, cells: usize) -> Self {
        Self::of(ProgressBar::new(steps), app, ["steps", "cells/s"], cells)
    }

    /// A bar for `tasks` tasks, with their plural and the unit of their rate.
    pub fn over(app: &'static str, tasks: u64, [name, rate]: [&'static str; 2]) -> Self {
        Self::of(ProgressBar::new(tasks), app, [name, rate], 1)
    }

    fn of(bar: ProgressBar, app: &'static str, [name, rate]: [&'static str; 2], of: usize) -> Self {
        // In a narrow terminal the message is cut off.
        let bar =
            shown(bar, &format!("{{prefix}} [{{bar:16}}] {{pos}}/{{len}} {name}{{wide_msg}}"));
        bar.set_prefix(app);
        Self {
            bar,
            each: (of as f64, rate),
            first: Cell::new(0),
            told: Cell::new(place::place().map(|_| Instant::now())),
        }
    }

    /// The elapsed time of `what`, until it is [cleared](Progress::clear).
    pub fn waiting(what: &'static str) -> Self {
        let bar = shown(ProgressBar::new_spinner(), "{prefix} {elapsed} {wide_msg}");
        bar.set_prefix(what);
        if !bar.is_hidden() {
            bar.enable_steady_tick(TICK);
        }
        Self { bar, each: (0.0, ""), first: Cell::new(0), told: Cell::new(None) }
    }

    /// An earlier run did `first` steps: the rate counts the steps after them.
    pub fn from(&self, first: u64) {
        self.first.set(first);
        self.bar.reset_elapsed();
        self.bar.set_position(first);
    }

    /// Reports that `done` steps are done.
    pub fn at(&self, done: u64) {
        self.bar.set_position(done);
        let own = done.saturating_sub(self.first.get());
        if own > 0 {
            let seconds = self.bar.elapsed().max(Duration::from_millis(1)).as_secs_f64();
            let (each, unit) = self.each;
            let rate = scaled(each * own as f64 / seconds);
            let rest = self.bar.length().unwrap_or(done).saturating_sub(done);
            let left = (seconds * rest as f64 / own as f64) as u64;
            let message = format!(", {rate}{unit}, {left}s left");
            if self.told.get().is_some_and(|told| told.elapsed() >= LINE) && place::speaks() {
                self.told.set(Some(Instant::now()));
                if self.bar.is_hidden() && rest > 0 {
                    let all = self.bar.length().unwrap_or(done);
                    note(&format!("{}: {done} of {all}{message}", self.bar.prefix()));
                }
            }
            self.bar.set_message(message);
        }
    }

    /// Shows the state of the work in words.
    pub fn tell(&self, what: String) {
        self.bar.set_message(what);
    }

    /// Whether the line is not shown.
    pub fn is_hidden(&self) -> bool {
        self.bar.is_hidden()
    }

    /// Removes the line.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
        line::show(None);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

fn shown(bar: ProgressBar, template: &str) -> ProgressBar {
    if !place::speaks() {
        return ProgressBar::hidden();
    }
    let bar = match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style.progress_chars("=> ")),
        Err(_) => bar,
    };
    line::show(Some(bar.clone()));
    bar
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use indicatif::{ProgressDrawTarget, TermLike};

    use super::*;

    /// A terminal of 40 columns: the written text, with `^` for every line that the cursor moved up.
    #[derive(Clone, Debug, Default)]
    struct Narrow(Arc<Mutex<String>>);

    impl Narrow {
        fn add(&self, text: &str) -> io::Result<()> {
            self.0.lock().unwrap().push_str(text);
            Ok(())
        }
    }

    impl TermLike for Narrow {
        fn width(&self) -> u16 {
            40
        }
        fn move_cursor_up(&self, lines: usize) -> io::Result<()> {
            self.add(&"^".repeat(lines))
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.add(&format!("{text}\n"))
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.add(text)
        }
        fn clear_line(&self) -> io::Result<()> {
            self.add("\r")
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_narrow_terminal_gets_one_line_and_nothing_is_said_of_what_is_not_known() {
        let terminal = Narrow::default();
        let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
        let bar = ProgressBar::with_draw_target(Some(2000), target);
        let progress = Progress::of(bar, "heat", ["steps", "cells/s"], 1 << 20);
        progress.at(0);
        progress.bar.force_draw();
        let told = std::mem::take(&mut *terminal.0.lock().unwrap());
        assert!(told.contains("0/2000") && !told.contains("left"), "{told:?}");
        progress.at(20);
        progress.bar.force_draw();
        let told = terminal.0.lock().unwrap().clone();
        let last = told.rsplit(['\r', '\n']).next().unwrap_or_default();
        assert!(last.contains("20/2000 steps"), "{told:?}");
        assert!(last.trim_end().chars().count() <= 40 && !told.contains('^'), "{told:?}");
    }

    #[test]
    fn an_earlier_run_s_steps_are_in_no_rate() {
        let target = ProgressDrawTarget::term_like(Box::new(Narrow::default()));
        let bar = ProgressBar::with_draw_target(Some(2000), target);
        let progress = Progress::of(bar, "apsp", ["sources", "sources/s"], 1);
        progress.from(1000);
        assert_eq!(progress.bar.message(), "");
        std::thread::sleep(Duration::from_millis(20));
        progress.at(1500);
        // 500 in 20 ms or more, and as many remain.
        let told = progress.bar.message();
        assert!(told.contains("sources/s, 0s left"), "{told}");
        let rate = told.trim_start_matches(", ").split_once(' ').unwrap().0;
        let scale = if told.contains("ksources/s") { 1e3 } else { 1.0 };
        assert!(rate.parse::<f64>().unwrap() * scale <= 25_000.0, "{told}");
    }
}
