//! `chandler list`

use std::collections::BTreeSet;

use kube::ResourceExt as _;
use serde::Serialize;

use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::subscription::Subscription;
use crate::cli::args::operate::List as Args;
use crate::cli::args::output::Output;
use crate::cli::availability::Availability;
use crate::cli::cluster::Cluster;
use crate::cli::failure::Failure;
use crate::cli::operators;
use crate::cli::printer::{self, visible};
use crate::cli::session::wait;
use crate::cli::standing::Standing;
use crate::cli::upgrade::Upgrade;

/// One operator.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    namespace: String,
    package: String,
    /// Empty for a ClusterServiceVersion that nobody asks for any more.
    subscription: String,
    version: String,
    #[serde(rename = "clusterServiceVersion")]
    csv: String,
    channel: String,
    catalog: String,
    /// Of the version that runs, whatever becomes of an upgrade.
    health: String,
    /// Why it does not run.
    #[serde(skip_serializing_if = "String::is_empty")]
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    upgrade: Option<Upgrade>,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let rows = wait(async {
        let connected = Cluster::connect(args.kubeconfig.as_deref(), args.context.as_deref());
        let (cluster, _) = connected.await?;
        let (subscriptions, csvs) = cluster.operators(args.namespace.as_deref()).await?;
        let availability = cluster.availability(&csvs).await?;
        Ok(rows(&subscriptions, &csvs, &availability))
    })?;
    match args.output {
        Output::Text if rows.is_empty() => printer::data("no operators\n"),
        Output::Text if printer::on_terminal() => printer::data(&table(&rows)),
        Output::Text => printer::data(&rows.iter().map(line).collect::<String>()),
        structured => printer::structured(&rows, structured),
    }
}

fn rows(
    subscriptions: &[Subscription],
    csvs: &[ClusterServiceVersion],
    availability: &Availability,
) -> Vec<Row> {
    let find = |namespace: &str, name: &str| {
        let mut csvs = csvs.iter();
        csvs.find(|csv| csv.namespace().as_deref() == Some(namespace) && csv.name_any() == name)
    };
    let mut told: BTreeSet<(String, String)> = BTreeSet::new();
    let mut rows = Vec::new();
    for standing in operators::standings(subscriptions, csvs, availability) {
        let csv = find(&standing.namespace, &standing.running_csv);
        for name in [
            &standing.installed_csv,
            &standing.running_csv,
            &standing.current_csv,
        ] {
            told.insert((standing.namespace.clone(), name.clone()));
        }
        rows.push(Row {
            health: health(&standing, csv),
            version: csv.map(|csv| csv.spec.version.clone()).unwrap_or_default(),
            message: standing.why(),
            upgrade: standing.upgrade,
            csv: standing.running_csv,
            namespace: standing.namespace,
            package: standing.package,
            subscription: if standing.is_subscribed {
                standing.name
            } else {
                String::new()
            },
            channel: standing.channel,
            catalog: standing.catalog,
        });
    }
    for csv in csvs.iter().filter(|csv| !csv.is_copied()) {
        let place = (csv.namespace().unwrap_or_default(), csv.name_any());
        if !told.contains(&place) {
            rows.push(on_its_way_out(csv));
        }
    }
    rows.sort_by(|a, b| {
        (&a.namespace, &a.package, &a.csv).cmp(&(&b.namespace, &b.package, &b.csv))
    });
    rows
}

/// How an operator is; one that has no Subscription in the words of OLM.
fn health(standing: &Standing, csv: Option<&ClusterServiceVersion>) -> String {
    if standing.is_subscribed {
        return standing.words();
    }
    let status = csv.and_then(|csv| csv.status.as_ref());
    let phase = status.map(|status| status.phase.to_string());
    match phase.filter(|phase| !phase.is_empty()) {
        Some(phase) => format!("{phase}, without a Subscription"),
        // Nobody looked at it so far.
        None => standing.words(),
    }
}

/// A version that makes room for one that is told of.
fn on_its_way_out(csv: &ClusterServiceVersion) -> Row {
    Row {
        namespace: csv.namespace().unwrap_or_default(),
        package: String::new(),
        subscription: String::new(),
        version: csv.spec.version.clone(),
        csv: csv.name_any(),
        channel: String::new(),
        catalog: String::new(),
        health: "being replaced".to_owned(),
        message: String::new(),
        upgrade: None,
    }
}

fn table(rows: &[Row]) -> String {
    let header = [
        "NAMESPACE",
        "PACKAGE",
        "VERSION",
        "CHANNEL",
        "HEALTH",
        "UPGRADE",
        "WHY",
    ];
    let mut table = printer::table(header);
    for row in rows {
        let package = if row.package.is_empty() {
            &row.csv
        } else {
            &row.package
        };
        let upgrade = row.upgrade.as_ref().map(Upgrade::line).unwrap_or_default();
        let cells = [
            &row.namespace,
            package,
            &row.version,
            &row.channel,
            &row.health,
            &upgrade,
            &row.message,
        ];
        table.add_row(cells.map(|cell| visible(cell).into_owned()));
    }
    format!("{table}\n")
}

