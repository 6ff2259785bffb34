//! A table of rows as one array: a vector a row costs an allocation each, more than the cells where rows
//! are short, and none of that is counted when a program asks whether a table has room.

use std::ops::{Index, IndexMut};

/// Rows of equal length, `table[row][column]`.
#[derive(Clone, Debug)]
pub(crate) struct Table<T> {
    columns: usize,
    cells: Vec<T>,
}

impl<T: Clone> Table<T> {
    /// `rows` rows of `columns` cells, all of them `value`.
    ///
    /// Panics: there are no columns.
    pub(crate) fn filled(value: T, rows: usize, columns: usize) -> Self {
        assert!(columns > 0, "a table without columns");
        Self { columns, cells: vec![value; rows * columns] }
    }
}

impl<T> Index<usize> for Table<T> {
    type Output = [T];

    fn index(&self, row: usize) -> &[T] {
        &self.cells[row * self.columns..][..self.columns]
    }
}

impl<T> IndexMut<usize> for Table<T> {
    fn index_mut(&mut self, row: usize) -> &mut [T] {
        &mut self.cells[row * self.columns..][..self.columns]
    }
}
