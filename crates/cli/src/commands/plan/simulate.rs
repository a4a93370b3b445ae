//! A crawl of billions of URLs in a fraction of a second: hosts by the thousand instead of one by one.
//!
//! In: a [`World`]: how many hosts have how many pages, how long to wait between two requests to one, how fast the
//! machines could go. Out: a [`Course`]: how the crawl goes on over time, and what limits it when. Hosts of like size that were discovered in the same step
//! move together as a cohort. A page links to other hosts in proportion to their size, so large ones are found early and the last small ones late;
//! all hosts that have pages left are asked in turn, none more often than its delay allows.

/// Steps until the end, about. More are no more exact.
const STEPS: f64 = 800.0;

/// A simulated crawl that takes longer than this is given up.
const SECONDS_MAX: f64 = 20.0 * 365.25 * 86_400.0;

/// What is crawled, and how.
#[derive(Debug, Clone)]
pub(super) struct World {
    /// How many hosts there are of each size: hosts, pages of each.
    pub(super) classes: Vec<(f64, f64)>,
    /// Pages per second that the machines manage.
    pub(super) rate: f64,
    /// Seconds between two requests to one host.
    pub(super) delay: f64,
    /// Links of a page to other hosts.
    pub(super) outward_links: f64,
    /// Hosts that are known at the beginning.
    pub(super) seeds: f64,
}

/// One moment of a crawl.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Moment {
    /// Seconds from the beginning.
    pub(super) seconds: f64,
    /// Pages so far.
    pub(super) pages: f64,
    /// Pages per second now.
    pub(super) rate: f64,
    /// Hosts that have pages left.
    pub(super) active_hosts: f64,
    /// Hosts that were found.
    pub(super) known_hosts: f64,
}

/// How a crawl goes on.
#[derive(Debug, Clone)]
pub(super) struct Course {
    pub(super) moments: Vec<Moment>,
    /// Pages that there are.
    pub(super) pages: f64,
}

struct Cohort {
    hosts: f64,
    pages_left: f64,
}

impl World {
    /// Hosts whose sizes follow a power law: few with many pages, many with few. `exponent` is that of the number of hosts with
    /// more than so many pages.
    pub(super) fn power_law(pages: f64, mean_pages: f64, exponent: f64, largest: f64) -> Vec<(f64, f64)> {
        let mut sizes = Vec::new();
        let mut size = 1.0_f64;
        while size <= largest {
            let weight = size.powf(-exponent) - (size * 2.0).powf(-exponent);
            // The geometric middle of the class.
            sizes.push((weight, (size * std::f64::consts::SQRT_2).min(largest)));
            size *= 2.0;
        }
        // The exponent gives the shape; scaling the sizes gives the mean.
        let hosts: f64 = sizes.iter().map(|(weight, _)| weight).sum();
        let mean = sizes.iter().map(|(weight, size)| weight * size).sum::<f64>() / hosts;
        let stretch = mean_pages / mean;
        for (weight, size) in &mut sizes {
            *size = (*size * stretch).max(1.0);
            *weight /= hosts;
        }
        let total: f64 = sizes.iter().map(|(weight, size)| weight * size).sum();
        sizes.into_iter().map(|(weight, size)| (weight * pages / total, size)).collect()
    }

    /// Crawls until so much of all pages is done.
    pub(super) fn crawl(&self, share: f64) -> Course {
        let total: f64 = self.classes.iter().map(|(hosts, size)| hosts * size).sum();
        let all_hosts: f64 = self.classes.iter().map(|(hosts, _)| hosts).sum();
        let mut unknown: Vec<f64> = self.classes.iter().map(|(hosts, _)| *hosts).collect();
        let mut cohorts: Vec<Cohort> = Vec::new();
        // Seeds are hosts like any other.
        let mut known = 0.0;
        for ((_, size), unknown) in self.classes.iter().zip(&mut unknown) {
            let found = *unknown * (self.seeds / all_hosts).min(1.0);
            *unknown -= found;
            known += found;
            cohorts.push(Cohort { hosts: found, pages_left: *size });
        }
        let (mut pages, mut seconds, mut stretch) = (0.0, 0.0, 1.0_f64);
        let mut moments = Vec::new();
        while pages < total * share && seconds < SECONDS_MAX {
            if cohorts.is_empty() {
                break;
            }
            // As far as the next step, and at first no further than what is known grows by a tenth; longer steps when little is left to do
            // in each.
            let wanted = (total / STEPS).min((pages * 0.1).max(self.seeds.max(1.0)));
            let step = wanted / self.rate * stretch;
            let done = level(&cohorts, self.rate * step, step / self.delay.max(1e-9));
            let mut fetched = 0.0;
            for cohort in &mut cohorts {
                let now = cohort.pages_left.min(done);
                cohort.pages_left -= now;
                fetched += now * cohort.hosts;
            }
            cohorts.retain(|cohort| cohort.pages_left > 1e-9);
            moments.push(Moment {
                seconds,
                pages,
                rate: fetched / step,
                active_hosts: cohorts.iter().map(|cohort| cohort.hosts).sum(),
                known_hosts: known,
            });
            stretch =
                if fetched < wanted / 2.0 { (stretch * 1.5).min(1e6) } else { (stretch / 1.5).max(1.0) };
            pages += fetched;
            seconds += step;
            for ((_, size), unknown) in self.classes.iter().zip(&mut unknown) {
                let found = *unknown * (1.0 - (-self.outward_links * fetched * size / total).exp());
                if found > 0.0 {
                    *unknown -= found;
                    known += found;
                    cohorts.push(Cohort { hosts: found, pages_left: *size });
                }
            }
        }
        let active = cohorts.iter().map(|cohort| cohort.hosts).sum();
        moments.push(Moment { seconds, pages, rate: 0.0, active_hosts: active, known_hosts: known });
        Course { moments, pages: total }
    }
}

