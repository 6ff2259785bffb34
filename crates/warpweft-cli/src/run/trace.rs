//! A timeline in Chrome's trace-event format, which Perfetto opens.

use std::cell::RefCell;
use std::path::Path;
use std::time::Instant;

use serde_json::json;
use warpweft::Result;
use warpweft::grid::io::write_whole;

/// Spans on lanes, in the order they ended.
#[derive(Debug)]
pub struct Trace {
    start: Instant,
    spans: RefCell<Vec<Span>>,
}

#[derive(Debug)]
struct Span {
    lane: &'static str,
    name: String,
    /// Seconds since the trace began.
    from: f64,
    to: f64,
}

impl Trace {
    /// An empty timeline that begins now.
    pub fn new() -> Self {
        Self { start: Instant::now(), spans: RefCell::default() }
    }

    /// Does `work` as a span.
    pub fn span<R>(&self, lane: &'static str, name: &str, work: impl FnOnce() -> R) -> R {
        let from = self.now();
        let result = work();
        self.add(lane, name.into(), from);
        result
    }

    /// Seconds since the trace began.
    pub fn now(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// A span from `from` until now.
    pub fn add(&self, lane: &'static str, name: String, from: f64) {
        let to = self.now();
        self.spans.borrow_mut().push(Span { lane, name, from, to });
    }

    /// Writes the timeline.
    pub fn save(&self, path: &Path) -> Result<()> {
        let mut lanes: Vec<&str> = Vec::new();
        let mut events = Vec::new();
        for span in self.spans.borrow().iter() {
            let lane = lanes.iter().position(|known| *known == span.lane).unwrap_or_else(|| {
                lanes.push(span.lane);
                lanes.len() - 1
            });
            events.push(json!({
                "name": span.name, "ph": "X", "pid": 1, "tid": lane + 1,
                "ts": span.from * 1e6, "dur": (span.to - span.from) * 1e6,
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
    fn spans_of_a_lane_share_a_thread_and_lanes_are_named() {
        let trace = Trace::new();
        trace.span("run", "sweep", || ());
        trace.span("host", "save", || ());
        trace.span("run", "sweep", || ());
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("trace.json");
        trace.save(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let events = serde_json::from_str::<serde_json::Value>(&text).unwrap();
        let tids: Vec<_> = (0..5).map(|i| events["traceEvents"][i]["tid"].clone()).collect();
        assert_eq!(tids, [1, 2, 1, 1, 2].map(serde_json::Value::from));
        assert_eq!(events["traceEvents"][4]["args"]["name"], "host");
    }
}
