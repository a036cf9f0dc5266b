//! What the catalog advises against: package, channel or bundle.

use super::conditions::Conditions;
use super::situation::Deprecations;
use super::standing::Standing;
use crate::api::conditions::{ConditionStatus, SubscriptionConditionType};
use crate::api::subscription::{Subscription, SubscriptionSpec};
use crate::resolver::Package;
use SubscriptionConditionType::{
    BundleDeprecated, ChannelDeprecated, Deprecated, PackageDeprecated,
};

impl Deprecations {
    /// What a package says about one of its CSVs, if the Subscription's channel lists it.
    pub fn of(spec: &SubscriptionSpec, package: &Package, csv: &str) -> Option<Self> {
        let mut channels = package.channels.iter();
        let channel = channels.find(|channel| {
            let is_followed = spec.channel.is_empty() || spec.channel == channel.name();
            is_followed && channel.entries().iter().any(|entry| entry.name == csv)
        })?;
        let bundle = package.bundle(csv).map(|(_, bundle)| bundle);
        Some(Self {
            csv: csv.to_owned(),
            package: package.deprecation.clone(),
            channel: channel.deprecation.clone(),
            bundle: bundle.and_then(|bundle| bundle.deprecation.clone()),
        })
    }
}

/// Says what is deprecated, one by one and all together, in OLM's words and without a reason.
///
/// If nothing is known of what is installed, what was said about it before stays. Nobody chose the
/// channel of a Subscription that names none, hence nothing is said about it.
pub(super) fn conditions(
    subscription: &Subscription,
    deprecations: Option<&Deprecations>,
    standing: &Standing<'_>,
    said: &mut Conditions<'_>,
) {
    let spec = &subscription.spec;
    let known = deprecations.filter(|known| known.csv == standing.installed);
    let levels = [
        (
            PackageDeprecated,
            format!("olm.package/{}: ", spec.name),
            known.and_then(|known| known.package.as_ref()),
        ),
        (
            ChannelDeprecated,
            format!("olm.channel/{}: ", spec.channel),
            known.and_then(|known| known.channel.as_ref()),
        ),
        (
            BundleDeprecated,
            format!("olm.bundle/{}: ", standing.installed),
            known.and_then(|known| known.bundle.as_ref()),
        ),
    ];
    let mut all = Vec::new();
    for (type_, prefix, why) in levels {
        if type_ == ChannelDeprecated && spec.channel.is_empty() {
            continue;
        }
        let message = if known.is_some() {
            why.map(|why| format!("{prefix}{why}"))
        } else {
            let before = said.before(&type_);
            let message = before.map(|before| before.message.clone());
            message.filter(|message| message.starts_with(&prefix))
        };
        if let Some(message) = message {
            said.say(type_, ConditionStatus::True, "", message.as_str());
            all.push(message);
        }
    }
    if !all.is_empty() {
        said.say(Deprecated, ConditionStatus::True, "", all.join("; "));
    }
}
