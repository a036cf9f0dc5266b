//! Whether a CustomResourceDefinition may take the place of the one in the cluster.
//!
//! Two questions are asked, and nobody else asks both. [`compare`] looks at the two schemas and says
//! what changed and how bad that is: what is refused whatever the cluster holds, what depends on the
//! objects there, and what harms nobody. [`validate`] and [`validate_ratcheted`] look at one live
//! object, the way the API server would when it is written next. [`judge`] puts both together into a
//! [`Verdict`] that names objects and fields.
//!
//! Two rules keep the noise down. *Ratcheting*: what was already so before is nobody's fault now,
//! neither in schemas nor in objects. And *what is harmless needs no look at the cluster*: no object
//! that was valid becomes invalid by changes that are all [`Severity::Harmless`].
//!
//! CRDs come out of catalogs, and anyone can write a catalog: depth, patterns and rules have bounds,
//! and what is beyond them is reported, not tried.

mod beta;
mod change;
mod compare;
mod judge;
mod limits;
mod structural;
mod text;
mod validate;

#[cfg(test)]
mod tests;

pub use beta::{NotUpgradable, Upgraded, upgrade_v1beta1};
pub use change::{ChangeKind, SchemaChange, Severity};
pub use compare::compare;
pub use judge::{BadObject, Judge, Verdict, is_looked_at, judge};
pub use validate::{Violation, ViolationKind, validate, validate_ratcheted};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 as apiextensions;

use apiextensions::{
    CustomResourceDefinition, CustomResourceDefinitionVersion, JSONSchemaProps,
    JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

/// The version of that name.
fn version_of<'a>(
    crd: &'a CustomResourceDefinition,
    name: &str,
) -> Option<&'a CustomResourceDefinitionVersion> {
    crd.spec
        .versions
        .iter()
        .find(|version| version.name == name)
}

/// The schema of a version.
fn schema_of(version: &CustomResourceDefinitionVersion) -> Option<&JSONSchemaProps> {
    version.schema.as_ref()?.open_api_v3_schema.as_ref()
}

/// Whether objects are converted by a webhook, which can mend what a schema does not allow.
fn converts_by_webhook(crd: &CustomResourceDefinition) -> bool {
    let conversion = crd.spec.conversion.as_ref();
    conversion.is_some_and(|conversion| conversion.strategy == "Webhook")
}

/// The schema of a list's items. A list of schemas, one for each item, is not structural, and the API
/// server takes none.
fn items_of(schema: &JSONSchemaProps) -> Option<&JSONSchemaProps> {
    match schema.items.as_ref()? {
        JSONSchemaPropsOrArray::Schema(items) => Some(items),
        JSONSchemaPropsOrArray::Schemas(_) => None,
    }
}

/// What a schema says of fields that it does not name.
#[derive(Clone, Copy, Debug)]
enum Others<'a> {
    /// They are dropped.
    Dropped,
    /// They are kept, whatever they are.
    Kept,
    /// They are kept and have to be so.
    Typed(&'a JSONSchemaProps),
}

fn others_of(schema: &JSONSchemaProps) -> Others<'_> {
    match &schema.additional_properties {
        Some(JSONSchemaPropsOrBool::Schema(schema)) => Others::Typed(schema),
        Some(JSONSchemaPropsOrBool::Bool(true)) => Others::Kept,
        _ if schema.x_kubernetes_preserve_unknown_fields == Some(true) => Others::Kept,
        _ => Others::Dropped,
    }
}

/// A field by name.
fn field_of<'a>(schema: &'a JSONSchemaProps, name: &str) -> Option<&'a JSONSchemaProps> {
    schema.properties.as_ref()?.get(name)
}
