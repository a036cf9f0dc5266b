//! The documents that describe the API to clients: what `kubectl explain` shows.
//!
//! Both are made of the types in `api`, once, with nothing but their own schemas in them: a schema
//! that other APIs have under the same name would have to be the same to the letter.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ListMeta, ObjectMeta};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::{API_VERSION, GROUP, KIND, RESOURCE, VERSION};
use crate::api::package_manifest::{PackageManifestSpec, PackageManifestStatus};

/// The name of the schema of an object.
const OBJECT: &str = "com.coreos.operators.packages.v1.PackageManifest";
/// The name of the schema of a list.
const LIST: &str = "com.coreos.operators.packages.v1.PackageManifestList";

/// The document of OpenAPI 2.
pub(super) fn version_2() -> Value {
    json!({
        "swagger": "2.0",
        "info": info(),
        "paths": paths(&Version2),
        "definitions": schemas("#/definitions/"),
    })
}

/// The document of OpenAPI 3 for the only group and version.
pub(super) fn version_3() -> Value {
    json!({
        "openapi": "3.0.0",
        "info": info(),
        "paths": paths(&Version3),
        "components": { "schemas": schemas("#/components/schemas/") },
    })
}

/// Which documents of OpenAPI 3 there are; the hash tells one from later ones.
pub(super) fn version_3_index(hash: &str) -> Value {
    let path = format!("apis/{API_VERSION}");
    let url = format!("/openapi/v3/{path}?hash={hash}");
    json!({ "paths": { path: { "serverRelativeURL": url } } })
}

fn info() -> Value {
    json!({ "title": "Chandler", "version": env!("CARGO_PKG_VERSION") })
}

/// How the two versions write the same thing.
trait Dialect {
    /// A parameter that is a text.
    fn text(&self, name: &str, place: &str, is_required: bool, description: &str) -> Value;
    /// What an operation answers with.
    fn operation(&self, reference: Option<&str>) -> Value;
}

struct Version2;
struct Version3;

impl Dialect for Version2 {
    fn text(&self, name: &str, place: &str, is_required: bool, description: &str) -> Value {
        json!({
            "name": name, "in": place, "required": is_required, "type": "string",
            "uniqueItems": true, "description": description,
        })
    }

    fn operation(&self, reference: Option<&str>) -> Value {
        let mut good = json!({ "description": "OK" });
        if let Some(name) = reference {
            good["schema"] = json!({ "$ref": format!("#/definitions/{name}") });
        }
        json!({
            "consumes": ["*/*"],
            "produces": media_types(reference),
            "schemes": ["https"],
            "responses": { "200": good },
        })
    }
}

impl Dialect for Version3 {
    fn text(&self, name: &str, place: &str, is_required: bool, description: &str) -> Value {
        json!({
            "name": name, "in": place, "required": is_required, "description": description,
            "schema": { "type": "string", "uniqueItems": true },
        })
    }

    fn operation(&self, reference: Option<&str>) -> Value {
        let schema = match reference {
            Some(name) => json!({ "$ref": format!("#/components/schemas/{name}") }),
            None => json!({ "type": "string", "format": "binary" }),
        };
        let content: Map<String, Value> = media_types(reference)
            .iter()
            .map(|kind| ((*kind).to_owned(), json!({ "schema": schema })))
            .collect();
        json!({ "responses": { "200": { "description": "OK", "content": content } } })
    }
}

fn media_types(reference: Option<&str>) -> &'static [&'static str] {
    match reference {
        Some(_) => &["application/json", "application/yaml"],
        None => &["image/*"],
    }
}

