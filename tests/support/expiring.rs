//! Certificates that are about to expire, as an operator has them after two years.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, date_time_ymd,
};
use serde_json::{Value, json};

/// The Secret of a Service's certificate that is good for so long. A day before that it is due.
pub fn secret(namespace: &str, service: &str, good_for: Duration) -> anyhow::Result<Value> {
    let hosts = ["", ".svc", ".svc.cluster.local"];
    let hosts = hosts.map(|end| format!("{service}.{namespace}{end}"));
    let own = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let authority = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let mut ca = parameters("test authority", Vec::new(), good_for)?;
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let ca_certificate = ca.self_signed(&authority)?.pem();
    let issuer = Issuer::new(ca, authority);
    let mut server = parameters(service, hosts.to_vec(), good_for)?;
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    server.use_authority_key_identifier_extension = true;
    let certificate = server.signed_by(&own, &issuer)?.pem();
    let encode = |text: String| STANDARD.encode(text);
    Ok(json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
        "metadata": {"name": format!("{service}-cert")},
        "data": {
            "tls.crt": encode(certificate), "tls.key": encode(own.serialize_pem()),
            "olmCAKey": encode(ca_certificate),
        },
    }))
}

fn parameters(
    name: &str,
    hosts: Vec<String>,
    good_for: Duration,
) -> anyhow::Result<CertificateParams> {
    let mut parameters = CertificateParams::new(hosts)?;
    parameters.distinguished_name.push(DnType::CommonName, name);
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let epoch = date_time_ymd(1970, 1, 1);
    parameters.not_before = epoch + now.saturating_sub(Duration::from_mins(5));
    parameters.not_after = epoch + now + good_for;
    Ok(parameters)
}
