//! Libraries and tuning results that somebody else put where the command might look: never loaded, never used, and
//! said once.

use std::path::Path;
use std::process::Command;

use super::program::{Program, Ran};
use super::{Campaign, Count};

/// Planted libraries and caches in turn.
pub fn all(campaign: &mut Campaign<'_>) -> Count {
    let folder = campaign.folder.parent().unwrap_or(campaign.folder).join("trap");
    if let Err(error) = set(&folder, campaign) {
        return Count::skipped(&error);
    }
    let mut next = 0;
    campaign.until_end(|campaign| {
        next += 1;
        match next % 3 {
            0 => cache(campaign, &folder).map(|()| "caches that others may write".into()),
            _ => library(campaign, &folder).map(|()| "planted libraries".into()),
        }
    })
}

/// A library that leaves a mark when it is loaded, and tuning results.
const TRAP: &str = "#include <fcntl.h>\n#include <stdlib.h>\n__attribute__((constructor)) static void mark(void) {\n\
                    const char* at = getenv(\"TRAP\"); if (at) open(at, O_CREAT | O_WRONLY, 0600); }\n";
const TUNED: &str = "heat --device cpu --threads 1 --size 24";

fn set(folder: &Path, campaign: &Campaign<'_>) -> Result<(), String> {
    let told = |error: std::io::Error| error.to_string();
    std::fs::create_dir_all(folder).map_err(told)?;
    std::fs::write(folder.join("trap.c"), TRAP).map_err(told)?;
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o", "trap.so", "trap.c"]).current_dir(folder);
    if !compiler.status().is_ok_and(|status| status.success()) {
        return Err("no C compiler".into());
    }
    let line = format!("WARPWEFT_CACHE=$PWD/cache \"$W\" tune {TUNED} --budget 1");
    let ran = Program::script(campaign.command, folder, &line).run(60);
    match folder.join("cache/tuning.json").exists() {
        true => Ok(()),
        false => Err(format!("nothing was tuned: {ran:?}")),
    }
}

/// Where a library may lie: the folder, its names, and what makes it untrusted, as a shell's words.
fn place(campaign: &mut Campaign<'_>) -> String {
    let random = &mut campaign.random;
    let wheel = *random.of(&["cu13", "cu12", "cuda_nvrtc"]);
    let place = random
        .of(&[
            format!(".venv/lib/python3.12/site-packages/nvidia/{wheel}/lib"),
            format!("target/nvrtc/nvidia/{wheel}/lib"),
            ".".into(),
        ])
        .clone();
    let why = *random.of(&[
        "chmod 777 \"$D\"",
        "chmod 775 .",
        "chmod 1777 .",
        "chmod 757 .",
        "chmod 666 \"$D\"/*.so*",
        "chmod 664 \"$D\"/*.so*",
        "[ \"$(id -u)\" = 0 ] || exit 77; chown 12345 \"$D\"",
        "[ \"$(id -u)\" = 0 ] || exit 77; chown 12345 \"$D\"/*.so*",
        "mv \"$D\" ../elsewhere-$$; chmod 777 ../elsewhere-$$; ln -s ../elsewhere-$$ \"${D%/}\" 2>/dev/null || exit 77",
    ]);
    // In the current folder no library is ever looked for, whosever it is.
    let why = if place == "." { "true" } else { why };
    format!(
        "D='{place}'; mkdir -p \"$D\"; for n in libnvrtc.so libnvrtc.so.12 libnvrtc.so.13 libmpi.so libmpi.so.40 \
         libmpi.so.12 libmpich.so.12; do cp ../trap/trap.so \"$D/$n\"; done; chmod 755 . \"$D\"; {why}; "
    )
}

/// A library in the current folder or one above it, where others may write.
fn library(campaign: &mut Campaign<'_>, _trap: &Path) -> Result<(), String> {
    let place = place(campaign);
    let below = if campaign.random.below(2) == 0 { "" } else { "mkdir -p a/b; cd a/b; " };
    let environment = *campaign.random.of(&[
        "",
        "OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0 PMIX_RANK=0",
        "PMI_RANK=0 PMI_SIZE=1",
        "VIRTUAL_ENV=.",
        "CONDA_PREFIX=. PMI_RANK=0 PMI_SIZE=1",
    ]);
    let line = *campaign.random.of(&[
        "info",
        "run heat --size 8 --steps 1",
        "run heat --size 8 --steps 1 --device gpu",
        "sat none.npy",
    ]);
    let script = format!(
        "mkdir -p home; export TRAP=$PWD/mark HOME=$PWD/home; {place} W0=$W; {below} \
         env -u LD_LIBRARY_PATH -u VIRTUAL_ENV -u CONDA_PREFIX {environment} timeout 20 \"$W0\" {line}; \
         [ ! -e \"$TRAP\" ] || exit 9; \
         WARPWEFT_NVRTC=$OLDROOT/trap/trap.so \"$W0\" info > /dev/null 2>&1; [ -e \"$TRAP\" ] || exit 8; exit 0"
    );
    let root = campaign.folder.parent().unwrap_or(campaign.folder);
    let script = format!("OLDROOT='{}'; {script}", root.display());
    check_run(
        "a planted library was loaded",
        &Program::script(campaign.command, campaign.folder, &script).run(60),
    )
}

/// Tuning results in a folder that others may write.
fn cache(campaign: &mut Campaign<'_>, _trap: &Path) -> Result<(), String> {
    let why = *campaign.random.of(&[
        "chmod 777 c",
        "chmod 1777 c",
        "chmod 775 c",
        "chmod 757 c",
        "[ \"$(id -u)\" = 0 ] || exit 77; chown 12345 c",
    ]);
    let script = format!(
        "umask 022; cp -r ../trap/cache c; chmod 755 c; export WARPWEFT_CACHE=$PWD/c; \
         sed -i 's/\"tile_rows\": *[0-9]*/\"tile_rows\": 7/' c/tuning.json; \
         run() {{ \"$W\" run {TUNED} --steps 2 --json > out 2> err || exit 9; }}; \
         run; grep -q '\"tile_rows\":7[,}}]' out || exit 8; {why}; cp c/tuning.json before; \
         run; grep -q '\"tile_rows\":7[,}}]' out && exit 7; [ \"$(grep -c 'nothing is kept in' err)\" = 1 ] || exit 6; \
         \"$W\" tune {TUNED} --budget 0.1 > /dev/null 2>&1; cmp -s before c/tuning.json || exit 5; exit 0"
    );
    check_run(
        "an untrusted cache was used",
        &Program::script(campaign.command, campaign.folder, &script).run(60),
    )
}

/// 77 says that this machine lets nobody set the trap.
fn check_run(what: &str, ran: &Ran) -> Result<(), String> {
    let bug = ran.err.contains("bug in warpweft") || ran.err.contains("panicked");
    match matches!(ran.status, Some(0 | 77)) && !bug {
        true => Ok(()),
        false => Err(format!("{what}: {ran:?}")),
    }
}
