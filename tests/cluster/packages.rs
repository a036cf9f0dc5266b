//! The API of packages behind the API server, as kubectl and others use it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use chandler::api::catalog_source::CatalogSource;
use chandler::api::conditions::ConnectionState;
use chandler::lifecycle::package_api::{SECRET, Seen, Step, next};
use http::Request;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;

use crate::support::case::{Case, on_cluster};
use crate::support::data::skipped;
use crate::support::packages::{API_SERVICE, ROOT, Served, Turn};
use crate::support::scene::{Scene, state};
use crate::support::wares::{Channel, channel, stable};

const UNREACHABLE: &str = "the API server reaches no process here: that needs root on Linux";

/// Two versions of an operator with a picture, and another operator.
fn stock(scene: &Scene<'_>) -> Vec<Channel> {
    let about = json!({"spec": {
        "description": "Digs burrows.", "provider": {"name": "Burrow"}, "maturity": "stable",
        "icon": [{"base64data": "AAEC", "mediatype": "image/png"}],
    }});
    let old = scene.operator("gopher", "1.0.0").owns("Gopher");
    let old = old.csv_with(about.clone());
    let new = scene.operator("gopher", "1.1.0").owns("Gopher");
    let new = new.replaces("1.0.0").csv_with(about);
    vec![
        stable([old.clone()]),
        channel("alpha", [old, new]),
        stable([scene.operator("mole", "1.0.0")]),
    ]
}

