//! Scores of many problems that have the same rows, such as a query's in a database: by cells of 16 bits, two in a
//! register. Only those whose scores are known to fit.

use std::collections::HashMap;
use std::time::Instant;

use super::database::Database;
use super::items::{Items, Target};
use super::launch::{Step, timed};
use super::place::Pooled;
use super::text::{Item, SEARCH_WARPS, Search, search_options, search_source};
use crate::cuda::strips::executor::CudaExecutor;
use crate::cuda::strips::subdomain::Gpu;
use crate::cuda::tables::OnDevice;
use crate::policy::{CudaPolicy, Policy};
use crate::recurrence::bytes_of;
use crate::report::{Totals, report_of};
use crate::spec::{ElementType, Erased, ErasedPairs};
use warpweft_core::cuda::{Args, Buffer, Kernel, Launch, Module, Stream, compile};
use warpweft_core::element::ScalarKind;
use warpweft_core::error::{Error, Result};
use warpweft_core::report::Report;

/// Rows of a launch at most.
const PASS: usize = 1024;
/// Problems of the same rows that are worth a table of their scores.
const FEWEST: usize = 64;
/// Symbols of columns at most, as in search.cuh.
const SYMBOLS: usize = 32;
/// How far from 0 the numbers of cells may be. Cells outside that are less than [`LEAST`] are taken to be it: with what is
/// added to it, they are less than all others still, and no number leaves 16 bits.
const RANGE: [f64; 2] = [-8_000.0, 32_000.0];
/// The same as `NEAR_LEAST` in near.cuh, below 0.
const LEAST: i32 = -(1 << 14);
/// Blocks of the kernel that asks whether 16 bits are enough.
const WIDTH_BLOCKS: u32 = 32;
/// Bytes from the beginning of what is copied for a search to the borders: before them there is a word for whether 16 bits
/// are too few.
const BORDERS: usize = 256;
/// Kernels that are kept loaded at most.
const KERNELS: usize = 64;

/// A search that was done.
pub(super) struct Searched {
    /// Of each problem whether it was searched, unless all were.
    pub done: Option<Vec<bool>>,
    pub report: Report,
}

/// Problems of the same rows.
struct Group {
    rows: usize,
    problems: Which,
}

enum Which {
    /// All of a database.
    All,
    Some(Vec<u32>),
}

/// Whether two cells fit a register.
fn can(first: &Erased<'_>) -> bool {
    let ElementType { paired, score, cell, column, members, .. } = first.element;
    paired
        && score == ScalarKind::I32
        && cell == 4 * members.len().max(1)
        && column == 1
        && first.border.corner().is_some_and(|cells| {
            let numbers = cells.into_iter().flat_map(|cell| cell.chunks_exact(4));
            let number =
                |bytes: &[u8]| i32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            numbers.map(number).all(|number| number <= -LEAST)
        })
}

/// The groups of `pairs` that are worth a search, with those of their problems whose scores fit.
fn groups(pairs: &dyn ErasedPairs) -> Vec<Group> {
    let fit = |rows: usize, columns: usize| {
        let bounds = pairs.bounds(pairs.rows(rows).1, columns);
        bounds.is_some_and(|[least, most]| least >= RANGE[0] && most <= RANGE[1])
    };
    if let Some(database) = pairs.database()
        && pairs.len() >= FEWEST
        && fit(0, database.longest)
    {
        return vec![Group { rows: 0, problems: Which::All }];
    }
    let mut all: Vec<(usize, Vec<u32>)> = Vec::new();
    let mut known = HashMap::new();
    for (k, &[rows, _]) in pairs.pairs().iter().enumerate() {
        let rows = rows as usize;
        let at = match all.last() {
            Some((last, _)) if *last == rows => all.len() - 1,
            _ => *known.entry(rows).or_insert_with(|| {
                all.push((rows, Vec::new()));
                all.len() - 1
            }),
        };
        all[at].1.push(k as u32);
    }
    for (rows, problems) in &mut all {
        let columns = |k: &u32| pairs.extents(*k as usize)[1];
        let longest = problems.iter().map(columns).max().unwrap_or(0);
        let most = most_that_fit(longest, |columns| fit(*rows, columns));
        problems.retain(|k| columns(k) <= most);
    }
    all.retain(|(_, problems)| problems.len() >= FEWEST);
    let group = |(rows, problems)| Group { rows, problems: Which::Some(problems) };
    all.into_iter().map(group).collect()
}

