//! Certificates renewed while nothing else of an operator may be written.
//!
//! An operator that lacks something, or that its group does not suit, runs on as it was installed, and what it
//! is called with expires or is lost nevertheless. Its ClusterServiceVersion may have been edited meanwhile, and
//! what that asks for waits until its requirements are met. So only what belongs to a certificate is written, in
//! the order that [`certificates`] describes: whom callers trust, the Secret, and on the Pods' template of the
//! Deployment, as that is, the hash of the CA. What was not got to is found by the hash, and done later.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use super::certificates::{self, CertificateError, Outlook, ServingCertificates};
use super::object::{Key, home, is_labelled_by, text};
use super::observe::{self, Seen, Tiding};
use super::services::{self, Served};
use super::state::Certificates;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::labels;

/// What has to be written, in this order.
#[derive(Clone, Default, PartialEq)]
pub struct Renewal {
    /// The certificates that are in use then.
    pub certificates: ServingCertificates,
    /// Whether some of them were made just now.
    pub are_made: bool,
    /// Whom to tell whom to trust.
    pub tidings: Vec<Tiding>,
    /// The Secrets of the certificates that were made.
    pub secrets: Vec<Value>,
    /// The Deployments whose Pods have to serve with another certificate.
    pub marks: Vec<Mark>,
}

/// Names only: Secrets are among it.
impl fmt::Debug for Renewal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secrets: Vec<Key> = self.secrets.iter().map(Key::of).collect();
        f.debug_struct("Renewal")
            .field("tidings", &self.tidings)
            .field("secrets", &secrets)
            .field("marks", &self.marks)
            .finish_non_exhaustive()
    }
}

/// A Deployment whose Pods have to serve with another certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Which.
    pub deployment: Key,
    /// The hash of the CA.
    pub hash: String,
}

impl Mark {
    /// What to change, as a merge patch. It replaces the Pods one after the other.
    pub fn patch(&self) -> Value {
        let annotations = json!({ labels::CA_HASH: self.hash });
        json!({"spec": {"template": {"metadata": {"annotations": annotations}}}})
    }
}

/// Whether a certificate that Pods serve with is due or lost, or was renewed by somebody who did not get to
/// replace the Pods.
pub fn is_due(csv: &ClusterServiceVersion, outlook: &Outlook, seen: &Seen) -> bool {
    let outlook = outlook_of_running(csv, outlook, seen);
    let lacks = matches!(
        outlook.state,
        Certificates::Due | Certificates::Missing { .. }
    );
    lacks || !marks(csv, &outlook.in_use, seen).is_empty()
}

/// What it takes to renew the certificates that Pods serve with. Only to be called by whoever is about to write
/// it: see [`certificates::renew`].
pub fn renewal(
    csv: &ClusterServiceVersion,
    outlook: &Outlook,
    seen: &Seen,
    unwritten: &ServingCertificates,
    now: &Time,
) -> Result<Renewal, CertificateError> {
    let outlook = outlook_of_running(csv, outlook, seen);
    let certificates = certificates::renew(csv, &outlook, unwritten, now)?;
    let serving = running(csv, seen);
    let secrets = serving.iter().filter_map(|served| {
        let certificate = certificates.get(&served.deployment)?;
        Some(certificates::secret(csv, served, certificate))
    });
    let secrets: Vec<Value> = secrets
        .filter(|secret| observe::is_new_certificate(secret, seen))
        .collect();
    Ok(Renewal {
        are_made: certificates != outlook.in_use,
        tidings: observe::tidings_of(&secrets, seen, &certificates),
        marks: marks(csv, &certificates, seen),
        secrets,
        certificates,
    })
}

/// How the certificates stand that Pods serve with. What is asked for and does not run yet gets its certificate
/// when it is installed.
fn outlook_of_running(csv: &ClusterServiceVersion, outlook: &Outlook, seen: &Seen) -> Outlook {
    let running = running(csv, seen).into_iter();
    let running: BTreeSet<String> = running.map(|served| served.deployment).collect();
    let serving = services::serving(csv).unwrap_or_default().into_iter();
    let others = serving.map(|served| served.deployment);
    let others = others.filter(|deployment| !running.contains(deployment));
    outlook.clone().leaving_to_others(others)
}

/// What of an operator is called, and has Pods that read the Secret of its certificate.
fn running(csv: &ClusterServiceVersion, seen: &Seen) -> Vec<Served> {
    // That a strategy makes no sense is said by whoever makes objects of it.
    let serving = services::serving(csv).unwrap_or_default().into_iter();
    let running = serving.filter(|served| {
        let live = seen.get(&key(csv, served));
        live.is_some_and(|live| {
            is_labelled_by(live, csv)
                && live.pointer("/metadata/deletionTimestamp").is_none()
                && mounts(live, &served.secret())
        })
    });
    running.collect()
}

fn mounts(deployment: &Value, secret: &str) -> bool {
    let volumes = deployment.pointer("/spec/template/spec/volumes");
    let mut volumes = volumes.and_then(Value::as_array).into_iter().flatten();
    volumes.any(|volume| text(volume, "/secret/secretName") == secret)
}

fn marks(
    csv: &ClusterServiceVersion,
    certificates: &ServingCertificates,
    seen: &Seen,
) -> Vec<Mark> {
    let running = running(csv, seen).into_iter();
    let marks = running.filter_map(|served| {
        let deployment = key(csv, &served);
        let hash = certificates.get(&served.deployment)?.authority_hash();
        let is_marked = observe::authority_of_pods(seen.get(&deployment)?) == Some(hash.as_str());
        (!is_marked).then_some(Mark { deployment, hash })
    });
    marks.collect()
}

fn key(csv: &ClusterServiceVersion, served: &Served) -> Key {
    Key::new("Deployment", &home(csv), &served.deployment)
}