fn paths(dialect: &impl Dialect) -> Value {
    let root = format!("/apis/{API_VERSION}");
    let of_namespace = format!("{root}/namespaces/{{namespace}}/{RESOURCE}");
    let namespace = dialect.text("namespace", "path", true, "Namespace of the objects.");
    let name = dialect.text("name", "path", true, "Name of the package.");
    let selectors = [
        dialect.text(
            "labelSelector",
            "query",
            false,
            "Only objects with these labels.",
        ),
        dialect.text(
            "fieldSelector",
            "query",
            false,
            "Only objects with these fields: metadata.name.",
        ),
    ];
    let get = |id: &str, action: &str, what: &str, reference: Option<&str>| {
        let mut operation = dialect.operation(reference);
        operation["description"] = json!(what);
        operation["operationId"] = json!(id);
        operation["tags"] = json!(["packagesOperatorsCoreos_v1"]);
        operation["x-kubernetes-action"] = json!(action);
        operation["x-kubernetes-group-version-kind"] =
            json!({ "group": GROUP, "version": VERSION, "kind": KIND });
        operation
    };
    let all = get(
        "listPackagesOperatorsCoreosV1PackageManifestForAllNamespaces",
        "list",
        "The packages of all catalogs, in the namespaces of the catalogs.",
        Some(LIST),
    );
    let some = get(
        "listPackagesOperatorsCoreosV1NamespacedPackageManifest",
        "list",
        "The packages that a namespace is offered.",
        Some(LIST),
    );
    let one = get(
        "readPackagesOperatorsCoreosV1NamespacedPackageManifest",
        "get",
        "A package that a namespace is offered.",
        Some(OBJECT),
    );
    let icon = get(
        "connectGetPackagesOperatorsCoreosV1NamespacedPackageManifestIcon",
        "connect",
        "The picture of a package.",
        None,
    );
    json!({
        format!("{root}/{RESOURCE}"): { "get": all, "parameters": selectors },
        of_namespace.clone(): {
            "get": some, "parameters": [&namespace, &selectors[0], &selectors[1]],
        },
        format!("{of_namespace}/{{name}}"): { "get": one, "parameters": [&name, &namespace] },
        format!("{of_namespace}/{{name}}/icon"): { "get": icon, "parameters": [&name, &namespace] },
    })
}

fn schemas(prefix: &str) -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    let (version, kind) = (
        text("Version of the schema that the object is written in."),
        text("Kind of the object."),
    );
    let of = |kind: &str| json!([{ "group": GROUP, "version": VERSION, "kind": kind }]);
    let described = |mut schema: Value, description: &str| {
        schema["description"] = json!(description);
        schema
    };
    json!({
        OBJECT: {
            "description": "A package of a catalog, with its channels.",
            "type": "object",
            "required": ["spec", "status"],
            "properties": {
                "apiVersion": version,
                "kind": kind,
                "metadata": described(schema::<ObjectMeta>(), "Name, namespace and labels."),
                "spec": described(schema::<PackageManifestSpec>(), "Always empty: a package is only looked at."),
                "status": described(schema::<PackageManifestStatus>(), "The package."),
            },
            "x-kubernetes-group-version-kind": of(KIND),
        },
        LIST: {
            "description": "Packages.",
            "type": "object",
            "required": ["items"],
            "properties": {
                "apiVersion": version,
                "kind": kind,
                "metadata": described(schema::<ListMeta>(), "About the list."),
                "items": {
                    "description": "The packages.",
                    "type": "array",
                    "items": { "$ref": format!("{prefix}{OBJECT}") },
                },
            },
            "x-kubernetes-group-version-kind": of(&format!("{KIND}List")),
        },
    })
}

/// The schema of a type, all in one.
fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::openapi3().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    tidy(&mut schema);
    schema
}

/// Leaves out what means something to other readers only.
fn tidy(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    for key in ["$schema", "title", "default", "nullable"] {
        fields.shift_remove(key);
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(tidy);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(schema) = fields.get_mut(key) {
            tidy(schema);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every schema within a schema.
    fn walk<'a>(schema: &'a Value, seen: &mut Vec<&'a Value>) {
        seen.push(schema);
        let fields = schema["properties"].as_object();
        for schema in fields.into_iter().flat_map(|fields| fields.values()) {
            walk(schema, seen);
        }
        for key in ["items", "additionalProperties"] {
            if schema[key].is_object() {
                walk(&schema[key], seen);
            }
        }
    }

    #[test]
    fn every_field_of_a_package_is_described_and_of_one_type() {
        for (document, at) in [
            (version_2(), "/definitions"),
            (version_3(), "/components/schemas"),
        ] {
            let schemas = document.pointer(at).unwrap();
            let mut seen = Vec::new();
            walk(&schemas[OBJECT], &mut seen);
            assert!(seen.len() > 80, "only {} schemas", seen.len());
            for schema in seen {
                assert!(
                    schema["type"].is_string() || schema["x-kubernetes-int-or-string"] == true,
                    "{schema}"
                );
                for key in ["anyOf", "oneOf", "allOf", "$ref"] {
                    assert!(schema.get(key).is_none(), "{schema}");
                }
            }
            let channels = &schemas[OBJECT]["properties"]["status"]["properties"]["channels"];
            let entries = &channels["items"]["properties"]["entries"];
            assert_eq!(
                entries["description"],
                "The versions in the channel, the newest first."
            );
        }
    }

    #[test]
    fn kubectl_explain_finds_the_kind_by_the_path_of_its_list() {
        let document = version_3();
        let path = format!("/apis/{API_VERSION}/{RESOURCE}");
        let kind = &document["paths"][path]["get"]["x-kubernetes-group-version-kind"];
        assert_eq!(kind["kind"], KIND);
    }
}
