//! `chandler status`

use anyhow::anyhow;

use crate::cli::args::operate::Status as Args;
use crate::cli::args::output::Output;
use crate::cli::cluster::{self, Cluster};
use crate::cli::failure::Failure;
use crate::cli::health::Health;
use crate::cli::operators;
use crate::cli::printer::{self, visible};
use crate::cli::session::wait;
use crate::cli::standing::Standing;
use crate::cli::upgrade::Upgrade;

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let (standings, namespace) = wait(async {
        let (cluster, namespace) = Cluster::at(&args.place).await?;
        let mut standings = look(args, &cluster, &namespace).await?;
        for standing in &mut standings {
            cluster.explain_silence(standing).await;
        }
        Ok((standings, namespace))
    })?;
    let is_named = args.name.is_some();
    match args.output {
        Output::Text => printer::data(&text(&standings, is_named))?,
        structured if is_named => printer::structured(&standings[0], structured)?,
        structured => printer::structured(&standings, structured)?,
    }
    verdict(&standings).map_err(|failure| {
        if is_named {
            return failure;
        }
        failure.hint(more(&namespace))
    })
}

/// Where more is told. It is to be found from anywhere, whatever namespace is the usual one.
fn more(namespace: &str) -> String {
    format!("`chandler status NAME -n {namespace}` tells all that is known of one of them")
}

/// The operator that is asked for, or all of the namespace.
async fn look(args: &Args, cluster: &Cluster, namespace: &str) -> Result<Vec<Standing>, Failure> {
    let (subscriptions, csvs) = cluster.operators(Some(namespace)).await?;
    let availability = cluster.availability(&csvs).await?;
    let all = operators::standings(&subscriptions, &csvs, &availability);
    let Some(name) = &args.name else {
        return Ok(all);
    };
    let subscription = cluster::named(&subscriptions, name)?.map(kube::ResourceExt::name_any);
    let is_meant = |it: &Standing| match &subscription {
        Some(subscription) => it.is_subscribed && it.name == *subscription,
        None => !it.is_subscribed && it.name == *name,
    };
    let found = all.into_iter().find(is_meant);
    let found = found.ok_or_else(|| cluster::no_subscription(namespace, name))?;
    Ok(vec![found])
}

/// Whether all is well: every operator runs, and nothing went wrong with an upgrade that nobody decided to hold.
fn verdict(standings: &[Standing]) -> Result<(), Failure> {
    let names = |is_meant: &dyn Fn(&Standing) -> bool| {
        let meant = standings.iter().filter(|it| is_meant(it));
        let names: Vec<&str> = meant.map(|it| it.name.as_str()).collect();
        names.join(", ")
    };
    let unwell = names(&|it| it.health != Health::Healthy);
    let bad_upgrades = names(&Standing::has_bad_upgrade);
    let told = match (unwell.as_str(), bad_upgrades.as_str()) {
        ("", "") => return Ok(()),
        (unwell, "") => format!("not healthy: {unwell}"),
        ("", bad) => format!("healthy, but not upgraded as it should be: {bad}"),
        (unwell, bad) => {
            format!("not healthy: {unwell}; healthy, but not upgraded as it should be: {bad}")
        }
    };
    Err(Failure::no(anyhow!(told)))
}

fn text(standings: &[Standing], in_full: bool) -> String {
    if standings.is_empty() {
        return "no operators\n".to_owned();
    }
    if in_full {
        return standings.iter().map(Standing::text).collect();
    }
    if !printer::on_terminal() {
        return standings.iter().map(line).collect();
    }
    let header = [
        "Subscription",
        "Package",
        "Running",
        "State",
        "Upgrade",
        "Why",
    ];
    let mut table = printer::table(header);
    for it in standings {
        table.add_row(cells(it));
    }
    format!("{table}\n")
}

fn line(standing: &Standing) -> String {
    cells(standing).join("\t") + "\n"
}

