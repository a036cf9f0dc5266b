//! One test on the cluster: its own namespaces, waits with deadlines, and a dump when it fails.

use std::fmt::Debug;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::subscription::Subscription;
use futures::FutureExt as _;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::wait::{Condition, await_condition};
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::cluster::Cluster;
use super::dump;

/// How long whatever a test waits for on a cluster may take. It costs nothing where all goes well, and has to be
/// enough on a real node with several tests at once on two cores that do something else besides.
pub const DEADLINE: Duration = Duration::from_mins(3);

/// What a test has at hand.
pub struct Case {
    /// The name of the test.
    pub name: String,
    /// The cluster it runs on.
    pub cluster: &'static Cluster,
    /// An admin's client.
    pub client: Client,
    namespaces: Mutex<Vec<String>>,
}

/// Runs a test on the shared cluster. When it fails, the events, objects and logs of its
/// namespaces are kept and its events shown; its namespaces go in any case.
pub async fn on_cluster(test: impl AsyncFnOnce(&Case) -> anyhow::Result<()>) {
    let case = Case::begin()
        .await
        .unwrap_or_else(|error| panic!("{error:#}"));
    // The test may have stopped half-way; only its list of namespaces is looked at afterwards.
    let outcome = AssertUnwindSafe(test(&case)).catch_unwind().await;
    let namespaces = case.namespaces.lock().unwrap().clone();
    if !matches!(outcome, Ok(Ok(()))) {
        dump::namespaces(&case.name, case.cluster, &namespaces).await;
    }
    if std::env::var_os("CHANDLER_KEEP").is_none() {
        case.delete(&namespaces).await;
    }
    match outcome {
        Ok(Ok(())) => {}
        Ok(Err(error)) => panic!("{error:#}"),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

impl Case {
    async fn begin() -> anyhow::Result<Self> {
        let cluster = Cluster::shared().await?;
        Ok(Self {
            // The test harness names each thread after its test.
            name: std::thread::current().name().unwrap_or("test").to_owned(),
            cluster,
            client: cluster.client().await?,
            namespaces: Mutex::default(),
        })
    }

    /// Where logs of this test are kept.
    pub fn artifacts(&self) -> PathBuf {
        dump::folder(&self.name)
    }

    /// A new namespace for this test, whose pods run on the real node if there is one.
    pub async fn namespace(&self) -> anyhow::Result<String> {
        self.create_namespace(&[]).await
    }

    /// A new namespace whose pods are simulated: they turn Ready whatever their image is.
    pub async fn simulated_namespace(&self) -> anyhow::Result<String> {
        self.create_namespace(&[
            (
                "scheduler.alpha.kubernetes.io/node-selector",
                "chandler.local/node=simulated",
            ),
            (
                "scheduler.alpha.kubernetes.io/defaultTolerations",
                r#"[{"key": "kwok.x-k8s.io/node", "operator": "Exists"}]"#,
            ),
        ])
        .await
    }

    async fn create_namespace(&self, annotations: &[(&str, &str)]) -> anyhow::Result<String> {
        let last = self.name.rsplit("::").next().unwrap_or(&self.name);
        let prefix: String = last.replace('_', "-").chars().take(40).collect();
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let namespace = Namespace {
            metadata: ObjectMeta {
                generate_name: Some(format!("{}-", prefix.trim_end_matches('-'))),
                annotations: Some(annotations.iter().map(owned).collect()),
                ..ObjectMeta::default()
            },
            ..Namespace::default()
        };
        let api = Api::<Namespace>::all(self.client.clone());
        let created = api.create(&PostParams::default(), &namespace).await?;
        let name = created
            .metadata
            .name
            .context("the API server gave no name")?;
        self.namespaces.lock().unwrap().push(name.clone());
        Ok(name)
    }

    /// Waits until an object meets a condition, and says what it looked like if it never did.
    pub async fn wait<K>(
        &self,
        api: &Api<K>,
        name: &str,
        what: &str,
        condition: impl Condition<K>,
    ) -> anyhow::Result<()>
    where
        K: Resource + Clone + Debug + Send + Serialize + DeserializeOwned + 'static,
    {
        self.wait_for(api, name, what, condition).await?;
        Ok(())
    }

    /// The same, and gives the object as it was when it met the condition: a moment later it may be another.
    pub async fn wait_for<K>(
        &self,
        api: &Api<K>,
        name: &str,
        what: &str,
        condition: impl Condition<K>,
    ) -> anyhow::Result<Option<K>>
    where
        K: Resource + Clone + Debug + Send + Serialize + DeserializeOwned + 'static,
    {
        let deadline = DEADLINE;
        let holds = await_condition(api.clone(), name, condition);
        if let Ok(outcome) = tokio::time::timeout(deadline, holds).await {
            return Ok(outcome?);
        }
        let last = match api.get_opt(name).await? {
            Some(object) => chandler::yaml::to_string(&object)?,
            None => "it does not exist".to_owned(),
        };
        Err(anyhow!("{name} is not {what} after {deadline:?}:\n{last}"))
    }

    /// Waits until something holds that is asked for again and again.
    pub async fn eventually(
        &self,
        what: &str,
        holds: impl AsyncFn() -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        self.within(DEADLINE, what, holds).await
    }

    /// The same, for what others take their time for.
    pub async fn within(
        &self,
        time: Duration,
        what: &str,
        holds: impl AsyncFn() -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        let deadline = tokio::time::Instant::now() + time;
        while !holds().await? {
            if tokio::time::Instant::now() > deadline {
                return Err(anyhow!("not {what} after {time:?}"));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    async fn delete(&self, namespaces: &[String]) {
        let api = Api::<Namespace>::all(self.client.clone());
        for name in namespaces {
            // The cluster goes after the run anyway; on a cluster of one's own this is what counts.
            if let Err(error) = api.delete(name, &DeleteParams::background()).await {
                eprintln!("cannot delete namespace {name}: {error}");
            }
            self.let_go(name).await;
            self.sweep(name).await;
        }
    }

    /// What calls into a namespace that is gone would be in the way of every other test.
    async fn sweep(&self, namespace: &str) {
        let ours = ListParams::default().labels(&format!("olm.owner.namespace={namespace}"));
        let delete = DeleteParams::default();
        let client = || self.client.clone();
        // There may be none; then that is as well.
        let _ = Api::<APIService>::all(client())
            .delete_collection(&delete, &ours)
            .await;
        let _ = Api::<ValidatingWebhookConfiguration>::all(client())
            .delete_collection(&delete, &ours)
            .await;
        let _ = Api::<MutatingWebhookConfiguration>::all(client())
            .delete_collection(&delete, &ours)
            .await;
    }

    /// Nobody is left who would remove the finalizers.
    async fn let_go(&self, namespace: &str) {
        self.let_go_of::<ClusterServiceVersion>(namespace).await;
        self.let_go_of::<Subscription>(namespace).await;
    }

    async fn let_go_of<K>(&self, namespace: &str)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        let api = Api::<K>::namespaced(self.client.clone(), namespace);
        let Ok(objects) = api.list_metadata(&ListParams::default()).await else {
            return;
        };
        let none = serde_json::json!({"metadata": {"finalizers": null}});
        for object in objects {
            let name = object.metadata.name.unwrap_or_default();
            // It may go by itself meanwhile.
            let _ = api
                .patch_metadata(&name, &PatchParams::default(), &Patch::Merge(&none))
                .await;
        }
    }
}
