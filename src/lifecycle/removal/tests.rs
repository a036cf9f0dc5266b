mod dependencies;
mod names;
mod order;
mod owners;
mod plans;
mod random;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::api::subscription::RemovalPolicy;
use crate::lifecycle::targets::Targets;

const NAMESPACE: &str = "port";
/// When Subscriptions were deleted.
const DELETED: &str = "2026-01-01T00:00:00Z";

/// What a Subscription says that is being removed by a policy.
fn removed(policy: &str) -> Value {
    json!({
        "metadata": {"deletionTimestamp": DELETED, "finalizers": [labels::REMOVAL_FINALIZER]},
        "spec": {"policy": {"removal": policy}},
    })
}

pub(super) fn subscription(name: &str, more: &Value) -> Arc<Subscription> {
    let mut object = json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": format!("sub-{name}")},
        "spec": {"name": name, "source": "hub", "sourceNamespace": "olm"},
        "status": {
            "installedCSV": format!("{name}.v1"), "currentCSV": format!("{name}.v1"),
            "lastUpdated": null,
        },
    });
    merge(&mut object, more);
    Arc::new(serde_json::from_value(object).unwrap())
}

/// Generated for a dependency.
fn generated(name: &str) -> Arc<Subscription> {
    let annotations = json!({labels::GENERATED_BY: "install-1"});
    subscription(name, &json!({"metadata": {"annotations": annotations}}))
}

pub(super) fn csv(
    namespace: &str,
    name: &str,
    owns: &[&str],
    needs: &[&str],
) -> Arc<ClusterServiceVersion> {
    let apis = |kinds: &[&str]| -> Vec<Value> {
        let api = |kind: &&str| json!({"name": crd_name(kind), "kind": kind, "version": "v1"});
        kinds.iter().map(api).collect()
    };
    let mark = labels::component(&labels::operator_name(name, namespace));
    Arc::new(
        serde_json::from_value(json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": CSV,
            "metadata": {
                "name": format!("{name}.v1"), "namespace": namespace, "uid": format!("csv-{name}"),
                "labels": {mark: ""}, "annotations": {labels::TARGET_NAMESPACES: namespace},
            },
            "spec": {
                "displayName": name, "version": "1.0.0", "install": {"strategy": "deployment"},
                "customresourcedefinitions": {"owned": apis(owns), "required": apis(needs)},
            },
            "status": {"phase": "Succeeded"},
        }))
        .unwrap(),
    )
}

fn crd_name(kind: &str) -> String {
    format!("{}s.example.com", kind.to_lowercase())
}

pub(super) fn crd(kind: &str, package: &str, objects: &[(&str, &str)]) -> Crd {
    let mark = labels::component(&labels::operator_name(package, NAMESPACE));
    let csv = format!("{package}.v1");
    let alongside = labels::installed_alongside(NAMESPACE, &csv);
    let objects = objects.iter().map(|(namespace, name)| CustomResource {
        namespace: (*namespace).to_owned(),
        name: (*name).to_owned(),
        uid: format!("cr-{namespace}-{name}"),
        ..CustomResource::default()
    });
    Crd {
        name: crd_name(kind),
        uid: format!("crd-{kind}"),
        resource_version: "7".to_owned(),
        labels: BTreeMap::from([(mark, String::new())]),
        annotations: BTreeMap::from([(alongside, format!("{NAMESPACE}/{csv}"))]),
        is_going: false,
        finalizers: Vec::new(),
        api_version: "example.com/v1".to_owned(),
        kind: kind.to_owned(),
        is_converted: false,
        objects: Ok(objects.collect()),
        more: 0,
    }
}

fn merge(target: &mut Value, changes: &Value) {
    match (changes.as_object(), target.is_object()) {
        (Some(changes), true) => {
            for (key, value) in changes {
                merge(&mut target[key], value);
            }
        }
        _ => *target = changes.clone(),
    }
}

