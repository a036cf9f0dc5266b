//! Everything put together, from the first list to the last write.

use std::convert::identity;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use k8s_openapi::NamespaceResourceScope;
use kube::api::{PatchParams, PostParams};
use kube::core::DeserializeGuard;
use kube::runtime::events::{Recorder, Reporter};
use kube::runtime::watcher;
use kube::{Api, Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::catalogs::Catalogs;
use super::census::census;
use super::cluster_service_version::{self, Attempts};
use super::components::Components;
use super::context::{Caches, Context, Queues};
use super::error::attend;
use super::fetches::Fetches;
use super::images::Images;
use super::install_plan::PlansAtWork;
use super::key::ObjectKey;
use super::leader::Candidate;
use super::metrics::Metrics;
use super::overview::Overview;
use super::proxy::{self, Proxy};
use super::queue::{Work, queue};
use super::settings::Settings;
use super::upkeep::{self, Upkeep};
use super::watch::{Cache, Kept, Watch};
use super::{cache, catalog_source, install_plan, leader, namespace, package_api, removal};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::labels;
use crate::catalog::source;
use crate::lifecycle::copied_csvs::Copy;
use crate::plan::apply::Applier;
use crate::version::Version;

/// Who writes, in the words of managedFields and Events.
pub(crate) const MANAGER: &str = "chandler";

/// How whatever is created or replaced is written.
pub(crate) fn as_manager() -> PostParams {
    PostParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PostParams::default()
    }
}

/// How a part of something is written that is others' as well.
pub(crate) fn patching() -> PatchParams {
    PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    }
}

/// How many objects of a kind are worked on at once.
const WORKERS: usize = 4;
/// Looking at a catalog is mostly waiting for its registry, some of which never answer.
const CATALOG_WORKERS: usize = 64;

/// Why the process cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The cache cannot be used.
    #[error("the cache cannot be used: {0}")]
    Cache(#[from] source::Error),
    /// Somebody else may be writing.
    #[error("{0}; another replica goes on")]
    Lost(String),
}

impl From<leader::Lost> for Error {
    fn from(lost: leader::Lost) -> Self {
        Self::Lost(lost.to_string())
    }
}

/// Everything that looks after a cluster.
pub struct Controllers {
    context: Arc<Context>,
    work: AllWork,
}

/// What there is to do, by kind.
struct AllWork {
    catalog_sources: Work<ObjectKey>,
    namespaces: Work<String>,
    install_plans: Work<ObjectKey>,
    removals: Work<ObjectKey>,
    csvs: Work<ObjectKey>,
    copies: Work<ObjectKey>,
    upkeep: Upkeep,
}

/// How the controllers are.
#[derive(Clone)]
pub struct Health(Arc<Context>);

impl Health {
    /// What is missing before questions can be answered, if something is.
    pub fn not_ready(&self) -> Option<String> {
        let leaderless = self.0.leaderless.lock();
        // Whoever panicked with it left a whole text.
        let leaderless = leaderless.unwrap_or_else(PoisonError::into_inner).clone();
        if leaderless.is_some() {
            return leaderless;
        }
        let mut kinds = self.0.caches.unlisted();
        if !self.0.components.is_listed() {
            kinds.push("objects of operators");
        }
        (!kinds.is_empty()).then(|| format!("not listed yet: {}", kinds.join(", ")))
    }

    /// The metrics as text.
    pub fn metrics(&self) -> String {
        self.0.metrics.encode(&census(&self.0))
    }
}

impl Controllers {
    /// Prepares everything; nothing is read or written yet.
    pub fn new(client: Client, settings: Settings) -> Result<Self, Error> {
        let (catalog_sources, catalog_source_work) = queue();
        let (namespaces, namespace_work) = queue();
        let (install_plans, install_plan_work) = queue();
        let (removals, removal_work) = queue();
        let (csvs, csv_work) = queue();
        let (copies, copy_work) = queue();
        let (operator_groups, operator_group_work) = queue();
        let (operators, operator_work) = queue();
        let (adoptions, adoption_work) = queue();
        let (olm_config, olm_config_work) = queue();
        let reporter = Reporter {
            controller: MANAGER.to_owned(),
            instance: Some(settings.identity.clone()),
        };
        let context = Context {
            images: Arc::new(Images::new(
                client.clone(),
                settings.registries.clone(),
                settings.cache.clone(),
            )?),
            caches: Caches::new(&settings),
            components: Components::new(&settings),
            queues: Queues {
                catalog_sources,
                namespaces,
                install_plans,
                removals,
                csvs,
                copies,
                operator_groups,
                operators,
                adoptions,
                olm_config,
            },
            catalogs: Catalogs::default(),
            attempts: Attempts::default(),
            plans_at_work: PlansAtWork::default(),
            proxy: Proxy::default(),
            fetches: Fetches::default(),
            plan_fetches: Fetches::default(),
            events: Recorder::new(client.clone(), reporter),
            metrics: Metrics::new(),
            applier: Applier::new(client.clone()),
            changes: watch::Sender::default(),
            leads: AtomicBool::new(false),
            kube_version: RwLock::new(settings.kube_version.clone()),
            leaderless: Mutex::default(),
            settings,
            client,
        };
        Ok(Self {
            context: Arc::new(context),
            work: AllWork {
                catalog_sources: catalog_source_work,
                namespaces: namespace_work,
                install_plans: install_plan_work,
                removals: removal_work,
                csvs: csv_work,
                copies: copy_work,
                upkeep: Upkeep {
                    operator_groups: operator_group_work,
                    operators: operator_work,
                    adoptions: adoption_work,
                    olm_config: olm_config_work,
                },
            },
        })
    }

