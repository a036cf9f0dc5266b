//! Whether an installation is there as it is asked for, and what to write if not.

mod api_services;
mod leftovers;
mod pods;
mod readiness;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use k8s_openapi::api::apps::v1::DeploymentSpec;
use serde_json::{Value, json};

pub use self::api_services::api_services;
pub(super) use self::leftovers::{has_former_callers, leftovers};
pub use self::pods::{explain, selector};
use self::readiness::{Readiness, readiness};
use super::certificates::ServingCertificates;
use super::compare::difference;
use super::object::{Key, text};
use super::state::Installation;
use super::{Desired, services};
use crate::api::labels;

/// Objects of the cluster, as far as they were read.
///
/// What [`Desired::keys`] names has to be among them if it exists, and so have all Deployments, APIServices
/// and webhook configurations with the owner labels of the CSV, the Secrets of its certificates and the
/// CRDs that its webhooks convert.
#[derive(Clone, Default)]
pub struct Seen {
    objects: BTreeMap<Key, Value>,
    settled: BTreeMap<Key, Settled>,
    left: BTreeSet<Key>,
    dead: BTreeSet<Key>,
}

/// An object right after we last applied it: which one it was, and what was asked of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// Its `metadata.uid`: one of the same name that somebody else made is another.
    pub uid: String,
    /// Its `metadata.generation`, which grows whenever somebody asks for something else.
    pub generation: i64,
}

/// Names only: Secrets are among the objects.
impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.objects.keys()).finish()
    }
}

impl Seen {
    /// Takes in objects, with their kinds.
    pub fn new(objects: impl IntoIterator<Item = Value>) -> Self {
        let objects = objects.into_iter();
        Self {
            objects: objects.map(|object| (Key::of(&object), object)).collect(),
            settled: BTreeMap::new(),
            left: BTreeSet::new(),
            dead: BTreeSet::new(),
        }
    }

    /// Takes in one more object.
    pub fn insert(&mut self, object: Value) {
        self.objects.insert(Key::of(&object), object);
    }

    /// Tells what an object was right after we last applied it. As long as it is that, it is as the API
    /// server and its admission want it: what differs then is not drift, and writing it again would change
    /// nothing.
    #[must_use]
    pub fn settled(mut self, key: Key, settled: Settled) -> Self {
        self.settled.insert(key, settled);
        self
    }

    /// Leaves an object as somebody else has it, as long as it is there: they change it back whenever we
    /// write it.
    #[must_use]
    pub fn leaving(mut self, key: Key) -> Self {
        self.left.insert(key);
        self
    }

    /// Tells of a Service that somebody calls, that is not there, and that nobody will bring back.
    #[must_use]
    pub fn without(mut self, service: Key) -> Self {
        self.dead.insert(service);
        self
    }

    /// An object, if there is one.
    pub fn get(&self, key: &Key) -> Option<&Value> {
        self.objects.get(key)
    }

    /// The objects of a kind.
    pub fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = (&'a Key, &'a Value)> {
        let objects = self.objects.iter();
        objects.filter(move |(key, _)| key.kind == kind)
    }

    fn is_settled(&self, key: &Key, live: &Value) -> bool {
        let generation = live.pointer("/metadata/generation").and_then(Value::as_i64);
        self.settled.get(key).is_some_and(|settled| {
            generation == Some(settled.generation) && text(live, "/metadata/uid") == settled.uid
        })
    }
}

/// How an installation stands.
///
/// What differs counts before what is not ready: a Deployment that does not come up is mended by what was
/// changed in it. OLM looks at it the other way round and waits for what it does not want any more.
pub fn observe(desired: &Desired, seen: &Seen) -> Installation {
    if let Some((_, message)) = pending(desired, seen).into_iter().next() {
        return Installation::Differs { message };
    }
    let mut waiting = None;
    for deployment in &desired.deployments {
        let name = text(deployment, "/metadata/name");
        let live = seen.get(&Key::of(deployment)).unwrap_or(&Value::Null);
        match readiness(name, live) {
            Readiness::Ready => {}
            Readiness::Waiting(why) => {
                let message = format!("waiting for deployment {name} to become ready: {why}");
                waiting.get_or_insert(message);
            }
            Readiness::Stuck(why) => {
                let message = format!("deployment {name} not ready before timeout: {why}");
                return Installation::Stuck { message };
            }
        }
    }
    match (waiting, desired.leftovers.first()) {
        (Some(message), _) => Installation::Waiting {
            message,
            is_failing: false,
        },
        (None, Some(leftover)) => Installation::Differs {
            message: format!("{leftover} is no longer asked for: it is deleted"),
        },
        (None, None) => Installation::Ready,
    }
}