/// What the API server does with a merge patch.
fn merge_patch(target: &mut Value, patch: &Value) {
    let Some(changes) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    let fields = target.as_object_mut().unwrap();
    for (key, value) in changes {
        if value.is_null() {
            fields.shift_remove(key);
        } else {
            merge_patch(fields.entry(key).or_insert(Value::Null), value);
        }
    }
}

/// gopher with its API, alone in its namespace.
fn facts() -> Facts {
    let gopher = subscription("gopher", &json!({}));
    Facts {
        subscriptions: vec![gopher.clone()],
        subscription: gopher,
        csvs: vec![csv(NAMESPACE, "gopher", &["Gopher"], &[])],
        targets: Some(Targets::Named(BTreeSet::from([NAMESPACE.to_owned()]))),
        crds: vec![crd("Gopher", "gopher", &[(NAMESPACE, "digger")])],
        ..Facts::default()
    }
}

/// The same with burrow, which was installed because gopher needs it.
fn with_dependency() -> Facts {
    let mut facts = facts();
    facts.csvs = vec![
        csv(NAMESPACE, "gopher", &["Gopher"], &["Burrow"]),
        csv(NAMESPACE, "burrow", &["Burrow"], &[]),
    ];
    facts.subscriptions.push(generated("burrow"));
    facts
}

/// The same with mole, which owns the API as well, and goes by a policy.
fn with_going_owner(policy: &str) -> Facts {
    let mut shared = facts();
    shared.csvs.push(csv("quay", "mole", &["Gopher"], &[]));
    let more = json!({
        "metadata": {
            "namespace": "quay", "deletionTimestamp": DELETED, "finalizers": [labels::REMOVAL_FINALIZER],
        },
        "spec": {"policy": {"removal": policy}},
    });
    shared.subscriptions.push(subscription("mole", &more));
    let objects = [(NAMESPACE, "mine"), ("quay", "theirs")];
    shared.crds = vec![crd("Gopher", "gopher", &objects)];
    shared.targets = Some(Targets::All);
    shared
}

fn wish(policy: RemovalPolicy) -> Wish {
    Wish {
        policy,
        ..Wish::default()
    }
}

fn everything() -> Wish {
    wish(RemovalPolicy::Everything)
}

/// A wish that names the CRD of gopher.
fn naming(wish: Wish) -> Wish {
    Wish {
        crds: BTreeSet::from([crd_name("Gopher")]),
        ..wish
    }
}

fn operator() -> Wish {
    wish(RemovalPolicy::Operator)
}

fn steps(removal: &Removal) -> Vec<Step> {
    removal.stages.iter().map(|stage| stage.step).collect()
}

fn goes(removal: &Removal, step: Step) -> Vec<String> {
    let stages = removal.stages.iter().filter(|stage| stage.step == step);
    let objects = stages.flat_map(|stage| &stage.objects);
    objects.map(|it| it.object.to_string()).collect()
}

fn why_stays(removal: &Removal, object: &str) -> String {
    let found = removal
        .stays
        .iter()
        .find(|it| it.object.to_string() == object);
    let found = found.unwrap_or_else(|| panic!("{object} does not stay: {removal:#?}"));
    found.why.clone()
}

#[test]
fn a_subscription_that_says_nothing_takes_nothing_with_it() {
    let wish = Wish::of(&subscription("gopher", &json!({})));
    assert!(!wish.removes());
    let removal = plan(&facts(), &wish);
    assert_eq!(removal, Removal::default());
    assert_eq!(removal.next(), Move::LetGo);
}

#[test]
fn a_wish_is_read_from_policy_and_annotations() {
    let more = json!({
        "metadata": {"annotations": {
            labels::PRUNE_DEPENDENCIES: "true", labels::DELETE_CRDS: "a.b, c.d,",
        }},
        "spec": {"policy": {"removal": "Operator"}},
    });
    let wish = Wish::of(&subscription("gopher", &more));
    assert_eq!(wish.policy, RemovalPolicy::Operator);
    assert!(wish.dependencies && wish.removes());
    assert_eq!(
        wish.crds,
        BTreeSet::from(["a.b".to_owned(), "c.d".to_owned()])
    );
    let unknown = json!({"spec": {"policy": {"removal": "Half"}}});
    assert!(!Wish::of(&subscription("gopher", &unknown)).removes());
}

