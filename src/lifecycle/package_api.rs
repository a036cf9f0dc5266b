//! How the API of packages is served and registered.
//!
//! All replicas serve it with one certificate, which is in a Secret, and an APIService tells the API
//! server where they are and which CA to trust. Both are kept by the replica that leads.
//!
//! Without a Service that leads to the replicas nothing is registered: an API that nobody serves keeps
//! every namespace of a cluster from being deleted.
//!
//! # Renewal without a request that fails
//!
//! A day before the certificate expires the next one is made, by a new CA (whose key is thrown away,
//! as that of the former). It is put beside the one in use, and nobody serves with it yet:
//!
//! 1. The Secret gets the next certificate beside the current one.
//! 2. The APIService trusts the CAs of both, and that of the one before.
//! 3. When the API servers had time to hear of that, the next certificate becomes the current one.
//!    The CA of the former stays trusted until the next renewal: a replica may be late.
//!
//! Each step follows from what the two objects say, and so whoever is killed in between, or takes
//! over, goes on with the one that is due.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::{
    APIService, APIServiceSpec, ServiceReference,
};

use super::install::certificates::{
    self, CertificateError, ServingCertificate, is_of_use, renew_at,
};
use super::install::services;
use crate::api::labels;

/// The name of the APIService.
pub const API_SERVICE: &str = "v1.packages.operators.coreos.com";
/// The name of the Service that leads to all replicas.
pub const SERVICE: &str = "chandler-packages";
/// The name of the Secret with the certificate.
pub const SECRET: &str = "chandler-packages-cert";

const GROUP: &str = "packages.operators.coreos.com";
const VERSION: &str = "v1";
/// Where group and version stand among others in discovery, as OLM has them.
const GROUP_PRIORITY: i32 = 2000;
const VERSION_PRIORITY: i32 = 15;
/// The port of the Service.
const PORT: i32 = 443;

/// How long API servers have to hear of another CA before somebody serves with its certificate.
pub const SETTLE: Duration = Duration::from_secs(10);
/// How long somebody else's server must have been away before the API is taken over.
pub const DEAD: Duration = Duration::from_secs(30);

const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
const NEXT_CERTIFICATE: &str = "next.crt";
const NEXT_KEY: &str = "next.key";
const NEXT_AUTHORITY: &str = "next.ca";

/// What there is.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// The Secret, if it is there.
    pub secret: Option<Secret>,
    /// The APIService, if it is there.
    pub api_service: Option<APIService>,
    /// Whether there is a Service that leads to the replicas.
    pub has_service: bool,
    /// What the APIService goes with when Chandler is removed, if there is such a thing.
    pub owner: Option<OwnerReference>,
    /// Whether Chandler's namespace is being deleted.
    pub is_leaving: bool,
    /// For how long the APIService is known to trust what the Secret holds.
    pub trusted_for: Duration,
}

/// What is to be done next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// The Secret has to be written.
    Write(Box<Secret>),
    /// The APIService has to be written.
    Register(Box<APIService>),
    /// The APIService has to go.
    Unregister,
    /// There is no Service that leads here, and so nothing to register.
    Await,
    /// Somebody else serves the API, and is left alone.
    Yield {
        /// Who.
        to: String,
        /// When to look again, if it does not seem to be well.
        after: Option<Duration>,
    },
    /// All is well until then.
    Wait(Duration),
}

/// The certificates of the Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Certificates {
    current: ServingCertificate,
    next: Option<ServingCertificate>,
}

