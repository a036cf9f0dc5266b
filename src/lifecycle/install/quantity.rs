//! Quantities of resources, as far as two of them are to be compared.

/// Whether two texts mean the same quantity: an API server writes `1000m` as `1`.
pub(super) fn same(one: &str, other: &str) -> bool {
    match (nanos(one), nanos(other)) {
        (Some(one), Some(other)) => one == other,
        _ => false,
    }
}

/// A quantity in billionths, which is the finest that Kubernetes knows.
fn nanos(text: &str) -> Option<i128> {
    let end = text
        .find(|c: char| !matches!(c, '0'..='9' | '.' | '+' | '-'))
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (binary, power) = match unit {
        "n" => (0, 0),
        "u" => (0, 3),
        "m" => (0, 6),
        "" => (0, 9),
        "k" => (0, 12),
        "M" => (0, 15),
        "G" => (0, 18),
        "T" => (0, 21),
        "P" => (0, 24),
        "E" => (0, 27),
        "Ki" => (10, 9),
        "Mi" => (20, 9),
        "Gi" => (30, 9),
        "Ti" => (40, 9),
        "Pi" => (50, 9),
        "Ei" => (60, 9),
        _ => {
            let exponent: i32 = unit.strip_prefix(['e', 'E'])?.parse().ok()?;
            (0, 9 + exponent)
        }
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits: i128 = format!("{whole}{part}").parse().ok()?;
    let scaled = digits.checked_mul(1_i128.checked_shl(binary)?)?;
    let power = power - i32::try_from(part.len()).ok()?;
    let factor = 10_i128.checked_pow(power.unsigned_abs())?;
    if power >= 0 {
        scaled.checked_mul(factor)
    } else {
        Some(scaled / factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("1", "1000m")]
    #[case("0.5", "500m")]
    #[case(".5", "500m")]
    #[case("1.0", "1")]
    #[case("1Gi", "1024Mi")]
    #[case("1.5Gi", "1536Mi")]
    #[case("1G", "1000M")]
    #[case("1e3", "1k")]
    #[case("12E2", "1200")]
    #[case("1E", "1e18")]
    #[case("-1", "-1000m")]
    fn two_ways_to_write_a_quantity_are_the_same(#[case] one: &str, #[case] other: &str) {
        assert!(same(one, other));
    }

    #[rstest]
    #[case("1", "2")]
    #[case("1Gi", "1G")]
    #[case("100m", "100Mi")]
    #[case("much", "much more")]
    #[case("", "0")]
    #[case("99999999999999999999999999999Ei", "1")]
    fn others_are_not(#[case] one: &str, #[case] other: &str) {
        assert!(!same(one, other));
    }
}
