//! Schemas that the derive cannot give: Kubernetes types with OLM's list types and limits.
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 as apiextensions;
use schemars::{Schema, SchemaGenerator, json_schema};

/// What a Kubernetes quantity looks like.
const QUANTITY: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";

/// A list that server-side apply replaces as a whole.
fn atomic_strings(description: &str) -> Schema {
    json_schema!({
        "description": description,
        "type": "array",
        "items": { "type": "string" },
        "x-kubernetes-list-type": "atomic",
    })
}

/// An amount of a resource, such as `200Mi`.
pub(super) fn quantity(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "pattern": QUANTITY, "x-kubernetes-int-or-string": true })
}

/// Text that holds base64.
pub(super) fn base64(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "byte" })
}

/// A label selector.
pub(super) fn label_selector(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "properties": {
            "matchExpressions": {
                "description": "Requirements that all have to hold.",
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["key", "operator"],
                    "properties": {
                        "key": {
                            "description": "Key of the label.",
                            "type": "string",
                        },
                        "operator": {
                            "description": "One of In, NotIn, Exists and DoesNotExist.",
                            "type": "string",
                        },
                        "values": atomic_strings(
                            "Values for In and NotIn; empty for Exists and DoesNotExist."
                        ),
                    },
                },
                "x-kubernetes-list-type": "atomic",
            },
            "matchLabels": {
                "description": "Labels that all have to be present with these values.",
                "type": "object",
                "additionalProperties": { "type": "string" },
            },
        },
        "x-kubernetes-map-type": "atomic",
    })
}

/// The rules of an RBAC role.
pub(super) fn policy_rules(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {
            "type": "object",
            "required": ["verbs"],
            "properties": {
                "apiGroups": atomic_strings(
                    "API groups of the resources; \"\" is the core group, \"*\" means all."
                ),
                "nonResourceURLs": atomic_strings(
                    "Paths outside the resource tree; only for permissions on the whole cluster."
                ),
                "resourceNames": atomic_strings("Names the rule is limited to; empty for all."),
                "resources": atomic_strings("Resources the rule is about; \"*\" means all."),
                "verbs": atomic_strings("What may be done; \"*\" means everything."),
            },
        },
    })
}

/// The requests a webhook is asked about.
pub(super) fn webhook_rules(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "apiGroups": atomic_strings("API groups of the resources; \"*\" means all."),
                "apiVersions": atomic_strings("API versions of the resources; \"*\" means all."),
                "operations": atomic_strings(
                    "CREATE, UPDATE, DELETE, CONNECT, or \"*\" for all of them."
                ),
                "resources": atomic_strings(
                    "Resources and subresources, such as pods, pods/log or */*."
                ),
                "scope": {
                    "description": "Cluster, Namespaced, or * for both, which is the default.",
                    "type": "string",
                },
            },
        },
    })
}

/// The spec of a Deployment: its outline is checked here, the rest when the Deployment is made.
pub(super) fn deployment_spec(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "required": ["selector", "template"],
        "properties": {
            "selector": {
                "description": "Selects the Pods of the Deployment.",
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": true,
            },
            "template": {
                "description": "The Pods of the Deployment.",
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": true,
            },
        },
        "x-kubernetes-preserve-unknown-fields": true,
    })
}

/// Kubernetes' tolerations.
pub(super) fn tolerations(_: &mut SchemaGenerator) -> Schema {
    list_of_pod_parts(&json_schema!({
        "type": "object",
        "properties": {
            "effect": {
                "description": "Effect of the tolerated taint; empty for every effect.",
                "type": "string",
            },
            "key": {
                "description": "Key of the tolerated taint; empty for every key.",
                "type": "string",
            },
            "operator": {
                "description": "How the value is compared: Exists, or Equal by default.",
                "type": "string",
            },
            "tolerationSeconds": {
                "description": "How long a NoExecute taint is tolerated; absent for ever.",
                "type": "integer",
                "format": "int64",
            },
            "value": {
                "description": "Value of the tolerated taint.",
                "type": "string",
            },
        },
        "x-kubernetes-preserve-unknown-fields": true,
    }))
}

/// Environment variables of a container.
pub(super) fn env(_: &mut SchemaGenerator) -> Schema {
    list_of_pod_parts(&json_schema!({
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {
                "description": "Name of the variable.",
                "type": "string",
            },
            "value": {
                "description": "Value of the variable.",
                "type": "string",
            },
            "valueFrom": {
                "description": "Where the value comes from, instead of `value`.",
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": true,
            },
        },
        "x-kubernetes-preserve-unknown-fields": true,
    }))
}

/// ConfigMaps and Secrets whose entries become environment variables of a container.
pub(super) fn env_from(_: &mut SchemaGenerator) -> Schema {
    list_of_pod_parts(&json_schema!({
        "type": "object",
        "properties": {
            "configMapRef": {
                "description": "The ConfigMap to take.",
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": true,
            },
            "prefix": {
                "description": "Put before the name of each variable.",
                "type": "string",
            },
            "secretRef": {
                "description": "The Secret to take.",
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": true,
            },
        },
        "x-kubernetes-preserve-unknown-fields": true,
    }))
}

