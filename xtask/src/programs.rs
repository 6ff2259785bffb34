//! Test programs, as cargo's messages name them while it builds them.

use std::path::{Path, PathBuf};
use std::process::Command;

/// One test program.
#[derive(Clone, Debug)]
pub struct Program {
    /// The file's name: the target's and cargo's hash.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// The folder of its package, where its tests are run.
    pub package: PathBuf,
    /// Whether these are the tests inside a library or a command, not a program below `tests`.
    pub unit: bool,
}

impl Program {
    /// The program that one of cargo's messages (a JSON object a line) says was built, if it says so.
    pub fn built(message: &str) -> Option<Self> {
        let message: serde_json::Value = serde_json::from_str(message).ok()?;
        let path = PathBuf::from(message["executable"].as_str()?);
        message["profile"]["test"].as_bool().filter(|&test| test)?;
        let package = Path::new(message["manifest_path"].as_str()?).parent()?.to_path_buf();
        let name = path.file_name()?.to_string_lossy().into_owned();
        let unit = message["target"]["kind"][0] != "test";
        Some(Self { name, path, package, unit })
    }

    /// The target and its package, without cargo's hash.
    pub fn title(&self) -> String {
        let target = self.name.rsplit_once('-').map_or(self.name.as_str(), |(name, _)| name);
        let package = self.package.file_name().map(|name| name.to_string_lossy());
        match package {
            Some(package) if !self.unit => format!("{package}/{target}"),
            _ => target.to_string(),
        }
    }

    /// The names of its tests, or of those that are ignored.
    pub fn tests(&self, ignored: bool) -> Result<Vec<String>, String> {
        let mut command = Command::new(&self.path);
        command.args(["--list", "--format", "terse"]).current_dir(&self.package);
        if ignored {
            command.arg("--ignored");
        }
        let output = command.output().map_err(|error| format!("{}: {error}", self.name))?;
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            return Err(format!("{} does not list its tests: {}", self.name, output.status));
        }
        Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(Into::into).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_are_told_from_other_artifacts() {
        let messages = r#"{"reason":"compiler-artifact","executable":"/t/facade-1","manifest_path":"/w/crates/warpweft/Cargo.toml","target":{"kind":["test"]},"profile":{"test":true}}
{"reason":"compiler-artifact","executable":"/t/warpweft_core-2","manifest_path":"/w/crates/warpweft-core/Cargo.toml","target":{"kind":["lib"]},"profile":{"test":true}}
{"reason":"compiler-artifact","executable":"/t/warpweft","manifest_path":"/w/crates/warpweft-cli/Cargo.toml","target":{"kind":["bin"]},"profile":{"test":false}}
{"reason":"compiler-artifact","executable":null,"manifest_path":"/w/crates/warpweft/Cargo.toml","target":{"kind":["lib"]},"profile":{"test":true}}
{"reason":"build-finished","success":true}"#;
        let titles: Vec<_> =
            messages.lines().filter_map(Program::built).map(|program| program.title()).collect();
        assert_eq!(titles, ["warpweft/facade", "warpweft_core"]);
    }
}
