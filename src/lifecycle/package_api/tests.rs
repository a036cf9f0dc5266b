use k8s_openapi::jiff::Timestamp;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::{
    APIServiceCondition, APIServiceStatus,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use super::*;

const HOME: &str = "chandler-system";
const DAY: i64 = 24 * 3600;

fn at(second: i64) -> Time {
    Time(Timestamp::from_second(1_800_000_000 + second).unwrap())
}

/// The objects of a cluster, and what is done to them.
struct World {
    seen: Seen,
    done: Vec<&'static str>,
}

impl Default for World {
    fn default() -> Self {
        let seen = Seen {
            has_service: true,
            ..Seen::default()
        };
        Self {
            seen,
            done: Vec::new(),
        }
    }
}

impl World {
    /// Does what is due until there is nothing to do, as if time stood still.
    fn settle(&mut self, now: &Time) -> Step {
        for _ in 0..10 {
            let step = next(HOME, &self.seen, now).unwrap();
            match step {
                Step::Write(secret) => {
                    self.done.push("Secret");
                    self.seen.secret = Some(*secret);
                }
                Step::Register(api_service) => {
                    self.done.push("APIService");
                    self.seen.api_service = Some(*api_service);
                    self.seen.trusted_for = Duration::ZERO;
                }
                other => return other,
            }
        }
        panic!("it never ends: {:?}", self.done);
    }

    fn done(&mut self) -> Vec<&'static str> {
        std::mem::take(&mut self.done)
    }

    fn secret(&self, key: &str) -> String {
        let data = self.seen.secret.as_ref().unwrap().data.as_ref().unwrap();
        let bytes = data.get(key).map(|bytes| bytes.0.clone());
        String::from_utf8(bytes.unwrap_or_default()).unwrap()
    }

    fn trusts(&self, authority: &str) -> bool {
        let spec = self.seen.api_service.as_ref().unwrap().spec.as_ref();
        let bundle = spec.unwrap().ca_bundle.as_ref().unwrap().0.clone();
        !authority.is_empty() && String::from_utf8(bundle).unwrap().contains(authority)
    }
}

fn installed() -> World {
    let mut world = World::default();
    world.settle(&at(0));
    world.done();
    world
}

fn of_others(status: &str, since: i64) -> APIService {
    APIService {
        spec: Some(APIServiceSpec {
            service: Some(ServiceReference {
                namespace: Some("olm".to_owned()),
                name: Some("packageserver-service".to_owned()),
                port: Some(5443),
            }),
            ..APIServiceSpec::default()
        }),
        status: Some(APIServiceStatus {
            conditions: Some(vec![APIServiceCondition {
                type_: "Available".to_owned(),
                status: status.to_owned(),
                last_transition_time: Some(at(since)),
                ..APIServiceCondition::default()
            }]),
        }),
        ..APIService::default()
    }
}

#[test]
fn the_certificate_is_there_before_the_api_is_registered() {
    let mut world = World::default();
    let step = world.settle(&at(0));
    assert_eq!(world.done(), ["Secret", "APIService"]);
    assert_eq!(step, Step::Wait(Duration::from_hours(729 * 24)));
    assert!(world.trusts(&world.secret(labels::CA_SECRET_KEY)));
    // And nothing is written again.
    world.settle(&at(DAY));
    assert_eq!(world.done(), Vec::<&str>::new());
}

#[test]
fn nobody_serves_with_the_next_certificate_before_it_was_trusted_for_a_while() {
    let mut world = installed();
    let (certificate, authority) = (
        world.secret(CERTIFICATE),
        world.secret(labels::CA_SECRET_KEY),
    );
    let due = at(729 * DAY + 1);
    assert_eq!(world.settle(&due), Step::Wait(SETTLE));
    assert_eq!(world.done(), ["Secret", "APIService"]);
    assert_eq!(world.secret(CERTIFICATE), certificate);
    assert!(world.trusts(&authority) && world.trusts(&world.secret(NEXT_AUTHORITY)));
    let (next, next_authority) = (world.secret(NEXT_CERTIFICATE), world.secret(NEXT_AUTHORITY));
    world.seen.trusted_for = SETTLE;
    assert!(matches!(world.settle(&due), Step::Wait(wait) if wait > SETTLE));
    assert_eq!(world.done(), ["Secret", "APIService"]);
    assert_eq!(world.secret(CERTIFICATE), next);
    assert_eq!(world.secret(NEXT_CERTIFICATE), "");
    // The former one stays trusted: a replica may be late.
    assert!(world.trusts(&authority) && world.trusts(&next_authority));
}

#[test]
fn the_api_trusts_the_certificate_in_use_at_every_moment_of_a_renewal() {
    let mut world = installed();
    let due = at(729 * DAY + 1);
    for trusted in [Duration::ZERO, SETTLE, Duration::ZERO] {
        world.seen.trusted_for = trusted;
        for _ in 0..4 {
            match next(HOME, &world.seen, &due).unwrap() {
                Step::Write(secret) => world.seen.secret = Some(*secret),
                Step::Register(api_service) => world.seen.api_service = Some(*api_service),
                _ => break,
            }
            let authority = world.secret(labels::CA_SECRET_KEY);
            assert!(world.trusts(&authority), "the API server does not trust it");
        }
    }
}

