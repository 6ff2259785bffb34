//! Halos that a device writes straight into the memory of its neighbour's device: by CUDA IPC between
//! processes, by plain addresses between threads of one. All orders of its protocol are gone through in
//! `peer_protocol`.
//!
//! Protocol. The receiver of a kind of message has two slots for it, and a flag. Message n, counted from 0,
//! is packed into slot n mod 2, then the flag becomes n + 1 (halo.cuh); the receiver's device waits for
//! that and unpacks. The hosts keep two rules, each by an empty message through the transport:
//!   1. A wait for message n is queued only after its packing was queued (`Put`). So a device waits for
//!      nothing but what another device has yet to work off, whatever the hosts are busy with; and streams
//!      that share a queue of the hardware can't block one another.
//!   2. Message n is queued only after message n - 2 has been unpacked (`Taken`), for which the receiver's
//!      host waits before it waits for message n. So no slot is overwritten before it is read, and no
//!      host runs further ahead of the devices than two messages.
//!
//! A wait that takes too long is reported by the watchdog, and an error; nobody waits for a rank that has
//! failed.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::halo::Signal;
use super::sweeps::CudaSweeps;
use crate::cluster::{Tag, Transport};
use crate::cuda::{
    Args, Buffer, Device, Event, Exported, Imported, Kernel, Launch, Module, Stream, Watchdog,
};
use crate::element::Fields;
use crate::error::{Error, Result};
use crate::stencil::distribute::{About, Cells, Parcel, Route, Routes, Said, hear, say};

/// How long a device waits for another. By rule 1 that is no longer than the other works off what is
/// queued, at most two swaps; and all ranks are to know of a failure within ten seconds.
const TIMEOUT: Duration = Duration::from_secs(8);
/// Bytes of a line of the L2 cache: what different devices write lies in different lines.
const LINE: usize = 128;
/// Messages of one kind that may be on their way.
const SLOTS: usize = 2;
/// Looks at an event without a pause.
const SPINS: u32 = 1000;

/// The links of one executor.
pub(super) struct Peers {
    inbound: Vec<Inbound>,
    outbound: Vec<Outbound>,
    /// What the neighbours write into: a flag a link, then their slots. Never freed after a failure: nobody
    /// knows then who still writes.
    mailbox: std::mem::ManuallyDrop<Option<Buffer>>,
    /// A word a link that packs.
    counts: Buffer,
    dog: Watchdog,
    routes: Routes,
    /// The way of messages that have no link.
    other: Route,
}

/// One kind of message that comes.
pub(super) struct Inbound {
    from: usize,
    tag: Tag,
    flag: u64,
    slots: [u64; SLOTS],
    /// What came and was queued to be unpacked.
    taken: u64,
    /// The slot has been unpacked.
    done: [Event; SLOTS],
    wait: Kernel,
    dog: [u64; 2],
}

/// One kind of message that goes.
pub(super) struct Outbound {
    to: usize,
    tag: Tag,
    flag: u64,
    slots: [u64; SLOTS],
    count: u64,
    /// What was queued to be packed.
    put: u64,
    memory: Option<Imported>,
}

/// Where a rank is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    /// Tells hosts apart, and starts of one.
    host: String,
    process: u64,
    /// The device's address on the host's bus.
    bus: [i32; 3],
}

/// Where a receiver wants messages.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Offer {
    process: u64,
    ordinal: usize,
    address: u64,
    /// Unless both are of one process.
    handle: Option<Vec<u8>>,
    flag: u64,
    slots: [u64; SLOTS],
}

impl Place {
    fn of(device: &Device) -> Result<Self> {
        static PROCESS: OnceLock<u64> = OnceLock::new();
        let process = *PROCESS.get_or_init(|| {
            let mut hasher = RandomState::new().build_hasher();
            hasher.write_u32(std::process::id());
            hasher.finish()
        });
        // Another host can't have the same; another container of this host does.
        let host = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Ok(Self { host: host.trim().into(), process, bus: device.bus()? })
    }

