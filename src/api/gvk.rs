//! Group, version and kind of an API, and the `Kind.version.group` form OLM writes them in.
use super::lenient::lenient;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// The group, version and kind that name one API.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct GroupVersionKind {
    /// API group; empty for Kubernetes' core group.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub group: String,
    /// Version of the group, such as `v1`.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub version: String,
    /// Kind, such as `Deployment`.
    #[serde(default, deserialize_with = "lenient")]
    #[schemars(required, !default)]
    pub kind: String,
}

impl GroupVersionKind {
    /// Names an API.
    pub fn new(
        group: impl Into<String>,
        version: impl Into<String>,
        kind: impl Into<String>,
    ) -> Self {
        Self {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
        }
    }

    /// The `apiVersion` of objects of this kind: `group/version`, or `version` in the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}

/// Writes `Kind.version.group`.
impl fmt::Display for GroupVersionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.kind, self.version, self.group)
    }
}

/// The text is not of the form `Kind.version.group`.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not of the form Kind.version.group")]
pub struct ParseError(String);

/// Reads `Kind.version.group`; the group may be empty or hold further dots.
impl FromStr for GroupVersionKind {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.splitn(3, '.');
        match (parts.next(), parts.next(), parts.next()) {
            (Some(kind), Some(version), Some(group)) => Ok(Self::new(group, version, kind)),
            _ => Err(ParseError(text.to_owned())),
        }
    }
}

impl From<GroupVersionKind> for kube::core::GroupVersionKind {
    fn from(gvk: GroupVersionKind) -> Self {
        Self {
            group: gvk.group,
            version: gvk.version,
            kind: gvk.kind,
        }
    }
}

/// Reads the comma-separated list of the annotation `olm.providedAPIs`.
///
/// Spaces and entries of another form are skipped, as OLM does.
pub fn parse_provided_apis(annotation: &str) -> BTreeSet<GroupVersionKind> {
    annotation
        .replace(' ', "")
        .split(',')
        .filter_map(|entry| entry.parse().ok())
        .collect()
}

/// Writes the list for the annotation `olm.providedAPIs`, sorted as OLM sorts it: as text.
pub fn format_provided_apis(apis: &BTreeSet<GroupVersionKind>) -> String {
    let mut entries: Vec<String> = apis.iter().map(ToString::to_string).collect();
    entries.sort_unstable();
    entries.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("EtcdCluster.v1beta2.etcd.database.coreos.com")]
    #[case("Pod.v1.")]
    #[case("Kind.v1.group")]
    fn the_dotted_form_survives_a_round_trip(#[case] text: &str) {
        let gvk: GroupVersionKind = text.parse().unwrap();
        assert_eq!(gvk.to_string(), text);
    }

    #[rstest]
    #[case("")]
    #[case("Pod")]
    #[case("Pod.v1")]
    fn text_with_fewer_than_two_dots_is_refused(#[case] text: &str) {
        assert_eq!(
            text.parse::<GroupVersionKind>(),
            Err(ParseError(text.to_owned()))
        );
    }

    #[test]
    fn the_group_keeps_its_dots() {
        let gvk: GroupVersionKind = "A.v1.b.c.d".parse().unwrap();
        assert_eq!(gvk, GroupVersionKind::new("b.c.d", "v1", "A"));
        assert_eq!(gvk.api_version(), "b.c.d/v1");
        assert_eq!(GroupVersionKind::new("", "v1", "Pod").api_version(), "v1");
    }

    #[test]
    fn provided_apis_are_sorted_and_unreadable_entries_are_skipped() {
        let apis = parse_provided_apis("B.v1.x, A.v1.z,nonsense,,A.v1.y");
        assert_eq!(format_provided_apis(&apis), "A.v1.y,A.v1.z,B.v1.x");
        assert!(parse_provided_apis("").is_empty());
    }

    #[rstest]
    #[case::one_word("nonsense")]
    #[case::one_dot("A.v1")]
    #[case::nothing("")]
    #[case::blanks("   ")]
    #[case::other_signs("A/v1/x")]
    fn an_entry_that_cannot_be_read_costs_none_of_those_beside_it(#[case] bad: &str) {
        let good = ["A.v1.x", "B.v1.x"];
        let expected: BTreeSet<_> = good.iter().map(|it| it.parse().unwrap()).collect();
        for at in 0..=good.len() {
            let mut entries = good.to_vec();
            entries.insert(at, bad);
            assert_eq!(
                parse_provided_apis(&entries.join(",")),
                expected,
                "{bad:?} at {at}"
            );
        }
    }

    #[test]
    fn entries_of_which_none_can_be_read_are_no_apis() {
        for annotation in ["nonsense", "nonsense,A.v1, ,B", ",,,", "A/v1/x;B.v1"] {
            let apis = parse_provided_apis(annotation);
            assert!(apis.is_empty(), "{annotation}: {apis:?}");
            assert_eq!(format_provided_apis(&apis), "");
        }
    }
}