#[test]
fn whoever_takes_over_in_the_middle_of_a_renewal_goes_on_with_it() {
    let mut world = installed();
    let due = at(729 * DAY + 1);
    let Step::Write(secret) = next(HOME, &world.seen, &due).unwrap() else {
        panic!("nothing is written");
    };
    world.seen.secret = Some(*secret);
    let next_certificate = world.secret(NEXT_CERTIFICATE);
    // Killed here. The other one finds the next certificate and makes no other.
    assert_eq!(world.settle(&due), Step::Wait(SETTLE));
    assert_eq!(world.done(), ["APIService"]);
    assert_eq!(world.secret(NEXT_CERTIFICATE), next_certificate);
}

#[test]
fn a_certificate_that_is_of_no_use_is_made_anew_at_once() {
    for broken in ["expired", "for others", "rubbish", "gone"] {
        let mut world = installed();
        let mut now = at(10);
        let secret = world.seen.secret.as_mut().unwrap();
        let data = secret.data.as_mut().unwrap();
        match broken {
            "expired" => now = at(731 * DAY),
            "for others" => {
                let hosts = services::hosts("other", "elsewhere");
                let other = certificates::issue("other", &hosts, &at(0)).unwrap();
                let held = Certificates {
                    current: other,
                    next: None,
                };
                world.seen.secret = Some(held.secret(HOME));
            }
            "rubbish" => {
                data.insert(CERTIFICATE.to_owned(), ByteString(b"rubbish".to_vec()));
            }
            _ => world.seen.secret = None,
        }
        world.settle(&now);
        assert_eq!(world.done(), ["Secret", "APIService"], "{broken}");
        assert!(
            world.trusts(&world.secret(labels::CA_SECRET_KEY)),
            "{broken}"
        );
    }
}

#[test]
fn what_somebody_changed_about_the_registration_is_put_right() {
    type Change = fn(&mut APIServiceSpec);
    let changes: [Change; 3] = [
        |spec| spec.ca_bundle = None,
        |spec| spec.insecure_skip_tls_verify = Some(true),
        |spec| spec.version_priority = 1,
    ];
    for change in changes {
        let mut world = installed();
        change(
            world
                .seen
                .api_service
                .as_mut()
                .unwrap()
                .spec
                .as_mut()
                .unwrap(),
        );
        world.settle(&at(10));
        assert_eq!(world.done(), ["APIService"]);
    }
    let mut world = installed();
    world.seen.owner = Some(OwnerReference::default());
    world.settle(&at(10));
    assert_eq!(world.done(), ["APIService"]);
}

#[test]
fn somebody_else_who_serves_the_api_is_left_alone() {
    let mut world = World::default();
    for (status, since, after) in [
        ("True", -DAY, None),
        ("Unknown", -DAY, None),
        ("False", 0, Some(DEAD)),
        (
            "False",
            -10,
            Some(DEAD.saturating_sub(Duration::from_secs(10))),
        ),
    ] {
        world.seen.api_service = Some(of_others(status, since));
        let step = world.settle(&at(0));
        let to = "Service olm/packageserver-service".to_owned();
        assert_eq!(step, Step::Yield { to, after }, "{status}");
    }
    assert_eq!(world.done(), ["Secret"], "replicas are ready all the same");
    world.seen.api_service = Some(APIService::default());
    assert!(
        matches!(world.settle(&at(0)), Step::Yield { to, .. } if to == "the API server itself")
    );
}

#[test]
fn the_api_of_somebody_who_is_dead_is_taken_over() {
    let mut world = installed();
    world.seen.api_service = Some(of_others("False", -30));
    world.settle(&at(0));
    assert_eq!(world.done(), ["APIService"]);
}

#[test]
fn nothing_is_registered_that_nothing_leads_to() {
    let mut world = World::default();
    world.seen.has_service = false;
    assert_eq!(world.settle(&at(0)), Step::Await);
    assert_eq!(world.done(), ["Secret"]);
    world.seen.api_service = Some(of_others("False", -DAY));
    assert_eq!(world.settle(&at(0)), Step::Await);
    let mut world = installed();
    world.seen.has_service = false;
    assert_eq!(world.settle(&at(0)), Step::Unregister);
}

#[test]
fn a_chandler_that_is_removed_takes_its_registration_along_and_no_other() {
    let mut world = installed();
    world.seen.is_leaving = true;
    assert_eq!(world.settle(&at(0)), Step::Unregister);
    world.seen.api_service = Some(of_others("True", 0));
    assert!(matches!(world.settle(&at(0)), Step::Wait(_)));
    world.seen.api_service = None;
    assert!(matches!(world.settle(&at(0)), Step::Wait(_)));
    assert_eq!(world.done(), Vec::<&str>::new());
}

#[test]
fn the_bundle_of_a_renewal_holds_each_ca_as_a_certificate_of_its_own() {
    let mut world = installed();
    world.settle(&at(729 * DAY + 1));
    let spec = world.seen.api_service.unwrap().spec.unwrap();
    let bundle = spec.ca_bundle.unwrap().0;
    let count = CertificateDer::pem_slice_iter(&bundle)
        .map(Result::unwrap)
        .count();
    assert_eq!(count, 2);
}
