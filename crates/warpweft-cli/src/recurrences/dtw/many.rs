//! Many series: the distances of all pairs, and the series nearest to one.

use std::num::NonZero;
use std::path::Path;

use serde_json::json;
use warpweft::Result;
use warpweft::element::Scalar;
use warpweft::grid::Volume;
use warpweft::grid::io::npy;
use warpweft_apps::errors::in_file;
use warpweft_apps::warping::{LeftOut, Neighbour, Sample, condensed, distances, nearest, plain};

use super::{CHECKED_CELLS, Dtw, Found, apart, read, read_rows, rows, samples};
use crate::progress::Progress;
use crate::run::check::{Check, worse};
use crate::run::files::Saved;

impl Dtw {
    /// Computes the distances of all pairs of rows and writes them to the file `to`.
    pub(super) fn all_pairs<T: Sample>(&self, to: &Path) -> Result<Found> {
        let set: Volume<T, 2> = read_rows(&self.a)?;
        let [count, length] = set.extents();
        let series = rows(&set);
        let mut executor = self.options.executor()?;
        let progress = Progress::waiting("comparing");
        let told = |done, all| progress.tell(format!("{done} of {all} pairs"));
        let (all, report) = distances(&series, self.measure(), &told, &mut executor)
            .map_err(|error| in_file(&self.a, error))?;
        progress.clear();
        let sizes = all.iter().map(|&distance| Scalar::to_f64(distance));
        let [least, greatest] =
            sizes.fold([f64::INFINITY, 0.0], |[low, high], x| [x.min(low), x.max(high)]);
        let pairs = all.len();
        let unchecked = self.options.checking.unchecked();
        let check = unchecked.unwrap_or_else(|| self.pairs_checked(&series, &all));
        let mut saved = Saved::default();
        let mut next = all.into_iter();
        let line = Volume::try_from_fn([pairs], |_| next.next().unwrap_or_default());
        saved.add(to, line.and_then(|line| npy::write(to, &line, 0)));
        Ok(Found {
            title: format!("{count} series of {length} samples of {}", self.a.display()),
            lengths: [length; 2],
            report,
            answer: vec![
                ("pairs", json!(pairs)),
                ("least", json!(least)),
                ("greatest", json!(greatest)),
            ],
            check,
            lines: Vec::new(),
            saved,
        })
    }

    /// Whether the straightforward loop has the same distances, for as many pairs as it has time for.
    fn pairs_checked<T: Sample>(&self, series: &[&[T]], all: &[T]) -> Check {
        if let Some(wrong) = self.finite(all) {
            return wrong;
        }
        let count = series.len();
        let cells = (series[0].len() as u64).pow(2);
        let most = (self.options.checking.most(CHECKED_CELLS) / cells.max(1)).max(1) as usize;
        let step = all.len().div_ceil(most);
        let pairs = (0..count).flat_map(|i| (i + 1..count).map(move |j| [i, j])).step_by(step);
        let (mut error, mut checked): (f64, usize) = (0.0, 0);
        for [i, j] in pairs {
            let expected = plain(series[i], series[j], self.measure());
            error = worse(error, apart(all[condensed(count, [i, j])], expected));
            checked += 1;
        }
        let check = Check::made("straightforward loop", error, 0.0);
        if checked == all.len() {
            check
        } else {
            check.of(format!("{checked} of {} pairs", all.len()))
        }
    }

    /// The rows of the second file nearest to the series of the first.
    pub(super) fn neighbours<T: Sample>(&self, count: NonZero<usize>) -> Result<Found> {
        let second = self.second()?;
        let query = read::<T>("a", &self.a)?;
        let query = query.as_slice();
        let set: Volume<T, 2> = read_rows(second)?;
        let series = rows(&set);
        let mut executor = self.options.executor()?;
        let (found, left_out, report) =
            nearest(query, &series, self.measure(), count.get(), &mut executor)?;
        let unchecked = self.options.checking.unchecked();
        let check = unchecked.unwrap_or_else(|| self.nearest_checked(query, &series, &found));
        let LeftOut { kim, keogh } = left_out;
        let each = found.iter().map(|one| (one.index, Scalar::to_f64(one.distance)));
        let (answer, lines) = match self.options.json {
            true => {
                let object = |(index, distance)| json!({"series": index, "distance": distance});
                let all: Vec<_> = each.map(object).collect();
                let left_out = json!({"LB_Kim": kim, "LB_Keogh": keogh});
                (vec![("nearest", json!(all)), ("left_out", left_out)], Vec::new())
            }
            false => {
                let line = |(index, distance)| ("series", format!("{index}, distance {distance}"));
                let mut lines: Vec<_> = each.map(line).collect();
                let of = series.len();
                let what = format!(
                    "of {of} series, {kim} were left out by LB_Kim and {keogh} more by LB_Keogh"
                );
                lines.push(("bounds", what));
                (Vec::new(), lines)
            }
        };
        let title = format!(
            "{} among {} series of {} samples of {}",
            samples(&self.a, query.len()),
            series.len(),
            set.extents()[1],
            second.display()
        );
        let lengths = [query.len(), set.extents()[1]];
        Ok(Found { title, lengths, report, answer, check, lines, saved: Saved::default() })
    }

    /// Whether the straightforward loop finds the same, or at least has the same distances.
    fn nearest_checked<T: Sample>(
        &self,
        query: &[T],
        series: &[&[T]],
        found: &[Neighbour<T>],
    ) -> Check {
        let distances: Vec<_> = found.iter().map(|one| one.distance).collect();
        if let Some(wrong) = self.finite(&distances) {
            return wrong;
        }
        let measure = self.measure();
        let cells = (query.len() * series[0].len()) as u64;
        let expected = |k: usize| plain(query, series[k], measure);
        let most = self.options.checking.most(CHECKED_CELLS);
        let mut error: f64 = 0.0;
        if cells.saturating_mul(series.len() as u64) <= most {
            let mut all: Vec<_> = (0..series.len()).map(|k| Scalar::to_f64(expected(k))).collect();
            all.sort_by(f64::total_cmp);
            for (one, expected) in found.iter().zip(all) {
                error = worse(error, (Scalar::to_f64(one.distance) - expected).abs());
            }
            return Check::made("straightforward loop", error, 0.0);
        }
        let some = found.iter().take((most / cells.max(1)).max(1) as usize);
        for one in some {
            error = worse(error, apart(one.distance, expected(one.index)));
        }
        Check::made("straightforward loop", error, 0.0)
            .of("distances found, not that no series is nearer")
    }
}
