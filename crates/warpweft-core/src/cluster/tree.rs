//! A simulated network: a tree of links between devices, shared by what crosses them at once.
//!
//! Devices that look alike need not be alike (PARTANS §2.2): what matters is which links two messages
//! share. Nothing here moves data; [`Tree::times`] says how long a set of messages would take.

use super::jitter::Jitter;

/// One link, the same in both directions, which do not disturb one another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Seconds from the first byte in to the first byte out.
    pub latency: f64,
    /// Bytes a second each way.
    pub bandwidth: f64,
}

/// A message between two devices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// Device that sends.
    pub from: usize,
    /// Device that receives.
    pub to: usize,
    /// Bytes.
    pub bytes: f64,
}

/// A tree of switches with devices as leaves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree {
    /// Per vertex, its parent and the link to it; the root has none.
    parents: Vec<Option<(usize, Link)>>,
    devices: Vec<usize>,
    /// Seconds to begin a transfer, whatever its path: driver, library, protocol.
    pub begin: f64,
    /// Whether devices can't reach one another, so that all goes to memory at the root of their host
    /// first and then down again.
    host: Vec<Option<usize>>,
}

impl Tree {
    /// A root alone. `begin` is what starting any transfer costs, in seconds.
    pub fn new(begin: f64) -> Self {
        Self { parents: vec![None], devices: Vec::new(), begin, host: vec![None] }
    }

    /// The root's number.
    pub fn root(&self) -> usize {
        0
    }

    /// Adds a switch below `parent` and returns its number.
    pub fn switch(&mut self, parent: usize, link: Link) -> usize {
        self.parents.push(Some((parent, link)));
        self.host.push(self.host[parent]);
        self.parents.len() - 1
    }

    /// As [`Tree::switch`], a host: transfers from or to a device below it pass through its memory,
    /// one way after the other.
    pub fn staging_host(&mut self, parent: usize, link: Link) -> usize {
        let vertex = self.switch(parent, link);
        self.host[vertex] = Some(vertex);
        vertex
    }

    /// Adds a device below `parent` and returns its device number.
    pub fn device(&mut self, parent: usize, link: Link) -> usize {
        let vertex = self.switch(parent, link);
        self.devices.push(vertex);
        self.devices.len() - 1
    }

    /// `count` of these, each linked to a root of all by a `port`. Devices are numbered tree by tree.
    pub fn side_by_side(&self, count: usize, port: Link) -> Self {
        let mut all = Self::new(self.begin);
        for _ in 0..count {
            let first = all.parents.len();
            let below = |parent: &Option<(usize, Link)>| match *parent {
                Some((vertex, link)) => Some((first + vertex, link)),
                None => Some((0, port)),
            };
            all.parents.extend(self.parents.iter().map(below));
            all.host.extend(self.host.iter().map(|host| host.map(|vertex| first + vertex)));
            all.devices.extend(self.devices.iter().map(|vertex| first + vertex));
        }
        all
    }

    /// Number of devices.
    pub fn devices(&self) -> usize {
        self.devices.len()
    }

    /// Seconds each transfer takes when all are begun together: begin and latencies of its path, and
    /// the time of the busiest link on it, which serves everything that crosses it that way.
    pub fn times(&self, transfers: &[Transfer], jitter: &mut Jitter) -> Vec<f64> {
        let mut load = vec![[0.0; 2]; self.parents.len()];
        let paths: Vec<Vec<Leg>> = transfers.iter().map(|t| self.legs(t)).collect();
        for (transfer, legs) in transfers.iter().zip(&paths) {
            for &(vertex, way) in legs.iter().flatten() {
                load[vertex][way] += transfer.bytes;
            }
        }
        let leg_time = |leg: &Leg| {
            let mut latency = self.begin;
            let mut busiest = 0.0f64;
            for &(vertex, way) in leg {
                let Some((_, link)) = self.parents[vertex] else { continue };
                latency += link.latency;
                busiest = busiest.max(load[vertex][way] / link.bandwidth);
            }
            latency + busiest
        };
        let time = |legs: &Vec<Leg>| legs.iter().map(leg_time).sum::<f64>() * jitter.factor();
        paths.iter().map(time).collect()
    }

    /// The links a transfer crosses, in legs that follow one another: one, two through a host, or three
    /// from one to another.
    fn legs(&self, transfer: &Transfer) -> Vec<Leg> {
        let (from, to) = (self.devices[transfer.from], self.devices[transfer.to]);
        if from == to {
            return Vec::new();
        }
        let stops = [Some(from), self.host[from], self.host[to], Some(to)];
        let mut stops: Vec<_> = stops.into_iter().flatten().collect();
        stops.dedup();
        stops.windows(2).map(|leg| self.leg(leg[0], leg[1])).collect()
    }