    /// How they are, for others to ask while they run.
    pub fn health(&self) -> Health {
        Health(self.context.clone())
    }

    /// What others may see of the cluster while they run.
    pub fn overview(&self) -> Overview {
        Overview::new(self.context.clone())
    }

    /// Runs until it is told to stop.
    pub async fn run(self, stop: CancellationToken) -> Result<(), Error> {
        let Self { context, work } = self;
        let mut tasks = JoinSet::new();
        watch_all(&context, &stop, &mut tasks);
        tokio::select! {
            () = async {
                context.caches.are_ready().await;
                context.components.is_ready().await;
                context.proxy.is_known().await;
            } => {}
            () = stop.cancelled() => {}
        }
        tasks.spawn({
            let (context, stop) = (context.clone(), stop.clone());
            work.catalog_sources
                .run(CATALOG_WORKERS, stop, move |key: ObjectKey| {
                    let context = context.clone();
                    async move {
                        let reconcile = catalog_source::reconcile(&context, &key);
                        attend("CatalogSource", &key, reconcile).await
                    }
                })
        });
        tasks.spawn(cache::keep_small(context.clone(), stop.clone()));
        tasks.spawn(follow_version(context.clone(), stop.clone()));
        let writers = Writers {
            namespaces: work.namespaces,
            install_plans: work.install_plans,
            removals: work.removals,
            csvs: work.csvs,
            copies: work.copies,
            upkeep: work.upkeep,
        };
        let outcome = lead(&context, &stop, writers).await;
        stop.cancel();
        while tasks.join_next().await.is_some() {}
        outcome
    }
}

/// What only the replica that leads does.
struct Writers {
    namespaces: Work<String>,
    install_plans: Work<ObjectKey>,
    removals: Work<ObjectKey>,
    csvs: Work<ObjectKey>,
    copies: Work<ObjectKey>,
    upkeep: Upkeep,
}

impl Writers {
    fn spawn(self, context: &Arc<Context>, stop: &CancellationToken, tasks: &mut JoinSet<()>) {
        let of = context.clone();
        tasks.spawn(
            self.namespaces
                .run(WORKERS, stop.clone(), move |key: String| {
                    let context = of.clone();
                    async move {
                        let reconcile = namespace::reconcile(&context, &key);
                        attend("Namespace", &key, reconcile).await
                    }
                }),
        );
        let of = context.clone();
        tasks.spawn(
            self.install_plans
                .run(WORKERS, stop.clone(), move |key: ObjectKey| {
                    let context = of.clone();
                    async move {
                        let reconcile = Box::pin(install_plan::reconcile(&context, &key));
                        attend("InstallPlan", &key, reconcile).await
                    }
                }),
        );
        let of = context.clone();
        tasks.spawn(
            self.removals
                .run(WORKERS, stop.clone(), move |key: ObjectKey| {
                    let context = of.clone();
                    async move {
                        let reconcile = Box::pin(removal::reconcile(&context, &key));
                        attend("removal of Subscription", &key, reconcile).await
                    }
                }),
        );
        let of = context.clone();
        tasks.spawn(self.csvs.run(WORKERS, stop.clone(), move |key: ObjectKey| {
            let context = of.clone();
            async move {
                let reconcile = Box::pin(cluster_service_version::reconcile(&context, &key));
                attend("ClusterServiceVersion", &key, reconcile).await
            }
        }));
        let of = context.clone();
        tasks.spawn(
            self.copies
                .run(WORKERS, stop.clone(), move |key: ObjectKey| {
                    let context = of.clone();
                    async move {
                        let reconcile = cluster_service_version::copy(&context, &key);
                        attend("copies of ClusterServiceVersion", &key, reconcile).await
                    }
                }),
        );
        self.upkeep.spawn(context, stop, tasks);
        if context.settings.package_api {
            tasks.spawn(package_api::keep(context.clone(), stop.clone()));
        }
    }
}

