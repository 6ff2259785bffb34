//! The host's half of the exchange in words (words.cuh): landing zones and counters of trips.

use super::edges::{LINE, TIMEOUT, stuck};
use super::policy::Layers;
use warpweft_core::cuda::{Buffer, Stream, Watchdog};
use warpweft_core::error::Result;

/// Where one slab's ghost planes arrive, and what its tiles count.
#[derive(Debug)]
pub(super) struct Landing {
    /// The mark of failure, then the counters of tiles that wait and of tiles that send.
    counters: Buffer,
    /// Below then above, two slots each.
    zones: Buffer,
    dog: Watchdog,
    /// Planes of the ghost zones; 0 where there is no cut.
    deep: [usize; 2],
    /// Eight-byte words of a slot, the same for all slabs.
    slot: usize,
    /// Words of the counters of each kind.
    tiles: usize,
}

/// One launch of a trip, in the eyes of the exchange.
#[derive(Clone, Copy, Debug)]
pub(super) struct WordLaunch {
    /// Whether it is the first of a trip, which receives.
    pub first: bool,
    /// Whether it is the last, which sends.
    pub last: bool,
    /// Layers of tiles.
    pub layers: Layers,
    /// Groups of tiles along y.
    pub groups: usize,
}

impl Landing {
    /// Nothing has arrived. `deep` planes go each way across the cuts that there are (0 where there
    /// is none), of `plane` words; launches have at most `tiles` tiles at cuts.
    pub fn new(stream: &Stream, deep: [usize; 2], plane: usize, tiles: usize) -> Result<Self> {
        let slot = deep[0].max(deep[1]) * plane;
        let tiles = tiles.next_multiple_of(LINE);
        Ok(Self {
            counters: Buffer::zeroed(stream, (LINE + 2 * tiles) * size_of::<u32>())?,
            zones: Buffer::zeroed(stream, 4 * slot * size_of::<u64>())?,
            dog: Watchdog::new(stream.device(), TIMEOUT)?,
            deep,
            slot,
            tiles,
        })
    }

    /// Queues that nothing has arrived, once more. Nobody may be sending.
    pub fn reset(&self, stream: &Stream) -> Result<()> {
        stream.fill(&self.counters, 0)?;
        stream.fill(&self.zones, 0)
    }

    /// The landing zone on `side`.
    fn zone(&self, side: usize) -> u64 {
        self.zones.address() + (side * 2 * self.slot * size_of::<u64>()) as u64
    }

    /// `struct Words` for a launch over a slab of `planes` planes, between `neighbours`.
    pub fn argument(
        &self,
        neighbours: [Option<&Landing>; 2],
        planes: usize,
        launch: WordLaunch,
    ) -> Result<Vec<u8>> {
        let word = size_of::<u32>() as u64;
        let counter = |kind: u64| self.counters.address() + (LINE as u64 + kind) * word;
        let received = if launch.first { counter(0) } else { 0 };
        // A launch that does both counts once.
        let kind = if launch.first { 0 } else { self.tiles as u64 };
        let sent = if launch.last { counter(kind) } else { 0 };
        let [below, above] = neighbours;
        let mut words = vec![received, sent, self.zone(0), self.zone(1)];
        words.push(below.map_or(0, |landing| landing.zone(1)));
        words.push(above.map_or(0, |landing| landing.zone(0)));
        words.push(self.counters.address());
        words.extend(self.dog.parameter()?);
        // Half of a zone; where one side is shallower, its slots are as long.
        words.push(self.slot as u64);
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let sent_deep = [0, 1].map(|side| neighbours[side].map_or(0, |it| it.deep[1 - side]));
        let exchanges = launch.first || launch.last;
        let layers = if exchanges { launch.layers.edge } else { [0; 2] };
        let numbers = self.deep.iter().chain(&sent_deep).chain(&layers);
        let numbers = numbers.chain([&launch.groups, &planes]).map(|&n| n as i32);
        bytes.extend(numbers.flat_map(i32::to_ne_bytes));
        Ok(bytes)
    }

    /// What a tile of slab `part` reported, if one waited too long for a neighbour's words.
    pub fn check(&self, part: usize, neighbours: [usize; 2]) -> Result<()> {
        let Some(report) = self.dog.stuck() else { return Ok(()) };
        let other = neighbours[report.other as usize % 2];
        let what = format!("trip {}, cell {}", report.wanted, report.flag as i32);
        Err(stuck(self.counters.device(), part, &report, &what, other))
    }
}
