//! `chandler install`

use std::time::Duration;

use anyhow::anyhow;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::api::catalog_source::CatalogSource;
use crate::cli::args::operate::Install as Args;
use crate::cli::args::output::Output;
use crate::cli::cluster::Cluster;
use crate::cli::failure::Failure;
use crate::cli::printer;
use crate::cli::session::wait;
use crate::cli::standing::Standing;
use kube::ResourceExt as _;

/// How often is looked.
const PERIOD: Duration = Duration::from_millis(500);

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    wait(async {
        let (cluster, namespace) = Cluster::at(&args.place).await?;
        let catalog = match &args.catalog {
            Some(name) => name.clone(),
            None => only_catalog(&cluster, &namespace).await?,
        };
        if cluster.operator_groups(&namespace).await?.is_empty() {
            cluster.create(&namespace, group(args, &namespace)).await?;
            printer::say(&format!(
                "OperatorGroup {namespace} is made, because there was none"
            ));
        }
        cluster
            .create(&namespace, subscription(args, &namespace, &catalog))
            .await?;
        printer::say(&format!("Subscription {} is made", args.package));
        if args.no_wait {
            return Ok(());
        }
        follow(args, &cluster, &namespace).await
    })
}

/// The catalog, if there is no choice.
async fn only_catalog(cluster: &Cluster, namespace: &str) -> Result<String, Failure> {
    let catalogs = cluster.catalogs().await?;
    let name = |catalog: &CatalogSource| {
        format!(
            "{}/{}",
            catalog.namespace().unwrap_or_default(),
            catalog.name_any()
        )
    };
    match catalogs.as_slice() {
        [] => Err(
            Failure::no(anyhow!("there is no CatalogSource in the cluster"))
                .hint("make one that names a catalog image, then install from it"),
        ),
        [only] => Ok(name(only)),
        several => {
            let names: Vec<String> = several.iter().map(name).collect();
            Err(
                Failure::usage(anyhow!("there are several catalogs: {}", names.join(", "))).hint(
                    format!(
                        "choose one: `--catalog {}` (namespace {namespace})",
                        names[0]
                    ),
                ),
            )
        }
    }
}

fn group(args: &Args, namespace: &str) -> Value {
    let spec = if args.all_namespaces {
        json!({})
    } else {
        json!({"targetNamespaces": [namespace]})
    };
    json!({
        "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
        "metadata": {"name": namespace}, "spec": spec,
    })
}

fn subscription(args: &Args, namespace: &str, catalog: &str) -> Value {
    let (source_namespace, source) = catalog.split_once('/').unwrap_or((namespace, catalog));
    let mut spec = json!({
        "name": args.package, "source": source, "sourceNamespace": source_namespace,
    });
    if let Some(channel) = &args.channel {
        spec["channel"] = json!(channel);
    }
    if let Some(version) = &args.version {
        spec["version"] = json!(version);
    }
    if let Some(approval) = &args.approval {
        spec["policy"] = json!({"approval": approval});
    }
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
        "metadata": {"name": args.package}, "spec": spec,
    })
}

/// Tells what changes until it is healthy, somebody is needed, or time is up.
async fn follow(args: &Args, cluster: &Cluster, namespace: &str) -> Result<(), Failure> {
    let deadline = Instant::now() + args.timeout;
    let mut said = String::new();
    loop {
        let standing = Standing::of(&cluster.subscription(namespace, &args.package).await?);
        let line = match standing.messages.first() {
            Some(message) => format!("{}: {message}", standing.word()),
            None => standing.word().to_owned(),
        };
        if line != said {
            printer::say(&line);
            said = line;
        }
        if standing.word() == "healthy" {
            return print(args, &standing);
        }
        if standing.waits_for_approval {
            print(args, &standing)?;
            return Err(
                Failure::no(anyhow!("{} waits for approval", standing.install_plan)).hint(format!(
                    "`chandler approve {} -n {namespace}`",
                    args.package
                )),
            );
        }
        if Instant::now() >= deadline {
            print(args, &standing)?;
            return Err(Failure::no(anyhow!(
                "{} is not healthy after {:?}",
                args.package,
                args.timeout
            ))
            .hint(format!(
                "`chandler status {} -n {namespace}` tells how it is",
                args.package
            )));
        }
        tokio::time::sleep(PERIOD).await;
    }
}

fn print(args: &Args, standing: &Standing) -> Result<(), Failure> {
    match args.output {
        Output::Text => printer::data(&standing.text()),
        structured => printer::structured(standing, structured),
    }
}
