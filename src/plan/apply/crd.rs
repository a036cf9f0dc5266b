//! CRDs: replaced only when nothing in the cluster is harmed.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceConversion, CustomResourceDefinition,
};
use serde_json::{Value, json};

use super::kinds::Kind;
use super::{ATTEMPTS, Applied, Applier, Error, FIELD_MANAGER, Target, keep, objects, ready};
use crate::api::labels;
use crate::plan::crd::{ChangeKind, Verdict, upgrade_v1beta1};
use crate::plan::object::keep_companions;

/// What came of writing a CRD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppliedCrd {
    /// As for every object.
    pub applied: Applied,
    /// What a user should know about objects that are there, as sentences; an event `CRDValidation`.
    pub doubts: Vec<String>,
    /// Whether objects of it can be created already.
    pub is_established: bool,
}

/// Who converts the objects of a CRD from one version to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// Whoever the CRD names.
    AsWritten,
    /// A webhook of the CSV, which whoever runs the CSV writes into the CRD.
    ByCsv,
}

/// One at a time for each CRD, and for whatever else is in no namespace: plans of two namespaces may bring the
/// same one, and what the second would replace has to be there when it looks.
#[derive(Debug, Default)]
pub(super) struct Turns(Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>);

impl Turns {
    pub(super) fn of(&self, object: &str) -> Arc<tokio::sync::Mutex<()>> {
        // Whoever panicked with it left a whole map: changes are single calls.
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        turns.entry(object.to_owned()).or_default().clone()
    }
}

