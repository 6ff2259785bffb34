//! The translation unit of one function and of all that it spawns.

use crate::spawning::Spawning;
use warpweft_core::cuda::{Cubin, Options, compile};
use warpweft_core::element::Unit;
use warpweft_core::error::{Error, Result};

/// Functions that an item can tell apart.
const FUNCTIONS: usize = 16;
/// Warps of a block.
pub(super) const WARPS: u32 = 4;

/// The kernel's struct of arguments, as `ww_arguments` in `call.cuh`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Arguments {
    pub roots: u64,
    pub results: u64,
    pub frames: u64,
    pub free_frames: u64,
    pub returned: u64,
    pub rings: u64,
    pub stacks: u64,
    pub more: u64,
    pub slots: u64,
    pub counters: u64,
    pub counts: u64,
    pub roots_count: u32,
    pub roots_bytes: u32,
    pub levels: u32,
    pub quota: u32,
    pub frames_each: u32,
    pub ring: u32,
    pub slots_count: u32,
    pub every: u32,
    pub idle: u32,
    pub stack_items: u32,
    pub stack_frames: u32,
    pub channels: u32,
}

/// CUDA C++ of the kernel for calls of `C`, with lanes' stacks in shared memory or not, and where it may fault.
///
/// # Errors
/// Too many functions that spawn one another.
pub(super) fn source<C: Spawning>(shared: bool) -> Result<(String, Unit)> {
    let mut unit = Unit::new();
    let root = C::cuda(&mut unit);
    let functions = unit.numbered();
    if functions.len() > FUNCTIONS {
        let what = format!("`{}` spawns {} functions in all", C::NAME, functions.len());
        return Err(Error::spec(what, format!("spawn {FUNCTIONS} at most")));
    }
    let text = format!(
        "{}
#define WW_FUNCTIONS(F) {}
#define WW_ROOT {root}
#define WW_WARPS {WARPS}
#define WW_SHARED {}
#define WW_ARGUMENTS_BYTES {}
#include \"stacks.cuh\"
",
        unit.source(),
        numbered(&unit),
        u32::from(shared),
        size_of::<Arguments>(),
    );
    Ok((text, unit))
}

/// The functions of `unit` as the arguments of a macro.
pub(super) fn numbered(unit: &Unit) -> String {
    unit.numbered().iter().map(|name| format!("F({name}) ")).collect()
}

/// The bytes of calls.
pub(super) fn bytes_of<T: Copy>(values: &[T]) -> &[u8] {
    // SAFETY: they are only copied, by the driver, never looked at; values outlive the borrow.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// The bytes of outputs, to be overwritten by those of outputs.
pub(super) fn bytes_of_mut<T: Copy>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: as above; the kernel wrote values of the same type, laid out the same.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}

/// What the skeleton may include.
pub(super) fn options() -> Options {
    Options::including(&[
        ("stacks.cuh", include_str!("stacks.cuh")),
        ("lane.cuh", include_str!("lane.cuh")),
        ("call.cuh", include_str!("call.cuh")),
        ("words.cuh", include_str!("words.cuh")),
    ])
}

/// Compiles the kernels for calls of `C` for `arch` without a device.
///
/// # Errors
/// Too many functions; the compiler's.
pub fn compile_check<C: Spawning>(arch: &str) -> Result<Cubin> {
    match super::sums::compile_check::<C>(arch)? {
        Some(cubin) => Ok(cubin),
        None => compile(&source::<C>(true)?.0, C::NAME, arch, &options()),
    }
}
