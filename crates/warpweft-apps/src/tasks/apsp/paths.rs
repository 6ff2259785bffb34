//! Shortest paths from one source as a task: how far it reaches, or every distance.

use warpweft::error::Result;
use warpweft::farm::{
    Arithmetic, Characterisation, ChunkExecutor, ChunkOutputs, Grain, Level, Memory, OnGpu,
};
use warpweft::prelude::*;

use super::graph::Graph;
use super::search::Search;
use super::spread::{SPREAD_MOST, spread, too_far};
use super::tentative::Reach;

/// How sources are searched from. Changes time, never outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// On a core one at a time, by Dial's buckets or a radix heap; on a GPU many at once, by planes where weights,
    /// memory and what is asked for allow, else by sweeps.
    #[default]
    Auto,
    /// One at a time: on cores alone.
    Dial,
    /// On a GPU by sweeps over all vertices, 128 sources at once, or 32 whose distances are asked for: any weights.
    Batched,
    /// On a GPU by planes of bits, 2048 sources at once: weights from 1 to 255. The search takes one pass for each
    /// distance up to that of the farthest vertex. If rows of distances are requested, a core computes the rows that
    /// have a distance of 65,536 or more.
    Planes,
    /// One source at a time on GPUs: the algorithm of Crauser as kernels, which the paper measured. For comparison.
    Crauser,
}

impl Form {
    /// Whether there are shortest paths in `graph` by it.
    ///
    /// # Errors
    /// Planes for weights that are not 1 to 255.
    pub fn check(self, graph: &Graph) -> Result<()> {
        if self != Self::Planes {
            return Ok(());
        }
        let heaviest = graph.heaviest();
        let weights = (0..graph.vertices()).flat_map(|vertex| graph.edges(vertex));
        let lightest = weights.map(|edge| edge.weight).min().unwrap_or(1);
        if lightest == 0 || heaviest > WEIGHTS {
            let what = format!(
                "the form `planes` needs weights from 1 to {WEIGHTS}, but the graph has {lightest} to {heaviest}"
            );
            return Err(Error::spec(what, "take the form batched, or auto"));
        }
        Ok(())
    }
}

/// The longest edge of a graph whose planes are passed.
pub(super) const WEIGHTS: u32 = u8::MAX as u32;

/// How planes are laid out on a GPU. Changes time, never outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Words of a row that a lane of a warp owns, 1, 2 or 4: 1024 sources at once for each.
    pub words: u32,
    /// Blocks of 8 warps that an SM is to hold: the fewer, the more registers a thread has.
    pub blocks: u32,
    /// Rows that a thread waits for at the same time, 1 to 8.
    pub reads: u32,
}

impl Shape {
    /// Whether there is such a shape.
    ///
    /// # Errors
    /// Other words; no blocks or more than 8, which are 64 warps; no reads or more than 8.
    pub fn check(self) -> Result<()> {
        let all = 1..=8;
        if [1, 2, 4].contains(&self.words)
            && all.contains(&self.blocks)
            && all.contains(&self.reads)
        {
            return Ok(());
        }
        Err(Error::spec(
            format!("{self:?} of planes"),
            "give 1, 2 or 4 words, 1 to 8 blocks and 1 to 8 reads",
        ))
    }
}

/// What a task returns next to how far its source reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wants {
    /// Nothing.
    Reach,
    /// All distances.
    Distances,
    /// How many vertices are at each distance.
    Spread,
}

/// Shortest paths in a graph, from one source a task.
pub struct ShortestPaths<'a, O> {
    pub(super) graph: &'a Graph,
    pub(super) form: Form,
    /// Of planes, if not what fits.
    pub(super) shape: Option<Shape>,
    /// What is asked for.
    pub(super) wants: Wants,
    /// The largest distance that an output holds.
    pub(super) most: u32,
    /// Bytes of a distance in a row.
    pub(super) bytes: u32,
    /// Makes the output, of distances or counts if they are.
    pub(super) make: fn(Reach, Vec<u32>) -> O,
}

impl<'a> ShortestPaths<'a, Reach> {
    /// How far each source reaches.
    pub fn reach(graph: &'a Graph) -> Self {
        Self {
            graph,
            form: Form::Auto,
            shape: None,
            wants: Wants::Reach,
            most: u32::MAX,
            bytes: 4,
            make: |reach, _| reach,
        }
    }
}

impl<'a> ShortestPaths<'a, (Reach, Vec<u32>)> {
    /// How far each source reaches, and the distances of all vertices from it, [`u32::MAX`] where no path leads.
    pub fn distances(graph: &'a Graph) -> Self {
        Self::both(graph, Wants::Distances)
    }

