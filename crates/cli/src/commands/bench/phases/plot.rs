//! The table as a picture: bars of pages per second on a logarithmic scale, MultiCrawler's beside ours, and the growth of costs below.

use super::{MULTICRAWLER, Table};
use crate::svg::{Svg, decades};

const WIDTH: f64 = 720.0;
const LEFT: f64 = 90.0;
const RIGHT: f64 = 60.0;
const BAR: f64 = 14.0;
const OURS: &str = "#3559a8";
const THEIRS: &str = "#b9bec9";
const GROWTH_COLOURS: [&str; 4] = ["#3559a8", "#b4552d", "#3c8a55", "#7a4d9c"];

/// Draws the table.
pub(super) fn draw(table: &Table) -> String {
    let bars_height = table.costs.len() as f64 * (2.0 * BAR + 14.0) + 60.0;
    let growth_height = if table.growth.is_empty() { 0.0 } else { 280.0 };
    let mut svg = Svg::new(WIDTH, bars_height + growth_height);
    bars(table, &mut svg);
    if !table.growth.is_empty() {
        growth(table, bars_height, growth_height, &mut svg);
    }
    svg.finish()
}

fn bars(table: &Table, svg: &mut Svg) {
    let rates: Vec<f64> = table.costs.iter().map(|(_, cost)| cost.pages_per_cpu_second()).collect();
    let top = rates
        .iter()
        .chain(MULTICRAWLER.iter().map(|(_, rate)| rate))
        .fold(10.0_f64, |top, rate| top.max(*rate));
    let scale = |rate: f64| LEFT + (WIDTH - LEFT - RIGHT) * (rate.max(1.0).ln() / (top * 1.2).ln());
    svg.text(LEFT, 18.0, "start", "Pages per second and core: Webloom (dark), MultiCrawler 2006 (light)");
    let bottom = 30.0 + table.costs.len() as f64 * (2.0 * BAR + 14.0);
    for decade in decades(1.0, top * 1.2) {
        svg.line((scale(decade), 28.0), (scale(decade), bottom), "#e3e5ea");
        svg.text(scale(decade), bottom + 14.0, "middle", &format!("{decade:.0}"));
    }
    for (row, ((name, _), rate)) in table.costs.iter().zip(&rates).enumerate() {
        let y = 34.0 + row as f64 * (2.0 * BAR + 14.0);
        svg.text(LEFT - 8.0, y + BAR + 2.0, "end", name);
        svg.rectangle((LEFT, y), (scale(*rate) - LEFT, BAR), OURS);
        svg.text(scale(*rate) + 4.0, y + BAR - 3.0, "start", &format!("{rate:.0}"));
        if let Some((_, then)) = MULTICRAWLER.iter().find(|(phase, _)| phase == name) {
            svg.rectangle((LEFT, y + BAR), (scale(*then) - LEFT, BAR), THEIRS);
            svg.text(scale(*then) + 4.0, y + 2.0 * BAR - 3.0, "start", &format!("{then:.0}"));
        }
    }
}

fn growth(table: &Table, top: f64, height: f64, svg: &mut Svg) {
    let points = || table.growth.iter().flat_map(|growth| growth.points.iter().copied());
    let bounds = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)))
    };
    let (size_low, size_high) = bounds(&mut points().map(|(size, _)| size));
    let (low, high) = bounds(&mut points().map(|(_, seconds)| seconds.max(1e-9)));
    let (plot_top, plot_bottom) = (top + 30.0, top + height - 30.0);
    let place = |value: f64, (low, high): (f64, f64), from: f64, to: f64| {
        from + (to - from) * ((value / low).ln() / (high / low).ln().max(1e-9))
    };
    let x = |size: f64| place(size, (size_low, size_high), LEFT, WIDTH - RIGHT - 90.0);
    let y = |seconds: f64| place(seconds.max(1e-9), (low, high), plot_bottom, plot_top);
    svg.text(
        LEFT,
        top + 16.0,
        "start",
        "CPU-seconds by size (bytes of one page; quads of an index), both axes logarithmic",
    );
    for decade in decades(size_low, size_high) {
        svg.line((x(decade), plot_top), (x(decade), plot_bottom), "#e3e5ea");
        svg.text(x(decade), plot_bottom + 14.0, "middle", &format!("{decade:.0}"));
    }
    for decade in decades(low, high) {
        svg.line((LEFT, y(decade)), (WIDTH - RIGHT - 90.0, y(decade)), "#e3e5ea");
        svg.text(LEFT - 6.0, y(decade) + 4.0, "end", &format!("{decade:e}"));
    }
    for (growth, colour) in table.growth.iter().zip(GROWTH_COLOURS.iter().cycle()) {
        let line: Vec<(f64, f64)> =
            growth.points.iter().map(|(size, seconds)| (x(*size), y(*seconds))).collect();
        svg.path(&line, colour);
        if let Some((x, y)) = line.last() {
            svg.text(x + 6.0, y + 4.0, "start", &format!("{} ^{:.2}", growth.phase, growth.power()));
        }
    }
}
