//! Shortest paths on a GPU against the reference and independent solutions; without one, that the kernels compile.

use std::sync::atomic::{AtomicBool, Ordering};

use warpweft::cuda::compiler;
use warpweft::farm::{ChunkSize, OnFailure, Place, Policy, Run, Schedule, Target, reference};
use warpweft::prelude::*;
use warpweft_apps::apsp::cuda::compile_check;
use warpweft_apps::apsp::{
    Arc, Form, Graph, Random, Reach, Shape, ShortestPaths, certificate, dijkstra, random,
};
use warpweft_apps::soup::SplitMix;

#[test]
fn kernels_compile_for_ampere_and_hopper() {
    if let Err(error) = compiler() {
        return println!("skipped: {error}");
    }
    for arch in ["sm_80", "sm_90"] {
        for cubin in compile_check(arch).expect("it compiles") {
            assert!(cubin.image().starts_with(b"\x7fELF"), "{arch}: no machine code");
        }
    }
}

/// The machine, if it has a GPU; without, says so, or fails where `WARPWEFT_NEED_GPU` is 1.
fn with_a_gpu() -> Option<Machine> {
    let machine = Machine::detect().unwrap();
    if machine.gpus.is_empty() {
        assert_ne!(std::env::var("WARPWEFT_NEED_GPU").as_deref(), Ok("1"), "{:?}", machine.notes);
        println!("skipped: {}", machine.notes.join("; "));
        return None;
    }
    Some(machine)
}

fn graph(vertices: u32, list: impl IntoIterator<Item = (u32, u32, u32)>) -> Graph {
    let arcs: Vec<_> =
        list.into_iter().map(|(from, to, weight)| Arc { from, to, weight }).collect();
    Graph::new(vertices, &arcs, 0).unwrap()
}

fn of(vertices: u32, degree: u32, weight: u32, seed: u64) -> Graph {
    random(Random { vertices, degree, weight, seed }).unwrap()
}

/// A vertex with 10,000 edges out of it and as many into it, and some without any.
fn hub() -> Graph {
    let spokes = (1..=10_000).flat_map(|v| [(0, v, 1 + v % 10), (v, 0, 1 + v % 7)]);
    graph(10_040, spokes)
}

/// Graphs of every kind whose weights are 1 to 255, with names.
fn graphs() -> Vec<(&'static str, Graph)> {
    let mut stream = SplitMix::new(3);
    let mut below = |n: u64| (stream.next_u64() % n) as u32;
    let sparse: Vec<_> = (0..700).map(|_| (below(1001), below(1001), 1 + below(255))).collect();
    vec![
        ("one vertex", graph(1, [])),
        ("one vertex and a loop", graph(1, [(0, 0, 3)])),
        ("two, one way", graph(2, [(0, 1, 255)])),
        ("vertices without edges", graph(40, [(3, 7, 1), (39, 0, 2)])),
        ("parallel edges", graph(3, [(0, 1, 9), (0, 1, 2), (0, 1, 5), (1, 2, 1), (1, 1, 4)])),
        ("a path", graph(333, (0..332).map(|v| (v, v + 1, 1 + v % 3)))),
        ("weights of 1", of(1000, 7, 1, 1)),
        ("the paper's weights", of(1055, 7, 10, 2)),
        ("weights to 255", of(777, 3, 255, 4)),
        ("many that no path leads to", graph(1001, sparse)),
        ("a hub", hub()),
    ]
}

/// Sources that come again and again, in no order.
fn sources(graph: &Graph, count: usize, seed: u64) -> Vec<u32> {
    let mut stream = SplitMix::new(seed);
    (0..count).map(|_| (stream.next_u64() % u64::from(graph.vertices())) as u32).collect()
}

