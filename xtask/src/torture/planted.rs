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
        let (kind, outcome) = match next % 3 {
            0 => ("caches that others may write", cache(campaign)),
            1 => ("compilers that others may write", compiler(campaign)),
            _ => ("libraries of MPI in the current folder", mpi(campaign)),
        };
        outcome.map(|()| kind.into())
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

/// The compiler's library in the current folder or one above it: loaded while the place is this user's own, and not once
/// others may write there. The first shows that the command looks there at all.
fn compiler(campaign: &mut Campaign<'_>) -> Result<(), String> {
    let random = &mut campaign.random;
    let wheel = *random.of(&["cu13", "cu12", "cuda_nvrtc"]);
    let above = *random.of(&[".venv/lib/python3.12/site-packages", "target/nvrtc"]);
    let name = *random.of(&["libnvrtc.so", "libnvrtc.so.12", "libnvrtc.so.13"]);
    let below = *random.of(&[".", "a", "a/b"]);
    let why = *random.of(&[
        "chmod 777 \"$D\"",
        "chmod 775 .",
        "chmod 1777 .",
        "chmod 757 .",
        "chmod 666 \"$D/$N\"",
        "chmod 664 \"$D/$N\"",
        "[ \"$(id -u)\" = 0 ] || exit 77; chown 12345 \"$D\"",
        "[ \"$(id -u)\" = 0 ] || exit 77; chown 12345 \"$D/$N\"",
        "mkdir ../elsewhere; mv \"$D\" ../elsewhere/lib; chmod 777 ../elsewhere/lib; \
         ln -s \"$(cd ..; pwd)/elsewhere/lib\" \"$D\"; [ -e \"$D/$N\" ] || exit 7",
        "mkdir ../elsewhere; mv \"$D/$N\" ../elsewhere/; chmod 777 ../elsewhere; \
         ln -s \"$(cd ..; pwd)/elsewhere/$N\" \"$D/$N\"; [ -e \"$D/$N\" ] || exit 7",
    ]);
    let script = format!(
        "umask 022; rm -rf ../elsewhere; D='{above}/nvidia/{wheel}/lib'; N={name}; mkdir -p \"$D\" home '{below}'; \
         cp ../trap/trap.so \"$D/$N\"; chmod 755 . \"$D\"; chmod 644 \"$D/$N\"; \
         export TRAP=$PWD/mark HOME=$PWD/home; unset LD_LIBRARY_PATH VIRTUAL_ENV CONDA_PREFIX WARPWEFT_NVRTC; \
         look() {{ (cd '{below}'; \"$W\" info > /dev/null 2>&1); [ -e mark ]; }}; \
         look || exit 8; rm mark; {why}; look && exit 9; exit 0"
    );
    check_run(
        "the compiler's library",
        &Program::script(campaign.command, campaign.folder, &script).run(60),
    )
}

/// Libraries of MPI in the current folder: loaded if `LD_LIBRARY_PATH` names it, and not otherwise.
fn mpi(campaign: &mut Campaign<'_>) -> Result<(), String> {
    let environment = *campaign.random.of(&[
        "OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0",
        "PMI_SIZE=2 PMI_RANK=0",
        "PMIX_RANK=0 SLURM_NTASKS=2",
    ]);
    let active = *campaign.random.of(&["", "VIRTUAL_ENV=.", "CONDA_PREFIX=."]);
    let script = format!(
        "mkdir lib; for n in libmpi.so libmpi.so.40 libmpi.so.12 libmpich.so libmpich.so.12; do \
         cp ../trap/trap.so $n; cp ../trap/trap.so lib/$n; done; export TRAP=$PWD/mark; \
         unset LD_LIBRARY_PATH VIRTUAL_ENV CONDA_PREFIX WARPWEFT_MPI; \
         join() {{ env {environment} \"$@\" timeout 20 \"$W\" run heat --size 8 --steps 1 --device cpu > /dev/null 2>&1; \
         [ -e mark ]; }}; \
         join LD_LIBRARY_PATH=$PWD || exit 8; rm mark; join {active} && exit 9; exit 0"
    );
    check_run(
        "a library of MPI",
        &Program::script(campaign.command, campaign.folder, &script).run(60),
    )
}

/// Tuning results in a folder that others may write.
fn cache(campaign: &mut Campaign<'_>) -> Result<(), String> {
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

/// 77 says that this user can't set the trap, 8 that the command did not even look there.
fn check_run(what: &str, ran: &Ran) -> Result<(), String> {
    let bug = ran.err.contains("bug in warpweft") || ran.err.contains("panicked");
    match matches!(ran.status, Some(0 | 77)) && !bug {
        true => Ok(()),
        false => Err(format!("{what}: {ran:?}")),
    }
}
