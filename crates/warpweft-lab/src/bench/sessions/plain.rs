//! Conjugate gradients by plain loops on two threads: what a program written for this one equation takes. Each thread
//! holds half of the planes and copies of the planes next to them; sums are rounded in each step, not exact.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Threads.
const THREADS: usize = 2;
/// Numbers that are summed up next to one another.
const LANES: usize = 8;

/// What the threads tell one another.
struct Shared {
    arrived: AtomicUsize,
    /// Partial sums of both dot products.
    sums: Mutex<[[f64; THREADS]; 2]>,
    /// The plane of `p` of each thread that the other reads.
    borders: Mutex<[Vec<f64>; THREADS]>,
}

impl Shared {
    /// Waits for the other thread.
    fn barrier(&self) {
        let ticket = self.arrived.fetch_add(1, Ordering::AcqRel);
        let goal = (ticket / THREADS + 1) * THREADS;
        while self.arrived.load(Ordering::Acquire) < goal {
            std::hint::spin_loop();
        }
    }

    /// The sum of both threads' parts of dot product `which`.
    fn sum(&self, which: usize, thread: usize, part: f64) -> f64 {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)[which][thread] = part;
        self.barrier();
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)[which].iter().sum()
    }
}

/// One thread's vectors, with a plane, a row and a cell more on each side.
struct Part {
    thread: usize,
    n: usize,
    planes: usize,
    x: Vec<f64>,
    r: Vec<f64>,
    p: Vec<f64>,
    q: Vec<f64>,
}

impl Part {
    fn new(thread: usize, n: usize, noise: impl Fn([usize; 3]) -> f64) -> Self {
        let (begin, end) = (n * thread / THREADS, n * (thread + 1) / THREADS);
        let cells = vec![0.0; (end - begin + 2) * (n + 2) * (n + 2)];
        let [x, q] = [cells.clone(), cells.clone()];
        let mut part = Self { thread, n, planes: end - begin, x, q, p: cells.clone(), r: cells };
        for (z, y) in part.lines() {
            let row = part.row(z, y);
            for at in 0..n {
                part.r[row + at] = noise([begin + z, y, at]);
            }
        }
        part.p.copy_from_slice(&part.r);
        part
    }

    fn lines(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let n = self.n;
        (0..self.planes).flat_map(move |z| (0..n).map(move |y| (z, y)))
    }

    /// Where a row begins.
    fn row(&self, z: usize, y: usize) -> usize {
        ((z + 1) * (self.n + 2) + y + 1) * (self.n + 2) + 1
    }

    /// Gives the other thread the plane of `p` next to it, and takes that thread's.
    fn exchange(&mut self, shared: &Shared) {
        let plane = (self.n + 2) * (self.n + 2);
        let own = if self.thread == 0 { self.planes } else { 1 } * plane;
        let beyond = if self.thread == 0 { self.planes + 1 } else { 0 } * plane;
        let border = &self.p[own..own + plane];
        shared.borders.lock().unwrap_or_else(PoisonError::into_inner)[self.thread]
            .copy_from_slice(border);
        shared.barrier();
        let borders = shared.borders.lock().unwrap_or_else(PoisonError::into_inner);
        self.p[beyond..beyond + plane].copy_from_slice(&borders[1 - self.thread]);
    }

    /// `q = A p`; the dot product of both.
    fn multiply(&mut self) -> f64 {
        let (n, mut sum) = (self.n, [0.0; LANES]);
        for (z, y) in self.lines() {
            let row = self.row(z, y);
            let at = |row: usize| &self.p[row..row + n];
            let [up, down] = [row - (n + 2) * (n + 2), row + (n + 2) * (n + 2)].map(at);
            let [above, below] = [row - (n + 2), row + n + 2].map(at);
            let [left, middle, right] = [row - 1, row, row + 1].map(at);
            let q = &mut self.q[row..row + n];
            for i in 0..n {
                let along = up[i] + down[i] + above[i] + below[i];
                q[i] = 6.0 * middle[i] - along - left[i] - right[i];
            }
            add_products(&mut sum, middle, q);
        }
        sum.iter().sum()
    }

    /// `x += alpha p` and `r -= alpha q`; the square of `r`.
    fn advance(&mut self, alpha: f64) -> f64 {
        let (n, mut sum) = (self.n, [0.0; LANES]);
        for (z, y) in self.lines() {
            let row = self.row(z, y);
            let row = row..row + n;
            let (p, q) = (&self.p[row.clone()], &self.q[row.clone()]);
            self.x[row.clone()].iter_mut().zip(p).for_each(|(x, p)| *x += alpha * p);
            self.r[row.clone()].iter_mut().zip(q).for_each(|(r, q)| *r -= alpha * q);
            add_products(&mut sum, &self.r[row.clone()], &self.r[row]);
        }
        sum.iter().sum()
    }

    /// `p = r + beta p`.
    fn turn(&mut self, beta: f64) {
        for (z, y) in self.lines() {
            let row = self.row(z, y);
            let row = row..row + self.n;
            let r = &self.r[row.clone()];
            self.p[row].iter_mut().zip(r).for_each(|(p, r)| *p = r + beta * *p);
        }
    }
}

fn add_products(sum: &mut [f64; LANES], a: &[f64], b: &[f64]) {
    let ((a, rest_a), (b, rest_b)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sum[lane] += a[lane] * b[lane];
        }
    }
    rest_a.iter().zip(rest_b).for_each(|(a, b)| sum[0] += a * b);
}

/// The least seconds of an iteration of `iterations` that are timed together, `repeats` times, and the residual's square
/// after all of them.
pub fn measured(
    n: usize,
    noise: impl Fn([usize; 3]) -> f64 + Sync,
    (repeats, iterations): (u32, u32),
) -> (f64, f64) {
    let border = || vec![0.0; (n + 2) * (n + 2)];
    let shared = Shared {
        arrived: AtomicUsize::new(0),
        sums: Mutex::default(),
        borders: Mutex::new([border(), border()]),
    };
    let solve = |thread: usize| {
        let mut part = Part::new(thread, n, &noise);
        let mut square = [0.0; LANES];
        add_products(&mut square, &part.r, &part.r);
        let mut rr = shared.sum(1, thread, square.iter().sum());
        part.exchange(&shared);
        let mut least = f64::INFINITY;
        for _ in 0..repeats {
            shared.barrier();
            let begin = Instant::now();
            for _ in 0..iterations {
                let alpha = rr / shared.sum(0, thread, part.multiply());
                let next = shared.sum(1, thread, part.advance(alpha));
                part.turn(next / rr);
                part.exchange(&shared);
                rr = next;
            }
            least = least.min(begin.elapsed().as_secs_f64() / f64::from(iterations));
        }
        (least, rr)
    };
    std::thread::scope(|scope| {
        scope.spawn(|| solve(1));
        solve(0)
    })
}
