//! Style, scripts and pictures of our own, which are part of the binary.
//!
//! Their address has a hash of all of them, so that browsers may keep them for ever and never mix
//! those of two releases; modules import each other by relative paths and so stay within it.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sha2::{Digest as _, Sha256};

/// A file that browsers fetch.
struct Asset {
    name: &'static str,
    kind: &'static str,
    text: &'static str,
}

const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

static ASSETS: [Asset; 9] = [
    Asset {
        name: "chandler.css",
        kind: CSS,
        text: concat!(
            include_str!("../../../web/assets/css/tokens.css"),
            include_str!("../../../web/assets/css/base.css"),
            include_str!("../../../web/assets/css/home.css"),
            include_str!("../../../web/assets/css/package.css"),
            include_str!("../../../web/assets/css/graph.css"),
            include_str!("../../../web/assets/css/visitor.css"),
        ),
    },
    Asset {
        name: "theme.js",
        kind: JAVASCRIPT,
        text: include_str!("../../../web/assets/theme.js"),
    },
    Asset {
        name: "app.js",
        kind: JAVASCRIPT,
        text: include_str!("../../../web/assets/app.js"),
    },
    Asset {
        name: "browse.js",
        kind: JAVASCRIPT,
        text: include_str!("../../../web/assets/browse.js"),
    },
    Asset {
        name: "events.js",
        kind: JAVASCRIPT,
        text: include_str!("../../../web/assets/events.js"),
    },
    Asset {
        name: "live.js",
        kind: JAVASCRIPT,
        text: include_str!("../../../web/assets/live.js"),
    },
    Asset {
        name: "visitor.js",
        kind: JAVASCRIPT,
        text: include_str!("../../../web/assets/visitor.js"),
    },
    Asset {
        name: "deeds.js",
        kind: JAVASCRIPT,
        text: include_str!("../../../web/assets/deeds.js"),
    },
    Asset {
        name: "logo.svg",
        kind: "image/svg+xml",
        text: include_str!("../../../web/assets/logo.svg"),
    },
];

/// Where all of them are.
static FOLDER: LazyLock<String> = LazyLock::new(|| {
    let mut hash = Sha256::new();
    for asset in &ASSETS {
        hash.update(asset.name);
        hash.update(asset.text);
    }
    let digest = hash.finalize();
    digest[..8].iter().fold(String::new(), |mut text, byte| {
        use std::fmt::Write as _;
        let _ = write!(text, "{byte:02x}");
        text
    })
});

/// The address of a file.
pub(super) fn address(name: &str) -> String {
    format!("/assets/{}/{name}", *FOLDER)
}

/// Answers with a file. The files of another release have the same names: they are better than
/// nothing while replicas are replaced, but nobody may keep them under that address.
pub(super) async fn serve(Path((folder, name)): Path<(String, String)>) -> Response {
    let Some(asset) = ASSETS.iter().find(|asset| asset.name == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let keep = if folder == *FOLDER {
        "public, max-age=31536000, immutable"
    } else {
        "no-store"
    };
    let headers: [(HeaderName, &str); 2] = [
        (header::CONTENT_TYPE, asset.kind),
        (header::CACHE_CONTROL, keep),
    ];
    (headers, asset.text).into_response()
}

#[cfg(test)]
mod tests {
    use super::{ASSETS, address};

    #[test]
    fn the_address_of_a_file_has_a_hash() {
        let address = address("app.js");
        let folder = address.strip_prefix("/assets/").unwrap();
        assert_eq!(folder.strip_suffix("/app.js").unwrap().len(), 16);
    }

    #[test]
    fn no_file_asks_others_for_anything() {
        for asset in &ASSETS {
            let text = asset.text.replace("http://www.w3.org/2000/svg", "");
            assert!(!text.contains("http://"), "{}", asset.name);
            assert!(!text.contains("https://"), "{}", asset.name);
            assert!(!text.contains("url("), "{}", asset.name);
        }
    }
}
