//! What the functions of faces say of a pass, in device memory: how it is laid out, and the launch that writes it.

use super::{THREADS, VALUES, place_of};
use crate::cuda::launch::boxes::FAR;
use crate::cuda::launch::queued::Queued;
use crate::cuda::memory::layout::Layout;
use crate::cuda::temporal::shape::TemporalShape;
use crate::{Boundary, CudaPolicy, Spec};
use warpweft_core::cuda::{Args, Buffer, Kernel, Launch, Module, Stream};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::Axes;

/// Entries that the values of a field are a multiple of, so that those of any begin at a multiple of 16 bytes.
const ROUND: usize = 16;
/// Entries on either side of all, which lanes beyond the ends of a table may read.
const ASIDE: usize = 1024;
/// Blocks of a launch at most, about; each asks for more entries then. A few for every multiprocessor: each counts itself by an
/// atomic operation on one word.
const BLOCKS: usize = 2048;

/// `struct FaceTable` of frame.cuh.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaceTable {
    entries: usize,
    first: [[usize; 2]; 3],
    low: [i32; 3],
    places: [usize; 3],
    deep: [usize; 3],
    ends: [[i32; 2]; 3],
    /// Places along the face with most.
    most: usize,
    /// Faces.
    faces: usize,
    /// Rows: steps of a pass.
    rows: usize,
    /// Bytes of an entry of all fields.
    entry: usize,
}

impl FaceTable {
    /// For passes of `shape` over arrays laid out so.
    pub fn of(stencil: &Spec, layout: &Layout, shape: &TemporalShape) -> Self {
        let (dims, radius) = (stencil.rank(), stencil.radius());
        let along = [1, 2, 3];
        let mut table = Self {
            low: along.map(|d| -(layout.ghosts[d][0] as i32)),
            places: along.map(|d| layout.ghosts[d].iter().sum::<usize>() + layout.extents[d]),
            deep: [1; 3],
            ends: [[-FAR, FAR]; 3],
            rows: shape.depth + 2,
            entry: shape.fields.iter().map(|&f| stencil.cell.size(f)).sum(),
            ..Self::default()
        };
        // Tiles of volumes read a few planes beyond the ends, too.
        let planes = if shape.stages(dims) { shape.lag() + 2 * shape.kept + 1 } else { 0 };
        let aside = ASIDE + planes * table.places[1].max(table.places[2]);
        table.entries = aside;
        for axis in 0..dims {
            let place = place_of(dims, axis);
            table.deep[place] = radius[axis][0].max(radius[axis][1]).max(1);
            let ends = [0, layout.extents[place + 1] as i32];
            for side in 0..2 {
                let open = stencil.boundaries.0[axis][side] == Boundary::Periodic;
                if !open && !layout.shared[place + 1][side] {
                    table.ends[place][side] = ends[side];
                }
            }
        }
        for (axis, face, _) in stencil.function_faces() {
            let place = place_of(dims, axis);
            let others = (0..3).filter(|&other| other != place).map(|other| table.places[other]);
            let places = others.product::<usize>();
            table.first[place][face as usize] = table.entries;
            table.entries += table.rows * table.deep[place] * places;
            table.most = table.most.max(places);
            table.faces += 1;
        }
        table.entries = (table.entries + aside).next_multiple_of(ROUND);
        table
    }

    /// Bytes of the values of all kernels of fused steps by `policies` over `extents`; 0 without functions.
    pub fn bytes_of(
        stencil: &Spec,
        layout: &Layout,
        extents: Axes<usize>,
        policies: &[CudaPolicy],
    ) -> u64 {
        if !stencil.has_functions() {
            return 0;
        }
        let fused = policies.iter().filter(|policy| policy.kernel.levels());
        let shapes = fused.filter_map(|policy| TemporalShape::of(stencil, policy, extents));
        shapes.map(|shape| Self::of(stencil, layout, &shape).size() as u64).sum()
    }

    /// Bytes of the values.
    pub fn size(&self) -> usize {
        self.entries * self.entry
    }

    /// The struct, byte for byte, of values at this address.
    pub fn bytes(&self, values: u64) -> Vec<u8> {
        let mut bytes = values.to_ne_bytes().to_vec();
        bytes.extend((self.entries as i64).to_ne_bytes());
        bytes.extend(self.first.as_flattened().iter().flat_map(|&n| (n as i32).to_ne_bytes()));
        bytes.extend(self.low.iter().flat_map(|n| n.to_ne_bytes()));
        bytes.extend(self.places.iter().flat_map(|&n| (n as i32).to_ne_bytes()));
        bytes.extend(self.deep.iter().flat_map(|&n| (n as i32).to_ne_bytes()));
        bytes.extend(self.ends.as_flattened().iter().flat_map(|n| n.to_ne_bytes()));
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    /// Blocks that ask for all values: along the places of a face, faces, and rows times distances.
    pub fn blocks(&self) -> [u32; 3] {
        let rows = self.rows * self.deep.iter().max().unwrap_or(&1);
        let most = BLOCKS.div_ceil(self.faces.max(1) * rows);
        let along = self.most.div_ceil(THREADS as usize).clamp(1, most);
        [along as u32, self.faces as u32, rows as u32]
    }
}

/// The values on one device.
#[derive(Debug)]
pub struct FaceValues {
    kernel: Kernel,
    buffer: Buffer,
    pub table: FaceTable,
}

impl FaceValues {
    /// For passes of `shape`, if any face is a function.
    ///
    /// # Errors
    /// More values than kernels can index; the driver's.
    pub fn new(
        stencil: &Spec,
        (layout, shape): (&Layout, &TemporalShape),
        module: &Module,
        stream: &Stream,
    ) -> Result<Option<Self>> {
        if !shape.functions {
            return Ok(None);
        }
        let table = FaceTable::of(stencil, layout, shape);
        if table.entries > i32::MAX as usize {
            return Err(Error::spec(
                format!(
                    "a pass of {} steps has {} values beyond function faces, and kernels index {}",
                    shape.depth,
                    table.entries,
                    i32::MAX
                ),
                "fuse fewer steps, or take a smaller volume",
            ));
        }
        let buffer = Buffer::zeroed(stream, table.size())?;
        Ok(Some(Self { kernel: module.kernel(VALUES)?, buffer, table }))
    }

    /// Where they are.
    pub fn address(&self) -> u64 {
        self.buffer.address()
    }

    /// The launch that writes those of the next pass, which has this frame.
    pub fn ask(&self, stencil: &Spec, frame: &[u8]) -> Queued {
        let mut args = Args::new();
        args.blob(frame, 8);
        for (_, _, function) in stencil.function_faces() {
            if function.parameters_size() > 0 {
                // SAFETY: a function promises that so many bytes are there.
                unsafe { args.opaque(function.parameters(), function.parameters_size()) };
            }
        }
        let launch = Launch::new(self.table.blocks(), [THREADS, 1, 1]);
        Queued { kernel: self.kernel.clone(), launch, args }
    }
}
