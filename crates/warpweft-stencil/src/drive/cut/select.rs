//! Which devices, and in which order: PARTANS' offline choice (§6.5), over any devices.

/// Devices chosen for a slab partition: part p runs on `devices[p]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// The devices, in the order of the parts.
    pub devices: Vec<usize>,
    /// What `seconds` said of them.
    pub seconds: f64,
}

/// Devices up to this many are tried in every order; that is 325 placements.
const ALL_ORDERS: usize = 5;
/// A larger selection must be faster by this factor than a smaller one: idle devices are free for
/// others.
const WORTHWHILE: f64 = 0.99;

/// Chooses how many of `count` devices, which and in which order: the placement for which `seconds`
/// (predicted, simulated or measured; `None` if it can't run) is least.
///
/// Up to five devices all orders are tried. More are added one by one where they fit best, then
/// exchanged pairwise while that helps: O(count³) calls a round.
pub fn select(count: usize, seconds: impl FnMut(&[usize]) -> Option<f64>) -> Option<Selection> {
    of_each_size(count, seconds)
        .into_iter()
        .reduce(|best, next| if next.seconds < best.seconds * WORTHWHILE { next } else { best })
}

/// The best placement of each number of devices that can run, as [`select`] compares them.
pub(crate) fn of_each_size(
    count: usize,
    mut seconds: impl FnMut(&[usize]) -> Option<f64>,
) -> Vec<Selection> {
    let (mut best, mut present) = (Vec::new(), Vec::new());
    for size in 1..=count {
        let found = if count <= ALL_ORDERS {
            fastest(arrangements(count, size), &mut seconds)
        } else {
            grown(count, &present, &mut seconds)
        };
        // Where none of this size can run, larger ones need not be able to either, but may.
        let Some(found) = found else { continue };
        present.clone_from(&found.devices);
        best.push(found);
    }
    best
}

fn fastest(
    candidates: impl IntoIterator<Item = Vec<usize>>,
    seconds: &mut impl FnMut(&[usize]) -> Option<f64>,
) -> Option<Selection> {
    let mut best: Option<Selection> = None;
    for devices in candidates {
        let Some(time) = seconds(&devices) else { continue };
        // The first of equals stays: it has the lowest numbers.
        if best.as_ref().is_none_or(|best| time < best.seconds) {
            best = Some(Selection { devices, seconds: time });
        }
    }
    best
}

/// Every ordered choice of `size` out of `count`, in lexical order.
fn arrangements(count: usize, size: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..size {
        let longer = |devices: Vec<usize>| {
            let unused: Vec<usize> = (0..count).filter(|d| !devices.contains(d)).collect();
            unused.into_iter().map(move |device| [&devices[..], &[device]].concat())
        };
        all = all.into_iter().flat_map(longer).collect();
    }
    all
}

/// `present` with one more device in the best place, then improved by exchanges.
fn grown(
    count: usize,
    present: &[usize],
    seconds: &mut impl FnMut(&[usize]) -> Option<f64>,
) -> Option<Selection> {
    let unused = (0..count).filter(|d| !present.contains(d));
    let inserted = unused.flat_map(|device| {
        (0..=present.len()).map(move |place| {
            let mut devices = present.to_vec();
            devices.insert(place, device);
            devices
        })
    });
    let mut best = fastest(inserted.collect::<Vec<_>>(), seconds)?;
    loop {
        let devices = &best.devices;
        let pairs = (0..devices.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
        let exchanged = pairs.map(|(a, b)| {
            let mut other = devices.clone();
            other.swap(a, b);
            other
        });
        match fastest(exchanged.collect::<Vec<_>>(), seconds) {
            Some(other) if other.seconds < best.seconds => best = other,
            _ => return Some(best),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::{Simulation, deepest_feasible};
    use crate::model::ghost::Linear;
    use crate::plan::halo::Footprint;
    use crate::plan::partition::Partition;
    use crate::spec::boundary::{Boundaries, Boundary};
    use warpweft_core::cluster::{Tree, topology};
    use warpweft_core::element::{FieldInfo, ScalarKind};

    /// Seconds a step of a cube of `n` on some devices of `network`, at the best of a few depths.
    fn seconds(network: &Tree, n: usize, placement: &[usize]) -> Option<f64> {
        let faces = Boundaries::all(3, Boundary::Periodic);
        let partition = Partition::grid([n; 3], [placement.len(), 1, 1], &faces).ok()?;
        let stages = [Footprint { reads: vec![(0, [[1; 2]; 3].into())], writes: vec![0] }];
        let fields = [FieldInfo { name: "", kind: ScalarKind::F32 }];
        let simulation = Simulation {
            partition: &partition,
            stages: &stages,
            fields: &fields,
            device: Linear { per_unit: 5e-11, fixed: 5e-6 },
            network,
            placement,
            boundary_first: true,
        };
        let deepest = deepest_feasible(&partition, &faces, &stages, 1, 4);
        (1..=deepest).map(|depth| simulation.cycle(depth).exact()).min_by(f64::total_cmp)
    }

    #[test]
    fn small_volumes_stay_on_one_device_and_large_ones_use_all() {
        // PARTANS §6.5: 3D volumes of 128³ are not worth distributing.
        let network = topology::p67_nat();
        let chosen = |n| select(4, |devices| seconds(&network, n, devices)).unwrap().devices;
        assert_eq!(chosen(32), [0]);
        assert_eq!(chosen(512).len(), 4);
    }

    #[test]
    fn two_devices_are_taken_from_two_cards() {
        let network = topology::p67_nat();
        let two = |devices: &[usize]| {
            (devices.len() == 2).then(|| seconds(&network, 96, devices)).flatten()
        };
        assert_eq!(select(4, two).unwrap().devices, [0, 2]);
    }

    #[test]
    fn eight_devices_on_a_ring_are_put_in_its_order() {
        // Devices are numbered at random; only neighbours on the ring are linked well.
        let ring = [3, 6, 0, 5, 1, 7, 2, 4];
        let place = |device: usize| ring.iter().position(|&d| d == device).unwrap_or(0);
        let hops = |a: usize, b: usize| {
            let far = place(a).abs_diff(place(b));
            far.min(8 - far)
        };
        let time = |devices: &[usize]| {
            let next = devices.iter().cycle().skip(1);
            let worst = devices.iter().zip(next).map(|(&a, &b)| hops(a, b)).sum::<usize>();
            Some(100.0 / devices.len() as f64 + 0.1 * worst as f64)
        };
        let found = select(8, time).unwrap();
        assert_eq!(found.devices.len(), 8);
        assert_eq!(found.seconds, time(&ring).unwrap());
    }

    #[test]
    fn nothing_that_runs_is_nothing_chosen() {
        assert_eq!(select(3, |_| None), None);
        assert_eq!(arrangements(5, 5).len(), 120);
    }
}
