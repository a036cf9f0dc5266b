//! The APIs that a version brings: fields, rules, examples.

use std::collections::BTreeSet;
use std::sync::Arc;

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;

use super::failure::Failure;
use super::frame::{Frame, Tab};
use super::name::Name;
use super::permissions::{framed, why_unknown};
use super::shell::Shell;
use crate::server::hub::views::{CrdVersionView, CrdView, FieldView};
use crate::server::hub::{Hub, encoded};

#[derive(Template)]
#[template(path = "apis.html")]
struct ApisPage {
    shell: Shell,
    frame: Frame,
    crds: Vec<Crd>,
    /// Whether their groups tell them apart.
    has_groups: bool,
    unknown: Option<String>,
}

/// A CRD as it is shown.
struct Crd {
    of: CrdView,
}

/// Fields, and below each its own.
#[derive(Template)]
#[template(path = "fields.html")]
struct FieldTree<'a> {
    fields: &'a [FieldView],
    depth: usize,
}

pub(super) async fn page(
    State(hub): State<Arc<Hub>>,
    Name(package): Name,
    RawQuery(query): RawQuery,
) -> Result<Response, Failure> {
    let frame = framed(&hub, package, query.as_deref(), Tab::Apis).await?;
    let (name, bundle) = (&frame.page.card.name, &frame.version.summary.name);
    let crds = hub.crds(name, Some(frame.catalog()), Some(bundle)).await?;
    let groups: BTreeSet<String> = crds.crds.iter().map(|crd| crd.group.clone()).collect();
    super::html(&ApisPage {
        shell: Frame::shell(&hub),
        has_groups: groups.len() > 1,
        crds: crds.crds.into_iter().map(|of| Crd { of }).collect(),
        unknown: why_unknown(crds.knowledge),
        frame,
    })
}

impl Crd {
    /// What an address leads to it by.
    fn anchor(&self) -> String {
        let name = if self.of.name.is_empty() {
            &self.of.kind
        } else {
            &self.of.name
        };
        format!("api-{}", encoded(name))
    }

    fn scope(&self) -> Option<&'static str> {
        let is_namespaced = self.of.is_namespaced?;
        Some(if is_namespaced {
            "in namespaces"
        } else {
            "for the whole cluster"
        })
    }

    #[allow(clippy::unused_self, reason = "templates have nothing else to ask")]
    fn fields<'a>(&self, version: &'a CrdVersionView) -> FieldTree<'a> {
        FieldTree {
            fields: &version.fields,
            depth: 0,
        }
    }
}

impl FieldTree<'_> {
    /// `spec` is what people come for.
    fn is_open(&self, field: &FieldView) -> bool {
        self.depth == 0 && field.name == "spec"
    }

    fn below<'a>(&self, field: &'a FieldView) -> FieldTree<'a> {
        FieldTree {
            fields: &field.fields,
            depth: self.depth + 1,
        }
    }
}
