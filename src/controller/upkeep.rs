//! What is derived from the rest: OperatorGroups, Operators, the OLMConfig, and the marks by which
//! objects belong to packages.

use std::sync::Arc;

use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::core::DeserializeGuard;
use kube::runtime::watcher;
use kube::{Api, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::context::Context;
use super::error::attend;
use super::key::ObjectKey;
use super::queue::Work;
use super::watch::{Cache, Watch};
use super::{cluster_service_version, components, olm_config, operator, operator_group};
use crate::api::labels;
use crate::lifecycle::components::operator_names;

/// How many objects of a kind are worked on at once.
const WORKERS: usize = 4;

/// What there is to do.
pub(super) struct Upkeep {
    pub(super) operator_groups: Work<ObjectKey>,
    pub(super) operators: Work<String>,
    pub(super) adoptions: Work<String>,
    pub(super) olm_config: Work<()>,
}

impl Upkeep {
    /// Begins to work.
    pub(super) fn spawn(
        self,
        context: &Arc<Context>,
        stop: &CancellationToken,
        tasks: &mut JoinSet<()>,
    ) {
        let of = context.clone();
        let run = self.operator_groups.run(WORKERS, stop.clone(), move |key| {
            let context = of.clone();
            async move {
                let reconcile = operator_group::reconcile(&context, &key);
                attend("OperatorGroup", &key, reconcile).await
            }
        });
        tasks.spawn(run);
        let of = context.clone();
        let run = self.operators.run(WORKERS, stop.clone(), move |name| {
            let context = of.clone();
            async move {
                let reconcile = operator::reconcile(&context, &name);
                attend("Operator", &name, reconcile).await
            }
        });
        tasks.spawn(run);
        let of = context.clone();
        let run = self.adoptions.run(WORKERS, stop.clone(), move |namespace| {
            let context = of.clone();
            async move {
                let reconcile = operator::adopt(&context, &namespace);
                attend("adoption in Namespace", &namespace, reconcile).await
            }
        });
        tasks.spawn(run);
        let of = context.clone();
        let run = self.olm_config.run(1, stop.clone(), move |()| {
            let context = of.clone();
            async move {
                let reconcile = olm_config::reconcile(&context);
                attend("OLMConfig", &crate::api::olm_config::NAME, reconcile).await
            }
        });
        tasks.spawn(run);
    }
}

/// Begins to watch what nobody else needs.
pub(super) fn watch_all(context: &Arc<Context>, stop: &CancellationToken, tasks: &mut JoinSet<()>) {
    let caches = &context.caches;
    watch(
        context,
        stop,
        tasks,
        &caches.operators,
        "",
        |context, it| {
            context.queues.operators.add(it.name_any());
        },
    );
    watch(
        context,
        stop,
        tasks,
        &caches.olm_configs,
        "",
        |context, _| {
            context.queues.olm_config.add(());
            cluster_service_version::look_at_copies(context);
        },
    );
    let managed = "olm.managed=true";
    watch(
        context,
        stop,
        tasks,
        &caches.cluster_roles,
        managed,
        tell_of_role,
    );
    components::watch_all(context, stop, tasks);
}

/// Watches a kind that is in no namespace.
fn watch<K>(
    context: &Arc<Context>,
    stop: &CancellationToken,
    tasks: &mut JoinSet<()>,
    cache: &Arc<Cache<K>>,
    labels: &str,
    tell: fn(&Context, &K),
) where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug + Send + Sync,
    K: 'static,
{
    let mut config = watcher::Config::default();
    if !labels.is_empty() {
        config = config.labels(labels);
    }
    let watch = Watch {
        api: Api::<DeserializeGuard<K>>::all(context.client.clone()),
        namespace: None,
        config,
        keep: std::convert::identity,
    };
    let of = context.clone();
    tasks.spawn(watch.follow(cache.clone(), stop.clone(), move |object| {
        if of.leads() {
            tell(&of, object);
        }
    }));
}

fn tell_of_role(context: &Context, role: &ClusterRole) {
    components::tell(context, &operator::component(role, None::<&()>));
    let owner = |key: &str| role.labels().get(key).cloned().unwrap_or_default();
    let is_of_api = role
        .labels()
        .keys()
        .any(|key| key.starts_with("olm.opgroup.permissions/"));
    if owner(labels::OWNER_KIND) == crate::lifecycle::aggregate_roles::OWNER_KIND {
        let key = ObjectKey::new(owner(labels::OWNER_NAMESPACE), owner(labels::OWNER));
        if context.caches.operator_groups.get(&key).is_some() {
            context.queues.operator_groups.add(key);
        }
    } else if is_of_api {
        // Its operator may be in any of them.
        for group in context.caches.operator_groups.all() {
            context.queues.operator_groups.add(ObjectKey::of(&*group));
        }
    }
}

/// Has everybody look again whom an object concerns that may belong to a package.
pub(super) fn tell(context: &Context, object: &impl kube::ResourceExt) {
    if !context.leads() {
        return;
    }
    for operator in operator_names(object.labels()) {
        context.queues.operators.add(operator);
    }
    if let Some(namespace) = object.namespace() {
        context.queues.adoptions.add(namespace);
    }
}

/// What happened before this replica led was somebody else's to write.
pub(super) fn look_at_everything(context: &Context) {
    let Context { caches, queues, .. } = context;
    queues.operator_groups.add(operator_group::nobody());
    queues.olm_config.add(());
    for object in caches.operator_groups.all() {
        queues.operator_groups.add(ObjectKey::of(&*object));
    }
    for object in caches.operators.all() {
        queues.operators.add(object.name_any());
    }
    for object in caches.subscriptions.all() {
        tell(context, &*object);
    }
    for object in caches.csvs.all() {
        tell(context, &*object);
    }
    for object in caches.install_plans.all() {
        tell(context, &*object);
    }
    for object in caches.namespaces.all() {
        tell(context, &*object);
    }
    for object in caches.cluster_roles.all() {
        tell(context, &*object);
    }
    for component in context.components.filter(|_| true) {
        components::tell(context, &component);
    }
}
