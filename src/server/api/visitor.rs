//! Who may change something by the page, and how they have to ask.
//!
//! A visitor's token opens the cluster. So it is only taken from the header `Authorization`, which no
//! browser adds by itself (there are no cookies here, and so nothing that another site could use), from
//! a page of our own, and only if nobody on the way could read it.

use std::net::SocketAddr;

use axum::extract::ConnectInfo;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, header};

use super::error::{ApiError, Code};
use crate::server::writes::{Token, Transport};

/// How long a token may be.
const LONGEST: usize = 16 << 10;
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
/// What proxies add.
const FORWARDED: [HeaderName; 5] = [
    header::FORWARDED,
    header::VIA,
    HeaderName::from_static("x-forwarded-for"),
    HeaderName::from_static("x-forwarded-host"),
    FORWARDED_PROTO,
];

/// The token of a request that may use one.
pub(super) fn token(parts: &Parts, transport: Transport) -> Result<Token, ApiError> {
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
    travels_safely(&parts.headers, peer.map(|peer| peer.0), transport)?;
    is_of_our_page(&parts.headers)?;
    bearer(&parts.headers)
}

/// Refuses a token that somebody on the way could have read. It is too late for this one; but a page
/// that does not work gets mended.
fn travels_safely(
    headers: &HeaderMap,
    peer: Option<SocketAddr>,
    transport: Transport,
) -> Result<(), ApiError> {
    let refuse = |why: &str| {
        Err(ApiError::new(
            Code::Forbidden,
            format!("no token is taken here: {why}"),
        )
        .hint(
            "tokens travel by TLS or on the machine itself: use `kubectl port-forward`, or a proxy that \
             speaks TLS in front of `chandler run --behind-tls-proxy`",
        ))
    };
    match transport {
        Transport::TlsProxy => {
            let mut told = headers.get_all(FORWARDED_PROTO).iter();
            let is_plain =
                |value: &http::HeaderValue| !value.as_bytes().eq_ignore_ascii_case(b"https");
            if told.any(is_plain) {
                return refuse("the proxy says that it was not asked by TLS");
            }
            Ok(())
        }
        Transport::Direct if FORWARDED.iter().any(|name| headers.contains_key(name)) => {
            refuse("a proxy passed it on, and nobody said that it speaks TLS")
        }
        Transport::Direct => match peer {
            Some(peer) if peer.ip().to_canonical().is_loopback() => Ok(()),
            _ => refuse("it came over a network without TLS"),
        },
    }
}

/// Refuses what another site has a browser send. Those who are no browser say nothing of that.
fn is_of_our_page(headers: &HeaderMap) -> Result<(), ApiError> {
    let refuse = || {
        Err(
            ApiError::new(Code::Forbidden, "the request is of another site")
                .hint("only the page itself may change something; a proxy has to pass `Host` on"),
        )
    };
    let mut sites = headers.get_all(SEC_FETCH_SITE).iter();
    if sites.any(|site| site != "same-origin") {
        return refuse();
    }
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let host = headers.get(header::HOST).map(http::HeaderValue::as_bytes);
    let is_ours = |origin: &http::HeaderValue| {
        let origin = origin.to_str().unwrap_or_default();
        let authority = origin
            .strip_prefix("https://")
            .or_else(|| origin.strip_prefix("http://"));
        authority.is_some_and(|authority| {
            host.is_some_and(|host| host.eq_ignore_ascii_case(authority.as_bytes()))
        })
    };
    if origins.all(is_ours) {
        Ok(())
    } else {
        refuse()
    }
}

