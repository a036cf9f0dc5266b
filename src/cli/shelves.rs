//! The catalogs of a question, as a hub that can be asked.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::args::hub::Catalogs as Args;
use super::args::registry::Registry;
use super::failure::Failure;
use super::situation::{self, Asks};
use crate::bundle::Bundle;
use crate::server::hub::{Catalog, Content, Error, ErrorKind, Hub, Shelf, Supply, WantedBundle};

/// Catalogs that were opened for one question.
struct Opened(Shelf);

impl Supply for Opened {
    fn catalogs(&self) -> Vec<Catalog> {
        self.0.catalogs()
    }

    fn bundle<'s>(&'s self, _: &'s WantedBundle) -> BoxFuture<'s, Result<Bundle, String>> {
        Box::pin(async { Err("bundles are not read here".to_owned()) })
    }
}

/// A hub of the catalogs that are named, or of those of the cluster.
pub(super) fn open(args: &Args, registry: &Registry) -> Result<Hub, Failure> {
    let situation = situation::read(&args.situation(), None, Asks::ForOne, registry)?;
    let is_of_cluster = args.catalog.is_empty();
    let catalogs = situation.catalogs.into_iter().map(|open| {
        let mut key = open.listing.key;
        if !is_of_cluster {
            // What was named on the command line is known by that name alone.
            key.namespace.clear();
        }
        let (content, problem) = match open.contents {
            Ok(index) => {
                let content = Content {
                    digest: key.to_string(),
                    index: Arc::new(index),
                };
                (Some(content), None)
            }
            Err(problem) => (None, Some(problem)),
        };
        Catalog {
            key,
            display_name: String::new(),
            publisher: String::new(),
            priority: open.listing.priority,
            curation: open.listing.curation,
            content,
            problem,
        }
    });
    let shelf = Shelf::new(catalogs.collect());
    Ok(Hub::new(Arc::new(Opened(shelf))))
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let (kind, hint) = (error.kind, error.hint.clone());
        let failure = match kind {
            ErrorKind::NotFound => Self::no(error),
            ErrorKind::BadRequest => Self::usage(error),
            ErrorKind::Unavailable | ErrorKind::Internal => Self::outside(error),
        };
        if hint.is_empty() {
            return failure;
        }
        failure.hint(hint)
    }
}
