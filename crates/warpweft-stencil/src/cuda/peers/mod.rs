//! Halos that a device writes straight into the memory of its neighbour's device: by CUDA IPC between
//! processes, by plain addresses between threads of one. All orders of its protocol are gone through in
//! `protocol`.
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

mod link;
mod place;
#[cfg(test)]
mod protocol;

use std::time::Duration;

pub(super) use self::link::passed;
use self::link::{Inbound, Offer, Outbound};
use self::place::Place;
use crate::exchange::{Answer, Endpoint, Handshake, Route, Routes, recv_answer, send_answer};
use warpweft_core::cluster::{Tag, Transport};
use warpweft_core::cuda::{Buffer, Event, Module, Stream, Watchdog};
use warpweft_core::error::{Error, Result};

/// How long a device waits for another. By rule 1 that is no longer than the other works off what is
/// queued, at most two swaps; and all ranks are to know of a failure within ten seconds.
const TIMEOUT: Duration = Duration::from_secs(8);
/// Bytes of a line of the L2 cache: what different devices write lies in different lines.
const LINE: usize = 128;
/// Messages of one kind that may be on their way.
const SLOTS: usize = 2;

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

impl Peers {
    /// Agrees with the other ends of all `endpoints`; the links of those that need no transport.
    ///
    /// # Errors
    /// As [`crate::SweepExecutor::connect`]; the driver's.
    pub(super) fn connect(
        stream: &Stream,
        tools: &Module,
        endpoints: &[Endpoint],
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
                    hint:
                        "start with a library that says it is CUDA-aware and one rank a process, or WARPWEFT_HALOS=staged"
                            .into(),
                });
            }
            None | Some(Route::CudaAware) if net.takes_remote() => Route::CudaAware,
            _ => Route::Staged,
        };
        let willing = matches!(wanted, None | Some(Route::Ipc));
        let place = if willing { Ok(here.clone()) } else { Err("it is to be another way".into()) };
        let outbound: Vec<_> = endpoints.iter().filter(|it| it.from == net.rank()).collect();
        let inbound: Vec<_> = endpoints.iter().filter(|it| it.to == net.rank()).collect();
        for endpoint in &outbound {
            send_answer(net, endpoint.to, Handshake::Ask.tag(endpoint.tag), &place)?;
        }
        let mut senders = Vec::with_capacity(inbound.len());
        for endpoint in &inbound {
            let sender: Answer<Place> =
                recv_answer(net, endpoint.from, Handshake::Ask.tag(endpoint.tag))?;
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
        for (endpoint, sender) in inbound.iter().zip(&senders) {
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
            send_answer(net, endpoint.from, Handshake::Offer.tag(endpoint.tag), &offer)?;
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
        for (n, endpoint) in outbound.iter().enumerate() {
            let offer: Answer<Offer> =
                recv_answer(net, endpoint.to, Handshake::Offer.tag(endpoint.tag))?;
            let count = peers.counts.address() + (n * LINE) as u64;
            let opened =
                offer.and_then(|offer| Outbound::open(device, &here, endpoint, &offer, count));
            let verdict: Answer<()> = opened.map(|link| peers.outbound.push(link));
            send_answer(net, endpoint.to, Handshake::Verdict.tag(endpoint.tag), &verdict)?;
            let route = if verdict.is_ok() { Route::Ipc } else { other };
            peers.routes = peers.routes.and(route);
            refused = refused.or(verdict.err().map(|why| (endpoint.to, why)));
        }
        let parameter = peers.dog.parameter()?;
        let mut rooms = rooms.iter();
        for (endpoint, sender) in inbound.iter().zip(&senders) {
            let verdict: Answer<()> =
                recv_answer(net, endpoint.from, Handshake::Verdict.tag(endpoint.tag))?;
            let room = sender.as_ref().ok().and_then(|_| rooms.next());
            let (Ok(()), Some(((flag, slots), _))) = (verdict, room) else { continue };
            let start = peers.mailbox.as_ref().map_or(0, Buffer::address);
            peers.inbound.push(Inbound {
                from: endpoint.from,
                tag: endpoint.tag,
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
                hint: "set WARPWEFT_HALOS=staged, or leave it out".into(),
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
            hint: "look at the error of that rank, and at `nvidia-smi` for a GPU that is gone"
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
                net.receive(to, Handshake::Taken.tag(tag))?;
            }
            drop(memory);
            net.send(to, Handshake::Parted.tag(tag), Vec::new())?;
        }
        for Inbound { from, tag, .. } in &self.inbound {
            net.receive(*from, Handshake::Parted.tag(*tag))?;
        }
        // SAFETY: neither used nor dropped again; all who had it opened have closed it.
        unsafe { std::mem::ManuallyDrop::drop(&mut self.mailbox) };
        Ok(())
    }
}

/// Per endpoint that is let in, in the order of `inbound`, the bytes of the mailbox at which its flag and
/// its slots begin, and at which they end.
type Room = ((usize, [usize; SLOTS]), usize);

fn rooms(inbound: &[&Endpoint], senders: &[Answer<Place>]) -> Vec<Room> {
    let admitted: Vec<_> =
        inbound.iter().zip(senders).filter(|(_, it)| it.is_ok()).map(|(it, _)| it).collect();
    let mut end = admitted.len() * LINE;
    let room = |(n, endpoint): (usize, &&&Endpoint)| {
        let slots = std::array::from_fn(|_| {
            let start = end;
            end += endpoint.bytes.next_multiple_of(LINE);
            start
        });
        ((n * LINE, slots), end)
    };
    admitted.iter().enumerate().map(room).collect()
}
