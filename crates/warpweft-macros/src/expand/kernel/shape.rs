//! The signature of a kernel taken apart: the thread, buffers, arrays of a block, constants.

use syn::{Expr, GenericArgument, PathArguments, Signature, Type};

use crate::diag::reject;
use crate::parse::parameters::Named;
use crate::parse::signature::{self, plain_name, returns_value};

/// What a parameter after the thread is.
pub enum Kind {
    /// A value given at launch.
    Constant,
    /// `&Shared<T>`: words of device memory.
    Buffer,
    /// `&BlockArray<T, N>`, with `N`: words that the threads of a block share.
    Array(Box<Expr>),
}

/// A parameter after the thread.
pub struct Parameter {
    pub named: Named,
    pub kind: Kind,
    /// The type of words; of a constant its own.
    pub content: Type,
}

/// All parameters.
pub struct Shape {
    pub thread: syn::Ident,
    pub rest: Vec<Parameter>,
}

impl Shape {
    pub fn of(signature: &Signature) -> syn::Result<Self> {
        if returns_value(&signature.output) {
            return Err(reject(
                &signature.output,
                "a kernel returns nothing",
                "write the value into a buffer: `result: &Shared<u64>`",
            ));
        }
        let hint = "begin with `at: &Thread`, which tells the thread's index";
        let mut all = signature::parameters(signature)?.into_iter();
        let Some(first) = all.next() else {
            return Err(reject(&signature.ident, "a kernel takes the thread that runs it", hint));
        };
        let (thread, _) = plain_name(&first, "kernel")?;
        if last_name(&first.ty).as_deref() != Some("Thread") || first.reference != Some(false) {
            return Err(reject(&first.whole, "a kernel takes the thread that runs it first", hint));
        }
        let rest = all.map(parameter).collect::<syn::Result<_>>()?;
        Ok(Self { thread, rest })
    }

    pub fn buffers(&self) -> impl Iterator<Item = &Parameter> {
        self.rest.iter().filter(|parameter| matches!(parameter.kind, Kind::Buffer))
    }

    /// Arrays of a block, with their lengths.
    pub fn arrays(&self) -> impl Iterator<Item = (&Parameter, &Expr)> {
        self.rest.iter().filter_map(|parameter| match &parameter.kind {
            Kind::Array(length) => Some((parameter, &**length)),
            _ => None,
        })
    }

    /// The members of the kernel's struct: buffers by what names them, and constants.
    pub fn fields(&self) -> Vec<Named> {
        let field = |parameter: &Parameter| {
            let (ident, content) = (parameter.named.ident.clone(), &parameter.content);
            match parameter.kind {
                Kind::Constant => {
                    let (mutable, ty) = (parameter.named.mutable, parameter.named.ty.clone());
                    Some(Named::value(ident, mutable, ty))
                }
                Kind::Buffer => {
                    let ty = syn::parse_quote!(::warpweft::farm::Words<#content>);
                    Some(Named::value(ident, false, ty))
                }
                Kind::Array(_) => None,
            }
        };
        self.rest.iter().filter_map(field).collect()
    }
}

fn parameter(parameter: signature::Parameter) -> syn::Result<Parameter> {
    let (ident, mutable) = plain_name(&parameter, "kernel")?;
    let ty = parameter.ty.clone();
    let (kind, content) = match (last_name(&ty).as_deref(), parameter.reference) {
        (Some("Shared"), Some(false)) => match &arguments(&ty)[..] {
            [GenericArgument::Type(word)] => (Kind::Buffer, word.clone()),
            _ => {
                return Err(reject(
                    &ty,
                    "a buffer names its words",
                    "write `&Shared<T>`, such as `&Shared<u64>`",
                ));
            }
        },
        (Some("BlockArray"), Some(false)) => array(&ty)?,
        (Some(name @ ("Shared" | "BlockArray" | "Thread")), _) => {
            let what = format!("`{name}` is taken by reference, once");
            return Err(reject(&parameter.whole, what, format!("write `&{name}`")));
        }
        (_, Some(_)) => {
            return Err(reject(
                &parameter.whole,
                "a kernel takes values, buffers and arrays of a block",
                "take the value, `&Shared<T>` for a buffer, or `&BlockArray<T, N>`",
            ));
        }
        (_, None) => (Kind::Constant, ty.clone()),
    };
    Ok(Parameter { named: Named::value(ident, mutable, ty), kind, content })
}

fn array(ty: &Type) -> syn::Result<(Kind, Type)> {
    let found = match &arguments(ty)[..] {
        [GenericArgument::Type(word), GenericArgument::Const(length)] => {
            Some((word.clone(), length.clone()))
        }
        // A constant by its name looks like a type.
        [GenericArgument::Type(word), GenericArgument::Type(Type::Path(length))] => {
            let path = syn::ExprPath { attrs: vec![], qself: None, path: length.path.clone() };
            Some((word.clone(), Expr::Path(path)))
        }
        _ => None,
    };
    let Some((word, length)) = found else {
        let hint = "write `&BlockArray<T, N>`, such as `&BlockArray<u32, 256>`";
        return Err(reject(ty, "an array of a block names its words and its length", hint));
    };
    Ok((Kind::Array(Box::new(length)), word))
}

/// The last name of a path type.
fn last_name(ty: &Type) -> Option<String> {
    let Type::Path(path) = ty else { return None };
    Some(path.path.segments.last()?.ident.to_string())
}

/// Its generic arguments.
fn arguments(ty: &Type) -> Vec<GenericArgument> {
    let Type::Path(path) = ty else { return Vec::new() };
    match path.path.segments.last().map(|last| &last.arguments) {
        Some(PathArguments::AngleBracketed(arguments)) => arguments.args.iter().cloned().collect(),
        _ => Vec::new(),
    }
}
