//! A simulated network: a tree of links between devices. Messages that cross a link at the same time share
//! it.
//!
//! Devices that look alike may differ (PARTANS §2.2): what matters is which links two messages share. Nothing
//! here moves data; [`Tree::times`] computes how long a set of messages takes.

use super::jitter::Jitter;

/// One link with the same properties in both directions. The directions do not disturb each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Seconds from the first byte in to the first byte out.
    pub latency: f64,
    /// Bytes a second in each direction.
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
    /// For each vertex, its parent and the link to it; the root has none.
    parents: Vec<Option<(usize, Link)>>,
    devices: Vec<usize>,
    /// Seconds to start a transfer, whatever its path: driver, library, protocol.
    pub begin: f64,
    /// For devices that can't reach one another: the host at whose root all transfers are staged.
    host: Vec<Option<usize>>,
}

impl Tree {
    /// A tree with only a root. `begin` is the cost of starting any transfer, in seconds.
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

    /// Like [`Tree::switch`], but a host: transfers from or to a device below it are staged in its memory.
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

    /// `count` copies of this tree, each linked to a common root by a `port`. Devices are numbered tree by
    /// tree.
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

    /// The seconds that each transfer takes if all start together: start cost and latencies of its path, plus
    /// the time of the busiest link on it, which serves everything that crosses it in that direction.
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

    /// The links that a transfer crosses, in successive legs: one, two through a host, or three between
    /// hosts.
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
        // Both lists end at the root. What they share is above the turning point.
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

/// Links, each named by its lower end, with the direction: 0 up, 1 down.
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
        // Between two such hosts: up, across both ports, down.
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
