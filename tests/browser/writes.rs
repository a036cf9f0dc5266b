//! Signing in, and what can be done then.

use std::sync::Arc;

use anyhow::ensure;
use chandler::server::hub::views::Health;
use chandler::server::hub::{Hub, Supply as _};
use chandler::server::writes::{Extent, Transport, Writes};
use thirtyfour::Key;

use crate::installed::{Harbour, gopher};
use crate::stage::{Stage, with_router};
use crate::support::clerk::{Clerk, TOKEN, Wanted};

/// A hub whose clerk lets things happen in the harbour.
async fn harbour() -> (Arc<Harbour>, axum::Router) {
    let harbour = Arc::new(Harbour::new().await);
    let there = harbour.clone();
    let clerk = Clerk {
        listener: Some(Box::new(move |wanted| match wanted {
            Wanted::Install(_, Extent::Done) => {
                let mut begun = gopher(Health::Pending, "its deployment starts");
                begun.waits_because.clear();
                begun.plan_to_approve.clear();
                there.change(|all| all.push(begun));
            }
            Wanted::Uninstall(_, _, Extent::Done) => there.change(Vec::clear),
            _ => {}
        })),
        ..Clerk::default()
    };
    let writes = Writes {
        writer: Some(Arc::new(clerk)),
        transport: Transport::Direct,
    };
    let hub = Hub::new(harbour.clone()).with_writes(writes);
    (harbour, chandler::server::site(Arc::new(hub)))
}

async fn says(stage: &Stage, css: &str, words: &str) -> anyhow::Result<()> {
    let script = format!("document.querySelector('{css}')?.textContent.includes('{words}')");
    stage.wait(words, &script).await
}

#[tokio::test]
async fn somebody_signs_in_installs_sees_it_become_healthy_and_removes_it() {
    let (harbour, router) = harbour().await;
    with_router(router, async |stage| {
        stage.visit("/packages/gopher?namespace=burrows").await?;
        stage.click("#install-here").await?;
        stage
            .wait(
                "the dialog",
                "document.querySelector('#sign-in-dialog').open",
            )
            .await?;
        stage.is_accessible().await?;
        stage.picture("sign-in").await?;
        stage.write("#token", "somebody.elses").await?;
        stage.press(Key::Enter).await?;
        says(stage, "#sign-in-dialog .problem", "Unauthorized").await?;
        // The browser notes every refusal.
        stage.complaints().await?;
        stage
            .ask::<()>("document.querySelector('#token').value = ''", vec![])
            .await?;
        stage.write("#token", TOKEN).await?;
        stage.press(Key::Enter).await?;

        // What happens is shown before anything does.
        says(stage, "#deed-body", "Subscription burrows/gopher").await?;
        says(stage, "#deed-body", "What is there already").await?;
        ensure!(harbour.installations().unwrap_or_default().is_empty());
        stage.is_accessible().await?;
        stage.picture("preview").await?;
        stage.click("#deed-go").await?;
        says(stage, "#deed-progress", "deployment starts").await?;
        harbour.change(|all| all[0] = gopher(Health::Healthy, ""));
        says(stage, "#deed-progress", "gopher runs").await?;
        stage.picture("healthy").await?;
        let cookies = stage
            .ask::<String>("return document.cookie", vec![])
            .await?;
        ensure!(cookies.is_empty(), "{cookies}");
        let address = stage.address().await?;
        ensure!(!address.contains(TOKEN), "{address}");
        // By keyboard alone from here.
        stage.press(Key::Escape).await?;
        stage
            .wait("closed", "!document.querySelector('#deed-dialog').open")
            .await?;
        stage
            .wait(
                "the focus is back",
                "document.activeElement.id === 'install-here'",
            )
            .await?;

        stage.visit("/installed").await?;
        stage.is_accessible().await?;
        stage.picture("installed").await?;
        stage
            .ask::<()>(
                "document.querySelector('[data-deed=uninstall]').focus()",
                vec![],
            )
            .await?;
        stage.press(Key::Enter).await?;
        says(stage, "#deed-body", "gopher.v1.1.0").await?;
        says(stage, "#deed-body", "nobody asked for more").await?;
        stage.is_accessible().await?;
        stage.picture("uninstall").await?;
        stage.click("#deed-go").await?;
        says(stage, "#deed-progress", "is gone").await?;
        stage.press(Key::Escape).await?;
        says(stage, "#installed", "Nothing is installed").await?;
        stage.click("#sign-in").await?;
        let kept = "return String(sessionStorage.getItem('visitor'))";
        ensure!(stage.ask::<String>(kept, vec![]).await? == "null");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_upgrade_is_approved_where_it_waits() {
    let (harbour, router) = harbour().await;
    harbour.change(|all| all.push(gopher(Health::Pending, "it waits")));
    with_router(router, async |stage| {
        stage.visit("/installed").await?;
        stage.click("#sign-in").await?;
        stage.write("#token", TOKEN).await?;
        stage.press(Key::Enter).await?;
        says(stage, "#sign-in", "Sign out").await?;
        stage.click("[data-deed=approve]").await?;
        says(stage, "#deed-body", "install-abc").await?;
        stage.is_accessible().await?;
        stage.click("#deed-go").await?;
        says(stage, "#deed-progress", "approve").await?;
        harbour.change(|all| {
            all[0] = gopher(Health::Healthy, "");
            all[0].plan_to_approve.clear();
        });
        says(stage, "#deed-progress", "is up to date").await
    })
    .await;
}
