//! Calls on the cores, work first: a spawn is a plain call unless some other worker could use it.
//!
//! Every worker has a deque of spawned calls in three regions: stolen, public and private ([`borders`]). A spawn is pushed
//! while few calls are private or while a thief asks for more, else it is called. Thieves take from the public region; the
//! owner publishes when it is asked, at a spawn or where it takes a call back ([`publish`]). The attribute emits the rest of
//! a function twice after its first spawn, with spawns and with plain calls, so that most of a run is the recursion that
//! the compiler makes of the function as written.
//!
//! A worker that waits for a stolen call runs other calls meanwhile, first those of its thief (leapfrogging: Wagner and
//! Calder, "Leapfrogging: a portable technique for implementing efficient futures", PPoPP 1993). No run waits for ever: what
//! a suspended call waits for was started after it, and so was what lies above it on its stack.

mod borders;
mod executor;
mod frame;
mod publish;
mod shared;
mod site;
mod slot;
mod stack;
mod steal;
mod worker;

pub use executor::CpuExecutor;
pub use frame::Frame;
pub use site::Site;
pub use worker::{Worker, cold};
