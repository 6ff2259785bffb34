//! A picture of a volume's middle plane with axes and a colour bar; of a line, its curve.

mod font;
pub mod path;

use std::path::Path;

use warpweft::grid::io::{Colours, Picture, png};
use warpweft::grid::{Axes, RawVolume};
use warpweft::memory::room;
use warpweft::prelude::*;

const PAPER: [u8; 3] = [255; 3];
const INK: [u8; 3] = [40; 3];
/// Pixels around the plane: left, top, right, bottom. Longer labels widen the sides.
const MARGINS: [usize; 4] = [70, 44, 150, 44];
/// Pixels between the plane and the colour bar, its width, and the distance to its labels.
const BAR: [usize; 3] = [20, 18, 8];
/// The longer side of the plane in pixels: largest and smallest.
const SIDES: [usize; 2] = [1024, 512];

/// What to show, and how values become colours.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// The number of the field.
    pub field: usize,
    /// Values of the first and the last colour.
    pub range: [f64; 2],
    /// The colours.
    pub colours: Colours,
}

/// Draws `volume` and writes it to the PNG file at `path`.
///
/// # Errors
/// The file can't be written.
pub fn save(path: &Path, title: &str, volume: &RawVolume, look: Look) -> Result<()> {
    png::write(path, &draw(title, volume, look)?)
}

fn draw(title: &str, volume: &RawVolume, look: Look) -> Result<Picture> {
    let dims = volume.rank();
    let (plane, cells) = if dims == 1 {
        (curve(volume, look)?, [None, Some(volume.len())])
    } else {
        let cells = Picture::of_middle(volume, look.field, look.range, look.colours)?;
        (fitted(&cells)?, [Some(cells.height), Some(cells.width)])
    };
    let [left, top, right, bottom] = MARGINS;
    // Labels of the ends of a line are next to it; a curve has no colour bar.
    let values = ticks(look.range);
    let longest = values.iter().map(|value| font::width(value)).max().unwrap_or(0);
    let left = if dims == 1 { left.max(longest + 16) } else { left };
    let beside = BAR.iter().sum::<usize>() + longest + 8;
    let right = if dims == 1 { 30 } else { right.max(beside) };
    let wide = (left + plane.width + right).max(left + font::width(title) + 8);
    let mut page = Picture::filled(wide, top + plane.height + bottom, PAPER)?;
    paste(&mut page, &plane, [left, top]);
    frame(&mut page, [left, top], [plane.width, plane.height]);
    font::write(&mut page, [left, top - 28], title, INK);

    // Index ticks at the ends of both axes.
    let names = ["y", "x"];
    if let Some(rows) = cells[0] {
        font::write_right(&mut page, [left - 8, top], "0", INK);
        let last = (rows - 1).to_string();
        font::write_right(&mut page, [left - 8, top + plane.height - font::HEIGHT], &last, INK);
        let middle = top + (plane.height - font::HEIGHT) / 2;
        font::write_right(&mut page, [left - 8, middle], names[0], INK);
    } else {
        font::write_right(&mut page, [left - 8, top], &values[2], INK);
        let low = top + plane.height - font::HEIGHT;
        font::write_right(&mut page, [left - 8, low], &values[0], INK);
    }
    if let Some(columns) = cells[1] {
        let below = top + plane.height + 10;
        font::write(&mut page, [left, below], "0", INK);
        font::write_right(&mut page, [left + plane.width, below], &(columns - 1).to_string(), INK);
        font::write(&mut page, [left + plane.width / 2, below], names[1], INK);
    }
    if dims > 1 {
        bar(&mut page, [left + plane.width + BAR[0], top], plane.height, look.colours, &values);
    }
    Ok(page)
}

/// Least number of pixels of the plane's shorter side: fewer are unreadable.
const LEAST: usize = 96;