/// How many pages each host gives, when all together give so many, and none more than its delay allows.
fn level(cohorts: &[Cohort], wanted: f64, each_max: f64) -> f64 {
    let together =
        |each: f64| cohorts.iter().map(|cohort| cohort.hosts * cohort.pages_left.min(each)).sum::<f64>();
    if together(each_max) <= wanted {
        return each_max;
    }
    let (mut low, mut high) = (0.0, each_max);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if together(middle) < wanted { low = middle } else { high = middle }
    }
    high
}

impl Course {
    /// Seconds until so much of all pages is done; nothing when it never is.
    pub(super) fn until(&self, share: f64) -> Option<f64> {
        let wanted = self.pages * share;
        self.moments.windows(2).find(|pair| pair[1].pages >= wanted).map(|pair| {
            let (before, after) = (pair[0], pair[1]);
            let part = (wanted - before.pages) / (after.pages - before.pages).max(1e-9);
            before.seconds + part.clamp(0.0, 1.0) * (after.seconds - before.seconds)
        })
    }

    /// The first moment, after full speed was reached, at which the rate is below this share of the wanted one.
    pub(super) fn slower_than(&self, rate: f64, share: f64) -> Option<Moment> {
        let full = self.moments.iter().position(|moment| moment.rate >= rate * 0.99)?;
        let rest = self.moments.get(full..self.moments.len() - 1)?;
        rest.iter().find(|moment| moment.rate < rate * share).copied()
    }

    /// The end.
    pub(super) fn end(&self) -> Moment {
        self.moments[self.moments.len() - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world(classes: Vec<(f64, f64)>, rate: f64, delay: f64) -> World {
        let seeds = classes.iter().map(|(hosts, _)| hosts).sum();
        World { classes, rate, delay, outward_links: 3.0, seeds }
    }

    #[test]
    fn equal_hosts_take_as_long_as_arithmetic_says() {
        // A thousand hosts of a hundred pages, a second between two: 1,000 pages a second if the machine can.
        for (rate, seconds) in [(10_000.0, 100.0), (500.0, 200.0)] {
            let course = world(vec![(1_000.0, 100.0)], rate, 1.0).crawl(1.0 - 1e-9);
            let took = course.end().seconds;
            assert!((took / seconds - 1.0).abs() < 0.03, "{rate}: {took}");
        }
    }

    #[test]
    fn the_largest_host_is_the_last() {
        let course = world(vec![(1_000.0, 10.0), (1.0, 1_000.0)], 1e6, 1.0).crawl(1.0 - 1e-9);
        assert!((course.end().seconds / 1_000.0 - 1.0).abs() < 0.25, "{:?}", course.end());
        assert!(course.until(0.9).unwrap() < 20.0);
    }

    #[test]
    fn no_page_is_fetched_twice_and_none_is_left() {
        let classes = World::power_law(1e9, 100.0, 0.9, 1e7);
        let total: f64 = classes.iter().map(|(hosts, size)| hosts * size).sum();
        assert!((total / 1e9 - 1.0).abs() < 1e-6);
        let course =
            World { classes, rate: 10_000.0, delay: 1.0, outward_links: 3.0, seeds: 1_000.0 }.crawl(0.9);
        assert!(course.end().pages <= total * 1.000_1);
        assert!(course.moments.windows(2).all(|pair| pair[0].pages <= pair[1].pages));
        assert!(course.moments.iter().all(|moment| moment.rate <= 10_000.0 * 1.01));
        // In the first hours there are far more hosts than one needs for that rate.
        let tenth = course.until(0.1).unwrap();
        assert!((tenth / (0.1e9 / 10_000.0) - 1.0).abs() < 0.1, "{tenth}");
    }
}