/// What has to be applied, in this order, and nothing that is there already.
///
/// When a certificate is renewed, whoever calls is told first: see
/// [`certificates`](super::certificates).
pub fn writes<'a>(desired: &'a Desired, seen: &Seen) -> Vec<&'a Value> {
    let pending = pending(desired, seen);
    pending.into_iter().map(|(object, _)| object).collect()
}

/// Somebody who calls, and has to trust another certificate before it is in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tiding {
    /// Who calls.
    pub caller: Key,
    /// Where whom it trusts is written down, as a JSON pointer.
    pub place: String,
    /// Whom it has to trust from now on.
    pub bundle: String,
}

/// Whom to tell whom to trust before certificates are written, beside those that [`writes`] tells: callers
/// that are not written now, because they have to wait or because they are another version's. They would
/// refuse whoever answers with the new certificate.
pub fn tidings(desired: &Desired, seen: &Seen, certificates: &ServingCertificates) -> Vec<Tiding> {
    let mut tidings = tidings_of(&desired.secrets, seen, certificates);
    // Who is written as a whole before any certificate need not be told.
    let written = writes(desired, seen).into_iter().map(Key::of);
    let before: Vec<Key> = written.take_while(|key| key.kind != "Secret").collect();
    tidings.retain(|tiding| !before.contains(&tiding.caller));
    tidings
}

/// Whom to tell whom to trust before these Secrets are written, and nothing else is.
pub(super) fn tidings_of(
    secrets: &[Value],
    seen: &Seen,
    certificates: &ServingCertificates,
) -> Vec<Tiding> {
    let mut tidings = Vec::new();
    for secret in secrets {
        let key = Key::of(secret);
        let certificate = certificates.iter().find(|(deployment, _)| {
            services::secret_name(&services::service_name(deployment)) == key.name
        });
        let is_new = is_new_certificate(secret, seen);
        let Some((deployment, certificate)) = certificate.filter(|_| is_new) else {
            continue;
        };
        let service = services::service_name(deployment);
        for (caller, object) in &seen.objects {
            let calls = called(object)
                .is_some_and(|it| it.namespace == key.namespace && it.service == service);
            let place = CLIENT_CONFIGS.into_iter().find(|place| {
                object
                    .pointer(place)
                    .is_some_and(|it| it.get("service").is_some())
            });
            if let Some(place) = place.filter(|_| calls) {
                let place = format!("{place}/caBundle");
                let bundle = certificate.bundle();
                if text(object, &place) != bundle {
                    tidings.push(Tiding {
                        caller: caller.clone(),
                        place,
                        bundle,
                    });
                }
            }
        }
    }
    tidings
}

/// Whether a Secret holds another certificate than the one of the cluster does.
pub(super) fn is_new_certificate(secret: &Value, seen: &Seen) -> bool {
    let live = seen.get(&Key::of(secret));
    live.and_then(|live| live.get("data")) != secret.get("data")
}

/// In what an object of the cluster is not as it is asked for, in words; nothing if it is.
pub fn differs(object: &Value, seen: &Seen) -> Option<String> {
    let key = Key::of(object);
    let Some(live) = seen.get(&key) else {
        return Some(missing(&key));
    };
    if seen.left.contains(&key) {
        return None;
    }
    if key.kind == "Deployment" {
        return deployment_differs(object, live, &key, seen);
    }
    let asked = hash(object);
    // A CRD is not all ours, and has no hash: only its fields tell whether something else is asked for.
    if asked.is_none() {
        return difference(object, live).map(|path| changed(&key, &path));
    }
    if asked != hash(live) {
        return Some(format!(
            "{key} is not what is asked for: it is written again"
        ));
    }
    if seen.is_settled(&key, live) {
        return None;
    }
    difference(object, live).map(|path| changed(&key, &path))
}

/// Whether an object that has to be written is as we wrote it but for what somebody else changed.
pub fn is_drift(object: &Value, seen: &Seen) -> bool {
    let live = seen.get(&Key::of(object));
    live.is_some_and(|live| {
        let asked = hash(object).or_else(|| deployment_hash(object));
        asked == hash(live).or_else(|| deployment_hash(live))
    })
}