/// What is to be done next for the Chandler of a namespace.
pub fn next(home: &str, seen: &Seen, now: &Time) -> Result<Step, CertificateError> {
    let hosts = services::hosts(SERVICE, home);
    let api_service = seen.api_service.as_ref();
    if seen.is_leaving {
        // Left behind, it would keep every namespace of the cluster from being deleted.
        let is_ours = api_service.is_some_and(|it| is_ours(it, home));
        return Ok(if is_ours {
            Step::Unregister
        } else {
            Step::Wait(DEAD)
        });
    }
    let held = seen.secret.as_ref().and_then(Certificates::read);
    let good = held.and_then(|held| {
        let at = renew_at(&held.current, &hosts, now)?;
        Some((held, at))
    });
    let Some((mut held, renew)) = good else {
        let current = certificates::issue(SERVICE, &hosts, now)?;
        let fresh = Certificates {
            current,
            next: None,
        };
        return Ok(Step::Write(Box::new(fresh.secret(home))));
    };
    let next_is_good = held
        .next
        .as_ref()
        .is_some_and(|next| renew_at(next, &hosts, now).is_some_and(|at| at > *now));
    if renew <= *now && !next_is_good {
        held.next = Some(certificates::issue(SERVICE, &hosts, now)?);
        return Ok(Step::Write(Box::new(held.secret(home))));
    }
    if !seen.has_service {
        let is_ours = api_service.is_some_and(|it| is_ours(it, home));
        return Ok(if is_ours {
            Step::Unregister
        } else {
            Step::Await
        });
    }
    if let Some(other) = api_service.filter(|it| !is_ours(it, home))
        && let Some(step) = give_way(other, now)
    {
        return Ok(step);
    }
    let wanted = held.api_service(home, seen.owner.as_ref());
    if !api_service.is_some_and(|it| says(it, &wanted)) {
        return Ok(Step::Register(Box::new(wanted)));
    }
    let Some(next) = held.next else {
        let until = renew.0.as_second() - now.0.as_second();
        return Ok(Step::Wait(Duration::from_secs(
            u64::try_from(until).unwrap_or_default(),
        )));
    };
    let unsettled = SETTLE.saturating_sub(seen.trusted_for);
    if !unsettled.is_zero() {
        return Ok(Step::Wait(unsettled));
    }
    let former = Some(held.current.authority);
    let promoted = Certificates {
        current: ServingCertificate {
            former_authority: former.filter(|former| is_of_use(former, now)),
            ..next
        },
        next: None,
    };
    Ok(Step::Write(Box::new(promoted.secret(home))))
}

/// Whether the APIService leads to the Chandler of this namespace.
fn is_ours(api_service: &APIService, home: &str) -> bool {
    let service = api_service.spec.as_ref().and_then(|it| it.service.as_ref());
    service.is_some_and(|it| {
        it.namespace.as_deref() == Some(home) && it.name.as_deref() == Some(SERVICE)
    })
}

/// Leaves the API to somebody else, unless that one has been away for long.
fn give_way(other: &APIService, now: &Time) -> Option<Step> {
    let status = other.status.as_ref();
    let conditions = status.and_then(|it| it.conditions.as_ref());
    let available = conditions
        .into_iter()
        .flatten()
        .find(|it| it.type_ == "Available");
    let away = available
        .filter(|it| it.status == "False")
        .and_then(|it| it.last_transition_time.as_ref())
        .map(|since| now.0.as_second() - since.0.as_second())
        .map(|seconds| Duration::from_secs(u64::try_from(seconds).unwrap_or_default()));
    if away.is_some_and(|away| away >= DEAD) {
        return None;
    }
    let service = other.spec.as_ref().and_then(|it| it.service.as_ref());
    let to = service.map_or("the API server itself".to_owned(), |it| {
        let namespace = it.namespace.as_deref().unwrap_or_default();
        format!(
            "Service {namespace}/{}",
            it.name.as_deref().unwrap_or_default()
        )
    });
    Some(Step::Yield {
        to,
        after: away.map(|away| DEAD.saturating_sub(away)),
    })
}

