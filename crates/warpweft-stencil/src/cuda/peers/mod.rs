//! Halos that a device writes straight into the memory of its neighbour's device: by CUDA IPC between
//! processes, by plain addresses between threads of one. All orders of its protocol are gone through in
//! `protocol`.
//!
//! Protocol. The receiver of a kind of message has three slots for it, and a flag. Message n, counted from 0,
//! is packed into slot n mod 3, then the flag becomes n + 1 (halo.cuh); the receiver's device waits for
//! that and unpacks. The hosts keep two rules, each by an empty message through the transport:
//!   1. A wait for message n is queued only after its packing was queued (`Put`). So a device waits for
//!      nothing but what another device has yet to work off, whatever the hosts are busy with; and streams
//!      that share a queue of the hardware can't block one another.
//!   2. Message n is queued only after message n - 3 has been unpacked (`Taken`). The receiver's host waits
//!      for the unpacking of message n - 2 before it queues that of message n. So no slot is overwritten
//!      before it is read, and no host runs further ahead of the devices than three messages. Two
//!      slots are too few for small volumes: the host must then queue an exchange during the one
//!      before it.
//!
//! A wait that takes too long is reported by the watchdog, and an error; nobody waits for a rank that has
//! failed.

mod link;
mod place;
#[cfg(test)]
mod protocol;

use std::time::Duration;

pub(super) use self::link::passed;
use self::link::{Inbound, Offer, Outbound, SLOTS};
use self::place::Place;
use crate::exchange::{Answer, Endpoint, Handshake, Route, Routes, recv_answer, send_answer};
use warpweft_core::cluster::{Tag, Transport};
use warpweft_core::cuda::{Buffer, Device, Event, Module, Stream, Watchdog};
use warpweft_core::error::{Error, Result};

/// How long a device waits for another. By rule 1 that is no longer than the other works off what is
/// queued, at most three exchanges; and all ranks are to know of a failure within ten seconds.
const TIMEOUT: Duration = Duration::from_secs(8);
/// Bytes of a line of the L2 cache: what different devices write lies in different lines.
const LINE: usize = 128;

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
        let other = without_ipc(net, wanted)?;
        let outbound: Vec<_> = endpoints.iter().filter(|it| it.from == net.rank()).collect();
        let inbound: Vec<_> = endpoints.iter().filter(|it| it.to == net.rank()).collect();
        let senders = senders(net, &here, [&outbound, &inbound], wanted)?;
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
                let ((room, _), mailbox) = room.ok_or("it has no room")?;
                Offer::of(device, mailbox, room, [&here, &sender])
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
        let refused = peers.open(device, &here, &outbound, net)?;
        peers.accept(device, tools, (&inbound, &senders, &rooms), net)?;
        match (wanted, refused) {
            (Some(Route::Ipc), Some((to, why))) => Err(Error::Rank {
                rank: net.rank(),
                what: format!("can't write halos into the memory of rank {to}: {why}"),
                hint: "set WARPWEFT_HALOS=staged, or unset it".into(),
            }),
            _ => Ok(peers),
        }
    }

    /// Opens what receivers offer, and tells them whether it can be written; the last that can't be, and why.
    fn open(
        &mut self,
        device: &Device,
        here: &Place,
        outbound: &[&Endpoint],
        net: &dyn Transport,
    ) -> Result<Option<(usize, String)>> {
        let mut refused = None;
        for (n, endpoint) in outbound.iter().enumerate() {
            let offer: Answer<Offer> =
                recv_answer(net, endpoint.to, Handshake::Offer.tag(endpoint.tag))?;
            let count = self.counts.address() + (n * LINE) as u64;
            let opened =
                offer.and_then(|offer| Outbound::open(device, here, endpoint, &offer, count));
            let answer: Answer<()> = opened.map(|link| self.outbound.push(link));
            send_answer(net, endpoint.to, Handshake::Opened.tag(endpoint.tag), &answer)?;
            let route = if answer.is_ok() { Route::Ipc } else { self.other };
            self.routes = self.routes.and(route);
            refused = refused.or(answer.err().map(|why| (endpoint.to, why)));
        }
        Ok(refused)
    }

    /// Keeps the links of senders that could open their room.
    fn accept(
        &mut self,
        device: &Device,
        tools: &Module,
        (inbound, senders, rooms): (&[&Endpoint], &[Answer<Place>], &[Room]),
        net: &dyn Transport,
    ) -> Result<()> {
        let parameter = self.dog.parameter()?;
        let mut rooms = rooms.iter();
        for (endpoint, sender) in inbound.iter().zip(senders) {
            let answer: Answer<()> =
                recv_answer(net, endpoint.from, Handshake::Opened.tag(endpoint.tag))?;
            let room = sender.as_ref().ok().and_then(|_| rooms.next());
            let (Ok(()), Some(((flag, slots), _))) = (answer, room) else { continue };
            let start = self.mailbox.as_ref().map_or(0, Buffer::address);
            self.inbound.push(Inbound {
                from: endpoint.from,
                tag: endpoint.tag,
                flag: start + *flag as u64,
                slots: slots.map(|slot| start + slot as u64),
                taken: 0,
                done: [Event::new(device)?, Event::new(device)?, Event::new(device)?],
                wait: tools.kernel("ww_halo_wait")?,
                dog: parameter,
            });
        }
        Ok(())
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
                // Of the message SLOTS - 1 before the last; of later ones there is none.
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

/// How messages travel that have no link.
///
/// # Errors
/// CUDA-aware MPI that is asked for and not there.
fn without_ipc(net: &dyn Transport, wanted: Option<Route>) -> Result<Route> {
    match wanted {
        Some(Route::CudaAware) if !net.takes_remote() => Err(Error::Rank {
            rank: net.rank(),
            what: "the route cuda-aware was requested, but the MPI library is not CUDA-aware, or a process has several ranks".into(),
            hint: "use a CUDA-aware MPI library with one rank per process, or set WARPWEFT_HALOS=staged"
                .into(),
        }),
        None | Some(Route::CudaAware) if net.takes_remote() => Ok(Route::CudaAware),
        _ => Ok(Route::Staged),
    }
}

/// Tells the receivers of `outbound` where this rank is; the senders of `inbound` that may write here.
fn senders(
    net: &dyn Transport,
    here: &Place,
    [outbound, inbound]: [&[&Endpoint]; 2],
    wanted: Option<Route>,
) -> Result<Vec<Answer<Place>>> {
    let willing = matches!(wanted, None | Some(Route::Ipc));
    let place = if willing { Ok(here.clone()) } else { Err("it is to be another way".into()) };
    for endpoint in outbound {
        send_answer(net, endpoint.to, Handshake::Ask.tag(endpoint.tag), &place)?;
    }
    let admitted = inbound.iter().map(|endpoint| {
        let sender: Answer<Place> =
            recv_answer(net, endpoint.from, Handshake::Ask.tag(endpoint.tag))?;
        Ok(sender.and_then(|sender| {
            place.as_ref().map_err(Clone::clone)?.admits(&sender, wanted).map(|()| sender)
        }))
    });
    admitted.collect()
}

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
