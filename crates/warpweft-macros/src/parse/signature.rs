//! Signatures of element functions: what they may say.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{FnArg, GenericParam, Pat, ReturnType, Signature, Type};

use crate::diag::{reject, reject_at};

/// A parameter of an element function.
pub struct Parameter {
    pub pat: Pat,
    /// The type, without the reference.
    pub ty: Type,
    /// The type as written.
    pub whole: Type,
    /// Of a reference: whether it is mutable.
    pub reference: Option<bool>,
}

/// An attribute takes no arguments.
pub fn no_arguments(arguments: TokenStream, name: &str) -> syn::Result<()> {
    if arguments.is_empty() {
        return Ok(());
    }
    Err(reject(&arguments, format_args!("`#[{name}]` takes no arguments"), "drop them"))
}

/// Refuses functions that are not called plainly.
pub fn plain(signature: &Signature) -> syn::Result<()> {
    if let Some(token) = &signature.asyncness {
        return Err(reject(
            token,
            "an `async` function can't run on a device",
            "drop `async`: an element function computes one cell and returns",
        ));
    }
    if let Some(token) = &signature.unsafety {
        return Err(reject(
            token,
            "an `unsafe` function can't run on a device",
            "drop `unsafe`: the subset has safe operations only",
        ));
    }
    if let Some(abi) = &signature.abi {
        return Err(reject(abi, "an element function has Rust's own ABI", "drop `extern`"));
    }
    Ok(())
}

/// Checks what holds for every element function and takes the parameters apart.
pub fn parameters(signature: &Signature) -> syn::Result<Vec<Parameter>> {
    parameters_and(signature, Slices::None)
}

/// Which slices parameters may be.
#[derive(Clone, Copy, PartialEq)]
pub enum Slices {
    None,
    /// Those that are only read.
    Read,
    All,
}

/// The same of a function that may take slices.
pub fn parameters_and(signature: &Signature, slices: Slices) -> syn::Result<Vec<Parameter>> {
    plain(signature)?;
    if let ReturnType::Type(_, ty) = &signature.output
        && let Type::Reference(_) = &**ty
    {
        return Err(reject(ty, "a device function can't return a reference", "return the value"));
    }
    signature.inputs.iter().map(|argument| parameter(argument, slices)).collect()
}

fn parameter(argument: &FnArg, slices: Slices) -> syn::Result<Parameter> {
    let typed = match argument {
        FnArg::Typed(typed) => typed,
        FnArg::Receiver(receiver) => {
            return Err(reject(
                receiver,
                "a method can't run on a device",
                "make it a free function that takes the value as a parameter",
            ));
        }
    };
    let whole = (*typed.ty).clone();
    let (ty, reference) = match &whole {
        Type::Reference(reference) => {
            ((*reference.elem).clone(), Some(reference.mutability.is_some()))
        }
        other => (other.clone(), None),
    };
    let bad = match &ty {
        Type::ImplTrait(_) => {
            Some(("`impl Trait` parameters", "name a type parameter: `fn f<T: Real>(x: T)`"))
        }
        Type::Slice(_) if slices == Slices::All && reference.is_some() => None,
        Type::Slice(_) if slices == Slices::Read && reference == Some(false) => None,
        Type::Slice(_) if slices == Slices::Read => {
            Some(("slices that change", "take `&[T]`, which is only read"))
        }
        Type::Slice(_) => Some(("slices", "take an array, `[f32; N]`, by value or reference")),
        Type::Reference(_) => Some(("references to references", "take the value")),
        Type::Ptr(_) => Some(("pointers", "take the value, or `&mut` of it")),
        Type::BareFn(_) => Some(("function pointers", "call a `#[device]` function by its path")),
        Type::TraitObject(_) => {
            Some(("trait objects", "name a type parameter: `fn f<T: Real>(x: T)`"))
        }
        Type::Path(path) => {
            path.path.segments.last().and_then(|last| match last.ident.to_string().as_str() {
                "str" | "String" => {
                    Some(("strings", "pass a number or an enum with `#[derive(Device)]`"))
                }
                "Vec" | "Box" => Some(("heap memory", "pass an array, `[f32; N]`")),
                "Option" | "Result" => {
                    Some(("`Option` and `Result`", "pass a number or a `bool` next to the value"))
                }
                _ => None,
            })
        }
        _ => None,
    };
    match bad {
        Some((what, instead)) => {
            Err(reject(&typed.ty, format_args!("device code has no {what}"), instead))
        }
        None => Ok(Parameter { pat: (*typed.pat).clone(), ty, whole, reference }),
    }
}

/// The name of a parameter that has a plain one, and whether it is mutable. `what` the function is.
pub fn plain_name(parameter: &Parameter, what: &str) -> syn::Result<(Ident, bool)> {
    match &parameter.pat {
        Pat::Ident(ident) if ident.subpat.is_none() && ident.by_ref.is_none() => {
            Ok((ident.ident.clone(), ident.mutability.is_some()))
        }
        other => Err(reject(
            other,
            format_args!("a parameter of a {what} function has a plain name"),
            "name it and take it apart with `let`",
        )),
    }
}

/// A member that uses every type parameter, for a struct that may not otherwise.
pub fn phantom(generics: &syn::Generics) -> TokenStream {
    let types = generics.type_params().map(|parameter| &parameter.ident);
    quote!(::core::marker::PhantomData<fn() -> (#(#types,)*)>)
}

/// Lifetimes have no meaning in device code.
pub fn no_lifetimes(generics: &syn::Generics) -> syn::Result<()> {
    for parameter in &generics.params {
        if let GenericParam::Lifetime(lifetime) = parameter {
            return Err(reject_at(
                lifetime.lifetime.span(),
                "an element function has no lifetime parameters",
                "elide the lifetimes, or take values",
            ));
        }
    }
    Ok(())
}

/// Whether the function returns a value.
pub fn returns_value(output: &ReturnType) -> bool {
    match output {
        ReturnType::Default => false,
        ReturnType::Type(_, ty) => !matches!(&**ty, Type::Tuple(tuple) if tuple.elems.is_empty()),
    }
}

/// The type of the value that a function returns; one that returns none is refused by `why`, with the hint.
pub fn returned(signature: &Signature, [why, hint]: [&str; 2]) -> syn::Result<Type> {
    match &signature.output {
        ReturnType::Type(_, ty) if returns_value(&signature.output) => Ok((**ty).clone()),
        _ => Err(reject(&signature.ident, why, hint)),
    }
}

/// The type that a function returns, `()` if none is written.
pub fn output(signature: &Signature) -> TokenStream {
    match &signature.output {
        ReturnType::Type(_, ty) => quote!(#ty),
        ReturnType::Default => quote!(()),
    }
}
