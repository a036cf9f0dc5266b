//! The entries of a mapping: merge keys and duplicate keys.

use std::collections::HashMap;
use std::sync::Arc;

use super::node::{Data, Entry, Node};

/// Takes the entries of `<<` in, after those that are there already. `alias` tells whether the value
/// is an alias: one may stand for a mapping, also in a list, but not for the list.
pub(super) fn merge(
    entries: &mut Vec<Entry>,
    value: Node,
    alias: bool,
) -> Result<(), &'static str> {
    const WRONG: &str = "`<<` needs a mapping or a list of mappings as its value";
    match unshared(value) {
        Data::Mapping(merged) => entries.extend(merged),
        Data::Sequence(nodes) if !alias => {
            // Of several mappings the first has the last word.
            for node in nodes.into_iter().rev() {
                let Data::Mapping(merged) = unshared(node) else {
                    return Err(WRONG);
                };
                entries.extend(merged);
            }
        }
        _ => return Err(WRONG),
    }
    Ok(())
}

fn unshared(mut node: Node) -> Data {
    while let Data::Shared(shared) = node.data {
        node = Arc::unwrap_or_clone(shared);
    }
    node.data
}

/// Each key once, at its first place, with its last value.
pub(super) fn last_wins(entries: Vec<Entry>) -> Vec<Entry> {
    /// Up to here comparing every two keys is the faster way to find that all differ.
    const FEW: usize = 16;
    if entries.len() <= FEW {
        let distinct = entries.iter().enumerate().all(|(index, entry)| {
            entries
                .iter()
                .take(index)
                .all(|earlier| earlier.key != entry.key)
        });
        if distinct {
            return entries;
        }
    }
    let mut first: HashMap<String, usize> = HashMap::with_capacity(entries.len());
    let mut kept: Vec<Entry> = Vec::with_capacity(entries.len());
    for entry in entries {
        if let Some(earlier) = first.get(&entry.key).and_then(|&index| kept.get_mut(index)) {
            *earlier = entry;
        } else {
            first.insert(entry.key.clone(), kept.len());
            kept.push(entry);
        }
    }
    kept
}