    /// Whether a sender there may be offered memory here.
    fn admits(&self, sender: &Self, wanted: Option<Route>) -> Said<()> {
        if self.host.is_empty() || self.host != sender.host {
            return Err("it is on another host".into());
        }
        let shared = self.process != sender.process && self.bus == sender.bus;
        if shared && wanted.is_none() {
            // Processes take turns on a device: a wait would last as long as a turn.
            return Err("another process shares its GPU".into());
        }
        Ok(())
    }
}

impl Peers {
    /// Agrees with the other ends of all `parcels`; the links of those that need no transport.
    ///
    /// # Errors
    /// As [`crate::stencil::distribute::HaloExecutor::connect`]; the driver's.
    pub(super) fn connect(
        stream: &Stream,
        tools: &Module,
        parcels: &[Parcel],
        net: &dyn Transport,
        wanted: Option<Route>,
    ) -> Result<Self> {
        let device = stream.device();
        let here = Place::of(device)?;
        let other = match wanted {
            Some(Route::CudaAware) if !net.takes_remote() => {
                return Err(Error::Rank {
                    rank: net.rank(),
                    what: "halos in device memory, by an MPI library that takes none".into(),
                    remedy:
                        "start with a library that says it is CUDA-aware, or WARPWEFT_HALOS=staged"
                            .into(),
                });
            }
            None | Some(Route::CudaAware) if net.takes_remote() => Route::CudaAware,
            _ => Route::Staged,
        };
        let willing = matches!(wanted, None | Some(Route::Ipc));
        let place = if willing { Ok(here.clone()) } else { Err("it is to be another way".into()) };
        let outbound: Vec<_> = parcels.iter().filter(|it| it.from == net.rank()).collect();
        let inbound: Vec<_> = parcels.iter().filter(|it| it.to == net.rank()).collect();
        for parcel in &outbound {
            say(net, parcel.to, About::Ask.tag(parcel.tag), &place)?;
        }
        let mut senders = Vec::with_capacity(inbound.len());
        for parcel in &inbound {
            let sender: Said<Place> = hear(net, parcel.from, About::Ask.tag(parcel.tag))?;
            let admitted = sender.and_then(|sender| {
                place.as_ref().map_err(Clone::clone)?.admits(&sender, wanted).map(|()| sender)
            });
            senders.push(admitted);
        }
        let rooms = rooms(&inbound, &senders);
        let mailbox = match rooms.last() {
            None => None,
            Some((_, end)) => {
                let mailbox = Buffer::to_export(device, *end)?;
                stream.fill(&mailbox, 0)?;
                stream.synchronize()?;
                Some(mailbox)
            }
        };
        let mut offers = rooms.iter();
        for (parcel, sender) in inbound.iter().zip(&senders) {
            let offer = sender.clone().and_then(|sender| {
                let room = offers.next().zip(mailbox.as_ref());
                let (((flag, slots), _), mailbox) = room.ok_or("it has no room")?;
                let other = sender.process != here.process;
                let handle = other.then(|| mailbox.export()).transpose();
                let handle = handle.map_err(|error| error.to_string())?;
                Ok(Offer {
                    process: here.process,
                    ordinal: device.ordinal(),
                    address: mailbox.address(),
                    handle: handle.map(|handle| handle.bytes().to_vec()),
                    flag: *flag as u64,
                    slots: slots.map(|slot| slot as u64),
                })
            });
            say(net, parcel.from, About::Offer.tag(parcel.tag), &offer)?;
        }
        let counts = Buffer::zeroed(stream, outbound.len().max(1) * LINE)?;
        stream.synchronize()?;
        let mut peers = Self {
            inbound: Vec::new(),
            outbound: Vec::new(),
            mailbox: std::mem::ManuallyDrop::new(mailbox),
            dog: Watchdog::new(device, TIMEOUT)?,
            routes: Routes::default(),
            other,
            counts,
        };
        let mut refused = None;
        for (n, parcel) in outbound.iter().enumerate() {
            let offer: Said<Offer> = hear(net, parcel.to, About::Offer.tag(parcel.tag))?;
            let count = peers.counts.address() + (n * LINE) as u64;
            let opened =
                offer.and_then(|offer| Outbound::open(device, &here, parcel, &offer, count));
            let verdict: Said<()> = opened.map(|link| peers.outbound.push(link));
            say(net, parcel.to, About::Verdict.tag(parcel.tag), &verdict)?;
            let route = if verdict.is_ok() { Route::Ipc } else { other };
            peers.routes = peers.routes.and(route);
            refused = refused.or(verdict.err().map(|why| (parcel.to, why)));
        }
        let parameter = peers.dog.parameter()?;
        let mut rooms = rooms.iter();
        for (parcel, sender) in inbound.iter().zip(&senders) {
            let verdict: Said<()> = hear(net, parcel.from, About::Verdict.tag(parcel.tag))?;
            let room = sender.as_ref().ok().and_then(|_| rooms.next());
            let (Ok(()), Some(((flag, slots), _))) = (verdict, room) else { continue };
            let start = peers.mailbox.as_ref().map_or(0, Buffer::address);
            peers.inbound.push(Inbound {
                from: parcel.from,
                tag: parcel.tag,
                flag: start + *flag as u64,
                slots: slots.map(|slot| start + slot as u64),
                taken: 0,
                done: [Event::new(device)?, Event::new(device)?],
                wait: tools.kernel("ww_halo_wait")?,
                dog: parameter,
            });
        }
        match (wanted, refused) {
            (Some(Route::Ipc), Some((to, why))) => Err(Error::Rank {
                rank: net.rank(),
                what: format!("no writing into the memory of rank {to}: {why}"),
                remedy: "set WARPWEFT_HALOS=staged, or leave it out".into(),
            }),
            _ => Ok(peers),
        }
    }

