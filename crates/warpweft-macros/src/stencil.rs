//! `#[stencil]`: an element function of a neighbourhood, as `warpweft::stencil::StencilElement`.

use std::collections::BTreeSet;

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::visit::Visit;
use syn::{Expr as E, GenericArgument, ItemFn, Pat, PathArguments, ReturnType, Type};

use crate::diag::reject;
use crate::emit::{Cuda, Returns, clean, mark, member_name, weave};
use crate::ir::{Expr, Input, Pattern, Statement};
use crate::lower::{Binding, Inputs, Lower, Lowered};
use crate::signature::{Parameter, no_lifetimes, parameters, phantom, returns_value};
use crate::unroll::unroll;

/// The signature taken apart.
struct Shape {
    near: Ident,
    state: Type,
    dimensions: TokenStream,
    /// The name of `next`, in the form with several fields.
    next: Option<Ident>,
    /// The other parameters.
    rest: Vec<(Ident, bool, Type)>,
}

pub fn expand(function: ItemFn) -> syn::Result<TokenStream> {
    let signature = &function.sig;
    no_lifetimes(&signature.generics)?;
    let shape = shape(&function, parameters(signature)?)?;
    let name = &signature.ident;
    let state = &shape.state;
    let dimensions = &shape.dimensions;
    let body = unroll(&function.block, &shape.near)?;

    let mut inputs = StencilInputs::new(&shape, &body);
    let mut lower = Lower::new(name, &signature.generics, &mut inputs);
    let name_hole = lower.hole(quote!(__name.to_string()));
    let mut data = String::new();
    let mut checks = String::new();
    let mut copies = vec![];
    for (ident, mutable, ty) in &shape.rest {
        let member = member_name(&ident.to_string());
        let hole = lower.hole(quote!(<#ty as ::warpweft::element::DeviceType>::cuda(__unit)));
        data.push_str(&format!("  {} {member};\n", mark(hole)));
        let offset = lower.hole(quote!(::core::mem::offset_of!(Self, #ident).to_string()));
        checks.push_str(&format!(
            "static_assert(WW_OFFSET({}, {member}) == {}, \"layout of {ident}\");\n",
            mark(name_hole),
            mark(offset)
        ));
        if *mutable {
            let name = lower.declare(ident, Binding::variable);
            let pattern = Pattern::Bind { name, mutable: true, inner: None };
            copies.push(Statement::Let(pattern, Expr::Local(member)));
        } else {
            lower.scopes.insert(ident.to_string(), Binding::variable(member));
        }
    }
    if !shape.rest.is_empty() {
        let size = lower.hole(quote!(::core::mem::size_of::<Self>().to_string()));
        checks.push_str(&format!(
            "static_assert(sizeof({}) == {}, \"layout of the parameters\");\n",
            mark(name_hole),
            mark(size)
        ));
    }
    let (shadow, mut block) = lower.body(&body, shape.next.is_none())?;
    block.statements.splice(0..0, copies);
    let returns = match shape.next {
        None => Returns::Into("next.template ref<0>()".into()),
        Some(_) => Returns::Nothing,
    };
    let text = format!(
        "struct {} {{\n{data}  template<class Now, class Next> WW_FN void operator()(const Now& now, Next& next) const {{\n{}  }}\n}};\n{checks}",
        mark(name_hole),
        Cuda::body(&block, returns, 2),
    );
    let text = weave(&text, &lower.holes);
    let slots = std::mem::take(&mut lower.slots);
    drop(lower);
    let taps = inputs.taps.iter().map(|(field, offset)| {
        let field = field_number(state, field.as_ref());
        let offset = offset.iter().map(|&o| proc_macro2::Literal::i128_unsuffixed(o));
        quote!(::warpweft::stencil::Tap { field: #field, offset: [#(#offset),*] })
    });
    let writes = match shape.next {
        None => vec![quote!(0)],
        Some(_) => inputs.writes.iter().map(|f| field_number(state, Some(f))).collect(),
    };

    let vis = &function.vis;
    let docs: Vec<_> = function.attrs.iter().filter(|a| a.path().is_ident("doc")).collect();
    let others: Vec<_> = function.attrs.iter().filter(|a| !a.path().is_ident("doc")).collect();
    let docs = if docs.is_empty() { quote!(#[allow(missing_docs)]) } else { quote!(#(#docs)*) };
    let original = {
        let mut sig = signature.clone();
        sig.ident = Ident::new("cell", name.span());
        sig.generics = syn::Generics::default();
        sig
    };
    let original_block = &function.block;
    let output = &signature.output;
    let clean_name = clean(&name.to_string());
    let (generics, arguments, clause) = signature.generics.split_for_impl();
    let full = &signature.generics;
    let types = phantom(full);
    let (phantom_member, phantom_value) = match full.type_params().next() {
        Some(_) => (
            quote!(#[doc(hidden)] pub __types: #types,),
            quote!(__types: ::core::marker::PhantomData,),
        ),
        None => (quote!(), quote!()),
    };
    let idents: Vec<_> = shape.rest.iter().map(|(ident, ..)| ident).collect();
    let tys: Vec<_> = shape.rest.iter().map(|(.., ty)| ty).collect();
    let muts: Vec<_> = shape
        .rest
        .iter()
        .map(|(_, mutable, _)| if *mutable { quote!(mut) } else { quote!() })
        .collect();
    let near = &shape.near;
    let near_type = quote!(::warpweft::element::Near<#state, #dimensions>);
    let unchecked = quote! {
        <#state as ::warpweft::element::Fields>::Near<
            '_, ::warpweft::element::Unchecked<{ #dimensions }>, { #dimensions }>
    };
    let next = shape.next.as_ref();
    let next_parameter = next.map(|next| quote!(#next: &mut #state,));
    let (checked_call, unchecked_call) = match next {
        None => (
            quote!(*__next = Self::cell(__now, #(self.#idents),*)),
            quote!(*__next = Self::__unchecked(__now, #(self.#idents),*)),
        ),
        Some(_) => (
            quote!(Self::cell(__now, __next, #(self.#idents),*)),
            quote!(Self::__unchecked(__now, __next, #(self.#idents),*)),
        ),
    };
    let name_text = name.to_string();
    Ok(quote! {
        #docs
        #[allow(non_camel_case_types)]
        #[repr(C)]
        #vis struct #name #full #clause {
            #(
                #[doc = "A parameter of the function."]
                pub #idents: #tys,
            )*
            #phantom_member
        }

        impl #generics ::core::clone::Clone for #name #arguments #clause {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl #generics ::core::marker::Copy for #name #arguments #clause {}

        #docs
        #[allow(dead_code, clippy::too_many_arguments)]
        #vis fn #name #full (#(#idents: #tys),*) -> #name #arguments #clause {
            #name { #(#idents,)* #phantom_value }
        }

        #[allow(dead_code, clippy::too_many_arguments)]
        impl #generics #name #arguments #clause {
            /// The function as it was written.
            #(#others)*
            #[inline]
            pub #original #original_block

            #[doc(hidden)]
            #[inline(always)]
            #[allow(unused, clippy::all)]
            fn __unchecked(#near: #unchecked, #next_parameter #(#muts #idents: #tys),*) #output #body
        }

        // SAFETY: the translator collected TAPS from the very body that `cell_unchecked` runs, and
        // the struct is `repr(C)` with the C++ struct's members, which asserts the same layout.
        unsafe impl #generics ::warpweft::stencil::StencilElement<{ #dimensions }> for #name #arguments #clause {
            type State = #state;
            const NAME: &'static str = #name_text;
            const TAPS: &'static [::warpweft::stencil::Tap<{ #dimensions }>] = &[#(#taps),*];
            const WRITES: &'static [usize] = {
                const fn sorted<const N: usize>(mut fields: [usize; N]) -> [usize; N] {
                    let mut i = 1;
                    while i < N {
                        let mut j = i;
                        while j > 0 && fields[j] < fields[j - 1] {
                            let lower = fields[j];
                            fields[j] = fields[j - 1];
                            fields[j - 1] = lower;
                            j -= 1;
                        }
                        i += 1;
                    }
                    fields
                }
                &sorted([#(#writes),*])
            };

            #[inline]
            fn cell(&self, __now: ::warpweft::element::Near<'_, #state, { #dimensions }>, __next: &mut #state) {
                #checked_call
            }
            #[inline(always)]
            unsafe fn cell_unchecked(&self, __now: #unchecked, __next: &mut #state) {
                #unchecked_call
            }
            #[allow(warnings, clippy::all)]
            fn cuda(__unit: &mut ::warpweft::element::Unit) -> ::std::string::String {
                #(let #slots = ::warpweft::element::Slot::new();)*
                let _shadow = |#near: #near_type, #next_parameter #(#muts #idents: #tys),*| #output { #shadow };
                __unit.define(::core::any::type_name::<Self>(), #clean_name, |__unit, __name| #text)
            }
        }
    })
}

/// The number of a field, for Rust to resolve.
fn field_number(state: &Type, field: Option<&Ident>) -> TokenStream {
    match field {
        None => quote!(0usize),
        Some(field) => {
            let constant = crate::derive::field_constant(field);
            quote!(<#state>::#constant)
        }
    }
}

fn shape(function: &ItemFn, parameters: Vec<Parameter>) -> syn::Result<Shape> {
    let signature = &function.sig;
    let mut parameters = parameters.into_iter();
    let first = parameters.next().ok_or_else(|| {
        reject(
            &signature.ident,
            "a stencil function reads a neighbourhood",
            "make the first parameter one, as in `u: Near<f32, 3>`",
        )
    })?;
    let (state, dimensions) = near_arguments(&first)?;
    let near = plain_name(&first)?.0;
    let mut next = None;
    let mut rest = vec![];
    for parameter in parameters {
        let (name, mutable) = plain_name(&parameter)?;
        let ty = parameter.ty;
        match parameter.reference {
            Some(true) if next.is_none() && rest.is_empty() => {
                if quote!(#ty).to_string() != quote!(#state).to_string() {
                    return Err(reject(
                        &ty,
                        "the second parameter holds the cell's new fields",
                        format_args!("write `&mut {}`", quote!(#state)),
                    ));
                }
                next = Some(name);
            }
            Some(_) => {
                return Err(reject(
                    &parameter.whole,
                    "a parameter of a stencil function is the same for every cell",
                    "take the value",
                ));
            }
            None => rest.push((name, mutable, ty)),
        }
    }
    match (&next, returns_value(&signature.output)) {
        (None, true) | (Some(_), false) => {}
        (None, false) => {
            return Err(reject(
                &signature.ident,
                "a stencil function computes the cell's new value",
                "return it, or take `next: &mut State` as the second parameter and assign its fields",
            ));
        }
        (Some(_), true) => {
            return Err(reject(
                &signature.output,
                "a stencil function that assigns `next` returns nothing",
                "drop the return type, or the parameter",
            ));
        }
    }
    if let (None, ReturnType::Type(_, ty)) = (&next, &signature.output)
        && quote!(#ty).to_string() != quote!(#state).to_string()
    {
        return Err(reject(
            ty,
            "a stencil function returns what a cell holds",
            format_args!("return `{}`", quote!(#state)),
        ));
    }
    Ok(Shape { near, state, dimensions, next, rest })
}

/// State and dimensions of `Near<S, D>`.
fn near_arguments(first: &Parameter) -> syn::Result<(Type, TokenStream)> {
    let refused = || {
        reject(
            &first.whole,
            "the first parameter of a stencil function is the neighbourhood of a cell",
            "write `Near<f32, 3>`: what a cell holds, and the dimensions of the volume",
        )
    };
    let (Type::Path(path), None) = (&first.ty, first.reference) else { return Err(refused()) };
    let last = path.path.segments.last().filter(|last| last.ident == "Near").ok_or_else(refused)?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return Err(refused()) };
    let mut types = arguments.args.iter().filter(|a| !matches!(a, GenericArgument::Lifetime(_)));
    match (types.next(), types.next(), types.next()) {
        (Some(GenericArgument::Type(state)), Some(dimensions), None) => {
            Ok((state.clone(), quote!(#dimensions)))
        }
        _ => Err(refused()),
    }
}

fn plain_name(parameter: &Parameter) -> syn::Result<(Ident, bool)> {
    match &parameter.pat {
        Pat::Ident(ident) if ident.subpat.is_none() && ident.by_ref.is_none() => {
            Ok((ident.ident.clone(), ident.mutability.is_some()))
        }
        other => Err(reject(
            other,
            "a parameter of a stencil function has a plain name",
            "name it and take it apart with `let`",
        )),
    }
}

/// The neighbourhood and the new cell, as the body uses them.
struct StencilInputs {
    near: Ident,
    next: Option<Ident>,
    state: Type,
    dimensions: Option<usize>,
    /// Reads in order of appearance.
    taps: Vec<(Option<Ident>, Vec<i128>)>,
    /// Fields that the body assigns.
    writes: BTreeSet<Ident>,
}

impl StencilInputs {
    fn new(shape: &Shape, body: &syn::Block) -> Self {
        let mut writes = Writes { next: shape.next.as_ref(), fields: BTreeSet::new() };
        writes.visit_block(body);
        Self {
            near: shape.near.clone(),
            next: shape.next.clone(),
            state: shape.state.clone(),
            dimensions: shape.dimensions.to_string().parse().ok(),
            taps: vec![],
            writes: writes.fields,
        }
    }

    fn tap(&mut self, field: Option<Ident>, offset: Vec<i128>, lower: &mut Lower) -> Expr {
        let tap = (field.clone(), offset.clone());
        if !self.taps.contains(&tap) {
            self.taps.push(tap);
        }
        let number = field_number(&self.state, field.as_ref());
        let field = lower.hole(quote!((#number).to_string()));
        Expr::Input(Input::Tap { field, offset })
    }
}

/// Whether `expr` is the parameter `name`, not a variable that hides it.
fn is_parameter(expr: &E, name: &Ident, lower: &Lower) -> bool {
    is_name(expr, name) && lower.scopes.get(&name.to_string()).is_none()
}

impl Inputs for StencilInputs {
    fn input(&mut self, expr: &E, lower: &mut Lower) -> syn::Result<Option<Lowered>> {
        match expr {
            E::Index(index) => {
                let field = match &*index.expr {
                    base if is_parameter(base, &self.near, lower) => None,
                    E::Field(field) if is_parameter(&field.base, &self.near, lower) => {
                        match &field.member {
                            syn::Member::Named(name) => Some(name.clone()),
                            syn::Member::Unnamed(_) => return Ok(None),
                        }
                    }
                    _ => return Ok(None),
                };
                let E::Array(offsets) = &*index.index else {
                    return Err(reject(
                        &index.index,
                        "a neighbour is named by its offset along each axis",
                        "write an array of constants, as in `u[[0, -1]]`",
                    ));
                };
                let mut offset = vec![];
                for expr in &offsets.elems {
                    offset.push(lower.known(expr).ok_or_else(|| not_constant(expr))?);
                }
                let ir = self.tap(field, offset, lower);
                Ok(Some(Lowered::new(quote!(#expr), ir)))
            }
            E::Field(field) => {
                let Some(next) = &self.next else { return Ok(None) };
                let syn::Member::Named(name) = &field.member else { return Ok(None) };
                if is_parameter(&field.base, &self.near, lower) {
                    return Err(reject(
                        expr,
                        "the field of a neighbourhood stands for all cells around",
                        format_args!("index it with an offset: `{}.{name}[[..]]`", self.near),
                    ));
                }
                if !is_parameter(&field.base, next, lower) {
                    return Ok(None);
                }
                if !self.writes.contains(name) {
                    // Never assigned, it is what the cell holds now: one more read.
                    let dimensions = self.dimensions.ok_or_else(|| {
                        reject(
                            expr,
                            "this field is only read, and the dimensions are no literal",
                            format_args!("read it from `{}`, at offset zero", self.near),
                        )
                    })?;
                    let ir = self.tap(Some(name.clone()), vec![0; dimensions], lower);
                    return Ok(Some(Lowered::new(quote!(#expr), ir)));
                }
                let number = field_number(&self.state, Some(name));
                let field = lower.hole(quote!((#number).to_string()));
                Ok(Some(Lowered::new(quote!(#expr), Expr::Input(Input::Next { field }))))
            }
            _ => Ok(None),
        }
    }

    fn bare(&self, name: &Ident) -> Option<syn::Error> {
        if *name == self.near {
            return Some(reject(
                name,
                "the neighbourhood itself is not a value of device code",
                format_args!(
                    "read the neighbours here, as in `{name}[[0, -1]]`, and pass the values on"
                ),
            ));
        }
        (self.next.as_ref() == Some(name)).then(|| {
            reject(
                name,
                "the new cell is not a value of device code",
                format_args!("assign its fields one by one, as in `{name}.field = value`"),
            )
        })
    }
}

fn not_constant(expr: &E) -> syn::Error {
    reject(
        expr,
        "the offset of a neighbour must be constant",
        "write a literal, a `const` of this function, or the variable of a `for` whose bounds are \
         literals and whose body has no `break` or `continue`",
    )
}

fn is_name(expr: &E, name: &Ident) -> bool {
    matches!(expr, E::Path(path) if path.path.is_ident(name))
}

/// Finds the fields of `next` that are assigned.
struct Writes<'a> {
    next: Option<&'a Ident>,
    fields: BTreeSet<Ident>,
}

impl Writes<'_> {
    fn note(&mut self, place: &E) {
        if let (E::Field(field), Some(next)) = (place, self.next)
            && is_name(&field.base, next)
            && let syn::Member::Named(name) = &field.member
        {
            self.fields.insert(name.clone());
        }
    }
}

impl<'ast> Visit<'ast> for Writes<'_> {
    fn visit_expr_assign(&mut self, assign: &'ast syn::ExprAssign) {
        self.note(&assign.left);
        syn::visit::visit_expr_assign(self, assign);
    }
    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        if is_compound(&binary.op) {
            self.note(&binary.left);
        }
        syn::visit::visit_expr_binary(self, binary);
    }
    fn visit_expr_reference(&mut self, reference: &'ast syn::ExprReference) {
        if reference.mutability.is_some() {
            self.note(&reference.expr);
        }
        syn::visit::visit_expr_reference(self, reference);
    }
}

fn is_compound(op: &syn::BinOp) -> bool {
    quote!(#op).to_string().ends_with('=')
        && !matches!(
            op,
            syn::BinOp::Eq(_) | syn::BinOp::Ne(_) | syn::BinOp::Le(_) | syn::BinOp::Ge(_)
        )
}
