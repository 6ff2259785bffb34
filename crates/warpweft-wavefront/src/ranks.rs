//! A wavefront over ranks: its columns in ranges, one a rank, and the borders between them as messages.
//!
//! Each rank goes down its columns in blocks of rows: it takes the last column of the block to its west
//! from the rank before, computes the block's edges with an executor of its own, and hands its last
//! column on. Ranks are one block apart, as the tile-rows of one device are a chunk apart. Whatever is
//! kept, every rank returns all of it, to the bit that one device computes.
//!
//! A kept matrix every rank computes for itself. Not here: several GPUs of one process (`cuda`), and how
//! ranks were started.

use std::ops::Range;
use std::time::Instant;

use crate::executor::{Edges, WavefrontExecutor};
use crate::path::other;
use crate::recurrence::{Best, Extreme, Ranked, Reach, Stored, WavefrontElement};
use crate::report::report;
use crate::spec::{Border, Erased, Keep, Kept, Wavefront};
use warpweft_core::cluster::{Tag, Transport, agree, broadcast, gather};
use warpweft_core::error::{Error, Result};
use warpweft_core::report::Report;

/// Cells of the column between two ranks.
const BORDER: Tag = Tag(0x200);

/// Runs wavefronts over all ranks of a network: each rank uses an executor of its own, and all must make the same calls.
pub struct RankExecutor<'n, X> {
    net: &'n dyn Transport,
    executor: X,
    rows: Option<usize>,
}

impl<'n, X> RankExecutor<'n, X> {
    /// One of the ranks of `net`, which computes its subdomain with `executor`.
    pub fn new(net: &'n dyn Transport, executor: X) -> Self {
        Self { net, executor, rows: None }
    }

    /// Sets the number of rows per block, and so per message, at least 1. By default a sixteenth of the
    /// rows, but not less than 256. In the pipeline, each rank begins one block later than the rank before.
    pub fn rows(mut self, rows: usize) -> Self {
        self.rows = Some(rows.max(1));
        self
    }
}

