//! What is installed, as it changes.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::ensure;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse as _;
use chandler::bundle::Bundle;
use chandler::server::hub::views::{Health, Installation};
use chandler::server::hub::{Catalog, Hub, Supply, WantedBundle};
use futures::future::BoxFuture;
use tokio::sync::watch;

use crate::stage::with_router;
use crate::stock;
use crate::support::hub::Desk;

/// Catalogs, and a cluster that a test changes.
pub(crate) struct Harbour {
    desk: Desk,
    installations: Mutex<Vec<Installation>>,
    changes: watch::Sender<u64>,
}

impl Harbour {
    /// With the usual catalog, and nothing installed.
    pub(crate) async fn new() -> Self {
        Self {
            desk: Desk::with(&[("harbour", &stock::usual())], |_| {}).await,
            installations: Mutex::new(Vec::new()),
            changes: watch::channel(0).0,
        }
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Vec<Installation>)) {
        change(
            &mut self
                .installations
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        self.changes.send_modify(|number| *number += 1);
    }
}

impl Supply for Harbour {
    fn catalogs(&self) -> Vec<Catalog> {
        self.desk.supplies.catalogs()
    }

    fn installations(&self) -> Option<Vec<Installation>> {
        Some(
            self.installations
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
        )
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.changes.subscribe())
    }

    fn bundle<'s>(&'s self, wanted: &'s WantedBundle) -> BoxFuture<'s, Result<Bundle, String>> {
        self.desk.supplies.bundle(wanted)
    }
}

#[tokio::test]
async fn the_page_of_what_is_installed_follows_the_cluster() {
    let harbour = Arc::new(Harbour::new().await);
    let router = chandler::server::site(Arc::new(Hub::new(harbour.clone())));
    with_router(router, async |stage| {
        stage.visit("/installed").await?;
        ensure!(
            stage
                .text("#installed")
                .await?
                .contains("Nothing is installed")
        );
        harbour.change(|installations| {
            installations.push(gopher(Health::Pending, "its deployment starts"));
        });
        stage
            .wait(
                "it is on its way",
                "document.querySelector('#installed').textContent.includes('On its way')",
            )
            .await?;
        stage.is_accessible().await?;
        harbour.change(|installations| installations[0] = gopher(Health::Healthy, ""));
        stage
            .wait(
                "it is healthy",
                "document.querySelector('#installed .badge.good')?.textContent.includes('healthy')",
            )
            .await?;
        stage.picture("installed").await?;
        stage.visit("/?installed=true").await?;
        ensure!(stage.texts(".card h3").await? == ["Gopher"]);
        ensure!(
            stage
                .text(".card .badges")
                .await?
                .contains("Upgrade available")
        );
        stage.picture("cards").await
    })
    .await;
}

#[tokio::test]
async fn a_page_that_was_refused_the_news_asks_again() {
    let harbour = Arc::new(Harbour::new().await);
    let asked = Arc::new(AtomicUsize::new(0));
    let refusing = from_fn(move |request: Request, next: Next| {
        let is_news = request.uri().path() == "/api/v1/events";
        let is_refused = is_news && asked.fetch_add(1, Ordering::SeqCst) < 2;
        async move {
            if is_refused {
                return StatusCode::SERVICE_UNAVAILABLE.into_response();
            }
            next.run(request).await
        }
    });
    let hub = Arc::new(Hub::new(harbour.clone()));
    let router = chandler::server::site(hub).layer(refusing);
    with_router(router, async |stage| {
        stage.visit("/installed").await?;
        harbour.change(|installations| installations.push(gopher(Health::Healthy, "")));
        stage
            .wait(
                "it is told",
                "document.querySelector('#installed .badge.good')?.textContent.includes('healthy')",
            )
            .await?;
        // The refusals.
        let complaints = stage.complaints().await?;
        ensure!(
            complaints.iter().all(|one| one.contains("503")),
            "{complaints:?}"
        );
        Ok(())
    })
    .await;
}

pub(crate) fn gopher(health: Health, message: &str) -> Installation {
    Installation {
        package: "gopher".to_owned(),
        namespace: "burrows".to_owned(),
        subscription: "gopher".to_owned(),
        catalog: "harbour".to_owned(),
        channel: "stable".to_owned(),
        csv: "gopher.v1.1.0".to_owned(),
        version: "1.1.0".to_owned(),
        phase: "Succeeded".to_owned(),
        health,
        message: message.to_owned(),
        next: "gopher.v1.2.0".to_owned(),
        waits_because: "somebody has to approve InstallPlan install-abc".to_owned(),
        plan_to_approve: "install-abc".to_owned(),
    }
}
