//! How two ranks find out, before the first swap, whether one may write into the other's memory.
//!
//! For every message of a swap its sender says where it is, its receiver offers memory or says why not,
//! and the sender says whether it can write there. All three may be a refusal, which executors that have
//! no such memory always send; the message then goes by the transport.

use crate::exchange::HaloMessage;
use warpweft_core::cluster::{Tag, Transport};
use warpweft_core::error::{Error, Result};

/// One message of every swap, at its longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The rank that sends it.
    pub from: usize,
    /// The rank that receives it.
    pub to: usize,
    /// What tells it from others between the two.
    pub tag: Tag,
    /// Bytes at most.
    pub bytes: usize,
}

impl From<&HaloMessage> for Endpoint {
    fn from(message: &HaloMessage) -> Self {
        let HaloMessage { from, to, bytes, .. } = *message;
        Self { from, to, tag: message.tag(), bytes: bytes as usize }
    }
}

/// What ranks say about a endpoint, next to sending it. No endpoint has a tag as high as 0x100.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Handshake {
    /// The sender: where it is.
    Ask = 0x100,
    /// The receiver: where it wants the bytes.
    Offer = 0x200,
    /// The sender: whether it can put them there.
    Opened = 0x300,
    /// The sender: they are on their way.
    Put = 0x400,
    /// The receiver: they are where they belong, and there is room for others.
    Taken = 0x500,
    /// The sender: nothing more will be put.
    Parted = 0x600,
}

impl Handshake {
    /// The tag of this about `endpoint`.
    pub fn tag(self, Tag(endpoint): Tag) -> Tag {
        Tag(self as u32 + endpoint)
    }
}

/// Why a rank refuses, or what it says.
pub(crate) type Answer<T> = std::result::Result<T, String>;

/// Says something about a endpoint to its other end.
///
/// # Errors
/// As [`Transport::send`].
pub(crate) fn send_answer<T: serde::Serialize>(
    net: &dyn Transport,
    to: usize,
    tag: Tag,
    what: &Answer<T>,
) -> Result<()> {
    let text = serde_json::to_vec(what).map_err(|error| wrong(net, &error.to_string()))?;
    net.send(to, tag, text)
}

/// What the other end of a endpoint says about it.
///
/// # Errors
/// As [`Transport::receive`].
pub(crate) fn recv_answer<T: serde::de::DeserializeOwned>(
    net: &dyn Transport,
    from: usize,
    tag: Tag,
) -> Result<Answer<T>> {
    let text = net.receive(from, tag)?;
    serde_json::from_slice(&text).map_err(|error| wrong(net, &error.to_string()))
}

fn wrong(net: &dyn Transport, what: &str) -> Error {
    Error::Rank {
        rank: net.rank(),
        what: format!("agreeing on halos: {what}"),
        hint: "start every rank with the same program".into(),
    }
}

/// Takes no part, for the reason `why`: all endpoints go by the transport.
///
/// # Errors
/// As [`Transport::receive`].
pub(crate) fn decline(endpoints: &[Endpoint], net: &dyn Transport, why: &str) -> Result<()> {
    let refusal: Answer<()> = Err(why.into());
    let outbound = || endpoints.iter().filter(|endpoint| endpoint.from == net.rank());
    let inbound = || endpoints.iter().filter(|endpoint| endpoint.to == net.rank());
    for Endpoint { to, tag, .. } in outbound() {
        send_answer(net, *to, Handshake::Ask.tag(*tag), &refusal)?;
    }
    for Endpoint { from, tag, .. } in inbound() {
        // Whatever it was, there is no room for it here.
        net.receive(*from, Handshake::Ask.tag(*tag))?;
        send_answer(net, *from, Handshake::Offer.tag(*tag), &refusal)?;
    }
    for Endpoint { to, tag, .. } in outbound() {
        net.receive(*to, Handshake::Offer.tag(*tag))?;
        send_answer(net, *to, Handshake::Opened.tag(*tag), &refusal)?;
    }
    for Endpoint { from, tag, .. } in inbound() {
        net.receive(*from, Handshake::Opened.tag(*tag))?;
    }
    Ok(())
}
