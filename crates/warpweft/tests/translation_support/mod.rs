//! Differential tests of the translator: `#[device]` functions run as Rust and as C++, over the
//! same inputs, and must agree bit by bit.
//!
//! [`Cases`] collects functions with inputs and the answers that Rust gave, and turns them into a
//! C++ text and a binary file; [`host`] compiles and runs them with the host's compiler. The same
//! two files run on a GPU: see `cases.cuh`, which also says what lies in the file.
#![allow(dead_code)]

mod flat;
pub mod generate;
pub mod host;
pub mod random;

use std::panic::{AssertUnwindSafe, catch_unwind};

#[allow(unused_imports, reason = "each test uses some")]
pub use flat::{Cell, Flat, Hue, Point};
use warpweft::element::{DeviceFn, DeviceType, Unit};
use warpweft::wavefront::{Dependence, WavefrontElement};

/// What a recurrence's function is given: earlier and old cells, inputs of row, column and cell.
pub type Given<E> = (
    <E as WavefrontElement>::Earlier,
    <E as WavefrontElement>::Old,
    <E as WavefrontElement>::Row,
    <E as WavefrontElement>::Column,
    <E as WavefrontElement>::Input,
);

/// One function, its inputs and Rust's answers.
pub struct Entry {
    /// The entry point in C++.
    pub name: String,
    /// The function, and where it stands.
    pub label: String,
    /// Number of inputs.
    pub count: usize,
    /// Bytes of one input.
    pub in_bytes: usize,
    /// Bytes of one answer, without the byte in front that says whether it faulted.
    pub out_bytes: usize,
    /// All inputs.
    pub inputs: Vec<u8>,
    /// All answers: a byte, 1 for a fault, and the value.
    pub expected: Vec<u8>,
}

/// Functions to compare.
pub struct Cases {
    unit: Unit,
    entries: Vec<Entry>,
    wrappers: String,
}

impl Default for Cases {
    fn default() -> Self {
        let mut unit = Unit::new();
        let mut wrappers = String::new();
        flat::structs(&mut unit, &mut wrappers);
        Self { unit, entries: vec![], wrappers }
    }
}

impl Cases {
    /// Runs `rust` over `inputs` and notes the answers for the translation `F`.
    pub fn add<F: DeviceFn, A: Flat, R: Flat>(
        &mut self,
        label: &str,
        rust: impl Fn(A) -> R,
        inputs: &[A],
    ) {
        let function = F::cuda(&mut self.unit);
        let (ty, name) = (A::cuda(&mut self.unit), format!("case_{}", self.entries.len()));
        let arguments: Vec<_> = (0..A::MEMBERS).map(|i| format!("a._{i}")).collect();
        self.wrappers.push_str(&format!(
            "WW_CASE({name}) {{\n  const {ty} a = io<{ty}>::get(in);\n  const auto r = {function}({});\n  io<{}>::put(out, r);\n}}\n",
            arguments.join(", "),
            R::cuda(&mut self.unit),
        ));
        let (mut bytes, mut expected) = (vec![], vec![]);
        for input in inputs {
            input.put(&mut bytes);
            match catch_unwind(AssertUnwindSafe(|| rust(*input))) {
                Ok(answer) => {
                    expected.push(0);
                    answer.put(&mut expected);
                }
                Err(_) => expected.resize(expected.len() + 1 + R::BYTES, 1),
            }
        }
        self.entries.push(Entry {
            name,
            label: label.into(),
            count: inputs.len(),
            in_bytes: A::BYTES,
            out_bytes: R::BYTES,
            inputs: bytes,
            expected,
        });
    }

