//! Launching kernels: how many blocks of how many threads, with which arguments.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use cudarc::driver::sys;
use cudarc::driver::sys::CUlaunchAttributeID as Id;

use super::device::Stream;
use super::memory::TensorMap;
use super::memory::{Buffer, Plain, bytes_of};
use super::module::Kernel;
use crate::error::Result;

/// The shape of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Blocks along x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory a block.
    pub shared: u32,
    /// Blocks of a cluster along x, y and z, on devices that have clusters.
    pub cluster: Option<[u32; 3]>,
    /// Whether all blocks must be resident at once, so that they may wait for one another.
    pub cooperative: bool,
    /// Whether it may start while the launch before it in the stream still runs; the kernel must
    /// wait for that one itself (`griddepcontrol.wait`).
    pub early: bool,
}

impl Launch {
    /// `grid` blocks of `block` threads, with no shared memory beyond the kernel's own.
    pub const fn new(grid: [u32; 3], block: [u32; 3]) -> Self {
        Self { grid, block, shared: 0, cluster: None, cooperative: false, early: false }
    }

    /// `blocks` blocks of `threads` threads along x.
    pub const fn line(blocks: u32, threads: u32) -> Self {
        Self::new([blocks, 1, 1], [threads, 1, 1])
    }

    /// With `bytes` of dynamic shared memory a block; above 48 KiB see [`Kernel::allow_shared`].
    pub const fn shared(mut self, bytes: u32) -> Self {
        self.shared = bytes;
        self
    }
}

/// The arguments of a launch, in the order of the kernel's parameters.
///
/// ```
/// use warpweft::cuda::Args;
/// let mut args = Args::new();
/// let steps = args.value(7u32);
/// args.blob(&[1, 2, 3, 4], 4);
/// args.set(steps, 8u32);
/// assert_eq!(args.len(), 2);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Args {
    // Sixteen-byte words have the alignment of every parameter except tensor maps, which are copied. Some
    // bytes may be uninitialised: the padding of structs, which is never read.
    words: Vec<MaybeUninit<u128>>,
    starts: Vec<usize>,
}

impl Args {
    /// No arguments yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a number, or an array of numbers that a by-value struct has as its members.
    /// Returns its index, for [`Args::set`].
    pub fn value<T: Plain>(&mut self, value: T) -> usize {
        self.blob(bytes_of(std::slice::from_ref(&value)), align_of::<T>())
    }

    /// Adds a pointer to the buffer's memory.
    pub fn buffer(&mut self, buffer: &Buffer) -> usize {
        self.value(buffer.address())
    }

    /// Adds a pointer `offset` bytes into the buffer. It may be the end, or be before the start (wrapping),
    /// for kernels that index from elsewhere.
    pub fn pointer(&mut self, buffer: &Buffer, offset: i64) -> usize {
        self.value(buffer.address().wrapping_add_signed(offset))
    }

    /// Adds the bytes of a struct that the kernel takes by value.
    ///
    /// # Panics
    /// On an alignment above 16.
    pub fn blob(&mut self, bytes: &[u8], align: usize) -> usize {
        assert!(align <= 16, "kernel arguments are aligned to 16 bytes at most");
        // SAFETY: the slice holds so many bytes.
        unsafe { self.opaque(bytes.as_ptr().cast(), bytes.len()) }
    }

    /// Adds the `bytes` bytes at `from`: a struct with its padding.
    ///
    /// # Safety
    /// That many bytes must be readable there; they need not be initialised.
    pub unsafe fn opaque(&mut self, from: *const c_void, bytes: usize) -> usize {
        let start = self.words.len();
        self.starts.push(start);
        // An empty C++ struct has one byte.
        self.words.resize(start + bytes.div_ceil(16).max(1), MaybeUninit::zeroed());
        let to = self.words[start..].as_mut_ptr().cast::<MaybeUninit<u8>>();
        // SAFETY: that many bytes were just reserved, and the caller guarantees the source.
        unsafe { std::ptr::copy_nonoverlapping(from.cast(), to, bytes) };
        self.starts.len() - 1
    }

    /// Adds a tensor map for a `const __grid_constant__ CUtensorMap` parameter.
    pub fn tensor_map(&mut self, map: &TensorMap) -> usize {
        self.blob(map.bytes(), 16)
    }

    /// Replaces argument `index` by a value of the same size.
    ///
    /// # Panics
    /// When there is no such argument or it holds fewer bytes.
    pub fn set<T: Plain>(&mut self, index: usize, value: T) {
        let start = self.starts[index];
        let end = self.starts.get(index + 1).copied().unwrap_or(self.words.len());
        let words = &mut self.words[start..end];
        assert!(size_of::<T>() <= size_of_val(words), "argument {index} has fewer bytes");
        // SAFETY: just checked to fit; words are aligned for bytes.
        unsafe { words.as_mut_ptr().cast::<T>().write_unaligned(value) };
    }

