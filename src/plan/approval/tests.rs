use rstest::rstest;

use super::*;
use crate::api::subscription::SubscriptionPolicy;
use crate::resolver::{GeneratedSubscription, Kept};

fn from(installed: &str, next: &str) -> Move {
    Move::From {
        installed: Version::parse(installed).ok(),
        next: Version::parse(next).ok(),
    }
}

#[rstest]
#[case::first(Move::First, [false, false, false, true])]
#[case::patch(from("1.2.3", "1.2.4"), [false, false, false, true])]
#[case::pre_release_to_release(from("1.2.3-rc.1", "1.2.3"), [false, false, false, true])]
#[case::build(from("1.2.3+a", "1.2.3+b"), [false, false, false, true])]
#[case::minor(from("1.2.3", "1.3.0"), [false, false, true, true])]
#[case::major(from("1.2.3", "2.0.0"), [false, true, true, true])]
#[case::patch_back(from("1.2.3", "1.2.2"), [false, true, true, true])]
#[case::release_to_pre_release(from("1.2.3", "1.2.3-rc.1"), [false, true, true, true])]
#[case::from_unknown(from("", "1.2.3"), [false, true, true, true])]
#[case::to_unknown(from("1.2.3", "one"), [false, true, true, true])]
fn a_policy_lets_small_steps_forward_go_ahead(
    #[case] change: Move,
    #[case] automatic_minor_patch_manual: [bool; 4],
) {
    let policies = [
        ApprovalPolicy::Automatic,
        ApprovalPolicy::Minor,
        ApprovalPolicy::Patch,
        ApprovalPolicy::Manual,
    ];
    let needed = policies.map(|policy| needs_approval(&policy, &change));
    assert_eq!(needed, automatic_minor_patch_manual);
}

#[test]
fn a_word_that_nobody_knows_is_as_strict_as_manual() {
    let policy = ApprovalPolicy::Other("Sometimes".to_owned());
    assert!(needs_approval(&policy, &Move::First));
}

fn subscription(name: &str, older: Approval, policy: ApprovalPolicy) -> Subscription {
    let mut subscription = Subscription::default();
    subscription.metadata.name = Some(name.to_owned());
    subscription.spec.install_plan_approval = older;
    subscription.spec.policy = Some(SubscriptionPolicy {
        approval: policy,
        ..SubscriptionPolicy::default()
    });
    subscription
}

fn install(bundle: &str, replaces: &str, version: &str, requested_by: &[&str]) -> Install {
    Install {
        bundle: bundle.to_owned(),
        package: "p".to_owned(),
        version: version.to_owned(),
        catalog: "hub".to_owned(),
        catalog_namespace: "olm".to_owned(),
        channel: "stable".to_owned(),
        image: String::new(),
        replaces: replaces.to_owned(),
        requested_by: requested_by.iter().map(|name| (*name).to_owned()).collect(),
    }
}

fn generated(csv: &str) -> GeneratedSubscription {
    GeneratedSubscription {
        name: format!("generated-{csv}"),
        package: "p".to_owned(),
        channel: "stable".to_owned(),
        catalog: "hub".to_owned(),
        catalog_namespace: "olm".to_owned(),
        starting_csv: csv.to_owned(),
    }
}

/// `ship` needs `rope`, which needs `hemp`.
fn voyage() -> Solution {
    Solution {
        requests: vec!["ship".to_owned()],
        install: vec![
            install("hemp.v1", "", "1.0.0", &["rope.v1"]),
            install("rope.v1", "", "1.0.0", &["ship.v1"]),
            install("ship.v1", "", "1.0.0", &["ship"]),
        ],
        subscriptions: vec![generated("hemp.v1"), generated("rope.v1")],
        ..Solution::default()
    }
}

#[test]
fn dependencies_wait_for_whoever_needs_them_and_generated_subscriptions_inherit() {
    let ship = subscription("ship", Approval::Manual, ApprovalPolicy::Unset);
    let approvals = decide(&voyage(), &[&ship], &BTreeMap::new());
    assert_eq!(approvals.plan, Approval::Manual);
    assert_eq!(approvals.reasons.len(), 3);
    let inherited = Inherited {
        install_plan_approval: Approval::Manual,
        policy: ApprovalPolicy::Unset,
    };
    let names: Vec<&String> = approvals.generated.keys().collect();
    assert_eq!(names, ["generated-hemp.v1", "generated-rope.v1"]);
    assert!(approvals.generated.values().all(|of| *of == inherited));
}

