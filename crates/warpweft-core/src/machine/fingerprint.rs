//! A text that identifies a machine.

use super::Machine;

/// Readable, so that a user can understand a file with this key.
pub(super) fn of(machine: &Machine) -> String {
    let cpu = &machine.cpu;
    let mut parts = vec![format!("{} x{} {:?}", cpu.model, cpu.threads(), cpu.simd)];
    let mut alike = 0;
    for (index, gpu) in machine.gpus.iter().enumerate() {
        alike += 1;
        let (major, minor) = gpu.capability;
        let next = machine.gpus.get(index + 1);
        if next.is_none_or(|next| next.name != gpu.name || next.memory != gpu.memory) {
            let gib = gpu.memory >> 30;
            parts.push(format!("{alike}x {} {major}.{minor} {gib} GiB", gpu.name));
            alike = 0;
        }
    }
    parts.join("; ")
}
