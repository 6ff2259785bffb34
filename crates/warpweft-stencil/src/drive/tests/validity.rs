//! Validity sets: every cell carries the step its value belongs to, and nothing may read another.

use proptest::prelude::*;
use std::collections::HashMap;

use crate::drive::{check_depth, deepest_feasible, halo_messages};
use crate::plan::halo::{Footprint, Reach};
use crate::plan::partition::Partition;
use crate::spec::boundary::{Boundaries, Boundary, Source};
use warpweft_core::element::{FieldInfo, ScalarKind};
use warpweft_core::grid::Axes;

const FIELDS: [FieldInfo; 2] = [
    FieldInfo { name: "a", kind: ScalarKind::F32 },
    FieldInfo { name: "b", kind: ScalarKind::F64 },
];

/// Per part: (field, cell in the part's frame) → number of writes so far.
type Stamps = Vec<HashMap<(usize, Axes<isize>), usize>>;

/// Runs `swaps` swaps of `reach.depth` steps on stamps; panics when a read finds a stale cell.
fn run(
    partition: &Partition,
    boundaries: &Boundaries,
    stages: &[Footprint],
    reach: &Reach,
    swaps: usize,
    order: u64,
) {
    let extents = partition.extents();
    let mut stamps: Stamps = (0..partition.parts())
        .map(|part| {
            let own = partition.grown(part, &[[0; 2]; 2].into());
            own.iter().flat_map(|at| [((0, at), 0), ((1, at), 0)]).collect()
        })
        .collect();
    let mut version = [0; 2];
    for _ in 0..swaps {
        for mut phase in halo_messages(partition, reach, &FIELDS, &[0, 1]) {
            // Any order within a phase: all are packed before one is unpacked.
            let rotate = order as usize % phase.len().max(1);
            phase.rotate_left(rotate);
            let packed: Vec<Vec<usize>> = phase
                .iter()
                .map(|m| {
                    let cells = m.pieces.iter().flat_map(|p| p.read.iter().map(|at| (p.field, at)));
                    cells.map(|cell| stamps[m.from][&cell]).collect()
                })
                .collect();
            for (message, values) in phase.iter().zip(packed).rev() {
                let pieces = message.pieces.iter();
                let cells = pieces.flat_map(|p| p.write.iter().map(|at| (p.field, at)));
                stamps[message.to].extend(cells.zip(values));
            }
        }
        for step in &reach.compute {
            for (stage, margin) in stages.iter().zip(step) {
                for (part, known) in stamps.iter_mut().enumerate() {
                    let region = partition.grown(part, margin);
                    for at in region.iter() {
                        for (field, reads) in &stage.reads {
                            for dy in -(reads[0][0] as isize)..=reads[0][1] as isize {
                                for dx in -(reads[1][0] as isize)..=reads[1][1] as isize {
                                    let to = [at[0] + dy, at[1] + dx];
                                    let Some(from) = source(partition, boundaries, to.into())
                                    else {
                                        continue;
                                    };
                                    let found = known.get(&(*field, from)).copied();
                                    assert_eq!(
                                        found,
                                        Some(version[*field]),
                                        "part {part} cell {at:?} reads field {field} at {to:?} of {extents:?}"
                                    );
                                }
                            }
                        }
                    }
                    for &field in &stage.writes {
                        for at in region.iter() {
                            known.insert((field, at), version[field] + 1);
                        }
                    }
                }
                for &field in &stage.writes {
                    version[field] += 1;
                }
            }
        }
    }
}

/// Where a part looks up a cell: through the boundaries, except across the cut of a periodic axis.
fn source(partition: &Partition, boundaries: &Boundaries, at: Axes<isize>) -> Option<Axes<isize>> {
    let mut from = at;
    for d in 0..2 {
        if partition.is_periodic(d) && partition.is_cut(d) {
            continue;
        }
        match boundaries.source(d, at[d], partition.extents()[d]) {
            Source::Cell(cell) => from[d] = cell as isize,
            Source::Value(_) | Source::Function(_) => return None,
        }
    }
    Some(from)
}

