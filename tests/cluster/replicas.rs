//! Several replicas: one writes, all of them answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use chandler::api::catalog_source::CatalogSource;
use k8s_openapi::api::coordination::v1::Lease;
use serde_json::json;
use tokio::task::JoinHandle;

use crate::support::case::{Case, DEADLINE, on_cluster};
use crate::support::gateway::{Gateway, lines};
use crate::support::install::{done, stock};
use crate::support::process::{Process, Role};
use crate::support::proxy::{Fault, Proxy};
use crate::support::scene::Scene;
use crate::support::wares::stable;

const LEASE: &str = "chandler";

/// A process that may lead, behind a door of its own.
struct Replica {
    name: &'static str,
    process: Process,
    door: Door,
    gateway: Gateway,
}

/// Where a process answers.
#[derive(Clone)]
struct Door {
    address: String,
    client: reqwest::Client,
}

impl Door {
    async fn get(&self, path: &str) -> anyhow::Result<String> {
        let url = format!("http://{}/{path}", self.address);
        let answer = self.client.get(url).send().await?;
        Ok(answer.error_for_status()?.text().await?)
    }
}

impl Replica {
    async fn start(scene: &Scene<'_>, name: &'static str, http: &[&str]) -> anyhow::Result<Self> {
        let namespaces = [scene.namespace.as_str()];
        let gateway = Gateway::start(scene.case.client.clone(), &namespaces).await?;
        let role = Role {
            name,
            kubeconfig: &gateway.kubeconfig(),
            namespaces: &namespaces,
            cares_for_all: false,
            lease: LEASE,
            plain_http: http,
        };
        let mut process = Process::start(scene.case, &role)?;
        let door = Door {
            address: process.address().await?,
            client: reqwest::Client::new(),
        };
        let replica = Self {
            name,
            process,
            door,
            gateway,
        };
        let is_ready = async || replica.door.get("readyz").await.is_ok();
        replica.until("ready", is_ready).await?;
        Ok(replica)
    }