/// The most columns up to `longest` that fit: more columns, greater scores.
fn most_that_fit(longest: usize, fit: impl Fn(usize) -> bool) -> usize {
    if fit(longest) {
        return longest;
    }
    let (mut low, mut high) = (0, longest);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fit(middle) { low = middle } else { high = middle }
    }
    low
}

impl Group {
    /// Cells of all its problems.
    fn updates(&self, pairs: &dyn ErasedPairs) -> u64 {
        let columns = match &self.problems {
            Which::All => pairs.database().map_or(0, |database| database.symbols),
            Which::Some(some) => some.iter().map(|&k| pairs.extents(k as usize)[1] as u64).sum(),
        };
        pairs.rows(self.rows).1 as u64 * columns
    }
}

/// What all launches of a search read and write.
struct Shared {
    /// Whether 16 bits are too few, the borders, and all rows.
    query: Buffer,
    row_at: u64,
    row_firsts: Vec<u64>,
    row_bytes: usize,
    row_count: usize,
    database: Database,
    element: OnDevice,
}

/// Launches, and the memory that they need until they have ended.
#[derive(Default)]
struct Queue {
    steps: Vec<Step>,
    buffers: Vec<Buffer>,
}

impl CudaExecutor {
    /// Searches those `pairs` that can be searched, if any, and gives `take` a score of each problem, which is that of the
    /// problem if it was searched; `first` is the first of them.
    pub(super) fn search(
        &mut self,
        pairs: &dyn ErasedPairs,
        first: &Erased<'_>,
        take: &mut dyn FnMut(&[i32]),
    ) -> Result<Option<Searched>> {
        let begin = Instant::now();
        // Older devices have no instructions for pairs of numbers.
        let new = self.gpus[0].device.capability()? >= (9, 0);
        if !new || !can(first) {
            return Ok(None);
        }
        let groups = groups(pairs);
        if groups.is_empty() {
            return Ok(None);
        }
        let Some(mut shared) = self.shared_by(pairs, first)? else { return Ok(None) };
        let mut queue = Queue::default();
        let (mut updates, mut most_rows) = (0, 0);
        for group in &groups {
            most_rows = most_rows.max(self.queue(pairs, first, group, &mut shared, &mut queue)?);
            updates += group.updates(pairs);
        }
        let Gpu { device, stream, .. } = &self.gpus[0];
        let mut setup_seconds = begin.elapsed().as_secs_f64();
        let Database { found, scores, .. } = &mut shared.database;
        let all = 0..scores.len();
        // SAFETY: the arguments are those of `wavefront_search` in order and layout; every buffer holds what the
        // kernel's comment says and lives past the wait, and nothing reads the scores before it.
        let seconds = unsafe {
            timed(stream, &queue.steps, || stream.download_async(found, 0, scores, all))?
        };
        let begin = Instant::now();
        take(scores);
        let bytes = (shared.query.bytes() + shared.database.columns.bytes()) as u64;
        self.database = shared.database.kept();
        setup_seconds += begin.elapsed().as_secs_f64();
        let policy = CudaPolicy {
            rows: most_rows,
            columns: 1,
            chunk: 32,
            warps: SEARCH_WARPS,
            blocks: 1,
            packed_16x2: true,
        };
        let totals = Totals { updates, bytes, seconds, setup_seconds };
        let devices = vec![device.label().to_string()];
        let report = report_of(totals, devices, Policy::Cuda(policy).to_json(), None);
        Ok(Some(Searched { done: done(pairs.len(), &groups), report }))
    }

