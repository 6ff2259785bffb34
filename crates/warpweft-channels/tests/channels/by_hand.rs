//! The contract that `#[spawning]` generates code for, written out by hand for two functions, and what it is to
//! run them on the cores.

use warpweft::channels::cpu::{CpuExecutor, Frame, Site, Worker};
use warpweft::channels::{
    Call, Channels, ChannelsExecutor, CpuPolicy, Spawning, reference, spawn, sync,
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

/// What `#[spawning]` on `fib` leaves next to it.
#[derive(Clone, Copy)]
#[repr(C)]
struct Fib {
    n: u32,
}

impl Call for Fib {
    type Output = u64;
    const NAME: &'static str = "fib";

    fn forked(self, worker: &Worker<'_>, level: u32) -> u64 {
        let Self { n } = self;
        if n < 2 {
            return n as u64;
        }
        worker.count(2);
        if !worker.shares(level, Self::NAME) {
            return worker.call(Self { n: n - 1 }, level) + worker.call(Self { n: n - 2 }, level);
        }
        let site = Site::<Self, 0, false>::default();
        let frame = Frame::new(worker);
        let mut a = 0;
        // SAFETY: the worker shares; the frame is dropped before the site.
        unsafe { site.push(&frame, Self { n: n - 1 }, level) };
        let b = worker.call(Self { n: n - 2 }, level);
        while frame.newest().is_some() {
            // SAFETY: there is one site.
            a = unsafe { site.settle(&frame, level) };
        }
        a + b
    }
}

// SAFETY: the C++ struct has the one member `n`.
unsafe impl Spawning for Fib {
    fn plain(self) -> u64 {
        fib(self.n)
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

/// What it leaves next to `queens`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Queens {
    all: u32,
    columns: u32,
    left: u32,
    right: u32,
}

impl Call for Queens {
    type Output = u64;
    const NAME: &'static str = "queens";

    fn forked(self, worker: &Worker<'_>, level: u32) -> u64 {
        let Self { all, columns, left, right } = self;
        if columns == all {
            return 1;
        }
        let mut free = all & !(columns | left | right);
        let mut found = 0;
        let site = Site::<Self, 0, true>::default();
        let frame = Frame::new(worker);
        while free != 0 {
            let square = free & free.wrapping_neg();
            free ^= square;
            let (left, right) = ((left | square) << 1, (right | square) >> 1);
            let call = Self { all, columns: columns | square, left, right };
            worker.count(1);
            match worker.shares(level, Self::NAME) {
                // SAFETY: the worker shares; the frame is dropped before the site.
                true => unsafe { site.push(&frame, call, level) },
                false => found += worker.call(call, level),
            }
        }
        while frame.newest().is_some() {
            // SAFETY: there is one site.
            found += unsafe { site.settle(&frame, level) };
        }
        found
    }
}

// SAFETY: the C++ struct has the four members.
unsafe impl Spawning for Queens {
    fn plain(self) -> u64 {
        queens(self.all, self.columns, self.left, self.right)
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
    let policy = CpuPolicy { deque_capacity, ..CpuPolicy::default() };
    let mut executor = CpuExecutor::new(&Machine::detect()?, threads, policy)?;
    let (outputs, report) = executor.run(channels)?;
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
        let expect = "`fib` spawned deeper than 19 levels; help: check that the recursion ends, then allow more with --levels (`levels`)";
        assert_eq!(error, expect);
    }
    for levels in [0, 60_001] {
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

impl Call for Falls {
    type Output = ();
    const NAME: &'static str = "falls";

    fn forked(self, worker: &Worker<'_>, level: u32) {
        let site = Site::<Self, 0, true>::default();
        let frame = Frame::new(worker);
        if self.n == self.at {
            std::panic::resume_unwind(Box::new(format!("no more at {}", self.n)));
        }
        for _ in 0..self.n {
            let call = Self { n: self.n - 1, ..self };
            worker.count(1);
            match worker.shares(level, Self::NAME) {
                // SAFETY: the worker shares; the frame is dropped before the site.
                true => unsafe { site.push(&frame, call, level) },
                false => worker.call(call, level),
            }
        }
    }
}

// SAFETY: no C++ is asked for.
unsafe impl Spawning for Falls {
    fn plain(self) {}

    fn cuda(_: &mut Unit) -> String {
        String::new()
    }
}

#[test]
fn a_panic_at_any_level_is_an_error_and_the_cores_live_on() {
    let machine = Machine::detect().unwrap();
    let mut executor = CpuExecutor::new(&machine, 3, CpuPolicy::default()).unwrap();
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

impl Call for Heavy {
    type Output = u64;
    const NAME: &'static str = "heavy";

    fn forked(self, worker: &Worker<'_>, level: u32) -> u64 {
        let much = std::hint::black_box([self.n; 2000]);
        let below = match self.n {
            0 => 0,
            n => {
                worker.shares(level, Self::NAME);
                worker.call(Self { n: n - 1 }, level)
            }
        };
        below + u64::from(std::hint::black_box(&much)[7])
    }
}

// SAFETY: no C++ is asked for.
unsafe impl Spawning for Heavy {
    fn plain(self) -> u64 {
        0
    }

    fn cuda(_: &mut Unit) -> String {
        String::new()
    }
}

#[test]
fn a_stack_that_is_used_up_is_an_error() {
    let machine = Machine::detect().unwrap();
    let run = |stack, n| {
        let policy = CpuPolicy { stack, ..CpuPolicy::default() };
        CpuExecutor::new(&machine, 2, policy)?.run(&Channels::of(Heavy { n }).levels(4000))
    };
    assert_eq!(run(64 << 20, 3000).unwrap().0, [4_501_500]);
    let error = run(4 << 20, 3000).unwrap_err().to_string();
    assert!(error.contains("`heavy` ran out of stack at level"), "{error}");
    assert!(error.contains("raise the policy's `stack`"), "{error}");
}
