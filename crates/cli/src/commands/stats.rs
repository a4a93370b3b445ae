//! `webloom stats`: how much there is.

use std::io::Write;

use clap::Args;
use webloom_index::{IndexStats, Order, Snapshot, TermId};

use crate::output::{DataArgument, bytes, with_commas};

/// Say how much the index holds: pages, quads, terms, bytes by part.
#[derive(Debug, Args)]
pub struct Stats {
    #[command(flatten)]
    data: DataArgument,
    /// Also list predicates and classes, and how much they are used.
    #[arg(long)]
    vocabulary: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Name and size of each part; those inside a part, which do not count again, have a mark in front.
fn parts(stats: &IndexStats) -> Vec<(String, u64)> {
    let sizes = &stats.bytes;
    let mut parts = vec![
        ("term ids".to_owned(), sizes.term_ids),
        ("term texts".to_owned(), sizes.term_texts),
        ("orders".to_owned(), sizes.orders),
    ];
    for (order, size) in Order::ALL.into_iter().zip(sizes.order) {
        parts.push((format!("- {}", format!("{order:?}").to_lowercase()), size));
    }
    parts.extend([
        ("graphs".to_owned(), sizes.graphs),
        ("statistics".to_owned(), sizes.statistics),
        ("full text".to_owned(), sizes.text),
        ("other".to_owned(), sizes.other),
    ]);
    parts
}

impl Stats {
    pub fn run(self) -> anyhow::Result<()> {
        let snapshot = self.data.snapshot()?;
        let stats = snapshot.stats()?;
        let total = stats.bytes.total;
        let parts = parts(&stats);
        let per_quad = |bytes: u64| if stats.quads == 0 { 0.0 } else { bytes as f64 / stats.quads as f64 };
        // Words are another kind of thing than quads; a figure per quad that counts them says little.
        let without_text = per_quad(total - stats.bytes.text);
        let mut out = std::io::stdout().lock();
        if self.json {
            let (mut sizes, mut orders, mut shares) =
                (serde_json::Map::new(), serde_json::Map::new(), serde_json::Map::new());
            for (part, size) in &parts {
                let name = part.trim_start_matches("- ").replace(' ', "_");
                let into = if part.starts_with("- ") { &mut orders } else { &mut sizes };
                into.insert(name.clone(), (*size).into());
                shares.insert(name, per_quad(*size).into());
            }
            let mut json = serde_json::json!({
                "generation": snapshot.generation(),
                "graphs": stats.graphs,
                "metadata_graphs": stats.metadata_graphs,
                "quads": stats.quads,
                "terms": stats.terms,
                "segments": stats.segments,
                "dead_quads": stats.dead_quads,
                "text_documents": stats.text_documents,
                "bytes": sizes,
                "bytes_by_order": orders,
                "bytes_per_quad_by_part": shares,
                "bytes_total": total,
                "bytes_per_quad": without_text,
            });
            if self.vocabulary {
                let mut predicates = Vec::new();
                for predicate in snapshot.predicate_statistics() {
                    let mut entry = serde_json::to_value(predicate)?;
                    entry["predicate"] = name(&snapshot, predicate.predicate)?.into();
                    predicates.push(entry);
                }
                let mut classes = Vec::new();
                for class in snapshot.class_statistics()? {
                    let mut entry = serde_json::to_value(class)?;
                    entry["class"] = name(&snapshot, class.class)?.into();
                    classes.push(entry);
                }
                json["predicates"] = predicates.into();
                json["classes"] = classes.into();
            }
            writeln!(out, "{}", serde_json::to_string_pretty(&json)?)?;
            return Ok(());
        }
        writeln!(out, "pages      {:>14}", with_commas(stats.graphs))?;
        writeln!(out, "metadata   {:>14}", with_commas(stats.metadata_graphs))?;
        writeln!(out, "quads      {:>14}", with_commas(stats.quads))?;
        writeln!(out, "terms      {:>14}", with_commas(stats.terms))?;
        writeln!(out, "segments   {:>14}", with_commas(stats.segments))?;
        for (part, size) in parts {
            writeln!(out, "{part:<10} {:>14} {:>7.1} a quad", bytes(size), per_quad(size))?;
        }
        writeln!(
            out,
            "{:<10} {:>14}  ({without_text:.1} bytes a quad without full text)",
            "in all",
            bytes(total)
        )?;
        if self.vocabulary {
            let mut predicates = snapshot.predicate_statistics();
            predicates.sort_by_key(|predicate| std::cmp::Reverse(predicate.quads));
            writeln!(out, "\n{:>14} {:>12} {:>12}  predicate", "quads", "subjects", "objects")?;
            for predicate in predicates {
                writeln!(
                    out,
                    "{:>14} {:>12} {:>12}  {}",
                    with_commas(predicate.quads),
                    with_commas(predicate.subjects),
                    with_commas(predicate.objects),
                    name(&snapshot, predicate.predicate)?
                )?;
            }
            writeln!(out, "\n{:>14}  class", "quads")?;
            for class in snapshot.class_statistics()? {
                writeln!(out, "{:>14}  {}", with_commas(class.quads), name(&snapshot, class.class)?)?;
            }
        }
        Ok(())
    }
}

fn name(snapshot: &Snapshot, id: TermId) -> anyhow::Result<String> {
    Ok(match snapshot.term(id)? {
        Some(oxrdf::Term::NamedNode(node)) => node.into_string(),
        Some(term) => term.to_string(),
        None => String::new(),
    })
}
