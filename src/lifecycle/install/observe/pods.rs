//! What keeps the Pods of a Deployment from running, in words.
//!
//! A Deployment says how many Pods are missing, not why. The Pods do, and are read only while a
//! Deployment is not ready. What is said stays the same as long as the trouble does: no counts and no
//! times, which would have a status written every few seconds.

#[cfg(test)]
mod tests;

use std::time::Duration;

use k8s_openapi::api::core::v1::{ContainerStateTerminated, ContainerStatus, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, Time};
use kube::ResourceExt as _;
use kube::core::{Selector, SelectorExt as _};
use serde::Deserialize as _;
use serde_json::Value;

use super::readiness::{Readiness, readiness};
use super::{Desired, Seen};
use crate::lifecycle::install::object::{Key, text};
use crate::lifecycle::install::state::Installation;

/// What a container says that is being started.
pub(super) const STARTING: [&str; 2] = ["ContainerCreating", "PodInitializing"];
/// What a container says whose image does not come, by turns.
const PULLING: [&str; 2] = ["ErrImagePull", "ImagePullBackOff"];
const CRASHING: &str = "CrashLoopBackOff";
/// How long a container may run before it is worth telling that it is not ready.
const WARM_UP: Duration = Duration::from_secs(10);
/// How many lines of a container's last words are told, and how many characters.
const LAST_LINES: usize = 3;
const LAST_WORDS: usize = 400;

/// Tells of an installation that is not ready what its Pods say, if they say anything. `pods` are those of
/// the namespace.
pub fn explain(
    installation: Installation,
    desired: &Desired,
    seen: &Seen,
    pods: &[Pod],
    now: &Time,
) -> Installation {
    let with = |message: String, trouble: &Trouble| {
        let message = message.trim_end_matches('.');
        format!("{message}; {}", trouble.message)
    };
    let trouble = || trouble(desired, seen, pods, now);
    match installation {
        Installation::Waiting { message, .. } => match trouble() {
            Some(trouble) => Installation::Waiting {
                message: with(message, &trouble),
                is_failing: trouble.is_failure,
            },
            None => Installation::Waiting {
                message,
                is_failing: false,
            },
        },
        Installation::Stuck { message } => Installation::Stuck {
            message: match trouble() {
                Some(trouble) => with(message, &trouble),
                None => message,
            },
        },
        other => other,
    }
}

/// What keeps a Pod from running.
struct Trouble {
    message: String,
    /// Whether it was tried and failed; else it may only take long.
    is_failure: bool,
}

impl Trouble {
    fn failure(message: String) -> Self {
        Self {
            message,
            is_failure: true,
        }
    }

    fn delay(message: String) -> Self {
        Self {
            message,
            is_failure: false,
        }
    }
}

/// The first trouble of the first Deployment that is not ready and has one.
fn trouble(desired: &Desired, seen: &Seen, pods: &[Pod], now: &Time) -> Option<Trouble> {
    desired.deployments.iter().find_map(|deployment| {
        let name = text(deployment, "/metadata/name");
        let live = seen.get(&Key::of(deployment))?;
        if readiness(name, live) == Readiness::Ready {
            return None;
        }
        let mut pods: Vec<&Pod> = pods
            .iter()
            .filter(|pod| is_of(pod, live) && pod.metadata.deletion_timestamp.is_none())
            .collect();
        // The newest Pods are those that are waited for.
        pods.sort_by_cached_key(|pod| (pod.creation_timestamp(), pod.name_any()));
        let told = pods.into_iter().rev().find_map(|pod| of_pod(pod, now));
        told.or_else(|| without_pods(live).map(Trouble::failure))
    })
}

/// Whether a Pod is one of a Deployment.
pub(super) fn is_of(pod: &Pod, deployment: &Value) -> bool {
    selector(deployment).is_some_and(|selector| selector.matches(pod.labels()))
}

/// What tells the Pods of a Deployment from others, if it makes sense.
pub fn selector(deployment: &Value) -> Option<Selector> {
    let selector = LabelSelector::deserialize(deployment.pointer("/spec/selector")?).ok()?;
    Selector::try_from(selector).ok()
}

/// Why Pods cannot even be created, as with a quota or a missing ServiceAccount.
fn without_pods(deployment: &Value) -> Option<String> {
    let conditions = deployment.pointer("/status/conditions")?.as_array()?;
    let failure = conditions.iter().find(|condition| {
        text(condition, "/type") == "ReplicaFailure" && text(condition, "/status") == "True"
    })?;
    let message = text(failure, "/message");
    Some(format!("its Pods cannot be created: {message}"))
}

