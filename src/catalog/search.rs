//! Finding packages by a few words: ranked, by prefix, and with a typo or two.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::index::Summary;

/// The words of all packages, sorted, with where each stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchIndex {
    terms: Vec<String>,
    /// For each term the documents that have it, with the weight of the best place.
    postings: Vec<Vec<(u32, u16)>>,
}

/// A package that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    /// Its position among the packages.
    pub document: u32,
    /// How well it fits; more is better.
    pub score: u32,
}

/// How much a word counts by the place where it stands.
const WEIGHTS: [(Place, u16); 6] = [
    (Place::Name, 100),
    (Place::DisplayName, 80),
    (Place::Keyword, 40),
    (Place::Category, 30),
    (Place::Provider, 30),
    (Place::Description, 10),
];

/// How much more counts what is called as it is asked for: more than all words together.
const WHOLE_NAME: u16 = 20_000;
const WHOLE_DISPLAY_NAME: u16 = 10_000;
/// Begins the term of a whole name, and no word.
const WHOLE: char = '=';
/// Shorter words together are the beginning of too many others.
const WORTH_JOINING: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Name,
    DisplayName,
    Keyword,
    Category,
    Provider,
    Description,
}

impl Place {
    fn text(self, summary: &Summary) -> String {
        match self {
            Self::Name => summary.name.clone(),
            Self::DisplayName => summary.display_name.clone(),
            Self::Keyword => summary.keywords.join(" "),
            Self::Category => summary.categories.join(" "),
            Self::Provider => summary.provider.clone(),
            Self::Description => summary.description.clone(),
        }
    }
}

impl SearchIndex {
    /// Indexes the cards of packages; a document is the position of its card.
    pub fn of(summaries: &[Summary]) -> Self {
        let mut terms: BTreeMap<String, Vec<(u32, u16)>> = BTreeMap::new();
        for (document, summary) in (0..).zip(summaries) {
            let mut add = |term: String, weight: u16| {
                let postings = terms.entry(term).or_default();
                match postings.last_mut() {
                    Some((last, best)) if *last == document => *best = weight.max(*best),
                    _ => postings.push((document, weight)),
                }
            };
            for (place, weight) in WEIGHTS {
                for word in words(&place.text(summary)) {
                    add(word, weight);
                }
            }
            for (name, weight) in [
                (&summary.name, WHOLE_NAME),
                (&summary.display_name, WHOLE_DISPLAY_NAME),
            ] {
                add(whole(&joined(name)), weight);
            }
        }
        let (terms, postings) = terms.into_iter().unzip();
        Self { terms, postings }
    }

    /// The documents that have every word, the best first; equals in the order of the documents. Words
    /// that others write as one count as that one, and what is called so comes before all others.
    pub fn find(&self, query: &str) -> Vec<Hit> {
        let mut found = self.with_every_word(query);
        let joined = joined(query);
        if joined.chars().count() >= WORTH_JOINING {
            for (document, score) in self.beginning_with(&joined) {
                let best = found.entry(document).or_default();
                *best = score.max(*best);
            }
        }
        if !joined.is_empty()
            && let Ok(at) = self.terms.binary_search(&whole(&joined))
        {
            for (document, weight) in self.postings.get(at).into_iter().flatten() {
                *found.entry(*document).or_default() += u32::from(*weight);
            }
        }
        let mut hits: Vec<Hit> = found
            .into_iter()
            .map(|(document, score)| Hit { document, score })
            .collect();
        hits.sort_by(|a, b| b.score.cmp(&a.score).then(a.document.cmp(&b.document)));
        hits
    }

    fn with_every_word(&self, query: &str) -> BTreeMap<u32, u32> {
        let mut found: Option<BTreeMap<u32, u32>> = None;
        for word in words(query) {
            let scores = self.scores(&word);
            found = Some(match found {
                None => scores,
                Some(before) => before
                    .into_iter()
                    .filter_map(|(document, score)| {
                        Some((document, score + scores.get(&document)?))
                    })
                    .collect(),
            });
        }
        found.unwrap_or_default()
    }

    /// How well each document fits one word: whole, as the beginning of a word, or misspelt. A
    /// misspelling is thought of only where nothing fits as it is written.
    fn scores(&self, word: &str) -> BTreeMap<u32, u32> {
        let mut scores = self.beginning_with(word);
        let allowed = allowed_typos(word);
        if scores.is_empty() && allowed > 0 {
            for (at, term) in self.terms.iter().enumerate() {
                if !term.starts_with(WHOLE) && within_distance(word, term, allowed) {
                    self.credit(at, 1, &mut scores);
                }
            }
        }
        scores
    }

    /// How well each document fits a word as it is written.
    fn beginning_with(&self, word: &str) -> BTreeMap<u32, u32> {
        let mut scores = BTreeMap::new();
        let start = self.terms.partition_point(|term| term.as_str() < word);
        for at in start..self.terms.len() {
            let Some(rest) = self.terms[at].strip_prefix(word) else {
                break;
            };
            self.credit(at, if rest.is_empty() { 8 } else { 4 }, &mut scores);
        }
        scores
    }

    fn credit(&self, at: usize, factor: u32, scores: &mut BTreeMap<u32, u32>) {
        for (document, weight) in self.postings.get(at).into_iter().flatten() {
            let score = scores.entry(*document).or_default();
            *score = (*score).max(u32::from(*weight) * factor);
        }
    }
}

