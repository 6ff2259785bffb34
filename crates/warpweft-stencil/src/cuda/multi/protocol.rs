//! The protocols of edges.cuh and words.cuh, checked exhaustively: every order in which the tiles of a
//! few slabs can take their steps, on devices that hold few blocks at once. No tile may read a ghost
//! plane of another launch than the one before, and no order may end with a tile that waits.

use std::collections::HashSet;

/// How a field at the cut is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    /// Every launch reads the one array and writes the other, of this many in turn.
    InTurn(usize),
    /// One array; odd launches read it, even ones write it in place.
    InPlace,
    /// In words: the first launch of every trip reads a landing zone, the last one writes it, with so
    /// many slots in turn. The tag, not a flag, says what is there.
    Landed { slots: usize, depth: u8 },
}

#[derive(Clone, Debug)]
struct Model {
    /// Which device each slab is on.
    devices: Vec<usize>,
    /// Whether the first and the last slab are neighbours.
    ring: bool,
    /// Columns of tiles, and columns around its own that a tile's ghosts come from.
    columns: usize,
    reach: usize,
    launches: u8,
    /// Blocks that a device holds at once.
    slots: usize,
    kept: Kept,
    /// How many launches before its own a tile waits for; 1 is right.
    lag: u8,
}

/// Where a tile is: not begun, and for edge tiles in order waiting, reading, storing, telling.
const NEW: u8 = 0;
const WAITING: u8 = 1;
const READING: u8 = 2;
const STORING: u8 = 3;
const TELLING: u8 = 4;
const DONE: u8 = 5;

/// The most slabs, and columns of tiles, of any model.
const SLABS: usize = 3;
const COLUMNS: usize = 2;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct State {
    /// Per slab the launch that runs, from 1 on.
    launch: [u8; SLABS],
    /// Per slab the tiles of that launch in the order of its blocks: below, above, interior; those
    /// that it lacks are done.
    tiles: [[u8; 2 * COLUMNS + 1]; SLABS],
    /// Per slab, side and column: the last launch that the neighbour has said to be done.
    flags: [[[u8; COLUMNS]; 2]; SLABS],
    /// Per slab, side, array and column: the launch that wrote the ghosts.
    ghosts: [[[[u8; COLUMNS]; 2]; 2]; SLABS],
}

#[derive(Debug, PartialEq, Eq)]
enum Fault {
    /// A tile found ghosts of another launch than it needs.
    Wrong { slab: usize, launch: u8, found: u8, wanted: u8 },
    /// Nothing can go on, yet not all is done.
    Stuck,
}

impl Model {
    fn neighbour(&self, slab: usize, side: usize) -> Option<usize> {
        let n = self.devices.len();
        match side {
            0 if slab > 0 => Some(slab - 1),
            1 if slab + 1 < n => Some(slab + 1),
            0 if self.ring => Some(n - 1),
            1 if self.ring => Some(0),
            _ => None,
        }
    }

    /// The number of a slab's edge tiles.
    fn edges(&self, slab: usize) -> usize {
        let sides = (0..2).filter(|&side| self.neighbour(slab, side).is_some()).count();
        sides * self.columns
    }

    /// The side and column of edge tile `tile` of a slab.
    fn place(&self, slab: usize, tile: usize) -> (usize, usize) {
        let first = if self.neighbour(slab, 0).is_some() { 0 } else { 1 };
        (first + tile / self.columns, tile % self.columns)
    }

    fn around(&self, column: usize) -> std::ops::Range<usize> {
        column.saturating_sub(self.reach)..(column + self.reach + 1).min(self.columns)
    }

    fn start(&self) -> State {
        let mut tiles = [[DONE; 2 * COLUMNS + 1]; SLABS];
        (0..self.devices.len()).for_each(|slab| self.begin(slab, &mut tiles));
        let (flags, ghosts) = Default::default();
        State { launch: [1; SLABS], tiles, flags, ghosts }
    }

    fn begin(&self, slab: usize, tiles: &mut [[u8; 2 * COLUMNS + 1]; SLABS]) {
        tiles[slab][..=self.edges(slab)].fill(NEW);
    }

