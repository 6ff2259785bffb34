//! What is proved of all functions of a unit: that their values are one sum over all calls.

use warpweft_core::element::Unit;

/// The operation that a function has if it passes one value on.
const ANY: u32 = 15;

/// One sum, or what is like it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Proof {
    /// The operation's number, as in `tasks.cuh`.
    pub operation: u32,
    /// What changes nothing, as the bytes of a value, least first.
    neutral: [u8; 8],
    /// Bytes of a value.
    pub bytes: usize,
}

impl Proof {
    /// Of the functions of `unit`, if all have one operation and one type.
    pub fn of(unit: &Unit) -> Option<Self> {
        let notes: Option<Vec<_>> = unit.notes().map(parsed).collect();
        let notes = notes?;
        let (_, ty) = *notes.first()?;
        let named = notes.iter().map(|(operation, _)| *operation).find(|&known| known != ANY);
        let operation = named.unwrap_or(1);
        let alike = |&(known, its): &(u32, &str)| its == ty && (known == operation || known == ANY);
        if !notes.iter().all(alike) {
            return None;
        }
        let (bytes, signed) = match ty {
            "ww::u32" => (4, false),
            "ww::i32" => (4, true),
            "ww::u64" | "ww::usize" => (8, false),
            "ww::i64" | "ww::isize" => (8, true),
            _ => return None,
        };
        let ones = u64::MAX >> (64 - 8 * bytes as u32);
        let most = if signed { ones >> 1 } else { ones };
        let neutral = match operation {
            1 | 6 | 7 => 0,
            2 => 1,
            3 => most,
            4 => ones & !most,
            5 => ones,
            _ => return None,
        };
        Some(Self { operation, neutral: neutral.to_le_bytes(), bytes })
    }

    /// As many neutral values as there are roots.
    pub fn neutrals(&self, roots: usize) -> impl ExactSizeIterator<Item = u8> {
        let Self { neutral, bytes, .. } = *self;
        (0..roots * bytes).map(move |at| neutral[at % bytes])
    }
}

fn parsed(note: &str) -> Option<(u32, &str)> {
    let (operation, ty) = note.strip_prefix("sum ")?.split_once(' ')?;
    Some((operation.parse().ok()?, ty))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proof(notes: &[&str]) -> Option<Proof> {
        let mut unit = Unit::new();
        notes.iter().for_each(|note| unit.note(note));
        Proof::of(&unit)
    }

    #[test]
    fn functions_of_one_operation_and_type_are_one_sum() {
        let sum = proof(&["sum 1 ww::u64", "sum 15 ww::u64"]).unwrap();
        assert_eq!((sum.operation, sum.bytes), (1, 8));
        assert!(sum.neutrals(3).eq([0; 24]));
        assert!(proof(&["sum 3 ww::i32"]).unwrap().neutrals(1).eq(i32::MAX.to_le_bytes()));
        assert!(proof(&["sum 4 ww::i64"]).unwrap().neutrals(1).eq(i64::MIN.to_le_bytes()));
        assert!(proof(&["sum 5 ww::u32"]).unwrap().neutrals(2).eq([255; 8]));
        assert!(proof(&["sum 2 ww::u32"]).unwrap().neutrals(1).eq([1, 0, 0, 0]));
        for none in [&["sum 1 ww::u64", "sum 6 ww::u64"][..], &["sum 1 ww::u64", "sum 1 ww::u32"]] {
            assert_eq!(proof(none), None);
        }
        assert_eq!(proof(&["joins", "sum 1 ww::u64"]), None);
        assert_eq!(proof(&[]), None);
    }
}
