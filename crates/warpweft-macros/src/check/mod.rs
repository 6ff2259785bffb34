//! From Rust's syntax to the IR, and to the typed shadow next to it.
//!
//! Macros see tokens, not types. So every expression is lowered twice at once: to an [`ir::Expr`],
//! and to Rust tokens in which each place whose type the device text must name passes through a
//! `warpweft::element::Slot`. The generated code type-checks those tokens in a closure that is
//! never run; rustc thereby infers the slots' types, and holes print them.

pub mod attributes;
mod call;
mod control;
mod expr;
mod method;
mod most;
mod pattern;
mod place;
mod scope;
mod slices;
mod statement;
mod unmarked;

use std::collections::HashSet;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;

use self::unmarked::Source;
use crate::diag::reject;
use crate::ir::{Expr, Hole, Name};
use crate::parse::constant::{Constant, Integer, evaluate};
pub use call::matches_parts;
pub use place::proved;
pub use scope::{Binding, Scopes};
pub use slices::{device_type, words_of};

/// One expression in both forms.
pub struct Lowered {
    /// The shadow.
    pub rust: TokenStream,
    pub ir: Expr,
}

impl Lowered {
    pub fn new(rust: TokenStream, ir: Expr) -> Self {
        Self { rust, ir }
    }
}

/// What a pattern adds to the language: names that mean more than a local variable.
pub trait Inputs {
    /// The meaning of `expr` if it is one of the pattern's inputs, such as `u[[0, 1]]`.
    fn input(&mut self, expr: &syn::Expr, lower: &mut Lower) -> syn::Result<Option<Lowered>>;
    /// The operation that a method call is, if its receiver is something that the pattern provides.
    fn operation(&self, _: &syn::ExprMethodCall) -> Option<syn::Result<Operation>> {
        None
    }
    /// The error for a bare use of `name`, if it is reserved.
    fn bare(&self, name: &Ident) -> Option<syn::Error>;
    /// What a function that calls itself is told to do.
    fn again(&self) -> &'static str {
        AGAIN
    }
}

/// A method call as a call of a C++ function, whose first argument is what the pattern provides.
pub struct Operation {
    /// The function in C++.
    pub function: String,
    /// The first argument in C++: a place.
    pub receiver: String,
    /// The fault that it may raise, whose number is then its last argument.
    pub fault: Option<&'static str>,
}

/// What a function that calls itself is told to do where nothing else is known.
pub const AGAIN: &str =
    "write a loop, or a `#[spawning]` function, which calls itself by `spawn!(..)`";

/// For functions with no inputs but their parameters.
pub struct NoInputs;

impl Inputs for NoInputs {
    fn input(&mut self, _: &syn::Expr, _: &mut Lower) -> syn::Result<Option<Lowered>> {
        Ok(None)
    }
    fn bare(&self, _: &Ident) -> Option<syn::Error> {
        None
    }
}

struct LoopFrame {
    id: usize,
    label: Option<String>,
    /// Whether `break` may carry a value.
    valued: bool,
}

/// A span at the same place for names of ours: the function may have come out of a `macro_rules!`,
/// in which its tokens' own spans don't see them.
fn ours(span: Span) -> Span {
    span.resolved_at(Span::call_site())
}