    /// As [`ShortestPaths::distances`], for statistics of the rows: a source with a distance of [`SPREAD_MOST`] or more fails.
    pub fn counted(graph: &'a Graph) -> Self {
        Self { most: SPREAD_MOST - 1, ..Self::distances(graph) }
    }

    /// How far each source reaches, and how many vertices are at each distance from it, from 0 to the farthest.
    pub fn spread(graph: &'a Graph) -> Self {
        Self::both(graph, Wants::Spread)
    }

    fn both(graph: &'a Graph, wants: Wants) -> Self {
        Self {
            graph,
            form: Form::Auto,
            shape: None,
            wants,
            most: u32::MAX,
            bytes: 4,
            make: |reach, list| (reach, list),
        }
    }
}

impl<'a> ShortestPaths<'a, (Reach, Vec<u16>)> {
    /// How far each source reaches, and the distances in 16 bits, [`u16::MAX`] where no path leads: half the memory. A
    /// source with a distance of 65,535 or more fails.
    pub fn short_distances(graph: &'a Graph) -> Self {
        let make = |reach, row: Vec<u32>| {
            // Distances that don't fit were refused, so what is cut off is of vertices that no path leads to.
            (reach, row.into_iter().map(|distance| distance.min(u16::MAX.into()) as u16).collect())
        };
        let most = u32::from(u16::MAX) - 1;
        Self { graph, form: Form::Auto, shape: None, wants: Wants::Distances, most, bytes: 2, make }
    }
}

impl<O> ShortestPaths<'_, O> {
    /// What characterises the kernel that takes most of the time: it relaxes edges (TuCCompi, Table 2).
    pub const WORDS: Characterisation =
        Characterisation::new(Memory::Scatter, Arithmetic::Low, Level::High, Level::Low);
}

impl<O: Packed> ShortestPaths<'_, O> {
    /// In this form.
    pub fn by(self, form: Form) -> Self {
        Self { form, ..self }
    }

    /// With planes of this shape; without, of one that fits the device's memory.
    pub fn shaped(self, shape: Shape) -> Self {
        Self { shape: Some(shape), ..self }
    }

    /// The output of a search that is done.
    ///
    /// # Errors
    /// Distances that an output does not hold.
    fn output(&self, search: &Search, reach: Reach) -> Result<O, Failure> {
        let list = match self.wants {
            Wants::Reach => Vec::new(),
            Wants::Distances => search.distances().to_vec(),
            Wants::Spread => spread(reach, search.distances())?,
        };
        self.made(reach, list)
    }

    /// The output of these parts.
    ///
    /// # Errors
    /// Distances that an output does not hold.
    pub(super) fn made(&self, reach: Reach, list: Vec<u32>) -> Result<O, Failure> {
        match reach.farthest <= self.most {
            true => Ok((self.make)(reach, list)),
            false if self.bytes == 4 => Err(too_far(reach.farthest).into()),
            false => Err(format!(
                "a distance is {}, but 16 bits hold at most {}; use 32-bit distances",
                reach.farthest, self.most
            )
            .into()),
        }
    }
}

impl<O: Packed> Task for ShortestPaths<'_, O> {
    type Input = u32;
    type Output = O;

    fn on_core(&self, source: u32) -> Result<O, Failure> {
        let mut search = Search::new(self.graph)?;
        let reach = search.run(self.graph, source)?;
        self.output(&search, reach)
    }

    /// Tasks of a core share its workspace.
    fn on_core_chunks(&self) -> Option<Box<dyn ChunkExecutor<Self> + '_>> {
        Some(Box::new(Core { paths: self, search: None }))
    }

    fn on_gpu(&self) -> Option<&dyn OnGpu<Self>> {
        (self.form != Form::Dial).then_some(self as _)
    }
}

struct Core<'s, 'a, O> {
    paths: &'s ShortestPaths<'a, O>,
    search: Option<Search>,
}

impl<'a, O: Packed> ChunkExecutor<ShortestPaths<'a, O>> for Core<'_, 'a, O> {
    fn grain(&self) -> Grain {
        // Distances of a chunk wait in memory together.
        if self.paths.wants == Wants::Distances { Grain { of: 1, most: 1 } } else { Grain::ANY }
    }

    fn run(
        &mut self,
        sources: &[u32],
        outputs: &mut ChunkOutputs<'_, ShortestPaths<'a, O>>,
    ) -> Result<()> {
        let graph = self.paths.graph;
        let search = match &mut self.search {
            Some(search) => search,
            // Where it is used: its memory is this core's.
            none => none.insert(Search::new(graph)?),
        };
        for (k, &source) in sources.iter().enumerate() {
            let reach = search.run(graph, source);
            match reach.and_then(|reach| self.paths.output(search, reach)) {
                Ok(output) => outputs.done(k, &output),
                Err(why) => outputs.failed(k, &why),
            }
        }
        Ok(())
    }
}
