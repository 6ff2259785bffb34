//! Elements of stencils: what Rust computes for a cell, its specialised copy, and the C++ text.
//!
//! The text is run by the host's compiler over the same volumes, kept as snapshots, and compiled by
//! NVRTC for two architectures.

mod tables;

use std::fmt::Write as _;
use std::process::Command;

use self::tables::{CURVE, HUES, Lattice, listed, looked_up, slice, streamed, turned};
use crate::translation_support::{Flat, Hue, host, random::Random};
use warpweft::cuda::{Cache, Options, compile_in, compiler};
use warpweft::element::{CellPtr, DeviceType, Fields, MAX_FIELDS, ScalarKind, Unchecked, Unit};
use warpweft::prelude::*;
use warpweft::stencil::{Place, StencilElement};

/// Seven points, with a helper and an early end.
#[stencil]
fn diffuse(u: Near<f32, 3>, rate: f32, most: f32) -> f32 {
    let around = u[[-1, 0, 0]] + u[[1, 0, 0]] + u[[0, -1, 0]] + u[[0, 1, 0]];
    let around = around + pair(u[[0, 0, -1]], u[[0, 0, 1]]);
    if around > most {
        return most;
    }
    u[[0, 0, 0]] + rate * (around - 6.0 * u[[0, 0, 0]])
}

#[device]
fn pair<T: Real>(a: T, b: T) -> T {
    a + b
}

const EIGHTH: [f64; 5] = [-205.0 / 72.0, 1.6, -0.2, 8.0 / 315.0, -1.0 / 560.0];

/// Order 8 along both axes.
#[stencil]
fn wide<T: Real>(u: Near<T, 2>, rate: T) -> T {
    let mut sum = T::lit(2.0 * -205.0 / 72.0) * u[[0, 0]];
    for k in 1..=4 {
        sum += T::lit(EIGHTH[k as usize]) * (u[[-k, 0]] + u[[k, 0]] + u[[0, -k]] + u[[0, k]]);
    }
    u[[0, 0]] + rate * sum
}

/// Loops over offsets in two directions, steps and expressions of constants.
#[stencil]
fn scattered(u: Near<i32, 2>, mut weight: i32, hue: Hue, table: [i16; 3]) -> i32 {
    const REACH: isize = 2;
    let far = REACH + 1;
    let mut sum = 0;
    for y in (-REACH..=REACH).rev().step_by(2) {
        for x in 0..2 {
            if y != 0 || x == 1 {
                weight += 1;
                sum += weight * u[[y, 2 * x - 1]];
            }
        }
    }
    for i in 0..3 {
        sum ^= table[i] as i32 + u[[far, -far]];
    }
    let u = u[[0, 0]];
    match hue {
        Hue::Red => sum,
        _ if u > 3 => sum / u,
        _ => u,
    }
}

/// Life, on truth values.
#[stencil]
fn life(alive: Near<bool, 2>) -> bool {
    let mut count = 0;
    for y in -1..=1 {
        for x in -1..=1 {
            count += if alive[[y, x]] { 1 } else { 0 };
        }
    }
    matches!(count - alive[[0, 0]] as i32, 3) || alive[[0, 0]] && count == 3
}

/// Told where its cell is, and the step: arithmetic, an index that is computed, a copy that changes.
#[stencil]
fn placed(u: Near<i32, 2>, #[at] at: [usize; 2], #[step] mut step: u64, by: i32) -> i32 {
    let (y, x) = (at[0], at[1]);
    step += (y * 100 + x) as u64;
    if at[y % 2] > 4 && x != y {
        return u[[0, 1]] * by - at.len() as i32;
    }
    u[[-1, 0]] ^ (step >> 3) as i32
}

/// Fields of three sizes.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
#[repr(C)]
struct Wave {
    height: f32,
    wet: bool,
    speed: f64,
    rock: u8,
}

/// Some fields read, some written, one only when it must be, one of `next` only read.
#[stencil]
fn wave(now: Near<Wave, 1>, next: &mut Wave, dt: f64) {
    let slope = now.height[[1]] - now.height[[-1]];
    next.speed += dt * slope as f64 - next.rock as f64;
    if now.wet[[0]] && slope > 0.0 {
        next.height = now.height[[0]] * 0.5 + next.speed as f32;
        return;
    }
    next.wet = !next.wet;
}

