//! Whom to believe, as the API server says in a ConfigMap that it keeps for that.

use std::collections::BTreeMap;

use http::HeaderMap;
use percent_encoding::percent_decode_str;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, TrustAnchor};
use webpki::anchor_from_trusted_cert;

use super::User;

/// Whom to believe.
#[derive(Debug, Clone, Default)]
pub struct Trust {
    /// Who vouches for people and machines by certificates.
    pub(super) authorities: Vec<TrustAnchor<'static>>,
    /// The API server in front, if it says how to know it.
    pub(super) proxy: Option<Proxy>,
}

/// An API server in front that says who asks.
#[derive(Debug, Clone, Default)]
pub(super) struct Proxy {
    /// Who vouches for its certificate.
    pub(super) authorities: Vec<TrustAnchor<'static>>,
    /// The names that its certificate may have; any if there are none.
    allowed_names: Vec<String>,
    user_headers: Vec<String>,
    uid_headers: Vec<String>,
    group_headers: Vec<String>,
    extra_prefixes: Vec<String>,
}

/// Something in the ConfigMap that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key} cannot be read: {problem}")]
pub struct TrustError {
    key: &'static str,
    problem: String,
}

impl Trust {
    /// Reads the data of `extension-apiserver-authentication`.
    pub fn read(data: &BTreeMap<String, String>) -> Result<Self, TrustError> {
        let proxy = data.contains_key(PROXY_CA).then(|| Proxy::read(data));
        Ok(Self {
            authorities: authorities(data, "client-ca-file")?,
            proxy: proxy.transpose()?,
        })
    }
}

const PROXY_CA: &str = "requestheader-client-ca-file";

impl Proxy {
    fn read(data: &BTreeMap<String, String>) -> Result<Self, TrustError> {
        Ok(Self {
            authorities: authorities(data, PROXY_CA)?,
            allowed_names: list(data, "requestheader-allowed-names")?,
            user_headers: list(data, "requestheader-username-headers")?,
            uid_headers: list(data, "requestheader-uid-headers")?,
            group_headers: list(data, "requestheader-group-headers")?,
            extra_prefixes: list(data, "requestheader-extra-headers-prefix")?,
        })
    }

    /// Whether its certificate may have this name.
    pub(super) fn allows(&self, name: &str) -> bool {
        self.allowed_names.is_empty() || self.allowed_names.iter().any(|it| it == name)
    }

    /// Who it says asks; nothing if it says nothing.
    pub(super) fn user(&self, headers: &HeaderMap) -> Option<User> {
        let name = first(headers, &self.user_headers)?;
        let groups = self.group_headers.iter();
        let groups = groups.flat_map(|name| texts(headers, name));
        Some(User {
            name,
            uid: first(headers, &self.uid_headers).unwrap_or_default(),
            groups: groups.collect(),
            extra: self.extra(headers),
        })
    }

    fn extra(&self, headers: &HeaderMap) -> BTreeMap<String, Vec<String>> {
        let mut extra = BTreeMap::new();
        for name in headers.keys() {
            let keys = self.extra_prefixes.iter().filter_map(|prefix| {
                let prefix = prefix.to_ascii_lowercase();
                name.as_str().strip_prefix(&prefix)
            });
            for key in keys {
                // Anything may be a key, and not everything may be the name of a header.
                let key = percent_decode_str(key).decode_utf8_lossy().into_owned();
                let values: &mut Vec<String> = extra.entry(key).or_default();
                values.extend(texts(headers, name.as_str()));
            }
        }
        extra
    }
}

fn first(headers: &HeaderMap, names: &[String]) -> Option<String> {
    let mut values = names.iter().filter_map(|name| texts(headers, name).next());
    values.find(|value| !value.is_empty())
}

fn texts<'h>(headers: &'h HeaderMap, name: &str) -> impl Iterator<Item = String> + use<'h> {
    let values = headers.get_all(name).into_iter();
    values.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// The certificates of a field. Those that cannot be an authority vouch for nobody.
fn authorities(
    data: &BTreeMap<String, String>,
    key: &'static str,
) -> Result<Vec<TrustAnchor<'static>>, TrustError> {
    let text = data.get(key).map(String::as_str).unwrap_or_default();
    let mut authorities = Vec::new();
    for certificate in CertificateDer::pem_slice_iter(text.as_bytes()) {
        let certificate = certificate.map_err(|error| TrustError {
            key,
            problem: error.to_string(),
        })?;
        if let Ok(authority) = anchor_from_trusted_cert(&certificate) {
            authorities.push(authority.to_owned());
        }
    }
    Ok(authorities)
}

/// A list of texts as JSON.
fn list(data: &BTreeMap<String, String>, key: &'static str) -> Result<Vec<String>, TrustError> {
    let Some(text) = data.get(key).filter(|text| !text.trim().is_empty()) else {
        return Ok(Vec::new());
    };
    serde_json::from_str(text).map_err(|error| TrustError {
        key,
        problem: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let pairs = pairs.iter();
        pairs
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn proxy() -> Proxy {
        let trust = Trust::read(&data(&[
            (PROXY_CA, ""),
            ("requestheader-allowed-names", r#"["front-proxy-client"]"#),
            ("requestheader-username-headers", r#"["X-Remote-User"]"#),
            ("requestheader-uid-headers", r#"["X-Remote-Uid"]"#),
            ("requestheader-group-headers", r#"["X-Remote-Group"]"#),
            (
                "requestheader-extra-headers-prefix",
                r#"["X-Remote-Extra-"]"#,
            ),
        ]));
        trust.unwrap().proxy.unwrap()
    }

    #[test]
    fn headers_say_who_asks() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("x-remote-user", "ada"),
            ("x-remote-uid", "7"),
            ("x-remote-group", "a"),
            ("x-remote-group", "b"),
            ("x-remote-extra-acme.com%2Fproject", "one"),
            ("x-remote-extra-acme.com%2Fproject", "two"),
        ] {
            headers.append(name, value.parse().unwrap());
        }
        let user = proxy().user(&headers).unwrap();
        assert_eq!((user.name.as_str(), user.uid.as_str()), ("ada", "7"));
        assert_eq!(user.groups, ["a", "b"]);
        assert_eq!(user.extra["acme.com/project"], ["one", "two"]);
    }

    #[test]
    fn headers_that_name_no_user_say_nothing() {
        let mut headers = HeaderMap::new();
        headers.insert("x-remote-group", "system:masters".parse().unwrap());
        assert_eq!(proxy().user(&headers), None);
        headers.insert("x-remote-user", "".parse().unwrap());
        assert_eq!(proxy().user(&headers), None);
    }

    #[test]
    fn only_names_that_are_allowed_may_say_who_asks() {
        assert!(proxy().allows("front-proxy-client"));
        assert!(!proxy().allows("somebody"));
        assert!(Proxy::default().allows("somebody"));
    }

    #[test]
    fn without_a_ca_for_the_api_server_no_header_counts() {
        let trust = Trust::read(&data(&[(
            "requestheader-username-headers",
            r#"["X-Remote-User"]"#,
        )]));
        assert!(trust.unwrap().proxy.is_none());
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let broken = data(&[(PROXY_CA, ""), ("requestheader-allowed-names", "front")]);
        let error = Trust::read(&broken).unwrap_err().to_string();
        assert!(error.contains("requestheader-allowed-names"), "{error}");
        let broken = "-----BEGIN CERTIFICATE-----\n*\n-----END CERTIFICATE-----\n";
        let error = Trust::read(&data(&[("client-ca-file", broken)])).unwrap_err();
        assert!(error.to_string().contains("client-ca-file"), "{error}");
    }
}