/// The plane, enlarged by a whole factor or reduced to every n-th cell, to fit a screen. A side that is still
/// too short is stretched.
fn fitted(cells: &Picture) -> Result<Picture> {
    let longer = cells.width.max(cells.height);
    let grow = (SIDES[1] / longer).max(1);
    let thin = longer.div_ceil(SIDES[0]);
    let scaled = |n: usize| (n * grow).div_ceil(thin);
    let stretch = |n: usize| LEAST.div_ceil(scaled(n)).max(1);
    let [across, down] = [stretch(cells.width), stretch(cells.height)];
    let (width, height) = (scaled(cells.width) * across, scaled(cells.height) * down);
    let mut pixels = room(width * height, "leave the picture out")?;
    for y in 0..height {
        for x in 0..width {
            let (row, column) = (y / down * thin / grow, x / across * thin / grow);
            pixels.push(cells.pixels[row * cells.width + column]);
        }
    }
    Ok(Picture { width, height, pixels })
}

/// A line's values as a curve.
fn curve(volume: &RawVolume, look: Look) -> Result<Picture> {
    let dims = volume.rank();
    let (width, height) = (SIDES[0], SIDES[1]);
    let mut picture = Picture::filled(width, height, PAPER)?;
    let span = (look.range[1] - look.range[0]).max(f64::MIN_POSITIVE);
    let cells = volume.len();
    let mut last = None;
    for x in 0..width {
        let mut at = Axes::filled(dims, 0);
        at[dims - 1] = x * (cells - 1) / (width - 1);
        let value = volume.value(look.field, at);
        if value.is_nan() {
            last = None;
            continue;
        }
        let part = ((value - look.range[0]) / span).clamp(0.0, 1.0);
        let y = ((1.0 - part) * (height - 1) as f64).round() as usize;
        let from = last.unwrap_or(y);
        for y in from.min(y)..=from.max(y) {
            picture.pixels[y * width + x] = Colours::Viridis.of(0.3);
        }
        last = Some(y);
    }
    Ok(picture)
}

/// The colour bar with the values of its low end, middle and high end.
fn bar(
    page: &mut Picture,
    [x, y]: [usize; 2],
    height: usize,
    colours: Colours,
    [low, middle, high]: &[String; 3],
) {
    let [_, width, gap] = BAR;
    for row in 0..height {
        let part = 1.0 - row as f64 / (height - 1).max(1) as f64;
        let start = (y + row) * page.width + x;
        page.pixels[start..start + width].fill(colours.of(part));
    }
    frame(page, [x, y], [width, height]);
    let room = height.saturating_sub(font::HEIGHT);
    let mut labels = vec![(high, 0)];
    // One label suffices if there is one value, or room for one.
    if low != high && room > font::HEIGHT {
        labels.push((low, room));
        if room > 4 * font::HEIGHT && middle != low && middle != high {
            labels.push((middle, room / 2));
        }
    }
    for (value, below) in labels {
        font::write(page, [x + width + gap, y + below], value, INK);
    }
}

/// The ends of a range and its middle, with as few digits as distinguish the ends.
fn ticks([low, high]: [f64; 2]) -> [String; 3] {
    let values = [low, 0.5 * low + 0.5 * high, high];
    let texts = (0..=17).map(|more| values.map(|value| label(value, more)));
    let told_apart = |[low, middle, high]: &[String; 3]| low != middle && middle != high;
    texts
        .clone()
        .find(told_apart)
        .or_else(|| texts.clone().find(|all| all[0] != all[2]))
        .unwrap_or_else(|| values.map(|value| label(value, 0)))
}

/// A number short enough for a label, with `more` additional digits.
fn label(value: f64, more: usize) -> String {
    // Powers of ten save nothing if several digits before the point are needed.
    let whole = if more > 1 { 1e7 } else { 1e4 };
    if value == 0.0 || (0.01..whole).contains(&value.abs()) {
        let digits = if value.abs() < 1e4 { 3 + more } else { more - 1 };
        let text = format!("{value:.digits$}");
        match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
            false => text,
        }
    } else {
        format!("{value:.0$e}", 1 + more)
    }
}

fn paste(page: &mut Picture, part: &Picture, [x, y]: [usize; 2]) {
    for (row, pixels) in part.pixels.chunks_exact(part.width).enumerate() {
        let start = (y + row) * page.width + x;
        page.pixels[start..start + part.width].copy_from_slice(pixels);
    }
}

