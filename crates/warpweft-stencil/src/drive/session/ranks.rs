//! A session over ranks: each has its subdomain, on cores or a GPU, and all make the same calls. Ghost zones are brought up to date before
//! cells are computed. What a call returns is the same on every rank.

use super::{RawSession, over};
use crate::drive::cut::distribution::Distribution;
use crate::drive::cut::feasible::check_depth;
use crate::drive::devices::Prepared;
use crate::drive::ranks::count::Ranks;
use crate::drive::start::Start;
use crate::drive::subdomain::LocalSubdomain;
use crate::exchange::{Cells, dense_rows, halo_messages};
use crate::plan::Region;
use crate::plan::halo::{Margin, Reach, footprints, widen};
use crate::run::Run;
use crate::spec::Spec;
use crate::spec::fingerprint::digest;
use crate::spec::reduction::{Reduce, Reduction};
use crate::spec::stage::StageList;
use warpweft_core::cluster::{
    Transport, agree_on, agree_on_each, all_fine, broadcast, gather, placement,
};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{Axes, RawVolume, across};
use warpweft_core::machine::Machine;
use warpweft_core::memory::{filled, room};
use warpweft_core::run::Target;

/// How deep ghost zones must be for one step of `stages`.
pub(super) fn margin(spec: &Spec, stages: &StageList) -> Margin {
    Reach::new(spec.rank(), &footprints(stages), spec.cell.len(), 1).deepest()
}

/// Bytes that all ranks have of all others' cells at a time.
const PIECE: usize = 1 << 24;

/// This rank's subdomain, on cores of its own or on a GPU that was named.
///
/// # Errors
/// Ranks that mean different sessions; subdomains smaller than a ghost zone; what fails on any rank.
pub(super) fn made<'m>(
    spec: &Spec,
    volume: &RawVolume,
    machine: &'m Machine,
    run: &Run<'_>,
    net: &dyn Transport,
) -> Result<(Distribution, (LocalSubdomain, Prepared<'m>))> {
    let extents = volume.extents();
    let grid = run.settings.ranks.and_then(|ranks| ranks.grid);
    let own = [
        ("a grid of ranks", grid.map_or("none".into(), |grid| across(&grid))),
        ("an initial state with the hash", format!("{:016x}", digest(volume))),
    ];
    agree_on_each(net, &[&spec.common(extents, run)[..], &own].concat())?;
    // Up to `placement` all ranks fail alike.
    let cut = spec.distribution(extents, &Ranks { count: net.ranks(), grid, depth: Some(1) })?;
    spec.check_points_of_parts()?;
    check(spec, &spec.stages, &cut)?;
    let placement = placement(net, &machine.cpu.cores)?;
    let target = if run.target == Target::Auto { Target::Cpu } else { run.target };
    let run = Run { target, ..run.clone() };
    let (partition, rank) = (&cut.partition, net.rank());
    let mine = spec.device_of(&cut, machine, &placement, (&run, u64::MAX)).and_then(|device| {
        let zone = partition.grown(rank, &margin(spec, &spec.stages));
        let start = Start::Volume(volume);
        let local = LocalSubdomain::new(spec, (partition, rank), zone, start, &*device.build, 0)?;
        Ok((device, local))
    });
    let (device, local) = all_fine(net, mine)?;
    let prepared = Prepared {
        build: device.build,
        devices: vec![format!("rank {rank} of {} on {}", net.ranks(), device.label)],
        policy: device.policy,
        depth: 1,
        bandwidth: device.bandwidth.map(|mine| mine * net.ranks() as f64),
        known_rate: None,
        cells_a_second: 1e9,
        notes: device.notes,
    };
    Ok((cut, (local, prepared)))
}

/// What this rank made, unless one of the others that there are failed to.
pub(crate) fn agreed<T>(net: Option<&dyn Transport>, mine: Result<T>) -> Result<T> {
    match net {
        Some(net) => all_fine(net, mine),
        None => mine,
    }
}

/// Whether neighbours own the ghost cells that one step of `stages` reads.
fn check(spec: &Spec, stages: &StageList, cut: &Distribution) -> Result<()> {
    check_depth(&cut.partition, &spec.boundaries, &footprints(stages), spec.cell.len(), 1)
}

/// All ranks make the same call of a session, which `name` tells in words. Rank 0 makes of what each gives what all get.
///
/// # Errors
/// On all ranks, which go on: calls that are not the same, and what `made` fails with. As [`Transport::receive`].
fn together(
    net: &dyn Transport,
    name: &str,
    given: &[u8],
    made: impl FnOnce(&[&[u8]]) -> Result<Vec<u8>>,
) -> Result<Vec<u8>> {
    let all = gather(net, [name.as_bytes(), &[END], given].concat())?;
    let of_all = match net.rank() {
        0 => same(name, &all).and_then(|all| made(&all)),
        _ => Ok(Vec::new()),
    };
    agree_on(net, of_all)
}

/// Stands after the name of a call.
const END: u8 = 0;

/// What each rank gives to a call that all name alike.
fn same<'a>(name: &str, all: &'a [Vec<u8>]) -> Result<Vec<&'a [u8]>> {
    let given = |(rank, message): (usize, &'a Vec<u8>)| {
        let mut parts = message.splitn(2, |&byte| byte == END);
        let theirs = parts.next().unwrap_or_default();
        if theirs == name.as_bytes() {
            return Ok(parts.next().unwrap_or_default());
        }
        let theirs = String::from_utf8_lossy(theirs);
        Err(Error::spec(
            format!("rank {rank} makes the call `{theirs}` of a session, and rank 0 `{name}`"),
            "make the same calls on all ranks: where ranks could decide differently, e.g. by a clock, let rank 0 decide",
        ))
    };
    all.iter().enumerate().map(given).collect()
}

