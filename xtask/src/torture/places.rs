//! Where files are written: links that somebody planted, folders that are full or not to be written, and processes
//! with the same number.

use std::path::Path;

use super::program::Program;
use super::{Campaign, Count};

/// All of these in turn.
pub fn all(campaign: &mut Campaign<'_>) -> Count {
    let mut next = 0;
    campaign.until_end(|campaign| {
        next += 1;
        let (kind, outcome) = match next % 4 {
            1 => ("planted links", planted(campaign)),
            2 => ("full disks", full(campaign)),
            3 => ("pairs with the same process number", same_number(campaign)),
            _ => ("little memory, few files", limited(campaign)),
        };
        outcome.map(|()| kind.into())
    })
}

/// Whether temporary files were left.
pub fn leftovers(folder: &Path) -> bool {
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
    names.map(|entry| entry.file_name()).any(|name| name.to_string_lossy().ends_with(".partial"))
}

const HEAT: &str = "run heat --device cpu --threads 1 --size 8 --steps 3";

fn run(campaign: &Campaign<'_>, script: &str) -> super::program::Ran {
    Program::script(campaign.command, campaign.folder, script).run(30)
}

/// Links at the names that a process of a known number might use, and at the output itself.
fn planted(campaign: &mut Campaign<'_>) -> Result<(), String> {
    let script = format!(
        "echo precious > victim; chmod 600 victim; echo old > a.npy; chmod 600 a.npy; \
         for n in $(seq $$ $(($$ + 40))); do ln -s victim .a.npy.$n.partial; ln -s victim .warpweft.$n.partial; done; \
         ln -s nowhere dangling.npy; \"$W\" {HEAT} --output a.npy --checkpoint kept || exit 9; \
         \"$W\" {HEAT} --output dangling.npy; [ $? = 2 ] || [ $? = 1 ] || exit 8; [ ! -e nowhere ] || exit 7; \
         [ \"$(cat victim)\" = precious ] || exit 6; [ \"$(stat -c %a a.npy)\" = 600 ] || exit 5"
    );
    failed("planted links", &run(campaign, &script))
}

/// A device that is full, and a file that may not grow.
fn full(campaign: &mut Campaign<'_>) -> Result<(), String> {
    let script = format!(
        "\"$W\" {HEAT} --output /dev/full --output b.npy; [ $? = 2 ] || [ $? = 1 ] || exit 9; \
         (ulimit -f 1; \"$W\" {HEAT} --output a.npy); [ $? = 1 ] || exit 8; [ ! -e a.npy ] || exit 7"
    );
    failed("full disks", &run(campaign, &script))
}

/// Two processes that are number 1 of namespaces of their own, at the same time in one folder.
fn same_number(campaign: &mut Campaign<'_>) -> Result<(), String> {
    let script = format!(
        "unshare --pid --fork true 2>/dev/null || exit 77; \
         for k in 1 2; do unshare --pid --fork \"$W\" {HEAT} --output a.npy --plot b.png --trace c.json & done; \
         wait %1 || exit 9; wait %2 || exit 8"
    );
    let ran = run(campaign, &script);
    // Namespaces need a right that not every machine gives.
    if ran.status == Some(77) { Ok(()) } else { failed("same process numbers", &ran) }
}

/// Little memory and few files: an error, no crash.
fn limited(campaign: &mut Campaign<'_>) -> Result<(), String> {
    let (memory, files) = (100_000 + campaign.random.below(900_000), 4 + campaign.random.below(30));
    let script = format!(
        "ulimit -v {memory}; ulimit -n {files}; \"$W\" {HEAT} --output a.npy; s=$?; [ $s -le 2 ] || exit 9"
    );
    let ran = run(campaign, &script);
    // The loader itself may lack memory, with a status of its own.
    let loader = ran.err.contains("error while loading shared libraries");
    if loader { Ok(()) } else { failed(&format!("{memory} kB and {files} files"), &ran) }
}

fn failed(what: &str, ran: &super::program::Ran) -> Result<(), String> {
    let bug = ran.err.contains("bug in warpweft") || ran.err.contains("panicked");
    match ran.status == Some(0) && !bug {
        true => Ok(()),
        false => Err(format!("{what}: {ran:?}")),
    }
}
