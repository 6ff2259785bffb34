//! The six applications of the PeerWave paper, as `bench` and `model` measure them: contents that
//! repeat, so that sizes are bounded by the GPU's memory and not by the host's.

mod apps;

pub use apps::{App, Visitor, visit};

use warpweft::Result;
use warpweft::cuda::Device;
use warpweft::wavefront::cuda::tiles::{Contents, Extras, IdleTime, TileExecutor, compile_check};
use warpweft::wavefront::cuda::tiles::{measure, probe};
use warpweft::wavefront::model::{Costs, Measured};
use warpweft::wavefront::{TilePolicy, Wavefront, WavefrontElement};

/// Measures at one size.
pub struct Bench<'a> {
    /// The GPU.
    pub device: &'a Device,
    /// Rows and columns.
    pub size: usize,
}

impl Bench<'_> {
    /// Compiles the kernels of `apps` for `policies` into the cache, all at once: one after another
    /// they would take longer than the measurements. What can't be compiled is said when it is run.
    ///
    /// # Errors
    /// The driver's.
    pub fn compile(&self, apps: &[App], policies: &[TilePolicy], extras: Extras) -> Result<()> {
        struct Compiler<'a>(TilePolicy, Extras, &'a str);
        impl Visitor for Compiler<'_> {
            type Output = ();
            fn visit<E: WavefrontElement>(
                &mut self,
                wavefront: &Wavefront<'_, E>,
                _: Contents<'_, E>,
            ) -> Result<()> {
                compile_check(wavefront, self.0, self.1, self.2).map(drop)
            }
        }
        let arch = self.device.arch()?;
        std::thread::scope(|scope| {
            for &app in apps {
                for &policy in policies {
                    let mut compiler = Compiler(policy, extras, &arch);
                    scope.spawn(move || {
                        // Said again, and handled, by the run.
                        let _ = visit(app, 64, &mut compiler);
                    });
                }
            }
        });
        Ok(())
    }

    /// The times of `policy` at each of `widths`.
    ///
    /// # Errors
    /// As [`measure`].
    pub fn widths(&self, app: App, policy: TilePolicy, widths: &[u32]) -> Result<Vec<Measured>> {
        struct Widths<'a>(TileExecutor, TilePolicy, &'a [u32]);
        impl Visitor for Widths<'_> {
            type Output = Vec<Measured>;
            fn visit<E: WavefrontElement>(
                &mut self,
                wavefront: &Wavefront<'_, E>,
                contents: Contents<'_, E>,
            ) -> Result<Self::Output> {
                measure(&mut self.0, wavefront, contents, self.1, self.2)
            }
        }
        let executor = TileExecutor::new(self.device, None)?;
        visit(app, self.size, &mut Widths(executor, policy, widths))
    }

    /// The policy of a run without one.
    ///
    /// # Errors
    /// As [`TileExecutor::prepare`].
    pub fn untuned(&self, app: App) -> Result<TilePolicy> {
        struct Untuned(TileExecutor);
        impl Visitor for Untuned {
            type Output = TilePolicy;
            fn visit<E: WavefrontElement>(
                &mut self,
                wavefront: &Wavefront<'_, E>,
                contents: Contents<'_, E>,
            ) -> Result<TilePolicy> {
                Ok(self.0.prepare(wavefront, contents)?.plan().policy)
            }
        }
        visit(app, self.size, &mut Untuned(TileExecutor::new(self.device, None)?))
    }

    /// The costs, from a corner of `1 / part` of the rows and of the columns.
    ///
    /// # Errors
    /// As [`probe`].
    pub fn costs(&self, app: App, policy: TilePolicy, part: usize) -> Result<Costs> {
        struct Training(TileExecutor, TilePolicy);
        impl Visitor for Training {
            type Output = Costs;
            fn visit<E: WavefrontElement>(
                &mut self,
                wavefront: &Wavefront<'_, E>,
                contents: Contents<'_, E>,
            ) -> Result<Costs> {
                probe(&mut self.0, wavefront, contents, self.1)
            }
        }
        let executor = TileExecutor::new(self.device, None)?;
        visit(app, (self.size / part).max(1), &mut Training(executor, policy))
    }

    /// Where the blocks' time goes with `policy`.
    ///
    /// # Errors
    /// As [`TileExecutor::prepare`].
    pub fn idle(&self, app: App, policy: TilePolicy) -> Result<(Measured, IdleTime)> {
        struct Idle(TileExecutor);
        impl Visitor for Idle {
            type Output = (Measured, IdleTime);
            fn visit<E: WavefrontElement>(
                &mut self,
                wavefront: &Wavefront<'_, E>,
                contents: Contents<'_, E>,
            ) -> Result<Self::Output> {
                let prepared = self.0.prepare(wavefront, contents)?;
                prepared.launch()?;
                let seconds = prepared.launch()?;
                let (plan, blocks) = (prepared.plan().clone(), prepared.blocks() as usize);
                Ok((Measured { plan, blocks, seconds }, prepared.idle()?))
            }
        }
        let extras = Extras { idle: true, ..Extras::default() };
        let executor = TileExecutor::new(self.device, Some(policy))?.with(extras);
        visit(app, self.size, &mut Idle(executor))
    }
}
