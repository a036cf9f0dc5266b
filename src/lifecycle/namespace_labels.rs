//! The labels by which a namespace shows whose operators serve it; webhooks select by them.

use std::collections::{BTreeMap, BTreeSet};

use super::targets::Targets;
use crate::api::labels;

/// The labels that a namespace lacks, and those it should not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelChanges {
    /// Keys to be added with an empty value.
    pub add: Vec<String>,
    /// Keys to be removed.
    pub remove: Vec<String>,
}

impl LabelChanges {
    /// Whether the labels are right.
    pub fn is_empty(&self) -> bool {
        self.add.is_empty() && self.remove.is_empty()
    }
}

/// What has to change about the labels of a namespace, given the uids and the namespaces of all
/// groups of the cluster. A group that covers all namespaces labels none.
pub fn changes<'a>(
    namespace: &str,
    present: &BTreeMap<String, String>,
    groups: impl IntoIterator<Item = (&'a str, &'a Targets)>,
) -> LabelChanges {
    let wanted: BTreeSet<String> = groups
        .into_iter()
        .filter(|(uid, targets)| {
            !uid.is_empty() && **targets != Targets::All && targets.contains(namespace)
        })
        .map(|(uid, _)| labels::operator_group_member(uid))
        .collect();
    let remove = present
        .keys()
        .filter(|key| key.starts_with(labels::OPERATOR_GROUP_PREFIX) && !wanted.contains(*key))
        .cloned()
        .collect();
    let add = wanted
        .into_iter()
        .filter(|key| present.get(key).is_none_or(|value| !value.is_empty()))
        .collect();
    LabelChanges { add, remove }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const ONE: &str = "olm.operatorgroup.uid/1";
    const TWO: &str = "olm.operatorgroup.uid/2";

    fn named(names: &[&str]) -> Targets {
        Targets::Named(names.iter().map(ToString::to_string).collect())
    }

    #[rstest]
    #[case::added(&[], &[("1", named(&["ns"]))], &[ONE], &[])]
    #[case::of_several_groups(&[ONE], &[("1", named(&["ns"])), ("2", named(&["a", "ns"]))], &[TWO], &[])]
    #[case::right(&[ONE], &[("1", named(&["ns"]))], &[], &[])]
    #[case::no_longer_covered(&[ONE], &[("1", named(&["other"]))], &[], &[ONE])]
    #[case::the_group_is_gone(&[ONE, TWO], &[("2", named(&["ns"]))], &[], &[ONE])]
    #[case::all_namespaces_are_not_labelled(&[], &[("1", Targets::All)], &[], &[])]
    #[case::no_longer_labelled(&[ONE], &[("1", Targets::All)], &[], &[ONE])]
    #[case::labels_of_others_stay(&["color"], &[], &[], &[])]
    fn a_namespace_is_labelled_with_the_groups_that_cover_it(
        #[case] present: &[&str],
        #[case] groups: &[(&str, Targets)],
        #[case] add: &[&str],
        #[case] remove: &[&str],
    ) {
        let present = present
            .iter()
            .map(|key| ((*key).to_owned(), String::new()))
            .collect();
        let groups = groups.iter().map(|(uid, targets)| (*uid, targets));
        let changes = changes("ns", &present, groups);
        assert_eq!(changes.add, add);
        assert_eq!(changes.remove, remove);
        assert_eq!(changes.is_empty(), add.is_empty() && remove.is_empty());
    }
}
