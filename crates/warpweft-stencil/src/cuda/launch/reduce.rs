//! Launches of the kernel that reduces fields (reduce.cuh).

use super::residual;
use super::scalars::{self, Numbers};
use crate::cuda::memory::layout::Layout;
use crate::cuda::sums::{DIGIT, SUMS};
use crate::spec::reduction::Reduce;
use crate::spec::reduction::scalar::{Code, SessionScalar};
use warpweft_core::cuda::{Args, Kernel, Launch, Module, Options, Stream, compile};
use warpweft_core::element::{ScalarKind, Unit};
use warpweft_core::error::Result;

/// The kernel's text, after that of residuals and sums.
const TEXT: &str = include_str!("../kernels/reduce.cuh");

/// Cells of a row that a warp takes at a time, as in the kernel.
const PIECE: usize = 1024;

/// Blocks that a multiprocessor holds at once: more of them take longer in all.
const BLOCKS: usize = 4;

/// The text by itself, with that of numbers; it is compiled when the first reduction is asked for.
pub(crate) fn reduce_text() -> String {
    let prelude = Unit::new().source();
    [prelude.as_str(), DIGIT, residual::TEXT, SUMS, TEXT, scalars::TEXT]
        .concat()
        .replace("#pragma once\n", "")
}

/// What is reduced: which numbers of which fields, where their first cells are, and how many there are.
pub(crate) struct Of {
    pub what: Reduce,
    pub kinds: [ScalarKind; 2],
    pub addresses: [u64; 2],
    pub extents: [usize; 4],
}

/// The kernel, and where its results go.
#[derive(Debug)]
pub(crate) struct Reducing {
    kernel: Kernel,
    strides: [usize; 4],
    /// Blocks of a launch at most.
    blocks: usize,
    pub numbers: Numbers,
}

impl Reducing {
    /// Compiles the kernels, or takes them from the cache.
    pub fn new(stream: &Stream, layout: &Layout) -> Result<Self> {
        let device = stream.device();
        let compiled = compile(&reduce_text(), "reductions", &device.arch()?, &Options::default())?;
        let module = Module::load(device, &compiled)?;
        Ok(Self {
            kernel: module.kernel("ww_reduce")?,
            strides: layout.strides,
            blocks: BLOCKS * device.sms()? as usize,
            numbers: Numbers::new(stream, &module)?,
        })
    }

    /// Queues what a box of fields comes to, as a number.
    ///
    /// # Safety
    /// The addresses must be those of the box's first cell in arrays of their kind in this layout, which live until the
    /// launch is done.
    pub unsafe fn queue(&mut self, stream: &Stream, of: &Of) -> Result<SessionScalar> {
        let code = match of.what {
            Reduce::Sum | Reduce::Dot => Code::Sum,
            Reduce::Least => Code::Least,
            Reduce::Greatest => Code::Greatest,
        };
        let (words, accumulator) = self.numbers.accumulator(stream)?;
        let number = self.numbers.bank.queue(code, [accumulator, 0], [0.0; 2]);
        // Of a number that there is no room for, nobody would take the sum out.
        if number.known().is_ok() {
            // SAFETY: the caller's contract.
            unsafe { self.launch(stream, of, words)? };
        }
        Ok(number)
    }

    /// What a box of fields comes to, as an accumulator has it. Waits for the device.
    ///
    /// # Safety
    /// As for [`Reducing::queue`].
    pub unsafe fn words(&mut self, stream: &Stream, of: &Of) -> Result<Vec<u64>> {
        let (words, accumulator) = self.numbers.accumulator(stream)?;
        // SAFETY: the caller's contract.
        unsafe { self.launch(stream, of, words)? };
        self.numbers.taken(stream, accumulator)
    }