/// Waits for the Lease, and writes as long as it has it.
async fn lead(
    context: &Arc<Context>,
    stop: &CancellationToken,
    writers: Writers,
) -> Result<(), Error> {
    let candidate = Candidate::new(context.client.clone(), &context.settings);
    let tell = |problem: Option<String>| {
        let told = context.leaderless.lock();
        *told.unwrap_or_else(PoisonError::into_inner) = problem;
    };
    let Some(held) = candidate.acquire(stop, tell).await else {
        return Ok(());
    };
    context.leads.store(true, Ordering::Release);
    context.metrics.leads.set(1);
    look_at_everything(context);
    let mut tasks = JoinSet::new();
    writers.spawn(context, stop, &mut tasks);
    // What was begun is finished before the lease is given back; a lost one waits for nobody.
    let writing = CancellationToken::new();
    let kept = tokio::select! {
        kept = held.keep(&writing) => kept,
        () = async {
            stop.cancelled().await;
            while tasks.join_next().await.is_some() {}
            writing.cancel();
            std::future::pending::<()>().await;
        } => Ok(()),
    };
    context.leads.store(false, Ordering::Release);
    kept?;
    Ok(())
}

/// Asks for the version of the cluster from time to time: operators that need a newer one may be had after
/// an upgrade, and catalogs may be others.
async fn follow_version(context: Arc<Context>, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(context.settings.version_rest) => {}
        }
        let asked = tokio::select! {
            () = stop.cancelled() => return,
            asked = context.client.apiserver_version() => asked,
        };
        let version = match asked {
            Ok(version) => Version::parse_tolerant(&version.git_version),
            Err(error) => {
                tracing::debug!(%error, "the version of the cluster cannot be asked for");
                continue;
            }
        };
        if let Ok(version) = version
            && context.set_kube_version(version.clone())
        {
            tracing::info!(%version, "the cluster has another version");
            context.note_change();
            // Whoever leads later looks at everything then.
            if context.leads() {
                look_at_everything(&context);
            }
        }
    }
}

/// What happened before this replica led was somebody else's to write.
fn look_at_everything(context: &Context) {
    let Context { caches, queues, .. } = context;
    for object in caches.catalog_sources.all() {
        queues.catalog_sources.add(ObjectKey::of(&*object));
    }
    upkeep::look_at_everything(context);
    cluster_service_version::look_at_everything(context);
    for object in caches.subscriptions.all() {
        queues
            .namespaces
            .add(object.namespace().unwrap_or_default());
        removal::tell_of_subscription(context, &object);
    }
    for object in caches.install_plans.all() {
        queues.install_plans.add(ObjectKey::of(&*object));
    }
}

fn watch_all(context: &Arc<Context>, stop: &CancellationToken, tasks: &mut JoinSet<()>) {
    let watched = &context.settings.watched_namespaces;
    let catalogs = &context.settings.catalog_namespaces();
    let mut watching = Watching {
        context,
        stop,
        tasks,
    };
    let caches = &context.caches;
    watching.kind(
        &caches.catalog_sources,
        catalogs,
        "",
        identity,
        |context, it| {
            context.queues.catalog_sources.add(ObjectKey::of(it));
        },
    );
    watching.kind(
        &caches.config_maps,
        catalogs,
        NOT_MANAGED,
        identity,
        |context, it| {
            let key = ObjectKey::of(it);
            let catalogs = context.caches.catalog_sources.in_namespace(&key.namespace);
            for catalog in catalogs
                .iter()
                .filter(|catalog| catalog.spec.config_map == key.name)
            {
                context
                    .queues
                    .catalog_sources
                    .add(ObjectKey::of(&**catalog));
            }
        },
    );
    watching.kind(
        &caches.subscriptions,
        watched,
        "",
        identity,
        |context, it| {
            look_at_namespace(context, it);
            upkeep::tell(context, it);
            cluster_service_version::tell_of_subscription(context, it);
            removal::tell_of_subscription(context, it);
        },
    );
    watching.kind(&caches.copies, watched, COPIES, copy, |context, it| {
        cluster_service_version::tell_of_copy(context, it);
    });
    watching.kind(&caches.csvs, watched, ORIGINALS, trim_csv, |context, it| {
        cluster_service_version::tell_of_csv(context, it);
        // A copy belongs to nothing.
        if it.is_copied() {
            return;
        }
        look_at_namespace(context, it);
        upkeep::tell(context, it);
        removal::look_at_all(context);
        if context.leads() {
            context.queues.olm_config.add(());
        }
        let groups = context
            .caches
            .operator_groups
            .in_namespace(&it.namespace().unwrap_or_default());
        look_at_groups(context, &groups);
    });
    watching.kind(
        &caches.operator_groups,
        watched,
        "",
        identity,
        |context, it| {
            look_at_namespace(context, it);
            cluster_service_version::tell_of_group(context, it);
            if context.leads() {
                context.queues.operator_groups.add(ObjectKey::of(it));
            }
        },
    );
    watching.kind(
        &caches.install_plans,
        watched,
        "",
        identity,
        |context, it| {
            look_at_namespace(context, it);
            upkeep::tell(context, it);
            if context.leads() {
                context.queues.install_plans.add(ObjectKey::of(it));
            }
        },
    );
    let namespaces = Watch {
        api: Api::all(context.client.clone()),
        namespace: None,
        config: watcher::Config::default(),
        keep: identity,
    };
    let of = context.clone();
    tasks.spawn(
        namespaces.follow(caches.namespaces.clone(), stop.clone(), move |it| {
            look_at_groups(&of, &of.caches.operator_groups.all());
            cluster_service_version::look_at_copies(&of);
            upkeep::tell(&of, it);
        }),
    );
    tasks.spawn(proxy::follow(context.clone(), stop.clone()));
    upkeep::watch_all(context, stop, tasks);
}

