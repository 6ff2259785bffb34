//! The machines that are modelled: how many, of what, and how they are linked.

use warpweft::cluster::topology;
use warpweft::cluster::{Link, Tree};

use super::{Arguments, Scaling};
use crate::model::device::{Devices, Gpu};

/// Numbers of nodes, unless others are asked for.
const NODES: [usize; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
/// Port of a node: µs at each end, and GB/s each way.
const PORT: [f64; 2] = [1.0, 50.0];

impl Arguments {
    /// The machine of which one by itself is studied, and the best of its GPUs.
    pub(super) fn by_itself(&self) -> Option<&str> {
        let one = self.nodes.is_none() && self.device == Devices::Gpu;
        self.machine.as_deref().filter(|_| one)
    }

    pub(super) fn nodes(&self) -> &[usize] {
        self.nodes.as_deref().unwrap_or(&NODES)
    }

    /// Parts a node.
    pub(super) fn gpus(&self) -> usize {
        match (self.device, &self.machine) {
            (Devices::Cpu, _) => 1,
            (_, Some(_)) => 4,
            (_, None) => self.gpus.unwrap_or(4),
        }
    }

    /// What computes a part.
    pub(super) fn unit(&self) -> &'static str {
        if self.device == Devices::Cpu { "host" } else { "GPU" }
    }

    pub(super) fn gpu(&self) -> Gpu {
        if self.machine.is_some() { Gpu::Gtx590 } else { self.gpu.unwrap_or(Gpu::H200) }
    }

    pub(super) fn port(&self) -> Link {
        let latency = self.port_latency.unwrap_or(PORT[0]) * 1e-6;
        Link { latency, bandwidth: self.port_bandwidth.unwrap_or(PORT[1]) * 1e9 }
    }

    /// So many nodes, linked by their ports.
    pub(super) fn network(&self, nodes: usize) -> Tree {
        let port = self.port();
        match (self.device, self.machine.as_deref().and_then(topology::by_name)) {
            // Messages begin and end in memory.
            (Devices::Cpu, _) => {
                let inside = Link { latency: 0.0, bandwidth: f64::INFINITY };
                topology::nodes(nodes, 1, inside, port, 0.0)
            }
            (_, Some(node)) => node.side_by_side(nodes, port),
            (_, None) => {
                // NVLink as measured between H200s: 396 GB/s, 8 µs for a small copy.
                let inside = Link { latency: 0.0, bandwidth: 396e9 };
                topology::nodes(nodes, self.gpus(), inside, port, 8e-6)
            }
        }
    }

    /// What the nodes are.
    pub(super) fn nodes_of(&self) -> String {
        let (gpus, gpu) = (self.gpus(), self.gpu().name());
        match (self.by_itself(), self.device, &self.machine) {
            (Some(machine), _, _) => format!("on {machine}, the best GPUs of four"),
            (_, Devices::Cpu, Some(machine)) => format!("the cores of nodes like {machine}"),
            (_, Devices::Cpu, None) => "the cores of nodes".into(),
            (_, _, Some(machine)) => format!("nodes of {gpus} {gpu} like {machine}"),
            (_, _, None) => format!("nodes of {gpus} {gpu}"),
        }
    }

    pub(super) fn scaling(&self) -> Scaling {
        match self.by_itself() {
            Some(_) => Scaling::Strong,
            None => self.scaling.unwrap_or(Scaling::Weak),
        }
    }
}
