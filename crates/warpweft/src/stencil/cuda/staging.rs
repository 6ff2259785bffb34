//! Halos through page-locked memory of the host, out of which the transport sends and into which it
//! receives.

use std::sync::Arc;
use std::time::Instant;

use super::peers::passed;
use super::sweeps::CudaSweeps;
use crate::cluster::{Tag, Transport};
use crate::cuda::{Buffer, Device, Event, Pinned, Stream};
use crate::element::Fields;
use crate::error::Result;
use crate::stencil::distribute::Cells;

/// Areas that are kept though nothing is on its way in them.
const KEPT: usize = 8;

/// The areas of one executor. The stream they are used in must be done before they are dropped.
#[derive(Default)]
pub(super) struct Staging {
    sent: Vec<Area<Arc<Pinned<u8>>>>,
    received: Vec<Area<Pinned<u8>>>,
}

/// Room for one message, on the device and on the host.
struct Area<P> {
    device: Buffer,
    host: P,
    /// The device is done with it.
    done: Event,
}

/// The first free area of so many bytes, or a new one.
fn area<P>(
    areas: &mut Vec<Area<P>>,
    bytes: usize,
    free: impl Fn(&mut P) -> bool,
    new: impl FnOnce(Pinned<u8>) -> P,
    device: &Device,
) -> Result<usize> {
    for at in 0..areas.len() {
        let area = &mut areas[at];
        if area.device.bytes() == bytes && free(&mut area.host) && area.done.is_done()? {
            return Ok(at);
        }
    }
    let mut at = 0;
    while areas.len() > KEPT && at < areas.len() {
        if free(&mut areas[at].host) && areas[at].done.is_done()? {
            areas.swap_remove(at);
        } else {
            at += 1;
        }
    }
    areas.push(Area {
        device: Buffer::new(device, bytes)?,
        host: new(Pinned::new(device, bytes)?),
        done: Event::new(device)?,
    });
    Ok(areas.len() - 1)
}

impl Staging {
    /// Packs `boxes` and sends them.
    ///
    /// # Errors
    /// The driver's; as [`Transport::send`].
    pub(super) fn send<S: Fields, const D: usize>(
        &mut self,
        sweeps: &CudaSweeps<S, D>,
        boxes: &[Cells<D>],
        bytes: usize,
        net: &dyn Transport,
        (to, tag): (usize, Tag),
        stream: &Stream,
    ) -> Result<()> {
        let free = |host: &mut Arc<Pinned<u8>>| Arc::get_mut(host).is_some();
        let at = area(&mut self.sent, bytes, free, Arc::new, stream.device())?;
        let Area { device, host, done } = &mut self.sent[at];
        // SAFETY: the area has as many bytes, and `done` is waited for below.
        unsafe { sweeps.copy_halos(boxes, device.address(), stream, true, None)? };
        if let Some(host) = Arc::get_mut(host) {
            // SAFETY: nobody else has the area, and `done` is waited for below.
            unsafe { stream.download_async(device, 0, host, 0..bytes)? };
        }
        stream.record(done)?;
        // What was sent before goes on meanwhile.
        passed(done, net)?;
        net.send_shared(to, tag, host.clone())
    }

    /// Receives `boxes` and queues their unpacking; the seconds waited for them.
    ///
    /// # Errors
    /// The driver's; as [`Transport::receive`].
    pub(super) fn receive<S: Fields, const D: usize>(
        &mut self,
        sweeps: &CudaSweeps<S, D>,
        boxes: &[Cells<D>],
        bytes: usize,
        net: &dyn Transport,
        (from, tag): (usize, Tag),
        stream: &Stream,
    ) -> Result<f64> {
        let at = area(&mut self.received, bytes, |_| true, |host| host, stream.device())?;
        let Area { device, host, done } = &mut self.received[at];
        let start = Instant::now();
        net.receive_into(from, tag, &mut host[..bytes])?;
        let waited = start.elapsed().as_secs_f64();
        // SAFETY: the area is not used again before `done` is passed, nor dropped before the stream
        // has been waited for.
        unsafe {
            stream.upload_async(device, 0, host, 0..bytes)?;
            sweeps.copy_halos(boxes, device.address(), stream, false, None)?;
        }
        stream.record(done)?;
        Ok(waited)
    }
}
