//! `--sources all|A..B|random:N|A,B,..|FILE`: which vertices paths begin at.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use warpweft::memory::room;
use warpweft::{Error, Result};
use warpweft_apps::apsp::Graph;
use warpweft_apps::soup::SplitMix;

/// Which sources, as the graph calls its vertices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceChoice {
    /// Every vertex.
    All,
    /// Those of a range.
    Range(Range<u64>),
    /// So many, each once, the same ones in every run.
    Random(u64),
    /// These.
    List(Vec<u64>),
    /// Those that a file lists.
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
                false => Err(format!("no source is in {text}; begin with the smaller number")),
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
    /// The file that lists them.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            _ => None,
        }
    }

    /// Their numbers in `graph`, counted from 0.
    ///
    /// # Errors
    /// One that is no vertex; more than there are; a file that can't be read or lists none.
    pub fn of(&self, graph: &Graph) -> Result<Vec<u32>> {
        let names = graph.names();
        let count = names.end - names.start;
        match self {
            Self::All => numbers(&names, names.clone()),
            Self::Range(range) => numbers(&names, range.clone()),
            Self::List(list) => numbers(&names, list.iter().copied()),
            Self::Random(wanted) if *wanted > count => Err(Error::spec(
                format!("{wanted} random sources of a graph of {count} vertices"),
                "ask for as many as there are at most",
            )),
            Self::Random(wanted) => {
                // Floyd's sample: each subset as likely as any other (Bentley, CACM 30, 1987).
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
                let text = std::fs::read_to_string(path).map_err(|error| {
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
                            format!("{word:?} is no number of a vertex"),
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
                "name sources that it has",
            ));
        }
        all.push((source - names.start) as u32);
    }
    Ok(all)
}