fn cells(standing: &Standing) -> [String; 6] {
    let upgrade = standing.upgrade.as_ref().map(Upgrade::line);
    let cells = [
        standing.name.clone(),
        standing.package.clone(),
        standing.running_csv.clone(),
        standing.words(),
        upgrade.unwrap_or_default(),
        standing.why(),
    ];
    cells.map(|cell| visible(&cell).into_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::api::cluster_service_version::ClusterServiceVersion;
    use crate::api::subscription::Subscription;
    use crate::cli::availability::Availability;

    fn gopher(status: &Value) -> Subscription {
        serde_json::from_value(json!({
            "metadata": {"name": "gopher", "namespace": "port"},
            "spec": {"name": "gopher", "source": "hub", "sourceNamespace": "olm"},
            "status": status,
        }))
        .unwrap()
    }

    fn mole(status: &Value) -> ClusterServiceVersion {
        serde_json::from_value(json!({
            "metadata": {"name": "mole.v1", "namespace": "port"},
            "spec": {"displayName": "", "install": {}},
            "status": status,
        }))
        .unwrap()
    }

    fn said(subscriptions: &[Subscription], csvs: &[ClusterServiceVersion]) -> Option<String> {
        let availability = Availability::default();
        let verdict = verdict(&operators::standings(subscriptions, csvs, &availability));
        let failure = verdict.err()?;
        assert_eq!(failure.exit_code(), 1);
        Some(failure.lines()[0].1.clone())
    }

    #[test]
    fn a_wait_that_somebody_decided_is_no_ill_health() {
        let waits = gopher(&json!({
            "installedCSV": "gopher.v1", "currentCSV": "gopher.v2",
            "conditions": [
                {"type": "Healthy", "status": "True"},
                {"type": "InstallPlanPending", "status": "True", "reason": "RequiresApproval"},
            ],
        }));
        assert_eq!(
            said(&[waits], &[mole(&json!({"phase": "Succeeded"}))]),
            None
        );
        assert_eq!(said(&[], &[]), None);
    }

    #[test]
    fn where_more_is_told_is_said_with_the_namespace() {
        assert!(more("port").starts_with("`chandler status NAME -n port`"));
    }

    #[test]
    fn who_waits_for_the_first_version_has_nothing_that_runs() {
        let waits = gopher(&json!({
            "currentCSV": "gopher.v1",
            "conditions": [{"type": "InstallPlanPending", "status": "True", "reason": "RequiresApproval"}],
        }));
        assert_eq!(said(&[waits], &[]).unwrap(), "not healthy: gopher");
    }

    #[test]
    fn an_operator_that_nobody_asks_for_counts_as_well() {
        let failed = mole(&json!({"phase": "Failed", "message": "no room"}));
        assert_eq!(said(&[], &[failed]).unwrap(), "not healthy: mole.v1");
        let copied = mole(&json!({"phase": "Failed", "reason": "Copied"}));
        assert_eq!(said(&[], &[copied]), None);
    }

    #[test]
    fn an_operator_that_runs_and_cannot_be_upgraded_as_asked_is_told_apart() {
        let unsolvable = gopher(&json!({
            "installedCSV": "gopher.v1", "currentCSV": "gopher.v1",
            "conditions": [
                {"type": "Healthy", "status": "True"},
                {"type": "ResolutionFailed", "status": "True", "message": "no way"},
            ],
        }));
        assert_eq!(
            said(std::slice::from_ref(&unsolvable), &[]).unwrap(),
            "healthy, but not upgraded as it should be: gopher"
        );
        let failed = mole(&json!({"phase": "Failed"}));
        assert_eq!(
            said(&[unsolvable], &[failed]).unwrap(),
            "not healthy: mole.v1; healthy, but not upgraded as it should be: gopher"
        );
    }

    #[test]
    fn each_line_tells_health_and_upgrade_and_why_one_does_not_run() {
        let waits = gopher(&json!({
            "installedCSV": "gopher.v1", "currentCSV": "gopher.v2",
            "conditions": [
                {"type": "Healthy", "status": "True"},
                {"type": "InstallPlanPending", "status": "True", "reason": "RequiresApproval"},
            ],
        }));
        let failed = mole(&json!({"phase": "Failed", "message": "no room"}));
        let availability = Availability::default();
        let lines: String = operators::standings(&[waits], &[failed], &availability)
            .iter()
            .map(line)
            .collect();
        assert_eq!(
            lines,
            "gopher\tgopher\tgopher.v1\thealthy\tgopher.v2: waits for approval: `chandler approve gopher -n port`\t\n\
             mole.v1\t\tmole.v1\tinstalled, not healthy, without a Subscription\t\tFailed: no room\n"
        );
    }
}