    /// Runs the specialised copy of the recurrence `element` over `inputs`, and notes the answers for
    /// its translation; `parameters` are the element's, in C++.
    pub fn add_wavefront<E>(&mut self, element: E, parameters: &[String], inputs: &[Given<E>])
    where
        E: WavefrontElement<
                Cell: Flat,
                Earlier: Flat,
                Old: Flat,
                Row: Flat,
                Column: Flat,
                Input: Flat,
            >,
    {
        let functor = E::cuda(&mut self.unit);
        let (cell, name) = (E::Cell::cuda(&mut self.unit), format!("case_{}", self.entries.len()));
        let cells = |name: &str, array: &str, vectors: &[Dependence]| {
            let each = vectors.iter().enumerate().map(|(k, [di, dj])| {
                format!("if constexpr (I == {di} && J == {dj}) return {array}[{k}]; else ")
            });
            let each: String = each.collect();
            format!(
                "  template<int I, int J> WW_FN {cell} {name}() const {{ {each}return {array}[-1]; }}\n"
            )
        };
        let unit = &mut self.unit;
        let (row, column) = (read::<E::Row>(unit), read::<E::Column>(unit));
        let (input, x) = (E::Input::cuda(unit), read::<E::Input>(unit));
        let (n, m) = (E::DEPENDENCES.len(), E::OLD.len());
        self.wrappers.push_str(&format!(
            "struct reader_{name} {{\n  {cell} e[{n}], o[{}];\n  {input} x;\n{}{}  WW_FN {input} input() const {{ return x; }}\n}};\nWW_CASE({name}) {{\n  reader_{name} h;\n  for (int k = 0; k < {n}; ++k) h.e[k] = io<{cell}>::get(in);\n  for (int k = 0; k < {m}; ++k) h.o[k] = io<{cell}>::get(in);\n  const auto a = {row};\n  const auto b = {column};\n  h.x = {x};\n  const {functor} f = {{{}}};\n  io<{cell}>::put(out, f(h, f.row(a), f.column(b)));\n}}\n",
            m.max(1),
            cells("at", "e", E::DEPENDENCES),
            cells("old", "o", E::OLD),
            parameters.join(", "),
        ));
        let (mut bytes, mut expected) = (vec![], vec![]);
        for (earlier, old, a, b, x) in inputs {
            earlier.put(&mut bytes);
            old.put(&mut bytes);
            a.put(&mut bytes);
            b.put(&mut bytes);
            x.put(&mut bytes);
            let cell = catch_unwind(AssertUnwindSafe(|| element.cell(*earlier, *old, *a, *b, *x)));
            match cell {
                Ok(cell) => {
                    expected.push(0);
                    cell.put(&mut expected);
                }
                Err(_) => expected.resize(expected.len() + 1 + E::Cell::BYTES, 1),
            }
        }
        let given = [E::Earlier::BYTES, E::Old::BYTES, E::Row::BYTES, E::Column::BYTES];
        self.entries.push(Entry {
            name,
            label: E::NAME.into(),
            count: inputs.len(),
            in_bytes: given.iter().sum::<usize>() + E::Input::BYTES,
            out_bytes: E::Cell::BYTES,
            inputs: bytes,
            expected,
        });
    }

    /// Text that the entry points need, such as how a struct is read and written.
    pub fn declare(&mut self, text: impl FnOnce(&mut Unit) -> String) {
        let text = text(&mut self.unit);
        self.wrappers.push_str(&text);
    }

    /// The translation unit, to be compiled with `cases.cuh` in front.
    pub fn source(&self) -> String {
        let mut text = String::from(
            "#define WW_FAIL(site) ww_case_fault(site)\n#define WW_FAULTED ww_case_faulted()\n",
        );
        text.push_str(include_str!("faults.cuh"));
        text.push_str(&self.unit.source());
        text.push_str(include_str!("cases.cuh"));
        text.push_str(&self.wrappers);
        text.push_str("WW_TABLE_BEGIN\n");
        for entry in &self.entries {
            text.push_str(&format!("WW_ROW({}, {:?})\n", entry.name, entry.label));
        }
        text.push_str("WW_TABLE_END\n");
        text
    }

    /// Inputs and answers, as `cases.cuh` describes them.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![];
        let word = |bytes: &mut Vec<u8>, n: usize| bytes.extend((n as u32).to_le_bytes());
        word(&mut bytes, self.entries.len());
        for entry in &self.entries {
            for n in [entry.count, entry.in_bytes, entry.out_bytes, entry.name.len()] {
                word(&mut bytes, n);
            }
            bytes.extend(entry.name.as_bytes());
            bytes.extend(&entry.inputs);
            bytes.extend(&entry.expected);
        }
        bytes
    }

    /// Number of functions, and of inputs of all of them.
    pub fn counts(&self) -> (usize, usize) {
        (self.entries.len(), self.entries.iter().map(|entry| entry.count).sum())
    }

    /// The unit, whose sites name faults.
    pub fn unit(&self) -> &Unit {
        &self.unit
    }
}

/// C++ that reads a value of `T` from `in`; what has no size is not there.
fn read<T: Flat>(unit: &mut Unit) -> String {
    let ty = T::cuda(unit);
    if T::BYTES == 0 { format!("{ty}{{}}") } else { format!("io<{ty}>::get(in)") }
}

/// Random things for a recurrence to be given, often at the edge of something.
pub fn given<E>(seed: u64, count: usize) -> Vec<Given<E>>
where
    E: WavefrontElement<Earlier: Flat, Old: Flat, Row: Flat, Column: Flat, Input: Flat>,
{
    let mut random = random::Random(seed);
    let mut one = || {
        (
            Flat::sample(&mut random),
            Flat::sample(&mut random),
            Flat::sample(&mut random),
            Flat::sample(&mut random),
            Flat::sample(&mut random),
        )
    };
    (0..count).map(|_| one()).collect()
}

/// Adds a `#[device]` function with the inputs it is to be compared on: `case!(cases, f, a, b; ..)`.
#[macro_export]
macro_rules! case {
    ($cases:expr, $f:ident $(::<$($t:tt),+>)?, ($($x:ident),+), $inputs:expr) => {
        $cases.add::<$f $(::<$($t),+>)?, _, _>(
            concat!(stringify!($f), " at line ", line!()),
            |($($x,)+)| $f $(::<$($t),+>)? ($($x),+),
            $inputs,
        )
    };
}
