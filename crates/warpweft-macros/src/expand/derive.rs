//! `#[derive(Fields)]` and `#[derive(Device)]`: one source of layout.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{Data, DeriveInput};

use crate::diag::{reject, reject_at};
use crate::emit::{clean, member_name};

/// The most fields of a cell; the library's `MAX_FIELDS`.
const MAX_FIELDS: usize = 16;

/// The hidden associated constant with the number of a field.
pub fn field_constant(field: &Ident) -> Ident {
    format_ident!("__FIELD_{field}")
}

/// The arguments of `#[repr(..)]`, if there is one.
fn repr(input: &DeriveInput) -> Vec<String> {
    let mut found = vec![];
    for attribute in &input.attrs {
        if attribute.path().is_ident("repr") {
            let _ = attribute.parse_nested_meta(|meta| {
                found.extend(meta.path.get_ident().map(Ident::to_string));
                Ok(())
            });
        }
    }
    found
}

fn needs_repr_c(input: &DeriveInput) -> syn::Result<()> {
    match repr(input).iter().any(|r| r == "C") {
        true => Ok(()),
        false => Err(reject(
            &input.ident,
            format_args!("`{}` has no fixed layout", input.ident),
            "put `#[repr(C)]` on it, so that Rust and C++ lay it out alike",
        )),
    }
}

/// A name and a type for each member; tuple structs have `_0`, `_1` in C++.
struct Member<'a> {
    rust: syn::Member,
    cuda: String,
    ty: &'a syn::Type,
}

fn members(data: &syn::DataStruct) -> Vec<Member<'_>> {
    let each = data.fields.members().zip(&data.fields);
    each.map(|(rust, field)| {
        let cuda = match &rust {
            syn::Member::Named(name) => member_name(&name.to_string()),
            syn::Member::Unnamed(index) => format!("_{}", index.index),
        };
        Member { rust, cuda, ty: &field.ty }
    })
    .collect()
}

/// `DeviceType` of a struct: its C++ definition with the layout asserted.
fn struct_type(input: &DeriveInput, data: &syn::DataStruct) -> syn::Result<TokenStream> {
    needs_repr_c(input)?;
    let members = members(data);
    if members.is_empty() {
        return Err(reject(
            &input.ident,
            "a struct without members has no layout in C++",
            "give it a member, or pass nothing",
        ));
    }
    let name = &input.ident;
    let clean = clean(&name.to_string());
    let (generics, arguments, clause) = input.generics.split_for_impl();
    let rust: Vec<_> = members.iter().map(|m| &m.rust).collect();
    let cuda: Vec<_> = members.iter().map(|m| &m.cuda).collect();
    let tys: Vec<_> = members.iter().map(|m| m.ty).collect();
    Ok(quote! {
        impl #generics ::warpweft::element::DeviceType for #name #arguments #clause {
            const ALIKE: bool = true #(&& <#tys as ::warpweft::element::DeviceType>::ALIKE)*;
            fn cuda(__unit: &mut ::warpweft::element::Unit) -> ::std::string::String {
                __unit.define(&::warpweft::element::key::<Self>(), #clean, |__unit, __name| {
                    ::warpweft::element::struct_text(
                        __name,
                        ::core::mem::size_of::<Self>(),
                        &[#((
                            <#tys as ::warpweft::element::DeviceType>::cuda(__unit),
                            #cuda,
                            ::core::mem::offset_of!(Self, #rust),
                        )),*],
                    )
                })
            }
            fn cuda_value(&self, __unit: &mut ::warpweft::element::Unit) -> ::std::string::String {
                let __members: &[::std::string::String] = &[#(
                    ::warpweft::element::DeviceType::cuda_value(&self.#rust, __unit)
                ),*];
                ::std::format!(
                    "{}{{{}}}",
                    <Self as ::warpweft::element::DeviceType>::cuda(__unit),
                    __members.join(", "),
                )
            }
        }
    })
}

/// `#[derive(Device)]`.
pub fn device(input: DeriveInput) -> syn::Result<TokenStream> {
    match &input.data {
        Data::Struct(data) => struct_type(&input, data),
        Data::Enum(data) => enum_type(&input, data),
        Data::Union(data) => Err(reject_at(
            data.union_token.span,
            "device code has no unions",
            "use a struct, and `to_bits` and `from_bits`",
        )),
    }
}

fn enum_type(input: &DeriveInput, data: &syn::DataEnum) -> syn::Result<TokenStream> {
    let name = &input.ident;
    let integers = ["i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64", "usize"];
    let repr =
        repr(input).into_iter().find(|r| integers.contains(&r.as_str())).ok_or_else(|| {
            reject(
                name,
                format_args!("`{name}` has no fixed layout"),
                "put `#[repr(u8)]`, or another integer type, on it",
            )
        })?;
    for variant in &data.variants {
        if !variant.fields.is_empty() {
            return Err(reject(
                variant,
                "device code has no enums with data",
                "put the data beside the enum, in a `#[repr(C)]` struct",
            ));
        }
    }
    if data.variants.is_empty() {
        return Err(reject(name, "an enum without variants has no values", "give it one"));
    }
    let (generics, arguments, clause) = input.generics.split_for_impl();
    let variants: Vec<_> = data.variants.iter().map(|variant| &variant.ident).collect();
    let cuda: Vec<_> = variants.iter().map(|v| member_name(&v.to_string())).collect();
    let clean = clean(&name.to_string());
    Ok(quote! {
        impl #generics ::warpweft::element::DeviceType for #name #arguments #clause {
            fn cuda(__unit: &mut ::warpweft::element::Unit) -> ::std::string::String {
                __unit.define(&::warpweft::element::key::<Self>(), #clean, |_, __name| {
                    ::warpweft::element::enum_text(
                        __name,
                        #repr,
                        &[#((#cuda, Self::#variants as i128)),*],
                    )
                })
            }
            fn cuda_value(&self, __unit: &mut ::warpweft::element::Unit) -> ::std::string::String {
                let __variant = match self {
                    #(Self::#variants => #cuda,)*
                };
                ::std::format!("{}::{__variant}", <Self as ::warpweft::element::DeviceType>::cuda(__unit))
            }
        }
        impl #generics ::warpweft::element::Comparable for #name #arguments #clause {}
    })
}

