//! How two ranks find out, before the first swap, whether one may write into the other's memory.
//!
//! For every message of a swap its sender says where it is, its receiver offers memory or says why not,
//! and the sender says whether it can write there. All three may be a refusal, which executors that have
//! no such memory always send; the message then goes by the transport.

use super::swap::Message;
use warpweft_core::cluster::{Tag, Transport};
use warpweft_core::error::{Error, Result};

/// One message of every swap, at its longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parcel {
    /// The rank that sends it.
    pub from: usize,
    /// The rank that receives it.
    pub to: usize,
    /// What tells it from others between the two.
    pub tag: Tag,
    /// Bytes at most.
    pub bytes: usize,
}

impl<const D: usize> From<&Message<D>> for Parcel {
    fn from(message: &Message<D>) -> Self {
        let Message { from, to, bytes, .. } = *message;
        Self { from, to, tag: message.tag(), bytes: bytes as usize }
    }
}

/// What ranks say about a parcel, beside sending it. No parcel has a tag as high as 0x100.
#[derive(Clone, Copy, Debug)]
pub(crate) enum About {
    /// The sender: where it is.
    Ask = 0x100,
    /// The receiver: where it wants the bytes.
    Offer = 0x200,
    /// The sender: whether it can put them there.
    Verdict = 0x300,
    /// The sender: they are on their way.
    Put = 0x400,
    /// The receiver: they are where they belong, and there is room for others.
    Taken = 0x500,
    /// The sender: nothing more will be put.
    Parted = 0x600,
}

impl About {
    /// The tag of this about `parcel`.
    pub fn tag(self, Tag(parcel): Tag) -> Tag {
        Tag(self as u32 + parcel)
    }
}

/// Why a rank refuses, or what it says.
pub(crate) type Said<T> = std::result::Result<T, String>;

/// Says something about a parcel to its other end.
///
/// # Errors
/// As [`Transport::send`].
pub(crate) fn say<T: serde::Serialize>(
    net: &dyn Transport,
    to: usize,
    tag: Tag,
    what: &Said<T>,
) -> Result<()> {
    let text = serde_json::to_vec(what).map_err(|error| wrong(net, &error.to_string()))?;
    net.send(to, tag, text)
}

/// What the other end of a parcel says about it.
///
/// # Errors
/// As [`Transport::receive`].
pub(crate) fn hear<T: serde::de::DeserializeOwned>(
    net: &dyn Transport,
    from: usize,
    tag: Tag,
) -> Result<Said<T>> {
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

/// Takes no part, for the reason `why`: all parcels go by the transport.
///
/// # Errors
/// As [`Transport::receive`].
pub(crate) fn decline(parcels: &[Parcel], net: &dyn Transport, why: &str) -> Result<()> {
    let refusal: Said<()> = Err(why.into());
    let outbound = || parcels.iter().filter(|parcel| parcel.from == net.rank());
    let inbound = || parcels.iter().filter(|parcel| parcel.to == net.rank());
    for Parcel { to, tag, .. } in outbound() {
        say(net, *to, About::Ask.tag(*tag), &refusal)?;
    }
    for Parcel { from, tag, .. } in inbound() {
        // Whatever it was, there is no room for it here.
        net.receive(*from, About::Ask.tag(*tag))?;
        say(net, *from, About::Offer.tag(*tag), &refusal)?;
    }
    for Parcel { to, tag, .. } in outbound() {
        net.receive(*to, About::Offer.tag(*tag))?;
        say(net, *to, About::Verdict.tag(*tag), &refusal)?;
    }
    for Parcel { from, tag, .. } in inbound() {
        net.receive(*from, About::Verdict.tag(*tag))?;
    }
    Ok(())
}