    /// How messages go.
    pub(super) fn routes(&self) -> Routes {
        self.routes
    }

    /// Whether messages that have no link are handed to the transport on the device.
    pub(super) fn aware(&self) -> bool {
        self.other == Route::CudaAware
    }

    /// The link of messages to a rank, if they need no transport.
    pub(super) fn outbound(&mut self, to: usize, tag: Tag) -> Option<&mut Outbound> {
        self.outbound.iter_mut().find(|link| link.to == to && link.tag == tag)
    }

    /// The link of messages from a rank, likewise.
    pub(super) fn inbound(&mut self, from: usize, tag: Tag) -> Option<&mut Inbound> {
        self.inbound.iter_mut().find(|link| link.from == from && link.tag == tag)
    }

    /// Ends all waits of the device; what they waited for may not come.
    pub(super) fn call_off(&self) {
        self.dog.call_off();
    }

    /// Fails once the device has waited too long for another.
    pub(super) fn check(&self) -> Result<()> {
        let Some(report) = self.dog.stuck() else { return Ok(()) };
        Err(Error::Device {
            stage: "exchanging halos".into(),
            device: self.counts.device().label().into(),
            what: format!(
                "waited {} s for halo {} ({}) of rank {}, which has sent {}",
                TIMEOUT.as_secs(),
                report.wanted,
                report.flag,
                report.other,
                report.seen
            ),
            remedy: "look at the error of that rank, and at `nvidia-smi` for a GPU that is gone"
                .into(),
        })
    }

    /// Takes the links down, after all their messages: nobody writes here, nor is written to, after this.
    /// The stream that copied must be done.
    ///
    /// # Errors
    /// As [`Peers::check`] and [`Transport::receive`].
    pub(super) fn part(mut self, net: &dyn Transport) -> Result<()> {
        self.check()?;
        for Outbound { to, tag, put, memory, .. } in self.outbound.drain(..) {
            if put >= SLOTS as u64 {
                // Of the message before the last; of the last there is none.
                net.receive(to, About::Taken.tag(tag))?;
            }
            drop(memory);
            net.send(to, About::Parted.tag(tag), Vec::new())?;
        }
        for Inbound { from, tag, .. } in &self.inbound {
            net.receive(*from, About::Parted.tag(*tag))?;
        }
        // SAFETY: neither used nor dropped again; all who had it opened have closed it.
        unsafe { std::mem::ManuallyDrop::drop(&mut self.mailbox) };
        Ok(())
    }
}

