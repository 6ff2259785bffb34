//! `#[task]`: a function of one input as a task of a farm, on cores and on GPUs.

use proc_macro2::TokenStream;
use quote::quote;
use syn::visit::Visit;
use syn::{ItemFn, LifetimeParam, Signature, Type};

use super::characterisation::characterisation;
use super::translation::{Translation, declared, of_forever};
use crate::check::attributes;
use crate::check::{Binding, Lower, NoInputs};
use crate::diag::reject;
use crate::emit::{Cuda, Returns, mark};
use crate::parse::parameters::{Members, Named, element, members, shared};
use crate::parse::signature::{Slices, no_lifetimes, parameters_and, returned};

/// The signature taken apart.
struct Shape {
    input: Named,
    /// The parameters given at construction.
    rest: Vec<Named>,
    output: Type,
}

impl Shape {
    /// Whether there are slices that all tasks read.
    fn reads_slices(&self) -> bool {
        self.rest.iter().any(|named| named.items.is_some())
    }
}

fn shape(function: &ItemFn) -> syn::Result<Shape> {
    let signature = &function.sig;
    let named = |parameter| {
        Named::by_value_or_slice(
            parameter,
            "task",
            [
                "a task takes values, and slices that all tasks read",
                "take the value, or `&[T]` for a table of any size",
            ],
        )
    };
    let mut all = parameters_and(signature, Slices::Read)?.into_iter().map(named);
    let Some(input) = all.next() else {
        return Err(reject(
            &signature.ident,
            "a task takes an input",
            "begin with the parameter that differs from task to task",
        ));
    };
    let input = input?;
    if input.items.is_some() {
        return Err(reject(
            &input.ident,
            "a slice as the input of a task",
            "begin with the value that differs from task to task, such as an index into the slice",
        ));
    }
    let output =
        returned(signature, ["a task returns its output", "return a value, as in `-> u64`"])?;
    Ok(Shape { input, rest: all.collect::<syn::Result<_>>()?, output })
}

