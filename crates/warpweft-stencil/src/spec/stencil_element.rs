//! The contract between `#[stencil]` and the pattern.

use super::place::{Knows, Place};
use warpweft_core::element::{DeviceType, Fields, Near, TableBytes, Unchecked, Unit};

/// One read of an element function: a field at an offset from the cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tap<const D: usize> {
    /// Field number in [`Fields::FIELDS`].
    pub field: usize,
    /// Offset in cells, slowest axis first.
    pub offset: [isize; D],
}

/// `taps` with those of whole cells, whose field is `usize::MAX`, as one for each field of `S`, each once; and how many.
#[doc(hidden)]
pub const fn each_field<S: Fields, const D: usize, const N: usize>(
    taps: &[Tap<D>],
) -> ([Tap<D>; N], usize) {
    let (mut all, mut count, mut tap) = ([Tap { field: 0, offset: [0; D] }; N], 0, 0);
    while tap < taps.len() {
        let Tap { field, offset } = taps[tap];
        let (mut field, last) = match field {
            usize::MAX => (0, S::FIELDS.len()),
            field => (field, field + 1),
        };
        while field < last {
            if !is_among(&all, count, field, &offset) {
                all[count] = Tap { field, offset };
                count += 1;
            }
            field += 1;
        }
        tap += 1;
    }
    (all, count)
}

/// Whether the field at the offset is one of the first `count` of `taps`.
const fn is_among<const D: usize>(
    taps: &[Tap<D>],
    count: usize,
    field: usize,
    offset: &[isize; D],
) -> bool {
    let mut tap = 0;
    while tap < count {
        let mut axis = 0;
        while axis < D && taps[tap].offset[axis] == offset[axis] {
            axis += 1;
        }
        if axis == D && taps[tap].field == field {
            return true;
        }
        tap += 1;
    }
    false
}

/// An element function with its parameters: what `#[stencil]` makes of `diffuse(0.1)`.
///
/// The macro puts the parameters into a `#[repr(C)]` struct of the function's name and generates
/// two Rust copies of the body and one translation to CUDA C++.
///
/// # Safety
/// `TAPS` must list every field and offset that `cell_unchecked` reads, and `Self` must be laid
/// out as the C++ struct that [`StencilElement::cuda`] defines.
pub unsafe trait StencilElement<const D: usize>: Clone + Send + Sync + 'static {
    /// What a cell holds.
    type State: Fields;
    /// The function's name.
    const NAME: &'static str;
    /// Every read, in order of appearance, each once.
    const TAPS: &'static [Tap<D>];
    /// Numbers of the fields that are assigned, ascending.
    const WRITES: &'static [usize];
    /// What it is told about its cell; a [`Place`] is arbitrary in what is not asked for.
    const KNOWS: Knows = Knows::NOTHING;

    /// The function as the user wrote it. `next` holds the cell's present value on entry.
    fn cell(&self, now: Near<'_, Self::State, D>, next: &mut Self::State, place: Place<D>);

    /// The specialised copy: constant loops unrolled, offsets constant and not checked.
    ///
    /// # Safety
    /// Every tap of `TAPS` must be inside the volume that `now` looks at.
    unsafe fn cell_unchecked(
        &self,
        now: <Self::State as Fields>::Near<'_, Unchecked<D>, D>,
        next: &mut Self::State,
        place: Place<D>,
    );

    /// Defines a C++ struct in `unit` and returns its name. Its data members are the parameters, in
    /// order, and it has the member
    ///
    /// ```text
    /// template<class Now, class Next> WW_FN void operator()(const Now& now, Next& next) const
    /// ```
    ///
    /// which reads `now.template at<field, d0, .., d(D-1)>()` with constant field and offsets and
    /// assigns `next.template ref<field>()`, a reference that holds the present value on entry for
    /// the fields that are read before they are assigned. `now.template index<D>()` is the cell's index, an
    /// `array<usize, D>`, and `now.step()` the step, a `u64`: only of functions that ask for them.
    fn cuda(unit: &mut Unit) -> String;

    /// The parameters as C++ expressions, exact to the bit: what tells two elements of one function
    /// apart when ranks or checkpoints are compared.
    fn parameters_text(&self, _unit: &mut Unit) -> String {
        String::new()
    }

    /// The tables among the parameters.
    fn tables(&self) -> Vec<TableBytes<'_>> {
        Vec::new()
    }

    /// The C++ name of the state (a scalar or the derived struct), defining it on first use.
    fn cuda_state(unit: &mut Unit) -> String {
        <Self::State as DeviceType>::cuda(unit)
    }
}
