//! Stub.
use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::Value;

use super::observe::Seen;
use super::services::Served;
use super::state::Certificates;
use crate::api::cluster_service_version::ClusterServiceVersion;

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
    /// The CA before that, in PEM: Pods may still serve with a certificate of it.
    pub former_authority: Option<String>,
    /// When it has to be renewed.
    pub rotate_at: Time,
}

/// How the certificates stand.
#[derive(Clone, Debug, PartialEq)]
pub struct Outlook {
    /// In a word.
    pub state: Certificates,
    /// Those that can be used, also if they are due.
    pub in_use: ServingCertificates,
    /// When the first of them has to be renewed: `status.certsRotateAt`.
    pub rotate_at: Option<Time>,
}

/// Why no certificate could be made.
#[derive(Debug, thiserror::Error)]
#[error("no certificate could be made for {host}: {source}")]
pub struct CertificateError {
    host: String,
    #[source]
    source: rcgen::Error,
}

impl std::fmt::Debug for ServingCertificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServingCertificate").finish_non_exhaustive()
    }
}

/// How the certificates of a CSV stand, by the Secrets that were seen.
pub fn look(csv: &ClusterServiceVersion, seen: &Seen, now: &Time) -> Outlook {
    let _ = (csv, seen, now);
    todo!()
}

/// The certificates in use, and new ones where one is due or missing.
pub fn renew(
    csv: &ClusterServiceVersion,
    outlook: &Outlook,
    now: &Time,
) -> Result<ServingCertificates, CertificateError> {
    let _ = (csv, outlook, now);
    todo!()
}

/// The Secret of a certificate.
pub fn secret(csv: &ClusterServiceVersion, served: &Served, certificate: &ServingCertificate) -> Value {
    let _ = (csv, served, certificate);
    todo!()
}
