//! The signature of a kernel taken apart: the item, outputs, buffers and constants.

use syn::{Expr, GenericArgument, PathArguments, Signature, Type};

use crate::diag::reject;
use crate::emit::member_name;
use crate::parse::parameters::Named;
use crate::parse::signature::{self, plain_name, returns_value};

/// What a parameter after the item is.
pub enum Kind {
    /// A value given at construction.
    Constant,
    /// `&mut Out<T, N>`, with `N`.
    Out(Box<Expr>),
    /// `&Shared<T>`.
    Shared,
}

/// A parameter after the item.
pub struct Parameter {
    pub named: Named,
    pub kind: Kind,
    /// The type of items or words; of a constant its own.
    pub content: Type,
}

/// All parameters.
pub struct Shape {
    pub item: Named,
    pub rest: Vec<Parameter>,
}

impl Shape {
    pub fn of(signature: &Signature) -> syn::Result<Self> {
        if returns_value(&signature.output) {
            return Err(reject(
                &signature.output,
                "a kernel of a channel-flow graph returns nothing",
                "emit the value into a channel: `results: &mut Out<T, 1>`",
            ));
        }
        let mut all = signature::parameters(signature)?.into_iter();
        let Some(item) = all.next() else {
            return Err(reject(
                &signature.ident,
                "a kernel takes an item",
                "begin with the parameter that the channel's items are given to",
            ));
        };
        let why = "an item is a value: it is copied out of its channel";
        let item = Named::by_value(item, "kernel", [why, "take the value"])?;
        let rest = all.map(parameter).collect::<syn::Result<_>>()?;
        Ok(Self { item, rest })
    }

    /// Outputs, with their bounds.
    pub fn outs(&self) -> impl Iterator<Item = (&Parameter, &Expr)> {
        self.rest.iter().filter_map(|parameter| match &parameter.kind {
            Kind::Out(bound) => Some((parameter, &**bound)),
            _ => None,
        })
    }

    pub fn buffers(&self) -> impl Iterator<Item = &Parameter> {
        self.rest.iter().filter(|parameter| matches!(parameter.kind, Kind::Shared))
    }

    /// The members of the kernel's struct.
    pub fn fields(&self) -> Vec<Named> {
        self.rest.iter().map(super::field).collect()
    }
}

/// The C++ member that holds a parameter.
pub fn member(named: &Named) -> String {
    member_name(&named.ident.to_string())
}

fn parameter(parameter: signature::Parameter) -> syn::Result<Parameter> {
    let (ident, mutable) = plain_name(&parameter, "kernel")?;
    let (ty, reference) = (parameter.ty.clone(), parameter.reference);
    let (kind, content) = match (generic(&ty), reference) {
        (Some((name, arguments)), Some(true)) if name == "Out" => out(&ty, arguments)?,
        (Some((name, arguments)), Some(false)) if name == "Shared" => shared(&ty, arguments)?,
        (Some((name, _)), _) if name == "Out" || name == "Shared" => {
            let (what, instead) = match name.as_str() {
                "Out" => ("an output", "write `&mut Out<T, N>`"),
                _ => ("a buffer", "write `&Shared<T>`"),
            };
            return Err(reject(
                &parameter.whole,
                format_args!("{what} of a kernel is taken by reference"),
                instead,
            ));
        }
        (_, Some(_)) => {
            return Err(reject(
                &parameter.whole,
                "a kernel takes values, outputs and buffers",
                "take the value, `&mut Out<T, N>` for a channel, or `&Shared<T>` for a buffer",
            ));
        }
        (_, None) => (Kind::Constant, ty.clone()),
    };
    Ok(Parameter { named: Named::value(ident, mutable, ty), kind, content })
}

/// The last name of a path type, and its generic arguments.
fn generic(ty: &Type) -> Option<(String, Vec<GenericArgument>)> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    let arguments = match &last.arguments {
        PathArguments::AngleBracketed(arguments) => arguments.args.iter().cloned().collect(),
        _ => Vec::new(),
    };
    Some((last.ident.to_string(), arguments))
}

fn out(ty: &Type, arguments: Vec<GenericArgument>) -> syn::Result<(Kind, Type)> {
    let bound = match &arguments[..] {
        [GenericArgument::Type(item), GenericArgument::Const(bound)] => {
            Some((item.clone(), bound.clone()))
        }
        // A constant by its name looks like a type.
        [GenericArgument::Type(item), GenericArgument::Type(Type::Path(bound))] => {
            let path = syn::ExprPath { attrs: vec![], qself: None, path: bound.path.clone() };
            Some((item.clone(), Expr::Path(path)))
        }
        _ => None,
    };
    match bound {
        Some((item, bound)) => Ok((Kind::Out(Box::new(bound)), item)),
        None => Err(reject(
            ty,
            "an output names its items and how many one call emits at most",
            "write `&mut Out<T, N>`, such as `&mut Out<u32, 2>`",
        )),
    }
}

fn shared(ty: &Type, arguments: Vec<GenericArgument>) -> syn::Result<(Kind, Type)> {
    match &arguments[..] {
        [GenericArgument::Type(word)] => Ok((Kind::Shared, word.clone())),
        _ => Err(reject(
            ty,
            "a buffer names its words",
            "write `&Shared<T>`, such as `&Shared<u64>`",
        )),
    }
}
