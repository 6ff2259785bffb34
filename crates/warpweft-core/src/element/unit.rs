//! The CUDA translation unit that element functions write themselves into.

use std::collections::{HashMap, HashSet};

use crate::error::Error;

/// Stands before what is left of a line only where something can fault: a loop asks whether to go on.
/// The macros write it, who don't know what else comes into a unit.
const IF_FAULTS: char = '\u{3}';

/// A place in the user's Rust source that a device-side fault can name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Source file, as `file!()` gives it.
    pub file: &'static str,
    /// Line, from 1.
    pub line: u32,
    /// What went wrong there, e.g. "attempt to divide by zero".
    pub what: &'static str,
}

/// The definitions of one translation unit, each written once, in order of dependence.
#[derive(Clone, Debug, Default)]
pub struct Unit {
    definitions: Vec<String>,
    names: HashMap<String, String>,
    taken: HashSet<String>,
    sites: Vec<Site>,
    /// Bodies of functions that may call one another in circles; they come last.
    bodies: Vec<String>,
    promised: HashSet<String>,
    /// Names in the order of their numbers.
    numbered: Vec<String>,
    /// Keys of the definitions being built, outermost first.
    open: Vec<String>,
}

impl Unit {
    /// An empty unit.
    pub fn new() -> Self {
        Self::default()
    }

    /// The C++ name of the entity identified by `key`, defining it by `build` on first use.
    ///
    /// `key` must differ between entities (crate path plus type arguments); `name` is what one
    /// would like it to be called. It gets `_ww` at its end, which keeps it apart from the keywords,
    /// macros and functions of CUDA C++ and from members (`x_`) and locals (`x_1`) of translated
    /// code, and a number before that when another entity has it already.
    /// Functions that call themselves, or one another in a circle, leave an `#error` that says so.
    pub fn define(
        &mut self,
        key: &str,
        name: &str,
        build: impl FnOnce(&mut Unit, &str) -> String,
    ) -> String {
        let (name, new) = self.named(key, name);
        if new {
            let text = build(self, &name);
            self.open.pop();
            self.definitions.push(text);
        }
        name
    }

    /// Writes what `build` gives behind all definitions, once for each `key`: it may name anything, also what
    /// is promised already.
    pub fn promise(&mut self, key: &str, build: impl FnOnce(&mut Unit) -> String) {
        if self.promised.insert(key.into()) {
            let text = build(self);
            self.bodies.push(text);
        }
    }

    /// The number of what is called `name`, from 0 in the order of asking.
    pub fn number(&mut self, name: &str) -> usize {
        let known = self.numbered.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            self.numbered.push(name.into());
            self.numbered.len() - 1
        })
    }

    /// What was given a number, in that order.
    pub fn numbered(&self) -> &[String] {
        &self.numbered
    }

    /// The name of the entity, and whether it is new: its definition is open then.
    fn named(&mut self, key: &str, name: &str) -> (String, bool) {
        if let Some(known) = self.names.get(key) {
            if self.open.iter().any(|open| open == key) {
                // The compiler of device code says it, with the name.
                let circle = format!(
                    "#error {known} calls itself, which code for GPUs can not: run it on the cores, or write a loop\n"
                );
                self.definitions.push(circle);
            }
            return (known.clone(), false);
        }
        let clean: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let clean = clean.trim_end_matches('_');
        let mut name = format!("{clean}_ww");
        let mut number = 1;
        while !self.taken.insert(name.clone()) {
            number += 1;
            name = format!("{clean}{number}_ww");
        }
        self.names.insert(key.into(), name.clone());
        self.open.push(key.into());
        (name, true)
    }

    /// Registers a place that may fault; the number goes into `ww::fail(number)`, from 1.
    pub fn site(&mut self, site: Site) -> u32 {
        let found = self.sites.iter().position(|known| *known == site).unwrap_or_else(|| {
            self.sites.push(site);
            self.sites.len() - 1
        });
        found as u32 + 1
    }

    /// The place behind a fault word read back from the device, if it is one of this unit's.
    pub fn site_of(&self, fault: u32) -> Option<&Site> {
        self.sites.get((fault as usize).checked_sub(1)?)
    }

    /// Whether anything in it can fault: then there is a fault word `ww_fault` on the device.
    pub fn faults(&self) -> bool {
        !self.sites.is_empty()
    }

    /// Whether anything in it goes on until a condition is met, which on a state of chance it may never be.
    pub fn loops(&self) -> bool {
        self.definitions.iter().chain(&self.bodies).any(|text| text.contains(IF_FAULTS))
    }

    /// The error for a fault word that is not 0, read back from `device`.
    pub fn fault(&self, word: u32, device: &str) -> Error {
        match self.site_of(word) {
            Some(site) => Error::Element {
                place: format!("{}:{}", site.file, site.line),
                what: site.what.into(),
            },
            None => Error::Element {
                place: device.into(),
                what: format!("fault {word}, which is no place of its own"),
            },
        }
    }

    /// The device prelude followed by every definition, and what was promised.
    pub fn source(&self) -> String {
        let mut text = String::from(include_str!("prelude.cuh"));
        for definition in self.definitions.iter().chain(&self.bodies) {
            for line in definition.split_inclusive('\n') {
                match line.split_once(IF_FAULTS) {
                    None => text.push_str(line),
                    Some(_) if self.sites.is_empty() => {}
                    Some((indent, rest)) => text.extend([indent, rest]),
                }
            }
            text.push('\n');
        }
        text
    }
}