/// What `wavefront` needs that can't go from rank to rank, if anything.
fn unsent<E: WavefrontElement>(wavefront: &Wavefront<'_, E>) -> Option<&'static str> {
    let reach = Reach::of(E::DEPENDENCES);
    let far = reach.north > 1 || reach.west > 1 || reach.south + reach.east > 0;
    [
        ("old values over ranks", !E::OLD.is_empty()),
        ("dependences other than north, west and north-west over ranks", far),
        ("inputs of cells over ranks", size_of::<E::Input>() > 0),
        ("bands over ranks", wavefront.band.is_some()),
    ]
    .into_iter()
    .find_map(|(what, misses)| misses.then_some(what))
}

/// What a rank has of the edges, and the reports of its blocks as one.
struct RankResult<C: Ranked> {
    edges: Edges<C>,
    report: Option<Report>,
}

impl<C: Ranked> RankResult<C> {
    /// Adds what a block that begins at cell `at` found, and its report.
    fn add(
        &mut self,
        (best, sum): (Option<Best<C::Score>>, Option<i128>),
        done: Report,
        [row, column]: [usize; 2],
        keep: Keep,
    ) {
        let found =
            best.map(|found| Best { row: found.row + row, column: found.column + column, ..found });
        if let Some(extreme) = keep.extreme() {
            self.edges.best = Best::of(self.edges.best, found, extreme);
        }
        if let Some(sum) = sum {
            *self.edges.sum.get_or_insert(0) += sum;
        }
        done.add_to(&mut self.report);
    }
}

impl<X> RankExecutor<'_, X> {
    /// The columns of rank `rank`: equal subdomains, the last of which may have none.
    fn columns(&self, rank: usize, count: usize) -> Range<usize> {
        let ranks = self.net.ranks().min(count);
        let first =
            |rank: usize| (count as u128 * rank.min(ranks) as u128 / ranks as u128) as usize;
        first(rank)..first(rank + 1)
    }

    /// This rank's columns, block by block.
    fn compute<E>(&mut self, wavefront: &Wavefront<'_, E>) -> Result<RankResult<E::Cell>>
    where
        E: WavefrontElement<Cell: Stored>,
        X: WavefrontExecutor<E>,
    {
        let [m, n] = wavefront.extents();
        let (rank, border) = (self.net.rank(), &wavefront.border);
        let columns = self.columns(rank, n);
        let (first, last) = (columns.start as isize, columns.end as isize);
        let edges = Edges {
            row: (first..last).map(|j| border.at(-1, j)).collect(),
            column: Vec::new(),
            best: None,
            sum: None,
        };
        let mut own = RankResult { edges, report: None };
        if columns.is_empty() {
            return Ok(own);
        }
        let height = self.rows.unwrap_or_else(|| m.div_ceil(16 * self.net.ranks()).max(256));
        let mut corner = border.at(-1, first - 1);
        for start in (0..m).step_by(height) {
            let rows = start..(start + height).min(m);
            let left: Vec<_> = match rank {
                0 => rows.clone().map(|i| border.at(i as isize, -1)).collect(),
                _ => load(&self.net.receive(rank - 1, BORDER)?),
            };
            if left.len() != rows.len() {
                return Err(Error::Rank {
                    rank,
                    what: format!("{} cells of the border of {} rows", left.len(), rows.len()),
                    hint: "start every rank with the same program and arguments".into(),
                });
            }
            let next = *left.last().unwrap_or(&corner);
            let block = Wavefront::of(wavefront.element)
                .rows(&wavefront.rows[rows.clone()])
                .columns(&wavefront.columns[columns.clone()])
                .border(Border::Lines { corner, top: own.edges.row, left })
                .keep(wavefront.keep);
            let (edges, done) = self.executor.edges(&block)?;
            corner = next;
            if columns.end < n {
                self.net.send(rank + 1, BORDER, store(&edges.column))?;
            } else {
                own.edges.column.extend(edges.column);
            }
            own.edges.row = edges.row;
            own.add((edges.best, edges.sum), done, [rows.start, columns.start], wavefront.keep);
        }
        Ok(own)
    }

    /// The pieces of all ranks, on every rank.
    fn all<T: Stored>(&self, mine: &[T]) -> Result<Vec<T>> {
        let pieces = gather(self.net, store(mine))?;
        Ok(load(&broadcast(self.net, pieces.concat())?))
    }

    /// The winner of all ranks, on every rank.
    fn winner<S>(&self, mine: Option<Best<S>>, extreme: Extreme) -> Result<Option<Best<S>>>
    where
        S: warpweft_core::element::Scalar + Stored,
    {
        let mut text = Vec::new();
        if let Some(Best { score, row, column }) = mine {
            score.store(&mut text);
            text.extend([row as u64, column as u64].map(u64::to_le_bytes).concat());
        }
        let all = broadcast(self.net, gather(self.net, text)?.concat())?;
        let word = |bytes: &[u8]| <u64 as Stored>::load(bytes) as usize;
        let each = all.chunks_exact(S::BYTES + 16).map(|found| Best {
            score: S::load(&found[..S::BYTES]),
            row: word(&found[S::BYTES..][..8]),
            column: word(&found[S::BYTES + 8..]),
        });
        Ok(each.fold(None, |best, one| Best::of(best, Some(one), extreme)))
    }

    /// The sum of all ranks' sums, on every rank.
    fn total(&self, mine: Option<i128>) -> Result<i128> {
        let mine = mine.unwrap_or_default().to_le_bytes().to_vec();
        let all = broadcast(self.net, gather(self.net, mine)?.concat())?;
        let (each, _) = all.as_chunks();
        Ok(each.iter().map(|&sum| i128::from_le_bytes(sum)).sum())
    }

    /// The report of all ranks together, on every rank.
    fn together(
        &self,
        wavefront: &Erased<'_>,
        own: Option<Report>,
        seconds: f64,
    ) -> Result<Report> {
        let names = own.as_ref().map_or(String::new(), |it| it.devices.join(", "));
        let names = format!("rank {}: {names}\n", self.net.rank());
        let all = broadcast(self.net, gather(self.net, names.into_bytes())?.concat())?;
        let all = String::from_utf8_lossy(&all);
        let devices = all.lines().map(str::to_string).collect();
        let (setup, of_rank) =
            own.map_or((0.0, serde_json::Value::Null), |own| (own.setup_seconds, own.policy));
        let policy = serde_json::json!({
            "executor": "ranks",
            "ranks": self.net.ranks(),
            "rank": of_rank,
        });
        Ok(report(std::slice::from_ref(wavefront), devices, seconds, setup, policy))
    }
}

fn store<T: Stored>(values: &[T]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(values.len() * T::BYTES);
    values.iter().for_each(|value| value.store(&mut bytes));
    bytes
}

fn load<T: Stored>(bytes: &[u8]) -> Vec<T> {
    bytes.chunks_exact(T::BYTES).map(T::load).collect()
}

impl<E, X> WavefrontExecutor<E> for RankExecutor<'_, X>
where
    E: WavefrontElement<Cell: Stored + Ranked<Score: Stored>>,
    X: WavefrontExecutor<E>,
{
    fn misses(&self, wavefront: &Wavefront<'_, E>) -> Option<&'static str> {
        unsent(wavefront).or_else(|| self.executor.misses(wavefront))
    }

    fn run(&mut self, wavefront: &Wavefront<'_, E>) -> Result<(Kept<E::Cell>, Report)> {
        let keep = wavefront.keep;
        if keep == Keep::Matrix {
            // Every rank is to have it whole, and it is computed sooner than sent.
            return self.executor.run(wavefront);
        }
        let (own, seconds) = self.begin(wavefront)?;
        let Edges { row, column, best: found, sum } = own.edges;
        let kept = match keep {
            Keep::Best => Kept::Best(self.winner(found, Extreme::Greatest)?),
            Keep::Least => Kept::Best(self.winner(found, Extreme::Least)?),
            Keep::Score => {
                Kept::Score(self.winner(found, Extreme::Greatest)?.map(|best| best.score))
            }
            Keep::Sum => Kept::Sum(self.total(sum)?),
            Keep::LastRow => Kept::LastRow(self.all(&row)?),
            Keep::LastColumn => Kept::LastColumn(self.all(&column)?),
            Keep::Matrix => return Err(other(keep)),
        };
        Ok((kept, self.together(&wavefront.erased(), own.report, seconds)?))
    }

    fn edges(&mut self, wavefront: &Wavefront<'_, E>) -> Result<(Edges<E::Cell>, Report)> {
        let keep = wavefront.keep.with_edges();
        let wavefront = wavefront.clone().keep(keep.unwrap_or(Keep::LastRow));
        let (own, seconds) = self.begin(&wavefront)?;
        let Edges { row, column, best: found, sum } = own.edges;
        let edges = Edges {
            row: self.all(&row)?,
            column: self.all(&column)?,
            best: match wavefront.keep.extreme() {
                Some(extreme) => self.winner(found, extreme)?,
                None => None,
            },
            sum: match keep {
                Some(Keep::Sum) => Some(self.total(sum)?),
                _ => None,
            },
        };
        Ok((edges, self.together(&wavefront.erased(), own.report, seconds)?))
    }
}

impl<X> RankExecutor<'_, X> {
    /// This rank's result, once all have agreed on what to compute; the seconds it took.
    fn begin<E>(&mut self, wavefront: &Wavefront<'_, E>) -> Result<(RankResult<E::Cell>, f64)>
    where
        E: WavefrontElement<Cell: Stored>,
        X: WavefrontExecutor<E>,
    {
        wavefront.check()?;
        if let Some(what) = unsent(wavefront) {
            return Err(Error::spec(
                format!("{} has {what}, which is not supported", E::NAME),
                "run it in one process",
            ));
        }
        let about = format!("{} {:?} {:?}", E::NAME, wavefront.extents(), wavefront.keep);
        agree(self.net, "the recurrence", &about)?;
        let begin = Instant::now();
        let own = self.compute(wavefront);
        let own = own.inspect_err(|error| self.net.abort(&error.to_string()))?;
        Ok((own, begin.elapsed().as_secs_f64()))
    }
}
