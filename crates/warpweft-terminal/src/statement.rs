//! What this process was asked to do, in words that processes can compare before they compute: the program, its
//! version, the subcommand, every parameter that decides a result, and the contents of the files it reads.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::Path;

use clap::{Arg, ArgMatches, Command};
use serde_json::{from_slice, to_vec};
use sha2::{Digest, Sha256};
use warpweft::cluster::{Transport, broadcast, gather};
use warpweft::grid::io::Input;
use warpweft::{Error, Result};

/// Parameters that may differ between processes: where each computes, and how the one that prints does.
const FREE: [&str; 4] = ["device", "threads", "json", "help"];

/// What follows the value of an input that is the name of no file: it may be a word with a meaning of its own.
const NO_FILE: &str = " (no such file)";

/// What a process says that can't start.
const REFUSED: &str = "can't start";

/// Names and values, in an order that the subcommand fixes.
pub struct Statement(Vec<(String, String)>);

impl Statement {
    /// Of a process that only prints its help or version.
    pub fn of_help(command: &Command) -> Self {
        Self(vec![program(command), ("the subcommand".into(), "--help or --version".into())])
    }

    /// Of a process that can't start, because of `what`.
    pub fn of_refusal(what: &str) -> Self {
        Self(vec![(REFUSED.into(), what.into())])
    }

    /// Of the parsed arguments. Those named in `inputs` are files: their contents are compared, not their paths,
    /// which may differ from host to host.
    ///
    /// # Errors
    /// An input that can be read only once.
    pub fn of(command: &Command, matches: &ArgMatches, inputs: &[&str]) -> Result<Self> {
        let mut said = vec![program(command)];
        let (mut words, mut levels) = (Vec::new(), vec![(command, matches)]);
        let (mut command, mut matches) = (command, matches);
        while let Some((name, below)) = matches.subcommand()
            && let Some(of) = command.find_subcommand(name)
        {
            words.push(name);
            levels.push((of, below));
            (command, matches) = (of, below);
        }
        said.push(("the subcommand".into(), words.join(" ")));
        for (command, matches) in levels {
            let decides = |arg: &&Arg| !FREE.contains(&arg.get_id().as_str());
            for arg in command.get_arguments().filter(decides) {
                let id = arg.get_id().as_str();
                let Ok(given) = matches.try_get_raw(id) else { continue };
                let given: Vec<_> = given.into_iter().flatten().collect();
                said.push((name(arg), values(&given, inputs.contains(&id))?));
            }
        }
        Ok(Self(said))
    }

    /// Whether all ranks of `net` say the same.
    ///
    /// # Errors
    /// On every rank, naming the first rank that differs from rank 0, in what, and both values.
    pub fn compare(&self, net: &dyn Transport) -> Result<()> {
        let all = gather(net, to_vec(&self.0).unwrap_or_default())?;
        let others = all.iter().enumerate().skip(1);
        let answer = others
            .filter_map(|(rank, theirs)| self.difference(rank, theirs))
            .next()
            .unwrap_or_default();
        let answer = broadcast(net, answer.into_bytes())?;
        match answer.as_slice() {
            [] => Ok(()),
            what => Err(Error::spec(
                String::from_utf8_lossy(what),
                "start every rank with the same program, arguments and input files",
            )),
        }
    }

    /// What differs in the statement of `rank`, in words.
    fn difference(&self, rank: usize, theirs: &[u8]) -> Option<String> {
        let Ok(theirs) = from_slice::<Vec<(String, String)>>(theirs) else {
            return Some(format!("rank {rank} has another version of this program"));
        };
        let refused = |said: &[(String, String)]| {
            said.iter().find(|(about, _)| about == REFUSED).map(|(_, what)| what.clone())
        };
        match (refused(&self.0), refused(&theirs)) {
            (Some(mine), Some(theirs)) if mine == theirs => return None,
            (Some(what), _) => return Some(format!("rank 0 {REFUSED}: {what}")),
            (_, Some(what)) => return Some(format!("rank {rank} {REFUSED}: {what}")),
            (None, None) => {}
        }
        let differ = |(mine, theirs): &(&(String, String), &(String, String))| mine != theirs;
        match self.0.iter().zip(&theirs).find(differ) {
            Some(((_, mine), (about, value))) => {
                let [value, mine] =
                    [(value, mine), (mine, value)].map(|(of, other)| shown(of, other));
                Some(format!("rank {rank} has {about} {value}, rank 0 has {mine}"))
            }
            None if self.0.len() != theirs.len() => {
                Some(format!("rank {rank} has other parameters than rank 0"))
            }
            None => None,
        }
    }
}

