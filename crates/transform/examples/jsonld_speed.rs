//! Measures how long JSON-LD blocks take, from text to quads.
//!
//! `cargo run --release -p webloom-transform --example jsonld_speed [FILE…]`: a typical shop page's block, and
//! the files named, each for about a second.

use std::error::Error;
use std::io::Write;
use std::time::{Duration, Instant};

use webloom_transform::TransformConfig;
use webloom_transform::jsonld::{JsonLdOptions, to_rdf};

/// Blocks read between two looks at the clock.
const ROUND: u32 = 20;

/// About two kilobytes, as a shop writes them.
const PRODUCT: &str = r#"{
  "@context": "https://schema.org/",
  "@graph": [
    {
      "@type": "Product", "@id": "https://shop.example/kettle#product",
      "name": "Kettle 1.7 l, brushed steel", "sku": "KT-17-BS", "gtin13": "4006381333931",
      "description": "A kettle that boils quietly, with a filter that can be washed and a base that turns all the way round.",
      "image": ["https://shop.example/img/kettle-1.jpg", "https://shop.example/img/kettle-2.jpg", "https://shop.example/img/kettle-3.jpg"],
      "brand": {"@type": "Brand", "name": "Quiet Kitchen"},
      "aggregateRating": {"@type": "AggregateRating", "ratingValue": 4.6, "reviewCount": 128, "bestRating": 5},
      "review": [
        {"@type": "Review", "author": {"@type": "Person", "name": "Ines"}, "datePublished": "2024-03-02",
         "reviewBody": "Boils in two minutes and does not wake the house.", "reviewRating": {"@type": "Rating", "ratingValue": "5"}},
        {"@type": "Review", "author": {"@type": "Person", "name": "Tomas"}, "datePublished": "2024-05-17",
         "reviewBody": "The lid is a little stiff.", "reviewRating": {"@type": "Rating", "ratingValue": "4"}}
      ],
      "offers": {"@type": "Offer", "url": "https://shop.example/kettle", "priceCurrency": "EUR", "price": "49.90",
        "availability": "https://schema.org/InStock", "itemCondition": "https://schema.org/NewCondition",
        "seller": {"@type": "Organization", "@id": "https://shop.example/#organization"}}
    },
    {
      "@type": "BreadcrumbList",
      "itemListElement": [
        {"@type": "ListItem", "position": 1, "name": "Kitchen", "item": "https://shop.example/kitchen"},
        {"@type": "ListItem", "position": 2, "name": "Kettles", "item": "https://shop.example/kitchen/kettles"}
      ]
    },
    {"@type": "Organization", "@id": "https://shop.example/#organization", "name": "Example Shop", "url": "https://shop.example/"}
  ]
}"#;

fn main() -> Result<(), Box<dyn Error>> {
    let mut blocks = vec![("a product page".to_owned(), PRODUCT.to_owned())];
    for path in std::env::args().skip(1) {
        blocks.push((path.clone(), std::fs::read_to_string(path)?));
    }
    let mut out = std::io::stdout().lock();
    let (options, config) = (JsonLdOptions::default(), TransformConfig::default());
    for (name, text) in blocks {
        let read = || to_rdf("https://shop.example/kettle", &text, &options, &config);
        let first = Instant::now();
        let quads = read()?.len();
        let first = first.elapsed();
        // The best of many short rounds: the rest is what else the machine does.
        let start = Instant::now();
        let mut best = Duration::MAX;
        while start.elapsed() < Duration::from_secs(1) {
            let round = Instant::now();
            for _ in 0..ROUND {
                read()?;
            }
            best = best.min(round.elapsed() / ROUND);
        }
        let bytes = text.len();
        writeln!(out, "{name}: {bytes} bytes, {quads} quads, {best:.1?} each, {first:.1?} the first time")?;
    }
    Ok(())
}
