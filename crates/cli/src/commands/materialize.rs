//! `webloom materialize`: what follows from the graph, kept in a graph of its own.

use clap::{Args, ValueEnum};
use webloom_index::{Entailment, EntailmentLimits, Index, IndexConfig, Inferred, Rules, Trust};
use webloom_pipeline::DataDir;

use crate::output::{DataArgument, one_line, with_commas, wrong_usage};

/// Infer what follows and keep it, apart from what pages say.
///
/// The statements become the graph `urn:webloom:inferred:<rules>`, in place of what was there. Queries see it by that
/// name, or as part of the default graph with `webloom query --entail <rules> --materialized`. After a crawl has
/// changed pages, run it again.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  webloom materialize --rules rdfs
  webloom materialize --rules rdfs,sameas --trust all
  webloom materialize --rules owl --remove")]
pub struct Materialize {
    #[command(flatten)]
    data: DataArgument,
    /// Which rules: rdfs, sameas, owl (which includes both), separated by commas.
    #[arg(long, value_name = "RULES")]
    rules: Rules,
    #[command(flatten)]
    entail: EntailArguments,
    /// Remove what was kept, and infer nothing.
    #[arg(long)]
    remove: bool,
}

/// Whom to believe, and how much may follow.
#[derive(Debug, Args)]
pub struct EntailArguments {
    /// Whose vocabulary counts: `owner`, what is said about a term on the term's own host (or in the default graph);
    /// `all`, what anybody says about any term.
    #[arg(long, value_name = "WHOM", value_enum, default_value_t = Whom::Owner)]
    trust: Whom,
    /// Fail when more statements follow.
    #[arg(long, value_name = "NUMBER", default_value_t = EntailmentLimits::default().triples_max)]
    max_inferred: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Whom {
    Owner,
    All,
}

impl EntailArguments {
    /// What the arguments ask for.
    pub fn entailment(&self, rules: Rules) -> Entailment {
        let mut entailment = Entailment::new(rules);
        entailment.trust = match self.trust {
            Whom::Owner => Trust::Authoritative,
            Whom::All => Trust::All,
        };
        entailment.limits.triples_max = self.max_inferred;
        entailment
    }
}

/// Says on stderr what was left out.
pub fn tell_set_aside(inferred: &Inferred) {
    for words in inferred.set_aside() {
        eprintln!("set aside: {}", one_line(words));
    }
}

impl Materialize {
    pub fn run(self) -> anyhow::Result<()> {
        let data = DataDir::new(&self.data.data);
        if !data.has_index() {
            return Err(wrong_usage(format!("`{}` holds no crawl", self.data.data.display())));
        }
        let index = Index::open(&data.index(), IndexConfig::default())?;
        let graph = self.rules.graph_name();
        if self.remove {
            index.forget_materialized(self.rules)?;
            eprintln!("{graph} is gone");
        } else {
            let inferred = index.snapshot().inferred(&self.entail.entailment(self.rules))?;
            tell_set_aside(&inferred);
            index.materialize(&inferred)?;
            eprintln!(
                "{graph}: {} statements, by {} statements about classes and properties; {} names gave way to another of the same thing",
                with_commas(inferred.len() as u64),
                with_commas(inferred.schema_statements()),
                with_commas(inferred.merged_things())
            );
        }
        index.close()?;
        Ok(())
    }
}
