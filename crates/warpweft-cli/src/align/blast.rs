//! BLAST's tabular format (`-outfmt 6`), and the statistics of its last two columns.

use std::io::{self, Write};

use warpweft_apps::align::{Operation, Scope, Scoring, Weights};

use super::pair::{Named, Pair};

/// Lambda and K of local alignments with gaps, as NCBI BLAST prints them for its default scores.
struct Statistics {
    lambda: f64,
    k: f64,
}

impl Statistics {
    /// Those of local alignments by `scoring`, if BLAST has some of it: proteins by BLOSUM62, gap 11 and 1 a letter; nucleotides by 2 and
    /// -3, gap 5 and 2 a letter. Its first letter of a gap costs both.
    fn of(scoring: &Scoring, scope: Scope) -> Option<Self> {
        if scope != Scope::Local {
            return None;
        }
        let Weights { matching, mismatch, open, extend } = scoring.weights();
        match scoring.matrix() {
            Some(matrix) if matrix.name() == "BLOSUM62" && [open, extend] == [-12, -1] => {
                Some(Self { lambda: 0.267, k: 0.041 })
            }
            None if [matching, mismatch, open, extend] == [2, -3, -7, -2] => {
                Some(Self { lambda: 0.625, k: 0.41 })
            }
            _ => None,
        }
    }

    /// How many alignments of that score chance brings about where `letters` letters are compared with as many as
    /// `all`; and the score in bits.
    fn rated(&self, score: i32, letters: f64, all: f64) -> [f64; 2] {
        let nats = self.lambda * f64::from(score) - self.k.ln();
        [letters * all * (-nats).exp(), nats / std::f64::consts::LN_2]
    }
}

/// A line an alignment: both names, identity in percent, columns, mismatches, gaps, first and last letter of the query
/// and of the target, counted from 1, expected number of such alignments by chance, score in bits. The target's places
/// of a reverse complement are in falling order.
pub fn table(
    to: &mut dyn Write,
    pairs: &[Pair<'_>],
    targets: &[Named],
    (scoring, scope): (&Scoring, Scope),
) -> io::Result<()> {
    let statistics = Statistics::of(scoring, scope);
    let all: usize = targets.iter().map(|target| target.sequence.len()).sum();
    for pair @ Pair { query, target, alignment, .. } in pairs {
        let Some(path) = pair.hit() else { continue };
        let letters = query.sequence.len() as f64;
        let [query_start, query_end] = pair.query_range(path);
        let mut places = [path.target_start + 1, alignment.target_end];
        if pair.minus {
            places.reverse();
        }
        let [expected, bits] = match &statistics {
            None => ["nan", "nan"].map(String::from),
            Some(statistics) => {
                let [expected, bits] = statistics.rated(alignment.score, letters, all as f64);
                [format!("{expected:.2e}"), format!("{bits:.1}")]
            }
        };
        writeln!(
            to,
            "{}\t{}\t{:.3}\t{}\t{}\t{}\t{}\t{query_end}\t{}\t{}\t{expected}\t{bits}",
            query.name,
            target.name,
            100.0 * path.identity(),
            path.columns(),
            path.count(Operation::Different),
            path.gaps()[0],
            query_start + 1,
            places[0],
            places[1],
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A raw score of 100 by BLOSUM62 is 43.1 bits in reports of BLAST.
    #[test]
    fn bits_are_those_that_blast_prints() {
        let statistics = Statistics { lambda: 0.267, k: 0.041 };
        let [expected, bits] = statistics.rated(100, 250.0, 1e6);
        assert_eq!(format!("{bits:.1}"), "43.1");
        let by_bits = 250.0 * 1e6 * 2f64.powf(-bits);
        assert!((expected / by_bits - 1.0).abs() < 1e-9, "{expected} {by_bits}");
    }
}
