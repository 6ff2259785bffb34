//! On all ranks but the first: the units of this one, and the thread that listens for them.

use std::sync::OnceLock;
use std::thread::scope;

use super::far::Far;
use super::message::{Down, Up, closed};
use super::pause::{FIRST, Pause};
use super::{DOWN, UP};
use crate::report::Ended;
use crate::run::{AHEAD, Run};
use crate::slot::Slot;
use crate::workers::Workers;
use warpweft_core::cluster::Transport;
use warpweft_core::error::Result;

/// Has every unit of this rank do its `work` until the first rank says how the farm ended.
///
/// # Errors
/// The farm's; a rank that has aborted.
pub fn follow(
    net: &dyn Transport,
    workers: &Workers,
    run: &Run<'_>,
    work: &(dyn Fn(&Slot<'_>) + Sync),
) -> Result<Ended> {
    let units = workers.table.units.len();
    let far = Far::new(net, units, AHEAD * units);
    let begun = OnceLock::new();
    let how = scope(|scope| {
        // Whatever ends this, an error of another rank too, sends the units home.
        let over = Over(&far);
        let desk = || Box::new(&far) as Box<_>;
        let mut threads = Some(workers.spawn(scope, &desk, run.trace.as_ref(), &begun, work)?);
        let mut asked = false;
        let mut pause = Pause::new();
        loop {
            if let Some(bytes) = net.poll(0, DOWN)? {
                pause.renew();
                match Down::unpack(&bytes)? {
                    Down::Pack { unit, range } => far.answer(unit, range),
                    Down::Taken => far.taken(),
                    Down::Over => far.over(),
                    Down::Closed(how) => {
                        drop(over);
                        return Ok(how);
                    }
                }
                continue;
            }
            if let Some(ended) = threads.take_if(|threads| threads.are_through()) {
                ended.join()?;
                net.send(0, UP, Up::Bye.pack())?;
            }
            // After its farewell nobody listens to this rank.
            if !asked && threads.is_some() && run.stopped() {
                asked = true;
                net.send(0, UP, Up::Interrupted.pack())?;
            }
            far.rest(pause.next(), FIRST);
        }
    })?;
    closed(net.rank(), &how)
}

/// Ends the wait of all units when it goes.
struct Over<'a, 'n>(&'a Far<'n>);

impl Drop for Over<'_, '_> {
    fn drop(&mut self) {
        self.0.over();
    }
}