    /// Copies of all sequences; none if there are too many symbols, or numbers that 16 bits do not hold.
    fn shared_by(&mut self, pairs: &dyn ErasedPairs, first: &Erased<'_>) -> Result<Option<Shared>> {
        let names = ["wavefront_symbols", "wavefront_width"];
        let [finds, measures] = self.search_kernels(&first.element, None, names)?;
        let Gpu { stream, .. } = &self.gpus[0];
        let known = match self.database.take() {
            Some(known) => known.again(pairs, stream)?,
            None => None,
        };
        let database = known.map_or_else(|| Database::of(pairs, stream, &finds), Ok)?;
        if database.alphabet.len() > SYMBOLS {
            self.database = database.kept();
            return Ok(None);
        }
        let rows = (0..pairs.counts()[0]).map(|sequence| pairs.rows(sequence));
        let (rows, row_firsts) = Pooled::all(rows);
        let mut query = vec![0; BORDERS];
        query.extend(first.border.corner().unwrap_or_default().concat());
        query.resize(query.len().next_multiple_of(BORDERS), 0);
        let row_at = query.len();
        rows.append_to(&mut query);
        let query = Buffer::from_slice(stream, &query)?;
        let shared = Shared {
            row_at: query.address() + row_at as u64,
            query,
            row_firsts,
            row_bytes: first.element.row,
            row_count: rows.count,
            element: OnDevice::new(stream, first.parameters, &first.tables)?,
            database,
        };
        if shared.is_wide(&measures, first.element.align, stream)? {
            self.database = shared.database.kept();
            return Ok(None);
        }
        Ok(Some(shared))
    }

    /// Two kernels for `element`, those of a lane of so many rows or those that prepare searches: compiled and loaded once.
    fn search_kernels(
        &mut self,
        element: &ElementType,
        rows: Option<u32>,
        kernels: [&str; 2],
    ) -> Result<[Kernel; 2]> {
        let key = ([element.names.element as usize, element.names.cell as usize], rows);
        if let Some(known) = self.searches.get(&key) {
            return Ok(known.clone());
        }
        let device = &self.gpus[0].device;
        let text = search_source(element, element.members, rows);
        let cubin = compile(&text, element.name, &device.arch()?, &search_options())?;
        let module = Module::load(device, &cubin)?;
        let kernels = [module.kernel(kernels[0])?, module.kernel(kernels[1])?];
        if self.searches.len() >= KERNELS {
            self.searches.clear();
        }
        self.searches.insert(key, kernels.clone());
        Ok(kernels)
    }

