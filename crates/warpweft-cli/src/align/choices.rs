//! What is aligned with what and how: the scope, the scoring, the strands.

use std::sync::Arc;

use warpweft::{Error, Result};
use warpweft_apps::align::{Ends, Matrix, Scope, Scoring, Weights};

use super::Align;

/// A gap's first and further letters by the default of BLAST for proteins.
const MATRIX_GAP: [i32; 2] = [-12, -1];

/// An end of a sequence that may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum FreeEnd {
    QueryStart,
    QueryEnd,
    TargetStart,
    TargetEnd,
}

/// Which strands of a query are aligned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Strands {
    /// The letters as they are.
    #[default]
    Plus,
    /// Their reverse complement.
    Minus,
    /// The one that scores more.
    Both,
}

impl Strands {
    /// Whether the reverse complement is aligned, for each alignment that is computed.
    pub fn reversed(self) -> &'static [bool] {
        match self {
            Self::Plus => &[false],
            Self::Minus => &[true],
            Self::Both => &[false, true],
        }
    }
}

impl Align {
    /// Which alignments compete.
    pub fn scope(&self) -> Scope {
        let has = |end| self.free_ends.contains(&end);
        match (self.global, self.semi_global, self.overlap) {
            (true, ..) => Scope::Global,
            (_, true, _) => Scope::SEMI_GLOBAL,
            (_, _, true) => Scope::OVERLAP,
            _ if self.free_ends.is_empty() => Scope::Local,
            _ => Scope::Free(Ends {
                query: [has(FreeEnd::QueryStart), has(FreeEnd::QueryEnd)],
                target: [has(FreeEnd::TargetStart), has(FreeEnd::TargetEnd)],
            }),
        }
    }

    /// The scope in words: as JSON has it, and as an adverb.
    pub fn scope_name(&self) -> [&'static str; 2] {
        match self.scope() {
            Scope::Local => ["local", "locally"],
            Scope::Global => ["global", "globally"],
            Scope::SEMI_GLOBAL => ["semi-global", "semi-globally"],
            Scope::OVERLAP => ["overlap", "with all ends free"],
            Scope::Free(_) => ["free-ends", "with free ends"],
        }
    }

    /// What pairs of letters and gaps score. Gap scores are costs, whatever their sign.
    ///
    /// # Errors
    /// A matrix that is none.
    pub fn scoring(&self) -> Result<Scoring> {
        let default = if self.matrix.is_some() { MATRIX_GAP } else { [-1; 2] };
        let given = [self.gap_open, self.gap_extend].map(|given| given.or(self.gap));
        let [open, extend] = [0, 1]
            .map(|which| given[which].unwrap_or(default[which]).saturating_abs().saturating_neg());
        let Some(name) = &self.matrix else {
            let Self { matching, mismatch, .. } = *self;
            return Ok(Weights { matching, mismatch, open, extend }.into());
        };
        Ok(Scoring::by_matrix(Arc::new(Matrix::named(name)?), open, extend))
    }

    /// Refuses options that have no meaning together.
    pub fn check(&self) -> Result<()> {
        if self.matrix.is_some() && self.strand != Strands::Plus {
            return Err(Error::spec(
                "the other strand of letters that a matrix scores",
                "leave out --strand, which is for nucleotides, or --matrix",
            ));
        }
        if self.batch && self.top.is_some() {
            return Err(Error::spec(
                "--top with --batch, which aligns each query with one target",
                "leave one of them out",
            ));
        }
        if self.checkpoint.is_some() && (self.top.is_some() || self.strand == Strands::Both) {
            return Err(Error::spec(
                "--checkpoint of alignments that are chosen by their scores",
                "leave out --top and --strand both, or --checkpoint",
            ));
        }
        Ok(())
    }
}