fn of_pod(pod: &Pod, now: &Time) -> Option<Trouble> {
    let name = pod.name_any();
    if let Some(why) = unschedulable(pod) {
        return Some(Trouble::delay(format!("no node takes Pod {name}: {why}")));
    }
    let status = pod.status.as_ref()?;
    let init = status.init_container_statuses.as_deref();
    let containers = status.container_statuses.as_deref();
    let init = init.unwrap_or_default().iter();
    let all = init.chain(containers.unwrap_or_default());
    let all: Vec<&ContainerStatus> = all.collect();
    let broken = all.iter().find_map(|status| of_container(pod, status));
    let unready = || {
        let containers = containers.unwrap_or_default().iter();
        let mut unready = containers.filter(|status| is_unready(status, now));
        let container = unready.next()?;
        Some(Trouble::delay(format!(
            "container {} of Pod {name} runs and is not ready: see its readiness probe and `{}`",
            container.name,
            logs(pod, &container.name, "")
        )))
    };
    broken.or_else(unready)
}

/// What the scheduler says of a Pod that it has no place for.
pub(super) fn unschedulable(pod: &Pod) -> Option<&str> {
    let conditions = pod.status.as_ref()?.conditions.as_deref()?;
    let condition = conditions.iter().find(|condition| {
        condition.type_ == "PodScheduled"
            && condition.status == "False"
            && condition.reason.as_deref() == Some("Unschedulable")
    })?;
    Some(condition.message.as_deref().unwrap_or("it does not fit"))
}

fn of_container(pod: &Pod, status: &ContainerStatus) -> Option<Trouble> {
    let who = format!("container {} of Pod {}", status.name, pod.name_any());
    let state = status.state.as_ref();
    let waiting = state.and_then(|state| state.waiting.as_ref());
    let reason = waiting.and_then(|waiting| waiting.reason.as_deref());
    let reason = reason.unwrap_or_default();
    let why = waiting.and_then(|waiting| waiting.message.as_deref());
    let why = why.unwrap_or_default();
    if PULLING.contains(&reason) {
        // The one says what the other says after a prefix that counts.
        let why = why.rsplit("ErrImagePull: ").next().unwrap_or_default();
        let what = format!(
            "{who} waits for its image {} (ImagePullBackOff)",
            status.image
        );
        return Some(Trouble::failure(with(&what, why)));
    }
    if let Some(ended) = bad_end(status) {
        // Each time it is started again it says something else for a moment.
        let again = status.restart_count > 0 || reason == CRASHING;
        let ends = if again {
            format!("{who} ends again and again ({CRASHING}), last with")
        } else {
            format!("{who} ended with")
        };
        let what = format!("{ends} {}", end(ended));
        let said = last_words(ended.message.as_deref().unwrap_or_default());
        let see = logs(pod, &status.name, " --previous");
        return Some(Trouble {
            message: format!("{}; see `{see}`", with(&what, &said)),
            // Once is no habit: it may have been too early.
            is_failure: again,
        });
    }
    if reason.is_empty() || STARTING.contains(&reason) {
        return None;
    }
    let what = format!("{who} cannot start ({reason})");
    Some(Trouble::failure(with(&what, why)))
}

fn with(what: &str, why: &str) -> String {
    match why.trim() {
        "" => what.to_owned(),
        why => format!("{what}: {why}"),
    }
}

/// How a container ended last, unless it is ready by now or had done its work.
fn bad_end(status: &ContainerStatus) -> Option<&ContainerStateTerminated> {
    let now_and_before = [status.state.as_ref(), status.last_state.as_ref()];
    let mut ends = now_and_before
        .into_iter()
        .filter_map(|state| state?.terminated.as_ref());
    let ended = ends.next()?;
    (!status.ready && ended.exit_code != 0).then_some(ended)
}

/// An exit code and what it stands for.
fn end(ended: &ContainerStateTerminated) -> String {
    match ended.reason.as_deref() {
        Some(reason) if !reason.is_empty() => format!("exit code {} ({reason})", ended.exit_code),
        _ => format!("exit code {}", ended.exit_code),
    }
}

/// The end of what a container said, in one line.
fn last_words(said: &str) -> String {
    let lines: Vec<&str> = said
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let last = lines[lines.len().saturating_sub(LAST_LINES)..].join(" / ");
    let surplus = last.chars().count().saturating_sub(LAST_WORDS);
    let end: String = last.chars().skip(surplus).collect();
    match surplus {
        0 => end,
        _ => format!("…{end}"),
    }
}

fn is_unready(status: &ContainerStatus, now: &Time) -> bool {
    let running = status
        .state
        .as_ref()
        .and_then(|state| state.running.as_ref());
    let since = running.and_then(|running| running.started_at.as_ref());
    let has_had_time = since.is_some_and(|since| {
        let warm = since.0.checked_add(WARM_UP);
        warm.is_ok_and(|warm| warm <= now.0)
    });
    !status.ready && has_had_time
}

fn logs(pod: &Pod, container: &str, more: &str) -> String {
    let namespace = pod.namespace().unwrap_or_default();
    let name = pod.name_any();
    format!("kubectl logs -n {namespace} {name} -c {container}{more}")
}
