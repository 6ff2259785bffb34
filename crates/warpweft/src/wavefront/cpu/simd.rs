//! The front loop compiled once an instruction set, chosen at run time.

use super::form::Form;
use super::strip::{Sink, Strip, Track};
use crate::cpu::Simd;
use crate::wavefront::WavefrontElement;

macro_rules! copies {
    ($($(#[$attribute:meta])* $name:ident;)*) => {$(
        $(#[$attribute])*
        fn $name<E: WavefrontElement, F: Form<E>, T: Track>(
            strip: &mut Strip<'_, E, F>,
            top: &[E::Cell],
            more: usize,
            bottom: &mut Vec<E::Cell>,
            sink: &mut impl Sink<E, F>,
        ) {
            strip.advance::<T>(top, more, bottom, sink);
        }
    )*};
}
copies! {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    avx512;
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    avx2;
    portable;
}

/// [`Strip::advance`] in the copy for `simd`, or the widest one below it that this machine has.
pub(super) fn advance<E: WavefrontElement, F: Form<E>, T: Track>(
    simd: Simd,
    strip: &mut Strip<'_, E, F>,
    top: &[E::Cell],
    more: usize,
    bottom: &mut Vec<E::Cell>,
    sink: &mut impl Sink<E, F>,
) {
    match simd.min(Simd::detect()) {
        // SAFETY: the machine has the features, says `detect`.
        #[cfg(target_arch = "x86_64")]
        Simd::Avx512 => unsafe { avx512::<E, F, T>(strip, top, more, bottom, sink) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Simd::Avx2 => unsafe { avx2::<E, F, T>(strip, top, more, bottom, sink) },
        _ => portable::<E, F, T>(strip, top, more, bottom, sink),
    }
}
