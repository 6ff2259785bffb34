//! The copy for the cores: a spawn is a call unless the worker shares; then it is pushed, and settled at the next sync.
//!
//! What stands between two syncs is a region. If its first spawn is a statement of the outermost block and none is in a
//! loop, the worker is asked once, before that spawn, and the rest of the function is emitted twice: in a closure that may
//! push, and as plain calls. Otherwise each spawn asks. A function that may borrow has no closure.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Block, Stmt, parse_quote};

use super::region::{Region, Site};
use super::spawns::{Spawn, Target, spawn, sync};
use crate::ir::How;

/// Regions whose rest is emitted twice.
const TWICE: u32 = 3;

/// The name of the worker in the copy.
pub fn worker() -> Ident {
    Ident::new("__worker", Span::mixed_site())
}

/// The name of the call's level in the copy.
pub fn level() -> Ident {
    Ident::new("__level", Span::mixed_site())
}

fn frame() -> Ident {
    Ident::new("__frame", Span::mixed_site())
}

/// Where the copy of a function's rest that may push stands.
#[derive(Clone, Copy)]
pub enum Rest<'o> {
    /// In a closure out of line, which returns a value of this type: what stays is as small as the plain recursion.
    Apart(&'o TokenStream),
    /// In the function itself: a closure could not have both a variable and what borrows from it.
    Inside,
}

