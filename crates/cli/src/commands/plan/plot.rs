//! The course of a simulated crawl as a picture: rate and hosts that have pages left, over time.

use super::simulate::Course;
use crate::svg::{Svg, decades};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 80.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 40.0;

/// Draws it.
pub(super) fn draw(course: &Course, wanted: f64) -> String {
    let mut svg = Svg::new(WIDTH, HEIGHT);
    let last = course.end().seconds.max(1.0);
    let x = |seconds: f64| LEFT + (WIDTH - LEFT - RIGHT) * seconds / last;
    let top = course.moments.iter().map(|moment| moment.active_hosts).fold(wanted, f64::max) * 1.2;
    let y = |value: f64| HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value.max(1.0).ln() / top.ln());
    svg.text(
        LEFT,
        20.0,
        "start",
        "Pages per second (blue), hosts with pages left (brown), share of pages (green, linear)",
    );
    for decade in decades(1.0, top) {
        svg.line((LEFT, y(decade)), (WIDTH - RIGHT, y(decade)), "#e3e5ea");
        svg.text(LEFT - 6.0, y(decade) + 4.0, "end", &format!("{decade:.0}"));
    }
    for part in 0..=5 {
        let seconds = last * f64::from(part) / 5.0;
        svg.text(x(seconds), HEIGHT - BOTTOM + 16.0, "middle", &format!("{:.1} d", seconds / 86_400.0));
    }
    let moments = &course.moments[..course.moments.len().saturating_sub(1)];
    let line = |value: &dyn Fn(&super::simulate::Moment) -> f64| {
        moments.iter().map(|moment| (x(moment.seconds), value(moment))).collect::<Vec<_>>()
    };
    svg.path(&line(&|moment| y(moment.rate)), "#3559a8");
    svg.path(&line(&|moment| y(moment.active_hosts)), "#b4552d");
    let share = |pages: f64| HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * pages / course.pages;
    svg.path(&line(&|moment| share(moment.pages)), "#3c8a55");
    svg.text(WIDTH - RIGHT + 6.0, share(course.pages) + 4.0, "start", "100 %");
    svg.finish()
}
