//! A path through a matrix as a dot plot: rows downwards, columns to the right.

use std::path::Path;

use warpweft::Result;
use warpweft::grid::io::{Colours, Picture, png};

use super::{INK, MARGINS, PAPER, SIDES, font, frame, paste};

/// Draws the lines between `corners`, each a row and a column of a matrix whose axes have these names and
/// extents, and writes a PNG file.
///
/// # Errors
/// The file can't be written.
pub fn save(
    file: &Path,
    title: &str,
    (names, extents): ([&str; 2], [usize; 2]),
    corners: &[[usize; 2]],
) -> Result<()> {
    png::write(file, &draw(title, names, extents, corners)?)
}

fn draw(
    title: &str,
    names: [&str; 2],
    extents: [usize; 2],
    corners: &[[usize; 2]],
) -> Result<Picture> {
    let longest = extents[0].max(extents[1]).max(1);
    // To scale, but not too flat.
    let side = |extent: usize| (extent * SIDES[0] / longest).clamp(SIDES[1] / 8, SIDES[0]);
    let [height, width] = extents.map(side);
    let mut plane = Picture::filled(width, height, PAPER)?;
    let place = |[row, column]: [usize; 2]| {
        let y = row as f64 / extents[0].max(1) as f64 * (height - 1) as f64;
        let x = column as f64 / extents[1].max(1) as f64 * (width - 1) as f64;
        [y, x]
    };
    for line in corners.windows(2) {
        let ([y, x], [to_y, to_x]) = (place(line[0]), place(line[1]));
        let steps = (to_y - y).max(to_x - x).ceil().max(1.0);
        for step in 0..=steps as usize {
            let part = step as f64 / steps;
            let [y, x] =
                [y + part * (to_y - y), x + part * (to_x - x)].map(|at| at.round() as usize);
            // Two pixels thick.
            for (y, x) in [(y, x), (y + 1, x), (y, x + 1)] {
                if y < height && x < width {
                    plane.pixels[y * width + x] = Colours::Viridis.of(0.3);
                }
            }
        }
    }
    let labels = extents.map(|extent| extent.to_string());
    let [left, top, _, bottom] = MARGINS;
    let left = left.max(font::width(&labels[0]).max(font::width(names[0])) + 16);
    let wide = (left + width + 30).max(left + font::width(title) + 8);
    let mut page = Picture::filled(wide, top + height + bottom, PAPER)?;
    paste(&mut page, &plane, [left, top]);
    frame(&mut page, [left, top], [width, height]);
    font::write(&mut page, [left, top - 28], title, INK);
    font::write_right(&mut page, [left - 8, top], "0", INK);
    font::write_right(&mut page, [left - 8, top + height - font::HEIGHT], &labels[0], INK);
    let below = top + height + 10;
    font::write(&mut page, [left, below], "0", INK);
    font::write_right(&mut page, [left + width, below], &labels[1], INK);
    // The names of the axes, if there is room between the numbers.
    let [rows, columns] = names;
    if height > 5 * font::HEIGHT {
        let middle = top + (height - font::HEIGHT) / 2;
        font::write_right(&mut page, [left - 8, middle], rows, INK);
    }
    if width > 2 * (font::width(&labels[1]) + font::width(columns)) {
        font::write(&mut page, [left + (width - font::width(columns)) / 2, below], columns, INK);
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_runs_from_corner_to_corner_whatever_the_shape() {
        for extents in [[1, 1], [1, 100_000], [5000, 700], [3, 2]] {
            let page = draw("a / b", ["a", "b"], extents, &[[0, 0], extents]).unwrap();
            let ink = Colours::Viridis.of(0.3);
            let at: Vec<_> = (0..page.pixels.len()).filter(|&at| page.pixels[at] == ink).collect();
            let place = |at: usize| [at / page.width, at % page.width];
            let (first, last) = (place(at[0]), place(at[at.len() - 1]));
            let sides = [0, 1].map(|axis| last[axis] - first[axis] + 1);
            assert!(sides[0].max(sides[1]) == SIDES[0], "{extents:?} {sides:?}");
            assert!(sides[0].min(sides[1]) >= SIDES[1] / 8, "{extents:?} {sides:?}");
            assert!(
                draw("", ["", ""], extents, &[]).unwrap().pixels.iter().all(|pixel| *pixel != ink)
            );
        }
    }
}