/// What each source reaches by `form`, and which workers did how many.
fn found(
    machine: &Machine,
    graph: &Graph,
    sources: &[u32],
    form: Form,
    run: &Run<'_>,
) -> Vec<Option<Reach>> {
    let mut found = vec![None; sources.len()];
    let mut sink = |k: u64, reach| {
        assert!(found[k as usize].replace(reach).is_none(), "{k} twice");
        Ok(())
    };
    let farm = Farm::of(ShortestPaths::reach(graph).by(form));
    let outcome = farm.run_into(sources, machine, run, &mut sink).unwrap();
    let lost: Vec<_> = outcome.shares.iter().filter_map(|share| share.lost.as_ref()).collect();
    assert!(lost.is_empty(), "{lost:?}");
    found
}

fn expected(graph: &Graph, sources: &[u32]) -> Vec<Option<Reach>> {
    // Many sources come again.
    let mut known = vec![None; graph.vertices() as usize];
    let paths = ShortestPaths::reach(graph);
    let mut of = |source: u32| match known[source as usize] {
        Some(reach) => reach,
        None => {
            let reach = reference(&paths, &[source].into()).remove(0).ok();
            known[source as usize] = Some(reach);
            reach
        }
    };
    sources.iter().map(|source| of(*source)).collect()
}

/// All GPUs and no core.
fn gpus<'a>() -> Run<'a> {
    Run { target: Target::AllGpus, policy: Some(Policy::default()), ..Run::default() }
}

#[test]
fn lanes_find_what_the_reference_does_in_graphs_of_every_kind() {
    let Some(machine) = with_a_gpu() else { return };
    for (name, graph) in graphs() {
        for count in [1, 31, 100, 2500] {
            let sources = sources(&graph, count, count as u64);
            let expect = expected(&graph, &sources);
            for form in [Form::Batched, Form::Planes, Form::Auto, Form::Crauser] {
                let found = found(&machine, &graph, &sources, form, &gpus());
                let wrong = (0..count).find(|&k| found[k] != expect[k]);
                if let Some(k) = wrong {
                    let source = sources[k];
                    panic!(
                        "{name}, {form:?}, source {source} ({k} of {count}): found {:?}, expected {:?}",
                        found[k], expect[k]
                    );
                }
            }
        }
    }
}

#[test]
fn weights_of_every_size_are_searched_by_sweeps() {
    let Some(machine) = with_a_gpu() else { return };
    let mut stream = SplitMix::new(9);
    let mut below = |n: u64| (stream.next_u64() % n) as u32;
    let zeros: Vec<_> = (0..300).map(|_| (below(90), below(90), below(3))).collect();
    let ring = graph(4, [(0, 1, 0), (1, 2, 0), (2, 0, 0), (2, 3, 1)]);
    let closed = u32::MAX - 1;
    let roads = graph(4, [(0, 1, 10), (0, 3, 20), (1, 2, closed), (3, 2, 5)]);
    let brim = graph(3, [(0, 1, closed - 7), (1, 2, 7)]);
    for (name, graph) in [
        ("a third of the weights zero", graph(90, zeros)),
        ("weights of zero in a ring", ring),
        ("weights to 256", of(500, 3, 256, 5)),
        ("weights to 50 million", of(500, 3, 50_000_000, 6)),
        ("closed roads", roads),
        ("to the brim", brim),
    ] {
        let sources: Vec<_> = (0..graph.vertices()).collect();
        let found = found(&machine, &graph, &sources, Form::Auto, &gpus());
        assert_eq!(found, expected(&graph, &sources), "{name}");
    }
}

