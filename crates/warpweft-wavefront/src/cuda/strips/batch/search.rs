//! Scores of many problems that have the same rows, such as a query's in a database: by cells of 16 bits, two in a
//! register. Only those whose scores are known to fit.

use std::collections::HashMap;
use std::time::Instant;

use super::database::Database;
use super::launch::{Step, timed};
use super::place::{Pooled, largest_first};
use super::text::{Item, SEARCH_WARPS, Search, search_options, search_source};
use crate::cuda::strips::executor::CudaExecutor;
use crate::cuda::strips::subdomain::Gpu;
use crate::cuda::tables::OnDevice;
use crate::policy::{CudaPolicy, Policy};
use crate::recurrence::{Ranked, WavefrontElement, bytes_of};
use crate::report::{Totals, report_of};
use crate::spec::{Erased, Pairs};
use warpweft_core::cuda::{Args, Buffer, Kernel, Launch, Module, compile};
use warpweft_core::element::{Scalar, ScalarKind};
use warpweft_core::error::Result;
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
/// Bytes of cells between the launches for the rows of one query.
const LINES: usize = 1 << 30;

/// Scores of the problems that were searched.
pub(super) struct Searched {
    /// Of each problem: whether it was, and its score.
    pub done: Vec<bool>,
    pub scores: Vec<i32>,
    pub report: Report,
}

/// Problems of the same rows.
struct Group {
    rows: usize,
    problems: Vec<u32>,
}

/// Whether two cells of `E` fit a register.
fn can<E: WavefrontElement>(first: &Erased<'_>) -> bool {
    type Score<E> = <<E as WavefrontElement>::Cell as Ranked>::Score;
    let numbers = E::Cell::NEAR_MEMBERS.len().max(1);
    E::PAIRED
        && <Score<E> as Scalar>::KIND == ScalarKind::I32
        && first.element.cell == 4 * numbers
        && first.element.column == 1
        && first.border.corner().is_some_and(|cells| {
            let numbers = cells.into_iter().flat_map(|cell| cell.chunks_exact(4));
            let number =
                |bytes: &[u8]| i32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            numbers.map(number).all(|number| number <= -LEAST)
        })
}

/// The groups of `pairs` that are worth a search, with those of their problems whose scores fit.
fn groups<E: WavefrontElement>(pairs: &Pairs<'_, E>) -> Vec<Group> {
    let mut all: Vec<Group> = Vec::new();
    let mut known = HashMap::new();
    for (k, &[rows, _]) in pairs.pairs.iter().enumerate() {
        let rows = rows as usize;
        let at = match all.last() {
            Some(last) if last.rows == rows => all.len() - 1,
            _ => *known.entry(rows).or_insert_with(|| {
                all.push(Group { rows, problems: Vec::new() });
                all.len() - 1
            }),
        };
        all[at].problems.push(k as u32);
    }
    for group in &mut all {
        let most = columns_that_fit(pairs, group);
        let columns = |k: u32| pairs.extents(k as usize)[1];
        group.problems.retain(|&k| columns(k) <= most);
    }
    all.retain(|group| group.problems.len() >= FEWEST);
    all
}

/// The most columns of a problem of `group` for which scores are known to fit: more columns, greater scores.
fn columns_that_fit<E: WavefrontElement>(pairs: &Pairs<'_, E>, group: &Group) -> usize {
    let rows = pairs.rows[group.rows].len();
    let fits = |columns: usize| {
        let bounds = pairs.element.bounds(rows as u64, columns as u64);
        bounds.is_some_and(|[least, most]| least >= RANGE[0] && most <= RANGE[1])
    };
    let columns = |k: &u32| pairs.extents(*k as usize)[1];
    let longest = group.problems.iter().map(columns).max().unwrap_or(0);
    if fits(longest) {
        return longest;
    }
    let (mut low, mut high) = (0, longest);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) { low = middle } else { high = middle }
    }
    low
}

/// What all launches of a search read and write.
struct Shared {
    rows: Buffer,
    row_firsts: Vec<u64>,
    row_bytes: usize,
    database: Database,
    borders: Buffer,
    symbols: Buffer,
    alphabet: Buffer,
    found: Buffer,
    element: OnDevice,
}

/// Launches, and the memory that they need until they have ended.
#[derive(Default)]
struct Queue {
    steps: Vec<Step>,
    buffers: Vec<Buffer>,
}

