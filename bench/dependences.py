"""One core: recurrences of random dependences next to plain loops.

    taskset -c 1 python3 bench/dependences.py [sets [seed]]        # cargo builds and runs them in the release profile
    python3 bench/dependences.py --print sets seed > random.rs     # only the program
    python3 bench/dependences.py --record NAME sets seed < output  # what it printed there, as a file in bench/results

Each recurrence is the least of one to four earlier cells, each with a weight, at vectors of up to two rows and three columns,
over two random sequences. The plain loop computes a row after the other and keeps three. Last rows are compared. A line a recurrence:
vectors, Gcells/s of Warpweft and of the loop (medians of 5, in turns), and their ratio.
"""
import datetime
import json
import os
import random
import re
import subprocess
import sys

SIZE = 2048
PAD = 4
HEAD = """use std::time::Instant;
use warpweft::cpu::Pool;
use warpweft::prelude::*;
use warpweft::wavefront::cpu::CpuExecutor;
use warpweft::wavefront::{CpuPolicy, Kept, WavefrontElement, WavefrontExecutor};
const N: usize = %d;
const PAD: usize = %d;
fn compare<E: WavefrontElement<Cell = i32, Row = u8, Column = u8, Input = ()>>(name: &str, element: E, pool: &Pool, rows: &[u8], columns: &[u8], plain: fn(&[u8], &[u8]) -> Vec<i32>) {
    let mut executor = CpuExecutor::new(pool, CpuPolicy::for_domain(N, 1)).unwrap();
    let wavefront = Wavefront::of(element).rows(rows).columns(columns).border(Border::Value(0)).keep(Keep::LastRow);
    let (mut ours, mut loops) = (Vec::new(), Vec::new());
    for turn in 0..6 {
        let begin = Instant::now();
        let Kept::LastRow(kept) = executor.run(&wavefront).unwrap().0 else { panic!() };
        let run = begin.elapsed().as_secs_f64();
        let begin = Instant::now();
        let expect = std::hint::black_box(plain(rows, columns));
        let loop_ = begin.elapsed().as_secs_f64();
        assert_eq!(kept, expect, "{name}");
        if turn > 0 { ours.push(run); loops.push(loop_); }
    }
    ours.sort_by(f64::total_cmp);
    loops.sort_by(f64::total_cmp);
    let rate = |seconds: f64| (N * N) as f64 / seconds / 1e9;
    println!("{:6.2} times, {:.2} and {:.2} Gcells/s: {name}", loops[2] / ours[2], rate(ours[2]), rate(loops[2]));
}
""" % (SIZE, PAD)


def program(sets, seed):
    numbers = random.Random(seed)
    text, calls = HEAD, ""
    for number in range(sets):
        vectors = set()
        for _ in range(numbers.randint(1, 4)):
            up = numbers.randint(0, 2)
            vectors.add((-up, numbers.randint(-3, 3) if up else numbers.randint(-3, -1)))
        vectors = sorted(vectors)
        weights = [numbers.randint(1, 9) for _ in vectors]
        name = f"random_{number}"
        read = [f"h[[{i}, {j}]]" for i, j in vectors]
        cells = [f"{('here', 'above', 'before')[-i]}[j + PAD {j:+}]" for i, j in vectors]

        def least(cells):
            terms = [f"({cell} + {weight})" for cell, weight in zip(cells, weights)]
            terms[0] = f"({cells[0]} + {weights[0]} * (a != b) as i32)"
            return terms[0] + "".join(f".min({term})" for term in terms[1:])

        text += f"""
#[wavefront]
fn {name}(h: Earlier<i32>, #[row] a: u8, #[column] b: u8) -> i32 {{
    {least(read)}
}}
fn plain_{number}(rows: &[u8], columns: &[u8]) -> Vec<i32> {{
    let n = columns.len();
    let mut ring = [vec![0; n + 2 * PAD], vec![0; n + 2 * PAD], vec![0; n + 2 * PAD]];
    for &a in rows {{
        let [before, above, here] = &mut ring;
        let (before, above, here) = (&before[..n + 2 * PAD], &above[..n + 2 * PAD], &mut here[..n + 2 * PAD]);
        for j in 0..n {{
            let b = columns[j];
            here[j + PAD] = {least(cells)};
        }}
        let _ = (before, above);
        ring.rotate_left(1);
    }}
    ring[1][PAD..][..n].to_vec()
}}
"""
        calls += f'    compare("{vectors}", {name}(), &pool, &rows, &columns, plain_{number});\n'
    return (
        text
        + f"""
fn main() {{
    let mut seed = {seed}u64;
    let mut letters = || -> Vec<u8> {{
        (0..N).map(|_| {{ seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407); b"ACGT"[(seed >> 60) as usize % 4] }}).collect()
    }};
    let (rows, columns) = (letters(), letters());
    let core = (0..4096).find(|&core| Pool::new(&[core]).is_ok()).unwrap();
    let pool = Pool::new(&[core]).unwrap();
{calls}}}
"""
    )


def record(name, sets, seed):
    """Writes a file of the lines that the program printed."""
    line = re.compile(r" *([\d.]+) times, ([\d.]+) and ([\d.]+) Gcells/s: (.*)")
    figures = []
    for found in map(line.match, sys.stdin):
        if found:
            figures.append({"vectors": found[4], "ratio": float(found[1]), "rate": float(found[2]), "plain": float(found[3])})
    if len(figures) != sets:
        sys.exit(f"{len(figures)} lines, not {sets}")
    ratios = sorted(figure["ratio"] for figure in figures)
    date = datetime.date.today().isoformat()
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    with open(f"{root}/bench/results/{date}-dependences-{name}.json", "w") as to:
        summary = {"least": ratios[0], "median": ratios[len(ratios) // 2], "below_1": sum(ratio < 1 for ratio in ratios)}
        all = {
            "bench": "random dependences next to plain loops", "date": date, "unit": "Gcells/s", "size": SIZE,
            "repeat": f"taskset -c 1 python3 bench/dependences.py {sets} {seed}", **summary, "figures": figures,
        }
        to.write(json.dumps(all, indent=1) + "\n")
    print(summary)


def main():
    only_print = "--print" in sys.argv
    arguments = [int(word) for word in sys.argv[1:] if word.isdigit()]
    sets, seed = (arguments + [200, 1][len(arguments) :])[:2]
    if only_print:
        print(program(sets, seed))
        return
    if "--record" in sys.argv:
        record(sys.argv[sys.argv.index("--record") + 1], sets, seed)
        return
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = f"{root}/crates/warpweft-lab/examples/random_dependences.rs"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        with open(path, "w") as file:
            file.write(program(sets, seed))
        subprocess.run(
            ["cargo", "run", "--release", "--quiet", "--package", "warpweft-lab", "--example", "random_dependences"],
            cwd=root,
            check=True,
        )
    finally:
        os.remove(path)


main()