/// Who else wrote to an object last, by the name that they gave themselves.
pub fn rival<'a>(live: &'a Value, ours: &str) -> Option<&'a str> {
    let entries = live.pointer("/metadata/managedFields")?.as_array()?.iter();
    let theirs = entries.filter(|entry| {
        !text(entry, "/manager").starts_with(ours) && text(entry, "/subresource").is_empty()
    });
    let last = theirs.max_by_key(|entry| text(entry, "/time"))?;
    Some(text(last, "/manager"))
}

/// What was asked for, as an object was marked with it.
fn hash(object: &Value) -> Option<String> {
    let annotations = object.pointer("/metadata/annotations");
    let hash = annotations.and_then(|all| all.get(labels::CONTENT_HASH)?.as_str());
    hash.map(ToOwned::to_owned)
}

/// What was asked for, as a Deployment was marked with it.
fn deployment_hash(object: &Value) -> Option<String> {
    let labels = object.pointer("/metadata/labels");
    let hash = labels.and_then(|labels| labels.get(labels::DEPLOYMENT_SPEC_HASH)?.as_str());
    hash.map(ToOwned::to_owned)
}

fn missing(key: &Key) -> String {
    match key.kind.as_str() {
        "Deployment" => format!("missing deployment with name={}", key.name),
        "APIService" => format!("apiServices not installed: {} is missing", key.name),
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => {
            format!("webhooks not installed: {key} is missing")
        }
        _ => format!("{key} is missing"),
    }
}

fn changed(key: &Key, path: &str) -> String {
    format!("{key} was changed at {path}: it is written again")
}

/// The hash tells whether something else was asked for last time, the fields whether somebody changed
/// them since. How many Pods there are is left to autoscalers and `kubectl scale`, as OLM does.
fn deployment_differs(object: &Value, live: &Value, key: &Key, seen: &Seen) -> Option<String> {
    let name = &key.name;
    let asked = deployment_hash(object).unwrap_or_default();
    let given = deployment_hash(live);
    let Some(given) = given else {
        return Some(format!(
            "deployment {name} doesn't have a spec hash, update it"
        ));
    };
    if asked != given {
        return Some(format!(
            "deployment changed old hash={given}, new hash={asked}: {name} is written again"
        ));
    }
    if seen.is_settled(key, live) {
        return None;
    }
    difference(&comparable(object), live).map(|path| changed(key, &path))
}

/// A Deployment without what is not to be compared: the number of Pods, and fields that the API server
/// does not know and so does not keep.
fn comparable(deployment: &Value) -> Value {
    let mut deployment = deployment.clone();
    let Some(fields) = deployment.as_object_mut() else {
        return deployment;
    };
    if let Some(spec) = fields.get_mut("spec") {
        if let Some(spec) = spec.as_object_mut() {
            spec.shift_remove("replicas");
        }
        if let Ok(known) = serde_json::from_value::<DeploymentSpec>(spec.clone()) {
            *spec = json!(known);
        }
    }
    deployment
}

/// What is not as it is asked for, in the order in which it has to be written, each with what is wrong.
fn pending<'a>(desired: &'a Desired, seen: &Seen) -> Vec<(&'a Value, String)> {
    let pending = |objects: &'a [Value]| {
        let objects = objects.iter();
        objects.filter_map(|object| Some((object, differs(object, seen)?)))
    };
    let secrets: Vec<_> = pending(&desired.secrets).collect();
    let are_certificates_new = secrets
        .iter()
        .any(|(secret, _)| is_new_certificate(secret, seen));
    // Those that call already; others need not hurry before there is anybody to answer. Those that are
    // called otherwise have to wait, and are told nothing but whom to trust: see `tidings`.
    let is_first = |(caller, _): &(&Value, String)| {
        let live = seen.get(&Key::of(caller)).and_then(called);
        are_certificates_new && live.is_some() && live == called(caller)
    };
    let (first, last): (Vec<_>, Vec<_>) = pending(&desired.callers).partition(is_first);
    let last = last
        .into_iter()
        .filter(|(caller, _)| !caller_has_to_wait(caller, desired, seen));
    let services = pending(&desired.services)
        .filter(|(service, _)| !service_has_to_wait(service, desired, seen));
    let serving = services.chain(pending(&desired.serving_rbac));
    let running = secrets.into_iter().chain(pending(&desired.deployments));
    serving.chain(first).chain(running).chain(last).collect()
}