/// The cells of what kubectl prints: names of catalogs have single blanks in them.
fn rows(text: &str) -> Vec<Vec<String>> {
    let cells = |line: &str| {
        let cells = line.split("  ").map(str::trim);
        let cells = cells.filter(|cell| !cell.is_empty());
        cells.map(str::to_owned).collect()
    };
    text.lines().map(cells).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_gets_describes_explains_and_selects_packages() {
    on_cluster(async |case| {
        let Some(served) = Served::one(case).await? else {
            skipped(&case.name, UNREACHABLE);
            return Ok(());
        };
        let (scene, home, other) = (&served.scene, &served.scene.namespace, &served.other);
        scene.config_map_catalog("hub", &stock(scene)).await?;
        served.shows(home, "gopher").await?;
        scene
            .patch::<CatalogSource>("hub", json!({"spec": {"displayName": "The hub"}}))
            .await?;
        // What a catalog is called is what its packages say at once.
        case.eventually("called by its new name", async || {
            let shown = served.shows(home, "gopher").await?;
            Ok(shown["status"]["catalogSourceDisplayName"] == "The hub")
        })
        .await?;
        let all = rows(&served.kubectl(&["get", "packagemanifests", "-A"]).await?);
        ensure!(all[0] == ["NAMESPACE", "NAME", "CATALOG", "AGE"], "{all:?}");
        ensure!(
            all[1][..3] == [home.as_str(), "gopher", "The hub"],
            "{all:?}"
        );
        ensure!(all[2][..3] == [home.as_str(), "mole", "The hub"], "{all:?}");
        // Catalogs for everybody are seen from everywhere.
        let seen = rows(
            &served
                .kubectl(&["get", "packagemanifests", "-n", other])
                .await?,
        );
        ensure!(
            seen[0] == ["NAME", "CATALOG", "AGE"] && seen.len() == 3,
            "{seen:?}"
        );
        for (selector, expected) in [
            (
                "provider=Burrow",
                vec!["packagemanifest.packages.operators.coreos.com/gopher"],
            ),
            (
                "provider!=Burrow",
                vec!["packagemanifest.packages.operators.coreos.com/mole"],
            ),
            (
                "catalog in (hub),!no",
                vec![
                    "packagemanifest.packages.operators.coreos.com/gopher",
                    "packagemanifest.packages.operators.coreos.com/mole",
                ],
            ),
        ] {
            let arguments = [
                "get",
                "packagemanifests",
                "-n",
                other,
                "-l",
                selector,
                "-o",
                "name",
            ];
            let names = served.kubectl(&arguments).await?;
            ensure!(
                names.lines().collect::<Vec<_>>() == expected,
                "{selector}: {names}"
            );
        }
        let field = "--field-selector=metadata.name=mole";
        let arguments = ["get", "packagemanifests", "-n", home, field, "-o", "name"];
        ensure!(served.kubectl(&arguments).await?.lines().count() == 1);
        let arguments = [
            "get",
            "packagemanifest",
            "gopher",
            "-n",
            other,
            "-o",
            "yaml",
        ];
        let yaml = served.kubectl(&arguments).await?;
        for line in [
            format!("namespace: {other}").as_str(),
            format!("catalogSourceNamespace: {home}").as_str(),
            "currentCSV: gopher.v1.1.0",
            "description: Digs burrows.",
            "defaultChannel: stable",
        ] {
            ensure!(yaml.contains(line), "no {line} in {yaml}");
        }
        let described = served
            .kubectl(&["describe", "packagemanifest", "gopher", "-n", home])
            .await?;
        ensure!(
            described.contains("Catalog Source Display Name:"),
            "{described}"
        );
        let explain = async || {
            let words = ["explain", "packagemanifest.status.channels"];
            served.kubectl(&words).await
        };
        // The API server reads the schemas of others beside all else, and once it found nobody there
        // it asks again only after a minute, then after two.
        case.within(
            Duration::from_mins(4),
            "explained",
            async || match explain().await {
                Err(error) if format!("{error:#}").contains("couldn't find resource") => Ok(false),
                other => other.map(|_| true),
            },
        )
        .await?;
        let explained = explain().await?;
        ensure!(
            explained.contains("KIND:")
                && explained.contains("Channels of the package.")
                && explained.contains("currentCSVDesc"),
            "{explained}"
        );
        let refused = served
            .kubectl(&["delete", "packagemanifest", "gopher", "-n", home])
            .await;
        let refused = refused.err().context("it was deleted")?.to_string();
        ensure!(
            refused.contains("MethodNotAllowed") || refused.contains("not supported"),
            "{refused}"
        );
        let icon = format!("{ROOT}/namespaces/{home}/packagemanifests/gopher/icon");
        ensure!(served.kubectl(&["get", "--raw", &icon]).await?.as_bytes() == b"\x00\x01\x02");
        let drawn = format!("{ROOT}/namespaces/{home}/packagemanifests/mole/icon");
        ensure!(
            served
                .kubectl(&["get", "--raw", &drawn])
                .await?
                .contains("<svg")
        );
        let arguments = ["api-resources", "--api-group=packages.operators.coreos.com"];
        ensure!(
            served
                .kubectl(&arguments)
                .await?
                .contains("packagemanifests")
        );
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_those_with_rights_see_packages_whatever_they_say_of_themselves() {
    on_cluster(async |case| {
        let Some(served) = Served::one(case).await? else {
            skipped(&case.name, UNREACHABLE);
            return Ok(());
        };
        let (scene, home) = (&served.scene, &served.scene.namespace);
        scene.config_map_catalog("hub", &stock(scene)).await?;
        served.shows(home, "gopher").await?;
        let list = ["get", "packagemanifests", "-n", home, "--as", "somebody"];
        let refused = served
            .kubectl(&list)
            .await
            .err()
            .context("they are shown")?;
        ensure!(refused.to_string().contains("forbidden"), "{refused:#}");
        // The port asks the same question, for whoever comes past the API server.
        let path = format!("{ROOT}/namespaces/{home}/packagemanifests");
        let (reader, stranger) = (
            served.token("reader", true).await?,
            served.token("stranger", false).await?,
        );
        let shown = served.straight(0, &reader, &path).await?;
        ensure!(
            shown.as_ref().is_ok_and(|it| it.contains("gopher")),
            "{shown:?}"
        );
        for (token, expected) in [
            (stranger.as_str(), "cannot list resource"),
            ("made-up", "must be logged in"),
        ] {
            let refused = served.straight(0, token, &path).await?;
            let refused = refused.err().context("they are shown")?;
            ensure!(refused.contains(expected), "{expected} is not in {refused}");
        }
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_replicas_answer_the_same_bytes() {
    on_cluster(async |case| {
        let Some(mut served) = Served::prepare(case, 2).await? else {
            skipped(&case.name, UNREACHABLE);
            return Ok(());
        };
        let channels = stock(&served.scene);
        served.scene.config_map_catalog("hub", &channels).await?;
        served.start("one")?;
        served.start("two")?;
        served.available().await?;
        let home = served.scene.namespace.clone();
        let token = served.token("reader", true).await?;
        for path in [
            format!("{ROOT}/namespaces/{home}/packagemanifests"),
            format!("{ROOT}/namespaces/{home}/packagemanifests/gopher"),
            format!("{ROOT}/namespaces/{home}/packagemanifests/gopher/icon"),
        ] {
            let answers = async || -> anyhow::Result<_> {
                let one = served.straight(0, &token, &path).await?;
                let two = served.straight(1, &token, &path).await?;
                Ok((one, two))
            };
            case.eventually(&format!("answered by both: {path}"), async || {
                let (one, two) = answers().await?;
                Ok(one.is_ok() && two.is_ok())
            })
            .await?;
            let (one, two) = answers().await?;
            ensure!(one == two, "{path}: {one:?} is not {two:?}");
        }
        Ok(())
    })
    .await;
}

/// What both replicas answer to each of these paths, as soon as it is the same and as it should be.
async fn agree(
    served: &Served<'_>,
    token: &str,
    what: &str,
    is_so: impl Fn(&str) -> bool,
) -> anyhow::Result<()> {
    let home = &served.scene.namespace;
    let list = format!("{ROOT}/namespaces/{home}/packagemanifests");
    let one = format!("{list}/gopher");
    let case = served.scene.case;
    case.eventually(&format!("of one mind: {what}"), async || {
        let mut answers = Vec::new();
        for path in [&list, &one] {
            for replica in [0, 1] {
                // What is refused, such as a package that is not there, is refused in the same words.
                let answer = served.straight(replica, token, path).await?;
                answers.push(answer.unwrap_or_else(|refused| refused));
            }
        }
        let [first_list, second_list, first, second] = answers.as_slice() else {
            anyhow::bail!("{answers:?}");
        };
        Ok(first_list == second_list && first == second && is_so(&format!("{first_list}{first}")))
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn two_replicas_answer_the_same_bytes_through_news_and_outages() {
    on_cluster(async |case| {
        let Some(mut served) = Served::prepare(case, 2).await? else {
            skipped(&case.name, UNREACHABLE);
            return Ok(());
        };
        let gopher = served.scene.operator("gopher", "1.0.0");
        let mole = served.scene.operator("mole", "1.0.0");
        let first = [stable([gopher.clone()]), stable([mole.clone()])];
        served.scene.image_catalog("hub", &first).await?;
        served.start("one")?;
        served.start("two")?;
        served.available().await?;
        let token = served.token("reader", true).await?;
        let served = &served;
        let scene = &served.scene;
        let has = |text: &'static str| move |answers: &str| answers.contains(text);
        let first = "currentCSV\":\"gopher.v1.0.0";
        agree(served, &token, "the first version", has(first)).await?;
        // News of an image.
        let newer = scene.operator("gopher", "1.1.0").replaces("1.0.0");
        let second = [stable([gopher, newer]), stable([mole])];
        scene.shop().push_catalog("hub", &second).await?;
        let second = "currentCSV\":\"gopher.v1.1.0";
        agree(served, &token, "the second version", has(second)).await?;
        // What a catalog is called, and what it offers.
        let change = json!({"spec": {"displayName": "The hub", "packages": ["gopher"]}});
        scene.patch::<CatalogSource>("hub", change).await?;
        agree(served, &token, "curated", |answers| {
            answers.contains("The hub") && !answers.contains("mole")
        })
        .await?;
        // An outage: what was served is served on.
        let ready = scene.ready_catalog("hub").await?;
        let nowhere = json!({"spec": {"image": "127.0.0.1:1/gone/catalog:latest"}});
        scene.patch::<CatalogSource>("hub", nowhere).await?;
        scene
            .until("hub", "stale", |it: &CatalogSource| {
                state(it) == Some(ConnectionState::TransientFailure)
            })
            .await?;
        agree(served, &token, "in an outage", has(second)).await?;
        let back = json!({"spec": {"image": ready.spec.image}});
        scene.patch::<CatalogSource>("hub", back).await?;
        scene.ready_catalog("hub").await?;
        agree(served, &token, "after an outage", has(second)).await?;
        // Nothing is left of what is gone.
        scene.delete::<CatalogSource>("hub").await?;
        agree(served, &token, "without a catalog", |answers| {
            !answers.contains("currentCSV") && answers.contains("not found")
        })
        .await
    })
    .await;
}

/// Somebody who asks all the time, and counts what fails.
struct Asking {
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicUsize>,
    tasks: Vec<tokio::task::JoinHandle<anyhow::Result<()>>>,
}

impl Asking {
    fn begin(client: &Client, path: &str) -> Self {
        let (stop, answered) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicUsize::new(0)),
        );
        let ask = |_| {
            let (stop, answered) = (stop.clone(), answered.clone());
            let (client, path) = (client.clone(), path.to_owned());
            tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let request = Request::get(&path).body(Vec::new())?;
                    client
                        .request_text(request)
                        .await
                        .context("a request failed")?;
                    answered.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            })
        };
        let tasks = (0..2).map(ask).collect();
        Self {
            stop,
            answered,
            tasks,
        }
    }

    /// Waits for so many more answers.
    async fn more(&self, case: &Case, answers: usize) -> anyhow::Result<()> {
        let before = self.answered.load(Ordering::Relaxed);
        case.eventually("answered", async || {
            let failed = self.tasks.iter().any(tokio::task::JoinHandle::is_finished);
            Ok(failed || self.answered.load(Ordering::Relaxed) >= before + answers)
        })
        .await
    }

    async fn end(self) -> anyhow::Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        for task in self.tasks {
            task.await??;
        }
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_is_renewed_without_a_request_that_fails() {
    on_cluster(async |case| {
        let Some(mut served) = Served::prepare(case, 1).await? else {
            skipped(&case.name, UNREACHABLE);
            return Ok(());
        };
        let channels = stock(&served.scene);
        served.scene.config_map_catalog("hub", &channels).await?;
        let home = served.scene.namespace.clone();
        // As if it were two years old: it is good for half a day more.
        let past = Timestamp::now() - SignedDuration::from_hours(24 * 730 - 12);
        let Step::Write(secret) = next(&home, &Seen::default(), &Time(past))? else {
            anyhow::bail!("no certificate is made");
        };
        let secrets = served.scene.api::<Secret>();
        secrets.create(&PostParams::default(), &secret).await?;
        let certificate = |secret: &Secret| {
            secret
                .data
                .as_ref()
                .and_then(|it| it.get("tls.crt").cloned())
        };
        let old = certificate(&secret);
        served.start("one")?;
        served.available().await?;
        served.shows(&home, "gopher").await?;
        let asking = Asking::begin(
            &case.client,
            &format!("{ROOT}/namespaces/{home}/packagemanifests"),
        );
        served
            .scene
            .until(SECRET, "renewed", |it: &Secret| certificate(it) != old)
            .await?;
        let renewed = secrets.get(SECRET).await?;
        let text = |key: &str| {
            let data = renewed.data.as_ref().and_then(|it| it.get(key));
            data.map(|it| String::from_utf8_lossy(&it.0).into_owned())
        };
        let (current, former) = (
            text("olmCAKey").context("no CA")?,
            text("chandlerFormerCA").context("no former CA")?,
        );
        let services = Api::<APIService>::all(case.client.clone());
        let trusts_both = |it: Option<&APIService>| {
            let bundle = it.and_then(|it| it.spec.as_ref()?.ca_bundle.clone());
            bundle.is_some_and(|bundle| {
                String::from_utf8_lossy(&bundle.0) == format!("{current}{former}")
            })
        };
        case.wait(&services, API_SERVICE, "trusting both", trusts_both)
            .await?;
        asking.more(case, 50).await?;
        served.available().await?;
        asking.end().await
    })
    .await;
}

/// A Service that leads to nobody: controllers alone serve nothing.
async fn service(scene: &Scene<'_>) -> anyhow::Result<()> {
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "chandler-packages"},
        "spec": {"ports": [{"port": 443}]},
    });
    scene.create(service).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_others_that_is_alive_is_left_alone() {
    on_cluster(async |case| {
        let turn = Turn::take(case).await?;
        let api = Api::<APIService>::all(case.client.clone());
        // Nobody is there, but nobody has been away for long either.
        let of_others = json!({
            "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
            "metadata": {"name": API_SERVICE},
            "spec": {
                "group": "packages.operators.coreos.com", "version": "v1",
                "groupPriorityMinimum": 2000, "versionPriority": 15, "insecureSkipTLSVerify": true,
                "service": {"namespace": "olm", "name": "packageserver-service", "port": 5443},
            },
        });
        let manager = PatchParams::apply("olm").force();
        api.patch(API_SERVICE, &manager, &Patch::Apply(&of_others))
            .await?;
        let scene = Scene::with(case, |settings| settings.package_api = true).await?;
        service(&scene).await?;
        // The certificate is ready, should they go away.
        scene.until(SECRET, "there", |_: &Secret| true).await?;
        let told = async || {
            let events = case
                .cluster
                .kubectl(&["get", "events", "-A", "-o", "json"])
                .await?;
            Ok(events.contains("ServedByAnother") && events.contains("olm/packageserver-service"))
        };
        case.eventually("told", told).await?;
        let still = api.get(API_SERVICE).await?.spec.and_then(|it| it.service);
        let name = still.and_then(|it| it.name);
        ensure!(name.as_deref() == Some("packageserver-service"), "{name:?}");
        // Once they are known to be away for half a minute, the API is taken over.
        let is_ours = |it: Option<&APIService>| {
            let service = it.and_then(|it| it.spec.as_ref()?.service.clone());
            service.is_some_and(|it| it.namespace.as_deref() == Some(scene.namespace.as_str()))
        };
        case.wait(&api, API_SERVICE, "taken over", is_ours).await?;
        drop(scene);
        drop(turn);
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_registration_goes_with_the_namespace_of_chandler() {
    on_cluster(async |case| {
        let turn = Turn::take(case).await?;
        let scene = Scene::with(case, |settings| settings.package_api = true).await?;
        let api = Api::<APIService>::all(case.client.clone());
        // Nothing is registered that nothing leads to.
        scene.until(SECRET, "there", |_: &Secret| true).await?;
        ensure!(
            api.get_opt(API_SERVICE).await?.is_none(),
            "it is registered"
        );
        service(&scene).await?;
        let is_there = |it: Option<&APIService>| it.is_some();
        case.wait(&api, API_SERVICE, "registered", is_there).await?;
        let namespace = scene.namespace.as_str();
        let deleted = ["delete", "namespace", namespace, "--wait=false"];
        case.cluster.kubectl(&deleted).await?;
        let is_gone = |it: Option<&APIService>| it.is_none();
        case.wait(&api, API_SERVICE, "gone", is_gone).await?;
        drop(turn);
        Ok(())
    })
    .await;
}
