//! Functions with `path = max` or `path = min`: their paths equal those of choices written by hand, by every method and executor.

use warpweft::cpu::Pool;
use warpweft::cuda::Device;
use warpweft::wavefront::cpu::CpuExecutor;
use warpweft::wavefront::cuda::CudaExecutor;
use warpweft::wavefront::traceback::{End, Partition, Traced, Way, trace, trace_batch};
use warpweft::wavefront::{
    Border, CpuPolicy, Dependence, Earlier, Wavefront, WavefrontExecutor, wavefront,
};
use warpweft_conformance::wavefront::Inputs;

/// The longest common subsequence.
#[wavefront(path = max)]
fn common(h: Earlier<i32>, #[row] a: u8, #[column] b: u8) -> i32 {
    if a == b { h.nw + 1 } else { h.n.max(h.w) }
}

/// Edit distance, in 64 bits and by vectors.
#[wavefront(path = min)]
fn edits(h: Earlier<i64>, #[row] a: u8, #[column] b: u8, gap: i64) -> i64 {
    let pair = h[[-1, -1]] + (a != b) as i64;
    let gaps = h.w.min(h.n) + gap;
    pair.min(gaps)
}

/// Costs of edits, up to the greatest numbers of 32 bits.
#[wavefront(path = min)]
fn costs(h: Earlier<i32>, #[row] a: u8, #[column] b: u8, weight: i32) -> i32 {
    (h.nw.min(h.w + weight / 3) + if a == b { 0 } else { weight / 3 * 2 }).min(weight + h.n)
}

/// The same below 0, with names that are given twice.
#[wavefront(path = max)]
fn losses(h: Earlier<i32>, #[row] a: u8, #[column] b: u8, weight: i32) -> i32 {
    let pair = if a == b { 0 } else { weight / 3 * 2 };
    let best = h.w - weight / 3;
    let best = best.max(h.nw) - pair;
    best.max(h.n - weight)
}

/// Local alignment by a table, whose paths begin at 0.
#[wavefront(path = max)]
fn local(h: Earlier<i32>, #[row] a: u8, #[column] b: u8, scores: [[i8; 4]; 4], gap: i32) -> i32 {
    let pair = scores[(a & 3) as usize][(b & 3) as usize] as i32;
    let best = match b {
        3 => (h.n + gap - 1).max(0),
        _ => (h.n + gap).max(0),
    };
    best.max(h.nw + pair).max({
        let west = h.w;
        west + gap
    })
}

/// The same, chosen by hand.
#[wavefront]
fn by_hand(h: Earlier<i32>, #[row] a: u8, #[column] b: u8, scores: [[i8; 4]; 4], gap: i32) -> i32 {
    let pair = scores[(a & 3) as usize][(b & 3) as usize] as i32;
    let north = if b == 3 { h.n + gap - 1 } else { h.n + gap };
    north.max(0).max(h.nw + pair).max(h.w + gap)
}

#[wavefront(choice)]
fn chosen(
    h: Earlier<i32>,
    #[row] a: u8,
    #[column] b: u8,
    #[cell] cell: i32,
    scores: [[i8; 4]; 4],
    gap: i32,
) -> u8 {
    let pair = scores[(a & 3) as usize][(b & 3) as usize] as i32;
    if cell == 0 {
        3
    } else if cell == h.nw + pair {
        0
    } else if cell == h.w + gap {
        1
    } else {
        2
    }
}

impl Traced for by_hand {
    type State = ();
    type Choice = chosen;
    type Plain = Self;
    const BITS: u32 = 2;
    fn plain(&self) -> Self {
        *self
    }
    fn choice(&self) -> chosen {
        chosen(self.scores, self.gap)
    }
    fn back(choice: u8, (): ()) -> Option<(Dependence, ())> {
        let moves: [Dependence; 3] = [[-1, -1], [0, -1], [-1, 0]];
        moves.get(usize::from(choice)).map(|&back| (back, ()))
    }
}

const SCORES: [[i8; 4]; 4] = [[3, -2, -1, -4], [-3, 4, -2, -1], [-1, -1, 3, -5], [2, -2, -4, 5]];

fn letters(inputs: &mut Inputs, count: usize) -> Vec<u8> {
    (0..count).map(|_| (inputs.bits() % 4) as u8).collect()
}

/// Columns and rows that a path takes, one move after another.
fn moves<S>(path: &warpweft::wavefront::traceback::Path<S>) -> Vec<Dependence> {
    path.moves.iter().flat_map(|some| std::iter::repeat_n(some.vector, some.count)).collect()
}

