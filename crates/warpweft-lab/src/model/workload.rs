//! Stencils as a model sees them: footprints, fields and traffic, no arithmetic.

use warpweft::element::{FieldInfo, ScalarKind};
use warpweft::report::counted;
use warpweft::stencil::{Footprint, Margin};
use warpweft::{Error, Result};

/// What one step does to memory.
#[derive(Clone, Debug)]
pub struct Workload<const D: usize> {
    /// The application.
    pub name: String,
    /// Its stages.
    pub stages: Vec<Footprint>,
    /// Its fields.
    pub fields: Vec<FieldInfo>,
    /// Bytes a cell and step move through memory at least: each field read or written once a
    /// stage.
    pub traffic: f64,
}

impl<const D: usize> Workload<D> {
    /// Bytes of memory a cell: its fields, and once more those that a stage replaces from their
    /// neighbours.
    pub fn cell_bytes(&self) -> usize {
        let replaced = |field: usize| {
            self.stages.iter().any(|stage| {
                let near = stage.reads.iter().any(|&(of, at)| of == field && at != [[0; 2]; D]);
                near && stage.writes.contains(&field)
            })
        };
        let fields = self.fields.iter().enumerate();
        fields.map(|(field, of)| of.kind.size() * (1 + usize::from(replaced(field)))).sum()
    }
}

/// A workload of either dimension.
#[derive(Clone, Debug)]
pub enum App {
    /// Two dimensions.
    Flat(Workload<2>),
    /// Three dimensions.
    Deep(Workload<3>),
}

/// The names of all, for messages and completion.
pub const NAMES: [&str; 9] =
    ["heat", "life", "life3d", "edge", "hyperthermia", "himeno", "swim", "tricubic", "seismic"];

/// The workload called `name`, as `run` calls it; `order` and `dims`, 3 if not said, count for heat.
///
/// # Errors
/// No such name, an odd order or one beyond 8, other dimensions.
pub fn app(name: &str, order: usize, dims: Option<usize>) -> Result<App> {
    if ![2, 4, 6, 8].contains(&order) {
        return Err(Error::spec(format!("order {order}"), "choose 2, 4, 6 or 8"));
    }
    let radius = order / 2;
    Ok(match name {
        "heat" => match dims {
            None | Some(3) => App::Deep(jacobi("heat", around::<3>(radius), 1, 0)),
            Some(2) => App::Flat(jacobi("heat", around::<2>(radius), 1, 0)),
            Some(dims) => {
                let what = format!("heat in {}", counted(dims as u64, "dimension"));
                return Err(Error::spec(what, "model it in 2 or 3"));
            }
        },
        "life" => App::Flat(bytes(jacobi("life", around::<2>(1), 1, 0))),
        "life3d" => App::Deep(bytes(jacobi("life3d", around::<3>(1), 1, 0))),
        // The edges stay.
        "edge" => App::Flat(jacobi("edge", around::<2>(1), 1, 1)),
        // Nine coefficient grids.
        "hyperthermia" => App::Deep(jacobi("hyperthermia", around::<3>(1), 1, 9)),
        // Pressure, and a0–3, b0–2, c0–2, wrk1 and bnd that stay.
        "himeno" => App::Deep(jacobi("himeno", around::<3>(1), 1, 12)),
        // Offsets −1 to 2, and three coefficients a cell.
        "tricubic" => App::Deep(jacobi("tricubic", [[1, 2]; 3].into(), 1, 3)),
        "swim" => App::Flat(swim()),
        "seismic" => App::Deep(seismic()),
        _ => {
            return Err(Error::spec(
                format!("no application '{name}' to model"),
                format!("choose one of {}", NAMES.join(", ")),
            ));
        }
    })
}

fn around<const D: usize>(radius: usize) -> Margin {
    [[radius; 2]; D].into()
}

/// One stage that replaces `states` fields from their neighbourhood and `kept` fields in place.
fn jacobi<const D: usize>(name: &str, margin: Margin, states: usize, kept: usize) -> Workload<D> {
    let moved = (0..states).map(|field| (field, margin));
    let held = (states..states + kept).map(|field| (field, around::<D>(0)));
    let stage = Footprint { reads: moved.chain(held).collect(), writes: (0..states).collect() };
    workload(name, vec![stage], ScalarKind::F32, states + kept)
}