    /// The links between two vertices.
    fn leg(&self, from: usize, to: usize) -> Leg {
        let (up, down) = (self.ancestors(from), self.ancestors(to));
        // Both lists end at the root: what they share lies above the turning point.
        let shared = up.iter().rev().zip(down.iter().rev()).take_while(|(a, b)| a == b);
        let turn = up[up.len() - shared.count()];
        let mut leg = self.climb(from, turn, 0);
        leg.extend(self.climb(to, turn, 1));
        leg
    }

    /// The links from `vertex` up to `top`.
    fn climb(&self, vertex: usize, top: usize, way: usize) -> Leg {
        self.ancestors(vertex).into_iter().take_while(|&v| v != top).map(|v| (v, way)).collect()
    }

    /// `vertex` and everything above it, the root last.
    fn ancestors(&self, vertex: usize) -> Vec<usize> {
        let up = |&v: &usize| self.parents[v].map(|(parent, _)| parent);
        std::iter::successors(Some(vertex), up).collect()
    }
}

/// Links named by their lower end, with the way they are crossed: 0 up, 1 down.
type Leg = Vec<(usize, usize)>;

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: Link = Link { latency: 1.0, bandwidth: 10.0 };
    const FAST: Link = Link { latency: 0.0, bandwidth: 1000.0 };

    fn times(tree: &Tree, pairs: &[(usize, usize)]) -> Vec<f64> {
        let transfers: Vec<_> =
            pairs.iter().map(|&(from, to)| Transfer { from, to, bytes: 100.0 }).collect();
        tree.times(&transfers, &mut Jitter::new(0, 0.0))
    }

    /// Two switches of two devices each, below one root.
    fn two_by_two() -> Tree {
        let mut tree = Tree::new(0.5);
        for _ in 0..2 {
            let switch = tree.switch(tree.root(), SLOW);
            for _ in 0..2 {
                tree.device(switch, FAST);
            }
        }
        tree
    }

    #[test]
    fn neighbours_below_one_switch_do_not_load_its_uplink() {
        assert_eq!(times(&two_by_two(), &[(0, 1)]), [0.5 + 0.1]);
        assert_eq!(times(&two_by_two(), &[(0, 2)]), [0.5 + 2.0 + 10.0]);
        assert_eq!(times(&two_by_two(), &[(1, 1)]), [0.0]);
    }

    #[test]
    fn what_crosses_a_link_together_shares_it_but_the_ways_are_apart() {
        assert_eq!(times(&two_by_two(), &[(0, 2), (1, 3)]), [0.5 + 2.0 + 20.0; 2]);
        assert_eq!(times(&two_by_two(), &[(0, 2), (2, 0)]), [0.5 + 2.0 + 10.0; 2]);
    }

    #[test]
    fn staging_takes_two_legs_that_both_cost_a_beginning() {
        let mut tree = Tree::new(0.5);
        let host = tree.staging_host(tree.root(), FAST);
        let card = tree.switch(host, SLOW);
        tree.device(card, FAST);
        tree.device(card, FAST);
        assert_eq!(times(&tree, &[(0, 1)]), [2.0 * (0.5 + 1.0 + 10.0)]);
        // From one such host to another: up, across by both ports, down.
        let port = Link { latency: 3.0, bandwidth: 5.0 };
        let two = tree.side_by_side(2, port);
        assert_eq!(two.devices(), 4);
        let ends = 2.0 * (0.5 + 1.0 + 10.0);
        assert_eq!(times(&two, &[(0, 1)]), [ends], "as in a machine alone");
        assert_eq!(times(&two, &[(0, 2)]), [ends + 0.5 + 2.0 * 3.0 + 100.0 / 5.0]);
        assert_eq!(times(&two, &[(0, 2), (3, 1)])[0], times(&two, &[(0, 2)])[0], "ways are apart");
    }

    #[test]
    fn nodes_side_by_side_are_the_nodes_of_a_cluster() {
        let mut node = Tree::new(0.5);
        node.device(0, FAST);
        node.device(0, FAST);
        assert_eq!(times(&node.side_by_side(2, SLOW), &[(0, 2), (1, 0)]), [0.5 + 2.0 + 10.0, 0.6]);
    }
}
