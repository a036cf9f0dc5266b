//! What a command reads of a cluster, and the little that it writes.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::authentication::v1::{SelfSubjectReview, UserInfo};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::jiff::Timestamp;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client, Config, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::args::operate::Place;
use super::availability::{self, Availability};
use super::failure::Failure;
use super::standing::Standing;
use crate::api::catalog_source::{CatalogSource, SourceType};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::install_plan::InstallPlan;
use crate::api::labels;
use crate::api::operator_group::OperatorGroup;
use crate::api::subscription::Subscription;
use crate::catalog::index::Index;
use crate::catalog::source::{Source, Sources};
use crate::controller::words;
use crate::version::Version;

/// Somebody waits for the answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A cluster, and the namespace in it that is meant when none is named.
pub(super) struct Cluster {
    client: Client,
    /// How the same API server is reached by somebody else: nothing of it says who we are.
    door: Config,
    pub(super) namespace: String,
}

impl Cluster {
    /// Reads how to reach a cluster, as kubectl does, and asks it for its version.
    pub(super) async fn connect(
        kubeconfig: Option<&Path>,
        context: Option<&str>,
    ) -> Result<(Self, Option<Version>), Failure> {
        let mut config = config(kubeconfig, context)
            .await
            .context("it is not known how to reach a cluster")
            .map_err(without_cluster)?;
        config.connect_timeout = Some(PATIENCE);
        let namespace = config.default_namespace.clone();
        let address = config.cluster_url.to_string();
        let door = door(&config);
        let client = Client::try_from(config)
            .context("the kubeconfig cannot be used")
            .map_err(without_cluster)?;
        let version = client
            .apiserver_version()
            .await
            .with_context(|| format!("the cluster at {address} cannot be reached"))
            .map_err(without_cluster)?;
        // Builds of vendors have versions of their own, which say nothing else than these.
        let version = Version::parse_tolerant(&version.git_version);
        let cluster = Self {
            client,
            door,
            namespace,
        };
        Ok((cluster, version.ok()))
    }

    /// The cluster and the namespace that arguments name.
    pub(super) async fn at(place: &Place) -> Result<(Self, String), Failure> {
        let (cluster, _) =
            Self::connect(place.kubeconfig.as_deref(), place.context.as_deref()).await?;
        let namespace = place.namespace.clone();
        let namespace = namespace.unwrap_or_else(|| cluster.namespace.clone());
        Ok((cluster, namespace))
    }

    /// The same cluster, for whoever has this token: with their rights, and none of ours.
    pub(super) fn for_token(&self, token: &str) -> Result<Self, Failure> {
        let mut config = self.door.clone();
        config.auth_info.token = Some(token.to_owned().into());
        let client = Client::try_from(config)
            .context("no client can be made for the token")
            .map_err(Failure::outside)?;
        Ok(Self {
            client,
            door: self.door.clone(),
            namespace: self.namespace.clone(),
        })
    }

    /// Who the API server takes us for.
    pub(super) async fn who_we_are(&self) -> Result<UserInfo, Failure> {
        let api = Api::<SelfSubjectReview>::all(self.client.clone());
        let review = api
            .create(&PostParams::default(), &SelfSubjectReview::default())
            .await
            .map_err(|error| written(error, "the API server does not say whose token it is"))?;
        let user = review.status.and_then(|status| status.user_info);
        Ok(user.unwrap_or_default())
    }

    /// A Subscription by its name, or the only one to a package.
    pub(super) async fn subscription(&self, ns: &str, name: &str) -> Result<Subscription, Failure> {
        let found = self.find_subscription(ns, name).await?;
        found.ok_or_else(|| no_subscription(ns, name))
    }

    /// A Subscription by its name, or the only one to a package, if there is one.
    pub(super) async fn find_subscription(
        &self,
        ns: &str,
        name: &str,
    ) -> Result<Option<Subscription>, Failure> {
        let all = self.subscriptions(ns).await?;
        Ok(named(&all, name)?.cloned())
    }

    /// An InstallPlan, if there is one of that name.
    pub(super) async fn install_plan(
        &self,
        ns: &str,
        name: &str,
    ) -> Result<Option<InstallPlan>, Failure> {
        let api = Api::<InstallPlan>::namespaced(self.client.clone(), ns);
        api.get_opt(name)
            .await
            .map_err(|error| written(error, "the InstallPlan cannot be read"))
    }

    /// Approves an InstallPlan.
    pub(super) async fn approve(&self, ns: &str, name: &str) -> Result<InstallPlan, Failure> {
        let api = Api::<InstallPlan>::namespaced(self.client.clone(), ns);
        let patch = Patch::Merge(json!({"spec": {"approved": true}}));
        // `chandler history` tells by it how a plan was approved.
        let parameters = PatchParams {
            field_manager: Some("chandler-approve".to_owned()),
            ..PatchParams::default()
        };
        let patched = api.patch(name, &parameters, &patch).await;
        patched.map_err(|error| written(error, "the InstallPlan cannot be approved"))
    }

