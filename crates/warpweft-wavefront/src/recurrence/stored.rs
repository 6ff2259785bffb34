//! Values as bytes that mean the same on every machine: for files and for messages between ranks.

/// A value as bytes that mean the same on every machine.
pub trait Stored: Copy {
    /// How many.
    const BYTES: usize;
    /// Appends them to `to`.
    fn store(self, to: &mut Vec<u8>);
    /// The value of [`Stored::BYTES`] bytes.
    fn load(from: &[u8]) -> Self;
}

macro_rules! stored {
    ($($scalar:ty)*) => {$(
        impl Stored for $scalar {
            const BYTES: usize = size_of::<$scalar>();
            fn store(self, to: &mut Vec<u8>) {
                to.extend(self.to_le_bytes());
            }
            fn load(from: &[u8]) -> Self {
                let mut bytes = [0; size_of::<$scalar>()];
                bytes.copy_from_slice(from);
                Self::from_le_bytes(bytes)
            }
        }
    )*};
}
stored!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);
