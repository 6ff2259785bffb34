//! Indexes into slices that the host bounds before a run: those that inputs of rows and columns without a sign, parameters
//! and constants make up, where no branch decides whether the index is looked up at all.
//!
//! They are marked for the translation, which then writes no check.

use std::collections::{HashMap, HashSet};

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::visit_mut::VisitMut;
use syn::{
    BinOp, Block, Expr as E, Ident, Item, ItemConst, Lit, Macro, Pat, PatType as Typed, Stmt, Type,
};

use super::shape::Shape;
use crate::check::proved;
use crate::parse::parameters::Named;

/// What the host is told of.
pub struct Lookups {
    /// `const` items of the body's outermost block.
    constants: Vec<ItemConst>,
    found: Vec<Lookup>,
    /// Whether inputs of rows, of columns, are numbers without a sign.
    counted: [bool; 2],
}

struct Lookup {
    table: Ident,
    /// The expression of an `Interval`.
    index: TokenStream,
    at: Span,
}

/// Those of `body`, which are marked.
pub fn lookups(body: &mut Block, shape: &Shape) -> Lookups {
    let counted = [0, 1].map(|which| {
        shape.inputs[which].as_ref().is_some_and(|input| {
            !input.mutable && integer(&input.ty).is_some_and(|name| name.starts_with('u'))
        })
    });
    let tables = shape.rest.iter().filter(|named| named.items.is_some());
    let mut walk = Walk {
        tables: tables.map(|named| named.ident.clone()).collect(),
        values: HashMap::new(),
        inner: None,
        lookups: Lookups { constants: vec![], found: vec![], counted },
    };
    let mut returns = Returns(false);
    returns.visit_block(body);
    if walk.tables.is_empty() || returns.0 {
        return walk.lookups;
    }
    for (which, counted) in counted.into_iter().enumerate() {
        if let (true, Some(Named { ident, .. })) = (counted, &shape.inputs[which]) {
            let ty = shape.input(which);
            walk.values.insert(ident.to_string(), quote!(__symbols[#which].typed::<#ty>()));
        }
    }
    for Named { ident, ty, .. } in shape.rest.iter().filter(|named| !named.mutable) {
        if integer(ty).is_some() {
            walk.values.insert(ident.to_string(), of_type(&quote!(self.#ident), &quote!(#ty)));
        }
    }
    walk.visit_block_mut(body);
    walk.lookups
}

impl Lookups {
    /// The functions of the element's trait, or of that of choices.
    pub fn items(&self, shape: &Shape) -> TokenStream {
        let Self { constants, found, counted } = self;
        if found.is_empty() {
            return quote!();
        }
        let [row, column] = [0, 1].map(|which| shape.input(which));
        let [of_rows, of_columns] = [0, 1].map(|which| match counted[which] {
            true => {
                let inputs = [quote!(__rows), quote!(__columns)];
                let inputs = &inputs[which];
                quote!(::warpweft::wavefront::Interval::among(#inputs.iter().map(|&__x| __x as u64)))
            }
            false => quote!(::warpweft::wavefront::Interval::ANY),
        });
        let each = found.iter().map(|Lookup { table, index, at }| {
            let name = table.to_string();
            let line = quote_spanned!(*at=> ::core::line!());
            quote! {
                ::warpweft::wavefront::Lookup {
                    table: #name,
                    items: self.#table.get().len(),
                    index: #index,
                    place: (::core::file!(), #line),
                }
            }
        });
        quote! {
            #[allow(unused)]
            fn symbols(
                __rows: &[#row],
                __columns: &[#column],
            ) -> [::warpweft::wavefront::Interval; 2] {
                [#of_rows, #of_columns]
            }
            #[allow(unused, clippy::all)]
            fn lookups(
                &self,
                __symbols: [::warpweft::wavefront::Interval; 2],
            ) -> ::std::vec::Vec<::warpweft::wavefront::Lookup> {
                #(#constants)*
                ::std::vec![#(#each),*]
            }
        }
    }
}

/// Whether something ends the function early: what follows need not be looked up.
struct Returns(bool);

impl Visit<'_> for Returns {
    fn visit_expr_return(&mut self, _: &syn::ExprReturn) {
        self.0 = true;
    }

    fn visit_macro(&mut self, _: &Macro) {}
}

struct Walk {
    tables: Vec<Ident>,
    /// What the variables in scope lie between.
    values: HashMap<String, TokenStream>,
    /// The constants of inner blocks in scope, which may have the name of another one; none outside of the body.
    inner: Option<HashSet<String>>,
    lookups: Lookups,
}

impl VisitMut for Walk {
    fn visit_block_mut(&mut self, block: &mut Block) {
        let (tables, values, inner) =
            (self.tables.clone(), self.values.clone(), self.inner.clone());
        let constants = block.stmts.iter().filter_map(|statement| match statement {
            Stmt::Item(Item::Const(item)) => Some(item),
            _ => None,
        });
        match &mut self.inner {
            None => {
                self.lookups.constants = constants.cloned().collect();
                self.inner = Some(HashSet::new());
            }
            Some(inner) => inner.extend(constants.map(|item| item.ident.to_string())),
        }
        for statement in &mut block.stmts {
            match statement {
                Stmt::Local(local) => {
                    let Some(init) = &mut local.init else { continue };
                    self.visit_expr_mut(&mut init.expr);
                    let value = self.value(&init.expr);
                    self.bind(&local.pat, value);
                }
                Stmt::Expr(expr, _) => self.visit_expr_mut(expr),
                Stmt::Item(_) | Stmt::Macro(_) => {}
            }
        }
        (self.tables, self.values, self.inner) = (tables, values, inner);
    }

    fn visit_expr_mut(&mut self, expr: &mut E) {
        match expr {
            // Whether the rest is reached depends.
            E::If(e) => self.visit_expr_mut(&mut e.cond),
            E::Match(e) => self.visit_expr_mut(&mut e.expr),
            E::Binary(e) if matches!(e.op, BinOp::And(_) | BinOp::Or(_)) => {
                self.visit_expr_mut(&mut e.left);
            }
            E::Loop(_) | E::While(_) | E::ForLoop(_) | E::Closure(_) | E::Let(_) => {}
            E::Index(e) => {
                self.visit_expr_mut(&mut e.index);
                let E::Path(path) = &*e.expr else { return self.visit_expr_mut(&mut e.expr) };
                let table = self.tables.iter().find(|table| path.path.is_ident(*table)).cloned();
                if let (Some(table), Some(index)) = (table, self.value(&e.index)) {
                    self.lookups.found.push(Lookup { table, index, at: e.index.span() });
                    e.attrs.push(proved());
                }
            }
            other => syn::visit_mut::visit_expr_mut(self, other),
        }
    }

    fn visit_macro_mut(&mut self, _: &mut Macro) {}
}

impl Walk {
    /// Notes what a variable is, if it is one that does not change.
    fn bind(&mut self, pat: &Pat, value: Option<TokenStream>) {
        for name in bound(pat) {
            self.values.remove(&name.to_string());
            self.tables.retain(|table| *table != name);
        }
        let (pat, value) = match pat {
            Pat::Type(Typed { pat, ty, .. }) => {
                (&**pat, value.and_then(|value| integer(ty).map(|_| quote!(#value.typed::<#ty>()))))
            }
            other => (other, value),
        };
        if let (Pat::Ident(name), Some(value)) = (pat, value)
            && name.mutability.is_none()
        {
            self.values.insert(name.ident.to_string(), value);
        }
    }

    /// What `expr` lies between, if its form says so.
    fn value(&self, expr: &E) -> Option<TokenStream> {
        Some(match expr {
            E::Paren(inner) => self.value(&inner.expr)?,
            E::Group(inner) => self.value(&inner.expr)?,
            E::Lit(lit) => literal(&lit.lit)?,
            E::Path(path) => {
                let name = path.path.get_ident().map(Ident::to_string);
                let inner = |name| self.inner.as_ref().is_some_and(|inner| inner.contains(name));
                if name.as_ref().is_some_and(inner) {
                    return None;
                }
                match name.and_then(|name| self.values.get(&name)) {
                    Some(value) => value.clone(),
                    None if is_constant(path) => {
                        let number = of(&quote!(#path));
                        quote!(#number.typed_as(&#path))
                    }
                    None => return None,
                }
            }
            E::Cast(cast) => self.converted(&cast.expr, integer(&cast.ty)?)?,
            E::Call(call) => {
                let E::Path(path) = &*call.func else { return None };
                let segments = &path.path.segments;
                let [ty, from] = [segments.first()?, segments.get(1)?];
                if from.ident != "from" || segments.len() != 2 || call.args.len() != 1 {
                    return None;
                }
                self.converted(&call.args[0], of_name(&ty.ident)?)?
            }
            E::Binary(binary) => self.binary(binary)?,
            E::MethodCall(call) => self.method(call)?,
            E::If(e) if !matches!(&*e.cond, E::Let(_)) => {
                let (_, otherwise) = e.else_branch.as_ref()?;
                let (then, otherwise) = (self.tail(&e.then_branch)?, self.value(otherwise)?);
                quote!(#then.or(#otherwise))
            }
            E::Match(e) => {
                let arms = e.arms.iter().map(|arm| match bound(&arm.pat).is_empty() {
                    true => self.value(&arm.body),
                    false => None,
                });
                let arms = arms.collect::<Option<Vec<_>>>()?;
                arms.into_iter().reduce(|one, other| quote!(#one.or(#other)))?
            }
            E::Block(block) => self.tail(&block.block)?,
            _ => return None,
        })
    }

    fn binary(&self, binary: &syn::ExprBinary) -> Option<TokenStream> {
        let method = match binary.op {
            BinOp::Add(_) => quote!(plus),
            BinOp::Sub(_) => quote!(minus),
            BinOp::Mul(_) => quote!(times),
            BinOp::Rem(_) => quote!(modulo),
            BinOp::BitAnd(_) => quote!(and),
            BinOp::BitOr(_) | BinOp::BitXor(_) => quote!(bits),
            BinOp::Shl(_) => quote!(left),
            BinOp::Shr(_) => quote!(right),
            _ => return None,
        };
        match (self.value(&binary.left), self.value(&binary.right)) {
            (Some(left), Some(right)) => Some(quote!(#left.#method(#right))),
            // One of them bounds both.
            (Some(one), None) | (None, Some(one)) if matches!(binary.op, BinOp::BitAnd(_)) => {
                Some(quote!(::warpweft::wavefront::Interval::ANY.and(#one)))
            }
            _ => None,
        }
    }

    /// Of a block that is one expression, which names no variable of its own.
    fn tail(&self, block: &Block) -> Option<TokenStream> {
        match &block.stmts[..] {
            [Stmt::Expr(tail, None)] => self.value(tail),
            _ => None,
        }
    }

    /// `expr` in the type of that name.
    fn converted(&self, expr: &E, ty: &'static str) -> Option<TokenStream> {
        let (value, name) = (self.value(expr)?, Ident::new(ty, Span::call_site()));
        Some(quote!(#value.converted::<::core::primitive::#name>()))
    }

    fn method(&self, call: &syn::ExprMethodCall) -> Option<TokenStream> {
        if call.method == "len" && call.args.is_empty() {
            let E::Path(path) = &*call.receiver else { return None };
            let table = self.tables.iter().find(|table| path.path.is_ident(*table))?;
            return Some(of_type(&quote!(self.#table.get().len()), &quote!(usize)));
        }
        if call.method == "clamp" && call.args.len() == 2 {
            let value = self.value(&call.receiver)?;
            let [least, most] = [self.value(&call.args[0])?, self.value(&call.args[1])?];
            return Some(quote!(#value.most_of(#least).least_of(#most)));
        }
        let method = match call.method.to_string().as_str() {
            "min" => quote!(least_of),
            "max" => quote!(most_of),
            "saturating_sub" => quote!(minus_at_most),
            _ => return None,
        };
        let other = call.args.first().filter(|_| call.args.len() == 1)?;
        let (value, other) = (self.value(&call.receiver)?, self.value(other)?);
        Some(quote!(#value.#method(#other)))
    }
}

/// That of one number.
fn of(number: &TokenStream) -> TokenStream {
    quote!(::warpweft::wavefront::Interval::of(#number as i128))
}

/// That of one number of type `ty`.
fn of_type(number: &TokenStream, ty: &TokenStream) -> TokenStream {
    let number = of(number);
    quote!(#number.typed::<#ty>())
}

fn literal(lit: &Lit) -> Option<TokenStream> {
    match lit {
        Lit::Int(literal) => {
            let number: u64 = literal.base10_parse().ok()?;
            let number = of(&quote!(#number));
            if literal.suffix().is_empty() {
                return Some(number);
            }
            let ty =
                Ident::new(of_name(&Ident::new(literal.suffix(), literal.span()))?, literal.span());
            Some(quote!(#number.typed::<::core::primitive::#ty>()))
        }
        Lit::Byte(byte) => {
            let number = byte.value();
            Some(of_type(&quote!(#number), &quote!(u8)))
        }
        _ => None,
    }
}

/// The names that a pattern binds.
fn bound(pat: &Pat) -> Vec<Ident> {
    let mut names = Names(vec![]);
    names.visit_pat(pat);
    names.0
}

struct Names(Vec<Ident>);

impl Visit<'_> for Names {
    fn visit_pat_ident(&mut self, pat: &syn::PatIdent) {
        self.0.push(pat.ident.clone());
        syn::visit::visit_pat_ident(self, pat);
    }
}

/// Whether a path is spelled as constants are.
fn is_constant(path: &syn::ExprPath) -> bool {
    let last = path.path.segments.last().map(|last| last.ident.to_string());
    last.is_some_and(|name| !name.chars().any(char::is_lowercase))
}

/// The name of an integer type, if `ty` is one.
fn integer(ty: &Type) -> Option<&'static str> {
    match ty {
        Type::Path(path) => of_name(path.path.get_ident()?),
        Type::Group(group) => integer(&group.elem),
        Type::Paren(paren) => integer(&paren.elem),
        _ => None,
    }
}

fn of_name(name: &Ident) -> Option<&'static str> {
    let known = ["u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize"];
    known.into_iter().find(|known| name == known)
}
