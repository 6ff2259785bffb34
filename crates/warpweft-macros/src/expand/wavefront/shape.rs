//! What a wavefront function's signature says.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{FnArg, GenericArgument, ItemFn, PathArguments, ReturnType, Signature, Type};

use crate::diag::reject;
use crate::parse::parameters::Named;
use crate::parse::signature::{Parameter, Slices, parameters_and, plain_name, returns_value};

/// The signature taken apart.
pub struct Shape {
    /// The signature without the markers.
    pub signature: Signature,
    pub earlier: Ident,
    pub old: Option<Ident>,
    pub cell: Type,
    /// What the function returns.
    pub output: Type,
    /// The inputs of a row, a column and a cell.
    pub inputs: [Option<Named>; 3],
    /// The parameters given at construction.
    pub rest: Vec<Named>,
    /// All parameters but the first, in order: which input or which of `rest`.
    pub order: Vec<Role>,
}

/// What a parameter after the first is.
#[derive(Clone, Copy)]
pub enum Role {
    Old,
    Input(usize),
    Rest(usize),
}

const MARKERS: [&str; 3] = ["row", "column", "cell"];

/// Takes the signature apart, or says what it should be: of a recurrence, or of the function that says
/// what a cell was made from.
pub fn shape(function: &ItemFn, choice: bool) -> syn::Result<Shape> {
    let mut signature = function.sig.clone();
    let mut markers = vec![];
    for argument in &mut signature.inputs {
        markers.push(marker(argument)?);
    }
    let mut parameters = parameters_and(&signature, Slices::Read)?.into_iter().zip(markers);
    let (first, _) = parameters.next().ok_or_else(|| {
        reject(
            &signature.ident,
            "a wavefront function reads earlier cells",
            "make the first parameter `h: Earlier<i32>`, with what a cell holds",
        )
    })?;
    let cell = cell_of(&first, "Earlier").ok_or_else(|| {
        reject(
            &first.whole,
            "the first parameter of a wavefront function stands for the earlier cells",
            "write `Earlier<i32>`, with what a cell holds",
        )
    })?;
    let mut shape = Shape {
        earlier: plain_name(&first, "wavefront")?.0,
        old: None,
        output: cell.clone(),
        cell,
        inputs: [const { None }; 3],
        rest: vec![],
        order: vec![],
        signature: signature.clone(),
    };
    for (at, (parameter, marker)) in parameters.enumerate() {
        shape.add(at, parameter, marker)?;
    }
    let wanted = if choice { &syn::parse_quote!(u8) } else { &shape.cell };
    match &signature.output {
        ReturnType::Type(_, ty) if quote!(#ty).to_string() == quote!(#wanted).to_string() => {
            shape.output = wanted.clone();
            Ok(shape)
        }
        output if returns_value(output) => Err(reject(
            output,
            match choice {
                true => "a choice is told as a number",
                false => "a wavefront function returns what a cell holds",
            },
            format_args!("return `{}`", quote!(#wanted)),
        )),
        _ => Err(reject(
            &signature.ident,
            "a wavefront function computes the cell",
            format_args!("return `{}`", quote!(#wanted)),
        )),
    }
}

impl Shape {
    fn add(&mut self, at: usize, parameter: Parameter, marker: Option<usize>) -> syn::Result<()> {
        let (ident, _) = plain_name(&parameter, "wavefront")?;
        if let Some(of) = cell_of(&parameter, "Old") {
            let cell = &self.cell;
            if at > 0 || marker.is_some() {
                return Err(reject(
                    &parameter.whole,
                    "the old cells come right after the earlier ones",
                    "make it the second parameter, without a marker",
                ));
            }
            if quote!(#of).to_string() != quote!(#cell).to_string() {
                return Err(reject(
                    &parameter.whole,
                    "old cells hold what earlier cells hold",
                    format_args!("write `Old<{}>`", quote!(#cell)),
                ));
            }
            self.old = Some(ident);
            self.order.push(Role::Old);
            return Ok(());
        }
        if marker.is_some() && parameter.reference.is_some() {
            return Err(reject(
                &parameter.whole,
                "the input of a row, a column or a cell is a value",
                "take the value",
            ));
        }
        let why = [
            "a parameter of a wavefront function is a value or a slice",
            "take the value, or `&[T]`",
        ];
        let named = Named::by_value_or_slice(parameter, "wavefront", why)?;
        match marker {
            Some(which) if self.inputs[which].is_some() => {
                return Err(reject(
                    &named.ident,
                    format_args!("a second input of a {}", MARKERS[which]),
                    "put both into a `#[repr(C)]` struct with `#[derive(Device)]`",
                ));
            }
            Some(which) => {
                self.inputs[which] = Some(named);
                self.order.push(Role::Input(which));
            }
            None => {
                self.order.push(Role::Rest(self.rest.len()));
                self.rest.push(named);
            }
        }
        Ok(())
    }

    /// Whether there are slices among the parameters.
    pub fn reads_slices(&self) -> bool {
        self.rest.iter().any(|named| named.items.is_some())
    }

    /// The type of an input, or the empty tuple.
    pub fn input(&self, which: usize) -> TokenStream {
        match &self.inputs[which] {
            Some(Named { ty, .. }) => quote!(#ty),
            None => quote!(()),
        }
    }
}

/// Which input a parameter is marked as; the marker is taken off.
fn marker(argument: &mut FnArg) -> syn::Result<Option<usize>> {
    let attributes = match argument {
        FnArg::Typed(typed) => &mut typed.attrs,
        FnArg::Receiver(receiver) => &mut receiver.attrs,
    };
    let mut found = None;
    let mut errors = None;
    attributes.retain(|attribute| {
        let Some(which) = MARKERS.iter().position(|name| attribute.path().is_ident(name)) else {
            return true;
        };
        let error = match (&attribute.meta, found) {
            (syn::Meta::Path(_), None) => None,
            (_, Some(_)) => Some(("a parameter is one input", "mark it once")),
            (..) => Some(("a marker takes no arguments", "drop them")),
        };
        if let Some((what, instead)) = error {
            crate::diag::collect(&mut errors, reject(attribute, what, instead));
        }
        found = Some(which);
        false
    });
    errors.map_or(Ok(found), Err)
}

/// `C` of a parameter `name<C>`, by value.
fn cell_of(parameter: &Parameter, name: &str) -> Option<Type> {
    let (Type::Path(path), None) = (&parameter.ty, parameter.reference) else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    let mut types = arguments.args.iter().filter(|a| !matches!(a, GenericArgument::Lifetime(_)));
    match (types.next(), types.next()) {
        (Some(GenericArgument::Type(cell)), None) => Some(cell.clone()),
        _ => None,
    }
}