#[test]
fn an_operator_goes_and_its_crds_and_objects_stay_without_its_marks() {
    let removal = plan(&facts(), &operator());
    assert_eq!(
        steps(&removal),
        [Step::DeleteOperator, Step::Unmark, Step::Afterwards]
    );
    assert_eq!(
        goes(&removal, Step::DeleteOperator),
        ["ClusterServiceVersion port/gopher.v1"]
    );
    let why = why_stays(&removal, "CustomResourceDefinition gophers.example.com");
    assert!(why.contains("kept"), "{why}");
    why_stays(&removal, "Gopher port/digger");
    assert_eq!(
        goes(&removal, Step::Afterwards),
        ["Operator gopher.port", "Subscription port/gopher"]
    );
}

#[test]
fn a_crd_with_objects_stays_with_them_unless_it_is_named() {
    let removal = plan(&facts(), &everything());
    let why = why_stays(&removal, "CustomResourceDefinition gophers.example.com");
    assert!(why.contains("1 object, such as port/digger"), "{why}");
    assert!(why.contains("only by name"), "{why}");
    why_stays(&removal, "Gopher port/digger");
    assert_eq!(removal.unnamed, ["gophers.example.com"]);
    assert_eq!(
        steps(&removal),
        [Step::DeleteOperator, Step::Unmark, Step::Afterwards]
    );
    let mut empty = facts();
    empty.crds[0].objects = Ok(Vec::new());
    let removal = plan(&empty, &everything());
    assert_eq!(goes(&removal, Step::DeleteDefinitions).len(), 1);
    assert_eq!((&removal.stays, &removal.unnamed), (&vec![], &vec![]));
    for wish in [everything(), operator()] {
        let removal = plan(&facts(), &naming(wish));
        assert_eq!(goes(&removal, Step::DeleteDefinitions).len(), 1);
        assert_eq!(removal.unnamed, [""; 0]);
    }
}

#[test]
fn of_a_crd_that_stays_is_told_that_nobody_converts_its_objects_any_more() {
    let convert = json!([{
        "type": "ConversionWebhook", "generateName": "convert.example.com", "deploymentName": "gopher",
        "conversionCRDs": [crd_name("Gopher")],
    }]);
    let converting = |name: &str| {
        let mut csv = json!(*csv(NAMESPACE, name, &["Gopher"], &[]));
        csv["spec"]["webhookdefinitions"] = convert.clone();
        Arc::new(serde_json::from_value(csv).unwrap())
    };
    let why = |facts: &Facts| {
        let removal = plan(facts, &operator());
        why_stays(&removal, "CustomResourceDefinition gophers.example.com")
    };
    assert!(!why(&facts()).contains("converted"));
    let mut alone = facts();
    alone.csvs = vec![converting("gopher")];
    // It never came so far.
    assert!(!why(&alone).contains("converted"));
    alone.crds[0].is_converted = true;
    assert!(
        why(&alone).contains("its objects are not converted"),
        "{}",
        why(&alone)
    );
    let mut with_heir = alone.clone();
    with_heir.csvs.push(converting("mole"));
    assert!(!why(&with_heir).contains("converted"));
}

#[test]
fn everything_goes_with_custom_resources_first_and_crds_last() {
    let removal = plan(&facts(), &naming(everything()));
    assert_eq!(
        steps(&removal),
        [
            Step::DeleteCustomResources,
            Step::DeleteOperator,
            Step::DeleteDefinitions,
            Step::Afterwards
        ]
    );
    assert_eq!(removal.stays, []);
    assert!(
        matches!(removal.next(), Move::Act(stage) if stage.step == Step::DeleteCustomResources)
    );
}