/// The C++ name of a type whose values travel as their bytes.
fn alike(ty: &Type, what: &str) -> TokenStream {
    let message = format!(
        "{what} of a task holds a tuple whose members Rust and C++ order differently; make it a \
         struct with #[derive(Device, Packed)]"
    );
    quote!({
        const { ::core::assert!(<#ty as ::warpweft::element::DeviceType>::ALIKE, #message) };
        <#ty as ::warpweft::element::DeviceType>::cuda(__unit)
    })
}

pub fn expand(attribute: TokenStream, function: ItemFn) -> syn::Result<TokenStream> {
    let words = characterisation(attribute, "task")?;
    let signature = &function.sig;
    no_lifetimes(&signature.generics)?;
    let shape = shape(&function)?;
    attributes::check(|found| {
        found.visit_signature(signature);
        found.visit_block(&function.block);
    })?;
    let translation = translated(&function, &shape)?;
    let mut made = signature.clone();
    if shape.reads_slices() {
        made.generics.params.insert(0, LifetimeParam::new(shared()).into());
    }
    let element = element(&function, &made, &shape.rest, "task", quote!());
    let implementation = implementation(&made, &shape, &words, &translation);
    Ok(quote!(#element #implementation))
}

/// The function as C++, and the shadow that types it.
fn translated(function: &ItemFn, shape: &Shape) -> syn::Result<Translation> {
    let signature = &function.sig;
    let Shape { input, rest, output } = shape;
    let mut inputs = NoInputs;
    let mut lower = Lower::new(&signature.ident, &signature.generics, &mut inputs);
    let name = mark(lower.hole(quote!(__name.to_string())));
    let Members { data, checks, copies } = members(&mut lower, &name, rest);
    let given = mark(lower.hole(alike(&input.ty, "the input")));
    let local = lower.declare(&input.ident, Binding::variable);
    let head = format!("{}{given} {local}", if input.mutable { "" } else { "const " });
    let made = mark(lower.hole(alike(output, "the output")));
    let (shadow, mut block) = lower.body(&function.block, true)?;
    block.statements.splice(0..0, copies);
    let text = format!(
        "struct {name} {{\n  using Input = {given};\n  using Output = {made};\n{data}  \
         WW_FN {made} operator()({head}) const {{\n{}  }}\n}};\n{checks}",
        Cuda::body(&block, Returns::Value, 2),
    );
    Ok(Translation::new(lower, shadow, &text))
}

/// The traits of a task.
fn implementation(
    signature: &Signature,
    shape: &Shape,
    words: &TokenStream,
    translation: &Translation,
) -> TokenStream {
    let Shape { input, rest, output } = shape;
    let name = &signature.ident;
    let name_text = name.to_string();
    let (generics, arguments, clause) = signature.generics.split_for_impl();
    let passed = rest.iter().map(Named::passed);
    let held = rest.iter().map(|named| {
        let (member, passed) = (&named.ident, named.passed());
        if named.items.is_some() { passed } else { quote!(&self.#member) }
    });
    let given = &input.ty;
    let (translated, cuda) = cuda(signature, shape, translation);
    let slices = slices(shape);
    quote! {
        #translated

        impl #generics ::warpweft::farm::Task for #name #arguments #clause {
            type Input = #given;
            type Output = #output;
            fn on_core(
                &self,
                __input: #given,
            ) -> ::core::result::Result<#output, ::warpweft::farm::Failure> {
                ::core::result::Result::Ok(Self::task(__input, #(#passed),*))
            }
            fn pack_parameters(&self, __to: &mut ::std::vec::Vec<u8>) {
                #[allow(unused_imports)]
                use ::warpweft::farm::{TellNothing as _, TellPacked as _};
                #((&::warpweft::farm::Value(#held)).tell(__to);)*
            }
            fn pack_input(&self, __input: &#given, __to: &mut ::std::vec::Vec<u8>) {
                #[allow(unused_imports)]
                use ::warpweft::farm::{TellNothing as _, TellPacked as _};
                (&::warpweft::farm::Value(__input)).tell(__to);
            }
            fn on_gpu(&self) -> ::core::option::Option<&dyn ::warpweft::farm::OnGpu<Self>> {
                ::core::option::Option::Some(self)
            }
        }

        impl #generics ::warpweft::farm::OnGpu<Self> for #name #arguments #clause {
            fn open(
                &self,
                lane: ::warpweft::farm::GpuLane,
            ) -> ::warpweft::Result<::std::boxed::Box<dyn ::warpweft::farm::ChunkExecutor<Self> + '_>> {
                ::warpweft::farm::translated(self, lane)
            }
        }

        // SAFETY: the struct is `repr(C)` with the C++ struct's members, which asserts the same layout, and so are
        // input and output.
        unsafe impl #generics ::warpweft::farm::TaskFunction for #name #arguments #clause {
            const NAME: &'static str = #name_text;
            const WORDS: ::warpweft::farm::Characterisation = #words;
            #slices
            #cuda
        }
    }
}

/// The function `slices` of the trait, if there are some.
fn slices(shape: &Shape) -> Option<TokenStream> {
    let slices = shape.rest.iter().filter(|named| named.items.is_some());
    let slices = slices.map(|named| &named.ident);
    shape.reads_slices().then(|| {
        quote! {
            fn slices(&self) -> ::std::vec::Vec<::warpweft::farm::SliceUse<'_>> {
                ::std::vec![#(
                    ::warpweft::farm::SliceUse::of(::core::mem::offset_of!(Self, #slices), self.#slices)
                ),*]
            }
        }
    })
}

/// The function `cuda` of the trait, and what comes before its implementation.
fn cuda(
    signature: &Signature,
    shape: &Shape,
    translation: &Translation,
) -> (TokenStream, TokenStream) {
    let (name, output) = (&signature.ident, &shape.output);
    let shadowed = declared(std::iter::once(&shape.input).chain(&shape.rest));
    let cuda = translation.cuda(quote!(), name, &shadowed, &quote!(-> #output));
    of_forever(signature, shape.reads_slices(), cuda)
}