fn boundary() -> impl Strategy<Value = [Boundary; 2]> {
    let open = || {
        prop_oneof![Just(Boundary::Dirichlet(1.0)), Just(Boundary::Neumann), Just(Boundary::Mirror)]
    };
    prop_oneof![Just([Boundary::Periodic; 2]), (open(), open()).prop_map(|(a, b)| [a, b])]
}

fn margin() -> impl Strategy<Value = Axes<[usize; 2]>> {
    prop::array::uniform2(prop::array::uniform2(0usize..3)).prop_map(Axes::of)
}

fn stage() -> impl Strategy<Value = Footprint> {
    let reads = prop::collection::vec((0usize..2, margin()), 1..3);
    (reads, prop_oneof![Just(vec![0]), Just(vec![1]), Just(vec![0, 1])])
        .prop_map(|(reads, writes)| Footprint { reads, writes })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn every_cell_read_between_swaps_is_up_to_date(
        extents in prop::array::uniform2(5usize..15),
        parts in prop::array::uniform2(1usize..4),
        faces in prop::array::uniform2(boundary()),
        stages in prop::collection::vec(stage(), 1..3),
        depth in 1usize..5,
        order in any::<u64>(),
    ) {
        let boundaries = Boundaries(faces.into());
        let partition = Partition::grid(extents, parts, &boundaries).unwrap();
        let depth = deepest_feasible(&partition, &boundaries, &stages, 2, depth);
        prop_assume!(depth > 0);
        let reach = Reach::new(2, &stages, 2, depth);
        run(&partition, &boundaries, &stages, &reach, 2, order);
    }

    #[test]
    fn feasible_is_what_the_check_accepts(n in 4usize..40, parts in 2usize..5, radius in 1usize..4) {
        prop_assume!(parts <= n);
        let boundaries = Boundaries::all(1, Boundary::Periodic);
        let partition = Partition::grid([n], [parts], &boundaries).unwrap();
        let stages = [Footprint { reads: vec![(0, [[radius; 2]].into())], writes: vec![0] }];
        let best = deepest_feasible(&partition, &boundaries, &stages, 1, 1000);
        prop_assert_eq!(best, n / parts / radius);
        prop_assert_eq!(check_depth(&partition, &boundaries, &stages, 1, best.max(1)).is_ok(), best > 0);
        let error = check_depth(&partition, &boundaries, &stages, 1, best + 1).unwrap_err().to_string();
        prop_assert!(best == 0 || error.contains(&format!("the largest feasible R is {best};")), "{}", error);
    }
}

#[test]
fn three_phases_move_six_messages_a_part_and_the_bytes_of_table_1() {
    // B2R table 1: R·δ × By × Bz, then (Bx + 2Rδ) × R·δ × Bz, then (Bx + 2Rδ)(By + 2Rδ) × R·δ.
    let boundaries = Boundaries::all(3, Boundary::Periodic);
    let partition = Partition::grid([24, 30, 36], [3, 3, 3], &boundaries).unwrap();
    let stage = Footprint { reads: vec![(0, [[2; 2]; 3].into())], writes: vec![0] };
    let reach = Reach::new(3, &[stage], 1, 2);
    let phases = halo_messages(&partition, &reach, &FIELDS[..1], &[0]);
    let (bz, by, bx, g) = (8, 10, 12, 4);
    let cells = [g * by * bz, (bx + 2 * g) * g * bz, (bx + 2 * g) * (by + 2 * g) * g];
    assert_eq!(phases.len(), 3);
    for (phase, cells) in phases.iter().zip(cells) {
        assert_eq!(phase.len(), 2 * 27);
        assert!(phase.iter().all(|message| message.bytes == 4 * cells));
    }
}
