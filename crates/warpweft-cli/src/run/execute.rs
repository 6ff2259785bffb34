//! The one place where a choice of device becomes a run.

use std::time::Instant;

use warpweft::element::Scalar;
use warpweft::prelude::*;
use warpweft::report::{Quantity, Report};
use warpweft::stencil::reference;

use crate::arguments::DeviceChoice;
use crate::interrupt;

/// Where to run, and whom to tell.
pub struct How<'a> {
    /// The device.
    pub device: DeviceChoice,
    /// Threads on the CPU; one a core when `None`.
    pub threads: Option<usize>,
    /// Called with the steps done.
    pub progress: &'a dyn Fn(u64),
}

/// Advances `volume` by `steps` steps.
pub fn execute<T: Scalar, const D: usize>(
    stencil: &Stencil<T, D>,
    volume: &mut Volume<T, D>,
    steps: u64,
    how: &How<'_>,
) -> Result<Report> {
    if let DeviceChoice::Gpu(number) = how.device {
        return Err(warpweft::Error::Device {
            stage: "choosing a device".into(),
            device: format!("gpu:{number}"),
            what: "there is no such GPU".into(),
            remedy: "run with --device cpu".into(),
        });
    }
    let _ = how.threads;
    let start = Instant::now();
    let mut done = 0;
    while done < steps && !interrupt::pressed() {
        done += reference(stencil, volume, 1)?;
        (how.progress)(done);
    }
    let seconds = start.elapsed().as_secs_f64();
    let cells = volume.len() as f64 * done as f64;
    Ok(Report {
        pattern: "stencil",
        devices: vec!["reference".into()],
        seconds,
        setup_seconds: 0.0,
        rate: Quantity { value: cells / seconds, unit: "cells/s" },
        bytes: (cells * 2.0 * size_of::<T>() as f64) as u64,
        bound: None,
        fraction: None,
        predicted_seconds: None,
        policy: serde_json::Value::Null,
        done,
        interrupted: done < steps,
        residual: None,
    })
}
