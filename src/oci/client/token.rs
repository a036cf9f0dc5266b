//! Getting in: what a registry asks for, and the token that answers it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use reqwest::Url;
use serde::Deserialize;

use super::Registry;
use super::http::{Access, network};
use crate::oci::auth::{Login, Secret};
use crate::oci::{Error, ImageReference};

/// What a login is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Scope {
    registry: String,
    repository: String,
    access: Access,
}

/// The value of an `Authorization` header.
#[derive(Debug, Clone)]
pub(super) struct Authorization(Secret);

/// What a registry asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Challenge {
    scheme: String,
    parameters: Vec<(String, String)>,
}

// No `Debug`: it holds a token.
#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

impl Authorization {
    fn basic(username: &str, password: &Secret) -> Self {
        let pair = STANDARD.encode(format!("{username}:{}", password.reveal()));
        Self(Secret::new(format!("Basic {pair}")))
    }

    fn bearer(token: &str) -> Self {
        Self(Secret::new(format!("Bearer {token}")))
    }

    pub(super) fn header(&self) -> HeaderValue {
        // What cannot be in a header cannot be right either, and the registry will say so.
        let mut value = HeaderValue::from_str(self.0.reveal())
            .unwrap_or_else(|_| HeaderValue::from_static("invalid"));
        value.set_sensitive(true);
        value
    }
}

impl Registry {
    pub(super) fn known_login(
        &self,
        image: &ImageReference,
        access: Access,
    ) -> Option<Authorization> {
        self.logins().get(&scope(image, access)).cloned()
    }

    pub(super) fn forget_login(&self, image: &ImageReference, access: Access) {
        self.logins().remove(&scope(image, access));
    }

    /// Answers a challenge; none when there is nothing to answer it with.
    pub(super) async fn log_in(
        &self,
        image: &ImageReference,
        access: Access,
        challenges: &[Challenge],
    ) -> Result<Option<Authorization>, Error> {
        let login = self.settings.keychain.find(image).await?.login;
        let bearer = challenges.iter().find(|c| c.scheme == "bearer");
        let basic = challenges.iter().any(|c| c.scheme == "basic");
        let authorization = match (&login, bearer) {
            (Login::RegistryToken(token), _) => Authorization::bearer(token.reveal()),
            (_, Some(challenge)) => self.token(image, access, &login, challenge).await?,
            (Login::Password { username, password }, None) if basic => {
                Authorization::basic(username, password)
            }
            _ => return Ok(None),
        };
        self.logins()
            .insert(scope(image, access), authorization.clone());
        Ok(Some(authorization))
    }

    async fn token(
        &self,
        image: &ImageReference,
        access: Access,
        login: &Login,
        challenge: &Challenge,
    ) -> Result<Authorization, Error> {
        let bad = |reason: &str| Error::Answer {
            reference: image.to_string(),
            registry: image.registry().to_owned(),
            status: StatusCode::UNAUTHORIZED.as_u16(),
            message: reason.to_owned(),
            retry_after: None,
        };
        let realm = challenge.parameter("realm").unwrap_or_default();
        let mut url =
            Url::parse(realm).map_err(|_| bad("it names no place where a token is to be had"))?;
        // A password that travels in the open is not a secret any more.
        if url.scheme() != "https" && !self.settings.plain_http.contains(image.registry()) {
            return Err(bad("it wants the login to be sent without TLS"));
        }
        let actions = match access {
            Access::Pull => "pull",
            Access::Push => "pull,push",
        };
        let wanted = format!("repository:{}:{actions}", image.repository());
        let mut parameters = vec![("scope", wanted.as_str())];
        if let Some(service) = challenge.parameter("service") {
            parameters.push(("service", service));
        }
        let request = if let Login::IdentityToken(token) = login {
            parameters.push(("grant_type", "refresh_token"));
            parameters.push(("client_id", "chandler"));
            parameters.push(("refresh_token", token.reveal()));
            let mut form = url.clone();
            form.set_query(None);
            form.query_pairs_mut().extend_pairs(parameters);
            self.request(image, Method::POST, url.as_str())?
                .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                .body(form.query().unwrap_or_default().to_owned())
        } else {
            url.query_pairs_mut().extend_pairs(parameters);
            let request = self.request(image, Method::GET, url.as_str())?;
            match login {
                Login::Password { username, password } => request.header(
                    AUTHORIZATION,
                    Authorization::basic(username, password).header(),
                ),
                _ => request,
            }
        };
        let response = request
            .send()
            .await
            .map_err(|error| network(image, &error))?;
        let response = self.checked(image, response, "token service").await?;
        let answer = self.small(image, response, "token").await?;
        let token: Token = serde_json::from_slice(&answer.body)
            .map_err(|_| bad("its token service gave no token"))?;
        let token = token.token.or(token.access_token);
        let token = token.ok_or_else(|| bad("its token service gave no token"))?;
        Ok(Authorization::bearer(&token))
    }

    fn logins(&self) -> std::sync::MutexGuard<'_, std::collections::HashMap<Scope, Authorization>> {
        // Each change is one call; a panic cannot have left half of one behind.
        self.logins
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Challenge {
    /// Every challenge of an answer.
    pub(super) fn all(headers: &HeaderMap) -> Vec<Self> {
        let values = headers.get_all(WWW_AUTHENTICATE).into_iter();
        values
            .filter_map(|value| Self::parse(value.to_str().ok()?))
            .collect()
    }

    fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters
            .iter()
            .find_map(|(key, value)| (key == name).then_some(value.as_str()))
    }

    /// `SCHEME key="value",key=value`
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (scheme, mut rest) = text.split_once(' ').unwrap_or((text, ""));
        if scheme.is_empty() {
            return None;
        }
        let mut parameters = Vec::new();
        while let Some((key, after)) = rest.split_once('=') {
            let key = key.trim_matches([' ', ',']).to_ascii_lowercase();
            let value;
            (value, rest) = match after.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
                None => after.split_once(',').unwrap_or((after, "")),
            };
            parameters.push((key, value.trim().to_owned()));
        }
        Some(Self {
            scheme: scheme.to_ascii_lowercase(),
            parameters,
        })
    }
}

fn scope(image: &ImageReference, access: Access) -> Scope {
    Scope {
        registry: image.registry().to_owned(),
        repository: image.repository().to_owned(),
        access,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Authorization, Challenge};

    #[test]
    fn a_challenge_is_read_with_its_parameters() {
        let challenge = Challenge::parse(
            r#"Bearer realm="https://auth.example/token?a=b",service="r, s", scope=x"#,
        )
        .unwrap();
        assert_eq!(challenge.scheme, "bearer");
        assert_eq!(
            challenge.parameter("realm"),
            Some("https://auth.example/token?a=b")
        );
        assert_eq!(challenge.parameter("service"), Some("r, s"));
        assert_eq!(challenge.parameter("scope"), Some("x"));
    }

    #[test]
    fn a_token_is_not_shown() {
        let authorization = Authorization::bearer("hunter2");
        assert!(!format!("{authorization:?} {:?}", authorization.header()).contains("hunter2"));
    }

    proptest! {
        #[test]
        fn any_challenge_is_read_or_ignored(text in "\\PC{0,80}") {
            let _ = Challenge::parse(&text);
        }
    }
}
