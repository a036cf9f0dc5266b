//! All that decides what comes next for a ClusterServiceVersion, at one moment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use super::{facts, removal, subscriber};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::labels;
use crate::api::operator_condition::OperatorCondition;
use crate::api::operator_group::OperatorGroup;
use crate::api::subscription::SubscriptionConfig;
use crate::controller::context::Context;
use crate::controller::error::Error;
use crate::lifecycle::install::certificates::{self, Outlook, ServingCertificates};
use crate::lifecycle::install::state::{ApiServices, Installation};
use crate::lifecycle::install::{
    self, Desired, InstallError, Key, Request, Seen, claims, conversion, observe, renewal, services,
};
use crate::lifecycle::phase::{Contested, SinceGivenUp, Situation};
use crate::lifecycle::provided_apis::Surface;
use crate::lifecycle::replacement::Lineage;
use crate::lifecycle::requirements::{ApiServiceFact, InvalidStrategy, Requirements};
use crate::plan::apply;

/// The kinds of which an operator may have some that it no longer asks for.
const LEFTOVERS: [&str; 4] = [
    "APIService",
    "Deployment",
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
];

/// How many Pods of a Deployment are asked why it is not ready.
const MOST_PODS: u32 = 100;

/// All that decides what comes next.
pub(super) struct World<'a> {
    pub(super) csv: &'a ClusterServiceVersion,
    lineage: Lineage<'a>,
    predecessors: Vec<&'a ClusterServiceVersion>,
    groups: Vec<&'a OperatorGroup>,
    surfaces: Vec<Surface>,
    former_conditions: Vec<OperatorCondition>,
    requirements: Result<Requirements, InvalidStrategy>,
    api_services: BTreeMap<String, ApiServiceFact>,
    served_apis: ApiServices,
    installation: Installation,
    pub(super) outlook: Outlook,
    pub(super) config: Option<SubscriptionConfig>,
    proxy: Vec<(String, String)>,
    pub(super) seen: Seen,
    /// What somebody else changes back whenever it is written.
    contested: Option<Contested>,
    /// What newer versions have claimed of what it consists of.
    claimed: BTreeSet<Key>,
    since_given_up: SinceGivenUp,
    now: Time,
}

/// What has to outlive a [`World`]: the caches give it away one by one.
pub(super) struct Neighbours {
    csvs: Vec<Arc<ClusterServiceVersion>>,
    groups: Vec<Arc<OperatorGroup>>,
}

impl Neighbours {
    pub(super) fn of(context: &Context, csv: &ClusterServiceVersion) -> Self {
        let namespace = csv.namespace().unwrap_or_default();
        Self {
            csvs: context.caches.csvs.in_namespace(&namespace),
            groups: context.caches.operator_groups.in_namespace(&namespace),
        }
    }
}

impl<'a> World<'a> {
    pub(super) async fn read(
        context: &Context,
        csv: &'a ClusterServiceVersion,
        neighbours: &'a Neighbours,
    ) -> Result<Self, Error> {
        let name = csv.name_any();
        let siblings = neighbours.csvs.iter().map(|it| &**it);
        // The cache may be behind what was written a moment ago.
        let siblings = siblings.filter(|it| it.name_any() != name);
        let lineage = Lineage::new(siblings.chain([csv]));
        let groups: Vec<&OperatorGroup> = neighbours.groups.iter().map(|it| &**it).collect();
        let all_groups = context.caches.operator_groups.all();
        let now = context.now();
        let facts = facts::read(context, csv, &lineage).await?;
        let config = subscriber::config(context, csv, &lineage);
        let given_up = context
            .attempts
            .since_given_up(context, csv, config.as_ref());
        let given_up = given_up.await?;
        let claimed = claims::claimed(csv, &lineage);
        let mut world = Self {
            csv,
            former_conditions: former_conditions(context, csv, &lineage).await?,
            predecessors: lineage.predecessors(csv),
            lineage,
            groups,
            surfaces: all_groups.iter().map(|group| Surface::of(group)).collect(),
            requirements: facts.requirements,
            api_services: facts.api_services,
            served_apis: ApiServices::Fine,
            installation: Installation::Ready,
            outlook: certificates::look(csv, &Seen::default(), &now),
            config,
            proxy: context.proxy.variables(),
            seen: Seen::default(),
            contested: None,
            claimed,
            since_given_up: given_up,
            now,
        };
        world.look_at_installation(context).await?;
        if !csv.spec.api_service_definitions.owned.is_empty() {
            let pods = pods(context, csv, &world.seen).await?;
            let is_served = |gvk: &_| facts.served.contains(gvk);
            world.served_apis =
                observe::api_services(csv, &world.seen, is_served, &pods, &world.now);
        }
        Ok(world)
    }

