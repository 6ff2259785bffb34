//! Results that are kept: what was measured, on which machine, when and how to repeat it.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::{Value, json};
use warpweft::grid::io::write_whole;
use warpweft::machine::{Machine, Probe};
use warpweft::{Error, Result};

use super::Options;

/// The results of one bench.
pub struct Record {
    name: String,
    repeat: String,
    content: Value,
}

impl Record {
    /// The record of `figures` and of the peers measured in the same run, by the command `repeat`.
    pub fn new(
        pattern: &str,
        repeat: &str,
        machine: &Machine,
        probe: Probe,
        figures: &impl Serialize,
        peers: &impl Serialize,
    ) -> Self {
        let date = date();
        let device = match machine.gpus.first() {
            Some(gpu) => gpu.name.clone(),
            None => machine.cpu.label(machine.cpu.threads()),
        };
        let content = json!({
            "bench": pattern,
            "date": date,
            "version": env!("CARGO_PKG_VERSION"),
            "repeat": repeat,
            "machine": machine,
            "probe": probe,
            "figures": figures,
            "peers": peers,
        });
        let name = format!("{date}-{pattern}-{}.json", slug(&device));
        Self { name, repeat: repeat.into(), content }
    }

    /// Keeps what is measured so far, where that was asked for: a long bench that is cut short leaves that.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn so_far(&self, options: &Options) -> Result<()> {
        if options.save { self.save().map(drop) } else { Ok(()) }
    }

    /// What to print: `table` and how to get it again, or the record itself; kept first where that was
    /// asked for.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn conclude(&self, options: &Options, mut table: String) -> Result<String> {
        let saved = if options.save { Some(self.save()?) } else { None };
        if options.json {
            return Ok(self.content.to_string());
        }
        table.push_str(&format!("repeat with: {}\n", self.repeat));
        if let Some(path) = saved {
            table.push_str(&format!("written {}\n", path.display()));
        }
        Ok(table.trim_end().into())
    }

    /// Writes it into `bench/results` of the present folder.
    ///
    /// # Errors
    /// The file can't be written.
    fn save(&self) -> Result<PathBuf> {
        let folder = PathBuf::from("bench/results");
        let hint = "run in a folder that can be written";
        std::fs::create_dir_all(&folder).map_err(|error| Error::file(&folder, error, hint))?;
        let path = folder.join(&self.name);
        let text = format!("{:#}\n", self.content);
        write_whole(&path, |to| to.write_all(text.as_bytes()))?;
        Ok(path)
    }
}

/// Letters, digits and single dashes.
fn slug(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_lowercase()
}

/// Today in UTC, `2025-01-31`.
fn date() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (year, month, day) = civil((seconds / 86_400) as i64);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The date `days` after 1970-01-01, by Hinnant's "days to civil" for the Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    // Years begin in March, so that leap days are last.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(-1), (1969, 12, 31));
        assert_eq!(civil(19_782), (2024, 2, 29));
        assert_eq!(civil(19_783), (2024, 3, 1));
    }

    #[test]
    fn names_are_safe_for_files() {
        assert_eq!(slug("NVIDIA H200 (0)"), "nvidia-h200-0");
        assert_eq!(slug("2 cores of AMD EPYC 9B45"), "2-cores-of-amd-epyc-9b45");
    }
}
