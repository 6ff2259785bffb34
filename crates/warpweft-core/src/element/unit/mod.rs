//! The CUDA translation unit to which element functions add their definitions.

mod recursion;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

use self::recursion::{Calls, Levels, TOO_DEEP};
use crate::error::Error;

/// Marks the rest of a line as needed only if something can fault: a loop then checks whether to continue.
/// Macros write it because they don't know what else is in the unit.
const IF_FAULTS: char = '\u{3}';

/// A place in the user's Rust source that a device-side fault can name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Source file, as `file!()` gives it, or the name of a function if there is no line.
    pub file: Cow<'static, str>,
    /// Line number, from 1; 0: none.
    pub line: u32,
    /// What went wrong there, e.g. "attempt to divide by zero".
    pub what: &'static str,
}

impl Site {
    /// File and line, or the function.
    pub fn place(&self) -> String {
        match self.line {
            0 => format!("`{}`", self.file),
            line => format!("{}:{line}", self.file),
        }
    }
}

/// The definitions of one translation unit, each written once, in the order of their dependences.
#[derive(Clone, Debug, Default)]
pub struct Unit {
    definitions: Vec<String>,
    names: HashMap<String, String>,
    taken: HashSet<String>,
    sites: Vec<Site>,
    /// Bodies of functions that may call one another in cycles; they come last.
    bodies: Vec<String>,
    promised: HashSet<String>,
    /// Names in the order of their numbers.
    numbered: Vec<String>,
    /// What is known of functions beyond their text.
    notes: BTreeSet<String>,
    /// Keys of the definitions being built, outermost first.
    open: Vec<String>,
    /// Which definition uses which, by name.
    calls: Calls,
    /// The fault of functions that call themselves too deep, where there are any.
    too_deep: Option<u32>,
}

impl Unit {
    /// An empty unit.
    pub fn new() -> Self {
        Self::default()
    }

    /// The C++ name of the entity identified by `key`. On first use `build` writes its definition.
    ///
    /// `key` must differ between entities (crate path plus type arguments); `name` is the preferred name. The
    /// suffix `_ww` keeps it apart from keywords, macros and functions of CUDA C++, and from members (`x_`)
    /// and locals (`x_1`) of translated code. If the name is taken, a number precedes the suffix. Functions
    /// that call themselves, directly or in a cycle, end with a fault if they do so too deep.
    pub fn define(
        &mut self,
        key: &str,
        name: &str,
        build: impl FnOnce(&mut Unit, &str) -> String,
    ) -> String {
        let (name, new) = self.named(key, name);
        if new {
            let text = build(self, &name);
            self.close(text);
        }
        name
    }

    /// Ends the definition that was opened last.
    fn close(&mut self, text: String) {
        self.open.pop();
        self.definitions.push(text);
    }

    /// Writes the text of `build` after all definitions, once for each `key`. It may use any name, also of
    /// other promised texts.
    pub fn promise(&mut self, key: &str, build: impl FnOnce(&mut Unit) -> String) {
        if self.promised.insert(key.into()) {
            let text = build(self);
            self.bodies.push(text);
        }
    }

    /// The number of `name`: names are numbered from 0 in the order of first calls.
    pub fn number(&mut self, name: &str) -> usize {
        let known = self.numbered.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            self.numbered.push(name.into());
            self.numbered.len() - 1
        })
    }

    /// The names that have numbers, in that order.
    pub fn numbered(&self) -> &[String] {
        &self.numbered
    }

    /// Notes something about one of the functions, for the pattern that puts a kernel around them.
    pub fn note(&mut self, what: &str) {
        self.notes.insert(what.into());
    }

    /// All that was noted, each once.
    pub fn notes(&self) -> impl Iterator<Item = &str> {
        self.notes.iter().map(String::as_str)
    }

    /// The name of the entity, and whether it is new. If so, its definition is now open.
    fn named(&mut self, key: &str, name: &str) -> (String, bool) {
        if let Some(known) = self.names.get(key).cloned() {
            self.used(&known);
            if self.too_deep.is_none() && self.open.iter().any(|open| open == key) {
                let file = known.trim_end_matches("_ww").to_owned().into();
                self.too_deep = Some(self.site(Site { file, line: 0, what: TOO_DEEP }));
            }
            return (known, false);
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
        self.used(&name);
        self.names.insert(key.into(), name.clone());
        self.open.push(key.into());
        (name, true)
    }

    /// What is being built uses `name`.
    fn used(&mut self, name: &str) {
        if let Some(caller) = self.open.last().and_then(|open| self.names.get(open)) {
            self.calls.add(caller, name);
        }
    }

    /// Registers a place that may fault. Its number, from 1, is the argument of `ww::fail(number)`.
    pub fn site(&mut self, site: Site) -> u32 {
        let found = self.sites.iter().position(|known| *known == site).unwrap_or_else(|| {
            self.sites.push(site);
            self.sites.len() - 1
        });
        found as u32 + 1
    }

    /// The place of a fault word that was read back from the device, if it is one of this unit's.
    pub fn site_of(&self, fault: u32) -> Option<&Site> {
        self.sites.get((fault as usize).checked_sub(1)?)
    }

    /// All places that may fault, in the order of their numbers.
    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// Whether anything in the unit can fault. If so, the device has a fault word `ww_fault`.
    pub fn faults(&self) -> bool {
        !self.sites.is_empty()
    }

    /// Whether anything in the unit loops until a condition is met. On random input such a loop may never
    /// end.
    pub fn loops(&self) -> bool {
        self.definitions.iter().chain(&self.bodies).any(|text| text.contains(IF_FAULTS))
    }

    /// The error for a non-zero fault word that was read back from `device`.
    pub fn fault(&self, word: u32, device: &str) -> Error {
        match self.site_of(word) {
            Some(site) => Error::Element { place: site.place(), what: site.what.into() },
            None => Error::Element {
                place: device.into(),
                what: format!("fault {word}, which is no place of its own"),
            },
        }
    }

    /// The device prelude, every definition, then every promised text.
    pub fn source(&self) -> String {
        let mut text = String::from(include_str!("../prelude.cuh"));
        for definition in self.texts() {
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

    /// Every definition, then every promised text, with levels where functions call themselves.
    fn texts(&self) -> Vec<Cow<'_, str>> {
        let Some(site) = self.too_deep else {
            return self.definitions.iter().chain(&self.bodies).map(Cow::from).collect();
        };
        let (mut levels, heads) = Levels::new(&self.calls, site, &self.definitions);
        let definitions = self.definitions.iter();
        let mut texts: Vec<Cow<'_, str>> =
            definitions.map(|text| levels.definition(text, &heads).into()).collect();
        let bodies = self.bodies.iter();
        texts.extend(bodies.map(|text| levels.with_levels(text, "ww::first_level()").into()));
        texts
    }
}
