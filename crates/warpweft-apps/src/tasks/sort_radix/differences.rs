//! The bits in which keys differ.

/// The functions for keys of a type.
macro_rules! differences {
    ($keys:ident, $T:ident) => {
        pub(super) mod $keys {
            use warpweft::channels::Team;
            use warpweft::prelude::*;

            /// The bits in which any of `keys` differs from `first`.
            #[spawning]
            pub fn differences(keys: &[$T], first: $T) -> $T {
                let mut differ = 0 as $T;
                if keys.len() <= 16384 {
                    differ |= spawn!(differences_part(keys, first, 1));
                } else {
                    let (low, high) = keys.split_at(keys.len() / 2);
                    differ |= spawn!(differences(low, first));
                    differ |= spawn!(differences(high, first));
                }
                sync!();
                differ
            }

            /// The same of few keys: of one in `step`.
            #[spawning(team(256))]
            pub fn differences_part(
                team: &Team,
                keys: &[$T],
                first: $T,
                step: usize,
                found: &mut [$T; 256],
            ) -> $T {
                let (lane, lanes) = (team.lane(), team.lanes());
                let mut differ = 0 as $T;
                let count = keys.len() / step;
                let mut i = lane;
                while i + 7 * lanes < count {
                    // Eight at once on their way.
                    let some = [
                        keys[i * step],
                        keys[(i + lanes) * step],
                        keys[(i + 2 * lanes) * step],
                        keys[(i + 3 * lanes) * step],
                        keys[(i + 4 * lanes) * step],
                        keys[(i + 5 * lanes) * step],
                        keys[(i + 6 * lanes) * step],
                        keys[(i + 7 * lanes) * step],
                    ];
                    for k in 0..8usize {
                        differ |= some[k] ^ first;
                    }
                    i += 8 * lanes;
                }
                while i < count {
                    differ |= keys[i * step] ^ first;
                    i += lanes;
                }
                found[lane & 255] = differ;
                let mut half = lanes / 2;
                while half > 0 {
                    team.barrier();
                    if lane < half {
                        found[lane & 255] |= found[(lane + half) & 255];
                    }
                    half /= 2;
                }
                team.barrier();
                found[0]
            }
        }
    };
}

differences!(words, u32);
differences!(wide, u64);