fn line(row: &Row) -> String {
    let upgrade = row.upgrade.as_ref().map(Upgrade::line).unwrap_or_default();
    let fields = [
        &row.namespace,
        &row.package,
        &row.version,
        &row.csv,
        &row.channel,
        &row.health,
        &upgrade,
        &row.message,
    ];
    let fields: Vec<String> = fields.map(|it| visible(it).into_owned()).to_vec();
    fields.join("\t") + "\n"
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::api::conditions::CsvReason;

    fn subscription(name: &str, status: &Value) -> Subscription {
        serde_json::from_value(json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
            "metadata": {"name": name, "namespace": "port"},
            "spec": {"name": name, "source": "hub", "sourceNamespace": "olm", "channel": "stable"},
            "status": status,
        }))
        .unwrap()
    }

    fn csv(name: &str, phase: &str) -> ClusterServiceVersion {
        serde_json::from_value(json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
            "metadata": {"name": name, "namespace": "port"},
            "spec": {"displayName": "", "install": {}, "version": "1.0.0"},
            "status": {"phase": phase},
        }))
        .unwrap()
    }

    fn told(subscriptions: &[Subscription], csvs: &[ClusterServiceVersion]) -> Vec<Row> {
        rows(subscriptions, csvs, &Availability::default())
    }

    #[test]
    fn an_operator_is_listed_with_its_version_and_one_that_nobody_asks_for_as_such() {
        let gopher = subscription(
            "gopher",
            &json!({
                "installedCSV": "gopher.v1", "currentCSV": "gopher.v1", "state": "AtLatestKnown",
                "conditions": [{"type": "Healthy", "status": "True"}],
            }),
        );
        let csvs = [csv("gopher.v1", "Succeeded"), csv("mole.v1", "Succeeded")];
        let lines: String = told(&[gopher], &csvs).iter().map(line).collect();
        assert_eq!(
            lines,
            "port\t\t1.0.0\tmole.v1\t\tSucceeded, without a Subscription\t\t\n\
             port\tgopher\t1.0.0\tgopher.v1\tstable\thealthy\t\t\n"
        );
    }

    #[test]
    fn while_an_upgrade_is_held_the_version_that_runs_is_listed_with_what_holds_it() {
        let gopher = subscription(
            "gopher",
            &json!({"installedCSV": "gopher.v2", "currentCSV": "gopher.v2", "state": "AtLatestKnown"}),
        );
        let mut older = csv("gopher.v1", "Replacing");
        older.status.as_mut().unwrap().conditions =
            serde_json::from_value(json!([{"phase": "Succeeded"}])).unwrap();
        let mut newer = csv("gopher.v2", "Pending");
        newer.spec.version = "2.0.0".to_owned();
        newer.spec.replaces = "gopher.v1".to_owned();
        let status = newer.status.as_mut().unwrap();
        status.reason = CsvReason::OperatorConditionNotUpgradeable;
        status.message = "busy".to_owned();
        let lines: String = told(&[gopher], &[older, newer]).iter().map(line).collect();
        assert_eq!(
            lines,
            "port\tgopher\t1.0.0\tgopher.v1\tstable\thealthy\tgopher.v2: held: busy\t\n"
        );
    }

    #[test]
    fn one_that_nobody_asks_for_and_nobody_looked_at_is_listed_in_our_words() {
        let mut mole = csv("mole.v1", "");
        mole.status = None;
        let rows = rows(&[], &[mole], &Availability::default());
        assert_eq!(rows[0].health, "installing, without a Subscription");
    }

    #[test]
    fn what_does_not_run_is_listed_with_the_reason() {
        let gopher = subscription(
            "gopher",
            &json!({
                "installedCSV": "gopher.v1", "currentCSV": "gopher.v1",
                "conditions": [{"type": "Healthy", "status": "False", "message": "it crashed"}],
            }),
        );
        let mut mole = csv("mole.v1", "Failed");
        mole.status.as_mut().unwrap().message = "no room".to_owned();
        let csvs = [csv("gopher.v1", "Failed"), mole];
        let lines: String = told(&[gopher], &csvs).iter().map(line).collect();
        assert_eq!(
            lines,
            "port\t\t1.0.0\tmole.v1\t\tFailed, without a Subscription\t\tFailed: no room\n\
             port\tgopher\t1.0.0\tgopher.v1\tstable\tinstalled, not healthy\t\tit crashed\n"
        );
    }

    #[test]
    fn versions_between_the_one_that_runs_and_the_newest_are_listed_as_such() {
        let gopher = subscription("gopher", &json!({"installedCSV": "gopher.v3"}));
        let mut versions = [
            csv("gopher.v1", "Replacing"),
            csv("gopher.v2", "Replacing"),
            csv("gopher.v3", "Pending"),
        ];
        versions[0].status.as_mut().unwrap().conditions =
            serde_json::from_value(json!([{"phase": "Succeeded"}])).unwrap();
        versions[1].spec.replaces = "gopher.v1".to_owned();
        versions[2].spec.replaces = "gopher.v2".to_owned();
        let healths: Vec<String> = told(&[gopher], &versions)
            .iter()
            .map(|row| format!("{} {}", row.csv, row.health))
            .collect();
        assert_eq!(healths, ["gopher.v2 being replaced", "gopher.v1 healthy"]);
    }
}
