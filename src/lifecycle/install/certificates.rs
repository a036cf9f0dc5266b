//! The certificates that webhooks and owned APIServices are served with.
//!
//! Each Deployment that others call has a certificate in a Secret, signed by a CA that is made for one
//! installation and whose key is thrown away at once: nobody can sign anything else with it.
//!
//! # Renewal without an interruption
//!
//! A day before a certificate expires a new one is made, by a new CA. While Pods are being replaced some
//! serve with the former certificate and some with the new one, so whoever calls has to trust both CAs:
//!
//! 1. Callers (webhook configurations, APIServices, CRDs) are told to trust the new CA *and* the former,
//!    also those of the version before that call the same Service.
//! 2. The Secret gets the new certificate, and keeps the former CA beside the new one.
//! 3. The Deployment gets the hash of the new CA, which replaces its Pods one after the other.
//!
//! `observe::tidings` and `observe::writes` keep that order. It is safe to be killed between any two of these: after 1,
//! nobody serves with the new CA yet, the former one is still trusted, and whoever is next makes another
//! CA in place of the one that was lost; after 2, what callers trust follows from the Secret, and is what
//! was written in 1; and a Pod that sees the new file early is trusted as well. The former CA is kept until
//! the next renewal: it does no harm, since no key signs for it, and no clock has to tell when the last Pod
//! is gone.
//!
//! If a Secret is lost, what callers trust tells which CAs Pods may still serve with, and those stay.
//!
//! [`renewal`](super::renewal) does the same while nothing else of an operator may be written.

mod issue;
mod judge;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use self::issue::Authority;
pub use self::issue::CertificateError;
use self::judge::Verdict;
use super::object::{Key, home, owner_labels, owner_reference, text};
use super::observe::{self, Seen};
use super::services::{self, Served};
use super::state::Certificates;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::labels;

/// Key of the certificate in its Secret.
pub(super) const CERTIFICATE: &str = "tls.crt";
/// Key of the private key in its Secret.
pub(super) const KEY: &str = "tls.key";

/// How many former CAs are trusted at most: somebody may delete a Secret time and again.
const MOST_FORMER: usize = 3;

/// The certificates of Deployments that others call, by the names of the Deployments.
pub type ServingCertificates = BTreeMap<String, ServingCertificate>;

/// A certificate that a Deployment serves with.
#[derive(Clone, PartialEq, Eq)]
pub struct ServingCertificate {
    /// The certificate, in PEM.
    pub certificate: String,
    /// Its private key, in PEM.
    pub key: String,
    /// The certificate of the CA that signed it, in PEM.
    pub authority: String,
    /// The CA before that, in PEM: Pods may still serve with a certificate of it. It is more than one
    /// where a Secret was lost.
    pub former_authority: Option<String>,
}

impl ServingCertificate {
    /// What whoever calls has to trust, as callers' `caBundle` wants it.
    pub fn bundle(&self) -> String {
        let former = self.former_authority.as_deref().unwrap_or_default();
        STANDARD.encode(format!("{}{former}", self.authority))
    }

    /// The hash that is put on the Secret and on Pods.
    pub fn authority_hash(&self) -> String {
        hash_of(&self.authority)
    }
}

fn hash_of(authority: &str) -> String {
    let mut hash = String::new();
    for byte in Sha256::digest(authority.as_bytes()) {
        // Writing to a text does not fail.
        let _ = write!(hash, "{byte:02x}");
    }
    hash
}

/// Without the key.
impl fmt::Debug for ServingCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServingCertificate")
            .field("authority_hash", &self.authority_hash())
            .finish_non_exhaustive()
    }
}

/// How the certificates of a CSV stand.
#[derive(Clone, Debug, PartialEq)]
pub struct Outlook {
    /// In a word.
    pub state: Certificates,
    /// Those that there are, also if they are due.
    pub in_use: ServingCertificates,
    /// The Deployments whose certificate has to be renewed.
    pub due: BTreeSet<String>,
    /// Those of them that are good for a while yet.
    good: BTreeSet<String>,
    /// Why there is none, by the name of the Deployment that needs it.
    missing: BTreeMap<String, String>,
    /// The Deployments whose certificate is for another version to make and to renew.
    left: BTreeSet<String>,
    /// The CAs that whoever calls a Deployment trusts, in PEM, by the name of the Deployment: Pods may
    /// serve with certificates of them also if the Secret does not say so any more.
    trusted: BTreeMap<String, Vec<String>>,
    /// When the first of them has to be renewed: `status.certsRotateAt`.
    pub rotate_at: Option<Time>,
}

