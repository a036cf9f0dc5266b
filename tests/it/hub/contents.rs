//! What is inside of bundles: rights, APIs, differences; with and without the bundle.

use std::sync::atomic::Ordering;

use chandler::bundle::{self, Bundle};
use serde_json::{Value, json};

use crate::support::hub::{Desk, Supplies, Ware};
use crate::support::wares::{Operator, blobs, stable};

const GROUP: &str = "keep.example.com";

fn older() -> Operator {
    Operator::new(GROUP, "keeper", "1.0.0")
        .owns("Keep")
        .may(&json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}))
}

fn newer() -> Operator {
    let schema = json!({"type": "object", "description": "A keep.", "properties": {
        "spec": {"type": "object", "required": ["size"], "properties": {
            "size": {"type": "integer", "minimum": 1, "description": "How many."},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "parts": {"type": "array", "items": {"type": "object", "properties": {
                "mode": {"type": "string", "enum": ["a", "b"], "default": "a"},
            }}},
        }},
    }});
    let mut operator = Operator::new(GROUP, "keeper", "2.0.0")
        .replaces("1.0.0")
        .owns("Keep");
    let mut crd = operator.crd("Keep");
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema;
    operator = operator.with(crd).csv_with(json!({"metadata": {"annotations": {"alm-examples": json!([
        {"apiVersion": "keep.example.com/v1", "kind": "Keep", "metadata": {"name": "example"}, "spec": {"size": 3}},
        {"apiVersion": "other.example.com/v1", "kind": "Keep"},
    ]).to_string()}}}));
    operator
        .may(&json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}))
        .may_everywhere(&json!({"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "watch", "update", "patch"]}))
}

/// A catalog that carries all manifests.
fn carried() -> Vec<Value> {
    blobs(&[stable([older(), newer()])], &[])
}

fn loaded(operator: &Operator) -> Bundle {
    bundle::load(&operator.files()).unwrap()
}

/// A catalog that says only what people want to know, with bundles beside it.
fn listed() -> Vec<Value> {
    let crds = json!({"crdDescriptions": {"owned": [
        {"name": "keeps.keep.example.com", "kind": "Keep", "version": "v1", "displayName": "A keep"},
    ]}});
    Ware::new("keeper", &[("1.0.0", crds.clone()), ("2.0.0", crds)]).blobs()
}

async fn with_bundles(change: impl FnOnce(&mut Supplies)) -> Desk {
    let blobs = listed();
    Desk::with(&[("hub", &blobs)], change).await
}

fn put(supplies: &mut Supplies) {
    for operator in [older(), newer()] {
        let image = format!("example.com/keeper:{}", operator.version);
        supplies.bundles.insert(image, loaded(&operator));
    }
}

#[tokio::test]
async fn rights_are_told_in_plain_words_the_most_dangerous_first() {
    let found = Desk::new(&carried())
        .await
        .json("/api/v1/packages/keeper/versions/2.0.0/permissions")
        .await;
    assert_eq!(found["knowledge"], json!({"state": "complete"}));
    assert_eq!(found["danger"], "high");
    let words: Vec<(&str, &str)> = found["permissions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            (
                it["danger"].as_str().unwrap(),
                it["words"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        words,
        [
            ("high", "may read and change Secrets in all namespaces"),
            ("low", "may read ConfigMaps in its namespaces"),
        ]
    );
}

#[tokio::test]
async fn packages_whose_bundles_have_one_name_are_not_taken_for_each_other() {
    let named_alike = |package: &str| {
        let mut blobs = Ware::new(package, &[("1.0.0", json!({}))]).blobs();
        for blob in &mut blobs {
            match blob["schema"].as_str() {
                Some("olm.channel") => blob["entries"][0]["name"] = json!("same.v1.0.0"),
                Some("olm.bundle") => blob["name"] = json!("same.v1.0.0"),
                _ => {}
            }
        }
        blobs
    };
    let blobs = [named_alike("harmless"), named_alike("harmful")].concat();
    let everything = json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]});
    let one = json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]});
    let desk = Desk::with(&[("hub", &blobs)], |supplies| {
        let operator = |rule: &Value| Operator::new(GROUP, "same", "1.0.0").may_everywhere(rule);
        for (package, rule) in [("harmless", one), ("harmful", everything)] {
            let image = format!("example.com/{package}:1.0.0");
            supplies.bundles.insert(image, loaded(&operator(&rule)));
        }
    })
    .await;
    for (package, danger) in [
        ("harmful", "critical"),
        ("harmless", "low"),
        ("harmful", "critical"),
    ] {
        let address = format!("/api/v1/packages/{package}/versions/1.0.0/permissions");
        assert_eq!(desk.json(&address).await["danger"], danger, "{package}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_registry_that_does_not_answer_holds_up_nobody_who_asks_another() {
    let versions: Vec<String> = (0..40).map(|minor| format!("1.{minor}.0")).collect();
    let all: Vec<(&str, Value)> = versions.iter().map(|it| (it.as_str(), json!({}))).collect();
    let mut silent = Ware::new("silent", &all).blobs();
    for blob in &mut silent {
        if let Some(image) = blob["image"].as_str() {
            blob["image"] = json!(image.replace("example.com", "silent.example.com"));
        }
    }
    let blobs = [silent, listed()].concat();
    let desk = Desk::with(&[("hub", &blobs)], |supplies| {
        put(supplies);
        supplies.silent = Some("silent.example.com".to_owned());
    })
    .await;
    let permissions = |package: &str, version: &str| {
        format!("/api/v1/packages/{package}/versions/{version}/permissions")
    };
    let unanswered = versions.iter().map(|it| permissions("silent", it));
    let unanswered: Vec<String> = unanswered.collect();
    let asked = unanswered.iter().map(|address| desk.json(address));
    for answer in futures::future::join_all(asked).await {
        assert_eq!(answer["knowledge"]["state"], "partial", "{answer}");
    }
    let other = desk.json(&permissions("keeper", "2.0.0")).await;
    assert_eq!(other["knowledge"]["state"], "complete", "{other}");
}

#[tokio::test]
async fn apis_are_documented_field_by_field_with_examples() {
    let found = Desk::new(&carried())
        .await
        .json("/api/v1/packages/keeper/versions/2.0.0/crds")
        .await;
    let crd = &found["crds"][0];
    assert_eq!(crd["name"], "keeps.keep.example.com");
    assert_eq!(crd["description"], "A keep.");
    assert_eq!(crd["isNamespaced"], true);
    let spec = &crd["versions"][0]["fields"][0];
    assert_eq!(spec["name"], "spec");
    let fields: Vec<(&str, &str)> = spec["fields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|field| {
            (
                field["name"].as_str().unwrap(),
                field["type"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        fields,
        [
            ("size", "integer"),
            ("labels", "map[string]string"),
            ("parts", "[]object")
        ]
    );
    assert_eq!(spec["fields"][0]["isRequired"], true);
    assert_eq!(spec["fields"][0]["rules"], json!(["at least 1"]));
    let mode = &spec["fields"][2]["fields"][0];
    assert_eq!(mode["rules"], json!(["one of a, b"]));
    assert_eq!(mode["default"], "\"a\"");
    assert_eq!(crd["examples"].as_array().unwrap().len(), 1);
    assert_eq!(crd["examples"][0]["name"], "example");
    assert!(
        crd["examples"][0]["yaml"]
            .as_str()
            .unwrap()
            .contains("size: 3")
    );
}

#[tokio::test]
async fn two_versions_are_compared_in_apis_rights_and_images() {
    let found = Desk::new(&carried())
        .await
        .json("/api/v1/packages/keeper/diff?from=1.0.0&to=2.0.0")
        .await;
    assert_eq!(found["from"], "keeper.v1.0.0");
    assert_eq!(found["rightsAdded"].as_array().unwrap().len(), 1);
    assert_eq!(found["rightsAdded"][0]["resource"], "secrets");
    assert_eq!(found["rightsRemoved"], json!([]));
    assert_eq!(found["crds"][0]["change"], "changed");
    let details = found["crds"][0]["details"].as_array().unwrap();
    assert!(
        details.iter().any(|it| it["isBreaking"] == true),
        "{details:?}"
    );
    let back = Desk::new(&carried())
        .await
        .json("/api/v1/packages/keeper/diff?from=2.0.0&to=1.0.0")
        .await;
    assert_eq!(back["rightsRemoved"], found["rightsAdded"]);
}

#[tokio::test]
async fn what_the_catalog_lacks_comes_from_the_bundle_once() {
    let desk = with_bundles(put).await;
    for _ in 0..3 {
        let found = desk
            .json("/api/v1/packages/keeper/versions/2.0.0/permissions")
            .await;
        assert_eq!(found["knowledge"]["state"], "complete");
        assert_eq!(found["permissions"].as_array().unwrap().len(), 2);
    }
    assert_eq!(desk.supplies.asked.load(Ordering::SeqCst), 1);
    let crds = desk
        .json("/api/v1/packages/keeper/versions/2.0.0/crds")
        .await;
    assert_eq!(crds["crds"][0]["displayName"], "A keep");
    assert_ne!(crds["crds"][0]["versions"][0]["fields"], json!([]));
    assert_eq!(desk.supplies.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn without_the_bundle_the_answer_is_what_the_catalog_says_and_why_there_is_no_more() {
    let desk = with_bundles(|_| {}).await;
    for _ in 0..3 {
        let crds = desk
            .json("/api/v1/packages/keeper/versions/1.0.0/crds")
            .await;
        assert_eq!(
            crds["knowledge"],
            json!({"state": "partial", "why": "example.com/keeper:1.0.0 is not there"})
        );
        assert_eq!(crds["crds"][0]["kind"], "Keep");
        assert_eq!(crds["crds"][0]["versions"][0]["name"], "v1");
    }
    // A failure is remembered for a while.
    assert_eq!(desk.supplies.asked.load(Ordering::SeqCst), 1);
    let diff = desk
        .json("/api/v1/packages/keeper/diff?from=1.0.0&to=2.0.0")
        .await;
    assert_eq!(diff["knowledge"]["state"], "partial");
}

#[tokio::test]
async fn many_who_look_at_the_same_bundle_have_it_read_once() {
    let desk = with_bundles(put).await;
    let look = || desk.json("/api/v1/packages/keeper/versions/2.0.0/permissions");
    let all = futures::future::join_all((0..20).map(|_| look())).await;
    assert!(
        all.iter()
            .all(|found| found["knowledge"]["state"] == "complete")
    );
    assert_eq!(desk.supplies.asked.load(Ordering::SeqCst), 1);
}
