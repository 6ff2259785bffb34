//! The cases: an element, its volume, and the bar that it is to reach.

use warpweft::element::ScalarKind;
use warpweft::grid::{Axes, RawVolume, in_parts};
use warpweft::prelude::*;
use warpweft::stencil::Spec;
use warpweft_apps::heat;
use warpweft_apps::life;
use warpweft_apps::seismic::Medium;

use super::elements;

/// One stencil over one volume.
#[derive(Clone, Copy)]
pub struct Case {
    /// As `--only` names it.
    pub name: &'static str,
    pub dims: usize,
    /// Cells along each axis.
    pub size: usize,
    make: fn() -> Result<Spec>,
}

impl Case {
    /// The stencil between faces that hold 0.
    pub fn spec(&self) -> Result<Spec> {
        (self.make)()
    }

    /// Cells along every axis.
    pub fn extents(&self) -> Axes<usize> {
        Axes::filled(self.dims, self.size)
    }

    /// A volume of `size` cells along each axis: stirred numbers in 0..1, or 0 and 1 for integers.
    pub fn volume(&self, spec: &Spec, size: usize) -> Result<RawVolume> {
        self.volume_of(spec, Axes::filled(self.dims, size))
    }

    /// The same of any extents.
    pub fn volume_of(&self, spec: &Spec, extents: Axes<usize>) -> Result<RawVolume> {
        let mut volume = RawVolume::zeroed(spec.cell, extents)?;
        for (field, described) in spec.cell.fields().iter().enumerate() {
            match described.kind {
                ScalarKind::F32 => fill::<f32>(&mut volume, field, |unit| unit as f32),
                ScalarKind::F64 => fill::<f64>(&mut volume, field, |unit| unit),
                ScalarKind::I32 => fill::<i32>(&mut volume, field, |unit| (1000.0 * unit) as i32),
                _ => fill::<u8>(&mut volume, field, |unit| u8::from(unit < 0.3)),
            }
        }
        Ok(volume)
    }
}

fn fill<T: Scalar + Send>(volume: &mut RawVolume, field: usize, of: fn(f64) -> T) {
    let Some(cells) = volume.field_mut::<T>(field) else { return };
    in_parts(cells, 1 << 16, |first, cells| {
        for (n, cell) in cells.iter_mut().enumerate() {
            let index = (first + n) as u32;
            *cell = of(f64::from(index.wrapping_mul(2_654_435_761) >> 8) / 16_777_216.0);
        }
    });
}

fn flat<S: Fields>(stencil: Stencil<S, 2>) -> Spec {
    stencil.boundary(Boundary::Dirichlet(0.0)).into_spec()
}

fn deep<S: Fields>(stencil: Stencil<S, 3>) -> Spec {
    stencil.boundary(Boundary::Dirichlet(0.0)).into_spec()
}

const fn case(name: &'static str, dims: usize, size: usize, make: fn() -> Result<Spec>) -> Case {
    Case { name, dims, size, make }
}

/// All of them.
pub const CASES: [Case; 26] = [
    case("line3-f32", 1, 1 << 28, || {
        Ok(Stencil::of(elements::line3(0.1)).boundary(Boundary::Dirichlet(0.0)).into_spec())
    }),
    case("star5-f32", 2, 16384, || Ok(flat(Stencil::of(elements::star5(0.1f32))))),
    case("star5-f64", 2, 16384, || Ok(flat(Stencil::of(elements::star5(0.1f64))))),
    case("box9-f32", 2, 16384, || Ok(flat(Stencil::of(elements::box9(0.1f32, 0.05))))),
    case("box9-f64", 2, 16384, || Ok(flat(Stencil::of(elements::box9(0.1f64, 0.05))))),
    case("gray-scott", 2, 8192, || Ok(flat(Stencil::of(elements::gray_scott(0.04, 0.06))))),
    case("life", 2, 16384, || Ok(flat(life::stencil()))),
    case("acoustic", 2, 8192, || Ok(flat(elements::acoustic(0.5)))),
    case("placed5-f32", 2, 16384, || Ok(flat(Stencil::of(elements::placed5(0.1))))),
    case("divided5-i32", 2, 16384, || Ok(flat(Stencil::of(elements::divided5(8))))),
    case("neumann5-f32", 2, 16384, || {
        Ok(Stencil::of(elements::star5(0.1f32)).boundary(Boundary::Neumann).into_spec())
    }),
    case("periodic5-f32", 2, 16384, || {
        Ok(Stencil::of(elements::star5(0.1f32)).boundary(Boundary::Periodic).into_spec())
    }),
    case("mirror5-f32", 2, 16384, || {
        Ok(Stencil::of(elements::star5(0.1f32)).boundary(Boundary::Mirror).into_spec())
    }),
    case("faces5-f32", 2, 16384, || {
        Ok(Stencil::of(elements::star5(0.1f32)).boundary_by(elements::tide(0.5)).into_spec())
    }),
    case("periodic7-f32", 3, 768, || {
        Ok(Stencil::of(elements::star7(0.1f32)).boundary(Boundary::Periodic).into_spec())
    }),
    case("neumann7-f32", 3, 768, || {
        Ok(Stencil::of(elements::star7(0.1f32)).boundary(Boundary::Neumann).into_spec())
    }),
    case("mirror7-f32", 3, 768, || {
        Ok(Stencil::of(elements::star7(0.1f32)).boundary(Boundary::Mirror).into_spec())
    }),
    case("faces7-f32", 3, 768, || {
        Ok(Stencil::of(elements::star7(0.1f32)).boundary_by(elements::swell(0.5)).into_spec())
    }),
    case("star7-f32", 3, 768, || Ok(deep(Stencil::of(elements::star7(0.1f32))))),
    case("star7-f64", 3, 768, || Ok(deep(Stencil::of(elements::star7(0.1f64))))),
    case("star13-f32", 3, 512, || Ok(deep(Stencil::of(elements::star13(0.05f32))))),
    case("order8-f32", 3, 768, || {
        Ok(deep(heat::stencil::<f32, 3>(8, 0.5 * heat::stable_rate(8, 3)?)?))
    }),
    case("box27-f32", 3, 512, || Ok(deep(Stencil::of(elements::box27(1.0f32 / 27.0))))),
    case("box27-f64", 3, 512, || Ok(deep(Stencil::of(elements::box27(1.0f64 / 27.0))))),
    case("gray-scott-3d", 3, 512, || Ok(deep(Stencil::of(elements::gray_scott_3d(0.04, 0.06))))),
    case("seismic", 3, 384, || Ok(deep(Medium::granite(0.5).stencil::<f32>()?))),
];