impl CudaExecutor {
    /// Scores of those `pairs` that can be searched, if any.
    pub(super) fn search<E: WavefrontElement>(
        &mut self,
        pairs: &Pairs<'_, E>,
        first: &Erased<'_>,
    ) -> Result<Option<Searched>> {
        let begin = Instant::now();
        // Older devices have no instructions for pairs of numbers.
        let new = self.gpus[0].device.capability()? >= (9, 0);
        if !new || !can::<E>(first) {
            return Ok(None);
        }
        let groups = groups(pairs);
        if groups.is_empty() {
            return Ok(None);
        }
        let Some(shared) = self.shared_by(pairs, first)? else { return Ok(None) };
        let mut queue = Queue::default();
        let (mut updates, mut most_rows) = (0, 0);
        for group in &groups {
            most_rows = most_rows.max(self.queue(pairs, first, group, &shared, &mut queue)?);
            let rows = pairs.rows[group.rows].len() as u64;
            let columns = group.problems.iter().map(|&k| pairs.extents(k as usize)[1] as u64);
            updates += rows * columns.sum::<u64>();
        }
        let Gpu { device, stream, .. } = &self.gpus[0];
        stream.synchronize()?;
        let mut setup_seconds = begin.elapsed().as_secs_f64();
        // SAFETY: the arguments are those of `wavefront_search` in order and layout; every buffer holds what the
        // kernel's comment says and lives past the wait.
        let seconds = unsafe { timed(stream, &queue.steps)? };
        let begin = Instant::now();
        let bytes = (shared.rows.bytes() + shared.database.columns.bytes()) as u64;
        self.database = shared.database.kept();
        let mut scores = vec![0i32; pairs.len()];
        stream.download(&shared.found, 0, &mut scores)?;
        let mut done = vec![false; pairs.len()];
        let all = groups.iter().flat_map(|group| &group.problems);
        all.for_each(|&k| done[k as usize] = true);
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
        Ok(Some(Searched { done, scores, report }))
    }

    /// Copies of all sequences; none if there are too many symbols, or numbers that 16 bits do not hold.
    fn shared_by<E: WavefrontElement>(
        &mut self,
        pairs: &Pairs<'_, E>,
        first: &Erased<'_>,
    ) -> Result<Option<Shared>> {
        let rows = pairs.rows.iter().map(|one| (bytes_of(one), one.len()));
        let (rows, row_firsts) = Pooled::all(rows);
        let columns: Vec<_> = pairs.columns.iter().map(|one| bytes_of(one)).collect();
        let known = self.database.take().filter(|known| known.is_of(&columns));
        let text = search_source(&first.element, E::Cell::NEAR_MEMBERS, None);
        let names = ["wavefront_symbols", "wavefront_width"];
        let [finds, measures] = self.search_kernels(text, first.element.name, names)?;
        let Gpu { device, stream, .. } = &self.gpus[0];
        let database = known.map_or_else(|| Database::of(&columns, stream, &finds), Ok)?;
        if database.alphabet.len() > SYMBOLS {
            self.database = database.kept();
            return Ok(None);
        }
        let row_bytes = size_of::<E::Row>();
        let row_count = rows.count;
        let rows = rows.upload(stream)?;
        let alphabet = Buffer::from_slice(stream, &database.alphabet)?;
        let wide = Buffer::zeroed(stream, 4)?;
        let element = OnDevice::new(stream, first.parameters, &first.tables)?;
        let mut args = Args::new();
        args.buffer(&rows);
        args.value(row_count as u64);
        args.buffer(&alphabet);
        args.value(database.alphabet.len() as u32);
        args.buffer(&wide);
        args.blob(&element.parameters, first.element.align);
        // SAFETY: the arguments are those of `wavefront_width`, and the buffers outlive the wait in `download`.
        unsafe { stream.launch(&measures, Launch::line(WIDTH_BLOCKS, 256), &args)? };
        let mut is_wide = [0u32];
        stream.download(&wide, 0, &mut is_wide)?;
        if is_wide != [0] {
            self.database = database.kept();
            return Ok(None);
        }
        let mut symbols = [0u8; 256];
        let numbered = database.alphabet.iter().zip(0..);
        numbered.for_each(|(&symbol, number)| symbols[usize::from(symbol)] = number);
        let corner = first.border.corner().unwrap_or_default().concat();
        Ok(Some(Shared {
            rows,
            row_firsts,
            row_bytes,
            borders: Buffer::from_slice(stream, &corner)?,
            symbols: Buffer::from_slice(stream, &symbols)?,
            alphabet,
            found: Buffer::new(device, 4 * pairs.len())?,
            element,
            database,
        }))
    }

    /// Two kernels of `text`: compiled and loaded once.
    fn search_kernels(
        &mut self,
        text: String,
        name: &str,
        kernels: [&str; 2],
    ) -> Result<[Kernel; 2]> {
        if let Some(known) = self.batches.get(&text) {
            return Ok(known.clone());
        }
        let device = &self.gpus[0].device;
        let cubin = compile(&text, name, &device.arch()?, &search_options())?;
        let module = Module::load(device, &cubin)?;
        let kernels = [module.kernel(kernels[0])?, module.kernel(kernels[1])?];
        Ok(self.keep_kernels(text, kernels))
    }