fn bearer(headers: &HeaderMap) -> Result<Token, ApiError> {
    let missing = || {
        ApiError::new(
            Code::Unauthorized,
            "this takes a Kubernetes token of your own, as `Authorization: Bearer TOKEN`",
        )
        .hint("`kubectl create token ACCOUNT` makes one")
    };
    let value = headers.get(header::AUTHORIZATION).ok_or_else(missing)?;
    let text = value.to_str().map_err(|_| missing())?;
    let (scheme, token) = text.split_once(' ').ok_or_else(missing)?;
    let token = token.trim();
    // As RFC 6750 has them, and the colon of bootstrap tokens of some vendors.
    let is_plain = |token: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._~+/=:".contains(c);
        token.chars().all(plain)
    };
    if !scheme.eq_ignore_ascii_case("bearer") || token.is_empty() {
        return Err(missing());
    }
    if token.len() > LONGEST || !is_plain(token) {
        return Err(ApiError::new(
            Code::Unauthorized,
            "that is no token: it is too long, or has characters that tokens do not have",
        ));
    }
    Ok(Token::new(token))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| {
            let name = HeaderName::from_static(name);
            (name, http::HeaderValue::from_static(value))
        });
        pairs.collect()
    }

    #[rstest]
    #[case("127.0.0.1:5", &[], Transport::Direct, true)]
    #[case("[::1]:5", &[], Transport::Direct, true)]
    #[case("[::ffff:127.0.0.1]:5", &[], Transport::Direct, true)]
    #[case("10.0.0.7:5", &[], Transport::Direct, false)]
    #[case("127.0.0.1:5", &[("x-forwarded-for", "10.0.0.7")], Transport::Direct, false)]
    #[case("127.0.0.1:5", &[("x-forwarded-proto", "https")], Transport::Direct, false)]
    #[case("10.0.0.7:5", &[], Transport::TlsProxy, true)]
    #[case("10.0.0.7:5", &[("x-forwarded-proto", "https")], Transport::TlsProxy, true)]
    #[case("10.0.0.7:5", &[("x-forwarded-proto", "http")], Transport::TlsProxy, false)]
    fn a_token_travels_by_tls_or_not_at_all(
        #[case] peer: &str,
        #[case] said: &[(&'static str, &'static str)],
        #[case] transport: Transport,
        #[case] is_taken: bool,
    ) {
        let peer = Some(peer.parse().unwrap());
        let taken = travels_safely(&headers(said), peer, transport);
        assert_eq!(taken.is_ok(), is_taken, "{taken:?}");
    }

    #[test]
    fn nobody_knows_where_a_request_without_a_peer_is_from() {
        assert!(travels_safely(&headers(&[]), None, Transport::Direct).is_err());
    }

    #[rstest]
    #[case(&[], true)]
    #[case(&[("sec-fetch-site", "same-origin")], true)]
    #[case(&[("sec-fetch-site", "cross-site")], false)]
    #[case(&[("sec-fetch-site", "same-site")], false)]
    #[case(&[("sec-fetch-site", "none")], false)]
    #[case(&[("origin", "https://hub.example.com"), ("host", "hub.example.com")], true)]
    #[case(&[("origin", "https://HUB.example.com"), ("host", "hub.example.com")], true)]
    #[case(&[("origin", "https://hub.example.com")], false)]
    #[case(&[("origin", "https://hub.example.com.evil.example"), ("host", "hub.example.com")], false)]
    #[case(&[("origin", "https://evil.example"), ("host", "hub.example.com")], false)]
    #[case(&[("origin", "http://hub.example.com:81"), ("host", "hub.example.com")], false)]
    #[case(&[("origin", "null"), ("host", "null")], false)]
    #[case(&[("origin", "https://hub.example.com"), ("host", "hub.example.com"), ("sec-fetch-site", "cross-site")], false)]
    fn only_our_own_page_may_ask(#[case] said: &[(&'static str, &'static str)], #[case] may: bool) {
        assert_eq!(is_of_our_page(&headers(said)).is_ok(), may);
    }

    #[rstest]
    #[case(&[], None)]
    #[case(&[("cookie", "token=abc")], None)]
    #[case(&[("authorization", "Basic abc")], None)]
    #[case(&[("authorization", "Bearer ")], None)]
    #[case(&[("authorization", "Bearer a b")], None)]
    #[case(&[("authorization", "bearer abc.def-_")], Some("abc.def-_"))]
    fn a_token_is_a_bearer_token_in_its_header(
        #[case] said: &[(&'static str, &'static str)],
        #[case] token: Option<&str>,
    ) {
        let found = bearer(&headers(said)).ok();
        assert_eq!(found.as_ref().map(Token::reveal), token);
    }

    #[test]
    fn a_token_is_not_shown() {
        assert_eq!(format!("{:?}", Token::new("secret")), "Token(…)");
    }
}
