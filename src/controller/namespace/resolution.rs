//! The resolver, asked about a namespace.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt as _;
use tokio::time::Instant;

use super::world::World;
use crate::catalog::index::Index;
use crate::controller::context::Context;
use crate::controller::error::Error;
use crate::resolver::{
    Catalog, CatalogKey, Component, Contents, Curation, Held, Installed, Listing, Request,
    Resolution, Subscription, Unreadable, catalogs, fails_after, held, installed, resolve,
    subscriptions,
};
use crate::version::Version;

/// What the resolver said, and what it could not be asked.
pub(super) struct Answer {
    pub(super) resolution: Resolution,
    /// Subscriptions that cannot be understood, by name, and why.
    pub(super) unreadable: BTreeMap<String, String>,
    /// After which time the answer may be another, although nothing changed.
    pub(super) ask_again: Option<Duration>,
}

/// What is asked, without borrowing anything: it is thought about on another thread.
struct Question {
    namespace: String,
    global_namespaces: Vec<String>,
    exclude_global: bool,
    kube_version: Option<Version>,
    catalogs: Vec<(Listing, Option<Arc<Index>>, Option<String>)>,
    installed: Vec<Installed>,
    subscriptions: Vec<Subscription>,
    held: Vec<Held>,
}

/// Asks the resolver.
pub(super) async fn answer(context: &Context, world: &World) -> Result<Answer, Error> {
    let wanted = subscriptions(&world.subscriptions);
    let now = context.now();
    let present = installed(&world.csvs, &world.subscriptions, Some(&now));
    for problem in &present.problems {
        tracing::warn!(%problem, "an installed operator can only be read in part");
    }
    let question = Question {
        namespace: world.namespace.clone(),
        global_namespaces: context.settings.global_namespaces.clone(),
        exclude_global: world.excludes_global(),
        kube_version: context.kube_version(),
        catalogs: listed(world),
        installed: present.items,
        subscriptions: wanted.items,
        held: held(&world.subscriptions),
    };
    let unreadable = wanted.problems.into_iter();
    let begun = Instant::now();
    // It may take a while, and others wait for this thread.
    let resolution = tokio::task::spawn_blocking(move || question.ask()).await?;
    let is_solved = |component: &Component| matches!(component, Component::Solved(_));
    let has_succeeded = resolution.components.iter().all(is_solved);
    let metrics = &context.metrics;
    metrics.resolved(has_succeeded, begun.elapsed());
    Ok(Answer {
        resolution,
        ask_again: fails_after(&world.csvs, &now),
        unreadable: unreadable
            .map(|problem: Unreadable| (problem.object.name.clone(), problem.to_string()))
            .collect(),
    })
}

/// The catalogs with what is known of them. One whose curation cannot be understood offers
/// nothing: more than its owner meant would be worse.
fn listed(world: &World) -> Vec<(Listing, Option<Arc<Index>>, Option<String>)> {
    let objects = world.catalogs.iter();
    objects
        .map(|(object, known)| {
            let read = catalogs(std::slice::from_ref(object));
            let content = known.as_ref().and_then(|known| known.content.as_ref());
            let index = content.map(|content| content.index.clone());
            let problem = known.as_ref().map(|known| known.problem.clone());
            let problem = problem.unwrap_or_else(|| Some("it was not read yet".to_owned()));
            if let Some(listing) = read.items.into_iter().next() {
                return (listing, index, problem);
            }
            let problems: Vec<String> = read.problems.iter().map(ToString::to_string).collect();
            let listing = Listing {
                key: CatalogKey::new(object.namespace().unwrap_or_default(), object.name_any()),
                priority: 0,
                curation: Curation::default(),
            };
            (listing, None, Some(problems.join("; ")))
        })
        .collect()
}

impl Question {
    fn ask(self) -> Resolution {
        let catalogs = self
            .catalogs
            .iter()
            .map(|(listing, index, problem)| Catalog {
                key: listing.key.clone(),
                priority: listing.priority,
                curation: listing.curation.clone(),
                contents: match (index, problem) {
                    (Some(index), None) => Contents::Current(&**index),
                    (Some(index), Some(problem)) => Contents::Stale(&**index, problem),
                    (None, problem) => Contents::Missing(problem.as_deref().unwrap_or_default()),
                },
            });
        resolve(&Request {
            namespace: self.namespace.clone(),
            global_namespaces: self.global_namespaces.clone(),
            exclude_global: self.exclude_global,
            kube_version: self.kube_version.clone(),
            catalogs: catalogs.collect(),
            installed: self.installed.clone(),
            subscriptions: self.subscriptions.clone(),
            held: self.held.clone(),
        })
    }
}
