//! A small cluster: ClusterServiceVersions of namespace `ns`, what they need and what they get.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt as _;
use serde_json::{Value, json};

use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::cluster_service_version::status::{ClusterServiceVersionStatus, CsvCondition};
use crate::api::conditions::{CsvPhase, CsvReason};
use crate::api::gvk::GroupVersionKind;
use crate::api::labels;
use crate::api::operator_condition::OperatorCondition;
use crate::api::operator_group::{OperatorGroup, UpgradeStrategy};
use crate::lifecycle::install::state::{ApiServices, Certificates, Installation};
use crate::lifecycle::phase::{
    Action, Contested, Decision, Event, InstallOutcome, SinceGivenUp, Situation, after_install,
    after_renewal, next,
};
use crate::lifecycle::provided_apis::{self, Surface};
use crate::lifecycle::replacement::Lineage;
use crate::lifecycle::requirements::{
    self, AccountFact, ApiServiceFact, ApiServiceOwner, CrdFact, Facts, Rbac,
};

pub(super) const NAMESPACE: &str = "ns";
pub(super) const CRD: &str = "c1.g1";

/// What is installed of one ClusterServiceVersion.
#[derive(Clone, Debug)]
pub(super) struct Installed {
    pub(super) installation: Installation,
    pub(super) certificates: Certificates,
    pub(super) served_apis: ApiServices,
}

#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) csvs: Vec<ClusterServiceVersion>,
    pub(super) groups: Vec<OperatorGroup>,
    pub(super) others: Vec<OperatorGroup>,
    pub(super) conditions: Vec<OperatorCondition>,
    pub(super) crds: BTreeMap<String, CrdFact>,
    pub(super) api_services: BTreeMap<String, ApiServiceFact>,
    pub(super) served: BTreeSet<GroupVersionKind>,
    pub(super) accounts: BTreeMap<String, AccountFact>,
    pub(super) roles: Vec<Role>,
    pub(super) bindings: Vec<RoleBinding>,
    pub(super) installed: BTreeMap<String, Installed>,
    /// What is there once something was installed.
    pub(super) after_install: Installed,
    pub(super) outcome: InstallOutcome,
    pub(super) since_given_up: SinceGivenUp,
    pub(super) rotate_at: Option<Time>,
    pub(super) contested: Option<Contested>,
    pub(super) now: Time,
    pub(super) actions: Vec<Action>,
    pub(super) events: Vec<Event>,
}