#[test]
fn every_distance_has_a_certificate_and_is_dijkstras() {
    let Some(machine) = with_a_gpu() else { return };
    let forms = [(Form::Planes, 40), (Form::Planes, 2100), (Form::Batched, 40)];
    for ((name, graph), (form, count)) in
        graphs().into_iter().flat_map(|graph| forms.map(|form| (graph.clone(), form)))
    {
        if count > 100 && graph.vertices() > 1000 {
            continue;
        }
        let sources = sources(&graph, count, 7);
        let mut had = 0;
        let mut sink = |k: u64, (reach, row): (Reach, Vec<u32>)| {
            let source = sources[k as usize];
            assert_eq!(certificate(&graph, source, &row), Ok(()), "{name} from {source}");
            let expected = dijkstra(&graph, source);
            let there = || expected.iter().flatten().copied();
            let sums = (there().count() as u32, there().max(), there().sum::<u64>());
            assert_eq!((reach.reached, Some(reach.farthest.into()), reach.total), sums, "{name}");
            assert_eq!(row.len(), graph.vertices() as usize);
            had += 1;
            Ok(())
        };
        let farm = Farm::of(ShortestPaths::distances(&graph).by(form));
        farm.run_into(&sources, &machine, &gpus(), &mut sink).unwrap();
        assert_eq!(had, count, "{name}, {form:?}");
    }
}

/// Rows of both widths as they are packed, among them those of sources that 16 bits do not hold, which a core computes or
/// refuses, and of a farm that is asked to end.
#[test]
fn rows_are_handed_over_as_cores_pack_them() {
    type Row = Option<Vec<u8>>;
    fn rows<O: Packed>(
        paths: ShortestPaths<'_, O>,
        machine: &Machine,
        sources: &[u32],
        stop: Option<&AtomicBool>,
    ) -> (Vec<Row>, Vec<u64>) {
        let mut found = vec![None; sources.len()];
        let farm = Farm::of(paths).on_failure(OnFailure::Skip);
        let run = Run { interrupt: stop, ..gpus() };
        let mut sink = |tasks: std::ops::Range<u64>, bytes: &[u8]| {
            stop.inspect(|stop| stop.store(true, Ordering::Relaxed));
            let row = bytes.len() / (tasks.end - tasks.start) as usize;
            tasks.zip(bytes.chunks(row)).for_each(|(k, row)| found[k as usize] = Some(row.into()));
            Ok(())
        };
        let outcome = farm.run_packed(sources, machine, &run, &mut sink).unwrap();
        assert!(outcome.shares.iter().all(|share| share.lost.is_none()));
        let mut failed: Vec<_> = outcome.failed.iter().map(|failed| failed.task).collect();
        failed.sort_unstable();
        (found, failed)
    }
    fn packed<O: Packed>(paths: &ShortestPaths<'_, O>, source: u32) -> Row {
        let mut bytes = Vec::new();
        paths.on_core(source).ok()?.pack(&mut bytes);
        Some(bytes)
    }
    let Some(machine) = with_a_gpu() else { return };
    // Of the first vertices of the path some distances have 17 bits.
    let far = graph(300, (0..299).map(|v| (v, v + 1, 255)));
    for (name, graph, failed) in
        [("odd", of(1055, 7, 10, 2), 0), ("even", of(1000, 3, 200, 2), 0), ("far", far, 43)]
    {
        let sources: Vec<_> = (0..graph.vertices()).collect();
        let long = ShortestPaths::distances(&graph).by(Form::Planes);
        let expect: Vec<_> = sources.iter().map(|source| packed(&long, *source)).collect();
        assert!(rows(long, &machine, &sources, None) == (expect, vec![]), "{name}");
        let short = ShortestPaths::short_distances(&graph).by(Form::Planes);
        let expect: Vec<_> = sources.iter().map(|source| packed(&short, *source)).collect();
        let (found, refused) = rows(short, &machine, &sources, None);
        assert!(
            found == expect && refused == (0..failed).collect::<Vec<_>>(),
            "{name} {refused:?}"
        );
        let long = ShortestPaths::distances(&graph).by(Form::Planes);
        let (some, _) = rows(long, &machine, &sources, Some(&AtomicBool::new(false)));
        assert!(some.iter().any(Option::is_some), "{name}");
    }
}

