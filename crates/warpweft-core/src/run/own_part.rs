//! The part of a host that one of several ranks uses.

use super::Target;
use crate::cluster::{Transport, placement};
use crate::error::Result;
use crate::machine::{Cpu, Gpu, Machine};

/// The part of `machine` that this rank of `net` uses. Ranks of a host that may use the same cores divide these cores, and the
/// CPU time that a control group grants them. Ranks that see the same GPUs divide the GPUs too, unless `target` names
/// single GPUs; with fewer GPUs than ranks, several ranks share one. Calling this again with the returned machine returns
/// the same machine. All ranks must call this; their targets may differ.
///
/// # Errors
/// As [`Transport::receive`]; the driver's, which ends all ranks.
pub fn own_part(net: &dyn Transport, machine: &Machine, target: Target) -> Result<Machine> {
    let on = placement(net, &machine.cpu.cores)?;
    let divided = on.cores.len() < machine.cpu.cores.len();
    let sharers = if divided { on.sharers } else { 1 };
    let quota = machine.cpu.quota.map(|quota| quota / sharers as f64);
    let cpu = Cpu { cores: on.cores, quota, ..machine.cpu.clone() };
    let all = matches!(target, Target::Auto | Target::AnyGpu | Target::AllGpus);
    // Every rank takes part in the exchange.
    let own = own_gpus(net, if all { &machine.gpus } else { &[] })?;
    let gpus = if all { own } else { machine.gpus.clone() };
    Ok(Machine { cpu, gpus, notes: machine.notes.clone() })
}

fn own_gpus(net: &dyn Transport, gpus: &[Gpu]) -> Result<Vec<Gpu>> {
    let buses = gpus.iter().map(|gpu| {
        let [domain, bus, device] = gpu.device()?.bus()?.map(|number| number as usize);
        Ok((domain << 16 | bus << 8 | device, gpu))
    });
    let buses = buses.collect::<Result<Vec<_>>>();
    let mut buses = buses.inspect_err(|error| net.abort(&error.to_string()))?;
    // Processes may number the same GPUs in another order.
    buses.sort_by_key(|(bus, gpu)| (*bus, gpu.ordinal));
    let on = placement(net, &buses.iter().map(|(bus, _)| *bus).collect::<Vec<_>>())?;
    let count = buses.len();
    let mine = match count < on.sharers {
        true => on.part % count.max(1)..(on.part % count.max(1) + 1).min(count),
        false => on.part * count / on.sharers..(on.part + 1) * count / on.sharers,
    };
    let mut mine: Vec<Gpu> = buses[mine].iter().map(|(_, gpu)| (*gpu).clone()).collect();
    mine.sort_by_key(|gpu| gpu.ordinal);
    Ok(mine)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::cluster::in_process;

    #[test]
    fn ranks_of_a_host_divide_its_cores_once() {
        let machine = Machine::detect().unwrap();
        let cores: Vec<usize> = (0..6).collect();
        let quota = Some(4.0);
        let machine = Machine { cpu: Cpu { cores, quota, ..machine.cpu }, ..machine };
        let parts = in_process(3, Duration::from_secs(60), |net| {
            let part = own_part(net, &machine, Target::Cpu)?;
            let again = own_part(net, &part, Target::Cpu)?;
            assert_eq!(again, part);
            Ok((part.cpu.threads(), part.cpu.cores))
        });
        assert_eq!(parts.unwrap(), [(1, vec![0, 1]), (1, vec![2, 3]), (1, vec![4, 5])]);
    }
}
