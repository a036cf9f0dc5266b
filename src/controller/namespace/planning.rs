//! The plan for what hangs together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kube::api::{Api, DeleteParams, Preconditions};
use kube::{Resource as _, ResourceExt as _};
use serde_json::json;

use super::world::World;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::InstallPlanPhase;
use crate::api::install_plan::{Approval, InstallPlan};
use crate::api::labels;
use crate::api::subscription::Subscription;
use crate::catalog::index::Index;
use crate::controller::bundles::{self, Problem};
use crate::controller::context::Context;
use crate::controller::error::Error;
use crate::controller::fetches::{Arrival, Order};
use crate::controller::queue::Next;
use crate::controller::run::as_manager;
use crate::controller::words;
use crate::oci::Digest;
use crate::plan::name::stands_for;
use crate::plan::subscription::{Bundles, Plan};
use crate::plan::{Approvals, BundleInput, Input, build, decide, is_terminal};
use crate::resolver::{Install, Solution};

/// How far the plan for a solution is.
#[derive(Debug)]
pub(super) struct Progress {
    /// How far its bundles are.
    pub(super) bundles: Bundles,
    /// The plan.
    pub(super) plan: Option<Plan>,
    /// Plans that waited for approval and are not wanted any more: they are gone.
    pub(super) superseded: Vec<String>,
    /// What tells a plan from others whose bundles are still needed.
    pub(super) fingerprint: Option<String>,
    /// When to look again, where nobody tells that.
    pub(super) next: Next,
}

impl Default for Progress {
    fn default() -> Self {
        Self {
            bundles: Bundles::default(),
            plan: None,
            superseded: Vec::new(),
            fingerprint: None,
            next: Next::Wait,
        }
    }
}

impl Progress {
    fn stuck(bundles: Bundles, next: Next) -> Self {
        Self {
            bundles,
            next,
            ..Self::default()
        }
    }
}

/// Finds or makes the plan for a solution.
pub(super) async fn plan(
    context: &Arc<Context>,
    world: &World,
    solution: &Solution,
) -> Result<Progress, Error> {
    if let Some(problem) = unreadable_plan(world, solution) {
        return Ok(Progress::stuck(Bundles::Unusable(problem), Next::Wait));
    }
    let own = OwnPlans::of(world, solution);
    if solution.install.is_empty() {
        let superseded = own.delete_waiting(context, world, None).await?;
        return Ok(Progress {
            superseded,
            ..Progress::default()
        });
    }
    // Two plans at once for the same Subscriptions would be in each other's way.
    if let Some(running) = own.installing() {
        return Ok(Progress {
            plan: Some(Plan::of(&running)),
            ..Progress::default()
        });
    }
    let subscriptions: Vec<&Subscription> = world.subscriptions.iter().collect();
    let approvals = decide(solution, &subscriptions, &versions(world));
    let wanted = fingerprint(solution, &approvals);
    if let Some(found) = own.of_fingerprint(&wanted) {
        let superseded = own.delete_waiting(context, world, Some(&found)).await?;
        return Ok(Progress {
            plan: Some(Plan::of(&found)),
            superseded,
            ..Progress::default()
        });
    }
    if let Some(progress) = own.unheard_of(context, world).await? {
        return Ok(progress);
    }
    let bundles = match fetch(context, world, &solution.install, &wanted).await {
        Ok(bundles) => bundles,
        Err(progress) => {
            return Ok(Progress {
                fingerprint: Some(wanted),
                ..progress
            });
        }
    };
    // One without steps gets them now, rather than a second plan beside it.
    let plans = world.plans.values().map(|plan| &**plan);
    let existing: Vec<&InstallPlan> = plans.filter(|plan| !is_unfinished(plan)).collect();
    let built = build(Input {
        namespace: &world.namespace,
        solution,
        bundles: &bundles,
        subscriptions: &subscriptions,
        existing: &existing,
        approvals: &approvals,
    });
    let mut plan = match built {
        Ok(plan) => plan,
        Err(error) => {
            let order = order(world, &wanted);
            let problem = Problem::Unusable(error.to_string());
            context.fetches.refuse(&order, problem);
            let bundles = Bundles::Unusable(error.to_string());
            return Ok(Progress {
                fingerprint: Some(wanted),
                ..Progress::stuck(bundles, Next::Wait)
            });
        }
    };
    plan.annotations_mut()
        .insert(labels::PLAN_SOLUTION.to_owned(), wanted);
    let superseded = own.delete_waiting(context, world, Some(&plan)).await?;
    match write(context, &plan).await {
        Ok(plan) => Ok(Progress {
            plan: Some(Plan::of(&plan)),
            superseded,
            ..Progress::default()
        }),
        // The bundles are not kept for that: nobody knows how long it lasts, and they are in the cache.
        Err(error) => Ok(Progress {
            superseded,
            ..Progress::stuck(Bundles::PlanNotWritten(words::of_api(&error)), Next::Retry)
        }),
    }
}

