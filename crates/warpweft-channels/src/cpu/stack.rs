//! Where the stack of the present thread ends: an address to compare with a limit, at the cost of one instruction.

/// An address in the innermost frame of this thread's stack, which grows downwards.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn stack_pointer() -> usize {
    let here;
    // A local whose address is taken would keep LLVM from making a loop of the last recursive call.
    // SAFETY: the register is read and nothing is changed.
    unsafe {
        std::arch::asm!("mov {}, rsp", out(reg) here, options(pure, nomem, nostack, preserves_flags));
    }
    here
}

/// An address in the innermost frame of this thread's stack, which grows downwards.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(super) fn stack_pointer() -> usize {
    let here;
    // SAFETY: the register is read and nothing is changed.
    unsafe {
        std::arch::asm!("mov {}, sp", out(reg) here, options(pure, nomem, nostack, preserves_flags));
    }
    here
}

/// An address in the innermost frame of this thread's stack, which grows downwards.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
pub(super) fn stack_pointer() -> usize {
    let here = 0u8;
    (&raw const here).addr()
}
