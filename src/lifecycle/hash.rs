//! The hash that OLM puts at the end of names.

use sha2::{Digest as _, Sha224};

/// Digits, lower case, upper case: the order of Go's `big.Int`.
const DIGITS: &[u8; 62] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// SHA-224 of a text, as one number in base 62.
pub(super) fn base62_sha224(text: &str) -> String {
    let mut number: Vec<u8> = Sha224::digest(text.as_bytes()).to_vec();
    let mut digits = Vec::new();
    while number.iter().any(|&byte| byte != 0) {
        digits.push(DIGITS[usize::from(divide(&mut number))]);
    }
    if digits.is_empty() {
        digits.push(DIGITS[0]);
    }
    digits
        .iter()
        .rev()
        .map(|&digit| char::from(digit))
        .collect()
}

/// Divides a number, most significant byte first, by 62 and returns what is left over, which is
/// less than 62.
fn divide(number: &mut [u8]) -> u8 {
    let mut rest = 0_u16;
    for byte in number {
        let value = (rest << 8) | u16::from(*byte);
        // The rest before was below 62, so the quotient fits a byte.
        *byte = u8::try_from(value / 62).unwrap_or(u8::MAX);
        rest = value % 62;
    }
    u8::try_from(rest).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    /// Computed with Go: `big.Int.SetBytes(sha256.Sum224(…)).Text(62)`.
    #[rstest]
    #[case("", "aAkHCkvjglfF66mdhRcVKb0I3FT1lepYlWZNwj")]
    #[case("a", "8GQDPLPhRixGNeqR4eV0Va2vIGohVCYHMHiPFX")]
    #[case("operators/global/admin", "8tYz3SPASiNERpqwgmJaSaaF6Hf7uvHTiAwz4h")]
    #[case("my-ns/my-group/admin", "c0Rem6bpuQf2mxGb97Udd7VXowbYvF4uWoypqM")]
    #[case::two_leading_zero_bytes("19561", "2qveAX8YVA0nV8mddNopNJ2GZ3R8ADkGxe")]
    fn hashes_are_those_of_go(#[case] text: &str, #[case] hash: &str) {
        assert_eq!(base62_sha224(text), hash);
    }
}
