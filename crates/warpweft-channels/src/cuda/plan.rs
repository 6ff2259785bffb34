//! How many warps, and what each and its lanes have: stacks, rings and frames that no run outgrows.

use super::text::WARPS;
use crate::policy::StacksPolicy;
use warpweft_core::error::{Error, Result};

/// Bytes of shared memory that the driver takes for itself of every block.
const OWN: u64 = 1024;

/// Bytes of a ring beyond what a path down takes.
const SPARE: u32 = 64 << 10;

/// What the kernel says of its functions, as `ww_sizes` in `call.cuh`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Bytes of an item in global memory.
    pub item: u32,
    /// Bytes of a frame in global memory.
    pub frame: u32,
    /// Bytes of an item on a lane's stack.
    pub stack_item: u32,
    /// Bytes of a frame on a lane's stack.
    pub stack_frame: u32,
    /// Calls that one piece of a call may spawn.
    pub quota: u32,
}

impl Sizes {
    /// From the kernel's words; where loops spawn, `children` is how many.
    pub fn of(words: [u32; 6], children: u32) -> Self {
        let [item, frame, item_words, frame_words, spawns, loops] = words;
        let quota = (spawns + if loops > 0 { children } else { 0 }).max(1);
        Self { item, frame, stack_item: 4 * item_words, stack_frame: 4 * frame_words, quota }
    }
}

/// What each warp and each of its lanes has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// Warps of an SM.
    pub warps: u32,
    /// Items of a lane's stack.
    pub items: u32,
    /// Frames of a lane's stack, a power of two.
    pub depth: u32,
    /// Whether stacks lie in shared memory.
    pub shared: bool,
    /// Frames of a warp in global memory.
    pub frames: u32,
    /// Items of a warp's ring, a power of two.
    pub ring: u32,
}

impl Plan {
    /// For calls of so many `levels`, on an SM with so many bytes of shared memory.
    ///
    /// # Errors
    /// Stacks, rings or frames that leave no room for one call or for one path down to the last level.
    pub fn new(sizes: Sizes, levels: u32, policy: &StacksPolicy, shared: u64) -> Result<Self> {
        let quota = sizes.quota;
        let path = u64::from(quota) * u64::from(levels);
        let ring = match policy.ring {
            // What 32 lanes leave there at once, while it is small: a ring without room beyond a path stops all lanes but one.
            0 => {
                (path + u64::from((SPARE / sizes.item.max(1)).clamp(256, 3072))).next_power_of_two()
            }
            ring => u64::from(ring),
        };
        let least = path + 32;
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
        let (items, depth) = (policy.items, policy.depth);
        if depth == 1
            || items > 1 << 16
            || depth > 1 << 16
            || (depth > 0 && !depth.is_power_of_two())
        {
            return Err(Error::spec(
                format!("stacks of {items} calls to run and {depth} that wait"),
                "take 1 to 65536, and a power of two from 2 to 65536",
            ));
        }
        let plan = Self {
            warps: policy.warps,
            items: 0,
            depth: 0,
            shared: true,
            frames,
            ring: ring as u32,
        };
        let fitting =
            |warps: u32| plan.stacks(sizes, levels, policy, warps, Self::room(shared, warps));
        let most = (1..=policy.warps / WARPS).rev().map(|blocks| WARPS * blocks);
        let found = most.into_iter().find_map(|warps| Some((warps, fitting(warps)?)));
        let plan = match found.filter(|_| policy.shared) {
            Some((warps, (items, depth))) => Self { warps, items, depth, ..plan },
            None => {
                let (items, depth) =
                    plan.stacks(sizes, levels, policy, WARPS, u64::MAX).unwrap_or_default();
                Self { items, depth, shared: false, ..plan }
            }
        };
        // The kernel counts a warp's words in 32 bits.
        if plan.stack_words(sizes) > u64::from(u32::MAX) {
            let Self { items, depth, .. } = plan;
            let [item, frame] = [sizes.stack_item, sizes.stack_frame];
            return Err(Error::spec(
                format!(
                    "stacks of {items} calls of {item} bytes to run and {depth} of {frame} that wait"
                ),
                "take less than 16 GiB for the 32 lanes of a warp: fewer `items`, or less `depth`",
            ));
        }
        Ok(plan)
    }

