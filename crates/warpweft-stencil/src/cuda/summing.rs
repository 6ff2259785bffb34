//! Kernels of single steps that take in a reduction along the way. Not: what they compute (`sums`).

use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use super::sums::Summand;
use super::text::StepText;
use warpweft_core::cuda::{
    Cubin, Device, Kernel, Module, Options, cached, compile, leave_to_compile,
};
use warpweft_core::error::Result;

/// Kernels of a step that sums up.
pub(in crate::cuda) struct Summed {
    pub text: StepText,
    pub kernels: Vec<Kernel>,
}

/// Kernels that a thread compiles.
struct Coming {
    text: StepText,
    cubin: Receiver<Result<Cubin>>,
    thread: JoinHandle<()>,
}

/// The kernels for what is expected, once they are there. A thread compiles them: most sessions are over before they have
/// saved the time that it takes.
#[derive(Default)]
pub(in crate::cuda) struct Summing {
    summand: Option<Summand>,
    coming: Option<Coming>,
    there: Option<Summed>,
}

impl Summing {
    /// The kernels for `summand`, whose text `text` makes, if they are there.
    ///
    /// # Errors
    /// The driver's. Where the compiler fails there are none.
    pub fn get(
        &mut self,
        summand: Summand,
        text: impl FnOnce() -> Option<StepText>,
        (device, contract): (&Device, bool),
    ) -> Result<Option<&Summed>> {
        if self.summand != Some(summand) {
            self.leave();
            (self.summand, self.there) = (Some(summand), None);
            if let Some(text) = text() {
                self.begin(text, (device, contract))?;
            }
        }
        if let Some(Coming { text, cubin, .. }) =
            self.coming.take_if(|coming| coming.thread.is_finished())
            && let Ok(Ok(cubin)) = cubin.recv()
        {
            self.there = Some(loaded(text, &cubin, device)?);
        }
        Ok(self.there.as_ref())
    }

    /// Takes the kernels from the cache, or begins to compile them.
    fn begin(&mut self, text: StepText, (device, contract): (&Device, bool)) -> Result<()> {
        let (arch, name) = (device.arch()?, "a step that sums up");
        let options = Options { contract, ..Options::default() };
        if let Some(cubin) = cached(&text.source, name, &arch, &options)? {
            self.there = Some(loaded(text, &cubin, device)?);
            return Ok(());
        }
        let (source, (send, cubin)) = (text.source.clone(), channel());
        let work = move || drop(send.send(compile(&source, name, &arch, &options)));
        // If the system refuses a thread, sums are taken in afterwards as before.
        let thread = std::thread::Builder::new().name("compiler".into()).spawn(work);
        self.coming = thread.ok().map(|thread| Coming { text, cubin, thread });
        Ok(())
    }

    /// Waits for kernels that are being compiled, for tests.
    pub fn wait(&self) {
        while self.coming.as_ref().is_some_and(|coming| !coming.thread.is_finished()) {
            std::thread::yield_now();
        }
    }

    fn leave(&mut self) {
        let left = self.coming.take().map(|coming| coming.thread);
        leave_to_compile(left.into_iter().collect());
    }
}

impl Drop for Summing {
    fn drop(&mut self) {
        self.leave();
    }
}

fn loaded(text: StepText, cubin: &Cubin, device: &Device) -> Result<Summed> {
    let module = Module::load(device, cubin)?;
    let kernels = text.stages.iter().map(|stage| module.kernel(&stage.kernel));
    let kernels = kernels.collect::<Result<_>>()?;
    Ok(Summed { text, kernels })
}
