//! Two series: their distance and, if it is asked for, the path.

use std::path::Path;

use serde_json::json;
use warpweft::Result;
use warpweft::element::Scalar;
use warpweft::grid::Volume;
use warpweft::grid::io::npy;
use warpweft::wavefront::RankExecutor;
use warpweft::wavefront::traceback::Way;
use warpweft_apps::warping::{Executor, Sample, added_up, distance, path, plain};

use super::{CHECKED_CELLS, Dtw, Found, apart, read, samples};
use crate::device::cut;
use crate::place;
use crate::plot;
use crate::run::check::{Check, no_room, worse};
use crate::run::files::{Saved, Saving};
use crate::world;

impl Dtw {
    /// The distance of both series.
    pub(super) fn pair<T: Sample>(&self, plot: Option<&Path>) -> Result<Found> {
        let second = self.second()?;
        let [a, b] = [read::<T>("a", &self.a)?, read("b", second)?];
        let (a, b) = (a.as_slice(), b.as_slice());
        let measure = self.measure();
        let with_path = self.path.is_some() || plot.is_some();
        let warped = |executor: &mut dyn Executor<T>| match with_path {
            true => {
                let cut = cut([a.len(), b.len()], size_of::<T>());
                path(a, b, measure, Way::Auto, cut, executor)
            }
            false => {
                distance(a, b, measure, executor).map(|(found, report)| (found, Vec::new(), report))
            }
        };
        let mut executor = self.options.executor()?;
        let (found, pairs, report) = match world::net() {
            Some(net) => warped(&mut RankExecutor::new(net, executor))?,
            None => warped(&mut executor)?,
        };
        let distance = Scalar::to_f64(found);
        let unchecked = self.options.checking.unchecked();
        let check = unchecked.unwrap_or_else(|| self.checked([a, b], found, &pairs));
        let mut answer = vec![
            ("distance", json!(distance)),
            ("distance_over_both_lengths", json!(distance / (a.len() + b.len()) as f64)),
        ];
        if !pairs.is_empty() {
            answer.push(("pairs", json!(pairs.len())));
        }
        let lengths = [a.len(), b.len()];
        Ok(Found {
            title: format!("{} and {}", samples(&self.a, a.len()), samples(second, b.len())),
            lengths,
            report,
            answer,
            check,
            lines: Vec::new(),
            saved: self.save(plot, lengths, (distance, &pairs)),
        })
    }

    /// Whether the straightforward loop has `found` as well, and whether the path costs that, if there is one.
    fn checked<T: Sample>(&self, [a, b]: [&[T]; 2], found: T, pairs: &[[usize; 2]]) -> Check {
        let cells = a.len() as u64 * b.len() as u64;
        let padded = (a.len() as u64 + 1) * (b.len() as u64 + 1);
        let cost = self.cost();
        let along = match pairs {
            [] => None,
            pairs => match added_up(a, b, cost, pairs) {
                None => return Check::failed("the pairs are no path from corner to corner"),
                Some(sum) => Some(apart(found, cost.distance(sum))),
            },
        };
        if let Some(wrong) = self.finite(&[found]) {
            return wrong;
        }
        let most = self.options.checking.most(CHECKED_CELLS);
        match along {
            _ if cells <= most => {
                no_room(2 * padded * size_of::<T>() as u64).unwrap_or_else(|| {
                    let error = apart(found, plain(a, b, self.measure()));
                    let error = worse(error, along.unwrap_or(0.0));
                    Check::made("straightforward loop", error, 0.0)
                })
            }
            Some(error) => Check::made("costs along the path", error, 0.0)
                .of("the cost of the path found, not that no path is cheaper"),
            None => Check::none(format!(
                "the straightforward loop is run for up to {CHECKED_CELLS} cells"
            )),
        }
    }

    /// Writes the pairs of a path to the files that were asked for. Only one process writes.
    pub(super) fn save(
        &self,
        plot: Option<&Path>,
        lengths: [usize; 2],
        (distance, pairs): (f64, &[[usize; 2]]),
    ) -> Saved {
        let mut saving = Saving::default();
        if let Some(path) = self.path.as_ref().filter(|_| place::speaks()) {
            saving.add(path, move || {
                let cell = |[k, side]: [usize; 2]| pairs[k][side] as i64;
                let table = Volume::try_from_fn([pairs.len(), 2], cell)?;
                npy::write(path, &table, 0)
            });
        }
        if let Some(file) = plot.filter(|_| place::speaks()) {
            let second = self.b.as_deref().unwrap_or(&self.a);
            let title = format!("{} / {}: {distance}", self.a.display(), second.display());
            let axes = (["a", "b"], lengths);
            saving.add(file, move || plot::path::save(file, &title, axes, pairs));
        }
        saving.save(Saved::default())
    }
}
