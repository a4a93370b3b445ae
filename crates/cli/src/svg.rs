//! Just enough SVG for plots: rectangles, lines, paths and text on white.

use std::fmt::Write;

/// A picture that is being drawn.
pub struct Svg(String);

impl Svg {
    /// An empty picture of that size.
    pub fn new(width: f64, height: f64) -> Self {
        let mut text = String::new();
        let _ = write!(
            text,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
             height=\"{height:.0}\" font-family=\"sans-serif\" font-size=\"11\" fill=\"#20242c\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
        );
        Self(text)
    }

    /// A filled rectangle.
    pub fn rectangle(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), fill: &str) {
        let _ = writeln!(
            self.0,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{height:.1}\" fill=\"{fill}\"/>",
            width.max(0.0)
        );
    }

    /// A thin straight line.
    pub fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), stroke: &str) {
        let _ = writeln!(
            self.0,
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{stroke}\"/>"
        );
    }

    /// A line through points, with a dot on each when there are few.
    pub fn path(&mut self, points: &[(f64, f64)], stroke: &str) {
        let places: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            self.0,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{stroke}\" stroke-width=\"2\"/>",
            places.join(" ")
        );
        if points.len() <= 20 {
            for (x, y) in points {
                let _ = writeln!(self.0, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{stroke}\"/>");
            }
        }
    }

    /// Words; `anchor` is `start`, `middle` or `end`.
    pub fn text(&mut self, x: f64, y: f64, anchor: &str, words: &str) {
        let words = words.replace('&', "&amp;").replace('<', "&lt;");
        let _ = writeln!(self.0, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>");
    }

    /// The document.
    pub fn finish(mut self) -> String {
        self.0.push_str("</svg>\n");
        self.0
    }
}

/// The powers of ten between two numbers above zero.
pub fn decades(low: f64, high: f64) -> impl Iterator<Item = f64> {
    let (first, last) = (low.max(1e-12).log10().ceil() as i32, high.max(1e-12).log10().floor() as i32);
    (first..=last).map(|power| 10_f64.powi(power))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decades_lie_between() {
        assert_eq!(decades(1.0, 1_200.0).collect::<Vec<_>>(), [1.0, 10.0, 100.0, 1_000.0]);
        assert_eq!(decades(2.0, 9.0).count(), 0);
    }

    #[test]
    fn words_cannot_break_the_picture() {
        let mut svg = Svg::new(10.0, 10.0);
        svg.text(0.0, 0.0, "start", "a < b & c");
        assert!(svg.finish().contains("a &lt; b &amp; c"));
    }
}