#[test]
fn what_is_gone_already_is_no_stage_any_more() {
    let mut half = facts();
    half.crds[0].objects = Ok(Vec::new());
    assert_eq!(steps(&plan(&half, &everything()))[0], Step::DeleteOperator);
    half.csvs.clear();
    assert_eq!(
        steps(&plan(&half, &everything()))[0],
        Step::DeleteDefinitions
    );
    half.crds.clear();
    let removal = plan(&half, &everything());
    assert_eq!(steps(&removal), [Step::Afterwards]);
    assert_eq!(removal.next(), Move::LetGo);
}

#[test]
fn objects_on_their_way_out_are_waited_for_with_what_holds_them() {
    let mut held = facts();
    if let Ok(objects) = &mut held.crds[0].objects {
        objects[0].is_going = true;
        objects[0].finalizers = vec!["example.com/dig".to_owned()];
    }
    let removal = plan(&held, &naming(everything()));
    assert!(matches!(removal.next(), Move::Wait(_)));
    assert!(removal.is_held());
    let (reason, message) = removal.told().unwrap();
    assert_eq!(reason, "CustomResourcesPresent");
    for word in [
        "Gopher port/digger (held by example.com/dig)",
        "the operator is to work off",
        "take the annotation chandler.delete-crds off",
    ] {
        assert!(message.contains(word), "no {word} in {message}");
    }
    held.csvs.clear();
    let (_, message) = plan(&held, &naming(everything())).told().unwrap();
    assert!(message.contains("the operator does not run"), "{message}");
}

#[test]
fn what_another_operator_needs_does_not_go() {
    let mut needed = facts();
    needed.csvs.push(csv("quay", "crane", &[], &["Gopher"]));
    for wish in [operator(), everything()] {
        let removal = plan(&needed, &wish);
        assert_eq!(removal.next(), Move::Blocked);
        let (reason, message) = removal.told().unwrap();
        assert_eq!(reason, "StillNeeded");
        assert!(
            message.contains("ClusterServiceVersion quay/crane.v1"),
            "{message}"
        );
    }
    // Unless it has that from somebody else.
    needed.csvs.push(csv("quay", "mole", &["Gopher"], &[]));
    assert_ne!(plan(&needed, &operator()).next(), Move::Blocked);
}

#[test]
fn who_needs_a_package_by_name_is_heard_in_its_namespace_only() {
    let with_need = |namespace: &str| {
        let mut needed = facts();
        let mut crane = (*csv(namespace, "crane", &[], &[])).clone();
        let properties = json!({"properties": [{
            "type": "olm.package.required",
            "value": {"packageName": "gopher", "versionRange": ">=1.0.0"},
        }]});
        let annotations = crane.metadata.annotations.get_or_insert_default();
        annotations.insert(labels::PROPERTIES.to_owned(), properties.to_string());
        let mut gopher = (*needed.csvs[0]).clone();
        let properties = json!({"properties": [{
            "type": "olm.package", "value": {"packageName": "gopher", "version": "1.0.0"},
        }]});
        let annotations = gopher.metadata.annotations.get_or_insert_default();
        annotations.insert(labels::PROPERTIES.to_owned(), properties.to_string());
        needed.csvs = vec![Arc::new(gopher), Arc::new(crane)];
        plan(&needed, &operator()).next() == Move::Blocked
    };
    assert!(with_need(NAMESPACE));
    assert!(!with_need("quay"));
}

#[test]
fn a_crd_that_is_about_to_be_installed_for_somebody_else_stays() {
    let mut awaited = facts();
    let csv = "quay/crane.v1".to_owned();
    let annotations = &mut awaited.crds[0].annotations;
    annotations.insert(labels::installed_alongside("quay", "crane.v1"), csv);
    let more = json!({"metadata": {"namespace": "quay"}});
    awaited.subscriptions.push(subscription("crane", &more));
    let removal = plan(&awaited, &naming(everything()));
    let why = why_stays(&removal, "CustomResourceDefinition gophers.example.com");
    assert!(why.contains("quay/crane"), "{why}");
}

