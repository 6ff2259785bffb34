//! Reductions by a function of the user's on the device (fold.cuh). Not: what they are (`spec::reduction::fold`).

use std::any::TypeId;
use std::fmt::Write;

use super::text::reach::type_of;
use crate::spec::reduction::fold::{FoldText, Folded};
use warpweft_core::cuda::{Buffer, Global, Kernel, Module, Options, Stream, compile};
use warpweft_core::element::{CellType, Unit};
use warpweft_core::error::Result;

const TEXT: &str = include_str!("fold.cuh");
/// Cells that a thread takes.
pub(super) const CELLS: usize = 4;
/// Shared memory that a block takes at most.
const SHARED: usize = 32 << 10;

/// Bytes of a cell at most.
pub(super) fn room(cell: CellType) -> usize {
    8 * cell.len()
}

/// Threads of a block.
pub(super) fn threads(cell: CellType) -> usize {
    [256, 128].into_iter().find(|threads| threads * room(cell) <= SHARED).unwrap_or(64)
}

/// The kernels' text, and the definitions that know where a fault is.
fn text(by: &dyn Folded, cell: CellType) -> (String, Unit) {
    let mut unit = Unit::new();
    let FoldText { functor, cell: value, load, store } = by.cuda(&mut unit);
    let threads = threads(cell);
    let each = |make: &dyn Fn(usize, &str) -> String| -> String {
        (0..cell.len()).map(|f| make(f, &type_of(cell, f))).collect()
    };
    let members = each(&|f, kind| format!("  const {kind}* f{f};\n"));
    let reads = each(&|f, _| format!("    if constexpr (F == {f}) return *f{f};\n"));
    let writes = each(&|f, kind| {
        format!("    if constexpr (F == {f}) return *reinterpret_cast<{kind}*>(words + {f});\n")
    });
    let arguments = each(&|f, kind| format!("const {kind}* f{f}, "));
    let moved = each(&|f, _| format!("f{f} + at, "));
    let (parameter, element) = match by.parameters_size() {
        0 => (String::new(), format!("  const {functor} element{{}};\n")),
        _ => (format!("const {functor} element, "), String::new()),
    };
    let mut source = [unit.source().as_str(), TEXT].concat().replace("#pragma once\n", "");
    // Writing to a string can't fail.
    let _ = write!(
        source,
        "struct ww_now {{
{members}  template <int F, int... O>
  WW_FN auto at() const {{
{reads}  }}
}};
struct ww_next {{
  ww::u64* words;
  template <int F>
  WW_FN auto& ref() const {{
{writes}  }}
}};
extern \"C\" __global__ void __launch_bounds__({threads}) ww_fold_cells(const ww::stencil::FoldBox box, {arguments}{parameter}{value}* out) {{
{element}  const auto load = [&](ww::i64 index) {{
    const ww::i64 at = ww::stencil::place_of(box, index);
    const ww_now now{{{moved}}};
    return {load};
  }};
  ww::stencil::fold_block<{value}, {threads}>(element, box.count, load, out);
}}
extern \"C\" __global__ void __launch_bounds__({threads}) ww_fold_values(const {value}* in, const ww::i64 count, {parameter}{value}* out) {{
{element}  ww::stencil::fold_block<{value}, {threads}>(element, count, [&](ww::i64 index) {{ return in[index]; }}, out);
}}
extern \"C\" __global__ void ww_fold_result(const {value}* in, ww::u64* words) {{
  const {value} cell = *in;
  ww_next next{{words}};
  {}cell{}
}}
",
        store[0], store[1],
    );
    (source, unit)
}

/// The kernels of a function, and what they make of the cells.
pub(super) struct Fold {
    pub function: TypeId,
    pub kernels: [Kernel; 3],
    pub unit: Unit,
    pub fault: Option<Global>,
    /// Results of blocks, which two launches write in turn.
    pub parts: [Buffer; 2],
    pub words: Buffer,
}

