//! The parts of a long series that are nearest to a short one.

use std::path::Path;

use serde_json::json;
use warpweft::element::Scalar;
use warpweft::{Error, Result};
use warpweft_apps::warping::{Match, Sample, added_up, matches, plain_matches};

use super::{CHECKED_CELLS, Dtw, Found, apart, read, samples};
use crate::run::check::{Check, no_room, worse};

impl Dtw {
    /// The parts of the second series nearest to the first.
    pub(super) fn parts<T: Sample>(&self, plot: Option<&Path>) -> Result<Found> {
        let second = self.second()?;
        let [query, series] = [read::<T>("a", &self.a)?, read("b", second)?];
        let (query, series) = (query.as_slice(), series.as_slice());
        let mut executor = self.options.executor()?;
        let (found, report) =
            matches(query, series, self.cost(), self.matches.get(), &mut executor)?;
        let Some(best) = found.first() else {
            let what = "no part of series b has a finite distance";
            return Err(Error::file(second, what, "scale the samples of both series down"));
        };
        let lengths = [query.len(), series.len()];
        let saved = self.save(plot, lengths, (Scalar::to_f64(best.distance), &best.pairs));
        let unchecked = self.options.checking.unchecked();
        let check = unchecked.unwrap_or_else(|| self.parts_checked([query, series], &found));
        let places = found.iter().map(|one| {
            let (distance, last) = (Scalar::to_f64(one.distance), one.end - 1);
            (distance, one.start, last)
        });
        let (answer, lines) = match self.options.json {
            true => {
                let object = |(distance, start, last)| json!({"distance": distance, "first": start, "last": last});
                let all: Vec<_> = places.map(object).collect();
                (vec![("matches", json!(all))], Vec::new())
            }
            false => {
                let line = |(distance, start, last)| {
                    ("match", format!("samples {start} to {last}, distance {distance}"))
                };
                (Vec::new(), places.map(line).collect())
            }
        };
        let title =
            format!("{} in {}", samples(&self.a, query.len()), samples(second, series.len()));
        Ok(Found { title, lengths, report, answer, check, lines, saved })
    }

    /// Whether each path costs what was found, and the best is the least of the straightforward loop.
    fn parts_checked<T: Sample>(&self, [query, series]: [&[T]; 2], found: &[Match<T>]) -> Check {
        let cost = self.cost();
        let mut error: f64 = 0.0;
        for Match { distance, start, end, pairs } in found {
            let pairs: Vec<_> = pairs.iter().map(|&[i, j]| [i, j - start]).collect();
            let Some(sum) = added_up(query, &series[*start..*end], cost, &pairs) else {
                return Check::failed("the pairs are no path through the query and its part");
            };
            error = worse(error, apart(*distance, cost.distance(sum)));
        }
        let cells = query.len() as u64 * series.len() as u64;
        let padded = (query.len() as u64 + 1) * (series.len() as u64 + 1);
        let most = self.options.checking.most(CHECKED_CELLS);
        if cells > most || no_room(2 * padded * size_of::<T>() as u64).is_some() {
            return Check::made("costs along the paths", error, 0.0)
                .of("the costs of the paths found, not that no part is nearer");
        }
        let expected = plain_matches(query, series, cost);
        for one in found {
            error = worse(error, apart(one.distance, expected[one.end - 1]));
        }
        let least = expected.into_iter().map(Scalar::to_f64).fold(f64::INFINITY, f64::min);
        let best = found.first().map_or(f64::INFINITY, |best| Scalar::to_f64(best.distance));
        error = worse(error, (best - least).abs());
        Check::made("straightforward loop", error, 0.0)
    }
}
