//! The CUDA executor of sweeps.

use super::ghosts::{self, Which};
use super::layout::Layout;
use super::residual::{self, Change};
use super::text::{Role, StepText, grid, step_text};
use crate::cuda::{
    Args, Buffer, Device, Element, Global, Graph, Kernel, Launch, Module, Options, Rows, Stream,
    Swizzle, TensorMap, Tiled, compile,
};
use crate::element::{Fields, Unit};
use crate::error::{Error, Result};
use crate::grid::Volume;
use crate::stencil::{
    CudaKernel, CudaPolicy, Region, Residual, Stage, Stencil, Sweep, SweepExecutor,
};

/// Blocks along the grid's third axis at most.
const GRID_Z: usize = 65_535;
/// Steps of a captured graph: even, so that it ends in the arrays it began in.
const GRAPH_STEPS: u64 = 16;

/// Runs sweeps over a copy of a volume in the memory of one GPU.
///
/// A field that is both written and read beside the cell has two arrays that take turns. So a step
/// finds the arrays in one of two states, and the launches of both are prepared once.
pub struct CudaSweeps<S: Fields, const D: usize> {
    stream: Stream,
    stencil: Stencil<S, D>,
    layout: Layout,
    policy: CudaPolicy,
    unit: Unit,
    /// Where an element function's fault is reported, if it can have one.
    fault: Option<Global>,
    /// Per field none, one or two.
    arrays: Vec<Vec<Buffer>>,
    /// Whether a step leaves the field in the other array.
    flips: Vec<bool>,
    /// The launches of a step from either state.
    steps: [Vec<Queued>; 2],
    graphs: [Option<Graph>; 2],
    /// Which state the arrays are in.
    state: usize,
    change: Option<Change>,
    /// Per field the state before the last step, where a step leaves it in neither array.
    kept: Vec<Option<Buffer>>,
    tools: Module,
    local_bytes: u32,
}

/// A launch and its arguments.
#[derive(Debug)]
struct Queued {
    kernel: Kernel,
    launch: Launch,
    args: Args,
}

impl<S: Fields, const D: usize> CudaSweeps<S, D> {
    /// Compiles the step for `device` (or takes it from the cache) and copies `volume` there.
    ///
    /// # Errors
    /// As [`Stencil::check`]; a policy that no kernel can have or this device can't run;
    /// [`Error::Memory`] with the bytes needed and free; the compiler's and the driver's.
    pub fn new(
        stencil: &Stencil<S, D>,
        volume: &Volume<S, D>,
        policy: &CudaPolicy,
        device: &Device,
    ) -> Result<Self> {
        stencil.check(volume.extents())?;
        let policy = policy.shaped::<D>()?;
        let layout = Layout::of(stencil, volume.extents())?;
        let [gx, gy, gz] = grid::<D>(&layout, &policy);
        // Direct kernels of two and three dimensions loop only if told so when compiled.
        let strided = gz > GRID_Z;
        let too_long = gy > GRID_Z || (strided && policy.kernel == CudaKernel::Planes);
        if too_long || gx > i32::MAX as usize {
            return Err(Error::spec(
                format!("a grid of {gx} × {gy} × {gz} blocks for {policy:?}"),
                "take larger blocks, or order the axes so that the longest is the last",
            ));
        }
        if policy.kernel == CudaKernel::Planes && device.capability()? < (9, 0) {
            return Err(Error::spec(
                format!("planes by the copy engine on {}, which has none", device.label()),
                "take March or Direct below compute capability 9.0",
            ));
        }
        let text = step_text(stencil, &policy, strided);
        let arch = device.arch()?;
        let options = Options { contract: policy.contraction, ..Options::default() };
        let names: Vec<_> = stencil.stages.iter().map(|stage| stage.name()).collect();
        let module =
            Module::load(device, &compile(&text.source, &names.join(" + "), &arch, &options)?)?;
        let tools = tools_text();
        let tools = compile(&tools, "ghosts and residuals", &arch, &Options::default())?;
        let tools = Module::load(device, &tools)?;
        let fault = match text.unit.site_of(1) {
            Some(_) => Some(module.global("ww_fault")?),
            None => None,
        };
        let stream = Stream::new(device)?;
        let arrays = allocate(stencil, &layout, &stream)?;
        let fields = 0..S::FIELDS.len();
        let flips = fields
            .clone()
            .map(|f| text.stages.iter().filter(|s| s.roles[f] == Role::Doubled).count() % 2 == 1)
            .collect();
        let mut sweeps = Self {
            stencil: stencil.clone(),
            layout,
            policy,
            unit: text.unit.clone(),
            fault,
            arrays,
            flips,
            steps: [Vec::new(), Vec::new()],
            graphs: [None, None],
            state: 0,
            change: None,
            kept: fields.map(|_| None).collect(),
            tools,
            local_bytes: 0,
            stream,
        };
        let grid = [gx as u32, gy as u32, gz.min(GRID_Z) as u32];
        let kernels = sweeps.kernels(&text, &module)?;
        sweeps.local_bytes =
            kernels.iter().map(|kernel| kernel.attributes().local_bytes).max().unwrap_or(0);
        sweeps.steps =
            [sweeps.queue(&text, &kernels, grid, 0)?, sweeps.queue(&text, &kernels, grid, 1)?];
        if stencil.until.is_some() {
            sweeps.prepare_change()?;
        }
        sweeps.load(volume)?;
        Ok(sweeps)
    }