/// A value for users, next to another rank's `other`: where neither is a file, both are words.
fn shown<'a>(value: &'a str, other: &str) -> &'a str {
    match other.ends_with(NO_FILE) {
        true => value.trim_end_matches(NO_FILE),
        false => value,
    }
}

fn program(command: &Command) -> (String, String) {
    let version = command.get_version().unwrap_or("?");
    ("the program".into(), format!("{} {version}", command.get_name()))
}

/// `--size`, or `GRAPH` of a parameter without a dash.
fn name(arg: &Arg) -> String {
    match arg.get_long() {
        Some(long) => format!("--{long}"),
        None => arg.get_id().as_str().to_uppercase(),
    }
}

fn values(given: &[&OsStr], are_inputs: bool) -> Result<String> {
    if given.is_empty() {
        return Ok("none".into());
    }
    let each = given.iter().map(|value| match are_inputs {
        true => contents(Path::new(value)),
        false => Ok(value.to_string_lossy().into_owned()),
    });
    each.collect::<Result<Vec<_>>>().map(|each| each.join(" "))
}

/// The contents of the file at `path` as a hash, or the text itself if there is no such file.
fn contents(path: &Path) -> Result<String> {
    let shown = path.display().to_string();
    let known = match std::fs::metadata(path) {
        Ok(known) if known.is_dir() => return Ok(shown),
        Ok(known) => known,
        // A choice that is no file, or the error of the reader to come.
        Err(_) => return Ok(shown + NO_FILE),
    };
    if !known.is_file() {
        return Err(Error::file(
            path,
            "can be read only once, but several processes need it",
            "name a file that every process can read",
        ));
    }
    match hash(path) {
        Ok((bytes, hash)) => Ok(format!("({bytes} bytes, hash {hash})")),
        Err(error) => Ok(format!("{shown}, which can't be read ({error})")),
    }
}

fn hash(path: &Path) -> io::Result<(u64, String)> {
    let (mut file, mut hash, mut bytes) = (Input::open(path)?, Sha256::new(), 0);
    let mut piece = vec![0; 1 << 20];
    loop {
        match file.read(&mut piece)? {
            0 => break,
            count => {
                hash.update(&piece[..count]);
                bytes += count as u64;
            }
        }
    }
    let hash = hash.finalize();
    Ok((bytes, hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::{ArgAction, arg};
    use warpweft::cluster::in_process_all;

    use super::*;

    fn command() -> Command {
        let run = Command::new("run").arg(arg!(--size <N>)).arg(arg!(<a>));
        let run = run.arg(Arg::new("json").long("json").action(ArgAction::SetTrue));
        Command::new("warp").version("1.0").subcommand(run).subcommand(Command::new("info"))
    }

    /// What each of several processes with these arguments says of the others'.
    fn outcomes(lines: &[&str]) -> Vec<Result<()>> {
        in_process_all(lines.len(), Duration::from_secs(60), |net| {
            let words = lines[net.rank()].split_whitespace();
            let matches = command().try_get_matches_from(words).unwrap();
            Statement::of(&command(), &matches, &["a"])?.compare(net)
        })
    }

    #[test]
    fn what_differs_is_named_on_every_rank() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let [a, b, c] = [file("a", "1"), file("b", "2"), file("c", "1")];
        let one = format!("warp run --size 3 {a}");
        for (other, told) in [
            (format!("warp run --size 4 {a}"), "rank 1 has --size 4, rank 0 has 3"),
            (format!("warp run {a}"), "rank 1 has --size none, rank 0 has 3"),
            (format!("warp run --size 3 {b}"), "rank 1 has A (1 bytes, hash d4735e3a265e"),
            (
                "warp run --size 3 no".into(),
                "rank 1 has A no (no such file), rank 0 has (1 bytes, hash",
            ),
            ("warp info".into(), "rank 1 has the subcommand info, rank 0 has run"),
        ] {
            for outcome in outcomes(&[&one, &other, &one]) {
                let error = outcome.unwrap_err().to_string();
                assert!(error.contains(told), "{error}");
            }
        }
        // Where a file is, and what is printed, makes no difference.
        let alike = format!("warp run --size 3 --json {c}");
        assert!(outcomes(&[&one, &alike]).iter().all(Result::is_ok));
    }

    #[test]
    fn a_message_of_another_program_is_no_statement() {
        let all = in_process_all(2, Duration::from_secs(60), |net| match net.rank() {
            0 => Statement::of_help(&command()).compare(net),
            _ => gather(net, vec![1, 2, 255]).and_then(|_| broadcast(net, Vec::new())).map(drop),
        });
        let error = all[0].as_ref().unwrap_err().to_string();
        assert!(error.contains("rank 1 has another version of this program"), "{error}");
    }
}
