//! What there should be less of, and how much there may be: numbers that only go down.

use std::fmt;

/// The limits, in `xtask/limits.txt`.
const LIMITS: &str = include_str!("../../limits.txt");

/// All that was found of each.
#[derive(Debug, Default)]
pub struct Counts {
    /// Files too long to be one idea.
    pub long_files: Vec<String>,
    /// Functions too long to be one step.
    pub long_functions: Vec<String>,
    /// Folders with more files than a reader takes in.
    pub full_folders: Vec<String>,
    /// Imports of a higher layer.
    pub upward: Vec<String>,
    /// Const parameters of the stencil's crate.
    pub const_generics: Vec<String>,
    /// Files that import one another.
    pub circles: Vec<String>,
    /// Words that the field has others for.
    pub words: Vec<String>,
}

impl Counts {
    fn named(&self) -> [(&'static str, &Vec<String>); 7] {
        [
            ("long-files", &self.long_files),
            ("long-functions", &self.long_functions),
            ("full-folders", &self.full_folders),
            ("upward-imports", &self.upward),
            ("circles", &self.circles),
            ("const-generics", &self.const_generics),
            ("words", &self.words),
        ]
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, found)) in self.named().into_iter().enumerate() {
            let limit = limit(LIMITS, name);
            write!(f, "{}{name} {} of {limit}", if i == 0 { "" } else { ", " }, found.len())?;
        }
        Ok(())
    }
}

/// Every finding of a kind of which there are more than its limit, and the kind itself.
pub fn exceeded(counts: &Counts) -> Vec<String> {
    let mut all = Vec::new();
    for (name, found) in counts.named() {
        let limit = limit(LIMITS, name);
        if found.len() > limit {
            all.extend(found.iter().cloned());
            all.push(format!("{} {name}, more than the {limit} of xtask/limits.txt", found.len()));
        }
    }
    all
}

/// The number after `name`; none are allowed of what has no line.
fn limit(limits: &str, name: &str) -> usize {
    let mut lines = limits.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    lines.next().and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_limit_may_not_be() {
        let limits = "# so many\nwords 3\nlong-files 12\n";
        assert_eq!(["words", "long-files", "long"].map(|name| limit(limits, name)), [3, 12, 0]);
    }
}
