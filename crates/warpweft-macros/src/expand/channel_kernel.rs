//! `#[channel_kernel]`: a function that consumes one item and emits others, on cores and on GPUs.

pub(super) mod ports;
mod shape;
mod sums;

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::ItemFn;
use syn::visit::Visit;

use self::ports::Ports;
use self::shape::{Kind, Parameter, Shape};
use super::translation::Translation;
use crate::check::attributes;
use crate::check::{Binding, Lower};
use crate::diag::reject;
use crate::emit::{Cuda, Returns, mark};
use crate::parse::parameters::{Members, Named, element, members};
use crate::parse::signature::no_lifetimes;

pub fn expand(attribute: TokenStream, function: ItemFn) -> syn::Result<TokenStream> {
    let total = total(attribute)?;
    let signature = &function.sig;
    no_lifetimes(&signature.generics)?;
    let shape = Shape::of(signature)?;
    attributes::check(|found| {
        found.visit_signature(signature);
        found.visit_block(&function.block);
    })?;
    let added = sums::only_added(&function.block, &shape);
    let translation = translated(&function, &shape, &added)?;
    let fields = shape.fields();
    let element = element(&function, signature, &fields, "fire", quote!());
    let implementation = implementation((&function, &shape), &total, &translation, &added);
    Ok(quote!(#element #implementation))
}

/// What `total = N` says that a call emits at most; no bound where it is not said.
fn total(attribute: TokenStream) -> syn::Result<TokenStream> {
    if attribute.is_empty() {
        return Ok(quote!(usize::MAX));
    }
    let refused = || {
        reject(
            &attribute,
            "`#[channel_kernel]` takes `total = N` only",
            "say how many items one call emits at most into all outputs: `#[channel_kernel(total = 1)]`",
        )
    };
    let said: syn::MetaNameValue = syn::parse2(attribute.clone()).map_err(|_| refused())?;
    match said.path.is_ident("total") {
        true => Ok(said.value.to_token_stream()),
        false => Err(refused()),
    }
}

/// The function as C++, and the shadow that types it.
fn translated(function: &ItemFn, shape: &Shape, added: &[Ident]) -> syn::Result<Translation> {
    let signature = &function.sig;
    let mut inputs = Ports::of(shape);
    let mut lower = Lower::new(&signature.ident, &signature.generics, &mut inputs);
    let name = mark(lower.hole(quote!(__name.to_string())));
    let Members { data, checks, copies } = members(&mut lower, &name, &shape.fields());
    let item = &shape.item;
    let item_ty = &item.ty;
    let given = mark(lower.hole(quote!({
        ::warpweft::channels::flow::define_ports(__unit);
        <#item_ty as ::warpweft::element::DeviceType>::cuda(__unit)
    })));
    let local = lower.declare(&item.ident, Binding::variable);
    let head = format!("{}{given} {local}", if item.mutable { "" } else { "const " });
    let (outs, lets) = locals(&mut lower, shape, added);
    let (shadow, mut block) = lower.body(&function.block, false)?;
    block.statements.splice(0..0, copies);
    let text = format!(
        "struct {name} {{\n  using Item = {given};\n{data}  struct Outs {{\n{outs}  }};\n{}  template<class Firing> \
         WW_FN void operator()({head}, Firing& firing) const {{\n{lets}{}  }}\n}};\n{checks}",
        visits(shape),
        Cuda::body(&block, Returns::Nothing, 2),
    );
    Ok(Translation::new(lower, shadow, &text))
}

/// The members of the C++ struct of outputs, and the body's names for outputs and buffers.
fn locals(lower: &mut Lower<'_>, shape: &Shape, added: &[Ident]) -> (String, String) {
    let [mut outs, mut lets] = [const { String::new() }; 2];
    for (number, (parameter, bound)) in shape.outs().enumerate() {
        let Parameter { named, content, .. } = parameter;
        let ty = lower.hole(quote!(<#content as ::warpweft::element::DeviceType>::cuda(__unit)));
        let most = lower.hole(quote!(::std::string::ToString::to_string(&(#bound))));
        outs.push_str(&format!("    ww::out<{}, {}u> _{number};\n", mark(ty), mark(most)));
        let name = ports::out_name(&named.ident);
        lets.push_str(&format!("    auto& {name} = firing.outs._{number};\n"));
    }
    for (j, Parameter { named, content, .. }) in shape.buffers().enumerate() {
        let ty = lower.hole(quote!(<#content as ::warpweft::element::DeviceType>::cuda(__unit)));
        let (name, member) = (ports::buffer_name(&named.ident), shape::member(named));
        let ty = mark(ty);
        lets.push_str(&match added.contains(&named.ident) {
            true => format!("    const auto {name} = firing.template sum<{ty}, {j}u>({member});\n"),
            false => format!(
                "    const ww::shared<{ty}> {name} = firing.template buffer<{ty}>({member});\n"
            ),
        });
    }
    (outs, lets)
}

/// The function that shows all outputs with their numbers.
fn visits(shape: &Shape) -> String {
    let each = 0..shape.outs().count();
    let each: String =
        each.map(|number| format!(" visit(ww::number<{number}>{{}}, outs._{number});")).collect();
    format!(
        "  template<class Visit> WW_FN void each(Outs& outs, Visit&& visit) const {{{each} }}\n  \
         static constexpr ww::u32 OUTS = {};\n",
        shape.outs().count()
    )
}

/// The traits of a kernel.
fn implementation(
    (function, shape): (&ItemFn, &Shape),
    total: &TokenStream,
    translation: &Translation,
    added: &[Ident],
) -> TokenStream {
    let signature = &function.sig;
    let name = &signature.ident;
    let name_text = name.to_string();
    let (generics, arguments, clause) = signature.generics.split_for_impl();
    let item = &shape.item.ty;
    let shadowed = &signature.inputs;
    let cuda = translation.cuda(quote!(), name, &quote!(#shadowed), &quote!(-> ()));
    let [types, consume] = [types(shape), consume(shape)];
    let outs: Vec<_> = shape.outs().map(|(parameter, _)| &parameter.named.ident).collect();
    let bounds = shape.outs().map(|(_, bound)| bound);
    let numbers = (0..outs.len()).map(syn::Index::from);
    let buffers = shape.buffers().map(|parameter| {
        let buffer = &parameter.named.ident;
        match added.contains(buffer) {
            true => quote!(only_added(self.#buffer)),
            false => quote!(of(self.#buffer)),
        }
    });
    quote! {
        // SAFETY: the struct is `repr(C)` with the C++ struct's members, which asserts the same layout.
        #[allow(clippy::all)]
        unsafe impl #generics ::warpweft::channels::flow::ChannelKernel for #name #arguments #clause {
            type Item = #item;
            #types
            const NAME: &'static str = #name_text;
            const TOTAL: usize = #total;
            #consume
            fn visit(
                &self,
                __ports: &mut Self::Ports,
                __visitor: &mut impl ::warpweft::channels::flow::PortVisitor,
            ) {
                #(__visitor.port(self.#outs, &mut __ports.#numbers);)*
            }
            fn edges(&self) -> ::std::vec::Vec<::warpweft::channels::flow::Edge> {
                ::std::vec![#(::warpweft::channels::flow::Edge::to(self.#outs, #bounds)),*]
            }
            fn uses(&self) -> ::std::vec::Vec<::warpweft::channels::flow::BufferUse> {
                ::std::vec![#(::warpweft::channels::flow::BufferUse::#buffers),*]
            }
            #cuda
        }
    }
}

/// The types of outputs and buffers, and how they are made.
fn types(shape: &Shape) -> TokenStream {
    let ports = shape.outs().map(|(parameter, bound)| {
        let ty = &parameter.content;
        quote!(::warpweft::channels::flow::Out<#ty, { #bound }>)
    });
    let empty = shape.outs().map(|_| quote!(::warpweft::channels::flow::Out::new()));
    let words = shape.buffers().map(|parameter| {
        let ty = &parameter.content;
        quote!(::std::sync::Arc<::warpweft::channels::flow::Shared<#ty>>)
    });
    let bound = shape.buffers().map(|parameter| {
        let ident = &parameter.named.ident;
        quote!(__buffers.get(self.#ident))
    });
    quote! {
        type Ports = (#(#ports,)*);
        type Buffers = (#(#words,)*);
        fn ports() -> Self::Ports {
            (#(#empty,)*)
        }
        fn bind(&self, __buffers: &::warpweft::channels::flow::HostBuffers) -> Self::Buffers {
            (#(#bound,)*)
        }
    }
}

/// The function that consumes one item.
fn consume(shape: &Shape) -> TokenStream {
    let item = &shape.item.ty;
    let (begins, given) = call(shape);
    let ports: Vec<_> = (0..shape.outs().count()).map(syn::Index::from).collect();
    let exceeds = ports.first().map(|first| {
        quote! {
            if 0 #(+ __ports.#ports.emitted())* > Self::TOTAL {
                __ports.#first.exceed();
            }
        }
    });
    quote! {
        #[inline]
        fn consume(&self, __item: #item, __ports: &mut Self::Ports, __buffers: &Self::Buffers) {
            #(#begins)*
            Self::fire(__item, #(#given),*);
            #exceeds
        }
    }
}

/// What comes before a call of the function, and the arguments after the item.
fn call(shape: &Shape) -> (Vec<TokenStream>, Vec<TokenStream>) {
    let (mut begins, mut given) = (Vec::new(), Vec::new());
    let (mut outs, mut buffers) = (0usize, 0usize);
    for Parameter { named, kind, .. } in &shape.rest {
        let ident = &named.ident;
        given.push(match kind {
            Kind::Constant => quote!(self.#ident),
            Kind::Out(_) => {
                let number = syn::Index::from(outs);
                outs += 1;
                begins.push(quote!(__ports.#number.begin();));
                quote!(&mut __ports.#number)
            }
            Kind::Shared => {
                let number = syn::Index::from(buffers);
                buffers += 1;
                quote!(&__buffers.#number)
            }
        });
    }
    (begins, given)
}

/// A parameter as the struct's member.
fn field(parameter: &Parameter) -> Named {
    let (ty, content) = (&parameter.named.ty, &parameter.content);
    let ty = match parameter.kind {
        Kind::Constant => ty.clone(),
        Kind::Out(_) => syn::parse_quote!(::warpweft::channels::flow::ChannelId<#content>),
        Kind::Shared => syn::parse_quote!(::warpweft::channels::flow::BufferId<#content>),
    };
    let mutable = matches!(parameter.kind, Kind::Constant) && parameter.named.mutable;
    Named::value(format_ident!("{}", parameter.named.ident), mutable, ty)
}
