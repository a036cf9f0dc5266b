//! Every operator of `bundles/` on real pods: installed, used through a custom resource, upgraded and removed.

use anyhow::{Context as _, ensure};
use chandler::api::subscription::Subscription;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::support::case::on_cluster;
use crate::support::fleet::{For, Stage};

/// An operator, and how it is used.
struct Seed<'a> {
    /// The package, and those that come with it.
    packages: &'a [&'static str],
    channel: &'a str,
    whom: For,
    /// The CSV that is installed, and the one that it becomes.
    versions: [&'a str; 2],
    resource: Value,
    /// Where the status says something, and what: at first, and after a change of the spec, or of the status, which
    /// the operator does not leave like that.
    at: &'a str,
    says: Value,
    change: Value,
    says_then: Value,
}

/// Installs, uses, upgrades and removes an operator. The new version keeps the status of what there was before.
async fn lives(seed: Seed<'_>) {
    on_cluster(async |case| {
        let Some(stage) = Stage::set(case, seed.packages, seed.whom).await? else {
            return Ok(());
        };
        let package = seed.packages.first().context("no package")?;
        stage
            .install(package, seed.channel, seed.versions[0])
            .await?;
        let api = stage.create(&seed.resource).await?;
        stage.says(&api, "one", seed.at, &seed.says).await?;
        stage.next(package, seed.versions[1]).await?;
        let (change, parameters) = (Patch::Merge(&seed.change), PatchParams::default());
        if seed.change.get("status").is_some() {
            api.patch_status("one", &parameters, &change).await?;
        } else {
            api.patch("one", &parameters, &change).await?;
        }
        stage.says(&api, "one", seed.at, &seed.says_then).await?;
        stage.remove(package).await
    })
    .await;
}

fn resource(api_version: &str, kind: &str, spec: &Value) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "one"}, "spec": spec})
}

#[tokio::test]
async fn etcd_lives_in_its_namespace() {
    lives(Seed {
        packages: &["etcd"],
        channel: "singlenamespace-alpha",
        whom: For::Own,
        versions: ["etcdoperator.v0.9.2", "etcdoperator.v0.9.4"],
        resource: resource(
            "etcd.database.coreos.com/v1beta2",
            "EtcdCluster",
            &json!({"size": 3, "version": "3.2.13"}),
        ),
        at: "/status/size",
        says: json!(3),
        change: json!({"spec": {"size": 5}}),
        says_then: json!(5),
    })
    .await;
}

/// One of the steps that lead from the first version of etcd to the last ones.
async fn etcd_goes_from(channel: &str, whom: For, versions: [&str; 2]) {
    let spec = json!({"size": 3, "version": "3.2.13"});
    lives(Seed {
        packages: &["etcd"],
        channel,
        whom,
        versions,
        resource: resource("etcd.database.coreos.com/v1beta2", "EtcdCluster", &spec),
        at: "/status/members/ready",
        says: json!(["one-0", "one-1", "one-2"]),
        change: json!({"spec": {"size": 1}}),
        says_then: json!(["one-0"]),
    })
    .await;
}

#[tokio::test]
async fn etcd_lives_since_its_first_version() {
    let versions = ["etcdoperator-community.v0.6.1", "etcdoperator.v0.9.0"];
    etcd_goes_from("singlenamespace-alpha", For::Own, versions).await;
}

#[tokio::test]
async fn etcd_goes_from_one_namespace_to_the_whole_cluster() {
    let versions = ["etcdoperator.v0.9.0", "etcdoperator.v0.9.2-clusterwide"];
    etcd_goes_from("clusterwide-alpha", For::All, versions).await;
}

#[tokio::test]
async fn etcd_lives_in_the_whole_cluster() {
    let versions = [
        "etcdoperator.v0.9.2-clusterwide",
        "etcdoperator.v0.9.4-clusterwide",
    ];
    etcd_goes_from("clusterwide-alpha", For::All, versions).await;
}

#[tokio::test]
async fn prometheus_lives_in_its_namespace() {
    lives(Seed {
        packages: &["prometheus"],
        channel: "beta",
        whom: For::Own,
        versions: ["prometheusoperator.v0.65.1", "prometheusoperator.v0.70.0"],
        resource: resource(
            "monitoring.coreos.com/v1",
            "Prometheus",
            &json!({"replicas": 2}),
        ),
        at: "/status/availableReplicas",
        says: json!(2),
        change: json!({"spec": {"replicas": 1}}),
        says_then: json!(1),
    })
    .await;
}

#[tokio::test]
async fn memcached_lives_in_its_namespace() {
    lives(Seed {
        packages: &["memcached"],
        channel: "candidate",
        whom: For::Own,
        versions: ["memcached-operator.v0.0.1", "memcached-operator.v0.0.2"],
        resource: resource(
            "cache.example.com/v1alpha1",
            "Memcached",
            &json!({"size": 1}),
        ),
        at: "/status/nodes",
        says: json!(["one-0"]),
        change: json!({"spec": {"size": 2}}),
        says_then: json!(["one-0", "one-1"]),
    })
    .await;
}

