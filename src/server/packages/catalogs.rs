//! The catalogs behind the API: which of them a namespace sees, and which goes first.

use std::sync::Arc;

use kube::ResourceExt as _;

use super::csv::Csv;
use super::manifest::{Heads, default_head, manifest};
use crate::api::catalog_source::{CatalogSource, Icon};
use crate::api::package_manifest::PackageManifest;
use crate::catalog::fbc;
use crate::catalog::index::{Error, Index};
use crate::resolver::Curation;

/// What the server asks for packages.
pub trait Catalogs: Send + Sync + 'static {
    /// The catalogs whose content is known. The error is why there are none to be had yet.
    fn catalogs(&self) -> Result<Vec<Catalog>, String>;
}

/// A catalog with its content.
#[derive(Debug, Clone)]
pub struct Catalog {
    /// Its object.
    pub object: Arc<CatalogSource>,
    /// Its content.
    pub index: Arc<Index>,
    /// Whether every namespace may use it.
    pub is_global: bool,
}

/// A package of a catalog, as a namespace sees it.
#[derive(Debug, Clone)]
pub(super) struct Offer {
    pub(super) catalog: Arc<Catalog>,
    pub(super) package: String,
    /// The namespace it is shown in.
    pub(super) namespace: String,
}

/// What a namespace is offered, or everybody if none is named.
///
/// Sorted by package. Where several catalogs have the same package, the one of the highest priority
/// goes first, then the one of the namespace itself, then by the names of the catalogs: a `get`
/// shows the first, a list shows all.
pub(super) fn offers(
    catalogs: Vec<Catalog>,
    namespace: Option<&str>,
    package: Option<&str>,
) -> Vec<Offer> {
    let visible = catalogs.into_iter().filter(|catalog| {
        let home = catalog.object.namespace();
        namespace.is_none() || catalog.is_global || home.as_deref() == namespace
    });
    let mut visible: Vec<Arc<Catalog>> = visible.map(Arc::new).collect();
    visible.sort_by_cached_key(|catalog| {
        let object = &catalog.object;
        let home = object.namespace().unwrap_or_default();
        let is_foreign = namespace.is_some_and(|namespace| namespace != home);
        let priority = std::cmp::Reverse(object.spec.priority);
        (priority, is_foreign, object.name_any(), home)
    });
    let mut offers = Vec::new();
    for catalog in visible {
        // Until its patterns can be read nothing of a catalog is offered, as to Subscriptions.
        let Ok(curation) = Curation::new(&catalog.object.spec.packages) else {
            continue;
        };
        let home = catalog.object.namespace().unwrap_or_default();
        let all = catalog.index.packages().iter().map(|it| it.name.as_str());
        let wanted = all.filter(|name| package.is_none_or(|package| package == *name));
        for name in wanted.filter(|name| curation.allows(name)) {
            offers.push(Offer {
                catalog: catalog.clone(),
                package: name.to_owned(),
                namespace: namespace.unwrap_or(&home).to_owned(),
            });
        }
    }
    // Stable: those of the same package stay in the order of their catalogs.
    offers.sort_by(|a, b| a.package.cmp(&b.package));
    offers
}

impl Offer {
    /// The object that is shown. Nothing if the package is not in the catalog.
    pub(super) fn manifest(&self) -> Result<Option<PackageManifest>, Error> {
        let index = &self.catalog.index;
        let Some(record) = index.package(&self.package)? else {
            return Ok(None);
        };
        let mut heads = Heads::new();
        for channel in &record.channels {
            let head = record.head(channel);
            if let Some(head) = head.filter(|head| !heads.contains_key(&head.name)) {
                let blob = index.bundle_json(head)?;
                heads.insert(head.name.clone(), Csv::read(&blob, &head.version));
            }
        }
        let shown = manifest(&self.catalog, &record, &heads, &self.namespace);
        Ok(Some(shown))
    }

    /// The picture, if there is one, and what tells it from earlier and later ones.
    pub(super) fn icon(&self) -> Result<(Option<Icon>, String), Error> {
        let index = &self.catalog.index;
        let Some(record) = index.package(&self.package)? else {
            return Ok((None, self.package.clone()));
        };
        let head = default_head(&record);
        let name = head.map_or("", |head| &head.name);
        let tag = format!("{}.{}.{name}", record.name, record.default_channel);
        let package = index.package_blob(&record)?;
        // A picture that cannot be read is none.
        let package: fbc::Package = serde_json::from_value(package).unwrap_or_default();
        let icon = package.icon.filter(|icon| !icon.base64data.is_empty());
        if let Some(fbc::Icon {
            base64data,
            mediatype,
        }) = icon
        {
            let icon = Icon {
                base64data,
                mediatype,
            };
            return Ok((Some(icon), tag));
        }
        let Some(head) = head else {
            return Ok((None, tag));
        };
        let csv = Csv::read(&index.bundle_json(head)?, &head.version);
        Ok((csv.icon, tag))
    }
}