    /// Bytes of a lane's stack, of an SM's shared memory.
    fn room(shared: u64, warps: u32) -> u64 {
        (shared / u64::from(warps / WARPS)).saturating_sub(OWN) / u64::from(32 * WARPS)
    }

    /// Items and frames of stacks of so many bytes, for so many warps of an SM; none if not even the least fit.
    fn stacks(
        self,
        sizes: Sizes,
        levels: u32,
        policy: &StacksPolicy,
        warps: u32,
        room: u64,
    ) -> Option<(u32, u32)> {
        let bytes = |(items, depth): (u32, u32)| {
            u64::from(items) * u64::from(sizes.stack_item)
                + u64::from(depth) * u64::from(sizes.stack_frame)
        };
        let or = |asked: u32, otherwise: u32| if asked > 0 { asked } else { otherwise };
        // As deep as the lower half of a tree, and what is spawned on the way.
        let deep = levels.next_power_of_two().clamp(2, 32);
        let half = deep.min(16);
        let wanted = [
            (32, deep),
            (32, half),
            (24, half),
            (20, half),
            (16, half),
            (12, half),
            (12, half / 2),
            (8, half / 4),
        ];
        // Small stacks are full all the time: better fewer warps, as long as there are any.
        let enough = if warps > WARPS { 5 } else { wanted.len() };
        wanted[..enough]
            .iter()
            .map(|&(items, depth)| (or(policy.items, items), or(policy.depth, depth.max(2))))
            .find(|stack| bytes(*stack) <= room)
    }

    /// Words of a warp's stacks.
    pub fn stack_words(&self, sizes: Sizes) -> u64 {
        8 * (u64::from(self.items) * u64::from(sizes.stack_item)
            + u64::from(self.depth) * u64::from(sizes.stack_frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARED: u64 = 228 << 10;

    #[test]
    fn stacks_rings_and_frames_have_room_for_a_path_down() {
        // As the executor fills in what is left open.
        let policy = StacksPolicy { warps: 16, ..StacksPolicy::default() };
        let fib = Sizes::of([16, 48, 2, 5, 2, 0], 32);
        let plan = Plan::new(fib, 64, &policy, SHARED).unwrap();
        let expect =
            Plan { warps: 16, items: 16, depth: 16, shared: true, frames: 512, ring: 4096 };
        assert_eq!((plan, plan.stack_words(fib)), (expect, 32 * 16 * 7));
        let queens = Sizes::of([24, 32, 5, 3, 0, 1], 16);
        assert_eq!(queens.quota, 16);
        let plan = Plan::new(queens, 17, &policy, SHARED).unwrap();
        assert_eq!((plan.warps, plan.items, plan.depth, plan.ring), (12, 20, 16, 4096));
        let wide = Sizes { item: 208, stack_item: 204, ..fib };
        let plan = Plan::new(wide, 64, &policy, SHARED).unwrap();
        assert_eq!((plan.warps, plan.items, plan.depth, plan.ring), (4, 8, 4, 512));
        let large = Sizes { stack_frame: 4100, ..fib };
        let plan = Plan::new(large, 64, &policy, SHARED).unwrap();
        assert_eq!((plan.items, plan.depth, plan.shared), (32, 32, false));
        let refused =
            |policy: StacksPolicy| Plan::new(fib, 64, &policy, SHARED).unwrap_err().to_string();
        let small = refused(StacksPolicy { ring: 128, ..policy });
        assert!(
            small.contains("rings of 128 calls, for 64 levels of 2") && small.contains("from 256"),
            "{small}"
        );
        assert!(refused(StacksPolicy { ring: 300, ..policy }).contains("a power of two"));
        assert!(refused(StacksPolicy { frames: 96, ..policy }).contains("take 97 to"));
        assert!(refused(StacksPolicy { items: 1 << 17, ..policy }).contains("take 1 to 65536"));
        let vast = StacksPolicy { items: 1 << 16, depth: 1 << 16, ..policy };
        let bytes = Sizes { stack_item: 4096, stack_frame: 8192, ..fib };
        let error = Plan::new(bytes, 64, &vast, SHARED).unwrap_err().to_string();
        assert!(error.contains("65536 calls of 4096 bytes") && error.contains("16 GiB"), "{error}");
        assert!(refused(StacksPolicy { depth: 12, ..policy }).contains("a power of two from 2"));
    }
}