    async fn until(&self, what: &str, holds: impl AsyncFn() -> bool) -> anyhow::Result<()> {
        let deadline = Instant::now() + DEADLINE;
        while !holds().await {
            if Instant::now() > deadline {
                let metrics = self.door.get("metrics").await;
                bail!("{} is not {what}:\n{metrics:?}", self.name);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Waits until it leads.
    async fn leads(&self, scene: &Scene<'_>) -> anyhow::Result<()> {
        let prefix = format!("{}_", self.name);
        let is_holder = |lease: &Lease| {
            let holder = lease
                .spec
                .as_ref()
                .and_then(|it| it.holder_identity.as_ref());
            holder.is_some_and(|holder| holder.starts_with(&prefix))
        };
        scene
            .until(LEASE, &format!("held by {}", self.name), is_holder)
            .await?;
        Ok(())
    }

    /// What it says of what there is.
    async fn answers(&self) -> anyhow::Result<Vec<String>> {
        let metrics = self.door.get("metrics").await?;
        let about = |line: &&str| {
            // The rest is about what one of them did.
            line.starts_with("catalog_source_count")
                || line.starts_with("catalogsource_ready")
                || line.starts_with("chandler_catalog_source_content")
                || line.starts_with("subscription_count")
                || line.starts_with("install_plan_count")
        };
        let mut lines: Vec<String> = metrics.lines().filter(about).map(str::to_owned).collect();
        lines.sort();
        for path in ["api/v1/catalogs", "api/v1/packages"] {
            lines.push(self.door.get(path).await?);
        }
        Ok(lines)
    }

    /// Waits until it serves what the status of a catalog names.
    async fn serves(&self, scene: &Scene<'_>, catalog: &str, digest: &str) -> anyhow::Result<()> {
        let line = format!(
            "chandler_catalog_source_content{{namespace=\"{}\",name=\"{catalog}\",digest=\"{digest}\"}} 1",
            scene.namespace
        );
        self.until(&format!("serving {digest}"), async || {
            self.answers()
                .await
                .is_ok_and(|lines| lines.contains(&line))
        })
        .await
    }
}

/// Somebody who asks all the time.
struct Asking {
    task: JoinHandle<anyhow::Result<()>>,
    answers: Arc<AtomicUsize>,
}

impl Asking {
    fn begin(door: &Door) -> Self {
        let (door, answers) = (door.clone(), Arc::new(AtomicUsize::new(0)));
        let count = answers.clone();
        let task = tokio::spawn(async move {
            loop {
                door.get("readyz").await?;
                let metrics = door.get("metrics").await?;
                ensure!(metrics.contains("catalog_source_count 1"), "{metrics}");
                count.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        Self { task, answers }
    }

    /// The error is that there was a bad answer.
    async fn end(self) -> anyhow::Result<usize> {
        self.task.abort();
        match self.task.await {
            Ok(ended) => ended.context("a question was not answered")?,
            Err(error) => ensure!(error.is_cancelled(), "{error}"),
        }
        Ok(self.answers.load(Ordering::Relaxed))
    }
}

/// Waits until both give the same answers.
async fn agree(one: &Replica, two: &Replica) -> anyhow::Result<()> {
    two.until(&format!("of one mind with {}", one.name), async || {
        match (one.answers().await, two.answers().await) {
            (Ok(first), Ok(second)) => first == second && !first.is_empty(),
            _ => false,
        }
    })
    .await
}

async fn digest(scene: &Scene<'_>, not: &str) -> anyhow::Result<String> {
    let catalog = scene
        .until("hub", "served", |it: &CatalogSource| {
            let status = it.status.as_ref();
            status.is_some_and(|status| !status.digest.is_empty() && status.digest != not)
        })
        .await?;
    Ok(catalog.status.unwrap_or_default().digest)
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_leader_is_killed_the_other_finishes_and_answers_all_the_time() {
    on_cluster(async |case: &Case| {
        let scene = Scene::uncared(case).await?;
        stock(&scene).await?;
        let one = Replica::start(&scene, "one", &[]).await?;
        one.leads(&scene).await?;
        let two = Replica::start(&scene, "two", &[]).await?;
        two.serves(&scene, "hub", &digest(&scene, "").await?)
            .await?;
        let asking = Asking::begin(&two.door);
        // Its last write is a CSV whose objects have no owner yet.
        one.gateway.shut_after(|writes| {
            let last = writes.last();
            last.is_some_and(|write| write.is("POST", "clusterserviceversions"))
        });
        scene.subscribe("gopher", "hub", json!({})).await?;
        tokio::time::timeout(DEADLINE, one.gateway.is_shut())
            .await
            .context("the leader does not get on")?;
        one.process.kill().await?;
        let written = two.gateway.writes();
        ensure!(
            written.is_empty(),
            "the other wrote too:\n{}",
            lines(&written)
        );
        two.leads(&scene).await?;
        done(&scene).await?;
        let answers = asking.end().await?;
        ensure!(answers > 0, "nobody asked");
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_cannot_renew_its_lease_ends_by_itself_and_writes_nothing_more() {
    on_cluster(async |case: &Case| {
        let scene = Scene::uncared(case).await?;
        stock(&scene).await?;
        let one = Replica::start(&scene, "one", &[]).await?;
        one.leads(&scene).await?;
        let two = Replica::start(&scene, "two", &[]).await?;
        two.serves(&scene, "hub", &digest(&scene, "").await?)
            .await?;
        // Everything else gets through: whether it writes is up to itself.
        let _held = one.gateway.hold(|_, path| path.contains("/leases/"));
        two.leads(&scene).await?;
        let before = one.gateway.writes().len();
        scene.subscribe("gopher", "hub", json!({})).await?;
        done(&scene).await?;
        one.process.gave_up().await?;
        let written = one.gateway.writes();
        ensure!(
            written.len() == before,
            "it wrote after somebody else led:\n{}",
            lines(&written)
        );
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_replicas_serve_the_same_and_one_that_ends_hands_over() {
    on_cluster(async |case: &Case| {
        let scene = Scene::uncared(case).await?;
        let registry = case.cluster.registry.as_deref().context("no registry")?;
        let proxy = Proxy::start(registry).await?;
        let http = [proxy.address.as_str()];
        let shop = scene.shop();
        let gopher = scene.operator("gopher", "1.0.0");
        let first = shop
            .push_catalog("hub", &[stable([gopher.clone()])])
            .await?;
        let image = first.replace(registry, &proxy.address);
        scene.catalog_of("hub", &image, json!({})).await?;
        let one = Replica::start(&scene, "one", &http).await?;
        one.leads(&scene).await?;
        let before = digest(&scene, "").await?;
        // The other one does not get it at once.
        proxy.fault("GET", "/manifests/sha256:", Fault::status(404, &[]), 1);
        let two = Replica::start(&scene, "two", &http).await?;
        two.serves(&scene, "hub", &before).await?;
        agree(&one, &two).await?;
        scene.subscribe("gopher", "hub", json!({})).await?;
        scene.at_latest("gopher", "gopher.v1.0.0").await?;
        agree(&one, &two).await?;
        let newer = scene.operator("gopher", "1.1.0").replaces("1.0.0");
        shop.push_catalog("hub", &[stable([gopher, newer])]).await?;
        let after = digest(&scene, &before).await?;
        for replica in [&one, &two] {
            replica.serves(&scene, "hub", &after).await?;
        }
        scene.at_latest("gopher", "gopher.v1.1.0").await?;
        agree(&one, &two).await?;
        // An outage is an outage, whoever is asked, and so is its end.
        proxy.fault("HEAD", "/manifests/", Fault::status(403, &[]), 1_000_000);
        for replica in [&one, &two] {
            let tells = async || {
                let catalogs = replica.door.get("api/v1/catalogs").await;
                catalogs.is_ok_and(|it| it.contains("refused access"))
            };
            replica.until("telling of the outage", tells).await?;
            replica.serves(&scene, "hub", &after).await?;
        }
        agree(&one, &two).await?;
        proxy.heal();
        for replica in [&one, &two] {
            let tells = async || {
                let catalogs = replica.door.get("api/v1/catalogs").await;
                catalogs.is_ok_and(|it| !it.contains("refused access"))
            };
            replica.until("telling of the end", tells).await?;
        }
        agree(&one, &two).await?;
        // What makes no sense serves nowhere.
        let image = json!({"spec": {"image": ""}});
        scene.patch::<CatalogSource>("hub", image).await?;
        for replica in [&one, &two] {
            let is_empty = async || {
                let answers = replica.answers().await.unwrap_or_default();
                let serves = |it: &String| it.starts_with("chandler_catalog_source_content{");
                !answers.is_empty() && !answers.iter().any(serves)
            };
            replica.until("serving nothing", is_empty).await?;
        }
        agree(&one, &two).await?;
        let begun = Instant::now();
        one.process.terminate().await?;
        two.leads(&scene).await?;
        println!("handed over after {:?}", begun.elapsed());
        one.process.ended().await
    })
    .await;
}
