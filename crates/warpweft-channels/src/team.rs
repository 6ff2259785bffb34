//! Teams: lanes that run one call together. On cores a team is one lane, on a GPU the lanes of a warp or of a block.

use warpweft_core::element::Unit;

/// The lanes that run a call of a function with `#[spawning(team)]`, as one of them sees it.
///
/// The result of such a function must not depend on the number of lanes. Each lane does its share
/// of the work. Two lanes may access the same word only with a [`barrier`](Team::barrier) in
/// between, or if both only read it.
///
/// ```
/// use warpweft::channels::Team;
/// use warpweft::prelude::*;
///
/// /// Reverses at most 512 words.
/// #[spawning(team)]
/// fn reversed(team: &Team, words: &mut [u32], room: &mut [u32; 512]) {
///     let count = words.len();
///     let mut i = team.lane();
///     while i < count {
///         room[count - 1 - i] = words[i];
///         i += team.lanes();
///     }
///     team.barrier();
///     let mut i = team.lane();
///     while i < count {
///         words[i] = room[i];
///         i += team.lanes();
///     }
/// }
///
/// // Still a function; callers pass neither the team nor its arrays.
/// let mut words = [1, 2, 3];
/// reversed(&mut words);
/// assert_eq!(words, [3, 2, 1]);
/// ```
#[derive(Debug)]
pub struct Team(());

impl Team {
    /// A team of one lane.
    #[doc(hidden)]
    pub const fn alone() -> Self {
        Self(())
    }

    /// This lane's number, from 0.
    #[inline(always)]
    pub fn lane(&self) -> usize {
        0
    }

    /// The number of lanes.
    #[inline(always)]
    pub fn lanes(&self) -> usize {
        1
    }

    /// Waits for all lanes, all of which must call it. Afterwards each lane sees what the others
    /// wrote before.
    #[inline(always)]
    pub fn barrier(&self) {}

    /// The number of lanes for which `condition` holds. All lanes must call it.
    #[inline(always)]
    pub fn count(&self, condition: bool) -> usize {
        usize::from(condition)
    }

    /// The sum of the lanes' numbers, which wraps. All lanes must call it.
    #[inline(always)]
    pub fn sum(&self, number: u32) -> u32 {
        number
    }

    /// The sum of the numbers of all lanes before this one, which wraps. All lanes must call it.
    #[inline(always)]
    pub fn prefix_sum(&self, _number: u32) -> u32 {
        0
    }
}

/// Adds the C++ of [`Team`] to a unit.
#[doc(hidden)]
pub fn define_teams(unit: &mut Unit) {
    unit.define("teams", "teams", |_, _| {
        "// What a team tells a lane.
namespace ww {
template<class Team> WW_FN usize team_lane(const Team& team) { return team.lane; }
template<class Team> WW_FN usize team_lanes(const Team&) { return Team::LANES; }
template<class Team> WW_FN unit team_barrier(const Team& team) { team.barrier(); return {}; }
template<class Team> WW_FN usize team_count(const Team& team, bool condition) { return team.count(condition); }
template<class Team> WW_FN u32 team_sum(const Team& team, u32 number) { return team.sums(number).all; }
template<class Team> WW_FN u32 team_prefix_sum(const Team& team, u32 number) { return team.sums(number).before; }
}  // namespace ww
"
        .into()
    });
}
