//! The report of what one device did.

use crate::drive::devices::Prepared;
use crate::drive::rank_report::RankReport;
use crate::model::Prediction;
use crate::spec::Spec;
use warpweft_core::cluster::Launched;
use warpweft_core::report::{Quantity, Report, counted};

impl Spec {
    /// Says that a run was ended by a residual that is NaN, and when.
    pub(crate) fn note_of_nan(&self, of_run: &RankReport) -> Option<String> {
        let nan = self.until.is_some() && of_run.residual.is_some_and(f64::is_nan);
        nan.then(|| {
            format!(
                "the residual is NaN after step {}, so the run stops there; help: the volume holds that state: look for \
                 the first cell that is NaN, and choose a smaller step or rate",
                of_run.steps
            )
        })
    }

    /// What a run on one device came to; set-up and probes are left to be filled in.
    pub(crate) fn report_alone(
        &self,
        cells: usize,
        mine: &RankReport,
        asked: std::ops::Range<u64>,
        prepared: &mut Prepared<'_>,
    ) -> Report {
        let (first, taken) = (asked.start, mine.passes);
        let done = mine.steps - first;
        let rate = cells as f64 * done as f64 / mine.seconds.max(1e-9);
        let Prediction { bytes, bound, seconds: predicted } =
            self.predict(cells, done, taken, prepared.bandwidth, prepared.known_rate);
        let mut notes: Vec<_> = Launched::unjoined().into_iter().collect();
        notes.extend(self.points.without_effect(asked));
        notes.append(&mut prepared.notes);
        notes.extend(self.note_of_nan(mine));
        if mine.left_out > 0 {
            notes.push(format!(
                "{} skipped, because the one before was still being written",
                counted(mine.left_out, "checkpoint")
            ));
        }
        Report {
            pattern: "stencil",
            devices: std::mem::take(&mut prepared.devices),
            seconds: mine.seconds,
            setup_seconds: 0.0,
            rate: Quantity { value: rate, unit: "cells/s" },
            bytes,
            roofline: bound.map(|value| Quantity { value, unit: "cells/s" }),
            roofline_fraction: bound.map(|bound| rate / bound),
            temporal_depth: (taken > 0).then(|| done as f64 / taken as f64),
            predicted_seconds: predicted,
            policy: serde_json::to_value(prepared.policy).unwrap_or_default(),
            done: mine.steps,
            first,
            interrupted: mine.interrupted,
            residual: mine.residual,
            tolerance: self.until.map(|until| until.tolerance),
            probes: Vec::new(),
            notes,
        }
    }
}
