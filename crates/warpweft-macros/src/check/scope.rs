//! What names mean at a point of a body.

use std::collections::HashMap;

use crate::ir::Hole;
use crate::parse::constant::Constant;

/// How a name was bound.
#[derive(Clone, Debug)]
pub struct Binding {
    /// Its unique name in the IR.
    pub name: String,
    /// Its value, for an immutable integer known while translating.
    pub value: Option<Constant>,
    /// The greatest value that an immutable integer can have, if that is known; it is then not negative.
    pub most: Option<usize>,
    /// A `&mut` parameter: passing it on may change what it refers to.
    pub by_mut_ref: bool,
    /// A `const` item of the body.
    pub constant: bool,
    /// Of a slice, which is read by indices and has a length that only the run knows: names its type in C++.
    pub slice: Option<Hole>,
}

impl Binding {
    /// A variable of unknown value.
    pub fn variable(name: String) -> Self {
        Self { name, value: None, most: None, by_mut_ref: false, constant: false, slice: None }
    }
}

/// Nested scopes, innermost last.
#[derive(Debug)]
pub struct Scopes(Vec<HashMap<String, Binding>>);

impl Default for Scopes {
    fn default() -> Self {
        Self(vec![HashMap::new()])
    }
}

impl Scopes {
    pub fn enter(&mut self) {
        self.0.push(HashMap::new());
    }

    pub fn leave(&mut self) {
        self.0.pop();
    }

    pub fn insert(&mut self, name: String, binding: Binding) {
        if let Some(scope) = self.0.last_mut() {
            scope.insert(name, binding);
        }
    }

    pub fn get(&self, name: &str) -> Option<&Binding> {
        self.0.iter().rev().find_map(|scope| scope.get(name))
    }
}