    /// Bytes of local memory a thread: above 0 the kernel spills registers, and another policy is
    /// likely faster.
    pub fn local_bytes(&self) -> u32 {
        self.local_bytes
    }

    /// The policy in use, with 1 for the axes that the volume lacks.
    pub fn policy(&self) -> &CudaPolicy {
        &self.policy
    }

    /// The queue that sweeps go into, to time them by events.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    fn kernels(&self, text: &StepText, module: &Module) -> Result<Vec<Kernel>> {
        let mut kernels = Vec::new();
        for stage in &text.stages {
            let kernel = module.kernel(&stage.kernel)?;
            if stage.shared > 0 {
                kernel.allow_shared(stage.shared as u32)?;
            }
            kernels.push(kernel);
        }
        Ok(kernels)
    }

    /// The array of field `f` that is current in `state`.
    fn current(&self, f: usize, state: usize) -> usize {
        if self.flips[f] { state } else { 0 }
    }

    /// The address of cell (0, 0, 0, 0) in an array of field `f`.
    fn cell(&self, f: usize, array: &Buffer) -> u64 {
        array.address() + (self.layout.origin * S::FIELDS[f].kind.size()) as u64
    }

    /// The launches of one step that begins in `state`.
    fn queue(
        &self,
        text: &StepText,
        kernels: &[Kernel],
        grid: [u32; 3],
        state: usize,
    ) -> Result<Vec<Queued>> {
        let mut queued = Vec::new();
        let mut now: Vec<usize> = (0..S::FIELDS.len()).map(|f| self.current(f, state)).collect();
        for ((stage, shape), kernel) in self.stencil.stages.iter().zip(&text.stages).zip(kernels) {
            let mut args = Args::new();
            for (f, role) in shape.roles.iter().enumerate() {
                let array = |which: usize| self.cell(f, &self.arrays[f][which]);
                match role {
                    Role::Unused => {}
                    Role::Read | Role::InPlace => _ = args.value(array(now[f])),
                    Role::Doubled => {
                        args.value(array(now[f]));
                        args.value(array(1 - now[f]));
                    }
                }
            }
            for &(f, tile) in &shape.ringed {
                args.tensor_map(&self.tensor_map(f, &self.arrays[f][now[f]], tile)?);
            }
            if self.policy.kernel == CudaKernel::Planes {
                let ghosts = self.layout.ghosts.map(|depth| depth[0] as i32);
                let origin = [self.layout.west as i32, ghosts[2], ghosts[1], ghosts[0]];
                // `int4 origin` is (x, y, z, w) of cell (0, 0, 0, 0); `Maps` takes (w, z, y, x).
                args.value([origin[3], origin[2], origin[1], origin[0]]);
            }
            args.blob(&self.whole_box(), 8);
            if stage.parameters_size() > 0 {
                args.blob(&parameters(&**stage), 16);
            }
            let launch = Launch::new(grid, [32, self.policy.warps, 1]).shared(shape.shared as u32);
            queued.push(Queued { kernel: kernel.clone(), launch, args });
            for (f, role) in shape.roles.iter().enumerate() {
                if *role == Role::Doubled {
                    now[f] = 1 - now[f];
                }
            }
            queued.extend(self.refresh(stage.writes(), &now)?);
        }
        Ok(queued)
    }

    /// The launch that renews the ghosts of those of `fields` that are read beside a cell.
    fn refresh(&self, fields: &[usize], now: &[usize]) -> Result<Option<Queued>> {
        let taps = || self.stencil.stages.iter().flat_map(|stage| stage.taps());
        let beside = |f: usize, axes: usize| {
            taps()
                .any(|tap| tap.field == f && tap.offset.iter().filter(|&&o| o != 0).count() >= axes)
        };
        let haloed: Vec<_> = fields.iter().copied().filter(|&f| beside(f, 1)).collect();
        let corners = haloed.iter().any(|&f| beside(f, 2));
        let which = if corners { Which::All } else { Which::Faces };
        let at: Vec<_> = haloed.iter().map(|&f| (f, self.arrays[f][now[f]].address())).collect();
        self.ghosts(which, &at)
    }

    fn ghosts(&self, which: Which, at: &[ghosts::At]) -> Result<Option<Queued>> {
        let made = ghosts::launch::<S, D>(&self.layout, &self.stencil.boundaries, which, at);
        made.map(|(launch, args)| {
            Ok(Queued { kernel: self.tools.kernel("ww_ghosts")?, launch, args })
        })
        .transpose()
    }

    /// `struct Box` over the whole volume.
    fn whole_box(&self) -> Vec<u8> {
        let mut bytes = vec![0; 16];
        bytes.extend(self.layout.extents.iter().flat_map(|&n| (n as i32).to_ne_bytes()));
        bytes.extend(self.layout.strides[..3].iter().flat_map(|&n| (n as i64).to_ne_bytes()));
        bytes
    }

    /// The padded array of field `f` as the copy engine sees it.
    fn tensor_map(&self, f: usize, array: &Buffer, tile: [usize; 2]) -> Result<TensorMap> {
        let kind = S::FIELDS[f].kind;
        let element = match kind.size() {
            1 => Element::U8,
            4 => Element::I32,
            8 => Element::F64,
            size => {
                return Err(Error::spec(
                    format!("field {:?} of {size}-byte scalars by the copy engine", kind.name()),
                    "take March or Direct for it",
                ));
            }
        };
        let Layout { extents, ghosts, strides, west, origin, .. } = &self.layout;
        let padded = |d: usize| (extents[d] + ghosts[d][0] + ghosts[d][1]) as u64;
        let below = west + (0..3).map(|d| ghosts[d][0] * strides[d]).sum::<usize>();
        let axes = if D == 4 { 4 } else { 3 };
        let sizes = [strides[2] as u64, padded(2), padded(1), padded(0)];
        let steps = [strides[2], strides[1], strides[0]].map(|n| (n * kind.size()) as u64);
        let tiled = Tiled {
            element,
            extents: &sizes[..axes],
            strides: &steps[..axes - 1],
            tile: &[tile[0] as u32, tile[1] as u32, 1, 1][..axes],
            swizzle: Swizzle::None,
        };
        TensorMap::tiled(array, (origin - below) * kind.size(), &tiled)
    }

    /// Copies the volume in and gives every ghost its first value.
    fn load(&mut self, volume: &Volume<S, D>) -> Result<()> {
        self.state = 0;
        let fields: Vec<_> = (0..S::FIELDS.len()).filter(|&f| !self.arrays[f].is_empty()).collect();
        for &f in &fields {
            let (extents, rows) = self.layout.interior(S::FIELDS[f].kind.size());
            let from = (volume.field_bytes(f), Rows::dense(extents));
            self.stream.upload_box(extents, (&self.arrays[f][0], rows), from)?;
        }
        for which in 0..2 {
            let at: Vec<_> = fields
                .iter()
                .filter_map(|&f| Some((f, self.arrays[f].get(which)?.address())))
                .collect();
            if let Some(queued) = self.ghosts(Which::Fixed, &at)? {
                self.launch(&queued)?;
            }
        }
        if let Some(queued) = self.refresh(&fields, &vec![0; S::FIELDS.len()])? {
            self.launch(&queued)?;
        }
        Ok(())
    }

    fn launch(&self, queued: &Queued) -> Result<()> {
        // SAFETY: arguments were put together for this kernel's parameters, from arrays and maps
        // that live as long as `self`; dropping an array waits for the device.
        unsafe { self.stream.launch(&queued.kernel, queued.launch, &queued.args) }
    }

    fn step(&mut self) -> Result<()> {
        for queued in &self.steps[self.state] {
            self.launch(queued)?;
        }
        self.state = 1 - self.state;
        Ok(())
    }

    /// Whether a step leaves the state before it in the other array of field `f`.
    fn survives(&self, f: usize) -> bool {
        let written = self.stencil.stages.iter().filter(|s| s.writes().contains(&f)).count();
        written == 1 && self.flips[f]
    }

    fn prepare_change(&mut self) -> Result<()> {
        if self.change.is_some() {
            return Ok(());
        }
        for f in self.stencil.written_fields() {
            if !self.survives(f) {
                let bytes = self.arrays[f][0].bytes();
                self.kept[f] = Some(Buffer::new(self.stream.device(), bytes)?);
            }
        }
        self.change = Some(Change::new(&self.stream, &self.tools, &self.layout)?);
        Ok(())
    }

    /// Reports a fault of an element function, after all work queued so far.
    fn check_fault(&self) -> Result<()> {
        let Some(fault) = &self.fault else { return self.stream.synchronize() };
        match fault.read::<u32>(&self.stream)? {
            0 => Ok(()),
            code => Err(match self.unit.site_of(code) {
                Some(site) => Error::Element {
                    place: format!("{}:{}", site.file, site.line),
                    what: site.what.into(),
                },
                None => Error::Element {
                    place: self.stream.device().label().into(),
                    what: format!("fault {code}, which is no place of its own"),
                },
            }),
        }
    }
}