    pub(super) fn situation(&self) -> Situation<'_> {
        Situation {
            csv: self.csv,
            lineage: &self.lineage,
            groups: &self.groups,
            other_groups: &self.surfaces,
            former_conditions: &self.former_conditions,
            requirements: &self.requirements,
            api_services: &self.api_services,
            installation: &self.installation,
            certificates: &self.outlook.state,
            rotate_at: self.outlook.rotate_at.as_ref(),
            is_renewal_due: renewal::is_due(self.csv, &self.outlook, &self.seen),
            served_apis: &self.served_apis,
            contested: self.contested.as_ref(),
            since_given_up: self.since_given_up,
            now: &self.now,
        }
    }

    /// Whether one that takes over is another by now than it was when all this was read: it may have claimed what
    /// is about to be written, or take over no longer.
    pub(super) async fn is_behind(&self, context: &Context) -> Result<bool, Error> {
        let namespace = self.csv.namespace().unwrap_or_default();
        let api = Api::<ClusterServiceVersion>::namespaced(context.client.clone(), &namespace);
        for newer in self.lineage.descendants(self.csv) {
            let now = api.get_metadata_opt(&newer.name_any()).await;
            let now = now.map_err(Error::while_("reading the version that takes over"))?;
            if now.and_then(|it| it.resource_version()) != newer.resource_version() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The OperatorGroups of the namespace.
    pub(super) fn groups(&self) -> impl Iterator<Item = &OperatorGroup> {
        self.groups.iter().copied()
    }

    /// What the installation consists of, with these certificates.
    pub(super) fn desired(
        &self,
        certificates: &ServingCertificates,
    ) -> Option<Result<Desired, InstallError>> {
        let [group] = self.groups.as_slice() else {
            return None;
        };
        let desired = install::desired(&Request {
            csv: self.csv,
            group,
            config: self.config.as_ref(),
            proxy: &self.proxy,
            certificates,
            takes_over: self.takes_over(),
            predecessors: &self.predecessors,
            seen: &self.seen,
        });
        Some(desired.map(|desired| desired.without(&self.claimed, &self.seen)))
    }

    async fn look_at_installation(&mut self, context: &Context) -> Result<(), Error> {
        let mut objects = Vec::new();
        for object in self.possessions(context) {
            objects.extend(context.applier.get(&object).await?);
        }
        self.seen = Seen::new(objects.clone());
        self.outlook = certificates::look(self.csv, &self.seen, &self.now);
        // An answer that was lost does not make what was written unwritten.
        let in_use = &self.outlook.in_use;
        context.attempts.seen_in_use(self.csv, in_use);
        self.outlook = self.outlook.clone().leaving(self.csv, &self.claimed);
        let desired = match self.desired(&self.outlook.in_use) {
            Some(Ok(desired)) => desired,
            Some(Err(error)) => {
                let message = error.to_string();
                self.installation = Installation::Differs { message };
                return Ok(());
            }
            // Nothing is installed without a group, which is told before anybody looks here.
            None => return Ok(()),
        };
        for object in desired.objects() {
            if self.seen.get(&Key::of(object)).is_none() {
                objects.extend(context.applier.get(object).await?);
            }
        }
        let keys = desired.keys();
        let (seen, contested) = context.attempts.truces(Seen::new(objects), &keys);
        self.seen = context.attempts.settled(seen, keys);
        self.contested = contested;
        self.look_for_former_services(context, &desired).await?;
        // By what it is now known that there is.
        let desired = match self.desired(&self.outlook.in_use) {
            Some(Ok(now)) => now,
            _ => desired,
        };
        self.installation = observe::observe(&desired, &self.seen);
        let is_ready = matches!(
            self.installation,
            Installation::Ready | Installation::Differs { .. }
        );
        if !is_ready {
            let pods = pods(context, self.csv, &self.seen).await?;
            let installation = self.installation.clone();
            self.installation =
                observe::explain(installation, &desired, &self.seen, &pods, &self.now);
        }
        Ok(())
    }

    /// Looks whether the Services are there that are called in place of those that are asked for. What the version
    /// before has is that one's to put right.
    async fn look_for_former_services(
        &mut self,
        context: &Context,
        desired: &Desired,
    ) -> Result<(), Error> {
        let home = self.csv.namespace().unwrap_or_default();
        for service in observe::former_services(desired, &self.seen) {
            if self.takes_over() && service.namespace == home {
                continue;
            }
            let asked = json!({
                "apiVersion": "v1", "kind": "Service",
                "metadata": {"name": service.name, "namespace": service.namespace},
            });
            match context.applier.get(&asked).await {
                Ok(Some(_)) | Err(apply::Error::Forbidden { .. }) => {}
                Ok(None) => self.seen = std::mem::take(&mut self.seen).without(service),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Whether the version that it replaces is still there.
    fn takes_over(&self) -> bool {
        !self.predecessors.is_empty()
    }

    /// What is read before it is known what is asked for: its certificates, and what it may no
    /// longer ask for.
    fn possessions(&self, context: &Context) -> Vec<Value> {
        let namespace = self.csv.namespace().unwrap_or_default();
        let serving = services::serving(self.csv).unwrap_or_default();
        let secrets = serving.iter().map(|served| {
            json!({
                "apiVersion": "v1", "kind": "Secret",
                "metadata": {"name": served.secret(), "namespace": namespace},
            })
        });
        let name = labels::owner_value(&self.csv.name_any());
        // Who calls another version may call what this one serves.
        let chain = self.lineage.chain(self.csv);
        let chain: BTreeSet<String> = chain.iter().map(|it| labels::owner_value(it)).collect();
        let ours = context.components.filter(|component| {
            let owner = component.labels.get(labels::OWNER);
            let kind = component.kind.as_str();
            let is_ours = LEFTOVERS.contains(&kind) && owner == Some(&name);
            let calls = kind.ends_with("WebhookConfiguration")
                && owner.is_some_and(|owner| chain.contains(owner));
            (is_ours || calls) && component.labels.get(labels::OWNER_NAMESPACE) == Some(&namespace)
        });
        let ours = ours.iter().map(|component| {
            json!({
                "apiVersion": component.api_version, "kind": component.kind,
                "metadata": {"name": component.name, "namespace": component.namespace},
            })
        });
        let crds = conversion::crd_names(self.csv)
            .into_iter()
            .map(removal::crd);
        secrets.chain(ours).chain(crds).collect()
    }
}

async fn former_conditions(
    context: &Context,
    csv: &ClusterServiceVersion,
    lineage: &Lineage<'_>,
) -> Result<Vec<OperatorCondition>, Error> {
    let namespace = csv.namespace().unwrap_or_default();
    let api = Api::<OperatorCondition>::namespaced(context.client.clone(), &namespace);
    let mut conditions = Vec::new();
    for older in lineage.in_its_way(csv) {
        let name = older.name_any();
        let found = api.get_opt(&name).await;
        conditions
            .extend(found.map_err(Error::while_(format!("reading OperatorCondition {name}")))?);
    }
    Ok(conditions)
}

/// The Pods of the Deployments of a ClusterServiceVersion. A namespace may have many more.
async fn pods(
    context: &Context,
    csv: &ClusterServiceVersion,
    seen: &Seen,
) -> Result<Vec<Pod>, Error> {
    let namespace = csv.namespace().unwrap_or_default();
    let api = Api::<Pod>::namespaced(context.client.clone(), &namespace);
    let mut pods = Vec::new();
    for template in &csv.spec.install.spec.deployments {
        let deployment = seen.get(&Key::new("Deployment", &namespace, &template.name));
        let Some(selector) = deployment.and_then(observe::selector) else {
            continue;
        };
        let selected = ListParams::default()
            .labels_from(&selector)
            .limit(MOST_PODS);
        let list = api.list(&selected).await;
        pods.extend(list.map_err(Error::while_("listing the Pods of a Deployment"))?);
    }
    Ok(pods)
}
