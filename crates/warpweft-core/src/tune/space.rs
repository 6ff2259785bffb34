//! The candidates of a search: all valid combinations of a few values for each axis.

/// One tunable and the values worth trying, ordered so that neighbours are similar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Its name.
    pub name: &'static str,
    /// Its values.
    pub values: Vec<usize>,
}

type Validity = dyn Fn(&[usize]) -> bool + Send + Sync;

/// Axes, and which combinations of their values are valid.
pub struct Space {
    axes: Vec<Axis>,
    valid: Box<Validity>,
}

impl Space {
    /// All combinations of the axes' values for which `valid(values)` holds.
    pub fn new(axes: Vec<Axis>, valid: impl Fn(&[usize]) -> bool + Send + Sync + 'static) -> Self {
        Self { axes, valid: Box::new(valid) }
    }

    /// The axes.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Number of combinations, valid or not.
    pub fn combinations(&self) -> usize {
        self.axes.iter().map(|axis| axis.values.len()).product()
    }

    /// The values at a position (an index per axis), if there is one and it is valid.
    pub fn at(&self, position: &[usize]) -> Option<Vec<usize>> {
        let values: Option<Vec<usize>> =
            self.axes.iter().zip(position).map(|(axis, &i)| axis.values.get(i).copied()).collect();
        values.filter(|values| (self.valid)(values))
    }

    /// The position whose values are nearest to `values`, axis by axis.
    pub fn nearest(&self, values: &[usize]) -> Vec<usize> {
        let nearest = |axis: &Axis, value: usize| {
            (0..axis.values.len()).min_by_key(|&i| axis.values[i].abs_diff(value)).unwrap_or(0)
        };
        self.axes.iter().zip(values).map(|(axis, &value)| nearest(axis, value)).collect()
    }

    /// Every valid combination, the last axis changing fastest.
    pub fn all(&self) -> impl Iterator<Item = Vec<usize>> + '_ {
        (0..self.combinations()).filter_map(|mut number| {
            let mut position = vec![0; self.axes.len()];
            for (i, axis) in self.axes.iter().enumerate().rev() {
                position[i] = number % axis.values.len();
                number /= axis.values.len();
            }
            self.at(&position)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_valid_combinations_are_candidates() {
        let axes = vec![
            Axis { name: "a", values: vec![1, 2, 4] },
            Axis { name: "b", values: vec![10, 20] },
        ];
        let space = Space::new(axes, |v| v[0] * v[1] <= 40);
        let all: Vec<_> = space.all().collect();
        assert_eq!(all, [vec![1, 10], vec![1, 20], vec![2, 10], vec![2, 20], vec![4, 10]]);
        assert_eq!(space.nearest(&[3, 100]), [1, 1]);
        assert_eq!(space.at(&[2, 1]), None);
    }
}