impl<S: Fields, const D: usize> SweepExecutor<S, D> for CudaSweeps<S, D> {
    fn sweep(&mut self, sweep: &Sweep<D>) -> Result<()> {
        let [w, z, y, x] = self.layout.extents;
        let extents = super::layout::axes::<D>();
        let mut whole = Region { low: [0; D], high: [0; D] };
        for (axis, n) in extents.into_iter().zip([w, z, y, x]) {
            if let Some(axis) = axis {
                whole.high[axis] = n;
            }
        }
        if sweep.region != whole {
            return Err(Error::spec(
                format!("a sweep over {:?} of {:?}", sweep.region, whole.high),
                "sweep whole volumes on a GPU",
            ));
        }
        if sweep.keep_change {
            self.prepare_change()?;
            for (f, kept) in self.kept.iter().enumerate() {
                if let Some(kept) = kept {
                    let now = &self.arrays[f][self.current(f, self.state)];
                    self.stream.copy(kept, 0, now, 0, kept.bytes())?;
                }
            }
        }
        let mut left = sweep.steps;
        while left >= GRAPH_STEPS {
            if self.graphs[self.state].is_none() {
                let (steps, state) = (&self.steps, self.state);
                let graph = self.stream.capture(|_| {
                    (0..GRAPH_STEPS as usize)
                        .flat_map(|n| &steps[(state + n) % 2])
                        .try_for_each(|queued| self.launch(queued))
                })?;
                self.graphs[state] = Some(graph);
            }
            if let Some(graph) = &mut self.graphs[self.state] {
                graph.launch(&self.stream)?;
            }
            left -= GRAPH_STEPS;
        }
        (0..left).try_for_each(|_| self.step())
    }