/// What the cells of all ranks come to, of which `own` is this rank's part: exact sums and extremes do not depend on
/// the order.
///
/// # Errors
/// On all ranks: other calls than this one, called `name`. As [`Transport::receive`].
pub(super) fn reduced(
    net: &dyn Transport,
    name: &str,
    what: Reduce,
    own: &Reduction,
) -> Result<f64> {
    let own: Vec<u8> = own.words().flat_map(u64::to_le_bytes).collect();
    let value = together(net, name, &own, |all| {
        let mut total = Reduction::default();
        for bytes in all {
            if bytes.len() != own.len() {
                return Err(other_length());
            }
            let words = bytes.as_chunks::<8>().0.iter().copied().map(u64::from_le_bytes);
            total.merge(&Reduction::from_words(&words.collect::<Vec<_>>()));
        }
        Ok(total.value(what).to_le_bytes().to_vec())
    })?;
    value.try_into().map(f64::from_le_bytes).map_err(|_| other_length())
}

fn other_length() -> Error {
    Error::spec("a message of another length", "this is a fault of Warpweft: report it")
}

/// The cells of `region` that are also in `other`; none along axes where they do not meet.
fn common(region: &Region, other: &Region) -> Region {
    let low = Axes::from_fn(region.rank(), |d| region.low[d].max(other.low[d]));
    let high = Axes::from_fn(region.rank(), |d| region.high[d].min(other.high[d]).max(low[d]));
    Region { low, high }
}

/// How many cells it has.
fn cells(region: &Region) -> usize {
    (0..region.rank()).map(|d| region.high[d].saturating_sub(region.low[d])).product()
}

/// The rows of `part` in an array of the cells of `region`, which it is in.
fn rows(region: &Region, part: &Region, size: usize) -> Vec<std::ops::Range<usize>> {
    let dims = region.rank();
    let extents = Axes::from_fn(dims, |d| region.high[d] - region.low[d]);
    let moved = |corner: &Axes<usize>| Axes::from_fn(dims, |d| corner[d] - region.low[d]);
    let part = Region { low: moved(&part.low), high: moved(&part.high) };
    dense_rows(extents, &part, size).filter(|row| !row.is_empty()).collect()
}

