//! The namespaces that an OperatorGroup covers, and whether an operator can serve them.

use std::collections::{BTreeMap, BTreeSet};

use kube::core::{Selector, SelectorExt as _};

use crate::api::cluster_service_version::install::{InstallMode, InstallModeType};
use crate::api::conditions::CsvReason;
use crate::api::operator_group::OperatorGroupSpec;

/// How OLM writes "all namespaces" where the name of one is expected.
const ALL: &str = "";

/// The labels of the namespaces of a cluster, by their names.
pub type Namespaces<'a> = BTreeMap<&'a str, &'a BTreeMap<String, String>>;

/// The namespaces that a group covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Targets {
    /// All, also those that are yet to come.
    All,
    /// These; none when a selector matches nothing.
    Named(BTreeSet<String>),
}

/// Why it cannot be told which namespaces a group covers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetsError {
    /// An empty name among others.
    #[error(
        "TargetNamespaces cannot contain NamespaceAll: [{}]: take the empty name out of \
         spec.targetNamespaces, or leave out both spec.targetNamespaces and spec.selector to cover \
         all namespaces", .0.join(" ")
    )]
    NamespaceAll(Vec<String>),
    /// The selector makes no sense.
    #[error("spec.selector cannot be understood: {0}: correct it, or name spec.targetNamespaces")]
    Selector(String),
}

impl Targets {
    /// The namespaces that a group asks for. Names count before the selector, and count whether
    /// or not there is such a namespace: it may still come.
    pub fn of(spec: &OperatorGroupSpec, namespaces: &Namespaces<'_>) -> Result<Self, TargetsError> {
        if !spec.target_namespaces.is_empty() {
            if spec.target_namespaces.iter().any(|name| name == ALL) {
                return Err(TargetsError::NamespaceAll(spec.target_namespaces.clone()));
            }
            return Ok(Self::Named(
                spec.target_namespaces.iter().cloned().collect(),
            ));
        }
        let Some(selector) = &spec.selector else {
            return Ok(Self::All);
        };
        for requirement in selector.match_expressions.iter().flatten() {
            check(requirement).map_err(TargetsError::Selector)?;
        }
        let selector = Selector::try_from(selector.clone())
            .map_err(|error| TargetsError::Selector(error.to_string()))?;
        if selector.selects_all() {
            return Ok(Self::All);
        }
        let selected = namespaces
            .iter()
            .filter(|(_, labels)| selector.matches(labels));
        Ok(Self::Named(
            selected.map(|(name, _)| (*name).to_owned()).collect(),
        ))
    }

    /// Reads the namespaces of a group's status.
    pub fn from_status(namespaces: &[String]) -> Self {
        match namespaces {
            [only] if only == ALL => Self::All,
            names => Self::Named(names.iter().cloned().collect()),
        }
    }

    /// Writes the namespaces for a group's status, sorted.
    pub fn to_status(&self) -> Vec<String> {
        match self {
            Self::All => vec![ALL.to_owned()],
            Self::Named(names) => names.iter().cloned().collect(),
        }
    }

    /// Writes the namespaces for the annotation `olm.targetNamespaces`.
    pub fn annotation(&self) -> String {
        self.to_status().join(",")
    }

    /// Whether a namespace is covered.
    pub fn contains(&self, namespace: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => names.contains(namespace),
        }
    }

    /// Those that a group names and that do not exist, sorted. What a selector matches always does.
    pub fn missing(&self, namespaces: &Namespaces<'_>) -> Vec<String> {
        match self {
            Self::All => Vec::new(),
            Self::Named(names) => {
                let missing = names
                    .iter()
                    .filter(|name| !namespaces.contains_key(name.as_str()));
                missing.cloned().collect()
            }
        }
    }

    /// Whether a namespace is covered by both.
    pub fn intersects(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All, Self::All) => true,
            (Self::All, Self::Named(names)) | (Self::Named(names), Self::All) => !names.is_empty(),
            (Self::Named(left), Self::Named(right)) => !left.is_disjoint(right),
        }
    }
}

