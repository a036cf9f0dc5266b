//! Writes the objects of a plan to the cluster.
//!
//! The one part of `plan` that has a client. It takes an object that is ready (name, namespace, labels,
//! owner) and brings the cluster to it by server-side apply, so that what others wrote into the same
//! object stays, and what we no longer want of ours goes. Everything is safe to be done again: who is
//! stopped between two writes does the same once more.
//!
//! What is done for the cluster's sake beyond a plain apply:
//!
//! - [`adopt`]: what OLM wrote becomes ours, or its old values would stay for ever;
//! - [`keep`]: other CSVs that own the same object, or were installed with the same CRD, stay in it, and so do
//!   the marks of other packages that brought it; and what was there before any plan is noted to have been, and
//!   becomes no CSV's;
//! - [`unknown`]: fields that the API does not know are left out with a warning, as for OLM, instead of
//!   failing the whole object;
//! - a binding whose role changed is deleted and made anew, because the API allows nothing else;
//! - [`crd`]: a CRD is only replaced when no object is harmed.

mod adopt;
mod crd;
mod error;
mod keep;
mod kinds;
mod objects;
mod remove;
mod request;
mod unknown;

pub use crd::{AppliedCrd, Conversion, is_established, refused_names};
pub use error::{Error, Target};

use std::fmt;
use std::sync::Arc;

use http::Method;
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

use crate::api::conditions::StepStatus;
use crate::api::gvk::GroupVersionKind;
use kinds::{Kind, Kinds};
use request::{Answer, Body, Connection, Refusal};

/// The field manager of everything that plans write.
pub const FIELD_MANAGER: &str = Writer::Plan.field_manager();

/// How often an object is read and written again when somebody else wrote it in between.
const ATTEMPTS: usize = 5;
/// How often fields that the API does not know are left out of one object; each time all that the API
/// server names.
const PRUNINGS: usize = 8;

/// Who writes. Each is a field manager of its own, so that what one no longer wants goes, and what the
/// other wants stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// Plans.
    Plan,
    /// What runs the operators that plans installed.
    Lifecycle,
}

impl Writer {
    /// Its name in managedFields.
    pub const fn field_manager(self) -> &'static str {
        match self {
            Self::Plan => "chandler-plan",
            Self::Lifecycle => "chandler-lifecycle",
        }
    }
}

/// How an object is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Created if it does not exist, and never changed: it is the user's from then on (CSVs,
    /// Subscriptions).
    CreateOnly,
    /// Brought to what is wanted, whoever changed it.
    ServerSideApply,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// `Created`, or `Present` when it existed before.
    pub status: StepStatus,
    /// What the API server warned of, in its own words.
    pub warnings: Vec<String>,
    /// The object's uid.
    pub uid: String,
    /// The object's generation: it grows whenever somebody asks for something else.
    pub generation: i64,
    /// When the object was made, if a plan made it.
    pub made_by_plan_at: Option<Timestamp>,
}

/// A ServiceAccount that somebody acts as.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Account {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Account {
    /// The name of its user.
    pub fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Writes objects to a cluster.
#[derive(Clone)]
pub struct Applier {
    connection: Connection,
    kinds: Arc<Kinds>,
    turns: Arc<crd::Turns>,
    account: Option<Account>,
    writer: Writer,
}

impl fmt::Debug for Applier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Applier")
            .field("account", &self.account)
            .finish_non_exhaustive()
    }
}

impl Applier {
    /// Writes for plans, with the rights of this client.
    pub fn new(client: kube::Client) -> Self {
        Self {
            connection: Connection::new(client),
            kinds: Arc::default(),
            turns: Arc::default(),
            account: None,
            writer: Writer::Plan,
        }
    }

    /// Writes for somebody else.
    #[must_use]
    pub fn writing_for(&self, writer: Writer) -> Self {
        Self {
            writer,
            ..self.clone()
        }
    }

    /// Writes with the rights of a ServiceAccount; the API server adds its groups by itself. What is
    /// only looked at, to decide what to write, is still read with our own rights, so that the account
    /// needs no more than `create` and `patch`.
    #[must_use]
    pub fn acting_as(&self, namespace: &str, name: &str) -> Self {
        Self {
            account: Some(Account {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
            }),
            ..self.clone()
        }
    }

    /// Whether objects of this kind live in namespaces.
    pub async fn is_namespaced(&self, object: &Value) -> Result<bool, Error> {
        let target = Target::of(object)?;
        Ok(self.kind(&target).await?.is_namespaced)
    }

