//! The arrays that hold a volume's fields on a device, and which of them is current.

use super::layout::Layout;
use crate::Spec;
use crate::cuda::text::reach::{Role, role_of};
use crate::spec::stage::StageList;
use warpweft_core::cuda::{Buffer, Element, Rows, Stream, Swizzle, TensorMap, Tiled};
use warpweft_core::element::ScalarKind;
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::RawVolume;

/// Per field none, one or two padded arrays.
///
/// A field that is both written and read next to the cell has two, which take turns; where steps are fused, every
/// field that is written has. Which are current is the state: [`STEP`] is added to it (without carry) by a
/// step, which leaves some fields in their other array, and [`FUSED`] by fused steps, which leave all that are
/// written there.
#[derive(Debug)]
pub(crate) struct Arrays {
    pub layout: Layout,
    kinds: Vec<ScalarKind>,
    buffers: Vec<Vec<Buffer>>,
    /// Whether a step leaves the field in the other array.
    flips: Vec<bool>,
    /// Whether several fused steps do.
    written: Vec<bool>,
    /// Whether there is room for fused steps.
    pub fused: bool,
    /// The fields, as bits, that steps of other stencils have left in the other array than the state says.
    pub swapped: u32,
    /// Cells along x where kernels of single steps read across the periodic faces themselves, else 0: there are no
    /// ghosts beyond these faces then.
    pub wrap: usize,
}

/// The fields that no stage uses, which never change and of which no device has an array.
pub(crate) type Unused = Vec<(usize, Vec<u8>)>;

/// Gives `volume` the fields that no stage uses.
pub(crate) fn store_unused(unused: &Unused, volume: &mut RawVolume) {
    for (f, bytes) in unused {
        volume.field_bytes_mut(*f).copy_from_slice(bytes);
    }
}

fn roles(stages: &StageList, f: usize) -> impl Iterator<Item = Role> {
    stages.iter().map(move |stage| role_of(&**stage, f))
}

/// What a step changes of a state.
pub(crate) const STEP: usize = 1;
/// What several fused steps change of it.
pub(crate) const FUSED: usize = 2;
/// States that there are.
pub(crate) const STATES: usize = 4;

/// Arrays that field `f` needs, if steps are `fused`.
fn count(stencil: &Spec, f: usize, fused: bool) -> usize {
    if fused && stencil.written_fields().contains(&f) {
        return 2;
    }
    // Others are to compute over the same arrays.
    let all = roles(&stencil.stages, f).chain(roles(&stencil.others, f));
    let arrays = all.map(|role| match role {
        Role::Unused => 0,
        Role::Read | Role::InPlace => 1,
        Role::Doubled => 2,
    });
    arrays.max().unwrap_or(0)
}

/// Whether a step leaves field `f` in its other array.
fn flips(stencil: &Spec, f: usize) -> bool {
    roles(&stencil.stages, f).filter(|role| *role == Role::Doubled).count() % 2 == 1
}

/// The fields of whose state before a step nothing is left after it: residuals are of a copy.
pub(crate) fn overwritten(stencil: &Spec) -> impl Iterator<Item = usize> {
    let stages = |f: usize| stencil.stages.iter().filter(move |s| s.writes().contains(&f)).count();
    stencil.written_fields().into_iter().filter(move |&f| stages(f) > 1 || !flips(stencil, f))
}

/// Bytes of all arrays of this layout, with the copies that residuals need.
pub(crate) fn bytes_of(stencil: &Spec, layout: &Layout, fused: bool) -> u64 {
    let copies = stencil.until.map(|_| overwritten(stencil)).into_iter().flatten();
    let arrays = (0..stencil.cell.len()).map(|f| (f, count(stencil, f, fused)));
    let bytes = |(f, arrays)| (arrays * layout.len * stencil.cell.size(f)) as u64;
    arrays.chain(copies.map(|f| (f, 1))).map(bytes).sum()
}

impl Arrays {
    /// Per field an array more, where residuals need a copy of the state before a step.
    ///
    /// # Errors
    /// The driver's.
    pub fn copies(&self, stencil: &Spec, stream: &Stream) -> Result<Vec<Option<Buffer>>> {
        let mut copies: Vec<_> = self.kinds.iter().map(|_| None).collect();
        for f in overwritten(stencil) {
            copies[f] = Some(Buffer::new(stream.device(), self.buffers[f][0].bytes())?);
        }
        Ok(copies)
    }

