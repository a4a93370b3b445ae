//! The scheduler by itself, with a clock turned by hand.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn known(scheduler: &mut Scheduler, known: u64) {
    scheduler.set_totals(Totals { known, hosts: 1, ..Totals::default() });
}

fn take_up(scheduler: &mut Scheduler, name: &str, now: Instant) {
    scheduler.take_up(name, 1, &HostFacts::default(), None, None, now);
}

/// A scheduler that knows one URL.
fn scheduler(now: Instant) -> Scheduler {
    let mut scheduler = Scheduler::new(FrontierConfig::default());
    take_up(&mut scheduler, "a.example", now);
    scheduler.insert("a.example", 1, &[(Place::new(None, 0, 1), 0)], now);
    known(&mut scheduler, 1);
    scheduler
}

/// A lease from a scheduler that holds all there is.
fn lease(scheduler: &mut Scheduler, now: Instant) -> Picks {
    scheduler.lease(9, now, &mut |_, _, _, _| Ok(Vec::new())).expect("no disk, no error")
}

fn lease_id(scheduler: &mut Scheduler, now: Instant) -> LeaseId {
    match lease(scheduler, now) {
        Picks::Picked(picks) => picks[0].lease,
        other => panic!("a host should be ready: {other:?}"),
    }
}

#[test]
fn addresses_are_domains_of_their_own() {
    for (host, expected) in [
        ("www.example.co.uk", "example.co.uk"),
        ("127.0.0.1", "127.0.0.1"),
        ("[2001:db8::1]", "[2001:db8::1]"),
        ("localhost", "localhost"),
    ] {
        assert_eq!(domain_of(host), expected);
    }
}

#[test]
fn the_far_future_is_not_too_far() {
    let now = Instant::now();
    assert!(after(now, Duration::MAX) > now + SECOND);
}

#[test]
fn a_lease_that_is_being_settled_neither_expires_nor_settles_twice() {
    let now = Instant::now();
    let mut scheduler = scheduler(now);
    let id = lease_id(&mut scheduler, now);
    let ending = scheduler.begin_settle(id, now).unwrap();
    assert!(scheduler.begin_settle(id, now).is_none());
    let late = now + SECOND * 100_000;
    assert_eq!(lease(&mut scheduler, late), Picks::Busy);
    scheduler.end_settle(&ending, SettlementKind::NoPage, None, late);
    scheduler.set_totals(Totals { known: 1, no_page: 1, ..Totals::default() });
    assert_eq!(lease(&mut scheduler, late), Picks::Finished { budget_spent: false });
    assert_eq!(scheduler.active(), 0, "a host with nothing to do is forgotten");
}

#[test]
fn a_queue_that_is_shorter_than_counted_does_not_stop_the_others() {
    let now = Instant::now();
    let mut scheduler = scheduler(now);
    let facts = HostFacts { queued: 3, ..HostFacts::default() };
    scheduler.take_up("gone.example", 2, &facts, None, None, now);
    let answer = lease(&mut scheduler, now + SECOND);
    assert!(matches!(answer, Picks::Picked(picks) if picks.len() == 1));
}

/// Who is served, one lease after the other, each asked and settled at once, on hosts with ten pages each.
fn served(config: FrontierConfig, hosts: &[&str], leases: usize, between: Duration) -> Vec<String> {
    let mut now = Instant::now();
    let mut scheduler = Scheduler::new(config);
    for (number, name) in hosts.iter().enumerate() {
        take_up(&mut scheduler, name, now);
        let entries: Vec<_> =
            (0..10).map(|entry| (Place::new(None, 1, number as u64 * 10 + entry), 0)).collect();
        scheduler.insert(name, number as u32, &entries, now);
    }
    known(&mut scheduler, 10 * hosts.len() as u64);
    let mut served = Vec::new();
    for _ in 0..leases {
        now += between;
        let picks = scheduler.lease(1, now, &mut |_, _, _, _| Ok(Vec::new())).unwrap();
        let Picks::Picked(picks) = picks else { panic!("a host should be ready: {picks:?}") };
        served.push(hosts[(picks[0].place.position / 10) as usize].to_owned());
        let ending = scheduler.begin_settle(picks[0].lease, now).unwrap();
        scheduler.end_settle(&ending, SettlementKind::Indexed, None, now);
    }
    served
}

#[test]
fn a_warm_connection_serves_a_few_pages_and_then_the_others_have_their_turn() {
    let config = FrontierConfig {
        host_delay: Duration::ZERO,
        domain_delay: Duration::ZERO,
        ..FrontierConfig::default()
    };
    let moment = Duration::from_millis(1);
    let visits = ["a.example", "b.example", "c.example"].map(|host| vec![host; 4]).concat();
    let hosts = ["a.example", "b.example", "c.example"];
    assert_eq!(served(config.clone(), &hosts, 12, moment), visits);
    // Hosts of one domain have no more in a row between them than one host would have.
    let siblings = served(config.clone(), &["a.example", "www.a.example", "b.example"], 18, moment);
    let in_a_row = siblings.chunk_by(|one, other| domain_of(one) == domain_of(other)).map(<[_]>::len);
    assert_eq!(in_a_row.max(), Some(4), "{siblings:?}");
    // Where connections are not kept there is nothing to hold on to.
    let one_by_one = ["a.example", "b.example", "c.example"].repeat(3);
    assert_eq!(served(FrontierConfig { warm: Duration::ZERO, ..config }, &hosts, 9, moment), one_by_one);
}

