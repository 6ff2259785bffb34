//! Files that users name: arrays, pictures, sequences, scores of letters, graphs.

use std::path::Path;

use warpweft::grid::io::{Picture, npy, png};
use warpweft_apps::align::{self, Matrix};
use warpweft_apps::apsp::read;

use super::Kind;

/// Of every format.
pub fn kinds() -> Vec<Kind> {
    let series = |at: &Path| drop(npy::read::<f64, 1>(&at.join("a.npy")));
    let image = |at: &Path| drop(npy::read::<u8, 2>(&at.join("a.npy")));
    let picture = |at: &Path| drop(png::read(&at.join("a.png")));
    let letters = |at: &Path| drop(align::read(&at.join("a")));
    let graph = |at: &Path| drop(read(&at.join("a")));
    let scores = |at: &Path| drop(Matrix::named(at.join("a").to_str().expect("UTF-8")));
    let gzip = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 51, 80, 48, 84, 48, 230, 50, 84, 48, 80, 48, 226, 2, 0,
        235, 231, 182, 136, 12, 0, 0, 0,
    ];
    let mtx = "%%MatrixMarket matrix coordinate integer general\n% x\n3 3 3\n1 2 3\n2 3 4\n3 1 1\n";
    let png_of = |name, bytes: &[u8]| Kind {
        repairs: Some(sum_chunks),
        ..Kind::of(name, "a.png", bytes, picture)
    };
    vec![
        Kind::of("a series of NPY", "a.npy", npy_of("<f8", "(9,)", 72), series),
        Kind::of("an image of NPY", "a.npy", npy_of("|u1", "(5, 7)", 35), image),
        png_of("a grey PNG", GREY),
        png_of("a PNG in colour", &coloured()),
        Kind::of("FASTA", "a", ">a one\nACGTTGCA\nTTAG\n>b\nACGNT\n", letters),
        Kind::of("FASTQ", "a", "@a one\nACGTTG\n+\nIIHH!!\n@b\nACN\n+b\n~~I\n", letters),
        Kind::of("FASTA in gzip", "a", gzip, letters),
        Kind::of(
            "scores of letters",
            "a",
            "# x\n   A  C  *\nA  4 -1 -4\nC -1  9 -4\n* -4 -4  1\n",
            scores,
        ),
        Kind::of("edges", "a", "# edges\n0 1 3\n1 2 4\n2 0 1\n", graph),
        Kind::of("edges in gzip", "a", gzip, graph),
        Kind::of("Matrix Market", "a", mtx, graph),
        Kind::of("DIMACS", "a", "c x\np sp 3 3\na 1 2 3\na 2 3 4\na 3 1 1\n", graph),
    ]
}

/// An array as numpy saves it.
fn npy_of(descr: &str, shape: &str, bytes: usize) -> Vec<u8> {
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    file.extend(format!("{text:117}\n").bytes());
    file.extend((0..bytes).map(|k| k as u8));
    file
}

/// 2 x 2 pixels.
const GREY: &[u8] = &[
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 2, 0, 0, 0, 2, 8, 0, 0,
    0, 0, 87, 221, 82, 248, 0, 0, 0, 12, 73, 68, 65, 84, 120, 156, 99, 96, 248, 15, 132, 0, 6, 0,
    1, 255, 147, 209, 228, 137, 0, 0, 0, 0, 73, 69, 78, 68, 174, 66, 96, 130,
];

fn coloured() -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.png");
    let pixels = (0..40u8).map(|k| [k * 6, 255 - k, k % 7]).collect();
    png::write(&path, &Picture { width: 8, height: 5, pixels }).expect("a small picture");
    std::fs::read(path).expect("just written")
}

/// Makes the checksums of all chunks right (ISO 3309), so that decoders look into them.
fn sum_chunks(bytes: &mut [u8]) {
    let mut at = 8;
    while let Some(&[a, b, c, d]) = bytes.get(at..at + 4) {
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        let end = at + 8 + length;
        let Some(chunk) = bytes.get(at + 4..end) else { return };
        let one = |sum: u32| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 };
        let sum = !chunk
            .iter()
            .fold(!0, |sum, &byte| (0..8).fold(sum ^ u32::from(byte), |sum, _| one(sum)));
        let Some(place) = bytes.get_mut(end..end + 4) else { return };
        place.copy_from_slice(&sum.to_be_bytes());
        at = end + 4;
    }
}