impl Outlook {
    /// Leaves the certificates alone whose Secrets are among these: a newer version has claimed them.
    /// What they hold is in use here as well.
    #[must_use]
    pub fn leaving(mut self, csv: &ClusterServiceVersion, claimed: &BTreeSet<Key>) -> Self {
        for served in services::serving(csv).unwrap_or_default() {
            let secret = Key::new("Secret", &home(csv), &served.secret());
            if claimed.contains(&secret) {
                self.leave(served.deployment);
            }
        }
        self.state = self.judged();
        self
    }

    /// Leaves the certificates of these Deployments alone.
    #[must_use]
    pub(super) fn leaving_to_others(
        mut self,
        deployments: impl IntoIterator<Item = String>,
    ) -> Self {
        for deployment in deployments {
            self.leave(deployment);
        }
        self.state = self.judged();
        self
    }

    fn leave(&mut self, deployment: String) {
        self.due.remove(&deployment);
        self.missing.remove(&deployment);
        self.left.insert(deployment);
    }

    /// In a word, by what is known of each of them.
    fn judged(&self) -> Certificates {
        match self.missing.values().next() {
            Some(message) => Certificates::Missing {
                message: message.clone(),
            },
            None if !self.due.is_empty() => Certificates::Due,
            None if self.in_use.is_empty() => Certificates::Unneeded,
            None => Certificates::Fine,
        }
    }
}

/// How the certificates of a CSV stand, by the Secrets that were seen.
pub fn look(csv: &ClusterServiceVersion, seen: &Seen, now: &Time) -> Outlook {
    let mut outlook = Outlook {
        state: Certificates::Unneeded,
        in_use: ServingCertificates::new(),
        due: BTreeSet::new(),
        good: BTreeSet::new(),
        missing: BTreeMap::new(),
        left: BTreeSet::new(),
        trusted: BTreeMap::new(),
        rotate_at: None,
    };
    // That a strategy makes no sense is said by whoever makes objects of it.
    let serving = services::serving(csv).unwrap_or_default();
    for served in &serving {
        let trusted = trusted(csv, served, seen);
        outlook.trusted.insert(served.deployment.clone(), trusted);
        let key = Key::new("Secret", &home(csv), &served.secret());
        let Some(certificate) = seen.get(&key).and_then(read) else {
            let why = format!(
                "secret {} does not hold a certificate for deployment {}: it is made by installing again",
                served.secret(),
                served.deployment
            );
            outlook.missing.insert(served.deployment.clone(), why);
            continue;
        };
        let hosts = services::hosts(&served.service, &key.namespace);
        match judge::judge(&certificate, &hosts, now) {
            Verdict::Good { rotate_at } => {
                let first = outlook.rotate_at.take();
                outlook.rotate_at = first.into_iter().chain([rotate_at]).min();
            }
            Verdict::Due => {
                outlook.due.insert(served.deployment.clone());
                outlook.good.insert(served.deployment.clone());
            }
            Verdict::Bad => {
                outlook.due.insert(served.deployment.clone());
            }
        }
        outlook
            .in_use
            .insert(served.deployment.clone(), certificate);
    }
    if !outlook.due.is_empty() {
        outlook.rotate_at = Some(now.clone());
    }
    outlook.state = outlook.judged();
    outlook
}

/// The certificates in use, and new ones where one is due or missing. Only to be called by whoever is
/// about to write them: every call makes others, but for those that were made before and could not be written.
/// Callers may trust these already, and would have to be told again of others, each time.
pub fn renew(
    csv: &ClusterServiceVersion,
    outlook: &Outlook,
    unwritten: &ServingCertificates,
    now: &Time,
) -> Result<ServingCertificates, CertificateError> {
    let mut certificates = ServingCertificates::new();
    let mut authority: Option<Authority> = None;
    for served in services::serving(csv).unwrap_or_default() {
        let in_use = outlook.in_use.get(&served.deployment);
        let certificate = match in_use {
            Some(certificate) if !outlook.due.contains(&served.deployment) => certificate.clone(),
            None if outlook.left.contains(&served.deployment) => continue,
            _ => {
                let hosts = services::hosts(&served.service, &home(csv));
                let unwritten = unwritten.get(&served.deployment);
                if let Some(certificate) = unwritten.filter(|it| is_good(it, &hosts, now)) {
                    certificate.clone()
                } else {
                    let authority = match &mut authority {
                        Some(authority) => authority,
                        none => none.insert(Authority::new(now)?),
                    };
                    let mut renewed = authority.issue(&served.service, &hosts, now)?;
                    renewed.former_authority = former_authority(outlook, &served.deployment, now);
                    renewed
                }
            }
        };
        certificates.insert(served.deployment, certificate);
    }
    Ok(certificates)
}

/// Whether these hosts can serve with a certificate, and it need not be renewed.
fn is_good(certificate: &ServingCertificate, hosts: &[String], now: &Time) -> bool {
    matches!(judge::judge(certificate, hosts, now), Verdict::Good { .. })
}