/// What is wrong with a plan that a Subscription of a solution names. Another beside it could be in its way.
fn unreadable_plan(world: &World, solution: &Solution) -> Option<String> {
    let ours = world.subscriptions.iter();
    let ours = ours.filter(|it| solution.requests.contains(&it.name_any()));
    ours.filter_map(named_plan).find_map(|name| {
        let why = world.unreadable_plans.get(name)?;
        Some(format!(
            "InstallPlan {name} cannot be read: {why}; delete it, and a new one will be made"
        ))
    })
}

/// The plan that the status of a Subscription names.
fn named_plan(subscription: &Subscription) -> Option<&str> {
    let status = subscription.status.as_ref()?;
    status.install_plan_ref.as_ref()?.name.as_deref()
}

/// The plans that are about the Subscriptions of a solution, the newest first.
struct OwnPlans(Vec<Arc<InstallPlan>>);

impl OwnPlans {
    fn of(world: &World, solution: &Solution) -> Self {
        let ours: Vec<&Subscription> = world
            .subscriptions
            .iter()
            .filter(|it| solution.requests.contains(&it.name_any()))
            .collect();
        let uids: BTreeSet<String> = ours.iter().filter_map(|it| it.uid()).collect();
        let named: BTreeSet<&str> = ours.iter().filter_map(|it| named_plan(it)).collect();
        let is_ours = |plan: &InstallPlan| {
            named.contains(plan.name_any().as_str())
                || plan
                    .owner_references()
                    .iter()
                    .any(|owner| uids.contains(&owner.uid))
        };
        let mut plans: Vec<Arc<InstallPlan>> = world
            .plans
            .values()
            .filter(|plan| is_ours(plan))
            .cloned()
            .collect();
        plans.sort_by_key(|plan| std::cmp::Reverse((plan.spec.generation, plan.name_any())));
        Self(plans)
    }

    fn installing(&self) -> Option<Arc<InstallPlan>> {
        let is_installing = |plan: &InstallPlan| {
            let phase = plan.status.as_ref().map(|status| &status.phase);
            let is_approved = plan.spec.approved && !is_terminal(plan);
            phase == Some(&InstallPlanPhase::Installing)
                || (is_approved && phase == Some(&InstallPlanPhase::RequiresApproval))
        };
        self.0.iter().find(|plan| is_installing(plan)).cloned()
    }

    /// The plan that was made for the very same. One that failed is that too: to do again what
    /// cannot work helps nobody; whoever mended the cause deletes it. One that is done and left
    /// nothing behind is not.
    fn of_fingerprint(&self, wanted: &str) -> Option<Arc<InstallPlan>> {
        let newest = self.0.iter().find(|plan| {
            let annotation = plan.annotations().get(labels::PLAN_SOLUTION);
            annotation.is_some_and(|it| it == wanted) && !is_unfinished(plan)
        })?;
        let phase = newest.status.as_ref().map(|status| &status.phase)?;
        (*phase != InstallPlanPhase::Complete).then(|| newest.clone())
    }

    /// How far things are if what these plans brought is there and the cache does not have it, because it is behind
    /// or because nobody can read it. Taken for missing, it would be installed again and again.
    async fn unheard_of(
        &self,
        context: &Context,
        world: &World,
    ) -> Result<Option<Progress>, Error> {
        let api =
            Api::<ClusterServiceVersion>::namespaced(context.client.clone(), &world.namespace);
        for plan in &self.0 {
            let phase = plan.status.as_ref().map(|status| &status.phase);
            if phase != Some(&InstallPlanPhase::Complete) {
                continue;
            }
            for name in &plan.spec.cluster_service_version_names {
                if world.csvs.iter().any(|csv| csv.name_any() == *name) {
                    continue;
                }
                let progress = match api.get_opt(name).await {
                    Ok(None) => continue,
                    Ok(Some(csv)) if csv.is_copied() => continue,
                    Ok(Some(_)) => {
                        tracing::info!(csv = name, "it is there, and the watch has not told of it");
                        Progress {
                            plan: Some(Plan::of(plan)),
                            next: Next::Retry,
                            ..Progress::default()
                        }
                    }
                    Err(kube::Error::SerdeError(error)) => Progress {
                        plan: Some(Plan::of(plan)),
                        ..Progress::stuck(Bundles::Unusable(unreadable(name, &error)), Next::Wait)
                    },
                    Err(error) => {
                        let what = format!("reading ClusterServiceVersion {name}");
                        return Err(Error::while_(what)(error));
                    }
                };
                return Ok(Some(progress));
            }
        }
        Ok(None)
    }

