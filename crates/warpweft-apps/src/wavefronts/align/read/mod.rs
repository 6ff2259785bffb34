//! Sequences from files.

mod fasta;
mod fastq;
mod lines;
mod record;
mod stream;

pub use fasta::{read, read_each};
pub use record::Record;
pub use stream::Records;