    /// Zeroed arrays for every field that `stencil` uses, for steps that are `fused` or not.
    ///
    /// # Errors
    /// [`Error::Memory`] with the bytes needed and free.
    pub fn new(stencil: &Spec, layout: Layout, fused: bool, stream: &Stream) -> Result<Self> {
        let fields = 0..stencil.cell.len();
        let kinds: Vec<_> = stencil.cell.fields().iter().map(|field| field.kind).collect();
        let bytes = |f: usize| layout.len * kinds[f].size();
        let needed = bytes_of(stencil, &layout, fused);
        let (free, _) = stream.device().memory()?;
        if needed > free {
            return Err(Error::Memory {
                whose: stream.device().label().into(),
                needed,
                available: free,
                hint: "choose smaller extents, or run on the CPU".into(),
            });
        }
        let mut buffers = Vec::new();
        for f in fields.clone() {
            // Pads are read by vector loads, though nothing depends on what they hold.
            let of_field = (0..count(stencil, f, fused)).map(|_| Buffer::zeroed(stream, bytes(f)));
            buffers.push(of_field.collect::<Result<Vec<_>>>()?);
        }
        let flips = fields.clone().map(|f| flips(stencil, f)).collect();
        let written = fields.map(|f| fused && stencil.written_fields().contains(&f)).collect();
        Ok(Self { layout, kinds, buffers, flips, written, fused, swapped: 0, wrap: 0 })
    }

    /// The fields that have arrays.
    pub fn fields(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.buffers.len()).filter(|&f| !self.buffers[f].is_empty())
    }

    /// The fields that no stage uses, of which there are no arrays, as they are in `volume`.
    pub fn unused(&self, volume: &RawVolume) -> Unused {
        let fields = (0..self.buffers.len()).filter(|&f| self.buffers[f].is_empty());
        fields.map(|f| (f, volume.field_bytes(f).to_vec())).collect()
    }

    /// Whether every field has as many arrays as single steps of `stencil` need.
    pub fn hold(&self, stencil: &Spec) -> bool {
        (0..self.buffers.len()).all(|f| count(stencil, f, false) <= self.buffers[f].len())
    }

    /// The arrays of field `f`.
    pub fn of(&self, f: usize) -> &[Buffer] {
        &self.buffers[f]
    }

    /// Which array of field `f` is current in `state`.
    pub fn current(&self, f: usize, state: usize) -> usize {
        let (step, fused) = (state & STEP != 0, state & FUSED != 0);
        let other = self.swapped >> f & 1 == 1;
        usize::from((self.flips[f] && step) ^ (self.written[f] && fused) ^ other)
    }

    /// The current array of field `f` in `state`.
    pub fn now(&self, f: usize, state: usize) -> &Buffer {
        &self.buffers[f][self.current(f, state)]
    }

    /// The address of cell (0, 0, 0, 0) in an array of field `f`.
    pub fn cell(&self, f: usize, array: &Buffer) -> u64 {
        array.address() + (self.layout.origin * self.kinds[f].size()) as u64
    }

    /// Array `which` of field `f` as the copy engine sees it, in `dims` dimensions, for tiles of
    /// `tile` elements and rows.
    pub fn tensor_map(
        &self,
        f: usize,
        which: usize,
        tile: [usize; 2],
        dims: usize,
    ) -> Result<TensorMap> {
        let kind = self.kinds[f];
        let element = match kind.size() {
            1 => Element::U8,
            4 => Element::I32,
            8 => Element::F64,
            size => {
                return Err(Error::spec(
                    format!("the copy engine can't copy {} of {size} bytes", kind.name()),
                    "use the kernel `Direct`",
                ));
            }
        };
        let Layout { extents, ghosts, strides, west, origin, .. } = &self.layout;
        let padded = |d: usize| (extents[d] + ghosts[d][0] + ghosts[d][1]) as u64;
        let below = west + (0..3).map(|d| ghosts[d][0] * strides[d]).sum::<usize>();
        let sizes = [strides[2] as u64, padded(2), padded(1), padded(0)];
        let steps = [strides[2], strides[1], strides[0]].map(|n| (n * kind.size()) as u64);
        let tiled = Tiled {
            element,
            extents: &sizes[..dims],
            strides: &steps[..dims - 1],
            tile: &[tile[0] as u32, tile[1] as u32, 1, 1][..dims],
            swizzle: Swizzle::None,
        };
        TensorMap::tiled(&self.buffers[f][which], (origin - below) * kind.size(), &tiled)
    }

    /// Copies `volume` into the first arrays.
    pub fn upload(&self, stream: &Stream, volume: &RawVolume) -> Result<()> {
        for f in self.fields() {
            let (extents, rows) = self.layout.interior(self.kinds[f].size());
            let from = (volume.field_bytes(f), Rows::dense(extents));
            stream.upload_box(extents, (&self.buffers[f][0], rows), from)?;
        }
        Ok(())
    }

    /// Copies `fields` from the arrays that are current in `state`.
    pub fn download(
        &self,
        stream: &Stream,
        state: usize,
        fields: &[usize],
        volume: &mut RawVolume,
    ) -> Result<()> {
        let (bytes, cells) = (volume.base_mut(), volume.len());
        for &f in fields {
            let size = self.kinds[f].size();
            let (extents, rows) = self.layout.interior(size);
            // SAFETY: the volume's array of this field, borrowed exclusively.
            let to = unsafe { std::slice::from_raw_parts_mut(bytes[f], cells * size) };
            let to = (to, Rows::dense(extents));
            stream.download_box(extents, (self.now(f, state), rows), to)?;
        }
        Ok(())
    }
}