impl Applier {
    /// Brings the cluster to this CRD, of v1 or v1beta1, unless that harms objects that are there.
    ///
    /// It is always done with our own rights, as for OLM: whether objects everywhere are harmed is
    /// nothing that a namespace's account can see.
    pub async fn apply_crd(
        &self,
        manifest: &Value,
        conversion: Conversion,
    ) -> Result<AppliedCrd, Error> {
        let ours = Self {
            account: None,
            ..self.clone()
        };
        let mut notes = Vec::new();
        let manifest = as_v1(manifest, &mut notes)?;
        let target = Target::of(&manifest)?;
        let kind = ours.kind(&target).await?;
        let manifest = ready(&manifest, &kind, &target)?;
        let turn = self.turns.of(&target.name);
        let _turn = turn.lock().await;
        let mut attempt = 1;
        loop {
            match ours
                .replace_crd(&manifest, conversion, &target, &kind)
                .await
            {
                Err(Error::Conflict { .. }) if attempt < ATTEMPTS => attempt += 1,
                Ok(mut applied) => {
                    applied.doubts.extend(notes);
                    return Ok(applied);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether objects of the CRD of this name can be created; `None` if there is no such CRD.
    pub async fn crd_is_established(&self, name: &str) -> Result<Option<bool>, Error> {
        Ok(self.crd(name).await?.as_ref().map(is_established))
    }

    /// The CRD of this name, as it is in the cluster.
    pub async fn crd(&self, name: &str) -> Result<Option<Value>, Error> {
        self.get(&json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": name},
        }))
        .await
    }

    async fn replace_crd(
        &self,
        manifest: &Value,
        conversion: Conversion,
        target: &Target,
        kind: &Kind,
    ) -> Result<AppliedCrd, Error> {
        let mut wanted = manifest.clone();
        let mut doubts = Vec::new();
        let live = self.live(target, kind).await?;
        if let Some(live) = &live {
            if live.pointer("/metadata/deletionTimestamp").is_some() {
                return Err(Error::Unavailable {
                    target: Box::new(target.clone()),
                    message: "it is being deleted, with all its objects; as soon as it is gone, it is made anew".to_owned(),
                });
            }
            doubts = self.check_crd(live, manifest, conversion, target).await?;
        }
        if let Some(live) = live {
            let live = self.take_over(live, target, kind).await?;
            self.keep_in_crd(&mut wanted, &live).await;
        }
        let (applied, live) = self.server_side_apply(wanted, target, kind).await?;
        Ok(AppliedCrd {
            applied,
            doubts,
            is_established: is_established(&live),
        })
    }

    /// Refuses what harms live objects; gives what is doubtful.
    async fn check_crd(
        &self,
        live: &Value,
        manifest: &Value,
        conversion: Conversion,
        target: &Target,
    ) -> Result<Vec<String>, Error> {
        let old = read(live, target)?;
        let mut new = read(manifest, target)?;
        if conversion == Conversion::ByCsv {
            new.spec.conversion = Some(CustomResourceConversion {
                strategy: "Webhook".to_owned(),
                webhook: None,
            });
        } else if keep::conversion_is_taken(live, FIELD_MANAGER) {
            new.spec.conversion.clone_from(&old.spec.conversion);
        }
        let verdict = objects::judge(&self.connection, target, old, new).await?;
        if !verdict.is_allowed() {
            return Err(Error::CrdUnsafe {
                message: refusal(&verdict, target, manifest),
                target: Box::new(target.clone()),
            });
        }
        Ok(if verdict.harms_objects() {
            vec![verdict.text()]
        } else {
            verdict.warnings
        })
    }

    /// Keeps what others have in a live CRD, and makes the write depend on what was read.
    async fn keep_in_crd(&self, wanted: &mut Value, live: &Value) {
        let mut csvs = HashSet::new();
        for csv in keep::installed_alongside(live) {
            if self.may_exist(csv).await {
                csvs.insert(csv);
            }
        }
        let exists = |namespace: &str, name: &str| csvs.contains(&*format!("{namespace}/{name}"));
        keep_companions(wanted, live, exists);
        if keep::conversion_is_taken(live, FIELD_MANAGER)
            && let Some(spec) = wanted.get_mut("spec").and_then(Value::as_object_mut)
        {
            spec.shift_remove("conversion");
        }
        keep::version(wanted, live);
    }

    /// Whether a CSV `namespace/name` exists, and is no copy, as far as can be told. The annotations of
    /// those that are gone would add up.
    async fn may_exist(&self, csv: &str) -> bool {
        let Some((namespace, name)) = csv.split_once('/') else {
            return false;
        };
        let asked = json!({
            "apiVersion": format!("{}/v1alpha1", crate::api::GROUP), "kind": "ClusterServiceVersion",
            "metadata": {"name": name, "namespace": namespace},
        });
        match self.get(&asked).await {
            Ok(Some(csv)) => csv
                .pointer("/metadata/labels")
                .and_then(|labels| labels.get(labels::COPIED_FROM))
                .is_none(),
            Ok(None) => false,
            Err(_) => true,
        }
    }
}

/// Why the API server does not serve a CRD, if it says that it will not: another one has its names.
pub fn refused_names(crd: &Value) -> Option<&str> {
    let conditions = crd.pointer("/status/conditions")?.as_array()?;
    let names = conditions.iter().find(|it| {
        let text = |key: &str| it.get(key).and_then(Value::as_str);
        text("type") == Some("NamesAccepted") && text("status") == Some("False")
    });
    names?.get("message")?.as_str()
}

/// Whether objects of a CRD can be created: its names are taken, and the API serves it.
pub fn is_established(crd: &Value) -> bool {
    let conditions = crd.pointer("/status/conditions").and_then(Value::as_array);
    let holds = |type_: &str| {
        conditions.into_iter().flatten().any(|condition| {
            condition.get("type").and_then(Value::as_str) == Some(type_)
                && condition.get("status").and_then(Value::as_str) == Some("True")
        })
    };
    holds("Established") && holds("NamesAccepted")
}

/// The CRD as one of v1.
fn as_v1(manifest: &Value, notes: &mut Vec<String>) -> Result<Value, Error> {
    let target = Target::of(manifest)?;
    if target.gvk.version == "v1" {
        return Ok(manifest.clone());
    }
    let invalid = |message: String| Error::Invalid {
        target: Box::new(target.clone()),
        message,
    };
    let upgraded = upgrade_v1beta1(manifest.clone()).map_err(|error| {
        invalid(format!(
            "it cannot be made one of apiextensions.k8s.io/v1, the only version that Kubernetes has: {error}"
        ))
    })?;
    notes.extend(upgraded.notes);
    let mut crd =
        serde_json::to_value(&upgraded.crd).map_err(|error| invalid(error.to_string()))?;
    if let Some(fields) = crd.as_object_mut() {
        fields.insert("apiVersion".to_owned(), json!("apiextensions.k8s.io/v1"));
        fields.insert("kind".to_owned(), json!("CustomResourceDefinition"));
    }
    Ok(crd)
}

fn read(crd: &Value, target: &Target) -> Result<CustomResourceDefinition, Error> {
    serde_json::from_value(crd.clone()).map_err(|error| Error::Invalid {
        target: Box::new(target.clone()),
        message: format!("it cannot be read as a CustomResourceDefinition: {error}"),
    })
}

/// A refusal in OLM's words, which its users look for, and then in ours.
fn refusal(verdict: &Verdict, target: &Target, manifest: &Value) -> String {
    let crd = &target.name;
    let removed = verdict
        .refused
        .iter()
        .find(|change| change.kind == ChangeKind::StoredVersionRemoved)
        .and_then(|change| change.path.strip_prefix("spec.versions["))
        .and_then(|rest| rest.strip_suffix(']'));
    let olm = if let Some(version) = removed {
        format!(
            "risk of data loss updating \"{crd}\": new CRD removes version {version} that is listed as a stored version on the existing CRD. "
        )
    } else if let (true, Some(object)) = (verdict.refused.is_empty(), verdict.objects.first()) {
        let word = |path: &str| manifest.pointer(path).and_then(Value::as_str);
        let group = word("/spec/group").unwrap_or_default();
        let kind = word("/spec/names/kind").unwrap_or_default();
        let violation = object.violations.first();
        format!(
            "error validating existing CRs against new CRD's schema for \"{crd}\": error validating {group}/{}, Kind={kind} \"{}\": updated validation is too restrictive: {}. ",
            object.version,
            object.name,
            violation.map(ToString::to_string).unwrap_or_default()
        )
    } else if verdict.refused.is_empty() && !verdict.lost.is_empty() {
        format!("risk of data loss updating \"{crd}\": ")
    } else {
        String::new()
    };
    format!("{olm}{}", verdict.text().trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crd_whose_names_another_has_says_so() {
        let with = |status: &str| {
            json!({"status": {"conditions": [
                {"type": "NamesAccepted", "status": status, "message": "ships is already in use"},
                {"type": "Established", "status": "False", "message": "not all names are accepted"},
            ]}})
        };
        assert_eq!(
            refused_names(&with("False")),
            Some("ships is already in use")
        );
        assert_eq!(refused_names(&with("True")), None);
        assert_eq!(refused_names(&json!({})), None);
    }

    #[test]
    fn a_crd_is_established_when_it_is_served_and_its_names_are_its_own() {
        let crd = |established: &str, names: &str| {
            json!({"status": {"conditions": [
                {"type": "Established", "status": established},
                {"type": "NamesAccepted", "status": names},
            ]}})
        };
        assert!(is_established(&crd("True", "True")));
        assert!(!is_established(&crd("True", "False")));
        assert!(!is_established(&crd("False", "True")));
        assert!(!is_established(&json!({})));
    }

    #[test]
    fn a_crd_of_v1beta1_is_applied_as_one_of_v1() {
        let mut notes = Vec::new();
        let crd = as_v1(
            &json!({
                "apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition",
                "metadata": {"name": "ships.harbor.io"},
                "spec": {"group": "harbor.io", "version": "v1", "names": {"kind": "Ship", "plural": "ships"}},
            }),
            &mut notes,
        )
        .unwrap();
        assert_eq!(crd["apiVersion"], "apiextensions.k8s.io/v1");
        assert_eq!(crd["spec"]["versions"][0]["name"], "v1");
        assert_eq!(notes.len(), 1, "{notes:?}");
    }

    #[test]
    fn a_crd_that_cannot_be_upgraded_is_refused_in_words() {
        let error = as_v1(
            &json!({
                "apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition",
                "metadata": {"name": "ships.harbor.io"},
                "spec": {"group": "harbor.io", "names": {"kind": "Ship", "plural": "ships"}},
            }),
            &mut Vec::new(),
        )
        .unwrap_err();
        assert!(error.is_permanent());
        assert!(
            error.to_string().contains("neither spec.version nor"),
            "{error}"
        );
    }
}
