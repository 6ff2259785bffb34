//! Which halo messages a rank sends and receives, planned once for each depth of the ghost zones.

use std::collections::HashMap;
use std::rc::Rc;

use crate::drive::cut::distribution::Distribution;
use crate::exchange::{HaloMessage, halo_messages};
use crate::plan::halo::{Reach, footprints};
use crate::spec::Spec;

/// Per phase of a halo exchange, the messages that this rank sends or receives.
pub(crate) type Phases = Rc<Vec<Vec<HaloMessage>>>;

/// The plans of one rank, made once for each depth.
pub(crate) struct Plans<'a> {
    pub stencil: &'a Spec,
    pub distribution: &'a Distribution,
    pub rank: usize,
    pub known: HashMap<usize, Phases>,
}

impl Plans<'_> {
    /// The phases of an exchange at this depth.
    pub fn of(&mut self, depth: usize) -> Phases {
        let (stencil, partition, rank) = (self.stencil, &self.distribution.partition, self.rank);
        let make = || {
            let reach =
                Reach::new(stencil.rank(), &footprints(&stencil.stages), stencil.cell.len(), depth);
            // Fields that no stage writes never change, so their ghosts stay valid.
            let fields = stencil.written_fields();
            let mut phases = halo_messages(partition, &reach, stencil.cell.fields(), &fields);
            for phase in &mut phases {
                phase.retain(|message| message.from == rank || message.to == rank);
            }
            Rc::new(phases)
        };
        self.known.entry(depth).or_insert_with(make).clone()
    }
}
