//! Fibonacci numbers by the worst way there is: the smallest call that spawns two.

use warpweft::error::{Error, Result};
use warpweft::prelude::*;

/// The number of index `n` (Orr et al., section 7.1; here down to 0 and 1).
#[spawning]
pub fn fib(n: u32) -> u64 {
    if n < 2 {
        return n as u64;
    }
    let a = spawn!(fib(n - 1));
    let b = spawn!(fib(n - 2));
    sync!();
    a + b
}

/// The largest index whose number has 64 bits.
pub const MOST: u32 = 93;

/// What is to be computed; a call is spawned from each of `n` levels at most.
///
/// # Errors
/// A number of more than 64 bits.
pub fn channels(n: u32) -> Result<Channels<fib>> {
    if n > MOST {
        let what = format!("fib({n}) exceeds 64 bits");
        return Err(Error::spec(what, format!("take {MOST} at most")));
    }
    Ok(Channels::of(fib::call(n)).levels(n.max(1)))
}

/// The same by doubling: F(2k) = F(k) (2 F(k+1) - F(k)), F(2k+1) = F(k)^2 + F(k+1)^2, modulo 2^64.
pub fn plain(n: u32) -> u64 {
    let (mut this, mut next) = (0u64, 1u64);
    for bit in (0..u32::BITS).rev() {
        let even = this.wrapping_mul(next.wrapping_mul(2).wrapping_sub(this));
        let odd = this.wrapping_mul(this).wrapping_add(next.wrapping_mul(next));
        (this, next) = match n >> bit & 1 {
            0 => (even, odd),
            _ => (odd, even.wrapping_add(odd)),
        };
    }
    this
}

/// How many calls that takes, modulo 2^64: 2 F(n+1) - 1.
pub fn calls(n: u32) -> u64 {
    plain(n + 1).wrapping_mul(2).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubling_agrees_with_adding() {
        let (mut this, mut next) = (0u64, 1u64);
        for n in 0..=MOST {
            assert_eq!(plain(n), this);
            (this, next) = (next, this.wrapping_add(next));
        }
        assert_eq!(plain(MOST), 12_200_160_415_121_876_738);
        assert_eq!((calls(0), calls(24), calls(40)), (1, 150_049, 331_160_281));
        assert!(channels(MOST).is_ok() && channels(MOST + 1).is_err());
    }
}
