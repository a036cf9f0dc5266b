//! Lists, packages, graphs and manifests.

use http::{Request, StatusCode};
use rstest::rstest;
use serde_json::{Value, json};

use super::{desk, names, wares};
use crate::support::hub::{Desk, Ware};
use chandler::server::hub::views::{Health, Installation};

#[tokio::test]
async fn packages_are_listed_by_name_with_all_that_a_card_shows() {
    let list = desk().await.json("/api/v1/packages").await;
    assert_eq!(list["total"], 3);
    assert_eq!(names(&list), ["etcd", "gopher", "old-mill"]);
    let gopher = &list["packages"][1];
    assert_eq!(gopher["displayName"], "Gopher");
    assert_eq!(gopher["version"], "2.0.0");
    assert_eq!(gopher["installModes"], json!(["OwnNamespace"]));
    assert_eq!(gopher["icon"], "/api/v1/packages/gopher/icon?catalog=hub");
    assert_eq!(gopher["installed"], Value::Null);
    assert_eq!(list["packages"][2]["deprecation"], "use gopher instead");
    assert_eq!(list["packages"][2]["capabilityLevel"], "Basic Install");
}

#[rstest]
#[case("q=gohper", &["gopher"])]
#[case("q=rod", &["gopher"])]
#[case("q=nothing-of-the-kind", &[])]
#[case("category=Storage", &["etcd", "gopher"])]
#[case("category=Database&category=Storage", &["etcd", "gopher"])]
#[case("category=Storage&provider=Example", &["etcd"])]
#[case("capabilityLevel=Auto+Pilot", &["gopher"])]
#[case("installMode=AllNamespaces", &["etcd", "old-mill"])]
#[case("deprecated=true", &["old-mill"])]
#[case("deprecated=false", &["etcd", "gopher"])]
#[case("installed=true", &[])]
#[case("catalog=hub&q=", &["etcd", "gopher", "old-mill"])]
#[case("sort=-name", &["old-mill", "gopher", "etcd"])]
#[case("sort=newest", &["gopher", "old-mill", "etcd"])]
#[tokio::test]
async fn lists_are_searched_filtered_and_sorted(#[case] query: &str, #[case] expected: &[&str]) {
    let list = desk()
        .await
        .json(&format!("/api/v1/packages?{query}"))
        .await;
    assert_eq!(names(&list), expected);
    assert_eq!(list["total"], expected.len());
}

#[tokio::test]
async fn counts_tell_what_another_choice_would_show() {
    let list = desk()
        .await
        .json("/api/v1/packages?category=Database")
        .await;
    assert_eq!(
        list["facets"]["categories"],
        json!([
            {"value": "Database", "count": 1, "selected": true},
            {"value": "Storage", "count": 2, "selected": false},
        ])
    );
    assert_eq!(
        list["facets"]["providers"],
        json!([
            {"value": "Burrow Inc.", "count": 0, "selected": false},
            {"value": "Example", "count": 1, "selected": false},
        ])
    );
    assert_eq!(
        list["facets"]["states"],
        json!([{"value": "deprecated", "count": 0, "selected": false}])
    );
}

#[rstest]
#[case("")]
#[case("&sort=-name")]
#[case("&sort=newest")]
#[case("&q=e")]
#[tokio::test]
async fn a_list_in_parts_has_everything_once(#[case] more: &str) {
    let desk = desk().await;
    let whole = desk
        .json(&format!("/api/v1/packages?limit=100{more}"))
        .await;
    let mut path = format!("/api/v1/packages?limit=1{more}");
    let mut seen = Vec::new();
    loop {
        let part = desk.json(&path).await;
        assert_eq!(part["total"], whole["total"]);
        seen.extend(part["packages"].as_array().unwrap().clone());
        let Some(next) = part["next"].as_str() else {
            break;
        };
        path = format!("/api/v1/packages?limit=1{more}&cursor={next}");
    }
    assert_eq!(json!(seen), whole["packages"]);
}