/// Volumes of a Pod.
pub(super) fn volumes(_: &mut SchemaGenerator) -> Schema {
    list_of_pod_parts(&json_schema!({
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {
                "description": "Name of the volume, unique in the Pod.",
                "type": "string",
            },
        },
        "x-kubernetes-preserve-unknown-fields": true,
    }))
}

/// Where volumes appear in a container.
pub(super) fn volume_mounts(_: &mut SchemaGenerator) -> Schema {
    list_of_pod_parts(&json_schema!({
        "type": "object",
        "required": ["mountPath", "name"],
        "properties": {
            "mountPath": {
                "description": "Path in the container.",
                "type": "string",
            },
            "mountPropagation": {
                "description": "Whether mounts travel between the host and the container.",
                "type": "string",
            },
            "name": {
                "description": "Name of the volume.",
                "type": "string",
            },
            "readOnly": {
                "description": "Whether writing is forbidden.",
                "type": "boolean",
            },
            "recursiveReadOnly": {
                "description": "Whether writing is forbidden below the mount, too.",
                "type": "string",
            },
            "subPath": {
                "description": "Path in the volume; empty for its root.",
                "type": "string",
            },
            "subPathExpr": {
                "description": "Like `subPath`, with environment variables filled in.",
                "type": "string",
            },
        },
        "x-kubernetes-preserve-unknown-fields": true,
    }))
}

/// Compute resources of a container.
pub(super) fn resources(generator: &mut SchemaGenerator) -> Schema {
    let amounts = quantity(generator);
    json_schema!({
        "type": "object",
        "properties": {
            "claims": {
                "description": "Resource claims of the Pod that the container uses.",
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["name"],
                    "properties": {
                        "name": {
                            "description": "Name of the claim in the Pod.",
                            "type": "string",
                        },
                        "request": {
                            "description": "The request of the claim to use; empty for all.",
                            "type": "string",
                        },
                    },
                },
                "x-kubernetes-list-map-keys": ["name"],
                "x-kubernetes-list-type": "map",
            },
            "limits": {
                "description": "The most the container may use.",
                "type": "object",
                "additionalProperties": amounts.clone(),
            },
            "requests": {
                "description": "What the container is guaranteed.",
                "type": "object",
                "additionalProperties": amounts,
            },
        },
        "x-kubernetes-preserve-unknown-fields": true,
    })
}

fn list_of_pod_parts(item: &Schema) -> Schema {
    json_schema!({ "type": "array", "items": item })
}

/// Gives a derived CRD the shape of OLM's, where the derive differs for every kind:
///
/// - `null` is not a value: OLM's schemas have no nullable field.
/// - `spec` is required only if something in it is.
/// - The schema is not titled with the name of a Rust type, and the kind of lists is spelled out.
/// - Descriptions have no line breaks of the source; `kubectl explain` breaks them itself.
pub(super) fn finish(
    mut crd: apiextensions::CustomResourceDefinition,
) -> apiextensions::CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        let schema = version
            .schema
            .as_mut()
            .and_then(|it| it.open_api_v3_schema.as_mut());
        if let Some(root) = schema {
            root.title = None;
            free_spec(root);
            for_each_schema(root, &mut |schema| {
                schema.nullable = None;
                if let Some(text) = &mut schema.description {
                    *text = unwrap_lines(text);
                }
            });
        }
    }
    crd.spec.names.list_kind = Some(format!("{}List", crd.spec.names.kind));
    crd
}

/// Calls `change` with a schema and every schema inside it.
fn for_each_schema(
    schema: &mut apiextensions::JSONSchemaProps,
    change: &mut impl FnMut(&mut apiextensions::JSONSchemaProps),
) {
    change(schema);
    for property in schema.properties.iter_mut().flat_map(|it| it.values_mut()) {
        for_each_schema(property, change);
    }
    match &mut schema.items {
        Some(apiextensions::JSONSchemaPropsOrArray::Schema(items)) => {
            for_each_schema(items, change);
        }
        Some(apiextensions::JSONSchemaPropsOrArray::Schemas(items)) => {
            for item in items {
                for_each_schema(item, change);
            }
        }
        None => {}
    }
    if let Some(apiextensions::JSONSchemaPropsOrBool::Schema(values)) =
        &mut schema.additional_properties
    {
        for_each_schema(values, change);
    }
}

/// Joins the lines of each paragraph.
fn unwrap_lines(text: &str) -> String {
    let paragraphs = text
        .split("\n\n")
        .map(|it| it.lines().collect::<Vec<_>>().join(" "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

fn free_spec(root: &mut apiextensions::JSONSchemaProps) {
    let spec = root.properties.as_ref().and_then(|it| it.get("spec"));
    if spec.is_some_and(|spec| spec.required.is_none()) {
        root.required = root
            .required
            .take()
            .map(|required| required.into_iter().filter(|name| name != "spec").collect())
            .filter(|required: &Vec<String>| !required.is_empty());
    }
}