/// What the API server checks where it uses a selector itself.
fn check(
    requirement: &k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelectorRequirement,
) -> Result<(), String> {
    let (key, operator) = (&requirement.key, requirement.operator.as_str());
    let none = requirement.values.as_ref().is_none_or(Vec::is_empty);
    match (operator, none) {
        ("In" | "NotIn", true) => Err(format!("`{key}` {operator} needs values")),
        ("Exists" | "DoesNotExist", false) => Err(format!("`{key}` {operator} takes no values")),
        ("In" | "NotIn" | "Exists" | "DoesNotExist", _) => Ok(()),
        _ => Err(format!(
            "`{operator}` for `{key}` is not one of In, NotIn, Exists, DoesNotExist"
        )),
    }
}

/// Why an operator cannot be a member of its OperatorGroup.
///
/// The first sentence is OLM's, which clients know.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InstallModeError {
    /// A mode is listed twice.
    #[error(
        "InstallMode list contains duplicates, cannot make set: {}: list each type once in \
         spec.installModes", modes(.0)
    )]
    Duplicates(Vec<InstallMode>),
    /// The group covers nothing.
    #[error(
        "operatorgroup has invalid selected namespaces, cannot configure to watch zero namespaces: \
         label a namespace so that the OperatorGroup's spec.selector matches it"
    )]
    NoNamespace,
    /// The group names all namespaces and others.
    #[error(
        "operatorgroup has invalid selected namespaces, NamespaceAll found when |selected \
         namespaces| > 1: take the empty name out of the OperatorGroup's spec.targetNamespaces"
    )]
    AllAndOthers,
    /// The operator does not support the choice of namespaces.
    #[error(
        "{mode} InstallModeType not supported, cannot configure to watch {what}: the operator \
         supports {}; change the namespaces of the OperatorGroup, or install the operator in \
         another namespace", supported(.modes)
    )]
    Unsupported {
        /// The mode that is missing.
        mode: InstallModeType,
        /// What it is needed for.
        what: String,
        /// What the operator supports.
        modes: Vec<InstallMode>,
    },
}

impl InstallModeError {
    /// What a ClusterServiceVersion gives as its reason.
    pub fn reason(&self) -> CsvReason {
        match self {
            Self::Duplicates(_) => CsvReason::InvalidInstallModes,
            _ => CsvReason::UnsupportedOperatorGroup,
        }
    }
}

/// Whether an operator with these install modes, running in a namespace of its own, can serve the
/// namespaces of its group. A mode that is not listed is not supported.
pub fn check_install_modes(
    modes: &[InstallMode],
    own: &str,
    targets: &[String],
) -> Result<(), InstallModeError> {
    let mut seen = BTreeSet::new();
    if !modes.iter().all(|mode| seen.insert(&mode.type_)) {
        return Err(InstallModeError::Duplicates(modes.to_vec()));
    }
    let need = |mode: InstallModeType, what: &str| {
        let listed = modes.iter().find(|listed| listed.type_ == mode);
        if listed.is_some_and(|listed| listed.supported) {
            return Ok(());
        }
        Err(InstallModeError::Unsupported {
            mode,
            what: what.to_owned(),
            modes: modes.to_vec(),
        })
    };
    match targets {
        [] => Err(InstallModeError::NoNamespace),
        [only] if only == own => need(InstallModeType::OwnNamespace, "own namespace"),
        [only] if only == ALL => need(InstallModeType::AllNamespaces, "all namespaces"),
        [_] => need(InstallModeType::SingleNamespace, "one namespace"),
        several => {
            let what = format!("{} namespaces", several.len());
            need(InstallModeType::MultiNamespace, &what)?;
            if several.iter().any(|name| name == ALL) {
                return Err(InstallModeError::AllAndOthers);
            }
            if several.iter().any(|name| name == own) {
                need(InstallModeType::OwnNamespace, "own namespace")?;
            }
            Ok(())
        }
    }
}

/// The list as Go prints it.
fn modes(modes: &[InstallMode]) -> String {
    let entries: Vec<String> = modes
        .iter()
        .map(|mode| format!("{{{} {}}}", mode.type_, mode.supported))
        .collect();
    format!("[{}]", entries.join(" "))
}

fn supported(modes: &[InstallMode]) -> String {
    let names: Vec<&str> = modes
        .iter()
        .filter(|mode| mode.supported)
        .map(|mode| mode.type_.as_str())
        .collect();
    if names.is_empty() {
        return "no install mode".to_owned();
    }
    names.join(", ")
}

#[cfg(test)]
mod tests;