/// Whether a caller is not to be changed or made yet: it calls somebody else, such as the version before,
/// or that version is there and has callers of its own, and the Deployment that it should call is not
/// up. The API goes on working until the new version can take over, and if that never happens, just goes
/// on. Where nobody answers any more there is nothing to wait for; who comes up may even need to be called for that.
fn caller_has_to_wait(caller: &Value, desired: &Desired, seen: &Seen) -> bool {
    let Some(wanted) = called(caller) else {
        return false;
    };
    let changes_hands = match seen.get(&Key::of(caller)) {
        Some(live) => called(live)
            .is_some_and(|current| current != wanted && !seen.dead.contains(&current.key())),
        None => desired.takes_over,
    };
    changes_hands && !answers(wanted.service, desired, seen)
}

/// Whether a Service stays as the version before has it: its ports are those that are called.
fn service_has_to_wait(service: &Value, desired: &Desired, seen: &Seen) -> bool {
    let owner = |object: &Value| {
        let labels = object.pointer("/metadata/labels");
        labels.and_then(|labels| labels.get(labels::OWNER)).cloned()
    };
    let key = Key::of(service);
    let is_anothers = seen
        .get(&key)
        .is_some_and(|live| owner(live) != owner(service));
    desired.takes_over && is_anothers && !answers(&key.name, desired, seen)
}

/// Whether the Deployment behind a Service is the one that is asked for, and ready.
pub(super) fn answers(service: &str, desired: &Desired, seen: &Seen) -> bool {
    let mut deployments = desired.deployments.iter();
    deployments.all(|deployment| {
        let name = text(deployment, "/metadata/name");
        let live = seen.get(&Key::of(deployment)).unwrap_or(&Value::Null);
        service != services::service_name(name)
            || (differs(deployment, seen).is_none() && readiness(name, live) == Readiness::Ready)
    })
}

/// Who is called, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Called<'a> {
    namespace: &'a str,
    service: &'a str,
    path: &'a str,
    port: Option<i64>,
}

impl Called<'_> {
    /// The Service that is called.
    fn key(&self) -> Key {
        Key::new("Service", self.namespace, self.service)
    }
}

/// The Services that are called now, by those who are asked to call another one: whoever reads the cluster should look
/// whether they are there, and tell if not ([`Seen::without`]).
pub fn former_services(desired: &Desired, seen: &Seen) -> BTreeSet<Key> {
    let callers = desired.callers.iter();
    let former = callers.filter_map(|caller| {
        let wanted = called(caller)?.key();
        let current = called(seen.get(&Key::of(caller))?)?.key();
        (current != wanted).then_some(current)
    });
    former.collect()
}

/// Where a caller says whom it calls, and whom it trusts.
const CLIENT_CONFIGS: [&str; 3] = [
    "/spec",
    "/spec/conversion/webhook/clientConfig",
    "/webhooks/0/clientConfig",
];

/// The CAs, as they are written, that are trusted by whoever calls a Service.
pub(super) fn bundles<'a>(
    seen: &'a Seen,
    namespace: &'a str,
    service: &'a str,
) -> impl Iterator<Item = &'a str> {
    let callers = seen.objects.values().filter(move |caller| {
        called(caller).is_some_and(|it| it.namespace == namespace && it.service == service)
    });
    callers.filter_map(|caller| {
        let mut places = CLIENT_CONFIGS.iter();
        places.find_map(|place| caller.pointer(place)?.get("caBundle")?.as_str())
    })
}

/// The hash of the CA that Pods of a Deployment serve with, or will once they are replaced.
pub(super) fn authority_of_pods(deployment: &Value) -> Option<&str> {
    let annotations = deployment.pointer("/spec/template/metadata/annotations")?;
    annotations.get(labels::CA_HASH)?.as_str()
}

/// The Service that a caller of the cluster calls, if it is the one that it is asked to call.
pub(super) fn service_called(caller: &Value, seen: &Seen) -> Option<Key> {
    let (wanted, now) = (called(caller)?, called(seen.get(&Key::of(caller))?)?);
    let is_same = now.service == wanted.service && now.namespace == wanted.namespace;
    is_same.then(|| now.key())
}

fn called(caller: &Value) -> Option<Called<'_>> {
    let mut places = CLIENT_CONFIGS.iter();
    let service = places.find_map(|place| caller.pointer(place)?.get("service"))?;
    Some(Called {
        namespace: text(service, "/namespace"),
        service: text(service, "/name"),
        path: text(service, "/path"),
        port: service.pointer("/port").and_then(Value::as_i64),
    })
}
