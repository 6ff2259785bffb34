//! Attributes inside a function: only those that change nothing.

use syn::visit::Visit;

use crate::diag::{collect, reject};

/// Refuses attributes that could make rustc compile other code than was translated.
pub struct Attributes(Option<syn::Error>);

/// Checks what `visit` visits.
pub fn check(visit: impl FnOnce(&mut Attributes)) -> syn::Result<()> {
    let mut found = Attributes(None);
    visit(&mut found);
    found.0.map_or(Ok(()), Err)
}

impl<'ast> Visit<'ast> for Attributes {
    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if ["allow", "expect", "doc"].iter().any(|name| attribute.path().is_ident(name)) {
            return;
        }
        let error = reject(
            attribute,
            "this attribute may not stand inside an element function",
            "only `allow`, `expect` and doc comments may; choose with `if` on a constant, or write \
             two functions with the attribute on each",
        );
        collect(&mut self.0, error);
    }
}
