//! From a solution and the contents of its bundles to an InstallPlan.
//!
//! The same input gives the same plan, to the byte, in whatever order it is handed in.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Resource as _, ResourceExt as _};
use serde_json::{Value, json};
use thiserror::Error;

use super::approval::{Approvals, Inherited};
use super::contents::{Contents, member};
use super::name::{content_hash, next_generation, plan_name};
use super::rbac::RbacError;
use super::reference::{CsvAdditions, Manifest};
use super::step::{self, Origin, Properties};
use crate::api::conditions::InstallPlanPhase;
use crate::api::install_plan::{Approval, InstallPlan, InstallPlanSpec, InstallPlanStatus, Step};
use crate::api::labels;
use crate::api::subscription::{ApprovalPolicy, Subscription};
use crate::bundle::Property;
use crate::bundle::property::{BUNDLE_OBJECT, CSV_METADATA};
use crate::resolver::{GeneratedSubscription, Install, Solution};

/// Everything that decides what a plan says.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The namespace of the plan.
    pub namespace: &'a str,
    /// What is to be installed.
    pub solution: &'a Solution,
    /// The bundles of the solution, by name.
    pub bundles: &'a BTreeMap<String, BundleInput>,
    /// The Subscriptions of the namespace; those of the solution become owners of the plan.
    pub subscriptions: &'a [&'a Subscription],
    /// All plans of the namespace: the new one has a greater generation.
    pub existing: &'a [&'a InstallPlan],
    /// Whether it has to be approved; see [`decide`](super::decide).
    pub approvals: &'a Approvals,
}

/// A bundle that is to be installed.
#[derive(Debug, Clone, PartialEq)]
pub struct BundleInput {
    /// What is in it.
    pub contents: Contents,
    /// Where that can be had again.
    pub source: Source,
    /// What its catalog says of it: types, and values as JSON.
    pub properties: Vec<(String, String)>,
}

/// Where the contents of a bundle can be had again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// From an image, by digest: `repository@sha256:…`.
    Image(String),
    /// Nowhere: the plan has to hold them.
    Inline,
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BuildError {
    /// A bundle of the solution was not handed in.
    #[error("the bundle {bundle} was not read")]
    MissingBundle {
        /// Its name.
        bundle: String,
    },
    /// The catalog has another name for it than it has itself.
    #[error(
        "the bundle that catalog {catalog} calls {bundle} has the ClusterServiceVersion {csv}; ask the catalog's authors to name it so"
    )]
    OtherCsv {
        /// What the catalog calls it.
        bundle: String,
        /// What it is called.
        csv: String,
        /// The catalog.
        catalog: String,
    },
    /// A tag may mean something else tomorrow.
    #[error("the image {image} of bundle {bundle} is not named by digest")]
    NotPinned {
        /// The bundle.
        bundle: String,
        /// Its image.
        image: String,
    },
    /// A property of the bundle is no JSON.
    #[error(
        "the property {kind} of bundle {bundle} cannot be read: {problem}; ask the catalog's authors to mend it"
    )]
    Property {
        /// The bundle.
        bundle: String,
        /// The type of the property.
        kind: String,
        /// What is wrong.
        problem: String,
    },
    /// The permissions of the operator cannot be read.
    #[error(transparent)]
    Rbac(#[from] RbacError),
    /// Nobody could store the plan.
    #[error(
        "the InstallPlan for {csvs} would have {size} bytes, and etcd takes no more than {limit}: catalog {catalog} has bundle {largest} without an image, so that the plan has to hold all of it ({share} bytes); ask the catalog's authors to put it into an image (`chandler bundle push`) and name that"
    )]
    TooLarge {
        /// What the plan would install.
        csvs: String,
        /// How large the plan would be.
        size: usize,
        /// How large it may be.
        limit: usize,
        /// The bundle with the largest part of it.
        largest: String,
        /// How large that is.
        share: usize,
        /// Its catalog.
        catalog: String,
    },
}