/// Lower-case words; a name like `cert-manager` is found by its parts and as a whole.
fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let mut words = Vec::new();
    for chunk in lower.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_') {
        let chunk = chunk.trim_matches(['-', '_']);
        let parts: Vec<&str> = chunk
            .split(['-', '_'])
            .filter(|part| !part.is_empty())
            .collect();
        if parts.len() > 1 {
            words.push(chunk.to_owned());
        }
        words.extend(parts.into_iter().map(str::to_owned));
    }
    words
}

/// A text without all that people write in one way or another: `cert-manager` is `certmanager`.
fn joined(text: &str) -> String {
    let letters = text.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// The term of a whole name.
fn whole(joined: &str) -> String {
    format!("{WHOLE}{joined}")
}

/// None in a short word: too many others are one letter away.
fn allowed_typos(word: &str) -> usize {
    match word.chars().count() {
        0..=3 => 0,
        4..=7 => 1,
        _ => 2,
    }
}

/// Whether two words are at most so many insertions, deletions, replacements or swaps of
/// neighbours apart.
pub(crate) fn within_distance(one: &str, other: &str, limit: usize) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    if one.len().abs_diff(other.len()) > limit {
        return false;
    }
    let mut before_last = vec![0; other.len() + 1];
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1; other.len() + 1];
        for (j, b) in other.iter().enumerate() {
            let replaced = last[j] + usize::from(a != b);
            row[j + 1] = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == other[j - 1] && one[i - 1] == *b {
                row[j + 1] = row[j + 1].min(before_last[j - 1] + 1);
            }
        }
        if row.iter().min().is_some_and(|best| *best > limit) {
            return false;
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last.last().is_some_and(|distance| *distance <= limit)
}

#[cfg(test)]
mod tests {
    use super::{SearchIndex, within_distance};
    use crate::catalog::index::Summary;

    fn summary(name: &str, display_name: &str, description: &str) -> Summary {
        let mut summary = Summary::default();
        summary.name = name.to_owned();
        summary.display_name = display_name.to_owned();
        summary.description = description.to_owned();
        summary
    }

    fn found(query: &str) -> Vec<&'static str> {
        let names = [
            "cert-manager",
            "etcd",
            "gopher-operator",
            "postgres-operator",
        ];
        let cards = [
            summary(names[0], "cert-manager", "Issues certificates"),
            summary(names[1], "etcd", "A key-value store"),
            summary(names[2], "Gopher", "Keeps gophers, stores them in etcd"),
            summary(names[3], "PostgreSQL", "A database"),
        ];
        let index = SearchIndex::of(&cards);
        index
            .find(query)
            .into_iter()
            .map(|hit| names[hit.document as usize])
            .collect()
    }

    #[test]
    fn a_word_in_the_name_counts_more_than_one_in_the_description() {
        assert_eq!(found("etcd"), ["etcd", "gopher-operator"]);
    }

    #[test]
    fn the_beginning_of_a_word_is_enough() {
        assert_eq!(found("post"), ["postgres-operator"]);
        assert_eq!(found("CERT"), ["cert-manager"]);
    }

    #[test]
    fn a_name_is_found_as_a_whole_and_by_its_parts() {
        assert_eq!(found("cert-manager"), ["cert-manager"]);
        assert_eq!(found("manager"), ["cert-manager"]);
    }

    #[test]
    fn every_word_has_to_fit() {
        assert_eq!(found("etcd gophers"), ["gopher-operator"]);
        assert_eq!(found("etcd certificates"), Vec::<&str>::new());
    }

    #[test]
    fn a_typo_is_forgiven_where_nothing_else_fits() {
        assert_eq!(found("gohper"), ["gopher-operator"]);
        assert_eq!(found("postgers"), ["postgres-operator"]);
        assert_eq!(found("etdc"), ["etcd", "gopher-operator"]);
        assert_eq!(found("xyz"), Vec::<&str>::new());
    }

    #[test]
    fn what_is_called_so_comes_first() {
        let cards = [
            summary("ack-vault", "Vault", "vault vault"),
            summary("postgres", "PostgreSQL", "PostgreSQL"),
            summary("postgresql", "Database by Somebody", "A database"),
            summary("vault", "Secret Things", ""),
        ];
        let index = SearchIndex::of(&cards);
        let first = |query: &str| index.find(query)[0].document;
        assert_eq!(first("vault"), 3);
        assert_eq!(first("PostgreSQL"), 2);
        assert_eq!(first("secret-things"), 3);
    }

    #[test]
    fn words_that_others_write_as_one_find_it() {
        assert_eq!(found("post gres"), ["postgres-operator"]);
        assert_eq!(found("cert manager"), ["cert-manager"]);
        assert_eq!(found("certmanager"), ["cert-manager"]);
        // Two letters together are the beginning of too much, here of `etcd`.
        assert_eq!(found("e t"), ["gopher-operator"]);
    }

    #[test]
    fn nothing_asked_finds_nothing() {
        assert_eq!(found("  ,- "), Vec::<&str>::new());
    }

    #[test]
    fn distances_count_swapped_neighbours_once() {
        assert!(within_distance("gohper", "gopher", 1));
        assert!(!within_distance("gohpre", "gopher", 1));
        assert!(within_distance("", "a", 1));
    }
}
