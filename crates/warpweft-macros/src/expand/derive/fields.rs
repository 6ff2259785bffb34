//! `#[derive(Fields)]`: a struct of scalars as what a cell holds.

use proc_macro2::{Ident, Literal, TokenStream};
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

/// The hidden associated constant with the first number of a field that is an array, and its length.
pub fn elements_constant(field: &Ident) -> Ident {
    format_ident!("__ELEMENTS_{field}")
}

/// `#[derive(Fields)]`.
pub fn fields(input: DeriveInput) -> TokenStream {
    or_stub(Cell::of(&input).map(|cell| cell.derived()), || refused(&input))
}

/// A number that a cell holds: a member, or an element of one that is an array.
struct Number<'a> {
    name: String,
    ty: &'a Type,
    /// The member, with the index.
    rust: TokenStream,
    /// The same in C++.
    cuda: String,
}

/// A member.
struct Member<'a> {
    name: &'a Ident,
    /// The type of its numbers.
    ty: &'a Type,
    /// Its length, of an array.
    length: Option<usize>,
    /// The number of its first field.
    first: usize,
}

impl Member<'_> {
    fn count(&self) -> usize {
        self.length.unwrap_or(1)
    }

    /// The member made of what `number` makes of each of its fields.
    fn made(&self, number: impl Fn(usize) -> TokenStream) -> TokenStream {
        let name = self.name;
        let numbers = (self.first..self.first + self.count()).map(number);
        match self.length {
            Some(_) => quote!(#name: [#(#numbers),*]),
            None => quote!(#name: #(#numbers)*),
        }
    }
}

/// A struct that is fit to be what a cell holds.
struct Cell<'a> {
    input: &'a DeriveInput,
    members: Vec<Member<'a>>,
    numbers: Vec<Number<'a>>,
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
        let cuda = members(data).into_iter().map(|member| member.cuda);
        let (mut all, mut numbers) = (Vec::new(), Vec::new());
        for (field, cuda) in data.fields.iter().zip(cuda) {
            let Some(name) = &field.ident else { continue };
            let (ty, length) = taken_apart(&field.ty)?;
            all.push(Member { name, ty, length, first: numbers.len() });
            match length {
                None => {
                    numbers.push(Number { name: name.to_string(), ty, rust: quote!(#name), cuda })
                }
                Some(length) => numbers.extend((0..length.min(MAX_FIELDS + 1)).map(|i| {
                    let at = Literal::usize_unsuffixed(i);
                    let (text, cuda) = (format!("{name}[{i}]"), format!("{cuda}.items[{i}]"));
                    Number { name: text, ty, rust: quote!(#name[#at]), cuda }
                })),
            }
        }
        check(&input.ident, &all)?;
        let scalars = input.generics.type_params().collect();
        Ok(Self { input, members: all, numbers, scalars, device: struct_type(input, data)? })
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
        let Self { input, scalars, .. } = self;
        let (near, vis, scalar_names) = (self.near_name(), &input.vis, type_names(scalars));
        let accessors = self.members.iter().map(|Member { name, ty, length, .. }| {
            let one = quote!(::warpweft::element::ScalarNear<'a, #ty, __B, __D>);
            match length {
                Some(length) => quote!(pub #name: [#one; #length]),
                None => quote!(pub #name: #one),
            }
        });
        let clause = &input.generics.where_clause;
        let doc =
            format!("The neighbourhood of a cell of [`{}`]: one accessor a field.", input.ident);
        quote! {
            #[doc = #doc]
            #[allow(missing_docs)]
            #vis struct #near<'a, #(#scalars,)* __B, const __D: usize> #clause {
                #(#accessors,)*
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
        let constants =
            self.members.iter().map(|Member { name, length, first, .. }| match length {
                Some(length) => {
                    let constant = elements_constant(name);
                    quote!(#constant: (usize, usize) = (#first, #length))
                }
                None => {
                    let constant = field_constant(name);
                    quote!(#constant: usize = #first)
                }
            });
        quote! {
            #[allow(non_upper_case_globals, dead_code)]
            impl #generics #name #arguments #clause {
                #(#[doc(hidden)] #vis const #constants;)*
            }
        }
    }

    fn fields(&self) -> TokenStream {
        let Self { input, scalars, .. } = self;
        let (near, scalar_names) = (self.near_name(), type_names(scalars));
        let texts = self.numbers.iter().map(|number| &number.name);
        let tys = self.numbers.iter().map(|number| number.ty);
        let cuda: Vec<_> = self.numbers.iter().map(|number| &number.cuda).collect();
        let splats = self.members.iter();
        let splats =
            splats.map(|it| it.made(|_| quote!(::warpweft::element::Scalar::from_f64(value))));
        let moves = self.moves();
        let body = quote! {
            const FIELDS: &'static [::warpweft::element::FieldInfo] = &[#(
                ::warpweft::element::FieldInfo {
                    name: #texts,
                    kind: <#tys as ::warpweft::element::Scalar>::KIND,
                },
            )*];

            fn splat(value: f64) -> Self {
                Self { #(#splats,)* }
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

    /// The members as accessors, as an offset reads them, and as they are loaded.
    fn made(&self) -> [Vec<TokenStream>; 3] {
        let each = |make: &dyn Fn(usize, &Number) -> TokenStream| -> Vec<TokenStream> {
            let made = |n: usize| make(n, &self.numbers[n]);
            self.members.iter().map(|member| member.made(made)).collect()
        };
        let nears = each(&|n, _| {
            quote! {
                // SAFETY: passed on to the caller.
                unsafe { ::warpweft::element::ScalarNear::new(at, #n) }
            }
        });
        let reads = each(&|_, Number { rust, .. }| quote!(near.#rust[offset]));
        let loads = each(&|n, Number { ty, .. }| {
            quote! {
                // SAFETY: passed on to the caller.
                unsafe { *base[#n].cast::<#ty>().offset(index) }
            }
        });
        [nears, reads, loads]
    }

    /// What reads and writes single cells.
    fn moves(&self) -> TokenStream {
        let near = self.near_name();
        let numbers: Vec<_> = (0..self.numbers.len()).collect();
        let tys: Vec<_> = self.numbers.iter().map(|number| number.ty).collect();
        let rusts: Vec<_> = self.numbers.iter().map(|number| &number.rust).collect();
        let [nears, reads, loads] = self.made();
        quote! {
            #[inline(always)]
            unsafe fn near<'a, __B: ::warpweft::element::Bounds<__D>, const __D: usize>(
                at: &::warpweft::element::CellPtr<__B, __D>,
            ) -> Self::Near<'a, __B, __D> {
                #near { #(#nears,)* }
            }

            #[inline(always)]
            fn at<__B: ::warpweft::element::Bounds<__D>, const __D: usize>(
                near: &Self::Near<'_, __B, __D>,
                offset: [isize; __D],
            ) -> Self {
                Self { #(#reads,)* }
            }

            #[inline(always)]
            unsafe fn load(
                base: &[*const u8; ::warpweft::element::MAX_FIELDS],
                index: isize,
            ) -> Self {
                Self { #(#loads,)* }
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
                    unsafe { *base[#numbers].cast::<#tys>().offset(index) = self.#rusts };
                })*
            }

            fn to_f64(&self, field: usize) -> f64 {
                match field {
                    #(#numbers => ::warpweft::element::Scalar::to_f64(self.#rusts),)*
                    _ => 0.0,
                }
            }
        }
    }
}

/// What a cell holds is named and counted.
fn check(cell: &Ident, members: &[Member<'_>]) -> syn::Result<()> {
    if members.is_empty() {
        return Err(reject(
            cell,
            "the fields of a cell have names",
            "write `struct Cell { height: f32, .. }`",
        ));
    }
    match members.iter().find(|member| member.first + member.count() > MAX_FIELDS) {
        None => Ok(()),
        Some(member) => Err(reject(
            member.name,
            format_args!(
                "a cell has at most {MAX_FIELDS} fields, this is number {}",
                MAX_FIELDS + 1
            ),
            "give it fewer; what no function writes can be a table, a parameter `&[f64]`",
        )),
    }
}

/// The numbers that a member holds: one, or an array of them.
fn taken_apart(ty: &Type) -> syn::Result<(&Type, Option<usize>)> {
    let one =
        |ty: &Type| matches!(ty, Type::Path(_) | Type::Group(_) | Type::Paren(_) | Type::Macro(_));
    if one(ty) {
        return Ok((ty, None));
    }
    if let Type::Array(array) = ty
        && one(&array.elem)
    {
        let length = match &array.len {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(length), .. }) => {
                length.base10_parse().ok().filter(|&length: &usize| length > 0)
            }
            _ => None,
        };
        return match length {
            Some(length) => Ok((&array.elem, Some(length))),
            None => Err(reject(
                &array.len,
                "a field is stored for each element of an array, so their number is a literal",
                "write it out, as in `[f32; 19]`",
            )),
        };
    }
    Err(reject(
        ty,
        "a field of a cell is one number or an array of numbers",
        "write a field for each number, as in `vx: f32, vy: f32, vz: f32`, or `v: [f32; 3]`",
    ))
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
        // SAFETY: no program has it: it stands next to an error.
        unsafe #fields
    }
}
