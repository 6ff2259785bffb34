//! The host's half of the exchange by flags (edges.cuh): counters, flags, and who they belong to.

use std::time::Duration;

use super::policy::Layers;
use warpweft_core::cuda::{Buffer, Device, Stream, Stuck, Watchdog};
use warpweft_core::error::{Error, Result};

/// How long a tile waits for its neighbour before it gives up. As long as may be, because what a tile waits
/// for includes the other slab's host thread, which on a crowded host may stand still for seconds without
/// anything being wrong; but a GPU that is lost is to be told of within ten seconds.
pub(super) const TIMEOUT: Duration = Duration::from_secs(8);
/// Words of a line of the L2 cache: what different devices write lies in different lines.
pub(super) const LINE: usize = 32;

/// One slab's counters and flags.
#[derive(Debug)]
pub(super) struct Flags {
    words: Buffer,
    dog: Watchdog,
    layers: Layers,
    /// Layers of edge tiles of the neighbour below at its upper cut, and of the one above.
    senders: [usize; 2],
    /// Tiles in a layer.
    columns: usize,
    /// Groups of tiles along y, and rows of tiles that have cells.
    groups: usize,
    rows: usize,
    /// Along which axes the first and the last column are neighbours: 1 for x, 2 for y.
    around: i32,
}

impl Flags {
    /// All at zero, for a launch of this grid, of which so many rows of tiles along y have cells; the zeroing is
    /// queued in `stream`.
    pub fn new(
        stream: &Stream,
        layers: Layers,
        senders: [usize; 2],
        [gx, gy, gz]: [usize; 3],
        (rows, around): (usize, i32),
    ) -> Result<Self> {
        let groups = (gz / layers.all.max(1)).max(1);
        let columns = gx * gy * groups;
        let words = |layers: usize| (layers * columns).next_multiple_of(LINE);
        let all =
            LINE + words(layers.edge[0] + layers.edge[1]) + words(senders[0]) + words(senders[1]);
        let words = Buffer::zeroed(stream, all * size_of::<u32>())?;
        let dog = Watchdog::new(stream.device(), TIMEOUT)?;
        Ok(Self { words, dog, layers, senders, columns, groups, rows, around })
    }

    /// The address of the words of `part`: the mark of failure, the counters, the flags that the
    /// neighbour below sets, and those that the one above sets.
    fn address(&self, part: usize) -> u64 {
        let words = |layers: usize| (layers * self.columns).next_multiple_of(LINE);
        let edge = self.layers.edge;
        let sizes = [LINE, words(edge[0] + edge[1]), words(self.senders[0])];
        self.words.address() + (sizes[..part].iter().sum::<usize>() * size_of::<u32>()) as u64
    }

    /// `struct Edges` for this slab, whose neighbours below and above have these flags. Cells before
    /// element `bounds[0]` go below, cells from `bounds[1]` on go above.
    pub fn argument(&self, neighbours: [Option<&Flags>; 2], bounds: [i64; 2]) -> Result<Vec<u8>> {
        let [below, above] = neighbours;
        let mut words = vec![self.address(1), self.address(2), self.address(3)];
        words.push(below.map_or(0, |flags| flags.address(3)));
        words.push(above.map_or(0, |flags| flags.address(2)));
        words.push(self.address(0));
        words.extend(bounds.map(|bound| bound as u64));
        words.extend(self.dog.parameter()?);
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let counts = self.layers.edge.iter().chain(&self.senders).chain([&self.groups, &self.rows]);
        let numbers = counts.map(|&n| n as i32).chain([self.around, 0]);
        bytes.extend(numbers.flat_map(|n| n.to_ne_bytes()));
        Ok(bytes)
    }

    /// What a tile of slab `part` reported, if one waited too long for a tile of a neighbour.
    pub fn check(&self, part: usize, neighbours: [usize; 2]) -> Result<()> {
        let Some(report) = self.dog.stuck() else { return Ok(()) };
        let what = format!("launch {} of tile {}", report.wanted, report.flag);
        let other = neighbours[report.other as usize % 2];
        Err(stuck(self.words.device(), part, &report, &what, other))
    }
}

/// The error of a tile of slab `part` that waited too long for `what` of slab `other`.
pub(super) fn stuck(
    device: &Device,
    part: usize,
    report: &Stuck,
    what: &str,
    other: usize,
) -> Error {
    Error::Device {
        stage: "exchanging planes between GPUs".into(),
        device: device.label().into(),
        what: format!(
            "block {} of slab {part} waited {} s for {what} of slab {other}, which has done {}",
            report.block,
            TIMEOUT.as_secs(),
            report.seen
        ),
        hint: "look at `nvidia-smi` for a GPU that is gone or busy, or exchange by copies".into(),
    }
}
