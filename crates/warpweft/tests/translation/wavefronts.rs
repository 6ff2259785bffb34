//! Recurrences: what Rust computes for a cell, its specialised copy, and the C++ text.
//!
//! The text is run by the host's compiler over the same cells, kept as snapshots, and compiled by
//! NVRTC for two architectures. Random recurrences are in `translation_random.rs`.

use crate::translation_support::{Cases, Flat, given, host, random::Random};
use warpweft::cuda::{Cache, Options, compile_in, compiler};
use warpweft::element::{DeviceType, Unit};
use warpweft::prelude::*;
use warpweft::wavefront::{Ranked, WavefrontElement};
use warpweft_conformance::wavefront::{AffineCell, affine_local, area, far, mix, relax, remix};

impl Flat for AffineCell {
    const BYTES: usize = 12;
    fn put(&self, bytes: &mut Vec<u8>) {
        [self.h, self.e, self.f].put(bytes);
    }
    fn sample(random: &mut Random) -> Self {
        let [h, e, f] = Flat::sample(random);
        Self { h, e, f }
    }
}

/// Whatever a body may do with cells: loops over vectors, constants, macros, early ends, a
/// parameter that changes.
#[wavefront]
fn busy<T: Real>(h: Earlier<T>, old: Old<T>, #[column] b: T, mut weight: T, steps: u8) -> T {
    const FAR: isize = 2;
    let mut sum = T::lit(0.0);
    for d in 1..=FAR {
        for e in -1..2 {
            sum += weight * h[[-d, e * d]];
            weight += T::lit(0.5);
        }
    }
    if matches!(steps, 3..=9) && old.c > old[[FAR, -FAR]] {
        return sum + h.w;
    }
    assert!(steps != 77);
    sum.max(b) - old.e
}

/// A slice of weights: one index is bounded before a run, one where a branch decides is not and may fault.
#[wavefront]
fn weighed(h: Earlier<i32>, #[row] a: u8, #[column] b: u8, weights: &[i16], width: usize) -> i32 {
    const MASK: u8 = 3;
    let at = (a & MASK) as usize * width + usize::from(b).min(width - 1);
    let weight = weights[at] as i32;
    if a > 250 { h.nw + weights[b as usize] as i32 } else { (h.n - weight).max(h.w + weight) }
}

#[test]
fn recurrences_mean_the_same_in_rust_specialised_and_in_cpp() {
    host::check("wavefronts", |cases: &mut Cases| {
        cases.declare(|unit| {
            let name = AffineCell::cuda(unit);
            format!(
                "namespace {{ template<> struct io<{name}> {{\n  WW_FN static {name} get(const u8*& p) {{ {name} v; v.h_ = io<i32>::get(p); v.e_ = io<i32>::get(p); v.f_ = io<i32>::get(p); return v; }}\n  WW_FN static void put(u8*& p, const {name}& v) {{ io<i32>::put(p, v.h_); io<i32>::put(p, v.e_); io<i32>::put(p, v.f_); }}\n}}; }}\n"
            )
        });
        let text = |values: &[i32]| values.iter().map(i32::to_string).collect::<Vec<_>>();
        cases.add_wavefront(mix(99), &text(&[99]), &given::<mix>(1, 400));
        let affine = affine_local(2, -3, -5, -1);
        cases.add_wavefront(affine, &text(&[2, -3, -5, -1]), &given::<affine_local>(2, 400));
        cases.add_wavefront(area(), &[], &given::<area>(3, 400));
        cases.add_wavefront(far(5), &text(&[5]), &given::<far>(4, 400));
        cases.add_wavefront(relax(1.5), &["1.5f".into()], &given::<relax>(5, 400));
        cases.add_wavefront(remix(), &[], &given::<remix>(6, 400));
        let weights: [i16; 20] = std::array::from_fn(|k| k as i16 * 37 % 19 - 9);
        let items = weights.map(|weight| weight.to_string()).join(", ");
        cases.declare(|_| format!("static ww::i16 weights[] = {{{items}}};\n"));
        let parameters = ["ww::slice<ww::i16>(weights, 20)".to_string(), "5".into()];
        cases.add_wavefront(weighed(&weights, 5), &parameters, &given::<weighed>(10, 4000));
        let parameters = ["0.25".to_string(), "5".into()];
        cases.add_wavefront(busy(0.25f64, 5), &parameters, &given::<busy<f64>>(7, 400));
        cases.add_wavefront(
            busy(0.25f32, 77),
            &["0.25f".into(), "77".into()],
            &given::<busy<f32>>(8, 400),
        );
    });
}

#[test]
fn the_function_itself_is_the_specialised_copy() {
    for (earlier, old, _, b, ()) in given::<busy<f64>>(9, 200) {
        let pairs: Vec<_> = busy::<f64>::DEPENDENCES.iter().copied().zip(earlier).collect();
        let olds: Vec<_> = busy::<f64>::OLD.iter().copied().zip(old).collect();
        let plain = busy::cell(Earlier::of(&pairs), Old::of(&olds), b, 0.5, 4);
        let special = WavefrontElement::cell(&busy(0.5, 4), earlier, old, (), b, ());
        assert_eq!(plain.to_bits(), special.to_bits());
    }
    assert_eq!(busy::<f32>::DEPENDENCES[..3], [[-1, -1], [-1, 0], [-1, 1]]);
    assert_eq!(busy::<f32>::OLD, [[0, 0], [2, -2], [0, 1]]);
}