    /// The array that launch `launch` reads and the version it must find there, if it reads.
    fn reads(&self, launch: u8) -> Option<(usize, u8)> {
        match self.kept {
            Kept::InTurn(arrays) => Some(((launch as usize - 1) % arrays, launch - 1)),
            Kept::InPlace => (launch % 2 == 1).then_some((0, launch - 1)),
            Kept::Landed { slots, depth } => {
                let trip = (launch - 1) / depth;
                let first = (launch - 1).is_multiple_of(depth) && trip > 0;
                first.then_some((trip as usize % slots, trip))
            }
        }
    }

    /// The array that launch `launch` writes and the version it leaves there, if it writes.
    fn writes(&self, launch: u8) -> Option<(usize, u8)> {
        match self.kept {
            Kept::InTurn(arrays) => Some((launch as usize % arrays, launch)),
            Kept::InPlace => launch.is_multiple_of(2).then_some((0, launch)),
            Kept::Landed { slots, depth } => {
                let trip = launch / depth;
                launch.is_multiple_of(depth).then_some((trip as usize % slots, trip))
            }
        }
    }

    /// The next state if tile `tile` of `slab` takes a step; `None` if it can't.
    fn step(&self, state: &State, slab: usize, tile: usize) -> Option<Result<State, Fault>> {
        let launch = state.launch[slab];
        let tiles = &state.tiles[slab];
        let mut next = *state;
        let to = &mut next.tiles[slab][tile];
        if tiles[tile] == NEW {
            let device = self.devices[slab];
            let beside = (0..self.devices.len()).filter(|&other| self.devices[other] == device);
            let resident = beside.flat_map(|other| state.tiles[other]);
            let resident = resident.filter(|&at| at != NEW && at != DONE).count();
            // Blocks begin in order, while there is room.
            let first = tiles.iter().position(|&at| at == NEW) == Some(tile);
            *to = WAITING;
            return (first && resident < self.slots).then_some(Ok(next));
        }
        if tile >= self.edges(slab) {
            *to = DONE;
            return (tiles[tile] != DONE).then(|| Ok(self.relaunched(next, slab)));
        }
        let (side, column) = self.place(slab, tile);
        let check = || {
            let (array, wanted) = self.reads(launch)?;
            let ghosts = &state.ghosts[slab][side][array];
            let found = self.around(column).map(|c| ghosts[c]).find(|&found| found != wanted)?;
            Some(Fault::Wrong { slab, launch, found, wanted })
        };
        match tiles[tile] {
            WAITING => {
                let flags = &state.flags[slab][side];
                let mut around = self.around(column);
                let ready = match (self.kept, self.reads(launch)) {
                    // What is not the word waited for is taken for none.
                    (Kept::Landed { .. }, Some((slot, trip))) => {
                        around.all(|c| state.ghosts[slab][side][slot][c] == trip)
                    }
                    (Kept::Landed { .. }, None) => true,
                    _ => around.all(|c| flags[c] + self.lag >= launch),
                };
                *to = READING;
                return ready.then_some(Ok(next));
            }
            // Reading takes a while: what is read must be right at its begin and at its end.
            READING => *to = STORING,
            STORING => *to = TELLING,
            TELLING => *to = DONE,
            _ => return None,
        }
        // Words are taken out before anything is stored; arrays are read until then.
        let until = if matches!(self.kept, Kept::Landed { .. }) { READING } else { STORING };
        if tiles[tile] <= until
            && let Some(fault) = check()
        {
            return Some(Err(fault));
        }
        let other = self.neighbour(slab, side)?;
        if tiles[tile] == STORING
            && let Some((array, version)) = self.writes(launch)
        {
            next.ghosts[other][1 - side][array][column] = version;
        }
        if tiles[tile] == TELLING {
            next.flags[other][1 - side][column] = launch;
        }
        Some(Ok(self.relaunched(next, slab)))
    }

