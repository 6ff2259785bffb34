//! What the function of a cell is: its contract, what it reads, how its cells compare.
//!
//! Not here: the domain that it is computed over (`spec`), and what computes it.

mod bytes;
mod choice;
mod contract;
mod dependence;
mod earlier;
mod lookup;
mod parts;
mod rank;
mod relative;
mod stored;
mod traced;

pub(crate) use bytes::{bytes_of, bytes_of_mut};
pub use choice::Choice;
#[doc(hidden)]
pub use contract::{Both, Incomparable, Same, words_of};
pub use contract::{Cells, WavefrontElement};
pub(crate) use dependence::legal;
pub use dependence::{Dependence, Reach, precedences, skew};
pub use earlier::{Earlier, Old};
#[doc(hidden)]
pub use lookup::{Interval, Lookup};
pub use parts::{MOST_PARTS, Parts};
pub use rank::{Best, Extreme, Ranked};
pub(crate) use rank::{is_nan, sum};
pub use relative::{Difference, Relative, Term};
pub use stored::Stored;
pub use traced::Traced;
pub(crate) use traced::{NEAR, choice_of};
