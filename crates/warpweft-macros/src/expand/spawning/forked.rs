//! The copy for the cores: what is spawned goes to the worker's jobs, what is spawned last is called.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;
use syn::{Block, Stmt, parse_quote, parse_quote_spanned};

use super::spawns::{Spawn, Target, spawn, sync};
use crate::ir::How;

/// The name of the frame in the copy.
pub fn frame() -> Ident {
    Ident::new("__frame", Span::mixed_site())
}

/// `body` with its spawns and syncs through the frame.
pub fn forked(body: &Block) -> Block {
    let mut body = body.clone();
    Forked.visit_block_mut(&mut body);
    body
}

struct Forked;

impl VisitMut for Forked {
    fn visit_block_mut(&mut self, block: &mut Block) {
        let frame = frame();
        let statements = std::mem::take(&mut block.stmts);
        for (i, statement) in statements.iter().enumerate() {
            // Walked before: there is no error.
            if let Ok(Some(spawn)) = spawn(statement) {
                match statements.get(i + 1).is_some_and(sync) {
                    true => block.stmts.extend(called(spawn)),
                    false => block.stmts.extend(pushed(spawn)),
                }
            } else if sync(statement) {
                block.stmts.push(parse_quote!(#frame.sync();));
            } else {
                let mut statement = statement.clone();
                self.visit_stmt_mut(&mut statement);
                block.stmts.push(statement);
            }
        }
    }
}

/// The type that says how a value arrives.
fn how_type(how: How) -> TokenStream {
    match how {
        How::Store | How::Nothing => quote!(::warpweft::channels::Store),
        How::Add => quote!(::warpweft::channels::Add),
        How::Or => quote!(::warpweft::channels::Or),
        How::Xor => quote!(::warpweft::channels::Xor),
    }
}

fn made(call: &syn::ExprCall) -> TokenStream {
    let (function, arguments) = (&call.func, &call.args);
    quote!(#function::call(#arguments))
}

fn pushed(Spawn { call, target }: Spawn) -> Vec<Stmt> {
    let (frame, call) = (frame(), made(&call));
    let spawned = |name: &Ident, how| -> Stmt {
        let how = how_type(how);
        // Where the value is of a type that can't be combined, that is told here.
        let span = Span::call_site().located_at(call.span());
        parse_quote_spanned! {span=>
            // SAFETY: nothing mentions the variable before the next `sync`, and it is in scope there, or
            // the frame goes without one.
            unsafe { #frame.spawn::<_, #how>(&raw mut #name, #call) };
        }
    };
    match target {
        Target::New(name, ty) => {
            let ty = ty.map(|ty| quote!(: #ty));
            vec![
                parse_quote!(let mut #name #ty = ::core::default::Default::default();),
                spawned(&name, How::Store),
            ]
        }
        Target::Known(name, how) => vec![spawned(&name, how)],
        Target::Nothing => vec![parse_quote!(#frame.spawn_only(#call);)],
    }
}

/// The last call before a sync: nothing is left to do beside it.
fn called(Spawn { call, target }: Spawn) -> Vec<Stmt> {
    let (frame, call) = (frame(), made(&call));
    vec![match target {
        Target::New(name, ty) => {
            let ty = ty.map(|ty| quote!(: #ty));
            parse_quote!(let mut #name #ty = #frame.call(#call);)
        }
        Target::Known(name, how) => {
            let how = how_type(how);
            let span = Span::call_site().located_at(call.span());
            parse_quote_spanned! {span=>
                #name = <#how as ::warpweft::channels::Combine<_>>::combine(#name, #frame.call(#call));
            }
        }
        Target::Nothing => parse_quote!(#frame.call(#call);),
    }]
}
