//! The manifest of a folder that a run writes: one line of JSON, then a line with its SHA-256.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

/// A format of manifests. Its values have a member `version`.
pub struct Stated {
    /// What a folder with such a file is, e.g. "a journal".
    pub name: &'static str,
    /// The version that this program reads. It is raised when the format changes.
    pub version: u32,
    /// What to do about a damaged file.
    pub hint: &'static str,
}

impl Stated {
    /// The text of a file that holds `value`.
    ///
    /// # Errors
    /// No known ones.
    pub fn text(&self, value: &impl Serialize) -> Result<String> {
        let line = serde_json::to_string(value).map_err(|error| {
            Error::spec(format!("{}: {error}", self.name), "report this as a bug")
        })?;
        Ok(format!("{line}\n{}\n", hex(&Sha256::digest(&line))))
    }

    /// The value in `text`, which was read from the file at `path`.
    ///
    /// # Errors
    /// [`Error::File`] if it is damaged; [`Error::Spec`] if it has another version of the format.
    pub fn read<T: DeserializeOwned>(&self, path: &Path, text: &str) -> Result<T> {
        let damaged = |what: String| Error::file(path, what, self.hint);
        let (line, sum) = text.split_once('\n').unwrap_or((text, ""));
        if hex(&Sha256::digest(line)) != sum.trim() {
            return Err(damaged("its checksum is wrong".into()));
        }
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let unlike = |error: serde_json::Error| damaged(error.to_string());
        let Version { version } = serde_json::from_str(line).map_err(unlike)?;
        if version != self.version {
            return Err(Error::spec(
                format!(
                    "{} is {} of format {version}, this program reads format {}",
                    path.parent().unwrap_or(path).display(),
                    self.name,
                    self.version
                ),
                "resume with the program that wrote it",
            ));
        }
        serde_json::from_str(line).map_err(unlike)
    }
}

/// Lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, Deserialize, Debug, PartialEq)]
    struct Kept {
        version: u32,
        of: String,
    }

    #[test]
    fn what_was_stated_is_read_and_neither_damage_nor_another_version_is() {
        let format = |version| Stated { name: "a diary", version, hint: "begin anew" };
        let path = Path::new("kept/header");
        let kept = Kept { version: 2, of: "a\nline".into() };
        let text = format(2).text(&kept).unwrap();
        assert_eq!(format(2).read::<Kept>(path, &text).unwrap(), kept);
        let refusal = format(3).read::<Kept>(path, &text).unwrap_err().to_string();
        let expect = "kept is a diary of format 2, this program reads format 3";
        assert!(refusal.starts_with(expect), "{refusal}");
        for at in 0..text.trim_end().len() {
            let mut wrong = text.clone().into_bytes();
            wrong[at] ^= 1;
            let wrong = String::from_utf8(wrong).unwrap();
            let refusal = format(2).read::<Kept>(path, &wrong).unwrap_err().to_string();
            assert!(refusal.starts_with("kept/header: its checksum is wrong; help: "), "{refusal}");
        }
    }
}
