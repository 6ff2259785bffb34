//! Dependences two rows or columns away: each cell also carries an earlier one to those that read it.
//!
//! A vector that is the sum of two to neighbours, `u + v`, is read as the cell at `v` that the neighbour at `u` carries. So a
//! recurrence becomes one of larger cells that reads neighbours alone, which register strips run. Not here: the kernel,
//! which knows nothing of it.

use std::borrow::Cow;

use crate::recurrence::Dependence;
use crate::spec::{ElementType, Erased, Keep, Outside};
use warpweft_core::error::Result;

/// The neighbours that strips read.
const NEAR: [Dependence; 3] = [[-1, -1], [-1, 0], [0, -1]];

/// A far vector: the neighbour that is asked, and where from there the cell lies that it carries.
type Far = [Dependence; 2];

/// The far vectors of `element`; none if it has none, or one that is no sum of two to neighbours.
fn far(element: &ElementType) -> Option<Vec<Far>> {
    let far = element.dependences.iter().filter(|vector| !NEAR.contains(vector));
    let split = |vector: &Dependence| {
        let rest = |near: &Dependence| [vector[0] - near[0], vector[1] - near[1]];
        NEAR.into_iter().map(|near| [near, rest(&near)]).find(|[_, rest]| NEAR.contains(rest))
    };
    far.map(split).collect::<Option<Vec<_>>>().filter(|far| !far.is_empty())
}

/// What makes the cells of a recurrence carry others.
pub(super) struct Carrier<'w> {
    element: ElementType,
    border: Carried<'w>,
    cell: usize,
}

/// The cells outside, with what they carry.
struct Carried<'w> {
    of: &'w dyn Outside,
    far: Vec<Far>,
    /// The cell that all of them are, if they are the same.
    value: Option<Vec<u8>>,
    cell: usize,
}

impl<'w> Carrier<'w> {
    /// That of `wavefront`, if it has far vectors that can be carried and keeps no matrix, which would be as much larger.
    pub fn of(wavefront: &Erased<'w>) -> Option<Self> {
        let Erased { element, border, keep, .. } = wavefront;
        let unfit = *keep == Keep::Matrix || element.carried || border.given().is_some();
        let far = far(element).filter(|_| !unfit)?;
        let cell = element.cell;
        let element = ElementType {
            carried: true,
            cell: (1 + far.len()) * cell,
            south: u32::MAX,
            packs: false,
            members: &[],
            ..*element
        };
        let value = border.value().map(|value| value.repeat(1 + far.len()));
        Some(Self { element, border: Carried { of: *border, far, value, cell }, cell })
    }

    /// `wavefront` with cells that carry others.
    pub fn erased<'a>(&'a self, wavefront: &Erased<'a>) -> Erased<'a> {
        Erased { element: self.element, border: &self.border, ..wavefront.clone() }
    }

    /// Has `fill` fill larger cells, and leaves in `cells` what they are without those that they carry.
    pub fn filled<T>(
        &self,
        cells: &mut [u8],
        fill: impl FnOnce(&mut [u8]) -> Result<T>,
    ) -> Result<T> {
        let Self { element, cell, .. } = self;
        let mut larger = crate::frame::allocate(cells.len() / cell * element.cell)?;
        let done = fill(&mut larger)?;
        for (to, from) in cells.chunks_exact_mut(*cell).zip(larger.chunks_exact(element.cell)) {
            to.copy_from_slice(&from[..*cell]);
        }
        Ok(done)
    }
}

impl Outside for Carried<'_> {
    fn value(&self) -> Option<&[u8]> {
        self.value.as_deref()
    }

    fn corner(&self) -> Option<[&[u8]; 2]> {
        self.value().map(|value| [value; 2])
    }

    fn lines(&self, [rows, columns]: [usize; 2]) -> Option<[Cow<'_, [u8]>; 3]> {
        if self.value.is_some() {
            return None;
        }
        let larger = (1 + self.far.len()) * self.cell;
        let cells = |count: usize, at: &dyn Fn(isize) -> [isize; 2]| {
            let mut cells = vec![0; count * larger];
            for (k, cell) in (0..).zip(cells.chunks_exact_mut(larger)) {
                let [i, j] = at(k);
                self.put(i, j, cell);
            }
            cells.into()
        };
        Some([cells(1, &|_| [-1, -1]), cells(columns, &|j| [-1, j]), cells(rows, &|i| [i, -1])])
    }

    fn function(&self) -> Option<usize> {
        None
    }

    fn given(&self) -> Option<[usize; 2]> {
        None
    }

    fn put(&self, i: isize, j: isize, to: &mut [u8]) {
        let vectors = std::iter::once([0, 0]).chain(self.far.iter().map(|[_, vector]| *vector));
        for (to, [di, dj]) in to.chunks_exact_mut(self.cell).zip(vectors) {
            self.of.put(i + di, j + dj, to);
        }
    }
}

/// The C++ struct of cells that carry others, and the element that computes them by that of `element`, which is known
/// as `ww_own_element` of `ww_own_cell`.
pub(in crate::cuda) fn text(element: &ElementType) -> String {
    let far = far(element).unwrap_or_default();
    let count = far.len();
    let (mut reads, mut carries) = (String::new(), Vec::new());
    for (k, [[a, b], [c, d]]) in far.iter().enumerate() {
        let [i, j] = [a + c, b + d];
        reads.push_str(&format!(
            "    if constexpr (DI == {i} && DJ == {j}) return h.template at<{a}, {b}>().far[{k}]; else\n"
        ));
        carries.push(format!("h.template at<{c}, {d}>().own"));
    }
    format!(
        "struct ww_cell {{ ww_own_cell own, far[{count}]; }};
template<class Earlier> struct ww_far {{
  const Earlier& h;
  template<int DI, int DJ> WW_FN const ww_own_cell& at() const {{
{reads}    return h.template at<DI, DJ>().own;
  }}
  WW_FN const auto& input() const {{ return h.input(); }}
}};
struct ww_element {{
  ww_own_element of;
  using Row = typename ww_own_element::Row;
  using Column = typename ww_own_element::Column;
  WW_FN Row row(const ww_row_input& a) const {{ return of.row(a); }}
  WW_FN Column column(const ww_column_input& b) const {{ return of.column(b); }}
  template<class Earlier> WW_FN ww_cell operator()(const Earlier& h, const Row& a, const Column& b) const {{
    return ww_cell{{of(ww_far<Earlier>{{h}}, a, b), {{{}}}}};
  }}
}};
",
        carries.join(", ")
    )
}
