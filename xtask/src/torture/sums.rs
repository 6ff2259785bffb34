//! Summed area tables of images whose values differ by many orders of magnitude, against numpy: the bits of its
//! `cumsum` in f64 along rows, then columns, and so its sums over rectangles.

use super::program::Program;
use super::{Campaign, Count};

/// Writes images, has them summed, and compares. Arguments: the command, a seed, threads.
const SCRIPT: &str = "
import subprocess, sys
import numpy
command, seed, threads = sys.argv[1], int(sys.argv[2]), sys.argv[3]
pick = numpy.random.default_rng(seed)
kind = ['<f4', '<f8'][seed % 2]
rows, columns = pick.integers(1, 400, 2)
if seed % 3 == 0:
    image = numpy.full((rows, columns), 1e-8)
    image[0, 0] = 1e9
elif seed % 3 == 1:
    image = 10.0 ** pick.uniform(-9, 9, (rows, columns)) * pick.choice([-1, 1], (rows, columns))
else:
    image = numpy.full((rows, columns), 1e-8)
    image[pick.integers(rows), pick.integers(columns)] = -1e9
numpy.save('a.npy', image.astype(kind))
ran = subprocess.run([command, 'sat', 'a.npy', '--output', 't.npy', '--device', 'cpu', '--threads', threads],
                     capture_output=True, text=True)
sys.stderr.write(ran.stderr)
assert ran.returncode == 0, ran.returncode
assert 'check    passed' in ran.stdout, ran.stdout
table, image = numpy.load('t.npy'), numpy.load('a.npy')
assert table.dtype == numpy.float64
expect = numpy.cumsum(numpy.cumsum(image, axis=1, dtype='<f8'), axis=0)
assert (table.view('<u8') == expect.view('<u8')).all(), 'other bits than numpy'
";

/// Images at random.
pub fn tables(campaign: &mut Campaign<'_>) -> Count {
    let probe = Program::script(campaign.command, campaign.folder, "python3 -c 'import numpy'");
    if probe.run(60).status != Some(0) {
        return Count::skipped("no python3 with numpy");
    }
    campaign.until_end(|campaign| {
        let (seed, threads) = (campaign.random.below(1 << 30), 1 + campaign.random.below(4));
        let script = format!("python3 -c \"$SCRIPT\" \"$W\" {seed} {threads}");
        let script = format!("SCRIPT=$(cat <<'END'\n{SCRIPT}\nEND\n)\n{script}");
        let ran = Program::script(campaign.command, campaign.folder, &script).run(60);
        match ran.status {
            Some(0) => Ok(["f32", "f64"][seed as usize % 2].into()),
            _ => Err(format!("seed {seed}: {ran:?}")),
        }
    })
}
