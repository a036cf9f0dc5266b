//! Who asks.
//!
//! In this order, as in every API server behind another one:
//!
//! 1. The API server itself says who asks, in headers. They count only behind a client certificate
//!    of its own CA for that, with a name that it allows: anybody can write headers.
//! 2. A client certificate of the cluster's CA for people and machines.
//! 3. A bearer token, of which the API server is asked whose it is.
//! 4. Nobody in particular. What such a one may see, authorization decides.
//!
//! A certificate or a token that says nothing to anybody is refused: whoever shows one wants to be
//! somebody.

mod certificate;
mod trust;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use http::{HeaderMap, header};
use rustls::pki_types::{CertificateDer, UnixTime};
use sha2::{Digest as _, Sha256};

use self::certificate::{Subject, is_signed_by};
pub use self::trust::{Trust, TrustError};
use super::brief::Brief;
use super::reviews::Reviews;

/// Somebody who asks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct User {
    /// Name of the user.
    pub name: String,
    /// What tells the user from others who had the same name; may be empty.
    pub uid: String,
    /// Groups of the user.
    pub groups: Vec<String>,
    /// Whatever else was found out.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// Everybody who is somebody.
const AUTHENTICATED: &str = "system:authenticated";
/// Everybody else.
const UNAUTHENTICATED: &str = "system:unauthenticated";
const ANONYMOUS: &str = "system:anonymous";

impl User {
    /// Nobody in particular.
    pub fn anonymous() -> Self {
        Self {
            name: ANONYMOUS.to_owned(),
            groups: vec![UNAUTHENTICATED.to_owned()],
            ..Self::default()
        }
    }

    /// Who was found out to be somebody.
    fn authenticated(mut self) -> Self {
        let is_told = self
            .groups
            .iter()
            .any(|group| group == AUTHENTICATED || group == UNAUTHENTICATED);
        if !is_told && self.name != ANONYMOUS {
            self.groups.push(AUTHENTICATED.to_owned());
        }
        self
    }
}

/// Why it is not known who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unknown {
    /// What was shown says nothing to anybody.
    Refused,
    /// It could not be found out.
    Failed(String),
}

/// Finds out who asks.
pub(super) struct Authenticator {
    trust: RwLock<Option<Arc<Trust>>>,
    /// By the hash of the token: nobody should find tokens here.
    tokens: Brief<[u8; 32], Option<User>>,
    reviews: Arc<dyn Reviews>,
}

impl fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authenticator").finish_non_exhaustive()
    }
}

impl Authenticator {
    pub(super) fn new(reviews: Arc<dyn Reviews>) -> Self {
        Self {
            trust: RwLock::default(),
            tokens: Brief::default(),
            reviews,
        }
    }

    /// Whom to believe from now on, also on connections that are open already.
    pub(super) fn believe(&self, trust: Trust) {
        let mut current = self.trust.write().unwrap_or_else(PoisonError::into_inner);
        *current = Some(Arc::new(trust));
    }

    /// Whether it is known whom to believe.
    pub(super) fn is_ready(&self) -> bool {
        let trust = self.trust.read().unwrap_or_else(PoisonError::into_inner);
        trust.is_some()
    }

    /// Who asks, by the headers of a request and the certificates of its connection.
    pub(super) async fn authenticate(
        &self,
        headers: &HeaderMap,
        certificates: &[CertificateDer<'static>],
        now: UnixTime,
    ) -> Result<User, Unknown> {
        let trust = self.trust();
        if let Some(user) = by_certificate(&trust, headers, certificates, now) {
            return Ok(user.authenticated());
        }
        match bearer(headers) {
            Some(token) => match self.by_token(token).await? {
                Some(user) => Ok(user.authenticated()),
                None => Err(Unknown::Refused),
            },
            None if certificates.is_empty() => Ok(User::anonymous()),
            None => Err(Unknown::Refused),
        }
    }

    fn trust(&self) -> Arc<Trust> {
        let trust = self.trust.read().unwrap_or_else(PoisonError::into_inner);
        trust.clone().unwrap_or_default()
    }

    async fn by_token(&self, token: &str) -> Result<Option<User>, Unknown> {
        let key: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        if let Some(known) = self.tokens.get(&key) {
            return Ok(known);
        }
        let user = self.reviews.authenticate(token).await;
        let user = user.map_err(Unknown::Failed)?;
        self.tokens.put(key, user.clone());
        Ok(user)
    }
}

/// Who asks, by a certificate of one of those who are believed.
fn by_certificate(
    trust: &Trust,
    headers: &HeaderMap,
    certificates: &[CertificateDer<'static>],
    now: UnixTime,
) -> Option<User> {
    let (own, others) = certificates.split_first()?;
    if let Some(proxy) = &trust.proxy
        && is_signed_by(own, others, &proxy.authorities, now)
        && Subject::of(own).is_some_and(|subject| proxy.allows(&subject.common_name))
        && let Some(user) = proxy.user(headers)
    {
        return Some(user);
    }
    if is_signed_by(own, others, &trust.authorities, now) {
        let subject = Subject::of(own)?;
        return Some(User {
            name: subject.common_name,
            groups: subject.organizations,
            ..User::default()
        });
    }
    None
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.trim().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}
