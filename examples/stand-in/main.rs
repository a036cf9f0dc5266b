//! A stand-in for an operator whose real image is not at hand: a pod that is really there.
//!
//! ```text
//! stand-in serve 0.0.0.0:8080     answers the probes, and says who it is
//! stand-in fetch HOST:PORT PATH   prints what such a server answers, as soon as it does
//! stand-in operate NAME PART...   does what operators do; see below
//! stand-in crash WORDS            says its last words
//! ```
//!
//! The parts of an operator:
//!
//! ```text
//! hooks             answers webhooks at port 9443, with the certificate that OLM mounts for them
//! api               serves the kind Tunnel of any group at port 5443, with the one that it mounts for APIs
//! condition=NAME    says in its OperatorCondition what is in ConfigMap NAME
//! ```

mod api;
mod condition;
mod hooks;
#[path = "../serving/tls.rs"]
mod tls;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use axum::Router;
use axum::routing::get;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;

use tls::Place;

/// How long `fetch` waits for a good answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// Where webhooks are served.
const HOOKS: Place = Place::hooks(everywhere(9443));
/// Where APIs are served, and with what, as servers made with Kubernetes' own library do it.
const API: Place = Place {
    address: everywhere(5443),
    certificate: "/apiserver.local.config/certificates/apiserver.crt",
    key: "/apiserver.local.config/certificates/apiserver.key",
};

const fn everywhere(port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        ["serve", address] => serve(address).await?,
        ["fetch", address, path] => {
            let answer = tokio::time::timeout(PATIENCE, fetch_until_served(address, path))
                .await
                .with_context(|| format!("{address} does not answer"))?;
            anstream::println!("{answer}");
        }
        ["operate", name, parts @ ..] => operate(name, parts).await?,
        ["crash", words] => {
            anstream::eprintln!("{words}");
            return Ok(ExitCode::from(42));
        }
        _ => {
            anstream::eprintln!(
                "usage: stand-in serve ADDRESS | fetch ADDRESS PATH | operate NAME PART... | crash WORDS"
            );
            return Ok(ExitCode::from(2));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Serves until it is told to stop.
async fn serve(address: &str) -> anyhow::Result<()> {
    let pod = std::env::var("HOSTNAME").unwrap_or_else(|_| "nowhere".to_owned());
    let greeting = format!("stand-in at {pod}\n");
    let router = Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(async || "ok\n"))
        .route("/", get(async move || greeting));
    let mut terminate = signal(SignalKind::terminate())?;
    axum::serve(TcpListener::bind(address).await?, router)
        .with_graceful_shutdown(async move {
            terminate.recv().await;
        })
        .await?;
    Ok(())
}

/// Does all parts until it is told to stop, or one of them cannot be done.
async fn operate(name: &str, parts: &[&str]) -> anyhow::Result<()> {
    if rustls::crypto::ring::default_provider()
        .install_default()
        .is_err()
    {
        bail!("a TLS provider is installed already");
    }
    let mut doing = JoinSet::new();
    for part in parts {
        match part.split_once('=').unwrap_or((part, "")) {
            ("hooks", _) => doing.spawn(tls::serve(HOOKS, hooks::router(name))),
            ("api", _) => doing.spawn(tls::serve(API, api::router(name))),
            ("condition", config_map) => {
                let mut terminate = signal(SignalKind::terminate())?;
                let tell = condition::tell(config_map.to_owned());
                doing.spawn(async move {
                    tokio::select! {
                        ended = tell => ended,
                        _ = terminate.recv() => Ok(()),
                    }
                })
            }
            _ => bail!("no operator has a part {part}"),
        };
    }
    while let Some(done) = doing.join_next().await {
        done??;
    }
    Ok(())
}

/// Asks again until the answer is good: a Service leads nowhere until its node knows of it.
async fn fetch_until_served(address: &str, path: &str) -> String {
    loop {
        match fetch(address, path).await {
            Ok(answer) if answer.starts_with("HTTP/1.1 200") => return answer,
            Ok(answer) => anstream::eprintln!("{}", answer.lines().next().unwrap_or_default()),
            Err(error) => anstream::eprintln!("{error:#}"),
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// One request over a plain connection, answered as it stands on the wire.
async fn fetch(address: &str, path: &str) -> anyhow::Result<String> {
    let mut connection = TcpStream::connect(address).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await?;
    Ok(answer)
}