/// Counts of every form, and those of distances that lanes do not count, are those of Dijkstra's distances.
#[test]
fn counts_by_distance_are_those_of_every_form() {
    let Some(machine) = with_a_gpu() else { return };
    let far = graph(3, [(0, 1, 255), (1, 2, 255)]);
    let farther = graph(3, [(0, 1, 5000), (1, 2, 70_000)]);
    for (name, graph) in graphs().into_iter().chain([("far", far), ("farther", farther)]) {
        let sources = sources(&graph, 70, 9);
        for form in [Form::Auto, Form::Planes, Form::Batched, Form::Crauser] {
            if form.check(&graph).is_err() {
                continue;
            }
            let mut had = 0;
            let mut sink = |k: u64, (_, counts): (Reach, Vec<u32>)| {
                let mut expect = vec![0; counts.len()];
                let distances = dijkstra(&graph, sources[k as usize]);
                distances.into_iter().flatten().for_each(|d| expect[d as usize] += 1);
                assert_eq!(counts, expect, "{name}, {form:?}, source {k}");
                had += 1;
                Ok(())
            };
            let farm = Farm::of(ShortestPaths::spread(&graph).by(form));
            let outcome = farm.run_into(&sources, &machine, &gpus(), &mut sink).unwrap();
            assert!(outcome.shares.iter().all(|share| share.lost.is_none()), "{name}, {form:?}");
            assert_eq!(had, 70);
        }
    }
}

#[test]
fn distances_are_those_that_geometry_gives() {
    let Some(machine) = with_a_gpu() else { return };
    let n = 1000u32;
    let ring = graph(n, (0..n).map(|v| (v, (v + 1) % n, 3)));
    let n64 = u64::from(n);
    let all = Some(Reach { reached: n, farthest: 3 * (n - 1), total: 3 * n64 * (n64 - 1) / 2 });
    let bits = 10;
    let edges = (0..1 << bits).flat_map(|v: u32| (0..bits).map(move |bit| (v, v ^ 1 << bit, 1)));
    let cube = graph(1 << bits, edges);
    let half = Reach { reached: 1 << bits, farthest: bits, total: u64::from(bits) << (bits - 1) };
    for form in [Form::Batched, Form::Planes] {
        for (graph, expect) in [(&ring, all), (&cube, Some(half))] {
            let sources: Vec<_> = (0..graph.vertices()).collect();
            let found = found(&machine, graph, &sources, form, &gpus());
            assert!(found.iter().all(|reach| *reach == expect), "{form:?}");
        }
    }
}

#[test]
fn answers_are_the_same_whatever_the_schedule_packs_lanes_and_units() {
    let Some(machine) = with_a_gpu() else { return };
    let graph = of(3000, 7, 10, 8);
    let sources = sources(&graph, 5000, 1);
    let expect = expected(&graph, &sources);
    let default = Policy::default();
    let policies = [
        Policy { lanes: 1, ..default },
        Policy { block: 64, ..default },
        Policy { block: 96, ..default },
        Policy { block: 512, ..default },
        Policy { lanes: 3, chunk: ChunkSize::Tasks(7), ..default },
        Policy { lanes: 2, chunk: ChunkSize::Tasks(5000), ..default },
        Policy { schedule: Schedule::Eq1, ..default },
        Policy { schedule: Schedule::Eq2, lanes: 4, ..default },
    ];
    for policy in policies {
        for target in [Target::AllGpus, Target::Auto] {
            for form in [Form::Planes, Form::Batched] {
                let run = Run { target, policy: Some(policy), threads: Some(2), ..Run::default() };
                let found = found(&machine, &graph, &sources, form, &run);
                assert!(found == expect, "{policy:?} {target:?} {form:?}");
            }
        }
    }
}

