//! Halos by way of a transport: through page-locked memory of the host, out of which it sends and into
//! which it receives, or straight out of and into the device's if it takes that.

use std::sync::Arc;
use std::time::Instant;

use super::copies::Copies;
use crate::cuda::peers::passed;
use crate::exchange::Cells;
use warpweft_core::cluster::{Remote, Tag, Transport};
use warpweft_core::cuda::{Buffer, Device, Event, Pinned, Stream};
use warpweft_core::error::Result;

/// Areas that are kept though nothing is on its way in them.
const KEPT: usize = 8;

/// The areas of one executor. The stream they are used in must be done before they are dropped.
#[derive(Default)]
pub(crate) struct Staging {
    /// Whether the transport is given the device's memory.
    pub aware: bool,
    sent: Vec<Area<Arc<Pinned<u8>>>>,
    received: Vec<Area<Pinned<u8>>>,
}

/// Room for one message, on the device and on the host; there for none if the transport takes the device's.
struct Area<P> {
    device: Arc<OnDevice>,
    host: P,
    /// The device is done with it.
    done: Event,
}

/// A buffer as transports see it.
struct OnDevice(Buffer);

// SAFETY: the buffer's own bytes; areas are not used while a transport has them.
unsafe impl Remote for OnDevice {
    fn address(&self) -> u64 {
        self.0.address()
    }
    fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

/// The first free area of so many bytes, or a new one, with as many of the host if that is `staged`.
fn area<P>(
    areas: &mut Vec<Area<P>>,
    (bytes, staged): (usize, bool),
    free: impl Fn(&mut P) -> bool,
    new: impl FnOnce(Pinned<u8>) -> P,
    device: &Device,
) -> Result<usize> {
    for at in 0..areas.len() {
        let area = &mut areas[at];
        let kept = Arc::get_mut(&mut area.device).is_some();
        let free = kept && free(&mut area.host) && area.done.is_done()?;
        if area.device.bytes() == bytes && free {
            return Ok(at);
        }
    }
    let mut at = 0;
    while areas.len() > KEPT && at < areas.len() {
        let area = &mut areas[at];
        let kept = Arc::get_mut(&mut area.device).is_some();
        if kept && free(&mut area.host) && area.done.is_done()? {
            areas.swap_remove(at);
        } else {
            at += 1;
        }
    }
    areas.push(Area {
        device: Arc::new(OnDevice(Buffer::new(device, bytes)?)),
        host: new(Pinned::new(device, if staged { bytes } else { 0 })?),
        done: Event::new(device)?,
    });
    Ok(areas.len() - 1)
}

impl Staging {
    /// Packs `boxes` and sends them.
    ///
    /// # Errors
    /// The driver's; as [`Transport::send`].
    pub(crate) fn send(
        &mut self,
        copies: &Copies<'_>,
        boxes: &[Cells],
        bytes: usize,
        net: &dyn Transport,
        (to, tag): (usize, Tag),
        stream: &Stream,
    ) -> Result<()> {
        let free = |host: &mut Arc<Pinned<u8>>| Arc::get_mut(host).is_some();
        let room = (bytes, !self.aware);
        let at = area(&mut self.sent, room, free, Arc::new, stream.device())?;
        let Area { device, host, done } = &mut self.sent[at];
        // SAFETY: the area has as many bytes, and `done` is waited for below.
        unsafe { copies.copy(boxes, device.address(), stream, true, None)? };
        if let (Some(host), false) = (Arc::get_mut(host), self.aware) {
            // SAFETY: nobody else has the area, and `done` is waited for below.
            unsafe { stream.download_async(&device.0, 0, host, 0..bytes)? };
        }
        stream.record(done)?;
        // What was sent before goes on meanwhile.
        passed(done, net)?;
        if self.aware {
            return net.send_remote(to, tag, device.clone());
        }
        net.send_shared(to, tag, host.clone())
    }

    /// Receives `boxes` and queues their unpacking; the seconds waited for them.
    ///
    /// # Errors
    /// The driver's; as [`Transport::receive`].
    pub(crate) fn receive(
        &mut self,
        copies: &Copies<'_>,
        boxes: &[Cells],
        bytes: usize,
        net: &dyn Transport,
        (from, tag): (usize, Tag),
        stream: &Stream,
    ) -> Result<f64> {
        let room = (bytes, !self.aware);
        let at = area(&mut self.received, room, |_| true, |host| host, stream.device())?;
        let Area { device, host, done } = &mut self.received[at];
        let start = Instant::now();
        match self.aware {
            true => net.receive_remote(from, tag, &**device)?,
            false => net.receive_into(from, tag, &mut host[..bytes])?,
        }
        let waited = start.elapsed().as_secs_f64();
        // SAFETY: the area is not used again before `done` is passed, nor dropped before the stream
        // has been waited for.
        unsafe {
            if !self.aware {
                stream.upload_async(&device.0, 0, host, 0..bytes)?;
            }
            copies.copy(boxes, device.address(), stream, false, None)?;
        }
        stream.record(done)?;
        Ok(waited)
    }
}