impl World {
    /// A namespace with one group that has the API of the CRD `c1.g1`, which is there.
    pub(super) fn new(csvs: impl IntoIterator<Item = ClusterServiceVersion>) -> Self {
        Self {
            csvs: csvs.into_iter().collect(),
            groups: vec![group("default", &[NAMESPACE], "c1.v1.g1")],
            others: Vec::new(),
            conditions: Vec::new(),
            crds: BTreeMap::from([(CRD.to_owned(), crd())]),
            api_services: BTreeMap::new(),
            served: BTreeSet::new(),
            accounts: BTreeMap::new(),
            roles: Vec::new(),
            bindings: Vec::new(),
            installed: BTreeMap::new(),
            after_install: running(),
            outcome: InstallOutcome::Done {
                certificates_until: None,
                certificates_made: false,
            },
            since_given_up: SinceGivenUp::Same {
                rest: Duration::from_mins(1),
            },
            rotate_at: None,
            contested: None,
            now: time(0),
            actions: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Reconciles each ClusterServiceVersion once, in the order in which they were given.
    pub(super) fn sync(&mut self) -> &mut Self {
        let names: Vec<String> = self
            .csvs
            .iter()
            .map(ClusterServiceVersion::name_any)
            .collect();
        for name in names {
            self.sync_one(&name);
        }
        self
    }

    /// Reconciles one. Says whether anything was written.
    pub(super) fn sync_one(&mut self, name: &str) -> bool {
        let Some(at) = self.csvs.iter().position(|csv| csv.name_any() == name) else {
            return false;
        };
        let decision = self.decide(name);
        let before = (self.csvs.clone(), self.groups.clone());
        self.note(at, &decision);
        for action in decision.actions {
            self.actions.push(action.clone());
            match action {
                Action::Annotate(marks) => self.csvs[at].annotations_mut().extend(marks),
                Action::UpdateGroup => self.update_group(),
                Action::Install => self.install(at),
                Action::Renew => self.renew(at),
                Action::DeleteDeployments => {
                    self.installed.remove(name);
                }
                Action::EnsureApiRoles => {}
                Action::Delete => {
                    self.csvs.remove(at);
                }
            }
        }
        before != (self.csvs.clone(), self.groups.clone())
    }

    /// What comes next for one.
    pub(super) fn decide(&self, name: &str) -> Decision {
        let csv = self.csv(name);
        let lineage = Lineage::new(&self.csvs);
        let facts = Facts {
            server_version: Some("v1.33.2".to_owned()),
            crds: self.crds.clone(),
            api_services: self.api_services.clone(),
            served: self.served.clone(),
            accounts: self.accounts.clone(),
            rbac: Rbac {
                roles: self.roles.iter().collect(),
                role_bindings: self.bindings.iter().collect(),
                ..Rbac::default()
            },
            lineage: lineage.clone(),
        };
        let requirements = requirements::check(csv, &facts);
        let groups: Vec<_> = self.groups.iter().collect();
        let surfaces = self.surfaces();
        let asked = lineage.in_its_way(csv);
        let asked = |condition: &&OperatorCondition| {
            let name = condition.name_any();
            asked.iter().any(|older| older.name_any() == name)
        };
        let conditions: Vec<_> = self.conditions.iter().filter(asked).cloned().collect();
        let installed = self.installed.get(name).cloned().unwrap_or_else(nothing);
        next(&Situation {
            csv,
            lineage: &lineage,
            groups: &groups,
            other_groups: &surfaces,
            former_conditions: &conditions,
            requirements: &requirements,
            api_services: &self.api_services,
            installation: &installed.installation,
            certificates: &installed.certificates,
            rotate_at: self.rotate_at.as_ref(),
            is_renewal_due: matches!(
                installed.certificates,
                Certificates::Due | Certificates::Missing { .. }
            ),
            served_apis: &installed.served_apis,
            contested: self.contested.as_ref(),
            since_given_up: self.since_given_up,
            now: &self.now,
        })
    }

    fn install(&mut self, at: usize) {
        let csv = self.csvs[at].clone();
        if matches!(self.outcome, InstallOutcome::Done { .. }) {
            self.installed
                .insert(csv.name_any(), self.after_install.clone());
        }
        let decision = after_install(&csv, &self.outcome, &self.now);
        self.note(at, &decision);
    }

    fn renew(&mut self, at: usize) {
        let csv = self.csvs[at].clone();
        if let Some(installed) = self.installed.get_mut(&csv.name_any()) {
            installed.certificates = Certificates::Fine;
        }
        let decision = after_renewal(&csv, &self.outcome, &self.now);
        self.note(at, &decision);
    }

    fn note(&mut self, at: usize, decision: &Decision) {
        self.events.extend(decision.events.clone());
        if let Some(status) = &decision.status {
            self.csvs[at].status = Some(status.clone());
        }
    }

    fn update_group(&mut self) {
        let surfaces = self.surfaces();
        let members: Vec<_> = self.csvs.iter().collect();
        let group = self.groups.first_mut().unwrap();
        if let Some(value) = provided_apis::annotation(group, &members, &surfaces) {
            group
                .annotations_mut()
                .insert(labels::PROVIDED_APIS.to_owned(), value);
        }
    }

    fn surfaces(&self) -> Vec<Surface> {
        self.others.iter().map(Surface::of).collect()
    }

    pub(super) fn csv(&self, name: &str) -> &ClusterServiceVersion {
        self.csvs.iter().find(|csv| csv.name_any() == name).unwrap()
    }

    pub(super) fn status(&self, name: &str) -> ClusterServiceVersionStatus {
        self.csv(name).status.clone().unwrap_or_default()
    }

    pub(super) fn exists(&self, name: &str) -> bool {
        self.csvs.iter().any(|csv| csv.name_any() == name)
    }

    #[track_caller]
    pub(super) fn expect_phase(&self, name: &str, phase: &CsvPhase) -> &Self {
        let status = self.status(name);
        assert_eq!(
            status.phase, *phase,
            "{name}: {} {}",
            status.reason, status.message
        );
        self
    }

    #[track_caller]
    pub(super) fn expect(
        &self,
        name: &str,
        phase: &CsvPhase,
        reason: &CsvReason,
        words: &str,
    ) -> &Self {
        let status = self.status(name);
        self.expect_phase(name, phase);
        assert_eq!(status.reason, *reason, "{name}: {}", status.message);
        assert!(
            status.message.starts_with(words),
            "{name}: {}",
            status.message
        );
        self
    }

    pub(super) fn with_installed(mut self, name: &str, installed: Installed) -> Self {
        self.installed.insert(name.to_owned(), installed);
        self
    }

    pub(super) fn without_crd(mut self) -> Self {
        self.crds.clear();
        self
    }

    pub(super) fn fail_forward(mut self) -> Self {
        self.groups[0].spec.upgrade_strategy = UpgradeStrategy::UnsafeFailForward;
        self
    }

    pub(super) fn provided(mut self, apis: &str) -> Self {
        let annotations = self.groups[0].annotations_mut();
        annotations.insert(labels::PROVIDED_APIS.to_owned(), apis.to_owned());
        self
    }
}

pub(super) fn time(seconds: i64) -> Time {
    Time(k8s_openapi::jiff::Timestamp::from_second(1_790_000_000 + seconds).unwrap())
}

pub(super) fn group(name: &str, targets: &[&str], apis: &str) -> OperatorGroup {
    serde_json::from_value(json!({
        "apiVersion": "operators.coreos.com/v1",
        "kind": "OperatorGroup",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "creationTimestamp": "2026-01-01T00:00:05Z",
            "annotations": {"olm.providedAPIs": apis},
        },
        "spec": {},
        "status": {"namespaces": targets},
    }))
    .unwrap()
}

/// A group of another namespace that covers all.
pub(super) fn rival(apis: &str, created: &str) -> OperatorGroup {
    let mut rival = group("rival", &[""], apis);
    rival.metadata.namespace = Some("elsewhere".to_owned());
    rival.metadata.creation_timestamp = Some(serde_json::from_value(json!(created)).unwrap());
    rival
}

/// A member of the group that owns the CRD `c1.g1` and supports every choice of namespaces.
pub(super) fn csv(name: &str, phase: &CsvPhase) -> ClusterServiceVersion {
    let modes = [
        "OwnNamespace",
        "SingleNamespace",
        "MultiNamespace",
        "AllNamespaces",
    ];
    let modes: Vec<Value> = modes
        .iter()
        .map(|mode| json!({"type": mode, "supported": true}))
        .collect();
    serde_json::from_value(json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "uid": format!("{name}-uid"),
            "annotations": {
                "olm.operatorGroup": "default",
                "olm.operatorNamespace": NAMESPACE,
                "olm.targetNamespaces": NAMESPACE,
            },
        },
        "spec": {
            "installModes": modes,
            "install": {
                "strategy": "deployment",
                "spec": {"deployments": [{"name": format!("{name}-dep1"), "spec": {}}]},
            },
            "customresourcedefinitions": {
                "owned": [{"name": CRD, "version": "v1", "kind": "c1"}],
            },
        },
        "status": {"phase": phase},
    }))
    .unwrap()
}

