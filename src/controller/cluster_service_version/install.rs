//! Writes what an operator consists of.

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::api::Patch;
use kube::core::{ApiResource, DynamicObject};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use super::rights;
use super::world::World;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::controller::context::Context;
use crate::controller::error::Error;
use crate::controller::install_plan::account::{self, Access};
use crate::controller::key::ObjectKey;
use crate::controller::run::{MANAGER, patching};
use crate::lifecycle::install::former_names::{self, Former, former_names};
use crate::lifecycle::install::observe::Tiding;
use crate::lifecycle::install::{Key, Seen, Settled, certificates, observe, renewal};
use crate::lifecycle::phase::{Failure, InstallOutcome};
use crate::plan::apply::{self, Applier, How, Writer};

/// Writes what is missing or differs, as the ServiceAccount of the OperatorGroup if it names one.
pub(super) async fn install(context: &Context, world: &World<'_>) -> Result<InstallOutcome, Error> {
    let csv = world.csv;
    let key = ObjectKey::of(csv);
    let ours = context.applier.writing_for(Writer::Lifecycle);
    let applier = match installer(context, &key).await? {
        Ok(applier) => applier,
        Err(message) => return Ok(passing(&message)),
    };
    let now = context.now();
    let renewed =
        match certificates::renew(csv, &world.outlook, &context.attempts.unwritten(csv), &now) {
            Ok(renewed) => renewed,
            Err(error) => return Ok(passing(&error)),
        };
    let certificates_made = renewed != world.outlook.in_use;
    let certificates_until = certificates::rotate_at(&renewed);
    let desired = match world.desired(&renewed) {
        Some(Ok(desired)) => desired,
        Some(Err(error)) => {
            let message = error.to_string();
            return failed(context, world, message, Failure::Senseless).await;
        }
        None => return Ok(passing(&"the namespace has no OperatorGroup of its own")),
    };
    // Before it begins to run.
    if rights::serves_all(context, &key.namespace) == Some(true) {
        match rights::lift(context, csv).await {
            Err(Error::Object(error @ apply::Error::Forbidden { .. })) => {
                return failed(context, world, error.to_string(), Failure::Forbidden).await;
            }
            Err(error) => return Ok(passing(&error)),
            Ok(()) => {}
        }
    }
    context.attempts.made(csv, &renewed, &world.outlook.in_use);
    for tiding in observe::tidings(&desired, &world.seen, &renewed) {
        if let Err(error) = tell_whom_to_trust(context, &tiding).await {
            return Ok(passing(&error));
        }
    }
    for object in observe::writes(&desired, &world.seen) {
        note_contest(context, object, &world.seen);
        match applier.apply(object, How::ServerSideApply).await {
            Ok(outcome) => {
                let object = Key::of(object);
                context.attempts.in_use(&object);
                let settled = Settled {
                    uid: outcome.uid,
                    generation: outcome.generation,
                };
                context.attempts.wrote(&key, object, settled);
            }
            Err(error) => {
                return failed(context, world, error.to_string(), failure_of(&error)).await;
            }
        }
    }
    for leftover in &desired.leftovers {
        if let Err(error) = delete(&ours, leftover).await {
            return Ok(passing(&error));
        }
    }
    for former in former_names(csv) {
        if let Err(error) = delete_former(&ours, csv, &former).await {
            return Ok(passing(&error));
        }
    }
    Ok(InstallOutcome::Done {
        certificates_until,
        certificates_made,
    })
}

/// Renews the certificates that Pods serve with, and writes nothing else: see [`renewal`].
pub(super) async fn renew(context: &Context, world: &World<'_>) -> Result<InstallOutcome, Error> {
    let csv = world.csv;
    let applier = match installer(context, &ObjectKey::of(csv)).await? {
        Ok(applier) => applier,
        Err(message) => return Ok(passing(&message)),
    };
    let now = context.now();
    let renewal = match renewal::renewal(
        csv,
        &world.outlook,
        &world.seen,
        &context.attempts.unwritten(csv),
        &now,
    ) {
        Ok(renewal) => renewal,
        Err(error) => return Ok(passing(&error)),
    };
    let made = &renewal.certificates;
    context.attempts.made(csv, made, &world.outlook.in_use);
    for tiding in &renewal.tidings {
        if let Err(error) = tell_whom_to_trust(context, tiding).await {
            return Ok(passing(&error));
        }
    }
    for secret in &renewal.secrets {
        if let Err(error) = applier.apply(secret, How::ServerSideApply).await {
            return Ok(passing(&error));
        }
        context.attempts.in_use(&Key::of(secret));
    }
    for mark in &renewal.marks {
        let deployment = object_of(&mark.deployment);
        if let Err(error) = applier.change(&deployment, &mark.patch()).await {
            return Ok(passing(&error));
        }
    }
    Ok(InstallOutcome::Done {
        certificates_until: certificates::rotate_at(&renewal.certificates),
        certificates_made: renewal.are_made,
    })
}

