//! What a removal has to know.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::identity;
use std::fmt::Debug;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::core::{DeserializeGuard, ObjectMeta};
use kube::{Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use super::Remover;
use super::sweep::{PATIENCE, late};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::InstallPlanPhase;
use crate::api::install_plan::InstallPlan;
use crate::api::labels;
use crate::api::operator_group::OperatorGroup;
use crate::api::subscription::Subscription;
use crate::controller::context::Context;
use crate::controller::error::Error;
use crate::controller::run::trim_csv;
use crate::controller::words;
use crate::lifecycle::removal::{
    Crd, CustomResource, Facts, Listing, Move, Removal, Step, Wish, mark, plan,
};
use crate::lifecycle::targets::Targets;
use crate::plan::apply::is_established;

/// Objects per request: the memory that a list takes is theirs.
const PAGE: u32 = 500;
const CSV: &str = "ClusterServiceVersion";

/// What is around a Subscription.
#[derive(Clone, Debug, Default)]
pub(crate) struct Surroundings {
    /// Those of the cluster.
    pub(crate) subscriptions: Vec<Arc<Subscription>>,
    /// Those of the cluster.
    pub(crate) csvs: Vec<Arc<ClusterServiceVersion>>,
    /// Those of the namespace.
    pub(crate) plans: Vec<Arc<InstallPlan>>,
    /// Those of the namespace.
    pub(crate) groups: Vec<Arc<OperatorGroup>>,
    /// Subscriptions and ClusterServiceVersions of the cluster that are not what they should be.
    pub(crate) unreadable: Vec<String>,
}

impl Surroundings {
    /// What the caches hold, which may be behind.
    pub(in crate::controller) fn of_caches(context: &Context, namespace: &str) -> Self {
        let caches = &context.caches;
        Self {
            subscriptions: caches.subscriptions.all(),
            csvs: caches.csvs.all(),
            plans: caches.install_plans.in_namespace(namespace),
            groups: caches.operator_groups.in_namespace(namespace),
            unreadable: Vec::new(),
        }
    }

    /// Asks the API server for all of it.
    pub(crate) async fn list(client: &Client, namespace: &str) -> Result<Self, Error> {
        let originals = format!("!{}", labels::COPIED_FROM);
        let client = || client.clone();
        let mut unreadable = Vec::new();
        let subscriptions = Api::all(client());
        let subscriptions = list(subscriptions, "", "Subscription", identity, &mut unreadable);
        let subscriptions = subscriptions.await?;
        let csvs = Api::all(client());
        let csvs = list(csvs, &originals, CSV, trim_csv, &mut unreadable).await?;
        // Those of the namespace that cannot be read are seen by whoever is in charge of them.
        let mut passed_over = Vec::new();
        let plans = Api::namespaced(client(), namespace);
        let plans = list(plans, "", "InstallPlan", identity, &mut passed_over).await?;
        let groups = Api::namespaced(client(), namespace);
        let groups = list(groups, "", "OperatorGroup", identity, &mut passed_over).await?;
        Ok(Self {
            subscriptions,
            csvs,
            plans,
            groups,
            unreadable,
        })
    }

    /// The same with what may be seen of it, and with what the API server says of the rest. Nothing may be done by
    /// such a view: who else needs what goes may be where nobody looked.
    pub(crate) async fn visible(
        client: &Client,
        namespace: &str,
    ) -> Result<(Self, Vec<String>), Error> {
        let originals = format!("!{}", labels::COPIED_FROM);
        let client = || client.clone();
        let (mut unread, mut unreadable) = (Vec::new(), Vec::new());
        let kind = "Subscription";
        let all = list(Api::all(client()), "", kind, identity, &mut unreadable).await;
        let subscriptions = if let Some(all) = permitted(all, &mut unread)? {
            all
        } else {
            let own = Api::namespaced(client(), namespace);
            list(own, "", kind, identity, &mut unreadable).await?
        };
        let all = Api::all(client());
        let all = list(all, &originals, CSV, trim_csv, &mut unreadable).await;
        let csvs = if let Some(all) = permitted(all, &mut unread)? {
            all
        } else {
            let own = Api::namespaced(client(), namespace);
            let own = list(own, &originals, CSV, trim_csv, &mut unreadable).await;
            permitted(own, &mut unread)?.unwrap_or_default()
        };
        // As in [`Self::list`].
        let mut passed_over = Vec::new();
        let plans = Api::namespaced(client(), namespace);
        let plans = list(plans, "", "InstallPlan", identity, &mut passed_over).await;
        let groups = Api::namespaced(client(), namespace);
        let groups = list(groups, "", "OperatorGroup", identity, &mut passed_over).await;
        let seen = Self {
            subscriptions,
            csvs,
            plans: permitted(plans, &mut unread)?.unwrap_or_default(),
            groups: permitted(groups, &mut unread)?.unwrap_or_default(),
            unreadable,
        };
        Ok((seen, unread))
    }

    /// A plan that somebody carries out is at work whatever its status says: one that failed may be tried again. One
    /// that is gone is on its way out as long.
    #[must_use]
    pub(crate) fn with_plans_at_work(mut self, at_work: &[Arc<InstallPlan>]) -> Self {
        for plan in at_work {
            let mut known = self.plans.iter_mut();
            if let Some(known) = known.find(|it| it.uid() == plan.uid()) {
                let status = &mut Arc::make_mut(known).status;
                status.get_or_insert_default().phase = InstallPlanPhase::Installing;
                continue;
            }
            let mut gone = (**plan).clone();
            let deleted = gone.metadata.creation_timestamp.clone();
            gone.metadata.deletion_timestamp = deleted.or(Some(Time(Timestamp::UNIX_EPOCH)));
            self.plans.push(Arc::new(gone));
        }
        self
    }

    fn targets(&self) -> Option<Targets> {
        let [group] = self.groups.as_slice() else {
            return None;
        };
        let status = group.status.as_ref()?;
        Some(Targets::from_status(&status.namespaces))
    }
}

/// What was read, or nothing if the API server does not permit it, which is noted.
fn permitted<T>(read: Result<T, Error>, unread: &mut Vec<String>) -> Result<Option<T>, Error> {
    let error = match read {
        Ok(read) => return Ok(Some(read)),
        Err(error) => error,
    };
    let Some(refusal) = error.refusal() else {
        return Err(error);
    };
    unread.push(refusal.to_owned());
    Ok(None)
}

/// One that cannot be read stops nothing here, and is told.
async fn list<K>(
    api: Api<DeserializeGuard<K>>,
    labels: &str,
    kind: &str,
    keep: fn(K) -> K,
    unreadable: &mut Vec<String>,
) -> Result<Vec<Arc<K>>, Error>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let mut all = Vec::new();
    let mut parameters = ListParams::default().labels(labels).limit(PAGE);
    loop {
        let page = api.list(&parameters).await;
        let page = page.map_err(Error::while_(format!("listing {kind}s")))?;
        let next = page.metadata.continue_.unwrap_or_default();
        for object in page.items {
            match object.0 {
                Ok(object) => all.push(Arc::new(keep(object))),
                Err(broken) => unreadable.push(format!(
                    "{kind} {}/{} ({})",
                    broken.metadata.namespace.unwrap_or_default(),
                    broken.metadata.name.unwrap_or_default(),
                    broken.error
                )),
            }
        }
        if next.is_empty() {
            return Ok(all);
        }
        parameters = parameters.continue_token(&next);
    }
}

