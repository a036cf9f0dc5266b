//! Whether the owned APIServices of an operator are served.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt as _;
use serde_json::Value;

use super::Seen;
use super::pods::{STARTING, is_of, unschedulable};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::gvk::GroupVersionKind;
use crate::lifecycle::install::object::{Key, home, text};
use crate::lifecycle::install::state::ApiServices;

/// How long a Pod may take to come back before that is a failure and no longer a disruption.
const DISRUPTION: Duration = Duration::from_mins(5);
/// What a container says that will not start by waiting.
const FAILING: [&str; 5] = [
    "ImagePullBackOff",
    "ErrImagePull",
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "InvalidImageName",
];

/// How the owned APIServices of a CSV stand. `is_served` tells whether discovery has a kind; `pods` are
/// those of the namespace.
pub fn api_services(
    csv: &ClusterServiceVersion,
    seen: &Seen,
    is_served: impl Fn(&GroupVersionKind) -> bool,
    pods: &[Pod],
    now: &Time,
) -> ApiServices {
    for api in &csv.spec.api_service_definitions.owned {
        let name = api.api_service_name();
        let unavailable = |message: String| ApiServices::Unavailable {
            since_disruption: is_disrupted(csv, seen, pods, now),
            message,
        };
        let Some(live) = seen.get(&Key::new("APIService", "", &name)) else {
            return ApiServices::Unavailable {
                message: format!("APIService {name} is missing"),
                since_disruption: false,
            };
        };
        let available = available(live);
        if available.is_none_or(|condition| text(condition, "/status") != "True") {
            let why = available.map(|condition| text(condition, "/message"));
            let why = why
                .filter(|why| !why.is_empty())
                .unwrap_or("not looked at yet");
            return unavailable(format!(
                "APIService {name} is not available: {why}; see the Pods of \
                 deployment {} and the Service in front of them",
                api.deployment_name
            ));
        }
        let gvk = GroupVersionKind::new(&api.group, &api.version, &api.kind);
        if !is_served(&gvk) {
            return ApiServices::Unavailable {
                message: format!(
                    "{gvk} is not served by APIService {name}; see the logs of \
                     deployment {}",
                    api.deployment_name
                ),
                since_disruption: false,
            };
        }
    }
    ApiServices::Fine
}

fn available(api_service: &Value) -> Option<&Value> {
    let conditions = api_service.pointer("/status/conditions")?.as_array()?;
    conditions
        .iter()
        .find(|condition| text(condition, "/type") == "Available")
}

/// Whether Pods of the operator are just being moved or started, as they are when a node goes.
fn is_disrupted(csv: &ClusterServiceVersion, seen: &Seen, pods: &[Pod], now: &Time) -> bool {
    csv.spec.install.spec.deployments.iter().any(|template| {
        let key = Key::new("Deployment", &home(csv), &template.name);
        seen.get(&key).is_some_and(|deployment| {
            let number = |field: &str| {
                let number = deployment.pointer(&format!("/status/{field}"));
                number.and_then(Value::as_i64).unwrap_or_default()
            };
            let lacks_pods =
                number("unavailableReplicas") > 0 || number("updatedReplicas") < number("replicas");
            lacks_pods
                && pods
                    .iter()
                    .filter(|pod| is_of(pod, deployment))
                    .any(|pod| is_coming(pod, now))
        })
    })
}

/// Whether a Pod goes or comes, without having taken too long.
fn is_coming(pod: &Pod, now: &Time) -> bool {
    let is_young = pod.creation_timestamp().is_some_and(|created| {
        let deadline = created.0.checked_add(DISRUPTION);
        deadline.is_ok_and(|deadline| now.0 <= deadline)
    });
    if !is_young {
        return false;
    }
    if pod.metadata.deletion_timestamp.is_some() {
        return true;
    }
    let status = pod.status.as_ref();
    let containers = status.and_then(|status| status.container_statuses.as_deref());
    let containers = containers.unwrap_or_default();
    let init = status.and_then(|status| status.init_container_statuses.as_deref());
    let init = init.unwrap_or_default();
    let waits_for = |statuses: &[ContainerStatus], words: &[&str]| {
        let mut reasons = statuses.iter().filter_map(waiting);
        reasons.any(|reason| words.contains(&reason))
    };
    let is_pending = status.and_then(|status| status.phase.as_deref()) == Some("Pending");
    if !is_pending {
        return waits_for(containers, &STARTING);
    }
    if unschedulable(pod).is_some() || waits_for(containers, &FAILING) || waits_for(init, &FAILING)
    {
        return false;
    }
    let says_nothing = containers.is_empty() && init.is_empty();
    says_nothing || waits_for(containers, &STARTING) || waits_for(init, &STARTING)
}

fn waiting(status: &ContainerStatus) -> Option<&str> {
    status.state.as_ref()?.waiting.as_ref()?.reason.as_deref()
}
