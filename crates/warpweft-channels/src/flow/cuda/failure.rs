//! Why a graph's kernel ended before all items were consumed, as an error.

use super::launch::{Memory, Record, status};
use super::layout::Layout;
use crate::flow::graph::FlowGraph;
use crate::flow::plan::Plan;
use crate::flow::reference::queue::{too_deep, too_many};
use warpweft_core::cuda::{Device, Stream};
use warpweft_core::element::Unit;
use warpweft_core::error::{Error, Result};

/// How many items channels hold, firings that are under way included, when so many credits of all levels are left.
pub(super) fn held<'p>(
    plan: &'p Plan,
    layout: &'p Layout,
    credits: &'p [u32],
) -> impl Iterator<Item = (usize, usize)> {
    plan.order.iter().map(move |&channel| {
        let group = layout.groups[layout.channels[channel].group];
        let free = &credits[group.credits..][..group.levels];
        let free: usize = free.iter().map(|&free| free as usize).sum();
        (channel, (group.capacity * group.levels).saturating_sub(free))
    })
}

/// The error that a kernel's record stands for.
pub(super) fn failed(
    record: &Record,
    (graph, plan): (&FlowGraph, &Plan),
    (layout, memory): (&Layout, &Memory),
    (unit, (device, stream)): (&Unit, (&Device, &Stream)),
) -> Result<Error> {
    let Some(kernel) = graph.kernels.get(record.kernel) else {
        return Ok(ended_with(record.status, device));
    };
    let name = kernel.node.name();
    Ok(match record.status {
        status::TOO_MANY => {
            let bound = kernel.node.edges().iter().map(|edge| edge.bound).max().unwrap_or(0);
            too_many(name, bound, kernel.node.total())
        }
        status::TOO_DEEP => too_deep(name, plan.groups[plan.needs[record.kernel].own].levels),
        status::FAULT => {
            let item = graph.channels[kernel.input].first.shown(&record.item);
            let site = unit.site_of(record.site);
            let place = site.map_or_else(String::new, |site| format!(" at {}", site.place()));
            Error::Element {
                place: format!("`{name}` for the item {item}{place}"),
                what: site.map_or("a fault", |site| site.what).into(),
            }
        }
        // Nothing can fire: with the state of every channel.
        status::STUCK => {
            let (_, pending) = memory.counts(stream, graph.kernels.len())?;
            let credits = memory.credits(stream, layout)?;
            plan.stuck(pending as usize, held(plan, layout, &credits))
        }
        other => ended_with(other, device),
    })
}

fn ended_with(status: u32, device: &Device) -> Error {
    Error::Device {
        stage: "running a channel-flow graph".into(),
        device: device.label().into(),
        what: format!("the kernel ended with status {status}"),
        hint: "please report this with the program and its policy".into(),
    }
}
