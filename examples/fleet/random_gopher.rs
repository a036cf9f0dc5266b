//! A gopher: which one is chosen when it starts, and it is that until it ends.

use std::net::SocketAddr;

use anyhow::{Context as _, anyhow};
use axum::Router;
use axum::http::header;
use axum::response::{Html, IntoResponse as _};
use axum::routing::get;
use clap::Parser;
use tokio_util::sync::CancellationToken;

use crate::{drawing, serving};

/// How it is started.
#[derive(Debug, Parser)]
pub(crate) struct Args {
    /// Where it is served
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8080")]
    listen: SocketAddr,
}

pub(crate) async fn run(args: &Args, stop: CancellationToken) -> anyhow::Result<()> {
    let name = choose()?;
    tracing::info!(gopher = name, "here I am");
    serving::serve(args.listen, router(name), stop).await
}

fn choose() -> anyhow::Result<&'static str> {
    let mut dice = [0; 8];
    rustls::crypto::ring::default_provider()
        .secure_random
        .fill(&mut dice)
        .map_err(|_| anyhow!("this system has no random numbers"))?;
    let at = u64::from_le_bytes(dice) % u64::try_from(drawing::KINDS.len())?;
    let kind = drawing::KINDS
        .get(usize::try_from(at)?)
        .context("no gophers")?;
    Ok(kind.name)
}

fn router(name: &'static str) -> Router {
    let page = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>{name}</title>\
         <body style='display:grid;place-items:center;min-height:90vh;font-family:sans-serif'>\
         <figure><img src=gopher alt='A gopher'><figcaption>{name}</figcaption></figure>"
    );
    let svg = [(header::CONTENT_TYPE, "image/svg+xml")];
    serving::probes()
        .route("/", get(async move || Html(page)))
        .route(
            "/gopher",
            get(async move || (svg, drawing::picture(name)).into_response()),
        )
        .route("/gopher/name", get(async move || name))
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::Request;
    use http_body_util::BodyExt as _;
    use tower::ServiceExt as _;

    use super::*;

    async fn get(path: &str) -> String {
        let request = Request::get(path).body(Body::empty()).expect("a request");
        let answer = router("captain").oneshot(request).await.expect("an answer");
        let body = answer.into_body().collect().await.expect("a body");
        String::from_utf8(body.to_bytes().to_vec()).expect("text")
    }

    #[tokio::test]
    async fn a_gopher_tells_its_name_and_shows_itself() {
        assert_eq!(get("/gopher/name").await, "captain");
        assert_eq!(get("/gopher").await, drawing::picture("captain"));
        assert!(get("/").await.contains("captain"));
        assert_eq!(get("/readyz").await, "ok\n");
    }

    #[test]
    fn a_gopher_is_one_that_there_is() {
        let name = choose().expect("a choice");
        assert!(drawing::KINDS.iter().any(|kind| kind.name == name));
    }
}
