//! Client certificates: whether somebody vouches for one, and whose it is.

use rustls::pki_types::{CertificateDer, TrustAnchor, UnixTime};
use webpki::{EndEntityCert, KeyUsage};
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// Whether one of these authorities vouches for a client certificate, by way of others if need be.
pub(super) fn is_signed_by(
    certificate: &CertificateDer<'_>,
    intermediates: &[CertificateDer<'_>],
    authorities: &[TrustAnchor<'static>],
    now: UnixTime,
) -> bool {
    let Ok(certificate) = EndEntityCert::try_from(certificate) else {
        return false;
    };
    let verified = certificate.verify_for_usage(
        webpki::ALL_VERIFICATION_ALGS,
        authorities,
        intermediates,
        now,
        KeyUsage::client_auth(),
        None,
        None,
    );
    verified.is_ok()
}

/// Whose a certificate is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Subject {
    /// The name: a user of Kubernetes.
    pub(super) common_name: String,
    /// Its groups.
    pub(super) organizations: Vec<String>,
}

impl Subject {
    /// Reads it; nothing if it has no name.
    pub(super) fn of(certificate: &CertificateDer<'_>) -> Option<Self> {
        let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
        let subject = certificate.subject();
        // Go takes the last of several names.
        let common_name = subject.iter_common_name().last()?.as_str().ok()?;
        let organizations = subject.iter_organization();
        let organizations = organizations.filter_map(|it| it.as_str().ok());
        (!common_name.is_empty()).then(|| Self {
            common_name: common_name.to_owned(),
            organizations: organizations.map(str::to_owned).collect(),
        })
    }
}
