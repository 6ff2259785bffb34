//! Where reading a body plainly and running its calls side by side would differ: refused here.
//!
//! A variable whose call may still run is not mentioned before the next `sync!()`. Branches unite what may
//! still run, bodies of loops are walked twice.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit::Visit;
use syn::{Block, Expr, Pat, Stmt};

use super::spawns::{Spawn, Target, invoked, spawn, sync};
use crate::diag::reject;
use crate::ir::How;

/// What is known of a body.
#[derive(Default)]
pub struct Walk {
    /// Variables whose calls may still run, with how their values arrive.
    waiting: Vec<(Ident, How)>,
    /// Whether calls of nobody's interest may.
    others: bool,
    /// The names that each block around declares, but for the outermost.
    inner: Vec<Vec<Ident>>,
    /// Whether the function may return while calls run.
    pub returns_early: bool,
}

impl Walk {
    /// Walks the whole body of a function.
    pub fn of(body: &Block) -> syn::Result<Self> {
        let mut walk = Self::default();
        walk.statements(&body.stmts)?;
        walk.returns_early |= walk.is_waiting();
        Ok(walk)
    }

    fn is_waiting(&self) -> bool {
        self.others || !self.waiting.is_empty()
    }

    fn statements(&mut self, statements: &[Stmt]) -> syn::Result<()> {
        for statement in statements {
            if let Some(spawn) = spawn(statement)? {
                self.spawn(spawn)?;
            } else if sync(statement) {
                if !self.inner.is_empty() {
                    return Err(reject(
                        statement,
                        "`sync!()` stands in the outermost block of its function",
                        "return early from the branches that have nothing to wait for, and sync after them",
                    ));
                }
                self.waiting.clear();
                self.others = false;
            } else {
                match statement {
                    Stmt::Expr(expr, _) => self.expr(expr)?,
                    Stmt::Local(local) => {
                        self.plain(&local.init.as_ref().map(|init| &init.expr))?;
                        self.hidden(&local.pat)?;
                        if let Some(inner) = self.inner.last_mut() {
                            inner.extend(names(|names| names.visit_pat(&local.pat)));
                        }
                    }
                    other => self.plain(other)?,
                }
            }
        }
        Ok(())
    }

    fn expr(&mut self, expr: &Expr) -> syn::Result<()> {
        match expr {
            // They become a `match`, in which nothing is spawned.
            Expr::If(e) if tests_a_pattern(&e.cond) => self.by_pattern(expr, "an `if let`"),
            Expr::While(e) if tests_a_pattern(&e.cond) => self.by_pattern(expr, "a `while let`"),
            Expr::Match(_) => self.by_pattern(expr, "a `match`"),
            Expr::If(e) => {
                self.plain(&e.cond)?;
                let before = (self.waiting.clone(), self.others);
                self.block(&e.then_branch, names(|names| names.visit_expr(&e.cond)))?;
                let then = (std::mem::replace(&mut self.waiting, before.0), self.others);
                self.others = before.1;
                if let Some((_, otherwise)) = &e.else_branch {
                    self.expr(otherwise)?;
                }
                self.unite(then);
                Ok(())
            }
            Expr::Block(e) if e.label.is_none() => self.block(&e.block, vec![]),
            Expr::While(e) => self.twice(&e.cond, None, &e.body),
            Expr::ForLoop(e) => self.twice(&e.expr, Some(&e.pat), &e.body),
            Expr::Loop(e) => self.twice(&TokenStream::new(), None, &e.body),
            other => self.plain(other),
        }
    }

    /// An expression that takes values apart.
    fn by_pattern(&mut self, expr: &Expr, what: &str) -> syn::Result<()> {
        if let Some(found) = invoked(expr.to_token_stream(), "spawn") {
            let what = format!("`spawn!` inside of {what}");
            let instead = "let a `match` give what the pattern binds, `let x = match .. { .. };`, and spawn in a plain `if`";
            return Err(reject(&found, what, instead));
        }
        self.plain(expr)
    }

    /// A block in which `names` are declared beforehand.
    fn block(&mut self, block: &Block, names: Vec<Ident>) -> syn::Result<()> {
        self.inner.push(names);
        let walked = self.statements(&block.stmts);
        self.inner.pop();
        walked
    }

    /// A loop: its body sees what the iteration before left outstanding.
    fn twice(
        &mut self,
        head: &impl ToTokens,
        variable: Option<&Pat>,
        body: &Block,
    ) -> syn::Result<()> {
        self.plain(head)?;
        for _ in 0..2 {
            let before = (self.waiting.clone(), self.others);
            if let Some(variable) = variable {
                self.hidden(variable)?;
            }
            let declared = variable.map(|pat| names(|names| names.visit_pat(pat)));
            self.block(body, declared.unwrap_or_default())?;
            self.unite(before);
            self.plain(head)?;
        }
        Ok(())
    }

    fn unite(&mut self, (waiting, others): (Vec<(Ident, How)>, bool)) {
        for (name, how) in waiting {
            if !self.waiting.iter().any(|(known, _)| *known == name) {
                self.waiting.push((name, how));
            }
        }
        self.others |= others;
    }

