//! Which ranks share a host, and which cores each of them uses.

use super::collective::{broadcast, gather};
use super::transport::Transport;
use crate::error::Result;

/// A rank's place on its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Its index among the ranks of the host, from 0.
    pub local_rank: usize,
    /// Number of ranks on the host.
    pub local_ranks: usize,
    /// Number of ranks of the host that may use the same cores, this one included.
    pub sharers: usize,
    /// Its index among these, from 0.
    pub part: usize,
    /// The cores for this rank.
    pub cores: Vec<usize>,
}

/// The placement of this rank on its host, where it may use `cores`. Ranks that a launcher has bound to different cores keep
/// them; ranks that may use the same cores divide them. `cores` may also be the numbers of something else, e.g. GPUs.
///
/// # Errors
/// See [`Transport::receive`].
pub fn placement(net: &dyn Transport, cores: &[usize]) -> Result<Placement> {
    placed(net, &host_name(), cores)
}

/// The name of this host; empty if the system does not tell it.
pub fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

/// The placement on the host with this name.
fn placed(net: &dyn Transport, host: &str, cores: &[usize]) -> Result<Placement> {
    let list = cores.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    let all = gather(net, format!("{host}\n{list}").into_bytes())?;
    let all = broadcast(net, all.join(&0))?;
    let all: Vec<&[u8]> = all.split(|&byte| byte == 0).collect();
    let mine = all[net.rank()];
    let host_of = |who: &[u8]| who.iter().position(|&b| b == b'\n').map_or(0, |at| at);
    let here = |who: &&[u8]| who[..host_of(who)] == mine[..host_of(mine)];
    let local: Vec<usize> = (0..all.len()).filter(|&rank| here(&all[rank])).collect();
    let same: Vec<usize> = local.iter().copied().filter(|&rank| all[rank] == mine).collect();
    let place = |ranks: &[usize]| ranks.iter().position(|&rank| rank == net.rank()).unwrap_or(0);
    Ok(Placement {
        local_rank: place(&local),
        local_ranks: local.len(),
        sharers: same.len(),
        part: place(&same),
        cores: share(cores, place(&same), same.len()),
    })
}

/// Part number `part` of `parts` of `cores`: at least one core, which several parts have if there are too
/// few.
fn share(cores: &[usize], part: usize, parts: usize) -> Vec<usize> {
    if cores.len() <= parts {
        return cores.iter().copied().cycle().skip(part).take(cores.len().min(1)).collect();
    }
    cores[part * cores.len() / parts..(part + 1) * cores.len() / parts].to_vec()
}

#[cfg(test)]
mod tests {
    use super::super::in_process;
    use super::*;
    use std::time::Duration;

    #[test]
    fn ranks_of_a_host_share_its_cores_unless_they_are_bound() {
        let found = in_process(5, Duration::from_secs(60), |net| match net.rank() {
            0 | 3 => placed(net, "a", &[0, 1, 2, 3, 4]),
            rank => placed(net, "b", &[rank, 8 + rank]),
        });
        let placement = |local_rank, local_ranks, sharers, part, cores: &[usize]| Placement {
            local_rank,
            local_ranks,
            sharers,
            part,
            cores: cores.to_vec(),
        };
        assert_eq!(
            found.unwrap(),
            [
                placement(0, 2, 2, 0, &[0, 1]),
                placement(0, 3, 1, 0, &[1, 9]),
                placement(1, 3, 1, 0, &[2, 10]),
                placement(1, 2, 2, 1, &[2, 3, 4]),
                placement(2, 3, 1, 0, &[4, 12]),
            ]
        );
        assert_eq!((0..3).map(|part| share(&[6, 7], part, 3)[0]).collect::<Vec<_>>(), [6, 7, 6]);
    }
}