/// Per parcel that is let in, in the order of `inbound`, the bytes of the mailbox at which its flag and
/// its slots begin, and at which they end.
type Room = ((usize, [usize; SLOTS]), usize);

fn rooms(inbound: &[&Parcel], senders: &[Said<Place>]) -> Vec<Room> {
    let admitted: Vec<_> =
        inbound.iter().zip(senders).filter(|(_, it)| it.is_ok()).map(|(it, _)| it).collect();
    let mut end = admitted.len() * LINE;
    let room = |(n, parcel): (usize, &&&Parcel)| {
        let slots = std::array::from_fn(|_| {
            let start = end;
            end += parcel.bytes.next_multiple_of(LINE);
            start
        });
        ((n * LINE, slots), end)
    };
    admitted.iter().enumerate().map(room).collect()
}

impl Outbound {
    fn open(
        device: &Device,
        here: &Place,
        parcel: &Parcel,
        offer: &Offer,
        count: u64,
    ) -> Said<Self> {
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
            to: parcel.to,
            tag: parcel.tag,
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
    pub(super) fn put<S: Fields, const D: usize>(
        &mut self,
        sweeps: &CudaSweeps<S, D>,
        boxes: &[Cells<D>],
        net: &dyn Transport,
        stream: &Stream,
    ) -> Result<()> {
        if self.put >= SLOTS as u64 {
            net.receive(self.to, About::Taken.tag(self.tag))?;
        }
        let slot = self.slots[self.put as usize % SLOTS];
        self.put += 1;
        // Flags wrap, and waits know it.
        let signal = Signal { flag: self.flag, value: self.put as u32, count: self.count };
        // SAFETY: the slot is the neighbour's room for the longest of these messages, and free by rule 2;
        // both keep it until they have parted.
        unsafe { sweeps.copy_halos(boxes, slot, stream, true, Some(signal))? };
        net.send(self.to, About::Put.tag(self.tag), Vec::new())
    }
}

impl Inbound {
    /// Queues the unpacking of `boxes` out of the slot, once the neighbour has packed them; the seconds
    /// waited for the neighbour to begin.
    ///
    /// # Errors
    /// The driver's; as [`Transport::receive`].
    pub(super) fn take<S: Fields, const D: usize>(
        &mut self,
        sweeps: &CudaSweeps<S, D>,
        boxes: &[Cells<D>],
        net: &dyn Transport,
        stream: &Stream,
    ) -> Result<f64> {
        if self.taken > 0 {
            passed(&self.done[(self.taken as usize - 1) % SLOTS], net)?;
            net.send(self.from, About::Taken.tag(self.tag), Vec::new())?;
        }
        let start = Instant::now();
        net.receive(self.from, About::Put.tag(self.tag))?;
        let waited = start.elapsed().as_secs_f64();
        let slot = self.taken as usize % SLOTS;
        self.taken += 1;
        let mut args = Args::new();
        args.value(self.flag);
        args.value(self.taken as u32);
        args.value(self.dog);
        args.value(self.from as u32);
        args.value(u32::from(self.tag.0));
        // SAFETY: the flag and the watchdog's words live until the links are down; the slot holds the
        // longest of these messages.
        unsafe {
            stream.launch(&self.wait, Launch::line(1, 1), &args)?;
            sweeps.copy_halos(boxes, self.slots[slot], stream, false, None)?;
        }
        stream.record(&self.done[slot])?;
        Ok(waited)
    }
}

/// Waits until the device has passed `event`, or a rank fails.
pub(super) fn passed(event: &Event, net: &dyn Transport) -> Result<()> {
    let mut looks = 0u32;
    while !event.is_done()? {
        net.check()?;
        looks = looks.saturating_add(1);
        if looks < SPINS { std::hint::spin_loop() } else { std::thread::yield_now() }
    }
    Ok(())
}
