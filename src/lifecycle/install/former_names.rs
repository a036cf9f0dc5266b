//! What old releases of OLM called otherwise that goes with an API: by the API, and not by the Deployment that
//! serves it. It is of no use any more once the API is served under the names of today, and Kubernetes does not
//! remove it: it has labels for an owner only.

use std::collections::BTreeMap;

use serde_json::Value;

use super::claims::asked_for;
use super::object::{Key, home, is_labelled_as, is_labelled_by, text};
use super::services::{KUBE_SYSTEM, secret_name};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::cluster_service_version::apis::ApiServiceDescription;

/// An API, and what an operator may have for it under former names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Former {
    /// The APIService.
    pub api: Key,
    /// The objects.
    pub objects: Vec<Key>,
}

/// What a CSV may have under former names, without what is called the same today.
pub fn former_names(csv: &ClusterServiceVersion) -> Vec<Former> {
    let namespace = home(csv);
    let in_use = asked_for(csv);
    let owned = csv.spec.api_service_definitions.owned.iter();
    let names = owned.map(ApiServiceDescription::api_service_name);
    let formers: BTreeMap<String, Former> = names
        .map(|api| {
            let secret = secret_name(&api);
            let objects = [
                Key::new("Service", &namespace, &service_name(&api)),
                Key::new("Secret", &namespace, &secret),
                Key::new("RoleBinding", &namespace, &secret),
                Key::new("Role", &namespace, &secret),
                Key::new(
                    "ClusterRoleBinding",
                    "",
                    &format!("{api}-system:auth-delegator"),
                ),
                Key::new("RoleBinding", KUBE_SYSTEM, &format!("{api}-auth-reader")),
            ];
            let objects = objects.into_iter().filter(|key| !in_use.contains(key));
            let former = Former {
                api: Key::new("APIService", "", &api),
                objects: objects.collect(),
            };
            (api, former)
        })
        .collect();
    formers.into_values().collect()
}

/// Name of the Service in front of an API.
fn service_name(api: &str) -> String {
    api.replace('.', "-")
}

/// Whether an APIService of the cluster still asks the Service of its former name.
pub fn is_called(api_service: &Value, csv: &ClusterServiceVersion) -> bool {
    text(api_service, "/spec/service/namespace") == home(csv)
        && text(api_service, "/spec/service/name")
            == service_name(text(api_service, "/metadata/name"))
}

/// Whether an object is of a CSV, or of the one that it replaces, by its labels. What looks like it and is
/// somebody else's is left alone.
pub fn is_of(object: &Value, csv: &ClusterServiceVersion) -> bool {
    let replaced = csv.spec.replaces.as_str();
    is_labelled_by(object, csv)
        || (!replaced.is_empty() && is_labelled_as(object, replaced, &home(csv)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn csv(api: &Value) -> ClusterServiceVersion {
        serde_json::from_value(json!({
            "metadata": {"name": "hats.v2", "namespace": "home"},
            "spec": {
                "displayName": "Hats", "replaces": "hats.v1",
                "install": {"strategy": "deployment", "spec": {"deployments": [
                    {"name": "hats", "spec": {"selector": {}, "template": {}}},
                ]}},
                "apiservicedefinitions": {"owned": [api, api]},
            },
        }))
        .unwrap()
    }

    fn api(group: &str, version: &str) -> Value {
        json!({
            "name": "fedoras", "group": group, "version": version, "kind": "Fedora",
            "deploymentName": "hats", "containerPort": 5443,
        })
    }

    #[test]
    fn what_goes_with_an_api_was_called_by_the_api() {
        let formers = former_names(&csv(&api("hats.example.com", "v1")));
        let [former] = formers.as_slice() else {
            panic!("{formers:?}");
        };
        let names: Vec<String> = former.objects.iter().map(ToString::to_string).collect();
        assert_eq!(former.api.to_string(), "APIService v1.hats.example.com");
        assert_eq!(
            names,
            [
                "Service home/v1-hats-example-com",
                "Secret home/v1.hats.example.com-cert",
                "RoleBinding home/v1.hats.example.com-cert",
                "Role home/v1.hats.example.com-cert",
                "ClusterRoleBinding v1.hats.example.com-system:auth-delegator",
                "RoleBinding kube-system/v1.hats.example.com-auth-reader",
            ]
        );
    }

    #[test]
    fn what_is_called_the_same_today_is_in_use() {
        let formers = former_names(&csv(&api("service", "hats")));
        let names = formers.iter().flat_map(|it| &it.objects);
        let names: Vec<String> = names.map(ToString::to_string).collect();
        assert!(
            !names.contains(&"Service home/hats-service".to_owned()),
            "{names:?}"
        );
    }

    #[test]
    fn what_is_not_the_operators_by_its_labels_is_left_alone() {
        let csv = csv(&api("hats.example.com", "v1"));
        let labelled = |owner: &str, namespace: &str| {
            json!({"metadata": {"labels": {
                "olm.owner": owner, "olm.owner.namespace": namespace,
                "olm.owner.kind": "ClusterServiceVersion",
            }}})
        };
        assert!(is_of(&labelled("hats.v2", "home"), &csv));
        assert!(is_of(&labelled("hats.v1", "home"), &csv));
        assert!(!is_of(&labelled("hats.v2", "abroad"), &csv));
        assert!(!is_of(&labelled("caps.v1", "home"), &csv));
        assert!(!is_of(&json!({"metadata": {}}), &csv));
        let mut first = csv.clone();
        first.spec.replaces = String::new();
        assert!(!is_of(&labelled("", "home"), &first));
    }

    #[test]
    fn an_api_service_may_still_ask_the_service_of_its_former_name() {
        let csv = csv(&api("hats.example.com", "v1"));
        let asking = |service: &str| {
            json!({
                "metadata": {"name": "v1.hats.example.com"},
                "spec": {"service": {"namespace": "home", "name": service}},
            })
        };
        assert!(is_called(&asking("v1-hats-example-com"), &csv));
        assert!(!is_called(&asking("hats-service"), &csv));
    }
}