/// The greatest of two scores and a constant.
#[wavefront]
fn at_least(h: Earlier<i32>, #[row] a: u8, #[column] b: u8, gap: i32, least: i32) -> i32 {
    let pair = if a == b { 2 } else { -1 };
    let gap = gap + 1;
    (h.nw + pair).max(h.w + gap + gap).max(least)
}

/// The sum of two cells.
#[wavefront]
fn paths(h: Earlier<i32>, #[row] a: u8, #[column] b: u8) -> i32 {
    let pair = if a == b { 1 } else { 0 };
    (h.n + h.w).max(pair)
}

/// Defines in `text` the function of a name, that says whether cells of 16 bits may not hold what `E` computes.
fn leaves<E: WavefrontElement>(unit: &mut Unit, text: &mut String, name: &str, parameters: &str) {
    assert!(E::PAIRED);
    let functor = E::cuda(unit);
    let cell = match E::Cell::NEAR_MEMBERS {
        [] => format!("using cell_{name} = ww::reach;"),
        names => format!("struct cell_{name} {{ ww::reach {}; }};", names.join(", ")),
    };
    text.push_str(&format!(
        "{cell}\nstatic bool {name}() {{ return ww::leaves_pairs<cell_{name}, earlier_of<cell_{name}>>({functor}{{{parameters}}}); }}\n"
    ));
}

#[test]
fn constants_that_pairs_of_16_bits_do_not_hold_are_known() {
    let compiler = match host::compiler() {
        Ok(compiler) => compiler,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let (mut unit, mut text, mut expected) = (Unit::new(), String::new(), Vec::new());
    // Before the text of functions, which names what it defines.
    let kernels = [
        include_str!("../../../warpweft-wavefront/src/cuda/strips/batch/kernel/reach.cuh"),
        include_str!("../../../warpweft-wavefront/src/cuda/neighbours.cuh"),
    ];
    unit.define("reach", "reach", |_, _| kernels.concat().replace("#pragma once", ""));
    let mut note = |name: &str, is: bool| expected.push((name.to_string(), is));
    let cases = [
        ("small", "-3, 0", false),
        ("floor", "-3, -1000000", false),
        ("greatest", "-3, 20000", true),
        ("gap", "-20000, 0", true),
        // Twice 383 and 32,000 are 32,766.
        ("twice", "382, 0", false),
        ("twice_more", "383, 0", true),
    ];
    for (name, parameters, is) in cases {
        leaves::<at_least>(&mut unit, &mut text, name, parameters);
        note(name, is);
    }
    leaves::<paths>(&mut unit, &mut text, "sum", "");
    note("sum", true);
    for (name, parameters, is) in
        [("affine", "2, -3, -5, -1", false), ("steep", "2, -3, -17000, -1", true)]
    {
        leaves::<affine_local>(&mut unit, &mut text, name, parameters);
        note(name, is);
    }
    let calls: String = expected
        .iter()
        .map(|(name, _)| format!("  std::printf(\"{name} %d\\n\", {name}());\n"))
        .collect();
    let main = format!("#include <cstdio>\nint main() {{\n{calls}}}\n");
    let folder = host::scratch("pairs");
    std::fs::create_dir_all(&folder).unwrap();
    let source = folder.join("pairs.cu");
    std::fs::write(&source, unit.source() + &text + &main).unwrap();
    let (ran, said) = host::run(&compiler, &source, &folder);
    assert!(ran, "{said}");
    let expected = expected.iter().map(|(name, is)| format!("{name} {}\n", u8::from(*is)));
    assert_eq!(said, expected.collect::<String>());
}

/// A plain kernel that calls a functor on pointers, for the compiler to see all of it.
const KERNEL: &str = r#"
struct Cells {
  const Cell* at_;
  const Input* x;
  long pitch;
  template<int I, int J> __device__ const Cell& at() const { return at_[I * pitch + J]; }
  template<int I, int J> __device__ const Cell& old() const { return at_[I * pitch + J]; }
  __device__ Input input() const { return *x; }
};
extern "C" __global__ void run(Functor f, const Cell* from, const Input* x, Cell* to, RowInput a, ColumnInput b, long pitch) {
  *to = f(Cells{from, x, pitch}, f.row(a), f.column(b));
}
"#;

fn compiles<E: WavefrontElement>() {
    let mut unit = Unit::new();
    let names = [
        ("Functor", E::cuda(&mut unit)),
        ("Cell", E::Cell::cuda(&mut unit)),
        ("RowInput", E::Row::cuda(&mut unit)),
        ("ColumnInput", E::Column::cuda(&mut unit)),
        ("Input", E::Input::cuda(&mut unit)),
    ];
    let mut source = unit.source();
    for (name, ty) in names {
        source.push_str(&format!("using {name} = {ty};\n"));
    }
    source.push_str(KERNEL);
    for arch in ["sm_80", "sm_90"] {
        let cubin =
            compile_in(&Cache::none(), &source, E::NAME, arch, &Options::default()).unwrap();
        assert!(cubin.log.trim().is_empty(), "{}", cubin.log);
    }
}

#[test]
fn nvrtc_compiles_the_text_without_a_warning() {
    if let Err(error) = compiler() {
        return println!("skipped: {error}");
    }
    compiles::<mix>();
    compiles::<affine_local>();
    compiles::<area>();
    compiles::<far>();
    compiles::<relax>();
    compiles::<remix>();
    compiles::<busy<f64>>();
}
