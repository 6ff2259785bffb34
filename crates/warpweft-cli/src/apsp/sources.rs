//! `--sources all|A..B|random:N|A,B,..|FILE`: the source vertices.

use std::collections::BTreeSet;
use std::io::{Error as IoError, ErrorKind::InvalidData};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use warpweft::grid::io::{Input, read_all};
use warpweft::memory::room;
use warpweft::{Error, Result};
use warpweft_apps::apsp::Graph;
use warpweft_apps::soup::SplitMix;

/// Bytes of the longest file of sources.
const LONGEST: u64 = 1 << 30;

/// A choice of sources, by the names of the graph's vertices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceChoice {
    /// Every vertex.
    All,
    /// Those of a range.
    Range(Range<u64>),
    /// A number of random sources without repeats, the same in every run.
    Random(u64),
    /// These.
    List(Vec<u64>),
    /// Those listed in a file.
    File(PathBuf),
}

impl FromStr for SourceChoice {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::All);
        }
        if let Some((from, to)) = text.split_once("..")
            && let (Ok(from), Ok(to)) = (from.parse(), to.parse())
        {
            return match from < to {
                true => Ok(Self::Range(from..to)),
                false => Err(format!("the range {text} is empty; write the smaller number first")),
            };
        }
        if let Some(count) = text.strip_prefix("random:") {
            let count = count.parse().ok().filter(|count| *count > 0);
            return count.map(Self::Random).ok_or("write random:N, at least 1".into());
        }
        match text.split(',').map(str::parse).collect() {
            Ok(list) => Ok(Self::List(list)),
            Err(_) if text.is_empty() => Err("write all, A..B, random:N, numbers or a file".into()),
            Err(_) => Ok(Self::File(text.into())),
        }
    }
}

impl SourceChoice {
    /// The file with the list.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            _ => None,
        }
    }

    /// Their numbers in `graph`, from 0.
    ///
    /// # Errors
    /// One is not a vertex; there are not that many; a file that can't be read or is empty.
    pub fn of(&self, graph: &Graph) -> Result<Vec<u32>> {
        let names = graph.names();
        let count = names.end - names.start;
        match self {
            Self::All => numbers(&names, names.clone()),
            Self::Range(range) => numbers(&names, range.clone()),
            Self::List(list) => numbers(&names, list.iter().copied()),
            Self::Random(wanted) if *wanted > count => Err(Error::spec(
                format!(
                    "{wanted} random sources were requested, but the graph has {count} vertices"
                ),
                "request at most as many sources as there are vertices",
            )),
            Self::Random(wanted) => {
                // Floyd's sampling: every subset is equally likely (Bentley, CACM 30, 1987).
                let mut stream = SplitMix::new(1);
                let mut chosen = BTreeSet::new();
                for last in count - wanted..count {
                    let k = stream.next_u64() % (last + 1);
                    if !chosen.insert(k) {
                        chosen.insert(last);
                    }
                }
                Ok(chosen.into_iter().map(|k| k as u32).collect())
            }
            Self::File(path) => {
                let read = Input::open(path).and_then(|file| read_all(file, LONGEST));
                let text = read.and_then(|bytes| {
                    String::from_utf8(bytes).map_err(|error| IoError::new(InvalidData, error))
                });
                let text = text.map_err(|error| {
                    Error::file(
                        path,
                        error,
                        "check the path, or write all, A..B, random:N or numbers",
                    )
                })?;
                let words = text.split_ascii_whitespace().map(|word| {
                    let what = || {
                        Error::file(
                            path,
                            format!("{word:?} is not a vertex number"),
                            "list whole numbers",
                        )
                    };
                    word.parse().map_err(|_| what())
                });
                let list: Vec<u64> = words.collect::<Result<_>>()?;
                match list.is_empty() {
                    true => Err(Error::file(path, "lists no sources", "list at least one number")),
                    false => numbers(&names, list.into_iter()),
                }
            }
        }
    }
}

/// `sources`, counted from 0.
fn numbers(names: &Range<u64>, sources: impl Iterator<Item = u64>) -> Result<Vec<u32>> {
    let mut all = room(sources.size_hint().0.min(names.end as usize), "take fewer sources")?;
    for source in sources {
        if !names.contains(&source) {
            return Err(Error::spec(
                format!(
                    "source {source} of a graph whose vertices are {} to {}",
                    names.start,
                    names.end - 1
                ),
                "name sources in this range",
            ));
        }
        all.push((source - names.start) as u32);
    }
    Ok(all)
}
