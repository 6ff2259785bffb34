//! The table of settings: characterisation by family of GPUs, from a file that users may edit.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::words::{Arithmetic, Characterisation, Level, Memory};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::io::read_given_text;

/// A family of GPUs, by compute capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// 8.0 to 8.8.
    Ampere,
    /// 8.9.
    Ada,
    /// 9.
    Hopper,
    /// 10 and later.
    Blackwell,
    /// Before Ampere.
    Other,
}

impl Family {
    /// That of a compute capability.
    pub fn of((major, minor): (u32, u32)) -> Self {
        match (major, minor) {
            (8, 9) => Self::Ada,
            (8, _) => Self::Ampere,
            (9, _) => Self::Hopper,
            (10.., _) => Self::Blackwell,
            _ => Self::Other,
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// What the table says of a kernel on a family.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Threads of a block.
    pub block: u32,
    /// Percent of an SM's on-chip memory that is shared memory; `None` for the driver's choice.
    #[serde(default)]
    pub shared: Option<u32>,
    /// Kernels on a GPU at the same time.
    pub concurrent: usize,
    /// Where the values come from.
    #[serde(default)]
    pub evidence: String,
}

/// A row: what it applies to, and its columns.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Row {
    memory: Memory,
    arithmetic: Arithmetic,
    eviction: Level,
    reuse: Level,
    ampere: Option<Setting>,
    ada: Option<Setting>,
    hopper: Option<Setting>,
    blackwell: Option<Setting>,
    other: Option<Setting>,
}

/// The rows of a file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    #[serde(default)]
    row: Vec<Row>,
}

impl Row {
    fn words(&self) -> Characterisation {
        Characterisation::new(self.memory, self.arithmetic, self.eviction, self.reuse)
    }

    fn columns(&self) -> [(Family, Option<&Setting>); 5] {
        [
            (Family::Ampere, self.ampere.as_ref()),
            (Family::Ada, self.ada.as_ref()),
            (Family::Hopper, self.hopper.as_ref()),
            (Family::Blackwell, self.blackwell.as_ref()),
            (Family::Other, self.other.as_ref()),
        ]
    }

    fn of(&self, family: Family) -> Option<&Setting> {
        self.columns().into_iter().find(|(of, _)| *of == family)?.1
    }
}

/// A table of settings.
#[derive(Clone, Debug)]
pub struct KernelTable {
    /// The user's before the shipped ones.
    rows: Vec<Row>,
}

/// The variable that names a file of the user's rows.
const VARIABLE: &str = "WARPWEFT_KERNEL_TABLE";

impl KernelTable {
    /// The text of the shipped table, for users to edit.
    pub const TEXT: &str = include_str!("table.toml");

    /// The shipped table.
    ///
    /// # Errors
    /// None: a test reads it.
    pub fn shipped() -> Result<Self> {
        Ok(Self { rows: read(Self::TEXT, Path::new("the shipped table"))? })
    }

    /// The shipped table behind the rows of the file at `path`.
    ///
    /// # Errors
    /// The file can't be read, has an unknown word or a value that no launch can have: with file, row and value.
    pub fn from_file(path: &Path) -> Result<Self> {
        let text =
            read_given_text(path).map_err(|error| Error::file(path, error, "check the path"))?;
        let mut rows = read(&text, path)?;
        rows.extend(Self::shipped()?.rows);
        Ok(Self { rows })
    }

    /// The table of the file that `WARPWEFT_KERNEL_TABLE` names, or the shipped one.
    ///
    /// # Errors
    /// As [`KernelTable::from_file`].
    pub fn of_user() -> Result<Self> {
        std::env::var_os(VARIABLE)
            .map_or_else(Self::shipped, |path| Self::from_file(&PathBuf::from(path)))
    }

    /// The text of that table, checked.
    ///
    /// # Errors
    /// As [`KernelTable::from_file`].
    pub fn text_of_user() -> Result<String> {
        let Some(path) = std::env::var_os(VARIABLE).map(PathBuf::from) else {
            return Ok(Self::TEXT.into());
        };
        let text =
            read_given_text(&path).map_err(|error| Error::file(&path, error, "check the path"))?;
        read(&text, &path).map(|_| text)
    }

