//! Whether a Subscription that is there already says what was asked for.

use kube::ResourceExt as _;
use serde_json::{Map, Value, json};

use super::Order;
use crate::api::subscription::Subscription;

/// What a Subscription says otherwise than it was asked for.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Differences {
    /// Each as a sentence.
    pub(super) told: Vec<String>,
    /// How the Subscription's spec would have to change.
    spec: Map<String, Value>,
}

impl Differences {
    /// Compares what was asked for. What was not said may be anything.
    pub(super) fn of(subscription: &Subscription, order: &Order, catalog: Option<&str>) -> Self {
        let mut found = Self::default();
        let spec = &subscription.spec;
        found.text("package", "name", &spec.name, Some(&order.package));
        found.text("channel", "channel", &spec.channel, order.channel.as_ref());
        found.text("version", "version", &spec.version, order.version.as_ref());
        let namespace = subscription.namespace().unwrap_or_default();
        if let Some(catalog) = catalog {
            let (source_namespace, source) =
                catalog.split_once('/').unwrap_or((&namespace, catalog));
            let has = format!("{}/{}", spec.source_namespace, spec.source);
            let wants = format!("{source_namespace}/{source}");
            if found.differs("catalog", &has, &wants) {
                found.spec.insert("source".to_owned(), json!(source));
                let key = "sourceNamespace".to_owned();
                found.spec.insert(key, json!(source_namespace));
            }
        }
        if let Some(approval) = &order.approval
            && found.differs("approval", spec.approval().as_str(), approval)
        {
            let policy = json!({ "approval": approval });
            found.spec.insert("policy".to_owned(), policy);
        }
        found
    }

    fn text(&mut self, what: &str, field: &str, has: &str, wants: Option<&String>) {
        if let Some(wants) = wants
            && self.differs(what, has, wants)
        {
            self.spec.insert(field.to_owned(), json!(wants));
        }
    }

    fn differs(&mut self, what: &str, has: &str, wants: &str) -> bool {
        if has == wants {
            return false;
        }
        let has = if has.is_empty() { "none" } else { has };
        self.told.push(format!("its {what} is {has}, not {wants}"));
        true
    }

    /// The command that makes the Subscription say what was asked for.
    pub(super) fn command(&self, subscription: &Subscription) -> String {
        let patch = json!({ "spec": self.spec });
        format!(
            "kubectl patch subscription {} -n {} --type merge -p '{patch}'",
            subscription.name_any(),
            subscription.namespace().unwrap_or_default()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order() -> Order {
        Order {
            package: "gopher".to_owned(),
            ..Order::default()
        }
    }

    fn subscription() -> Subscription {
        serde_json::from_value(json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
            "metadata": {"name": "gopher", "namespace": "port"},
            "spec": {"name": "gopher", "source": "hub", "sourceNamespace": "olm", "channel": "stable"},
        }))
        .unwrap()
    }

    #[test]
    fn what_was_not_said_may_be_anything() {
        let found = Differences::of(&subscription(), &order(), None);
        assert_eq!(found, Differences::default());
    }

    #[test]
    fn the_same_said_again_is_no_difference() {
        let same = Order {
            channel: Some("stable".to_owned()),
            approval: Some("Automatic".to_owned()),
            ..order()
        };
        let found = Differences::of(&subscription(), &same, Some("olm/hub"));
        assert_eq!(found, Differences::default());
    }

    #[test]
    fn every_difference_is_named_with_the_command_that_ends_it() {
        let other = Order {
            channel: Some("beta".to_owned()),
            version: Some("^1".to_owned()),
            approval: Some("Manual".to_owned()),
            ..order()
        };
        let found = Differences::of(&subscription(), &other, Some("market"));
        assert_eq!(
            found.told,
            [
                "its channel is stable, not beta",
                "its version is none, not ^1",
                "its catalog is olm/hub, not port/market",
                "its approval is Automatic, not Manual",
            ]
        );
        assert_eq!(
            found.command(&subscription()),
            r#"kubectl patch subscription gopher -n port --type merge -p '{"spec":{"channel":"beta","version":"^1","source":"market","sourceNamespace":"port","policy":{"approval":"Manual"}}}'"#
        );
    }

    #[test]
    fn a_subscription_of_that_name_to_another_package_differs() {
        let other = Order {
            package: "mole".to_owned(),
            ..order()
        };
        let found = Differences::of(&subscription(), &other, None);
        assert_eq!(found.told, ["its package is gopher, not mole"]);
    }
}
