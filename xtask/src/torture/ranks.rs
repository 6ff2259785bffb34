//! Ranks that were asked to do different things: all end with an error that names what differs.

use super::launcher::{Launcher, launchers};
use super::program::Program;
use super::{Campaign, Count, Random};

/// Pairs of ranks whose arguments, commands or inputs differ.
pub fn disagree(campaign: &mut Campaign<'_>) -> Count {
    let launchers = launchers();
    if launchers.is_empty() {
        return Count::skipped("no mpirun of Open MPI or MPICH");
    }
    campaign.until_end(|campaign| {
        let launcher = campaign.random.of(&launchers).clone();
        pair(campaign, &launcher)
    })
}

/// Seconds that ranks may take to end.
const LONGEST: f64 = 10.0;

fn pair(campaign: &mut Campaign<'_>, launcher: &Launcher) -> Result<String, String> {
    write_inputs(campaign).map_err(|error| error.to_string())?;
    let (one, other) = two(&mut campaign.random);
    let mut lines = vec![one.clone(); 1 + campaign.random.below(2) as usize];
    let at = campaign.random.below(lines.len() as u64 + 1) as usize;
    lines.insert(at, other);
    let ran = Program::ranks((launcher, 1), campaign.command, campaign.folder, &lines).run(30);
    let failed =
        |what: &str| Err(format!("{what}: {} by {}: {ran:?}", lines.join(" | "), launcher.name()));
    let usual = || {
        let lines = vec!["--version".to_string(); lines.len()];
        Program::ranks((launcher, 1), campaign.command, campaign.folder, &lines).run(60).seconds
    };
    // On a machine that is busy with other work, ranks that agree take as long.
    if ran.seconds > LONGEST && ran.seconds > 5.0 * usual() {
        return failed("hung");
    }
    if ran.err.contains("bug in warpweft") || ran.err.contains("panicked") {
        return failed("panicked");
    }
    if ran.status == Some(0) || !ran.out.trim().is_empty() {
        return failed("silent");
    }
    match ran.err.contains("error: ") {
        true => Ok(launcher.name()),
        false => failed("no error"),
    }
}

/// Two lines that differ in what decides a result.
fn two(random: &mut Random) -> (String, String) {
    let cpu = "--device cpu --threads 1";
    let size = 10 + random.below(20);
    let seed = random.below(1000);
    let heat = format!("run heat {cpu} --size {size} --steps 20 --seed {seed}");
    let pairs = [
        (heat.clone(), format!("run heat {cpu} --size {} --steps 20 --seed {seed}", size + 1)),
        (heat.clone(), format!("run heat {cpu} --size {size} --steps 21 --seed {seed}")),
        (heat.clone(), format!("run heat {cpu} --size {size} --steps 20 --seed {}", seed + 1)),
        (heat.clone(), format!("{heat} --ranks 4")),
        (heat.clone(), format!("{heat} --depth 2")),
        (heat.clone(), format!("{heat} --until 1e-3")),
        (heat.clone(), format!("{heat} --checkpoint kept")),
        (heat.clone(), format!("run life {cpu} --size {size} --steps 20 --seed {seed}")),
        (heat.clone(), "run heat --help".into()),
        (heat.clone(), "--version".into()),
        (heat.clone(), "info".into()),
        (heat.clone(), "sat a.npy".into()),
        (heat.clone(), "run laplace --size 8 --sweeps 2".into()),
        (heat.clone(), format!("apsp random:{} {cpu}", 10 + seed)),
        (heat, "run heat --frobnicate".into()),
        (format!("dtw a.npy b.npy {cpu}"), format!("dtw a.npy c.npy {cpu}")),
        (format!("dtw a.npy b.npy {cpu}"), format!("dtw a.npy b.npy {cpu} --path p.npy")),
        (format!("align q.fa t.fa {cpu}"), format!("align q.fa u.fa {cpu}")),
        (format!("align q.fa t.fa {cpu}"), format!("align q.fa t.fa {cpu} --match 3")),
        (format!("align q.fa t.fa {cpu}"), format!("align q.fa t.fa {cpu} --global")),
        (format!("align q.fa t.fa {cpu}"), format!("align q.fa t.fa {cpu} --score-only")),
        (format!("apsp random:{} {cpu}", 20 + seed), format!("apsp random:{} {cpu}", 21 + seed)),
        (format!("apsp e.txt {cpu}"), format!("apsp f.txt {cpu}")),
        (format!("apsp e.txt {cpu}"), format!("apsp e.txt {cpu} --distances d.npy")),
        (format!("apsp e.txt {cpu}"), format!("apsp e.txt {cpu} --sources 0..2")),
    ];
    let (one, other) = random.of(&pairs).clone();
    if random.below(2) == 0 { (one, other) } else { (other, one) }
}

/// Series, sequences and graphs, of which two have equal lengths and other contents.
fn write_inputs(campaign: &mut Campaign<'_>) -> std::io::Result<()> {
    let at = |name: &str| campaign.folder.join(name);
    for (name, values) in
        [("a.npy", [1.0, 2.0, 3.0]), ("b.npy", [1.0, 5.0, 3.0]), ("c.npy", [1.0, 9.0, 3.0])]
    {
        std::fs::write(at(name), super::damage::npy(&values))?;
    }
    for (name, letters) in [("q.fa", "ACGTTA"), ("t.fa", "ACCTTA"), ("u.fa", "ACATTA")] {
        std::fs::write(at(name), format!(">x\n{letters}\n"))?;
    }
    std::fs::write(at("e.txt"), "0 1 3\n1 2 4\n2 0 1\n")?;
    std::fs::write(at("f.txt"), "0 1 3\n1 2 5\n2 0 1\n")
}