/// Whether an APIService says all that is wanted of it.
fn says(seen: &APIService, wanted: &APIService) -> bool {
    let (Some(spec), Some(wanted_spec)) = (&seen.spec, &wanted.spec) else {
        return false;
    };
    let owners = |it: &APIService| it.metadata.owner_references.clone().unwrap_or_default();
    let is_insecure = spec.insecure_skip_tls_verify == Some(true);
    let is_owned = owners(wanted)
        .iter()
        .all(|owner| owners(seen).contains(owner));
    spec.ca_bundle == wanted_spec.ca_bundle
        && spec.service == wanted_spec.service
        && spec.group_priority_minimum == wanted_spec.group_priority_minimum
        && spec.version_priority == wanted_spec.version_priority
        && !is_insecure
        && is_owned
}

impl Certificates {
    fn read(secret: &Secret) -> Option<Self> {
        let data = secret.data.as_ref()?;
        let text = |key: &str| {
            let text = String::from_utf8(data.get(key)?.0.clone()).ok()?;
            (!text.is_empty()).then_some(text)
        };
        let certificate = |certificate: &str, key: &str, authority: &str| {
            Some(ServingCertificate {
                certificate: text(certificate)?,
                key: text(key)?,
                authority: text(authority)?,
                former_authority: None,
            })
        };
        Some(Self {
            current: ServingCertificate {
                former_authority: text(labels::FORMER_CA_SECRET_KEY),
                ..certificate(CERTIFICATE, KEY, labels::CA_SECRET_KEY)?
            },
            next: certificate(NEXT_CERTIFICATE, NEXT_KEY, NEXT_AUTHORITY),
        })
    }

    fn secret(&self, home: &str) -> Secret {
        let current = &self.current;
        let mut data = BTreeMap::new();
        let mut put = |key: &str, text: &str| {
            data.insert(key.to_owned(), ByteString(text.as_bytes().to_vec()));
        };
        put(CERTIFICATE, &current.certificate);
        put(KEY, &current.key);
        put(labels::CA_SECRET_KEY, &current.authority);
        if let Some(former) = &current.former_authority {
            put(labels::FORMER_CA_SECRET_KEY, former);
        }
        if let Some(next) = &self.next {
            put(NEXT_CERTIFICATE, &next.certificate);
            put(NEXT_KEY, &next.key);
            put(NEXT_AUTHORITY, &next.authority);
        }
        Secret {
            metadata: ObjectMeta {
                name: Some(SECRET.to_owned()),
                namespace: Some(home.to_owned()),
                labels: Some(marks()),
                ..ObjectMeta::default()
            },
            type_: Some("kubernetes.io/tls".to_owned()),
            data: Some(data),
            ..Secret::default()
        }
    }

    fn api_service(&self, home: &str, owner: Option<&OwnerReference>) -> APIService {
        let next = self.next.as_ref().map(|next| next.authority.as_str());
        let former = self.current.former_authority.as_deref();
        let trusted = [Some(self.current.authority.as_str()), next, former];
        let trusted: String = trusted.into_iter().flatten().collect();
        APIService {
            metadata: ObjectMeta {
                name: Some(API_SERVICE.to_owned()),
                labels: Some(marks()),
                owner_references: owner.map(|owner| vec![owner.clone()]),
                ..ObjectMeta::default()
            },
            spec: Some(APIServiceSpec {
                group: Some(GROUP.to_owned()),
                version: Some(VERSION.to_owned()),
                group_priority_minimum: GROUP_PRIORITY,
                version_priority: VERSION_PRIORITY,
                ca_bundle: Some(ByteString(trusted.into_bytes())),
                insecure_skip_tls_verify: Some(false),
                service: Some(ServiceReference {
                    namespace: Some(home.to_owned()),
                    name: Some(SERVICE.to_owned()),
                    port: Some(PORT),
                }),
            }),
            status: None,
        }
    }
}

fn marks() -> BTreeMap<String, String> {
    let own = ("app.kubernetes.io/name".to_owned(), "chandler".to_owned());
    BTreeMap::from([own])
}