/// A line around a box, one pixel outside it.
fn frame(page: &mut Picture, [x, y]: [usize; 2], [width, height]: [usize; 2]) {
    for row in [y - 1, y + height] {
        page.pixels[row * page.width + x - 1..][..width + 2].fill(INK);
    }
    for row in y..y + height {
        page.pixels[row * page.width + x - 1] = INK;
        page.pixels[row * page.width + x + width] = INK;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Look = Look { field: 0, range: [0.0, 1.0], colours: Colours::Grey };

    #[test]
    fn every_shape_fits_a_screen_and_shows_its_cells() {
        for extents in [[1, 1], [1, 5000], [3000, 2], [700, 900], [4096, 4096]] {
            let volume = Volume::<f32, 2>::zeroed(extents).unwrap();
            let page = draw("t", &volume, LOOK).unwrap();
            let [left, top, right, bottom] = MARGINS;
            assert!(page.width <= SIDES[0] + left + right, "{extents:?}: {}", page.width);
            assert!(page.height >= LEAST + top + bottom, "{extents:?}: {}", page.height);
            assert!(page.height <= SIDES[0] + top + bottom, "{extents:?}: {}", page.height);
            assert_eq!(page.pixels.len(), page.width * page.height);
            assert_eq!(page.pixels[top * page.width + left], [0; 3]);
        }
    }

    #[test]
    fn a_title_is_there_to_its_end() {
        let title = "of more letters than the plane is wide, however many those are, and then some";
        for extents in [[1, 5000], [5000, 1], [8, 8]] {
            let page = draw(title, &Volume::<f32, 2>::zeroed(extents).unwrap(), LOOK).unwrap();
            let band = page.pixels.chunks_exact(page.width).take(MARGINS[1] - 2);
            let last = band.filter_map(|row| row.iter().rposition(|&pixel| pixel == INK)).max();
            assert_eq!(last, Some(MARGINS[0] + font::width(title) - 1));
        }
    }

    #[test]
    fn a_line_is_drawn_as_a_curve() {
        let line = Volume::from_fn([10], |[x]| x as f64 / 9.0);
        let page = curve(&line, LOOK).unwrap();
        let dark = |y: usize, x: usize| page.pixels[y * page.width + x] != PAPER;
        assert!(dark(page.height - 1, 0) && dark(0, page.width - 1) && !dark(0, 0));
    }

    #[test]
    fn the_ends_of_a_line_are_named_on_the_page() {
        let look = Look { field: 0, range: [-1.6e-17, -1.2e-300], colours: Colours::Grey };
        let line = Volume::<f64, 1>::zeroed([10]).unwrap();
        let page = draw("", &line, look).unwrap();
        // The first column next to the edge is background: nothing is cut off.
        let mut edge = page.pixels.chunks_exact(page.width).map(|row| row[0]);
        assert!(edge.all(|pixel| pixel == PAPER));
        assert_eq!(page.width, SIDES[0] + font::width("-1.2e-300") + 16 + 30);
    }

    #[test]
    fn ticks_are_short() {
        let cases = [(0.0, "0"), (0.5, "0.5"), (12.3456, "12.346"), (1e-7, "1.0e-7"), (-3.0, "-3")];
        for (value, expect) in cases {
            assert_eq!(label(value, 0), expect);
        }
    }

    #[test]
    fn ticks_are_told_apart() {
        for (range, expect) in [
            ([0.0, 1.0], ["0", "0.5", "1"]),
            ([49_999.88, 50_000.12], ["49999.9", "50000", "50000.1"]),
            ([-2e9, 2e9], ["-2.0e9", "0", "2.0e9"]),
            ([1.0, 1.001], ["1", "1.0005", "1.001"]),
            ([7.0, 7.0], ["7", "7", "7"]),
        ] {
            assert_eq!(ticks(range), expect);
        }
        // Neighbours have no number between them.
        let [low, _, high] = ticks([1.0, 1.0f64.next_up()]);
        assert_ne!(low, high);
    }

    #[test]
    fn long_ticks_are_there_to_their_end() {
        let look = Look { range: [-123_456.75, -123_456.5], ..LOOK };
        let page = draw("t", &Volume::<f32, 2>::zeroed([8, 8]).unwrap(), look).unwrap();
        let last = page.pixels.chunks_exact(page.width);
        let last = last.filter_map(|row| row.iter().rposition(|&pixel| pixel != PAPER)).max();
        assert_eq!(last, Some(page.width - 9), "of {}", page.width);
    }
}