impl Fold {
    /// Compiles the kernels, or takes them from the cache; for so many cells.
    pub fn new(
        by: &dyn Folded,
        (cell, cells): (CellType, usize),
        contract: bool,
        stream: &Stream,
    ) -> Result<Self> {
        let (source, unit) = text(by, cell);
        let device = stream.device();
        let options = Options { contract, ..Options::default() };
        let compiled = compile(&source, by.name(), &device.arch()?, &options)?;
        let module = Module::load(device, &compiled)?;
        let first = cells.div_ceil(CELLS * threads(cell));
        let second = first.div_ceil(CELLS * threads(cell));
        Ok(Self {
            function: by.function(),
            kernels: [
                module.kernel("ww_fold_cells")?,
                module.kernel("ww_fold_values")?,
                module.kernel("ww_fold_result")?,
            ],
            fault: if unit.faults() { Some(module.global("ww_fault")?) } else { None },
            unit,
            parts: [
                Buffer::new(device, first * room(cell))?,
                Buffer::new(device, second * room(cell))?,
            ],
            words: Buffer::new(device, room(cell))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use warpweft_core::cuda::compiler;

    use super::*;
    use crate::cuda::tests::host;
    use crate::prelude::{Fields, reduction};
    use crate::spec::reduction::fold::Folding;

    /// Neither associative nor commutative.
    #[reduction]
    fn twisted(a: f64, b: f64, weight: f64) -> f64 {
        a * weight - b
    }

    #[derive(Clone, Copy, Debug, PartialEq, Fields)]
    struct Cell {
        heat: f32,
        at: u64,
        on: bool,
    }

    #[reduction]
    fn hotter(a: Cell, b: Cell) -> Cell {
        if b.heat > a.heat || !a.on { b } else { Cell { at: a.at + b.at % 3, ..a } }
    }

    /// What the kernels, run by the host's compiler, make of a box of numbers in padded rows.
    fn by_the_host([z, y, x]: [usize; 3], values: &[f64]) -> Option<f64> {
        let by = Folding::<f64, _>::new(twisted(0.75));
        let (source, _) = text(&by, CellType::of::<f64>());
        let functor = by.cuda(&mut Unit::new()).functor;
        let folder = tempfile::tempdir().unwrap();
        let (sy, sz, count) = (x + 3, (x + 3) * (y + 1), z * y * x);
        let mut padded = vec![f64::NAN; sz * z];
        for (index, value) in values.iter().enumerate() {
            padded[index / (x * y) * sz + index / x % y * sy + index % x] = *value;
        }
        let main = format!(
            "#include <vector>
int main(int, char** names) {{
  std::vector<double> in({len}), parts[2] = {{std::vector<double>({count}), std::vector<double>({count})}};
  FILE* file = fopen(names[1], \"rb\");
  if (!file || fread(in.data(), 8, {len}, file) != {len}) return 1;
  const ww::stencil::FoldBox box{{0, {sz}, {sy}, {count}, {z}, {y}, {x}, 0}};
  const {functor} element{{0.75}};
  long left = {count};
  run_grid({{unsigned((left + 1023) / 1024), 1, 1}}, {{256, 1, 1}}, true, [&] {{ ww_fold_cells(box, in.data(), element, parts[0].data()); }});
  int which = 0;
  for (left = (left + 1023) / 1024; left > 1; left = (left + 1023) / 1024, which = 1 - which)
    run_grid({{unsigned((left + 1023) / 1024), 1, 1}}, {{256, 1, 1}}, true, [&] {{
      ww_fold_values(parts[which].data(), left, element, parts[1 - which].data());
    }});
  ww::u64 word;
  ww_fold_result(parts[which].data(), &word);
  printf(\"%llu\\n\", (unsigned long long)word);
}}
",
            len = padded.len(),
        );
        let numbers = folder.path().join("numbers");
        let source = source.replace("__shared__", "static");
        let source = [include_str!("../kernels/host.cuh"), &source, &main].concat();
        let bytes: Vec<u8> = padded.iter().flat_map(|v| v.to_ne_bytes()).collect();
        std::fs::write(&numbers, bytes).unwrap();
        let program = host::compiled(folder.path(), "fold", &source)?;
        let out = Command::new(&program).arg(&numbers).output().unwrap();
        assert!(out.status.success());
        Some(f64::from_bits(String::from_utf8(out.stdout).unwrap().trim().parse().unwrap()))
    }

    #[test]
    fn the_kernels_have_the_bits_of_the_tree() {
        for extents in [[1, 1, 1], [3, 5, 7], [5, 30, 41]] {
            let count = extents.iter().product();
            let noise = |n: usize| ((n * 7919 % 1009) as f64 - 500.0) / 11.0;
            let values: Vec<f64> = (0..count).map(noise).collect();
            let Some(found) = by_the_host(extents, &values) else {
                return println!("skipped: no C++ compiler");
            };
            let expect = Folding::<f64, _>::new(twisted(0.75)).of(values.into_iter()).unwrap();
            assert_eq!(found.to_bits(), expect.to_bits(), "{extents:?}");
        }
    }

    #[test]
    fn the_kernels_compile_for_ampere_and_hopper() {
        if let Err(error) = compiler() {
            return println!("skipped: {error}");
        }
        let cells = Folding::<Cell, _>::new(hotter());
        for arch in ["sm_80", "sm_90"] {
            let (source, _) = text(&cells, CellType::of::<Cell>());
            compile(&source, "a reduction", arch, &Options::default()).unwrap();
        }
    }
}
