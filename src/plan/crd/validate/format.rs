//! Formats of texts and numbers, those that are told easily; the API server judges the others.

use core::net::{Ipv4Addr, Ipv6Addr};

use base64::Engine as _;
use serde_json::Number;

/// Whether a text has a format; formats that are not known here have it.
pub(super) fn text_has(format: &str, text: &str) -> bool {
    match format {
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "byte" => base64::engine::general_purpose::STANDARD
            .decode(text)
            .is_ok(),
        "date" => is_date(text),
        "date-time" => is_date_time(text),
        "uuid" => is_uuid(text),
        _ => true,
    }
}

/// Whether a number has a format.
pub(super) fn number_has(format: &str, number: &Number) -> bool {
    let range = match format {
        "int32" => f64::from(i32::MIN)..=f64::from(i32::MAX),
        "uint32" => 0.0..=f64::from(u32::MAX),
        _ => return true,
    };
    number.as_f64().is_none_or(|number| range.contains(&number))
}

/// `2026-01-31`, with a day that the month can have.
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else {
        return false;
    };
    let (Some(year), Some(month), Some(day)) = (digits(year, 4), digits(month, 2), digits(day, 2))
    else {
        return false;
    };
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// `2026-01-31T12:00:00Z`, as generously as Kubernetes' own parser: letters of either case, any
/// fraction, a zone with or without a colon.
fn is_date_time(text: &str) -> bool {
    let upper = text.to_ascii_uppercase();
    let Some((date, time)) = upper.split_once(['T', ' ']) else {
        return false;
    };
    let (clock, zone) = match time.find(['Z', '+', '-']) {
        Some(at) => time.split_at(at),
        None => (time, ""),
    };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let parts: Vec<Option<u32>> = clock.split(':').map(|part| digits(part, 2)).collect();
    let is_clock = matches!(
        parts.as_slice(),
        [Some(0..=23), Some(0..=59), Some(0..=60)] | [Some(0..=23), Some(0..=59)]
    );
    let zone = zone.trim_start_matches(['+', '-']).replace(':', "");
    let is_zone = matches!(zone.as_str(), "" | "Z") || digits(&zone, 4).is_some();
    let is_fraction = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    is_date(date) && is_clock && is_zone && is_fraction
}

fn is_uuid(text: &str) -> bool {
    let digits: String = text.chars().filter(|letter| *letter != '-').collect();
    digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn digits(text: &str, count: usize) -> Option<u32> {
    let are_digits = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    are_digits.then(|| text.parse().ok())?
}