/// Copies of ClusterServiceVersions, of which there may be one in every namespace, are kept apart.
const COPIES: &str = labels::COPIED_FROM;
const ORIGINALS: &str = "!olm.copiedFrom";

/// ConfigMaps that are catalogs carry this, as in OLM: others are not watched.
const NOT_MANAGED: &str = "olm.managed=false";

fn look_at_namespace(context: &Context, object: &impl kube::ResourceExt) {
    if context.leads() {
        context
            .queues
            .namespaces
            .add(object.namespace().unwrap_or_default());
    }
}

fn look_at_groups(context: &Context, groups: &[Arc<crate::api::operator_group::OperatorGroup>]) {
    if context.leads() {
        for group in groups {
            context.queues.operator_groups.add(ObjectKey::of(&**group));
        }
    }
}

/// Pictures, texts for people and examples: nobody reads them here, and they are most of it.
pub(super) fn trim_csv(mut csv: ClusterServiceVersion) -> ClusterServiceVersion {
    csv.annotations_mut().retain(|key, _| {
        key.starts_with("olm.")
            || key.starts_with("operatorframework.io/")
            || key == labels::PROPERTIES
    });
    csv.spec.description.clear();
    csv.spec.icon.clear();
    csv
}

/// The original is here as well.
#[allow(
    clippy::needless_pass_by_value,
    reason = "a watch gives away what it has read"
)]
fn copy(csv: ClusterServiceVersion) -> Copy {
    Copy::of(&csv)
}

impl Kept for Copy {
    fn version(&self) -> Option<String> {
        Some(self.version.clone())
    }

    fn concerns_the_same(&self, before: &Self) -> bool {
        self.copied_from == before.copied_from
    }
}

struct Watching<'a> {
    context: &'a Arc<Context>,
    stop: &'a CancellationToken,
    tasks: &'a mut JoinSet<()>,
}

impl Watching<'_> {
    /// Watches a kind in some namespaces, or in all if there are none.
    fn kind<K, T>(
        &mut self,
        cache: &Arc<Cache<T>>,
        namespaces: &[String],
        labels: &str,
        keep: fn(K) -> T,
        tell: fn(&Context, &T),
    ) where
        T: Kept + Send + Sync + 'static,
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + DeserializeOwned
            + Debug
            + Send
            + Sync
            + 'static,
    {
        let mut config = watcher::Config::default();
        if !labels.is_empty() {
            config = config.labels(labels);
        }
        let one: Vec<Option<String>> = if namespaces.is_empty() {
            vec![None]
        } else {
            namespaces.iter().cloned().map(Some).collect()
        };
        for namespace in one {
            let client = self.context.client.clone();
            let api: Api<DeserializeGuard<K>> = match &namespace {
                Some(namespace) => Api::namespaced(client, namespace),
                None => Api::all(client),
            };
            let watch = Watch {
                api,
                namespace,
                config: config.clone(),
                keep,
            };
            let context = self.context.clone();
            let follow = watch.follow(cache.clone(), self.stop.clone(), move |object| {
                tell(&context, object);
                context.note_change();
            });
            self.tasks.spawn(follow);
        }
    }
}
