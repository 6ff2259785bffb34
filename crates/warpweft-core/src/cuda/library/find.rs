//! Finds a library of NVIDIA's: in toolkits, the system, Python wheels. Loading it is not here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::Wanted;
use crate::error::Result;
use crate::grid::io::check_trusted;

/// Where an environment of Python has its packages.
const LIBRARIES: [&str; 3] = ["lib", "python3*", "site-packages"];

/// What a search depends on, so that a test can search a fake machine.
pub(super) struct Host<'a> {
    /// The environment.
    pub env: &'a dyn Fn(&str) -> Option<OsString>,
    /// The root of the file system.
    pub root: &'a Path,
    /// The current directory.
    pub current: &'a Path,
}

/// The library to load: the first in order of precedence. `None` if only the system's loader may find one.
///
/// # Errors
/// Its environment variable is set and no library is there.
pub(super) fn find(host: &Host, wanted: &Wanted) -> Result<Option<PathBuf>> {
    let newest = |folder: &Path| newest(folder, wanted.name);
    if let Some(named) = (host.env)(wanted.variable).filter(|named| !named.is_empty()) {
        let named = PathBuf::from(named);
        let found = if named.is_dir() { newest(&named) } else { None };
        return match found {
            Some(found) => Ok(Some(found)),
            None if named.is_file() => Ok(Some(named)),
            None => {
                let Wanted { variable, .. } = wanted;
                Err(wanted
                    .missing(&format!("{variable} is {}, where there is none", named.display())))
            }
        };
    }
    if let Some(found) = folders(host).iter().find_map(|folder| newest(folder)) {
        return Ok(Some(found));
    }
    Ok(below_current(host).find_map(|(above, folder)| {
        // The library too: a file that others may write is theirs, whatever its folder.
        newest(&folder).filter(|library| check_trusted(above, library).is_ok())
    }))
}

fn folders(host: &Host) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for toolkit in ["CUDA_HOME", "CUDA_PATH"].iter().filter_map(|name| (host.env)(name)) {
        folders.extend(toolkit_folders(Path::new(&toolkit)));
    }
    if let Some(paths) = (host.env)("LD_LIBRARY_PATH") {
        folders.extend(std::env::split_paths(&paths).filter(|path| path.is_absolute()));
    }
    folders.extend(loader_folders(host.root));
    let mut toolkits = expand(&host.root.join("usr/local"), &["cuda*"]);
    // Sorted by name: "cuda", "cuda-12.8", "cuda-13.0". The first is the user's choice.
    toolkits.sort_by_key(|path| {
        (path.file_name().is_some_and(|name| name != "cuda"), std::cmp::Reverse(path.clone()))
    });
    folders.extend(toolkits.iter().flat_map(|toolkit| toolkit_folders(toolkit)));
    for site in sites(host) {
        folders.extend(wheel_folders(&site));
    }
    folders
}

fn toolkit_folders(toolkit: &Path) -> Vec<PathBuf> {
    let mut folders = vec![toolkit.join("lib64"), toolkit.join("lib")];
    folders.extend(expand(toolkit, &["targets", "*", "lib"]));
    folders
}

/// The folders that the system's loader searches, by its configuration.
fn loader_folders(root: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let mut files = expand(&root.join("etc/ld.so.conf.d"), &["*"]);
    files.sort();
    for text in files.iter().filter_map(|file| std::fs::read_to_string(file).ok()) {
        let lines = text.lines().map(str::trim).filter(|line| line.starts_with('/'));
        folders.extend(lines.map(|line| root.join(&line[1..])));
    }
    folders.extend(expand(&root.join("usr/lib"), &["*-linux-gnu"]));
    folders.extend(["usr/lib64", "usr/lib", "usr/local/lib"].map(|name| root.join(name)));
    folders
}

/// Folders of Python packages.
fn sites(host: &Host) -> Vec<PathBuf> {
    let mut sites = Vec::new();
    for name in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
        if let Some(prefix) = (host.env)(name) {
            sites.extend(expand(Path::new(&prefix), &LIBRARIES));
        }
    }
    if let Some(home) = (host.env)("HOME").map(PathBuf::from) {
        sites.extend(expand(&home.join(".local"), &LIBRARIES));
        sites.extend(expand(
            &home.join(".pyenv/versions"),
            &["*", "lib", "python3*", "site-packages"],
        ));
    }
    for lib in ["usr/local/lib", "usr/lib"] {
        for packages in ["site-packages", "dist-packages"] {
            sites.extend(expand(&host.root.join(lib), &["python3*", packages]));
        }
    }
    sites
}

/// Folders in the current folder and above it, each with that one. Others may have put them there.
fn below_current<'h>(host: &'h Host<'_>) -> impl Iterator<Item = (&'h Path, PathBuf)> {
    host.current.ancestors().flat_map(|above| {
        let mut folders: Vec<_> = expand(&above.join(".venv"), &LIBRARIES)
            .iter()
            .flat_map(|site| wheel_folders(site))
            .collect();
        folders.extend(wheel_folders(&above.join("target/nvrtc")));
        folders.into_iter().map(move |folder| (above, folder))
    })
}

/// The folders of the library in NVIDIA's wheels, for CUDA 13 and later, and for 12.
fn wheel_folders(site: &Path) -> Vec<PathBuf> {
    let mut folders = expand(&site.join("nvidia"), &["cu*", "lib"]);
    folders.sort_by(|a, b| b.cmp(a));
    folders
}

