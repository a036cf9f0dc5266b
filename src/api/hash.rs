//! Hashes that end up in names and labels, as OLM computes them.

use serde::Serialize;
use sha2::{Digest as _, Sha224, Sha256};

/// The digits of Go's `big.Int.Text`.
const DIGITS: &[u8; 62] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// The sha224 of bytes as a number of base 62: OLM's hash in names and labels.
pub fn base62_sha224(bytes: &[u8]) -> String {
    in_base(62, &Sha224::digest(bytes))
}

/// The sha256 of bytes as a number of base 36, for names that must be in lower case.
pub fn base36_sha256(bytes: &[u8]) -> String {
    in_base(36, &Sha256::digest(bytes))
}

/// A value as Go's `json.Marshal` writes it, if its fields are in the order of Go's.
pub fn go_json(value: &impl Serialize) -> String {
    // What is hashed here has only texts as keys, so that writing it does not fail.
    let json = serde_json::to_string(value).unwrap_or_default();
    // Outside of texts none of these occurs.
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

/// The number that big-endian bytes mean, without leading zeros.
fn in_base(base: u8, bytes: &[u8]) -> String {
    let base = u32::from(base);
    let mut number = bytes.to_vec();
    let mut digits = Vec::new();
    while number.iter().any(|&byte| byte != 0) {
        let mut rest = 0;
        for byte in &mut number {
            let part = rest << 8 | u32::from(*byte);
            // Both fit: `rest` is less than `base`, so the quotient is less than 256.
            *byte = u8::try_from(part / base).unwrap_or_default();
            rest = part % base;
        }
        digits.push(DIGITS.get(rest as usize).copied().unwrap_or(b'0'));
    }
    if digits.is_empty() {
        digits.push(b'0');
    }
    digits
        .iter()
        .rev()
        .map(|&digit| char::from(digit))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    #[rstest]
    #[case(&[], "0")]
    #[case(&[0, 0], "0")]
    #[case(&[61], "Z")]
    #[case(&[62], "10")]
    #[case(&[1, 0], "48")]
    fn bytes_are_one_big_number(#[case] bytes: &[u8], #[case] text: &str) {
        assert_eq!(in_base(62, bytes), text);
    }

    #[test]
    fn a_hash_is_the_one_that_olm_computes() {
        let json = format!("{}\n", go_json(&["something"]));
        let hash = "5L9sNXi3Y6mcOevFzYY3WOLIukKOeZwz1pfUlT";
        assert_eq!(base62_sha224(json.as_bytes()), hash);
    }

    #[test]
    fn json_is_written_as_go_writes_it() {
        assert_eq!(
            go_json(&"a<b> & \u{2028}"),
            "\"a\\u003cb\\u003e \\u0026 \\u2028\""
        );
    }

    proptest! {
        #[test]
        fn small_numbers_are_what_they_are(number: u32) {
            let text = in_base(36, &number.to_be_bytes());
            prop_assert_eq!(u32::from_str_radix(&text, 36).unwrap(), number);
        }

        #[test]
        fn hashes_fit_into_a_label(bytes: Vec<u8>) {
            prop_assert!(base62_sha224(&bytes).len() <= 38);
            prop_assert!(base36_sha256(&bytes).len() <= 50);
        }
    }

    /// Computed with Go: `big.Int.SetBytes(sha256.Sum224(…)).Text(62)`.
    #[rstest]
    #[case("", "aAkHCkvjglfF66mdhRcVKb0I3FT1lepYlWZNwj")]
    #[case("a", "8GQDPLPhRixGNeqR4eV0Va2vIGohVCYHMHiPFX")]
    #[case("operators/global/admin", "8tYz3SPASiNERpqwgmJaSaaF6Hf7uvHTiAwz4h")]
    #[case("my-ns/my-group/admin", "c0Rem6bpuQf2mxGb97Udd7VXowbYvF4uWoypqM")]
    #[case::two_leading_zero_bytes("19561", "2qveAX8YVA0nV8mddNopNJ2GZ3R8ADkGxe")]
    fn hashes_are_those_of_go(#[case] text: &str, #[case] hash: &str) {
        assert_eq!(base62_sha224(text.as_bytes()), hash);
    }
}
