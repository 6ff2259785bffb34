//! The parameters of a kernel that fuses several steps: one list writes the declaration and the arguments of a
//! launch, so that they can't disagree.

use std::fmt::Write;

use super::shape::TemporalShape;
use crate::cuda::launch::queued::element_argument;
use crate::cuda::memory::layout::axes;
use crate::cuda::text::reach::type_of;
use crate::{Boundary, Spec};
use warpweft_core::cuda::Args;
use warpweft_core::element::MAX_FIELDS;

/// One parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// The array that a field is read from.
    In(usize),
    /// The array that it is written to.
    Out(usize),
    /// `TimeBlock`.
    Block,
    /// `HeldValues`.
    Held,
    /// `Frame`.
    Frame,
    /// The element function of a stage, with its own parameters.
    Element(usize),
}

/// What the arguments of a launch are made of.
pub struct Given<'a> {
    /// Per field, the addresses of cell (0, 0, 0, 0) in the arrays that are read and written.
    pub arrays: &'a dyn Fn(usize) -> [u64; 2],
    /// `TimeBlock`'s bytes.
    pub block: Vec<u8>,
    /// `Frame`'s bytes, where the shape is framed.
    pub frame: Vec<u8>,
}

/// The parameters of the kernel, in order.
pub fn parameters(stencil: &Spec, shape: &TemporalShape) -> Vec<Parameter> {
    let given = (0..stencil.stages.len()).filter(|&n| stencil.stages[n].parameters_size() > 0);
    let mut all: Vec<_> = shape.fields.iter().map(|&f| Parameter::In(f)).collect();
    all.extend(shape.writes.iter().map(|&f| Parameter::Out(f)));
    all.extend([Parameter::Block, Parameter::Held]);
    if shape.framed() {
        all.push(Parameter::Frame);
    }
    all.extend(given.map(Parameter::Element));
    all
}

/// The parameters as C++ declares them; `functors` are the types of the stages.
pub fn declaration(
    stencil: &Spec,
    list: &[Parameter],
    functors: &[String],
    shape: &TemporalShape,
) -> String {
    let mut text = String::new();
    for parameter in list {
        let comma = if text.is_empty() { "" } else { ", " };
        // Writing to a string can't fail.
        let _ = match *parameter {
            Parameter::In(f) => {
                write!(
                    text,
                    "{comma}const {}* __restrict__ in{f}",
                    element_of(stencil, shape, f)[0]
                )
            }
            Parameter::Out(f) => {
                write!(text, "{comma}{}* __restrict__ out{f}", element_of(stencil, shape, f)[0])
            }
            Parameter::Block => {
                write!(text, "{comma}const __grid_constant__ ww::stencil::TimeBlock block")
            }
            Parameter::Held => {
                write!(text, "{comma}const __grid_constant__ ww::stencil::HeldValues held")
            }
            Parameter::Frame => {
                write!(text, "{comma}const __grid_constant__ ww::stencil::Frame frame")
            }
            Parameter::Element(n) => write!(text, "{comma}const {} stage{n}", functors[n]),
        };
    }
    text
}

/// The type of an element of rows of a field, in memory and as it is computed with.
pub fn element_of(stencil: &Spec, shape: &TemporalShape, field: usize) -> [String; 2] {
    match shape.packed {
        1 => [(); 2].map(|()| type_of(stencil.cell, field)),
        4 => ["ww::bytes4".into(), "ww::bytes4".into()],
        _ => ["ww::cells32".into(), "ww::bits8".into()],
    }
}

/// The arguments of a launch.
pub fn arguments(stencil: &Spec, list: &[Parameter], given: &Given<'_>) -> Args {
    let mut args = Args::new();
    for parameter in list {
        match *parameter {
            Parameter::In(f) => _ = args.value((given.arrays)(f)[0]),
            Parameter::Out(f) => _ = args.value((given.arrays)(f)[1]),
            Parameter::Block => _ = args.blob(&given.block, 8),
            Parameter::Held => _ = args.blob(&held_values(stencil), 8),
            Parameter::Frame => _ = args.blob(&given.frame, 8),
            Parameter::Element(n) => element_argument(&mut args, &*stencil.stages[n]),
        }
    }
    args
}

/// `struct HeldValues`: what cells beyond Dirichlet faces along z, y and x hold, field by field.
pub fn held_values(stencil: &Spec) -> Vec<u8> {
    let [_, z, y, x] = axes(stencil.rank());
    let mut bytes = Vec::new();
    for axis in [z, y, x] {
        for side in 0..2 {
            let boundary = axis.map(|axis| stencil.boundaries.0[axis][side]);
            let value = if let Some(Boundary::Dirichlet(value)) = boundary { value } else { 0.0 };
            let bits = stencil.cell.splat(value);
            for f in 0..MAX_FIELDS {
                let word = if f < stencil.cell.len() { bits.word(f) } else { 0 };
                // A byte is in all bytes: packed cells hold it, too.
                let byte = f < stencil.cell.len() && stencil.cell.size(f) == 1;
                let word = if byte { (word & 0xff) * 0x0101_0101 } else { word };
                bytes.extend(word.to_ne_bytes());
            }
        }
    }
    bytes
}
