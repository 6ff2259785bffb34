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
    let gpu = Path::new("/dev/nvidiactl").exists();
    let mut next = 0;
    campaign.until_end(|campaign| {
        next += 1;
        let (kind, outcome) = match next % if gpu { 4 } else { 3 } {
            3 => ("compiled kernels that others may write", kernels(campaign)),
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

/// Tuning results in a folder, or in a file, that others may write.
fn cache(campaign: &mut Campaign<'_>) -> Result<(), String> {
    let (why, file) = *campaign.random.of(&[
        ("chmod 777 c", false),
        ("chmod 1777 c", false),
        ("chmod 775 c", false),
        ("chmod 757 c", false),
        ("[ \"$(id -u)\" = 0 ] || exit 77; chown 12345 c", false),
        ("chmod 666 c/tuning.json", true),
        ("chmod 664 c/tuning.json", true),
        ("[ \"$(id -u)\" = 0 ] || exit 77; chown 12345 c/tuning.json", true),
    ]);
    // A folder is left alone; a file is replaced, and then used again.
    let (said, later) = match file {
        false => ("nothing is kept in", "cmp -s before c/tuning.json || exit 5"),
        true => (
            "are not used: ",
            "cmp -s before c/tuning.json && exit 5; [ \"$(stat -c %a%u c/tuning.json)\" = 644$(id -u) ] || exit 4",
        ),
    };
    let script = format!(
        "umask 022; cp -r ../trap/cache c; chmod 755 c; export WARPWEFT_CACHE=$PWD/c; \
         sed -i 's/\"tile_rows\": *[0-9]*/\"tile_rows\": 7/' c/tuning.json; \
         run() {{ \"$W\" run {TUNED} --steps 2 --json > out 2> err || exit 9; }}; \
         run; grep -q '\"tile_rows\":7[,}}]' out || exit 8; {why}; cp c/tuning.json before; \
         run; grep -q '\"tile_rows\":7[,}}]' out && exit 7; [ \"$(grep -c '{said}' err)\" = 1 ] || exit 6; \
         \"$W\" tune {TUNED} --budget 1 > /dev/null 2>&1; {later}; exit 0"
    );
    check_run(
        "an untrusted cache was used",
        &Program::script(campaign.command, campaign.folder, &script).run(60),
    )
}

/// Compiled kernels of a cache that are no machine code: handed to the driver, which refuses them, while the place is this
/// user's own, and not once others may write there.
fn kernels(campaign: &mut Campaign<'_>) -> Result<(), String> {
    let why = *campaign.random.of(&[
        "chmod 777 c",
        "chmod 775 c/cubin",
        "chmod 757 c/cubin",
        "chmod 666 c/cubin/*.cubin",
        "chmod 664 c/cubin/*.cubin",
        "[ \"$(id -u)\" = 0 ] || exit 77; chown 12345 c/cubin",
        "[ \"$(id -u)\" = 0 ] || exit 77; chown 12345 c/cubin/*.cubin",
    ]);
    // As the command writes an entry: its first bytes, the SHA-256 of what follows, and that.
    let plant = "import glob, hashlib\nfor path in glob.glob('c/cubin/*.cubin'):\n  \
                 body = b'planted' * 99\n  \
                 open(path, 'wb').write(b'WWCUBIN1' + hashlib.sha256(body).digest() + body)";
    let script = format!(
        "umask 022; mkdir c; cp ../trap/cache/probe.json c/ 2> /dev/null; export WARPWEFT_CACHE=$PWD/c; \
         run() {{ \"$W\" run heat --device gpu --size 32 --steps 2 --dtype f32 > out 2> err; }}; \
         plant() {{ printf \"{plant}\" | python3 -; }}; \
         run || exit 9; ls c/cubin/*.cubin > /dev/null || exit 8; plant || exit 77; \
         run && exit 8; plant; {why}; run || exit 7; grep -q passed out || exit 6; \
         grep -q 'written by other users\\|belongs to another user' err out || exit 5; exit 0"
    );
    check_run(
        "a planted kernel",
        &Program::script(campaign.command, campaign.folder, &script).run(120),
    )
}

/// 77 says that this user can't set the trap, 8 that the command did not even look there.
fn check_run(what: &str, ran: &Ran) -> Result<(), String> {
    let bug = ran.err.contains("bug in warpweft") || ran.err.contains("panicked");
    match matches!(ran.status, Some(0 | 77)) && !bug {
        true => Ok(()),
        false if ran.status.is_none() => Err(format!("it did not end in time: {ran:?}")),
        false => Err(format!("{what}: {ran:?}")),
    }
}
