//! The programs that the bundles of this repository run, all in one image.
//!
//! ```text
//! fleet random-gopher      one gopher, chosen at start
//! fleet gophers-api        a list of gophers outside of Kubernetes, with a page that shows them
//! fleet gopher-operator    tells gophers APIs which gophers run in the cluster
//! fleet stand-in           in place of an operator whose product is not here: probes, a Lease, conversions,
//!                          and a status on its custom resources that says so
//! ```

mod convert;
mod drawing;
mod gopher;
mod gopher_operator;
mod gophers_api;
mod lease;
mod random_gopher;
mod serving;
mod stand_in;
mod statement;
#[path = "../serving/tls.rs"]
mod tls;
mod watching;

use std::process::ExitCode;

use anyhow::bail;
use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

/// The programs of the fleet
#[derive(Debug, Parser)]
#[command(name = "fleet", version)]
enum Program {
    /// Be a gopher, chosen at random
    RandomGopher(random_gopher::Args),
    /// Keep a list of gophers and show it
    GophersApi(gophers_api::Args),
    /// Tell gophers APIs which gophers run in the cluster
    GopherOperator(gopher_operator::Args),
    /// Stand in for an operator whose product is not here
    StandIn(stand_in::Args),
}

// One thread is plenty, and takes little memory.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(Program::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            anstream::eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(program: Program) -> anyhow::Result<()> {
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new("fleet=info,warn"))
        .with_ansi(false)
        .init();
    if rustls::crypto::ring::default_provider()
        .install_default()
        .is_err()
    {
        bail!("a TLS provider is installed already");
    }
    let stop = when_told()?;
    match program {
        Program::RandomGopher(args) => random_gopher::run(&args, stop).await,
        Program::GophersApi(args) => gophers_api::run(&args, stop).await,
        Program::GopherOperator(args) => gopher_operator::run(&args, stop).await,
        Program::StandIn(args) => stand_in::run(args, stop).await,
    }
}

/// Cancelled when the kubelet, or somebody at a terminal, wants it to end.
fn when_told() -> anyhow::Result<CancellationToken> {
    let stop = CancellationToken::new();
    let told = stop.clone();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        told.cancel();
    });
    Ok(stop)
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use serde_json::Value;

    use super::*;

    fn files(folder: &Path) -> Vec<PathBuf> {
        let entries = fs_err::read_dir(folder).expect("a folder");
        entries.map(|it| it.expect("an entry").path()).collect()
    }

    /// The arguments of all containers of all bundles.
    fn arguments() -> Vec<Vec<String>> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("bundles");
        let versions = files(&root).into_iter().filter(|it| it.is_dir());
        let versions = versions.flat_map(|it| files(&it)).filter(|it| it.is_dir());
        let manifests = versions.flat_map(|it| files(&it.join("manifests")));
        let mut found = Vec::new();
        for path in manifests {
            let text = fs_err::read_to_string(&path).expect("a manifest");
            let name = path.display().to_string();
            let manifest: Value = chandler::yaml::from_str(&name, &text).expect(&name);
            let deployments = &manifest["spec"]["install"]["spec"]["deployments"];
            for deployment in deployments.as_array().into_iter().flatten() {
                let containers = &deployment["spec"]["template"]["spec"]["containers"];
                for container in containers.as_array().expect("containers") {
                    let words = container["args"].as_array().expect("arguments").iter();
                    let words = words.map(|it| it.as_str().expect("text").to_owned());
                    found.push(words.collect());
                }
            }
        }
        found
    }

    #[test]
    fn every_bundle_says_something_that_the_programs_understand() {
        let all = arguments();
        assert!(all.len() >= 45, "{}", all.len());
        for words in all {
            let line = std::iter::once("fleet".to_owned()).chain(words);
            if let Err(error) = Program::try_parse_from(line) {
                panic!("{error}");
            }
        }
    }
}