#[test]
fn objects_that_cannot_be_listed_are_in_the_way_of_their_crd_only() {
    let mut unread = facts();
    unread.crds[0].objects = Err("conversion webhook failed".to_owned());
    let removal = plan(&unread, &naming(everything()));
    assert_eq!(removal.next(), Move::Blocked);
    let (reason, message) = removal.told().unwrap();
    assert_eq!(reason, "NotReadable");
    for word in ["conversion webhook failed", "mend what serves them"] {
        assert!(message.contains(word), "no {word} in {message}");
    }
    for wish in [operator(), everything()] {
        let removal = plan(&unread, &wish);
        assert_ne!(removal.next(), Move::Blocked);
        why_stays(&removal, "CustomResourceDefinition gophers.example.com");
    }
    let removal = plan(&unread, &everything());
    assert_eq!(removal.unnamed, ["gophers.example.com"]);
}

fn unlisted(group: &str, kind: &str) -> Unlisted {
    Unlisted {
        group: group.to_owned(),
        kind: kind.to_owned(),
        problem: "conversion webhook failed".to_owned(),
    }
}

#[test]
fn a_kind_that_cannot_be_listed_is_in_the_way_of_those_only_who_may_have_some_of_it() {
    let mut facts = facts();
    facts.csvs.clear();
    facts.unlisted = vec![unlisted("anchors.example.com", "Anchor")];
    let removal = plan(&facts, &operator());
    assert_ne!(removal.next(), Move::Blocked);
    assert_eq!(removal.unlisted, facts.unlisted);
    // A plan brought one for this package.
    let mut brought = (*install_plan("install-1", "Complete", &["gopher"])).clone();
    let step = json!({"resolving": "gopher.v1", "status": "Created", "resource": {
        "group": "anchors.example.com", "version": "v1", "kind": "Anchor", "name": "bower",
        "sourceName": "hub", "sourceNamespace": "olm",
    }});
    brought.status.as_mut().unwrap().plan = vec![serde_json::from_value(step).unwrap()];
    facts.plans = vec![Arc::new(brought.clone())];
    let removal = plan(&facts, &operator());
    assert_eq!(removal.next(), Move::Blocked);
    let (reason, message) = removal.told().unwrap();
    assert_eq!(reason, "NotReadable");
    for word in [
        "kind Anchor of anchors.example.com",
        "webhook failed",
        "mend",
    ] {
        assert!(message.contains(word), "no {word} in {message}");
    }
    // For another one, which is no business of this one.
    brought.metadata.owner_references = None;
    facts.plans = vec![Arc::new(brought)];
    assert_ne!(plan(&facts, &operator()).next(), Move::Blocked);
    // Anybody may have some of what is Kubernetes' own.
    for group in ["apps", "", "rbac.authorization.k8s.io"] {
        facts.unlisted = vec![unlisted(group, "Any")];
        assert_eq!(plan(&facts, &operator()).next(), Move::Blocked);
    }
    // Which a CRD is not, whatever its group is called.
    facts.unlisted = vec![unlisted("snapshot.storage.k8s.io", "VolumeSnapshot")];
    assert_ne!(plan(&facts, &operator()).next(), Move::Blocked);
}

#[test]
fn whoever_cannot_be_read_keeps_what_they_may_use() {
    let mut facts = facts();
    facts.unreadable = vec!["ClusterServiceVersion quay/odd (no spec)".to_owned()];
    assert_ne!(plan(&facts, &operator()).next(), Move::Blocked);
    let removal = plan(&facts, &naming(everything()));
    assert_eq!(removal.next(), Move::Blocked);
    let (reason, message) = removal.told().unwrap();
    assert_eq!(reason, "NotReadable");
    assert!(message.contains("quay/odd (no spec)"), "{message}");
}