    /// The `OperatorGroup`s of a namespace.
    pub(super) async fn operator_groups(&self, ns: &str) -> Result<Vec<OperatorGroup>, Failure> {
        list(Api::namespaced(self.client.clone(), ns), "OperatorGroups").await
    }

    /// Whether a namespace is known to be missing. Who may not see namespaces is believed to have one.
    pub(super) async fn lacks_namespace(&self, ns: &str) -> Result<bool, Failure> {
        match Api::<Namespace>::all(self.client.clone()).get_opt(ns).await {
            Ok(found) => Ok(found.is_none()),
            Err(kube::Error::Api(status)) if status.code == 403 => Ok(false),
            Err(error) => Err(written(error, "the namespace cannot be read")),
        }
    }

    /// Creates a namespace, or an object of our API.
    pub(super) async fn create(&self, ns: &str, object: Value) -> Result<(), Failure> {
        let object: DynamicObject = serde_json::from_value(object).map_err(Failure::outside)?;
        let types = object.types.clone().unwrap_or_default();
        let api_version = types.api_version.as_str();
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let gvk = GroupVersionKind::gvk(group, version, &types.kind);
        let resource = ApiResource::from_gvk(&gvk);
        let api = match types.kind.as_str() {
            "Namespace" => Api::<DynamicObject>::all_with(self.client.clone(), &resource),
            _ => Api::<DynamicObject>::namespaced_with(self.client.clone(), ns, &resource),
        };
        let what = format!("{} {} cannot be made", types.kind, object.name_any());
        let created = api.create(&PostParams::default(), &object).await;
        created.map(|_| ()).map_err(|error| written(error, &what))
    }

    /// Says so if nothing is said about a Subscription because there is nobody to say it.
    pub(super) async fn explain_silence(&self, standing: &mut Standing) {
        if !standing.messages.is_empty() || standing.healthy {
            return;
        }
        if self.is_deserted(&standing.namespace).await {
            standing.messages.push(NOBODY.to_owned());
        }
    }

    /// Whether it is known that no Chandler looks after a namespace, whatever its Lease is called. Who may not see
    /// Leases is told nothing rather than something wrong.
    pub(super) async fn is_deserted(&self, ns: &str) -> bool {
        let api = Api::<Lease>::all(self.client.clone());
        let marked = ListParams::default().labels(labels::LEASE);
        // One that is older than the mark.
        let named = ListParams::default().fields("metadata.name=chandler");
        let now = Timestamp::now();
        for asked in [marked, named] {
            let Ok(leases) = api.list(&asked).await else {
                return false;
            };
            let mut leases = leases.iter();
            if leases.any(|lease| is_held(lease, now) && is_for(lease, ns)) {
                return false;
            }
        }
        true
    }

    /// For whoever does more than read.
    pub(super) fn client(&self) -> Client {
        self.client.clone()
    }

    /// The `CatalogSource`s of the cluster.
    pub(super) async fn catalogs(&self) -> Result<Vec<CatalogSource>, Failure> {
        list(Api::all(self.client.clone()), "CatalogSources").await
    }

    /// The Subscriptions of a namespace.
    pub(super) async fn subscriptions(&self, ns: &str) -> Result<Vec<Subscription>, Failure> {
        list(Api::namespaced(self.client.clone(), ns), "Subscriptions").await
    }

    /// The Subscriptions and `ClusterServiceVersion`s of a namespace, or of all.
    pub(super) async fn operators(
        &self,
        ns: Option<&str>,
    ) -> Result<(Vec<Subscription>, Vec<ClusterServiceVersion>), Failure> {
        let client = || self.client.clone();
        let (subscriptions, csvs) = match ns {
            Some(ns) => (Api::namespaced(client(), ns), Api::namespaced(client(), ns)),
            None => (Api::all(client()), Api::all(client())),
        };
        let subscriptions = list(subscriptions, "Subscriptions").await?;
        let csvs = list::<ClusterServiceVersion>(csvs, "ClusterServiceVersions").await?;
        let csvs = csvs.into_iter().filter(|csv| !csv.is_copied()).collect();
        Ok((subscriptions, csvs))
    }