    fn residual(&mut self, kind: Residual) -> Result<f64> {
        let Some(change) = &self.change else {
            return Err(Error::spec(
                "a residual of a step whose change was not kept",
                "announce the step with `Sweep::keep_change`",
            ));
        };
        let mut total = 0.0;
        for f in self.stencil.written_fields() {
            let current = self.current(f, self.state);
            let before = match &self.kept[f] {
                Some(kept) => kept,
                None => &self.arrays[f][1 - current],
            };
            let (before, after) = (self.cell(f, before), self.cell(f, &self.arrays[f][current]));
            // SAFETY: both are cells (0, 0, 0, 0) of arrays of this field in this layout.
            let part = unsafe { change.of(&self.stream, kind, S::FIELDS[f].kind, before, after)? };
            total = kind.combine(total, part);
        }
        self.check_fault()?;
        Ok(total)
    }

    fn finish(&mut self) -> Result<()> {
        self.check_fault()
    }

    fn store(&mut self, volume: &mut Volume<S, D>) -> Result<()> {
        let bytes = volume.base_mut();
        for f in self.stencil.written_fields() {
            let size = S::FIELDS[f].kind.size();
            let (extents, rows) = self.layout.interior(size);
            let from = (&self.arrays[f][self.current(f, self.state)], rows);
            // SAFETY: the volume's array of this field, borrowed exclusively.
            let to = unsafe { std::slice::from_raw_parts_mut(bytes[f], volume.len() * size) };
            self.stream.download_box(extents, from, (to, Rows::dense(extents)))?;
        }
        Ok(())
    }
}

