//! What stands between two syncs of a function: which statements, and which spawns are among them.

use proc_macro2::{Ident, Span};
use quote::{format_ident, quote};
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Block, Expr, Stmt, parse_quote};

use super::spawns::{Spawn, Target, spawn, sync};
use crate::diag::reject;
use crate::ir::How;

/// The most spawns of a region.
pub const MOST: usize = 256;

/// A region, from the first statement that spawns up to the sync, or to the end of the function.
pub struct Region {
    pub begin: usize,
    pub end: usize,
    /// Its spawns, in the order of the text.
    pub sites: Vec<Site>,
    /// Whether the first spawn is a statement of the outermost block, and none is in a loop.
    pub asks_once: bool,
}

/// One `spawn!`.
#[derive(Clone)]
pub struct Site {
    /// Which of its region's it is.
    pub number: u8,
    pub in_loop: bool,
    /// The statement of the outermost block in which it stands.
    pub statement: usize,
    /// Where its value goes.
    pub target: Option<(Ident, How)>,
    /// Where its call stands.
    pub span: Span,
}

impl Site {
    /// The name of its variable.
    pub fn name(&self) -> Ident {
        format_ident!("__site{}", self.number, span = Span::mixed_site())
    }

    /// Its variable; the type of its calls is inferred where they are made.
    pub fn declaration(&self) -> Stmt {
        let Self { number, in_loop, .. } = self;
        let name = self.name();
        let ty = quote!(::warpweft::channels::cpu::Site::<_, #number, #in_loop>);
        parse_quote!(let #name = <#ty as ::core::default::Default>::default();)
    }
}

impl Region {
    /// The first region of `statements` that spawns.
    pub fn first(statements: &[Stmt]) -> Option<Self> {
        let mut begin = 0;
        loop {
            let end =
                statements[begin..].iter().position(sync).map_or(statements.len(), |k| begin + k);
            let sites = Self::sites(statements, begin, end);
            if let Some(first) = sites.first() {
                let outermost = matches!(spawn(&statements[first.statement]), Ok(Some(_)));
                let asks_once = outermost && sites.iter().all(|site| !site.in_loop);
                return Some(Self { begin: first.statement, end, asks_once, sites });
            }
            begin = end + 1;
            if begin >= statements.len() {
                return None;
            }
        }
    }

    fn sites(statements: &[Stmt], begin: usize, end: usize) -> Vec<Site> {
        let mut found = Found { sites: vec![], loops: 0, statement: 0 };
        for (k, statement) in statements.iter().enumerate().take(end).skip(begin) {
            found.statement = k;
            found.visit_stmt(statement);
        }
        found.sites
    }
}

/// Refuses a body with more spawns than can be told apart.
pub fn at_most(most: usize, body: &Block) -> syn::Result<()> {
    match Region::sites(&body.stmts, 0, body.stmts.len()).len() > most {
        true => Err(reject(body, format!("more than {most} `spawn!`s"), "cut the function in two")),
        false => Ok(()),
    }
}

/// Looks for spawns.
struct Found {
    sites: Vec<Site>,
    /// Loops around.
    loops: usize,
    statement: usize,
}

impl Found {
    fn body(&mut self, body: &Block) {
        self.loops += 1;
        self.visit_block(body);
        self.loops -= 1;
    }
}

impl<'ast> Visit<'ast> for Found {
    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        let Ok(Some(Spawn { target, call })) = spawn(statement) else {
            return syn::visit::visit_stmt(self, statement);
        };
        let target = match target {
            Target::New(ident, _) => Some((ident, How::Store)),
            Target::Known(ident, how) => Some((ident, how)),
            Target::Nothing => None,
        };
        let number = self.sites.len() as u8;
        self.sites.push(Site {
            number,
            in_loop: self.loops > 0,
            statement: self.statement,
            target,
            span: Span::call_site().located_at(call.span()),
        });
    }

    fn visit_expr(&mut self, expr: &'ast Expr) {
        match expr {
            Expr::While(e) => self.body(&e.body),
            Expr::ForLoop(e) => self.body(&e.body),
            Expr::Loop(e) => self.body(&e.body),
            other => syn::visit::visit_expr(self, other),
        }
    }
}