    /// Queues the launches for `group`; rows of a lane.
    fn queue(
        &mut self,
        pairs: &dyn ErasedPairs,
        first: &Erased<'_>,
        group: &Group,
        shared: &mut Shared,
        queue: &mut Queue,
    ) -> Result<u32> {
        let m = pairs.rows(group.rows).1;
        let passes = m.div_ceil(PASS);
        let rows = m.div_ceil(passes).div_ceil(32) as u32;
        let names = ["wavefront_search"; 2];
        let [kernel, _] = self.search_kernels(&first.element, Some(rows), names)?;
        let cell = if passes > 1 { first.element.cell } else { 0 };
        let dynamic = shared.database.alphabet.len() as u32 * 512 * rows.div_ceil(16);
        let Gpu { device, stream, .. } = &self.gpus[0];
        let resident = kernel.blocks_per_sm(32 * SEARCH_WARPS, dynamic)?.max(1) * device.sms()?;
        let row =
            shared.row_at + (shared.row_firsts[group.rows] as usize * shared.row_bytes) as u64;
        let mut arguments = shared.arguments();
        let own = match &group.problems {
            Which::All => {
                arguments.lines = shared.database.prepare(pairs, cell, stream)?;
                None
            }
            Which::Some(some) => {
                let own = Items::of(&targets(pairs, some, &shared.database), cell, stream)?;
                let lines = Buffer::new(device, own.lines() * cell)?;
                arguments.lines = lines.address();
                queue.buffers.push(lines);
                Some(own)
            }
        };
        let left = || Error::spec("a search without its items", "report this as a bug");
        let items = own.as_ref().or_else(|| shared.database.whole(cell)).ok_or_else(left)?;
        let next = Buffer::zeroed(stream, 4 * passes * items.chunks.len())?;
        arguments.next = next.address();
        for chunk in &items.chunks {
            arguments.items = items.buffer.address() + (chunk.first * size_of::<Item>()) as u64;
            arguments.count = chunk.count as u32;
            for pass in 0..passes {
                let [from, to] = [pass, pass + 1].map(|pass| m * pass / passes);
                arguments.rows = row + (from * shared.row_bytes) as u64;
                arguments.row_count = (to - from) as i32;
                arguments.first = (pass == 0).into();
                arguments.last = (pass + 1 == passes).into();
                let blocks = resident.min((chunk.count as u32).div_ceil(SEARCH_WARPS)).max(1);
                let launch = Launch::line(blocks, 32 * SEARCH_WARPS).shared(dynamic);
                let args = shared.args(&arguments, first.element.align);
                queue.steps.push(Step { kernel: kernel.clone(), launch, args });
                arguments.next += 4;
            }
        }
        queue.buffers.push(next);
        queue.buffers.extend(own.map(|own| own.buffer));
        Ok(rows)
    }
}

impl Shared {
    /// The arguments of all launches, without items, rows and lines.
    fn arguments(&self) -> Search {
        Search {
            rows: 0,
            columns: self.database.columns.address(),
            items: 0,
            borders: self.query.address() + BORDERS as u64,
            symbols: self.database.symbols.address(),
            alphabet: self.database.symbols.address() + 256,
            next: 0,
            found: self.database.found.address(),
            lines: 0,
            count: 0,
            row_count: 0,
            symbol_count: self.database.alphabet.len() as i32,
            first: 0,
            last: 0,
            reserved: 0,
        }
    }

    /// Those of one, as its kernel takes them.
    fn args(&self, arguments: &Search, align: usize) -> Args {
        let mut args = Args::new();
        args.blob(bytes_of(std::slice::from_ref(arguments)), align_of::<Search>());
        args.blob(&self.element.parameters, align);
        args
    }

    /// Whether numbers leave 16 bits, by the kernel `wavefront_width`.
    fn is_wide(&self, measures: &Kernel, align: usize, stream: &Stream) -> Result<bool> {
        let mut args = Args::new();
        args.value(self.row_at);
        args.value(self.row_count as u64);
        args.pointer(&self.database.symbols, 256);
        args.value(self.database.alphabet.len() as u32);
        args.buffer(&self.query);
        args.blob(&self.element.parameters, align);
        // SAFETY: the arguments are those of `wavefront_width`, and the buffers outlive the wait in `download`.
        unsafe { stream.launch(measures, Launch::line(WIDTH_BLOCKS, 256), &args)? };
        let mut is_wide = [0u32];
        stream.download(&self.query, 0, &mut is_wide)?;
        Ok(is_wide != [0])
    }
}

/// The problems of `pairs` that are numbered `some`.
fn targets(pairs: &dyn ErasedPairs, some: &[u32], database: &Database) -> Vec<Target> {
    let each = pairs.pairs();
    let target = |&number: &u32| {
        let [_, b] = each[number as usize];
        let columns = pairs.extents(number as usize)[1] as u64;
        Target { number, first: database.firsts[b as usize], columns }
    };
    some.iter().map(target).collect()
}

/// Which of `count` problems are in `groups`; none if all are.
fn done(count: usize, groups: &[Group]) -> Option<Vec<bool>> {
    let mut done = vec![false; count];
    for group in groups {
        match &group.problems {
            Which::All => return None,
            Which::Some(some) => some.iter().for_each(|&k| done[k as usize] = true),
        }
    }
    done.contains(&false).then_some(done)
}
