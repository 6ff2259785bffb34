//! One launch with its arguments. Not: what it is made of (`queue`).

use crate::Stage;
use warpweft_core::cuda::{Args, Kernel, Launch, Stream};
use warpweft_core::error::Result;

/// A launch and its arguments.
#[derive(Debug)]
pub(crate) struct Queued {
    pub kernel: Kernel,
    pub launch: Launch,
    pub args: Args,
}

impl Queued {
    /// Puts it into `stream`.
    ///
    /// # Safety
    /// The arrays that the arguments point to must live until the launch is done.
    pub unsafe fn launch(&self, stream: &Stream) -> Result<()> {
        // SAFETY: arguments were put together for this kernel's parameters; the caller keeps
        // what they point to.
        unsafe { stream.launch(&self.kernel, self.launch, &self.args) }
    }
}

/// Adds the stage's parameters, if it has any, as the kernel's last argument.
pub(crate) fn element_argument(args: &mut Args, stage: &dyn Stage) {
    let size = stage.parameters_size();
    if size > 0 {
        // SAFETY: a stage promises that so many bytes are there.
        unsafe { args.opaque(stage.parameters(), size) };
    }
}
