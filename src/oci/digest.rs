//! Digests: how content is named, and how that name is checked while the content streams by.

use std::fmt;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use sha2::{Digest as _, Sha256, Sha512};

use super::Error;

/// The name of content: an algorithm and the content's hash in hexadecimal.
///
/// Only `sha256` and `sha512` exist in OCI, and the hash is checked when a digest is read: it may
/// become the name of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest {
    text: String,
    colon: usize,
}

impl Digest {
    /// The `sha256` digest of bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hasher = Hasher::default();
        hasher.update(bytes);
        hasher.finish()
    }

    /// `sha256:…` or `sha512:…`.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// `sha256` or `sha512`.
    pub fn algorithm(&self) -> &str {
        &self.text[..self.colon]
    }

    /// The hash in hexadecimal.
    pub fn hex(&self) -> &str {
        &self.text[self.colon + 1..]
    }

    /// The digest's file below a folder, as OCI layouts have it: `FOLDER/sha256/HEX`.
    pub fn file_in(&self, folder: &Path) -> PathBuf {
        folder.join(self.algorithm()).join(self.hex())
    }

    /// A hasher of this digest's algorithm.
    pub fn hasher(&self) -> Hasher {
        if self.algorithm() == "sha512" {
            Hasher::Sha512(Sha512::new())
        } else {
            Hasher::default()
        }
    }

    fn new(algorithm: &str, hash: &[u8]) -> Self {
        let mut text = format!("{algorithm}:");
        for byte in hash {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        Self {
            text,
            colon: algorithm.len(),
        }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Digest {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = |reason: &str| Error::Digest {
            digest: text.to_owned(),
            reason: reason.to_owned(),
        };
        let (algorithm, hex) = text
            .split_once(':')
            .ok_or_else(|| bad("there is no `:` between algorithm and hash"))?;
        let length = match algorithm {
            "sha256" => 64,
            "sha512" => 128,
            _ => return Err(bad("only sha256 and sha512 are supported")),
        };
        if hex.len() != length {
            return Err(bad(&format!(
                "a {algorithm} hash has {length} digits, this one has {}",
                hex.len()
            )));
        }
        if !hex
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        {
            return Err(bad(
                "a hash has only the digits 0 to 9 and a to f, in lower case",
            ));
        }
        Ok(Self {
            text: text.to_owned(),
            colon: algorithm.len(),
        })
    }
}

/// Computes a digest piece by piece.
#[derive(Debug, Clone)]
pub enum Hasher {
    /// What nearly everybody uses.
    Sha256(Sha256),
    /// The other one that OCI knows.
    Sha512(Sha512),
}

impl Default for Hasher {
    fn default() -> Self {
        Self::Sha256(Sha256::new())
    }
}

impl Hasher {
    /// Adds the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(hasher) => hasher.update(bytes),
            Self::Sha512(hasher) => hasher.update(bytes),
        }
    }

    /// The digest of everything that was added.
    pub fn finish(self) -> Digest {
        match self {
            Self::Sha256(hasher) => Digest::new("sha256", &hasher.finalize()),
            Self::Sha512(hasher) => Digest::new("sha512", &hasher.finalize()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Digest;

    const EMPTY: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn the_digest_of_nothing_is_the_known_one() {
        assert_eq!(Digest::of(b"").as_str(), EMPTY);
        let read: Digest = EMPTY.parse().unwrap();
        assert_eq!(read, Digest::of(b""));
        assert_eq!(read.algorithm(), "sha256");
        assert_eq!(read.hasher().finish(), read);
    }

    #[test]
    fn a_sha512_digest_is_computed_with_its_own_algorithm() {
        let text = format!("sha512:{}", "0".repeat(128));
        let digest: Digest = text.parse().unwrap();
        assert!(digest.hasher().finish().as_str().starts_with("sha512:cf83"));
    }

    #[test]
    fn what_could_lead_elsewhere_as_a_file_name_is_no_digest() {
        for text in [
            "",
            "sha256",
            "sha256:",
            "md5:d41d8cd98f00b204e9800998ecf8427e",
            "sha256:../../../../etc/passwd",
            &EMPTY.to_uppercase(),
            &format!("sha256:{}", "é".repeat(32)),
        ] {
            let error = text.parse::<Digest>().unwrap_err().to_string();
            assert!(error.contains("is no digest"), "{error}");
        }
    }
}