impl Remover {
    /// Reads what the removal of a Subscription has to know. What is left of a package is only looked
    /// for when its operator is gone: until then it may be about to go by itself.
    pub(crate) async fn facts(
        &self,
        subscription: Arc<Subscription>,
        surroundings: &Surroundings,
        wish: &Wish,
    ) -> Result<Facts, Error> {
        let mut facts = self.preview(subscription, surroundings, wish).await?;
        let removal = plan(&facts, wish);
        // What is waited for after that was begun when nothing was left, and looking is not cheap.
        let is_over = match removal.next() {
            Move::LetGo => true,
            Move::Act(stage) => stage.step > Step::DeleteOperator,
            Move::Wait(_) | Move::Blocked => false,
        };
        if is_over {
            self.look_elsewhere(&mut facts, &removal).await?;
            let swept = self.sweep(&facts.subscription).await?;
            facts.marked = swept.marked;
            facts.unlisted = swept.unlisted;
            facts.unread = swept.unread;
        }
        Ok(facts)
    }

    /// Whoever else installs a CRD puts a mark on it first: those who did so before it was read are found here, and
    /// those who do so afterwards change it, and then it is not deleted.
    async fn look_elsewhere(&self, facts: &mut Facts, removal: &Removal) -> Result<(), Error> {
        let own = facts.subscription.namespace().unwrap_or_default();
        let mut stages = removal.stages.iter();
        let definitions = stages.find(|stage| stage.step == Step::DeleteDefinitions);
        let going = definitions.into_iter().flat_map(|stage| &stage.objects);
        let going: BTreeSet<&str> = going.map(|it| it.object.name.as_str()).collect();
        let crds = facts.crds.iter();
        let crds = crds.filter(|crd| going.contains(crd.name.as_str()));
        let namespaces = crds.flat_map(Crd::namespaces);
        let namespaces: BTreeSet<String> = namespaces.map(str::to_owned).collect();
        let originals = format!("!{}", labels::COPIED_FROM);
        for namespace in namespaces.iter().filter(|it| **it != own) {
            let client = || self.client.clone();
            // In this order: a plan that is done has made them.
            let plans = Api::namespaced(client(), namespace);
            let unreadable = &mut facts.unreadable;
            let plans = list(plans, "", "InstallPlan", identity, unreadable).await?;
            let csvs = Api::namespaced(client(), namespace);
            let csvs = list(csvs, &originals, CSV, trim_csv, unreadable).await?;
            facts.plans_elsewhere.extend(plans);
            facts
                .csvs
                .retain(|it| it.namespace().as_ref() != Some(namespace));
            facts.csvs.extend(csvs);
        }
        Ok(())
    }