/// `#[derive(Fields)]`.
pub fn fields(input: DeriveInput) -> syn::Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        return Err(reject(
            &input.ident,
            "only a struct can be what a cell holds",
            "write a `#[repr(C)]` struct of scalars with named members",
        ));
    };
    let other = |p: &&syn::GenericParam| !matches!(p, syn::GenericParam::Type(_));
    if let Some(parameter) = input.generics.params.iter().find(other) {
        return Err(reject(
            parameter,
            "the state of a cell is generic over scalars only",
            "make it a type parameter, as in `struct Cell<T: Real>`",
        ));
    }
    let names: Vec<_> = data.fields.iter().filter_map(|field| field.ident.as_ref()).collect();
    if names.is_empty() {
        return Err(reject(
            &input.ident,
            "the fields of a cell have names",
            "write `struct Cell { height: f32, .. }`",
        ));
    }
    if names.len() > MAX_FIELDS {
        return Err(reject(
            names[MAX_FIELDS],
            format_args!(
                "a cell has at most {MAX_FIELDS} fields, this is number {}",
                MAX_FIELDS + 1
            ),
            "split the state into two volumes",
        ));
    }
    let device = struct_type(&input, data)?;
    let (name, vis) = (&input.ident, &input.vis);
    let near = format_ident!("{name}Near");
    let tys: Vec<_> = data.fields.iter().map(|field| &field.ty).collect();
    let texts: Vec<_> = names.iter().map(|name| name.to_string()).collect();
    let constants: Vec<_> = names.iter().map(|name| field_constant(name)).collect();
    let numbers: Vec<_> = (0..names.len()).collect();
    let bits: Vec<_> = (0..names.len()).map(|i| 1u32 << i).collect();
    let doc = format!("The neighbourhood of a cell of [`{name}`]: one accessor a field.");
    let (generics, arguments, clause) = input.generics.split_for_impl();
    let scalars: Vec<_> = input.generics.type_params().collect();
    let scalar_names: Vec<_> = scalars.iter().map(|scalar| &scalar.ident).collect();
    Ok(quote! {
        #device

        #[doc = #doc]
        #[allow(missing_docs)]
        #vis struct #near<'a, #(#scalars,)* __B, const __D: usize> #clause {
            #(pub #names: ::warpweft::element::ScalarNear<'a, #tys, __B, __D>,)*
        }
        impl<#(#scalars,)* __B: Copy, const __D: usize> Clone
            for #near<'_, #(#scalar_names,)* __B, __D> #clause
        {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<#(#scalars,)* __B: Copy, const __D: usize> Copy
            for #near<'_, #(#scalar_names,)* __B, __D> #clause {}

        #[allow(non_upper_case_globals, dead_code)]
        impl #generics #name #arguments #clause {
            #(#[doc(hidden)] #vis const #constants: usize = #numbers;)*
        }

        // SAFETY: FIELDS lists the members in order; each function uses the same number, name and
        // type of a member together.
        unsafe impl #generics ::warpweft::element::Fields for #name #arguments #clause {
            const FIELDS: &'static [::warpweft::element::FieldInfo] = &[#(
                ::warpweft::element::FieldInfo {
                    name: #texts,
                    kind: <#tys as ::warpweft::element::Scalar>::KIND,
                },
            )*];

            fn splat(value: f64) -> Self {
                Self { #(#names: <#tys as ::warpweft::element::Scalar>::from_f64(value),)* }
            }

            type Near<'a, __B: ::warpweft::element::Bounds<__D>, const __D: usize> =
                #near<'a, #(#scalar_names,)* __B, __D>;

            #[inline(always)]
            unsafe fn near<'a, __B: ::warpweft::element::Bounds<__D>, const __D: usize>(
                at: &::warpweft::element::CellPtr<__B, __D>,
            ) -> Self::Near<'a, __B, __D> {
                #near { #(
                    // SAFETY: passed on to the caller.
                    #names: unsafe { ::warpweft::element::ScalarNear::new(at, #numbers) },
                )* }
            }

            #[inline(always)]
            unsafe fn load(
                base: &[*const u8; ::warpweft::element::MAX_FIELDS],
                index: isize,
            ) -> Self {
                Self { #(
                    // SAFETY: passed on to the caller.
                    #names: unsafe { *base[#numbers].cast::<#tys>().offset(index) },
                )* }
            }

            #[inline(always)]
            unsafe fn store(
                self,
                base: &[*mut u8; ::warpweft::element::MAX_FIELDS],
                index: isize,
                mask: u32,
            ) {
                #(if mask & #bits != 0 {
                    // SAFETY: passed on to the caller.
                    unsafe { *base[#numbers].cast::<#tys>().offset(index) = self.#names };
                })*
            }

            fn to_f64(&self, field: usize) -> f64 {
                match field {
                    #(#numbers => ::warpweft::element::Scalar::to_f64(self.#names),)*
                    _ => 0.0,
                }
            }
        }
    })
}