/// Makes the plan for a solution. It has a name, owners, and a status with all steps.
pub fn build(input: Input<'_>) -> Result<InstallPlan, BuildError> {
    let mut steps = Vec::new();
    for install in &input.solution.install {
        steps.extend(bundle_steps(input, install)?);
        let generated = input.solution.subscriptions.iter();
        let mut generated: Vec<_> = generated
            .filter(|generated| generated.starting_csv == install.bundle)
            .collect();
        generated.sort();
        steps.extend(
            generated
                .into_iter()
                .map(|generated| subscription_step(input, generated)),
        );
    }
    let content = content_hash(&steps);
    let generation = next_generation(input.existing);
    let name = plan_name(input.namespace, generation, &content);
    for step in &mut steps {
        sign(step, &name);
    }

    let catalogs: BTreeSet<&str> = steps
        .iter()
        .map(|step| step.resource.source_name.as_str())
        .collect();
    let catalogs = catalogs.into_iter().map(str::to_owned).collect();
    let csvs = input.solution.install.iter();
    let csvs = csvs.map(|install| install.bundle.clone()).collect();
    let waits = input.approvals.plan == Approval::Manual;
    let mut plan = InstallPlan::new(
        &name,
        InstallPlanSpec {
            cluster_service_version_names: csvs,
            approval: input.approvals.plan.clone(),
            approved: !waits,
            generation,
            ..InstallPlanSpec::default()
        },
    );
    plan.metadata.namespace = Some(input.namespace.to_owned());
    plan.metadata.owner_references = Some(owners(input));
    plan.metadata.labels = Some(BTreeMap::from([
        (labels::MANAGED.to_owned(), "true".to_owned()),
        (labels::PLAN_CONTENT_HASH.to_owned(), content),
    ]));
    plan.status = Some(InstallPlanStatus {
        phase: if waits {
            InstallPlanPhase::RequiresApproval
        } else {
            InstallPlanPhase::Installing
        },
        catalog_sources: catalogs,
        plan: steps,
        message: if waits {
            waiting(input, &name)
        } else {
            String::new()
        },
        ..InstallPlanStatus::default()
    });
    if let Some(error) = too_large(&plan) {
        return Err(error);
    }
    Ok(plan)
}

/// What is larger the API server refuses, in words that help nobody. etcd takes 1.5 MiB; some of that
/// is for what the API server adds, such as who wrote which field.
const SIZE_LIMIT: usize = 1_450_000;

fn too_large(plan: &InstallPlan) -> Option<BuildError> {
    // Texts and numbers: writing them does not fail.
    let size = serde_json::to_vec(plan).map_or(0, |json| json.len());
    if size <= SIZE_LIMIT {
        return None;
    }
    let mut shares: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for step in plan.status.iter().flat_map(|status| &status.plan) {
        let bundle = (step.resolving.as_str(), step.resource.source_name.as_str());
        *shares.entry(bundle).or_default() += step.resource.manifest.len();
    }
    let ((largest, catalog), share) = shares.into_iter().max_by_key(|(_, share)| *share)?;
    Some(BuildError::TooLarge {
        csvs: plan.spec.cluster_service_version_names.join(", "),
        size,
        limit: SIZE_LIMIT,
        largest: largest.to_owned(),
        share,
        catalog: catalog.to_owned(),
    })
}

fn bundle_steps(input: Input<'_>, install: &Install) -> Result<Vec<Step>, BuildError> {
    let bundle = &install.bundle;
    let read = input.bundles.get(bundle);
    let read = read.ok_or_else(|| BuildError::MissingBundle {
        bundle: bundle.clone(),
    })?;
    if read.contents.name() != bundle {
        return Err(BuildError::OtherCsv {
            bundle: bundle.clone(),
            csv: read.contents.name().to_owned(),
            catalog: install.catalog.clone(),
        });
    }
    let image = match &read.source {
        Source::Inline => None,
        Source::Image(image) if is_pinned(image) => Some(image.as_str()),
        Source::Image(image) => {
            return Err(BuildError::NotPinned {
                bundle: bundle.clone(),
                image: image.clone(),
            });
        }
    };
    let additions = CsvAdditions {
        replaces: (!install.replaces.is_empty()).then(|| install.replaces.clone()),
        properties: properties_annotation(bundle, &read.properties)?,
    };
    let origin = Origin {
        namespace: input.namespace,
        catalog: &install.catalog,
        catalog_namespace: &install.catalog_namespace,
        image,
    };
    Ok(step::of_bundle(&read.contents, &additions, origin)?)
}

fn is_pinned(image: &str) -> bool {
    let digest = image.split_once('@').map(|(_, digest)| digest);
    digest.is_some_and(|digest| digest.parse::<crate::oci::Digest>().is_ok())
}

