//! The contract that `#[spawning]` generates code for, written out by hand for two functions, and what it is to
//! run them on the cores.

use warpweft::channels::cpu::{CpuExecutor, Frame, Worker};
use warpweft::channels::{
    Add, Channels, ChannelsExecutor, CpuPolicy, Spawning, Store, reference, spawn, sync,
};
use warpweft::element::{DeviceType, Unit};
use warpweft::machine::Machine;
use warpweft::{Error, Result};

fn fib(n: u32) -> u64 {
    if n < 2 {
        return n as u64;
    }
    let a = spawn!(fib(n - 1));
    let b = spawn!(fib(n - 2));
    sync!();
    a + b
}

/// What `#[spawning]` on `fib` leaves beside it.
#[derive(Clone, Copy)]
#[repr(C)]
struct Fib {
    n: u32,
}

// SAFETY: the C++ struct has the one member `n`; targets are variables that are read after `sync` alone.
unsafe impl Spawning for Fib {
    type Output = u64;
    const NAME: &'static str = "fib";

    fn plain(self) -> u64 {
        fib(self.n)
    }

    fn forked(self, worker: &mut Worker<'_>) -> u64 {
        let Self { n } = self;
        let mut frame = Frame::new(worker);
        if n < 2 {
            return n as u64;
        }
        let mut a = 0;
        // SAFETY: `a` stays where it is and is used after `sync`.
        unsafe { frame.spawn::<Self, Store>(&raw mut a, Self { n: n - 1 }) };
        let b = frame.call(Self { n: n - 2 });
        frame.sync();
        a + b
    }

    fn cuda(unit: &mut Unit) -> String {
        unit.define("by_hand::fib", "fib", |unit, name| {
            format!("struct {name} {{ {} n_; }};\n", u32::cuda(unit))
        })
    }
}

fn queens(all: u32, columns: u32, left: u32, right: u32) -> u64 {
    if columns == all {
        return 1;
    }
    let mut free = all & !(columns | left | right);
    let mut found = 0;
    while free != 0 {
        let square = free & free.wrapping_neg();
        free ^= square;
        found += spawn!(queens(all, columns | square, (left | square) << 1, (right | square) >> 1));
    }
    sync!();
    found
}

/// What it leaves beside `queens`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Queens {
    all: u32,
    columns: u32,
    left: u32,
    right: u32,
}

// SAFETY: the C++ struct has the four members; the target is a variable that is read after `sync` alone.
unsafe impl Spawning for Queens {
    type Output = u64;
    const NAME: &'static str = "queens";

    fn plain(self) -> u64 {
        queens(self.all, self.columns, self.left, self.right)
    }

    fn forked(self, worker: &mut Worker<'_>) -> u64 {
        let Self { all, columns, left, right } = self;
        let mut frame = Frame::new(worker);
        if columns == all {
            return 1;
        }
        let mut free = all & !(columns | left | right);
        let mut found = 0;
        while free != 0 {
            let square = free & free.wrapping_neg();
            free ^= square;
            let (left, right) = ((left | square) << 1, (right | square) >> 1);
            let call = Self { all, columns: columns | square, left, right };
            // SAFETY: `found` stays where it is and is used after `sync`.
            unsafe { frame.spawn::<Self, Add>(&raw mut found, call) };
        }
        frame.sync();
        found
    }

    fn cuda(unit: &mut Unit) -> String {
        unit.define("by_hand::queens", "queens", |unit, name| {
            let u32 = u32::cuda(unit);
            format!("struct {name} {{ {u32} all_, columns_, left_, right_; }};\n")
        })
    }
}

fn board(n: u32) -> Queens {
    Queens { all: (1 << n) - 1, columns: 0, left: 0, right: 0 }
}

/// The values of `channels` on so many threads that keep so many calls each, and the calls there were.
fn on_cores<C: Spawning>(
    channels: &Channels<C>,
    threads: usize,
    deque_capacity: usize,
) -> Result<(Vec<C::Output>, u64)> {
    let policy = CpuPolicy { deque_capacity, ..CpuPolicy::of(threads) };
    let (outputs, report) = CpuExecutor::new(&Machine::detect()?, policy)?.run(channels)?;
    Ok((outputs, report.done))
}

#[test]
fn any_number_of_threads_and_of_calls_kept_computes_the_same() {
    let fibs = Channels::all((0..24).map(|n| Fib { n }));
    let boards = Channels::all([4, 6, 8, 9].map(board));
    let calls: u64 = (0..24).map(|n| 2 * fib(n + 1) - 1).sum();
    for threads in [1, 2, 3, 7] {
        for deque_capacity in [1, 2, 5, 1024] {
            assert_eq!(
                on_cores(&fibs, threads, deque_capacity).unwrap(),
                (reference(&fibs), calls)
            );
            let (solutions, _) = on_cores(&boards, threads, deque_capacity).unwrap();
            assert_eq!(solutions, [2, 4, 92, 352]);
        }
    }
}