    /// Which Deployments of versions that make room for others are available. Who may not see them is told what the
    /// versions say.
    pub(super) async fn availability(
        &self,
        csvs: &[ClusterServiceVersion],
    ) -> Result<Availability, Failure> {
        let mut availability = Availability::default();
        for namespace in availability::in_doubt(csvs) {
            let api = Api::<Deployment>::namespaced(self.client.clone(), &namespace);
            match api.list(&ListParams::default()).await {
                Ok(deployments) => availability.note(&namespace, &deployments.items),
                Err(kube::Error::Api(status)) if status.code == 403 => {}
                Err(error) => return Err(written(error, "the Deployments cannot be listed")),
            }
        }
        Ok(availability)
    }

    /// The `InstallPlan`s of a namespace.
    pub(super) async fn install_plans(&self, ns: &str) -> Result<Vec<InstallPlan>, Failure> {
        list(Api::namespaced(self.client.clone(), ns), "InstallPlans").await
    }

    /// The `ClusterServiceVersion`s of a namespace.
    pub(super) async fn csvs(&self, ns: &str) -> Result<Vec<ClusterServiceVersion>, Failure> {
        let api = Api::namespaced(self.client.clone(), ns);
        list(api, "ClusterServiceVersions").await
    }

    /// Opens a catalog. One that cannot be opened only concerns those who need it.
    pub(super) async fn open(
        &self,
        catalog: &CatalogSource,
        sources: &Sources,
    ) -> Result<Index, String> {
        let spec = &catalog.spec;
        match spec.source_type {
            SourceType::ConfigMap | SourceType::Internal => {
                self.open_config_map(catalog, sources).await.map_err(words)
            }
            _ if !spec.image.is_empty() => {
                let location = spec.image.parse();
                let location = location.map_err(|error: crate::oci::Error| error.to_string())?;
                let opened = sources.open_image(&location).await;
                opened.map(|opened| opened.index).map_err(words)
            }
            _ if !spec.address.is_empty() => {
                let opened = sources.open(&Source::Remote(spec.address.clone())).await;
                opened.map(|opened| opened.index).map_err(words)
            }
            _ => Err("its spec has no image, no address and no ConfigMap".to_owned()),
        }
    }

    async fn open_config_map(
        &self,
        catalog: &CatalogSource,
        sources: &Sources,
    ) -> anyhow::Result<Index> {
        let namespace = catalog.namespace().unwrap_or_default();
        let api = Api::<ConfigMap>::namespaced(self.client.clone(), &namespace);
        let name = &catalog.spec.config_map;
        let object = api.get(name).await;
        let object = object.with_context(|| format!("ConfigMap {name} cannot be read"))?;
        let opened = sources
            .open_config_map(object.data.unwrap_or_default())
            .await?;
        Ok(opened.index)
    }
}

/// Of some Subscriptions the one of a name, or the only one to a package, if there is one.
pub(super) fn named<'s>(
    all: &'s [Subscription],
    name: &str,
) -> Result<Option<&'s Subscription>, Failure> {
    if let Some(found) = all.iter().find(|it| it.name_any() == name) {
        return Ok(Some(found));
    }
    let of_package: Vec<&Subscription> = all.iter().filter(|it| it.spec.name == name).collect();
    match of_package.as_slice() {
        [only] => Ok(Some(only)),
        [] => Ok(None),
        several => {
            let names: Vec<String> = several.iter().map(|it| it.name_any()).collect();
            Err(Failure::usage(anyhow::anyhow!(
                "package {name} has several Subscriptions: {}",
                names.join(", ")
            ))
            .hint("name one of them"))
        }
    }
}

/// What is said of a name that nobody has.
pub(super) fn no_subscription(ns: &str, name: &str) -> Failure {
    Failure::no(anyhow::anyhow!(
        "there is no Subscription {name} in namespace {ns}, and none to a package of that name"
    ))
    .hint(format!(
        "`chandler status -n {ns}` lists those of the namespace"
    ))
}

const NOBODY: &str = "no Chandler looks after the namespace: nobody holds a Lease for it; \
     start one with `chandler deploy` or `chandler run`";
/// How far clocks may be apart.
const CLOCK_SKEW: i64 = 60;

/// Whether somebody holds a Lease, as far as clocks can be compared.
fn is_held(lease: &Lease, now: Timestamp) -> bool {
    let spec = lease.spec.clone().unwrap_or_default();
    let Some(renewed) = spec.renew_time else {
        return false;
    };
    let lasts = i64::from(spec.lease_duration_seconds.unwrap_or_default());
    let age = now.as_second().saturating_sub(renewed.0.as_second());
    spec.holder_identity
        .is_some_and(|holder| !holder.is_empty())
        && age <= lasts.saturating_add(CLOCK_SKEW)
}

/// Whether whoever holds a Lease cares for a namespace: for all of them, unless it says for which.
fn is_for(lease: &Lease, ns: &str) -> bool {
    let namespaces = lease.annotations().get(labels::WATCHED_NAMESPACES);
    namespaces.is_none_or(|namespaces| namespaces.split(',').any(|it| it == ns))
}

