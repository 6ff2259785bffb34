//! The protocol of links (mod.rs), checked exhaustively: every order in which the hosts and the devices of two
//! ranks can take their steps. Nothing may be read that is not there or is being overwritten, no device may
//! wait for what is not queued yet, and no order may end before all is done.

use std::collections::HashSet;

/// Messages each way.
const MESSAGES: u8 = 5;

#[derive(Clone, Copy, Debug)]
struct Model {
    slots: u8,
    /// Whether messages go both ways, or from the first rank to the second only.
    both: bool,
    /// Whether the sender waits until a slot has been read.
    waits: bool,
    /// Whether the receiver learns that packing is queued before it tells its device to wait.
    told: bool,
}

/// What a stream holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Work {
    Pack(u8),
    Wait(u8),
    Unpack(u8),
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Rank {
    /// The host's next message and what it does about it.
    message: u8,
    stage: u8,
    /// The stream, what of it is done, and whether the next is half done.
    queued: Vec<Work>,
    done: usize,
    half: bool,
    /// What the neighbour has said: packings queued, slots read.
    puts: u8,
    taken: u8,
    /// What lies in the slots (the number after the message's, 0 while it is written), and the flag.
    slots: [u8; 3],
    flag: u8,
}

#[derive(Debug, PartialEq, Eq)]
enum Fault {
    Read { wanted: u8, found: u8 },
    WaitsForNothing,
    Stuck,
}

impl Model {
    fn sends(self, rank: usize) -> bool {
        self.both || rank == 0
    }

    fn receives(self, rank: usize) -> bool {
        self.sends(1 - rank)
    }

    /// The host of `rank` takes its next step, if it can.
    fn host(self, ranks: &mut [Rank; 2], rank: usize) -> bool {
        let (sends, receives) = (self.sends(rank), self.receives(rank));
        let (left, right) = ranks.split_at_mut(1);
        let (me, other) =
            if rank == 0 { (&mut left[0], &mut right[0]) } else { (&mut right[0], &mut left[0]) };
        let n = me.message;
        if n == MESSAGES {
            return false;
        }
        let unpacked = |me: &Rank, n: u8| me.queued[..me.done].contains(&Work::Unpack(n));
        match me.stage {
            0 if sends => {
                if self.waits && n >= self.slots && me.taken + self.slots <= n {
                    return false;
                }
                me.queued.push(Work::Pack(n));
                other.puts += 1;
            }
            1 if receives && n >= (self.slots - 1).max(1) => {
                if !unpacked(me, n - (self.slots - 1).max(1)) {
                    return false;
                }
                other.taken += 1;
            }
            2 if receives => {
                if self.told && me.puts <= n {
                    return false;
                }
                me.queued.extend([Work::Wait(n), Work::Unpack(n)]);
            }
            _ => {}
        }
        (me.message, me.stage) = if me.stage == 2 { (n + 1, 0) } else { (n, me.stage + 1) };
        true
    }

    /// The device of `rank` takes its next step, if it can.
    fn device(self, ranks: &mut [Rank; 2], rank: usize) -> Result<bool, Fault> {
        let Some(&work) = ranks[rank].queued.get(ranks[rank].done) else { return Ok(false) };
        let half = std::mem::replace(&mut ranks[rank].half, true);
        match work {
            Work::Pack(n) => {
                let to = &mut ranks[1 - rank];
                to.slots[usize::from(n % self.slots)] = if half { n + 1 } else { 0 };
                if half {
                    to.flag = n + 1;
                }
            }
            Work::Wait(n) if ranks[rank].flag <= n => {
                ranks[rank].half = false;
                let queued = ranks[1 - rank].queued.contains(&Work::Pack(n));
                return if queued { Ok(false) } else { Err(Fault::WaitsForNothing) };
            }
            Work::Wait(_) => ranks[rank].half = true,
            // What is read must be right from the beginning to the end.
            Work::Unpack(n) => {
                let found = ranks[rank].slots[usize::from(n % self.slots)];
                if found != n + 1 {
                    return Err(Fault::Read { wanted: n + 1, found });
                }
            }
        }
        if half || matches!(work, Work::Wait(_)) {
            (ranks[rank].half, ranks[rank].done) = (false, ranks[rank].done + 1);
        }
        Ok(true)
    }

    /// Goes through all states that any order leads to; their number, or the first fault.
    fn check(self) -> Result<usize, Fault> {
        let rank = Rank {
            message: 0,
            stage: 0,
            queued: Vec::new(),
            done: 0,
            half: false,
            puts: 0,
            taken: 0,
            slots: [0; 3],
            flag: 0,
        };
        let start = [rank.clone(), rank];
        let mut seen = HashSet::from([start.clone()]);
        let mut open = vec![start];
        while let Some(state) = open.pop() {
            let mut stuck = true;
            for rank in 0..2 {
                for device in [false, true] {
                    let mut next = state.clone();
                    let took = match device {
                        false => self.host(&mut next, rank),
                        true => self.device(&mut next, rank)?,
                    };
                    if took {
                        stuck = false;
                        if seen.insert(next.clone()) {
                            open.push(next);
                        }
                    }
                }
            }
            let done = |it: &Rank| it.message == MESSAGES && it.done == it.queued.len();
            if stuck && !state.iter().all(done) {
                return Err(Fault::Stuck);
            }
        }
        Ok(seen.len())
    }
}

const RIGHT: Model = Model { slots: 3, both: true, waits: true, told: true };

#[test]
fn every_order_reads_what_was_sent_and_ends() {
    for both in [true, false] {
        let states = Model { both, ..RIGHT }.check().unwrap();
        assert!(states > 100, "{states} states are not all");
    }
}

#[test]
fn a_wrong_protocol_is_found_out() {
    // Slots that are not waited for are overwritten unread, where nothing comes back that would tell.
    let hasty = Model { waits: false, both: false, ..RIGHT }.check();
    assert!(matches!(hasty, Err(Fault::Read { .. })), "{hasty:?}");
    // With one slot a sender waits for what its receiver says only once it has sent itself.
    let single = Model { slots: 1, ..RIGHT }.check();
    assert_eq!(single, Err(Fault::Stuck));
    let untold = Model { told: false, ..RIGHT }.check();
    assert_eq!(untold, Err(Fault::WaitsForNothing));
}
