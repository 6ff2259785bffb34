//! The threads that compute a wavefront: a pool, or one of its workers alone.

use warpweft_core::cpu::{Aborted, Pool, Worker, WorkerPanic};

/// The threads that compute the tile-rows of a wavefront.
pub(super) trait ThreadGroup {
    /// Calls `rows` once a worker, with the first of its tile-rows and the distance to the next.
    ///
    /// # Errors
    /// A worker's panic.
    fn compute(&self, rows: &TileRows<'_>) -> Result<(), Stopped>;
}

/// The panic that ended a run, if it was not one outside it.
pub(super) type Stopped = Option<WorkerPanic>;

/// What a worker of a thread group does.
pub(super) type TileRows<'a> = dyn Fn(&Worker<'_>, usize, usize) -> Result<(), Aborted> + Sync + 'a;

impl ThreadGroup for Pool {
    fn compute(&self, rows: &TileRows<'_>) -> Result<(), Stopped> {
        self.run(|worker| rows(worker, worker.index, worker.count)).map_err(Some)
    }
}

/// One worker, from top to bottom.
impl ThreadGroup for Worker<'_> {
    fn compute(&self, rows: &TileRows<'_>) -> Result<(), Stopped> {
        rows(self, 0, 1).map_err(|Aborted| None)
    }
}