impl<S: Fields, const D: usize> std::fmt::Debug for CudaSweeps<S, D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CudaSweeps of {:?} on {:?}", self.layout.extents, self.stream.device())
    }
}

/// The text of the kernels that every stencil shares.
pub(super) fn tools_text() -> String {
    let prelude = Unit::new().source();
    [prelude.as_str(), ghosts::TEXT, residual::TEXT].concat().replace("#pragma once\n", "")
}

/// The bytes of a stage's parameters.
fn parameters<S: Fields, const D: usize>(stage: &dyn Stage<S, D>) -> Vec<u8> {
    let mut bytes = vec![0u8; stage.parameters_size()];
    // SAFETY: the stage says that so many bytes are there; where the struct has padding, the
    // kernel doesn't look at it.
    unsafe {
        std::ptr::copy_nonoverlapping(
            stage.parameters().cast::<u8>(),
            bytes.as_mut_ptr(),
            bytes.len(),
        );
    }
    bytes
}

/// One array for every field in use, two for those that a stage reads beside the cell and writes.
fn allocate<S: Fields, const D: usize>(
    stencil: &Stencil<S, D>,
    layout: &Layout,
    stream: &Stream,
) -> Result<Vec<Vec<Buffer>>> {
    let counts: Vec<usize> = (0..S::FIELDS.len())
        .map(|f| {
            let roles = stencil.stages.iter().map(|stage| super::text::role_of(&**stage, f));
            roles
                .map(|role| match role {
                    Role::Unused => 0,
                    Role::Read | Role::InPlace => 1,
                    Role::Doubled => 2,
                })
                .max()
                .unwrap_or(0)
        })
        .collect();
    let bytes = |f: usize| layout.len * S::FIELDS[f].kind.size();
    let mut needed: usize = counts.iter().enumerate().map(|(f, count)| count * bytes(f)).sum();
    if stencil.until.is_some() {
        needed += Change::bytes(layout);
    }
    let (free, _) = stream.device().memory()?;
    if needed as u64 > free {
        return Err(Error::Memory {
            whose: stream.device().label().into(),
            needed: needed as u64,
            available: free,
            remedy: "choose smaller extents, or run on the CPU".into(),
        });
    }
    let mut arrays = Vec::new();
    for (f, &count) in counts.iter().enumerate() {
        let mut of_field = Vec::new();
        for _ in 0..count {
            // Pads are read by vector loads, though nothing depends on what they hold.
            of_field.push(Buffer::zeroed(stream, bytes(f))?);
        }
        arrays.push(of_field);
    }
    Ok(arrays)
}