    fn spawn(&mut self, Spawn { call, target }: Spawn) -> syn::Result<()> {
        self.plain(&call)?;
        match target {
            Target::Nothing => self.others = true,
            Target::New(name, _) => {
                if !self.inner.is_empty() {
                    return Err(gone(&name));
                }
                self.hidden(&name)?;
                self.waiting.push((name, How::Store));
            }
            Target::Known(name, _) if self.inner.iter().flatten().any(|inner| *inner == name) => {
                return Err(gone(&name));
            }
            Target::Known(name, how) => {
                let before = self.waiting.iter().find(|(known, _)| *known == name);
                match before {
                    None => self.waiting.push((name, how)),
                    Some((_, before)) if *before == how && how != How::Store => {}
                    Some(_) => {
                        let what = format!("`{name}` waits for another call already");
                        let instead = "give this call a variable of its own, or `sync!()` first";
                        return Err(reject(&name, what, instead));
                    }
                }
            }
        }
        Ok(())
    }

    /// What is neither a spawn nor a block of statements.
    fn plain(&mut self, code: &impl ToTokens) -> syn::Result<()> {
        let tokens = code.to_token_stream();
        for name in ["spawn", "sync"] {
            if let Some(found) = invoked(tokens.clone(), name) {
                let instead = match name {
                    "spawn" => {
                        "bind it: `let x = spawn!(..);`, or `x += spawn!(..);`, as a statement of the function, an `if` or a loop"
                    }
                    _ => "write `sync!();` as a statement of the function",
                };
                return Err(reject(&found, format!("`{name}!` is a statement"), instead));
            }
        }
        if let Some(name) = self.mentioned(tokens.clone()) {
            let what = format!("`{name}` may be used before `sync!()`: its call may still run");
            return Err(reject(&name, what, "write `sync!();` first"));
        }
        if self.is_waiting() && returns(tokens) {
            self.returns_early = true;
        }
        Ok(())
    }

    /// A pattern hides no variable that waits: which is meant would be hard to tell.
    fn hidden(&self, pattern: &impl ToTokens) -> syn::Result<()> {
        match self.mentioned(pattern.to_token_stream()) {
            None => Ok(()),
            Some(name) => {
                let what = format!("another `{name}` hides one whose call may still run");
                Err(reject(&name, what, "give it another name, or `sync!()` first"))
            }
        }
    }

    /// The first variable in `tokens` that waits.
    fn mentioned(&self, tokens: TokenStream) -> Option<Ident> {
        let mut member = false;
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Group(group) => {
                    if let Some(found) = self.mentioned(group.stream()) {
                        return Some(found);
                    }
                    member = false;
                }
                TokenTree::Ident(ident) => {
                    // `x: value` of a struct names a member, `x::y` a path.
                    let colon = matches!(tokens.peek(), Some(TokenTree::Punct(next)) if next.as_char() == ':');
                    if !member && !colon && self.waiting.iter().any(|(name, _)| *name == ident) {
                        return Some(ident);
                    }
                    member = false;
                }
                // Two points are a range.
                TokenTree::Punct(punct) => member = punct.as_char() == '.' && !member,
                TokenTree::Literal(literal) => {
                    let text = literal.to_string();
                    let found = self.waiting.iter().find(|(name, _)| formats(&text, name));
                    if let Some((name, _)) = found {
                        return Some(Ident::new(&name.to_string(), literal.span()));
                    }
                    member = false;
                }
            }
        }
        None
    }
}

/// Whether the text of a literal is a string that formats the variable `name`, as `"{name}"` does in `println!`.
fn formats(text: &str, name: &Ident) -> bool {
    let opened = format!("{{{name}");
    let is_string = text.starts_with(['"', 'r']);
    is_string
        && text.match_indices(&opened).any(|(at, _)| {
            let doubled = text[..at].chars().rev().take_while(|&c| c == '{').count() % 2 == 1;
            !doubled && text[at + opened.len()..].starts_with(['}', ':'])
        })
}

/// Whether a condition binds what a pattern matches.
fn tests_a_pattern(condition: &Expr) -> bool {
    crate::parse::unroll::mentions(condition.to_token_stream(), &|name| name == "let")
}

/// The error of a variable that a block declares.
fn gone(name: &Ident) -> syn::Error {
    let instead = format!(
        "declare it outside of the block, `let mut {name} = 0;`, and spawn into it: `{name} = spawn!(..)`"
    );
    reject(name, format!("`{name}` is gone before any `sync!()`"), instead)
}

/// The names that patterns bind.
struct Names(Vec<Ident>);

impl<'ast> Visit<'ast> for Names {
    fn visit_pat_ident(&mut self, pat: &'ast syn::PatIdent) {
        self.0.push(pat.ident.clone());
        syn::visit::visit_pat_ident(self, pat);
    }
}

fn names(visit: impl FnOnce(&mut Names)) -> Vec<Ident> {
    let mut names = Names(vec![]);
    visit(&mut names);
    names.0
}

fn returns(tokens: TokenStream) -> bool {
    crate::parse::unroll::mentions(tokens, &|name| name == "return")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_in_format_strings_count_as_used() {
        let body = |text: &str| syn::parse_str::<Block>(text).unwrap();
        let early =
            [r#"println!("{a}")"#, r#"assert!(n > 0, "at {a:?}")"#, r#"f(format!("{{{a}"))"#];
        for early in early {
            let text = format!("{{ let a = spawn!(f(n - 1)); {early}; sync!(); a }}");
            let error = Walk::of(&body(&text)).err().expect(early).to_string();
            assert!(error.contains("`a` may be used before `sync!()`"), "{error}");
        }
        let late = [r#"println!("a {{a}} {ab} {b}")"#, r#"println!("{}", n)"#];
        for late in late {
            let text = format!("{{ let a = spawn!(f(n - 1)); {late}; sync!(); a }}");
            assert!(Walk::of(&body(&text)).is_ok(), "{late}");
        }
    }
}
