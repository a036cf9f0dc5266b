//! Pictures of packages, which are the work of strangers.

mod smaller;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::Found;
use super::error::Error;
use super::recent::Recent;

/// How large a picture may be. The largest real one has 400 KB.
const LARGEST: usize = 2 << 20;
/// How much is kept of small pictures. All of a large catalog take 3 MB.
const MOST_SMALL: usize = 4 << 20;

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Icon {
    /// What kind of picture it is, by its first bytes: never what the catalog says.
    pub media_type: &'static str,
    /// The picture.
    pub bytes: Vec<u8>,
}

/// The picture of a package.
pub(super) fn of(found: &Found) -> Result<Icon, Error> {
    let blob = found.content.index.package_blob(&found.record)?;
    let data = blob.pointer("/icon/base64data").and_then(Value::as_str);
    let Some(data) = data.filter(|data| !data.is_empty()) else {
        return Err(Error::not_found(format!(
            "package `{}` has no icon",
            found.record.name
        )));
    };
    let unusable =
        |why: &str| Error::not_found(format!("the icon of package `{}` {why}", found.record.name));
    if data.len() > LARGEST {
        return Err(unusable("is too large"));
    }
    let plain: String = data.chars().filter(|c| !c.is_whitespace()).collect();
    let bytes = STANDARD
        .decode(plain)
        .map_err(|_| unusable("is not in base64"))?;
    let media_type =
        media_type(&bytes).ok_or_else(|| unusable("is no SVG, PNG, JPEG, GIF, ICO or WebP"))?;
    Ok(Icon { media_type, bytes })
}

/// Small pictures that were drawn. A home page shows dozens of them, and drawing one takes a while.
pub(super) struct SmallIcons(Mutex<Recent>);

impl Default for SmallIcons {
    fn default() -> Self {
        Self(Mutex::new(Recent::new(MOST_SMALL)))
    }
}

impl SmallIcons {
    /// The picture of a package, as small as a card shows it, where that saves something.
    pub(super) fn of(&self, found: &Found) -> Result<Icon, Error> {
        let icon = of(found)?;
        if icon.media_type != "image/png" {
            return Ok(icon);
        }
        let key = format!("{} {}", found.content.digest, found.record.name);
        let known = self.recent().get(&key);
        // Nothing is remembered too: that the picture cannot be made smaller.
        let drawn = known.unwrap_or_else(|| {
            let drawn: Arc<[u8]> = smaller::smaller(&icon.bytes).unwrap_or_default().into();
            self.recent().put(key, drawn.clone());
            drawn
        });
        if drawn.is_empty() {
            return Ok(icon);
        }
        Ok(Icon {
            bytes: drawn.to_vec(),
            ..icon
        })
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a browser may be told that it is.
fn media_type(bytes: &[u8]) -> Option<&'static str> {
    const SIGNATURES: [(&[u8], &str); 5] = [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
        (b"\0\0\x01\0", "image/x-icon"),
    ];
    let mut known = SIGNATURES.into_iter();
    if let Some((_, media_type)) = known.find(|(start, _)| bytes.starts_with(start)) {
        return Some(media_type);
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return Some("image/webp");
    }
    let start = String::from_utf8_lossy(bytes.get(..1024).unwrap_or(bytes)).to_lowercase();
    let start = start.trim_start_matches('\u{feff}').trim_start();
    let is_svg = start.starts_with('<') && !start.starts_with("<!doctype html");
    (is_svg
        && String::from_utf8_lossy(bytes)
            .to_lowercase()
            .contains("<svg"))
    .then_some("image/svg+xml")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::media_type;

    #[rstest]
    #[case(b"\x89PNG\r\n\x1a\nrest", Some("image/png"))]
    #[case(b"GIF89a", Some("image/gif"))]
    #[case(b"\0\0\x01\0\x03\0", Some("image/x-icon"))]
    #[case(
        b"<?xml version='1.0'?>\n<!-- x --><SVG onload='alert(1)'/>",
        Some("image/svg+xml")
    )]
    #[case(b"<!DOCTYPE html><script>alert(1)</script><svg/>", None)]
    #[case(b"<script>alert(1)</script>", None)]
    #[case(b"MZ", None)]
    #[case(b"", None)]
    fn a_picture_is_known_by_its_bytes(#[case] bytes: &[u8], #[case] kind: Option<&str>) {
        assert_eq!(media_type(bytes), kind);
    }
}
