//! Blocks and the statements in them.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Expr as E, Item, Pat, Stmt};

use super::{Binding, Lower};
use crate::diag::{collect, reject};
use crate::ir::{Block, Expr, Pattern, Statement};
use crate::parse::constant::Integer;
use crate::parse::unroll::mentions;

impl Lower<'_> {
    /// A block and its shadow, without braces. `wanted`: whether the tail's value is used.
    pub fn block(
        &mut self,
        statements: &[Stmt],
        wanted: bool,
    ) -> syn::Result<(TokenStream, Block)> {
        self.scopes.enter();
        let result = self.statements(statements, wanted);
        self.scopes.leave();
        result
    }

    /// The same in the scope around.
    pub fn statements(
        &mut self,
        statements: &[Stmt],
        wanted: bool,
    ) -> syn::Result<(TokenStream, Block)> {
        let mut errors = None;
        let mut rust = TokenStream::new();
        let mut block = Block::default();
        // Constants are visible in the whole block: they come first, each after those it uses.
        let mut consts: Vec<_> = statements.iter().filter_map(a_const).collect();
        while !consts.is_empty() {
            let ready = consts.iter().position(|item| {
                !consts.iter().any(|other| {
                    mentions(item.expr.to_token_stream(), &|name| *name == other.ident)
                })
            });
            match self.const_item(consts.remove(ready.unwrap_or(0)), &mut block) {
                Ok(tokens) => rust.extend(tokens),
                Err(error) => collect(&mut errors, error),
            }
        }
        for (i, statement) in statements.iter().enumerate() {
            let last = i + 1 == statements.len();
            match self.statement(statement, last, wanted, &mut block) {
                Ok(tokens) => rust.extend(tokens),
                Err(error) => collect(&mut errors, error),
            }
        }
        match errors {
            Some(error) => Err(error),
            None => Ok((rust, block)),
        }
    }

    fn statement(
        &mut self,
        statement: &Stmt,
        last: bool,
        wanted: bool,
        block: &mut Block,
    ) -> syn::Result<TokenStream> {
        match statement {
            Stmt::Local(local) => self.local(local, block),
            Stmt::Item(Item::Const(_)) => Ok(TokenStream::new()),
            Stmt::Item(item) => Err(reject(
                item,
                "only `const` items may stand inside a device function",
                "move the item out of the function",
            )),
            Stmt::Expr(expr, None) if last && wanted => {
                let value = self.expr(expr)?;
                block.tail = Some(Box::new(value.ir));
                Ok(value.rust)
            }
            Stmt::Expr(expr, semicolon) => {
                let value = self.effect(expr)?;
                block.statements.push(Statement::Expr(value.ir));
                let rust = value.rust;
                Ok(quote_spanned!(expr.span()=> #rust #semicolon))
            }
            Stmt::Macro(call) => {
                let whole = E::Macro(syn::ExprMacro { attrs: vec![], mac: call.mac.clone() });
                let value = self.expr(&whole)?;
                let rust = value.rust;
                if last && wanted && call.semi_token.is_none() {
                    block.tail = Some(Box::new(value.ir));
                    return Ok(rust);
                }
                block.statements.push(Statement::Expr(value.ir));
                Ok(quote!(#rust;))
            }
        }
    }

    /// An expression for its effect alone.
    pub fn effect(&mut self, expr: &E) -> syn::Result<super::Lowered> {
        match expr {
            E::If(_) | E::Match(_) | E::Block(_) | E::Loop(_) => self.control(expr, false),
            other => self.expr(other),
        }
    }

    fn local(&mut self, local: &syn::Local, block: &mut Block) -> syn::Result<TokenStream> {
        let Some(init) = &local.init else {
            // The name is known all the same: one error is enough.
            self.pattern(&local.pat)?;
            return Err(reject(
                local,
                "device code has no `let` without a value",
                "give it a value: `let x = if condition { a } else { b };`",
            ));
        };
        if let Some((_, otherwise)) = &init.diverge {
            return Err(reject(
                otherwise,
                "device code has no `let` with `else`",
                "use `if` or `match`",
            ));
        }
        if let Some(tokens) = self.slice_local(local, &init.expr, block)? {
            return Ok(tokens);
        }
        if let E::Reference(reference) = &*init.expr {
            return Err(reject(
                reference,
                "device code keeps no references in variables",
                "copy the value, or pass `&mut x` to a `#[device]` function",
            ));
        }
        let value = self.expr(&init.expr)?;
        let ty = match &local.pat {
            Pat::Type(typed) => Integer::of(&typed.ty),
            _ => None,
        };
        let known = self.known_constant(&init.expr).and_then(|known| known.typed(ty));
        // In a type with a sign it may come out negative.
        let most = self.most(&init.expr).filter(|_| !matches!(local.pat, Pat::Type(_)));
        // Names come into scope after the value: `let x = x + 1` reads the old one.
        let pattern = self.pattern(&local.pat)?;
        if !pattern.irrefutable() {
            return Err(reject(&local.pat, "this pattern may not match", "use `match`"));
        }
        if let Pattern::Bind { name, mutable: false, inner: None } = &pattern
            && (known.is_some() || most.is_some())
            && let Some(ident) = bound(&local.pat)
        {
            let binding = Binding { value: known, most, ..Binding::variable(name.clone()) };
            self.scopes.insert(ident.to_string(), binding);
        }
        block.statements.push(Statement::Let(pattern, value.ir));
        let (pat, rust) = (&local.pat, value.rust);
        let mut idents = Bound(vec![]);
        idents.visit_pat(pat);
        let noted = self.note(&idents.0);
        Ok(quote_spanned!(local.span()=> let #pat = #rust; #noted))
    }

    /// `let` of a slice or of both halves of one, if it is that.
    fn slice_local(
        &mut self,
        local: &syn::Local,
        init: &E,
        block: &mut Block,
    ) -> syn::Result<Option<TokenStream>> {
        let (value, ty) = match self.halves(init)? {
            Some(halves) => halves,
            None => match self.slice(init)? {
                Some(slice) => (slice.lowered, slice.ty),
                None => return Ok(None),
            },
        };
        let pattern = self.pattern(&local.pat)?;
        let mut idents = Bound(vec![]);
        idents.visit_pat(&local.pat);
        for ident in &idents.0 {
            let known = self.scopes.get(&ident.to_string()).cloned();
            let Some(binding) = known else { continue };
            self.noted.iter_mut().for_each(|noted| noted.push((binding.name.clone(), ty)));
            self.scopes.insert(ident.to_string(), Binding { slice: Some(ty), ..binding });
        }
        block.statements.push(Statement::Let(pattern, value.ir));
        let (pat, rust) = (&local.pat, value.rust);
        Ok(Some(quote_spanned!(local.span()=> let #pat = #rust;)))
    }

    /// Notes the types of the variables `idents`, where that is asked for.
    fn note(&mut self, idents: &[proc_macro2::Ident]) -> TokenStream {
        let mut tokens = TokenStream::new();
        if self.noted.is_none() {
            return tokens;
        }
        for ident in idents {
            let Some(binding) = self.scopes.get(&ident.to_string()) else { continue };
            let name = binding.name.clone();
            let slot = self.slot(ident.span());
            tokens.extend(quote!(#slot.like(&#ident);));
            let ty = self.type_hole(&slot, ident.span());
            self.noted.iter_mut().for_each(|noted| noted.push((name.clone(), ty)));
        }
        tokens
    }

    /// A constant inside the body becomes a local of the same type.
    fn const_item(&mut self, item: &syn::ItemConst, block: &mut Block) -> syn::Result<TokenStream> {
        let value = self.expr(&item.expr)?;
        let known =
            self.known_constant(&item.expr).and_then(|known| known.typed(Integer::of(&item.ty)));
        let name = self.declare(&item.ident, |name| Binding {
            value: known,
            constant: true,
            ..Binding::variable(name)
        });
        let pattern = Pattern::Bind { name, mutable: false, inner: None };
        block.statements.push(Statement::Let(pattern, value.ir));
        let ident = &item.ident;
        let noted = self.note(std::slice::from_ref(ident));
        let (ty, rust, item) = (&item.ty, value.rust, item.to_token_stream());
        Ok(quote!(#item let _: #ty = #rust; #noted))
    }

    /// The whole body of a function; `wanted` is false when it returns nothing.
    pub fn body(&mut self, body: &syn::Block, wanted: bool) -> syn::Result<(TokenStream, Block)> {
        let (rust, mut block) = self.block(&body.stmts, wanted)?;
        if !wanted {
            block.statements.push(Statement::Expr(Expr::Return(None)));
        }
        Ok((rust, block))
    }
}

/// The names that a pattern binds.
struct Bound(Vec<proc_macro2::Ident>);

impl<'ast> Visit<'ast> for Bound {
    fn visit_pat_ident(&mut self, pat: &'ast syn::PatIdent) {
        self.0.push(pat.ident.clone());
        syn::visit::visit_pat_ident(self, pat);
    }
}

fn a_const(statement: &Stmt) -> Option<&syn::ItemConst> {
    match statement {
        Stmt::Item(Item::Const(item)) => Some(item),
        _ => None,
    }
}

/// The name that a simple pattern binds.
fn bound(pat: &Pat) -> Option<&proc_macro2::Ident> {
    match pat {
        Pat::Ident(ident) => Some(&ident.ident),
        Pat::Type(typed) => bound(&typed.pat),
        _ => None,
    }
}
