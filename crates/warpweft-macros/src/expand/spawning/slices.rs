//! `#[spawning]` of a function that takes slices: on cores its calls borrow, on a GPU they hold addresses.
//!
//! The function's own type has the calls of users, for one lifetime. A second type has the same calls as a device has them.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{ItemFn, Type, parse_quote};

use super::{Form, copies, cores_only, value};
use crate::check::{device_type, words_of};
use crate::emit::clean;
use crate::parse::parameters::Named;
use crate::parse::signature::{Parameter, output, phantom, plain_name};

/// A parameter of a call that may borrow.
pub struct Argument {
    named: Named,
    /// Of a slice: the type of its words, and whether they may be written.
    words: Option<(Type, bool)>,
}

impl Argument {
    pub fn of(parameter: Parameter) -> syn::Result<Self> {
        let words = words_of(&parameter.whole).map(|(words, mutable)| (words.clone(), mutable));
        let named = match words {
            None => value(parameter)?,
            Some(_) => {
                let (ident, mutable) = plain_name(&parameter, "spawning")?;
                Named::value(ident, mutable, parameter.whole)
            }
        };
        Ok(Self { named, words })
    }

    /// As calls on a device have it.
    pub fn on_device(&self) -> Named {
        let Named { ident, mutable, ty, .. } = &self.named;
        let ty = self.words.as_ref().map_or_else(|| ty.clone(), |(words, _)| device_type(words));
        Named::value(ident.clone(), *mutable, ty)
    }

    /// As calls of users have it.
    fn on_host(&self) -> Type {
        match &self.words {
            Some((words, true)) => parse_quote!(&'__a mut [#words]),
            Some((words, false)) => parse_quote!(&'__a [#words]),
            None => self.named.ty.clone(),
        }
    }

    /// Its name and the type of its words, if it is a slice.
    pub fn slice(&self) -> Option<(Ident, Type)> {
        let (words, _) = self.words.as_ref()?;
        Some((self.named.ident.clone(), words.clone()))
    }
}

pub fn expand(function: &ItemFn, parameters: Vec<Parameter>) -> syn::Result<TokenStream> {
    let host = cores_only::expand(function.clone())?;
    let arguments = parameters.into_iter().map(Argument::of).collect::<syn::Result<Vec<_>>>()?;
    let on_device: Vec<_> = arguments.iter().map(Argument::on_device).collect();
    let slices: Vec<_> = arguments.iter().filter_map(Argument::slice).collect();
    let form = Form::of(function, &on_device, &slices)?;
    let device = device(function, &arguments, &function.sig, &form);
    Ok(quote!(#host #device))
}

/// The type of the function's calls on a device, and how calls of users become such: `written` has the parameters that the
/// body sees.
pub fn device(
    function: &ItemFn,
    arguments: &[Argument],
    written: &syn::Signature,
    form: &Form,
) -> TokenStream {
    let (signature, vis) = (&function.sig, &function.vis);
    let (name, name_text, full) =
        (&signature.ident, signature.ident.to_string(), &signature.generics);
    let device = format_ident!("{}__device", name);
    let (generics, types, clause) = full.split_for_impl();
    let (output, marker, copies) = (output(signature), phantom(full), copies(function, &device));
    let idents: Vec<_> = arguments.iter().map(|argument| &argument.named.ident).collect();
    let tys = arguments.iter().map(|argument| argument.on_device().ty);
    let inputs = &written.inputs;
    let cuda = form.cuda(&clean(&name_text), &quote!(#inputs), &output);
    let lending = lending(function, arguments, &device);
    quote! {
        #[doc(hidden)]
        #[allow(non_camel_case_types, dead_code, missing_docs)]
        #[repr(C)]
        #vis struct #device #full #clause {
            #(#idents: #tys,)*
            __types: #marker,
        }

        #copies

        // SAFETY: the struct is `repr(C)` with the C++ struct's members, which asserts the same layout.
        unsafe impl #generics ::warpweft::channels::DeviceCall for #device #types #clause {
            type Value = #output;
            const NAME: &'static str = #name_text;

            #cuda
        }

        #lending
    }
}

/// How calls of users become calls on a device, and what they borrowed comes back.
fn lending(function: &ItemFn, arguments: &[Argument], device: &Ident) -> TokenStream {
    let (signature, output) = (&function.sig, output(&function.sig));
    let name = &signature.ident;
    let (_, of_device, _) = signature.generics.split_for_impl();
    let turbofish = of_device.as_turbofish();
    let mut typed = signature.generics.clone();
    if arguments.iter().any(|argument| argument.words.is_some()) {
        typed.params.insert(0, parse_quote!('__a));
    }
    let (generics, types, clause) = typed.split_for_impl();
    let idents: Vec<_> = arguments.iter().map(|argument| &argument.named.ident).collect();
    let tys = arguments.iter().map(Argument::on_host);
    let lent = arguments.iter().map(|Argument { named: Named { ident, .. }, words }| match words {
        Some(_) => quote!(#ident: __memory.lend(&*self.#ident)?,),
        None => quote!(#ident: self.#ident,),
    });
    let back = arguments.iter().filter_map(|Argument { named: Named { ident, .. }, words }| {
        Some(match words.as_ref()?.1 {
            true => quote!(__memory.take_back(&mut *self.#ident)?;),
            false => quote!(__memory.keep();),
        })
    });
    quote! {
        #[allow(dead_code, clippy::all)]
        impl #generics #name #types #clause {
            #[doc(hidden)]
            pub fn __spawned(
                _: &::warpweft::element::Slot<#device #of_device>,
                #(#idents: #tys),*
            ) -> #output {
                #name #turbofish (#(#idents),*)
            }
        }

        #[allow(clippy::all)]
        impl #generics ::warpweft::channels::Borrowing for #name #types #clause {
            type Device = #device #of_device;

            fn lend(
                &self,
                __memory: &mut ::warpweft::channels::cuda::Lent<'_>,
            ) -> ::warpweft::Result<Self::Device> {
                ::core::result::Result::Ok(#device {
                    #(#lent)*
                    __types: ::core::marker::PhantomData,
                })
            }

            fn take_back(
                &mut self,
                __memory: &mut ::warpweft::channels::cuda::Lent<'_>,
            ) -> ::warpweft::Result<()> {
                #(#back)*
                ::core::result::Result::Ok(())
            }
        }
    }
}