fn marked(kind: &str, name: &str) -> Marked {
    Marked {
        object: Reference {
            api_version: "v1".to_owned(),
            kind: kind.to_owned(),
            namespace: NAMESPACE.to_owned(),
            name: name.to_owned(),
        },
        uid: format!("{kind}-{name}"),
        labels: BTreeMap::from([("operators.coreos.com/gopher.port".to_owned(), String::new())]),
        ..Marked::default()
    }
}

#[test]
fn what_is_left_goes_unless_it_is_somebody_elses_as_well() {
    let mut facts = facts();
    facts.csvs = vec![csv("quay", "mole", &[], &[])];
    let owned = Marked {
        owners: BTreeSet::from(["csv-mole".to_owned()]),
        ..marked("ConfigMap", "owned")
    };
    let mut labelled = marked("ConfigMap", "labelled");
    let mark = "operators.coreos.com/mole.quay".to_owned();
    labelled.labels.insert(mark, String::new());
    let mut named = marked("PriorityClass", "named");
    for (key, value) in [
        (labels::OWNER, "mole.v1"),
        (labels::OWNER_NAMESPACE, "quay"),
        (labels::OWNER_KIND, CSV),
    ] {
        named.labels.insert(key.to_owned(), value.to_owned());
    }
    // That of a package that is gone says nothing.
    let mut stale = marked("ConfigMap", "stale");
    let mark = "operators.coreos.com/shrew.quay".to_owned();
    stale.labels.insert(mark, String::new());
    facts.marked = vec![owned, labelled, named, stale, marked("ConfigMap", "left")];
    let removal = plan(&facts, &operator());
    assert_eq!(
        goes(&removal, Step::DeleteLeftovers),
        ["ConfigMap port/left", "ConfigMap port/stale"]
    );
    for stays in [
        "ConfigMap port/owned",
        "ConfigMap port/labelled",
        "PriorityClass port/named",
    ] {
        why_stays(&removal, stays);
        let unmarked = goes(&removal, Step::Unmark);
        assert!(unmarked.contains(&stays.to_owned()), "{unmarked:?}");
    }
    assert_eq!(
        disown(&facts.marked[1], &facts),
        Some(json!({"metadata": {"labels": {"operators.coreos.com/gopher.port": null}}}))
    );
    // What cannot have an owner is the other one's from now on.
    let mut heirloom = facts.marked[1].clone();
    heirloom.object.namespace.clear();
    assert_eq!(
        disown(&heirloom, &facts),
        Some(json!({"metadata": {"labels": {
            "operators.coreos.com/gopher.port": null, labels::OWNER: "mole.v1",
            labels::OWNER_NAMESPACE: "quay", labels::OWNER_KIND: CSV,
        }}}))
    );
}

#[test]
fn what_was_there_before_the_operator_stays_and_loses_every_mark_with_the_last_of_those_who_brought_it()
 {
    let mut facts = facts();
    facts.csvs = vec![csv("quay", "mole", &[], &[])];
    let mut found = Marked {
        is_found: true,
        ..marked("PriorityClass", "first")
    };
    found.object.namespace.clear();
    found
        .labels
        .insert(labels::MANAGED.to_owned(), "true".to_owned());
    facts.marked = vec![found];
    let removal = plan(&facts, &operator());
    assert!(goes(&removal, Step::DeleteLeftovers).is_empty());
    why_stays(&removal, "PriorityClass first");
    let unmarked = goes(&removal, Step::Unmark);
    assert!(
        unmarked.contains(&"PriorityClass first".to_owned()),
        "{unmarked:?}"
    );
    assert_eq!(
        disown(&facts.marked[0], &facts),
        Some(json!({"metadata": {
            "labels": {"operators.coreos.com/gopher.port": null, labels::MANAGED: null},
        }}))
    );
    // Whoever is there and brought it as well does not come to own it.
    let mark = "operators.coreos.com/mole.quay".to_owned();
    facts.marked[0].labels.insert(mark, String::new());
    assert_eq!(
        disown(&facts.marked[0], &facts),
        Some(json!({"metadata": {"labels": {"operators.coreos.com/gopher.port": null}}}))
    );
}

