//! `warpweft run seismic` and `warpweft tune seismic`.

use serde_json::json;
use warpweft::prelude::*;
use warpweft_apps::seismic::{self, Blast, Medium, Shakes};

use super::command::AppCommand;
use super::fields::{Case, Show};
use crate::arguments::{Precision, as_size, by_default};

/// The extents and steps where none are asked for.
const SIZE: [usize; 3] = [96; 3];
pub const STEPS: u64 = 100;

/// Elastic waves from a blast.
#[derive(clap::Args)]
#[command(mut_arg("size", |arg| by_default(arg, as_size(&SIZE))))]
#[command(mut_arg("boundary", |arg| arg.default_value("dirichlet")))]
#[command(after_help = "Examples:
  warpweft run seismic --plot
  warpweft run seismic --size 400 --steps 600 --device gpu --output waves.vti
  warpweft run seismic --vp 3000 --vs 1500 --cell 5")]
pub struct Seismic<C: AppCommand> {
    /// Speed of pressure waves, m/s.
    #[arg(long, default_value_t = 5_000.0)]
    vp: f64,
    /// Speed of shear waves, m/s.
    #[arg(long, default_value_t = 2_887.0)]
    vs: f64,
    /// Density, kg/m³.
    #[arg(long, default_value_t = 2_700.0)]
    rho: f64,
    /// Distance between cells, m.
    #[arg(long, default_value_t = 10.0)]
    cell: f64,
    /// Fraction of the largest stable time step.
    #[arg(long, default_value_t = 0.8)]
    courant: f64,
    /// Type of the numbers in a cell [default: that of --input, else f32].
    #[arg(long)]
    dtype: Option<Precision>,
    #[command(flatten)]
    command: C,
}

impl<C: AppCommand> Seismic<C> {
    /// Runs or tunes it.
    pub fn execute(&self) -> Result<C::Outcome> {
        match self.command.precision(self.dtype, Precision::F32)? {
            Precision::F32 => self.of::<f32>(),
            Precision::F64 => self.of::<f64>(),
        }
    }

    fn of<T: Shakes>(&self) -> Result<C::Outcome> {
        let Self { vp, vs, rho, cell: dx, courant, .. } = *self;
        let still = Medium { vp, vs, rho, dx, dt: 0.0 };
        let medium = Medium { dt: courant * still.longest_step(), ..still };
        let extents = self.command.extents(SIZE.into())?;
        let blast = Blast::in_the_middle(extents.array());
        let case = Case {
            app: "seismic",
            title: format!("v_P {vp} m/s, v_S {vs} m/s, steps of {:.4} ms", 1e3 * medium.dt),
            extents,
            steps: STEPS,
            stencil: medium.stencil::<T>()?.into_spec(),
            start: &|extents| blast.start::<T>(extents.array()).map(Volume::into_raw),
            shown: 0,
            ready: |_, rock| Ok(rock),
            show: Show::AroundZero,
            plain: (2, &|plain| seismic::plain_step(&medium, plain)),
            roundings: &|_, _| 40.0,
            steady: u64::MAX,
            answer: &|volume, report| {
                let time = (report.done as f64 + 0.5) * medium.dt;
                let mut answer = vec![("time_seconds", json!(time))];
                let alone = !self.command.begins_otherwise();
                if alone && blast.is_clear(&medium, volume.extents().array(), time) {
                    answer.push(("p_wave_expected_at_metres", json!(vp * time)));
                    if let Some(front) = blast.front(&medium, volume) {
                        answer.push(("p_wave_found_at_metres", json!(front)));
                    }
                }
                answer
            },
        };
        self.command.execute(&case)
    }
}
