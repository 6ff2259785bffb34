//! What a neighbour outside the volume holds.

use std::fmt;

use serde::{Deserialize, Serialize};

use warpweft_core::grid::{Axes, axis_name};

/// What cells beyond one face of the volume hold.
///
/// With `n` cells along the axis, `u[-k]` is the `k`-th cell before the first one (`k` ≥ 1).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Boundary {
    /// `u[-k] = u[n - k]`: the volume repeats. Both faces of an axis must be periodic.
    Periodic,
    /// `u[-k]` is this value (converted to each field's scalar), always.
    Dirichlet(f64),
    /// Zero flux through the face: `u[-k] = u[k - 1]`.
    Neumann,
    /// Mirrored in the first cell's centre: `u[-k] = u[k]`.
    Mirror,
    /// `u[-k]` is the value of a function of position and time. Set it by [`crate::Stencil::face_by`]; this variant can't
    /// be passed to [`crate::Stencil::boundary`] or [`crate::Stencil::face`].
    Function,
}

impl Boundary {
    /// Whether cells beyond the face have a value of their own, and follow no cell.
    pub fn is_held(self) -> bool {
        matches!(self, Self::Dirichlet(_) | Self::Function)
    }
}

/// As `--boundary` of the command takes it, but for `function`.
impl fmt::Display for Boundary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Periodic => write!(f, "periodic"),
            Self::Neumann => write!(f, "neumann"),
            Self::Mirror => write!(f, "mirror"),
            Self::Dirichlet(value) => write!(f, "dirichlet:{value}"),
            Self::Function => write!(f, "function"),
        }
    }
}

/// The low or the high end of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Face {
    /// Towards index 0.
    Low,
    /// Towards the last index.
    High,
}

/// One boundary a face: `[axis][0]` low, `[axis][1]` high.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Boundaries(pub Axes<[Boundary; 2]>);

/// Where the value of a cell outside the volume comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// The cell with this index along the axis.
    Cell(usize),
    /// No cell: this value.
    Value(f64),
    /// No cell: what the function of this face says.
    Function(Face),
}

/// What decides the value of a cell outside the volume.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ghost {
    /// It holds what this cell holds.
    Cell(Axes<isize>),
    /// It holds this value.
    Value(f64),
    /// It holds what a face's function says.
    Function {
        /// The axis that the face is across.
        axis: usize,
        /// Its end.
        face: Face,
        /// The position that the function is given: the cell's own index along axes on which it is
        /// beyond a face that holds values, its source's along the others.
        at: Axes<isize>,
    },
}

/// As `--boundary` of the command takes it, but for `function`: the one of all faces, or by axis and end.
impl fmt::Display for Boundaries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims = self.rank();
        let all = self.0.as_flattened();
        if all.windows(2).all(|pair| pair[0] == pair[1]) {
            return all.first().map_or(Ok(()), |one| write!(f, "{one}"));
        }
        for (axis, [low, high]) in self.0.iter().enumerate() {
            let (comma, name) = (if axis > 0 { "," } else { "" }, axis_name(axis, dims));
            match low == high {
                true => write!(f, "{comma}{name}={low}")?,
                false => write!(f, "{comma}{name}-low={low},{name}-high={high}")?,
            }
        }
        Ok(())
    }
}

impl Boundaries {
    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.0.rank()
    }

    /// The same boundary on every face of `dims` axes.
    pub fn all(dims: usize, boundary: Boundary) -> Self {
        Self(Axes::filled(dims, [boundary; 2]))
    }

    /// Where index `at` of `axis` (extent `n`, possibly outside `0..n`) takes its value from.
    ///
    /// Exact for ghost cells at most `n` deep (`n - 1` for a mirror), which [`crate::Stencil`]
    /// checks. An axis is resolved on its own; a corner's source is found axis by axis, slowest
    /// first, and the first axis that yields a value decides.
    pub fn source(&self, axis: usize, at: isize, n: usize) -> Source {
        let last = n as isize - 1;
        let (face, depth) = match at {
            _ if at < 0 => (0, -at),
            _ if at > last => (1, at - last),
            _ => return Source::Cell(at as usize),
        };
        // Index of the source counted inwards from the face.
        let inward = match self.0[axis][face] {
            Boundary::Dirichlet(value) => return Source::Value(value),
            Boundary::Function => return Source::Function([Face::Low, Face::High][face]),
            Boundary::Periodic => last - (depth - 1),
            Boundary::Neumann => depth - 1,
            Boundary::Mirror => depth,
        };
        Source::Cell(if face == 0 { inward } else { last - inward } as usize)
    }

    /// What decides the value of the cell at `at`, of which at least one index is outside `extents`.
    /// Along axes that are `open`, cells run on beyond the ends.
    pub fn ghost(
        &self,
        at: Axes<isize>,
        extents: Axes<usize>,
        open: impl Fn(usize) -> bool,
    ) -> Ghost {
        let dims = at.rank();
        let mut from = at;
        let mut held = None;
        for d in (0..dims).filter(|&d| !open(d)) {
            match self.source(d, at[d], extents[d]) {
                Source::Cell(cell) => from[d] = cell as isize,
                source => held = held.or(Some((d, source))),
            }
        }
        match held {
            None | Some((_, Source::Cell(_))) => Ghost::Cell(from),
            Some((_, Source::Value(value))) => Ghost::Value(value),
            Some((axis, Source::Function(face))) => Ghost::Function { axis, face, at: from },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ghosts_take_their_values_from_where_numpy_pad_does() {
        // numpy.pad([0, 1, 2, 3], 2, mode) with wrap, symmetric and reflect.
        let cases = [
            (Boundary::Periodic, [2, 3, 0, 1]),
            (Boundary::Neumann, [1, 0, 3, 2]),
            (Boundary::Mirror, [2, 1, 2, 1]),
        ];
        for (boundary, expect) in cases {
            let faces = Boundaries::all(1, boundary);
            let found = [-2, -1, 4, 5].map(|at| faces.source(0, at, 4));
            assert_eq!(found, expect.map(Source::Cell), "{boundary:?}");
        }
        assert_eq!(
            Boundaries::all(1, Boundary::Dirichlet(7.0)).source(0, -1, 4),
            Source::Value(7.0)
        );
    }

    #[test]
    fn corners_are_the_slowest_holding_face_s_and_functions_see_where_others_copy_from() {
        let mut faces = Boundaries(Axes::of([
            [Boundary::Neumann, Boundary::Function],
            [Boundary::Function, Boundary::Dirichlet(3.0)],
        ]));
        let ghost =
            |faces: &Boundaries, at: [isize; 2]| faces.ghost(at.into(), [4, 5].into(), |_| false);
        let by = |axis, face, at: [isize; 2]| Ghost::Function { axis, face, at: at.into() };
        assert_eq!(ghost(&faces, [-2, 3]), Ghost::Cell([1, 3].into()));
        assert_eq!(ghost(&faces, [-2, -1]), by(1, Face::Low, [1, -1]));
        assert_eq!(ghost(&faces, [-2, 5]), Ghost::Value(3.0));
        assert_eq!(ghost(&faces, [5, -1]), by(0, Face::High, [5, -1]));
        assert_eq!(ghost(&faces, [4, 6]), by(0, Face::High, [4, 6]));
        faces.0[0] = [Boundary::Periodic; 2];
        assert_eq!(ghost(&faces, [-1, -1]), by(1, Face::Low, [3, -1]));
        assert_eq!(
            faces.ghost([-1, -1].into(), [4, 5].into(), |d| d == 0),
            by(1, Face::Low, [-1, -1])
        );
    }
}
