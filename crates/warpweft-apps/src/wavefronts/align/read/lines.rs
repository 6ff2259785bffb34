//! On which lines of a file the letters of a record stand.

/// Lines of equal numbers of letters, but for the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    /// Letters before it.
    before: usize,
    /// Its first line.
    line: usize,
    /// Lines so far, letters of each but the last, and of the last.
    lines: usize,
    width: usize,
    last: usize,
}

/// The lines of a record. Files are mostly of equal lines: then it is a few numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines(Vec<Run>);

impl Lines {
    /// Line number `line` holds `count` letters, with `before` before them.
    pub fn add(&mut self, line: usize, before: usize, count: usize) {
        if count == 0 {
            return;
        }
        match self.0.last_mut() {
            Some(run)
                if run.last == run.width && count <= run.width && line == run.line + run.lines =>
            {
                run.lines += 1;
                run.last = count;
            }
            _ => self.0.push(Run { before, line, lines: 1, width: count, last: count }),
        }
    }

    /// The line of letter `at`, if it was added.
    pub fn of(&self, at: usize) -> Option<usize> {
        let run = self.0[..self.0.partition_point(|run| run.before <= at)].last()?;
        let line = (at - run.before) / run.width;
        (line < run.lines).then_some(run.line + line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_found_on_lines_of_any_lengths() {
        let mut lines = Lines::default();
        let mut expected = Vec::new();
        for (line, count) in [(2, 4), (3, 4), (4, 2), (5, 4), (7, 4), (8, 0), (9, 5)] {
            lines.add(line, expected.len(), count);
            expected.extend(std::iter::repeat_n(line, count));
        }
        let found: Vec<_> = (0..expected.len()).map(|at| lines.of(at).unwrap()).collect();
        assert_eq!(found, expected);
        assert_eq!((lines.of(expected.len()), Lines::default().of(0)), (None, None));
        assert_eq!(lines.0.len(), 4);
    }
}