#[rstest]
#[case("limit=0")]
#[case("limit=1001")]
#[case("limit=x")]
#[case("sort=up")]
#[case("installed=maybe")]
#[case("installMode=Nowhere")]
#[case("colour=red")]
#[case("colour=")]
#[tokio::test]
async fn a_query_that_makes_no_sense_is_refused_in_words(#[case] query: &str) {
    let answer = desk().await.get(&format!("/api/v1/packages?{query}")).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    let error = &answer.json()["error"];
    assert_eq!(error["code"], "badRequest");
    assert_ne!(error["message"], "");
}

#[rstest]
#[case("%00")]
#[case("e30")]
#[tokio::test]
async fn a_place_that_is_not_in_the_list_is_not_found(#[case] cursor: &str) {
    let path = format!("/api/v1/packages?cursor={cursor}");
    let answer = desk().await.get(&path).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn whoever_has_an_answer_is_told_that_it_is_still_the_same() {
    let desk = desk().await;
    let first = desk.get("/api/v1/packages").await;
    let tag = first.header("etag");
    for known in [
        tag.to_owned(),
        tag.trim_start_matches("W/").to_owned(),
        format!("\"x\", {tag}"),
        "*".to_owned(),
    ] {
        let request = Request::get("/api/v1/packages").header("if-none-match", &known);
        let again = desk
            .send(request.body(axum::body::Body::empty()).unwrap())
            .await;
        assert_eq!(again.status, StatusCode::NOT_MODIFIED, "{known}");
        assert!(again.body.is_empty());
        assert_eq!(again.header("etag"), tag);
    }
    let request = Request::get("/api/v1/packages?q=etcd").header("if-none-match", tag);
    let other = desk
        .send(request.body(axum::body::Body::empty()).unwrap())
        .await;
    assert_eq!(other.status, StatusCode::OK);
}

#[tokio::test]
async fn a_package_has_channels_versions_and_what_it_says_of_itself() {
    let desk = desk().await;
    let page = desk.json("/api/v1/packages/etcd").await;
    let channels: Vec<&Value> = page["channels"].as_array().unwrap().iter().collect();
    assert_eq!(channels[0]["name"], "stable");
    assert_eq!(channels[0]["isDefault"], true);
    assert_eq!(channels[0]["head"], "etcd.v0.9.4");
    assert_eq!(channels[1]["name"], "beta");
    assert_eq!(page["versions"][0]["version"], "0.9.4");
    assert_eq!(page["versions"][1]["headOf"], json!(["beta"]));
    assert_eq!(
        desk.json("/api/v1/packages/etcd/channels").await,
        page["channels"]
    );
    assert_eq!(
        desk.json("/api/v1/packages/etcd/versions").await,
        page["versions"]
    );
    let about = &desk.json("/api/v1/packages/gopher").await["about"];
    assert_eq!(about["description"], "# Gopher\nDigs.");
    assert_eq!(
        about["links"],
        json!([{"name": "Home", "url": "https://example.com"}, {"name": "Bad", "url": ""}])
    );
    assert_eq!(about["repository"], "https://example.com/gopher");
    let deprecations = desk.json("/api/v1/packages/old-mill/deprecations").await;
    assert_eq!(
        deprecations,
        json!([{"kind": "package", "name": "old-mill", "message": "use gopher instead"}])
    );
}

#[tokio::test]
async fn a_version_is_found_by_its_number_and_by_the_name_of_its_bundle() {
    let desk = desk().await;
    let by_number = desk.json("/api/v1/packages/etcd/versions/0.9.4").await;
    let by_name = desk
        .json("/api/v1/packages/etcd/versions/etcd.v0.9.4")
        .await;
    assert_eq!(by_number, by_name);
    assert_eq!(by_number["upgradesFrom"], json!(["etcd.v0.9.2"]));
    assert_eq!(by_number["provides"][0]["kind"], "EtcdCluster");
    let missing = desk.get("/api/v1/packages/etcd/versions/7").await;
    assert_eq!(missing.status, StatusCode::NOT_FOUND);
    assert_eq!(
        missing.json()["error"]["hint"],
        "the newest are 0.9.4, 0.9.2"
    );
}

#[tokio::test]
async fn a_package_that_is_not_there_is_told_with_what_may_be_meant() {
    let desk = desk().await;
    let answer = desk.get("/api/v1/packages/gopfer").await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    assert_eq!(
        answer.json(),
        json!({"error": {
            "code": "notFound",
            "message": "there is no package `gopfer`",
            "hint": "is it gopher?",
        }})
    );
    let answer = desk.get("/api/v1/packages/gopher?catalog=hug").await;
    assert_eq!(answer.json()["error"]["hint"], "there are hub");
}

#[tokio::test]
async fn the_graph_has_every_upgrade_and_why_it_is_possible() {
    let desk = desk().await;
    let graph = desk.json("/api/v1/packages/etcd/graph").await;
    assert_eq!(
        graph["edges"],
        json!([{
            "from": "etcd.v0.9.2", "to": "etcd.v0.9.4", "kind": "replaces", "channels": ["stable"],
        }])
    );
    let heads: Vec<bool> = graph["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| node["isHead"].as_bool().unwrap())
        .collect();
    assert_eq!(heads, [false, true]);
    let beta = desk.json("/api/v1/packages/etcd/graph?channel=beta").await;
    assert_eq!(beta["nodes"].as_array().unwrap().len(), 1);
    let none = desk.get("/api/v1/packages/etcd/graph?channel=gamma").await;
    assert_eq!(none.json()["error"]["hint"], "there are beta, stable");
}

#[tokio::test]
async fn dependencies_and_dependents_find_each_other() {
    let desk = desk().await;
    let gopher = desk.json("/api/v1/packages/gopher/dependencies").await;
    let kinds: Vec<&str> = gopher["dependencies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["api", "package"]);
    for dependency in gopher["dependencies"].as_array().unwrap() {
        assert_eq!(
            dependency["metBy"],
            json!([{"package": "etcd", "catalog": "hub"}])
        );
    }
    let etcd = desk.json("/api/v1/packages/etcd/dependencies").await;
    let dependents = etcd["dependents"].as_array().unwrap();
    assert_eq!(dependents.len(), 2);
    assert!(dependents.iter().all(|it| it["package"] == "gopher"));
}

#[tokio::test]
async fn the_manifests_install_what_was_chosen() {
    let desk = desk().await;
    let head = desk.json("/api/v1/packages/gopher/install").await;
    assert_eq!(head["namespace"], "burrow");
    assert_eq!(head["installMode"], "OwnNamespace");
    let documents = chandler::yaml::values("install", head["yaml"].as_str().unwrap()).unwrap();
    let kinds: Vec<&str> = documents
        .iter()
        .map(|it| it["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["Namespace", "OperatorGroup", "Subscription"]);
    assert_eq!(documents[1]["spec"]["targetNamespaces"], json!(["burrow"]));
    assert_eq!(documents[2]["spec"]["installPlanApproval"], "Automatic");
    assert_eq!(documents[2]["spec"]["startingCSV"], Value::Null);
    let old = desk
        .get("/api/v1/packages/etcd/install.yaml?version=0.9.2&namespace=db")
        .await;
    assert_eq!(old.header("content-type"), "application/yaml");
    let documents = chandler::yaml::values("install", &old.text()).unwrap();
    assert_eq!(documents[2]["spec"]["startingCSV"], "etcd.v0.9.2");
    assert_eq!(documents[2]["spec"]["installPlanApproval"], "Manual");
    assert_eq!(documents[2]["metadata"]["namespace"], "db");
    for wrong in [
        "namespace=A",
        "installMode=MultiNamespace",
        "installMode=",
        "approval=",
        "channel=beta&version=0.9.4",
    ] {
        let answer = desk
            .get(&format!("/api/v1/packages/etcd/install?{wrong}"))
            .await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{wrong}");
    }
}

#[tokio::test]
async fn the_resolver_tells_what_would_happen() {
    let desk = desk().await;
    let solved = desk.json("/api/v1/resolve?package=gopher").await;
    assert_eq!(solved["solved"], true);
    let installs: Vec<&str> = solved["components"][0]["install"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["bundle"].as_str().unwrap())
        .collect();
    assert_eq!(installs, ["etcd.v0.9.4", "gopher.v2.0.0"]);
    let body = json!({"subscriptions": [{"package": "gopher", "version": ">=3"}]});
    let stuck = desk.post("/api/v1/resolve", &body).await.json();
    assert_eq!(stuck["solved"], false);
    assert_eq!(stuck["components"][0]["outcome"], "unsolvable");
    assert_ne!(stuck["components"][0]["summary"], "");
    let odd = desk
        .json("/api/v1/resolve?package=gopher&version=%3C%3C")
        .await;
    assert_eq!(odd["solved"], false);
    let why = odd["components"][0]["summary"].as_str().unwrap();
    assert!(why.contains("neither a version nor a range"), "{why}");
}

#[tokio::test]
async fn several_catalogs_are_told_apart() {
    let extra = Ware::new("gopher", &[("9.0.0", json!({}))]).blobs();
    let first = wares();
    let desk = Desk::with(&[("hub", &first), ("extra", &extra)], |_| {}).await;
    let list = desk.json("/api/v1/packages?q=gopher").await;
    assert_eq!(list["total"], 2);
    let other = desk.json("/api/v1/packages/gopher?catalog=extra").await;
    assert_eq!(other["card"]["version"], "9.0.0");
    assert_eq!(other["alsoIn"], json!(["hub"]));
    let first = desk.json("/api/v1/packages/gopher").await;
    assert_eq!(first["card"]["catalog"], "hub");
    let catalogs = desk.json("/api/v1/catalogs").await;
    assert_eq!(catalogs[0]["packages"], 3);
}

#[tokio::test]
async fn what_is_installed_is_shown_with_its_health_and_its_upgrade() {
    let installation = Installation {
        package: "etcd".to_owned(),
        namespace: "db".to_owned(),
        subscription: "etcd".to_owned(),
        catalog: "hub".to_owned(),
        channel: "stable".to_owned(),
        csv: "etcd.v0.9.2".to_owned(),
        version: "0.9.2".to_owned(),
        phase: "Succeeded".to_owned(),
        health: Health::Pending,
        message: String::new(),
        next: "etcd.v0.9.4".to_owned(),
        waits_because: "somebody has to approve InstallPlan install-1".to_owned(),
        plan_to_approve: "install-1".to_owned(),
    };
    let blobs = wares();
    let desk = Desk::with(&[("hub", &blobs)], |supplies| {
        supplies.installations = Some(vec![installation]);
        supplies.changes = Some(tokio::sync::watch::Sender::new(1));
    })
    .await;
    let list = desk
        .json("/api/v1/packages?installed=true&upgradable=true")
        .await;
    assert_eq!(names(&list), ["etcd"]);
    assert_eq!(
        list["packages"][0]["installed"],
        json!({"health": "pending", "isUpgradable": true, "versions": ["0.9.2"], "places": 1})
    );
    assert_eq!(
        list["facets"]["states"][0],
        json!({"value": "installed", "count": 1, "selected": true})
    );
    let page = desk.json("/api/v1/packages/etcd").await;
    assert_eq!(page["installations"][0]["planToApprove"], "install-1");
    let graph = desk.json("/api/v1/packages/etcd/graph").await;
    assert_eq!(graph["nodes"][0]["isInstalled"], true);
    let all = desk.json("/api/v1/installations").await;
    assert_eq!(all["isAttached"], true);
    assert_eq!(all["installations"].as_array().unwrap().len(), 1);
}
