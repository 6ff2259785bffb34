//! A small bitmap font, drawn for this program: no font files, no font libraries.

use warpweft::grid::io::Picture;

/// Pixels a font pixel is wide and high.
const SCALE: usize = 2;
/// Height of a line of text in pixels.
pub const HEIGHT: usize = 7 * SCALE;
/// Letters with a part below the line, which are drawn so much lower, in font pixels.
const DESCENDING: (&str, usize) = ("gpqy", 2);
/// Width of a character with the gap after it.
const WIDTH: usize = 6 * SCALE;

/// Seven rows of five dots for each character, `#` for ink, rows after one another.
const GLYPHS: &[(char, &str)] = &[
    ('0', ".###.#...##..###.#.###..##...#.###."),
    ('1', "..#...##....#....#....#....#...###."),
    ('2', ".###.#...#....#...#...#...#...#####"),
    ('3', ".###.#...#....#..##.....##...#.###."),
    ('4', "...#...##..#.#.#..#.#####...#....#."),
    ('5', "######....####.....#....##...#.###."),
    ('6', ".###.#....#....####.#...##...#.###."),
    ('7', "#####....#...#...#...#....#....#..."),
    ('8', ".###.#...##...#.###.#...##...#.###."),
    ('9', ".###.#...##...#.####....#....#.###."),
    ('a', "...........###.....#.#####...#.####"),
    ('b', "#....#....####.#...##...##...#####."),
    ('c', "...........###.#....#....#...#.###."),
    ('d', "....#....#.#####...##...##...#.####"),
    ('e', "...........###.#...#######.....###."),
    ('f', "..##..#..#.#...###...#....#....#..."),
    ('g', "..........#####...#.####....#.###.."),
    ('h', "#....#....####.#...##...##...##...#"),
    ('i', "..#.........##....#....#....#...###"),
    ('j', "...#.........##....#....#.#..#..##."),
    ('k', "#....#....#..#.#.#..##...#.#..#..#."),
    ('l', ".##....#....#....#....#....#...###."),
    ('m', "..........##.#.#.#.##.#.##...##...#"),
    ('n', "..........####.#...##...##...##...#"),
    ('o', "...........###.#...##...##...#.###."),
    ('p', "..........####.#...#####.#....#...."),
    ('q', "...........#####...#.####....#....#"),
    ('r', "..........#.##.##..##....#....#...."),
    ('s', "...........#####.....###.....#####."),
    ('t', ".#....#...###...#....#....#..#..##."),
    ('u', "..........#...##...##...##...#.####"),
    ('v', "..........#...##...##...#.#.#...#.."),
    ('w', "..........#...##...##.#.##.#.#.#.#."),
    ('x', "..........#...#.#.#...#...#.#.#...#"),
    ('y', "..........#...##...#.####....#.###."),
    ('z', "..........#####...#...#...#...#####"),
    ('.', "..............................##..."),
    (',', ".........................##...#...."),
    ('-', "...............#####..............."),
    ('+', "..........#....#..#####..#....#...."),
    ('=', "..........#####.....#####.........."),
    (':', "......##...##..........##...##....."),
    ('/', "....#....#...#...#...#...#....#...."),
    ('(', "...#...#....#....#....#.....#....#."),
    (')', ".#.....#....#....#....#....#...#..."),
    (' ', "..................................."),
];

/// Writes `text` with its upper left corner at `[x, y]`; what leaves the page is cut off.
pub fn write(page: &mut Picture, [x, y]: [usize; 2], text: &str, ink: [u8; 3]) {
    for (i, c) in text.chars().enumerate() {
        let c = c.to_ascii_lowercase();
        // A character it does not have leaves a gap.
        let Some((_, dots)) = GLYPHS.iter().find(|(known, _)| *known == c) else { continue };
        let drop = if DESCENDING.0.contains(c) { DESCENDING.1 * SCALE } else { 0 };
        for (dot, _) in dots.bytes().enumerate().filter(|(_, b)| *b == b'#') {
            for part in 0..SCALE * SCALE {
                let px = x + i * WIDTH + dot % 5 * SCALE + part % SCALE;
                let py = y + drop + dot / 5 * SCALE + part / SCALE;
                if px < page.width && py < page.height {
                    page.pixels[py * page.width + px] = ink;
                }
            }
        }
    }
}

/// Pixels that `text` is wide.
pub fn width(text: &str) -> usize {
    (text.chars().count() * WIDTH).saturating_sub(WIDTH - 5 * SCALE)
}

/// Writes `text` with its upper right corner at `[x, y]`.
pub fn write_right(page: &mut Picture, [x, y]: [usize; 2], text: &str, ink: [u8; 3]) {
    write(page, [x.saturating_sub(width(text)), y], text, ink);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_glyph_has_its_35_dots_and_none_is_twice() {
        for (i, (c, dots)) in GLYPHS.iter().enumerate() {
            assert_eq!(dots.len(), 35, "{c}");
            assert!(dots.bytes().all(|b| b == b'#' || b == b'.'), "{c}");
            let same = GLYPHS[..i].iter().find(|(d, other)| d == c || other == dots);
            assert_eq!(same, None, "{c}");
        }
    }

    #[test]
    fn letters_hang_below_the_line_as_they_should() {
        let lowest = |text: &str| {
            let mut page = Picture::filled(20, 40, [255; 3]).unwrap();
            write(&mut page, [2, 2], text, [0; 3]);
            page.pixels.chunks(20).rposition(|row| row.contains(&[0; 3])).unwrap_or(0)
        };
        assert_eq!(lowest("a"), 2 + HEIGHT - 1);
        assert!("gpqy".chars().all(|c| lowest(&c.to_string()) == lowest("a") + 2 * SCALE));
    }

    #[test]
    fn text_beyond_the_page_is_cut_off() {
        let mut page = Picture::filled(20, 10, [255; 3]).unwrap();
        write(&mut page, [12, 4], "88", [0; 3]);
        write_right(&mut page, [5, 0], "88888", [0; 3]);
        assert!(page.pixels.contains(&[0; 3]));
    }
}
