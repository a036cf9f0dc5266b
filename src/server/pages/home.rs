//! All operators: cards, filters, search.

mod browse;
mod query;

use std::sync::Arc;

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;

use super::failure::Failure;
use super::shell::{Section, Shell};
use crate::server::hub::{Hub, blocking};
use browse::Browse;
use query::HomeQuery;

#[derive(Template)]
#[template(path = "home.html")]
struct HomePage {
    shell: Shell,
    browse: Browse,
}

/// The part of the page that changes with the filters, for the script.
#[derive(Template)]
#[template(path = "fragment.html")]
struct Part {
    browse: Browse,
}

pub(super) async fn page(
    State(hub): State<Arc<Hub>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Failure> {
    let mut shell = Shell::new(&hub, Section::Home);
    let browse = browsed(hub, query).await?;
    shell.q.clone_from(&browse.query.filter.q);
    super::html(&HomePage { shell, browse })
}

pub(super) async fn part(
    State(hub): State<Arc<Hub>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Failure> {
    super::html(&Part {
        browse: browsed(hub, query).await?,
    })
}

async fn browsed(hub: Arc<Hub>, query: Option<String>) -> Result<Browse, Failure> {
    let work = move || {
        let query = HomeQuery::parse(&query.unwrap_or_default())?;
        let list = hub.packages(&query.filter)?;
        Ok(Browse::new(query, list, hub.catalogs()))
    };
    Ok(blocking(work).await?)
}