#[tokio::test]
async fn mysql_lives_in_its_namespace_and_skips_a_version() {
    lives(Seed {
        packages: &["mysql"],
        channel: "stable",
        whom: For::Own,
        versions: ["mysql-operator.v0.1.0", "mysql-operator.v1.0.0"],
        resource: resource(
            "db.example.com/v1alpha1",
            "MySql",
            &json!({"version": "8.0", "replicas": 3}),
        ),
        at: "/status/readyReplicas",
        says: json!(3),
        change: json!({"spec": {"replicas": 1}}),
        says_then: json!(1),
    })
    .await;
}

#[tokio::test]
async fn cert_manager_lives_in_the_whole_cluster() {
    lives(Seed {
        packages: &["cert-manager"],
        channel: "stable",
        whom: For::All,
        versions: ["cert-manager.v1.6.0", "cert-manager.v1.9.0"],
        resource: resource(
            "cert-manager.io/v1",
            "Certificate",
            &json!({"secretName": "one-tls", "issuerRef": {"name": "one"}}),
        ),
        at: "/status/conditions/0/type",
        says: json!("Ready"),
        change: json!({"status": {"conditions": []}}),
        says_then: json!("Ready"),
    })
    .await;
}

#[tokio::test]
async fn redis_lives_in_its_namespace() {
    lives(Seed {
        packages: &["redis-operator"],
        channel: "stable",
        whom: For::Own,
        versions: ["redis-operator.v1.0.0", "redis-operator.v1.1.1"],
        resource: resource(
            "databases.spotahome.com/v1",
            "RedisFailover",
            &json!({"redis": {"replicas": 3}}),
        ),
        at: "/status/conditions/0/type",
        says: json!("Ready"),
        change: json!({"status": {"conditions": []}}),
        says_then: json!("Ready"),
    })
    .await;
}

#[tokio::test]
async fn postgres_lives_in_its_namespace() {
    lives(Seed {
        packages: &["postgres-operator"],
        channel: "stable",
        whom: For::Own,
        versions: ["postgres-operator.v1.5.0", "postgres-operator.v1.6.3"],
        resource: resource(
            "acid.zalan.do/v1",
            "postgresql",
            &json!({"teamId": "acid", "numberOfInstances": 2}),
        ),
        at: "/status/PostgresClusterStatus",
        says: json!("Running"),
        change: json!({"status": {"PostgresClusterStatus": "Forgotten"}}),
        says_then: json!("Running"),
    })
    .await;
}

#[tokio::test]
async fn minio_lives_in_the_whole_cluster() {
    lives(Seed {
        packages: &["minio-operator"],
        channel: "stable",
        whom: For::All,
        versions: ["minio-operator.v4.4.9", "minio-operator.v4.4.28"],
        // As its users wrote it years ago.
        resource: resource(
            "minio.min.io/v1",
            "Tenant",
            &json!({"zones": [{"servers": 4, "volumesPerServer": 4}]}),
        ),
        at: "/status/availableReplicas",
        says: json!(4),
        change: json!({"spec": {"zones": [{"servers": 1}, {"servers": 2}]}}),
        says_then: json!(3),
    })
    .await;
}

#[tokio::test]
async fn a_load_balancer_lives_with_the_networks_that_it_needs() {
    lives(Seed {
        packages: &["load-balancer", "multus"],
        channel: "stable",
        whom: For::All,
        versions: ["load-balancer.v0.1.0", "load-balancer.v0.2.0"],
        resource: resource(
            "lb.example.com/v1alpha1",
            "LoadBalancer",
            &json!({"port": 443, "backends": [{"service": "shop"}]}),
        ),
        at: "/status/healthyBackends",
        says: json!(1),
        change: json!({"spec": {"backends": [{"service": "shop"}, {"service": "blog"}]}}),
        says_then: json!(2),
    })
    .await;
}

#[tokio::test]
async fn networks_live_in_the_whole_cluster() {
    on_cluster(async |case| {
        let Some(stage) = Stage::set(case, &["multus"], For::All).await? else {
            return Ok(());
        };
        stage.install("multus", "stable", "multus.v3.9.0").await?;
        let first = acting_pod(&stage, None).await?;
        // Nobody says anything about a network; it is there to be named, and says only what networks can say.
        let network = |config: Value| {
            let spec = json!({"config": config});
            resource("k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition", &spec)
        };
        let networks = stage.create(&network(json!("{}"))).await?;
        stage.next("multus", "multus.v4.0.2").await?;
        acting_pod(&stage, Some(&first)).await?;
        let kept = networks.get("one").await?;
        ensure!(kept.data["spec"]["config"] == "{}", "{kept:?}");
        let odd: DynamicObject = serde_json::from_value(network(json!(3)))?;
        let refused = networks.replace("one", &PostParams::default(), &odd).await;
        ensure!(refused.is_err(), "a network is no number");
        stage.remove("multus").await
    })
    .await;
}

