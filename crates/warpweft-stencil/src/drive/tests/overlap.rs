//! Ranks whose executor takes time blocks of several steps, the last one before a swap in two parts: a plain loop that
//! computes a core when it is waited for, and damages whatever may not be read.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::checkpoint::State;
use crate::drive::depth::search::Search;
use crate::drive::start::Start;
use crate::drive::subdomain::Built;
use crate::drive::task::{Task, store_all};
use crate::drive::{Distribution, RankReport, deepest_feasible, footprints_of};
use crate::exchange::{BoundarySplit, Cells, Route};
use crate::executor::SweepExecutor;
use crate::model::FusedSteps;
use crate::plan::halo::{Margin, Span};
use crate::plan::{Region, Sweep};
use crate::prelude::*;
use crate::reference::{reference, run_reference};
use crate::spec::residual::Residual;
use crate::spec::total::Total;
use crate::spec::{Spec, Stencil};
use crate::{Partition, PointSource, Probe};
use warpweft_core::cluster::{Tag, Transport};
use warpweft_core::element::CellType;
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{RawVolume, RawVolumeMut, Volume};

/// What lies in cells that nothing has computed.
const DAMAGED: u8 = 0xA5;

struct Plain {
    stencil: Spec,
    now: RawVolume,
    /// Steps of a time block.
    fused_steps: u64,
    /// Whether the last one before a swap is ever in two parts.
    split: bool,
    /// The core that is being computed: what will be there.
    core: Option<(Region, RawVolume)>,
}

impl Plain {
    fn copy(&mut self, from: &RawVolume, Region { low, high }: Region) -> Result<()> {
        (0..self.stencil.cell.len())
            .try_for_each(|f| self.now.set_box(f, low, high, &from.box_bytes(f, low, high)))
    }

    fn settle(&mut self) -> Result<()> {
        self.core.take().map_or(Ok(()), |(core, from)| self.copy(&from, core))
    }
}

impl SweepExecutor for Plain {
    fn sweep(&mut self, sweep: &Sweep) -> Result<()> {
        self.settle()?;
        run_reference(&self.stencil, &mut self.now, sweep.steps).map(drop)
    }
    fn residual(&mut self, _: Residual) -> Result<f64> {
        Err(Error::spec("a residual", "none is asked for"))
    }
    fn finish(&mut self) -> Result<()> {
        self.settle()
    }
    fn store(&mut self, _: RawVolumeMut<'_>) -> Result<()> {
        Err(Error::spec("a volume", "none is asked for"))
    }
    fn read(&mut self, boxes: &[Cells], to: &mut Vec<u8>) -> Result<()> {
        self.settle()?;
        boxes.iter().for_each(|(f, at)| to.extend(self.now.box_bytes(*f, at.low, at.high)));
        Ok(())
    }
    fn write(&mut self, boxes: &[Cells], bytes: &[u8]) -> Result<()> {
        let mut rest = bytes;
        boxes.iter().try_for_each(|(f, at)| {
            let cells = Span::from(*at).cells() * self.stencil.cell.size(*f);
            let (mine, after) = rest.split_at(cells);
            rest = after;
            self.now.set_box(*f, at.low, at.high, mine)
        })
    }
    fn changes(&mut self, _: Residual, _: &Region) -> Result<Total> {
        Err(Error::spec("a residual", "none is asked for"))
    }
    /// Of cells that are there already: a core is not waited for.
    fn send(
        &mut self,
        boxes: &[Cells],
        net: &dyn Transport,
        (to, tag): (usize, Tag),
    ) -> Result<()> {
        let bytes = boxes.iter().flat_map(|(f, at)| self.now.box_bytes(*f, at.low, at.high));
        net.send(to, tag, bytes.collect())
    }
    fn split(&self, own: &Region, sent: &Margin, steps: u64) -> Option<BoundarySplit> {
        let steps = if steps.is_multiple_of(self.fused_steps) { self.fused_steps } else { 1 };
        self.split.then(|| BoundarySplit {
            steps,
            ..BoundarySplit::of_step(*own, sent, own.low.map(|_| 1))
        })
    }
    fn sweep_split(&mut self, split: &BoundarySplit, own: &Region) -> Result<()> {
        self.settle()?;
        let mut next = self.now.clone();
        run_reference(&self.stencil, &mut next, split.steps)?;
        let boxes = || split.boundary.iter().chain([&split.interior]);
        let cells = |region: &Region| Span::from(*region).cells();
        assert_eq!(boxes().map(cells).sum::<usize>(), cells(own), "boxes overlap");
        for f in 0..self.stencil.cell.len() {
            self.now.field_bytes_mut(f).fill(DAMAGED);
        }
        split.boundary.iter().try_for_each(|region| self.copy(&next, *region))?;
        self.core = Some((split.interior, next));
        Ok(())
    }
    fn cell(&self) -> CellType {
        self.stencil.cell
    }
}

