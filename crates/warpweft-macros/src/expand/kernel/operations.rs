//! The operations of the thread in the lowering; those of buffers and arrays are the same as in channel-flow graphs.

use std::collections::HashMap;

use proc_macro2::Ident;
use syn::{Expr as E, ExprMethodCall};

use super::shape::Shape;
use crate::check::{Inputs, Lower, Lowered, Operation};
use crate::diag::reject;
use crate::expand::channel_kernel::ports::{buffer_name, operation};

/// What a thread tells, and what it does.
const THREAD: [&str; 6] = ["index", "threads", "block", "in_block", "block_size", "barrier"];
/// The C++ name of the thread.
pub const AT: &str = "at_thread";

/// The thread, buffers and arrays by their names in Rust: whether it is the thread.
pub struct Names(HashMap<String, bool>);

impl Names {
    /// Of a signature.
    pub fn of(shape: &Shape) -> Self {
        let arrays = shape.arrays().map(|(parameter, _)| parameter);
        let words = shape.buffers().chain(arrays);
        let words = words.map(|parameter| (parameter.named.ident.to_string(), false));
        Self(words.chain([(shape.thread.to_string(), true)]).collect())
    }
}

impl Inputs for Names {
    fn input(&mut self, _: &E, _: &mut Lower) -> syn::Result<Option<Lowered>> {
        Ok(None)
    }

    fn operation(&self, call: &ExprMethodCall) -> Option<syn::Result<Operation>> {
        let E::Path(path) = &*call.receiver else { return None };
        let name = path.path.get_ident()?;
        Some(match *self.0.get(&name.to_string())? {
            true => of_thread(call),
            false => operation(call, name)
                .map(|found| Operation { receiver: buffer_name(name), ..found }),
        })
    }

    fn bare(&self, name: &Ident) -> Option<syn::Error> {
        let is_thread = self.0.get(&name.to_string())?;
        Some(match is_thread {
            true => reject(
                name,
                format_args!("`{name}` is the thread, not a value"),
                format_args!("ask for its index: `{name}.index()`"),
            ),
            false => reject(
                name,
                format_args!("`{name}` is a buffer, not a value"),
                format_args!("read a word of it: `{name}.load(i)`"),
            ),
        })
    }
}

fn of_thread(call: &ExprMethodCall) -> syn::Result<Operation> {
    let method = call.method.to_string();
    if !THREAD.contains(&method.as_str()) || !call.args.is_empty() {
        return Err(reject(
            &call.method,
            format_args!("a thread has no operation `{method}` of these arguments"),
            "use `index()`, `threads()`, `block()`, `in_block()`, `block_size()` or `barrier()`",
        ));
    }
    Ok(Operation { function: format!("ww::thread_{method}"), receiver: AT.into(), fault: None })
}