pub(super) trait Csv {
    fn replaces(self, name: &str) -> Self;
    fn because(self, reason: &CsvReason) -> Self;
    fn since(self, seconds: i64) -> Self;
    fn once(self, phase: &CsvPhase) -> Self;
    fn without_crds(self) -> Self;
    fn owning_api(self, deployment: &str) -> Self;
    fn requiring_api(self) -> Self;
}

impl Csv for ClusterServiceVersion {
    fn replaces(mut self, name: &str) -> Self {
        name.clone_into(&mut self.spec.replaces);
        self
    }

    fn because(mut self, reason: &CsvReason) -> Self {
        self.status.get_or_insert_default().reason = reason.clone();
        self
    }

    fn since(mut self, seconds: i64) -> Self {
        self.status.get_or_insert_default().last_transition_time = Some(time(seconds));
        self
    }

    /// It has been in a phase before.
    fn once(mut self, phase: &CsvPhase) -> Self {
        let history = &mut self.status.get_or_insert_default().conditions;
        history.push(CsvCondition {
            phase: phase.clone(),
            ..CsvCondition::default()
        });
        self
    }

    fn without_crds(mut self) -> Self {
        self.spec.custom_resource_definitions.owned.clear();
        self
    }

    /// It serves `a1Kind.v1.a1` itself.
    fn owning_api(mut self, deployment: &str) -> Self {
        self.spec.api_service_definitions.owned = api_description(deployment);
        self
    }

