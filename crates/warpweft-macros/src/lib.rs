//! The attributes of Warpweft: one Rust function, also as CUDA C++.
//!
//! A body passes four stages: `parse` reads it with `syn` and writes constant loops out, `check` holds it against the subset
//! and lowers it to an `ir` that is neutral to the output language, `emit` writes that as text. `expand` has a module for each
//! attribute and derive, with what it generates around the body. The macros see tokens, not types; `check` says how rustc supplies those.

mod check;
mod diag;
mod emit;
mod expand;
mod ir;
mod parse;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;
use syn::parse_macro_input;

use self::parse::signature::no_arguments;

/// Makes a function callable from element functions, on the GPU too.
///
/// The function stays as it is. A hidden type of the same name carries the translation, so one `use` imports both.
#[proc_macro_attribute]
pub fn device(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let original = proc_macro2::TokenStream::from(item.clone());
    let function = parse_macro_input!(item as syn::ItemFn);
    let result =
        no_arguments(attribute.into(), "device").and_then(|()| expand::device::expand(function));
    // After an error the host's callers still find the function: one error is enough.
    let tokens = result.unwrap_or_else(|error| {
        let error = error.into_compile_error();
        quote::quote!(#original #error)
    });
    tokens.into()
}

/// Makes a function the element function of a stencil.
///
/// Its first parameter is the neighbourhood, `u: Near<f32, 3>`; the offsets it is indexed with are
/// the footprint. `name(parameters)` then makes the element for `Stencil::of`, and
/// `name::cell(neighbourhood, parameters)` calls the function itself.
#[proc_macro_attribute]
pub fn stencil(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let function = parse_macro_input!(item as syn::ItemFn);
    finish(
        no_arguments(attribute.into(), "stencil").and_then(|()| expand::stencil::expand(function)),
    )
}

/// Makes a function a boundary condition: it returns the value of a cell outside a face from the cell's position and
/// the step.
///
/// Its first parameters are the indices of that cell, which lie outside the volume, and the number of steps done,
/// `at: [i64; 2], step: u64`. `name(parameters)` makes what
/// `Stencil::face_by` takes, and `name::cell(at, step, parameters)` calls the function itself.
#[proc_macro_attribute]
pub fn boundary(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let function = parse_macro_input!(item as syn::ItemFn);
    finish(
        no_arguments(attribute.into(), "boundary")
            .and_then(|()| expand::boundary::expand(function)),
    )
}

/// Makes a function a reduction: it makes one cell of two, `fn larger(a: f64, b: f64) -> f64`.
///
/// The first two parameters are cells, of the type that is returned. `name(others)` makes what `Session::fold` takes, and
/// `name::cell(a, b, others)` calls the function itself.
#[proc_macro_attribute]
pub fn reduction(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let function = parse_macro_input!(item as syn::ItemFn);
    finish(
        no_arguments(attribute.into(), "reduction")
            .and_then(|()| expand::reduction::expand(function)),
    )
}

/// Makes a function the element function of a wavefront.
///
/// Its first parameter is `h: Earlier<Cell>`: `h.n`, `h.w`, `h.nw`, `h.ne` and `h[[-1, 2]]` are the
/// cells it depends on. `old: Old<Cell>` after it gives what cells held before the present sweep.
/// Parameters marked `#[row]`, `#[column]` and `#[cell]` are the inputs of a row, a column and a
/// cell; `name(others)` makes the element for `Wavefront::of`, and `name::cell(h, ..)` calls the
/// function itself. `#[wavefront(bounds = path)]` names a function of the element, rows and
/// columns that returns the least and greatest number that can arise, as `[f64; 2]`; `step = path` one
/// of the element and a border cell that returns by how much neighbours differ at most, for cells of
/// 16 bits (`WavefrontElement::relative`); `sums` among the
/// arguments says that the function is `h.n + h.w - h.nw` and a term of the inputs, which GPUs then
/// compute by scans, floats rounded in another order.
///
/// A parameter without a marker is a value or a slice, `&[T]`, which the element borrows: a table of scores. If symbols of
/// rows and columns make up an index, the run is refused before it begins where one of them leads out of the slice.
///
/// `#[wavefront(path = max)]`, or `path = min`, also makes paths of a function that is the `max` (or `min`) of sums with one earlier
/// cell each, `n`, `w` or `nw`: it implements `wavefront::traceback::Traced`. Cells are `i32` or `i64`. A path begins where a term without an
/// earlier cell equals the cell, as 0 in a local alignment. Otherwise it goes on to `nw` where it can, then to `w`, then to `n`. The function
/// does not end early; what a variable that depends on earlier cells is computed from has a name of its own and is not `mut`.
///
/// `#[wavefront(choice)]` marks the function that a traceback uses (`wavefront::traceback::Choice`). Its `#[cell]`
/// parameter is the finished cell; it returns as `u8` which of the dependences that cell was computed from.
#[proc_macro_attribute]
pub fn wavefront(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let function = parse_macro_input!(item as syn::ItemFn);
    finish(expand::wavefront::expand(attribute.into(), function))
}

/// Makes a function a task of a farm, on cores and, translated, on GPUs.
///
/// Its first parameter is the input of one task, the others are the same for all: `name(others)` makes what
/// `Farm::of` takes, and `name::task(input, others)` calls the function itself. Inputs, outputs and parameters are numbers,
/// arrays and structs with `#[derive(Device)]`; an output is `Packed` too. Parameters after the
/// first may also be slices of any length, `table: &[T]`, which are copied to each device once.
/// Where the body would panic (division by
/// zero, an index out of bounds), that task fails, on cores and GPUs alike.
///
/// `#[task(memory = coalesced, arithmetic = high, eviction = low, reuse = low)]` characterises the kernel, with any of these
/// words: blocks on GPUs then begin with what the table of `warpweft::farm::KernelTable` says of such kernels.
#[proc_macro_attribute]
pub fn task(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let function = parse_macro_input!(item as syn::ItemFn);
    finish(expand::task::expand(attribute.into(), function))
}

/// Makes a function a kernel: every thread of a launch runs it, on a lane of a GPU.
///
/// Its first parameter is the thread, `at: &Thread`: `at.index()`, `threads()`, `block()`, `in_block()`, `block_size()`, and
/// `barrier()`, which waits for all threads of the block, which must all reach it. After that come, in any order, buffers of
/// device memory, `distances: &Shared<u32>`, and arrays of a block, `sums: &BlockArray<u32, 256>`, both with `load(i)`,
/// `store(i, x)`, the atomic `add(i, x)`, `min`, `max`, `exchange`, `compare_exchange(i, expected, x)`, and `len()`; and
/// constants by value. `name(buffers, constants)` makes what `KernelLane::launch` takes, and `name::thread(at, ..)` calls the
/// function itself. Indices are checked: one outside ends the chunk with an error that names the line.
///
/// `#[kernel(unsafe(cuda = include_str!("add.cu")))]` gives the kernel a body in CUDA C++ for
/// devices; a string literal is possible too. In the CUDA code each buffer or array is a pointer
/// with the name of its parameter, and its length is `name_len`; constants have the names of their
/// parameters. The Rust body then runs only on the host, and may be any Rust. Nothing checks the
/// CUDA code: it must stay inside its buffers.
///
/// `#[kernel(memory = scatter, arithmetic = low, eviction = high, reuse = low)]` characterises it, with any of these words: its
/// blocks begin with what the table of `warpweft::farm::KernelTable` says of such kernels.
#[proc_macro_attribute]
pub fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let function = parse_macro_input!(item as syn::ItemFn);
    finish(expand::kernel::expand(attribute.into(), function))
}

