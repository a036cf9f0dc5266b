//! Whether one version leads to the next.

use super::Findings;
use crate::bundle::Bundle;
use crate::version::{Range, Version};

pub(super) fn check(old: &Bundle, new: &Bundle, findings: &mut Findings) {
    let csv = &new.csv;
    let file = csv.file.as_str();
    if old.package != new.package {
        let message = format!(
            "the package was `{}` and is now `{}`",
            old.package, new.package
        );
        let advice = "keep the name of the package: there is no upgrade from one to another";
        findings.error("package-changed", ("metadata/", "package"), message, advice);
    }
    if old.name == new.name {
        let message = format!("`{}` is also the name of the version before", new.name);
        let place = (file, "metadata.name");
        findings.error(
            "name-taken",
            place,
            message,
            "give each version a name of its own",
        );
    }
    let before = Version::parse(&old.version).ok();
    let now = Version::parse(&new.version).ok();
    if let (Some(before), Some(now)) = (&before, &now)
        && now <= before
    {
        let message = format!("{now} is not higher than {before}");
        findings.error(
            "version-not-higher",
            (file, "spec.version"),
            message,
            "count up",
        );
    }
    let skips = Range::parse(csv.skip_range()).ok();
    let in_range = skips
        .zip(before)
        .is_some_and(|(range, version)| range.contains(&version));
    let reached = csv.spec.replaces == old.name || csv.spec.skips.contains(&old.name) || in_range;
    if !reached {
        let message = format!(
            "neither spec.replaces nor spec.skips nor olm.skipRange leads here from `{}`",
            old.name
        );
        let advice = format!(
            "write `replaces: {}`, unless the channel is ordered by versions (semver-mode)",
            old.name
        );
        findings.warning(
            "upgrade-unreachable",
            (file, "spec.replaces"),
            message,
            advice,
        );
    }
}