fn words(error: impl Into<anyhow::Error>) -> String {
    words::of(&error.into())
}

async fn config(kubeconfig: Option<&Path>, context: Option<&str>) -> anyhow::Result<Config> {
    let options = KubeConfigOptions {
        context: context.map(str::to_owned),
        ..KubeConfigOptions::default()
    };
    Ok(match (kubeconfig, context) {
        (Some(path), _) => {
            let kubeconfig = Kubeconfig::read_from(path)?;
            Config::from_custom_kubeconfig(kubeconfig, &options).await?
        }
        (None, Some(_)) => Config::from_kubeconfig(&options).await?,
        // Inside of a cluster there is no kubeconfig.
        (None, None) => Config::infer().await?,
    })
}

/// Where the API server is and what its certificate has to be, without any credentials.
fn door(config: &Config) -> Config {
    let mut door = Config::new(config.cluster_url.clone());
    door.root_cert.clone_from(&config.root_cert);
    door.root_cert_file.clone_from(&config.root_cert_file);
    door.accept_invalid_certs = config.accept_invalid_certs;
    door.tls_server_name.clone_from(&config.tls_server_name);
    door.proxy_url.clone_from(&config.proxy_url);
    door.connect_timeout = Some(PATIENCE);
    door.read_timeout = Some(PATIENCE);
    door
}

async fn list<K>(api: Api<K>, what: &str) -> Result<Vec<K>, Failure>
where
    K: Clone + std::fmt::Debug + DeserializeOwned,
{
    let listed = api.list(&ListParams::default()).await;
    listed.map(|list| list.items).map_err(|error| {
        let hint = match &error {
            kube::Error::Api(status) if status.code == 404 => {
                "give the cluster the API: `chandler crds | kubectl apply -f -`"
            }
            kube::Error::Api(status) if status.code == 403 => "you need the right to list them",
            _ => DO_WITHOUT,
        };
        let error = anyhow::Error::new(error);
        Failure::outside(error.context(format!("the {what} of the cluster cannot be listed")))
            .hint(hint)
    })
}

fn written(error: kube::Error, what: &str) -> Failure {
    let hint = match &error {
        kube::Error::Api(status) if status.code == 409 => {
            Some("it is there already: `chandler status` tells how it is")
        }
        kube::Error::Api(status) if status.code == 403 => Some("you need the right to do this"),
        _ => None,
    };
    let failure = Failure::outside(anyhow::Error::new(error).context(what.to_owned()));
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

const DO_WITHOUT: &str = "`--kubeconfig FILE` and `--context NAME` choose a cluster; \
     `--catalog SOURCE` and `--subscriptions FILE` do without one";

fn without_cluster(error: anyhow::Error) -> Failure {
    Failure::outside(error).hint(DO_WITHOUT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[test]
    fn a_door_for_others_has_no_key_of_ours() {
        let mut config = Config::new("https://cluster.example.com".parse().unwrap());
        config.root_cert = Some(vec![vec![1]]);
        config.auth_info.token = Some("ours".to_owned().into());
        config.auth_info.client_certificate_data = Some("ours".to_owned());
        config.auth_info.impersonate = Some("ours".to_owned());
        let door = door(&config);
        assert_eq!(door.cluster_url, config.cluster_url);
        assert_eq!(door.root_cert, config.root_cert);
        assert!(door.auth_info.token.is_none());
        assert!(door.auth_info.client_certificate_data.is_none());
        assert!(door.auth_info.impersonate.is_none());
    }

    #[rstest]
    #[case::all(json!({}), true)]
    #[case::some(json!({"chandler.watched-namespaces": "quay,port"}), true)]
    #[case::others(json!({"chandler.watched-namespaces": "quay,portal"}), false)]
    fn a_lease_says_which_namespaces_its_holder_cares_for(
        #[case] annotations: Value,
        #[case] expected: bool,
    ) {
        let lease = json!({"metadata": {"annotations": annotations}});
        let lease: Lease = serde_json::from_value(lease).unwrap();
        assert_eq!(is_for(&lease, "port"), expected);
    }

    #[rstest]
    #[case(json!({}), false)]
    #[case(json!({"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"}), true)]
    #[case(json!({"holderIdentity": "", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"}), false)]
    #[case(json!({"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": "2025-12-31T23:58:00.000000Z"}), false)]
    fn a_lease_is_held_until_it_was_not_renewed_in_time(#[case] spec: Value, #[case] held: bool) {
        let lease: Lease = serde_json::from_value(json!({"metadata": {}, "spec": spec})).unwrap();
        let now: Timestamp = "2026-01-01T00:00:10Z".parse().unwrap();
        assert_eq!(is_held(&lease, now), held);
    }
}
