//! Curves, as text for a terminal and as an SVG file.

use std::path::Path;

use warpweft::grid::io::{check_writable, write_whole};
use warpweft::{Error, Result};

/// One curve.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Its name in the legend.
    pub name: String,
    /// Its points, x ascending and positive.
    pub points: Vec<(f64, f64)>,
}

/// Curves over a logarithmic x axis; y starts at 0.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Above it.
    pub title: String,
    /// Name of the x axis.
    pub x: String,
    /// Name of the y axis.
    pub y: String,
    /// What y reaches at least: 100 for shares in percent, 0 where nothing is whole.
    pub whole: f64,
    /// The curves, the first drawn strongest.
    pub curves: Vec<Curve>,
}

/// Whether a chart can be written to `path`, found out before anything is computed.
///
/// # Errors
/// It can't, or its name promises another format than SVG.
pub fn check(path: &Path) -> Result<()> {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    if ending.as_deref() != Some("svg") {
        let what = format!("{} is in no format known here", path.display());
        return Err(Error::spec(what, "end it in .svg"));
    }
    check_writable(path)
}

/// Width of the longest bar in characters.
const BAR: f64 = 50.0;
/// Plot area of the SVG: left, top, width, height.
const AREA: [f64; 4] = [70.0, 40.0, 560.0, 320.0];
const COLOURS: [&str; 4] = ["#1f5fa8", "#d1622b", "#3b8a4a", "#7a4a9e"];

impl Chart {
    fn top(&self) -> f64 {
        let values = self.curves.iter().flat_map(|curve| &curve.points).map(|(_, y)| *y);
        values.filter(|y| y.is_finite()).fold(self.whole.max(f64::MIN_POSITIVE), f64::max)
    }

    /// A bar a point of the first curve, and a mark where the second has its point.
    pub fn text(&self) -> String {
        let top = self.top();
        let mut text = format!("{} over {}", self.y, self.x);
        if let [first, second, ..] = self.curves.as_slice() {
            text.push_str(&format!(" (bar: {}, |: {})", first.name, second.name));
        }
        text.push('\n');
        let Some(first) = self.curves.first() else { return text };
        for (i, (x, y)) in first.points.iter().enumerate() {
            let filled = (y / top * BAR).round() as usize;
            let mut bar: Vec<char> = vec!['█'; filled];
            bar.resize(BAR as usize + 1, ' ');
            let other = self.curves.get(1).and_then(|curve| curve.points.get(i));
            if let Some((_, y)) = other {
                bar[((y / top * BAR).round() as usize).min(BAR as usize)] = '|';
            }
            let bar: String = bar.into_iter().collect();
            text.push_str(&format!("{x:>8} {} {y:.1}\n", bar.trim_end()));
        }
        text
    }

    /// Writes the SVG file.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        write_whole(path, |to| to.write_all(self.svg().as_bytes()))
    }

    fn svg(&self) -> String {
        let [left, top, width, height] = AREA;
        let xs =
            || self.curves.iter().flat_map(|curve| &curve.points).map(|(x, _)| x.max(1e-9).ln());
        let (low, high) =
            (xs().fold(f64::INFINITY, f64::min), xs().fold(f64::NEG_INFINITY, f64::max));
        let across = |x: f64| left + width * (x.max(1e-9).ln() - low) / (high - low).max(1e-9);
        let ceiling = self.top() * 1.05;
        let up = |y: f64| top + height * (1.0 - y / ceiling);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"{left}\" y=\"24\" font-size=\"15\">{}</text>\n<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"none\" stroke=\"#333\"/>\n",
            left + width + 30.0,
            top + height + 60.0,
            escaped(&self.title)
        );
        for tick in 0..=4 {
            let y = self.top() * f64::from(tick) / 4.0;
            svg.push_str(&format!(
                "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
                left - 8.0,
                up(y) + 4.0,
                short(y)
            ));
        }
        let first = self.curves.first().map_or(&[][..], |curve| &curve.points);
        for (x, _) in first.iter().step_by(first.len().div_ceil(12).max(1)) {
            svg.push_str(&format!(
                "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                across(*x),
                top + height + 18.0,
                short(*x)
            ));
        }
        svg.push_str(&format!(
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n<text x=\"16\" y=\"{}\" transform=\"rotate(-90 16 {3})\" text-anchor=\"middle\">{}</text>\n",
            left + width / 2.0, top + height + 44.0, escaped(&self.x), top + height / 2.0, escaped(&self.y)
        ));
        for (i, curve) in self.curves.iter().enumerate() {
            let colour = COLOURS[i % COLOURS.len()];
            let points: Vec<String> = curve
                .points
                .iter()
                .map(|&(x, y)| format!("{:.1},{:.1}", across(x), up(y)))
                .collect();
            let dash = if i == 0 { "" } else { " stroke-dasharray=\"6 4\"" };
            svg.push_str(&format!(
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dash}/>\n<text x=\"{}\" y=\"{}\" fill=\"{colour}\">{}</text>\n",
                points.join(" "), left + 10.0, top + height - 12.0 - 16.0 * i as f64, escaped(&curve.name)
            ));
        }
        svg.push_str("</svg>\n");
        svg
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// A number with no more digits than a tick needs.
fn short(value: f64) -> String {
    if value == 0.0 || (0.01..1e5).contains(&value.abs()) {
        let text = format!("{value:.2}");
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        format!("{value:.1e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: &[(f64, f64)]) -> Chart {
        let curve = |name: &str| Curve { name: name.into(), points: points.to_vec() };
        let curves = vec![curve("a < b"), curve("c")];
        Chart { title: "t".into(), x: "x".into(), y: "y".into(), whole: 0.0, curves }
    }

    #[test]
    fn bars_are_in_proportion_and_marks_at_their_ends() {
        let text = chart(&[(1.0, 50.0), (2.0, 100.0)]).text();
        let bars: Vec<usize> = text.lines().skip(1).map(|l| l.matches('█').count()).collect();
        assert_eq!(bars, [25, 50]);
        // Of a whole that nothing reaches.
        let part = Chart { whole: 200.0, ..chart(&[(1.0, 50.0)]) }.text();
        assert_eq!(part.matches('█').count(), 13, "{part}");
        assert_eq!(text.matches('|').count(), 3, "one in the legend, one a bar");
    }

    #[test]
    fn an_svg_is_well_formed_whatever_it_shows() {
        for points in [&[][..], &[(1.0, 0.0)], &[(1.0, 2.0), (1000.0, 5e7)]] {
            let svg = chart(points).svg();
            assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
            assert!(
                svg.contains("a &lt; b") && !svg.contains("NaN") && !svg.contains("inf"),
                "{svg}"
            );
        }
        // Both names of axes begin within the picture, the turned one about its own place.
        let svg = chart(&[(1.0, 2.0)]).svg();
        let y = AREA[1] + AREA[3] / 2.0;
        assert!(svg.contains(&format!("y=\"{y}\" transform=\"rotate(-90 16 {y})\"")), "{svg}");
        let error = chart(&[]).save(Path::new("/nowhere/x.svg")).unwrap_err().to_string();
        assert!(error.contains("/nowhere/x.svg"), "{error}");
    }
}
