//! What goes by itself with what a removal takes.
//!
//! Kubernetes takes away what something owned that is gone; and with a ClusterServiceVersion goes what carries its name
//! because it cannot be owned, and its copies in the namespaces that it serves. Nobody deletes that as a part of the
//! removal, but whoever asks what goes has to be told.

use std::collections::BTreeSet;

use super::{CSV, Goes, Marked, Reference};
use crate::api::labels;

/// What may carry the labels of a ClusterServiceVersion without being owned by it: API version, kind, and namespace, if
/// it is in one. The aggregated roles of its APIs are not among them: those belong to the APIs.
pub(crate) const LABELLED: [(&str, &str, Option<&str>); 6] = [
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", None),
    ("rbac.authorization.k8s.io/v1", "ClusterRole", None),
    (
        "admissionregistration.k8s.io/v1",
        "MutatingWebhookConfiguration",
        None,
    ),
    (
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
        None,
    ),
    ("apiregistration.k8s.io/v1", "APIService", None),
    // By which servers of APIs learn whose certificates to trust.
    (
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        Some("kube-system"),
    ),
];

/// What goes with these objects, out of others that are there.
pub fn trail<'a>(going: impl IntoIterator<Item = &'a Goes>, others: &[Marked]) -> Vec<Goes> {
    let mut all = Going::default();
    for it in going {
        all.add(&it.object, &it.uid);
    }
    let mut left: Vec<&Marked> = others.iter().collect();
    left.retain(|it| !all.objects.contains(&it.object));
    let mut trail = Vec::new();
    // What goes with something may have something itself.
    loop {
        let (goes, stays): (Vec<_>, Vec<_>) = left.into_iter().partition(|it| all.takes(it));
        if goes.is_empty() {
            break;
        }
        for it in goes {
            all.add(&it.object, &it.uid);
            trail.push(Goes {
                object: it.object.clone(),
                why: "it goes with what it belongs to".to_owned(),
                is_going: it.is_going,
                finalizers: it.finalizers.clone(),
                uid: it.uid.clone(),
                ..Goes::default()
            });
        }
        left = stays;
    }
    trail.sort_by(|a, b| a.object.cmp(&b.object));
    trail.dedup_by(|a, b| a.object == b.object);
    trail
}

#[derive(Default)]
struct Going {
    objects: BTreeSet<Reference>,
    uids: BTreeSet<String>,
}

impl Going {
    fn add(&mut self, object: &Reference, uid: &str) {
        self.objects.insert(object.clone());
        if !uid.is_empty() {
            self.uids.insert(uid.to_owned());
        }
    }

    fn takes(&self, it: &Marked) -> bool {
        let is_owned = !it.owners.is_empty() && it.owners.is_subset(&self.uids);
        is_owned || self.is_labelled(it) || self.is_copy(it)
    }

    fn is_labelled(&self, it: &Marked) -> bool {
        let label = |key: &str| it.labels.get(key).map(String::as_str);
        let mut places = LABELLED.iter();
        label(labels::OWNER_KIND) == Some(CSV)
            && places.any(|(_, kind, namespace)| {
                *kind == it.object.kind && namespace.unwrap_or_default() == it.object.namespace
            })
            && self.csvs().any(|csv| {
                label(labels::OWNER) == Some(&labels::owner_value(&csv.name))
                    && label(labels::OWNER_NAMESPACE) == Some(&csv.namespace)
            })
    }

    fn is_copy(&self, it: &Marked) -> bool {
        let home = it.labels.get(labels::COPIED_FROM);
        it.object.kind == CSV
            && self
                .csvs()
                .any(|csv| csv.name == it.object.name && Some(&csv.namespace) == home)
    }

    fn csvs(&self) -> impl Iterator<Item = &Reference> {
        self.objects.iter().filter(|it| it.kind == CSV)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(kind: &str, place: &str) -> Reference {
        let (namespace, name) = place.split_once('/').unwrap_or(("", place));
        Reference {
            api_version: "v1".to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    fn going(kind: &str, place: &str) -> Goes {
        Goes {
            object: reference(kind, place),
            uid: format!("{kind} {place}"),
            ..Goes::default()
        }
    }

    /// An object, the uids of its owners, and its labels.
    fn other(kind: &str, place: &str, owners: &[&str], labels: &[(&str, &str)]) -> Marked {
        let labels = labels.iter();
        Marked {
            object: reference(kind, place),
            uid: format!("{kind} {place}"),
            owners: owners.iter().map(ToString::to_string).collect(),
            labels: labels
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
            ..Marked::default()
        }
    }

    fn names(going: &[Goes], others: &[Marked]) -> Vec<String> {
        let trail = trail(going, others);
        trail.iter().map(|it| it.object.to_string()).collect()
    }

    const OWNED: [(&str, &str); 3] = [
        ("olm.owner", "gopher.v1"),
        ("olm.owner.namespace", "port"),
        ("olm.owner.kind", "ClusterServiceVersion"),
    ];

    #[test]
    fn what_is_owned_goes_with_all_of_its_owners_and_takes_what_it_owns() {
        let going = [
            going("ClusterServiceVersion", "port/gopher.v1"),
            going("ConfigMap", "port/listed"),
        ];
        let csv = "ClusterServiceVersion port/gopher.v1";
        let others = [
            other(
                "Role",
                "port/gopher.v1",
                &["OperatorCondition port/gopher.v1"],
                &[],
            ),
            other("OperatorCondition", "port/gopher.v1", &[csv], &[]),
            other("Secret", "port/shared", &[csv, "somebody else"], &[]),
            other("Secret", "port/free", &[], &[]),
            other("ConfigMap", "port/listed", &[csv], &[]),
        ];
        assert_eq!(
            names(&going, &others),
            ["OperatorCondition port/gopher.v1", "Role port/gopher.v1"]
        );
    }

    #[test]
    fn what_carries_the_name_of_an_operator_goes_where_it_cannot_be_owned() {
        let going = [going("ClusterServiceVersion", "port/gopher.v1")];
        let elsewhere = [OWNED[0], ("olm.owner.namespace", "harbor"), OWNED[2]];
        let others = [
            other("RoleBinding", "kube-system/gopher-auth", &[], &OWNED),
            other("RoleBinding", "port/of-a-user", &[], &OWNED),
            other("ClusterRole", "gopher", &[], &OWNED),
            other("ClusterRole", "gopher-elsewhere", &[], &elsewhere),
            other("ClusterRole", "gopher-half", &[], &OWNED[..2]),
            other("PriorityClass", "gopher", &[], &OWNED),
        ];
        assert_eq!(
            names(&going, &others),
            ["ClusterRole gopher", "RoleBinding kube-system/gopher-auth"]
        );
    }

    #[test]
    fn copies_of_an_operator_go_with_the_rights_that_they_own() {
        let going = [going("ClusterServiceVersion", "port/gopher.v1")];
        let from = |home| [("olm.copiedFrom", home)];
        let copy = "ClusterServiceVersion bay/gopher.v1";
        let others = [
            other("ClusterServiceVersion", "bay/gopher.v1", &[], &from("port")),
            other("Role", "bay/gopher", &[copy], &from("port")),
            other("ClusterServiceVersion", "bay/gopher.v2", &[], &from("port")),
            other(
                "ClusterServiceVersion",
                "dock/gopher.v1",
                &[],
                &from("harbor"),
            ),
        ];
        assert_eq!(
            names(&going, &others),
            ["ClusterServiceVersion bay/gopher.v1", "Role bay/gopher"]
        );
    }
}