    /// Replaces argument `index` by a pointer to the buffer's memory.
    ///
    /// # Panics
    /// As [`Args::set`].
    pub fn set_buffer(&mut self, index: usize, buffer: &Buffer) {
        self.set(index, buffer.address());
    }

    /// Number of arguments.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there are no arguments.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    fn pointers(&self) -> Vec<*mut c_void> {
        let at = |&start: &usize| self.words[start..].as_ptr().cast_mut().cast();
        self.starts.iter().map(at).collect()
    }
}

impl Stream {
    /// Queues a launch; returns before the kernel runs.
    ///
    /// # Errors
    /// A shape that the device or the kernel doesn't allow; errors of earlier work may surface.
    ///
    /// # Safety
    /// `args` must match the kernel's parameters in number, order and size. Every address in them must be
    /// valid for what the kernel does with it until the launch is done; if the launch is captured into a
    /// graph, until every launch of the graph is done. Host memory that the kernel writes must not be read or
    /// written meanwhile except as [`super::Words`].
    pub unsafe fn launch(&self, kernel: &Kernel, launch: Launch, args: &Args) -> Result<()> {
        self.device().bind()?;
        let mut pointers = args.pointers();
        let ([gx, gy, gz], [bx, by, bz]) = (launch.grid, launch.block);
        let mut attributes = Vec::new();
        let mut attribute = |id, value| {
            attributes.push(sys::CUlaunchAttribute { id, pad: [0; 4], value });
        };
        if launch.cooperative {
            let value = sys::CUlaunchAttributeValue { cooperative: 1 };
            attribute(Id::CU_LAUNCH_ATTRIBUTE_COOPERATIVE, value);
        }
        if launch.early {
            let value = sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 };
            attribute(Id::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, value);
        }
        if let Some([x, y, z]) = launch.cluster {
            let cluster = sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x, y, z };
            let value = sys::CUlaunchAttributeValue { clusterDim: cluster };
            attribute(Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, value);
        }
        let config = sys::CUlaunchConfig {
            gridDimX: gx,
            gridDimY: gy,
            gridDimZ: gz,
            blockDimX: bx,
            blockDimY: by,
            blockDimZ: bz,
            sharedMemBytes: launch.shared,
            hStream: self.raw(),
            attrs: attributes.as_mut_ptr(),
            numAttrs: attributes.len() as u32,
        };
        // SAFETY: the caller guarantees the arguments; the driver copies them before it returns.
        let code = unsafe {
            let (parameters, extra) = (pointers.as_mut_ptr(), std::ptr::null_mut());
            sys::cuLaunchKernelEx(&config, kernel.raw(), parameters, extra)
        };
        if code == sys::CUresult::CUDA_SUCCESS {
            return Ok(());
        }
        let shape = format!(
            "launching {} with grid {:?}, block {:?}, {} bytes of shared memory",
            kernel.name(),
            launch.grid,
            launch.block,
            launch.shared
        );
        self.device().check(code, &shape)
    }

    /// Like [`Stream::launch`], with all blocks resident at once.
    ///
    /// # Errors
    /// See [`Stream::launch`]; more blocks than can be resident at once.
    ///
    /// # Safety
    /// See [`Stream::launch`].
    pub unsafe fn launch_cooperative(
        &self,
        kernel: &Kernel,
        launch: Launch,
        args: &Args,
    ) -> Result<()> {
        let launch = Launch { cooperative: true, ..launch };
        // SAFETY: the caller's contract is the same.
        unsafe { self.launch(kernel, launch, args) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structs_keep_their_members_whatever_their_padding() {
        #[repr(C)]
        struct Padded {
            small: u8,
            large: u64,
            last: u8,
        }
        let value = Padded { small: 7, large: u64::MAX - 2, last: 9 };
        let mut args = Args::new();
        let first = args.value(1u32);
        // SAFETY: a struct that lives.
        let blob = unsafe { args.opaque((&raw const value).cast(), size_of::<Padded>()) };
        let last = args.value(5u16);
        args.set(first, 3u32);
        args.set(last, 6u16);
        let pointers = args.clone().pointers().len();
        assert_eq!((first, blob, last, pointers), (0, 1, 2, 3));
        let pointers = args.pointers();
        // SAFETY: each argument was written above with a value of the type read.
        unsafe {
            assert_eq!(*pointers[0].cast::<u32>(), 3);
            let found = &*pointers[1].cast::<Padded>();
            assert_eq!((found.small, found.large, found.last), (7, u64::MAX - 2, 9));
            assert_eq!(*pointers[2].cast::<u16>(), 6);
        }
    }

    #[test]
    #[should_panic(expected = "has fewer bytes")]
    fn a_larger_value_does_not_fit() {
        let mut args = Args::new();
        args.value(1u32);
        args.set(0, [0u64; 3]);
    }
}