    /// What is to go with a Subscription. A namespace that goes with everything in it is no wish about what is
    /// elsewhere, and whether it does is asked: a cache may not have heard of it yet.
    pub(crate) async fn wish(&self, subscription: &Subscription) -> Result<Wish, Error> {
        let wish = Wish::of(subscription);
        if !wish.removes() {
            return Ok(wish);
        }
        let name = subscription.namespace().unwrap_or_default();
        let api = Api::<Namespace>::all(self.client.clone());
        let namespace = api.get_metadata_opt(&name).await;
        let namespace = namespace.map_err(Error::while_(format!("reading Namespace {name}")))?;
        let stays = namespace.is_some_and(|it| it.metadata.deletion_timestamp.is_none());
        Ok(if stays {
            wish
        } else {
            wish.in_namespace_that_goes()
        })
    }

    /// The same without what is left.
    pub(crate) async fn preview(
        &self,
        subscription: Arc<Subscription>,
        surroundings: &Surroundings,
        wish: &Wish,
    ) -> Result<Facts, Error> {
        let mut facts = facts(subscription, surroundings);
        facts.crds = self.crds(&facts, wish).await?;
        Ok(facts)
    }

    /// The same for somebody who may not see CRDs, and what the API server says about that.
    pub(crate) async fn visible(
        &self,
        subscription: Arc<Subscription>,
        surroundings: &Surroundings,
        wish: &Wish,
    ) -> Result<(Facts, Option<String>), Error> {
        let mut unread = Vec::new();
        let mut facts = facts(subscription, surroundings);
        let crds = self.crds(&facts, wish).await;
        facts.crds = permitted(crds, &mut unread)?.unwrap_or_default();
        Ok((facts, unread.pop()))
    }

