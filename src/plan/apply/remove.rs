//! Objects found, and taken out of the cluster.

use http::Method;
use serde_json::{Value, json};

use super::kinds::escaped;
use super::request::Body;
use super::{Applier, Error, Target};

impl Applier {
    /// Deletes an object, with all that it owns. If its uid is given, then only that very one. Tells
    /// whether there was something to delete.
    pub async fn delete(&self, object: &Value) -> Result<bool, Error> {
        self.delete_by("Background", object, &["uid"]).await
    }

    /// The same for an object that stays, on its way out, until all that it owns is gone.
    pub async fn delete_last(&self, object: &Value) -> Result<bool, Error> {
        self.delete_by("Foreground", object, &["uid"]).await
    }

    /// The same for one that goes for what it was when it was read: what anybody wrote since is a [`Error::Conflict`].
    pub async fn delete_as_read(&self, object: &Value) -> Result<bool, Error> {
        let preconditions = ["uid", "resourceVersion"];
        self.delete_by("Background", object, &preconditions).await
    }

    async fn delete_by(
        &self,
        propagation: &str,
        object: &Value,
        preconditions: &[&str],
    ) -> Result<bool, Error> {
        let target = Target::of(object)?;
        let kind = self.kind(&target).await?;
        let url = kind.item(target.namespace(), &target.name);
        let mut options = json!({
            "kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation,
        });
        for field in preconditions {
            if let Some(known) = object["metadata"][*field].as_str() {
                options["preconditions"][*field] = json!(known);
            }
        }
        match self
            .write(Method::DELETE, &url, Body::Object(&options))
            .await
        {
            Ok(_) => Ok(true),
            Err(refusal) if refusal.is_not_found() => Ok(false),
            Err(refusal) => Err(self.explain(refusal, &target, &kind)),
        }
    }

    /// The objects of a kind that carry these labels (`a=b,c=d`), in a namespace or everywhere, read
    /// with our own rights. None if the cluster does not have the kind.
    pub async fn list(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
        labels: &str,
    ) -> Result<Vec<Value>, Error> {
        let target = Target::of(&json!({
            "apiVersion": api_version, "kind": kind, "metadata": {"name": "any"},
        }))?;
        let found = match self.kind(&target).await {
            Ok(found) => found,
            Err(Error::NoSuchKind { .. }) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut objects = Vec::new();
        let mut from = String::new();
        loop {
            let url = format!(
                "{}?labelSelector={}&limit={PAGE}&continue={from}",
                found.collection(namespace),
                escaped(labels)
            );
            let answer = self
                .connection
                .send(None, Method::GET, &url, Body::Empty)
                .await
                .map_err(|refusal| self.explain_ours(refusal, &target, &found))?;
            let mut list = answer.body;
            let next = list.pointer("/metadata/continue").and_then(Value::as_str);
            let next = escaped(next.unwrap_or_default());
            if let Some(Value::Array(items)) = list.get_mut("items").map(Value::take) {
                // Lists leave out what is the same for all.
                objects.extend(items.into_iter().map(|mut item| {
                    if let Some(fields) = item.as_object_mut() {
                        fields.insert("apiVersion".to_owned(), json!(api_version));
                        fields.insert("kind".to_owned(), json!(kind));
                    }
                    item
                }));
            }
            if next.is_empty() {
                return Ok(objects);
            }
            from = next;
        }
    }
}

/// Objects per request.
const PAGE: usize = 250;