    /// Deletes plans that wait for approval, or for their steps, and are not what is wanted.
    async fn delete_waiting(
        &self,
        context: &Context,
        world: &World,
        wanted: Option<&InstallPlan>,
    ) -> Result<Vec<String>, Error> {
        let wanted = wanted.map(kube::ResourceExt::name_any);
        let waits = |plan: &InstallPlan| {
            let phase = plan.status.as_ref().map(|status| &status.phase);
            let is_waiting = phase == Some(&InstallPlanPhase::RequiresApproval)
                && plan.spec.approval == Approval::Manual
                && !plan.spec.approved;
            (is_waiting || is_unfinished(plan)) && Some(plan.name_any()) != wanted
        };
        let api = Api::<InstallPlan>::namespaced(context.client.clone(), &world.namespace);
        let mut gone = Vec::new();
        for plan in self.0.iter().filter(|plan| waits(plan)) {
            let name = plan.name_any();
            delete(&api, plan)
                .await
                .map_err(Error::while_(format!("deleting InstallPlan {name}")))?;
            tracing::info!(plan = name, "a newer plan takes its place");
            gone.push(name);
        }
        Ok(gone)
    }
}

fn unreadable(csv: &str, why: &serde_json::Error) -> String {
    format!(
        "ClusterServiceVersion {csv} is in the namespace and cannot be read: {why}; correct it, or delete it and a new one is installed"
    )
}

/// A plan of ours that has no steps: whoever made it was stopped before it wrote them, or the cache
/// has not heard of them yet.
fn is_unfinished(plan: &InstallPlan) -> bool {
    plan.annotations().contains_key(labels::PLAN_SOLUTION) && !has_steps(plan)
}

fn has_steps(plan: &InstallPlan) -> bool {
    let status = plan.status.as_ref();
    status.is_some_and(|it| !it.plan.is_empty() || !it.bundle_lookups.is_empty())
}

fn versions(world: &World) -> BTreeMap<String, String> {
    let csvs = world.csvs.iter();
    csvs.map(|csv| (csv.name_any(), csv.spec.version.clone()))
        .collect()
}

/// What tells two solutions apart, without having read any bundle.
fn fingerprint(solution: &Solution, approvals: &Approvals) -> String {
    let approval = approvals.plan.to_string();
    let generated: Vec<_> = approvals
        .generated
        .iter()
        .map(|(name, it)| {
            (
                name,
                it.install_plan_approval.to_string(),
                it.policy.to_string(),
            )
        })
        .collect();
    let install: Vec<_> = solution
        .install
        .iter()
        .map(|it| {
            json!([
                it.bundle,
                it.package,
                it.catalog,
                it.catalog_namespace,
                it.channel,
                it.image,
                it.replaces
            ])
        })
        .collect();
    let all = json!([
        install,
        solution.subscriptions,
        solution.requests,
        approval,
        generated
    ]);
    Digest::of(all.to_string().as_bytes()).hex()[..32].to_owned()
}

/// A bundle that is to be read, and everything that is needed for that.
struct Wanted {
    install: Install,
    index: Arc<Index>,
    secrets: Vec<String>,
}

impl Wanted {
    fn of(world: &World, install: &Install) -> Result<Self, String> {
        let catalog = world.catalogs.iter().find(|(object, _)| {
            object.name_any() == install.catalog
                && object.namespace().unwrap_or_default() == install.catalog_namespace
        });
        let index = catalog
            .and_then(|(_, known)| known.as_ref()?.content.as_ref())
            .map(|content| content.index.clone());
        let (Some((object, _)), Some(index)) = (catalog, index) else {
            return Err(format!(
                "catalog {}/{} is gone",
                install.catalog_namespace, install.catalog
            ));
        };
        Ok(Self {
            install: install.clone(),
            index,
            secrets: object.spec.secrets.clone(),
        })
    }
}

fn order(world: &World, plan: &str) -> Order {
    Order {
        namespace: world.namespace.clone(),
        plan: plan.to_owned(),
    }
}