/// Who writes: we, or the ServiceAccount of the OperatorGroup. Or why nobody does.
async fn installer(context: &Context, key: &ObjectKey) -> Result<Result<Applier, String>, Error> {
    let ours = context.applier.writing_for(Writer::Lifecycle);
    Ok(match account::of(context, &key.namespace).await? {
        Access::Own => Ok(ours),
        Access::As(account) => Ok(ours.acting_as(&account.namespace, &account.name)),
        Access::None(message) => Err(message),
    })
}

/// It failed, and is tried again soon. It is said: what lasts would otherwise be known from the log alone.
fn passing(why: &impl ToString) -> InstallOutcome {
    InstallOutcome::Failed {
        message: why.to_string(),
        failure: Failure::Passing,
    }
}

/// Takes note of who changed an object that is written back now.
fn note_contest(context: &Context, object: &Value, seen: &Seen) {
    let key = Key::of(object);
    let live = seen.get(&key).filter(|_| observe::is_drift(object, seen));
    if let Some(rival) = live.and_then(|live| observe::rival(live, MANAGER)) {
        context.attempts.written_back(key, rival);
    }
}

/// Has somebody trust another certificate who calls, and changes nothing else of it.
async fn tell_whom_to_trust(context: &Context, tiding: &Tiding) -> Result<(), Error> {
    let change = json!([{"op": "add", "path": tiding.place, "value": tiding.bundle}]);
    // It is one, and so can be read as one.
    let patch = Patch::Json::<()>(serde_json::from_value(change).unwrap_or_default());
    let resource = match tiding.caller.kind.as_str() {
        "APIService" => ApiResource::erase::<APIService>(&()),
        "CustomResourceDefinition" => ApiResource::erase::<CustomResourceDefinition>(&()),
        "MutatingWebhookConfiguration" => ApiResource::erase::<MutatingWebhookConfiguration>(&()),
        _ => ApiResource::erase::<ValidatingWebhookConfiguration>(&()),
    };
    let api = Api::<DynamicObject>::all_with(context.client.clone(), &resource);
    match api
        .patch_metadata(&tiding.caller.name, &patching(), &patch)
        .await
    {
        Ok(_) => Ok(()),
        // It went meanwhile.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(Error::while_(format!(
            "telling {} whom to trust",
            tiding.caller
        ))(error)),
    }
}

fn failure_of(error: &apply::Error) -> Failure {
    match error {
        apply::Error::Forbidden { .. } => Failure::Forbidden,
        error if error.is_permanent() => Failure::Refused,
        _ => Failure::Passing,
    }
}

async fn failed(
    context: &Context,
    world: &World<'_>,
    message: String,
    failure: Failure,
) -> Result<InstallOutcome, Error> {
    if failure != Failure::Passing {
        let config = world.config.as_ref();
        let attempts = &context.attempts;
        attempts
            .give_up(context, world.csv, config, failure)
            .await?;
    }
    Ok(InstallOutcome::Failed { message, failure })
}

/// Deletes the Deployments of an operator that may not run here.
pub(super) async fn delete_deployments(
    context: &Context,
    csv: &ClusterServiceVersion,
) -> Result<(), Error> {
    let namespace = csv.namespace().unwrap_or_default();
    for deployment in &csv.spec.install.spec.deployments {
        let asked = Key::new("Deployment", &namespace, &deployment.name);
        let Some(live) = context.applier.get(&object_of(&asked)).await? else {
            continue;
        };
        let owners = live.pointer("/metadata/ownerReferences");
        let owners = owners.and_then(serde_json::Value::as_array);
        let uid = json!(csv.uid());
        // Of the same name may be one that is another's.
        if owners
            .into_iter()
            .flatten()
            .any(|owner| owner["uid"] == uid)
        {
            context.applier.delete(&live).await?;
        }
    }
    Ok(())
}

async fn delete(applier: &Applier, leftover: &Key) -> Result<(), Error> {
    applier.delete(&object_of(leftover)).await?;
    Ok(())
}

/// Deletes what goes with an API under former names, once nobody is asked under these any more.
async fn delete_former(
    applier: &Applier,
    csv: &ClusterServiceVersion,
    former: &Former,
) -> Result<(), Error> {
    let api = applier.get(&object_of(&former.api)).await?;
    if api.is_some_and(|api| former_names::is_called(&api, csv)) {
        return Ok(());
    }
    for key in &former.objects {
        let live = applier.get(&object_of(key)).await?;
        if let Some(live) = live.filter(|live| former_names::is_of(live, csv)) {
            applier.delete(&live).await?;
        }
    }
    Ok(())
}

/// An object of one of the kinds that are deleted here, as one asks for it.
fn object_of(key: &Key) -> Value {
    let api_version = match key.kind.as_str() {
        "Service" | "Secret" => "v1",
        "Role" | "RoleBinding" | "ClusterRoleBinding" => "rbac.authorization.k8s.io/v1",
        "Deployment" => "apps/v1",
        "APIService" => "apiregistration.k8s.io/v1",
        _ => "admissionregistration.k8s.io/v1",
    };
    let mut metadata = json!({"name": key.name});
    if !key.namespace.is_empty() {
        metadata["namespace"] = json!(key.namespace);
    }
    json!({"apiVersion": api_version, "kind": key.kind, "metadata": metadata})
}