/// Fields that Rust lays out in another order than they are written in.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
struct Loose {
    wet: bool,
    speed: f64,
    rock: u8,
    height: f32,
}

/// A returned cell: fields of neighbours, whole neighbours, and an early end.
#[stencil]
fn loose(g: Near<Loose, 2>, dt: f32) -> Loose {
    let here = g[[0, 0]];
    let mut height = here.height;
    for k in 1..=2 {
        height += dt * (g[[k, 0]].height - (g[[-k, 0]]).height);
    }
    assert!(matches!(g[[0, 0]].rock, 0..=255));
    if g[[0, 1]].wet && here.rock > 100 {
        return g[[0, -1]];
    }
    Loose { height, wet: !here.wet, ..g[[1, 1]] }
}

/// The same of a generic struct.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
struct Two<T: Real> {
    u: T,
    v: T,
}

#[stencil]
fn exchanged<T: Real>(g: Near<Two<T>, 1>, rate: T) -> Two<T> {
    let u = g[[-1]].u + rate * g[[1]].v;
    Two { u, v: g[[0]].u }
}

/// What functions are told of the step.
const STEP: u64 = 1 << 40 | 5;

/// One element over one volume, with what Rust makes of every inner cell.
struct Case {
    /// C++: the field arrays, and the loop over cells that prints what it stores.
    text: String,
    /// What Rust makes of them, printed alike.
    rust: String,
}

/// A scalar's name in C++.
fn spelled(kind: ScalarKind) -> String {
    if kind == ScalarKind::Bool { "bool".into() } else { format!("ww::{}", kind.name()) }
}

/// Bytes of a scalar as C++ prints them.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes_of<S: Fields>(cell: S) -> Vec<String> {
    let mut words = vec![[0u64; 1]; MAX_FIELDS];
    let mut base = [std::ptr::null_mut(); MAX_FIELDS];
    for (to, word) in base.iter_mut().zip(&mut words) {
        *to = word.as_mut_ptr().cast::<u8>();
    }
    // SAFETY: every field has a word of its own, which is as large as any scalar.
    unsafe { cell.store(&base, 0, u32::MAX) };
    let fields = S::FIELDS.iter().zip(words);
    fields.map(|(field, word)| hex(&word[0].to_le_bytes()[..field.kind.size()])).collect()
}

impl Case {
    fn new<E: StencilElement<D>, const D: usize>(
        unit: &mut Unit,
        number: usize,
        element: E,
        value: &str,
        random_cell: impl Fn(&mut Random) -> E::State,
    ) -> Self {
        let functor = E::cuda(unit);
        let extents = [10; D];
        let mut random = Random(number as u64);
        let volume = Volume::from_fn(extents, |_| random_cell(&mut random));
        let strides: [isize; D] = std::array::from_fn(|d| 10isize.pow((D - 1 - d) as u32));
        let mut text = String::new();
        let mut base = [std::ptr::null(); MAX_FIELDS];
        for (f, field) in E::State::FIELDS.iter().enumerate() {
            let bytes: Vec<_> = volume.field_bytes(f).iter().map(u8::to_string).collect();
            base[f] = volume.field_bytes(f).as_ptr();
            let name = format!("field_{number}_{f}");
            writeln!(text, "alignas(8) static unsigned char {name}[] = {{{}}};", bytes.join(", "))
                .unwrap();
            writeln!(
                text,
                "template<> struct field<{number}, {f}> {{ using type = {}; static type* data() {{ return (type*){name}; }} }};",
                spelled(field.kind)
            )
            .unwrap();
        }
        let steps: Vec<_> = strides.iter().map(isize::to_string).collect();
        let store: String =
            (0..E::State::FIELDS.len()).map(|f| format!("show(next.v{f}); ")).collect();
        let members: String = (0..E::State::FIELDS.len())
            .map(|f| {
                format!(
                    "  typename field<{number}, {f}>::type v{f};\n  auto& member(std::integral_constant<int, {f}>) {{ return v{f}; }}\n"
                )
            })
            .collect();
        let load: String = (0..E::State::FIELDS.len())
            .map(|f| format!("next.v{f} = field<{number}, {f}>::data()[i]; "))
            .collect();
        writeln!(
            text,
            "struct now_{number} {{\n  long i;\n  template<int F, int... O> auto at() const {{\n    const long s[] = {{{}}}; const long o[] = {{O...}}; long j = i;\n    for (int d = 0; d < {D}; ++d) j += s[d] * o[d];\n    return field<{number}, F>::data()[j];\n  }}\n  template<ww::usize N> auto index() const {{ ww::array<ww::usize, N> all; long r = i; for (int d = N; d-- > 0; r /= 10) all.items[d] = r % 10; return all; }}\n  ww::u64 step() const {{ return {STEP}ull; }}\n}};\nstruct next_{number} {{\n{members}  template<int F> auto& ref() {{ return member(std::integral_constant<int, F>()); }}\n}};\nstatic void run_{number}() {{\n  const {functor} element = {value};\n  for (long i = 0; i < {}; ++i) {{\n    long r = i; bool inner = true;\n    for (int d = 0; d < {D}; ++d) {{ inner = inner && r % 10 >= 4 && r % 10 <= 5; r /= 10; }}\n    if (!inner) continue;\n    now_{number} now{{i}}; next_{number} next; {load}\n    element(now, next);\n    {store}puts(\"\");\n  }}\n}}",
            steps.join(", "),
            volume.len(),
        )
        .unwrap();
        let mut rust = String::new();
        for index in 0..volume.len() {
            let mut at = [0; D];
            let mut rest = index;
            for d in (0..D).rev() {
                at[d] = rest % 10;
                rest /= 10;
            }
            if at.iter().any(|&x| !(4..=5).contains(&x)) {
                continue;
            }
            let before = volume.get(at).unwrap();
            let (mut plain, mut special) = (before, before);
            let place = Place { at, step: STEP };
            element.cell(volume.near(at), &mut plain, place);
            let bounds = Unchecked { shift: [0; D] };
            let pointer = CellPtr { base, index: index as isize, strides, bounds };
            // SAFETY: the cell is four away from every face, and so is no tap further.
            unsafe { element.cell_unchecked(E::State::near(&pointer), &mut special, place) };
            assert_eq!(bytes_of(plain), bytes_of(special), "{} at {at:?}", E::NAME);
            writeln!(rust, "{} ", bytes_of(plain).join(" ")).unwrap();
        }
        Self { text, rust }
    }
}

