//! `chandler uninstall`

mod carry_out;
mod preview;

use std::io::{BufRead as _, IsTerminal as _};
use std::sync::Arc;

use anyhow::anyhow;
use kube::ResourceExt as _;

use crate::api::subscription::{RemovalPolicy, Subscription};
use crate::cli::args::operate::Uninstall as Args;
use crate::cli::args::output::Output;
use crate::cli::cluster::Cluster;
use crate::cli::failure::Failure;
use crate::cli::printer;
use crate::cli::session::wait;
use crate::controller::removal::{Remover, hand_over};
use crate::lifecycle::removal::Wish;
use crate::plan::apply::Applier;
use preview::Preview;

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    wait(async {
        let (cluster, namespace) = Cluster::at(&args.place).await?;
        let subscription = find(&cluster, &namespace, &args.name).await?;
        let remover = Remover {
            applier: Applier::new(cluster.client()),
            client: cluster.client(),
        };
        let wish = wish(args, &subscription);
        let preview = Preview::read(&remover, Arc::new(subscription), &wish).await?;
        preview.check(&wish)?;
        if args.dry_run {
            return print(args, &preview, "dry run");
        }
        if !args.yes {
            // Whoever is asked has to see it first.
            printer::show(&preview.text(true));
            ask(&preview.name)?;
        }
        begin(&cluster, &remover, &preview, &wish).await?;
        if args.no_wait {
            return print(args, &preview, "begun");
        }
        carry_out::follow(args, &cluster, &remover, &preview).await?;
        print(args, &preview, "removed")
    })
}

async fn find(cluster: &Cluster, namespace: &str, name: &str) -> Result<Subscription, Failure> {
    if let Some(found) = cluster.find_subscription(namespace, name).await? {
        return Ok(found);
    }
    let failure = Failure::no(anyhow!(
        "there is no Subscription {name} in namespace {namespace}, and none to a package of that name"
    ));
    let csvs = cluster.csvs(namespace).await?;
    let orphan = csvs.iter().find(|csv| {
        let csv_name = csv.name_any();
        !csv.is_copied() && (csv_name == name || csv_name.starts_with(&format!("{name}.")))
    });
    Err(match orphan {
        Some(csv) => failure.hint(format!(
            "an operator without one is there: `kubectl delete csv {} -n {namespace}` removes it",
            csv.name_any()
        )),
        None => failure.hint("`chandler list` tells what runs"),
    })
}

/// What is to go: what was said here, and at least what the Subscription says.
fn wish(args: &Args, subscription: &Subscription) -> Wish {
    let mut wish = Wish::of(subscription);
    if args.everything {
        wish.policy = RemovalPolicy::Everything;
    } else if !wish.removes() {
        wish.policy = RemovalPolicy::Operator;
    }
    wish.dependencies |= args.prune_dependencies;
    wish.crds.extend(args.delete_crds.iter().cloned());
    wish
}

fn ask(name: &str) -> Result<(), Failure> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(
            Failure::usage(anyhow!("nothing was removed: nobody can be asked here"))
                .hint("say `--yes` to remove it, or `--dry-run` to look only"),
        );
    }
    printer::prompt(&format!("Remove {name} as shown? [y/N] "));
    let mut answer = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(Failure::outside)?;
    if ["y", "yes"].contains(&answer.trim().to_lowercase().as_str()) {
        return Ok(());
    }
    Err(Failure::no(anyhow!("nothing was removed")))
}

/// How often it is tried when somebody else writes the Subscription at the same time.
const ATTEMPTS: usize = 5;

/// Writes the wish on the Subscription and deletes it.
async fn begin(
    cluster: &Cluster,
    remover: &Remover,
    preview: &Preview,
    wish: &Wish,
) -> Result<(), Failure> {
    let mut subscription = (*preview.subscription).clone();
    for _ in 1..ATTEMPTS {
        match hand_over(&remover.client, &subscription, wish).await {
            Err(error) if error.is_stale() => {
                let found = cluster.find_subscription(&preview.namespace, &preview.name);
                match found.await?.filter(|it| it.uid() == subscription.uid()) {
                    Some(found) => subscription = found,
                    // Somebody else was quicker.
                    None => return Ok(()),
                }
            }
            outcome => return outcome.map_err(outside),
        }
    }
    hand_over(&remover.client, &subscription, wish)
        .await
        .map_err(outside)
}

fn print(args: &Args, preview: &Preview, outcome: &str) -> Result<(), Failure> {
    match args.output {
        Output::Text if outcome == "dry run" => {
            printer::data(&preview.text(printer::on_terminal()))
        }
        Output::Text => printer::data(&preview.summary(outcome)),
        structured => printer::structured(&preview.document(outcome), structured),
    }
}

/// Why a cluster did not do it.
fn outside(error: crate::controller::removal::Error) -> Failure {
    Failure::outside(error)
}
