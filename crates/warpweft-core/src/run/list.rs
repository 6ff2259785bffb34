//! A list of GPUs by their numbers, in order. Whether the machine has them is checked in `devices`.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The largest number of GPUs of one process.
const MOST: usize = 16;

/// Up to 16 different GPUs by their numbers. The order matters: subdomain p is on the p-th GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<usize>", into = "Vec<usize>")]
pub struct GpuList {
    numbers: [u8; MOST],
    count: u8,
}

impl GpuList {
    /// A list of these GPUs in this order.
    ///
    /// # Errors
    /// The list is empty, has more than 16 GPUs, one GPU twice, or a number above 255.
    pub fn new(wanted: &[usize]) -> Result<Self> {
        let mut numbers = [0; MOST];
        let twice = (1..wanted.len()).any(|n| wanted[..n].contains(&wanted[n]));
        if !(1..=MOST).contains(&wanted.len()) || twice || wanted.iter().any(|&n| n > 255) {
            return Err(Error::spec(
                format!("GPUs {wanted:?}"),
                format!("name 1 to {MOST} GPUs, each once"),
            ));
        }
        for (to, &number) in numbers.iter_mut().zip(wanted) {
            *to = number as u8;
        }
        Ok(Self { numbers, count: wanted.len() as u8 })
    }

    /// The numbers, in order.
    pub fn numbers(&self) -> impl Iterator<Item = usize> + use<> {
        let Self { numbers, count } = *self;
        numbers.into_iter().take(count.into()).map(usize::from)
    }
}

impl TryFrom<Vec<usize>> for GpuList {
    type Error = Error;
    fn try_from(numbers: Vec<usize>) -> Result<Self> {
        Self::new(&numbers)
    }
}

impl From<GpuList> for Vec<usize> {
    fn from(list: GpuList) -> Self {
        list.numbers().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_keeps_its_order_and_names_none_twice() {
        let list = GpuList::new(&[2, 0, 3]).unwrap();
        assert_eq!(list.numbers().collect::<Vec<_>>(), [2, 0, 3]);
        for wrong in [&[][..], &[1, 2, 1], &[256], &[0; 17]] {
            assert!(GpuList::new(wrong).is_err(), "{wrong:?}");
        }
    }
}