    /// Queues the launches for `group`; rows of a lane.
    fn queue<E: WavefrontElement>(
        &mut self,
        pairs: &Pairs<'_, E>,
        first: &Erased<'_>,
        group: &Group,
        shared: &Shared,
        queue: &mut Queue,
    ) -> Result<u32> {
        let m = pairs.rows[group.rows].len();
        let passes = m.div_ceil(PASS);
        let rows = m.div_ceil(passes).div_ceil(32) as u32;
        let text = search_source(&first.element, E::Cell::NEAR_MEMBERS, Some(rows));
        let [kernel, _] = self.search_kernels(text, first.element.name, ["wavefront_search"; 2])?;
        let cell = if passes > 1 { first.element.cell } else { 0 };
        let (items, chunks) = items(pairs, group, shared, cell);
        let symbol_bytes = 512 * rows.div_ceil(16);
        let dynamic = shared.database.alphabet.len() as u32 * symbol_bytes;
        let Gpu { device, stream, .. } = &self.gpus[0];
        let resident = kernel.blocks_per_sm(32 * SEARCH_WARPS, dynamic)?.max(1) * device.sms()?;
        let item_buffer = Buffer::from_slice(stream, bytes_of(&items))?;
        let next = Buffer::zeroed(stream, 4 * passes * chunks.len())?;
        let most = chunks.iter().map(|chunk| chunk.lines).max().unwrap_or(0);
        let lines = Buffer::new(device, most * cell)?;
        let mut counter = next.address();
        for chunk in &chunks {
            for pass in 0..passes {
                let [from, to] = [pass, pass + 1].map(|pass| m * pass / passes);
                let row = shared.row_firsts[group.rows] as usize + from;
                let arguments = Search {
                    rows: shared.rows.address() + (row * shared.row_bytes) as u64,
                    columns: shared.database.columns.address(),
                    items: item_buffer.address() + (chunk.first * size_of::<Item>()) as u64,
                    borders: shared.borders.address(),
                    symbols: shared.symbols.address(),
                    alphabet: shared.alphabet.address(),
                    next: counter,
                    found: shared.found.address(),
                    lines: lines.address(),
                    count: chunk.count as u32,
                    row_count: (to - from) as i32,
                    symbol_count: shared.database.alphabet.len() as i32,
                    first: (pass == 0).into(),
                    last: (pass + 1 == passes).into(),
                    reserved: 0,
                };
                counter += 4;
                let mut args = Args::new();
                args.blob(bytes_of(std::slice::from_ref(&arguments)), align_of::<Search>());
                args.blob(&shared.element.parameters, first.element.align);
                let blocks = resident.min((chunk.count as u32).div_ceil(SEARCH_WARPS)).max(1);
                let launch = Launch::line(blocks, 32 * SEARCH_WARPS).shared(dynamic);
                queue.steps.push(Step { kernel: kernel.clone(), launch, args });
            }
        }
        queue.buffers.extend([item_buffer, next, lines]);
        Ok(rows)
    }
}

/// Items of one launch.
struct Chunk {
    first: usize,
    count: usize,
    /// Cells of their lines.
    lines: usize,
}

/// The problems of `group` by twos, those with the most columns first, in chunks whose lines of cells of `cell` bytes
/// fit the memory for them.
fn items<E: WavefrontElement>(
    pairs: &Pairs<'_, E>,
    group: &Group,
    shared: &Shared,
    cell: usize,
) -> (Vec<Item>, Vec<Chunk>) {
    let columns: Vec<_> =
        group.problems.iter().map(|&k| pairs.extents(k as usize)[1] as u64).collect();
    let order = largest_first(&columns);
    let mut items = Vec::with_capacity(order.len().div_ceil(2));
    let mut chunks = vec![Chunk { first: 0, count: 0, lines: 0 }];
    for two in order.chunks(2) {
        let alone = two.len() < 2;
        let [low, high] = [two[0] as usize, two[two.len() - 1] as usize];
        let [low, high] = if columns[low] < columns[high] { [high, low] } else { [low, high] };
        let begins = |at: usize| {
            let [_, b] = pairs.pairs[group.problems[at] as usize];
            shared.database.firsts[b as usize]
        };
        let count = columns[low] as usize;
        let last = chunks.len() - 1;
        if chunks[last].count > 0 && (chunks[last].lines + count) * cell > LINES {
            chunks.push(Chunk { first: items.len(), count: 0, lines: 0 });
        }
        let last = chunks.len() - 1;
        let chunk = &mut chunks[last];
        items.push(Item {
            columns_low: begins(low),
            columns_high: begins(high),
            line: chunk.lines as u64,
            count_low: count as i32,
            count_high: if alone { 0 } else { columns[high] as i32 },
            result_low: group.problems[low],
            result_high: group.problems[high],
        });
        chunk.count += 1;
        chunk.lines += count;
    }
    (items, chunks)
}