impl RawSession<'_> {
    /// This rank's number.
    pub(super) fn rank(&self) -> usize {
        self.net.map_or(0, Transport::rank)
    }

    /// Makes sure that all ranks make this call.
    ///
    /// # Errors
    /// On all ranks: calls that are not the same. As [`Transport::receive`].
    pub(crate) fn call(&self, name: impl FnOnce() -> String) -> Result<()> {
        let Some(net) = self.net else { return Ok(()) };
        together(net, &name(), &[], |_| Ok(Vec::new())).map(drop)
    }

    /// An outcome; the other ranks are told of an error.
    pub(super) fn announced<T>(&self, outcome: Result<T>) -> Result<T> {
        let tell = |error: &Error| self.net.iter().for_each(|net| net.abort(&error.to_string()));
        outcome.inspect_err(tell)
    }

    /// What this rank made, unless another rank failed to.
    ///
    /// # Errors
    /// As [`all_fine`].
    pub(crate) fn agreed<T>(&self, mine: Result<T>) -> Result<T> {
        agreed(self.net, mine)
    }

    /// Whether ghost zones have room for what the stages of `spec` read.
    pub(super) fn has_margin(&self, spec: &Spec) -> bool {
        if self.net.is_none() {
            return true;
        }
        let mut wide = self.margin;
        widen(&mut wide, &margin(spec, &spec.stages));
        wide == self.margin
    }

    /// Makes room for what the stages of `spec` read, in zones made from now on.
    ///
    /// # Errors
    /// Stages that are refused, and subdomains that are smaller than that: on all ranks.
    pub(super) fn widen(&mut self, spec: &Spec) -> Result<()> {
        if self.net.is_some() {
            spec.check(self.volume.extents())?;
            check(spec, &spec.stages, &self.distribution)?;
            widen(&mut self.margin, &margin(spec, &spec.stages));
        }
        Ok(())
    }

    /// Brings the ghost cells that one step of `stages` reads up to date.
    pub(super) fn refresh(&mut self, stages: &StageList) -> Result<()> {
        let Some(net) = self.net else { return Ok(()) };
        let (cell, rank) = (self.spec.cell, net.rank());
        let reach = Reach::new(self.spec.rank(), &footprints(stages), cell.len(), 1);
        let fields: Vec<_> = (0..cell.len()).collect();
        let phases = halo_messages(&self.distribution.partition, &reach, cell.fields(), &fields);
        self.with(|local| {
            for phase in &phases {
                for message in phase.iter().filter(|message| message.from == rank) {
                    local.send(message, net)?;
                }
                for message in phase.iter().filter(|message| message.to == rank) {
                    local.receive(message, net)?;
                }
            }
            Ok(())
        })
    }

    /// This rank's cells of each box, in its own indices.
    fn own_parts(&self, boxes: &[Cells], rank: usize) -> Vec<(usize, Region, Region)> {
        let own = self.distribution.partition.region(rank);
        boxes.iter().map(|&(field, region)| (field, region, common(&region, &own))).collect()
    }

    /// The cells of these boxes, of all ranks.
    pub(super) fn gathered(&mut self, boxes: &[Cells], net: &dyn Transport) -> Result<Vec<u8>> {
        let bytes = |&(field, region): &Cells| cells(&region) * self.spec.cell.size(field);
        let all: usize = boxes.iter().map(bytes).sum();
        let mut whole = self.agreed(room(all, "read fewer cells at a time"))?;
        for &(field, region) in boxes {
            self.each_piece(field, &region, net, |_, _, bytes| {
                whole.extend_from_slice(bytes);
                Ok(())
            })?;
        }
        Ok(whole)
    }

    /// Gives `take` the cells of a field of a box, of all ranks: pieces along the slowest axis, one after another.
    fn each_piece(
        &mut self,
        field: usize,
        region: &Region,
        net: &dyn Transport,
        mut take: impl FnMut(&mut Self, &Region, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let size = self.spec.cell.size(field);
        let planes = region.high[0] - region.low[0];
        let plane = (cells(region) / planes.max(1) * size).max(1);
        let mut piece = *region;
        while piece.low[0] < region.high[0] {
            piece.high[0] = (piece.low[0] + (PIECE / plane).max(1)).min(region.high[0]);
            let bytes = self.gathered_piece(field, &piece, net)?;
            take(self, &piece, &bytes)?;
            piece.low[0] = piece.high[0];
        }
        Ok(())
    }

    /// The cells of a field of a box, of all ranks at once.
    fn gathered_piece(
        &mut self,
        field: usize,
        region: &Region,
        net: &dyn Transport,
    ) -> Result<Vec<u8>> {
        let size = self.spec.cell.size(field);
        let part_of = |this: &Self, rank| common(region, &this.distribution.partition.region(rank));
        let mine = part_of(self, net.rank());
        let bytes = self.with(|local| {
            let mut bytes = Vec::new();
            if cells(&mine) > 0 {
                let part = local.local(mine.into());
                local.executor().read(&[(field, part)], &mut bytes)?;
            }
            Ok(bytes)
        })?;
        let all = gather(net, bytes)?;
        // Only rank 0 has them all.
        let count = if all.is_empty() { 0 } else { cells(region) * size };
        let whole = filled((0..count).map(|_| 0), "read fewer cells at a time");
        let whole = whole.and_then(|mut whole| {
            for (rank, bytes) in all.iter().enumerate() {
                let mut rest = &bytes[..];
                for row in rows(region, &part_of(self, rank), size) {
                    let (theirs, after) =
                        rest.split_at_checked(row.len()).ok_or_else(other_length)?;
                    whole[row].copy_from_slice(theirs);
                    rest = after;
                }
            }
            Ok(whole)
        });
        broadcast(net, self.agreed(whole)?)
    }

    /// Replaces this rank's cells of these boxes.
    pub(super) fn write_own(&mut self, boxes: &[Cells], bytes: &[u8]) -> Result<()> {
        let mine = self.own_parts(boxes, self.rank());
        let sizes: Vec<_> = boxes.iter().map(|&(field, _)| self.spec.cell.size(field)).collect();
        self.with(|local| {
            let mut rest = bytes;
            for ((field, region, part), size) in mine.into_iter().zip(sizes) {
                let (all, after) =
                    rest.split_at_checked(cells(&region) * size).ok_or_else(|| {
                        Error::spec(
                            "fewer bytes than cells",
                            "this is a fault of Warpweft: report it",
                        )
                    })?;
                rest = after;
                let rows = rows(&region, &part, size);
                let own: Vec<u8> = rows.into_iter().flat_map(|row| &all[row]).copied().collect();
                if !own.is_empty() {
                    let part = local.local(part.into());
                    local.executor().write(&[(field, part)], &own)?;
                }
            }
            Ok(())
        })
    }

    /// Puts the cells of all ranks into every rank's volume.
    pub(super) fn store_all(&mut self, net: &dyn Transport) -> Result<()> {
        let Some(mut local) = self.local.take() else { return Err(over()) };
        self.announced(local.executor().finish())?;
        let taken = self.take_times(&mut local);
        self.announced(taken)?;
        self.local = Some(local);
        let whole = Region::whole(self.volume.extents());
        for field in 0..self.spec.cell.len() {
            self.each_piece(field, &whole, net, |this, piece, bytes| {
                this.volume.set_box(field, piece.low, piece.high, bytes)
            })?;
        }
        Ok(())
    }
}
