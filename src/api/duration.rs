//! Durations as Go writes them: `1h30m`, `15m0s`, `250ms`.

use std::time::Duration;

/// The text is no duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("time: invalid duration \"{0}\"")]
pub struct InvalidDuration(pub String);

/// Reads a duration as Go does; negative ones are refused, because nothing here can take less than
/// no time.
pub fn parse(text: &str) -> Result<Duration, InvalidDuration> {
    let invalid = || InvalidDuration(text.to_owned());
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (number, after) = rest.split_at(end.ok_or_else(invalid)?);
        let end = after.find(|c: char| c.is_ascii_digit() || c == '.');
        let (unit, after) = after.split_at(end.unwrap_or(after.len()));
        // "." alone and "1.2.3" are no numbers here either.
        let number: f64 = number.parse().map_err(|_| invalid())?;
        let seconds = match unit {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return Err(invalid()),
        };
        let part = Duration::try_from_secs_f64(number * seconds).map_err(|_| invalid())?;
        total = total.checked_add(part).ok_or_else(invalid)?;
        rest = after;
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("15m", 900.0)]
    #[case("15m0s", 900.0)]
    #[case("1h30m", 5400.0)]
    #[case("1.5h", 5400.0)]
    #[case("250ms", 0.25)]
    #[case("0", 0.0)]
    #[case("+10s", 10.0)]
    fn durations_are_read_as_in_go(#[case] text: &str, #[case] seconds: f64) {
        assert_eq!(parse(text), Ok(Duration::from_secs_f64(seconds)));
    }

    #[rstest]
    #[case("")]
    #[case("15")]
    #[case("m")]
    #[case("-1s")]
    #[case("1x")]
    #[case("1.2.3s")]
    #[case("45mError.code")]
    #[case("999999999999999999999h")]
    fn what_go_refuses_is_refused(#[case] text: &str) {
        let error = parse(text).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("time: invalid duration \"{text}\"")
        );
    }
}
