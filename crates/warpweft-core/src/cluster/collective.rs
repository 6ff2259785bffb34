//! Collective operations over any transport. All ranks must call them in the same order.

use std::sync::Arc;

use super::transport::{Tag, Transport};
use crate::error::{Error, Result};

const GATHER: Tag = Tag(Tag::COLLECTIVE);
const BROADCAST: Tag = Tag(Tag::COLLECTIVE + 1);

/// Gathers every rank's message on rank 0, in rank order; the other ranks get an empty list.
///
/// # Errors
/// See [`Transport::receive`].
pub fn gather(net: &dyn Transport, message: Vec<u8>) -> Result<Vec<Vec<u8>>> {
    if net.rank() > 0 {
        net.send(0, GATHER, message)?;
        return Ok(Vec::new());
    }
    let mut all = vec![message];
    for rank in 1..net.ranks() {
        all.push(net.receive(rank, GATHER)?);
    }
    Ok(all)
}

/// Sends rank 0's message to every rank; the arguments of the others are ignored.
///
/// # Errors
/// See [`Transport::receive`].
pub fn broadcast(net: &dyn Transport, message: Vec<u8>) -> Result<Vec<u8>> {
    if net.rank() > 0 {
        return net.receive(0, BROADCAST);
    }
    let message = Arc::new(message);
    for rank in 1..net.ranks() {
        net.send_shared(rank, BROADCAST, message.clone())?;
    }
    // A transport may still be sending it.
    Ok(Arc::unwrap_or_clone(message))
}

/// Checks that every rank passes the same text `mine`, e.g. its spec and partition in words; `about` names it in the error.
///
/// # Errors
/// On every rank, naming the first rank that differs from rank 0 and both values. See also
/// [`Transport::receive`].
pub fn agree(net: &dyn Transport, about: &str, mine: &str) -> Result<()> {
    agree_on_each(net, &[(about, mine.to_string())])
}

/// [`agree`] about several things at once. The error names only those that differ.
///
/// # Errors
/// See [`agree`].
pub fn agree_on_each(net: &dyn Transport, mine: &[(&str, String)]) -> Result<()> {
    let values: Vec<_> = mine.iter().map(|(_, value)| value.as_str()).collect();
    let text = values.join("\0").into_bytes();
    let all = gather(net, text.clone())?;
    let other = all.iter().position(|theirs| *theirs != text);
    let answer = other.map_or(String::new(), |rank| {
        let theirs = String::from_utf8_lossy(&all[rank]);
        let both = mine.iter().zip(theirs.split('\0')).filter(|((_, mine), theirs)| mine != theirs);
        let differences: Vec<_> = both
            .map(|((about, mine), theirs)| format!("{about} {theirs}, rank 0 has {mine}"))
            .collect();
        format!("rank {rank} has {}", differences.join("; it has "))
    });
    let answer = broadcast(net, answer.into_bytes())?;
    if answer.is_empty() {
        return Ok(());
    }
    let what = String::from_utf8_lossy(&answer);
    Err(Error::spec(what, "start every rank with the same program and arguments"))
}

/// Sends rank 0's bytes to every rank, or its error.
///
/// # Errors
/// On rank 0 its own, on the others one that names it. See also [`Transport::receive`].
pub fn agree_on(net: &dyn Transport, mine: Result<Vec<u8>>) -> Result<Vec<u8>> {
    if net.rank() > 0 {
        let message = broadcast(net, Vec::new())?;
        return match message.split_first() {
            Some((&FINE, bytes)) => Ok(bytes.to_vec()),
            rest => Err(failed(net.rank(), 0, rest.map_or(&[], |(_, text)| text))),
        };
    }
    broadcast(net, encoded(&mine))?;
    mine
}

/// [`gather`], unless a rank failed.
///
/// # Errors
/// If a rank failed, every rank gets an error: its own, or one that names the first rank that failed. See
/// also [`Transport::receive`].
pub fn gather_fine(net: &dyn Transport, mine: Result<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
    let (all, failure) = outcomes(net, encoded(&mine))?;
    mine?;
    check_fine(net, &failure)?;
    Ok(all.into_iter().map(|theirs| theirs[1..].to_vec()).collect())
}

/// Returns the value of `mine`, unless any rank has an error. The network stays usable. All ranks must call this.
///
/// # Errors
/// As [`gather_fine`].
pub fn all_fine<T>(net: &dyn Transport, mine: Result<T>) -> Result<T> {
    let message = mine.as_ref().map_or_else(failure_text, |_| vec![FINE]);
    let (_, failure) = outcomes(net, message)?;
    let mine = mine?;
    check_fine(net, &failure)?;
    Ok(mine)
}

