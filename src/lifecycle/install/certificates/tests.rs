use super::*;
use crate::lifecycle::install::fixtures::{
    NONE, certificates, cluster_after, csv, csv_with, install, now, time,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

/// The cluster once these certificates are written.
fn written(csv: &ClusterServiceVersion, certificates: &ServingCertificates) -> Seen {
    Seen::new(install(csv, certificates).secrets)
}

fn authorities(certificate: &ServingCertificate) -> usize {
    let bundle = STANDARD.decode(certificate.bundle()).unwrap();
    CertificateDer::pem_slice_iter(&bundle)
        .map(Result::unwrap)
        .count()
}

#[test]
fn an_operator_that_nobody_calls_needs_no_certificates() {
    let outlook = look(&csv_with(&json!({})), &Seen::default(), &now());
    assert_eq!(outlook.state, Certificates::Unneeded);
    assert_eq!(outlook.rotate_at, None);
}

#[test]
fn a_certificate_that_is_not_there_is_missing() {
    let outlook = look(&csv(), &Seen::default(), &now());
    let Certificates::Missing { message } = outlook.state else {
        panic!("{outlook:?}");
    };
    assert!(
        message.contains("op-service-cert") && message.contains("deployment op"),
        "{message}"
    );
}

#[test]
fn a_secret_that_holds_something_else_is_missing_too() {
    let csv = csv();
    let mut secrets = install(&csv, &certificates(&csv)).secrets;
    secrets[0]["data"]["tls.crt"] = json!(STANDARD.encode("no certificate"));
    let outlook = look(&csv, &Seen::new(secrets), &now());
    assert!(
        matches!(outlook.state, Certificates::Missing { .. }),
        "{outlook:?}"
    );
}

#[test]
fn a_certificate_is_good_for_two_years_but_a_day() {
    let csv = csv();
    let certificates = certificates(&csv);
    let seen = written(&csv, &certificates);
    let outlook = look(&csv, &seen, &now());
    assert_eq!(outlook.state, Certificates::Fine);
    // 730 days after the first of January 2026, less one.
    let end = time("2027-12-31T00:00:00Z");
    assert_eq!(outlook.rotate_at, Some(end.clone()));
    assert_eq!(rotate_at(&certificates), Some(end.clone()));
    assert_eq!(
        look(&csv, &seen, &time("2027-12-30T23:59:59Z")).state,
        Certificates::Fine
    );
    assert_eq!(look(&csv, &seen, &end).state, Certificates::Due);
}

#[test]
fn an_expired_certificate_is_due() {
    let csv = csv();
    let seen = written(&csv, &certificates(&csv));
    let outlook = look(&csv, &seen, &time("2030-01-01T00:00:00Z"));
    assert_eq!(outlook.state, Certificates::Due);
}

#[test]
fn a_certificate_that_a_newer_version_claimed_is_used_and_neither_made_nor_renewed() {
    let csv = csv();
    let certificates = certificates(&csv);
    let claimed = BTreeSet::from([Key::new("Secret", "home", "op-service-cert")]);
    let late = time("2030-01-01T00:00:00Z");
    let outlook = look(&csv, &written(&csv, &certificates), &late).leaving(&csv, &claimed);
    assert_eq!(outlook.state, Certificates::Fine);
    assert_eq!(renew(&csv, &outlook, &NONE, &late).unwrap(), certificates);
    let lost = look(&csv, &Seen::default(), &late).leaving(&csv, &claimed);
    assert_eq!(lost.state, Certificates::Unneeded);
    assert_eq!(
        renew(&csv, &lost, &NONE, &late).unwrap(),
        ServingCertificates::new()
    );
}

#[test]
fn a_good_certificate_is_used_again() {
    let csv = csv();
    let certificates = certificates(&csv);
    let outlook = look(&csv, &written(&csv, &certificates), &now());
    assert_eq!(renew(&csv, &outlook, &NONE, &now()).unwrap(), certificates);
}

#[test]
fn a_certificate_for_other_hosts_is_due() {
    let mut elsewhere = csv();
    elsewhere.metadata.namespace = Some("elsewhere".to_owned());
    let foreign = certificates(&elsewhere);
    let csv = csv();
    let outlook = look(&csv, &written(&csv, &foreign), &now());
    assert_eq!(outlook.state, Certificates::Due);
}

#[test]
fn a_certificate_of_another_ca_is_due() {
    let csv = csv();
    let mut mixed = certificates(&csv);
    mixed.get_mut("op").unwrap().authority = certificates(&csv)["op"].authority.clone();
    let outlook = look(&csv, &written(&csv, &mixed), &now());
    assert_eq!(outlook.state, Certificates::Due);
}

#[test]
fn after_a_renewal_both_cas_are_trusted() {
    let csv = csv();
    let first = certificates(&csv);
    assert_eq!(authorities(&first["op"]), 1);
    let later = time("2027-12-31T12:00:00Z");
    let outlook = look(&csv, &written(&csv, &first), &later);
    let second = renew(&csv, &outlook, &NONE, &later).unwrap();
    assert_ne!(second["op"].certificate, first["op"].certificate);
    assert_eq!(
        second["op"].former_authority.as_ref(),
        Some(&first["op"].authority)
    );
    assert_eq!(authorities(&second["op"]), 2);
    let seen = written(&csv, &second);
    assert_eq!(look(&csv, &seen, &later).state, Certificates::Fine);
    assert_eq!(look(&csv, &seen, &later).in_use, second);
}

#[test]
fn a_bundle_does_not_grow_with_each_renewal() {
    let csv = csv();
    let mut certificates = certificates(&csv);
    for day in ["2027-12-31T12", "2029-12-30T00", "2031-12-29T12"] {
        let at = time(&format!("{day}:00:00Z"));
        let outlook = look(&csv, &written(&csv, &certificates), &at);
        assert_eq!(outlook.state, Certificates::Due, "{day}");
        certificates = renew(&csv, &outlook, &NONE, &at).unwrap();
        assert_eq!(authorities(&certificates["op"]), 2);
    }
}

/// The cluster after an installation, without the Secret of the certificate.
fn without_secret(csv: &ClusterServiceVersion, certificates: &ServingCertificates) -> Seen {
    let written = install(csv, certificates);
    let objects = written.objects().filter(|it| it["kind"] != "Secret");
    Seen::new(objects.cloned())
}

#[test]
fn if_the_secret_is_lost_the_ca_that_callers_trust_stays_trusted() {
    let csv = csv();
    let first = certificates(&csv);
    let lost = without_secret(&csv, &first);
    let outlook = look(&csv, &lost, &now());
    assert!(matches!(outlook.state, Certificates::Missing { .. }));
    let second = renew(&csv, &outlook, &NONE, &now()).unwrap();
    assert_ne!(second["op"].authority, first["op"].authority);
    assert_eq!(
        second["op"].former_authority.as_ref(),
        Some(&first["op"].authority)
    );
    // The new Secret says the same, so that callers are told once.
    let seen = written(&csv, &second);
    assert_eq!(look(&csv, &seen, &now()).in_use, second);

    // Also if it is lost again before all Pods were replaced, and again.
    let mut certificates = second;
    for expected in [3, 4, 4] {
        let lost = without_secret(&csv, &certificates);
        certificates = renew(&csv, &look(&csv, &lost, &now()), &NONE, &now()).unwrap();
        assert_eq!(authorities(&certificates["op"]), expected);
    }
}

#[test]
fn if_the_secret_holds_something_else_the_ca_that_callers_trust_stays_trusted() {
    let csv = csv();
    let first = certificates(&csv);
    let mut seen = cluster_after(&install(&csv, &first));
    let mut elsewhere = csv.clone();
    elsewhere.metadata.namespace = Some("elsewhere".to_owned());
    let foreign = certificates(&elsewhere);
    let secret = install(&csv, &foreign).secrets.swap_remove(0);
    seen.insert(secret);
    let outlook = look(&csv, &seen, &now());
    assert_eq!(outlook.state, Certificates::Due);
    let renewed = renew(&csv, &outlook, &NONE, &now()).unwrap();
    let former = renewed["op"].former_authority.clone().unwrap();
    assert!(former.contains(&first["op"].authority), "{former}");
}

#[test]
fn what_callers_trust_and_expired_is_not_trusted_any_longer() {
    let csv = csv();
    let lost = without_secret(&csv, &certificates(&csv));
    let late = time("2030-01-01T00:00:00Z");
    let renewed = renew(&csv, &look(&csv, &lost, &late), &NONE, &late).unwrap();
    assert_eq!(renewed["op"].former_authority, None);
}

#[test]
fn what_is_trusted_by_those_who_call_somebody_else_is_of_no_account() {
    let mut elsewhere = csv();
    elsewhere.metadata.namespace = Some("elsewhere".to_owned());
    let theirs = without_secret(&elsewhere, &certificates(&elsewhere));
    let csv = csv();
    let renewed = renew(&csv, &look(&csv, &theirs, &now()), &NONE, &now()).unwrap();
    assert_eq!(renewed["op"].former_authority, None);
}

#[test]
fn an_expired_ca_is_not_trusted_any_longer() {
    let csv = csv();
    let late = time("2030-01-01T00:00:00Z");
    let outlook = look(&csv, &written(&csv, &certificates(&csv)), &late);
    let renewed = renew(&csv, &outlook, &NONE, &late).unwrap();
    assert_eq!(renewed["op"].former_authority, None);
}

#[test]
fn the_secret_holds_what_olms_holds() {
    let csv = csv();
    let certificates = certificates(&csv);
    let secret = install(&csv, &certificates).secrets.swap_remove(0);
    assert_eq!(secret["type"], "kubernetes.io/tls");
    let keys: Vec<&String> = secret["data"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["tls.crt", "tls.key", "olmCAKey"]);
    let hash = secret["metadata"]["annotations"]["olmcahash"]
        .as_str()
        .unwrap();
    assert_eq!(hash, certificates["op"].authority_hash());
    assert_eq!(hash.len(), 64);
}

#[test]
fn a_tls_client_that_trusts_the_bundle_takes_the_server() {
    use rustls::pki_types::{PrivateKeyDer, ServerName};
    use std::sync::Arc;
    let csv = csv();
    let certificates = certificates(&csv);
    let one = &certificates["op"];
    let chain = vec![CertificateDer::from_pem_slice(one.certificate.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(one.key.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    // It refuses a key that is not the certificate's.
    let server = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain.clone(), key);
    assert!(server.is_ok(), "{server:?}");
    let mut roots = rustls::RootCertStore::empty();
    let bundle = STANDARD.decode(one.bundle()).unwrap();
    for authority in CertificateDer::pem_slice_iter(&bundle) {
        roots.add(authority.unwrap()).unwrap();
    }
    let verifier =
        rustls::client::WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .unwrap();
    let name = ServerName::try_from("op-service.home.svc").unwrap();
    let seconds = u64::try_from(now().0.as_second()).unwrap();
    let at = rustls::pki_types::UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
    let verdict = rustls::client::danger::ServerCertVerifier::verify_server_cert(
        verifier.as_ref(),
        &chain[0],
        &[],
        &name,
        &[],
        at,
    );
    assert!(verdict.is_ok(), "{verdict:?}");
}
