//! What a page costs where hosts are many and small: `cargo run --release -p webloom-frontier --example small_hosts [HOSTS [DIRECTORY]]`.

#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::path::PathBuf;

use webloom_frontier::measure::small_hosts;

// As in the product, so that the figures are comparable.
#[global_allocator]
static ALLOCATOR: webloom_allocator::Allocator = webloom_allocator::Allocator;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let hosts: u64 = std::env::args().nth(1).map_or(Ok(100_000), |text| text.parse())?;
    let temporary = tempfile::tempdir()?;
    let data = std::env::args().nth(2).map_or_else(|| temporary.path().join("frontier"), PathBuf::from);
    let measured = small_hosts(&data, hosts)?;
    println!(
        "{hosts} hosts, {} pages: leasing {:.1} µs, settling {:.1} µs, the caller's own {:.1} µs a page, {:.1} µs of the whole process; \
         offering {:.1} µs a seed; by the wall {:.0} pages a second",
        measured.pages,
        measured.each_us(measured.leases.cpu),
        measured.each_us(measured.settlements.cpu),
        measured.each_us(measured.cpu_beside),
        measured.each_us(measured.cpu),
        1e6 / measured.offers.per_cpu_second(),
        measured.pages as f64 / (measured.leases.wall + measured.settlements.wall).as_secs_f64(),
    );
    Ok(())
}
