//! The promises about clocks of addresses, adaptive delays, scores, bans and limits.

use std::net::IpAddr;

use webloom_model::{Ban, FrontierLimits, Injection, UrlStage, Validators};

use super::{
    Bench, Duration, Frontier, FrontierConfig, HostHint, LeaseAnswer, ManualClock, Open, PageUrl, Path,
    Reopen, SECOND, Settlement, SettlementKind,
};

const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 7));

pub(super) fn check<F: Frontier>(open: &impl Open<F>) {
    hosts_of_an_address_share_its_clock(open);
    a_slow_host_is_asked_less(open);
    a_failing_host_is_asked_less_and_recovers(open);
    a_domain_with_many_hosts_does_not_hold_up_another(open);
    scores_come_first(open);
    scores_of_queued_urls_change_in_place(open);
    a_ban_sticks(open);
    a_ban_of_a_host_sticks(open);
    an_injected_list_is_taken_in(open);
    a_page_is_fetched_again_when_asked_for(open);
    what_gave_no_page_is_tried_again(open);
    limits_change_at_once(open);
    a_shorter_delay_shortens_pauses(open);
    validators_come_back(open);
}

pub(super) fn check_durable<F: Frontier>(directory: &Path, open: &impl Reopen<F>) {
    scores_bans_and_validators_survive(directory, open);
}

fn url(text: &str) -> PageUrl {
    PageUrl::parse(text).expect("a URL")
}

impl<F: Frontier> Bench<F> {
    fn stage(&self, text: &str) -> Option<UrlStage> {
        self.frontier.inspect(&url(text)).expect("inspect").map(|life| life.stage)
    }

    fn rescore(&self, text: &str, score: f32) -> u64 {
        self.frontier.rescore(&[(url(text), score)]).expect("rescore").rescored
    }
}

fn hosts_of_an_address_share_its_clock<F: Frontier>(open: &impl Open<F>) {
    let bench = Bench::new(open, FrontierConfig { ip_delay: SECOND * 3, ..FrontierConfig::default() });
    bench.offer(&["http://a.example/1", "http://b.example/1", "http://c.example/1", "http://a.example/2"]);
    let leases = bench.lease(9);
    assert_eq!(leases.len(), 3, "nobody knows yet that they share an address");
    let told = HostHint { remote: Some(ADDRESS), ..HostHint::default() };
    leases.iter().for_each(|lease| bench.finish_with(lease, told));
    bench.offer(&["http://b.example/2", "http://c.example/2"]);
    bench.expect_pause(SECOND * 3);
    let mut order = Vec::new();
    for turn in 0..3 {
        let lease = bench.lease_one();
        order.push(lease.url().host().to_owned());
        bench.clock.advance(SECOND * 5);
        assert!(bench.lease(9).is_empty(), "an address has one unfinished request");
        bench.finish(&lease);
        if turn < 2 {
            bench.expect_pause(SECOND * 3);
        }
    }
    order.sort();
    assert_eq!(order, ["a.example", "b.example", "c.example"]);
    // What is heard of before the request ends counts, too.
    let bench = Bench::new(open, FrontierConfig { ip_delay: SECOND * 3, ..FrontierConfig::default() });
    bench.offer(&["http://a.example/1", "http://a.example/2"]);
    let lease = bench.lease_one();
    assert!(bench.frontier.resolved("a.example", ADDRESS));
    bench.offer(&["http://b.example/1"]);
    let other = bench.lease_one();
    assert!(!bench.frontier.resolved("b.example", ADDRESS), "somebody is asking there");
    let untouched = HostHint { untouched: true, ..HostHint::default() };
    bench.frontier.request_finished(other.id, untouched);
    bench.settle(&other, SettlementKind::Returned);
    assert!(bench.lease(9).is_empty(), "it stands in the row of the address now");
    bench.finish(&lease);
    // Nor is a host let through whose address is heard of in its pause.
    bench.offer(&["http://c.example/1"]);
    let early = bench.lease_one();
    assert!(!bench.frontier.resolved("c.example", ADDRESS), "the address rests");
    bench.frontier.request_finished(early.id, untouched);
    bench.settle(&early, SettlementKind::Returned);
    bench.expect_pause(SECOND * 3);
    let lease = bench.lease_one();
    assert!(bench.frontier.resolved(lease.url().host(), ADDRESS));
}

