//! The threads that compute a wavefront: a pool, or one of its workers alone.

use warpweft_core::cpu::{Aborted, Pool, Worker, WorkerPanic};
use warpweft_core::run::{Done, Watch};

/// The threads that compute the tile-rows of a wavefront.
pub(super) trait ThreadGroup {
    /// Calls `rows` once a worker, with the first of its tile-rows and the distance to the next.
    ///
    /// # Errors
    /// A worker's panic.
    fn compute(&self, rows: &TileRows<'_>) -> Result<(), Stopped>;

    /// Where the cells that are done are counted, if they are.
    fn done(&self) -> Option<&Done> {
        None
    }
}

/// The panic that ended a run; none if that was elsewhere, or an interrupt.
pub(super) type Stopped = Option<WorkerPanic>;

/// What a worker of a thread group does.
pub(super) type TileRows<'a> = dyn Fn(&Worker<'_>, usize, usize) -> Result<(), Aborted> + Sync + 'a;

/// All workers of a pool, until `watch` says to end.
pub(super) struct Watched<'e, 'a> {
    pub pool: &'e Pool,
    pub watch: &'e Watch<'a>,
}

impl ThreadGroup for Watched<'_, '_> {
    fn compute(&self, rows: &TileRows<'_>) -> Result<(), Stopped> {
        let each = |worker: &Worker<'_>| rows(worker, worker.index, worker.count);
        self.watch.run(self.pool, each).map_err(Some)?;
        self.watch.completed().map_err(|_| None)
    }

    fn done(&self) -> Option<&Done> {
        Some(self.watch.done())
    }
}

/// One worker, from top to bottom.
impl ThreadGroup for Worker<'_> {
    fn compute(&self, rows: &TileRows<'_>) -> Result<(), Stopped> {
        rows(self, 0, 1).map_err(|Aborted| None)
    }
}
