//! Crauser's algorithm on a lane: the paper's plug-in (Figure 13), one source at a time, its kernels launched phase by phase.

use warpweft::error::Result;
use warpweft::farm::{DeviceWords, GpuLane, KernelLane, Words, kernel_compile_check};
use warpweft::memory::filled;

use super::super::crauser::{
    ENDLESS, Lists, count_spread, initialize, minimum, relax, summarise, update,
};
use super::super::graph::{Graph, ROOM};
use super::super::paths::Wants;
use super::super::tentative::Reach;
use super::{Batches, COUNTED};
use warpweft::cuda::Cubin;

/// The kernels for `arch`, without a device.
///
/// # Errors
/// The compiler's.
pub(super) fn compiled(arch: &str) -> Result<Vec<Cubin>> {
    Ok(vec![
        kernel_compile_check::<initialize>(arch)?,
        kernel_compile_check::<relax>(arch)?,
        kernel_compile_check::<minimum>(arch)?,
        kernel_compile_check::<update>(arch)?,
        kernel_compile_check::<summarise>(arch)?,
        kernel_compile_check::<count_spread>(arch)?,
    ])
}

/// The graph, for all lanes of a device.
struct OnDevice {
    begins: DeviceWords<u32>,
    to: DeviceWords<u32>,
    weights: DeviceWords<u32>,
    least_out: DeviceWords<u32>,
}

/// Searches from one source at a time.
pub(super) struct Crauser {
    lane: KernelLane,
    vertices: usize,
    begins: Words<u32>,
    to: Words<u32>,
    weights: Words<u32>,
    least_out: Words<u32>,
    unsettled: Words<u32>,
    frontier: Words<u32>,
    distances: Words<u32>,
    settled_to: Words<u32>,
    beyond: Words<u32>,
    reached: Words<u32>,
    total: Words<u64>,
    /// How many vertices are at each distance, if that is asked for.
    counts: Option<Words<u32>>,
}

impl Crauser {
    /// For `graph` on `lane`.
    ///
    /// # Errors
    /// Too little memory; the compiler's or the driver's.
    pub fn on(lane: GpuLane, graph: &Graph, wants: Wants) -> Result<Self> {
        let shared = lane.shared(|| {
            let lists = Lists::of(graph);
            Ok(OnDevice {
                begins: DeviceWords::upload(&lane, &lists.begins)?,
                to: DeviceWords::upload(&lane, &lists.to)?,
                weights: DeviceWords::upload(&lane, &lists.weights)?,
                least_out: DeviceWords::upload(&lane, &lists.least_out)?,
            })
        })?;
        let vertices = graph.vertices() as usize;
        let mut lane = KernelLane::new(lane)?;
        Ok(Self {
            begins: lane.share(&shared.begins)?,
            to: lane.share(&shared.to)?,
            weights: lane.share(&shared.weights)?,
            least_out: lane.share(&shared.least_out)?,
            unsettled: lane.words(vertices)?,
            frontier: lane.words(vertices)?,
            distances: lane.words(vertices)?,
            settled_to: lane.words(1)?,
            beyond: lane.words(1)?,
            reached: lane.words(2)?,
            total: lane.words(1)?,
            counts: match wants {
                Wants::Spread => Some(lane.words(COUNTED as usize)?),
                _ => None,
            },
            vertices,
            lane,
        })
    }

    fn one(&mut self, source: u32) -> Result<Option<Reach>> {
        let n = self.vertices;
        let (unsettled, frontier, distances) = (self.unsettled, self.frontier, self.distances);
        let settled_to = self.settled_to;
        self.lane.fill(self.beyond, 0)?;
        self.lane.fill(self.reached, 0)?;
        self.lane.fill(self.total, 0)?;
        self.lane.launch(initialize(unsettled, frontier, distances, source), n)?;
        let relaxes = relax(self.begins, self.to, self.weights, frontier, distances, self.beyond);
        loop {
            self.lane.launch(relaxes, n)?;
            self.lane.fill(settled_to, 0xff)?;
            self.lane.launch(minimum(unsettled, distances, self.least_out, settled_to), n)?;
            let mut least = [0];
            self.lane.get(settled_to, 0, &mut least)?;
            if least == [ENDLESS] {
                break;
            }
            self.lane.launch(update(unsettled, frontier, distances, settled_to), n)?;
        }
        self.lane.launch(summarise(distances, self.reached, self.total), n)?;
        if let Some(counts) = self.counts {
            self.lane.fill(counts, 0)?;
            self.lane.launch(count_spread(distances, counts), n)?;
        }
        self.lane.finish(1.0)?;
        let (mut reached, mut total, mut beyond) = ([0; 2], [0], [0]);
        self.lane.get(self.reached, 0, &mut reached)?;
        self.lane.get(self.total, 0, &mut total)?;
        self.lane.get(self.beyond, 0, &mut beyond)?;
        let reach = Reach { reached: reached[0], farthest: reached[1], total: total[0] };
        Ok((beyond == [0]).then_some(reach))
    }
}

impl Batches for Crauser {
    fn sources(&self) -> usize {
        1
    }

    fn search(&mut self, sources: &[u32]) -> Result<Vec<Option<Reach>>> {
        sources.iter().map(|&source| self.one(source)).collect()
    }

    fn distances(&mut self, _: usize) -> Result<Vec<u32>> {
        let mut row = filled(std::iter::repeat_n(0, self.vertices), ROOM)?;
        self.lane.get(self.distances, 0, &mut row)?;
        Ok(row)
    }

    fn spread(&mut self, _: usize, farthest: u32) -> Result<Option<Vec<u32>>> {
        let Some(counts) = self.counts.filter(|_| farthest < COUNTED) else { return Ok(None) };
        let mut list = vec![0; farthest as usize + 1];
        self.lane.get(counts, 0, &mut list)?;
        Ok(Some(list))
    }
}
