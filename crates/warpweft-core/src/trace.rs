//! A timeline of a run: spans on lanes and levels over time, in Chrome's trace-event format, which Perfetto opens.
//!
//! A lane is any name ("core 3", "GPU 0", "run"). Recording takes a lock and about 100 ns, so record tiles
//! and waits, not rows.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::error::Result;
use crate::grid::io::write_whole;

/// Something that took time.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// The row of the timeline.
    pub lane: String,
    /// What happened.
    pub name: String,
    /// Time from the start of the trace to the start of the span.
    pub start: Duration,
    /// Length.
    pub duration: Duration,
}

/// How much there was of something, e.g. items in a channel, at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// Of what.
    pub name: String,
    /// Time from the start of the trace.
    pub at: Duration,
    /// How much.
    pub value: f64,
}

/// Spans and levels of one run, recorded by any thread.
#[derive(Debug)]
pub struct Trace {
    start: Instant,
    spans: Mutex<Vec<Span>>,
    levels: Mutex<Vec<Level>>,
}

impl Default for Trace {
    fn default() -> Self {
        Self { start: Instant::now(), spans: Mutex::default(), levels: Mutex::default() }
    }
}

impl Trace {
    /// An empty timeline that begins now.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records a span from `from` until now.
    pub fn add(&self, lane: impl Into<String>, name: impl Into<String>, from: Instant) {
        self.add_all([self.span(lane, name, from)]);
    }

    /// A span from `from` until now. It is not recorded yet.
    pub fn span(&self, lane: impl Into<String>, name: impl Into<String>, from: Instant) -> Span {
        let start = self.at(from);
        Span { lane: lane.into(), name: name.into(), start, duration: from.elapsed() }
    }

    /// Time from the start of the trace to `instant`.
    pub fn at(&self, instant: Instant) -> Duration {
        instant.saturating_duration_since(self.start)
    }

    /// Records several spans under one lock.
    pub fn add_all(&self, spans: impl IntoIterator<Item = Span>) {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner).extend(spans);
    }

    /// Records how much there is of something now.
    pub fn level(&self, name: impl Into<String>, value: f64) {
        let level = Level { name: name.into(), at: self.start.elapsed(), value };
        self.levels.lock().unwrap_or_else(PoisonError::into_inner).push(level);
    }

    /// All levels recorded so far, in the order of recording.
    pub fn levels(&self) -> Vec<Level> {
        self.levels.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Calls `work` and records it as a span.
    pub fn during<R>(&self, lane: &str, name: &str, work: impl FnOnce() -> R) -> R {
        let from = Instant::now();
        let result = work();
        self.add(lane, name, from);
        result
    }

    /// All spans recorded so far, sorted by start.
    pub fn spans(&self) -> Vec<Span> {
        let mut spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner).clone();
        spans.sort_by_key(|span| span.start);
        spans
    }

    /// Writes the timeline; lanes appear in the order of their first spans.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let mut lanes: Vec<&str> = Vec::new();
        let mut events = Vec::new();
        let spans = self.spans();
        for span in &spans {
            let known = lanes.iter().position(|&lane| lane == span.lane);
            let lane = known.unwrap_or_else(|| {
                lanes.push(&span.lane);
                lanes.len() - 1
            });
            events.push(json!({
                "name": span.name, "ph": "X", "pid": 1, "tid": lane + 1,
                "ts": micros(span.start), "dur": micros(span.duration),
            }));
        }
        for level in self.levels() {
            events.push(json!({
                "name": level.name, "ph": "C", "pid": 1,
                "ts": micros(level.at), "args": {"value": level.value},
            }));
        }
        for (i, lane) in lanes.iter().enumerate() {
            events.push(json!({
                "name": "thread_name", "ph": "M", "pid": 1, "tid": i + 1, "args": {"name": lane},
            }));
        }
        let trace = json!({"traceEvents": events, "displayTimeUnit": "ms"});
        write_whole(path, |to| to.write_all(trace.to_string().as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_every_span_on_the_lane_of_its_name() {
        let trace = Trace::new();
        std::thread::scope(|scope| {
            for core in 0..2 {
                let trace = &trace;
                scope.spawn(move || trace.add(format!("core {core}"), "tile", Instant::now()));
            }
        });
        trace.level("items in a channel", 7.0);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.json");
        trace.save(&path).unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        let events = read["traceEvents"].as_array().unwrap();
        let lane_of = |tid: &serde_json::Value| {
            events.iter().find(|e| e["ph"] == "M" && e["tid"] == *tid).map(|e| &e["args"]["name"])
        };
        let tiles: Vec<_> = events.iter().filter(|e| e["ph"] == "X").collect();
        assert_eq!(tiles.len(), 2);
        let mut lanes: Vec<_> = tiles.iter().filter_map(|e| lane_of(&e["tid"])).collect();
        lanes.sort_by_key(|lane| lane.to_string());
        assert_eq!(lanes, ["core 0", "core 1"]);
        let level = events.iter().find(|e| e["ph"] == "C").unwrap();
        assert_eq!(
            (&level["name"], &level["args"]["value"]),
            (&"items in a channel".into(), &7.0.into())
        );
    }
}
