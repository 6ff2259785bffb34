//! `out.emit(item)` and the operations of buffers in the lowering.

use std::collections::HashMap;

use proc_macro2::Ident;
use syn::{Expr as E, ExprMethodCall};

use super::shape::Shape;
use crate::check::{Inputs, Lower, Lowered, Operation};
use crate::diag::reject;
use crate::emit::clean;

/// The operations of buffers: their arguments after the index, if they have one.
const OPERATIONS: [(&str, Option<usize>); 8] = [
    ("len", None),
    ("load", Some(0)),
    ("store", Some(1)),
    ("add", Some(1)),
    ("min", Some(1)),
    ("max", Some(1)),
    ("exchange", Some(1)),
    ("compare_exchange", Some(2)),
];

/// Outputs and buffers by their names in Rust.
pub struct Ports(HashMap<String, bool>);

/// The C++ name of an output. Locals end in a digit, members in an underscore.
pub fn out_name(ident: &Ident) -> String {
    format!("{}_out", clean(&ident.to_string()))
}

/// The C++ name of a buffer.
pub fn buffer_name(ident: &Ident) -> String {
    format!("{}_shared", clean(&ident.to_string()))
}

impl Ports {
    /// Of a signature.
    pub fn of(shape: &Shape) -> Self {
        let outs = shape.outs().map(|(parameter, _)| (parameter.named.ident.to_string(), true));
        let buffers = shape.buffers().map(|parameter| (parameter.named.ident.to_string(), false));
        Self(outs.chain(buffers).collect())
    }
}

impl Inputs for Ports {
    fn input(&mut self, _: &E, _: &mut Lower) -> syn::Result<Option<Lowered>> {
        Ok(None)
    }

    fn operation(&self, call: &ExprMethodCall) -> Option<syn::Result<Operation>> {
        let E::Path(path) = &*call.receiver else { return None };
        let name = path.path.get_ident()?;
        Some(match *self.0.get(&name.to_string())? {
            true => emit(call, name),
            false => operation(call, name),
        })
    }

    fn bare(&self, name: &Ident) -> Option<syn::Error> {
        let is_out = self.0.get(&name.to_string())?;
        Some(match is_out {
            true => reject(
                name,
                format_args!("`{name}` is an output, not a value"),
                format_args!("emit into it: `{name}.emit(item)`"),
            ),
            false => reject(
                name,
                format_args!("`{name}` is a buffer, not a value"),
                format_args!("read a word of it: `{name}.load(i)`"),
            ),
        })
    }
}

fn emit(call: &ExprMethodCall, name: &Ident) -> syn::Result<Operation> {
    if call.method != "emit" || call.args.len() != 1 {
        return Err(reject(
            &call.method,
            format_args!("an output has no operation `{}` of these arguments", call.method),
            format_args!("emit an item into it: `{name}.emit(item)`"),
        ));
    }
    Ok(Operation { function: "ww::emit".into(), receiver: out_name(name), fault: None })
}

/// An operation of a buffer.
pub fn operation(call: &ExprMethodCall, name: &Ident) -> syn::Result<Operation> {
    let method = call.method.to_string();
    let known = OPERATIONS.iter().find(|(known, _)| *known == method);
    let Some((_, values)) = known.filter(|(_, n)| call.args.len() == n.map_or(0, |n| n + 1)) else {
        return Err(reject(
            &call.method,
            format_args!("a buffer has no operation `{method}` of these arguments"),
            "use `len()`, `load(i)`, `store(i, x)`, `add(i, x)`, `min(i, x)`, `max(i, x)`, `exchange(i, x)` or \
             `compare_exchange(i, expected, x)`",
        ));
    };
    Ok(Operation {
        function: format!("ww::shared_{method}"),
        receiver: buffer_name(name),
        fault: values.is_some().then_some("index out of bounds of a buffer"),
    })
}
