//! Whether a certificate is good, and for how long.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use webpki::{EndEntityCert, Error, KeyUsage, anchor_from_trusted_cert};

use super::ServingCertificate;

/// How long before its end a certificate is renewed: a day, as OLM does.
const FRESH_FOR: Duration = Duration::from_hours(24);

/// What is to be said of a certificate.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Verdict {
    /// It is good.
    Good {
        /// Until then.
        rotate_at: Time,
    },
    /// It is good, and about to expire.
    Due,
    /// It expired, is not its CA's, or is for other hosts.
    Bad,
}

/// Judges a certificate by its CA and by the names that its server is called by.
pub(super) fn judge(certificate: &ServingCertificate, hosts: &[String], now: &Time) -> Verdict {
    match rotate_at(certificate) {
        Some(at) if serves(certificate, hosts, now) && at > *now => Verdict::Good { rotate_at: at },
        Some(_) if serves(certificate, hosts, now) => Verdict::Due,
        _ => Verdict::Bad,
    }
}

/// Whether a text holds a certificate.
pub(super) fn is_readable(pem: &str) -> bool {
    first(pem).is_some_and(|der| EndEntityCert::try_from(&der).is_ok())
}

/// Each certificate of a text, in the form in which we write one.
pub(super) fn each(pem: &str) -> Vec<String> {
    const END: &str = "-----END CERTIFICATE-----";
    let parts = pem.split_inclusive(END);
    let parts = parts.map(|part| format!("{}\n", part.trim()));
    parts.filter(|part| is_readable(part)).collect()
}

/// Whether a CA can still be trusted.
pub(super) fn is_of_use(authority: &str, now: &Time) -> bool {
    let expires = first(authority).and_then(|der| expires(&der));
    expires.is_some_and(|expires| expires > *now)
}

/// When a certificate has to be renewed: a day before it or its CA expires.
pub(super) fn rotate_at(certificate: &ServingCertificate) -> Option<Time> {
    let own = expires(&first(&certificate.certificate)?)?;
    let authority = expires(&first(&certificate.authority)?)?;
    own.min(authority).0.checked_sub(FRESH_FOR).ok().map(Time)
}

/// Whether a client that trusts the CA takes the certificate for these hosts.
pub(super) fn serves(certificate: &ServingCertificate, hosts: &[String], now: &Time) -> bool {
    let (Some(own), Some(authority)) = (
        first(&certificate.certificate),
        first(&certificate.authority),
    ) else {
        return false;
    };
    let (Ok(own), Ok(authority)) = (
        EndEntityCert::try_from(&own),
        anchor_from_trusted_cert(&authority),
    ) else {
        return false;
    };
    let seconds = u64::try_from(now.0.as_second()).unwrap_or_default();
    let authorities = [authority];
    let is_signed = own.verify_for_usage(
        webpki::ALL_VERIFICATION_ALGS,
        &authorities,
        &[],
        UnixTime::since_unix_epoch(Duration::from_secs(seconds)),
        KeyUsage::server_auth(),
        None,
        None,
    );
    is_signed.is_ok()
        && hosts.iter().all(|host| {
            let host = ServerName::try_from(host.as_str());
            host.is_ok_and(|host| own.verify_is_valid_for_subject_name(&host).is_ok())
        })
}

/// When a certificate expires. webpki tells nobody but in the error for one that did: so it is asked what
/// it thinks of the certificate at the end of time.
fn expires(der: &CertificateDer<'_>) -> Option<Time> {
    let certificate = EndEntityCert::try_from(der).ok()?;
    let verdict = certificate.verify_for_usage(
        &[],
        &[],
        &[],
        UnixTime::since_unix_epoch(Duration::from_secs(u64::MAX)),
        KeyUsage::server_auth(),
        None,
        None,
    );
    match verdict.err()? {
        Error::CertExpired { not_after, .. } => {
            let second = i64::try_from(not_after.as_secs()).ok()?;
            Some(Time(Timestamp::from_second(second).ok()?))
        }
        _ => None,
    }
}

/// The first certificate of a text: the one that counts.
fn first(pem: &str) -> Option<CertificateDer<'static>> {
    CertificateDer::from_pem_slice(pem.as_bytes()).ok()
}
