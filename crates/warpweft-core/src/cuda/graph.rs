//! Sequences of launches captured once and replayed at a fraction of the cost of launching.

use std::fmt;

use cudarc::driver::sys;

use super::device::Device;
use super::device::Stream;
use super::device::apart;
use crate::error::Result;

/// A captured sequence, ready to launch.
pub struct Graph {
    device: Device,
    raw: sys::CUgraphExec,
}

// SAFETY: the driver lets any thread use an executable graph, one launch at a time, and `launch`
// takes it exclusively.
unsafe impl Send for Graph {}

impl Stream {
    /// Captures what `queue` puts into this stream as a graph, without running it.
    ///
    /// Only launches, copies between buffers, fills and events may be queued; anything that waits fails.
    /// Captured work keeps the addresses that it was given.
    ///
    /// # Errors
    /// Those of `queue`, or the driver's for work that can't be captured.
    pub fn capture(&self, queue: impl FnOnce(&Stream) -> Result<()>) -> Result<Graph> {
        self.device().bind()?;
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is alive.
        let code = unsafe { sys::cuStreamBeginCapture_v2(self.raw(), mode) };
        self.device().check(code, "starting a capture")?;
        let queued = queue(self);
        self.device().bind()?;
        let mut graph = std::ptr::null_mut();
        // SAFETY: ends the capture begun above and writes one handle, null if it failed.
        let code = unsafe { sys::cuStreamEndCapture(self.raw(), &mut graph) };
        let mut raw = std::ptr::null_mut();
        let made = queued.and_then(|()| {
            self.device().check(code, "capturing")?;
            let _apart = apart();
            // SAFETY: `graph` is what the capture made; writes one handle.
            let code = unsafe { sys::cuGraphInstantiateWithFlags(&mut raw, graph, 0) };
            self.device().check(code, "preparing a graph")
        });
        if !graph.is_null() {
            // SAFETY: made above and not used again; the executable graph is a copy.
            let _ = unsafe { sys::cuGraphDestroy(graph) };
        }
        made.map(|()| Graph { device: *self.device(), raw })
    }
}

impl Graph {
    /// Queues one run of everything captured.
    ///
    /// # Errors
    /// The driver's.
    pub fn launch(&mut self, stream: &Stream) -> Result<()> {
        self.device.bind()?;
        // SAFETY: both are alive; the code that captured the launches guarantees their addresses.
        let code = unsafe { sys::cuGraphLaunch(self.raw, stream.raw()) };
        self.device.check(code, "launching a graph")
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if self.device.bind().is_ok() {
            let _apart = apart();
            // SAFETY: owned by this value; the driver lets a running launch finish.
            let _ = unsafe { sys::cuGraphExecDestroy(self.raw) };
        }
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a graph on {}", self.device.label())
    }
}
