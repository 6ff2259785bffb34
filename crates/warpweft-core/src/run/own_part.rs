//! The part of a host that one of several ranks uses.

use super::Target;
use crate::cluster::{Transport, placement};
use crate::error::Result;
use crate::machine::{Cpu, Gpu, Machine};

/// The part of `machine` that this rank of `net` uses. Ranks of a host that may use the same cores divide them, and so
/// do those that see the same GPUs, unless `target` names one; with fewer GPUs than ranks, the last ranks have none.
/// The part of a part is the part itself. All ranks call this.
///
/// # Errors
/// As [`Transport::receive`]; the driver's, which ends all ranks.
pub fn own_part(net: &dyn Transport, machine: &Machine, target: Target) -> Result<Machine> {
    let on = placement(net, &machine.cpu.cores)?;
    let quota = machine.cpu.quota.map(|quota| quota / on.sharers as f64);
    let cpu = Cpu { cores: on.cores, quota, ..machine.cpu.clone() };
    let gpus = match target {
        Target::Auto | Target::AnyGpu | Target::AllGpus => own_gpus(net, &machine.gpus)?,
        _ => machine.gpus.clone(),
    };
    Ok(Machine { cpu, gpus, notes: machine.notes.clone() })
}

fn own_gpus(net: &dyn Transport, gpus: &[Gpu]) -> Result<Vec<Gpu>> {
    let buses = gpus.iter().map(|gpu| {
        let [domain, bus, device] = gpu.device()?.bus()?.map(|number| number as usize);
        Ok(domain << 16 | bus << 8 | device)
    });
    let buses = buses.collect::<Result<Vec<_>>>();
    let buses = buses.inspect_err(|error| net.abort(&error.to_string()))?;
    let on = placement(net, &buses)?;
    Ok(match gpus.len() < on.sharers {
        true => gpus.get(on.part).into_iter().cloned().collect(),
        false => {
            let mine = buses.iter().zip(gpus).filter(|(bus, _)| on.cores.contains(bus));
            mine.map(|(_, gpu)| gpu.clone()).collect()
        }
    })
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
