//! Sequences from files.

mod fasta;
mod fastq;
mod lines;

pub use fasta::{Record, read, read_each};