/// The first byte of the message of a rank that did not fail.
const FINE: u8 = 0;

/// What all ranks say, on rank 0, and on all ranks the first of them that failed and why; nothing if none did.
fn outcomes(net: &dyn Transport, mine: Vec<u8>) -> Result<(Vec<Vec<u8>>, Vec<u8>)> {
    let all = gather(net, mine)?;
    let bad = all.iter().position(|theirs| theirs.first() != Some(&FINE));
    let failure = bad.map_or(Vec::new(), |rank| {
        [&(rank as u64).to_le_bytes(), all[rank].get(1..).unwrap_or_default()].concat()
    });
    Ok((all, broadcast(net, failure)?))
}

fn check_fine(net: &dyn Transport, failure: &[u8]) -> Result<()> {
    match failure.split_first_chunk::<8>() {
        Some((rank, text)) => Err(failed(net.rank(), u64::from_le_bytes(*rank) as usize, text)),
        None => Ok(()),
    }
}

fn encoded(mine: &Result<Vec<u8>>) -> Vec<u8> {
    mine.as_ref().map_or_else(failure_text, |bytes| [&[FINE], bytes.as_slice()].concat())
}

fn failure_text(error: &Error) -> Vec<u8> {
    [&[1], error.to_string().as_bytes()].concat()
}

fn failed(rank: usize, other: usize, text: &[u8]) -> Error {
    Error::Rank {
        rank,
        what: format!("stopped because rank {other} failed: {}", String::from_utf8_lossy(text)),
        hint: format!("see the error of rank {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{in_process, in_process_all};
    use super::*;
    use std::time::Duration;

    const SOON: Duration = Duration::from_secs(60);

    #[test]
    fn gathering_and_broadcasting_keep_rank_order() {
        let all = in_process(5, SOON, |net| {
            let gathered = gather(net, vec![net.rank() as u8])?;
            broadcast(net, gathered.concat())
        });
        assert_eq!(all.unwrap(), vec![vec![0, 1, 2, 3, 4]; 5]);
    }

    #[test]
    fn a_failure_anywhere_is_one_everywhere() {
        let all = in_process_all(3, SOON, |net| {
            let mine = match net.rank() {
                1 => Err(Error::spec("no room", "make room")),
                rank => Ok(vec![rank as u8]),
            };
            Ok(gather_fine(net, mine).unwrap_err().to_string())
        });
        for (rank, error) in all.into_iter().enumerate() {
            let error = error.unwrap();
            assert!(error.contains("no room; help: make room"), "{error}");
            assert_eq!(error.contains("because rank 1 failed"), rank != 1, "{error}");
        }
        let fine = in_process(3, SOON, |net| {
            gather_fine(net, Ok(vec![net.rank() as u8]))?;
            let mine =
                if net.rank() == 2 { Err(Error::spec("no room", "make room")) } else { Ok(7) };
            let error = all_fine(net, mine).unwrap_err().to_string();
            assert!(error.contains("no room; help: make room"), "{error}");
            assert_eq!(all_fine(net, Ok(net.rank()))?, net.rank());
            agree_on(net, Ok(vec![7, net.rank() as u8]))
        });
        assert_eq!(fine.unwrap(), vec![vec![7, 0]; 3]);
    }

    #[test]
    fn a_rank_with_another_spec_is_named_on_every_rank() {
        let all = in_process_all(3, SOON, |net| {
            agree(net, "extents", if net.rank() == 1 { "[8, 9]" } else { "[8, 8]" })
        });
        for outcome in all {
            let error = outcome.unwrap_err().to_string();
            assert!(error.contains("rank 1 has extents [8, 9], rank 0 has [8, 8]"), "{error}");
        }
        assert!(in_process(3, SOON, |net| agree(net, "extents", "[8]")).is_ok());
    }

    #[test]
    fn of_several_things_those_that_differ_are_named() {
        let all = in_process_all(2, SOON, |net| {
            let (steps, depth) = (20, 3 + net.rank());
            let mine = [("steps", steps), ("extents", 8 - net.rank()), ("a depth of", depth)];
            agree_on_each(net, &mine.map(|(about, value)| (about, value.to_string())))
        });
        for outcome in all {
            let error = outcome.unwrap_err().to_string();
            let expect = "rank 1 has extents 7, rank 0 has 8; it has a depth of 4, rank 0 has 3; help: start";
            assert!(error.contains(expect), "{error}");
        }
    }
}
