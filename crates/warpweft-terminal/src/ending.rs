//! One exit status for all processes of a run.

use std::process::ExitCode;
use std::time::Duration;

use warpweft::Result;
use warpweft::cluster::{Tag, Transport};

/// The statuses of the others, to rank 0.
const OWN: Tag = Tag(0x6f00);
/// The status of all, from rank 0.
const ALL: Tag = Tag(0x6f01);
/// Says to rank 0 that a rank which waits for the end was asked to end.
const ASKED: Tag = Tag(0x6f02);

/// The longest pause between two looks for a status: another process may work for hours.
const PAUSE: Duration = Duration::from_millis(10);

/// The status of all ranks of `net`, of which this one would end with `own`: the first that is no success, in the
/// order of ranks. Waits until all ranks call this, however long that takes. Rank 0 may be blocked by a file
/// meanwhile. If `asked` becomes true on another rank, that rank sends one message to rank 0 ([`others_asked`]).
///
/// # Errors
/// A rank has aborted or left.
pub fn shared(net: &dyn Transport, own: ExitCode, asked: &dyn Fn() -> bool) -> Result<ExitCode> {
    let own = byte(own);
    let all = match net.rank() {
        0 => {
            let others = (1..net.ranks()).map(|rank| match wait(net, rank, OWN, &|| false) {
                // Others did its work, or the run would have failed.
                Err(_) if net.lost_ranks().contains(&rank) => Ok(0),
                status => status,
            });
            let others = others.collect::<Result<Vec<_>>>()?;
            let all = std::iter::once(own).chain(others).find(|&status| status != 0).unwrap_or(0);
            (1..net.ranks()).try_for_each(|rank| net.send(rank, ALL, vec![all]))?;
            all
        }
        _ => {
            net.send(0, OWN, vec![own])?;
            wait(net, 0, ALL, asked)?
        }
    };
    Ok(ExitCode::from(all))
}

/// Whether another rank, which waits for the end, was asked to end.
///
/// # Errors
/// A rank has aborted.
pub fn others_asked(net: &dyn Transport) -> Result<bool> {
    for rank in 1..net.ranks() {
        if net.poll(rank, ASKED)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn wait(net: &dyn Transport, from: usize, tag: Tag, asked: &dyn Fn() -> bool) -> Result<u8> {
    let (mut pause, mut told) = (Duration::from_micros(50), false);
    loop {
        if !told && asked() {
            told = true;
            net.send(from, ASKED, Vec::new())?;
        }
        if let Some(message) = net.poll(from, tag)? {
            return Ok(message.first().copied().unwrap_or(1));
        }
        std::thread::sleep(pause);
        pause = (2 * pause).min(PAUSE);
    }
}

/// The number of an exit status.
fn byte(status: ExitCode) -> u8 {
    (0..=u8::MAX).find(|&number| ExitCode::from(number) == status).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use warpweft::cluster::in_process_all;

    use super::*;

    #[test]
    fn all_end_as_the_first_that_did_not_succeed() {
        for (own, expect) in [([0, 0, 0], 0), ([0, 130, 0], 130), ([1, 130, 2], 1), ([0, 0, 2], 2)]
        {
            let all = in_process_all(3, Duration::from_secs(60), |net| {
                shared(net, ExitCode::from(own[net.rank()]), &|| false)
            });
            assert!(all.into_iter().all(|status| byte(status.unwrap()) == expect), "{own:?}");
        }
    }

    #[test]
    fn rank_0_hears_that_a_rank_which_waits_is_asked_to_end() {
        let all = in_process_all(3, Duration::from_secs(60), |net| {
            while net.rank() == 0 && !others_asked(net)? {
                std::thread::sleep(PAUSE);
            }
            shared(net, ExitCode::SUCCESS, &|| net.rank() == 2)
        });
        assert!(all.into_iter().all(|status| byte(status.unwrap()) == 0));
    }
}