    /// It needs `a1Kind.v1.a1`.
    fn requiring_api(mut self) -> Self {
        self.spec.api_service_definitions.required = api_description("");
        self
    }
}

fn api_description<T: serde::de::DeserializeOwned>(deployment: &str) -> T {
    serde_json::from_value(json!([{
        "name": "a1s", "group": "a1", "version": "v1", "kind": "a1Kind",
        "deploymentName": deployment,
    }]))
    .unwrap()
}

pub(super) fn crd() -> CrdFact {
    CrdFact {
        uid: "crd-uid".to_owned(),
        served: BTreeSet::from(["v1".to_owned()]),
        available: true,
        alongside: BTreeSet::new(),
    }
}

pub(super) fn api_service(available: bool, owner: &str, phase: Option<CsvPhase>) -> ApiServiceFact {
    ApiServiceFact {
        uid: "api-uid".to_owned(),
        available,
        owner: Some(ApiServiceOwner {
            namespace: NAMESPACE.to_owned(),
            name: owner.to_owned(),
            phase,
        }),
    }
}

pub(super) fn running() -> Installed {
    Installed {
        installation: Installation::Ready,
        certificates: Certificates::Unneeded,
        served_apis: ApiServices::Fine,
    }
}

pub(super) fn nothing() -> Installed {
    let message = "missing deployment with name=dep1".to_owned();
    Installed {
        installation: Installation::Differs { message },
        ..running()
    }
}

pub(super) fn drifted() -> Installed {
    let message = "deployment changed old hash=a, new hash=b".to_owned();
    Installed {
        installation: Installation::Differs { message },
        ..running()
    }
}

pub(super) fn waiting() -> Installed {
    let message = "waiting for deployment dep1 to become ready: 0 of 1".to_owned();
    Installed {
        installation: Installation::Waiting {
            message,
            is_failing: false,
        },
        ..running()
    }
}

pub(super) fn crashing() -> Installed {
    let message = "waiting for deployment dep1 to become ready: CrashLoopBackOff".to_owned();
    Installed {
        installation: Installation::Waiting {
            message,
            is_failing: true,
        },
        ..running()
    }
}

pub(super) fn stuck() -> Installed {
    let message = "deployment dep1 not ready before timeout: progress deadline".to_owned();
    Installed {
        installation: Installation::Stuck { message },
        ..running()
    }
}

pub(super) fn certified(certificates: Certificates) -> Installed {
    Installed {
        certificates,
        ..running()
    }
}

pub(super) fn unserved(since_disruption: bool) -> Installed {
    let message = "v1.a1 is not available".to_owned();
    Installed {
        served_apis: ApiServices::Unavailable {
            message,
            since_disruption,
        },
        certificates: Certificates::Fine,
        ..running()
    }
}