#[test]
fn what_a_host_said_is_to_be_saved_once() {
    let now = Instant::now();
    let mut scheduler = scheduler(now);
    let id = lease_id(&mut scheduler, now);
    assert_eq!(scheduler.save_manners("a.example"), None);
    let hint = HostHint { crawl_delay: Some(SECOND * 5), ..HostHint::default() };
    scheduler.request_finished(id, hint, now);
    assert_eq!(scheduler.save_manners("a.example").unwrap().crawl_delay, Some(SECOND * 5));
    assert_eq!(scheduler.save_manners("a.example"), None);
}

#[test]
fn a_clock_set_back_does_not_hold_a_host_for_years() {
    let now = Instant::now();
    let mut scheduler = Scheduler::new(FrontierConfig::default());
    let manners = Manners { held_until: Some(now + SECOND * 100_000_000), ..Manners::default() };
    let facts = HostFacts { manners, ..HostFacts::default() };
    scheduler.take_up("a.example", 1, &facts, None, manners.held_until, now);
    scheduler.insert("a.example", 1, &[(Place::new(None, 0, 1), 0)], now);
    known(&mut scheduler, 1);
    let latest = now + FrontierConfig::default().retry_after_max;
    assert_eq!(lease(&mut scheduler, now), Picks::Wait(latest));
}

#[test]
fn a_refill_leaves_out_what_is_leased() {
    let now = Instant::now();
    let mut scheduler = Scheduler::new(FrontierConfig {
        heads_per_host: 2,
        host_delay: Duration::ZERO,
        domain_delay: Duration::ZERO,
        ..FrontierConfig::default()
    });
    take_up(&mut scheduler, "a.example", now);
    known(&mut scheduler, 4);
    // The first is leased and not settled; then come others that stand before it, too many to hold.
    let places = [(1, 1), (0, 2), (0, 3), (0, 4)].map(|(depth, position)| Place::new(None, depth, position));
    for place in places {
        scheduler.insert("a.example", 1, &[(place, 0)], now);
        if place.position == 1 {
            let id = lease_id(&mut scheduler, now);
            scheduler.request_finished(id, HostHint::default(), now);
        }
    }
    let mut disk = places;
    disk.sort_unstable();
    let mut leased = Vec::new();
    loop {
        let answer = scheduler.lease(1, now, &mut |_, from, count, wanted| {
            let places = disk.iter().filter(|place| **place >= from && wanted(**place));
            Ok(places.take(count).map(|place| (*place, 0)).collect())
        });
        let Ok(Picks::Picked(picks)) = answer else { break };
        leased.push(picks[0].place.position);
        scheduler.request_finished(picks[0].lease, HostHint::default(), now);
    }
    assert_eq!(leased, [2, 3, 4]);
}

#[test]
fn tired_hosts_are_laid_down_with_their_clocks() {
    let now = Instant::now();
    let mut scheduler = Scheduler::new(FrontierConfig { turns_max: 1, ..FrontierConfig::default() });
    let facts = HostFacts { queued: 2, ..HostFacts::default() };
    scheduler.take_up("a.example", 1, &facts, None, None, now);
    known(&mut scheduler, 2);
    let places = [Place::new(None, 0, 1), Place::new(None, 0, 2)];
    let answer = scheduler.lease(1, now, &mut |_, _, _, _| Ok(places.map(|place| (place, 0)).to_vec()));
    let Ok(Picks::Picked(picks)) = answer else { panic!("nothing to lease") };
    assert!(scheduler.lay_down(9, now).is_empty(), "one that is being asked stays");
    let ending = scheduler.begin_settle(picks[0].lease, now).unwrap();
    scheduler.end_settle(&ending, SettlementKind::NoPage, None, now);
    let laid_down = scheduler.lay_down(9, now);
    assert_eq!(laid_down.len(), 1);
    assert_eq!((laid_down[0].facts.queued, laid_down[0].not_before), (1, Some(now + SECOND)));
    assert_eq!(scheduler.active(), 0);
}

proptest! {
    /// However few heads are held, entries come in the order of their places, and the count is right.
    #[test]
    fn heads_and_tail_are_one_queue(
        depths in prop::collection::vec(0_u32..4, 1..40),
        takes in prop::collection::vec(any::<bool>(), 40),
        heads_per_host in 1_usize..5,
    ) {
        let config = FrontierConfig {
            heads_per_host,
            host_delay: Duration::ZERO,
            domain_delay: Duration::ZERO,
            ..FrontierConfig::default()
        };
        let now = Instant::now();
        let mut scheduler = Scheduler::new(config);
        known(&mut scheduler, 1000);
        let mut disk: BTreeMap<Place, u32> = BTreeMap::new();
        let take = |scheduler: &mut Scheduler, disk: &mut BTreeMap<Place, u32>| {
            let answer = scheduler.lease(1, now, &mut |_, from, count, wanted| {
                let entries = disk.range(from..).filter(|(place, _)| wanted(**place));
                Ok(entries.take(count).map(|(place, attempt)| (*place, *attempt)).collect())
            });
            let Ok(Picks::Picked(picks)) = answer else { panic!("nothing to lease") };
            let ending = scheduler.begin_settle(picks[0].lease, now).expect("leased just now");
            assert_eq!(disk.pop_first().map(|(place, _)| place), Some(ending.place));
            scheduler.end_settle(&ending, SettlementKind::NoPage, None, now);
        };
        for (position, (depth, take_one)) in depths.iter().zip(takes).enumerate() {
            let place = Place::new(None, *depth, position as u64);
            disk.insert(place, 0);
            take_up(&mut scheduler, "a.example", now);
            scheduler.insert("a.example", 1, &[(place, 0)], now);
            if take_one {
                take(&mut scheduler, &mut disk);
            }
            if let Some(view) = scheduler.view("a.example", now) {
                prop_assert_eq!(view.facts.queued, disk.len() as u64);
            }
        }
        while !disk.is_empty() {
            take(&mut scheduler, &mut disk);
        }
    }
}