/// How far the bundles of a plan are; it is woken when they come.
async fn fetch(
    context: &Arc<Context>,
    world: &World,
    installs: &[Install],
    plan: &str,
) -> Result<Arc<BTreeMap<String, BundleInput>>, Progress> {
    let wanted: Result<Vec<Wanted>, String> = installs
        .iter()
        .map(|install| Wanted::of(world, install))
        .collect();
    let wanted = wanted.map_err(|why| Progress::stuck(Bundles::Failed(why), Next::Retry))?;
    let patience = world.patience();
    let order = order(world, plan);
    let of = context.clone();
    let read = || async move { within(patience.limit, read_bundles(&of, wanted)).await };
    let (namespaces, namespace) = (context.queues.namespaces.clone(), world.namespace.clone());
    let wake = move || namespaces.add(namespace);
    let arrival = context
        .fetches
        .ask(
            &order,
            patience.limit,
            patience.pause,
            &world.moment,
            read,
            wake,
        )
        .await;
    let (bundles, next) = match arrival {
        Arrival::Here(bundles) => return Ok(bundles),
        Arrival::Underway { before: None } => {
            let images = installs.iter().map(|install| install.image.as_str());
            let images: Vec<&str> = images.filter(|image| !image.is_empty()).collect();
            let message = format!("fetching {}", images.join(", "));
            (Bundles::Fetching(message), Next::Wait)
        }
        Arrival::Underway {
            before: Some(problem),
        } => (said(problem), Next::Wait),
        Arrival::Stuck { problem, pause } => {
            let next = match &problem {
                Problem::Failed(_) => Next::After(pause),
                Problem::Unusable(_) => Next::Wait,
            };
            (said(problem), next)
        }
    };
    Err(Progress::stuck(bundles, next))
}

fn said(problem: Problem) -> Bundles {
    match problem {
        Problem::Failed(why) => Bundles::Failed(why),
        Problem::Unusable(why) => Bundles::Unusable(why),
    }
}

async fn read_bundles(
    context: &Context,
    wanted: Vec<Wanted>,
) -> Result<BTreeMap<String, BundleInput>, Problem> {
    let mut bundles = BTreeMap::new();
    for Wanted {
        install,
        index,
        secrets,
    } in wanted
    {
        let read = bundles::read(context, &install, index, &secrets).await?;
        bundles.insert(install.bundle, read);
    }
    Ok(bundles)
}

/// Gives up after some time, with the reason that OLM has for it.
async fn within<T>(
    limit: Option<Duration>,
    work: impl Future<Output = Result<T, Problem>>,
) -> Result<T, Problem> {
    let Some(limit) = limit else {
        return work.await;
    };
    let timely = tokio::time::timeout(limit, work).await;
    timely.unwrap_or_else(|_| {
        Err(Problem::Failed(format!(
            "DeadlineExceeded: the bundles were not here after {limit:?}; what was fetched is kept, \
             and the annotation {} of the OperatorGroup gives more time",
            labels::BUNDLE_UNPACK_TIMEOUT
        )))
    })
}

/// Writes a plan: first the object, then its status. If something comes between the two, the next
/// look makes the same plan again, finds that it exists, and writes the status. One that was left without
/// steps and was not meant so, above all not approved so, is made anew.
async fn write(context: &Context, plan: &InstallPlan) -> Result<InstallPlan, kube::Error> {
    let namespace = plan.namespace().unwrap_or_default();
    let name = plan.name_any();
    let api = Api::<InstallPlan>::namespaced(context.client.clone(), &namespace);
    let parameters = as_manager();
    let created = match api.create(&parameters, plan).await {
        Ok(created) => created,
        Err(kube::Error::Api(status)) if status.code == 409 => {
            let found = api.get(&name).await?;
            if has_steps(&found) {
                return Ok(found);
            }
            if stands_for(&found, plan) {
                found
            } else {
                tracing::info!(
                    plan = name,
                    "a plan without steps is made anew: it was meant otherwise"
                );
                delete(&api, &found).await?;
                api.create(&parameters, plan).await?
            }
        }
        Err(error) => return Err(error),
    };
    let mut complete = created;
    complete.meta_mut().managed_fields = None;
    complete.status.clone_from(&plan.status);
    api.replace_status(&name, &parameters, &complete).await
}

/// Deletes a plan as it was seen: whoever approves it in this very moment wins.
async fn delete(api: &Api<InstallPlan>, plan: &InstallPlan) -> Result<(), kube::Error> {
    let parameters = DeleteParams {
        preconditions: Some(Preconditions {
            uid: plan.uid(),
            resource_version: plan.resource_version(),
        }),
        ..DeleteParams::default()
    };
    match api.delete(&plan.name_any(), &parameters).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        outcome => outcome.map(drop),
    }
}
