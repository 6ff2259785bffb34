//! A cell's type as a value, and a cell as bits. Code that is compiled once for all cell types works on
//! these.

use super::{FieldInfo, Fields, MAX_FIELDS, ScalarKind, Unit};

/// The fields of a type that implements [`Fields`], as a value at run time.
#[derive(Clone, Copy)]
pub struct CellType {
    fields: &'static [FieldInfo],
    splat: fn(f64) -> Bits,
    cuda: fn(&mut Unit) -> String,
}

impl CellType {
    /// The description of type `S`.
    pub fn of<S: Fields>() -> Self {
        Self { fields: S::FIELDS, splat: |value| Bits::of(S::splat(value)), cuda: S::cuda }
    }

    /// [`Fields::FIELDS`].
    pub fn fields(&self) -> &'static [FieldInfo] {
        self.fields
    }

    /// The number of fields.
    #[expect(clippy::len_without_is_empty, reason = "every cell has a field")]
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// The scalar of field number `field`.
    ///
    /// # Panics
    /// When there is no such field.
    pub fn kind(&self, field: usize) -> ScalarKind {
        self.fields[field].kind
    }

    /// Bytes of field number `field`.
    ///
    /// # Panics
    /// When there is no such field.
    pub fn size(&self, field: usize) -> usize {
        self.fields[field].kind.size()
    }

    /// [`Fields::splat`].
    pub fn splat(&self, value: f64) -> Bits {
        (self.splat)(value)
    }

    /// The C++ name of the type, which is defined in `unit` on first use.
    pub fn cuda(&self, unit: &mut Unit) -> String {
        (self.cuda)(unit)
    }
}

impl PartialEq for CellType {
    /// Whether both types have the same fields, so that their bits mean the same.
    fn eq(&self, other: &Self) -> bool {
        // The reference compares types at every cell. `memcmp` of zero bytes at the address of an empty name
        // takes 0.1 µs on machines with AVX-512: a masked load of nothing.
        let same = |(a, b): (&FieldInfo, &FieldInfo)| {
            a.kind == b.kind
                && a.name.len() == b.name.len()
                && (a.name.is_empty() || a.name == b.name)
        };
        self.fields.len() == other.fields.len() && self.fields.iter().zip(other.fields).all(same)
    }
}

impl std::fmt::Debug for CellType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.fields.iter().map(|field| field.kind.name()).collect();
        f.write_str(&names.join(" "))
    }
}

/// The fields of one cell, each at the beginning of a word of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bits([u64; MAX_FIELDS]);

impl Bits {
    /// The bits of a cell.
    pub fn of<S: Fields>(cell: S) -> Self {
        let mut bits = Self([0; MAX_FIELDS]);
        let mut base = [std::ptr::null_mut(); MAX_FIELDS];
        for (to, from) in base.iter_mut().zip(&mut bits.0) {
            *to = std::ptr::from_mut(from).cast::<u8>();
        }
        // SAFETY: each field has an eight-byte word of its own, aligned for every scalar.
        unsafe { cell.store(&base, 0, u32::MAX) };
        bits
    }

    /// The bytes of field number `field`; only the first [`CellType::size`] of them count.
    pub fn bytes(&self, field: usize) -> [u8; 8] {
        self.0[field].to_ne_bytes()
    }

    /// A field as a word whose low bytes are its own.
    pub fn word(&self, field: usize) -> u64 {
        self.0[field]
    }

    /// Field number `field`, of type `kind`, converted to `f64` as `as` does.
    pub fn to_f64(self, kind: ScalarKind, field: usize) -> f64 {
        kind.to_f64(&self.bytes(field)[..kind.size()])
    }

    /// Replaces a field by the given bytes.
    pub fn set(&mut self, field: usize, bytes: &[u8]) {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        self.0[field] = u64::from_ne_bytes(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_s_bits_are_its_fields() {
        assert_eq!(Bits::of(1.0f32).word(0), u64::from(1.0f32.to_bits()));
        assert_eq!(Bits::of(-1i8).word(0), 0xff);
        let cell = CellType::of::<u16>();
        assert_eq!(cell.splat(513.0).bytes(0)[..cell.size(0)], 513u16.to_ne_bytes());
        assert_ne!(cell, CellType::of::<i16>());
    }
}
