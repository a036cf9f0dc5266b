//! Makes certificates.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, date_time_ymd,
};
use thiserror::Error;

use super::ServingCertificate;
use crate::api::hash::base36_sha256;

/// How long a certificate is good for: two years, as OLM's.
const VALID_FOR: Duration = Duration::from_hours(24 * 730);
/// How far the clocks of two machines may be apart: a certificate is good from before it was made.
const SKEW: Duration = Duration::from_mins(5);
const ORGANIZATION: &str = "Chandler";

/// Why no certificate could be made.
#[derive(Debug, Error)]
#[error("no certificate could be made for {subject}: {source}")]
pub struct CertificateError {
    subject: String,
    #[source]
    source: rcgen::Error,
}

/// A CA for one installation. Its key lives as long as this value and is written nowhere.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
}

impl Authority {
    /// A new CA. Its name is a hash of its public key, so that two CAs in one bundle are told apart by
    /// whoever looks for a signer by name.
    pub(super) fn new(now: &Time) -> Result<Self, CertificateError> {
        let make = || {
            let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
            let id: String = base36_sha256(key.public_key_raw())
                .chars()
                .take(16)
                .collect();
            let mut params = params(&format!("chandler-selfsigned-{id}"), Vec::new(), now)?;
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.key_usages = vec![
                KeyUsagePurpose::KeyCertSign,
                KeyUsagePurpose::DigitalSignature,
            ];
            let certificate = params.self_signed(&key)?.pem();
            let issuer = Issuer::new(params, key);
            Ok(Self {
                issuer,
                certificate: with_newline(&certificate),
            })
        };
        make().map_err(failure("the CA"))
    }

    /// A certificate for a Service.
    pub(super) fn issue(
        &self,
        service: &str,
        hosts: &[String],
        now: &Time,
    ) -> Result<ServingCertificate, CertificateError> {
        let make = || {
            let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
            let mut params = params(service, hosts.to_vec(), now)?;
            params.is_ca = IsCa::ExplicitNoCa;
            params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
            params.insert_extended_key_usage(ExtendedKeyUsagePurpose::ServerAuth);
            params.use_authority_key_identifier_extension = true;
            let certificate = params.signed_by(&key, &self.issuer)?;
            Ok(ServingCertificate {
                certificate: with_newline(&certificate.pem()),
                key: with_newline(&key.serialize_pem()),
                authority: self.certificate.clone(),
                former_authority: None,
            })
        };
        make().map_err(failure(service))
    }
}

fn params(name: &str, hosts: Vec<String>, now: &Time) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(hosts)?;
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, name);
    subject.push(DnType::OrganizationName, ORGANIZATION);
    params.distinguished_name = subject;
    // Nobody's clock is before 1970.
    let now = Duration::from_secs(u64::try_from(now.0.as_second()).unwrap_or_default());
    let epoch = date_time_ymd(1970, 1, 1);
    params.not_before = epoch + now.saturating_sub(SKEW);
    params.not_after = epoch + now + VALID_FOR;
    Ok(params)
}

/// Several certificates are put one after the other: each has to end its line.
fn with_newline(pem: &str) -> String {
    let pem = pem.replace("\r\n", "\n");
    format!("{}\n", pem.trim_end())
}

fn failure(subject: &str) -> impl FnOnce(rcgen::Error) -> CertificateError {
    let subject = subject.to_owned();
    move |source| CertificateError { subject, source }
}