fn install_plan(name: &str, phase: &str, owners: &[&str]) -> Arc<InstallPlan> {
    let owners: Vec<Value> = owners
        .iter()
        .map(|name| {
            json!({
                "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
                "name": name, "uid": format!("sub-{name}"),
            })
        })
        .collect();
    let plan = json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "InstallPlan",
        "metadata": {"name": name, "namespace": NAMESPACE, "ownerReferences": owners},
        "spec": {"approval": "Automatic", "approved": true, "clusterServiceVersionNames": []},
        "status": {"phase": phase, "catalogSources": []},
    });
    Arc::new(serde_json::from_value(plan).unwrap())
}

#[test]
fn what_is_held_is_told_with_what_holds_it_and_what_to_do() {
    let mut facts = facts();
    facts.csvs.clear();
    facts.crds.clear();
    let mut held = marked("ConfigMap", "held");
    held.finalizers = vec!["example.com/dig".to_owned()];
    facts.marked = vec![held];
    let removal = plan(&facts, &operator());
    assert!(!removal.is_held(), "nobody deleted it yet");
    facts.marked[0].is_going = true;
    let removal = plan(&facts, &operator());
    assert!(matches!(removal.next(), Move::Wait(stage) if stage.step == Step::DeleteLeftovers));
    assert!(removal.is_held());
    let (_, message) = removal.told().unwrap();
    for word in [
        "ConfigMap port/held (held by example.com/dig)",
        "kubectl patch configmap held -n port --type merge",
    ] {
        assert!(message.contains(word), "no {word} in {message}");
    }
    // Those that are worked off by themselves are no news.
    facts.marked[0].finalizers = vec!["foregroundDeletion".to_owned()];
    assert!(!plan(&facts, &operator()).is_held());
}

#[test]
fn what_a_deleted_operator_waits_for_is_told() {
    let mut facts = facts();
    let deleted = Arc::make_mut(&mut facts.csvs[0]);
    deleted.metadata.deletion_timestamp =
        serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
    deleted.metadata.finalizers = Some(vec![labels::CSV_CLEANUP_FINALIZER.to_owned()]);
    let removal = plan(&facts, &operator());
    let (_, before) = removal.told().unwrap();
    assert!(!removal.is_held(), "{before}");
    let says = |message: &str| json!({"reason": "WaitingOnCleanup", "message": message});
    let held = "it was deleted, and goes when this is gone: ClusterRole a (held by b)";
    Arc::make_mut(&mut facts.csvs[0]).status = serde_json::from_value(says(held)).unwrap();
    let removal = plan(&facts, &operator());
    assert!(removal.is_held());
    let (_, message) = removal.told().unwrap();
    assert!(message.ends_with(held), "{message}");
    assert!(is_news(&before, &message));
}

#[test]
fn others_that_a_crd_waits_for_are_told_as_what_they_are() {
    let mut shared = with_going_owner("Everything");
    shared.crds[0].objects = Ok(Vec::new());
    shared.csvs.remove(0);
    let awaited = |facts: &Facts| {
        let removal = plan(facts, &everything());
        assert!(matches!(removal.next(), Move::Wait(stage) if stage.step == Step::AwaitOthers));
        let mut stages = removal.stages.into_iter();
        let stage = stages.find(|it| it.step == Step::AwaitOthers);
        stage.unwrap().objects.remove(0).is_going
    };
    assert!(!awaited(&shared), "nobody deleted it yet");
    let mole = Arc::make_mut(&mut shared.csvs[0]);
    mole.metadata.deletion_timestamp = shared.subscriptions[1].metadata.deletion_timestamp.clone();
    assert!(awaited(&shared));
}

