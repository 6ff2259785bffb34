//! How steps are queued on several GPUs: in turns in which the devices exchange planes themselves, or with copies.

use super::policy::Exchange;
use super::slab::{Slab, StageLaunch};
use super::sweeps::Slabs;
use warpweft_core::cuda::undisturbed;
use warpweft_core::error::{Error, Result, no_thread};

impl<const D: usize> Slabs<D> {
    /// Queues turns in which the devices exchange planes themselves, and by copies the steps that
    /// make no turn; the state they end in.
    pub(super) fn run_by_devices(&mut self, steps: u64) -> Result<usize> {
        if self.problem.text.resident.is_some() {
            return self.stay(steps);
        }
        let depth = u64::from(self.problem.policy.steps_a_turn());
        self.state = self.run_turns(steps / depth)?;
        if !steps.is_multiple_of(depth) {
            // Copies and flags know nothing of one another.
            self.meet()?;
            if self.problem.text.words.is_some() {
                // Words go to ghost planes when a trip begins, and none did.
                self.exchange(&self.slabs[0].used(self.state))?;
            }
            self.state = self.run_by_copies(steps % depth)?;
            for slab in &self.slabs {
                slab.landing.as_ref().map_or(Ok(()), |landing| landing.reset(&slab.stream))?;
            }
            self.meet()?;
        }
        Ok(self.state)
    }

    /// Lets every slab's next work wait for its neighbours' present work.
    pub(super) fn meet(&self) -> Result<()> {
        self.mark_stages()?;
        for (part, slab) in self.slabs.iter().enumerate() {
            for neighbour in self.problem.neighbours(part).into_iter().flatten() {
                slab.stream.wait(&self.marks[neighbour][0])?;
            }
        }
        Ok(())
    }

    /// Queues all turns on every device at once, a thread a device: a device's queue may be full
    /// until its neighbours' launches are queued too. The state they end in.
    pub(super) fn run_turns(&mut self, turns: u64) -> Result<usize> {
        let state = self.state;
        // A pipelined trip goes from one array to the other, however many steps it has.
        let trips = self.problem.text.trip.is_some();
        let flips = if trips { 1 } else { self.problem.policy.steps_a_turn() as usize };
        let end = (state + (turns % 2) as usize * flips) % 2;
        // Before anything runs: preparing a graph may wait for a device.
        self.slabs.iter_mut().try_for_each(|slab| slab.prepare(turns, state, flips))?;
        if let [slab] = self.slabs.as_mut_slice() {
            return slab.run(turns, state, flips).map(|()| end);
        }
        let _alone = self.shared.then(undisturbed);
        std::thread::scope(|scope| {
            // Slabs whose thread is refused leave the others waiting until their time is up.
            let spawn = |slab| {
                let named = std::thread::Builder::new().name("launches".into());
                named.spawn_scoped(scope, move || Slab::run(slab, turns, state, flips))
            };
            let running: Vec<_> = self.slabs.iter_mut().map(spawn).collect();
            let mut outcome = Ok(());
            for thread in running {
                let of_slab = match thread {
                    Ok(thread) => thread.join().unwrap_or_else(|_| {
                        Err(Error::spec("a launching thread panicked", "report this as a defect"))
                    }),
                    Err(error) => Err(no_thread("launching on several GPUs", &error)),
                };
                outcome = outcome.and(of_slab);
            }
            outcome.map(|()| end)
        })
    }

    /// Queues steps stage by stage, or trip by trip, with copies of planes between; the state they
    /// end in.
    pub(super) fn run_by_copies(&mut self, steps: u64) -> Result<usize> {
        let mut state = self.state;
        let depth = self.problem.policy.cuda.temporal_depth.max(1) as u64;
        let mut left = steps;
        let trips = self.problem.policy.exchange == Exchange::Copies;
        while trips && left >= depth && self.slabs.iter().all(|slab| slab.trips.is_some()) {
            self.stage(|slab| slab.trips.as_ref()?[state].first())?;
            state = 1 - state;
            left -= depth;
        }
        for _ in 0..left {
            for stage in 0..self.problem.stencil.stages.len() {
                self.stage(|slab| slab.steps[state].get(stage))?;
            }
            state = 1 - state;
        }
        Ok(state)
    }

    /// Queues `launch` of every slab, and the exchange of what it writes.
    pub(super) fn stage<'a>(
        &'a self,
        launch: impl Fn(&'a Slab) -> Option<&'a StageLaunch>,
    ) -> Result<()> {
        let mut sent: &[(usize, usize)] = &[];
        for (part, slab) in self.slabs.iter().enumerate() {
            let Some(queued) = launch(slab) else { continue };
            // The neighbours have taken the planes that this stage may overwrite.
            for neighbour in self.problem.neighbours(part).into_iter().flatten() {
                slab.stream.wait(&self.marks[neighbour][1])?;
            }
            slab.stage(queued)?;
            sent = &queued.sent;
        }
        self.mark_stages()?;
        self.exchange(sent)
    }

    pub(super) fn mark_stages(&self) -> Result<()> {
        let mut slabs = self.slabs.iter().zip(&self.marks);
        slabs.try_for_each(|(slab, marks)| slab.stream.record(&marks[0]))
    }

    /// Queues copies of `sent` fields' planes into every slab's ghost zones.
    pub(super) fn exchange(&self, sent: &[(usize, usize)]) -> Result<()> {
        for (part, slab) in self.slabs.iter().enumerate() {
            for neighbour in self.problem.neighbours(part).into_iter().flatten() {
                slab.stream.wait(&self.marks[neighbour][0])?;
            }
            slab.pull(self.neighbours(part), sent)?;
            slab.stream.record(&self.marks[part][1])?;
        }
        Ok(())
    }
}
