//! One kind of message between two ranks: where it is put, and how it is taken.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::place::Place;
use crate::cuda::halo::copies::{Copies, Signal};
use crate::exchange::{Answer, Cells, Endpoint, Handshake};
use warpweft_core::cluster::{Tag, Transport};
use warpweft_core::cuda::{
    Args, Buffer, Device, Event, Exported, Imported, Kernel, Launch, Stream,
};
use warpweft_core::error::{Error, Result};

/// Messages of one kind that may be on their way.
pub(super) const SLOTS: usize = 3;
/// Looks at an event without a pause.
const SPINS: u32 = 1000;

/// One kind of message that comes.
pub(in crate::cuda) struct Inbound {
    pub from: usize,
    pub tag: Tag,
    pub flag: u64,
    pub slots: [u64; SLOTS],
    /// What came and was queued to be unpacked.
    pub taken: u64,
    /// The slot has been unpacked.
    pub done: [Event; SLOTS],
    pub wait: Kernel,
    pub dog: [u64; 2],
}

/// One kind of message that goes.
pub(in crate::cuda) struct Outbound {
    pub to: usize,
    pub tag: Tag,
    pub flag: u64,
    pub slots: [u64; SLOTS],
    pub count: u64,
    /// What was queued to be packed.
    pub put: u64,
    pub memory: Option<Imported>,
}

/// Where a receiver wants messages.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Offer {
    pub process: u64,
    pub ordinal: usize,
    pub address: u64,
    /// Unless both are of one process.
    pub handle: Option<Vec<u8>>,
    pub flag: u64,
    pub slots: [u64; SLOTS],
}

impl Offer {
    /// A flag and slots in the `mailbox` that is here, for a sender.
    pub(super) fn of(
        device: &Device,
        mailbox: &Buffer,
        &(flag, slots): &(usize, [usize; SLOTS]),
        [here, sender]: [&Place; 2],
    ) -> Answer<Self> {
        let other = sender.process != here.process;
        let handle = other.then(|| mailbox.export()).transpose();
        let handle = handle.map_err(|error| error.to_string())?;
        Ok(Self {
            process: here.process,
            ordinal: device.ordinal(),
            address: mailbox.address(),
            handle: handle.map(|handle| handle.bytes().to_vec()),
            flag: flag as u64,
            slots: slots.map(|slot| slot as u64),
        })
    }
}

impl Outbound {
    pub(super) fn open(
        device: &Device,
        here: &Place,
        endpoint: &Endpoint,
        offer: &Offer,
        count: u64,
    ) -> Answer<Self> {
        let told = |error: Error| error.to_string();
        let (start, memory) = match &offer.handle {
            Some(handle) => {
                let handle = Exported::from_bytes(handle).ok_or("its handle is damaged")?;
                let memory = Imported::open(device, &handle).map_err(told)?;
                (memory.address(), Some(memory))
            }
            None if offer.process != here.process => return Err("it gave no handle".into()),
            None => {
                let other = Device::open(offer.ordinal).map_err(told)?;
                if *device != other && !device.can_access(&other).map_err(told)? {
                    return Err(format!("no link from {} to {}", device.label(), other.label()));
                }
                device.enable_peer(&other).map_err(told)?;
                (offer.address, None)
            }
        };
        Ok(Self {
            to: endpoint.to,
            tag: endpoint.tag,
            flag: start + offer.flag,
            slots: offer.slots.map(|slot| start + slot),
            count,
            put: 0,
            memory,
        })
    }

    /// Queues the packing of `boxes` into the neighbour's slot, and tells it.
    ///
    /// # Errors
    /// The driver's; as [`Transport::receive`].
    pub(in crate::cuda) fn put(
        &mut self,
        copies: &Copies<'_>,
        boxes: &[Cells],
        net: &dyn Transport,
        stream: &Stream,
    ) -> Result<()> {
        if self.put >= SLOTS as u64 {
            net.receive(self.to, Handshake::Taken.tag(self.tag))?;
        }
        let slot = self.slots[self.put as usize % SLOTS];
        self.put += 1;
        // Flags wrap, and waits know it.
        let signal = Signal { flag: self.flag, value: self.put as u32, count: self.count };
        // SAFETY: the slot is the neighbour's room for the longest of these messages, and free by rule 2;
        // both keep it until they have parted.
        unsafe { copies.copy(boxes, slot, stream, true, Some(signal))? };
        net.send(self.to, Handshake::Put.tag(self.tag), Vec::new())
    }
}

impl Inbound {
    /// Queues the unpacking of `boxes` out of the slot, once the neighbour has packed them; the seconds
    /// waited for the neighbour to begin.
    ///
    /// # Errors
    /// The driver's; as [`Transport::receive`].
    pub(in crate::cuda) fn take(
        &mut self,
        copies: &Copies<'_>,
        boxes: &[Cells],
        net: &dyn Transport,
        stream: &Stream,
    ) -> Result<f64> {
        if let Some(before) = (self.taken as usize).checked_sub(SLOTS - 1) {
            passed(&self.done[before % SLOTS], net)?;
            net.send(self.from, Handshake::Taken.tag(self.tag), Vec::new())?;
        }
        let start = Instant::now();
        net.receive(self.from, Handshake::Put.tag(self.tag))?;
        let waited = start.elapsed().as_secs_f64();
        let slot = self.taken as usize % SLOTS;
        self.taken += 1;
        let mut args = Args::new();
        args.value(self.flag);
        args.value(self.taken as u32);
        args.value(self.dog);
        args.value(self.from as u32);
        args.value(u32::from(self.tag.number()));
        // SAFETY: the flag and the watchdog's words live until the links are down; the slot holds the
        // longest of these messages.
        unsafe {
            stream.launch(&self.wait, Launch::line(1, 1), &args)?;
            copies.copy(boxes, self.slots[slot], stream, false, None)?;
        }
        stream.record(&self.done[slot])?;
        Ok(waited)
    }
}

/// Waits until the device has passed `event`, or a rank fails.
pub(in crate::cuda) fn passed(event: &Event, net: &dyn Transport) -> Result<()> {
    let mut looks = 0u32;
    while !event.is_done()? {
        net.check()?;
        looks = looks.saturating_add(1);
        if looks < SPINS { std::hint::spin_loop() } else { std::thread::yield_now() }
    }
    Ok(())
}
