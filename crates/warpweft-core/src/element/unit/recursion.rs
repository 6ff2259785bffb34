//! Functions that call themselves, directly or through others, as C++ for a GPU: they get their level as a further argument, and
//! end with a fault where the stack of a lane has no room for the next.
//!
//! Works on the text of definitions, in which the name of a function stands for nothing else (`Unit::define`). Not here: what
//! a level is (`prelude.cuh`), and how much stack a lane gets (`cuda/module.rs`).

use std::collections::{BTreeMap, BTreeSet};

/// What begins the definition of a function.
const FUNCTION: &str = "WW_FN ";
/// What a fault of such a function says.
pub(super) const TOO_DEEP: &str = "calls itself deeper than the stack of a GPU's lane allows (256 levels, or 28 KiB): \
     use fewer levels, spawn the calls, or run on the cores";

/// Which function calls which, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls(BTreeMap<String, BTreeSet<String>>);

impl Calls {
    /// `caller` calls `callee`.
    pub fn add(&mut self, caller: &str, callee: &str) {
        self.0.entry(caller.into()).or_default().insert(callee.into());
    }

    /// The functions that call themselves, directly or through others, and those between two of them: all whose frames may be
    /// on a stack more than once or below such a frame.
    fn recursive(&self) -> BTreeSet<&str> {
        let all = || self.0.keys().map(String::as_str);
        let circles: BTreeSet<&str> =
            all().filter(|name| self.reached(name).contains(name)).collect();
        let below: BTreeSet<&str> = circles.iter().flat_map(|name| self.reached(name)).collect();
        let above = |name: &&str| self.reached(name).intersection(&circles).next().is_some();
        all().filter(|name| below.contains(name)).filter(above).collect()
    }

    /// All that `name` calls, directly or through others.
    fn reached<'a>(&'a self, name: &str) -> BTreeSet<&'a str> {
        let callees = |of: &str| self.0.get(of).into_iter().flatten().map(String::as_str);
        let (mut seen, mut next) = (BTreeSet::new(), callees(name).collect::<Vec<_>>());
        while let Some(callee) = next.pop() {
            if seen.insert(callee) {
                next.extend(callees(callee));
            }
        }
        seen
    }
}

/// Writes definitions with the levels of functions that call themselves.
pub(super) struct Levels<'c> {
    calls: &'c Calls,
    recursive: BTreeSet<&'c str>,
    declared: BTreeSet<&'c str>,
    /// The fault of a function that is too deep.
    site: u32,
}

impl<'c> Levels<'c> {
    /// For functions of which some call themselves; `texts`: all definitions.
    pub fn new(
        calls: &'c Calls,
        site: u32,
        texts: &'c [String],
    ) -> (Self, BTreeMap<&'c str, &'c str>) {
        let recursive = calls.recursive();
        let heads = texts.iter().filter_map(|text| {
            let name = *recursive.iter().find(|name| head(text, name).is_some())?;
            Some((name, head(text, name)?))
        });
        let heads = heads.collect();
        (Self { calls, recursive, declared: BTreeSet::new(), site }, heads)
    }

    /// A definition, after declarations of what it calls before that is defined.
    pub fn definition(&mut self, text: &'c str, heads: &BTreeMap<&'c str, &'c str>) -> String {
        let own = self.recursive.iter().copied().find(|name| head(text, name).is_some());
        let Some(own) = own else { return self.with_levels(text, "ww::first_level()") };
        let mut all = String::new();
        self.declared.insert(own);
        for callee in self.calls.0.get(own).into_iter().flatten() {
            if let Some(&head) = heads.get(callee.as_str())
                && let Some(&callee) = self.recursive.get(callee.as_str())
                && self.declared.insert(callee)
            {
                all.push_str(&format!("{};\n", with_level(head)));
            }
        }
        let (Some(head), site) = (heads.get(own), self.site) else { return text.into() };
        let returns = head[FUNCTION.len()..].split(&format!(" {own}(")).next().unwrap_or_default();
        let nothing = if returns == "void" { String::new() } else { format!(" {returns}{{}}") };
        let body = self.with_levels(&text[head.len()..], "ww_level.next()");
        let body = body.trim_start().trim_start_matches('{');
        all.push_str(&format!(
            "{} {{\n  if (ww_level.too_deep()) {{ ww::fail({site}u); return{nothing}; }}\n  if (ww_level.checks_faults() && WW_FAULTED) return{nothing};{body}",
            with_level(head)
        ));
        all
    }