fn conforms<X>(executor: &mut X)
where
    X: WavefrontExecutor<common> + WavefrontExecutor<edits>,
    X: WavefrontExecutor<local> + WavefrontExecutor<by_hand>,
    X: WavefrontExecutor<costs> + WavefrontExecutor<losses>,
{
    let mut inputs = Inputs(31);
    let sizes = [[1, 1], [7, 90], [130, 61], [200, 300]];
    let pairs = sizes.map(|[m, n]| [letters(&mut inputs, m), letters(&mut inputs, n)]);
    let lengths = Border::function(|i, j| 2 * (i + j + 2) as i64);
    for [a, b] in &pairs {
        let partition = Partition::fitting(1 << 14, [a.len(), b.len()], 8);
        for way in [Way::Directions, Way::LinearSpace] {
            let of = Wavefront::of(common()).rows(a).columns(b);
            let path = trace(&of, End::Corner, way, &partition, None, executor).unwrap().0.unwrap();
            let steps = moves(&path);
            assert_eq!(path.score, length_of_common(a, b), "{way:?}");
            assert_eq!(pairs_of(&steps, path.start, a, b), path.score as usize, "{way:?}");

            let of = Wavefront::of(edits(2)).rows(a).columns(b).border(lengths.clone());
            let path = trace(&of, End::Corner, way, &partition, None, executor).unwrap().0.unwrap();
            assert_eq!(cost_of(&moves(&path), path.start, a, b), path.score, "{way:?}");

            let of = Wavefront::of(local(SCORES, -3)).rows(a).columns(b);
            let found = trace(&of, End::Best, way, &partition, None, executor).unwrap().0;
            let of = Wavefront::of(by_hand(SCORES, -3)).rows(a).columns(b);
            let expected = trace(&of, End::Best, way, &partition, None, executor).unwrap().0;
            assert_eq!(found, expected, "{way:?}");
        }
    }
    large(executor, &pairs[1], 54_000_000);
    let [a, b] = &pairs[3];
    large(executor, &[a[..8].to_vec(), b.clone()], 19_000_000);
    let all = pairs.each_ref().map(|[a, b]| Wavefront::of(local(SCORES, -3)).rows(a).columns(b));
    let hand = pairs.each_ref().map(|[a, b]| Wavefront::of(by_hand(SCORES, -3)).rows(a).columns(b));
    let found = trace_batch(&all, End::Best, executor).unwrap().0;
    assert_eq!(found, trace_batch(&hand, End::Best, executor).unwrap().0);
}

/// Of cells and weights up to 2^31: the edits of a path cost what its cell says.
fn large<X>(executor: &mut X, [a, b]: &[Vec<u8>; 2], weight: i32)
where
    X: WavefrontExecutor<costs> + WavefrontExecutor<losses>,
{
    let partition = Partition::fitting(1 << 12, [a.len(), b.len()], 4);
    let third = weight / 3;
    let cost = move |[i, j]: [isize; 2]| {
        i64::from(weight) * (i as i64 + 1) + i64::from(third) * (j as i64 + 1)
    };
    for way in [Way::Directions, Way::LinearSpace] {
        let border = Border::function(move |i, j| cost([i, j]) as i32);
        let of = Wavefront::of(costs(weight)).rows(a).columns(b).border(border);
        let path = trace(&of, End::Corner, way, &partition, None, executor).unwrap().0.unwrap();
        assert!(path.score > 1 << 30, "{}", path.score);
        let edits = cells(&moves(&path), path.start).into_iter().map(|([i, j], vector)| {
            let pair = if a[i as usize] == b[j as usize] { 0 } else { third * 2 };
            i64::from(match vector {
                [-1, -1] => pair,
                [0, -1] => third + pair,
                _ => weight,
            })
        });
        assert_eq!(cost(path.start) + edits.sum::<i64>(), i64::from(path.score), "{way:?}");

        let border = Border::function(move |i, j| -cost([i, j]) as i32);
        let of = Wavefront::of(losses(weight)).rows(a).columns(b).border(border);
        let other = trace(&of, End::Corner, way, &partition, None, executor).unwrap().0.unwrap();
        assert_eq!((other.score, other.moves), (-path.score, path.moves), "{way:?}");
    }
}

/// By a whole table.
fn length_of_common(a: &[u8], b: &[u8]) -> i32 {
    let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            let other = table[i][j + 1].max(table[i + 1][j]);
            table[i + 1][j + 1] = if x == y { table[i][j] + 1 } else { other };
        }
    }
    table[a.len()][b.len()]
}

/// Cells of the path, from its start on, with the vector that leads to each.
fn cells(steps: &[Dependence], [mut i, mut j]: [isize; 2]) -> Vec<([isize; 2], Dependence)> {
    let walk = steps.iter().map(|&[di, dj]| {
        (i, j) = (i - di, j - dj);
        ([i, j], [di, dj])
    });
    walk.collect()
}

/// Equal letters that a path pairs; all of its diagonal moves must.
fn pairs_of(steps: &[Dependence], start: [isize; 2], a: &[u8], b: &[u8]) -> usize {
    let cells = cells(steps, start);
    let diagonal = cells.iter().filter(|(_, vector)| *vector == [-1, -1]);
    diagonal.inspect(|([i, j], _)| assert_eq!(a[*i as usize], b[*j as usize])).count()
}

/// Edits on a path with gaps of 2, and those before its start.
fn cost_of(steps: &[Dependence], start: [isize; 2], a: &[u8], b: &[u8]) -> i64 {
    let of = |&([i, j], vector): &([isize; 2], Dependence)| match vector {
        [-1, -1] => i64::from(a[i as usize] != b[j as usize]),
        _ => 2,
    };
    2 * (start[0] + start[1] + 2) as i64 + cells(steps, start).iter().map(of).sum::<i64>()
}

#[test]
fn paths_on_cores_equal_those_told_by_hand() {
    let pool = Pool::new(warpweft::machine::Machine::detect().unwrap().cpu.first(2)).unwrap();
    conforms(&mut CpuExecutor::new(&pool, CpuPolicy::for_domain(300, 2)).unwrap());
}

#[test]
fn paths_on_the_gpu_equal_those_told_by_hand() {
    match Device::open(0) {
        Ok(device) => conforms(&mut CudaExecutor::new(&device, None).unwrap()),
        Err(error) => println!("skipped: {error}"),
    }
}