#[stencil]
fn stir(u: Near<u32, 2>, by: u32) -> u32 {
    let hash = ((u[[0, 0]] * by) ^ u[[-1, 0]]) * 0x9e37_79b1 + u[[0, 2]];
    (hash ^ u[[1, 0]]) * 0x85eb_ca6b + u[[0, -1]]
}

#[stencil]
fn churn(u: Near<u32, 3>, by: u32) -> u32 {
    let hash = ((u[[0, 0, 0]] * by) ^ u[[-1, 0, 1]]) * 0x9e37_79b1 + u[[0, -1, 0]];
    (hash ^ u[[1, 0, 0]]) * 0x85eb_ca6b + u[[0, 1, 0]]
}

const STEPS: u64 = 59;

/// Runs on ranks with such executors, of which number `unsplit` takes no time block in two parts, until it ends or is stopped;
/// what each did.
fn run<const D: usize>(
    stencil: &Stencil<u32, D>,
    volume: &mut Volume<u32, D>,
    distribution: &Distribution,
    unsplit: Option<usize>,
    stop: Option<&AtomicBool>,
) -> Vec<RankReport> {
    let fused_steps = distribution.fused_steps as u64;
    let build = |stencil: &Spec, volume: &RawVolume, part: usize| -> Built {
        let (stencil, split) = (stencil.clone(), unsplit != Some(part));
        Ok(Box::new(Plain { stencil, now: volume.clone(), fused_steps, split, core: None }))
    };
    let ranks = {
        let raw = volume.raw_mut();
        let task = Task {
            stencil,
            distribution,
            start: Start::Volume(raw),
            first: State::default(),
            steps: STEPS,
            build: &build,
            saving: None,
            trace: None,
            rebalance: None,
            fused_steps: FusedSteps { steps: fused_steps, whole: true },
            halos: Some(Route::Host),
            probed: &Mutex::default(),
        };
        let run = crate::Run { interrupt: stop, ..crate::Run::default() };
        // Asked to once the first steps are done.
        let told = |_| stop.iter().for_each(|stop| stop.store(true, Ordering::Relaxed));
        task.in_process(Duration::from_secs(60), &told, run.stop()).unwrap()
    };
    store_all(volume.raw_mut(), distribution, ranks).unwrap()
}

/// Runs `stencil` on parts of every grid, in time blocks of several lengths, swapped after so many steps.
fn check<const D: usize>(
    stencil: &Stencil<u32, D>,
    start: &Volume<u32, D>,
    grids: &[[usize; D]],
    settings: &[(u64, usize, Option<Search>)],
) {
    for boundary in [Boundary::Periodic, Boundary::Dirichlet(3.0)] {
        let stencil = stencil.clone().boundary(boundary);
        let mut expect = start.clone();
        reference(&stencil, &mut expect, STEPS).unwrap();
        for (&grid, &(fused_steps, depth, search)) in
            grids.iter().flat_map(|grid| settings.iter().map(move |it| (grid, it)))
        {
            let distribution = cut(&stencil, start, grid, (fused_steps, depth, search));
            let depth = distribution.depth as u64;
            let mut found = start.clone();
            let reports = run(&stencil, &mut found, &distribution, None, None);
            let of = format!(
                "{boundary:?}, {grid:?}, R = {depth}, time blocks of {fused_steps}, {search:?}"
            );
            assert!(found.as_slice() == expect.as_slice(), "{of}");
            let passes = |steps: u64| steps / fused_steps + steps % fused_steps;
            for report in &reports {
                // Some were sent ahead, and where both ways are tried some were not.
                assert!(report.ahead > 0, "{of}: {report:?}");
                let both = search.is_none() && fused_steps > 1 && STEPS / depth > 8;
                assert!(!both || report.ahead < report.swaps - 3, "{of}: {report:?}");
                let all = STEPS / depth * passes(depth) + passes(STEPS % depth);
                assert!(
                    search.is_some() || report.passes == all,
                    "{of}: {report:?}, {all} time blocks"
                );
            }
        }
    }
}

