//! The messages of one swap: a pure function of partition and reach.
//!
//! Ghost zones are filled in one phase per axis, the fastest axis first (x, y, z in B2R table 1).
//! Each phase sends planes that include the ghost cells received in the phases before, so corners
//! arrive without messages of their own: at most two messages a part and phase instead of
//! 3^D − 1 in all. Messages of one phase may travel in any order; a part must have received its
//! messages of a phase before it packs those of the next.

use crate::plan::halo::{Reach, Span};
use crate::plan::partition::Partition;
use crate::spec::boundary::Face;
use warpweft_core::cluster::Tag;
use warpweft_core::element::FieldInfo;
use warpweft_core::grid::Axes;

/// One field's cells in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Field number.
    pub field: usize,
    /// The cells to read, in the sender's frame.
    pub read: Span,
    /// The cells to write, in the receiver's frame: as many, in the same order.
    pub write: Span,
}

/// What one part sends another in one phase: all fields together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HaloMessage {
    /// The part that sends.
    pub from: usize,
    /// The part that receives.
    pub to: usize,
    /// The axis along which the parts are neighbours.
    pub axis: usize,
    /// The face of the receiver at which the ghost cells lie.
    pub face: Face,
    /// The cells, field by field, in ascending field order.
    pub pieces: Vec<Piece>,
    /// Bytes of all pieces.
    pub bytes: u64,
}

impl HaloMessage {
    /// Two parts may be neighbours at two faces; axis and face tell their messages apart.
    pub fn tag(&self) -> Tag {
        let face = match self.face {
            Face::Low => 0,
            Face::High => 1,
        };
        Tag((2 * self.axis + face) as u32)
    }
}

/// The messages of one swap, phase by phase; within a phase by receiver, low face first.
///
/// `swapped` are the fields that travel: those that a step writes, and before the first step all
/// that are read. Fields whose ghosts are zero deep send nothing.
///
/// The zones must be feasible, see [`crate::drive::check_depth`]; otherwise regions reach beyond what a
/// neighbour owns.
pub fn halo_messages(
    partition: &Partition,
    reach: &Reach,
    fields: &[FieldInfo],
    swapped: &[usize],
) -> Vec<Vec<HaloMessage>> {
    let dims = partition.rank();
    let mut phases = Vec::new();
    for axis in (0..dims).rev().filter(|&axis| partition.is_cut(axis)) {
        let mut phase = Vec::new();
        for to in 0..partition.parts() {
            for face in [Face::Low, Face::High] {
                let Some(from) = partition.neighbour(to, axis, face) else { continue };
                let pieces: Vec<_> = swapped
                    .iter()
                    .filter_map(|&field| piece(partition, reach, field, to, axis, face))
                    .collect();
                let size = |p: &Piece| p.read.cells() * fields[p.field].kind.size();
                let bytes = pieces.iter().map(size).sum::<usize>() as u64;
                if bytes > 0 {
                    phase.push(HaloMessage { from, to, axis, face, pieces, bytes });
                }
            }
        }
        phases.push(phase);
    }
    phases
}

/// The ghost cells of one field that `to` receives at one face, if there are any.
fn piece(
    partition: &Partition,
    reach: &Reach,
    field: usize,
    to: usize,
    axis: usize,
    face: Face,
) -> Option<Piece> {
    let dims = partition.rank();
    let ghosts = &reach.ghosts[field];
    // Own cells along the axes still to come, ghosts included along those done.
    let mut done = Axes::filled(dims, [0; 2]);
    done[axis + 1..].copy_from_slice(&ghosts[axis + 1..]);
    let mut write = partition.grown(to, &done);
    let own = partition.region(to);
    // From the receiver's frame into the sender's: a wrap around a periodic axis moves by its
    // extent.
    let extent = partition.extents()[axis] as isize;
    let mut shift = Axes::filled(dims, 0);
    match face {
        Face::Low => {
            write.high[axis] = own.low[axis] as isize;
            write.low[axis] = write.high[axis] - ghosts[axis][0] as isize;
            shift[axis] = if own.low[axis] == 0 { extent } else { 0 };
        }
        Face::High => {
            write.low[axis] = own.high[axis] as isize;
            write.high[axis] = write.low[axis] + ghosts[axis][1] as isize;
            shift[axis] = if write.low[axis] == extent { -extent } else { 0 };
        }
    }
    (write.cells() > 0).then(|| Piece { field, read: write.shifted(shift), write })
}
