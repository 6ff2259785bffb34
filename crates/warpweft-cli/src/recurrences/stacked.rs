//! `warpweft sat` of several tables: integral histograms, and one table a channel.

use serde_json::json;
use warpweft::element::{Scalar, ScalarKind};
use warpweft::grid::Volume;
use warpweft::grid::io::{npy, png};
use warpweft::report::Report;
use warpweft::wavefront::{RunExecutor, WavefrontElement};
use warpweft::{Error, Result};
use warpweft_apps::area::{
    Cones, bins, count_of, long_sum_of_bytes, plain, sum_of_squares, table, tilted_table,
};

use super::sat::squared;
use super::{Format, Planned, Sat};
use crate::run::check::{Check, difference, no_room, worse};
use crate::run::files::{Saved, Saving};
use crate::run::outcome::Outcome;

/// Pixels that are added up again for a check of tilted sums: less than a second.
const CHECKED: u64 = 100_000_000;

/// Tables behind one another, all of one volume, which is allocated before any of them is computed.
struct Stack<C: Scalar> {
    tables: Volume<C, 3>,
    done: usize,
    report: Option<Report>,
    error: f64,
    /// Whether tables are compared.
    checks: bool,
    /// Whether memory sufficed for that.
    checked: bool,
}

impl<C: Scalar> Stack<C> {
    /// Of `count` tables of these extents.
    fn new(count: usize, [rows, columns]: [usize; 2], checks: bool) -> Result<Self> {
        let tables = Volume::zeroed([count, rows, columns])?;
        Ok(Self { tables, done: 0, report: None, error: 0.0, checks, checked: true })
    }

    /// Adds the table of `element`, which adds `value` of each pixel of `image`.
    fn add<E>(
        &mut self,
        element: E,
        value: impl Fn(u8) -> f64,
        image: &Volume<u8, 2>,
        executor: &mut RunExecutor<'_>,
    ) -> Result<()>
    where
        E: WavefrontElement<Row = (), Column = (), Input = u8, Cell = C>,
    {
        let (sums, report) = table(element, image, executor)?;
        report.add_to(&mut self.report);
        let [rows, columns] = image.extents();
        if self.checks && no_room(20 * (rows as u64 + 1) * (columns as u64 + 1)).is_some() {
            self.checked = false;
        } else if self.checks {
            let found = sums.as_slice().iter().map(|&sum| Scalar::to_f64(sum));
            let pairs = found.zip(plain(image, value));
            let error = pairs.map(|(a, b)| difference(a, b)).fold(0.0, worse);
            self.error = worse(self.error, error);
        }
        let at = self.done * sums.len();
        self.tables.as_mut_slice()[at..][..sums.len()].copy_from_slice(sums.as_slice());
        self.done += 1;
        Ok(())
    }
}

impl Sat {
    /// The channels of a picture, or the third axis of an array.
    pub(super) fn planes(&self) -> Result<Vec<Volume<u8, 2>>> {
        let all: Volume<u8, 3> = match Format::of(&self.image, &[Format::Npy, Format::Png])? {
            Format::Npy => {
                let last: Volume<u8, 3> = npy::read(&self.image)?;
                let [rows, columns, channels] = last.extents();
                Volume::try_from_fn([channels, rows, columns], |[channel, i, j]| {
                    last.get([i, j, channel]).unwrap_or_default()
                })?
            }
            _ => png::read_colours(&self.image)?,
        };
        let [_, rows, columns] = all.extents();
        let plane = |cells: &[u8]| {
            let mut cells = cells.iter().copied();
            Volume::try_from_fn([rows, columns], |_| cells.next().unwrap_or_default())
        };
        all.as_slice().chunks(rows * columns).map(plane).collect()
    }

    /// A table for each of `planes`.
    pub(super) fn stacked(
        &self,
        planes: &[Volume<u8, 2>],
        executor: &mut RunExecutor<'_>,
    ) -> Result<Outcome> {
        let mut stack = Stack::new(planes.len(), planes[0].extents(), self.checks())?;
        for plane in planes {
            match self.squares {
                true => stack.add(sum_of_squares(), squared, plane, executor)?,
                false => stack.add(long_sum_of_bytes(), f64::from, plane, executor)?,
            }
        }
        self.stack(stack, "channels")
    }

    /// A table of counts for each bin.
    pub(super) fn histograms(
        &self,
        image: &Volume<u8, 2>,
        executor: &mut RunExecutor<'_>,
    ) -> Result<Outcome> {
        let bins = bins(self.bins.unwrap_or(1))?;
        let mut stack = Stack::new(bins.len(), image.extents(), self.checks())?;
        for [low, high] in bins {
            let counted = |pixel| f64::from(u8::from((low..=high).contains(&pixel)));
            stack.add(count_of(low, high), counted, image, executor)?;
        }
        self.stack(stack, "bins")
    }

    fn checks(&self) -> bool {
        self.options.checking.unchecked().is_none()
    }

    /// Triangles that stand on their tips.
    pub(super) fn tilted(
        &self,
        image: &Volume<u8, 2>,
        planned: &Planned,
        executor: &mut RunExecutor<'_>,
    ) -> Result<Outcome> {
        self.outcome_of(image, tilted_table(image, executor)?, planned, |sums| {
            let [rows, columns] = image.extents();
            no_room(9 * (rows as u64 + 1) * (columns as u64 + 1)).unwrap_or_else(|| {
                let cones = Cones::of(image);
                let pixels = (sums.len() as u64).saturating_mul(rows as u64);
                let step = pixels.div_ceil(self.options.checking.most(CHECKED)).max(1) as usize;
                let (mut error, mut checked): (f64, usize) = (0.0, 0);
                for at in (0..sums.len()).rev().step_by(step) {
                    let expected = cones.sum([at / columns, at % columns]);
                    error = worse(error, (sums.as_slice()[at] - expected).abs() as f64);
                    checked += 1;
                }
                let check = Check::made("triangles added up row by row", error, 0.0);
                if step == 1 { check } else { check.of(format!("{checked} entries")) }
            })
        })
    }

    /// What a run of several tables comes to.
    fn stack<C: Scalar>(&self, stack: Stack<C>, what: &'static str) -> Result<Outcome> {
        let Stack { tables, report, error, checked, .. } = stack;
        let report = report.ok_or_else(|| Error::spec("no tables", "ask for at least one"))?;
        let [count, rows, columns] = tables.extents();
        let mut saving = Saving::default();
        // Only such files were let through.
        for path in &self.files.output {
            saving.add(path, || npy::write(path, &tables, 0));
        }
        let saved = saving.save(Saved::default());
        let check = match (self.options.checking.unchecked(), checked) {
            (Some(none), _) => none,
            (None, false) => Check::none("the tables of the check do not fit memory"),
            (None, true) => Check::made("running sums along rows, then columns", error, 0.0),
        };
        let sum = C::KIND.name();
        let image = self.image.display();
        Ok(Outcome {
            app: "sat",
            title: format!("{rows}x{columns} pixels of {image}, {count} {what}, sums of {sum}"),
            settings: vec![("dtype", json!(ScalarKind::U8.name())), ("sums", json!(sum))],
            report,
            answer: vec![("rows", json!(rows)), ("columns", json!(columns)), (what, json!(count))],
            check,
            lines: Vec::new(),
            saved,
            json: self.options.json,
            interrupted: None,
        })
    }
}