    /// The CRDs that carry the mark of the package, and those that are named. Whose the latter are is not said
    /// here.
    async fn crds(&self, facts: &Facts, wish: &Wish) -> Result<Vec<Crd>, Error> {
        let (api_version, kind) = ("apiextensions.k8s.io/v1", "CustomResourceDefinition");
        let mark = mark(&facts.subscription);
        let mut found = self.applier.list(api_version, kind, None, &mark).await?;
        let name = |crd: &Value| {
            crd["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        for named in &wish.crds {
            if found.iter().all(|crd| name(crd) != *named) {
                let asked = json!({
                    "apiVersion": api_version, "kind": kind, "metadata": {"name": named},
                });
                found.extend(self.applier.get(&asked).await?);
            }
        }
        let mut crds = Vec::new();
        for crd in found {
            let labels = texts(&crd, "/metadata/labels");
            let listing = Listing::of(facts, wish, &name(&crd), &labels);
            crds.push(self.crd(&crd, listing).await);
        }
        Ok(crds)
    }

    /// A CRD with its objects, as many as have to be known.
    pub(super) async fn crd(&self, crd: &Value, listing: Listing) -> Crd {
        let text = |pointer: &str| {
            let text = crd.pointer(pointer).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let group = text("/spec/group");
        let version = version(crd);
        let is_going = crd.pointer("/metadata/deletionTimestamp").is_some();
        let mut more = 0;
        let objects = match &version {
            _ if listing == Listing::Nothing => Ok(Vec::new()),
            None => Err("none of its versions is served".to_owned()),
            Some(version) => {
                let resource = ApiResource {
                    group: group.clone(),
                    version: version.clone(),
                    api_version: format!("{group}/{version}"),
                    kind: text("/spec/names/kind"),
                    plural: text("/spec/names/plural"),
                };
                match self.objects(&resource, listing).await {
                    // Nobody could have made one.
                    Ok(Err(kube::Error::Api(status)))
                        if status.code == 404 && (is_going || !is_established(crd)) =>
                    {
                        Ok(Vec::new())
                    }
                    Ok(Err(error)) => Err(words::of_api(&error)),
                    Ok(Ok((objects, others))) => {
                        more = others;
                        Ok(objects)
                    }
                    Err(_) => Err(late()),
                }
            }
        };
        let finalizers = crd
            .pointer("/metadata/finalizers")
            .and_then(Value::as_array);
        let finalizers = finalizers.into_iter().flatten();
        Crd {
            name: text("/metadata/name"),
            uid: text("/metadata/uid"),
            resource_version: text("/metadata/resourceVersion"),
            labels: texts(crd, "/metadata/labels"),
            annotations: texts(crd, "/metadata/annotations"),
            is_going,
            finalizers: finalizers
                .filter_map(|it| Some(it.as_str()?.to_owned()))
                .collect(),
            api_version: format!("{group}/{}", version.unwrap_or_default()),
            kind: text("/spec/names/kind"),
            is_converted: text("/spec/conversion/strategy") == "Webhook",
            objects,
            more,
        }
    }

    /// The objects of a CRD, wherever they are, and how many more there are; nothing if there is no answer.
    async fn objects(
        &self,
        resource: &ApiResource,
        listing: Listing,
    ) -> Result<Result<(Vec<CustomResource>, usize), kube::Error>, Elapsed> {
        let api = Api::<DynamicObject>::all_with(self.client.clone(), resource);
        let mut all = Vec::new();
        let page = if listing == Listing::All { PAGE } else { 1 };
        let mut parameters = ListParams::default().limit(page);
        loop {
            let page = match timeout(PATIENCE, api.list_metadata(&parameters)).await? {
                Ok(page) => page,
                Err(error) => return Ok(Err(error)),
            };
            let next = page.metadata.continue_.unwrap_or_default();
            all.extend(page.items.iter().map(|object| CustomResource {
                namespace: object.namespace().unwrap_or_default(),
                name: object.name_any(),
                uid: object.uid().unwrap_or_default(),
                created: object.creation_timestamp(),
                made_by: maker(&object.metadata),
                is_going: object.metadata.deletion_timestamp.is_some(),
                finalizers: object.finalizers().to_vec(),
            }));
            if listing != Listing::All {
                let more = page.metadata.remaining_item_count.unwrap_or_default();
                return Ok(Ok((all, usize::try_from(more).unwrap_or_default())));
            }
            if next.is_empty() {
                return Ok(Ok((all, 0)));
            }
            parameters = parameters.continue_token(&next);
        }
    }
}

/// Who made an object, by the name that they gave themselves: whoever wrote to it first. Of those who did in the same
/// second it is the one who said what it is to be.
fn maker(metadata: &ObjectMeta) -> Option<String> {
    let entries = metadata.managed_fields.iter().flatten();
    let entries = entries.filter(|it| it.subresource.as_deref().unwrap_or_default().is_empty());
    let first = entries.min_by_key(|it| {
        let fields = it.fields_v1.as_ref();
        let says_what = fields.is_some_and(|fields| fields.0.get("f:spec").is_some());
        (it.time.clone(), !says_what)
    })?;
    first.manager.clone()
}

fn texts(object: &Value, pointer: &str) -> BTreeMap<String, String> {
    let map = object.pointer(pointer).and_then(Value::as_object);
    let texts = map.into_iter().flatten();
    texts
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect()
}

/// What the surroundings tell, without CRDs.
fn facts(subscription: Arc<Subscription>, surroundings: &Surroundings) -> Facts {
    Facts {
        subscription,
        subscriptions: surroundings.subscriptions.clone(),
        csvs: surroundings.csvs.clone(),
        plans: surroundings.plans.clone(),
        targets: surroundings.targets(),
        unreadable: surroundings.unreadable.clone(),
        now: Some(Time(Timestamp::now())),
        ..Facts::default()
    }
}

/// The version in which objects are stored, so that no webhook has to convert them, or else one that is
/// served.
fn version(crd: &Value) -> Option<String> {
    let versions = crd.pointer("/spec/versions")?.as_array()?;
    let is = |version: &Value, what: &str| version.get(what).and_then(Value::as_bool) == Some(true);
    let served = || versions.iter().filter(|version| is(version, "served"));
    let stored = served().find(|version| is(version, "storage"));
    let chosen = stored.or_else(|| served().next())?;
    Some(chosen.get("name")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(uid: &str, phase: &str) -> Arc<InstallPlan> {
        let plan = json!({
            "metadata": {"name": uid, "namespace": "port", "uid": uid},
            "spec": {"approval": "Automatic", "approved": true, "clusterServiceVersionNames": []},
            "status": {"phase": phase, "catalogSources": []},
        });
        Arc::new(serde_json::from_value(plan).unwrap())
    }

    #[test]
    fn a_plan_that_somebody_carries_out_is_at_work_whatever_its_status_says() {
        let listed = Surroundings {
            plans: vec![plan("failed", "Failed"), plan("done", "Complete")],
            ..Surroundings::default()
        };
        let seen = listed.with_plans_at_work(&[plan("failed", "Failed"), plan("gone", "Failed")]);
        let phases: Vec<(String, String, bool)> = seen
            .plans
            .iter()
            .map(|it| {
                let phase = it.status.clone().unwrap_or_default().phase;
                let is_going = it.metadata.deletion_timestamp.is_some();
                (it.name_any(), phase.to_string(), is_going)
            })
            .collect();
        let expected = [
            ("failed", "Installing", false),
            ("done", "Complete", false),
            ("gone", "Failed", true),
        ];
        let expected =
            expected.map(|(name, phase, going)| (name.to_owned(), phase.to_owned(), going));
        assert_eq!(phases, expected);
    }

    #[test]
    fn who_made_an_object_is_whoever_wrote_to_it_first() {
        let metadata = |entries: Value| -> ObjectMeta {
            serde_json::from_value(json!({"managedFields": entries})).unwrap()
        };
        let entry = |manager: &str, time: &str, fields: Value| {
            json!({
                "manager": manager, "operation": "Update", "time": time, "fieldsType": "FieldsV1",
                "fieldsV1": fields,
            })
        };
        let (early, late) = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z");
        let finalizers = json!({"f:metadata": {"f:finalizers": {}}});
        let spec = json!({"f:spec": {}});
        let mut status = entry(
            "status-writer",
            "2025-01-01T00:00:00Z",
            json!({"f:status": {}}),
        );
        status["subresource"] = json!("status");
        let made = [
            entry("operator", late, finalizers.clone()),
            entry("kubectl", early, spec.clone()),
            status,
        ];
        assert_eq!(maker(&metadata(json!(made))).as_deref(), Some("kubectl"));
        let at_once = [
            entry("operator", early, finalizers),
            entry("argocd", early, spec),
        ];
        assert_eq!(maker(&metadata(json!(at_once))).as_deref(), Some("argocd"));
        assert_eq!(maker(&metadata(Value::Null)), None);
    }
}