#[test]
fn somebody_elses_approval_does_not_matter() {
    let ship = subscription("ship", Approval::Unset, ApprovalPolicy::Unset);
    let other = subscription("tug", Approval::Manual, ApprovalPolicy::Unset);
    let approvals = decide(&voyage(), &[&ship, &other], &BTreeMap::new());
    assert_eq!(approvals.plan, Approval::Automatic);
    assert_eq!(approvals.reasons, Vec::<String>::new());
}

#[rstest]
#[case(
    Approval::Automatic,
    ApprovalPolicy::Patch,
    Approval::Automatic,
    ApprovalPolicy::Patch
)]
#[case(
    Approval::Manual,
    ApprovalPolicy::Minor,
    Approval::Manual,
    ApprovalPolicy::Minor
)]
#[case(
    Approval::Manual,
    ApprovalPolicy::Automatic,
    Approval::Manual,
    ApprovalPolicy::Automatic
)]
#[case(
    Approval::Automatic,
    ApprovalPolicy::Manual,
    Approval::Automatic,
    ApprovalPolicy::Manual
)]
#[case(
    Approval::Automatic,
    ApprovalPolicy::Automatic,
    Approval::Automatic,
    ApprovalPolicy::Unset
)]
fn a_policy_is_inherited_beside_the_older_word(
    #[case] older: Approval,
    #[case] policy: ApprovalPolicy,
    #[case] older_inherited: Approval,
    #[case] policy_inherited: ApprovalPolicy,
) {
    let ship = subscription("ship", older, policy.clone());
    let approvals = decide(&voyage(), &[&ship], &BTreeMap::new());
    let inherited = &approvals.generated["generated-rope.v1"];
    assert_eq!(inherited.install_plan_approval, older_inherited);
    assert_eq!(inherited.policy, policy_inherited);
    // Whatever is written means what was asked for.
    let mut child = Subscription::default();
    child.spec.install_plan_approval = inherited.install_plan_approval.clone();
    child.spec.policy = Some(SubscriptionPolicy {
        approval: inherited.policy.clone(),
        ..SubscriptionPolicy::default()
    });
    assert_eq!(child.spec.approval(), policy);
}

#[test]
fn the_strictest_of_several_counts_and_is_named() {
    let mut solution = voyage();
    solution.requests = vec!["ship".to_owned(), "tug".to_owned()];
    solution.install[1] = install("rope.v2", "rope.v1", "1.1.0", &["ship.v1", "tug"]);
    solution.install[0].requested_by = vec!["rope.v2".to_owned()];
    let ship = subscription("ship", Approval::Unset, ApprovalPolicy::Minor);
    let tug = subscription("tug", Approval::Unset, ApprovalPolicy::Patch);
    let versions = BTreeMap::from([("rope.v1".to_owned(), "1.0.0".to_owned())]);
    let approvals = decide(&solution, &[&tug, &ship], &versions);
    assert_eq!(
        approvals.reasons,
        [
            "rope.v2 replaces rope.v1 and goes from 1.0.0 to 1.1.0, and Subscription tug has approval Patch"
        ]
    );
}

#[test]
fn an_installed_operator_speaks_through_its_subscription() {
    let solution = Solution {
        requests: vec!["ship".to_owned(), "tug".to_owned()],
        install: vec![install("rope.v1", "", "1.0.0", &["ship.v1"])],
        kept: vec![Kept {
            subscription: "ship".to_owned(),
            csv: "ship.v1".to_owned(),
            adopted: false,
        }],
        ..Solution::default()
    };
    let ship = subscription("ship", Approval::Unset, ApprovalPolicy::Unset);
    let tug = subscription("tug", Approval::Manual, ApprovalPolicy::Unset);
    let approvals = decide(&solution, &[&ship, &tug], &BTreeMap::new());
    assert_eq!(approvals.plan, Approval::Automatic);
}

#[test]
fn those_who_need_each_other_are_no_endless_story() {
    let solution = Solution {
        requests: vec!["ship".to_owned()],
        install: vec![
            install("a.v1", "", "1.0.0", &["b.v1"]),
            install("b.v1", "", "1.0.0", &["a.v1"]),
        ],
        ..Solution::default()
    };
    let ship = subscription("ship", Approval::Manual, ApprovalPolicy::Unset);
    // Nobody asks for them by name, so whoever the solution is for decides.
    let approvals = decide(&solution, &[&ship], &BTreeMap::new());
    assert_eq!(approvals.plan, Approval::Manual);
}