fn cut<const D: usize>(
    stencil: &Stencil<u32, D>,
    start: &Volume<u32, D>,
    grid: [usize; D],
    (fused_steps, depth, search): (u64, usize, Option<Search>),
) -> Distribution {
    let boundaries = stencil.boundaries;
    let partition = Partition::grid(start.extents(), grid, &boundaries).unwrap();
    let depth = deepest_feasible(&partition, &boundaries, &footprints_of(stencil), 1, depth);
    Distribution {
        partition,
        depth,
        search,
        fused_steps: fused_steps as usize,
        boundary_first: true,
    }
}

fn plane() -> Volume<u32, 2> {
    Volume::from_fn([31, 46], |[y, x]| (y * 83 + x * 7) as u32)
}

#[test]
fn split_time_blocks_give_the_bits_of_the_reference_at_any_depth() {
    let fixed = [(3, 3), (3, 6), (3, 7), (2, 5), (4, 3), (1, 2)];
    let mut settings: Vec<_> =
        fixed.into_iter().map(|(fused_steps, depth)| (fused_steps, depth, None)).collect();
    // One depth of time blocks of two, three of single steps.
    settings.extend([2, 1].map(|fused_steps| (fused_steps, 3, Some(Search::Exhaustive))));
    check(&Stencil::of(stir(3)), &plane(), &[[2, 1], [1, 3], [2, 2]], &settings);
    let space = Volume::from_fn([13, 12, 14], |[z, y, x]| (z * 911 + y * 83 + x * 7) as u32);
    check(&Stencil::of(churn(5)), &space, &[[2, 2, 2]], &[(2, 2, None), (2, 3, None)]);
}

#[test]
fn sources_and_probes_end_split_time_blocks_as_any() {
    for every in [2, 5, 7] {
        let amplitudes = (0..STEPS).map(|step| if step % every == 1 { 41.0 } else { 0.0 });
        let at = vec![[14, 20], [15, 22], [16, 23]];
        let source = PointSource { field: 0, at: at.clone(), amplitudes: amplitudes.collect() };
        let probe = Probe { field: 0, at, every };
        let stencil = Stencil::of(stir(3)).source(source).probe(probe);
        let mut expect = plane();
        reference(&stencil, &mut expect, STEPS).unwrap();
        for setting in [(3, 3, None), (2, 11, None), (4, 9, None)] {
            let distribution = cut(&stencil, &plane(), [2, 2], setting);
            let mut found = plane();
            let reports = run(&stencil, &mut found, &distribution, None, None);
            assert!(found.as_slice() == expect.as_slice(), "every {every}, {setting:?}");
            assert!(reports.iter().all(|report| report.ahead > 0), "every {every}, {setting:?}");
        }
    }
}

/// What was sent ahead of a swap that never comes is received, or its ranks would wait or take it for
/// another's; by ranks that sent nothing ahead too, whose neighbours wait for them.
#[test]
fn a_run_that_is_asked_to_end_during_a_split_time_block_ends_after_a_whole_step() {
    let stencil = Stencil::of(stir(3)).boundary(Boundary::Periodic);
    for (setting, unsplit) in [(3, 3, None), (3, 6, None), (2, 5, None), (1, 2, None)]
        .into_iter()
        .flat_map(|setting| [None, Some(0), Some(3)].map(|unsplit| (setting, unsplit)))
    {
        let distribution = cut(&stencil, &plane(), [2, 2], setting);
        let (mut found, mut expect) = (plane(), plane());
        let stop = AtomicBool::new(false);
        let reports = run(&stencil, &mut found, &distribution, unsplit, Some(&stop));
        for (rank, report) in reports.iter().enumerate() {
            let swaps = (report.interrupted, report.steps, report.swaps, report.ahead);
            let ahead = u64::from(unsplit != Some(rank));
            assert_eq!(swaps, (true, distribution.depth as u64, 1, ahead), "{report:?}");
        }
        reference(&stencil, &mut expect, distribution.depth as u64).unwrap();
        assert!(found.as_slice() == expect.as_slice(), "{setting:?}, {unsplit:?}");
    }
}
