//! How many warps, and what each has: rings and frames that no run outgrows.

use crate::channels::policy::StacksPolicy;
use crate::error::{Error, Result};

/// What the kernel says of its functions, as `ww_sizes` in `call.cuh`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Bytes of an item.
    pub item: u32,
    /// Bytes of a frame.
    pub frame: u32,
    /// Calls that one visit of a call may spawn.
    pub quota: u32,
}

impl Sizes {
    /// From the kernel's words; where loops spawn, `children` is how many.
    pub fn of([item, frame, spawns, loops]: [u32; 4], children: u32) -> Self {
        let quota = (spawns + if loops > 0 { children } else { 0 }).max(1);
        Self { item, frame, quota }
    }
}

/// What each warp has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// Frames.
    pub frames: u32,
    /// Items of a ring, a power of two.
    pub ring: u32,
    /// Whether rings lie in shared memory.
    pub shared: bool,
}

impl Plan {
    /// For calls of so many `levels`, in blocks of `warps` warps that may have so many bytes of shared memory.
    ///
    /// # Errors
    /// Rings or frames that leave no room for one path down to the last level.
    pub fn new(
        sizes: Sizes,
        levels: u32,
        policy: &StacksPolicy,
        warps: u32,
        shared: u64,
    ) -> Result<Self> {
        let Sizes { item, quota, .. } = sizes;
        // One path down: beyond it a batch needs 32 times what a call may take.
        let path = u64::from(quota) * u64::from(levels);
        let wanted = (path + 32 * u64::from(quota) + 64).next_power_of_two();
        let ring = match policy.ring {
            0 => wanted,
            ring => u64::from(ring),
        };
        let least = (path + u64::from(quota)).max(32);
        if ring < least || !ring.is_power_of_two() || ring > 1 << 24 {
            return Err(Error::spec(
                format!("rings of {ring} calls, for {levels} levels of {quota} calls spawned each"),
                format!(
                    "take a power of two from {} to 16777216, or fewer `levels` or `children`",
                    least.next_power_of_two()
                ),
            ));
        }
        let frames = match policy.frames {
            0 => (8 * levels).max(512),
            frames => frames,
        };
        if frames < levels + 33 || frames > 1 << 20 {
            return Err(Error::spec(
                format!("{frames} frames a warp, for {levels} levels"),
                format!("take {} to 1048576", levels + 33),
            ));
        }
        let in_shared = ring * u64::from(item) * u64::from(warps) <= shared;
        Ok(Self { frames, ring: ring as u32, shared: in_shared })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_and_frames_have_room_for_a_path_down() {
        let policy = StacksPolicy::default();
        let fib = Sizes::of([16, 48, 2, 0], 32);
        let plan = Plan::new(fib, 64, &policy, 4, 32 << 10).unwrap();
        assert_eq!(plan, Plan { frames: 512, ring: 256, shared: true });
        let queens = Sizes::of([24, 64, 1, 1], 32);
        assert_eq!(queens.quota, 33);
        let plan = Plan::new(queens, 17, &policy, 4, 32 << 10).unwrap();
        assert_eq!(plan, Plan { frames: 512, ring: 2048, shared: false });
        let refused = |policy: StacksPolicy| {
            Plan::new(fib, 64, &policy, 4, 32 << 10).unwrap_err().to_string()
        };
        let small = refused(StacksPolicy { ring: 128, ..policy });
        assert!(
            small.contains("rings of 128 calls, for 64 levels of 2") && small.contains("from 256"),
            "{small}"
        );
        assert!(refused(StacksPolicy { ring: 300, ..policy }).contains("a power of two"));
        assert!(refused(StacksPolicy { frames: 96, ..policy }).contains("take 97 to"));
    }
}