#[test]
fn a_crd_that_stays_keeps_what_is_about_to_be_installed_beside_it_in_the_same_namespace() {
    let mut facts = facts();
    facts.csvs.clear();
    let ours = labels::installed_alongside(NAMESPACE, "gopher.v1");
    for name in ["mole.v1", "shrew.v2", "gopher.v0"] {
        let key = labels::installed_alongside(NAMESPACE, name);
        let annotations = &mut facts.crds[0].annotations;
        annotations.insert(key, format!("{NAMESPACE}/{name}"));
    }
    // One has a Subscription that waits for it, the other one a plan that is to bring it.
    facts.subscriptions.push(subscription("mole", &json!({})));
    let mut coming = (*install_plan("install-9", "Installing", &["shrew"])).clone();
    coming.spec.cluster_service_version_names = vec!["shrew.v2".to_owned()];
    facts.plans = vec![Arc::new(coming)];
    let patch = unmark(&facts.crds[0], &facts).unwrap();
    let gone = patch["metadata"]["annotations"].as_object().unwrap();
    let former = labels::installed_alongside(NAMESPACE, "gopher.v0");
    let gone: BTreeSet<&String> = gone.keys().collect();
    assert_eq!(gone, BTreeSet::from([&ours, &former]));
}

#[test]
fn a_wish_that_was_written_and_not_followed_is_taken_back_as_if_nothing_had_been() {
    let before = json!({
        "metadata": {"annotations": {labels::DELETE_CRDS: "a.b"}, "resourceVersion": "7"},
        "spec": {"policy": {"removal": "Operator", "approval": "Manual"}},
    });
    for before in [json!({"metadata": {"resourceVersion": "7"}}), before] {
        let before = subscription("gopher", &before);
        assert_eq!(put_back(&before), None);
        let mut object = serde_json::to_value(&*before).unwrap();
        let mut wish = naming(everything());
        wish.crds.extend(Wish::of(&before).crds);
        for _ in 0..2 {
            let now: Subscription = serde_json::from_value(object.clone()).unwrap();
            merge_patch(&mut object, &hand_over(&now, &wish));
        }
        let mut written: Subscription = serde_json::from_value(object.clone()).unwrap();
        assert_eq!(Wish::of(&written), wish);
        assert_eq!(own_wish(&written), Wish::of(&before));
        assert_eq!(written.finalizers(), [labels::REMOVAL_FINALIZER]);
        merge_patch(&mut object, &put_back(&written).unwrap());
        let after: Subscription = serde_json::from_value(object).unwrap();
        assert_eq!(Wish::of(&after), Wish::of(&before));
        assert_eq!(after.spec.approval(), before.spec.approval());
        assert_eq!(after.finalizers().is_empty(), !Wish::of(&before).removes());
        assert_eq!(put_back(&after), None);
        // One that was deleted has what it was deleted with.
        written.metadata.deletion_timestamp = Some(random::now());
        assert_eq!(put_back(&written), None);
        assert_eq!(own_wish(&written), wish);
    }
}

#[test]
fn a_crd_that_stays_keeps_the_marks_of_others() {
    let mut facts = facts();
    facts.csvs = vec![csv("quay", "mole", &["Gopher"], &[])];
    let annotations = &mut facts.crds[0].annotations;
    let theirs = labels::installed_alongside("quay", "mole.v1");
    annotations.insert(theirs, "quay/mole.v1".to_owned());
    let ours = labels::installed_alongside(NAMESPACE, "gopher.v1");
    assert_eq!(
        unmark(&facts.crds[0], &facts),
        Some(json!({"metadata": {
            "labels": {"operators.coreos.com/gopher.port": null}, "annotations": {ours: null},
        }}))
    );
    facts.crds[0].labels.clear();
    facts.crds[0].annotations.clear();
    assert_eq!(unmark(&facts.crds[0], &facts), None);
}

#[test]
fn a_namespace_that_goes_takes_nothing_from_elsewhere() {
    let wish = Wish {
        dependencies: true,
        crds: BTreeSet::from(["a.b".to_owned()]),
        ..everything()
    };
    let urgent = Wish {
        is_urgent: true,
        ..operator()
    };
    assert_eq!(wish.in_namespace_that_goes(), urgent);
}
