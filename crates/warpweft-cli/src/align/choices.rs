//! What is aligned with what and how: the scope, the scoring, the strands.

use std::num::NonZero;
use std::sync::Arc;

use warpweft::run::Target;
use warpweft::{Error, Result};
use warpweft_apps::align::{Ends, Matrix, Scope, Scoring, Sequence, Weights};

use super::{Align, input};

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
            // Both sequences begin with the alignment.
            _ if self.x_drop.is_some() => Scope::Global,
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
            _ if self.x_drop.is_some() => ["extension", "from their first letters"],
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
            let weights = Weights { matching, mismatch, open, extend };
            return Ok(Scoring::from(weights).within(self.band));
        };
        let matrix = Arc::new(Matrix::named(name)?);
        if self.strand != Strands::Plus && matrix.complements().is_none() {
            return Err(Error::spec(
                format!("--strand with --matrix {name}, whose letters have no complements"),
                "leave out --strand, or take a matrix of nucleotides, such as NUC44",
            ));
        }
        Ok(Scoring::by_matrix(matrix, open, extend).within(self.band))
    }

    /// Where it runs and how it tells.
    pub fn place(&self) -> (Target, Option<usize>, bool) {
        (self.device, self.threads.map(NonZero::get), self.json)
    }

    /// The first query, the first target and the scores, of a run whose score is tuned.
    ///
    /// # Errors
    /// As a run's; an option that says what to do with a result.
    pub fn tunable(&self) -> Result<(Sequence, Sequence, Scoring)> {
        self.check()?;
        let given = [
            ("--output", !self.output.is_empty()),
            ("--plot", self.plot.is_some()),
            ("--checkpoint", self.checkpoint.is_some()),
            ("--top", self.top.is_some()),
            ("--best", self.best.is_some()),
            ("--x-drop", self.x_drop.is_some()),
            ("--batch", self.batch),
            ("--strand", self.strand != Strands::Plus),
        ];
        if let Some((option, _)) = given.into_iter().find(|(_, given)| *given) {
            let what =
                format!("{option} has no meaning for `tune align`, which only scores one pair");
            return Err(Error::spec(what, format!("leave {option} out")));
        }
        let scoring = self.scoring()?;
        let first = |path| {
            let all = input::sequences(path, &scoring, false, self.skip_invalid)?;
            let none = || Error::file(path, "has no record", "give a file with a sequence");
            all.into_iter().flatten().next().map(|named| named.sequence).ok_or_else(none)
        };
        let (query, target) = (first(&self.query)?, first(&self.target)?);
        Ok((query, target, scoring))
    }

    /// Refuses options that have no meaning together.
    pub fn check(&self) -> Result<()> {
        if self.x_drop.is_some() && !matches!(self.device, Target::Auto | Target::Cpu) {
            let what = format!("--x-drop does not run on --device {}", self.device);
            return Err(Error::spec(what, "leave out --device: --x-drop runs on the cores"));
        }
        if self.batch && self.top.is_some() {
            return Err(Error::spec(
                "--top with --batch, which aligns each query with one target",
                "leave one of them out",
            ));
        }
        if self.checkpoint.is_some() && (self.top.is_some() || self.strand == Strands::Both) {
            return Err(Error::spec(
                "--checkpoint does not work with --top or --strand both",
                "leave out --top and --strand both, or --checkpoint",
            ));
        }
        Ok(())
    }
}