#[test]
fn queens_has_as_many_nodes_as_others_counted() {
    // 35,539 placements on a board of 10, the empty one included; 166,926 on one of 11.
    for (n, solutions, nodes) in [(10, 724, 35_539), (11, 2680, 166_926)] {
        assert_eq!(on_cores(&Channels::of(board(n)), 2, 1024).unwrap(), (vec![solutions], nodes));
    }
}

#[test]
fn calls_deeper_than_the_levels_are_an_error_and_no_others() {
    let deep = Channels::of(Fib { n: 20 });
    for threads in [1, 2, 3] {
        assert!(on_cores(&deep.clone().levels(20), threads, 9).is_ok());
        let error = on_cores(&deep.clone().levels(19), threads, 9).unwrap_err().to_string();
        let expect = "`fib` spawned deeper than 19 levels; help: allow more with --levels (`levels`), if the calls come to an end";
        assert_eq!(error, expect);
    }
    for levels in [0, 4001] {
        assert!(on_cores(&deep.clone().levels(levels), 1, 9).is_err());
    }
    assert!(on_cores(&Channels::<Fib>::all([]), 1, 9).is_err());
}

/// Calls that spawn `n` times `n - 1`, and one of which panics.
#[derive(Clone, Copy)]
#[repr(C)]
struct Falls {
    n: u32,
    at: u32,
}

// SAFETY: no target; no C++ is asked for.
unsafe impl Spawning for Falls {
    type Output = ();
    const NAME: &'static str = "falls";

    fn plain(self) {}

    fn forked(self, worker: &mut Worker<'_>) {
        let mut frame = Frame::new(worker);
        if self.n == self.at {
            std::panic::resume_unwind(Box::new(format!("no more at {}", self.n)));
        }
        for _ in 0..self.n {
            frame.spawn_only(Self { n: self.n - 1, ..self });
        }
    }

    fn cuda(_: &mut Unit) -> String {
        String::new()
    }
}

#[test]
fn a_panic_at_any_level_is_an_error_and_the_cores_live_on() {
    let mut executor = CpuExecutor::new(&Machine::detect().unwrap(), CpuPolicy::of(3)).unwrap();
    for at in 0..9 {
        let Err(error) = executor.run(&Channels::of(Falls { n: 8, at })) else {
            panic!("nothing fell at {at}")
        };
        assert!(matches!(&error, Error::Element { .. }), "{error}");
        let expect = format!("`falls`: no more at {at}");
        assert!(error.to_string().contains(&expect), "{error}");
        let (outputs, _) = executor.run(&Channels::of(Fib { n: 15 })).unwrap();
        assert_eq!(outputs, [610]);
    }
    // Without one: every permutation of eight is a leaf, and all is waited for at the end of each call.
    let (_, report) = executor.run(&Channels::of(Falls { n: 8, at: 9 })).unwrap();
    assert_eq!(report.done, 109_601);
}

/// Calls that keep much on the stack.
#[derive(Clone, Copy)]
#[repr(C)]
struct Heavy {
    n: u32,
}

// SAFETY: no target; no C++ is asked for.
unsafe impl Spawning for Heavy {
    type Output = u64;
    const NAME: &'static str = "heavy";

    fn plain(self) -> u64 {
        0
    }

    fn forked(self, worker: &mut Worker<'_>) -> u64 {
        let mut frame = Frame::new(worker);
        let much = std::hint::black_box([self.n; 2000]);
        let below = if self.n > 0 { frame.call(Self { n: self.n - 1 }) } else { 0 };
        below + u64::from(std::hint::black_box(&much)[7])
    }

    fn cuda(_: &mut Unit) -> String {
        String::new()
    }
}

#[test]
fn a_stack_that_is_used_up_is_an_error() {
    let machine = Machine::detect().unwrap();
    let run = |stack, n| {
        let policy = CpuPolicy { stack, ..CpuPolicy::of(2) };
        CpuExecutor::new(&machine, policy)?.run(&Channels::of(Heavy { n }).levels(4000))
    };
    assert_eq!(run(64 << 20, 3000).unwrap().0, [4_501_500]);
    let error = run(4 << 20, 3000).unwrap_err().to_string();
    assert!(error.contains("`heavy` has used a thread's stack at level"), "{error}");
    assert!(error.contains("raise the policy's `stack`"), "{error}");
}
