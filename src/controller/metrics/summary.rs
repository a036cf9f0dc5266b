//! How long something took: a summary with quantiles, which OLM has and the crate for metrics has not.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::{self, Write as _};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The quantiles that OLM tells.
const QUANTILES: [f64; 3] = [0.9, 0.95, 0.99];
/// Of how many observations the quantiles are: of the latest ones.
const RECENT: usize = 500;

/// How long something took, by how it came out.
#[derive(Debug, Default)]
pub(super) struct Summary(Mutex<BTreeMap<&'static str, Observed>>);

#[derive(Debug, Default)]
struct Observed {
    count: u64,
    sum: f64,
    recent: VecDeque<f64>,
}

impl Summary {
    pub(super) fn observe(&self, outcome: &'static str, took: Duration) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let observed = all.entry(outcome).or_default();
        observed.count += 1;
        observed.sum += took.as_secs_f64();
        if observed.recent.len() == RECENT {
            observed.recent.pop_front();
        }
        observed.recent.push_back(took.as_secs_f64());
    }

    /// Writes everything under a name; nothing if there is nothing.
    pub(super) fn encode(&self, name: &str, help: &str, text: &mut String) -> fmt::Result {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.is_empty() {
            return Ok(());
        }
        writeln!(text, "# HELP {name} {help}.")?;
        writeln!(text, "# TYPE {name} summary")?;
        for (outcome, observed) in &*all {
            let mut sorted: Vec<f64> = observed.recent.iter().copied().collect();
            sorted.sort_by(f64::total_cmp);
            for quantile in QUANTILES {
                let value = at(&sorted, quantile);
                let labels = format!("outcome=\"{outcome}\",quantile=\"{quantile}\"");
                writeln!(text, "{name}{{{labels}}} {value:?}")?;
            }
            let Observed { count, sum, .. } = observed;
            writeln!(text, "{name}_sum{{outcome=\"{outcome}\"}} {sum:?}")?;
            writeln!(text, "{name}_count{{outcome=\"{outcome}\"}} {count}")?;
        }
        Ok(())
    }
}

/// The smallest value that so many are not greater than.
fn at(sorted: &[f64], quantile: f64) -> f64 {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a few hundred, and not negative"
    )]
    let rank = (quantile * sorted.len() as f64).ceil() as usize;
    let found = sorted.get(rank.saturating_sub(1));
    found.or(sorted.last()).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_sum_and_count_are_told_for_each_outcome() {
        let summary = Summary::default();
        for milliseconds in 1..=100 {
            summary.observe("succeeded", Duration::from_millis(milliseconds));
        }
        summary.observe("failed", Duration::from_secs(2));
        let mut text = String::new();
        summary.encode("took", "How long", &mut text).unwrap();
        for line in [
            "# TYPE took summary",
            "took{outcome=\"succeeded\",quantile=\"0.9\"} 0.09",
            "took{outcome=\"succeeded\",quantile=\"0.99\"} 0.099",
            "took_count{outcome=\"succeeded\"} 100",
            "took_sum{outcome=\"failed\"} 2.0",
        ] {
            assert!(
                text.lines().any(|it| it == line),
                "{line} is not in\n{text}"
            );
        }
    }

    #[test]
    fn quantiles_are_of_the_latest_only() {
        let summary = Summary::default();
        for _ in 0..RECENT {
            summary.observe("failed", Duration::from_secs(9));
        }
        for _ in 0..RECENT {
            summary.observe("failed", Duration::from_secs(1));
        }
        let mut text = String::new();
        summary.encode("took", "How long", &mut text).unwrap();
        assert!(text.contains("quantile=\"0.99\"} 1.0"), "{text}");
        assert!(
            text.contains("took_count{outcome=\"failed\"} 1000"),
            "{text}"
        );
    }
}