    /// Adds a box of fields to the accumulator at address `words`.
    ///
    /// # Safety
    /// As for [`Reducing::queue`].
    unsafe fn launch(&self, stream: &Stream, of: &Of, words: u64) -> Result<()> {
        let [w, z, y, x] = of.extents;
        let number = match of.what {
            Reduce::Sum => 0i32,
            Reduce::Dot => 1,
            Reduce::Least | Reduce::Greatest => 2,
        };
        let pieces = w * z * y * x.div_ceil(PIECE);
        if pieces == 0 {
            return Ok(());
        }
        let mut args = Args::new();
        of.addresses.into_iter().for_each(|field| _ = args.value(field));
        of.kinds.into_iter().for_each(|kind| _ = args.value(kind as i32));
        args.value(number);
        let mut of_box: Vec<u8> =
            [z, y, x, 0].iter().flat_map(|&n| (n as i32).to_ne_bytes()).collect();
        let strides = self.strides[..3].iter().chain([&pieces]);
        of_box.extend(strides.flat_map(|&n| (n as i64).to_ne_bytes()));
        args.blob(&of_box, 8);
        args.value(words);
        let blocks = pieces.div_ceil(8).min(self.blocks);
        // SAFETY: the caller vouches for both arrays; there are as many words as the kernel writes.
        unsafe { stream.launch(&self.kernel, Launch::line(blocks as u32, 256), &args) }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use warpweft_core::cuda::compiler;

    use super::*;
    use crate::cuda::tests::host;
    use crate::spec::reduction::Reduction;

    /// What is computed of the sum, the least and the greatest number.
    const OPERATIONS: [&str; 9] = [
        "{0, 0, {0, 0}, {0, 0}}",
        "{1, 1, {1, 0}, {0, 0}}",
        "{2, 2, {2, 0}, {0, 0}}",
        "{6, 3, {0, value}, {0, 3}}",
        "{8, 4, {3, 0}, {0, 0}}",
        "{4, 5, {value, 0}, {1.5, 0}}",
        "{5, 6, {5, 3}, {0, 0}}",
        "{7, 7, {6, 0}, {0, 0}}",
        "{3, 7, {7, 0}, {0, 0}}",
    ];

    /// What the kernel, run by the host's compiler in blocks of a warp, makes of two fields of `f64` in rows of `row`.
    fn by_the_host(
        folder: &Path,
        what: i32,
        fields: [&[f64]; 2],
        row: usize,
    ) -> Option<(Reduction, [f64; 8])> {
        let program = folder.join("reduce");
        if !program.exists() {
            let main = format!(
                "int main(int, char** names) {{
  const int n = atoi(names[3]), row = atoi(names[4]);
  std::vector<double> a(n), b(n);
  std::vector<unsigned long long> words(3 * {words});
  double numbers[8];
  FILE* file = fopen(names[1], \"rb\");
  if (!file || fread(a.data(), 8, n, file) != n || fread(b.data(), 8, n, file) != n) return 1;
  ww::stencil::ReduceBox box{{1, n / row, row, n, n, row, (n / row) * ((row - 1) / 1024 + 1)}};
  run_grid({{3, 1, 1}}, {{32, 1, 1}}, true, [&] {{
    ww::stencil::ww_reduce(a.data(), b.data(), 12, 12, atoi(names[5]), box, (ww::u64*)words.data());
  }});
  file = fopen(names[2], \"wb\");
  if (!file || fwrite(words.data(), 8, {words}, file) != {words}) return 1;
  for (int i = 0; i < 2 * {words}; i++) words[{words} + i] = words[i];
  const unsigned value = ww::stencil::as_value;
  ww::stencil::Operations list{{{{{operations}}}, {count}}};
  run_grid({{1, 1, 1}}, {{32, 1, 1}}, true, [&] {{
    ww::stencil::ww_numbers(list, (ww::u64*)words.data(), numbers);
  }});
  for (const auto word : words) if (word) return 1;
  return fwrite(numbers, 8, 8, file) != 8 || fclose(file);
}}
",
                words = Reduction::WORDS,
                operations = OPERATIONS.join(", "),
                count = OPERATIONS.len(),
            );
            let text = reduce_text().replace("__shared__", "static");
            let threads = [include_str!("../kernels/host.cuh"), include_str!("warp.cuh")];
            let source = [threads[0], threads[1], &text, &main].concat();
            host::compiled(folder, "reduce", &source)?;
        }
        let (from, to) = (folder.join("in"), folder.join("out"));
        let bytes: Vec<u8> = fields.concat().iter().flat_map(|v| v.to_ne_bytes()).collect();
        std::fs::write(&from, bytes).unwrap();
        let numbers = [fields[0].len().to_string(), row.to_string(), what.to_string()];
        assert!(
            Command::new(&program).args([&from, &to]).args(numbers).status().unwrap().success()
        );
        let found = std::fs::read(&to).unwrap();
        let words: Vec<u64> = found.as_chunks().0.iter().map(|&w| u64::from_ne_bytes(w)).collect();
        let numbers = std::array::from_fn(|n| f64::from_bits(words[Reduction::WORDS + n]));
        Some((Reduction::from_words(&words), numbers))
    }

    /// The same by the cores.
    fn by_the_cores(what: Reduce, fields: [&[f64]; 2]) -> Reduction {
        let bytes =
            fields.map(|field| field.iter().flat_map(|v| v.to_ne_bytes()).collect::<Vec<u8>>());
        let mut reduction = Reduction::default();
        reduction.take_bytes(what, [ScalarKind::F64; 2], [&bytes[0], &bytes[1]]);
        reduction
    }

    /// The kernel's numbers are those that the host makes of the same cells.
    fn same_numbers(of: &Reduction, numbers: [f64; 8]) {
        let (sum, [least, greatest]) = (of.sum(), of.extremes());
        let (third, less) = (sum / 3.0, 1.5 - sum);
        let last = -(less * third) + sum;
        let expect = [sum, least, greatest, third, third.sqrt(), less, less * third, last];
        for (found, expect) in numbers.into_iter().zip(expect) {
            let same = found.to_bits() == expect.to_bits() || found.is_nan() && expect.is_nan();
            assert!(same, "{numbers:?} for {expect:?}");
        }
    }

    #[test]
    fn sums_are_rounded_as_the_cores_do() {
        let folder = tempfile::tempdir().unwrap();
        let (ulp, tiny, most) = (f64::EPSILON, f64::from_bits(1), f64::MAX);
        let cases = [
            [1.0, ulp / 2.0, 0.0, 0.0],
            [1.0 + ulp, ulp / 2.0, 0.0, 0.0],
            [1.0, tiny, ulp / 2.0, 0.0],
            [-1.0, -tiny, -ulp / 2.0, 0.0],
            [1e300, 2.0, -1e300, tiny],
            [tiny, tiny, -1.0, 1.0],
            [-most, -most, most, 1.0],
            [most, most, 1.0, 0.0],
            [-most, ulp, -most, 0.0],
            [2f64.powi(-1030), -tiny, 0.0, 0.0],
            [2f64.powi(64), -1.0, 0.5, 2f64.powi(-1000)],
            [f64::INFINITY, -1.0, 0.0, 0.0],
            [f64::INFINITY, f64::NEG_INFINITY, 0.0, 0.0],
            [-0.0, 0.0, -0.0, 0.0],
        ];
        for case in cases {
            let fields = [&case[..], &case];
            let Some((_, numbers)) = by_the_host(folder.path(), 0, fields, 4) else {
                return println!("skipped: no C++ compiler");
            };
            let expect = by_the_cores(Reduce::Sum, fields);
            same_numbers(&expect, numbers);
        }
    }

    #[test]
    fn the_kernel_has_the_bits_of_the_cores() {
        let folder = tempfile::tempdir().unwrap();
        let number = |n: u64, spread: i32| {
            let mixed = (n + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let mantissa = (mixed >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
            mantissa * 2f64.powi((mixed % (2 * spread as u64 + 1)) as i32 - spread)
        };
        let field = |seed: u64, spread: i32| -> Vec<f64> {
            (0..2600).map(|n| number(seed + n, spread)).collect()
        };
        // Numbers of one size, of sizes that no window holds, of one sign, and such as are none.
        let positive: Vec<_> = field(5, 3).iter().map(|v: &f64| v.abs()).collect();
        let mut infinite = field(9, 3);
        (infinite[7], infinite[2000]) = (f64::INFINITY, -0.0);
        let mut nan = field(11, 3);
        nan[1300] = f64::NAN;
        // Such as become much smaller, so that they fit at other places.
        let falling = field(13, 2).iter().zip(0..).map(|(v, n)| v * 2f64.powi(-n / 5)).collect();
        let cases = [field(1, 0), field(2, 400), falling, positive, infinite, nan, vec![0.0; 2600]];
        for (number, first) in cases.iter().enumerate() {
            let second = field(77, 20);
            let fields = [&first[..], &second];
            for (row, (code, what)) in
                [(1300, (0, Reduce::Sum)), (26, (1, Reduce::Dot)), (200, (2, Reduce::Least))]
            {
                let Some((found, numbers)) = by_the_host(folder.path(), code, fields, row) else {
                    return println!("skipped: no C++ compiler");
                };
                let expect = by_the_cores(what, fields);
                same_numbers(&expect, numbers);
                let bits = |it: &Reduction| match what {
                    Reduce::Least => it.extremes().map(f64::to_bits),
                    _ => [it.sum().to_bits(); 2],
                };
                assert_eq!(bits(&found), bits(&expect), "case {number}, {what:?}");
            }
        }
    }

    /// Far more numbers than a lane may add up before it carries, with every bit of the mantissa set.
    #[test]
    fn a_lane_carries_before_its_sums_lose_bits() {
        let folder = tempfile::tempdir().unwrap();
        let (count, largest) = (98_304, f64::from_bits(1f64.to_bits() - 1));
        let apart = (0..count).map(|n| largest * 2f64.powi(if n % 2 == 0 { 0 } else { -300 }));
        let signs = (0..count).map(|n| if n % 3 == 0 { -largest } else { largest });
        let cases = [vec![largest; count], apart.collect(), signs.collect()];
        for (number, field) in cases.iter().enumerate() {
            let fields = [&field[..], field];
            let Some((found, _)) = by_the_host(folder.path(), 0, fields, 1024) else {
                return println!("skipped: no C++ compiler");
            };
            let expect = by_the_cores(Reduce::Sum, fields).sum();
            assert_eq!(found.sum().to_bits(), expect.to_bits(), "case {number}");
            if number == 0 {
                // 1.5 * 2^16 less 0.75 * 2^-36, where numbers are 2^-36 apart.
                assert_eq!(expect, 98_304.0 - 2f64.powi(-36));
            }
        }
    }

    #[test]
    fn the_kernel_compiles_for_ampere_and_hopper() {
        if let Err(error) = compiler() {
            return println!("skipped: {error}");
        }
        for arch in ["sm_80", "sm_90"] {
            compile(&reduce_text(), "reductions", arch, &Options::default()).unwrap();
        }
    }
}
