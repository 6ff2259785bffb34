//! Buffers to which a kernel only adds: additions may then be put together, since nobody sees the words before the run ends.

use proc_macro2::Ident;
use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::{Block, Expr, ExprMethodCall, ExprPath, Macro, Stmt};

use super::shape::Shape;

/// The buffers of which the body has nothing but statements `name.add(i, x);`, and `name.len()`.
pub fn only_added(body: &Block, shape: &Shape) -> Vec<Ident> {
    let all = shape.buffers().map(|parameter| &parameter.named.ident);
    let only = |name: &&Ident| {
        let mut uses = Uses { name, all: 0, added: 0 };
        uses.visit_block(body);
        uses.all == uses.added
    };
    all.filter(only).cloned().collect()
}

/// How often a name is used, and how often in these ways.
struct Uses<'n> {
    name: &'n Ident,
    all: usize,
    added: usize,
}

impl Uses<'_> {
    fn is_of(&self, call: &ExprMethodCall) -> bool {
        matches!(&*call.receiver, Expr::Path(path) if path.path.is_ident(self.name))
    }
}

impl<'ast> Visit<'ast> for Uses<'_> {
    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        if let Stmt::Expr(Expr::MethodCall(call), Some(_)) = statement
            && call.method == "add"
            && self.is_of(call)
        {
            self.added += 1;
        }
        visit::visit_stmt(self, statement);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        self.added += usize::from(call.method == "len" && self.is_of(call));
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_path(&mut self, path: &'ast ExprPath) {
        self.all += usize::from(path.path.is_ident(self.name));
    }

    fn visit_macro(&mut self, called: &'ast Macro) {
        // What a macro does with it isn't known.
        let name = self.name.to_string();
        let named = |tokens: String| {
            tokens.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
        };
        self.all += usize::from(named(called.tokens.to_token_stream().to_string()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::{ItemFn, parse_quote};

    fn added(function: ItemFn) -> Vec<String> {
        let shape = Shape::of(&function.sig).unwrap();
        only_added(&function.block, &shape).iter().map(Ident::to_string).collect()
    }

    #[test]
    fn additions_whose_value_nobody_takes_count() {
        let found = added(parse_quote! {
            fn k(n: u32, a: &Shared<u64>, b: &Shared<u64>, c: &Shared<u64>, d: &Shared<u64>, e: &Shared<u64>) {
                if n > 3 {
                    a.add(0, 1);
                } else {
                    a.add(n as usize % a.len(), d.load(0));
                }
                let before = b.add(0, 1);
                c.add(0, 1);
                c.add(0, c.load(1));
                assert!(e.load(0) == 1);
                e.add(0, 1);
            }
        });
        assert_eq!(found, ["a"]);
    }
}
