use super::*;
use rstest::rstest;
use serde_json::json;

fn webhook(name: &str, groups: &[&str], resources: &[&str]) -> WebhookDefinition {
    serde_json::from_value(json!({
        "generateName": name,
        "rules": [{"apiGroups": groups, "resources": resources, "operations": ["*"]}],
    }))
    .unwrap()
}

#[rstest]
#[case::about_its_own(&["cache.example.com"], &["*"], "")]
#[case::about_everything(&["apps", "*"], &["pods"], "webhook rules cannot include all groups")]
#[case::about_operators(&["operators.coreos.com"], &["csvs"], "webhook rules cannot include the OLM group")]
#[case::about_all_webhooks(&["admissionregistration.k8s.io"], &["*"],
    "webhook rules cannot include MutatingWebhookConfiguration or ValidatingWebhookConfiguration")]
#[case::about_webhooks_by_kind(&["admissionregistration.k8s.io"], &["MutatingWebhookConfiguration"],
    "webhook rules cannot include MutatingWebhookConfiguration or ValidatingWebhookConfiguration")]
#[case::about_webhooks_by_resource(&["admissionregistration.k8s.io"], &["validatingwebhookconfigurations"],
    "webhook rules cannot include MutatingWebhookConfiguration or ValidatingWebhookConfiguration")]
#[case::about_policies(&["admissionregistration.k8s.io"], &["validatingadmissionpolicies"], "")]
fn a_webhook_that_could_lock_out_its_installer_is_refused(
    #[case] groups: &[&str],
    #[case] resources: &[&str],
    #[case] words: &str,
) {
    let said = check(&[webhook("a", groups, resources)]);
    let said = said.map_or_else(|error| error.to_string(), |()| String::new());
    assert_eq!(said.is_empty(), words.is_empty(), "{said}");
    assert!(said.starts_with(words), "{said}");
}

#[rstest]
#[case::about_everything(&["*"], "pods", "name the API groups that it is for instead of \"*\"")]
#[case::about_operators(&["operators.coreos.com"], "csvs", "take operators.coreos.com out of their apiGroups")]
#[case::about_webhooks(&["admissionregistration.k8s.io"], "*/*", "take */* out of the resources")]
fn whoever_is_refused_is_told_what_to_do(
    #[case] groups: &[&str],
    #[case] resource: &str,
    #[case] advice: &str,
) {
    let said = check(&[webhook("greedy", groups, &[resource])])
        .unwrap_err()
        .to_string();
    assert!(said.contains("see the rules of greedy in"), "{said}");
    assert!(said.contains(advice), "{said}");
    let long = "greedy".repeat(10_000);
    let said = check(&[webhook(&long, groups, &[resource])]).unwrap_err();
    assert!(said.to_string().len() < 1000, "{said}");
}

#[test]
fn two_webhooks_of_one_name_are_refused() {
    let twice = [
        webhook("a", &["g"], &["r"]),
        webhook("b", &[], &[]),
        webhook("a", &[], &[]),
    ];
    assert_eq!(
        check(&twice),
        Err(InvalidWebhook::RepeatedName("a".to_owned()))
    );
}