    /// The row for a kernel with these `words`, and its entry for a family of GPUs. The most specific matching row applies;
    /// of equally specific rows the first. If it has no column for the family, the next matching row is used.
    pub fn setting(&self, words: &Characterisation, family: Family) -> (Characterisation, Setting) {
        let mut best: Option<(usize, &Row, &Setting)> = None;
        for row in &self.rows {
            let Some(said) = words.agrees(&row.words()) else { continue };
            let Some(setting) = row.of(family) else { continue };
            if best.is_none_or(|(most, ..)| said > most) {
                best = Some((said, row, setting));
            }
        }
        let plain = Setting { block: 256, shared: None, concurrent: 1, evidence: String::new() };
        best.map_or_else(
            || (Characterisation::default(), plain),
            |(_, row, setting)| (row.words(), setting.clone()),
        )
    }
}

/// The rows of `text`, checked.
fn read(text: &str, path: &Path) -> Result<Vec<Row>> {
    let hint = "see the comments of the shipped table: `warpweft tune farm --print-table`";
    let rows: Rows = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(0, |span| 1 + text[..span.start].matches('\n').count());
        let what = format!("line {line}: {}", error.message().trim());
        Error::file(path, what, hint)
    })?;
    for (number, row) in rows.row.iter().enumerate() {
        for (family, setting) in row.columns() {
            let Some(wrong) = setting.and_then(refused) else { continue };
            let what = format!("row {} ({}), {family}: {wrong}", number + 1, row.words());
            return Err(Error::file(path, what, "correct the value"));
        }
    }
    Ok(rows.row)
}

/// What no launch can have.
fn refused(setting: &Setting) -> Option<String> {
    let Setting { block, shared, concurrent, .. } = setting;
    if !(32..=1024).contains(block) || !block.is_multiple_of(32) {
        return Some(format!("block = {block}, which is no multiple of 32 from 32 to 1024"));
    }
    if let Some(shared) = shared.filter(|shared| *shared > 100) {
        return Some(format!("shared = {shared}, which is no percentage"));
    }
    (!(1..=8).contains(concurrent))
        .then(|| format!("concurrent = {concurrent}, which is not from 1 to 8"))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn words(text: &str) -> Characterisation {
        text.parse().unwrap()
    }

    #[test]
    fn the_shipped_table_has_every_family_with_evidence_for_every_kernel() {
        let table = KernelTable::shipped().unwrap();
        for family in
            [Family::Ampere, Family::Ada, Family::Hopper, Family::Blackwell, Family::Other]
        {
            for text in ["", "scatter low high low", "coalesced low low medium", "scatter high"] {
                let (_, setting) = table.setting(&words(text), family);
                assert!(!setting.evidence.is_empty(), "{family}: {text}");
                assert_eq!(refused(&setting), None);
            }
        }
        let capabilities = [(7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0)];
        assert_eq!(
            capabilities.map(Family::of).map(|family| family.to_string()),
            ["Other", "Ampere", "Ampere", "Ada", "Hopper", "Blackwell", "Blackwell"]
        );
    }

    #[test]
    fn the_row_that_says_most_applies_and_the_users_come_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.toml");
        let own = "[[row]]\nmemory = 'scatter'\nhopper = { block = 96, concurrent = 3 }\n";
        std::fs::write(&path, own).unwrap();
        let table = KernelTable::from_file(&path).unwrap();
        let block = |text: &str, family| table.setting(&words(text), family).1.block;
        assert_eq!(block("scatter", Family::Hopper), 96);
        // Not said for this family.
        assert_eq!(block("scatter", Family::Ampere), 256);
        // Three words against one.
        let (row, setting) = table.setting(&words("scatter low high low"), Family::Hopper);
        assert_eq!((row, setting.block), (words("scatter low high"), 128));
    }

    #[test]
    fn what_a_table_can_not_say_is_named_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.toml");
        for (text, expect) in [
            ("[[row]]\n\nmemory = 'scattered'\n", "line 3: unknown variant `scattered`"),
            ("[[row]]\nspeed = 3\n", "line 2: unknown field `speed`"),
            (
                "[[row]]\nada = { block = 100, concurrent = 1 }",
                "row 1 (default default default default), Ada: block = 100",
            ),
            (
                "[[row]]\nreuse = 'low'\nampere = { block = 2048, concurrent = 1 }",
                "Ampere: block = 2048",
            ),
            ("[[row]]\nampere = { block = 64, concurrent = 9 }", "concurrent = 9"),
            ("[[row]]\nampere = { block = 64, concurrent = 1, shared = 101 }", "shared = 101"),
            ("[[row]\n", "line 1"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = KernelTable::from_file(&path).unwrap_err().to_string();
            assert!(error.contains(expect) && error.contains("own.toml"), "{error}");
        }
        let missing = KernelTable::from_file(&folder.path().join("none.toml")).unwrap_err();
        assert!(missing.to_string().contains("none.toml"));
    }
}
