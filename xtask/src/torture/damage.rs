//! States and inputs with changed, missing and added bytes: refused with an error or read as what they are, soon and
//! without a panic. A damaged state never leads to other bytes.

use std::path::{Path, PathBuf};

use super::program::Program;
use super::{Campaign, Count, Random};

/// Seconds that a refusal may take.
const SOON: f64 = 5.0;

/// A checkpoint and a journal, resumed after a file of theirs was damaged.
pub fn states(campaign: &mut Campaign<'_>) -> Count {
    const STATES: [(&str, &str); 2] = [
        (
            "run heat --device cpu --threads 1 --size 12 --steps 40 --seed 7 --output a.npy --checkpoint kept --checkpoint-every 10",
            "a.npy",
        ),
        (
            "apsp random:300 --device cpu --threads 1 --check 0 --output a.csv --journal kept",
            "a.csv",
        ),
    ];
    campaign.until_end(|campaign| {
        let (line, saves) = *campaign.random.of(&STATES);
        Program::of(campaign.command, campaign.folder, line).run(30);
        let result = campaign.folder.join(saves);
        let whole = std::fs::read(&result).map_err(|error| format!("{line}: {error}"))?;
        std::fs::remove_file(&result).map_err(|error| error.to_string())?;
        let mut files = Vec::new();
        all(&campaign.folder.join("kept"), &mut files);
        files.sort();
        let file = campaign.random.of(&files).clone();
        let what = damage(&file, &mut campaign.random);
        let ran =
            Program::of(campaign.command, campaign.folder, &format!("{line} --resume")).run(30);
        ran.ended(SOON).map_err(|error| format!("{what} in {}: {error}", file.display()))?;
        match std::fs::read(&result) {
            Ok(bytes) if bytes != whole => {
                Err(format!("{what} in {}: other bytes", file.display()))
            }
            Err(_) if ran.status == Some(0) => {
                Err(format!("{what} in {}: nothing", file.display()))
            }
            _ => Ok(line.split_whitespace().next().unwrap_or_default().into()),
        }
    })
}

/// Every format that is read.
pub fn inputs(campaign: &mut Campaign<'_>) -> Count {
    let cpu = "--device cpu --threads 1";
    let gzip = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 51, 80, 48, 84, 48, 230, 50, 84, 48, 80, 48, 226, 2, 0,
        235, 231, 182, 136, 12, 0, 0, 0,
    ];
    let graph = "%%MatrixMarket matrix coordinate integer general\n3 3 3\n1 2 3\n2 3 4\n3 1 1\n";
    let inputs: [(&str, Vec<u8>, String); 7] = [
        ("a.npy", npy(&[1.0, 2.0, 5.0, 3.0]), format!("dtw a.npy a.npy {cpu}")),
        ("a.png", png(), format!("sat a.png {cpu}")),
        ("a.fa", b">a one\nACGTTGCA\n>b\nACGNT\n".to_vec(), format!("align a.fa a.fa {cpu}")),
        ("a.txt", b"# edges\n0 1 3\n1 2 4\n2 0 1\n".to_vec(), format!("apsp a.txt {cpu}")),
        ("a.gz", gzip.to_vec(), format!("apsp a.gz {cpu}")),
        ("a.mtx", graph.into(), format!("apsp a.mtx {cpu}")),
        (
            "a.gr",
            b"c x\np sp 3 3\na 1 2 3\na 2 3 4\na 3 1 1\n".to_vec(),
            format!("apsp a.gr {cpu}"),
        ),
    ];
    campaign.until_end(|campaign| {
        let (name, bytes, line) = campaign.random.of(&inputs).clone();
        let path = campaign.folder.join(name);
        std::fs::write(&path, bytes).map_err(|error| error.to_string())?;
        let what = damage(&path, &mut campaign.random);
        let ran = Program::of(campaign.command, campaign.folder, &line).run(30);
        ran.ended(SOON).map_err(|error| format!("{name}, {what}: {error}"))?;
        ran.within(64 << 10).map_err(|error| format!("{name}, {what}: {error}"))?;
        Ok(name.into())
    })
}

/// Changes the file; how.
fn damage(path: &Path, random: &mut Random) -> String {
    let mut bytes = std::fs::read(path).unwrap_or_default();
    let at = random.below(bytes.len() as u64) as usize;
    let what = match random.below(6) {
        0 if !bytes.is_empty() => {
            bytes[at] ^= 1 << random.below(8);
            format!("a bit of byte {at}")
        }
        1 => {
            bytes.truncate(at);
            format!("cut to {at} bytes")
        }
        2 => {
            let more = (0..1 + random.below(40)).map(|_| random.below(256) as u8);
            bytes.splice(at..at, more.collect::<Vec<_>>());
            format!("bytes put in at {at}")
        }
        3 => {
            let end = (at + 1 + random.below(20) as usize).min(bytes.len());
            bytes.drain(at..end);
            format!("bytes {at}..{end} taken out")
        }
        4 => {
            let number = random.of(&["999999999999", "-1", "4294967295", "nan", "1e308", "0"]);
            bytes.splice(at..at, number.bytes());
            format!("{number} put in at {at}")
        }
        _ => {
            let _ = std::fs::remove_file(path);
            #[cfg(unix)]
            let _ = std::os::unix::fs::symlink("/dev/zero", path);
            return "a link to /dev/zero".into();
        }
    };
    let _ = std::fs::write(path, bytes);
    what
}

fn all(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => all(&path, files),
            false => files.push(path),
        }
    }
}

/// A series as numpy saves it.
pub fn npy(values: &[f64]) -> Vec<u8> {
    let text =
        format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({},), }}", values.len());
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(format!("{text:117}\n").bytes());
    values.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
    bytes
}

/// A grey picture of 2 x 2 pixels.
fn png() -> Vec<u8> {
    vec![
        137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 2, 0, 0, 0, 2, 8, 0,
        0, 0, 0, 87, 221, 82, 248, 0, 0, 0, 12, 73, 68, 65, 84, 120, 156, 99, 96, 248, 15, 132, 0,
        6, 0, 1, 255, 147, 209, 228, 137, 0, 0, 0, 0, 73, 69, 78, 68, 174, 66, 96, 130,
    ]
}
