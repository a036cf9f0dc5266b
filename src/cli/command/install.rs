//! `chandler install`

mod agreement;

use std::time::Duration;

use anyhow::anyhow;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::api::catalog_source::CatalogSource;
use crate::api::operator_group::OperatorGroup;
use crate::api::subscription::Subscription;
use crate::cli::args::operate::Install as Args;
use crate::cli::args::output::Output;
use crate::cli::args::plan::GLOBAL_NAMESPACES;
use crate::cli::cluster::Cluster;
use crate::cli::failure::Failure;
use crate::cli::printer;
use crate::cli::session::wait;
use crate::cli::standing::Standing;
use agreement::Differences;
use kube::ResourceExt as _;

/// How often is looked.
const PERIOD: Duration = Duration::from_millis(500);

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    wait(async {
        let (cluster, namespace) = Cluster::at(&args.place).await?;
        let existing = cluster.find_subscription(&namespace, &args.package).await?;
        let catalog = match (&args.catalog, &existing) {
            (Some(name), _) => Some(name.clone()),
            (None, Some(_)) => None,
            (None, None) => Some(only_catalog(&cluster, &namespace).await?),
        };
        if let Some(existing) = &existing {
            agree(existing, args, catalog.as_deref())?;
        }
        if cluster.operator_groups(&namespace).await?.is_empty() {
            cluster.create(&namespace, group(args, &namespace)).await?;
            printer::say(&format!(
                "OperatorGroup {namespace} is made, because there was none"
            ));
        }
        match (existing, catalog) {
            (None, Some(catalog)) => {
                let subscription = subscription(args, &namespace, &catalog);
                cluster.create(&namespace, subscription).await?;
                printer::say(&format!("Subscription {} is made", args.package));
            }
            (Some(existing), _) => printer::say(&format!(
                "Subscription {} is there already",
                existing.name_any()
            )),
            // Whoever has no Subscription has chosen a catalog.
            (None, None) => {}
        }
        if args.no_wait {
            return Ok(());
        }
        follow(args, &cluster, &namespace).await
    })
}

/// Refuses to go on with a Subscription that says something else.
fn agree(existing: &Subscription, args: &Args, catalog: Option<&str>) -> Result<(), Failure> {
    let differences = Differences::of(existing, args, catalog);
    if differences.told.is_empty() {
        return Ok(());
    }
    Err(Failure::no(anyhow!(
        "Subscription {} is there already, and says something else: {}",
        existing.name_any(),
        differences.told.join("; ")
    ))
    .hint(format!(
        "leave those arguments out, or change it: `{}`",
        differences.command(existing)
    )))
}

/// Whether Subscriptions of a namespace may name a catalog: its own ones, and the global ones unless
/// it keeps them out.
fn may_use(namespace: &str, excludes_global: bool, catalog: &CatalogSource) -> bool {
    let own = catalog.namespace().unwrap_or_default();
    own == namespace || (!excludes_global && GLOBAL_NAMESPACES.contains(&own.as_str()))
}

/// The catalog, if there is no choice.
async fn only_catalog(cluster: &Cluster, namespace: &str) -> Result<String, Failure> {
    let mut catalogs = cluster.catalogs().await?;
    let groups = cluster.operator_groups(namespace).await?;
    let excludes_global = groups.iter().any(OperatorGroup::excludes_global);
    let all = catalogs.len();
    catalogs.retain(|catalog| may_use(namespace, excludes_global, catalog));
    let name = |catalog: &CatalogSource| {
        format!(
            "{}/{}",
            catalog.namespace().unwrap_or_default(),
            catalog.name_any()
        )
    };
    match catalogs.as_slice() {
        [] if all > 0 => Err(Failure::no(anyhow!(
            "namespace {namespace} may use none of the cluster's {all} catalogs"
        ))
        .hint(format!(
            "make one in it or in a namespace whose catalogs are for all ({}); if Chandler runs with \
             others, name one: `--catalog NAMESPACE/NAME`",
            GLOBAL_NAMESPACES.join(", ")
        ))),
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
        let mut standing = Standing::of(&cluster.subscription(namespace, &args.package).await?);
        cluster.explain_silence(&mut standing).await;
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
        if standing.failed {
            print(args, &standing)?;
            return Err(
                Failure::no(anyhow!("InstallPlan {} failed", standing.install_plan)).hint(format!(
                    "`chandler status {} -n {namespace}` tells how it is",
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

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("port", false, true)]
    #[case("olm", false, true)]
    #[case("olm", true, false)]
    #[case("elsewhere", false, false)]
    fn a_namespace_may_use_its_own_catalogs_and_the_global_ones(
        #[case] catalog: &str,
        #[case] excludes_global: bool,
        #[case] may: bool,
    ) {
        let mut object = CatalogSource::default();
        object.metadata.namespace = Some(catalog.to_owned());
        assert_eq!(may_use("port", excludes_global, &object), may);
    }
}
