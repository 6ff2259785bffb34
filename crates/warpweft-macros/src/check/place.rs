//! Places: what can be read and assigned.

use quote::quote_spanned;
use syn::spanned::Spanned;
use syn::{Attribute, Expr as E, parse_quote};

use super::expr::{binary_op, member};
use super::{Lower, Lowered};
use crate::diag::reject;
use crate::ir::{BinOp, Expr, Input};

/// The mark of an index into a slice that is known to be inside when a run begins.
pub fn proved() -> Attribute {
    parse_quote!(#[__proved])
}

impl Lower<'_> {
    /// `a.b`, `a.0` and `a[i]`.
    pub fn place(&mut self, expr: &E) -> syn::Result<Lowered> {
        let span = expr.span();
        match expr {
            E::Field(field) => {
                let of = self.referent(&field.base)?;
                let (rust, name) = (of.rust, &field.member);
                let ir = Expr::Field(Box::new(of.ir), member(name));
                Ok(Lowered::new(quote_spanned!(span=> #rust.#name), ir))
            }
            E::Index(index) if self.slice_variable(&index.expr).is_some() => self.item(index),
            E::Index(index) => {
                let array = self.referent(&index.expr)?;
                let at = self.expr(&index.index)?;
                let (a, i) = (array.rust, at.rust);
                let (site, i) = self.index_site(&index.index, &a, i);
                let ir = Expr::Index { array: Box::new(array.ir), index: Box::new(at.ir), site };
                Ok(Lowered::new(quote_spanned!(span=> #a[#i]), ir))
            }
            other => self.expr(other),
        }
    }

    /// `slice[i]`.
    fn item(&mut self, index: &syn::ExprIndex) -> syn::Result<Lowered> {
        let (slice, span) = (&index.expr, index.span());
        let (name, _) = self.slice_variable(slice).unwrap_or_default();
        let at = self.expr(&index.index)?;
        let i = at.rust;
        let rust = quote_spanned!(span=> #slice[#i]);
        if index.attrs.contains(&proved()) {
            let arguments = vec![Expr::Local(name), at.ir];
            let ir = Expr::Method { name: "item".into(), arguments, sites: vec![] };
            return Ok(Lowered::new(rust, ir));
        }
        let site = self.site(&index.index, "index out of bounds");
        let array = Box::new(Expr::Local(name));
        let ir = Expr::Index { array, index: Box::new(at.ir), site };
        Ok(Lowered::new(rust, ir))
    }

    /// Whether `expr` is a `&mut` parameter.
    pub fn by_mut_ref(&self, expr: &E) -> bool {
        match expr {
            E::Paren(inner) => self.by_mut_ref(&inner.expr),
            E::Group(inner) => self.by_mut_ref(&inner.expr),
            E::Path(path) => path
                .path
                .get_ident()
                .and_then(|name| self.scopes.get(&name.to_string()))
                .is_some_and(|binding| binding.by_mut_ref),
            _ => false,
        }
    }

    /// `expr` where a `&mut` parameter stands for what it refers to.
    pub fn referent(&mut self, expr: &E) -> syn::Result<Lowered> {
        match expr {
            E::Paren(inner) if self.by_mut_ref(expr) => self.referent(&inner.expr),
            E::Group(inner) if self.by_mut_ref(expr) => self.referent(&inner.expr),
            E::Path(path) if self.by_mut_ref(expr) => {
                let name =
                    path.path.get_ident().and_then(|name| self.scopes.get(&name.to_string()));
                let name = name.map(|binding| binding.name.clone()).unwrap_or_default();
                Ok(Lowered::new(quote_spanned!(expr.span()=> #path), Expr::Local(name)))
            }
            _ => self.expr(expr),
        }
    }

    /// The left side of an assignment.
    fn target(&mut self, expr: &E) -> syn::Result<Lowered> {
        let place = self.expr(expr)?;
        if assignable(&place.ir) {
            return Ok(place);
        }
        Err(match expr {
            E::Tuple(_) | E::Array(_) | E::Struct(_) => reject(
                expr,
                "device code has no destructuring assignment",
                "assign one variable after another, or use `let`",
            ),
            _ => reject(
                expr,
                "this can't be assigned",
                "assign a local variable, a member or an element of one",
            ),
        })
    }

    pub fn assign(&mut self, assign: &syn::ExprAssign) -> syn::Result<Lowered> {
        let span = assign.span();
        if let E::Infer(_) = &*assign.left {
            return Err(reject(&assign.left, "`_ =` assigns nothing", "use `let _ =`"));
        }
        let value = self.expr(&assign.right)?;
        let place = self.target(&assign.left)?;
        let (p, v) = (place.rust, value.rust);
        let ir = Expr::Assign { place: Box::new(place.ir), value: Box::new(value.ir) };
        Ok(Lowered::new(quote_spanned!(span=> #p = #v), ir))
    }

    pub fn assign_op(&mut self, binary: &syn::ExprBinary) -> syn::Result<Lowered> {
        let span = binary.span();
        let value = self.expr(&binary.right)?;
        let place = self.target(&binary.left)?;
        let (p, v, token) = (place.rust, value.rust, &binary.op);
        let Some((op, _)) = binary_op(token) else {
            return Err(reject(token, "device code has no such operator", "use another"));
        };
        let sites = self.sites_of(op, token, &binary.right);
        let ir = Expr::AssignOp { op, place: Box::new(place.ir), value: Box::new(value.ir), sites };
        let v = match op {
            BinOp::Shl | BinOp::Shr => quote_spanned!(span=> ::warpweft::element::scalar(#v)),
            _ => v,
        };
        let rust = quote_spanned! {span=> {
            ::warpweft::element::scalar(#p);
            #p #token #v
        }};
        Ok(Lowered::new(rust, ir))
    }
}

fn assignable(expr: &Expr) -> bool {
    match expr {
        Expr::Local(_) | Expr::Input(Input::Next { .. }) => true,
        Expr::Field(of, _) | Expr::Index { array: of, .. } => assignable(of),
        _ => false,
    }
}