fn workload<const D: usize>(
    name: &str,
    stages: Vec<Footprint>,
    kind: ScalarKind,
    count: usize,
) -> Workload<D> {
    let touched: usize = stages.iter().map(|s| s.reads.len() + s.writes.len()).sum();
    let fields = vec![FieldInfo { name: "", kind }; count];
    let traffic = (touched * kind.size()) as f64;
    Workload { name: name.into(), stages, fields, traffic }
}

/// The same with cells of one byte.
fn bytes<const D: usize>(mut work: Workload<D>) -> Workload<D> {
    let size = work.fields[0].kind.size() as f64;
    work.fields.fill(FieldInfo { name: "", kind: ScalarKind::U8 });
    work.traffic /= size;
    work
}

/// SPEC's shallow water: fluxes, new values, Asselin filter, over thirteen fields.
fn swim() -> Workload<2> {
    let [near, here] = [around::<2>(1), around::<2>(0)];
    let (u_v_p, old, new, fluxes) = ([0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11, 12]);
    let reads = |near_fields: &[usize], here_fields: &[usize]| {
        let near = near_fields.iter().map(|&field| (field, near));
        near.chain(here_fields.iter().map(|&field| (field, here))).collect()
    };
    let stages = vec![
        Footprint { reads: reads(&u_v_p, &[]), writes: fluxes.to_vec() },
        Footprint { reads: reads(&fluxes, &old), writes: new.to_vec() },
        Footprint {
            reads: reads(&[], &[0, 1, 2, 3, 4, 5, 6, 7, 8]),
            writes: [u_v_p, old].concat(),
        },
    ];
    workload("swim", stages, ScalarKind::F32, 13)
}

/// Velocity from stress and back, fourth order in space: three velocities, six stresses, three
/// displacements and three material constants.
fn seismic() -> Workload<3> {
    let (near, here) = (around::<3>(2), around::<3>(0));
    let velocities: Vec<usize> = (0..3).collect();
    let stresses: Vec<usize> = (3..9).collect();
    let displacements: Vec<usize> = (9..12).collect();
    let of =
        |fields: &[usize], margin| fields.iter().map(move |&f| (f, margin)).collect::<Vec<_>>();
    let velocity = Footprint {
        reads: [of(&stresses, near), of(&velocities, here), of(&[12], here)].concat(),
        writes: velocities.clone(),
    };
    let stress = Footprint {
        reads: [
            of(&velocities, near),
            of(&stresses, here),
            of(&displacements, here),
            of(&[13, 14], here),
        ]
        .concat(),
        writes: [stresses, displacements].concat(),
    };
    workload("seismic", vec![velocity, stress], ScalarKind::F32, 15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_workload_and_others_are_refused() {
        for name in NAMES {
            assert!(app(name, 2, None).is_ok(), "{name}");
        }
        assert!(app("hea", 2, None).unwrap_err().to_string().contains("choose one of heat"));
        assert!(app("heat", 3, None).unwrap_err().to_string().contains("order 3"));
        assert!(matches!(app("heat", 2, Some(2)), Ok(App::Flat(_))));
        assert!(app("heat", 2, Some(1)).unwrap_err().to_string().contains("in 1 dimension;"));
    }

    #[test]
    fn memory_holds_every_field_and_twice_those_replaced_from_their_neighbours() {
        let bytes = |name| match app(name, 2, None).unwrap() {
            App::Flat(work) => work.cell_bytes(),
            App::Deep(work) => work.cell_bytes(),
        };
        // Two states; two bytes; PARTANS table I has eleven fields; waves are stored in place.
        let expect = [("heat", 8), ("life", 2), ("hyperthermia", 44), ("seismic", 60)];
        expect.iter().for_each(|&(name, expect)| assert_eq!(bytes(name), expect, "{name}"));
    }

    #[test]
    fn traffic_counts_each_field_once_a_stage() {
        let App::Deep(heat) = app("heat", 8, None).unwrap() else { panic!("heat is 3D") };
        assert_eq!(heat.traffic, 8.0);
        let App::Flat(life) = app("life", 2, None).unwrap() else { panic!("life is 2D") };
        assert_eq!(life.traffic, 2.0);
        // PARTANS table I: eleven fields, nine of them coefficients, one of them the second buffer.
        let App::Deep(hyper) = app("hyperthermia", 2, None).unwrap() else { panic!("3D") };
        assert_eq!(hyper.traffic, 11.0 * 4.0);
    }
}
