//! What a stencil function is told about its cell: parameters marked `#[at]` and `#[step]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{FnArg, Type};

use crate::diag::reject;

/// What a marked parameter is.
#[derive(Clone, Copy, PartialEq)]
pub enum Place {
    /// The index of the cell in the whole volume.
    At,
    /// The steps done before the present one.
    Step,
}

impl Place {
    /// The name of its marker.
    pub fn marker(self) -> &'static str {
        match self {
            Self::At => "at",
            Self::Step => "step",
        }
    }

    /// Its parameter is of the one type that it can have.
    pub fn check(self, ty: &Type) -> syn::Result<()> {
        let is = |ty: &Type, name: &str| matches!(ty, Type::Path(path) if path.path.is_ident(name));
        match (self, ty) {
            (Self::At, Type::Array(array)) if is(&array.elem, "usize") => Ok(()),
            (Self::Step, ty) if is(ty, "u64") => Ok(()),
            (Self::At, _) => Err(reject(
                ty,
                "the index of a cell has a number for each axis",
                "write `#[at] at: [usize; 2]`, as many as the volume has axes, slowest first",
            )),
            (Self::Step, _) => {
                Err(reject(ty, "steps are counted in `u64`", "write `#[step] step: u64`"))
            }
        }
    }

    /// What the generated call of the function passes for it.
    pub fn argument(self) -> TokenStream {
        match self {
            Self::At => quote!(__place.at,),
            Self::Step => quote!(__place.step,),
        }
    }
}

/// The marker of a parameter, which is taken off.
pub fn marker(argument: &mut FnArg) -> syn::Result<Option<Place>> {
    let FnArg::Typed(typed) = argument else { return Ok(None) };
    let mut found = None;
    let mut error = None;
    typed.attrs.retain(|attribute| {
        let places = [Place::At, Place::Step];
        let Some(place) = places.into_iter().find(|it| attribute.path().is_ident(it.marker()))
        else {
            return true;
        };
        if found.is_some() || !matches!(attribute.meta, syn::Meta::Path(_)) {
            error = Some(reject(
                attribute,
                "a parameter has one marker, without arguments",
                "write `#[at]` or `#[step]`",
            ));
        }
        found = Some(place);
        false
    });
    error.map_or(Ok(found), Err)
}
