//! What was predicted, as a table, a picture or an object.

use warpweft::Result;

use super::Arguments;
use crate::model::both;
use crate::model::chart::{Chart, Curve};
use crate::model::scaling::Row;
use crate::model::workload::Workload;
use warpweft_terminal::output::time;

/// What the columns are.
const LEGEND: &str = "
R: steps between two halo exchanges. predicted, simulated: a step, by the model and on the simulated network.
error: of the prediction. speed-up, eff.: over one of them with all of the volume, if it had the memory
(noise, --jitter, may pass 100 %). compute to bandwidth: shares of the predicted step, redundant being cells
of ghost zones; hidden: what overlaps with computing and takes no time of its own.

";

impl Arguments {
    pub(super) fn report_both<const D: usize>(
        &self,
        work: &Workload<D>,
        rows: &[both::Row],
    ) -> Result<String> {
        let scaling = self.scaling().name();
        let title = format!("{}, {scaling} scaling", self.app);
        if let Some(path) = &self.plot {
            both::chart(title, rows).save(path)?;
        }
        if self.json {
            let object = serde_json::json!({
                "app": work.name, "pattern": "stencil", "model": "B2R, balanced",
                "scaling": scaling, "rows": rows,
            });
            return Ok(object.to_string());
        }
        let heading = format!("{}: {scaling} scaling, predicted; {}", work.name, self.nodes_of());
        Ok(both::table(&heading, rows))
    }

    pub(super) fn report<const D: usize>(
        &self,
        work: &Workload<D>,
        rows: &[Row],
    ) -> Result<String> {
        if let Some(path) = &self.plot {
            self.chart(rows).save(path)?;
        }
        if self.json {
            return Ok(self.object(&work.name, rows).to_string());
        }
        Ok(self.table(work, rows))
    }

    pub(super) fn table<const D: usize>(&self, work: &Workload<D>, rows: &[Row]) -> String {
        let (scaling, on) = (self.scaling().name(), self.nodes_of());
        let mut text = format!(
            "{}: {scaling} scaling, simulated; {on}\n\n{:>6} {:>14} {:>3} {:>11} {:>11} {:>7} {:>9} {:>6}  of a predicted step\n",
            work.name,
            format!("{}s", self.unit()),
            "grid",
            "R",
            "predicted",
            "simulated",
            "error",
            "speed-up",
            "eff."
        );
        // Where GPUs are all alike it does not matter which.
        let on_gpus = |row: &Row| match self.by_itself() {
            Some(_) => {
                let numbers: Vec<_> = row.placement.iter().map(ToString::to_string).collect();
                format!("; on GPUs {}", numbers.join(", "))
            }
            None => String::new(),
        };
        for row in rows {
            let p = &row.predicted;
            let grid: Vec<_> = row.grid.iter().map(ToString::to_string).collect();
            let share = |part: f64| 100.0 * part / p.seconds;
            text.push_str(&format!(
                "{:>6} {:>14} {:>3} {:>11} {:>11} {:>6.1}% {:>9.1} {:>5.1}%  compute {:.0}%, redundant {:.0}%, latency {:.0}%, bandwidth {:.0}%, hidden {:.0}%{}\n",
                row.devices, grid.join("×"), row.depth, time(p.seconds), time(row.simulated),
                100.0 * (p.seconds / row.simulated - 1.0), row.speedup(), 100.0 * row.efficiency(),
                share(p.compute), share(p.redundant), share(p.latency), share(p.bandwidth), -share(p.hidden),
                on_gpus(row),
            ));
        }
        text.push_str(LEGEND);
        text.push_str(&self.chart(rows).text());
        text
    }

    pub(super) fn chart(&self, rows: &[Row]) -> Chart {
        let point = |row: &Row, seconds: f64| {
            (row.devices as f64, row.alone / seconds / row.devices as f64 * 100.0)
        };
        let predicted = rows.iter().map(|r| point(r, r.predicted.seconds)).collect();
        let simulated = rows.iter().map(|r| point(r, r.simulated)).collect();
        Chart {
            title: format!("{}, {} scaling", self.app, self.scaling().name()),
            x: format!("{}s", self.unit()),
            y: "efficiency, %".into(),
            whole: 100.0,
            curves: vec![
                Curve { name: "simulated".into(), points: simulated },
                Curve { name: "predicted".into(), points: predicted },
            ],
        }
    }

    pub(super) fn object(&self, app: &str, rows: &[Row]) -> serde_json::Value {
        let rows: Vec<_> = rows
            .iter()
            .map(|row| {
                serde_json::json!({
                    "devices": row.devices, "placement": row.placement, "grid": row.grid, "cells": row.cells, "depth": row.depth,
                    "predicted": row.predicted, "simulated": row.simulated,
                    "speedup": row.speedup(), "efficiency": row.efficiency(),
                })
            })
            .collect();
        serde_json::json!({
            "app": app, "pattern": "stencil", "model": "ghost zones",
            "scaling": self.scaling().name(), "rows": rows,
        })
    }
}
