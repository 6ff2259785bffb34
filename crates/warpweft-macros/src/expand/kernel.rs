//! `#[kernel]`: a function that every thread of a launch runs, on GPUs and, for tests, on cores.

mod operations;
mod shape;

use proc_macro2::TokenStream;
use quote::quote;
use syn::ItemFn;
use syn::visit::Visit;

use self::operations::{AT, Names};
use self::shape::{Kind, Parameter, Shape};
use super::channel_kernel::ports::buffer_name;
use super::characterisation::with_text;
use super::translation::Translation;
use crate::check::Lower;
use crate::check::attributes;
use crate::emit::{Cuda, Returns, clean, mark, member_name};
use crate::parse::parameters::{Members, element, members};
use crate::parse::signature::no_lifetimes;

pub fn expand(attribute: TokenStream, function: ItemFn) -> syn::Result<TokenStream> {
    let (words, text) = with_text(attribute, "kernel")?;
    let signature = &function.sig;
    no_lifetimes(&signature.generics)?;
    let shape = Shape::of(signature)?;
    attributes::check(|found| {
        found.visit_signature(signature);
        found.visit_block(&function.block);
    })?;
    let translation = translated(&function, &shape, text.as_ref())?;
    let element = element(&function, signature, &shape.fields(), "thread", quote!());
    let implementation = implementation(&function, &shape, &words, &translation);
    Ok(quote!(#element #implementation))
}

/// The function as C++, and the shadow that types it.
fn translated(
    function: &ItemFn,
    shape: &Shape,
    text: Option<&syn::Expr>,
) -> syn::Result<Translation> {
    let signature = &function.sig;
    let mut inputs = Names::of(shape);
    let mut lower = Lower::new(&signature.ident, &signature.generics, &mut inputs);
    let name = mark(lower.hole(quote!({
        ::warpweft::farm::define_threads(__unit);
        __name.to_string()
    })));
    let Members { data, checks, copies } = members(&mut lower, &name, &shape.fields());
    let mut lets = String::new();
    for (number, Parameter { named, content, .. }) in shape.buffers().enumerate() {
        let ty = lower.hole(quote!(<#content as ::warpweft::element::DeviceType>::cuda(__unit)));
        let (ty, name, member) =
            (mark(ty), buffer_name(&named.ident), member_name(&named.ident.to_string()));
        // The number is the host's: buffers come in the order of parameters.
        lets.push_str(&format!(
            "    (void){member}; const ww::shared<{ty}> {name} = ww_frame.template buffer<{ty}>({number});\n"
        ));
    }
    for (Parameter { named, content, .. }, length) in shape.arrays() {
        let ty = lower.hole(quote!(<#content as ::warpweft::element::DeviceType>::cuda(__unit)));
        let length = lower.hole(quote!(::std::string::ToString::to_string(&(#length))));
        let (ty, length, name) = (mark(ty), mark(length), buffer_name(&named.ident));
        lets.push_str(&format!(
            "    WW_BLOCK_ARRAY {ty} {name}_words[{length}];\n    const ww::shared<{ty}> {name} = {{{name}_words, {length}}};\n"
        ));
    }
    let (shadow, body) = match text {
        Some(text) => (quote!(), written(&mut lower, shape, text)),
        None => {
            let (shadow, mut block) = lower.body(&function.block, false)?;
            block.statements.splice(0..0, copies);
            (shadow, Cuda::body(&block, Returns::Nothing, 2))
        }
    };
    let text = format!(
        "struct {name} {{\n{data}  static constexpr ww::u32 BUFFERS = {};\n  template<class Frame> WW_FN void \
         operator()(const ww::thread& {AT}, const Frame& ww_frame) const {{\n{lets}{}  }}\n}};\n{checks}",
        shape.buffers().count(),
        body,
    );
    Ok(Translation::new(lower, shadow, &text))
}

/// A body in CUDA C++: buffers and arrays are pointers by their names in Rust, with their lengths as `name_len`.
fn written(lower: &mut Lower<'_>, shape: &Shape, text: &syn::Expr) -> String {
    let mut lets = String::new();
    for Parameter { named, kind, .. } in &shape.rest {
        let name = clean(&named.ident.to_string());
        let line = match kind {
            Kind::Constant => {
                format!("const auto {name} = {};", member_name(&named.ident.to_string()))
            }
            Kind::Buffer | Kind::Array(_) => {
                let words = buffer_name(&named.ident);
                format!(
                    "auto* const {name} = {words}.words; const ww::u64 {name}_len = {words}.count; (void){name}_len;"
                )
            }
        };
        lets.push_str(&format!("    {line} (void){name};\n"));
    }
    let text = mark(lower.hole(quote!(::std::string::ToString::to_string(#text))));
    format!("{lets}{{\n{text}\n}}\n")
}

/// The traits of a kernel.
fn implementation(
    function: &ItemFn,
    shape: &Shape,
    words: &TokenStream,
    translation: &Translation,
) -> TokenStream {
    let signature = &function.sig;
    let name = &signature.ident;
    let name_text = name.to_string();
    let (generics, arguments, clause) = signature.generics.split_for_impl();
    let shadowed = &signature.inputs;
    let cuda = translation.cuda(quote!(), name, &quote!(#shadowed), &quote!(-> ()));
    let buffers: Vec<_> = shape.buffers().map(|parameter| &parameter.named.ident).collect();
    let contents = shape.buffers().map(|parameter| &parameter.content);
    let arrays: Vec<_> = shape
        .arrays()
        .map(|(parameter, length)| {
            let ty = &parameter.content;
            quote!(::warpweft::farm::BlockArray<#ty, { #length }>)
        })
        .collect();
    let given = given(shape);
    quote! {
        // SAFETY: the struct is `repr(C)` with the C++ struct's members, which asserts the same layout.
        #[allow(clippy::all)]
        unsafe impl #generics ::warpweft::farm::KernelFunction for #name #arguments #clause {
            type Buffers = (#(::std::sync::Arc<::warpweft::farm::Shared<#contents>>,)*);
            type Arrays = (#(#arrays,)*);
            const NAME: &'static str = #name_text;
            const WORDS: ::warpweft::farm::Characterisation = #words;
            fn uses(&self) -> ::std::vec::Vec<::warpweft::farm::WordsUse> {
                ::std::vec![#(::warpweft::farm::WordsUse::of(self.#buffers)),*]
            }
            fn bind(&self, __memory: &::warpweft::farm::HostMemory) -> ::warpweft::Result<Self::Buffers> {
                ::core::result::Result::Ok((#(__memory.shared(self.#buffers)?,)*))
            }
            fn arrays() -> Self::Arrays {
                (#(<#arrays>::new(),)*)
            }
            #[inline]
            fn on_host(
                &self,
                __at: &::warpweft::farm::Thread<'_>,
                __buffers: &Self::Buffers,
                __arrays: &Self::Arrays,
            ) {
                Self::thread(__at, #(#given),*);
            }
            #cuda
        }
    }
}

/// The arguments of the function after the thread.
fn given(shape: &Shape) -> Vec<TokenStream> {
    let (mut buffers, mut arrays) = (0usize, 0usize);
    let next = |count: &mut usize| {
        *count += 1;
        syn::Index::from(*count - 1)
    };
    shape
        .rest
        .iter()
        .map(|Parameter { named, kind, .. }| {
            let ident = &named.ident;
            match kind {
                Kind::Constant => quote!(self.#ident),
                Kind::Buffer => {
                    let number = next(&mut buffers);
                    quote!(&__buffers.#number)
                }
                Kind::Array(_) => {
                    let number = next(&mut arrays);
                    quote!(&__arrays.#number)
                }
            }
        })
        .collect()
}
