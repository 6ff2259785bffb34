//! Kernels of several steps that threads compile while a run takes single steps. Not: which is taken (`contest`).

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::CudaPolicy;
use crate::cuda::text::FusedText;
use warpweft_core::cuda::{Cubin, Options, compile, leave_to_compile};
use warpweft_core::error::Result;

/// A kernel to be compiled.
pub(in crate::cuda) struct Order {
    pub policy: CudaPolicy,
    pub text: FusedText,
    /// The name in messages.
    pub name: String,
    pub arch: String,
}

impl Order {
    /// How it is compiled.
    pub fn options(&self) -> Options {
        Options { contract: self.policy.contraction, ..Options::default() }
    }
}

/// A kernel that was compiled, or why it could not be.
pub(in crate::cuda) type Arrival = (Order, Result<Cubin>);

/// Kernels that are being compiled.
#[derive(Debug)]
pub(in crate::cuda) struct Arrivals {
    arrived: Receiver<Arrival>,
    waiting: Arc<Mutex<VecDeque<Order>>>,
    threads: Vec<JoinHandle<()>>,
    /// Those that have not arrived.
    left: usize,
}

impl std::fmt::Debug for Order {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} by {:?}", self.name, self.policy)
    }
}

impl Arrivals {
    /// Begins to compile `orders`, the first first, on up to so many threads.
    pub fn start(orders: Vec<Order>, threads: usize) -> Self {
        let (left, threads) = (orders.len(), threads.min(orders.len()));
        let waiting = Arc::new(Mutex::new(VecDeque::from(orders)));
        let (send, arrived) = channel();
        let spawn = |_| {
            let (waiting, send) = (waiting.clone(), send.clone());
            let work = move || compile_all(&waiting, &send);
            // If the system refuses a thread, the run goes on in single steps.
            std::thread::Builder::new().name("compiler".into()).spawn(work).ok()
        };
        let threads = (0..threads).filter_map(spawn).collect();
        Self { arrived, waiting, threads, left }
    }

    /// Whether any has not arrived yet.
    pub fn awaits(&self) -> bool {
        self.left > 0
    }

    /// A kernel that has arrived.
    pub fn next(&mut self) -> Option<Arrival> {
        match self.arrived.try_recv() {
            Ok(next) => {
                self.left -= 1;
                Some(next)
            }
            Err(TryRecvError::Empty) => None,
            // No thread is left that could send one.
            Err(TryRecvError::Disconnected) => {
                self.left = 0;
                None
            }
        }
    }

    /// The next kernel, waited for; none if there are no more.
    pub fn wait(&mut self) -> Option<Arrival> {
        let next = if self.left > 0 { self.arrived.recv().ok()? } else { return None };
        self.left -= 1;
        Some(next)
    }

    /// Gives up what no thread has begun. What one has begun is for the cache, and nobody waits for it.
    pub fn end(&mut self) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).clear();
        leave_to_compile(std::mem::take(&mut self.threads));
    }
}

impl Drop for Arrivals {
    fn drop(&mut self) {
        self.end();
    }
}

fn compile_all(waiting: &Mutex<VecDeque<Order>>, send: &Sender<Arrival>) {
    loop {
        let order = waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some(order) = order else { return };
        let compiled = compile(&order.text.source, &order.name, &order.arch, &order.options());
        if send.send((order, compiled)).is_err() {
            return;
        }
    }
}
