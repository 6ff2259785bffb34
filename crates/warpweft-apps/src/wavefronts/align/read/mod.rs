//! Sequences from files.

mod fasta;
mod fastq;

pub use fasta::{Record, read};
