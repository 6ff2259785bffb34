//! Sequences from files.

mod fasta;
mod fastq;
mod lines;
mod record;

pub use fasta::{read, read_each};
pub use record::Record;