/// The paths below `folder` that match `parts`, in which `*` matches any text.
fn expand(folder: &Path, parts: &[&str]) -> Vec<PathBuf> {
    let Some((part, rest)) = parts.split_first() else { return vec![folder.to_path_buf()] };
    let Some((before, after)) = part.split_once('*') else {
        let next = folder.join(part);
        return if next.exists() { expand(&next, rest) } else { Vec::new() };
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let matches = entries.filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.len() >= before.len() + after.len()
            && name.starts_with(before)
            && name.ends_with(after)
    });
    let mut found: Vec<_> = matches.map(|entry| entry.path()).collect();
    // The order in a directory depends on the file system; ours must not.
    found.sort_by(|a, b| b.cmp(a));
    found.iter().flat_map(|path| expand(path, rest)).collect()
}

/// The newest library `name` of a folder: `name.so` itself, or one with a version.
fn newest(folder: &Path, name: &str) -> Option<PathBuf> {
    let unversioned = format!("{name}.so");
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let versioned = entries.filter_map(|entry| {
        let name = entry.file_name();
        let version = name.to_str()?.strip_prefix(&unversioned)?;
        let mut numbers = Vec::new();
        for part in version.split('.').skip(1) {
            numbers.push(part.parse::<u32>().ok()?);
        }
        let whole = version.is_empty() || version.starts_with('.');
        (whole && entry.path().is_file()).then(|| (numbers, entry.path()))
    });
    versioned.max().map(|(_, path)| path)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::cuda::compile::NVRTC;

    fn machine(files: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "not a library").unwrap();
        }
        root
    }

    fn found(root: &Path, env: &[(&str, &str)], current: &str) -> Result<Option<PathBuf>> {
        let lookup = |name: &str| {
            let (_, value) = env.iter().find(|(key, _)| *key == name)?;
            Some(root.join(value).into_os_string())
        };
        let found = find(&Host { env: &lookup, root, current: &root.join(current) }, &NVRTC)?;
        Ok(found.map(|path| path.strip_prefix(root).unwrap().to_path_buf()))
    }

    const SYSTEM: &str = "usr/lib/x86_64-linux-gnu/libnvrtc.so.12";
    const TOOLKIT: &str = "usr/local/cuda-13.0/lib64/libnvrtc.so.13";
    const WHEEL: &str =
        "home/me/.local/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13";
    const OLD_WHEEL: &str =
        "venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12";
    const TARGET: &str = "code/target/nvrtc/nvidia/cu13/lib/libnvrtc.so.13";

    #[test]
    fn nearer_places_come_first() {
        let root = machine(&[SYSTEM, TOOLKIT, WHEEL, OLD_WHEEL, TARGET, "mine/libnvrtc.so.13"]);
        let home = ("HOME", "home/me");
        let at = |env: &[(&str, &str)]| found(root.path(), env, "code/crate").unwrap().unwrap();
        assert_eq!(at(&[home, ("WARPWEFT_NVRTC", "mine")]), Path::new("mine/libnvrtc.so.13"));
        assert_eq!(at(&[("WARPWEFT_NVRTC", WHEEL)]), Path::new(WHEEL));
        assert_eq!(at(&[home, ("CUDA_HOME", "usr/local/cuda-13.0")]), Path::new(TOOLKIT));
        assert_eq!(at(&[home]), Path::new(SYSTEM));
        fs::remove_file(root.path().join(SYSTEM)).unwrap();
        assert_eq!(at(&[home]), Path::new(TOOLKIT));
        fs::remove_file(root.path().join(TOOLKIT)).unwrap();
        assert_eq!(at(&[home, ("VIRTUAL_ENV", "venv")]), Path::new(OLD_WHEEL));
        assert_eq!(at(&[home]), Path::new(WHEEL));
        assert_eq!(at(&[]), Path::new(TARGET));
        // Where others may write, they may have put it.
        for folder in ["code", "code/target/nvrtc/nvidia"] {
            let path = root.path().join(folder);
            let mode = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            mode(0o777);
            assert_eq!(found(root.path(), &[], "code/crate").unwrap(), None, "{folder}");
            mode(0o755);
        }
        assert_eq!(at(&[]), Path::new(TARGET));
    }

    #[test]
    fn a_machine_without_one_has_none() {
        let root =
            machine(&["usr/lib64/libnvrtc-builtins.so.13.0", "usr/lib64/libnvrtc.alt.so.13"]);
        assert_eq!(found(root.path(), &[], "").unwrap(), None);
    }

    #[test]
    fn the_newest_of_a_folder_is_taken() {
        let root =
            machine(&["a/libnvrtc.so.9", "a/libnvrtc.so.13", "a/libnvrtc.so", "a/libnvrtc.sox"]);
        let path = found(root.path(), &[("WARPWEFT_NVRTC", "a")], "").unwrap().unwrap();
        assert_eq!(path, Path::new("a/libnvrtc.so.13"));
    }

    #[test]
    fn a_wrong_name_says_so_and_how_to_get_it() {
        let root = machine(&["empty/readme"]);
        let error = found(root.path(), &[("WARPWEFT_NVRTC", "empty")], "").unwrap_err();
        let text = error.to_string();
        assert!(text.contains("WARPWEFT_NVRTC is"), "{text}");
        assert!(text.contains("pip install nvidia-cuda-nvrtc"), "{text}");
    }
}
