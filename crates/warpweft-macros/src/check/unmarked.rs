//! Functions that are called but carry no attribute, as far as the source file tells.
//!
//! The translation of `f` is a type of the name `f`, and where there is none rustc speaks of a missing module. So the file
//! around is read: is there a plain function `f` in a scope around the caller, the caller is told what to put on it. Other
//! files, and what macros write, stay with rustc.

use std::fs::read_to_string;

use crate::parse::unroll::mentions;
use proc_macro2::Ident;
use quote::ToTokens;
use syn::{Attribute, File, ImplItem, Item, ItemFn, Stmt, UseTree};

/// The file that the call of the attribute stands in, once it has been asked for.
#[derive(Default)]
pub struct Source(Option<Option<File>>);

impl Source {
    /// Whether a call of `called` in the function `caller` means a function without an attribute of ours.
    pub fn is_unmarked(&mut self, caller: &str, called: &Ident) -> bool {
        let file = self.0.get_or_insert_with(|| {
            if !proc_macro::is_available() {
                return None;
            }
            let path = called.span().unwrap().local_file()?;
            syn::parse_file(&read_to_string(path).ok()?).ok()
        });
        let called = called.to_string();
        let wanted = Wanted { caller, called: &called };
        file.as_ref().and_then(|file| wanted.in_items(&file.items.iter().collect::<Vec<_>>()))
            == Some(Answer::Unmarked)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Answer {
    /// The caller is here, and the name means a plain function.
    Unmarked,
    /// The caller is here, and the name may mean anything.
    Unknown,
    /// The caller is here, and what the name means is said further out.
    FurtherOut,
}

/// Who calls whom.
struct Wanted<'a> {
    caller: &'a str,
    called: &'a str,
}

impl Wanted<'_> {
    /// The answer, if the caller is among these items of one scope or inside of one.
    fn in_items(&self, items: &[&Item]) -> Option<Answer> {
        let found = items.iter().find_map(|item| self.in_item(item))?;
        Some(match found {
            Answer::FurtherOut => self.named_by(items),
            known => known,
        })
    }

    fn in_item(&self, item: &Item) -> Option<Answer> {
        match item {
            Item::Fn(function) if self.is_caller(function) => Some(Answer::FurtherOut),
            Item::Fn(function) => self.in_block(&function.block),
            // Names of the scopes around a module are not seen in it.
            Item::Mod(module) => {
                let (_, items) = module.content.as_ref()?;
                let found = self.in_items(&items.iter().collect::<Vec<_>>())?;
                Some(if found == Answer::FurtherOut { Answer::Unknown } else { found })
            }
            Item::Impl(block) => block.items.iter().find_map(|item| match item {
                ImplItem::Fn(function) => self.in_block(&function.block),
                _ => None,
            }),
            _ => None,
        }
    }

    /// Whether it is the function that calls, of its name and with the other's in its body.
    fn is_caller(&self, function: &ItemFn) -> bool {
        let called = |name: &Ident| name == self.called;
        function.sig.ident == self.caller && mentions(function.block.to_token_stream(), &called)
    }

    fn in_block(&self, block: &syn::Block) -> Option<Answer> {
        let items = block.stmts.iter().filter_map(|statement| match statement {
            Stmt::Item(item) => Some(item),
            _ => None,
        });
        self.in_items(&items.collect::<Vec<_>>())
    }

    /// What the items of a scope say of the name.
    fn named_by(&self, items: &[&Item]) -> Answer {
        let mut answer = Answer::FurtherOut;
        for item in items {
            match item {
                Item::Fn(function) if function.sig.ident == self.called => {
                    if is_marked(function) {
                        return Answer::Unknown;
                    }
                    answer = Answer::Unmarked;
                }
                Item::Use(used) if names(&used.tree, self.called) => return Answer::Unknown,
                Item::Struct(item) if item.ident == self.called => return Answer::Unknown,
                _ => {}
            }
        }
        answer
    }
}

/// Whether an attribute stands on the function that may be one of ours.
fn is_marked(function: &ItemFn) -> bool {
    const OTHERS: [&str; 8] =
        ["doc", "allow", "expect", "warn", "inline", "must_use", "cold", "deprecated"];
    let ours = |attribute: &Attribute| !OTHERS.iter().any(|name| attribute.path().is_ident(name));
    function.attrs.iter().any(ours)
}

/// Whether a `use` brings `name`.
fn names(tree: &UseTree, name: &str) -> bool {
    match tree {
        UseTree::Path(path) => names(&path.tree, name),
        UseTree::Name(used) => used.ident == name,
        UseTree::Rename(used) => used.rename == name,
        UseTree::Glob(_) => false,
        UseTree::Group(group) => group.items.iter().any(|tree| names(tree, name)),
    }
}