/// Registers the fault `what` that `tokens` may raise; its number as C++ has it.
fn site_text(tokens: &impl Spanned, what: &str) -> TokenStream {
    let line = quote_spanned!(tokens.span()=> ::core::line!());
    quote!(::warpweft::element::site_text(__unit, ::core::file!(), #line, #what))
}

/// The state of one function's lowering.
pub struct Lower<'a> {
    pub scopes: Scopes,
    inputs: Option<&'a mut dyn Inputs>,
    /// Rust expressions of type `String`, in terms of `unit`.
    pub holes: Vec<TokenStream>,
    /// Names of the slots that the shadow uses.
    pub slots: Vec<Ident>,
    loops: Vec<LoopFrame>,
    counter: usize,
    /// The function's own name, to find recursion.
    function: String,
    /// Whether the function may call itself: on the cores it does, and the text for GPUs is an error that says so.
    pub recursive: bool,
    /// Type parameters in scope.
    generics: HashSet<String>,
    /// The text around.
    source: Source,
    /// Where asked for, variables and the holes that name their types.
    pub noted: Option<Vec<(Name, Hole)>>,
}

impl<'a> Lower<'a> {
    pub fn new(function: &Ident, generics: &syn::Generics, inputs: &'a mut dyn Inputs) -> Self {
        Self {
            scopes: Scopes::default(),
            inputs: Some(inputs),
            holes: vec![],
            slots: vec![],
            loops: vec![],
            counter: 0,
            function: function.to_string(),
            recursive: false,
            generics: generics.type_params().map(|p| p.ident.to_string()).collect(),
            source: Source::default(),
            noted: None,
        }
    }

    /// The error for a call of a plain function, which should have the attribute `mark`.
    pub fn marked(&mut self, path: &syn::ExprPath, mark: &str) -> syn::Result<()> {
        let Some(name) = path.path.get_ident() else { return Ok(()) };
        if !self.source.is_unmarked(&self.function, name) {
            return Ok(());
        }
        let what = match mark {
            "spawning" => format!("`{name}` is not a function that can be spawned"),
            _ => format!("`{name}` can't be called from device code"),
        };
        Err(reject(path, what, format_args!("put `#[{mark}]` on `{name}`")))
    }

    /// Asks the pattern about `expr`.
    fn input(&mut self, expr: &syn::Expr) -> syn::Result<Option<Lowered>> {
        if let syn::Expr::MethodCall(call) = expr
            && let Some(found) = self.inputs.as_ref().and_then(|inputs| inputs.operation(call))
        {
            return self.operation(call, found?).map(Some);
        }
        let Some(inputs) = self.inputs.take() else { return Ok(None) };
        let answer = inputs.input(expr, self);
        self.inputs = Some(inputs);
        answer
    }

    /// An operation of the pattern, with its arguments lowered as all others.
    fn operation(&mut self, call: &syn::ExprMethodCall, found: Operation) -> syn::Result<Lowered> {
        let (rust, values) = self.list(&call.args)?;
        let (receiver, method, span) = (&call.receiver, &call.method, call.span());
        let rust = quote_spanned!(span=> #receiver.#method(#(#rust),*));
        let Operation { function, receiver, fault } = found;
        let function = self.hole(quote!(#function.to_string()));
        let mut arguments = vec![Expr::Reference(Box::new(Expr::Local(receiver)))];
        arguments.extend(values);
        arguments.extend(fault.map(|what| Expr::Value(self.site(method, what))));
        Ok(Lowered::new(rust, Expr::Call { function, arguments, effects: true }))
    }

    /// A new slot for a type found at `span`.
    pub fn slot(&mut self, span: Span) -> Ident {
        let slot = format_ident!("__slot{}", self.slots.len(), span = Span::mixed_site());
        self.slots.push(slot.clone());
        let mut slot = slot;
        slot.set_span(Span::mixed_site().located_at(span));
        slot
    }

    pub fn hole(&mut self, text: TokenStream) -> Hole {
        self.holes.push(text);
        self.holes.len() - 1
    }

    /// A slot around `rust` and the hole that names its type.
    fn typed(&mut self, rust: TokenStream, span: Span) -> (TokenStream, Hole) {
        let slot = self.slot(span);
        let hole = self.type_hole(&slot, span);
        (quote_spanned!(span=> #slot.is(#rust)), hole)
    }

    /// The hole that names the type of `slot`.
    pub fn type_hole(&mut self, slot: &Ident, span: Span) -> Hole {
        self.hole(quote_spanned!(ours(span)=> ::warpweft::element::type_of(&#slot, __unit)))
    }

    /// A slot around `rust` and the hole with its value as a constant.
    fn constant(&mut self, rust: TokenStream, span: Span) -> Lowered {
        let slot = self.slot(span);
        let hole = self.hole(quote_spanned! {ours(span)=>
            ::warpweft::element::value_of(&#slot, __unit, #rust)
        });
        Lowered::new(quote_spanned!(span=> #slot.is(#rust)), Expr::Value(hole))
    }

    /// A hole with the number of a fault that `tokens` may raise.
    fn site(&mut self, tokens: &impl Spanned, what: &str) -> Hole {
        self.hole(site_text(tokens, what))
    }

    /// The same of an index into `array`, its shadow, and the shadow of the index: no fault where it
    /// is known to be inside.
    fn index_site(
        &mut self,
        index: &syn::Expr,
        array: &TokenStream,
        at: TokenStream,
    ) -> (Hole, TokenStream) {
        let Some(most) = self.most(index) else {
            return (self.site(index, "index out of bounds"), at);
        };
        let span = ours(index.span());
        let line = quote_spanned!(index.span()=> ::core::line!());
        let slot = self.slot(span);
        let hole = self.hole(quote_spanned! {span=>
            ::warpweft::element::index_site_text(
                __unit, #most < ::warpweft::element::length(&#slot), ::core::file!(), #line,
            )
        });
        // A method, because it sees through references as an index does.
        let at = quote_spanned! {span=> {
            use ::warpweft::element::Length as _;
            (#array).length_into(&#slot);
            #at
        }};
        (hole, at)
    }

    /// A unique name for the variable `ident`, and the scope's note of it.
    pub fn declare(&mut self, ident: &Ident, binding: impl FnOnce(String) -> Binding) -> String {
        let name = self.fresh(&ident.to_string());
        self.scopes.insert(ident.to_string(), binding(name.clone()));
        name
    }

    fn fresh(&mut self, stem: &str) -> String {
        self.counter += 1;
        format!("{}_{}", crate::emit::clean(stem), self.counter)
    }

    /// The value of `expr` if it is an integer constant known now, whatever its type.
    pub fn known(&self, expr: &syn::Expr) -> Option<i128> {
        self.known_constant(expr)?.certain().map(|constant| constant.value)
    }

    /// The same of the offset of a neighbour.
    pub fn known_offset(&self, expr: &syn::Expr) -> Option<i128> {
        self.known_constant(expr)?.typed(Some(Integer::OFFSET)).map(|constant| constant.value)
    }

    /// The same with its type, where that is known.
    fn known_constant(&self, expr: &syn::Expr) -> Option<Constant> {
        evaluate(expr, &|name| self.scopes.get(name)?.value)
    }
}