const MAIN: &str = r#"
#include <cstdio>
#include <type_traits>
template<int N, int F> struct field;
template<class T> static void show(T v) {
  for (unsigned i = 0; i < sizeof v; ++i) printf("%02x", ((unsigned char*)&v)[i]);
  printf(" ");
}
"#;

#[test]
fn elements_mean_the_same_in_rust_specialised_and_in_cpp() {
    let mut unit = Unit::new();
    let hue = Hue::Blue.cuda_value(&mut unit);
    let real = |random: &mut Random| random.below(1000) as f32 / 16.0;
    let lattice = |random: &mut Random| Lattice {
        wet: [random.chance(60), random.chance(40)],
        rho: f64::from(real(random)),
        f: [real(random), real(random), real(random)],
    };
    let cases = [
        Case::new(&mut unit, 0, diffuse(0.1, 200.0), "{0.1f, 200.0f}", real),
        Case::new(&mut unit, 1, wide(0.3), "{0.3}", |random| f64::from(real(random))),
        Case::new(
            &mut unit,
            2,
            scattered(7, Hue::Blue, [1, -2, 300]),
            &format!("{{7, {hue}, {{1, -2, 300}}}}"),
            |random| random.below(9) as i32,
        ),
        Case::new(&mut unit, 3, life(), "{}", |random| random.chance(40)),
        Case::new(&mut unit, 4, wave(0.25), "{0.25}", |random| Wave {
            height: real(random),
            wet: random.chance(60),
            speed: f64::from(real(random)),
            rock: Flat::sample(random),
        }),
        Case::new(&mut unit, 5, wide(0.3f32), "{0.3f}", real),
        Case::new(&mut unit, 6, loose(0.25), "{0.25f}", |random| Loose {
            wet: random.chance(60),
            speed: f64::from(real(random)),
            rock: Flat::sample(random),
            height: real(random),
        }),
        Case::new(&mut unit, 7, exchanged(0.3f32), "{0.3f}", |random| Two {
            u: real(random),
            v: real(random),
        }),
        Case::new(&mut unit, 8, placed(7), "{7}", |random| random.below(999) as i32),
        Case::new(
            &mut unit,
            9,
            looked_up(CURVE, [[1, -2], [3, 4], [-5, 6]], HUES),
            &format!(
                "{{{}, {{}}, {{{{{{{{1, -2}}}}, {{{{3, 4}}}}, {{{{-5, 6}}}}}}}}, {}, {{}}}}",
                slice("i16", "curve", 5),
                slice("u8", "hues", 6)
            ),
            |random| random.below(9) as i32,
        ),
        Case::new(&mut unit, 10, streamed(0.25), "{0.25f}", lattice),
        Case::new(&mut unit, 11, turned(), "{}", lattice),
    ];
    let mut source = unit.source() + MAIN;
    writeln!(source, "static ww::i16 curve[] = {{{}}};", listed(&CURVE)).unwrap();
    writeln!(source, "static ww::u8 hues[] = {{{}}};", listed(&HUES)).unwrap();
    let mut expected = String::new();
    let mut calls = String::new();
    for (i, case) in cases.iter().enumerate() {
        source.push_str(&case.text);
        expected.push_str(&case.rust);
        calls.push_str(&format!("run_{i}(); "));
    }
    source.push_str(&format!("int main() {{ {calls}return ww_fault != 0; }}\n"));
    let folder = host::scratch("stencils");
    std::fs::create_dir_all(&folder).unwrap();
    let (file, program) = (folder.join("source.cc"), folder.join("source.out"));
    std::fs::write(&file, source).unwrap();
    let compiler = match host::compiler() {
        Ok(compiler) => compiler,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let compiled = Command::new(compiler)
        .args(["-std=c++17", "-O1", "-ffp-contract=off", "-w"])
        .arg(&file)
        .arg("-o")
        .arg(&program)
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let ran = Command::new(&program).output().unwrap();
    assert!(ran.status.success());
    assert_eq!(String::from_utf8_lossy(&ran.stdout), expected);
    assert!(expected.lines().count() > 20);
}

/// A plain kernel that calls a functor on pointers, for the compiler to see all of it.
const KERNEL: &str = r#"
template<int F> struct kept;
KEPT
struct Now {
  const char* base; long s0, s1, s2;
  template<int F, int... O> __device__ auto at() const {
    const long o[] = {O...}; const long s[] = {s0, s1, s2}; long j = 0;
    for (int d = 0; d < (int)sizeof...(O); ++d) j += o[d] * s[d];
    return ((const typename kept<F>::type*)base)[j];
  }
  template<ww::usize N> __device__ auto index() const {
    ww::array<ww::usize, N> all;
    for (int d = 0; d < (int)N; ++d) all.items[d] = s0 + d;
    return all;
  }
  __device__ ww::u64 step() const { return s1; }
};
struct Next { char* base; template<int F> __device__ auto& ref() { return *(typename kept<F>::type*)base; } };
extern "C" __global__ void run(Functor element, const char* now, char* next, long a, long b, long c) {
  Next to{next};
  element(Now{now, a, b, c}, to);
}
"#;

fn compiles<E: StencilElement<D>, const D: usize>() {
    let mut unit = Unit::new();
    let functor = E::cuda(&mut unit);
    E::cuda_state(&mut unit);
    let mut source = unit.source();
    source.push_str(&format!("using Functor = {functor};\n"));
    let kinds: String = E::State::FIELDS
        .iter()
        .enumerate()
        .map(|(f, field)| {
            format!("template<> struct kept<{f}> {{ using type = {}; }};\n", spelled(field.kind))
        })
        .collect();
    source.push_str(&KERNEL.replace("KEPT", &kinds));
    for arch in ["sm_80", "sm_90"] {
        for contract in [false, true] {
            let options = Options { contract, ..Options::default() };
            let cubin = compile_in(&Cache::none(), &source, E::NAME, arch, &options).unwrap();
            assert!(cubin.log.trim().is_empty(), "{}", cubin.log);
            println!("{} for {arch}, contraction {contract}: {:.3} s", E::NAME, cubin.seconds);
        }
    }
}

#[test]
fn nvrtc_compiles_the_text_without_a_warning() {
    if let Err(error) = compiler() {
        return println!("skipped: {error}");
    }
    compiles::<diffuse, 3>();
    compiles::<wide<f32>, 2>();
    compiles::<wide<f64>, 2>();
    compiles::<scattered, 2>();
    compiles::<life, 2>();
    compiles::<placed, 2>();
    compiles::<looked_up, 2>();
    compiles::<streamed, 1>();
    compiles::<turned, 1>();
    compiles::<wave, 1>();
    compiles::<loose, 2>();
    compiles::<exchanged<f64>, 1>();
}