#[test]
fn every_shape_of_planes_finds_the_same() {
    let Some(machine) = with_a_gpu() else { return };
    let graph = of(2000, 6, 12, 3);
    let sources = sources(&graph, 6000, 4);
    let expect = expected(&graph, &sources);
    for (words, blocks, reads) in [(1, 4, 8), (1, 6, 3), (2, 3, 4), (2, 5, 1), (4, 1, 6), (4, 3, 8)]
    {
        let paths = ShortestPaths::reach(&graph).by(Form::Planes);
        let farm = Farm::of(paths.shaped(Shape { words, blocks, reads }));
        let mut found = vec![None; sources.len()];
        let mut sink = |k: u64, reach| {
            found[k as usize] = Some(reach);
            Ok(())
        };
        farm.run_into(&sources, &machine, &gpus(), &mut sink).unwrap();
        assert!(found == expect, "{words} words, {blocks} blocks, {reads} reads");
    }
}

#[test]
fn a_source_beyond_32_bits_fails_as_on_a_core_and_takes_no_other_with_it() {
    let Some(machine) = with_a_gpu() else { return };
    let long = 3_000_000_000;
    let far = graph(4, [(0, 1, long), (1, 2, long), (3, 2, 1)]);
    let run = gpus();
    let mut had = Vec::new();
    let mut sink = |k: u64, reach: Reach| {
        had.push((k, reach.reached));
        Ok(())
    };
    let farm = Farm::of(ShortestPaths::reach(&far)).on_failure(OnFailure::Skip);
    let outcome = farm.run_into(0..4u32, &machine, &run, &mut sink).unwrap();
    had.sort_unstable();
    assert_eq!(had, [(1, 2), (2, 1), (3, 2)]);
    let [failed] = outcome.failed.as_slice() else { panic!("{:?}", outcome.failed) };
    let expect = reference(&farm_of(&far), &[0u32].into()).remove(0).unwrap_err();
    assert_eq!((failed.task, &failed.what), (0, &expect));
}

fn farm_of(graph: &Graph) -> ShortestPaths<'_, Reach> {
    ShortestPaths::reach(graph)
}

#[test]
fn a_form_that_can_t_be_ends_with_what_it_lacks() {
    let Some(machine) = with_a_gpu() else { return };
    let refused = |graph: &Graph, form| {
        let farm = Farm::of(ShortestPaths::reach(graph).by(form));
        let refusal = farm.run_into(0..2u32, &machine, &gpus(), &mut |_, _| Ok(()));
        refusal.unwrap_err().to_string()
    };
    let wide = refused(&of(50, 2, 256, 1), Form::Planes);
    assert!(wide.contains("take the form batched"), "{wide}");
    let zero = refused(&graph(2, [(0, 1, 0)]), Form::Planes);
    assert!(zero.contains("but the graph has 0 to 0"), "{zero}");
    let dial = refused(&of(50, 2, 10, 1), Form::Dial);
    assert!(dial.contains("its task runs on cores only"), "{dial}");
}

#[test]
fn a_farm_on_a_gpu_that_is_asked_to_end_hands_over_what_runs() {
    let Some(machine) = with_a_gpu() else { return };
    let graph = of(20_000, 7, 10, 3);
    let stop = AtomicBool::new(false);
    let run = Run { interrupt: Some(&stop), ..gpus() };
    let mut had = 0u64;
    let mut sink = |_, _: Reach| {
        had += 1;
        stop.store(true, Ordering::Relaxed);
        Ok(())
    };
    let farm = Farm::of(ShortestPaths::reach(&graph));
    let every = warpweft::farm::Inputs::by(100_000_000, |k| (k % 20_000) as u32);
    let outcome = farm.run_into(every, &machine, &run, &mut sink).unwrap();
    assert!(outcome.report.interrupted && outcome.report.done == had && had > 0);
    let lanes =
        outcome.shares.iter().filter(|share| matches!(share.worker.place, Place::Lane { .. }));
    assert_eq!(lanes.count(), 2 * machine.gpus.len());
}