/// What the CSV says of its properties. Manifests and descriptions are left out: they are in the
/// bundle, and would make the CSV twice as large.
fn properties_annotation(
    bundle: &str,
    properties: &[(String, String)],
) -> Result<String, BuildError> {
    let told = properties
        .iter()
        .filter(|(kind, _)| kind != BUNDLE_OBJECT && kind != CSV_METADATA);
    let properties = told.map(|(kind, json)| {
        let value = serde_json::from_str(json).map_err(|error| BuildError::Property {
            bundle: bundle.to_owned(),
            kind: kind.clone(),
            problem: error.to_string(),
        })?;
        Ok(Property {
            kind: kind.clone(),
            value,
        })
    });
    let properties = Properties {
        properties: properties.collect::<Result<_, BuildError>>()?,
    };
    // Texts and values that were JSON before: writing them does not fail.
    Ok(serde_json::to_string(&properties).unwrap_or_default())
}

fn subscription_step(input: Input<'_>, generated: &GeneratedSubscription) -> Step {
    let inherited = input.approvals.generated.get(&generated.name);
    let object = subscription(input.namespace, generated, inherited);
    let origin = Origin {
        namespace: input.namespace,
        catalog: &generated.catalog,
        catalog_namespace: &generated.catalog_namespace,
        image: None,
    };
    let manifest = Manifest::Inline(object.clone());
    step::of_object(&generated.starting_csv, &object, &manifest, origin)
}

fn subscription(
    namespace: &str,
    generated: &GeneratedSubscription,
    inherited: Option<&Inherited>,
) -> Value {
    let approval = inherited.map_or(&Approval::Automatic, |of| &of.install_plan_approval);
    let mut spec = json!({
        "source": generated.catalog,
        "sourceNamespace": generated.catalog_namespace,
        "name": generated.package,
        "channel": generated.channel,
        "startingCSV": generated.starting_csv,
        "installPlanApproval": approval,
    });
    if let Some(Inherited { policy, .. }) = inherited
        && *policy != ApprovalPolicy::Unset
    {
        member(&mut spec, "policy", json!({ "approval": policy }));
    }
    json!({
        "apiVersion": Subscription::api_version(&()),
        "kind": Subscription::kind(&()),
        "metadata": { "name": generated.name, "namespace": namespace },
        "spec": spec,
    })
}

/// Writes the name of the plan on the Subscriptions it generates.
fn sign(step: &mut Step, plan: &str) {
    if step.resource.kind != Subscription::kind(&()) {
        return;
    }
    if let Ok(Manifest::Inline(mut object)) = Manifest::of(step) {
        if let Some(metadata) = object.pointer_mut("/metadata") {
            member(
                metadata,
                "annotations",
                json!({ labels::GENERATED_BY: plan }),
            );
        }
        step.resource.manifest = Manifest::Inline(object).write();
    }
}

/// The Subscriptions of the solution, by name. Who is not in the cluster yet cannot own anything.
fn owners(input: Input<'_>) -> Vec<OwnerReference> {
    let mut owners: Vec<OwnerReference> = input
        .subscriptions
        .iter()
        .filter(|subscription| input.solution.requests.contains(&subscription.name_any()))
        .filter_map(|subscription| {
            Some(OwnerReference {
                api_version: Subscription::api_version(&()).into_owned(),
                kind: Subscription::kind(&()).into_owned(),
                name: subscription.metadata.name.clone()?,
                uid: subscription.metadata.uid.clone()?,
                controller: Some(false),
                block_owner_deletion: Some(false),
            })
        })
        .collect();
    owners.sort_by(|a, b| (&a.name, &a.uid).cmp(&(&b.name, &b.uid)));
    owners
}

/// What a plan says that waits for approval.
fn waiting(input: Input<'_>, name: &str) -> String {
    let namespace = input.namespace;
    let reasons = match input.approvals.reasons.join("; ") {
        reasons if reasons.is_empty() => reasons,
        reasons => format!(": {reasons}"),
    };
    format!(
        "waits for approval{reasons}. To approve it: chandler approve {name} -n {namespace}, or: kubectl patch installplan {name} -n {namespace} --type merge -p '{{\"spec\":{{\"approved\":true}}}}'"
    )
}