/// What else has to be trusted when a certificate is renewed, in PEM: the CA of the former one. If the
/// Secret was lost, or holds something of no use, Pods may serve with what it held before. Then those CAs
/// stay that are trusted now.
fn former_authority(outlook: &Outlook, deployment: &str, now: &Time) -> Option<String> {
    let former = outlook.in_use.get(deployment).map(|it| &it.authority);
    let trusted = outlook.trusted.get(deployment);
    let trusted = trusted.filter(|_| !outlook.good.contains(deployment));
    let mut authorities: Vec<&String> = Vec::new();
    for authority in former.into_iter().chain(trusted.into_iter().flatten()) {
        if judge::is_of_use(authority, now) && !authorities.contains(&authority) {
            authorities.push(authority);
        }
    }
    let former: String = authorities
        .into_iter()
        .take(MOST_FORMER)
        .map(String::as_str)
        .collect();
    (!former.is_empty()).then_some(former)
}

/// The CAs that are trusted by whoever calls a Deployment. The one that its Pods serve with comes first, which is told
/// by the hash that they carry: whoever could not write a Secret time and again has told callers of many others.
fn trusted(csv: &ClusterServiceVersion, served: &Served, seen: &Seen) -> Vec<String> {
    let namespace = home(csv);
    let bundles = observe::bundles(seen, &namespace, &served.service);
    let bundles =
        bundles.filter_map(|bundle| String::from_utf8(STANDARD.decode(bundle).ok()?).ok());
    let mut authorities = Vec::new();
    for authority in bundles.flat_map(|bundle| judge::each(&bundle)) {
        if !authorities.contains(&authority) {
            authorities.push(authority);
        }
    }
    let deployment = Key::new("Deployment", &namespace, &served.deployment);
    let used = seen.get(&deployment).and_then(observe::authority_of_pods);
    authorities.sort_by_cached_key(|authority| Some(hash_of(authority).as_str()) != used);
    authorities
}

/// A certificate for a Service, by a CA of its own. Every call makes another.
pub fn issue(
    service: &str,
    hosts: &[String],
    now: &Time,
) -> Result<ServingCertificate, CertificateError> {
    Authority::new(now)?.issue(service, hosts, now)
}

/// When a certificate that these hosts can serve with has to be renewed; nothing if they cannot,
/// because it expired, is for others, or is not its CA's.
pub fn renew_at(certificate: &ServingCertificate, hosts: &[String], now: &Time) -> Option<Time> {
    let serves = judge::serves(certificate, hosts, now);
    judge::rotate_at(certificate).filter(|_| serves)
}

/// Whether a CA, in PEM, can still be trusted.
pub fn is_of_use(authority: &str, now: &Time) -> bool {
    judge::is_of_use(authority, now)
}

/// When certificates that were just made have to be renewed.
pub fn rotate_at(certificates: &ServingCertificates) -> Option<Time> {
    certificates.values().filter_map(judge::rotate_at).min()
}

/// The Secret of a certificate.
pub fn secret(
    csv: &ClusterServiceVersion,
    served: &Served,
    certificate: &ServingCertificate,
) -> Value {
    let mut data = Map::new();
    let mut put = |key: &str, text: &str| data.insert(key.to_owned(), json!(STANDARD.encode(text)));
    put(CERTIFICATE, &certificate.certificate);
    put(KEY, &certificate.key);
    put(labels::CA_SECRET_KEY, &certificate.authority);
    if let Some(former) = &certificate.former_authority {
        put(labels::FORMER_CA_SECRET_KEY, former);
    }
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": served.secret(),
            "namespace": home(csv),
            "labels": owner_labels(csv),
            "annotations": { labels::CA_HASH: certificate.authority_hash() },
            "ownerReferences": [owner_reference(csv)],
        },
        "type": "kubernetes.io/tls",
        "data": data,
    })
}

/// The certificate of a Secret, if it holds all that belongs to one.
fn read(secret: &Value) -> Option<ServingCertificate> {
    let read = |key: &str| {
        let encoded = text(secret, &format!("/data/{key}"));
        let decoded = String::from_utf8(STANDARD.decode(encoded).ok()?).ok()?;
        (!decoded.is_empty()).then_some(decoded)
    };
    let certificate = ServingCertificate {
        certificate: read(CERTIFICATE)?,
        key: read(KEY)?,
        authority: read(labels::CA_SECRET_KEY)?,
        former_authority: read(labels::FORMER_CA_SECRET_KEY),
    };
    let is_readable = judge::is_readable(&certificate.certificate);
    (is_readable && judge::is_readable(&certificate.authority)).then_some(certificate)
}