    /// Whether the cluster has this kind now.
    pub async fn serves(&self, gvk: &GroupVersionKind) -> Result<bool, Error> {
        let target = Target {
            gvk: gvk.clone(),
            namespace: String::new(),
            name: gvk.kind.clone(),
        };
        self.kinds.forget(gvk);
        match self.kind(&target).await {
            Ok(_) => Ok(true),
            Err(Error::NoSuchKind { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The live object of that kind, name and namespace, read with our own rights.
    pub async fn get(&self, object: &Value) -> Result<Option<Value>, Error> {
        let target = Target::of(object)?;
        let kind = self.kind(&target).await?;
        self.live(&target, &kind).await
    }

    /// Brings the cluster to this object.
    pub async fn apply(&self, object: &Value, how: How) -> Result<Applied, Error> {
        let target = Target::of(object)?;
        let kind = self.kind(&target).await?;
        let object = &ready(object, &kind, &target)?;
        match how {
            How::CreateOnly => self.create(object, &target, &kind).await,
            How::ServerSideApply if is_default_account(&target) => {
                self.leave_alone(&target, &kind).await
            }
            How::ServerSideApply => {
                // Plans of two namespaces may bring the same object, and what the second one would keep has to be
                // there when it looks.
                let is_shared = self.writer == Writer::Plan && !kind.is_namespaced;
                let turn = is_shared.then(|| self.turns.of(&target.to_string()));
                let _turn = match &turn {
                    Some(turn) => Some(turn.lock().await),
                    None => None,
                };
                for _ in 1..ATTEMPTS {
                    match self.bring_to(object, &target, &kind).await {
                        Err(Error::Conflict { .. }) => {}
                        outcome => return outcome,
                    }
                }
                self.bring_to(object, &target, &kind).await
            }
        }
    }

    /// Changes a part of an object that is there, by a merge patch. Nothing if it is gone.
    pub async fn change(&self, object: &Value, patch: &Value) -> Result<(), Error> {
        let target = Target::of(object)?;
        let kind = self.kind(&target).await?;
        let url = format!(
            "{}?fieldManager={}",
            kind.item(target.namespace(), &target.name),
            self.writer.field_manager()
        );
        match self
            .write(Method::PATCH, &url, Body::MergePatch(patch))
            .await
        {
            Ok(_) => Ok(()),
            Err(refusal) if refusal.is_not_found() => Ok(()),
            Err(refusal) => Err(self.explain(refusal, &target, &kind)),
        }
    }

    async fn create(&self, object: &Value, target: &Target, kind: &Kind) -> Result<Applied, Error> {
        // Looked at first, so that a plan that is carried out again needs no right to create what is
        // there, and admission sees no pointless attempts.
        if let Some(live) = self.live(target, kind).await? {
            return Ok(present(&live));
        }
        let url = format!(
            "{}?fieldManager={}&fieldValidation=Warn",
            kind.collection(target.namespace()),
            self.writer.field_manager()
        );
        let created = self.write(Method::POST, &url, Body::Object(object)).await;
        match created {
            Ok(answer) => Ok(applied(StepStatus::Created, answer)),
            Err(refusal) if refusal.is_already_exists() => self.leave_alone(target, kind).await,
            Err(refusal) => Err(self.explain(refusal, target, kind)),
        }
    }

    /// For what exists without us, such as the `default` ServiceAccount of a namespace: it would go
    /// with the CSV if it became ours.
    async fn leave_alone(&self, target: &Target, kind: &Kind) -> Result<Applied, Error> {
        match self.live(target, kind).await? {
            Some(live) => Ok(present(&live)),
            None => Err(Error::Conflict {
                target: Box::new(target.clone()),
                message: "it was there a moment ago, and is gone".to_owned(),
            }),
        }
    }

    async fn bring_to(
        &self,
        object: &Value,
        target: &Target,
        kind: &Kind,
    ) -> Result<Applied, Error> {
        let mut wanted = object.clone();
        let live = self.live(target, kind).await?;
        let was_there = live.is_some();
        if let Some(live) = live {
            // What a plan brings may be of several versions until the last of them is gone. What runs is of one.
            let is_of_plan = self.writer == Writer::Plan;
            if is_of_plan && keep::was_found(&live) {
                keep::found(&mut wanted);
            }
            if has_other_role(&live, object) {
                self.delete_binding(&live, target, kind).await?;
            } else {
                let live = self.take_over(live, target, kind).await?;
                if is_of_plan {
                    keep::owners(&mut wanted, &live);
                    keep::marks(&mut wanted, &live);
                    keep::version(&mut wanted, &live);
                }
            }
        }
        let (applied, live) = self.server_side_apply(wanted, target, kind).await?;
        let is_of_others =
            applied.status == StepStatus::Present && made_by_plan_at(&live).is_none();
        if self.writer == Writer::Plan && !was_there && is_of_others {
            // Somebody made it since it was looked for, and it is theirs.
            let mut wanted = object.clone();
            keep::found(&mut wanted);
            keep::version(&mut wanted, &live);
            let (applied, _) = self.server_side_apply(wanted, target, kind).await?;
            return Ok(applied);
        }
        Ok(applied)
    }

    /// Makes ours what OLM's managers own in the live object, and gives it as it is then.
    async fn take_over(&self, live: Value, target: &Target, kind: &Kind) -> Result<Value, Error> {
        let Some(patch) = adopt::patch(&live, self.writer, &target.gvk.api_version()) else {
            return Ok(live);
        };
        tracing::info!(object = %target, "taking over from OLM: its field managers' fields become ours");
        let url = format!(
            "{}?fieldManager={}",
            kind.item(target.namespace(), &target.name),
            self.writer.field_manager()
        );
        // Nothing of the object changes but who is responsible, which no account needs a right for.
        let patched = self
            .connection
            .send(None, Method::PATCH, &url, Body::JsonPatch(&patch))
            .await;
        match patched {
            Ok(answer) => Ok(answer.body),
            Err(refusal) => Err(self.explain_ours(refusal, target, kind)),
        }
    }

    async fn delete_binding(
        &self,
        live: &Value,
        target: &Target,
        kind: &Kind,
    ) -> Result<(), Error> {
        tracing::info!(
            object = %target,
            "its role changed, which the API does not allow: deleting it and making it anew"
        );
        let url = kind.item(target.namespace(), &target.name);
        let uid = live.pointer("/metadata/uid").cloned().unwrap_or_default();
        let options = serde_json::json!({
            "kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": uid},
        });
        match self
            .write(Method::DELETE, &url, Body::Object(&options))
            .await
        {
            Ok(_) => Ok(()),
            Err(refusal) if refusal.is_not_found() => Ok(()),
            Err(refusal) => Err(self.explain(refusal, target, kind)),
        }
    }

    /// Applies the object, without the fields that the API does not know; gives it as it is then.
    async fn server_side_apply(
        &self,
        mut object: Value,
        target: &Target,
        kind: &Kind,
    ) -> Result<(Applied, Value), Error> {
        let url = format!(
            "{}?fieldManager={}&force=true",
            kind.item(target.namespace(), &target.name),
            self.writer.field_manager()
        );
        let mut left_out = Vec::new();
        loop {
            let refusal = match self.write(Method::PATCH, &url, Body::Apply(&object)).await {
                Ok(mut answer) => {
                    let status = if answer.is_created {
                        StepStatus::Created
                    } else {
                        StepStatus::Present
                    };
                    let live = answer.body.take();
                    let mut warnings = answer.warnings;
                    warnings.extend(left_out);
                    let applied = Applied {
                        status,
                        warnings,
                        uid: uid(&live),
                        generation: generation(&live),
                        made_by_plan_at: made_by_plan_at(&live),
                    };
                    return Ok((applied, live));
                }
                Err(refusal) => refusal,
            };
            let removed = unknown::remove(&mut object, refusal.message());
            if removed.is_empty() || left_out.len() >= PRUNINGS * unknown::MOST {
                return Err(self.explain(refusal, target, kind));
            }
            left_out.extend(
                removed
                    .into_iter()
                    .map(|field| format!("unknown field \"{field}\"")),
            );
        }
    }

    async fn live(&self, target: &Target, kind: &Kind) -> Result<Option<Value>, Error> {
        let url = kind.item(target.namespace(), &target.name);
        match self
            .connection
            .send(None, Method::GET, &url, Body::Empty)
            .await
        {
            Ok(answer) => Ok(Some(answer.body)),
            Err(refusal) if refusal.is_not_found() => Ok(None),
            Err(refusal) => Err(self.explain_ours(refusal, target, kind)),
        }
    }

    /// Sends a request with the rights that objects are written with.
    async fn write(&self, method: Method, url: &str, body: Body<'_>) -> Result<Answer, Refusal> {
        self.connection
            .send(self.account.as_ref(), method, url, body)
            .await
    }

    async fn kind(&self, target: &Target) -> Result<Kind, Error> {
        match self.kinds.find(&self.connection, &target.gvk).await {
            Ok(Some(kind)) => Ok(kind),
            Ok(None) => Err(Error::NoSuchKind {
                target: Box::new(target.clone()),
            }),
            Err(refusal) => Err(Error::from_refusal(refusal, target, None)),
        }
    }

    fn explain(&self, refusal: Refusal, target: &Target, kind: &Kind) -> Error {
        self.forget_if_gone(&refusal, kind);
        Error::from_refusal(refusal, target, self.account.as_ref())
    }

    fn explain_ours(&self, refusal: Refusal, target: &Target, kind: &Kind) -> Error {
        self.forget_if_gone(&refusal, kind);
        Error::from_refusal(refusal, target, None)
    }

    /// A kind that was there may be gone, or be another one by the same name.
    fn forget_if_gone(&self, refusal: &Refusal, kind: &Kind) {
        if refusal.is_not_found() || refusal.is_wrong_method() {
            self.kinds.forget(&kind.gvk);
        }
    }
}

fn applied(status: StepStatus, answer: Answer) -> Applied {
    Applied {
        status,
        uid: uid(&answer.body),
        generation: generation(&answer.body),
        made_by_plan_at: made_by_plan_at(&answer.body),
        warnings: answer.warnings,
    }
}

fn present(live: &Value) -> Applied {
    Applied {
        status: StepStatus::Present,
        warnings: Vec::new(),
        uid: uid(live),
        generation: generation(live),
        made_by_plan_at: made_by_plan_at(live),
    }
}

/// When an object was made, if a plan made it: whoever else makes one is named with that time.
fn made_by_plan_at(live: &Value) -> Option<Timestamp> {
    let metadata = live.get("metadata")?;
    let made = metadata.get("creationTimestamp")?.as_str()?;
    let entries = metadata.get("managedFields")?.as_array()?;
    // What else of Chandler writes to it comes later, maybe within the same second.
    let is_ours = |entry: &Value| {
        let manager = entry.get("manager").and_then(Value::as_str);
        manager.is_some_and(|manager| manager.starts_with("chandler"))
    };
    let is_others =
        |entry: &Value| entry.get("time").and_then(Value::as_str) == Some(made) && !is_ours(entry);
    let has_ours = entries
        .iter()
        .any(|entry| entry.get("manager").and_then(Value::as_str) == Some(FIELD_MANAGER));
    if !has_ours || entries.iter().any(is_others) {
        return None;
    }
    made.parse().ok()
}

fn uid(object: &Value) -> String {
    let uid = object.pointer("/metadata/uid").and_then(Value::as_str);
    uid.unwrap_or_default().to_owned()
}

fn generation(object: &Value) -> i64 {
    let generation = object.pointer("/metadata/generation");
    generation.and_then(Value::as_i64).unwrap_or_default()
}

/// The object without what only the API server writes, and with its scope checked.
fn ready(object: &Value, kind: &Kind, target: &Target) -> Result<Value, Error> {
    if kind.is_namespaced && target.namespace().is_none() {
        return Err(Error::Invalid {
            target: Box::new(target.clone()),
            message: format!(
                "{} live in namespaces, and the object names none",
                kind.plural
            ),
        });
    }
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.shift_remove("status");
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in [
            "managedFields",
            "creationTimestamp",
            "deletionTimestamp",
            "generation",
            "resourceVersion",
            "selfLink",
            "uid",
        ] {
            metadata.shift_remove(field);
        }
        if !kind.is_namespaced {
            metadata.shift_remove("namespace");
        }
    }
    Ok(object)
}

fn is_default_account(target: &Target) -> bool {
    target.gvk == GroupVersionKind::new("", "v1", "ServiceAccount") && target.name == "default"
}

/// Whether a binding is to another role than the live one. The role of a binding cannot be changed.
fn has_other_role(live: &Value, wanted: &Value) -> bool {
    let is_binding = matches!(
        wanted.get("kind").and_then(Value::as_str),
        Some("RoleBinding" | "ClusterRoleBinding")
    );
    let part = |object: &Value, name: &str| {
        let part = object.pointer(&format!("/roleRef/{name}"));
        part.and_then(Value::as_str).map(str::to_owned)
    };
    is_binding
        && ["kind", "name"]
            .iter()
            .any(|name| part(live, name) != part(wanted, name))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    const MADE: &str = "2026-01-01T00:00:00Z";

    #[rstest]
    #[case::by_a_plan(&[(FIELD_MANAGER, "2026-01-01T00:00:05Z")], true)]
    #[case::and_marked_at_once(&[(FIELD_MANAGER, MADE), ("chandler", MADE)], true)]
    #[case::and_changed_by_others_later(&[(FIELD_MANAGER, MADE), ("kubectl", "2026-01-01T00:00:05Z")], true)]
    #[case::by_others(&[("kubectl", MADE), (FIELD_MANAGER, "2026-01-01T00:00:05Z")], false)]
    #[case::by_others_alone(&[("kubectl", MADE)], false)]
    fn who_made_an_object_is_named_with_the_time_of_its_creation(
        #[case] entries: &[(&str, &str)],
        #[case] by_plan: bool,
    ) {
        let entries: Vec<Value> = entries
            .iter()
            .map(|(manager, time)| json!({"manager": manager, "time": time}))
            .collect();
        let live = json!({"metadata": {"creationTimestamp": MADE, "managedFields": entries}});
        let made = by_plan.then(|| MADE.parse::<Timestamp>().unwrap());
        assert_eq!(made_by_plan_at(&live), made);
    }
}
