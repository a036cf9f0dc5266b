//! The page of the fleet's gophers API, fed as the gopher operator feeds it.

use std::net::TcpListener;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use reqwest::Client;
use serde_json::json;
use tokio::process::{Child, Command};

use crate::stage::{Stage, with_address};
use crate::support::stand_in::binary;

const KEY: &str = "correct-horse";
/// How many may look on at once.
const ONLOOKERS: usize = 64;

/// A gophers API that runs until it is dropped.
struct Burrow {
    address: String,
    http: Client,
    _process: Child,
}

impl Burrow {
    async fn open() -> anyhow::Result<Self> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let listen = format!("127.0.0.1:{port}");
        let program = binary("fleet")?;
        let process = Command::new(&program)
            .args(["gophers-api", "--listen", &listen, "--api-key", KEY])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{}: `make test-browser` builds it", program.display()))?;
        let burrow = Self {
            address: format!("http://{listen}"),
            http: Client::new(),
            _process: process,
        };
        let ready = format!("{}/readyz", burrow.address);
        let opens = async {
            while burrow.http.get(&ready).send().await.is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), opens)
            .await
            .context("the gophers API does not start")?;
        Ok(burrow)
    }

    /// Tells it of as many gophers as there are to be, one after the other.
    async fn scale(&self, from: usize, to: usize) -> anyhow::Result<()> {
        let url = format!("{}/gopher", self.address);
        for at in from..to {
            let gopher = json!({
                "id": format!("a/{at}"), "name": "diver", "displayname": format!("pod-{at}"),
                "url": "picture/diver.svg",
            });
            let request = self.http.post(&url).body(gopher.to_string());
            self.tell(request).await?;
        }
        for at in to..from {
            self.tell(self.http.delete(format!("{url}?id=a/{at}")))
                .await?;
        }
        Ok(())
    }

    async fn tell(&self, request: reqwest::RequestBuilder) -> anyhow::Result<()> {
        request
            .header("x-api-key", KEY)
            .send()
            .await?
            .error_for_status()?;
        Ok(())
    }
}

/// Waits until the page shows so many gophers, in its list and in words.
async fn shows(stage: &Stage, gophers: usize) -> anyhow::Result<()> {
    let words = match gophers {
        1 => "1 gopher".to_owned(),
        many => format!("{many} gophers"),
    };
    let script = format!(
        "document.querySelectorAll('#gophers > li').length === {gophers} \
         && document.getElementById('count').textContent === '{words}'"
    );
    stage.wait(&words, &script).await
}

const LIVE: &str = "document.getElementById('state').textContent === 'live'";

#[tokio::test]
async fn gophers_that_come_and_go_are_seen_without_loading_the_page_again() {
    let burrow = Burrow::open().await.unwrap();
    burrow.scale(0, 3).await.unwrap();
    with_address(burrow.address.clone(), async |stage| {
        stage.visit("/").await?;
        stage.wait("live", LIVE).await?;
        shows(stage, 3).await?;
        // Gone as soon as the page is loaded again.
        stage
            .ask::<bool>("return window.same = true", vec![])
            .await?;
        burrow.scale(3, 10).await?;
        shows(stage, 10).await?;
        stage.picture("ten").await?;
        let pictures = "[...document.images].every(it => it.complete && it.naturalWidth > 0)";
        stage.wait("pictures", pictures).await?;
        burrow.scale(10, 1).await?;
        shows(stage, 1).await?;
        let stayed = stage.texts("#gophers small").await?;
        ensure!(stayed == ["pod-0"], "{stayed:?}");
        burrow.scale(1, 0).await?;
        stage
            .wait("nobody", "!document.getElementById('empty').hidden")
            .await?;
        ensure!(
            stage.ask::<bool>("return !!window.same", vec![]).await?,
            "it was loaded again"
        );
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_page_that_was_turned_away_comes_back_when_there_is_room() {
    let burrow = Burrow::open().await.unwrap();
    burrow.scale(0, 2).await.unwrap();
    let mut others = Vec::new();
    for _ in 0..ONLOOKERS {
        let events = burrow.http.get(format!("{}/events", burrow.address));
        others.push(events.send().await.unwrap().error_for_status().unwrap());
    }
    with_address(burrow.address.clone(), async |stage| {
        stage.visit("/").await?;
        let turned_away =
            "performance.getEntriesByType('resource').some(it => it.name.endsWith('/events'))";
        stage.wait("turned away", turned_away).await?;
        ensure!(stage.count("#gophers li").await? == 0, "there was room");
        others.clear();
        stage.wait("live", LIVE).await?;
        shows(stage, 2).await?;
        let complaints = stage.complaints().await?;
        ensure!(
            complaints.iter().all(|it| it.contains("/events")),
            "{complaints:?}"
        );
        Ok(())
    })
    .await;
}