fn a_slow_host_is_asked_less<F: Frontier>(open: &impl Open<F>) {
    for (host_delay, took, expected) in [(1, 4, 8), (1, 0, 1), (1, 1000, 20), (10, 4, 10)] {
        let config = FrontierConfig {
            host_delay: SECOND * host_delay,
            slow_factor: 2,
            slow_delay_max: SECOND * 20,
            ..FrontierConfig::default()
        };
        let bench = Bench::new(open, config);
        bench.offer(&["http://a.example/1", "http://a.example/2", "http://a.example/3"]);
        let slow = HostHint { took: Some(SECOND * took), ..HostHint::default() };
        bench.finish_with(&bench.lease_one(), slow);
        bench.expect_pause(SECOND * expected);
        // The last answer counts.
        bench.finish_with(&bench.lease_one(), HostHint { took: Some(Duration::ZERO), ..HostHint::default() });
        bench.expect_pause(SECOND * host_delay);
    }
}

fn a_failing_host_is_asked_less_and_recovers<F: Frontier>(open: &impl Open<F>) {
    let config = FrontierConfig { slow_delay_max: SECOND * 10, ..FrontierConfig::default() };
    let bench = Bench::new(open, config);
    let urls: Vec<String> = (0..12).map(|number| format!("http://a.example/{number}")).collect();
    bench.offer(&urls.iter().map(String::as_str).collect::<Vec<_>>());
    let steps = [
        (true, 2),
        (true, 4),
        (true, 8),
        (true, 10),
        (false, 8),
        (false, 4),
        (false, 2),
        (false, 1),
        (false, 1),
    ];
    for (trouble, pause) in steps {
        bench.finish_with(&bench.lease_one(), HostHint { trouble, ..HostHint::default() });
        bench.expect_pause(SECOND * pause);
    }
}

fn a_domain_with_many_hosts_does_not_hold_up_another<F: Frontier>(open: &impl Open<F>) {
    let config = FrontierConfig {
        host_delay: Duration::ZERO,
        domain_delay: Duration::ZERO,
        ..FrontierConfig::default()
    };
    let bench = Bench::new(open, config);
    let many: Vec<String> = (0..30).map(|number| format!("http://h{number}.many.example/")).collect();
    bench.offer(&many.iter().map(String::as_str).collect::<Vec<_>>());
    bench.clock.advance(SECOND);
    bench.offer(&["http://small.example/"]);
    bench.clock.advance(SECOND);
    let first: Vec<String> =
        (0..3).flat_map(|_| bench.lease(1)).map(|lease| lease.url().host().to_owned()).collect();
    assert!(first.iter().any(|host| host == "small.example"), "{first:?}");
}

fn scores_come_first<F: Frontier>(open: &impl Open<F>) {
    let bench = Bench::new(open, FrontierConfig::default());
    bench.offer(&["http://a.example/plain", "http://b.example/plain"]);
    let scored = |text: &str, score| Injection { score: Some(score), ..Injection::new(url(text)) };
    let report = bench.frontier.inject(&[
        scored("http://c.example/low", -0.7),
        scored("http://a.example/low", -0.5),
        scored("http://a.example/high", 0.9),
        scored("http://d.example/high", 0.9),
        scored("http://a.example/middle", 0.4),
    ]);
    assert_eq!(report.expect("inject").queued, 5);
    let first = bench.lease(2);
    let hosts: Vec<&str> = first.iter().map(|lease| lease.url().host()).collect();
    assert!(hosts.contains(&"d.example") && hosts.contains(&"a.example"), "{hosts:?}");
    for lease in &first {
        bench.settle(lease, SettlementKind::Indexed);
    }
    let order = bench.run_to_the_end().join(" ").replace("http://", "").replace(".example/", "/");
    assert_eq!(order, "b/plain c/low a/middle a/plain a/low");
}