/// Makes a function whose calls may run concurrently, as in Cilk.
///
/// In its body `let x = spawn!(f(..));` calls a function with this attribute, which may run concurrently with what
/// follows, up to the next `sync!();`, which waits for all of them. `x = spawn!(..);`, `x += spawn!(..);`, `|=` and `^=`
/// do the same for an existing variable. Called directly, the function is an ordinary serial Rust function;
/// `name::call(arguments)` makes the call for `Channels::of`.
///
/// It may take slices of words, `&[T]` and `&mut [T]`; `Channels::run_borrowing` then runs its calls.
///
/// With `#[spawning(team)]`, all lanes of a warp run a call together on a GPU; on cores one lane
/// runs it. `#[spawning(team(256))]` makes a team of up to 256 lanes: 32, 64, 128, 256 or 512.
/// The first parameter is `team: &Team`, with `team.lane()`, `lanes()`, `barrier()`,
/// which waits for all lanes, `count(condition)`, the number of lanes for which the condition
/// holds, `sum(number)`, and `prefix_sum(number)`, the sum over the lanes before.
/// All lanes must reach each of the last four. Parameters `room: &mut [T; N]` are arrays
/// that the lanes share. Callers do not pass them, and their words must be written before they are
/// read. The function can't spawn calls.
///
/// `#[spawning(cores)]` makes it a function for the cores only: its body may be any Rust, and it
/// may borrow anything.
/// `Channels::run_on_cores` runs its calls.
#[proc_macro_attribute]
pub fn spawning(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let original = proc_macro2::TokenStream::from(item.clone());
    let function = parse_macro_input!(item as syn::ItemFn);
    let attribute = proc_macro2::TokenStream::from(attribute);
    let team = expand::spawning::team::lanes(&attribute);
    let result = match (attribute.to_string().as_str(), team) {
        ("cores", _) => expand::spawning::cores_only::expand(function),
        (_, Some(lanes)) => lanes.and_then(|lanes| expand::spawning::team::expand(function, lanes)),
        _ => {
            let instead = "write `#[spawning]`, `#[spawning(cores)]` for the cores only, or `#[spawning(team)]` for all lanes of a warp, `#[spawning(team(256))]` for 256 lanes";
            match attribute.is_empty() {
                true => expand::spawning::expand(function),
                false => {
                    Err(diag::reject(&attribute, "`#[spawning]` takes no such argument", instead))
                }
            }
        }
    };
    // After an error the host's callers still find the function: one error is enough.
    let tokens = result.unwrap_or_else(|error| {
        let error = error.into_compile_error();
        quote::quote!(#original #error)
    });
    tokens.into()
}

/// Makes a function a kernel of a channel-flow graph: it consumes the items of one channel, one a call.
///
/// Its first parameter is the item. After that come outputs, `calls: &mut Out<T, N>`, into which one call emits at most
/// `N` items (`calls.emit(item)`); buffers, `result: &Shared<u64>`, whose words all firings share (`load(i)`, `store(i, x)`,
/// `add(i, x)`, `min`, `max`, `exchange`, `compare_exchange(i, expected, x)`, `len()`); and constants by value, in any
/// order. `#[channel_kernel(total = N)]` says that one call emits at most `N` items into all outputs together, where that is
/// less than their sum. `name(channels, buffers, constants)` makes what `FlowGraph::connect` takes, and `name::fire(item, ..)` calls the
/// function itself.
#[proc_macro_attribute]
pub fn channel_kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let function = parse_macro_input!(item as syn::ItemFn);
    finish(expand::channel_kernel::expand(attribute.into(), function))
}

/// Makes a struct the cell of a wavefront: `#[score]` marks the member that cells are compared by,
/// the first if there is none.
#[proc_macro_derive(Ranked, attributes(score))]
pub fn ranked(item: TokenStream) -> TokenStream {
    expand::derive::ranked(parse_macro_input!(item as syn::DeriveInput)).into()
}

/// Makes a struct of scalars the state of a cell, stored field by field.
#[proc_macro_derive(Fields)]
pub fn fields(item: TokenStream) -> TokenStream {
    expand::derive::fields(parse_macro_input!(item as syn::DeriveInput)).into()
}

/// Makes a struct, or an enum without data, a type of device code.
#[proc_macro_derive(Device)]
pub fn device_type(item: TokenStream) -> TokenStream {
    expand::derive::device(parse_macro_input!(item as syn::DeriveInput)).into()
}

/// Makes a struct one that is written as bytes and read back, member by member.
#[proc_macro_derive(Packed)]
pub fn packed(item: TokenStream) -> TokenStream {
    expand::derive::packed(parse_macro_input!(item as syn::DeriveInput)).into()
}

fn finish(result: syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    result.unwrap_or_else(|error| error.into_compile_error()).into()
}