/// The pod that has the Lease of the networks' operator, once that is another one than before.
async fn acting_pod(stage: &Stage<'_>, before: Option<&str>) -> anyhow::Result<String> {
    let scene = &stage.scene;
    let (leases, pods) = (scene.api::<Lease>(), scene.api::<Pod>());
    let acting = async || {
        let lease = leases.get_opt("multus-operator").await?;
        let holder = lease
            .and_then(|it| it.spec)
            .and_then(|it| it.holder_identity);
        let holder = holder.filter(|it| !it.is_empty() && Some(it.as_str()) != before);
        let Some(holder) = holder else {
            return Ok(None);
        };
        let pod = pods.get_opt(&holder).await?;
        anyhow::Ok(pod.map(|_| holder))
    };
    let waits = async || Ok(acting().await?.is_some());
    scene.case.eventually("acting", waits).await?;
    acting().await?.context("nobody acts any more")
}

#[tokio::test]
async fn groups_of_machines_are_scaled_and_shown_by_kubectl() {
    on_cluster(async |case| {
        let Some(stage) = Stage::set(case, &["vm-operator"], For::Own).await? else {
            return Ok(());
        };
        stage
            .install("vm-operator", "candidate", "vm-operator.v0.1.0")
            .await?;
        let group = resource(
            "vm.codeconnect.vmworld.com/v1alpha1",
            "VmGroup",
            &json!({"cpu": 1, "memory": 2, "replicas": 3, "template": "small"}),
        );
        let api = stage.create(&group).await?;
        stage
            .says(&api, "one", "/status/currentReplicas", &json!(3))
            .await?;
        stage.next("vm-operator", "vm-operator.v0.2.0").await?;
        let kubectl = async |arguments: &[&str]| {
            let namespace = ["-n", &stage.scene.namespace];
            case.cluster
                .kubectl(&[arguments, &namespace].concat())
                .await
        };
        kubectl(&["scale", "vmgroup/one", "--replicas=5"]).await?;
        stage
            .says(&api, "one", "/status/currentReplicas", &json!(5))
            .await?;
        let shown = kubectl(&["get", "vg"]).await?;
        let rows: Vec<Vec<&str>> = shown
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        let columns = [
            "NAME",
            "PHASE",
            "CURRENT",
            "DESIRED",
            "CPU",
            "MEMORY",
            "TEMPLATE",
            "LAST_MESSAGE",
        ];
        ensure!(rows[0] == columns, "{shown}");
        ensure!(
            rows[1][..7] == ["one", "RUNNING", "5", "5", "1", "2", "small"],
            "{shown}"
        );
        stage.remove("vm-operator").await
    })
    .await;
}

#[tokio::test]
async fn harbor_lives_with_all_that_it_needs() {
    on_cluster(async |case| {
        let packages = [
            "harbor-operator",
            "cert-manager",
            "redis-operator",
            "postgres-operator",
            "minio-operator",
        ];
        let Some(stage) = Stage::set(case, &packages, For::All).await? else {
            return Ok(());
        };
        let scene = &stage.scene;
        stage
            .install("harbor-operator", "stable", "harbor-operator.v1.2.0")
            .await?;
        let mut installed = scene.names::<Subscription>().await?;
        installed.retain(|it| packages.iter().any(|package| it.starts_with(package)));
        ensure!(installed.len() == packages.len(), "{installed:?}");

        // In the version of its API that is going out of use.
        let cluster = resource(
            "goharbor.io/v1alpha3",
            "HarborCluster",
            &json!({
                "externalURL": "https://harbor.example.com", "version": "2.4.1",
                "harborAdminPasswordRef": "admin", "inClusterCache": {"kind": "Redis", "depth": 3},
            }),
        );
        let old = stage.create(&cluster).await?;
        stage
            .says(&old, "one", "/status/status", &json!("healthy"))
            .await?;
        let new: Api<DynamicObject> = scene.objects("goharbor.io", "v1beta1", "HarborCluster");
        let is_converted = |it: &DynamicObject| it.data["spec"]["cache"]["kind"] == "RedisFailover";
        let cluster = new.get("one").await?;
        ensure!(is_converted(&cluster), "{cluster:?}");

        stage
            .next("harbor-operator", "harbor-operator.v1.3.0")
            .await?;
        let read = async || Ok(new.get("one").await.is_ok_and(|it| is_converted(&it)));
        case.eventually("converted", read).await?;
        let back = old.get("one").await?;
        ensure!(
            back.data["spec"]["inClusterCache"]["depth"] == 3,
            "{back:?}"
        );
        stage.remove("harbor-operator").await
    })
    .await;
}
