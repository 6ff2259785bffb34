//! `#[derive(Fields)]`: a struct of scalars as what a cell holds.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Type, TypeParam};

use super::device::{struct_type, without_meaning};
use super::{implementation, members, or_stub, type_names};
use crate::diag::reject;

/// The most fields of a cell; the library's `MAX_FIELDS`.
const MAX_FIELDS: usize = 32;

/// The hidden associated constant with the number of a field.
pub fn field_constant(field: &Ident) -> Ident {
    format_ident!("__FIELD_{field}")
}

/// `#[derive(Fields)]`.
pub fn fields(input: DeriveInput) -> TokenStream {
    or_stub(Cell::of(&input).map(|cell| cell.derived()), || refused(&input))
}

/// A struct that is fit to be what a cell holds.
struct Cell<'a> {
    input: &'a DeriveInput,
    names: Vec<&'a Ident>,
    tys: Vec<&'a Type>,
    /// What C++ calls the members.
    cuda: Vec<String>,
    scalars: Vec<&'a TypeParam>,
    device: TokenStream,
}

impl<'a> Cell<'a> {
    fn of(input: &'a DeriveInput) -> syn::Result<Self> {
        let Data::Struct(data) = &input.data else {
            return Err(reject(
                &input.ident,
                "only a struct can be what a cell holds",
                "write a struct of scalars with named members",
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
        let tys: Vec<_> = data.fields.iter().map(|field| &field.ty).collect();
        check(&input.ident, &names, &tys)?;
        let cuda = members(data).into_iter().map(|member| member.cuda).collect();
        let scalars = input.generics.type_params().collect();
        Ok(Self { input, names, tys, cuda, scalars, device: struct_type(input, data)? })
    }

    fn derived(&self) -> TokenStream {
        let device = &self.device;
        let (near, numbers, fields) = (self.near(), self.numbers(), self.fields());
        quote!(#device #near #numbers #fields)
    }

    fn near_name(&self) -> Ident {
        format_ident!("{}Near", self.input.ident)
    }

    /// The struct of neighbourhoods, one a field.
    fn near(&self) -> TokenStream {
        let Self { input, names, tys, scalars, .. } = self;
        let (near, vis, scalar_names) = (self.near_name(), &input.vis, type_names(scalars));
        let clause = &input.generics.where_clause;
        let doc =
            format!("The neighbourhood of a cell of [`{}`]: one accessor a field.", input.ident);
        quote! {
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
        }
    }

    /// The numbers of the fields, by name.
    fn numbers(&self) -> TokenStream {
        let (vis, name) = (&self.input.vis, &self.input.ident);
        let (generics, arguments, clause) = self.input.generics.split_for_impl();
        let constants = self.names.iter().map(|name| field_constant(name));
        let numbers = 0..self.names.len();
        quote! {
            #[allow(non_upper_case_globals, dead_code)]
            impl #generics #name #arguments #clause {
                #(#[doc(hidden)] #vis const #constants: usize = #numbers;)*
            }
        }
    }

    fn fields(&self) -> TokenStream {
        let Self { input, names, tys, cuda, scalars, .. } = self;
        let (near, scalar_names) = (self.near_name(), type_names(scalars));
        let texts = names.iter().map(|name| name.to_string());
        let moves = self.moves();
        let body = quote! {
            const FIELDS: &'static [::warpweft::element::FieldInfo] = &[#(
                ::warpweft::element::FieldInfo {
                    name: #texts,
                    kind: <#tys as ::warpweft::element::Scalar>::KIND,
                },
            )*];

            fn splat(value: f64) -> Self {
                Self { #(#names: ::warpweft::element::Scalar::from_f64(value),)* }
            }

            type Near<'a, __B: ::warpweft::element::Bounds<__D>, const __D: usize> =
                #near<'a, #(#scalar_names,)* __B, __D>;

            #moves

            fn cuda_load(__unit: &mut ::warpweft::element::Unit, __offset: &str) -> ::std::string::String {
                ::warpweft::element::define_load::<Self>(__unit, &[#(#cuda),*], __offset)
            }
            fn cuda_store(__unit: &mut ::warpweft::element::Unit) -> [::std::string::String; 2] {
                ::warpweft::element::define_store::<Self>(__unit, &[#(#cuda),*])
            }
        };
        let fields = implementation(input, &quote!(::warpweft::element::Fields), &body);
        quote! {
            // SAFETY: FIELDS lists the members in order; each function uses the same number, name and
            // type of a member together.
            unsafe #fields
        }
    }

    /// What reads and writes single cells.
    fn moves(&self) -> TokenStream {
        let Self { names, tys, .. } = self;
        let near = self.near_name();
        let numbers: Vec<_> = (0..names.len()).collect();
        quote! {
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
            fn at<__B: ::warpweft::element::Bounds<__D>, const __D: usize>(
                near: &Self::Near<'_, __B, __D>,
                offset: [isize; __D],
            ) -> Self {
                Self { #(#names: near.#names[offset],)* }
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
                #(if mask >> #numbers & 1 != 0 {
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
    }
}

/// What a cell holds is named and counted, and each of it is one number.
fn check(cell: &Ident, names: &[&Ident], tys: &[&Type]) -> syn::Result<()> {
    if names.is_empty() {
        return Err(reject(
            cell,
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
    let several = |ty: &&&Type| {
        !matches!(ty, Type::Path(_) | Type::Group(_) | Type::Paren(_) | Type::Macro(_))
    };
    match tys.iter().find(several) {
        None => Ok(()),
        Some(ty) => Err(reject(
            ty,
            "a field of a cell is one number: each has an array of its own",
            "write a field for each number, as in `vx: f32, vy: f32, vz: f32`",
        )),
    }
}

/// What stands for a struct that was refused, so that its uses are no errors too.
fn refused(input: &DeriveInput) -> TokenStream {
    let device = without_meaning(input);
    let body = quote! {
        const FIELDS: &'static [::warpweft::element::FieldInfo] = &[];
        fn splat(_: f64) -> Self {
            loop {}
        }
        type Near<'a, __B: ::warpweft::element::Bounds<__D>, const __D: usize> =
            ::warpweft::element::ScalarNear<'a, u8, __B, __D>;
        unsafe fn near<'a, __B: ::warpweft::element::Bounds<__D>, const __D: usize>(
            _: &::warpweft::element::CellPtr<__B, __D>,
        ) -> Self::Near<'a, __B, __D> {
            loop {}
        }
        fn at<__B: ::warpweft::element::Bounds<__D>, const __D: usize>(
            _: &Self::Near<'_, __B, __D>,
            _: [isize; __D],
        ) -> Self {
            loop {}
        }
        unsafe fn load(_: &[*const u8; ::warpweft::element::MAX_FIELDS], _: isize) -> Self {
            loop {}
        }
        unsafe fn store(self, _: &[*mut u8; ::warpweft::element::MAX_FIELDS], _: isize, _: u32) {}
        fn to_f64(&self, _: usize) -> f64 {
            0.0
        }
    };
    let fields = implementation(input, &quote!(::warpweft::element::Fields), &body);
    quote! {
        #device
        // SAFETY: no program has it: it stands beside an error.
        unsafe #fields
    }
}
