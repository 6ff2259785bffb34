//! The neighbourhood and the new cell in a body: reads, which are the footprint, and writes.

use std::collections::{BTreeSet, HashMap};

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Expr as E, Type};

use super::shape::Shape;
use crate::check::{Inputs, Lower, Lowered};
use crate::diag::reject;
use crate::ir::{Expr, Input};
use crate::parse::cells::whole;
use crate::parse::reads::{is_name, untagged};

/// The number of a field, for Rust to resolve.
pub fn field_number(state: &Type, field: &Ident) -> TokenStream {
    let constant = crate::expand::derive::field_constant(field);
    quote!(<#state>::#constant)
}

/// The number of element `index` of a field that is an array.
pub fn element_number(state: &Type, (field, index): &(Ident, i128)) -> TokenStream {
    let constant = crate::expand::derive::elements_constant(field);
    let index = proc_macro2::Literal::i128_unsuffixed(*index);
    quote!(const { ::warpweft::element::element_of(<#state>::#constant, #index) })
}

/// What is read of a neighbour.
#[derive(Clone, PartialEq)]
pub enum Part {
    /// The one scalar that it holds.
    Scalar,
    Field(Ident),
    /// An element of a field that is an array.
    Element((Ident, i128)),
    /// All that it holds.
    Whole,
}

/// The neighbourhood and the new cell, as the body uses them.
pub struct StencilInputs {
    near: Ident,
    next: Option<Ident>,
    state: Type,
    scalar: bool,
    dimensions: Option<usize>,
    /// Reads in order of appearance.
    pub taps: Vec<(Part, Vec<i128>)>,
    /// The offset of each numbered read.
    pub offsets: HashMap<usize, Vec<i128>>,
    /// Of each numbered read of an array's element, which.
    pub members: HashMap<usize, i128>,
    /// Fields that the body assigns.
    pub writes: BTreeSet<Ident>,
    /// Fields that are arrays, of which the body assigns elements.
    arrays: BTreeSet<Ident>,
    /// The elements of these that it names.
    pub elements: BTreeSet<(Ident, i128)>,
}

impl StencilInputs {
    pub fn new(shape: &Shape, body: &syn::Block) -> Self {
        let [fields, arrays] = [BTreeSet::new(), BTreeSet::new()];
        let mut writes = Writes { next: shape.next.as_ref(), fields, arrays };
        writes.visit_block(body);
        Self {
            near: shape.near.clone(),
            next: shape.next.clone(),
            state: shape.state.clone(),
            scalar: shape.scalar,
            dimensions: shape.dimensions.to_string().parse().ok(),
            taps: vec![],
            offsets: HashMap::new(),
            members: HashMap::new(),
            writes: writes.fields,
            arrays: writes.arrays,
            elements: BTreeSet::new(),
        }
    }

    fn tap(&mut self, part: Part, offset: Vec<i128>, lower: &mut Lower) -> Expr {
        self.note(part.clone(), offset.clone());
        let state = &self.state;
        let number = match &part {
            Part::Scalar => quote!(0usize),
            Part::Field(field) => field_number(state, field),
            Part::Element(element) => element_number(state, element),
            Part::Whole => {
                let list: Vec<_> = offset.iter().map(i128::to_string).collect();
                let list = list.join(", ");
                return Expr::Value(lower.hole(
                    quote!(<#state as ::warpweft::element::Fields>::cuda_load(__unit, #list)),
                ));
            }
        };
        let field = lower.hole(quote!((#number).to_string()));
        Expr::Input(Input::Tap { field, offset })
    }

    fn note(&mut self, part: Part, offset: Vec<i128>) {
        let tap = (part, offset);
        if !self.taps.contains(&tap) {
            self.taps.push(tap);
        }
    }

    /// The neighbour at an offset, `index`, if it is one.
    fn neighbour(
        &mut self,
        index: &syn::ExprIndex,
        lower: &mut Lower,
    ) -> syn::Result<Option<Lowered>> {
        let part = match &*index.expr {
            base if is_parameter(base, &self.near, lower) => match self.scalar {
                true => Part::Scalar,
                false => Part::Whole,
            },
            E::Field(field) if is_parameter(&field.base, &self.near, lower) => {
                match &field.member {
                    syn::Member::Named(name) => Part::Field(name.clone()),
                    syn::Member::Unnamed(_) => return Ok(None),
                }
            }
            E::Index(member) => match &*member.expr {
                E::Field(field) if is_parameter(&field.base, &self.near, lower) => {
                    let syn::Member::Named(name) = &field.member else { return Ok(None) };
                    let index = lower.known(&member.index);
                    let index = index.ok_or_else(|| no_constant_member(&member.index))?;
                    Part::Element((name.clone(), index))
                }
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        let E::Array(offsets) = &*index.index else {
            return Err(reject(
                &index.index,
                "a neighbour is named by its offset along each axis",
                "write an array of constants, as in `u[[0, -1]]`",
            ));
        };
        let (plain, number) = untagged(offsets);
        let mut offset = vec![];
        for expr in &plain.elems {
            offset.push(lower.known_offset(expr).ok_or_else(|| not_constant(expr))?);
        }
        if let Some(number) = number {
            self.offsets.insert(number, offset.clone());
            if let Part::Element((_, index)) = &part {
                self.members.insert(number, *index);
            }
        }
        let of = &index.expr;
        let rust = match part {
            Part::Whole => whole(&self.near, &self.state, &plain).into_token_stream(),
            _ => quote_spanned!(index.span()=> #of[#plain]),
        };
        Ok(Some(Lowered::new(rust, self.tap(part, offset, lower))))
    }

    /// An element of a field of the new cell, `next.f[i]`, if it is one.
    fn new_element(
        &mut self,
        index: &syn::ExprIndex,
        lower: &mut Lower,
    ) -> syn::Result<Option<Lowered>> {
        let E::Field(field) = &*index.expr else { return Ok(None) };
        let syn::Member::Named(name) = &field.member else { return Ok(None) };
        if !self.next.as_ref().is_some_and(|next| is_parameter(&field.base, next, lower)) {
            return Ok(None);
        }
        let at = lower.known(&index.index).ok_or_else(|| no_constant_member(&index.index))?;
        let element = (name.clone(), at);
        let rust = quote!(#index);
        if !self.arrays.contains(name) {
            let dimensions = self.dimensions.ok_or_else(|| only_read(field, &self.near, name))?;
            let ir = self.tap(Part::Element(element), vec![0; dimensions], lower);
            return Ok(Some(Lowered::new(rust, ir)));
        }
        let number = element_number(&self.state, &element);
        let number = lower.hole(quote!((#number).to_string()));
        self.elements.insert(element);
        Ok(Some(Lowered::new(rust, Expr::Input(Input::Next { field: number }))))
    }

    /// A field of the new cell, `field`, if it is one.
    fn new_field(
        &mut self,
        field: &syn::ExprField,
        lower: &mut Lower,
    ) -> syn::Result<Option<Lowered>> {
        let syn::Member::Named(name) = &field.member else { return Ok(None) };
        if is_parameter(&field.base, &self.near, lower) {
            return Err(reject(
                field,
                "the field of a neighbourhood stands for all cells around",
                format_args!("index it with an offset: `{}.{name}[[..]]`", self.near),
            ));
        }
        if !self.next.as_ref().is_some_and(|next| is_parameter(&field.base, next, lower)) {
            return Ok(None);
        }
        if !self.writes.contains(name) {
            // Never assigned, it is what the cell holds now: one more read.
            let dimensions = self.dimensions.ok_or_else(|| only_read(field, &self.near, name))?;
            let ir = self.tap(Part::Field(name.clone()), vec![0; dimensions], lower);
            return Ok(Some(Lowered::new(quote!(#field), ir)));
        }
        let number = field_number(&self.state, name);
        let number = lower.hole(quote!((#number).to_string()));
        Ok(Some(Lowered::new(quote!(#field), Expr::Input(Input::Next { field: number }))))
    }
}

/// Whether `expr` is the parameter `name`, not a variable that hides it.
fn is_parameter(expr: &E, name: &Ident, lower: &Lower) -> bool {
    is_name(expr, name) && lower.scopes.get(&name.to_string()).is_none()
}

impl Inputs for StencilInputs {
    fn input(&mut self, expr: &E, lower: &mut Lower) -> syn::Result<Option<Lowered>> {
        match expr {
            E::Index(index) => match self.neighbour(index, lower)? {
                Some(found) => Ok(Some(found)),
                None => self.new_element(index, lower),
            },
            E::Field(field) => self.new_field(field, lower),
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
                format_args!(
                    "assign its fields one by one, as in `{name}.field = value`, or drop the parameter and return the cell"
                ),
            )
        })
    }
}

fn only_read(field: &syn::ExprField, near: &Ident, name: &Ident) -> syn::Error {
    reject(
        field,
        "this field is only read, and the dimensions are no literal",
        format_args!("read `{name}` from `{near}`, at offset zero"),
    )
}

fn no_constant_member(index: &E) -> syn::Error {
    reject(
        index,
        "the index into a field that is an array must be constant",
        "each element is stored in an array of its own: write a literal, a `const` of this function, or the \
         variable of a `for` whose bounds are literals; copy the cell, `let here = u[[0, 0]];`, to index it by a \
         value",
    )
}

fn not_constant(expr: &E) -> syn::Error {
    reject(
        expr,
        "the offset of a neighbour must be constant",
        "write a literal, a `const` of this function, or the variable of a `for` whose bounds are \
         literals and whose body has no `break` or `continue`; arithmetic of them may not leave their \
         type, which must be written down before a cast: `let k: isize = 1;`",
    )
}

/// Finds the fields of `next` that are assigned.
struct Writes<'a> {
    next: Option<&'a Ident>,
    fields: BTreeSet<Ident>,
    arrays: BTreeSet<Ident>,
}

impl Writes<'_> {
    fn note(&mut self, place: &E) {
        let (place, names) = match place {
            E::Index(index) => (&*index.expr, &mut self.arrays),
            place => (place, &mut self.fields),
        };
        if let (E::Field(field), Some(next)) = (place, self.next)
            && is_name(&field.base, next)
            && let syn::Member::Named(name) = &field.member
        {
            names.insert(name.clone());
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
