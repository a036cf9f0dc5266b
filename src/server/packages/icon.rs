//! The picture of a package.
//!
//! A picture comes from a catalog and is shown by browsers: it is served so that nothing in it can
//! run, load anything, or be taken for something else.

use axum::body::Body;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use super::answer::blocking;
use super::catalogs::Offer;
use super::status::Refusal;
use crate::api::catalog_source::Icon;

/// For packages without a picture: a crate.
const DEFAULT: &str = r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><path fill="#d8c3a5" stroke="#6b4f2a" stroke-width="3" d="M8 20h48v32H8z"/><path fill="none" stroke="#6b4f2a" stroke-width="3" d="M8 20 16 10h32l8 10M8 52l48-32M8 20l48 32"/></svg>
"##;
const SVG: &str = "image/svg+xml";
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/// The picture of a package, or that it is still the one that the client has.
pub(super) async fn icon(offer: Offer, headers: &HeaderMap) -> Result<Response, Refusal> {
    let (icon, tag) = blocking(move || offer.icon()).await?;
    let tag = format!("\"{tag}\"");
    let mut response = if is_known(headers, &tag) {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        let (kind, bytes) = picture(icon);
        let mut response = Response::new(Body::from(bytes));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, kind);
        response
    };
    let headers = response.headers_mut();
    // Names of packages, channels and bundles may have letters that no header takes.
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-cache, private"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

/// Whether one of the tags that the client knows is this one.
fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let values = headers.get_all(header::IF_NONE_MATCH).into_iter();
    let known = values.filter_map(|value| value.to_str().ok());
    known
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .any(|known| known == "*" || known.trim_start_matches("W/") == tag)
}

fn picture(icon: Option<Icon>) -> (HeaderValue, Vec<u8>) {
    let read = icon.and_then(|icon| {
        let text: String = icon.base64data.split_whitespace().collect();
        let bytes = STANDARD.decode(text).ok()?;
        Some((media_type(&icon.mediatype), bytes))
    });
    let drawn = || (HeaderValue::from_static(SVG), DEFAULT.as_bytes().to_vec());
    read.filter(|(_, bytes)| !bytes.is_empty())
        .unwrap_or_else(drawn)
}

/// The kind of a picture as its author says, if that is a kind of pictures.
fn media_type(said: &str) -> HeaderValue {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "+-./".contains(char);
    let known = said
        .strip_prefix("image/")
        .filter(|rest| !rest.is_empty() && rest.chars().all(is_plain));
    let known = known.and_then(|_| HeaderValue::from_str(said).ok());
    known.unwrap_or(HeaderValue::from_static("application/octet-stream"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture_of(data: &str, kind: &str) -> (String, Vec<u8>) {
        let (kind, bytes) = picture(Some(Icon {
            base64data: data.to_owned(),
            mediatype: kind.to_owned(),
        }));
        (kind.to_str().unwrap().to_owned(), bytes)
    }

    #[test]
    fn a_picture_is_what_the_catalog_has() {
        let expected = ("image/png".to_owned(), b"\x00\x01\x02".to_vec());
        assert_eq!(picture_of("AAEC", "image/png"), expected);
        assert_eq!(picture_of("AA\nEC\n", "image/png"), expected);
    }

    #[test]
    fn what_is_no_picture_is_drawn_anew() {
        for data in ["", "no base64 at all"] {
            let (kind, bytes) = picture_of(data, "image/png");
            assert_eq!(kind, SVG);
            assert_eq!(bytes, DEFAULT.as_bytes());
        }
    }

    #[test]
    fn a_picture_cannot_call_itself_a_page() {
        for kind in [
            "text/html",
            "",
            "image/",
            "image/png\r\nx: y",
            "image/svg+xml; x=<script>",
        ] {
            assert_eq!(
                picture_of("AAEC", kind).0,
                "application/octet-stream",
                "{kind}"
            );
        }
        assert_eq!(picture_of("AAEC", SVG).0, SVG);
    }

    #[test]
    fn tags_are_found_in_lists_and_weak_ones_count() {
        let known = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::IF_NONE_MATCH, value.parse().unwrap());
            is_known(&headers, "\"a.b.c\"")
        };
        assert!(known("\"a.b.c\"") && known("\"x\", W/\"a.b.c\"") && known("*"));
        assert!(!known("\"a.b\"") && !known("a.b.c"));
        assert!(!is_known(&HeaderMap::new(), "\"a.b.c\""));
    }
}