fn scores_of_queued_urls_change_in_place<F: Frontier>(open: &impl Open<F>) {
    let config = FrontierConfig { heads_per_host: 2, ..FrontierConfig::default() };
    let bench = Bench::new(open, config);
    let urls: Vec<String> = (0..6).map(|number| format!("http://a.example/{number}")).collect();
    bench.offer(&urls.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(bench.rescore("http://a.example/4", 0.5), 1, "one that waits on disk");
    assert_eq!(bench.rescore("http://a.example/0", -0.5), 1, "the first");
    assert_eq!(bench.rescore("http://a.example/5", 0.6), 1);
    assert_eq!(bench.rescore("http://a.example/5", 0.4), 1, "again");
    // Of two in one list the last one counts.
    let both = [(url("http://a.example/2"), 0.1), (url("http://a.example/2"), -0.2)];
    bench.frontier.rescore(&both).expect("rescore");
    let unknown = bench.frontier.rescore(&[(url("http://nowhere.example/"), 1.0)]).expect("rescore");
    assert_eq!((unknown.unknown, unknown.rescored), (1, 0));
    assert_eq!(bench.frontier.counts().queued, 6);
    let lease = bench.lease_one();
    assert_eq!(bench.rescore(lease.url().as_str(), 1.0), 0, "one that is out");
    bench.settle(&lease, SettlementKind::Indexed);
    assert_eq!(bench.rescore(lease.url().as_str(), 1.0), 0, "one that is done");
    let mut order = vec![lease.url().to_string()];
    order.extend(bench.run_to_the_end());
    let order = order.join(" ").replace("http://a.example/", "");
    assert_eq!(order, "4 5 1 3 2 0");
}

fn a_ban_sticks<F: Frontier>(open: &impl Open<F>) {
    let bench = Bench::new(open, FrontierConfig::default());
    bench.offer(&["http://a.example/1", "http://a.example/2", "http://a.example/3", "http://a.example/4"]);
    let out = bench.lease_one();
    bench.finish(&out);
    bench.settle(&out, SettlementKind::Retry(Some(SECOND * 20)));
    bench.expect_pause(SECOND);
    let out = bench.lease_one();
    let bans =
        ["http://a.example/1", "http://a.example/2", "http://a.example/3", "http://never.example/heard"];
    let bans: Vec<Ban> = bans.iter().map(|text| Ban::Url(url(text))).collect();
    assert_eq!(
        bench.frontier.ban(&bans).expect("ban").banned,
        4,
        "one that waits, is out, is queued, is unknown"
    );
    assert_eq!(bench.frontier.ban(&bans).expect("ban").banned, 0, "all of them were");
    assert_eq!(bench.offer(&["http://a.example/3", "http://never.example/heard"]).seen, 2);
    bench.settle(&out, SettlementKind::Retry(None));
    assert!(matches!(bench.stage("http://a.example/2"), Some(UrlStage::Banned { .. })), "not tried again");
    assert_eq!(bench.run_to_the_end(), ["http://a.example/4"]);
    assert_eq!(bench.ask(1), LeaseAnswer::Finished { budget_spent: false });
    let counts = bench.frontier.counts();
    assert_eq!((counts.known, counts.indexed, counts.no_page, counts.queued), (5, 1, 4, 0));
    assert!(!bench.frontier.recrawl_now(&url("http://a.example/1")).expect("recrawl"), "a ban is for good");
}

fn a_ban_of_a_host_sticks<F: Frontier>(open: &impl Open<F>) {
    let config = FrontierConfig { heads_per_host: 1, ..FrontierConfig::default() };
    let bench = Bench::new(open, config);
    bench.offer(&["http://a.example/1", "http://a.example/2", "http://a.example/3", "http://b.example/"]);
    assert_eq!(bench.frontier.ban(&[Ban::Host("a.example".to_owned())]).expect("ban").banned, 3);
    bench.frontier.ban(&[Ban::Host("later.example".to_owned())]).expect("ban");
    let summary = bench.offer(&["http://a.example/4", "http://later.example/"]);
    assert_eq!((summary.new, summary.refused), (0, 2));
    assert_eq!(bench.run_to_the_end(), ["http://b.example/"]);
    assert_eq!(bench.ask(1), LeaseAnswer::Finished { budget_spent: false });
}

fn an_injected_list_is_taken_in<F: Frontier>(open: &impl Open<F>) {
    let bench = Bench::new(open, FrontierConfig::default());
    bench.offer(&["http://a.example/1", "http://a.example/2"]);
    let plain = |text: &str| Injection::new(url(text));
    let report = bench.frontier.inject(&[
        plain("http://new.example/"),
        plain("http://a.example/1"),
        Injection { score: Some(0.5), ..plain("http://a.example/2") },
        Injection { blacklisted: true, ..plain("http://bad.example/") },
    ]);
    let report = report.expect("inject");
    assert_eq!((report.queued, report.known, report.rescored, report.banned), (1, 1, 1, 1));
    assert_eq!(bench.run_to_the_end(), ["http://a.example/2", "http://new.example/", "http://a.example/1"]);
}

fn a_page_is_fetched_again_when_asked_for<F: Frontier>(open: &impl Open<F>) {
    let bench = Bench::new(open, FrontierConfig::default());
    bench.offer(&["http://a.example/1", "http://a.example/2"]);
    let again = || bench.frontier.recrawl_now(&url("http://a.example/1")).expect("recrawl");
    assert!(!again(), "it waits");
    bench.settle(&bench.lease_one(), SettlementKind::Indexed);
    assert!(again());
    assert!(!again(), "it waits again");
    let counts = bench.frontier.counts();
    assert_eq!((counts.known, counts.queued, counts.indexed), (2, 2, 0));
    assert_eq!(bench.run_to_the_end(), ["http://a.example/1", "http://a.example/2"]);
    assert_eq!(bench.frontier.counts().indexed, 2);
}

fn what_gave_no_page_is_tried_again<F: Frontier>(open: &impl Open<F>) {
    let bench = Bench::new(open, FrontierConfig::default());
    let names = ["http://a.example/page", "http://b.example/none", "http://c.example/banned"];
    bench.offer(&names);
    bench.offer(&["http://d.example/none", "http://e.example/waits", "http://e.example/queued"]);
    for lease in bench.lease(9) {
        let kind = match lease.url().as_str() {
            "http://a.example/page" => SettlementKind::Indexed,
            "http://e.example/waits" => SettlementKind::Retry(Some(SECOND * 20)),
            _ => SettlementKind::NoPage,
        };
        bench.settle(&lease, kind);
    }
    let bans = [Ban::Url(url("http://c.example/banned")), Ban::Host("d.example".to_owned())];
    bench.frontier.ban(&bans).expect("ban");
    let all = [
        ("http://a.example/page", "indexed"),
        ("http://b.example/none", "no-page"),
        ("http://b.example/none", "no-page"),
        ("http://c.example/banned", "banned"),
        ("http://d.example/none", "no-page"),
        ("http://e.example/waits", "waiting"),
        ("http://e.example/queued", "queued"),
        ("http://nobody.example/", "unknown"),
    ];
    let urls: Vec<PageUrl> = all.iter().map(|(text, _)| url(text)).collect();
    let stages = bench.frontier.stages(&urls).expect("stages");
    for (stage, (text, expected)) in stages.iter().zip(all) {
        let name = match stage {
            None => "unknown",
            Some(UrlStage::Queued) => "queued",
            Some(UrlStage::Leased) => "leased",
            Some(UrlStage::Waiting { .. }) => "waiting",
            Some(UrlStage::Indexed { .. }) => "indexed",
            Some(UrlStage::NoPage { .. }) => "no-page",
            Some(UrlStage::Banned { .. }) => "banned",
        };
        assert_eq!(name, expected, "{text}");
    }
    let wishes: Vec<_> = urls.into_iter().map(|url| (url, None)).collect();
    let again = bench.frontier.try_again(&wishes).expect("again");
    assert_eq!(again, [false, true, false, false, false, false, false, false], "the one that gave no page");
    assert!(!bench.frontier.try_again(&wishes).expect("again").contains(&true), "it waits");
    let counts = bench.frontier.counts();
    assert_eq!((counts.known, counts.indexed, counts.no_page, counts.queued), (6, 1, 2, 3));
    bench.clock.advance(SECOND);
    let leases = bench.lease(9);
    let again = leases.iter().find(|lease| lease.url().host() == "b.example").expect("a lease");
    assert_eq!(again.attempt, 0);
    for lease in &leases {
        bench.settle(lease, SettlementKind::NoPage);
    }
    assert!(matches!(bench.stage("http://b.example/none"), Some(UrlStage::NoPage { .. })));
    // A score is kept, and decides within the host.
    bench.offer(&["http://b.example/other"]);
    let scored = [(url("http://b.example/none"), Some(0.5))];
    assert_eq!(bench.frontier.try_again(&scored).expect("again"), [true]);
    bench.clock.advance(SECOND);
    assert_eq!(bench.lease_one().url().as_str(), "http://b.example/none");
}

fn limits_change_at_once<F: Frontier>(open: &impl Open<F>) {
    let bench = Bench::new(open, FrontierConfig { pages_max: Some(2), ..FrontierConfig::default() });
    bench.offer(&["http://a.example/1", "http://a.example/2", "http://a.example/3", "http://a.example/4"]);
    let change = |change: &dyn Fn(&mut FrontierLimits)| {
        let mut limits = bench.frontier.limits();
        change(&mut limits);
        bench.frontier.set_limits(&limits).expect("limits");
    };
    bench.settle(&bench.lease_one(), SettlementKind::Indexed);
    change(&|limits| limits.host_delay = SECOND * 9);
    bench.expect_pause(SECOND);
    bench.settle(&bench.lease_one(), SettlementKind::Indexed);
    assert_eq!(bench.ask(1), LeaseAnswer::Finished { budget_spent: true });
    change(&|limits| limits.pages_max = Some(3));
    bench.expect_pause(SECOND * 9);
    bench.settle(&bench.lease_one(), SettlementKind::Indexed);
    change(&|limits| {
        limits.pages_max = None;
        limits.pages_per_host_max = Some(3);
    });
    bench.clock.advance(SECOND * 10);
    assert_eq!(bench.ask(1), LeaseAnswer::Finished { budget_spent: true });
    change(&|limits| limits.pages_per_host_max = None);
    bench.settle(&bench.lease_one(), SettlementKind::Indexed);
    change(&|limits| limits.depth_max = Some(0));
    assert_eq!(bench.offer_at(1, &["http://a.example/5"]).too_deep, 1);
}

fn a_shorter_delay_shortens_pauses<F: Frontier>(open: &impl Open<F>) {
    let (host_delay, domain_delay) = (SECOND * 60, SECOND * 60);
    let bench = Bench::new(open, FrontierConfig { host_delay, domain_delay, ..FrontierConfig::default() });
    bench.offer(&["http://a.example/1", "http://a.example/2", "http://a.example/3"]);
    let delay = |delay: Duration| {
        let mut limits = bench.frontier.limits();
        (limits.host_delay, limits.domain_delay) = (delay, delay);
        bench.frontier.set_limits(&limits).expect("limits");
    };
    bench.finish(&bench.lease_one());
    delay(SECOND * 2);
    bench.expect_pause(SECOND * 2);
    // What a host wishes itself stays.
    let hint = HostHint { retry_after: Some(SECOND * 30), ..HostHint::default() };
    bench.finish_with(&bench.lease_one(), hint);
    delay(SECOND);
    bench.expect_pause(SECOND * 30);
    bench.lease_one();
}

fn validators_come_back<F: Frontier>(open: &impl Open<F>) {
    let bench = Bench::new(open, FrontierConfig::default());
    bench.offer(&["http://a.example/"]);
    let lease = bench.lease_one();
    assert_eq!(lease.validators, None);
    let validators = Validators { etag: Some("\"x\"".to_owned()), ..Validators::default() };
    let settle = |lease: &super::Lease, kind, validators: Option<&Validators>| {
        let validators = validators.cloned();
        let settlement = Settlement { lease: lease.id, kind, links: Vec::new(), validators };
        bench.frontier.settle(vec![settlement]).expect("settle");
    };
    settle(&lease, SettlementKind::Indexed, Some(&validators));
    for _ in 0..2 {
        assert!(bench.frontier.recrawl_now(lease.url()).expect("recrawl"));
        bench.clock.advance(SECOND);
        let again = bench.lease_one();
        assert_eq!(again.validators.as_ref(), Some(&validators));
        settle(&again, SettlementKind::Unchanged, None);
    }
    assert_eq!(bench.frontier.counts().indexed, 1);
}

fn scores_bans_and_validators_survive<F: Frontier>(directory: &Path, open: &impl Reopen<F>) {
    let clock = ManualClock::new();
    let bench = || Bench {
        frontier: open(directory, FrontierConfig::default(), clock.clone()),
        clock: clock.clone(),
    };
    {
        let bench = bench();
        bench.offer(&[
            "http://a.example/1",
            "http://a.example/2",
            "http://a.example/3",
            "http://a.example/4",
        ]);
        let out = bench.lease_one();
        let bans = [
            Ban::Url(url("http://a.example/2")),
            Ban::Url(out.url().clone()),
            Ban::Host("b.example".to_owned()),
        ];
        bench.frontier.ban(&bans).expect("ban");
        bench.rescore("http://a.example/4", 0.5);
        bench.offer(&["http://d.example/"]);
        bench.settle(&bench.lease_one(), SettlementKind::NoPage);
        assert_eq!(bench.frontier.try_again(&[(url("http://d.example/"), None)]).expect("again"), [true]);
    }
    clock.advance(SECOND * 100);
    let bench = bench();
    assert_eq!(bench.offer(&["http://b.example/", "http://a.example/2"]).refused, 1);
    assert_eq!(
        bench.run_to_the_end(),
        ["http://a.example/4", "http://d.example/", "http://a.example/3"],
        "the one that was out is banned, too, and what was queued again is queued"
    );
    assert_eq!(bench.frontier.counts().no_page, 2);
}
