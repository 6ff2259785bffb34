//! Which of several GPUs share a volume, and in which order: from the links between them as measured.
//! Not here: how they exchange planes (`cuda::multi`).

use serde::{Deserialize, Serialize};

use super::cuda::multi::GpuList;
use super::distribute::select;
use super::policy::Policy;
use warpweft_core::machine::{Machine, Probe};

/// What tuning chose for a list of GPUs: fewer where those are faster, in the best order.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Chosen {
    /// The GPUs, in the order of their slabs.
    pub gpus: GpuList,
    /// How the stencil runs on them.
    pub policy: Policy,
}

/// More than any link's time, in tenths of a microsecond.
const MISSING: f64 = 1e12;

/// `count` of the GPUs of `list`, in the order in which slabs of `plane_bytes` a plane pass them on
/// soonest. Without measured links, the driver's ranks of them; without those, the list's order.
pub(super) fn placed(
    list: GpuList,
    count: usize,
    machine: &Machine,
    probe: Option<&Probe>,
    plane_bytes: f64,
) -> Option<GpuList> {
    let numbers: Vec<usize> = list.numbers().collect();
    let link = |from: usize, to: usize| -> f64 {
        let measured = probe.and_then(|probe| probe.pair(from, to));
        let seconds = measured.and_then(|pair| {
            Some(pair.hop.or(pair.latency)? + plane_bytes / pair.copy.unwrap_or(f64::INFINITY))
        });
        let gpu = machine.gpus.iter().find(|gpu| gpu.ordinal == from);
        let link = gpu.and_then(|gpu| gpu.links.iter().find(|link| link.to == to));
        let rank = link.map_or(9.0, |link| {
            let far = if link.peer { 0.0 } else { 8.0 };
            far + link.rank.map_or(0.0, |rank| rank as f64)
        });
        seconds.unwrap_or(1e-6 * (1.0 + rank))
    };
    let worst = |places: &[usize]| {
        // Of many GPUs longer lists are made of shorter ones, so these are judged too: as worse than any of `count`.
        let missing = count.checked_sub(places.len())?;
        Some({
            let cuts = places.windows(2).map(|pair| {
                let (a, b) = (numbers[pair[0]], numbers[pair[1]]);
                // Links that differ by less than noise are alike.
                (1e7 * link(a, b).max(link(b, a))).round()
            });
            missing as f64 * MISSING + cuts.fold(0.0, f64::max)
        })
    };
    let best = select(numbers.len(), worst)?;
    let chosen: Vec<usize> = best.devices.iter().map(|&place| numbers[place]).collect();
    GpuList::new(&chosen).ok()
}

/// What is taken for a GPU's copies, an empty launch in a graph and a flag between GPUs where nothing was
/// measured: of the order of an H200's.
const UNMEASURED: [f64; 3] = [3e12, 1e-6, 1.5e-6];
/// More GPUs must be predicted faster by this factor: tuning measures, this guesses.
const WORTH: f64 = 1.25;

/// How many of `list` an untuned run should take: so many that every further doubling is predicted to
/// pay. A step of n GPUs takes its share of the cells at the rate of memory, a launch, and every
/// `turn` steps a flag to the neighbours and one back, which small slabs hide nothing of: on four
/// H200s 128³ cells of heat take 4.3 us, and 4.1 on one.
pub(super) fn worthwhile(
    list: GpuList,
    step_bytes: f64,
    turn: u32,
    probe: Option<&Probe>,
) -> usize {
    let gpus = || probe.into_iter().flat_map(|probe| &probe.gpus);
    let bandwidth = gpus().filter_map(|gpu| gpu.bandwidth()).reduce(f64::min);
    let launch = gpus().filter_map(|gpu| gpu.graph_launch).reduce(f64::max);
    let hops = probe.into_iter().flat_map(|probe| &probe.pairs).filter_map(|pair| pair.hop);
    let hop = hops.reduce(f64::max).unwrap_or(UNMEASURED[2]);
    let memory = step_bytes / bandwidth.unwrap_or(UNMEASURED[0]);
    let launch = launch.unwrap_or(UNMEASURED[1]);
    let seconds = |count: usize| {
        let exchange = if count > 1 { 2.0 * hop / f64::from(turn.max(1)) } else { 0.0 };
        memory / count as f64 + launch + exchange
    };
    let all = list.numbers().count();
    let counts = (1..=all).filter(|&n| n == all || n.is_power_of_two());
    counts.fold(1, |best, n| if seconds(n) * WORTH < seconds(best) { n } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpweft_core::machine::{CpuProbe, PairProbe};

    fn pair(from: usize, to: usize, hop: f64) -> PairProbe {
        PairProbe { from, to, copy: Some(4e11), latency: None, hop: Some(hop) }
    }

    #[test]
    fn slow_links_are_left_out_or_between_nobody() {
        let machine = Machine::detect().unwrap();
        let mut pairs = Vec::new();
        for a in 0..4 {
            for b in 0..4 {
                // 0 and 2 are near one another, and 1 and 3; across it is slow, least so from 2 to 3.
                let hop = match (a % 2 == b % 2, a.min(b), a.max(b)) {
                    (true, ..) => 1e-6,
                    (_, 2, 3) => 3e-6,
                    _ => 9e-6,
                };
                pairs.push(pair(a, b, hop));
            }
        }
        let notes = Vec::new();
        let probe = Probe {
            cpu: CpuProbe::default(),
            gpus: Vec::new(),
            pairs,
            notes,
            seconds: 0.0,
            when: 0,
        };
        let list = GpuList::new(&[0, 1, 2, 3]).unwrap();
        let chosen = |count| -> Vec<usize> {
            placed(list, count, &machine, Some(&probe), 1e3).unwrap().numbers().collect()
        };
        assert_eq!(chosen(1), [0]);
        assert_eq!(chosen(2), [0, 2]);
        assert_eq!(chosen(4), [0, 2, 3, 1]);
        // Without the probe's rates: 128³ cells of eight bytes a step are too few, 256³ are enough.
        let of_cells = |n: usize| worthwhile(list, 8.0 * n.pow(3) as f64, 1, None);
        assert_eq!([64, 128, 256, 512].map(of_cells), [1, 1, 4, 4]);
        let alike = placed(list, 3, &machine, None, 1e3).unwrap();
        assert_eq!(alike.numbers().collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn any_number_of_many_gpus_is_placed() {
        let machine = Machine::detect().unwrap();
        for all in [1, 5, 6, 8, 16] {
            // A ring whose neighbours are three numbers apart.
            let near = |a: usize, b: usize| (a + 3) % all == b || (b + 3) % all == a;
            let ordered = (0..all).flat_map(|a| (0..all).map(move |b| (a, b)));
            let pairs =
                ordered.map(|(a, b)| pair(a, b, if near(a, b) { 1e-6 } else { 5e-6 })).collect();
            let probe = Probe {
                cpu: CpuProbe::default(),
                gpus: Vec::new(),
                pairs,
                notes: Vec::new(),
                seconds: 0.0,
                when: 0,
            };
            let list = GpuList::new(&(0..all).collect::<Vec<_>>()).unwrap();
            for count in 1..=all {
                let chosen = placed(list, count, &machine, Some(&probe), 1e3).unwrap();
                let chosen: Vec<usize> = chosen.numbers().collect();
                assert_eq!(chosen.len(), count);
                assert!((0..count).all(|at| !chosen[..at].contains(&chosen[at])));
                assert!(
                    all % 3 == 0 || chosen.windows(2).all(|two| near(two[0], two[1])),
                    "{chosen:?}"
                );
            }
        }
    }
}