    /// `text` with `level` as the last argument of all calls of functions that call themselves.
    pub fn with_levels(&self, text: &str, level: &str) -> String {
        let mut made = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, name, after)) = self.next_call(rest) {
            made.push_str(before);
            made.push_str(name);
            let end = closing(after);
            let arguments = self.with_levels(&after[1..end], level);
            let comma = if arguments.trim().is_empty() { "" } else { ", " };
            made.push_str(&format!("({arguments}{comma}{level})"));
            rest = &after[(end + 1).min(after.len())..];
        }
        made.push_str(rest);
        made
    }

    /// The first call in `text` of such a function: what is before, the name, and what follows from the bracket on.
    fn next_call<'t>(&self, text: &'t str) -> Option<(&'t str, &'t str, &'t str)> {
        let calls = self.recursive.iter().filter_map(|name| {
            let at = text.match_indices(&format!("{name}(")).map(|(at, _)| at).find(|&at| {
                !text[..at]
                    .ends_with(|before: char| before == '_' || before.is_ascii_alphanumeric())
            })?;
            Some((at, name.len()))
        });
        let (at, length) = calls.min()?;
        Some((&text[..at], &text[at..at + length], &text[at + length..]))
    }
}

/// The signature of `name`, if `text` is its definition.
fn head<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let line = text.lines().next()?;
    let is_own = line.starts_with(FUNCTION) && line.contains(&format!(" {name}("));
    is_own.then(|| line.trim_end().trim_end_matches('{').trim_end())
}

/// A signature with a level, as a function that is no copy in each caller.
fn with_level(head: &str) -> String {
    let parameters = head[FUNCTION.len()..].trim_end_matches(')');
    let comma = if parameters.ends_with('(') { "" } else { ", " };
    format!("WW_RECURSIVE {parameters}{comma}const ww::level ww_level)")
}

/// Where the bracket that opens `text` is closed.
fn closing(text: &str) -> usize {
    let mut open = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' => open += 1,
            ')' if open == 1 => return at,
            ')' => open -= 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_between_circles_go_on_with_the_level() {
        let mut calls = Calls::default();
        for (caller, callee) in
            [("f", "f"), ("f", "h"), ("h", "g"), ("g", "g"), ("k", "f"), ("g", "e")]
        {
            calls.add(caller, callee);
        }
        // `k` begins a level, `e` calls nothing that needs one.
        assert_eq!(calls.recursive().into_iter().collect::<Vec<_>>(), ["f", "g", "h"]);
    }

    #[test]
    fn functions_in_a_circle_get_levels_and_others_begin_one() {
        let mut calls = Calls::default();
        for (caller, callee) in
            [("a_ww", "b_ww"), ("b_ww", "a_ww"), ("c_ww", "a_ww"), ("b_ww", "d_ww")]
        {
            calls.add(caller, callee);
        }
        let texts = [
            "WW_FN ww::u32 d_ww() {\n  return 1u;\n}\n",
            "WW_FN void b_ww(ww::u32& n) {\n  a_ww(d_ww(), (n));\n}\n",
            "WW_FN ww::u32 a_ww(ww::u32 m, const ww::u32 n) {\n  return a_ww(a_ww(m, n), n) + ba_ww(n);\n}\n",
            "struct c_ww {\n  f() { a_ww(1u, 2u); }\n};\n",
        ]
        .map(String::from);
        let (mut levels, heads) = Levels::new(&calls, 3, &texts);
        let made: Vec<_> = texts.iter().map(|text| levels.definition(text, &heads)).collect();
        assert_eq!(made[0], texts[0]);
        let deep = "if (ww_level.too_deep()) { ww::fail(3u); return";
        assert!(made[1].starts_with(
            "WW_RECURSIVE ww::u32 a_ww(ww::u32 m, const ww::u32 n, const ww::level ww_level);\n\
             WW_RECURSIVE void b_ww(ww::u32& n, const ww::level ww_level) {\n"
        ));
        assert!(made[1].contains(&format!("{deep}; }}")), "{}", made[1]);
        assert!(made[1].ends_with("\n  a_ww(d_ww(), (n), ww_level.next());\n}\n"), "{}", made[1]);
        assert!(made[2].contains(&format!("{deep} ww::u32{{}}; }}")), "{}", made[2]);
        assert!(made[2].ends_with(
            "\n  return a_ww(a_ww(m, n, ww_level.next()), n, ww_level.next()) + ba_ww(n);\n}\n"
        ));
        assert_eq!(made[3], "struct c_ww {\n  f() { a_ww(1u, 2u, ww::first_level()); }\n};\n");
    }
}
