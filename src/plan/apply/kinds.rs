//! What the cluster calls the kinds of objects.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use http::Method;
use serde_json::Value;

use super::request::{Body, Connection, Refusal};
use crate::api::gvk::GroupVersionKind;

/// A kind of objects, as the API server knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) gvk: GroupVersionKind,
    pub(super) plural: String,
    pub(super) is_namespaced: bool,
}

impl Kind {
    /// Where its objects are.
    pub(super) fn collection(&self, namespace: Option<&str>) -> String {
        let version = version_url(&self.gvk);
        match namespace.filter(|_| self.is_namespaced) {
            Some(namespace) => format!("{version}/namespaces/{namespace}/{}", self.plural),
            None => format!("{version}/{}", self.plural),
        }
    }

    /// Where one of them is.
    pub(super) fn item(&self, namespace: Option<&str>, name: &str) -> String {
        format!("{}/{}", self.collection(namespace), escaped(name))
    }
}

/// A name as it stands in a URL: those of RBAC may have a colon or a per cent sign in them.
pub(super) fn escaped(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' => {
                escaped.push(char::from(byte));
            }
            _ => {
                // Writing to a string does not fail.
                let _ = write!(escaped, "%{byte:02X}");
            }
        }
    }
    escaped
}

fn version_url(gvk: &GroupVersionKind) -> String {
    let version = escaped(&gvk.version);
    match gvk.group.as_str() {
        "" => format!("/api/{version}"),
        group => format!("/apis/{}/{version}", escaped(group)),
    }
}

/// The kinds that were asked for. Only what a plan needs is looked up: a cluster may have thousands.
#[derive(Debug, Default)]
pub(super) struct Kinds {
    known: Mutex<HashMap<GroupVersionKind, Kind>>,
}

impl Kinds {
    /// The kind, or `None` if the cluster does not have it now.
    pub(super) async fn find(
        &self,
        connection: &Connection,
        gvk: &GroupVersionKind,
    ) -> Result<Option<Kind>, Refusal> {
        if let Some(kind) = self.lock().get(gvk) {
            return Ok(Some(kind.clone()));
        }
        let url = version_url(gvk);
        let list = match connection.send(None, Method::GET, &url, Body::Empty).await {
            Ok(answer) => answer.body,
            Err(refusal) if refusal.is_not_found() => return Ok(None),
            Err(refusal) => return Err(refusal),
        };
        let found = in_list(&list, gvk);
        if let Some(kind) = &found {
            self.lock().insert(gvk.clone(), kind.clone());
        }
        Ok(found)
    }

    /// Looks it up anew next time.
    pub(super) fn forget(&self, gvk: &GroupVersionKind) {
        self.lock().remove(gvk);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<GroupVersionKind, Kind>> {
        // Whoever panicked with it left a map that is at worst incomplete.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Finds a kind in the API server's list; subresources have a slash in their names.
fn in_list(list: &Value, gvk: &GroupVersionKind) -> Option<Kind> {
    let resources = list.get("resources")?.as_array()?;
    resources.iter().find_map(|resource| {
        let plural = resource.get("name")?.as_str()?;
        let kind = resource.get("kind")?.as_str()?;
        (kind == gvk.kind && !plural.contains('/')).then(|| Kind {
            gvk: gvk.clone(),
            plural: plural.to_owned(),
            is_namespaced: resource.get("namespaced").and_then(Value::as_bool) == Some(true),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_kind_is_found_beside_its_subresources() {
        let list = json!({"resources": [
            {"name": "pods/status", "kind": "Pod", "namespaced": true},
            {"name": "pods", "kind": "Pod", "namespaced": true},
            {"name": "nodes", "kind": "Node", "namespaced": false},
        ]});
        let pod = in_list(&list, &GroupVersionKind::new("", "v1", "Pod")).unwrap();
        assert_eq!(pod.item(Some("ns"), "a"), "/api/v1/namespaces/ns/pods/a");
        let node = in_list(&list, &GroupVersionKind::new("", "v1", "Node")).unwrap();
        assert_eq!(node.item(Some("ns"), "a"), "/api/v1/nodes/a");
        assert_eq!(
            in_list(&list, &GroupVersionKind::new("", "v1", "Ship")),
            None
        );
    }

    #[test]
    fn names_of_roles_are_escaped() {
        let kind = Kind {
            gvk: GroupVersionKind::new("rbac.authorization.k8s.io", "v1", "ClusterRole"),
            plural: "clusterroles".to_owned(),
            is_namespaced: false,
        };
        assert_eq!(
            kind.item(None, "system:a/b%"),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:a%2Fb%25"
        );
    }
}
