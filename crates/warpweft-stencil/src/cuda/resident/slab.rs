//! Tiles over one slab of a volume: what their launches share, and how one is made.

use std::time::Duration;

use super::shape::ResidentShape;
use crate::cuda::launch::boxes::hold;
use crate::cuda::launch::queue::Queue;
use crate::cuda::launch::queued::{Queued, element_argument};
use crate::cuda::memory::layout::{Layout, axes};
use crate::{Boundary, CudaPolicy};
use warpweft_core::cuda::{Args, Buffer, Kernel, Launch, Stream, Stuck, Watchdog};
use warpweft_core::error::{Error, Result};

/// How long a tile waits for its neighbours before it gives up; as edges.rs, for the same reasons.
const TIMEOUT: Duration = Duration::from_secs(8);

/// What a slab's launches of the resident kernel share.
#[derive(Debug)]
pub struct Resident {
    kernel: Kernel,
    pub(super) launch: Launch,
    shape: ResidentShape,
    /// Along z, y and x.
    tiles: [usize; 3],
    messages: Buffer,
    pub(super) flags: Buffer,
    pub(super) dog: Watchdog,
    /// Since the flags were zero.
    pub(super) posts: u32,
}

impl Resident {
    /// For tiles over `layout`, of which each of `slabs` slabs on this device has as many. The zeroing of
    /// messages are queued in `stream`.
    ///
    /// # Errors
    /// More tiles than the device holds at once; [`ResidentShape::check`]'s; the driver's.
    pub fn new(
        policy: &CudaPolicy,
        (shape, kernel): (&ResidentShape, Kernel),
        layout: &Layout,
        stream: &Stream,
        slabs: usize,
    ) -> Result<Self> {
        kernel.allow_shared(shape.shared as u32)?;
        let tiles = shape.tiles(layout);
        let blocks: usize = tiles.iter().product();
        let device = stream.device();
        let each = kernel.blocks_per_sm(32 * policy.warps, shape.shared as u32)?;
        shape.room(blocks * slabs, (device.sms()?, each))?;
        let mut launch =
            Launch::new([blocks as u32, 1, 1], [32, policy.warps, 1]).shared(shape.shared as u32);
        // Kernels that share a device are not both cooperative at once.
        launch.cooperative = slabs == 1;
        let [messages, flags] = shape.bytes(blocks);
        let (messages, flags) = (Buffer::zeroed(stream, messages)?, Buffer::zeroed(stream, flags)?);
        let dog = Watchdog::new(device, TIMEOUT)?;
        Ok(Self { kernel, launch, shape: *shape, tiles, messages, flags, dog, posts: 0 })
    }

    /// The next launches' numbers of steps that make up `steps`.
    pub fn launches(steps: u64) -> impl Iterator<Item = u64> {
        let most = CudaPolicy::RESIDENT_STEPS;
        (0..steps.div_ceil(most)).map(move |n| most.min(steps - n * most))
    }

    /// Counts a launch of `steps` steps.
    pub fn count(&mut self, steps: u64) {
        self.posts = self.posts.wrapping_add(steps.div_ceil(self.shape.depth as u64) as u32);
    }

    /// `struct Beyond` of these tiles, for a neighbour.
    fn beyond(&self) -> [u64; 3] {
        [self.messages.address(), self.flags.address(), self.tiles[0] as u64]
    }

    /// What a tile reported, if one waited too long for another.
    pub fn stuck(&self) -> Option<Stuck> {
        self.dog.stuck()
    }

    /// The error of such a tile.
    ///
    /// # Errors
    /// Names the tile, the direction it waited for, as signs along z, y and x, and the post.
    pub fn check(&self) -> Result<()> {
        let Some(report) = self.stuck() else { return Ok(()) };
        let direction =
            [report.flag / 9, report.flag / 3 % 3, report.flag % 3].map(|o| o as i32 - 1);
        let whose =
            ["the slab below", "the slab above", "its own slab"][report.other.min(2) as usize];
        Err(Error::Device {
            stage: "exchanging halos between tiles of a persistent kernel".into(),
            device: self.messages.device().label().into(),
            what: format!(
                "tile {} waited {} s for halo {} from the tile {direction:?} of it (z, y, x) in {whose}, which has sent {}",
                report.block,
                self.dog.timeout().as_secs_f64(),
                report.wanted,
                report.seen
            ),
            hint: "look at `nvidia-smi` for a GPU that is gone or busy, or take another kernel"
                .into(),
        })
    }
}

impl Queue<'_> {
    /// The launches of `steps` steps from `state` by resident tiles, and of the ghosts after, over a slab with
    /// `before` of the volume's `all` planes before it; `beyond` are the tiles below and above it.
    ///
    /// # Errors
    /// The driver's.
    pub fn resident(
        &self,
        home: &Resident,
        (beyond, [before, all]): ([Option<&Resident>; 2], [usize; 2]),
        state: usize,
        steps: u64,
    ) -> Result<Vec<Queued>> {
        let layout = &self.arrays.layout;
        let [mut low, mut high] = hold(self.stencil, layout);
        // Overlap cells reach across cuts, and past a thin slab to the face beyond it, which holds its cells there too.
        let held = |face: &Boundary| matches!(face, Boundary::Dirichlet(_));
        let faces = &self.stencil.boundaries.0[0];
        if held(&faces[0]) {
            low[0] = -(before as i32);
        }
        if held(&faces[1]) {
            high[0] = (all - before) as i32;
        }
        let extents = [1, 2, 3].map(|axis| layout.extents[axis] as i32);
        let ghosts = |side: usize| [1, 2, 3].map(|axis| layout.ghosts[axis][side] as i32);
        let (below, above) = (ghosts(0).map(|n| -n), ghosts(1));
        let above = [0, 1, 2].map(|axis| extents[axis] + above[axis]);
        let tiles = home.tiles.map(|n| n as i32);
        let wraps = axes(layout.dims).map(|axis| {
            let periodic = |d: usize| self.stencil.boundaries.0[d][0] == Boundary::Periodic;
            i32::from(axis.is_some_and(periodic))
        });
        let numbers = [extents, low, high, below, above, tiles, [wraps[1], wraps[2], wraps[3]]];
        let mut told: Vec<u8> =
            numbers.as_flattened().iter().flat_map(|n| n.to_ne_bytes()).collect();
        let launch = [steps as u32, home.posts, 0];
        told.extend(launch.iter().flat_map(|n| n.to_ne_bytes()));
        told.extend(layout.strides[1..3].iter().flat_map(|&n| (n as i64).to_ne_bytes()));
        // Across a periodic face a volume is its own neighbour.
        let own = (wraps[1] == 1 && layout.shared[1] == [false; 2]).then_some(home);
        let mut words = vec![home.messages.address(), home.flags.address()];
        for tiles in beyond {
            words.extend(tiles.or(own).map_or([0; 3], Resident::beyond));
        }
        words.extend(home.dog.parameter()?);
        told.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        let mut args = Args::new();
        let array = |which: usize| self.arrays.cell(0, &self.arrays.of(0)[which]);
        args.value(array(state));
        args.value(array(1 - state));
        args.blob(&told, 8);
        element_argument(&mut args, &*self.stencil.stages[0]);
        let mut queued = vec![Queued { kernel: home.kernel.clone(), launch: home.launch, args }];
        queued.extend(self.renew(&[0], &[1 - state])?);
        Ok(queued)
    }
}
