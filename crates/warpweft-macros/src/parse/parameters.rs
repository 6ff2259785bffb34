//! The parameters of an element function after its cells: values given at construction.
//!
//! In both languages they are the members of the element's struct, laid out the same, which the C++
//! asserts. What a pattern's element is beyond that is with the pattern's attribute.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::{ItemFn, Lifetime, Signature, Type, parse_quote};

use crate::check::{Binding, Lower};
use crate::diag::reject;
use crate::emit::{mark, member_name};
use crate::ir::{Expr, Pattern, Statement};
use crate::parse::signature::{Parameter, phantom, plain_name};

/// A parameter with a plain name.
pub struct Named {
    pub ident: Ident,
    pub mutable: bool,
    /// As the text for devices has it.
    pub ty: Type,
    /// Of a slice, the type of its items.
    pub items: Option<Type>,
    /// Whether the element owns them: a table.
    owned: bool,
}

/// What a slice is in the text for devices.
fn slice_of(ty: &Type) -> Option<Type> {
    let Type::Slice(slice) = ty else { return None };
    let items = &slice.elem;
    Some(parse_quote!(::warpweft::element::DeviceSlice<'static, #items>))
}

/// The lifetime of the slices of an element.
pub fn shared() -> Lifetime {
    Lifetime::new("'__shared", Span::call_site())
}

impl Named {
    /// A value, given at construction.
    pub fn value(ident: Ident, mutable: bool, ty: Type) -> Self {
        Self { ident, mutable, ty, items: None, owned: false }
    }

    /// A parameter of a `what` function that is a value or a slice; other references are refused by `why`.
    pub fn by_value_or_slice(
        parameter: Parameter,
        what: &str,
        why: [&str; 2],
    ) -> syn::Result<Self> {
        let (Type::Slice(slice), Some(ty)) = (&parameter.ty, slice_of(&parameter.ty)) else {
            return Self::by_value(parameter, what, why);
        };
        let (ident, mutable) = plain_name(&parameter, what)?;
        Ok(Self { ident, mutable, ty, items: Some((*slice.elem).clone()), owned: false })
    }

    /// A slice that the element owns, if `ty` is one.
    pub fn table(ident: &Ident, ty: &Type) -> Option<Self> {
        let (Type::Slice(slice), Some(ty)) = (ty, slice_of(ty)) else { return None };
        let items = Some((*slice.elem).clone());
        Some(Self { ident: ident.clone(), mutable: false, ty, items, owned: true })
    }

    /// It as a member of the element's struct.
    fn member(&self) -> TokenStream {
        let (Self { ident, ty, .. }, shared) = (self, shared());
        match &self.items {
            Some(items) if self.owned => quote!(#ident: ::warpweft::element::Table<#items>),
            Some(items) => quote!(#ident: ::warpweft::element::DeviceSlice<#shared, #items>),
            None => quote!(#ident: #ty),
        }
    }

    /// It as a parameter of what makes the element.
    pub fn given(&self) -> TokenStream {
        let (Self { ident, ty, .. }, shared) = (self, shared());
        match &self.items {
            Some(items) if self.owned => {
                quote!(#ident: impl ::core::convert::Into<::warpweft::element::Table<#items>>)
            }
            Some(items) => quote!(#ident: &#shared [#items]),
            None => quote!(#ident: #ty),
        }
    }

    /// What the member is then.
    pub fn made(&self) -> TokenStream {
        let ident = &self.ident;
        match &self.items {
            Some(_) if self.owned => quote!(#ident: ::core::convert::Into::into(#ident)),
            Some(_) => quote!(#ident: ::warpweft::element::DeviceSlice::of(#ident)),
            None => quote!(#ident),
        }
    }

    /// What the function is given of the element `self`.
    pub fn passed(&self) -> TokenStream {
        let ident = &self.ident;
        match &self.items {
            Some(_) if self.owned => quote!(&self.#ident),
            Some(_) => quote!(self.#ident.get()),
            None => quote!(self.#ident),
        }
    }

    /// As a function declares it.
    pub fn declared(&self) -> TokenStream {
        let Self { ident, ty, .. } = self;
        let mutable = self.mutable.then(|| quote!(mut));
        match &self.items {
            Some(items) => quote!(#mutable #ident: &[#items]),
            None => quote!(#mutable #ident: #ty),
        }
    }

    /// A parameter of a `what` function that is given a value; a reference is refused by `why`, with the hint.
    pub fn by_value(parameter: Parameter, what: &str, [why, hint]: [&str; 2]) -> syn::Result<Self> {
        let (ident, mutable) = plain_name(&parameter, what)?;
        match parameter.reference {
            Some(_) => Err(reject(&parameter.whole, why, hint)),
            None => Ok(Self::value(ident, mutable, parameter.ty)),
        }
    }
}

/// The C++ struct's part of the parameters.
pub struct Members {
    /// Their declarations.
    pub data: String,
    /// Assertions of their layout, after the struct.
    pub checks: String,
    /// Copies of those that the body changes, before it.
    pub copies: Vec<Statement>,
}

/// Members of the struct that C++ calls `name`; the body finds them under their names.
pub fn members(lower: &mut Lower<'_>, name: &str, parameters: &[Named]) -> Members {
    let mut copies = vec![];
    let [mut data, mut checks] = [const { String::new() }; 2];
    for Named { ident, mutable, ty, items, owned } in parameters {
        let member = member_name(&ident.to_string());
        let hole = lower.hole(quote!({
            const {
                ::core::assert!(
                    <#ty as ::warpweft::element::DeviceType>::ALIKE,
                    "a parameter holds a tuple whose members Rust and C++ order differently; make it \
                     a struct with #[derive(Device)]",
                )
            };
            <#ty as ::warpweft::element::DeviceType>::cuda(__unit)
        }));
        data.push_str(&format!("  {} {member};\n", mark(hole)));
        if *owned {
            // What owns the items.
            data.push_str(&format!("  ww::usize {member}_own[2];\n"));
        }
        let offset = lower.hole(quote!(::core::mem::offset_of!(Self, #ident).to_string()));
        checks.push_str(&format!(
            "static_assert(WW_OFFSET({name}, {member}) == {}, \"layout of {ident}\");\n",
            mark(offset)
        ));
        if let Some(items) = items {
            let slice = Some(lower.slice_hole(items));
            let binding = Binding { slice, ..Binding::variable(member) };
            lower.scopes.insert(ident.to_string(), binding);
        } else if *mutable {
            let name = lower.declare(ident, Binding::variable);
            let pattern = Pattern::Bind { name, mutable: true, inner: None };
            copies.push(Statement::Let(pattern, Expr::Local(member)));
        } else {
            lower.scopes.insert(ident.to_string(), Binding::variable(member));
        }
    }
    if !parameters.is_empty() {
        let size = lower.hole(quote!(::core::mem::size_of::<Self>().to_string()));
        checks.push_str(&format!(
            "static_assert(sizeof({name}) == {}, \"layout of the parameters\");\n",
            mark(size)
        ));
    }
    Members { data, checks, copies }
}

/// The documentation that the function carries, for what takes its name.
fn docs(function: &ItemFn) -> TokenStream {
    let docs: Vec<_> = function.attrs.iter().filter(|a| a.path().is_ident("doc")).collect();
    if docs.is_empty() { quote!(#[allow(missing_docs)]) } else { quote!(#(#docs)*) }
}

/// The element: a struct of the function's name with the parameters, a function of that name that
/// makes one, and in its `impl` the function `as_written`, by that name, and what is `hidden`.
pub fn element(
    function: &ItemFn,
    signature: &Signature,
    parameters: &[Named],
    as_written: &str,
    hidden: TokenStream,
) -> TokenStream {
    let (vis, name, block) = (&function.vis, &signature.ident, &function.block);
    let docs = docs(function);
    let others = function.attrs.iter().filter(|a| !a.path().is_ident("doc"));
    let mut original = signature.clone();
    original.ident = Ident::new(as_written, name.span());
    original.generics = syn::Generics::default();
    let (generics, arguments, clause) = signature.generics.split_for_impl();
    let full = &signature.generics;
    let types = phantom(full);
    let (phantom_member, phantom_value) =
        full.type_params().next().map_or_else(Default::default, |_| {
            let value = quote!(__types: ::core::marker::PhantomData,);
            (quote!(#[doc(hidden)] pub __types: #types,), value)
        });
    let held = parameters.iter().map(Named::member);
    let given = parameters.iter().map(Named::given);
    let made = parameters.iter().map(Named::made);
    let copies = copies(signature, parameters, &phantom_value);
    quote! {
        #docs
        #[allow(non_camel_case_types)]
        #[repr(C)]
        #vis struct #name #full #clause {
            #(
                #[doc = "A parameter of the function."]
                pub #held,
            )*
            #phantom_member
        }

        #copies

        #docs
        #[allow(dead_code, clippy::too_many_arguments)]
        #vis fn #name #full (#(#given),*) -> #name #arguments #clause {
            #name { #(#made,)* #phantom_value }
        }

        #[allow(dead_code, clippy::too_many_arguments)]
        impl #generics #name #arguments #clause {
            /// The function as it was written.
            #(#others)*
            #[inline]
            pub #original #block

            #hidden
        }
    }
}

/// How the element is copied: one that owns tables shares them.
fn copies(signature: &Signature, parameters: &[Named], phantom: &TokenStream) -> TokenStream {
    let name = &signature.ident;
    let (generics, arguments, clause) = signature.generics.split_for_impl();
    let idents: Vec<_> = parameters.iter().map(|named| &named.ident).collect();
    let owned = parameters.iter().any(|named| named.owned);
    let (clone, copy) = if owned {
        (quote!(Self { #(#idents: ::core::clone::Clone::clone(&self.#idents),)* #phantom }), None)
    } else {
        let copy = quote!(impl #generics ::core::marker::Copy for #name #arguments #clause {});
        (quote!(*self), Some(copy))
    };
    quote! {
        impl #generics ::core::clone::Clone for #name #arguments #clause {
            fn clone(&self) -> Self {
                #clone
            }
        }
        #copy
    }
}
