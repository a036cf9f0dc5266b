//! What a new CRD changes.

use std::fmt;

/// How bad a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// No object that was valid becomes invalid or loses anything.
    Harmless,
    /// It depends on the objects in the cluster.
    NeedsLiveCheck,
    /// It loses data, or the API server refuses it, whatever objects there are.
    Refused,
}

/// What changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(
    missing_docs,
    reason = "the names say it, and the change's words say it in full"
)]
pub enum ChangeKind {
    StoredVersionRemoved,
    VersionNoLongerServed,
    ScopeChanged,
    KindChanged,
    UnknownFieldsDropped,
    UnknownFieldsKept,
    SchemaAdded,
    SchemaRemoved,
    TooDeep,
    FieldAdded,
    FieldRemoved,
    FieldConstrained,
    RequiredAdded,
    RequiredRemoved,
    TypeChanged,
    TypeWidened,
    EnumAdded,
    EnumValueRemoved,
    EnumValueAdded,
    EnumRemoved,
    BoundTightened,
    BoundLoosened,
    PatternChanged,
    PatternRemoved,
    FormatChanged,
    FormatWidened,
    DefaultAdded,
    DefaultChanged,
    DefaultRemoved,
    NullableRemoved,
    NullableAdded,
    OtherFieldsClosed,
    OtherFieldsTyped,
    OtherFieldsOpened,
    ListTypeChanged,
    MapTypeChanged,
    EmbeddedResourceChanged,
    RuleAdded,
    RuleRemoved,
    LogicChanged,
    LogicRemoved,
}

/// One difference between the CRD in the cluster and the one that is to replace it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SchemaChange {
    /// Where, for example `spec.versions[v1].schema.spec.replicas`.
    pub path: String,
    /// What.
    pub kind: ChangeKind,
    /// How bad.
    pub severity: Severity,
    /// The same as a sentence without its subject and without a full stop: "it is now required".
    pub words: String,
}

impl fmt::Display for SchemaChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.words)
    }
}
