//! `chandler install`

use std::time::Duration;

use anyhow::anyhow;
use tokio::time::Instant;

use crate::cli::args::operate::Install as Args;
use crate::cli::args::output::Output;
use crate::cli::cluster::Cluster;
use crate::cli::failure::Failure;
use crate::cli::health::Health;
use crate::cli::operations::install::{Order, Serves, prepare};
use crate::cli::printer;
use crate::cli::session::wait;
use crate::cli::standing::Standing;

/// How often is looked.
const PERIOD: Duration = Duration::from_millis(500);

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    wait(async {
        let (cluster, namespace) = Cluster::at(&args.place).await?;
        let prepared = prepare(&cluster, &order(args, &namespace)).await?;
        prepared.make(&cluster).await?;
        for (kind, name) in prepared.made() {
            printer::say(&match kind {
                "Subscription" => format!("{kind} {name} is made"),
                _ => format!("{kind} {name} is made, because there was none"),
            });
        }
        for (kind, name) in &prepared.present {
            if *kind == "Subscription" {
                printer::say(&format!("{kind} {name} is there already"));
            }
        }
        if args.no_wait {
            return Ok(());
        }
        follow(args, &cluster, &namespace).await
    })
}

fn order(args: &Args, namespace: &str) -> Order {
    Order {
        package: args.package.clone(),
        namespace: namespace.to_owned(),
        channel: args.channel.clone(),
        catalog: args.catalog.clone(),
        version: args.version.clone(),
        approval: args.approval.clone(),
        serves: if args.all_namespaces {
            Serves::All
        } else {
            Serves::Own
        },
        create_namespace: args.create_namespace,
    }
}

/// Tells what changes until it is healthy, somebody is needed, or time is up.
async fn follow(args: &Args, cluster: &Cluster, namespace: &str) -> Result<(), Failure> {
    let deadline = Instant::now() + args.timeout;
    let mut said = String::new();
    loop {
        let subscription = cluster.subscription(namespace, &args.package).await?;
        let mut standing = Standing::among(&subscription, &[]);
        cluster.explain_silence(&mut standing).await;
        let line = match standing.messages.first() {
            Some(message) => format!("{}: {message}", progress(&standing)),
            None => progress(&standing).to_owned(),
        };
        if line != said {
            printer::say(&line);
            said = line;
        }
        if is_done(&standing) {
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

/// Whether the version runs that is to be installed, and not only one before it.
fn is_done(standing: &Standing) -> bool {
    standing.health == Health::Healthy
        && standing.state == "AtLatestKnown"
        && !standing.waits_for_approval
        && !standing.failed
}

/// How far the version is that is to be installed.
fn progress(standing: &Standing) -> &'static str {
    if standing.waits_for_approval {
        "waits for approval"
    } else if standing.failed {
        "failed"
    } else if standing.health == Health::Healthy && !is_done(standing) {
        "installing"
    } else {
        standing.health.word()
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
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    #[rstest]
    #[case::has_come(&json!({"state": "AtLatestKnown", "currentCSV": "gopher.v1"}), "healthy", true)]
    #[case::is_followed_by_another(&json!({"state": "UpgradePending", "currentCSV": "gopher.v2"}), "installing", false)]
    #[case::waits(&json!({"state": "UpgradePending", "currentCSV": "gopher.v2", "more": [
        {"type": "InstallPlanPending", "status": "True", "reason": "RequiresApproval"},
    ]}), "waits for approval", false)]
    #[case::failed(&json!({"state": "UpgradePending", "currentCSV": "gopher.v2", "more": [
        {"type": "InstallPlanFailed", "status": "True"},
    ]}), "failed", false)]
    fn an_install_is_done_when_the_version_runs_that_is_asked_for(
        #[case] status: &Value,
        #[case] word: &str,
        #[case] done: bool,
    ) {
        let mut status = status.clone();
        status["installedCSV"] = json!("gopher.v1");
        let mut conditions = vec![json!({"type": "Healthy", "status": "True"})];
        let more = status["more"].as_array().cloned().unwrap_or_default();
        conditions.extend(more);
        status["conditions"] = json!(conditions);
        let subscription = serde_json::from_value(json!({
            "metadata": {"name": "gopher", "namespace": "port"},
            "spec": {"name": "gopher", "source": "hub", "sourceNamespace": "olm"},
            "status": status,
        }))
        .unwrap();
        let standing = Standing::among(&subscription, &[]);
        assert_eq!((progress(&standing), is_done(&standing)), (word, done));
    }
}
