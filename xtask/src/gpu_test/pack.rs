//! `cargo xtask gpu-test --pack`: the test programs, the random functions, the command and the lab in
//! one archive, small enough to be carried, and a script that runs them.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{FUNCTIONS, OUT, RUNNER, build, generate, random_folder, setting_or_default};

/// The archive next to the script.
const ARCHIVE: &str = "pack.tar.gz";

/// What the script does before and after the programs. A program that hangs fails after ten
/// minutes; what libtest counted is added up at the end.
const HEAD: &str = r#"#!/usr/bin/env bash
# Runs the packed tests on this machine's GPUs; made by `cargo xtask gpu-test --pack`.
# usage: run [NAME]...  only the programs whose names begin so; `verify` and `sanitize` are two of them
here=$(cd "$(dirname "$0")" && pwd) || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
tar -xzf "$here/ARCHIVE" -C "$work" && cd "$work" || exit 1
export WARPWEFT_NEED_GPU=1 WARPWEFT_COMMAND="$work/warpweft" WARPWEFT_LAB="$work/warpweft-lab"
wanted=("$@")
program() {
  local name=$1 chosen=${#wanted[@]} start=$SECONDS
  shift
  for one in "${wanted[@]}"; do [[ $name == "$one"* ]] && chosen=0; done
  (( chosen == 0 )) || return 0
  echo "== $name"
  timeout "${WARPWEFT_TEST_TIMEOUT:-600}" "$@" || echo "== $name FAILED ($?)"
  echo "== $name took $((SECONDS - start)) s"
}
"#;
const TAIL: &str = r#"} 2>&1 | tee "$work/log"
awk '/^test result:/ { passed += $4; failed += $6; ignored += $8 } /^skipped: / { skipped++ }
  END { printf "%d passed, %d failed, %d ignored; %d of those passed skipped themselves\n", passed, failed, ignored, skipped }' "$work/log"
! grep -q '^== .* FAILED' "$work/log"
"#;

/// Puts the test programs, the random functions, the command and the lab into `to`, with a script `run`
/// that does what `gpu-test` does.
pub fn pack(root: &Path, to: &Path) -> Result<bool, String> {
    let programs = build(root)?;
    let folder = random_folder(root);
    if generate(&programs, &folder)?.failed > 0 {
        return Ok(false);
    }
    let failed = |error: std::io::Error| format!("packing into {}: {error}", to.display());
    let stage = root.join("target/gpu-test/pack");
    if stage.exists() {
        fs::remove_dir_all(&stage).map_err(failed)?;
    }
    fs::create_dir_all(&stage).map_err(failed)?;
    fs::create_dir_all(to).map_err(failed)?;
    let shards = copy_shards(&folder, &stage.join("random")).map_err(failed)?;
    let mut script = HEAD.replace("ARCHIVE", ARCHIVE);
    let functions = setting_or_default(FUNCTIONS);
    script.push_str(&format!("export {OUT}=\"$work/random\" {}={functions}\n{{\n", FUNCTIONS.0));
    let mut carried: Vec<_> = programs.carried().collect();
    carried.sort_by_key(|program| &program.name);
    for program in &carried {
        fs::copy(&program.path, stage.join(&program.name)).map_err(failed)?;
        strip(&stage.join(&program.name));
        let name = &program.name;
        // How many functions ran is worth seeing at once.
        let shown = if name.starts_with(RUNNER) { "--nocapture" } else { "--show-output" };
        script.push_str(&format!("program {name} ./{name} --include-ignored {shown}\n"));
    }
    for (command, name) in programs.commands.iter().zip(["warpweft", "warpweft-lab"]) {
        fs::copy(command, stage.join(name)).map_err(failed)?;
    }
    script.push_str("program verify ./warpweft verify --all\n");
    super::sanitize::put(&stage).map_err(failed)?;
    script.push_str("program sanitize bash ./sanitize.sh ./warpweft ./known.txt\n");
    script.push_str(TAIL);
    let archive = to.join(ARCHIVE);
    let tar = Command::new("tar").arg("-czf").arg(&archive).arg("-C").arg(&stage).arg(".").status();
    if !tar.map_err(failed)?.success() {
        return Err(format!("tar could not write {}", archive.display()));
    }
    fs::write(to.join("run"), script).map_err(failed)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(to.join("run"), fs::Permissions::from_mode(0o755)).map_err(failed)?;
    }
    println!(
        "{} test programs, {shards} shards of random functions, the command and the lab are in {}: {} MiB",
        carried.len(),
        to.display(),
        fs::metadata(&archive).map_err(failed)?.len() >> 20
    );
    Ok(true)
}

/// Takes the symbols out of a program, which are most of it; without `strip` it is only larger.
fn strip(program: &Path) {
    let _ = Command::new("strip").arg(program).status();
}

/// Copies what a GPU needs of every shard, which is little of what lies there; how many there are.
fn copy_shards(from: &Path, to: &Path) -> std::io::Result<usize> {
    fs::create_dir_all(to)?;
    let mut shards = 0;
    for shard in fs::read_dir(from)? {
        let shard = shard?;
        let to = to.join(shard.file_name());
        fs::create_dir_all(&to)?;
        for name in ["source.cu", "cases.bin"] {
            fs::copy(shard.path().join(name), to.join(name))?;
        }
        shards += 1;
    }
    Ok(shards)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_shard_only_what_a_gpu_needs_is_packed() {
        let root = std::env::temp_dir().join(format!("warpweft-shards-{}", std::process::id()));
        let (from, to) = (root.join("from"), root.join("to"));
        for shard in ["shard_0", "shard_1"] {
            fs::create_dir_all(from.join(shard)).unwrap();
            for name in ["source.cu", "cases.bin", "source.out"] {
                fs::write(from.join(shard).join(name), name).unwrap();
            }
        }
        assert_eq!(copy_shards(&from, &to).unwrap(), 2);
        assert_eq!(fs::read_dir(&to).unwrap().count(), 2);
        assert_eq!(fs::read_dir(to.join("shard_1")).unwrap().count(), 2);
        fs::remove_file(from.join("shard_0/cases.bin")).unwrap();
        assert!(copy_shards(&from, &to).is_err());
        fs::remove_dir_all(&root).unwrap();
    }
}