    /// A launch begins when the one before it is done.
    fn relaunched(&self, mut state: State, slab: usize) -> State {
        if state.launch[slab] < self.launches && state.tiles[slab].iter().all(|&at| at == DONE) {
            state.launch[slab] += 1;
            self.begin(slab, &mut state.tiles);
        }
        state
    }

    /// Goes through all states that any order leads to; their number, or the first fault.
    fn check(&self) -> Result<usize, Fault> {
        let start = self.start();
        let mut seen = HashSet::from([start]);
        let mut open = vec![start];
        while let Some(state) = open.pop() {
            let mut stuck = true;
            for slab in 0..self.devices.len() {
                for tile in 0..state.tiles[slab].len() {
                    let Some(next) = self.step(&state, slab, tile) else { continue };
                    stuck = false;
                    let next = next?;
                    if seen.insert(next) {
                        open.push(next);
                    }
                }
            }
            if stuck && state.tiles.iter().flatten().any(|&at| at != DONE) {
                return Err(Fault::Stuck);
            }
        }
        Ok(seen.len())
    }
}

fn model(slabs: usize, ring: bool) -> Model {
    Model {
        devices: (0..slabs).collect(),
        ring,
        columns: 1,
        reach: 0,
        launches: 4,
        slots: 2,
        kept: Kept::InTurn(2),
        lag: 1,
    }
}

#[test]
fn every_order_reads_what_it_needs_and_ends() {
    for kept in [Kept::InTurn(2), Kept::InPlace] {
        for (slabs, ring) in [(2, false), (2, true), (3, false)] {
            for slots in [1, 3] {
                let states = Model { kept, slots, ..model(slabs, ring) }.check().unwrap();
                assert!(states > 50, "{states} states are not all");
            }
        }
        assert!(Model { kept, slots: 1, launches: 3, ..model(3, true) }.check().is_ok());
        // Ghosts that come from the columns beside, too.
        let beside = Model { kept, columns: 2, reach: 1, launches: 3, ..model(2, false) };
        assert!(beside.check().is_ok());
    }
}

#[test]
fn a_wrong_protocol_is_found_out() {
    // Waiting for too early a launch, one array where two must take turns, waiting for one's own launch.
    let late = Model { lag: 2, ..model(2, false) };
    assert!(matches!(late.check(), Err(Fault::Wrong { .. })));
    let late = Model { lag: 2, kept: Kept::InPlace, ..model(2, false) };
    assert!(matches!(late.check(), Err(Fault::Wrong { .. })));
    let single = Model { kept: Kept::InTurn(1), ..model(2, false) };
    assert!(matches!(single.check(), Err(Fault::Wrong { .. })));
    let never = Model { lag: 0, ..model(2, false) };
    assert_eq!(never.check(), Err(Fault::Stuck));
}

#[test]
fn words_are_read_before_they_are_overwritten() {
    let landed = |slots, depth| Kept::Landed { slots, depth };
    for (slabs, ring) in [(2, false), (2, true), (3, false)] {
        for slots in [1, 3] {
            for (depth, launches) in [(1, 4), (2, 6)] {
                let kept = landed(2, depth);
                let states = Model { kept, slots, launches, ..model(slabs, ring) }.check().unwrap();
                assert!(states > 50, "{states} states are not all");
            }
        }
    }
    let beside = Model { kept: landed(2, 1), columns: 2, reach: 1, launches: 3, ..model(2, false) };
    assert!(beside.check().is_ok());
    // With one slot the words of a trip meet tiles that still wait for those of the trip before.
    assert!(Model { kept: landed(1, 1), ..model(2, false) }.check().is_err());
}

#[test]
fn slabs_may_share_a_device_only_if_their_edges_leave_room() {
    // Two slabs in a row have an edge tile each a column.
    let shared = |slots, columns| Model {
        devices: vec![0, 0],
        slots,
        columns,
        launches: 3,
        ..model(2, false)
    };
    assert_eq!(shared(1, 1).check(), Err(Fault::Stuck));
    assert!(shared(3, 1).check().is_ok());
    assert_eq!(shared(2, 2).check(), Err(Fault::Stuck));
    assert!(shared(5, 2).check().is_ok());
}