/// `body` of a function, for the cores.
pub fn forked(body: &Block, output: Rest<'_>) -> TokenStream {
    // Items are seen by both copies.
    let (items, rest): (Vec<_>, Vec<_>) =
        body.stmts.iter().cloned().partition(|statement| matches!(statement, Stmt::Item(_)));
    let rest = regions(&rest, TWICE, output);
    quote!(#(#items)* #(#rest)*)
}

/// The statements of a function's end; so many regions may be emitted twice.
fn regions(statements: &[Stmt], twice: u32, output: Rest<'_>) -> Vec<Stmt> {
    let Some(region) = Region::first(statements) else { return statements.to_vec() };
    let (before, rest) = statements.split_at(region.begin);
    let (inside, after) = rest.split_at(region.end - region.begin);
    let syncs = after.first().is_some_and(sync);
    let after = &after[usize::from(syncs)..];
    let mut made = before.to_vec();
    if twice > 0 && region.asks_once {
        let (worker, level) = (worker(), level());
        let shared = asking(&region, inside, syncs);
        let shared_after = regions(after, 0, output);
        let name = name();
        let rest = match output {
            Rest::Apart(output) => quote! {
                ::warpweft::channels::cpu::cold(move || -> #output {
                    #(#shared)*
                    #(#shared_after)*
                })
            },
            Rest::Inside => quote! {
                {
                    #(#shared)*
                    #(#shared_after)*
                }
            },
        };
        made.push(parse_quote! {
            if #worker.shares(#level, #name) {
                return #rest;
            }
        });
        let calls =
            inside.iter().filter(|statement| matches!(spawn(statement), Ok(Some(_)))).count()
                as u64;
        made.push(parse_quote!(#worker.count(#calls);));
        made.extend(Form::Plain { counted: true }.statements(inside));
        made.extend(regions(after, twice - 1, output));
    } else {
        made.extend(asking(&region, inside, syncs));
        made.extend(regions(after, twice, output));
    }
    made
}

/// A region whose spawns ask, each by itself.
fn asking(region: &Region, inside: &[Stmt], syncs: bool) -> Vec<Stmt> {
    let (worker, frame) = (worker(), frame());
    // Nothing is left to do next to a spawn right before the sync: it is a call.
    let called = syncs && matches!(inside.last().map(spawn), Some(Ok(Some(_))));
    let sites = &region.sites[..region.sites.len() - usize::from(called)];
    let mut made: Vec<Stmt> = sites.iter().map(Site::declaration).collect();
    if !sites.is_empty() {
        made.push(parse_quote!(let #frame = ::warpweft::channels::cpu::Frame::new(#worker);));
    }
    made.extend(Form::Asking { sites, next: 0 }.statements(inside));
    if syncs && !sites.is_empty() {
        made.push(settle(sites));
        made.push(parse_quote!(::core::mem::drop(#frame);));
        let names = sites.iter().map(Site::name);
        made.extend(names.map(|name| -> Stmt { parse_quote!(::core::mem::drop(#name);) }));
    }
    made
}

/// Runs what is left of `sites`, or waits for it, with values to their targets.
fn settle(sites: &[Site]) -> Stmt {
    let (frame, level) = (frame(), level());
    let arms = sites.iter().enumerate().map(|(k, site)| {
        let name = site.name();
        // The last stands for all others, of which there are none.
        let pattern = match k + 1 == sites.len() {
            true => quote!(_),
            false => {
                let number = site.number;
                quote!(#number)
            }
        };
        // SAFETY: the numbers of a function's sites differ; all are pushed at the level of the call.
        let value = quote!(unsafe { #name.settle(&#frame, #level) });
        let settled = match &site.target {
            None => quote!(#value;),
            Some((target, how)) => assigned(target, *how, value, site.span),
        };
        quote!(#pattern => { #settled })
    });
    parse_quote! {
        while let ::core::option::Option::Some(__number) = #frame.newest() {
            match __number { #(#arms)* }
        }
    }
}

/// `value` into `target`. Where it is of a type that can't be combined, that is told at `span`.
fn assigned(target: &Ident, how: How, value: TokenStream, span: Span) -> TokenStream {
    let how = match how {
        How::Store | How::Nothing => return quote!(#target = #value;),
        How::Add => quote!(::warpweft::channels::Add),
        How::Or => quote!(::warpweft::channels::Or),
        How::Xor => quote!(::warpweft::channels::Xor),
    };
    quote_spanned!(span=> #target = <#how as ::warpweft::channels::Combine<_>>::combine(#target, #value);)
}

/// The name of the function, for errors.
fn name() -> TokenStream {
    quote!(<Self as ::warpweft::channels::Call>::NAME)
}

fn made(call: &syn::ExprCall) -> TokenStream {
    let (function, arguments) = (&call.func, &call.args);
    quote!(#function::call(#arguments))
}

/// How the spawns of a region are written.
enum Form<'s> {
    /// As calls, which were counted before in the outermost block.
    Plain { counted: bool },
    /// As calls, unless the worker shares; those after the last site are calls.
    Asking { sites: &'s [Site], next: usize },
}

impl Form<'_> {
    /// The statements of the region.
    fn statements(&mut self, statements: &[Stmt]) -> Vec<Stmt> {
        let mut made = vec![];
        for statement in statements {
            // Walked before: there is no error.
            if let Ok(Some(spawn)) = spawn(statement) {
                made.extend(self.spawned(spawn));
            } else {
                made.push(self.inner(statement));
            }
        }
        made
    }

    fn spawned(&mut self, Spawn { call, target }: Spawn) -> Vec<Stmt> {
        let (worker, level, frame, name) = (worker(), level(), frame(), name());
        let span = Span::call_site().located_at(call.span());
        let (call, mut before) = (made(&call), vec![]);
        let target = match target {
            Target::New(ident, ty) => {
                let ty = ty.map(|ty| quote!(: #ty));
                before
                    .push(parse_quote!(let mut #ident #ty = ::core::default::Default::default();));
                Some((ident, How::Store))
            }
            Target::Known(ident, how) => Some((ident, how)),
            Target::Nothing => None,
        };
        let put = |value: TokenStream| match &target {
            None => quote!(#value;),
            Some((ident, how)) => assigned(ident, *how, value, span),
        };
        let called = put(quote!(#worker.call(__call, #level)));
        // Declarations are seen by what follows, the rest is not.
        let mut whole = |rest: TokenStream| -> Vec<Stmt> {
            before.push(parse_quote!({ let __call = #call; #rest }));
            std::mem::take(&mut before)
        };
        let (sites, next) = match self {
            Self::Plain { counted: true } => return whole(called),
            Self::Plain { counted: false } => return whole(quote!(#worker.count(1); #called)),
            Self::Asking { sites, next } => (*sites, next),
        };
        *next += 1;
        let Some(site) = sites.get(*next - 1) else {
            // The worker looks at depth and stack all the same.
            return whole(quote!(#worker.count(1); #worker.shares(#level, #name); #called));
        };
        let pushed = site.name();
        let full = site.in_loop.then(|| {
            let visible: Vec<_> =
                sites.iter().filter(|other| other.statement <= site.statement).cloned().collect();
            let settle = settle(&visible);
            quote!(if #frame.is_full() { #settle })
        });
        whole(quote! {
            #worker.count(1);
            if #worker.shares(#level, #name) {
                // SAFETY: the worker has just said so; the frame was made after the site and is dropped before it.
                unsafe { #pushed.push(&#frame, __call, #level) };
                #full
            } else {
                #called
            }
        })
    }

    /// A statement that is no spawn, but may have some in blocks.
    fn inner(&mut self, statement: &Stmt) -> Stmt {
        let mut statement = statement.clone();
        syn::visit_mut::VisitMut::visit_stmt_mut(self, &mut statement);
        statement
    }
}

impl syn::visit_mut::VisitMut for Form<'_> {
    fn visit_block_mut(&mut self, block: &mut Block) {
        // Only the outermost block was counted.
        let outermost = match self {
            Self::Plain { counted } => std::mem::replace(counted, false),
            Self::Asking { .. } => false,
        };
        block.stmts = self.statements(&block.stmts);
        if let Self::Plain { counted } = self {
            *counted = outermost;
        }
    }
}
